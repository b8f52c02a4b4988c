"""Two maps, a million keys, and the answers of `locate_many` for them, with which every
engine is compared.
"""

import importlib.util
import os
from collections import Counter

import stead

ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
)
ROWS = 1_000_000


def key_of(i):
    """The keys of a test: all different, and of different lengths."""
    return "k" * (i % 13) + str(i)


def example(name):
    """Imports an example as a module."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(ROOT, "examples", "python", "engines", f"{name}.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _fleet(*nodes):
    return {"name": "members", "node": list(nodes)}


class Case:
    """Two maps, and keys with their nodes in both. Between the maps one node is added,
    one is removed, one is renamed, and weights change.
    """

    def __init__(self):
        labels = [{"name": f"db{i}", "weight": i} for i in range(1, 6)]
        self.old = stead.Map.build(_fleet(*labels))
        self.new = stead.Map.build(
            _fleet(
                {"name": "db1", "weight": 2},
                {"name": "two", "formerly": "db2", "weight": 2},
                *labels[3:],
                {"name": "db6", "weight": 3},
            ),
            self.old,
        )
        self.keys = [key_of(i) for i in range(ROWS)]
        self.before = self.old.locate_many(self.keys)
        self.after = self.new.locate_many(self.keys)
        self.counts = Counter(self.before)
        # the renamed node is the same one
        self.moved = Counter(
            (a, b)
            for a, b in zip(self.before, self.after)
            if ("two" if a == "db2" else a) != b
        )
        # the counts that every engine must get when it compares names
        self.differ = Counter((a, b) for a, b in zip(self.before, self.after) if a != b)
        # a few keys from the whole range, to be compared one by one
        self.sample = range(0, ROWS, 997)

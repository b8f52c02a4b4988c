"""The rings that the vectors have: the examples of tests/reference/rings, each a module
with the rule of one kind in plain Python.

A module has `EXAMPLES`, a list of (name, list of servers, choices); `parse(list of
servers)`, which gives what `place` wants; and `place(key, servers, choices)`, which
gives the servers of a key, primary first, by walking as the original does. It may have
`takes(key)`: whether the original has a rule for a key. The maps,
tests/maps/ring-NAME.map, are drawn by the program (tests/rings/draw_maps.py), so the
vectors hold two things against each other that share no code.
"""

import importlib
import sys
from collections import namedtuple
from pathlib import Path

RULES = Path(__file__).resolve().parent / "rings"

Example = namedtuple("Example", "kind name servers choices place takes")


def examples():
    """All of them, by module and then as they stand there; `place` takes a key."""
    sys.path[:0] = [str(RULES)] * (str(RULES) not in sys.path)
    for file in sorted(RULES.glob("*.py")):
        module = importlib.import_module(file.stem)
        for name, servers, choices in getattr(module, "EXAMPLES", []):
            parsed = module.parse(servers)
            yield Example(
                file.stem.replace("_", "-"),
                name,
                servers,
                choices,
                lambda key, module=module, parsed=parsed, choices=choices: module.place(
                    key, parsed, choices
                ),
                getattr(module, "takes", lambda key: True),
            )

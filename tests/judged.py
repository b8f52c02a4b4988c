"""Runs random histories through the program and judges each step from outside.

`stead apply` makes the maps. tests/reference/judge.py, which was written from the
documents alone, judges shares and movement. The program and the reference locate the
same keys, and `diff --keys` must name exactly those whose place changed.
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from judging import (
    ALLOW,
    HERE,
    Random,
    build_program,
    judge,
    places,
    read,
    reference,
    run,
    step,
)

# isort: split
from hashes import point_of  # judging says where it is

STEPS, HISTORIES = 25, 8


class Wanted:
    """A fleet that changes."""

    def __init__(self, hash_name):
        self.hash, self.nodes, self.policies, self.keys, self.ranges = (
            hash_name,
            {"first": 10**6},
            {},
            set(),
            set(),
        )
        self.formerly, self.number = {}, 0
        # keys whose points are in the first or the last quarter of their hundredth of
        # the space, since the range pins take the middle half
        names = ["justin"] + [f"key-{i}" for i in range(400)]
        points = {
            name: point_of(hash_name, name.encode(), b"") * 100 % reference.SPACE
            for name in names
        }
        self.free = [
            name
            for name, point in points.items()
            if not 1 <= point * 4 // reference.SPACE <= 2
        ]

    def text(self):
        """As a fleet file."""
        text = f'name = "judged"\nhash = "{self.hash}"\n'
        for name, weight in self.nodes.items():
            former = (
                f'formerly = "{self.formerly[name]}"\n' if name in self.formerly else ""
            )
            text += (
                f'[[node]]\nname = "{name}"\nweight = '
                f"{weight // 10**6}.{weight % 10**6:06}\n{former}"
            )
        some = ", ".join(f'"{name}"' for name in sorted(self.nodes)[:3])
        for name, weight in self.policies.items():
            text += (
                f'[[policy]]\nname = "{name}"\nkind = "chain"\nweight = {weight}\n'
                f"nodes = [{some}]\n"
            )
        for key in sorted(self.keys):
            text += f'[[pin]]\nkey = "{key}"\nnodes = [{some}]\n'
        for percent in sorted(self.ranges):
            text += f'[[pin]]\nrange = ["{percent}.25%", "{percent}.75%"]\nnodes = [{some}]\n'
        return text

    def change(self, random):
        """One to three changes."""
        self.formerly = {}
        for _ in range(1 + random.below(3)):
            self.number += 1
            what, old = (
                random.below(12),
                sorted(self.nodes)[random.below(len(self.nodes))],
            )
            if what < 4:
                self.nodes[f"n{random.below(10**6)}-{self.number}"] = [
                    10**6,
                    1 + random.below(10**7),
                    1,
                    10**12,
                ][random.below(4)]
            elif what < 6 and len(self.nodes) > 1:
                del self.nodes[old]
                self.formerly.pop(old, None)
            elif what < 8:
                self.nodes[old] = random.below(5 * 10**6)
            elif what == 8:
                self.policies[f"p{random.below(3)}"] = random.below(4)
            elif what == 9:
                self.keys ^= {self.free[random.below(len(self.free))]}
            elif what == 10:
                self.ranges ^= {random.below(100)}
            elif old not in self.formerly:
                new = f"renamed-{self.number}"
                self.nodes[new], self.formerly[new] = self.nodes.pop(old), old
        if not any(self.nodes.values()) and not any(self.policies.values()):
            self.nodes[min(self.nodes)] = 10**6


def roll_back(stead, path):
    """Rolls back by one epoch and judges the result: it moves as much as the step that
    it takes back, and keys live where they lived before.
    """
    kept = json.loads(run(stead, "history", path, "--json"))["epochs"]
    if len(kept) < 2:
        return []
    before = os.path.join(f"{path}.history", str(kept[-2]["epoch"]))
    wanted = places(stead, before)
    old = read(path)
    back = str(kept[-2]["epoch"])
    report = json.loads(run(stead, "rollback", path, back, "--json", *ALLOW))
    verdict = judge.judge(read(path), old)
    problems = list(verdict["problems"])
    if [verdict["moved"], verdict["lower_bound"]] != [
        report["moved"]["points"],
        report["lower_bound"]["points"],
    ]:
        problems.append("rollback: the report's movement is not the judge's")
    return (
        problems
        if places(stead, path) == wanted
        else problems + ["rollback: keys live elsewhere than before"]
    )


def main(stead):
    passed = failed = 0
    for history in range(HISTORIES):
        random, wanted = Random(history), Wanted(["md5", "sha1", "xxh3"][history % 3])
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "judged.map")
            for number in range(STEPS):
                problems, _, _ = step(
                    stead, scratch, wanted.text(), path, ("moved", "lower_bound")
                )
                if number % 5 == 4:
                    problems += roll_back(stead, path)
                passed, failed = passed + (not problems), failed + bool(problems)
                for problem in problems:
                    print(f"history {history}, step {number}: {problem}")
                wanted.change(random)
    # the control: a judge that accepts a map with damaged shares would be worthless
    rejected = not judge.judge(
        *(
            read(os.path.join(HERE, "maps", name))
            for name in ("naive-4.map", "three.map")
        )
    )["ok"]
    passed, failed = passed + rejected, failed + (not rejected)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(build_program()))

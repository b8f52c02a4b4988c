"""Runs random histories of fleets with replicas and fault domains through the program
and judges each step from outside.

This is judged.py for 1 to 5 replicas over 0 to 3 spread levels. Nodes, racks and zones
are added, removed, drained, given other weights and moved; nodes are renamed, keys are
pinned, and the fleet changes its replicas and its spread. The judge knows the least
that each step can move and reorder. The fleets are small, so that its exact flow is
quick.

    python3 tests/judged_replicas.py [--histories 60] [--first 20]

`--histories` is the number of histories, `--first` the number of the first one.
"""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from judging import Random, build_program, judge, step
from optimum import primaries
from targets import targets
from write_map import encode

STEPS, HISTORIES, MOST = 12, 20, 14
SPREAD, VALUES = ["zone", "rack", "shelf"], ["abcde", "123", "xy"]
MILLION = 10**6


class Fleet:
    """A fleet that changes. A node is a list: its weight in millionths, and the values
    of all three labels.
    """

    def __init__(self, random, replicas, levels):
        self.replicas, self.spread, self.nodes, self.formerly, self.number = (
            replicas,
            SPREAD[:levels],
            {},
            {},
            0,
        )
        self.random, self.pins = random, {}
        for _ in range(replicas + random.below(6)):
            self.add(self.labels())

    def labels(self):
        return [self.random.one_of(values) for values in VALUES]

    def weight(self):
        return self.random.one_of(
            [MILLION, MILLION, 2 * MILLION, 1 + self.random.below(10**7), 1, 10**12]
        )

    def add(self, labels):
        self.number += 1
        if len(self.nodes) < MOST:
            # some names sort before the existing ones, some after them
            self.nodes[f"n{self.random.below(1000)}-{self.number}"] = [
                self.weight(),
                labels,
            ]

    def text(self):
        """Returns the text of the fleet file."""
        spread = ", ".join(f'"{label}"' for label in self.spread)
        text = f'name = "judged"\nreplicas = {self.replicas}\nspread = [{spread}]\n'
        for name, (weight, values) in self.nodes.items():
            labels = ", ".join(
                f'{label} = "{value}"' for label, value in zip(SPREAD, values)
            )
            former = (
                f'formerly = "{self.formerly[name]}"\n' if name in self.formerly else ""
            )
            text += (
                f'[[node]]\nname = "{name}"\nweight = '
                f"{weight // MILLION}.{weight % MILLION:06}\nlabels = {{ {labels} }}\n"
                f"{former}"
            )
        for key, names in self.pins.items():
            if names <= set(self.nodes):
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                text += f'[[pin]]\nkey = "{key}"\nnodes = [{listed}]\nshort = true\n'
        return text

    def change(self):
        """Makes one to three changes, then adds nodes until there are enough for the
        copies.
        """
        self.formerly = {}
        for _ in range(1 + self.random.below(3)):
            self.random.one_of(
                [
                    self.grow,
                    self.grow,
                    self.remove,
                    self.drain,
                    self.weigh,
                    self.relabel,
                    self.rename,
                    self.add_zone,
                    self.remove_domain,
                    self.move_rack,
                    self.copy,
                    self.keep_apart,
                    self.pin,
                    self.pin,
                ]
            )()
        while sum(weight > 0 for weight, _ in self.nodes.values()) < self.replicas:
            if len(self.nodes) == MOST:
                self.nodes[min(self.nodes, key=lambda name: self.nodes[name][0])][0] = (
                    MILLION
                )
            self.add(self.labels())

    def any(self):
        """Returns the name of a random node; there always is one."""
        if not self.nodes:
            self.add(self.labels())
        return self.random.one_of(sorted(self.nodes))

    def drop(self, name):
        del self.nodes[name]
        self.formerly.pop(name, None)

    def grow(self):
        self.add(self.labels())

    def remove(self):
        self.drop(self.any())

    def drain(self):
        self.nodes[self.any()][0] = 0

    def weigh(self):
        self.nodes[self.any()][0] = self.weight()

    def relabel(self):
        self.nodes[self.any()][1] = self.labels()

    def rename(self):
        self.number += 1
        old, new = self.any(), f"{self.random.one_of('amz')}-renamed-{self.number}"
        if old not in self.formerly:
            self.nodes[new], self.formerly[new] = self.nodes.pop(old), old

    def add_zone(self):
        zone = self.random.one_of(VALUES[0])
        for _ in range(1 + self.random.below(3)):
            self.add([zone] + self.labels()[1:])

    def remove_domain(self):
        """Removes a whole zone, or a rack of a zone."""
        level, domain = 1 + self.random.below(2), self.nodes[self.any()][1]
        for name in [
            name
            for name, (_, labels) in self.nodes.items()
            if labels[:level] == domain[:level]
        ]:
            self.drop(name)

    def move_rack(self):
        """Moves a whole rack to another zone."""
        rack, zone = self.nodes[self.any()][1][:2], self.random.one_of(VALUES[0])
        for _, labels in self.nodes.values():
            if labels[:2] == rack:
                labels[0] = zone

    def copy(self):
        self.replicas = 1 + self.random.below(5)

    def pin(self):
        """Pins a key to any nodes. They may be too few or too close to each other; only
        the judge knows.
        """
        some = {self.any() for _ in range(1 + self.random.below(6))}
        self.pins[f"key-{self.random.below(5)}"] = some

    def keep_apart(self):
        self.spread = SPREAD[: self.random.below(4)]


def check_nodes(m, report):
    """Checks that the report's target, points and primary points of every node are
    those of the judge.
    """
    due, first = targets(m), primaries(m, m.base)
    problems = []
    for n, told in zip(m.nodes, report["nodes"]):
        wanted = [
            n.name,
            str(due["node", n.name]),
            str(due["node", n.name]),
            str(first[n.name]),
        ]
        if [
            told[field]
            for field in ("name", "target_points", "points", "primary_points")
        ] != wanted:
            problems.append(f"the report says of {n.name}: {told}")
    return (
        problems
        if len(report["nodes"]) == len(m.nodes)
        else problems + ["the report has not all nodes"]
    )


def controls():
    """Checks that the judge rejects broken steps: two copies in a zone, a node without
    its share, a pointless move and a pointless reorder.
    """

    def four(*lists):
        nodes = [
            {"name": name, "labels": {"zone": name[0]}}
            for name in ("a1", "a2", "b1", "b2")
        ]
        base = [
            [f"{i:x}".ljust(16, "0"), who.split()]
            for i, who in zip((0, 4, 8, 12), lists)
        ]
        return {
            "name": "judged",
            "replicas": 2,
            "spread": ["zone"],
            "nodes": nodes,
            "base": base,
        }

    good = ("a1 b1", "b1 a1", "a2 b2", "b2 a2")
    old = encode(four(*good))
    assert judge.judge(old)["ok"]
    for lists in (
        ("a1 a2", "b1 b2", "a2 a1", "b2 b1"),
        ("a1 b1", "b1 a2", "a2 b2", "b2 a2"),
        ("a1 b2", "b1 a1", "a2 b1", "b2 a2"),
        ("b1 a1", "a1 b1", "a2 b2", "b2 a2"),
    ):
        yield not judge.judge(encode(four(*lists), old), old)["ok"]


def main(stead, numbers):
    passed = failed = steps_apart = gradual = short = 0
    for history in numbers:
        fleet = Fleet(Random(history), 1 + history % 5, history % 4)
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "judged.map")
            for number in range(STEPS):
                # every third history makes its changes gradually, and in every second
                # of these the fleet changes again before the change is complete
                pace = ["--max-move", "15%"] if history % 3 == 2 else []
                for part in range(2 if number % 2 else 9):
                    problems, report, m = step(
                        stead,
                        scratch,
                        fleet.text(),
                        path,
                        ("moved", "lower_bound", "reordered"),
                        *pace,
                    )
                    problems += [] if "to_come" in report else check_nodes(m, report)
                    passed, failed = passed + (not problems), failed + bool(problems)
                    for problem in problems:
                        print(
                            f"history {history}, step {number}, part {part}: {problem}",
                            flush=True,
                        )
                    gradual += "to_come" in report
                    short += report["short_pins"]
                    if "to_come" not in report:
                        break
                steps_apart += m.replicas > 1 and bool(m.spread)
                fleet.change()
    rejected = list(controls())
    passed, failed = passed + sum(rejected), failed + len(rejected) - sum(rejected)
    if len(numbers) >= HISTORIES and steps_apart < len(numbers) * STEPS // 3:
        print(f"only {steps_apart} steps had copies to keep apart")
        failed += 1
    if len(numbers) >= HISTORIES and gradual < len(numbers):
        print(f"only {gradual} steps were part of a gradual change")
        failed += 1
    if len(numbers) >= HISTORIES and short < len(numbers):
        print(f"only {short} pins were short")
        failed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Random histories of replicas and fault domains, each step judged from outside."
    )
    parser.add_argument(
        "--histories",
        type=int,
        default=HISTORIES,
        help=f"how many (default {HISTORIES})",
    )
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="the number of the first one; it is the seed (default 0)",
    )
    wanted = parser.parse_args()
    sys.exit(
        main(build_program(), range(wanted.first, wanted.first + wanted.histories))
    )

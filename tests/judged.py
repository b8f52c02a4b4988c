"""Random histories through the program, each step judged from outside.

`stead apply` makes the maps; tests/reference/judge.py, which knows only the documents, judges shares and movement; keys are
located by the program and by the reference, and `diff --keys` must name just the keys whose place changed.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "reference"), HERE]
sys.dont_write_bytecode = True

import judge  # noqa: E402
import stead_reference as reference  # noqa: E402
from comparison import same_nodes  # noqa: E402
from hashes import point_of  # noqa: E402

STEPS, HISTORIES, KEYS = 25, 8, [b"key-%d" % i for i in range(400)] + [b"justin", b"", "späti".encode(), b"\xff\xfe"]


class Random:
    """SplitMix64: the same histories on every machine."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return reference.mix(self.state, 0) % n


class Wanted:
    """A fleet that changes."""

    def __init__(self, hash_name):
        self.hash, self.nodes, self.policies, self.keys, self.ranges = hash_name, {"first": 10**6}, {}, set(), set()
        self.formerly, self.number = {}, 0
        # keys that lie in the first or last quarter of their hundredth: the range pins take the middle
        names = ["justin"] + [f"key-{i}" for i in range(400)]
        points = {name: point_of(hash_name, name.encode(), b"") * 100 % reference.SPACE for name in names}
        self.free = [name for name, point in points.items() if not 1 <= point * 4 // reference.SPACE <= 2]

    def text(self):
        """As a fleet file."""
        text = f'name = "judged"\nhash = "{self.hash}"\n'
        for name, weight in self.nodes.items():
            former = f'formerly = "{self.formerly[name]}"\n' if name in self.formerly else ""
            text += f'[[node]]\nname = "{name}"\nweight = {weight // 10**6}.{weight % 10**6:06}\n{former}'
        some = ", ".join(f'"{name}"' for name in sorted(self.nodes)[:3])
        for name, weight in self.policies.items():
            text += f'[[policy]]\nname = "{name}"\nkind = "chain"\nweight = {weight}\nnodes = [{some}]\n'
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
            what, old = random.below(12), sorted(self.nodes)[random.below(len(self.nodes))]
            if what < 4:
                self.nodes[f"n{random.below(10**6)}-{self.number}"] = [10**6, 1 + random.below(10**7), 1, 10**12][random.below(4)]
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
            self.nodes[sorted(self.nodes)[0]] = 10**6


def run(stead, *arguments, keys=None):
    data = b"".join(key + b"\0" for key in keys) if keys is not None else b""
    done = subprocess.run([stead, *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def places(stead, path):
    return [record.partition(b"\t")[0] for record in run(stead, "locate", path, "-0", keys=KEYS).split(b"\0")[:-1]]


def step(stead, scratch, text, path):
    """Applies a fleet and judges the step; returns what is wrong."""
    fleet_file = os.path.join(scratch, "fleet.toml")
    with open(fleet_file, "w", encoding="ascii") as file:
        file.write(text)
    old_path = path + ".old"
    old = None
    if os.path.exists(path):
        with open(path, "rb") as file:
            old = file.read()
        with open(old_path, "wb") as file:
            file.write(old)
    planned = json.loads(run(stead, "plan", fleet_file, path, "--json", "--moves"))
    applied = json.loads(run(stead, "apply", fleet_file, path, "--json", "--moves"))
    with open(path, "rb") as file:
        new = file.read()
    problems = []
    if planned != applied:
        problems.append("plan and apply do not say the same")
    if new == old:
        return problems if applied["moved"]["points"] == "0" else problems + ["nothing to do, and yet something moved"]
    verdict = judge.judge(new, old)
    problems += verdict["problems"]
    if applied["max_share_error_points"] != "0" or applied["violations"]:
        problems.append("the report speaks of an error in the shares")
    m = reference.read_map(new)
    here = places(stead, path)
    wanted = [",".join(reference.locate_all(m, m.point(key))).encode() for key in KEYS]
    if here != wanted:
        problems.append("the program and the reference place keys differently")
    if old:
        if applied["moved"]["points"] != verdict["moved"] or applied["lower_bound"]["points"] != verdict["lower_bound"]:
            problems.append("the report's movement is not the judge's")
        problems += check_keys(stead, old_path, path, here, same_nodes(reference.read_map(old), m))
    return problems


def check_keys(stead, old_path, path, here, renamed):
    """`diff --keys` names the keys whose nodes changed, and no other. `renamed` maps the old names to the new ones."""
    moved = run(stead, "diff", old_path, path, "--keys", "-0", keys=KEYS).split(b"\0")[:-1]
    now = [{renamed.get(name, name) for name in place.decode().split(",")} for place in places(stead, old_path)]
    wanted = sum(before != set(place.decode().split(",")) for before, place in zip(now, here))
    return [] if len(moved) == wanted else [f"diff --keys names {len(moved)} keys, {wanted} moved"]


def roll_back(stead, path):
    """Rolls back by one epoch and judges: as much moves as the step moved that is taken back, and keys live where they did."""
    kept = json.loads(run(stead, "history", path, "--json"))["epochs"]
    if len(kept) < 2:
        return []
    before = os.path.join(f"{path}.history", str(kept[-2]["epoch"]))
    wanted = places(stead, before)
    with open(path, "rb") as file:
        old = file.read()
    report = json.loads(run(stead, "rollback", path, str(kept[-2]["epoch"]), "--json"))
    with open(path, "rb") as file:
        verdict = judge.judge(file.read(), old)
    problems = list(verdict["problems"])
    if [verdict["moved"], verdict["lower_bound"]] != [report["moved"]["points"], report["lower_bound"]["points"]]:
        problems.append("rollback: the report's movement is not the judge's")
    return problems if places(stead, path) == wanted else problems + ["rollback: keys live elsewhere than before"]


def main(stead):
    passed = failed = 0
    for history in range(HISTORIES):
        random, wanted = Random(history), Wanted(["md5", "sha1", "xxh3"][history % 3])
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "judged.map")
            for number in range(STEPS):
                problems = step(stead, scratch, wanted.text(), path)
                if number % 5 == 4:
                    problems += roll_back(stead, path)
                passed, failed = passed + (not problems), failed + bool(problems)
                for problem in problems:
                    print(f"history {history}, step {number}: {problem}")
                wanted.change(random)
    # the control: a judge that accepts a damaged balance would be worth nothing
    with open(os.path.join(HERE, "maps", "naive-4.map"), "rb") as new, open(os.path.join(HERE, "maps", "three.map"), "rb") as old:
        rejected = not judge.judge(new.read(), old.read())["ok"]
    passed, failed = passed + rejected, failed + (not rejected)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(HERE, "runners"))
    from importlib.machinery import SourceFileLoader

    runner = SourceFileLoader("run", os.path.join(HERE, "run")).load_module()
    sys.exit(main(runner.build_program()))

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

STEPS, HISTORIES, KEYS = 25, 8, [b"key-%d" % i for i in range(400)] + [b"justin", b"", "späti".encode(), b"\xff\xfe"]


class Random:
    """SplitMix64: the same histories on every machine."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return reference.mix(self.state, 0) % n


def fleet(nodes, policies, pins, hash_name):
    """The text of a fleet."""
    text = f'name = "judged"\nhash = "{hash_name}"\n'
    for name, weight in nodes.items():
        text += f'[[node]]\nname = "{name}"\nweight = {weight // 10**6}.{weight % 10**6:06}\n'
    some = sorted(nodes)[0]
    for name, weight in policies.items():
        text += f'[[policy]]\nname = "{name}"\nkind = "chain"\nweight = {weight}\nnodes = ["{some}"]\n'
    for key in pins:
        text += f'[[pin]]\nkey = "{key}"\nnodes = ["{some}"]\n'
    return text


def change(random, nodes, policies, pins, step):
    """One to three changes of a fleet."""
    for _ in range(1 + random.below(3)):
        what = random.below(10)
        if what < 4 or not nodes:
            nodes[f"n{random.below(10**6)}-{step}"] = [10**6, 1 + random.below(10**7), 1, 10**12][random.below(4)]
        elif what < 6 and len(nodes) > 1:
            del nodes[sorted(nodes)[random.below(len(nodes))]]
        elif what < 8:
            nodes[sorted(nodes)[random.below(len(nodes))]] = random.below(5 * 10**6)
        elif what == 8:
            policies[f"p{random.below(3)}"] = random.below(4)
        else:
            pins.symmetric_difference_update({"justin" if random.below(2) else f"key-{random.below(400)}"})
    if not any(nodes.values()) and not any(policies.values()):
        nodes[sorted(nodes)[0]] = 10**6


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
        problems += check_keys(stead, old_path, path, here)
    return problems


def check_keys(stead, old_path, path, here):
    """`diff --keys` names the keys whose nodes changed, and no other."""
    moved = run(stead, "diff", old_path, path, "--keys", "-0", keys=KEYS).split(b"\0")[:-1]
    before = places(stead, old_path)
    wanted = sum(set(a.split(b",")) != set(b.split(b",")) for a, b in zip(before, here))
    return [] if len(moved) == wanted else [f"diff --keys names {len(moved)} keys, {wanted} moved"]


def main(stead):
    passed = failed = 0
    for history in range(HISTORIES):
        random = Random(history)
        nodes, policies, pins = {"first": 10**6}, {}, set()
        hash_name = ["md5", "sha1", "xxh3"][history % 3]
        with tempfile.TemporaryDirectory() as scratch:
            for number in range(STEPS):
                problems = step(stead, scratch, fleet(nodes, policies, pins, hash_name), os.path.join(scratch, "judged.map"))
                passed, failed = passed + (not problems), failed + bool(problems)
                for problem in problems:
                    print(f"history {history}, step {number}: {problem}")
                change(random, nodes, policies, pins, number)
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

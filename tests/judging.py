"""What judged.py and judged_replicas.py share: random numbers, the program, and one
judged step.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "reference"), HERE]
sys.dont_write_bytecode = True

import judge
import stead_reference as reference
from built import program as build_program  # noqa: F401  for those that import this
from comparison import same_nodes

# random histories drop copies and nodes on purpose
ALLOW = ["--allow", "drop-copies,lose-domain,move,take-back"]

KEYS = [b"key-%d" % i for i in range(400)] + [
    b"justin",
    b"",
    "späti".encode(),
    b"\xff\xfe",
]


class Random:
    """SplitMix64: the same histories on every machine."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return reference.mix(self.state, 0) % n

    def one_of(self, items):
        return items[self.below(len(items))]


def run(stead, *arguments, keys=None):
    data = b"".join(key + b"\0" for key in keys) if keys is not None else b""
    done = subprocess.run(
        [stead, *arguments],
        input=data,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(
            f"{arguments}: exit {done.returncode}: {done.stderr.decode()}"
        )
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def places(stead, path):
    return [
        record.partition(b"\t")[0]
        for record in run(stead, "locate", path, "-0", keys=KEYS).split(b"\0")[:-1]
    ]


def step(stead, scratch, text, path, amounts, *options):
    """Applies a fleet and judges the step. `amounts` are the fields of the report that
    must be equal to the judge's; `options` are those of plan and apply. Returns what is
    wrong, the report and the new map.
    """
    fleet_file = os.path.join(scratch, "fleet.toml")
    with open(fleet_file, "w", encoding="ascii") as file:
        file.write(text)
    old_path = path + ".old"
    old = read(path) if os.path.exists(path) else None
    if old:
        with open(old_path, "wb") as file:
            file.write(old)
    planned = json.loads(
        run(stead, "plan", fleet_file, path, "--json", "--moves", *options)
    )
    applied = json.loads(
        run(stead, "apply", fleet_file, path, "--json", "--moves", *options, *ALLOW)
    )
    new = read(path)
    m = reference.read_map(new)
    problems = [] if planned == applied else ["plan and apply do not say the same"]
    if new == old:
        if applied["moved"]["points"] != "0":
            problems.append("nothing to do, and yet something moved")
        return problems, applied, m
    verdict = judge.judge(new, old)
    problems += verdict["problems"]
    if applied["max_share_error_points"] != "0" and not m.tolerance:
        problems.append("the report speaks of an error in the shares")
    for counted, judged in (
        ("violations", "violating_slices"),
        ("pending_violations", "pending_violations"),
        ("pin_violations", "pin_violations"),
        ("short_pins", "short_pins"),
    ):
        if applied[counted] != verdict[judged]:
            problems.append(
                f"the report has {applied[counted]} {counted}, the judge {verdict[judged]}"
            )
    here = places(stead, path)
    if here != [
        ",".join(reference.locate_all(m, m.point(key))).encode() for key in KEYS
    ]:
        problems.append("the program and the reference place keys differently")
    if old:
        for amount in amounts:
            if applied[amount]["points"] != verdict[amount]:
                problems.append(
                    f"{amount} is {applied[amount]['points']} in the report, and "
                    f"{verdict[amount]} for the judge"
                )
        problems += check_keys(
            stead, old_path, path, here, same_nodes(reference.read_map(old), m)
        )
    return problems, applied, m


def check_keys(stead, old_path, path, here, renamed):
    """Checks that `diff --keys` names exactly the keys whose nodes changed. `renamed`
    maps old names to new ones.
    """
    moved = run(stead, "diff", old_path, path, "--keys", "-0", keys=KEYS).split(b"\0")[
        :-1
    ]
    now = [
        {renamed.get(name, name) for name in place.decode().split(",")}
        for place in places(stead, old_path)
    ]
    wanted = sum(
        before != set(place.decode().split(",")) for before, place in zip(now, here)
    )
    return (
        []
        if len(moved) == wanted
        else [f"diff --keys names {len(moved)} keys, {wanted} moved"]
    )

"""Changes the closely measured parts in one place at a time, with cargo-mutants: a test must fail
for each change. Started by `make mutants`.

    python3 tests/campaigns/mutants.py [--only NAME] [--shard K/N]

All mutants take days on two cores, so a part of them can be chosen. Those that no test notices are
printed, and are in target/mutants.
"""

import argparse
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from areas import AREAS

import tools

# what cargo-mutants calls the ends of a mutant
CAUGHT, MISSED, OTHER = ("CaughtMutant", "Timeout"), ("MissedMutant",), ("Unviable",)


def outcomes(directory):
    """How the mutants of a run have ended: {end: [name, ...]}."""
    path = os.path.join(directory, "mutants.out", "outcomes.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["outcomes"]
    ended = {}
    for one in found:
        if one["scenario"] != "Baseline":
            name = one["scenario"]["Mutant"]["name"]
            ended.setdefault(one["summary"], []).append(name)
    return ended


def run(area, directory, shard):
    """Tries the mutants of an area; returns how they ended, and the exit code."""
    command = [tools.program("cargo-mutants"), "mutants", "--package", area.package]
    command += ["--file", area.files + "**/*.rs", "--output", directory]
    command += ["--timeout", "120", "--baseline", "run", "--colors", "never"]
    command += ["--shard", shard] if shard else []
    command += ["--", "--locked", "--lib", *(f"--test={name}" for name in area.tests)]
    os.makedirs(directory, exist_ok=True)
    done = subprocess.run(command, cwd=tools.ROOT, check=False)
    return outcomes(directory), done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", help="parts whose name has this in it")
    parser.add_argument("--shard", help="the part K of N equal parts, from 0")
    given = parser.parse_args()
    caught = missed = 0
    for name, area in AREAS.items():
        if (given.only or "") not in name:
            continue
        began = time.monotonic()
        directory = os.path.join(
            tools.ROOT, "target", "mutants", area.files.strip("/").replace("/", "-")
        )
        ended, code = run(area, directory, given.shard)
        count = lambda words, ended=ended: sum(
            len(ended.get(word, ())) for word in words
        )
        # 2: some are missed, 3: some time out
        if code not in (0, 2, 3) or not ended:
            tools.refuse(
                f"cargo-mutants ended with {code} for {name}; its output is above"
            )
        caught, missed = caught + count(CAUGHT), missed + count(MISSED)
        print(
            f"{name:<14} {count(CAUGHT):>5} caught {count(MISSED):>4} missed "
            f"{count(OTHER):>4} do not compile {time.monotonic() - began:>7.0f} s",
            flush=True,
        )
        print(
            "".join(f"    missed: {one}\n" for one in ended.get("MissedMutant", ())),
            end="",
        )
    print(f"{caught} passed, {missed} failed, 0 skipped")
    return 1 if missed or not caught else 0


if __name__ == "__main__":
    sys.exit(main())

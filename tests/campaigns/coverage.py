"""Counts which lines of the closely measured parts the Rust tests reach, with cargo-llvm-cov.
Started by `make coverage`; docs/assurance.md has its figures.

    python3 tests/campaigns/coverage.py

The tests of other languages, and those that start programs, reach more: this is a lower bound.
"""

import argparse
import json
import os
import sys

sys.dont_write_bytecode = True

import tools

# name -> the package, and where its files are
AREAS = {
    "format": ("stead", "crates/stead/src/format/"),
    "rebalance": ("stead", "crates/stead/src/rebalance/"),
    "store": ("stead", "crates/stead/src/store/"),
    "verdict": ("stead", "crates/stead/src/verdict/"),
    "C boundary": ("stead-capi", "crates/stead-capi/src/"),
    "the router's log": ("stead-rrd", "crates/stead-rrd/src/log/"),
}

# large inputs: they run code that other tests run, too, and counting makes them slow
LONG_FILES = ("memory", "reloads")
LONG_MODULES = ("golden_wide", "gradual_peaks", "fleet_scale")


def counted(report, files):
    """The lines of files whose path has this in it: how many, and how many are reached."""
    found = [
        file["summary"]["lines"]
        for file in report["data"][0]["files"]
        if files in file["filename"]
    ]
    return sum(one["count"] for one in found), sum(one["covered"] for one in found)


def measured(package, directory):
    """Runs the tests of a package, and returns its report and the run."""
    tests = os.path.join(tools.ROOT, "crates", package, "tests")
    names = sorted(os.listdir(tests)) if os.path.isdir(tests) else []
    names = [
        name.removesuffix(".rs")
        for name in names
        if name.endswith(".rs") or os.path.exists(os.path.join(tests, name, "main.rs"))
    ]
    chosen = ["--lib"] + [f"--test={name}" for name in names if name not in LONG_FILES]
    own = [word for name in LONG_MODULES for word in ("--skip", name + "::")]
    path = os.path.join(directory, package + ".json")
    ran = tools.Ran(
        [tools.program("cargo-llvm-cov"), "llvm-cov", "--locked", "-p", package]
        + [*chosen, "--json", "--output-path", path, "--", *own],
        CARGO_INCREMENTAL="0",
    )
    if ran.code:
        return None, ran
    with open(path, encoding="utf-8") as file:
        return json.load(file), ran


def main():
    argparse.ArgumentParser(
        description=__doc__.split("\n\n", maxsplit=1)[0]
    ).parse_args()
    directory = os.path.join(tools.ROOT, "target", "coverage")
    os.makedirs(directory, exist_ok=True)
    tally = tools.Tally()
    for package in sorted({package for package, _ in AREAS.values()}):
        print(
            f"== {package}: tests, with every line counted (some minutes)", flush=True
        )
        report, ran = measured(package, directory)
        tally.row(package, ran, [])
        for name, (owner, files) in AREAS.items():
            if report and owner == package:
                lines, reached = counted(report, files)
                share = 100 * reached / lines
                print(
                    f"    {name:<16} {reached:>6} of {lines:>6} lines  {share:5.1f} %"
                )
    tally.close()


if __name__ == "__main__":
    main()

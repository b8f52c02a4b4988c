"""Runs the tests in which threads work at once under ThreadSanitizer, which finds data
races in machine code, the standard library included. Started by `make tsan`;
docs/assurance.md says what it reaches.

    python3 tests/campaigns/tsan.py [--only NAME]
"""

import argparse
import os
import re
import sys

sys.dont_write_bytecode = True

import tools

# C code of dependencies is not built with it; rustc must be told that this is known
FLAGS = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
OPTIONS = "halt_on_error=0 exitcode=66"

# the first words of the tests with threads in crates/stead/tests/all/store.rs
STORES = [
    "concurrent",
    "threads_that_open",
    "opening",
    "the_cache",
    "publish",
    "apply_builds_and_publishes",
    "a_failed_first_publish",
]

# name -> the package, its test programs, and the tests by a part of their name
PARTS = {
    "C boundary": ("stead-capi", ["--lib"], ["threads_", "strings::"]),
    "open maps and stores": (
        "stead",
        ["--test", "all"],
        ["store::" + name for name in STORES],
    ),
    "batches on several threads": (
        "stead",
        ["--test", "all"],
        ["batches::keys_on_several_threads"],
    ),
    # not the programs: under the sanitizer, a thread that waits for a futex takes no signal
    "RRD router": ("stead-rrd", ["--lib"], []),
}


def reports(text):
    """The lines with which the sanitizer ends a report."""
    return re.findall(r"^SUMMARY: ThreadSanitizer: .*$", text, re.MULTILINE)


def raced():
    """Builds and runs the control, which has a race."""
    program = os.path.join(tools.ROOT, "target", "tsan", "race")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    source = os.path.join(tools.HERE, "race.rs")
    built = tools.Ran(
        ["rustup", "run", "nightly", "rustc", "--edition", "2021", *FLAGS.split()]
        + ["-o", program, source]
    )
    return built if built.code else tools.Ran([program], TSAN_OPTIONS=OPTIONS)


def run(cargo, package, targets, tests):
    """Builds a package and the standard library with the sanitizer, and runs tests."""
    return tools.Ran(
        [*cargo, "test", "--locked", "-Zbuild-std", "--target", tools.host()]
        # the sanitizer costs more than the optimisation gains, and the build takes half the time
        + ["--config", "profile.dev.package.stead.opt-level=0"]
        + ["-p", package, *targets, "--", *tests],
        RUSTFLAGS=FLAGS,
        TSAN_OPTIONS=OPTIONS,
        CARGO_INCREMENTAL="0",
        CARGO_TARGET_DIR=os.path.join(tools.ROOT, "target", "tsan"),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", help="parts whose name has this in it")
    only = parser.parse_args().only or ""
    cargo = tools.nightly("rust-src")
    tally = tools.Tally()
    ran = raced()
    # without a standard library that is built with it, the sanitizer also reports others
    seen = [line for line in reports(ran.text) if "add_one" in line]
    tally.control("two threads count without a lock", ran, seen)
    for name, part in PARTS.items():
        if only in name:
            ran = run(cargo, *part)
            tally.row(name, ran, reports(ran.text))
    tally.close()


if __name__ == "__main__":
    main()

"""Runs the tests of unsafe code in Miri, which finds undefined behaviour: reads of memory
that was never written or was freed, pointers that leave what they were made of, references
that overlap, data races. Started by `make miri`; docs/assurance.md says what it reaches.

    python3 tests/campaigns/miri.py [--only NAME]

Miri is a thousand times slower than the machine. The tests that it runs take smaller
numbers there (`cfg!(miri)`).
"""

import argparse
import os
import re
import sys

sys.dont_write_bytecode = True

import tools

# With this, a reference to numbers that were never written is reported when it is made. The
# standard library does not keep to it everywhere, so only the tests that call nothing but
# the boundary run with it.
STRICTER = "-Zmiri-recursive-validation"

CORE = ("-p", "stead", "--lib")
C = ("-p", "stead-capi", "--lib")
ARROW = ("-p", "stead-arrow", "--lib")
KERNELS = ("kernel::", "hash::short_md5")
# name -> what cargo builds, which tests run, more flags of Miri, and of rustc
PARTS = {
    "C boundary": (C, ("boundary::",), STRICTER, ""),
    "calls as C makes them": (C, ("calls::", "batch::", "strings::every"), "", ""),
    "Arrow": (ARROW, (), "", ""),
    "kernels": (CORE, KERNELS, "", ""),
    "memory that is held": (("-p", "stead", "--test", "reserve"), (), "", ""),
    "maps and memory": (CORE, ("map::marks", "map::buckets", "memory::"), "", ""),
}
CONTROLS = ("control_an_answer_that_was_not_written", "control_two_threads")


def reports(text):
    """The lines in which Miri names undefined behaviour, or what it cannot run."""
    return re.findall(
        r"^(?:test \S+ \.\.\. )?(error: (?:Undefined Behavior|unsupported operation).*)$",
        text,
        re.MULTILINE,
    )


def run(cargo, of, tests, flags, rustflags, *own):
    """Runs tests in Miri."""
    return tools.Ran(
        [*cargo, "miri", "test", "--locked", *of, "--", *own, *tests],
        # the tests read the files of the tree, and write to a temporary directory
        MIRIFLAGS=f"-Zmiri-disable-isolation -Zmiri-strict-provenance {flags}",
        RUSTFLAGS=rustflags,
        CARGO_TARGET_DIR=os.path.join(tools.ROOT, "target", "miri"),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", help="parts whose name has this in it")
    only = parser.parse_args().only or ""
    cargo = tools.nightly("miri", "rust-src")
    tally = tools.Tally()
    for control in CONTROLS:
        ran = run(cargo, C, (control,), "", "", "--ignored")
        tally.control(
            control.removeprefix("control_").replace("_", " "), ran, reports(ran.text)
        )
    for name, part in PARTS.items():
        if only in name:
            ran = run(cargo, *part)
            tally.row(name, ran, reports(ran.text))
    tally.close()


if __name__ == "__main__":
    main()

"""Shared by the machines of `make test-cross`: how the programs are built, and how suites
are counted.
"""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# how a suite's output is counted: by its last line, or by those of cargo
COUNTS, CARGO = "counts", "cargo"
# without optimising everything at link time, a build takes a third
QUICK = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_DEBUG": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_INCREMENTAL": "0",
}


def say(text):
    print(text, flush=True)


class Tally:
    """Counts tests and prints a row for each suite."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def row(self, machine, suite, passed, failed, seconds, said=""):
        """Counts a suite, which must have passed something."""
        failed += not (passed or failed)
        self.passed, self.failed = self.passed + passed, self.failed + failed
        say(
            f"{machine:<8}{suite:<20}{passed:>7} passed {failed:>5} failed {seconds:>7.1f} s"
        )
        if failed:
            say("\n".join(f"    {line}" for line in said.splitlines()[-40:]))

    def without(self, machine, reason):
        """Counts a machine that cannot be had here."""
        self.skipped += 1
        say(f"{machine:<8}skipped: {reason}")


def counted(text, by):
    """Returns how many passed and failed, from a suite's output."""
    if by == CARGO:
        found = re.findall(
            r"^test result: .*? (\d+) passed; (\d+) failed", text, re.MULTILINE
        )
    else:
        found = re.findall(r"(\d+) passed, (\d+) failed, \d+ skipped", text)[-1:]
    return [sum(int(pair[i]) for pair in found) for i in (0, 1)]

"""The Perl module as a runner: every vector through answer.pl, that is, through Stead's public classes."""

import os
import runpy
import tempfile

from answers import passed
from report import TESTS, report

MODULE = runpy.run_path(os.path.join(os.path.dirname(TESTS), "scripts", "perl-module"))
ANSWER = os.path.join(TESTS, "runners", "answer.pl")


def program():
    """Builds the module; the command that answers."""
    return [MODULE["PERL"], "-w", "-Mblib=" + MODULE["build"](), ANSWER]


def run(files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        return passed("Perl", program(), files, scratch)


if __name__ == "__main__":
    report("perl", run)

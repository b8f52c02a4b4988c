"""The Perl module as a runner: every vector through answer.pl, that is, through Stead's
public classes; with the name of a locale it runs in that (locales.py).
"""

import os
import runpy
import sys
import tempfile

from answers import passed
from locales import locales
from report import TESTS, report

MODULE = runpy.run_path(os.path.join(os.path.dirname(TESTS), "scripts", "perl-module"))
ANSWER = os.path.join(TESTS, "runners", "answer.pl")


def command(module):
    """What answers, through the module that was built there."""
    return [MODULE["PERL"], "-w", "-Mblib=" + module, ANSWER]


def run(locale, files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        if locale:
            os.environ.update(locales(scratch)[locale], ANSWER_LOCALE=locale)
        return passed("Perl", command(MODULE["build"]()), files, scratch)


if __name__ == "__main__":
    wanted = (sys.argv[1:] or [None])[0]
    report(f"perl {wanted}" if wanted else "perl", lambda files: run(wanted, files))

"""The Perl module as a runner: puts every vector through answer.pl, which uses Stead's
public classes. With the name of a locale as its argument it runs in this locale
(locales.py).
"""

import os
import runpy
import sys
import tempfile

from answers import passed
from locales import locales, part
from report import TESTS, report

MODULE = runpy.run_path(os.path.join(os.path.dirname(TESTS), "scripts", "perl-module"))
ANSWER = os.path.join(TESTS, "runners", "answer.pl")


def command(module):
    """The command of answer.pl with the module that was built in this directory."""
    return [MODULE["PERL"], "-w", "-Mblib=" + module, ANSWER]


def run(locale, files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        if locale:
            os.environ.update(locales(scratch, [locale])[locale], ANSWER_LOCALE=locale)
            files = part(files)
        return passed("Perl", command(MODULE["build"]()), files, scratch)


if __name__ == "__main__":
    wanted = (sys.argv[1:] or [None])[0]
    report(f"perl {wanted}" if wanted else "perl", lambda files: run(wanted, files))

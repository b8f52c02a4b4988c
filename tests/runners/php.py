"""The PHP package as a runner: puts every vector through answer.php. With the name of a
locale as its argument it runs in this locale (locales.py).
"""

import os
import sys
import tempfile

from answers import passed
from locales import locales
from report import TESTS, report

# isort: split
import built  # report says where it is

PHP = os.environ.get("PHP", "php")


def run(locale, files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["STEAD_LIBRARY"] = os.path.join(built.libraries(), "libstead.so")
        if locale:
            os.environ.update(locales(scratch)[locale], ANSWER_LOCALE=locale)
        return passed(
            "PHP", [PHP, os.path.join(TESTS, "runners", "answer.php")], files, scratch
        )


if __name__ == "__main__":
    wanted = (sys.argv[1:] or [None])[0]
    report(f"php {wanted}" if wanted else "php", lambda files: run(wanted, files))

"""The PHP package as a runner: puts every vector through answer.php. With the name of a
locale as its argument it runs in this locale (locales.py), and with `extension` it runs
with the PHP extension instead of FFI.
"""

import os
import sys
import tempfile

from answers import passed
from locales import locales, part
from report import TESTS, report

# isort: split
import built  # report says where it is

PHP = os.environ.get("PHP", "php")


def command(backend):
    """The command that answers, with the extension or with FFI."""
    options = []
    if backend == "extension":
        options = ["-d", f"extension={built.script('php-extension').build()}"]
    os.environ["ANSWER_BACKEND"] = backend
    return [PHP, *options, os.path.join(TESTS, "runners", "answer.php")]


def run(backend, locale, files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["STEAD_LIBRARY"] = os.path.join(built.libraries(), "libstead.so")
        if locale:
            os.environ.update(locales(scratch, [locale])[locale], ANSWER_LOCALE=locale)
            files = part(files)
        return passed("PHP", command(backend), files, scratch)


if __name__ == "__main__":
    wanted = (sys.argv[1:] or [None])[0]
    if wanted == "extension":
        report("php-extension", lambda files: run("extension", None, files))
    else:
        name = f"php {wanted}" if wanted else "php"
        report(name, lambda files: run("ffi", wanted, files))

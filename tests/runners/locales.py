"""Locales for runners: German, whose decimal point is a comma, and Turkish, where the
small letter of I has no dot. No answer may depend on them.

The system need not have these locales: they are made in a directory, from the sources
of the package `locales` (or of glibc).

    locales.py COMMAND...

exits with 0 when the locales can be made here and the command exits with 0. NEEDS of
tests/run uses this.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("de_DE.UTF-8", "tr_TR.UTF-8")

# The maps whose golden vectors a runner in a locale takes. A locale could change how numbers and
# letters are written, which is the same for every map, so two maps are enough. The vectors of the
# other files are of all maps, and a runner in a locale takes all of them.
GOLDEN = ("three", "gradual-copies")


def why_not():
    """Why locales cannot be made here; None when they can."""
    if not shutil.which("localedef"):
        return "localedef is not installed (Debian's package libc-bin)"
    missing = [
        name
        for name in NAMES
        if not os.path.exists(
            os.path.join("/usr/share/i18n/locales", name.partition(".")[0])
        )
    ]
    return (
        f"there is no source of {', '.join(missing)} (Debian's package locales)"
        if missing
        else None
    )


def part(files):
    """The vectors that a runner in a locale takes, as {file: vectors}."""
    golden = [v for v in files["golden.json"] if v["map"] in GOLDEN]
    return {**files, "golden.json": golden}


def locales(scratch, names=NAMES):
    """Makes these locales in `scratch`; each takes a second. Returns {name: environment
    variables of a program that is to run in this locale}.

    A program uses a locale only when it calls setlocale, and it gets no error when the
    locale is missing. So let the program check what setlocale returns.
    """
    found = {}
    for name in names:
        language, charset = name.split(".")
        subprocess.run(
            ["localedef", "-i", language, "-f", charset, os.path.join(scratch, name)],
            check=True,
        )
        found[name] = {"LOCPATH": scratch, "LC_ALL": name}
    return found


if __name__ == "__main__":
    sys.exit(why_not() or subprocess.run(sys.argv[1:], check=False).returncode)

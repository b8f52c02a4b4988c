"""Locales for runners: German, whose decimal point is a comma, and Turkish, whose small
I has no dot. No answer may depend on them.

The system needs neither: they are made into a directory, from the sources that the
package `locales` (or glibc) brings.

    locales.py COMMAND...     ends with 0 when locales can be made here and the command ends with 0; for NEEDS of tests/run
"""

import os
import shutil
import subprocess
import sys

NAMES = ("de_DE.UTF-8", "tr_TR.UTF-8")


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


def locales(scratch):
    """{name: what to put into the environment of a program that shall run in this
    locale}; the locales are made in `scratch`.

    A program takes a locale only when it calls setlocale, and a missing one is passed
    over in silence: have it check what setlocale says.
    """
    found = {}
    for name in NAMES:
        language, charset = name.split(".")
        subprocess.run(
            ["localedef", "-i", language, "-f", charset, os.path.join(scratch, name)],
            check=True,
        )
        found[name] = {"LOCPATH": scratch, "LC_ALL": name}
    return found


if __name__ == "__main__":
    sys.exit(why_not() or subprocess.run(sys.argv[1:], check=False).returncode)

"""`python -m stead ...` is the program `stead`, which the wheel installs beside Python:
for places where its folder is not in PATH.
"""

from __future__ import annotations

import os
import sys
import sysconfig


def _program() -> str:
    """Returns the path of the program."""
    # a virtualenv, an install for the user, a folder for PYTHONPATH (pip install -t), and the
    # package of a distribution, which has it in another folder than pip
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", f"{os.name}_user"),
        os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin"),
        os.path.dirname(sys.executable),
    ]
    for folder in folders:
        program = os.path.join(folder, "stead")
        if os.path.isfile(program):
            return program
    sys.exit(
        "stead: the program `stead` is not installed beside this Python; it is part of "
        f"the wheel, or a package of its own, and was looked for in {', '.join(folders)}"
    )


if __name__ == "__main__":
    os.execv(_program(), ["stead", *sys.argv[1:]])

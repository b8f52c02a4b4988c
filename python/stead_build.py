"""The build backend of the wheel: maturin, after the program `stead` was built, which the
wheel brings.

pip calls the functions of PEP 517 in this module, for `pip install ./python`;
scripts/python-module calls `program` before it runs maturin itself. maturin copies
everything below DATA into the wheel, and pip installs DATA/scripts/stead beside python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# pyproject.toml names the same folder
DATA = os.path.join(ROOT, "target", "wheel-data")


def program(maturin: list[str] | None = None) -> None:
    """Builds the program into DATA/scripts.

    maturin: the command of a maturin that has zig, for a program that runs with older
    versions of glibc than the one here. Without it, cargo builds the program.
    STEAD_PROGRAM names a program that is there already: the tests have built one, beside
    other programs, and cargo would build its dependencies once more for it alone.
    """
    scripts = os.path.join(DATA, "scripts")
    os.makedirs(scripts, exist_ok=True)
    made = os.path.join(scripts, "stead")
    if maturin:
        with tempfile.TemporaryDirectory() as out:
            options = ["--release", "--locked", "--strip", "--zig", "-b", "bin"]
            manifest = os.path.join("crates", "stead-cli", "Cargo.toml")
            _run([*maturin, "build", *options, "-m", manifest, "-o", out])
            (wheel,) = os.listdir(out)
            with zipfile.ZipFile(os.path.join(out, wheel)) as archive:
                (name,) = (
                    name
                    for name in archive.namelist()
                    if name.endswith(".data/scripts/stead")
                )
                _put(archive.read(name), made)
        return
    built = os.environ.get("STEAD_PROGRAM")
    if not built:
        cargo = os.environ.get("CARGO", "cargo")
        _run([cargo, "build", "--release", "--locked", "-q", "-p", "stead-cli"])
        target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
        built = os.path.join(ROOT, target, "release", "stead")
    # a copy, because the program of `make build` keeps its symbols
    with tempfile.TemporaryDirectory() as out:
        copy = shutil.copy(built, out)
        # the debugging symbols are seven times as large as the program
        _run([shutil.which("strip") or "strip", copy])
        with open(copy, "rb") as file:
            _put(file.read(), made)


def _put(data: bytes, path: str) -> None:
    """Replaces a file, also while it is copied by another build."""
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.chmod(f"{path}.new", 0o755)
    os.replace(f"{path}.new", path)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(f"stead: {command[0]} could not build the program `stead`; see above")


def get_requires_for_build_wheel(settings: Any = None) -> list[str]:
    """PEP 517."""
    return []


def build_wheel(folder: str, settings: Any = None, metadata: str | None = None) -> str:
    """PEP 517: builds the wheel of the module and the program."""
    import maturin

    program()
    name: str = maturin.build_wheel(folder, settings, metadata)
    return name


def prepare_metadata_for_build_wheel(folder: str, settings: Any = None) -> str:
    """PEP 517. pip calls this before anything is built, and maturin wants the directory of
    the program to be there already.
    """
    import maturin

    os.makedirs(DATA, exist_ok=True)
    name: str = maturin.prepare_metadata_for_build_wheel(folder, settings)
    return name


def build_editable(
    folder: str, settings: Any = None, metadata: str | None = None
) -> str:
    """PEP 660: an editable install has the program, too."""
    import maturin

    program()
    name: str = maturin.build_editable(folder, settings, metadata)
    return name


def get_requires_for_build_editable(settings: Any = None) -> list[str]:
    """PEP 660."""
    return []


def prepare_metadata_for_build_editable(folder: str, settings: Any = None) -> str:
    """PEP 660."""
    import maturin

    name: str = maturin.prepare_metadata_for_build_editable(folder, settings)
    return name

"""Builds the wheel as `make wheel` does, checks its content, and tries it in a fresh
virtualenv of every Python that is installed.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import built

# minor versions: that of requires-python, and the newest released one
OLDEST, NEWEST = 10, 14
# the files of a wheel; it has no others
CONTENTS = [
    r"stead/\w+(/\w+)*\.py",
    r"stead/_stead\.pyi",
    r"stead/py\.typed",
    r"stead/_stead\.abi3\.so",
    r"stead-[\d.]+\.data/scripts/stead",
    r"stead-[\d.]+\.dist-info/(METADATA|WHEEL|RECORD|licenses/LICENSE-(MIT|APACHE))",
]


def pythons():
    """Returns {minor version: interpreter} of those in PATH, in pyenv, and this one."""
    candidates = [sys.executable]
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for minor in range(OLDEST, NEWEST + 1):
        folders = os.environ.get("PATH", "").split(os.pathsep)
        candidates += [os.path.join(folder, f"python3.{minor}") for folder in folders]
        candidates += glob.glob(
            os.path.join(pyenv, "versions", f"3.{minor}.*", "bin", "python3")
        )
    found = {}
    for candidate in candidates:
        try:
            done = subprocess.run(
                [candidate, "-c", "import sys, venv; print(*sys.version_info[:2])"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except OSError:
            continue
        match = re.fullmatch(rb"3 (\d+)\n", done.stdout)
        if done.returncode == 0 and match and int(match[1]) >= OLDEST:
            found.setdefault(int(match[1]), candidate)
    return dict(sorted(found.items()))


def keeps_folders():
    """Returns whether rustc writes the folder of the build into code that it inlines: 1.85
    does, and 1.95 does not.
    """
    rustc = os.environ.get("RUSTC", "rustc")
    said = subprocess.run([rustc, "--version"], stdout=subprocess.PIPE, check=True)
    return int(re.match(rb"rustc 1\.(\d+)", said.stdout)[1]) < 95


def contents(wheel):
    """Returns what is wrong with the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        path = next(name for name in names if name.endswith(".so"))
        program = next(name for name in names if name.endswith("/scripts/stead"))
        library = archive.read(path) + archive.read(program)
        executable = archive.getinfo(program).external_attr >> 16 & 0o111
    wrong = [
        f"{name} does not belong there"
        for name in names
        if not any(re.fullmatch(kind, name) for kind in CONTENTS)
    ]
    wrong += [
        f"{kind} is missing"
        for kind in CONTENTS
        if not any(re.fullmatch(kind, name) for name in names)
    ]
    wrong += [
        f"LICENSE-{kind} is missing"
        for kind in ("MIT", "APACHE")
        if not any(name.endswith(f"LICENSE-{kind}") for name in names)
    ]
    wrong += [] if executable else ["the program is not executable"]
    # otherwise a path of the machine that built the wheel would be in every traceback
    return wrong + (
        ["the library or the program names the folder that it was built in"]
        if os.fsencode(ROOT) + b"/" in library and not keeps_folders()
        else []
    )


def tried(python, wheel, scratch):
    """Returns the output of the smoke test in a fresh virtualenv, and whether it
    passed.
    """
    venv = tempfile.mkdtemp(dir=scratch)
    steps = [
        [python, "-m", "venv", "--without-pip", venv],
        # the pip of .venv, since installing one into each virtualenv takes seconds
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            os.path.join(venv, "bin", "python"),
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-index",
            wheel,
        ],
        [
            os.path.join(venv, "bin", "python"),
            "-I",
            "-W",
            "error",
            os.path.join(HERE, "smoke.py"),
        ],
    ]
    for step in steps:
        done = subprocess.run(
            step,
            cwd=venv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            return done.stdout.decode("utf-8", "replace"), False
    return done.stdout.decode().strip(), True


# makes a Python look free-threaded to code that asks sysconfig; a real one is rarely
# installed
FREE_THREADED = """\
import sys, sysconfig
sysconfig.get_config_vars().update(Py_GIL_DISABLED=1, ABIFLAGS="t", abiflags="t")
sys.abiflags = "t"
"""


def refused(free_threaded, scratch):
    """Returns what python/build.rs tells cargo when maturin builds for such a
    Python.
    """
    venv = tempfile.mkdtemp(dir=scratch)
    python = os.path.join(venv, "bin", "python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    if free_threaded:
        (packages,) = glob.glob(os.path.join(venv, "lib", "python*", "site-packages"))
        for name, text in ("fake.py", FREE_THREADED), ("fake.pth", "import fake\n"):
            with open(os.path.join(packages, name), "w", encoding="ascii") as file:
                file.write(text)
    # cargo itself would build all dependencies of the module again for each Python
    script, cargo = os.path.join(venv, "build"), os.path.join(venv, "cargo")
    rustc = os.environ.get("RUSTC", "rustc")
    source = os.path.join(ROOT, "python", "build.rs")
    subprocess.run([rustc, "--edition=2021", source, "-o", script], check=True)
    with open(cargo, "w", encoding="ascii") as file:
        real = os.environ.get("CARGO", "cargo")
        file.write(f'#!/bin/sh\n[ "$1" = rustc ] || exec {real} "$@"\n"{script}" >&2\n')
        file.write("exit 1\n")
    os.chmod(cargo, 0o755)
    maturin = os.path.join(os.path.dirname(sys.executable), "maturin")
    command = [maturin, "build", "-m", "python/Cargo.toml", "-i", python, "-o", venv]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(os.environ, CARGO=cargo),
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace").splitlines()
    assert "cargo::rerun-if-env-changed=PYO3_PYTHON" in said, said
    return [line for line in said if line.startswith("cargo::error=")]


def refuses(scratch):
    """Returns what is wrong with the answer for a free-threaded Python, and for another
    one.
    """
    said = refused(True, scratch)
    if len(said) != 1 or "is a free-threaded Python" not in said[0]:
        return f"a free-threaded Python is not refused in one line: {said}"
    said = refused(False, scratch)
    return f"a Python with the GIL is refused: {said}" if said else ""


def main():
    made = subprocess.run(
        [sys.executable, os.path.join(ROOT, "scripts", "python-module"), "--wheel"],
        env=dict(os.environ, STEAD_PROGRAM=built.program()),
        stdout=subprocess.PIPE,
        check=True,
    )
    wheel = os.path.join(ROOT, made.stdout.decode().strip())
    wrong = contents(wheel)
    print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel) // 1000} kB")
    for problem in wrong:
        print(f"FAILED: {problem}")
    passed, failed, skipped = int(not wrong), int(bool(wrong)), 0
    found = pythons()
    scratch = tempfile.mkdtemp()
    for minor, python in found.items():
        said, good = tried(python, wheel, scratch)
        print(said if good else f"FAILED: Python 3.{minor} ({python})\n{said}")
        passed, failed = passed + good, failed + (not good)
    wrong = refuses(scratch)
    if wrong:
        print(f"FAILED: {wrong}")
    passed, failed = passed + (not wrong), failed + bool(wrong)
    shutil.rmtree(scratch)
    if keeps_folders():
        print(
            "skipped: a rustc before 1.95 writes the folder of the build into the wheel"
        )
        skipped += 1
    if len(found) < 2:
        print(
            f"skipped: the wheel was tried with Python 3.{min(found)} alone; no other is installed"
        )
        skipped += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())

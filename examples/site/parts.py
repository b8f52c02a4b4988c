"""What the site is made of: where its programs are, and which of them are missing."""

import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = os.path.abspath(
    os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
)
# a directory with the parts of stead, instead of those that are built here
BUILT = os.environ.get("STEAD_PARTS")
PERL = os.environ.get("PERL", "perl")


class Missing(Exception):
    """A part is not installed, or could not be built."""


def find(name, *more):
    """Returns the path of a program, also of one that only root has in PATH."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *more])
    found = shutil.which(name, path=path)
    if not found:
        raise Missing(f"{name} is not installed")
    return found


def postgres(name):
    """Returns the path of a program of the newest PostgreSQL."""
    places = glob.glob("/usr/lib/postgresql/*/bin")
    version = lambda place: float(place.split("/")[4])
    return find(name, *sorted(places, key=version, reverse=True))


def fpm():
    """Returns the path of php-fpm, whatever its name is on this system."""
    names = sorted(map(os.path.basename, glob.glob("/usr/sbin/php-fpm*")), reverse=True)
    return find((names or ["php-fpm"])[0])


def said(command, **more):
    """Returns what a command prints. Raises Missing with its last line if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, **more
    )
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "it failed").splitlines()
        raise Missing(f"{os.path.basename(command[0])}: {lines[-1]}")
    return done.stdout.strip()


def use_a_python_with(*modules):
    """Goes on in the system's Python if this one lacks a module that Debian has."""
    system = "/usr/bin/python3"
    check = [system, "-c", f"import {', '.join(modules)}"]
    try:
        for module in modules:
            __import__(module)
    except ImportError as error:
        # a virtual environment of the system's Python has the same file, and not its modules
        is_it = sys.prefix == sys.base_prefix and os.path.realpath(
            sys.executable
        ) == os.path.realpath(system)
        has = not is_it and os.path.exists(system)
        if has and subprocess.run(check, capture_output=True, check=False).returncode:
            has = False
        if not has:
            raise Missing(f"{sys.executable} has no module {error.name}") from None
        os.execv(system, [system, *sys.argv])


def program(name):
    """Returns the path of a program of stead."""
    return os.path.join(BUILT or os.path.join(TARGET, "release"), name)


def are_built():
    """Whether the modules for Python and Perl were built before."""
    modules = (os.path.join(TARGET, name) for name in ("python", "perl"))
    return bool(BUILT) or all(map(os.path.isdir, modules))


def python_module():
    """Returns the directory in which Python finds the module stead."""
    if BUILT:
        return os.path.join(BUILT, "python")
    return said(
        [sys.executable, os.path.join(ROOT, "scripts", "python-module"), "--tree"]
    )


def perl_module():
    """Returns the option with which Perl finds the module Stead."""
    if BUILT:
        return f"-Mblib={BUILT}/perl"
    script = os.path.join(ROOT, "scripts", "perl-module")
    built = said([sys.executable, script]).rpartition("-Mblib=")[2]
    return f"-Mblib={os.path.join(ROOT, built)}"


def php_needs():
    """Raises Missing unless php-fpm has what the application needs."""
    modules = said([fpm(), "-m"]).splitlines()
    for module in ("FFI", "pdo_pgsql"):
        if module not in modules:
            raise Missing(f"php-fpm has no extension {module}")


def perl_needs():
    """Raises Missing unless Perl has what the application needs."""
    said([PERL, "-MDBD::Pg", "-e", "1"])

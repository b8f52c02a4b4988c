"""The C library as a runner: puts every vector through answer.c, which is linked with
libstead.so. One run answers many requests.
"""

import os
import subprocess
import sys
import tempfile

from answers import passed
from report import TESTS, report

# isort: split
import built  # report says where it is

CC = os.environ.get("CC", "cc")
ROOT = os.path.dirname(TESTS)


# ---- building


def library(scratch):
    """Builds libstead, and links to it in the directory `scratch` by the names that the
    linker and the loader look for. Returns the directory.
    """
    built_there = os.path.join(built.libraries(), "libstead.so")
    for name in ("libstead.so", "libstead.so.1"):
        os.symlink(built_there, os.path.join(scratch, name))
    return scratch


def compile_c(source, program, include, libraries, *options):
    """Compiles a program against the header in `include` and links it with the library
    in `libraries`. Returns what the compiler complains of; empty when all is well.
    """
    command = [
        CC,
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O2",
        *options,
        "-I",
        include,
        "-o",
        program,
        source,
        "-L",
        libraries,
        f"-Wl,-rpath,{libraries}",
        "-lstead",
    ]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return (
        ""
        if done.returncode == 0
        else done.stdout.decode("utf-8", "replace") or "the compiler failed"
    )


def build(scratch):
    """Builds the library and the program, and returns the program's path."""
    program = os.path.join(scratch, "answer")
    complaint = compile_c(
        os.path.join(TESTS, "runners", "answer.c"),
        program,
        os.path.join(ROOT, "include"),
        library(scratch),
    )
    if complaint:
        sys.exit(complaint)
    return program


# ---- running


def run(files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        return passed("C", [build(scratch)], files, scratch)


if __name__ == "__main__":
    report("c", run)

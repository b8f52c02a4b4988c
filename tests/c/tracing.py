"""Counts the system calls of an open with strace, between two marks."""

import os
import re
import shutil

from checking import MAPS, Done, compiled, has, new_directory

STAT = re.compile(r"(statx|newfstatat|stat|fstatat64|stat64)\(")


def calls(log):
    """Returns the system calls between the marks of a log of strace; None when a mark
    is missing.
    """
    found = re.search(
        r'^write\(-1, "begin".*?\n(.*?)^write\(-1, "end"', log, re.MULTILINE | re.DOTALL
    )
    return (
        [line for line in found[1].splitlines() if re.match(r"\w+\(", line)]
        if found
        else None
    )


def check(part, scratch, libraries):
    """Checks that the second open is one stat and nothing else."""
    if not has("strace"):
        return part.without(
            "strace is missing: the system calls of an open are not counted"
        )
    if Done(["strace", "-o", os.path.join(scratch, "true.log"), "true"]).code != 0:
        return part.without(
            "strace may not trace here: the system calls of an open are not counted"
        )
    program, directory = (
        os.path.join(scratch, "marked"),
        new_directory(scratch, "marked-maps"),
    )
    complaint = compiled(program, ["marked.c", "check.c"], libraries)
    if not part.that("marked.c compiles", not complaint, complaint):
        return None
    for number in range(17):
        shutil.copy(
            os.path.join(MAPS, "three.map"), os.path.join(directory, f"{number}.map")
        )

    def traced(mode):
        log = os.path.join(scratch, f"{mode}.log")
        done = Done(["strace", "-o", log, program, mode, directory], cwd=directory)
        part.program(f"an open, {mode}", done)
        with open(log, encoding="utf-8", errors="replace") as file:
            return calls(file.read()) or []

    for mode in ("again", "relative", "sixteen"):
        found = traced(mode)
        part.that(
            f"an open, {mode}, costs exactly one stat",
            len(found) == 1 and STAT.match(found[0]),
            found,
        )
        name = '"0.map"' if mode == "relative" else '/0.map"'
        part.that("of the path as it was given", found and name in found[0], found)
    # the controls: where a file must be opened, the trace shows it
    for mode in ("first", "evicted", "replaced"):
        found = traced(mode)
        part.that(
            f"an open, {mode}, opens the file",
            any("open" in call for call in found) and len(found) > 3,
            found,
        )
    return None

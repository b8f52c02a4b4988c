#!/usr/bin/env python3
"""Tries every package of target/dist where nothing else of stead is (`make test-dist`).

    run.py                  debs, languages and sources in clean systems of Debian; sdist, crates and archives here
    run.py NAME...          only these: debs, languages, sources, sdist, crates, archives
    run.py --suite NAME     in another release than Debian's stable one, such as Ubuntu's "resolute"

Clean systems need root and debootstrap. They are made below target, and nothing outside
of target is written. docs/packages.md says what is tried.
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "..", "packaging", "dist"))

import debian
import sources
import twice
from machines import COUNT, system, tree

import bindings

TRIES = {
    "debs": debian.test,
    "languages": bindings.test,
    "sources": sources.test,
    "sdist": lambda suite: bindings.sdist(),
    "crates": lambda suite: bindings.crates(),
    "archives": lambda suite: twice.archives(),
}
WITHOUT_SYSTEM = ("sdist", "crates", "archives")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*TRIES, []], metavar="NAME")
    parser.add_argument("--suite", default=system.STABLE)
    given = parser.parse_args()
    names = given.names or list(TRIES)
    if not set(names) <= set(WITHOUT_SYSTEM) and (why := system.why_not()):
        tree.fail(
            f"{why}; without, try what needs no clean system: {', '.join(WITHOUT_SYSTEM)}"
        )
    for name in names:
        TRIES[name](given.suite)
    print(f"{COUNT.passed} passed, {COUNT.failed} failed, {COUNT.skipped} skipped")
    return 1 if COUNT.failed or not COUNT.passed else 0


sys.exit(main())

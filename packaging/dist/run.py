#!/usr/bin/env python3
"""Makes every package into target/dist (`make dist`).

    run.py                makes all of them
    run.py --no-debs      all but the packages for Debian, which need root and debootstrap
    run.py --only NAME    only one kind: source, crates, languages, debs or bills
    run.py --suite NAME   builds the packages for another release than Debian's stable one, such as Ubuntu's "resolute"

docs/packages.md says what is made, and what is reproducible.
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True

import bill
import debs
import languages
import source
import system
import tree

import crates

KINDS = ["source", "crates", "languages", "bills", "debs"]


def arguments():
    lines = __doc__.splitlines()
    parser = argparse.ArgumentParser(description=lines[0])
    parser.add_argument("--no-debs", action="store_true")
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--suite", default=system.STABLE)
    return parser.parse_args()


def main():
    given = arguments()
    kinds = [given.only] if given.only else KINDS
    if given.no_debs:
        kinds = [kind for kind in kinds if kind != "debs"]
    # before anything is built for minutes
    if "debs" in kinds and (why := system.why_not()):
        tree.fail(f"{why}; 'make dist ARGS=--no-debs' makes everything else")
    if tree.changed():
        tree.say(
            "files are changed and not committed: the packages have them as they are"
        )
    os.makedirs(tree.OUT, exist_ok=True)
    os.makedirs(tree.WORK, exist_ok=True)
    sources = os.path.join(tree.OUT, f"stead-{tree.version()}.tar.xz")
    if "source" in kinds or ("debs" in kinds and not source.is_current(sources)):
        source.make()
    for kind, make in (
        ("crates", crates.make),
        ("languages", languages.make),
        ("bills", bill.make),
        ("debs", lambda: debs.make(sources, given.suite)),
    ):
        if kind in kinds:
            make()
    count = bill.checksums()
    for where, _, names in sorted(os.walk(tree.OUT)):
        for name in sorted(names):
            path = os.path.join(where, name)
            size = f"{os.path.getsize(path):,}"
            print(f"{size:>12}  {os.path.relpath(path, tree.ROOT)}")
    tree.say(f"{count} files and SHA256SUMS are in {os.path.relpath(tree.OUT)}")


main()

"""Makes archives a second time, in another directory, and compares the bytes."""

import hashlib
import os
import shutil
import sys

import tree
from machines import COUNT, made


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def archives():
    """Makes all that is not compiled again from a clone of this tree, and compares. (A
    clone has what is committed, and so must this tree.)"""
    if tree.changed():
        COUNT.without("files are not committed, so a clone would make other packages")
        return
    tree.say("making the archives a second time, in another directory")
    clone = os.path.join(tree.WORK, "a-clone-of-the-tree")
    shutil.rmtree(clone, ignore_errors=True)
    tree.run(["git", "clone", "-q", tree.ROOT, clone])
    program = (
        "import sys; sys.path.insert(0, 'packaging/dist'); import tree, languages, source, crates, os\n"
        "for name in ('python', 'php', 'perl'): os.makedirs(os.path.join(tree.OUT, name))\n"
        "source.make(); crates.make(); languages.pecl(); languages.composer(); languages.cpan(); languages.sdist()\n"
    )
    tree.run(
        [sys.executable, "-B", "-c", program],
        cwd=clone,
        CARGO_TARGET_DIR=os.path.join(clone, "target"),
    )
    out = os.path.join(clone, "target", "dist")
    for where, _, names in os.walk(out):
        for name in sorted(names):
            path = os.path.join(where, name)
            inside = os.path.relpath(path, out)
            (first,) = made(inside)
            COUNT.equal(f"{inside} has the same bytes", digest(path), digest(first))
    shutil.rmtree(clone)

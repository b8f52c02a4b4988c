"""The crates for crates.io: the library, and the programs for `cargo install`.

The C library and the Python module are not published there: cargo could install neither
the header, nor a package of Python.
"""

import glob
import os
import re
import shutil

import tree

# in the order in which they are to be published
PUBLISHED = ["stead", "stead-plot", "stead-cli", "stead-sync", "stead-rrd"]
# the first cargo that packages crates which need each other before any is published
OLDEST = (1, 90)


def make():
    """Packages the crates into OUT/crates; returns their paths. tests/dist builds
    them."""
    tree.say("crates for crates.io")
    have = re.search(r"cargo (\d+)\.(\d+)", tree.run([tree.CARGO, "--version"]))
    if tuple(map(int, have.groups())) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        tree.fail(f"packaging the crates needs cargo {wanted}, and this is {have[0]}")
    work = os.path.join(tree.WORK, "crates")
    out = os.path.join(tree.OUT, "crates")
    for folder in (os.path.join(work, "package"), out):
        shutil.rmtree(folder, ignore_errors=True)
    command = [tree.CARGO, "package", "--locked", "-q", "--no-verify"]
    for name in PUBLISHED:
        command += ["-p", name]
    if tree.changed():
        command.append("--allow-dirty")
    tree.run([*command, "--target-dir", work])
    os.makedirs(out)
    for path in glob.glob(os.path.join(work, "package", "*.crate")):
        shutil.copy(path, out)
    return [os.path.join(out, f"{name}-{tree.version()}.crate") for name in PUBLISHED]

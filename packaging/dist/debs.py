"""The packages for Debian and Ubuntu, built as Debian builds them: a source package, in a clean
system, without a network, by the compilers of that release. lintian judges them.
"""

import filecmp
import glob
import os
import shutil

import archive
import rights
import system
import tree

# the directory that they are built in; their bytes do not depend on it
PLACE = "/build"
# cargo's objects stay there from one run to the next
OBJECTS = "/build/target"
TOOLS = "lintian"


def revision():
    """Returns the version of the packages: 0.1.0-0stead1, which Debian's own would replace."""
    first = tree.read("packaging", "debian", "changelog").splitlines()[0]
    return first[first.index("(") + 1 : first.index(")")]


def debian(sources):
    """Returns the directory `debian` of the source package, with the rights of all
    crates in the archive of the sources."""
    folder = os.path.join(tree.WORK, "debian")
    shutil.rmtree(folder, ignore_errors=True)
    for name in tree.files("packaging/debian"):
        path = os.path.join(folder, os.path.relpath(name, "packaging/debian"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(os.path.join(tree.ROOT, name), path)
    stead = os.path.join(tree.WORK, "rights")
    shutil.rmtree(stead, ignore_errors=True)
    os.makedirs(stead)
    tree.run(["tar", "xJf", sources, "-C", stead, "--wildcards", "*/vendor/*"])
    (vendor,) = glob.glob(os.path.join(stead, "*", "vendor"))
    with open(os.path.join(folder, "copyright"), "w", encoding="utf-8") as file:
        file.write(rights.copyright_of(vendor))
    shutil.rmtree(stead)
    return folder


def build(sources, suite, place=PLACE, objects=OBJECTS):
    """Builds the packages of an archive of the sources into `place` of a system of
    `suite`; returns the system."""
    there = system.System(suite, "build", keep=True)
    if there.fresh:
        tree.say(f"installing what the packages are built with, in {suite}")
        there.run("apt-get -qq update", network=True)
        there.install(TOOLS)
    # what a run left that was ended while it installed packages
    there.run("dpkg --configure -a")
    where = f"{place}/stead-{tree.version()}"
    upstream = f"stead_{tree.version()}.orig.tar.xz"
    last = there.path(f"{where}.last")
    shutil.rmtree(last, ignore_errors=True)
    if os.path.isdir(there.path(where)):
        os.rename(there.path(where), last)
    for old in glob.glob(f"{there.path(place)}/*.*"):
        if os.path.isfile(old):
            os.remove(old)
    os.makedirs(there.path(place), exist_ok=True)
    shutil.copy(sources, there.path(f"{place}/{upstream}"))
    there.run(f"cd {place} && tar xJf {upstream}")
    keep_times(last, there.path(where))
    shutil.copytree(debian(sources), there.path(f"{where}/debian"))
    there.run(f"cd {where} && apt-get -qq build-dep -y .", network=True)
    tree.say(f"building the packages in {suite}, without a network (some minutes)")
    # a signature is its publisher's to make
    there.run(
        f"cd {where} && dpkg-buildpackage -us -uc",
        CARGO_TARGET_DIR=objects,
        SOURCE_DATE_EPOCH=str(tree.time()),
        # debugging symbols are ten times as large as the packages, and not handed out
        DEB_BUILD_OPTIONS="noautodbgsym",
    )
    return there


def keep_times(last, folder):
    """Gives each file that has not changed since the last build its time of then, so
    that cargo compiles only what has changed. (All files of the archive have the time of
    the commit.)"""
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            old = os.path.join(last, os.path.relpath(path, folder))
            if os.path.isfile(old) and filecmp.cmp(path, old, shallow=False):
                shutil.copystat(old, path)
    shutil.rmtree(last, ignore_errors=True)


def judge(there, suite, place=PLACE):
    """Returns what lintian says about the source package and the packages. Another release
    has another lintian, which may ask for what Debian's stable one does not know, so there
    only errors and warnings count.
    """
    changes = f"{place}/stead_{revision()}_*.changes"
    options = "--allow-root --profile debian --tag-display-limit 0"
    if suite == system.STABLE:
        options += " --display-info --pedantic"
    return there.call(f"lintian {options} {changes}")


def make(sources, suite=system.STABLE):
    """Builds the packages into a directory of OUT and judges them; returns their paths."""
    if why := system.why_not():
        tree.fail(f"{why}; 'make dist ARGS=--no-debs' makes everything else")
    there = build(sources, suite)
    out = os.path.join(tree.OUT, system.folder(suite))
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    for path in sorted(glob.glob(f"{there.path(PLACE)}/*stead*")):
        if os.path.isfile(path):
            shutil.copy(path, out)
    code, said = judge(there, suite)
    archive.write(os.path.join(tree.WORK, "lintian.txt"), said.encode())
    print(said, end="")
    if code or said.strip():
        tree.fail("lintian complains; see above")
    return sorted(glob.glob(os.path.join(out, "*.deb")))

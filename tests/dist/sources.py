"""Tries the archive of the sources: make install where there is no network, with the
compiler of Debian, and make uninstall. It is built in another directory than the packages
were, and must give the same programs, byte for byte.
"""

import hashlib
import os

import system
import tree
from machines import COUNT, FLEET, NODES, made

PREFIX = "/opt/stead"
# the packages were built in /build
PLACE = "/sources/of/another/directory"
PROGRAMS = ("stead", "stead-sync", "stead-rrd", "libstead.so")


def test(suite):
    """Counts the checks of the archive, in the system that builds the packages."""
    (path,) = made(f"stead-{tree.version()}.tar.xz")
    there = system.System(suite, "build", keep=True)
    if there.fresh:
        tree.fail(
            f"there is no system that builds packages for {suite}; run 'make dist'"
        )
    tree.say("building the archive of the sources, without a network (some minutes)")
    name = f"stead-{tree.version()}"
    file = there.put(path, PLACE)
    there.run(f"cd {PLACE} && rm -rf {name} && tar xJf {file}")
    # the flags of packaging/debian/rules, for the comparison
    rustflags = (
        f"--remap-path-prefix={PLACE}/{name}=/usr/src/{name} "
        f"--remap-path-prefix={PLACE}/{name}/target=/usr/src/{name}/target"
    )
    flags = 'export CFLAGS="$(dpkg-buildflags --get CFLAGS)" && make install'
    code, said = there.call(
        f"cd {PLACE}/{name} && {flags} PREFIX={PREFIX}",
        RUSTFLAGS=rustflags,
        DEB_BUILD_MAINT_OPTIONS="hardening=+all",
        DEB_CFLAGS_MAINT_APPEND=f"-ffile-prefix-map={PLACE}/{name}/target=/usr/src/{name}/target",
        HOME=PLACE,
    )
    COUNT.that("make install builds and installs it", code == 0, said[-3000:])
    os.makedirs(there.path("/try"), exist_ok=True)
    with open(there.path("/try/fleet.toml"), "w", encoding="ascii") as out:
        out.write(FLEET)
    stead = f"cd /try && rm -rf members.map* && {PREFIX}/bin/stead"
    code, said = there.call(f"{stead} apply fleet.toml members.map")
    COUNT.that("the program applies a fleet", code == 0, said)
    locate = f"{PREFIX}/bin/stead locate members.map frank bob | cut -f 2 | xargs"
    code, said = there.call(f"cd /try && {locate}")
    COUNT.equal("the program answers", (code, said.strip()), (0, NODES))
    for program in PROGRAMS:
        digests = []
        for objects in ("/build/target", f"{PLACE}/{name}/target"):
            built = there.path(f"{objects}/release/{program}")
            with open(built, "rb") as binary:
                digests.append(hashlib.sha256(binary.read()).hexdigest())
        COUNT.equal(f"{program} has the same bytes as in /build", *digests)
    uninstall = f"cd {PLACE}/{name} && make uninstall PREFIX={PREFIX}"
    code, said = there.call(f"{uninstall} && find {PREFIX} -not -type d")
    left = [line for line in said.splitlines() if line.startswith(PREFIX)]
    COUNT.equal("make uninstall leaves no file", (code, left), (0, []))

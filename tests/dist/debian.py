"""Tries the packages for Debian in a clean system: installs them, runs their own tests
(packaging/debian/tests), looks for services that run, and purges them.
"""

import hashlib
import os
import re

import system
import tree
from machines import COUNT, ROOT, copy_of, made

# What a purge leaves behind, as Debian's policy has it: the users and groups that were
# made for services (systemd-sysusers), with the backups of those files.
USERS = re.compile(r"/etc/(passwd|group|shadow|gshadow)-?$")
# what apt, dpkg, the loader and a system that runs keep of themselves, and what the tests put there
OTHERS = ("/proc", "/sys", "/dev", "/tmp", "/var/cache", "/var/log", "/var/lib/apt")
OTHERS += ("/var/lib/dpkg", "/etc/ld.so.cache", "/root", "/run", "/packages", "/tests")


def files(root):
    """Returns {path: digest of its content} of a system."""
    found = {}
    for where, folders, names in os.walk(root):
        inside = where[len(root) :] or "/"
        folders[:] = [f for f in folders if os.path.join(inside, f) not in OTHERS]
        for name in names + folders:
            path = os.path.join(where, name)
            shown = os.path.join(inside, name)
            if shown in OTHERS:
                continue
            if os.path.islink(path):
                found[shown] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[shown] = hashlib.sha256(file.read()).hexdigest()
            else:
                found[shown] = ""
    return found


def needs(there, packages):
    """Returns what the packages depend on, without each other, as apt writes it."""
    names = {os.path.basename(path).split("_")[0] for path in packages}
    found = set()
    for path in packages:
        field = there.run(f"dpkg-deb -f /packages/{os.path.basename(path)} Depends")
        for clause in field.strip().split(", "):
            if (
                clause
                and not {
                    re.split(r"[ (:]", each.strip())[0] for each in clause.split("|")
                }
                & names
            ):
                found.add(clause)
    return sorted(found)


def test(suite):
    """Counts the checks of the packages of one release."""
    packages = made(system.folder(suite), "*.deb")
    there = copy_of(suite, "try")
    for path in packages:
        there.put(path, "packages")
    for name in os.listdir(os.path.join(ROOT, "packaging", "debian", "tests")):
        there.put(os.path.join(ROOT, "packaging", "debian", "tests", name), "tests")
    tree.say(f"installing the packages in a clean {suite}")
    wanted = needs(there, packages)
    # what the tests and the maintainers' scripts use, so that it is not taken for a trace
    there.install(
        "gcc", "libc6-dev", "pkgconf", "php-cli", "systemd", "ca-certificates"
    )
    quoted = " ".join(f"'{clause}'" for clause in wanted)
    there.run(f"apt-get -qq satisfy -y --no-install-recommends {quoted}", network=True)
    before = files(there.root)
    names = [os.path.basename(path) for path in packages]
    paths = " ".join(f"/packages/{name}" for name in names)
    code, said = there.call(f"apt-get -qq install -y --no-install-recommends {paths}")
    COUNT.that(
        f"{len(names)} packages are installed, without a network", code == 0, said
    )
    after = files(there.root)
    for name in ("program", "c", "php", "perl", "python"):
        code, said = there.call(f"/tests/{name}")
        COUNT.that(f"the packages' test '{name}' passes in {suite}", code == 0, said)
    # the control: the tests can fail
    code, said = there.call(
        "sed -i 's/weight = 1.5/weight = 0.5/' /tests/fleet; /tests/program"
    )
    COUNT.that("a wrong fleet makes the test fail", code and "and not on" in said, said)
    services(there, set(after) - set(before))
    upgrade_and_removal(there)
    plain = " ".join(name.split("_")[0] for name in names)
    code, said = there.call(f"apt-get -qq purge -y {plain}")
    COUNT.that("the packages are purged", code == 0, said)
    left = files(there.root)
    traces = sorted(
        path
        for path in set(left) | set(before)
        if left.get(path) != before.get(path) and not USERS.search(path)
    )
    COUNT.equal("a purge leaves nothing behind but the user stead-sync", traces, [])
    return there


def services(there, installed):
    """Checks that the units are valid, and that none was enabled or started."""
    units = sorted(path for path in installed if path.endswith(".service"))
    COUNT.equal(
        "three units are installed",
        [os.path.basename(path) for path in units],
        ["stead-rrd-files.service", "stead-rrd.service", "stead-sync@.service"],
    )
    enabled = sorted(path for path in installed if ".wants/" in path)
    COUNT.equal("no unit was enabled", enabled, [])
    running = there.run("cat /proc/[0-9]*/comm").split()
    COUNT.equal("no program runs", [p for p in running if "stead" in p], [])
    instances = [unit.replace("@.", "@members.") for unit in units]
    code, said = there.call(f"systemd-analyze verify --man=no {' '.join(instances)}")
    complaints = [line for line in said.splitlines() if "stead" in line]
    COUNT.equal("systemd accepts the units", (code, complaints), (0, []))
    code, said = there.call("id -un stead-sync")
    COUNT.equal("the user of stead-sync is there", said.strip(), "stead-sync")


# A systemctl that says that every unit runs and is enabled, and notes what it is asked. It stands
# where a system's own is, under a systemd that seems to run; policy-rc.d, which forbids all, is away.
PRETENDED = """
mkdir -p /run/systemd/system
mv /usr/sbin/policy-rc.d /tmp/policy-rc.d
printf '#!/bin/sh\\necho "$@" >>/tmp/asked\\ncase "$*" in *is-enabled*) echo enabled ;; esac\\n' >/usr/local/bin/systemctl
chmod 755 /usr/local/bin/systemctl
"""
ENABLED = """
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -s /usr/lib/systemd/system/stead-sync@.service \\
  /etc/systemd/system/multi-user.target.wants/stead-sync@m.service
"""
DISABLED = """
cd /etc/systemd/system
rm multi-user.target.wants/stead-sync@m.service
rmdir --ignore-fail-on-non-empty multi-user.target.wants
"""
AS_BEFORE = """
rm -rf /run/systemd /usr/local/bin/systemctl /tmp/asked
mv /tmp/policy-rc.d /usr/sbin/policy-rc.d
"""


def upgrade_and_removal(there):
    """Checks that an upgrade restarts what runs, and that a removal stops it."""
    there.run(PRETENDED)
    compiled = "/usr/share/doc/stead/examples/adopt/__pycache__"
    there.run(f"mkdir {compiled}; : >{compiled}/members.pyc; {ENABLED}")
    try:
        asked = {}
        for what in "dpkg -i /packages/stead-*.deb", "dpkg -r stead-sync stead-rrd":
            there.run(f": >/tmp/asked; {what}")
            asked[what.split()[1]] = there.run("cat /tmp/asked").splitlines()
        # as it was, for the purge
        there.run(": >/tmp/asked; dpkg -i /packages/stead-*.deb")
        again = there.run("cat /tmp/asked").splitlines()
        there.run(DISABLED)
    finally:
        there.run(AS_BEFORE)
    units = ("stead-rrd.service", "stead-rrd-files.service", "stead-sync@*.service")
    for action, option in ("restart", "-i"), ("stop", "-r"):
        for unit in units:
            calls = [
                line
                for line in asked[option]
                if re.search(rf"\b(try-)?{action}\b.* {re.escape(unit)}", line)
            ]
            told = "an upgrade restarts" if option == "-i" else "a removal stops"
            COUNT.that(f"{told} {unit}", len(calls) == 1, "\n".join(asked[option]))
    started = [line for line in again if line.endswith("start stead-sync@m.service")]
    COUNT.that(
        "an enabled watch starts again after a removal",
        len(started) == 1,
        "\n".join(again),
    )
    stopped = [line for line in asked["-i"] if re.search(r"\bstop\b", line)]
    COUNT.equal("an upgrade stops nothing for longer", stopped, [])

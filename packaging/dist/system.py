"""Clean systems of Debian and Ubuntu below target/: made once by debootstrap, copied for
each use, and entered in name spaces of their own, so that nothing that runs there
remains, and builds have no network.
"""

import os
import shutil
import subprocess

import tree

# Debian's stable release, and what builds and tries the packages by default
STABLE = "trixie"
# releases of Ubuntu with the rustc that stead needs
UBUNTU = ("questing", "resolute")


def why_not():
    """Returns why no system can be made here; None if it can."""
    if os.getuid() != 0:
        return "only root can make a clean system; run it as root"
    for program, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux")):
        if not shutil.which(program):
            return f"{program} is missing; 'scripts/setup --dist' installs {package}"
    return None


def folder(suite):
    """Returns the directory below OUT for the packages of a release."""
    return "debian" if suite == STABLE else suite


def keys_of_ubuntu():
    """Returns the file of the keys that Ubuntu's packages are signed with. It comes from
    Debian, whose own keys this machine has.
    """
    kept = os.path.join(tree.WORK, "ubuntu-archive-keyring.gpg")
    if not os.path.exists(kept):
        debian = System(STABLE, "keys")
        debian.install("ubuntu-keyring")
        there = debian.path("usr/share/keyrings/ubuntu-archive-keyring.gpg")
        shutil.copy(there, f"{kept}.new")
        os.rename(f"{kept}.new", kept)
        shutil.rmtree(debian.root)
    return kept


def base(suite):
    """Returns the directory of a minimal system, which is made if it is not there."""
    there = os.path.join(tree.WORK, suite, "base")
    if os.path.isdir(there):
        return there
    tree.say(f"making a system of {suite} by debootstrap (150 MB, some minutes)")
    new = f"{there}.new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(os.path.dirname(new), exist_ok=True)
    command = ["debootstrap", "--variant=minbase"]
    if suite in UBUNTU:
        command += ["--components=main,universe", f"--keyring={keys_of_ubuntu()}"]
        # a debootstrap that does not know this release makes it by the script of an old one,
        # "gutsy", which is the same for all since
        command += [suite, new, "", "gutsy"]
    else:
        command += [suite, new]
    tree.run(command)
    # no service may start in there: Debian's way to say so
    policy = os.path.join(new, "usr", "sbin", "policy-rc.d")
    with open(policy, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 101\n")
    os.chmod(policy, 0o755)
    # an interrupted debootstrap leaves no `base`
    os.rename(new, there)
    return there


class System:
    """A copy of a minimal system, which a build or a test changes as it likes."""

    def __init__(self, suite, name, keep=False):
        """keep: takes the copy of the last run, if there is one."""
        self.root = os.path.join(tree.WORK, suite, name)
        self.fresh = not (keep and os.path.isdir(self.root))
        if self.fresh:
            shutil.rmtree(self.root, ignore_errors=True)
            # cp keeps owners, links and devices
            tree.run(["cp", "-a", base(suite), f"{self.root}.new"])
            os.rename(f"{self.root}.new", self.root)
        for name_of in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name_of}", os.path.join(self.root, "etc"))

    def path(self, inside):
        """Returns the path of a file of the system as seen from outside."""
        return os.path.join(self.root, inside.lstrip("/"))

    def put(self, path, inside):
        """Copies a file into a directory of the system; returns its path in there."""
        os.makedirs(self.path(inside), exist_ok=True)
        shutil.copy(path, self.path(inside))
        return os.path.join("/", inside, os.path.basename(path))

    def call(self, script, network=False, **environment):
        """Runs a script of the shell in there; returns its exit code and its output."""
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc"]
        if not network:
            enter.append("--net")
        proc = f"mount -t proc proc '{self.path('proc')}' && exec "
        inside = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            **environment,
        }
        done = subprocess.run(
            [*enter, "sh", "-c", f'{proc} chroot "$0" sh -ec "$1"', self.root, script],
            env=inside,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        return done.returncode, done.stdout

    def run(self, script, network=False, **environment):
        """As `call`, but the script must succeed; returns its output."""
        code, said = self.call(script, network, **environment)
        if code:
            print(said[-6000:])
            tree.fail(f"'{script[:200]}' failed in {self.root}; the reason is above")
        return said

    def install(self, *packages):
        """Installs packages, or files of packages, with what they need."""
        self.run(
            "apt-get -qq update && apt-get -qq install -y --no-install-recommends "
            + " ".join(packages),
            network=True,
        )

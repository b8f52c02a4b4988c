"""Makes the system in which other machines' programs are built and run: Debian 13 in a
directory below target, with its Rust 1.85, compilers for the machines, and QEMU.

Nothing is installed outside this directory. It takes 2 GB for one machine and some 250 MB
for each further one.
"""

import os
import re
import shutil
import subprocess
import urllib.request

SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
POOL = "https://deb.debian.org/debian"
# python3 runs the suites; binutils has nm and readelf for them
PACKAGES = ["rustc", "cargo", "gcc", "libc6-dev", "python3", "binutils", "qemu-user"]


class Lacking(Exception):
    """Why there is no such system here."""


def run(command, **options):
    """Runs a command; its last lines are the reason when it fails."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        **options,
    )
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()[-15:]
        raise Lacking(f"{' '.join(command[:4])} ... failed:\n" + "\n".join(said))
    return done.stdout.decode("utf-8", "replace")


class Root:
    """The directory with the system."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def inside(self, *parts):
        """Returns the path of a file of the system."""
        return os.path.join(self.path, *(part.lstrip("/") for part in parts))

    def done(self, step):
        """Returns whether a step was taken, by a mark that it left."""
        return os.path.exists(self.inside("stead-" + step))

    def mark(self, step):
        """Notes that a step was taken."""
        with open(self.inside("stead-" + step), "w", encoding="utf-8"):
            pass

    def chroot(self, *command):
        """Runs a command in the system, with its network, and without services."""
        words = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
        words["DEBIAN_FRONTEND"] = "noninteractive"
        return run(["chroot", self.path, *command], env=words)

    def make(self, machines, say):
        """Makes whatever is missing for these machines."""
        if os.geteuid() != 0:
            raise Lacking(
                "making a chroot needs root; run it with sudo, or in a container"
            )
        if not self.done("base"):
            self.bootstrap(say)
        wanted = [machine for machine in machines if not self.done(machine.name)]
        if not wanted:
            return
        if not self.done("tools"):
            say("installing Debian's Rust, gcc, Python and QEMU there (500 MB)")
            self.chroot("apt-get", "-qq", "update")
            self.install(*PACKAGES)
            self.mark("tools")
        for machine in wanted:
            say(f"installing the compiler and Rust's library for {machine.name}")
            self.add(machine)
            self.mark(machine.name)
        self.chroot("apt-get", "clean")

    def bootstrap(self, say):
        """Makes the system itself."""
        if not shutil.which("debootstrap"):
            raise Lacking("debootstrap is missing (package debootstrap)")
        say(f"making Debian {SUITE} in {self.path} (220 MB, two minutes)")
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)
        run(["debootstrap", "--variant=minbase", SUITE, self.path, MIRROR])
        # no service that a package brings may start
        with open(self.inside("usr/sbin/policy-rc.d"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(self.inside("usr/sbin/policy-rc.d"), 0o755)
        self.mark("base")

    def install(self, *packages):
        """Installs packages."""
        self.chroot(
            "apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages
        )

    def add(self, machine):
        """Adds a machine: its compiler, its C library, and Rust's library for it."""
        if not machine.gnu:
            self.install(f"libstd-rust-dev-{machine.name}")
            return
        self.install(machine.gcc, f"libc6-dev-{machine.debian}-cross")
        self.unpack(machine)
        # Programs find their loader and their libraries where that machine has them.
        library = f"/usr/{machine.gnu}/lib"
        for link, to in (
            (machine.loader, f"{library}/{os.path.basename(machine.loader)}"),
            (f"/usr/lib/{self.triplet(machine)}", library),
        ):
            self.link(link, to)

    def unpack(self, machine):
        """Unpacks Rust's library for a machine: of the same version as the compiler, since
        no other one fits. Installing it would bring the whole compiler of that machine.
        """
        said = self.chroot("apt-cache", "show", "--no-all-versions", "libstd-rust-dev")
        path = re.search(r"^Filename: (\S+)_amd64\.deb$", said, re.MULTILINE)
        if not path:
            raise Lacking("apt does not know libstd-rust-dev for amd64")
        package = self.inside("tmp/library.deb")
        # The package lists of the other machines are not fetched, so no digest is known. The
        # connection's certificate vouches for the file.
        url = f"{POOL}/{path[1]}_{machine.debian}.deb"
        try:
            with (
                urllib.request.urlopen(url, timeout=120) as answer,
                open(package, "wb") as file,
            ):
                shutil.copyfileobj(answer, file)
        except OSError as error:
            raise Lacking(f"{url}: {error}") from error
        self.chroot("dpkg", "-x", "/tmp/library.deb", "/")
        os.remove(package)

    def triplet(self, machine):
        """Returns the name of the directory of a machine's libraries."""
        return "i386-linux-gnu" if machine.debian == "i386" else machine.gnu

    def link(self, link, to):
        """Makes a symbolic link; a directory that is in its way gives its files to the
        compiler's search path, and is kept beside it.
        """
        there = self.inside(link)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        if os.path.islink(there):
            os.remove(there)
        if os.path.isdir(there):
            for name in os.listdir(self.inside(to)):
                beside = os.path.join(there, name)
                if not os.path.lexists(beside):
                    os.symlink(f"{to}/{name}", beside)
        else:
            os.symlink(to, there)

"""A machine to install things on: this one, copied on write. A script runs in it as root
and may write anywhere; when it ends, everything that it wrote is gone.

It is a mount namespace whose root is an overlay of /, with the files that it writes in
memory. The source tree is there at its own path, with everything that was built.
"""

import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# the home directory of whoever reads a page; the directory of the reader's application;
# and programs that stand for those of another machine
HOME, APPLICATION, STUBS = "/home/reader", "/home/reader/application", "/opt/stubs"
# sudo resets the environment, as /etc/sudoers of Debian has it, and systemctl wants
# nothing but the file of the unit
SUDO = """#!/bin/sh
exec env -i HOME=/root TERM=dumb CARGO=false \\
  PATH=/opt/stubs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
SYSTEMCTL = """#!/bin/sh
for name; do :; done
[ "$1" = enable ] && test -f "/etc/systemd/system/$name.service"
"""
# what a developer may have set, and what a make sets for the makes below it
NOT_PASSED = [
    "BINDIR",
    "CFLAGS",
    "CMAKE_PREFIX_PATH",
    "DESTDIR",
    "INCLUDEDIR",
    "LDFLAGS",
    "LDLIBS",
    "LD_LIBRARY_PATH",
    "LIBDIR",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MANDIR",
    "MFLAGS",
    "PERL5LIB",
    "PERL5OPT",
    "PERL_MM_OPT",
    "PKG_CONFIG_LIBDIR",
    "PKG_CONFIG_PATH",
    "PREFIX",
    "PYTHONHOME",
    "PYTHONPATH",
    "STEAD_LIBRARY",
    "STEAD_PREFIX",
    "STRIP",
    "VIRTUAL_ENV",
]

# $1: a directory for the mounts, $2: the source tree, $3: the script, $4 and on:
# directories of other file systems that the overlay of / does not have
SETUP = """set -e
at=$1 tree=$2 script=$3
shift 3
mount -t tmpfs tmpfs "$at"
mkdir "$at/root" "$at/upper" "$at/work" "$at/tree" "$at/treework"
mount -t overlay overlay -o "lowerdir=/,upperdir=$at/upper,workdir=$at/work" "$at/root"
for more; do mkdir -p "$at/root$more"; mount --rbind "$more" "$at/root$more"; done
mkdir -p "$at/root$tree"
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$at/tree,workdir=$at/treework" "$at/root$tree"
exec chroot "$at/root" /bin/sh -c "$script"
"""


def command(script, scratch):
    """Returns the command that runs a script in the machine."""
    needed = ["/dev", "/proc", "/sys", *homes().values()]
    here = os.stat("/").st_dev
    more = [path for path in needed if os.path.exists(path)]
    more = [path for path in more if os.stat(path).st_dev != here]
    kind = "-m" if os.getuid() == 0 else "-rm"
    setup = ["sh", "-c", SETUP, "sh", scratch, ROOT, script, *more]
    return ["unshare", kind, "--propagation", "private", *setup]


def homes():
    """Where cargo and rustup have their files; HOME is another one in the machine."""
    home = os.path.expanduser("~")
    return {
        name: os.environ.get(name, os.path.join(home, folder))
        for name, folder in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))
    }


def run(script, path="", **variables):
    """Runs a script with sh; returns its exit code and its output. `path` stands before
    the PATH.
    """
    env = {name: value for name, value in os.environ.items() if name not in NOT_PASSED}
    env.update(
        homes(), HOME=HOME, LC_ALL="C.UTF-8", PATH=f"{path}{STUBS}:{env['PATH']}"
    )
    # make wheel would build it alone, with other features of its dependencies
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    env["STEAD_PROGRAM"] = os.path.join(target, "release", "stead")
    env.update(variables)
    start = f"mkdir -p {APPLICATION} {STUBS}\n"
    for name, text in (("sudo", SUDO), ("systemctl", SYSTEMCTL)):
        start += f"cat >{STUBS}/{name} <<'END'\n{text}END\nchmod 755 {STUBS}/{name}\n"
    scratch = tempfile.mkdtemp()
    try:
        done = subprocess.run(
            command(start + script, scratch),
            env=env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    finally:
        # the mounts went with the namespace
        os.rmdir(scratch)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def why_not():
    """Why there can be no such machine here; an empty string when there can."""
    if not shutil.which("unshare") or not shutil.which("chroot"):
        return "there is no unshare or chroot (util-linux, coreutils)"
    code, said = run(f"test -f {ROOT}/Makefile && touch /etc/written {ROOT}/written")
    if os.path.exists("/etc/written") or os.path.exists(os.path.join(ROOT, "written")):
        raise SystemExit("what a script wrote in the machine is on this one")
    return f"no overlay can be mounted: {said.strip()}" if code else ""

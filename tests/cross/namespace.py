"""Runs a command in the chroot in namespaces of its own, where the kernel starts QEMU for
programs of another machine. Nothing of it is seen outside, and all of it is gone when
the command ends.

A user namespace has its own list of binary formats (binfmt_misc) since Linux 6.7. Flag F
opens QEMU when it is registered, so the chroot needs no file of it later.
"""

import ctypes
import os
import signal

NEWNS, NEWUSER, NEWPID = 0x00020000, 0x10000000, 0x20000000
READ_ONLY, BIND, REMOUNT, RECURSIVE, PRIVATE = 1, 4096, 32, 16384, 1 << 18
# all users of the machine, since a test becomes another one
IDS = "0 0 65536\n"

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """Calls a function of the C library that returns -1 when it fails."""
    if getattr(LIBC, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    """mount(2)."""
    words = [word.encode() if word else None for word in (source, target, kind, data)]
    words.insert(3, ctypes.c_ulong(flags))
    call("mount", *words)


def escaped(data):
    r"""Returns bytes as binfmt_misc reads them: \xHH for each."""
    return "".join(f"\\x{byte:02x}" for byte in data)


def register(machine, interpreter, directory):
    """Makes QEMU run the programs of a machine, in this user namespace."""
    mount("binfmt_misc", directory, "binfmt_misc")
    line = (
        f":{machine.name}:M::{escaped(machine.magic)}:{escaped(machine.mask)}:"
        f"{interpreter}:F"
    )
    with open(os.path.join(directory, "register"), "wb", buffering=0) as file:
        file.write(line.encode())


def inside(root, machine, binds, environment, command):
    """Becomes the command: mounts, changes the root, and executes it. Called in a child
    that is alone in its namespaces.
    """
    mount(None, "/", flags=RECURSIVE | PRIVATE)
    for source, target, writable in binds:
        there = os.path.join(root, target.lstrip("/"))
        os.makedirs(there, exist_ok=True)
        mount(source, there, flags=BIND)
        if not writable:
            mount(None, there, flags=BIND | REMOUNT | READ_ONLY)
    for kind, target in (("proc", "/proc"), ("tmpfs", "/tmp")):
        mount(kind, os.path.join(root, target.lstrip("/")), kind)
    # a kernel with 32-bit programs runs those of i686 itself, so its entry may be unused
    formats = os.path.join(root, "tmp", "formats")
    os.mkdir(formats)
    if machine.qemu:
        register(machine, os.path.join(root, "usr/bin", machine.qemu), formats)
    for name in ("null", "zero", "urandom", "random", "full"):
        there = os.path.join(root, "dev", name)
        if not os.path.exists(there):
            with open(there, "wb"):
                pass
        mount(f"/dev/{name}", there, flags=BIND)
    os.chroot(root)
    os.chdir("/stead")
    os.execvpe(command[0], command, environment)


def run(root, machine, binds, environment, command, output):
    """Runs a command in the chroot; its output goes to a file. Returns its exit code."""
    ready, go = os.pipe(), os.pipe()
    # a child of the child is the first process of the PID namespace
    child = os.fork()
    if child == 0:
        code = 126
        try:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            call("unshare", NEWUSER | NEWNS | NEWPID)
            os.write(ready[1], b".")
            os.read(go[0], 1)
            first = os.fork()
            if first == 0:
                # the first process ends with its parent, and all others with it
                LIBC.prctl(1, signal.SIGKILL)
                inside(root, machine, binds, environment, command)
            code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
        except OSError as error:
            os.write(2, f"{error}\n".encode())
        finally:
            os._exit(code if 0 <= code < 128 else 127)
    os.close(ready[1])
    if os.read(ready[0], 1):
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                file.write(IDS)
    os.write(go[1], b".")
    for end in (ready[0], *go):
        os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

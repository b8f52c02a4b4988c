"""Runs the suites on other machines: big-endian ones and those of 32 bit, under QEMU, and
with musl as the C library.

    make test-cross                         s390x, i686 and wasm32, the short form
    make test-cross ARGS='arm64 armv7'      these; also: musl, all
    make test-cross ARGS='--long s390x'     also every vector through C and through the program

It needs root and debootstrap, makes Debian 13 in target/cross (2 GB), and takes Debian's
Rust 1.85 from there. The suites are those of `make test`: there, `cargo` and `cc` build
for the other machine, and what they build runs under QEMU. So no suite knows of it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import built
import musl
import namespace
from machines import ELSEWHERE, MACHINES, WASM
from root import Lacking, Root
from tally import CARGO, COUNTS, QUICK, ROOT, Tally, counted, say

WORK = os.path.join(ROOT, "target", "cross")
# histories, and steps of each
SHORT, LONG = ("1", "4", "15"), ("1", "32", "20")
CORE_TESTS = ["--test", "all", "--", "golden::", "rings::", "vectors::"]
# name -> (command, what its output is counted by, whether only the long form has it)
SUITES = {
    "core's tests": (
        ["cargo", "test", "--release", "--locked", "-q", "-p", "stead", *CORE_TESTS],
        CARGO,
        False,
    ),
    "rings drawn": (["python3", "tests/rings/draw_maps.py", "--check"], COUNTS, False),
    "ABI": (["python3", "tests/abi/run.py"], COUNTS, False),
    "C suite": (["python3", "tests/c/run.py", "suite", "symbols"], COUNTS, False),
    "C vectors": (["tests/run", "--runner", "c"], COUNTS, True),
    "program's vectors": (["tests/run", "--runner", "program"], COUNTS, True),
}


class Elsewhere:
    """Another machine: runs commands in the chroot."""

    def __init__(self, root, machine):
        self.root, self.machine = root, machine
        self.binds = [(ROOT, "/stead", False)]
        for name in ("build", "vendor", "cargo"):
            there = os.path.join(WORK, name)
            os.makedirs(there, exist_ok=True)
            self.binds.append((there, f"/cross/{name}", True))
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/tmp",
            "USER": "root",
            "LC_ALL": "C.UTF-8",
            "CARGO": "/stead/tests/cross/cargo",
            "CARGO_HOME": "/cross/cargo",
            "CARGO_TARGET_DIR": "/cross/build",
            "CARGO_NET_OFFLINE": "true",
            "PYTHONDONTWRITEBYTECODE": "1",
            # what is a limit of the process would be one of QEMU's
            "STEAD_EMULATED": machine.qemu,
            **QUICK,
            **machine.environment,
        }

    def run(self, command):
        """Returns the exit code and the output of a command there."""
        with tempfile.TemporaryFile() as out:
            code = namespace.run(
                self.root.path, self.machine, self.binds, self.environment, command, out
            )
            out.seek(0)
            return code, out.read().decode("utf-8", "replace")


def vendored():
    """Puts the sources of the dependencies where the chroot, which has no registry, finds
    them.
    """
    lock, mark = os.path.join(ROOT, "Cargo.lock"), os.path.join(WORK, "vendored.lock")
    if subprocess.call(["cmp", "-s", lock, mark]):
        say("== copying the sources of the dependencies")
        target = os.path.join(WORK, "vendor")
        command = [built.CARGO, "vendor", "--locked", "-q", target]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode:
            raise Lacking(f"cargo vendor failed: {done.stderr.decode()}")
        subprocess.check_call(["cp", lock, mark])
    os.makedirs(os.path.join(WORK, "cargo"), exist_ok=True)
    with open(
        os.path.join(WORK, "cargo", "config.toml"), "w", encoding="utf-8"
    ) as file:
        file.write('[source.crates-io]\nreplace-with = "copied"\n')
        file.write('[source.copied]\ndirectory = "/cross/vendor"\n')


def is_foreign(machine, path):
    """Returns whether a file is a program or library of a machine."""
    with open(path, "rb") as file:
        head = file.read(20)
    ours = bytes(a & b for a, b in zip(machine.magic, machine.mask))
    return bytes(a & b for a, b in zip(head, machine.mask)) == ours


def histories(tally, machine, there, sizes):
    """Compares random histories with those of this machine, line by line. Control: other
    histories differ.
    """
    begun = time.monotonic()
    command = ["python3", "/stead/tests/cross/histories.py"]
    code, foreign = there.run([*command, *sizes])
    native = lambda *numbers: subprocess.run(
        [sys.executable, os.path.join(HERE, "histories.py"), *numbers],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    wanted, foreign = native(*sizes).splitlines(), foreign.splitlines()
    equal = sum(a == b for a, b in zip(wanted, foreign))
    wrong = max(len(wanted), len(foreign)) - equal + (code != 0)
    other = (
        native("1000", "1", "3").replace("seed 1000", f"seed {sizes[0]}").splitlines()
    )
    wrong += sum(a == b for a, b in zip(other, foreign) if " map " in a)
    said = "\n".join(foreign) if wrong else ""
    tally.row(
        machine.name, "histories, lines", equal, wrong, time.monotonic() - begun, said
    )


# a control: it has files of Unix
FILES = (
    "echo 'use std::os::unix::fs::MetadataExt;' | rustc --target {} --crate-type lib "
)
FILES += "--emit metadata -o /tmp/control -"


def reading(tally, root):
    """Compiles the core where it only reads maps. Control: code with files does not compile
    there.
    """
    there, begun = Elsewhere(root, WASM), time.monotonic()
    code, said = there.run(["cargo", "check", "-q", "--locked", "-p", "stead"])
    control, error = there.run(["sh", "-c", FILES.format(WASM.rust)])
    found = control != 0 and "std::os::unix" in error
    passed, seconds = (code == 0) + found, time.monotonic() - begun
    tally.row(WASM.name, "core compiles", passed, 2 - passed, seconds, said + error)
    for name in ELSEWHERE:
        tally.without(
            name, "Debian has no library of Rust for it; see make check-targets"
        )


def tried(tally, root, machine, options):
    """Runs the suites on one machine."""
    there, begun = Elsewhere(root, machine), time.monotonic()
    code, said = there.run(["python3", "-B", "tests/cross/inside.py"])
    directory = os.path.join(WORK, "build", machine.rust, "release")
    files = [os.path.join(directory, name) for name in ("stead", "libstead.so")]
    right = sum(os.path.exists(file) and is_foreign(machine, file) for file in files)
    # inside.py runs the program, so QEMU or the kernel knows what it is
    passed, failed = right, len(files) - right + (code != 0)
    tally.row(machine.name, "built", passed, failed, time.monotonic() - begun, said)
    if failed:
        return
    histories(tally, machine, there, LONG if options.long else SHORT)
    for name, (command, by, only_long) in SUITES.items():
        if (only_long and not options.long) or options.only not in name:
            continue
        begun = time.monotonic()
        code, said = there.run(command)
        passed, failed = counted(said, by)
        failed += code != 0 and not failed
        tally.row(machine.name, name, passed, failed, time.monotonic() - begun, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [*MACHINES, WASM.name, "musl", "all"]
    parser.add_argument("machine", nargs="*", choices=[*names, []], metavar="MACHINE")
    parser.add_argument(
        "--long", action="store_true", help="all vectors, more histories"
    )
    parser.add_argument(
        "--only", default="", help="only suites with this in their name"
    )
    options = parser.parse_args()
    wanted = options.machine or ["s390x", "i686", WASM.name]
    wanted = names[:-1] if "all" in wanted else wanted
    tally = Tally()
    machines = [MACHINES[name] for name in wanted if name in MACHINES]
    machines += [WASM] if WASM.name in wanted else []
    try:
        if machines:
            root = Root(os.path.join(WORK, "root"))
            root.make(machines, lambda text: say(f"== {text}"))
            vendored()
            for machine in machines:
                if machine is WASM:
                    reading(tally, root)
                else:
                    tried(tally, root, machine, options)
    except Lacking as why:
        for machine in machines:
            tally.without(machine.name, why)
    if "musl" in wanted:
        musl.tried(tally, WORK)
    say(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())

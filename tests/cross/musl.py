"""musl as the C library: libstead.a and the program, which are static, and libstead.so,
which rustc makes only when the C library is not to be linked statically.
"""

import os
import shutil
import subprocess
import sys
import time

import built
import tally as cross

TARGET = "x86_64-unknown-linux-musl"
CC = "musl-gcc"
# what rustc needs for a shared library with musl
SHARED = "-C target-feature=-crt-static"
# gcc's libgcc_s.so has an unwinder that is made for glibc. The one that rustc links with
# static programs for musl has the same functions.
UNWINDER = "GROUP ( {} libgcc.a )\n"


def lacking():
    """Returns why musl cannot be tried here; empty when it can."""
    if not shutil.which(CC):
        return f"{CC} is missing (package musl-tools)"
    if not shutil.which("rustup"):
        return "rustup, which has Rust's library for musl, is missing"
    done = subprocess.run(
        ["rustup", "-q", "target", "add", TARGET], capture_output=True, check=False
    )
    return f"rustup target add {TARGET} failed" if done.returncode else ""


def unwinder():
    """Returns the path of rustc's unwinder for musl."""
    said = subprocess.run(
        [os.environ.get("RUSTC", "rustc"), "--print", "sysroot"],
        stdout=subprocess.PIPE,
        check=True,
    )
    directory = os.path.join(said.stdout.decode().strip(), "lib", "rustlib", TARGET)
    return os.path.join(directory, "lib", "self-contained", "libunwind.a")


def environment(work, flags):
    """Returns what makes cargo and the suites build for musl."""
    directory = os.path.join(work, "musl-unwinder")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "libgcc_s.so"), "w", encoding="ascii") as file:
        file.write(UNWINDER.format(unwinder()))
    upper = TARGET.upper().replace("-", "_")
    # rustc brings what a static program needs, start files included
    shared = {
        f"CARGO_TARGET_{upper}_LINKER": CC,
        f"CARGO_TARGET_{upper}_RUSTFLAGS": f"{flags} -L native={directory}",
        "STEAD_LIBRARY_ONLY": "1",
    }
    return {
        **os.environ,
        **cross.QUICK,
        **(shared if flags else {}),
        "CARGO_BUILD_TARGET": TARGET,
        "CARGO_TARGET_DIR": os.path.join(work, "musl-shared" if flags else "musl"),
        f"CC_{TARGET.replace('-', '_')}": CC,
        "CARGO": os.path.join(cross.HERE, "cargo"),
        "REAL_CARGO": built.CARGO,
        "CC": CC,
    }


def suite(row, name, command, env, by=cross.COUNTS):
    """Runs a suite and counts it."""
    begun = time.monotonic()
    done = subprocess.run(
        command,
        cwd=cross.ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace")
    passed, failed = cross.counted(said, by)
    failed += done.returncode != 0 and not failed
    row("musl", name, passed, failed, time.monotonic() - begun, said)


def tried(tally, work):
    """Runs the suites with musl: with the shared library those in C, and with the static
    program those that run it. The C suite is left out: it counts allocations as glibc makes them.
    """
    why = lacking()
    if why:
        tally.without("musl", why)
        return
    shared, static = environment(work, SHARED), environment(work, "")
    python = sys.executable
    suite(tally.row, "C vectors", ["tests/run", "--runner", "c"], shared)
    suite(tally.row, "ABI", [python, "tests/abi/run.py"], shared)
    suite(
        tally.row,
        "rings drawn",
        [python, "tests/rings/draw_maps.py", "--check"],
        static,
    )
    suite(tally.row, "program's vectors", ["tests/run", "--runner", "program"], static)

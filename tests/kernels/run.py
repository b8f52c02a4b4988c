#!/usr/bin/env python3
"""Runs the kernels' tests on processors that this machine does not have.

avx512 boots a Linux kernel in Bochs, which emulates an x86-64 processor with AVX-512; the test
program is its only process. neon runs the test program for 64-bit ARM under QEMU. Both take some
minutes. `make test` runs the kernels that this processor has.

    make test-kernels [ARGS='avx512 neon']

It needs these packages of Debian, and says which are missing; nothing is installed:
avx512: bochs bochs-term bochsbios isolinux syslinux-common xorriso cpio libc6-dev
neon: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user, and Rust's library for
aarch64-unknown-linux-gnu (rustup target add aarch64-unknown-linux-gnu)
"""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "kernels"
LIMIT = 3600  # seconds that a machine may take

# the first process: it runs the tests, says how they ended, and switches the machine off
INIT = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  char line[8192];
  mount("proc", "/proc", "proc", 0, 0);
  FILE *cpu = fopen("/proc/cpuinfo", "r");
  while (cpu && fgets(line, sizeof line, cpu))
    if (!strncmp(line, "flags", 5)) printf("avx512f: %s\n", strstr(line, " avx512f") ? "yes" : "no");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    execl("/tests", "/tests", "kernel::", "--test-threads=1", (char *)0);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("exit status %d\n", WEXITSTATUS(status));
  fflush(stdout);
  sleep(1);
  reboot(RB_POWER_OFF);
  for (;;) pause();
}
"""

# Linux takes the sizes that Bochs reports for compacted states for wrong, and then does without AVX
ISOLINUX = """DEFAULT l
PROMPT 0
TIMEOUT 1
LABEL l
 KERNEL linux
 INITRD initrd.gz
 APPEND quiet console=ttyS0 nokaslr mitigations=off clearcpuid=xsavec,xsaves tsc=unstable
"""

BOCHSRC = """plugin_ctrl: unmapped=true, biosdev=true, speaker=false, extfpuirq=true, serial=true
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
megs: 512
cpu: model=corei7_skylake_x, count=1, ips=50000000, reset_on_triple_fault=0
ata0-master: type=cdrom, path=disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
clock: sync=none
log: bochs.txt
panic: action=fatal
"""


def say(text):
    print(text, flush=True)


def missing(programs, files):
    """What is not there, of programs and files by the name of their package."""
    gone = [package for program, package in programs if not shutil.which(program)]
    gone += [package for file, package in files if not Path(file).exists()]
    return sorted(set(gone))


def run(*command, **kwargs):
    return subprocess.run(command, check=True, **kwargs)


def test_program(target, **env):
    """Builds the core's unit tests for a target. Returns their program."""
    say(f"== building the tests for {target} (some minutes)")
    built = run(
        os.environ.get("CARGO", "cargo"),
        *("test", "--locked", "-q", "-p", "stead", "--lib", "--no-run"),
        *(
            "--target",
            target,
            "--target-dir",
            str(WORK / "build"),
            "--message-format=json",
        ),
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
    )
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable"):
            return Path(message["executable"])
    sys.exit("cargo named no program")


def judged(text, name):
    """Prints the tests' lines, and returns whether all of them passed."""
    for line in text.splitlines():
        if line.startswith(("test ", "avx512f", "exit status")):
            say(f"   {line}")
    passed = "test result: ok" in text and "exit status 0" in text
    say(f"== {name}: {'passed' if passed else 'FAILED'}")
    return passed


def linux():
    """The kernel of Debian's image for virtual machines, which is fetched and not installed."""
    image = WORK / "linux"
    if not image.exists():
        say("== fetching Debian's package of a Linux kernel (27 MB)")
        depends = run(
            "apt-cache", "depends", "linux-image-cloud-amd64", stdout=subprocess.PIPE
        )
        lines = depends.stdout.decode().splitlines()
        name = next(
            line.split()[-1] for line in lines if "Depends: linux-image" in line
        )
        run("apt-get", "download", "-q", name, cwd=WORK)
        deb = next(WORK.glob(f"{name}_*.deb"))
        run("dpkg-deb", "-x", str(deb), str(WORK / "unpacked"))
        shutil.copy(next((WORK / "unpacked/boot").glob("vmlinuz-*")), image)
        shutil.rmtree(WORK / "unpacked")
        deb.unlink()
    return image


def boots(directory):
    """Runs Bochs until the machine is off. Its screen needs a terminal, so it gets one."""
    (directory / "commands").write_text("c\n")
    serial = directory / "serial.txt"
    serial.unlink(missing_ok=True)
    screen, terminal = pty.openpty()
    bochs = subprocess.Popen(
        ["bochs", "-q", "-f", "bochsrc", "-rc", "commands"],
        cwd=directory,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(terminal)
    os.set_blocking(screen, False)
    deadline = time.monotonic() + LIMIT
    shown = 0
    while time.monotonic() < deadline and bochs.poll() is None:
        try:
            os.read(screen, 1 << 16)
        except OSError:
            time.sleep(0.2)
        text = serial.read_text(errors="replace") if serial.exists() else ""
        for line in text[shown:].splitlines(keepends=True):
            if not line.endswith("\n"):
                break
            shown += len(line)
            if line.startswith("test "):
                say(f"   {line.strip()}")
        if "exit status" in text[-400:]:
            break
    if bochs.poll() is None:
        os.kill(bochs.pid, signal.SIGKILL)
    bochs.wait()
    return serial.read_text(errors="replace") if serial.exists() else ""


def avx512():
    gone = missing(
        [("bochs", "bochs"), ("xorriso", "xorriso"), ("cpio", "cpio"), ("cc", "gcc")],
        [
            ("/usr/lib/ISOLINUX/isolinux.bin", "isolinux"),
            ("/usr/lib/syslinux/modules/bios/ldlinux.c32", "syslinux-common"),
            ("/usr/share/bochs/BIOS-bochs-latest", "bochsbios"),
            ("/usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so", "bochs-term"),
        ],
    )
    if gone:
        sys.exit(f"avx512 needs these packages: apt-get install {' '.join(gone)}")
    directory = WORK / "avx512"
    root, disc = directory / "root", directory / "disc"
    for folder in (root / "proc", disc / "isolinux"):
        folder.mkdir(parents=True, exist_ok=True)
    tests = test_program(
        "x86_64-unknown-linux-gnu",
        RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols",
    )
    shutil.copy(tests, root / "tests")
    run(
        "cc",
        "-O1",
        "-static",
        "-x",
        "c",
        "-o",
        str(root / "init"),
        "-",
        input=INIT.encode(),
    )
    pack = "find . | cpio -o -H newc --quiet | gzip -1"
    with open(disc / "isolinux/initrd.gz", "wb") as packed:
        run("sh", "-c", pack, cwd=root, stdout=packed)
    shutil.copy(linux(), disc / "isolinux/linux")
    shutil.copy("/usr/lib/ISOLINUX/isolinux.bin", disc / "isolinux")
    shutil.copy("/usr/lib/syslinux/modules/bios/ldlinux.c32", disc / "isolinux")
    (disc / "isolinux/isolinux.cfg").write_text(ISOLINUX)
    (directory / "bochsrc").write_text(BOCHSRC)
    run(
        *("xorriso", "-as", "mkisofs", "-quiet", "-o", str(directory / "disc.iso")),
        *("-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-no-emul-boot"),
        *("-boot-load-size", "4", "-boot-info-table", str(disc)),
        stderr=subprocess.DEVNULL,
    )
    say("== booting a machine with AVX-512 in Bochs (some minutes)")
    text = boots(directory)
    if "avx512f: yes" not in text:
        say(
            "the machine did not start, or has no AVX-512; see target/kernels/avx512/serial.txt"
        )
        return False
    return judged(text, "avx512")


def neon():
    gone = missing(
        [
            ("qemu-aarch64", "qemu-user"),
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        ],
        [("/usr/aarch64-linux-gnu/lib/libc.so.6", "libc6-dev-arm64-cross")],
    )
    if gone:
        sys.exit(f"neon needs these packages: apt-get install {' '.join(gone)}")
    tests = test_program(
        "aarch64-unknown-linux-gnu",
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="aarch64-linux-gnu-gcc",
    )
    say("== running the tests under QEMU")
    ran = subprocess.run(
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", str(tests), "kernel::"],
        check=False,
        stdout=subprocess.PIPE,
        env={
            name: value
            for name, value in os.environ.items()
            if name != "LD_LIBRARY_PATH"
        },
    )
    text = ran.stdout.decode(errors="replace") + f"\nexit status {ran.returncode}\n"
    return judged(text, "neon")


def main():
    parts = {"avx512": avx512, "neon": neon}
    wanted = sys.argv[1:] or list(parts)
    if not set(wanted) <= set(parts):
        sys.exit(__doc__.strip())
    WORK.mkdir(parents=True, exist_ok=True)
    passed = [parts[name]() for name in wanted]
    say(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed, 0 skipped")
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()

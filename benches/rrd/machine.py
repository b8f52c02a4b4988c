"""What `make bench-rrd` asks the machine: the CPU time of processes, its file systems,
its disk, and the programs that it builds.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import built

CLIENT = Path(__file__).resolve().parent / "client"
TICK = os.sysconf("SC_CLK_TCK")


def say(text):
    """Prints progress, to another stream than the figures."""
    print(text, file=sys.stderr, flush=True)


def clean_up_when_told():
    """Lets SIGTERM end this program as an error does: servers are stopped, and their
    files removed.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def spent(pid):
    """Returns the CPU seconds of a process so far, and how often its threads slept."""
    try:
        # user and system time are the 14th and 15th field; the 2nd may contain spaces
        # and ends at the last bracket
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError as error:
        sys.exit(f"a server has ended during the measurement: {error}")
    sleeps = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (thread / "status").read_text()
        except OSError:
            continue  # rrdcached has a thread for each client, and it has ended
        sleeps += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return sum(map(int, fields[11:13])) / TICK, sleeps


def scheduled(pid):
    """Returns for each thread of a process the seconds that it computed so far, and the
    seconds that it could have computed but had no core.
    """
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            computed, waited, _ = (thread / "schedstat").read_text().split()
        except OSError:
            continue  # it has ended
        found[thread.name] = (int(computed) / 1e9, int(waited) / 1e9)
    return found


def first_in_line(first=True):
    """Lets this thread get a core before all others, if it may, or like the others."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20 if first else 0)


def busy():
    """The seconds that all cores together have worked so far, for any process. Time
    that the host of a virtual machine took away counts, too.
    """
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICK


def disk(place):
    """The type of the directory's file system, which must be on a disk."""
    kind, longest = "?", -1
    if not place.is_dir():
        sys.exit(f"--dir {place}: there is no such directory")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, name, *_ = line.split()
        if (place == Path(mount) or Path(mount) in place.parents) and len(
            mount
        ) >= longest:
            kind, longest = name, len(mount)
    if kind in ("tmpfs", "ramfs"):
        sys.exit(
            f"{place} is in memory ({kind}): the log would be durable for nothing; "
            "name a directory on a disk with --dir"
        )
    return kind


def sync_time(place):
    """The microseconds that a write of 100 bytes with its sync takes now, in a file
    whose blocks are allocated, like those of a segment of the log. It is the quickest
    of several writes, since that one did not wait for a core.
    """
    times = []
    with open(place / "sync", "wb", buffering=0) as file:
        file.write(bytes(1 << 16))
        os.fsync(file.fileno())
        file.seek(0)
        for _ in range(30):
            start = time.perf_counter()
            file.write(b"x" * 100)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - start) * 1e6)
    return min(times)


def build(place):
    """Builds the programs and the client; returns their paths by name."""
    say("building (release)")
    made = built.messages(
        [
            "build",
            "--release",
            "--locked",
            "-q",
            "-p",
            "stead-rrd",
            "-p",
            "stead-cli",
            "--bins",
        ]
    )
    programs = {
        Path(m["executable"]).name: m["executable"] for m in made if m.get("executable")
    }
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        sys.exit(
            f"{compiler[0]} is not installed; on Debian: apt install gcc libc6-dev"
        )
    for name in ("load", "echo"):
        programs[name] = place / name
        subprocess.run(
            [*compiler, "-O2", "-pthread", "-o", place / name, CLIENT / f"{name}.c"],
            check=True,
        )
    return programs

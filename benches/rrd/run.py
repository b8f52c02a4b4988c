#!/usr/bin/env python3
"""Measures updates per second through the RRD router, against one rrdcached, and
against a client that writes two rrdcached itself. Run it with `make bench-rrd`.

Real rrdcached servers, and routers in a release build with the log on a real disk, run
at the same time on loopback. One client program (client/load.c) loads them, one at a
time and in turns, so that other work on the machine affects all of them alike. Figures
are medians of the rounds; a ratio is the median of the rounds' ratios.

`answered` is the rate at which clients get answers, `delivered` the rate until every
server has received every update, no fewer and no more. Any answer that is not success
ends the run. Nothing is flushed during a load; after each round everything is.

CPU is the time of all threads per update. The client, the router and the servers share
the cores. Where there are few, a ratio says how the cores were shared rather than what
a router on its own machine would reach: compare the CPU instead. `others` is the number
of cores that other programs kept busy; a run in which it is not near 0 says little
about speed.
"""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "rrd")]

import built
import figures
import memory
from rrd_servers import Client, wait_for
from systems import BEGIN, CREATE, Plain, Routed, known, statistics_of

CLIENT = Path(__file__).resolve().parent / "client"
TICK = os.sysconf("SC_CLK_TCK")
BATCH = 1000
# (name, clients, options of the client): first with one update at a time in each, then
# with BATCH
LOADS = [
    ("1 client", 1, []),
    ("16 clients", 16, []),
    ("64 clients", 64, []),
    (f"BATCH of {BATCH:,}, 1 client", 1, ["--batch", str(BATCH)]),
    (f"BATCH of {BATCH:,}, 4 clients", 4, ["--batch", str(BATCH)]),
]
ZONES = (2, 2)
# the keys of the baselines, and what the tables call them
ONE, TWO, JOURNAL = "one", "two", "journal"
BASELINES = {ONE: "one rrdcached", TWO: "two rrdcached", JOURNAL: "one, journal"}
BEFORE = "before"


def say(text):
    """Prints progress, to another stream than the figures."""
    print(text, file=sys.stderr, flush=True)


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


def busy():
    """The seconds that all cores together have worked so far, for any process. Time
    that the host of a virtual machine took away counts, too.
    """
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICK


class Bench:
    """The systems that are compared, and the load."""

    def __init__(self, options, programs, place):
        self.options, self.programs, self.place = options, programs, place
        # names like collectd's: each host has its own directory
        self.names = [
            f"host{n // 40:03}/load-{n % 40}.rrd" for n in range(options.files)
        ]
        (place / "files").write_text("".join(f"{name}\n" for name in self.names))
        subprocess.run(
            ["rrdtool", "create", place / "template.rrd", *CREATE], check=True
        )
        self.template = (place / "template.rrd").read_bytes()
        self.systems = {}
        for name in options.only:
            if name in BASELINES:
                self.systems[name] = Plain(
                    place / name,
                    options.socket,
                    count=2 if name == TWO else 1,
                    journal=name == JOURNAL,
                )
                continue
            for copies in options.copies:
                self.add(name, copies, programs, options.variants[name])
                if options.compare and name in options.before:
                    old = {**programs, "stead-rrd": options.compare}
                    self.add(f"{BEFORE} {name}", copies, old, options.before[name])
        self.next_time = dict.fromkeys(self.systems, BEGIN)
        self.updates = dict.fromkeys(self.systems, 0)

    def add(self, name, copies, programs, arguments):
        # a short name: the path of a unix socket has at most 107 bytes
        self.systems[name, copies] = Routed(
            programs,
            self.place / str(len(self.systems)),
            self.options.socket,
            arguments,
            ZONES,
            copies,
        )

    def client(self, addresses, *arguments):
        """Runs the client; returns what it said."""
        command = [self.programs["load"], "--files", self.place / "files", *arguments]
        for address in addresses:
            command += ["--to", address]
        done = subprocess.run(
            list(map(str, command)), stdout=subprocess.PIPE, check=False
        )
        if done.returncode:
            sys.exit("the load failed; what the client says stands above")
        return json.loads(done.stdout)

    def own(self):
        """Returns the client's own microseconds of CPU an update, and the median of its
        latency, for each load: with a server that only answers.
        """
        found = {}
        with subprocess.Popen(
            [self.programs["echo"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as echo:
            address = echo.stdout.readline().strip()
            for name, clients, arguments in LOADS:
                said = self.client(
                    [address],
                    *("--start", BEGIN, "--seconds", 0.5, "--clients", clients),
                    *arguments,
                )
                found[name] = {
                    "cpu_us": said["client_cpu"] * 1e6 / said["updates"],
                    "p50_us": said["p50_us"],
                }
            echo.stdin.close()
        return found

    def load(self, key, clients, arguments):
        """Loads one system; returns the figures."""
        system = self.systems[key]
        servers = [server.process.pid for server in system.servers]
        routers = [system.router.pid] if system.router else []
        pids = {**({"router": routers} if routers else {}), "servers": servers}
        before = {who: [spent(pid) for pid in pids[who]] for who in pids}
        clock, all_before = time.monotonic(), busy()
        behind = [
            word for server in system.servers for word in ("--server", server.address)
        ]
        said = self.client(
            system.addresses,
            *("--start", self.next_time[key], "--clients", clients),
            *("--copies", system.copies),
            *behind,
            *arguments,
        )
        all_after, elapsed = busy(), time.monotonic() - clock
        self.next_time[key] = said["newest"] + 1
        self.updates[key] += said["updates"]
        after = {who: [spent(pid) for pid in pids[who]] for who in pids}

        def difference(who, field):
            pairs = zip(before.get(who, []), after.get(who, []))
            return sum(new[field] - old[field] for old, new in pairs)

        cpu = {who: difference(who, 0) for who in pids}
        ours = sum(cpu.values()) + said["client_cpu"]
        return figures.figures(
            said,
            system.copies,
            cpu,
            difference("router", 1),
            max(0.0, all_after - all_before - ours) / elapsed,
        )

    def flush(self):
        """Writes all updates to the files, so that no system has more of them in memory
        than another. Ends the run if a server lacks updates or has too many.
        """
        for key, system in self.systems.items():
            for server in system.servers:
                with Client(server.address) as client:
                    client.ask("FLUSHALL")
        for key, system in self.systems.items():
            for server in system.servers:
                wait_for(lambda server=server: self.flushed(server), "values on disk")
            got = sum(
                statistics_of(server)["UpdatesReceived"] for server in system.servers
            )
            if got != self.updates[key] * system.copies:
                sys.exit(
                    f"{label(key)}: {self.updates[key]} updates were answered, and "
                    f"{got} arrived in {system.copies} copies"
                )

    @staticmethod
    def flushed(server):
        numbers = statistics_of(server)
        return numbers["DataSetsWritten"] == numbers["UpdatesReceived"]

    def run(self):
        """Runs all rounds; returns {load: {system: the figures of each round}}."""
        found = {name: {key: [] for key in self.systems} for name, *_ in LOADS}
        syncs = []
        for key, system in self.systems.items():
            system.place_files(self.names, self.template)
            # the first update of a file does more than those after it
            once = ["--updates", len(self.names), "--seconds", 600]
            self.load(key, 1, [*once, "--batch", BATCH])
        turns = list(self.systems)
        for number in range(self.options.rounds):
            self.flush()
            for name, clients, arguments in LOADS:
                syncs.append(sync_time(self.place))
                for key in turns:
                    result = self.load(
                        key, clients, ["--seconds", self.options.seconds, *arguments]
                    )
                    found[name][key].append(result)
                rates = [
                    f"{label(key)} {found[name][key][-1]['answered']:,.0f}/s"
                    for key in self.systems
                ]
                say(f"round {number + 1}: {name}: {', '.join(rates)}")
                turns.append(turns.pop(0))
        self.flush()
        return found, statistics.median(syncs)


def label(key):
    """Returns what messages call a system."""
    return BASELINES[key] if key in BASELINES else f"{key[0]} R={key[1]}"


def show(found, copies):
    """Prints the tables of one number of copies; returns their medians."""
    results = {}
    for load, systems in found.items():
        rows, results[load] = [], {}
        one, two = systems.get(ONE), systems.get(TWO) if copies > 1 else None
        for key, rounds in systems.items():
            if not rounds or (key == TWO and copies == 1):
                continue
            if key not in BASELINES and key[1] != copies:
                continue
            name = BASELINES[key] if key in BASELINES else key[0]
            medians = figures.summary(
                rounds, None if key == ONE else one, None if key in (ONE, TWO) else two
            )
            results[load][name] = medians
            name = f"- {BEFORE}" if name.startswith(BEFORE) else name
            rows.append(figures.row(name, medians))
        others = [medians["others"] for medians in results[load].values()]
        title = f"{load}, R = {copies}; others {min(others):.1f} to {max(others):.1f}"
        print("\n".join(figures.table(title, rows)))
        drains = [
            f"{name} {figures.time(medians['drain_ms'])}"
            for name, medians in results[load].items()
            if name not in BASELINES.values() and not name.startswith(BEFORE)
        ]
        if drains:
            print(f"delivered after the last answer: {', '.join(drains)}")
        for name in results[load]:
            if f"{BEFORE} {name}" in results[load]:
                new, old = (systems[n, copies] for n in (name, f"{BEFORE} {name}"))
                print(
                    f"{name} to {BEFORE}: "
                    + ", ".join(
                        f"{rate} {figures.ratio(new, old, rate):.2f}"
                        for rate in ("answered", "delivered", "p50_us", "p99_us")
                    )
                )
        print(flush=True)
    return results


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


def command_line():
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__.partition("\n\n")[0]
    )
    add = parser.add_argument
    add("--rounds", type=int, default=5)
    add(
        "--seconds",
        type=float,
        default=1.5,
        help="of one load in one round (%(default)s)",
    )
    add("--files", type=int, default=2000, help="RRD files, at least 64 (%(default)s)")
    add(
        "--copies",
        default="2",
        metavar="R,R",
        help="copies of each file, 1 or 2 or both (%(default)s)",
    )
    add(
        "--only",
        metavar="NAME,NAME",
        help="some of one, two, journal (one rrdcached with -j), the variants, memory; "
        "default: all but journal",
    )
    add("--loads", help="only loads with this in their names, as '1 client' or BATCH")
    add(
        "--router-args",
        action="append",
        default=[],
        metavar="OPTIONS",
        help="one more variant: options of stead-rrd serve, after its --listen; may be "
        "repeated, and is called args1, args2 …",
    )
    add(
        "--compare",
        metavar="FILE",
        help="an older stead-rrd, which is measured in the same rounds",
    )
    add(
        "--dir",
        default="/tmp",
        help="where to put files and log: a disk, with a short name (%(default)s)",
    )
    add(
        "--socket",
        choices=["tcp", "unix"],
        default="tcp",
        help="how clients connect (%(default)s)",
    )
    add("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    options.copies = [int(text) for text in options.copies.split(",") if text in "12"]
    if not options.copies:
        sys.exit("--copies: give 1, 2 or 1,2")
    if options.files < max(clients for _, clients, _ in LOADS):
        sys.exit(f"--files {options.files}: give each client at least one")
    if options.loads:
        LOADS[:] = [load for load in LOADS if options.loads in load[0]]
        if not LOADS:
            sys.exit(f"--loads {options.loads}: no load has that in its name")
    return options


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
    for name in ("load", "echo"):
        programs[name] = place / name
        compiler = [*shlex.split(os.environ.get("CC", "cc")), "-O2", "-pthread"]
        subprocess.run(
            [*compiler, "-o", programs[name], CLIENT / f"{name}.c"], check=True
        )
    return programs


def choose(options, router):
    """Sets the variants, and the systems that are measured."""
    options.variants = known(router)
    options.variants |= {
        f"args{number}": text for number, text in enumerate(options.router_args, 1)
    }
    if options.compare:
        old = known(options.compare)
        options.before = {
            name: old.get(name, "")
            for name in options.variants
            if name in old or not name.startswith("args")
        }
    names = [*BASELINES, *options.variants, "memory"]
    options.only = (
        options.only.split(",")
        if options.only
        else [name for name in names if name != JOURNAL]
    )
    for name in options.only:
        if name not in names:
            sys.exit(f"--only {name}: it is none of {', '.join(names)}")
    options.memory = "memory" in options.only
    options.only = [name for name in options.only if name != "memory"]


def main():
    options = command_line()
    for name in ("rrdcached", "rrdtool"):
        if not shutil.which(name):
            sys.exit(
                f"{name} is not installed; on Debian: apt install rrdcached rrdtool"
            )
    kind = disk(Path(options.dir).resolve())
    place = Path(tempfile.mkdtemp(prefix="stead-rrd-", dir=Path(options.dir).resolve()))
    try:
        measure(options, kind, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(options, kind, place):
    programs = build(place)
    choose(options, programs["stead-rrd"])
    bench = Bench(options, programs, place)
    cores = len(os.sched_getaffinity(0))
    about = {
        "cores": cores,
        "file_system": kind,
        "zones": ZONES,
        **{
            name: getattr(options, name)
            for name in ("files", "rounds", "seconds", "socket", "variants")
        },
    }
    print(
        f"{cores} cores, log on {kind}; {options.files} files, {options.socket}; "
        f"medians of {options.rounds} rounds of {options.seconds} s"
    )
    print("one rrdcached: asked directly; /one is the ratio to it")
    print("two rrdcached: the client writes both and waits for both; /two: likewise")
    for name, text in options.variants.items():
        if name in options.only:
            print(
                f"{name}: {sum(ZONES)} servers behind the router; {text or 'no options'}"
            )
    print(flush=True)
    results, rounds, rows, entered = {}, [], [], []
    try:
        for system in bench.systems.values():
            system.__enter__()
            entered.append(system)
        if bench.systems:
            about["client"] = bench.own()
            found, about["sync_us"] = bench.run()
            for copies in options.copies:
                results[f"R = {copies}"] = show(found, copies)
            rounds = [
                {"load": load, "system": label(key), "rounds": all_rounds}
                for load, systems in found.items()
                for key, all_rounds in systems.items()
            ]
    finally:
        for system in entered:
            system.__exit__()
    if bench.systems:
        print("the client's own CPU an update, with a server that only answers:")
        for load, figure in about["client"].items():
            print(f"  {load}: {figure['cpu_us']:.2g} us")
        first = next(iter(about["client"].values()))["p50_us"]
        print(
            f"such a server answers in {first:.0f} us; a write with its sync took "
            f"{about['sync_us']:,.0f} us (the quickest of 30,\nmedian of all rounds): "
            "nothing durable answers sooner\n"
        )
    if options.memory:
        rows = memory.measure(bench)
        memory.show(rows)
    if options.json:
        Path(options.json).write_text(
            json.dumps(
                {"about": about, "updates": results, "rounds": rounds, "memory": rows},
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()

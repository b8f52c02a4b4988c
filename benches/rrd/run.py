#!/usr/bin/env python3
"""Measures updates per second through the RRD router, against one rrdcached that
clients use directly. Run it with `make bench-rrd`.

Real rrdcached servers, and routers in a release build with the durable log on a real
disk, run at the same time on loopback. They are loaded one at a time, in turns, so that
other work on the machine affects all of them alike. Figures are medians of the rounds;
a ratio is the median of the rounds' ratios to the direct rrdcached. Nothing is flushed
during the run (rrdcached -w 3600), neither directly nor behind a router. An answer that
is not success ends the run, and at the end the rrdcached servers are asked whether they
got every update.

CPU is the servers' time from /proc, in seconds per million updates. The load, the
router and rrdcached share the cores. Where there are few, a ratio says how the cores
were shared rather than what a router on its own machine would reach: compare the
seconds instead. `others` is the number of cores that other programs kept busy; a run in
which it is not near 0 says little about speed.

    run.py [--rounds N] [--seconds S] [--files N] [--only NAME,NAME] [--loads TEXT] [--dir DIR] [--socket tcp|unix] [--json FILE]
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "rrd")]

import built
from rrd_servers import Client, Cluster, Rrdcached, free_port, wait_for

TICK = os.sysconf("SC_CLK_TCK")
BATCH = 1000
# (name, connections, options of rrd_load): first with one update at a time in each
# connection, then with BATCH
LOADS = [
    ("single, 1 client", 1, []),
    ("single, 16 clients", 16, []),
    ("single, 64 clients", 64, []),
    (f"BATCH of {BATCH}, 1 client", 1, ["--batch", str(BATCH)]),
    (f"BATCH of {BATCH}, 4 clients", 4, ["--batch", str(BATCH)]),
]
# a file like those of collectd, but smaller; it begins at the time of the first update
BEGIN = 1700000000
CREATE = [
    "-s",
    "10",
    "-b",
    str(BEGIN - 10),
    "DS:value:GAUGE:20:U:U",
    "RRA:AVERAGE:0.5:1:360",
    "RRA:MAX:0.5:6:240",
]


def say(text):
    """Prints progress, to another stream than the figures."""
    print(text, file=sys.stderr, flush=True)


def spent(pid):
    """Returns the CPU seconds of a process so far, and how often its threads slept."""
    try:
        # user and system time are the 14th and 15th field; the 2nd may contain spaces
        # and ends at the last bracket
        ticks = sum(
            map(
                int,
                Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13],
            )
        )
    except OSError as error:
        sys.exit(f"a server has ended during the measurement: {error}")
    sleeps = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (thread / "status").read_text()
        except OSError:
            continue  # rrdcached has a thread for each client, and it has ended
        sleeps += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return ticks / TICK, sleeps


def busy():
    """The seconds that all cores together have worked so far, for any process. Time
    that the host of a virtual machine took away counts, too.
    """
    user, nice, system, _idle, _wait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICK


class Direct:
    """One rrdcached that is loaded directly, with its own journal or without."""

    copies = 1

    def __init__(self, programs, place, socket, journal=False):
        place.mkdir()
        self.server = Rrdcached(
            place / "one",
            f"unix:{place}/s" if socket == "unix" else f"127.0.0.1:{free_port()}",
        )
        if journal:
            self.server.journal = place / "journal"
            self.server.journal.mkdir()
        self.address = self.server.address
        self.programs = programs

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(9)  # otherwise it would flush a million useless values

    def rrdcacheds(self):
        """The rrdcached servers behind this system."""
        return [self.server]

    def routers(self):
        """The processes between the clients and the backends."""
        return []

    def place_files(self, names, template):
        """Puts every file into the server's directory."""
        copy(template, (self.server.base / name for name in names))


class Routed(Cluster):
    """The router before some rrdcached servers; `zones` has the number of servers in
    each zone.
    """

    def __init__(self, programs, place, socket, zones, copies):
        place.mkdir()
        super().__init__(programs, place)
        names = [
            f"{zone}{number}"
            for zone, count in zip("abcd", zones)
            for number in range(1, count + 1)
        ]
        # these servers replace those of the tests, which are never started
        self.backends = {
            name: Rrdcached(place / "backends" / name, f"127.0.0.1:{free_port()}")
            for name in names
        }
        for backend in self.backends.values():
            backend.files = None  # no files are copied during a measurement
        self.socket, self.copies = socket, copies

    def servers(self):
        """Every running rrdcached."""
        return list(self.backends.values())

    @property
    def address(self):
        """The address that clients connect to."""
        return self.unix if self.socket == "unix" else self.tcp

    def rrdcacheds(self):
        """The rrdcached servers behind this system."""
        return self.servers()

    def routers(self):
        """The processes between the clients and the backends."""
        return [self.router.pid]

    def place_files(self, names, template):
        """Puts every file only where the map says, so that an update on another server
        fails.
        """
        for name, nodes in self.located(names).items():
            copy(template, (self.backends[node].base / name for node in nodes))


def copy(template, places):
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(template)


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
        for key, (_, make) in SYSTEMS.items():
            if key in options.only:
                self.systems[key] = make(programs, place / key, options.socket)
        self.next_time = dict.fromkeys(self.systems, BEGIN)
        self.updates = dict.fromkeys(self.systems, 0)

    def load(self, key, connections, arguments, seconds):
        """Loads one system; returns how much it did, and the CPU that this took."""
        system = self.systems[key]
        processes = {
            "router": system.routers(),
            "rrdcached": [server.process.pid for server in system.rrdcacheds()],
        }
        before = {who: [spent(pid) for pid in pids] for who, pids in processes.items()}
        children, all_before = os.times(), busy()
        command = [
            self.programs["rrd_load"],
            system.address,
            "--files",
            self.place / "files",
            "--start",
            str(self.next_time[key]),
            "--seconds",
            str(seconds),
            "--connections",
            str(connections),
            *arguments,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"the load on {SYSTEMS[key][0]} failed; what it says stands above")
        said = json.loads(done.stdout)
        now, all_after = os.times(), busy()
        self.next_time[key] = said["newest"] + 1
        self.updates[key] += said["updates"]
        self.arrived(
            key
        )  # the work that the replicas still do belongs to these updates
        millions = said["updates"] / 1e6
        cpu = {
            "load": (
                now.children_user
                + now.children_system
                - children.children_user
                - children.children_system
            )
            / millions
        }
        for who, pids in processes.items():
            after = [spent(pid) for pid in pids]
            cpu[who] = sum(b[0] - a[0] for a, b in zip(before[who], after)) / millions
        others = max(0.0, all_after - all_before - sum(cpu.values()) * millions) / (
            now.elapsed - children.elapsed
        )
        sleeps = sum(
            b[1] - a[1]
            for a, b in zip(before["router"], map(spent, processes["router"]))
        )
        return {
            **said,
            "rate": said["updates"] / said["seconds"],
            "cpu": cpu,
            "router_sleeps": sleeps / said["updates"],
            "others": others,
        }

    def arrived(self, key):
        """Waits until the backends have received every update in all copies; ends the
        run when they received more or fewer.
        """
        system = self.systems[key]
        wanted = self.updates[key] * system.copies

        def count():
            total = 0
            for server in system.rrdcacheds():
                with Client(server.address) as client:
                    total += int(
                        client.ask("STATS")
                        .partition(b"UpdatesReceived: ")[2]
                        .split()[0]
                    )
            return total

        wait_for(
            lambda: count() >= wanted,
            f"{wanted} updates to arrive behind {SYSTEMS[key][0]}",
        )
        if count() != wanted:
            sys.exit(
                f"{SYSTEMS[key][0]}: {wanted} updates were acknowledged and {count()} arrived"
            )

    def run(self):
        """Runs all rounds; returns {(load, system): the figures of each round}."""
        found = {name: {key: [] for key in self.systems} for name, *_ in LOADS}
        syncs = []
        for key, system in self.systems.items():
            system.place_files(self.names, self.template)
        for number in range(self.options.rounds):
            for name, connections, arguments in LOADS:
                rates = []
                syncs.append(sync_time(self.place))
                for key in self.systems:
                    result = self.load(
                        key, connections, arguments, self.options.seconds
                    )
                    found[name][key].append(result)
                    rates.append(f"{key} {result['rate']:,.0f}/s")
                say(
                    f"round {number + 1} of {self.options.rounds}: {name}: {', '.join(rates)}"
                )
        return found, statistics.median(syncs)


SYSTEMS = {
    "direct": ("one rrdcached, asked directly", Direct),
    "direct-journal": (
        "the same, with its journal (-j)",
        lambda programs, place, socket: Direct(programs, place, socket, journal=True),
    ),
    "router-1": (
        "router before 1 backend",
        lambda programs, place, socket: Routed(programs, place, socket, [1], 1),
    ),
    "router-4": (
        "router before 4 backends",
        lambda programs, place, socket: Routed(programs, place, socket, [4], 1),
    ),
    "router-4-R2": (
        "router before 4 backends in 2 zones, R = 2",
        lambda programs, place, socket: Routed(programs, place, socket, [2, 2], 2),
    ),
}


def summary(found, direct):
    """The medians of the figures of all rounds of one load and system, and of the
    ratios to the direct rrdcached.
    """

    def median(figure):
        return statistics.median(map(figure, found))

    result = {
        "rate": median(lambda r: r["rate"]),
        "requests": sum(r["requests"] for r in found),
        **{
            name: median(lambda r, name=name: r[name])
            for name in ("p50_us", "p99_us", "max_us", "router_sleeps", "others")
        },
        "cpu": {
            who: median(lambda r, who=who: r["cpu"][who])
            for who in ("router", "rrdcached", "load")
        },
    }
    if direct:
        pairs = list(zip(found, direct))
        result["ratio"] = statistics.median(
            own["rate"] / other["rate"] for own, other in pairs
        )
        for name in ("p50_us", "p99_us"):
            result[f"added_{name}"] = statistics.median(
                own[name] - other[name] for own, other in pairs
            )
    return result


def table(lines):
    """Prints lines of words in columns; only the first column is aligned to the left."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    for line in lines:
        print(
            "  ".join(
                [
                    line[0].ljust(widths[0]),
                    *(word.rjust(width) for word, width in zip(line[1:], widths[1:])),
                ]
            ).rstrip()
        )
    print(flush=True)


def micros(value):
    return f"{value:,.0f} us" if abs(value) < 10_000 else f"{value / 1000:,.1f} ms"


def show(results):
    """Prints the table of updates."""
    for name, systems in results.items():
        lines = [
            [
                name,
                "updates/s",
                "ratio",
                "p50",
                "p99",
                "added p50",
                "added p99",
                "CPU: router",
                "rrdcached",
                "load",
                "others",
            ]
        ]
        for key, figures in systems.items():
            ratio, added = "-", ["-", "-"]
            if "ratio" in figures and key != "direct":
                ratio = f"{figures['ratio']:.2f}"
                added = [
                    micros(figures[f"added_{part}"]) for part in ("p50_us", "p99_us")
                ]
            cpu = [
                f"{figures['cpu'][who]:.2f} s"
                for who in ("router", "rrdcached", "load")
            ] + [f"{figures['others']:.1f}"]
            lines.append(
                [
                    SYSTEMS[key][0],
                    f"{figures['rate']:,.0f}",
                    ratio,
                    micros(figures["p50_us"]),
                    micros(figures["p99_us"]),
                    *added,
                    *cpu,
                ]
            )
        table(lines)


class Crowd:
    """A context manager: many connections to the router."""

    def __init__(self, system, count, line=None):
        self.system, self.clients = system, []
        self.count, self.line = count, line

    def __enter__(self):
        for number in range(self.count):
            self.clients.append(Client(self.system.address))
            if self.line and not self.clients[-1].ask(self.line(number)).startswith(
                b"0 "
            ):
                sys.exit("the router refused an update while its memory was measured")
        # wait until the router has accepted the connections: so far the kernel may only
        # have queued them
        descriptors = Path(f"/proc/{self.system.router.pid}/fd")
        wait_for(
            lambda: sum(1 for _ in descriptors.iterdir()) >= self.count,
            f"the router to take {self.count} clients",
        )
        time.sleep(0.2)  # for the tasks of the last client; only a few KiB depend on it
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.__exit__()


def held(pid):
    """RSS and PSS of a process, in KiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    return {"rss_kib": sizes["Rss"], "pss_kib": sizes["Pss"]}


def memory(bench):
    """Returns the memory of a router that was just started, with more and more clients:
    in KiB, and in KiB for each client.
    """
    rows = []
    with Routed(
        bench.programs, bench.place / "memory", bench.options.socket, [1], 1
    ) as system:
        system.place_files(bench.names, bench.template)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100

        def look(what, count, line=None):
            if count > limit:
                say(
                    f"skipped: {what}: a process may have {limit + 100} open files (ulimit -n)"
                )
                return
            say(f"memory: {what}")
            with Crowd(system, count, line):
                rows.append({"what": what, "clients": count, **held(system.router.pid)})

        def update(number):
            return (
                f"update {bench.names[number % len(bench.names)]} "
                f"{BEGIN + number // len(bench.names)}:{number}"
            )

        for count in (0, 1000, 5000):
            look(f"{count:,} clients that ask nothing", count)
        for start in (0, 1):
            system.stop_router()
            system.start_router()
            if start == 0:
                look("a new router", 0)
                look("1,000 clients, each asked one update", 1000, update)
    for row in rows:
        base = [
            other
            for other in rows
            if other["clients"] == 0 and rows.index(other) <= rows.index(row)
        ][-1]
        if row["clients"]:
            row["kib_each"] = (row["pss_kib"] - base["pss_kib"]) / row["clients"]
    return rows


def show_memory(rows):
    """Prints the table of memory."""
    lines = [["memory of the router", "RSS", "PSS", "a client"]]
    for row in rows:
        each = f"{row['kib_each']:.1f} KiB" if "kib_each" in row else "-"
        lines.append(
            [
                row["what"],
                f"{row['rss_kib'] / 1024:.1f} MiB",
                f"{row['pss_kib'] / 1024:.1f} MiB",
                each,
            ]
        )
    table(lines)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds",
        type=float,
        default=1.5,
        help="of one load in one round (%(default)s)",
    )
    parser.add_argument(
        "--files", type=int, default=2000, help="RRD files, at least 64 (%(default)s)"
    )
    parser.add_argument("--only", help=f"some of {','.join(SYSTEMS)},memory")
    parser.add_argument(
        "--loads", help="only loads with this in their names, as single or BATCH"
    )
    parser.add_argument(
        "--dir",
        default="/tmp",
        help="where to put files and log: a disk, with a short name (%(default)s)",
    )
    parser.add_argument(
        "--socket",
        choices=["tcp", "unix"],
        default="tcp",
        help="how clients connect (%(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else [*SYSTEMS, "memory"]
    for name in options.only:
        if name not in [*SYSTEMS, "memory"]:
            sys.exit(f"--only {name}: it is none of {', '.join(SYSTEMS)}, memory")
    if options.files < max(connections for _, connections, _ in LOADS):
        sys.exit(f"--files {options.files}: give each connection at least one")
    if options.loads:
        LOADS[:] = [load for load in LOADS if options.loads in load[0]]
    for name in ("rrdcached", "rrdtool"):
        if not shutil.which(name):
            sys.exit(
                f"{name} is not installed; on Debian: apt install rrdcached rrdtool"
            )
    kind = disk(Path(options.dir).resolve())
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
            "--example",
            "rrd_load",
        ]
    )
    programs = {
        Path(m["executable"]).name: m["executable"] for m in made if m.get("executable")
    }
    place = Path(tempfile.mkdtemp(prefix="stead-rrd-", dir=Path(options.dir).resolve()))
    try:
        bench = Bench(options, programs, place)
        cores = len(os.sched_getaffinity(0))
        about = {
            "cores": cores,
            "file_system": kind,
            "files": options.files,
            "rounds": options.rounds,
            "seconds": options.seconds,
            "socket": options.socket,
        }
        print(
            f"{cores} cores, log on {kind}; {options.files} files, {options.socket}; "
            f"medians of {options.rounds} rounds of {options.seconds} s; CPU in "
            "seconds a million updates\n",
            flush=True,
        )
        results, rows, entered = {}, [], []
        try:
            for system in bench.systems.values():
                system.__enter__()
                entered.append(system)
            if bench.systems:
                found, about["sync_us"] = bench.run()
                for name, systems in found.items():
                    results[name] = {
                        key: summary(rounds, systems.get("direct"))
                        for key, rounds in systems.items()
                    }
        finally:
            for system in entered:
                system.__exit__()
        show(results)
        if "sync_us" in about:
            print(
                f"a write with its sync took {micros(about['sync_us'])} (the quickest "
                "of 30, median of all rounds): nothing durable answers sooner\n"
            )
        if "memory" in options.only:
            rows = memory(bench)
            show_memory(rows)
        if options.json:
            Path(options.json).write_text(
                json.dumps(
                    {"about": about, "updates": results, "memory": rows}, indent=1
                )
                + "\n"
            )
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()

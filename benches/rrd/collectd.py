#!/usr/bin/env python3
"""Measures how far a real collectd falls behind when it writes through the RRD router.
Run it with `make bench-collectd`.

collectd gets values on its unix socket (PUTVAL) at a fixed rate, as its own plugins
would give them, and writes them with its plugin rrdcached: one update at a time, each
after the answer to the last. Four times a second the rrdcached servers are asked how
many updates they received. `behind` is the age of the oldest value that some copy then
lacks. At the end every server must have got, and written to its files, every value
exactly once, unless the values that are late take longer than --patience.

The systems run one after the other: one rrdcached without a router, and each variant
of the router with four servers in two zones. --busy lets other processes compute all
the time, as on a machine that also runs something else. --client load takes a client
that does nothing but send each value when it is due, and the next after its answer.

Whoever is late on a busy machine has mostly waited for a core. For the worst moment,
the last lines say for how long the busiest thread of each program computed, and for
how long it could have computed but had no core, while the oldest value waited. Root
should run this: then the threads that feed and measure always get a core at once, so
that their own delays are not taken for those of collectd.
"""

import argparse
import bisect
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "rrd")]

import figures
from machine import (
    build,
    busy,
    clean_up_when_told,
    disk,
    first_in_line,
    say,
    scheduled,
    spent,
)
from rrd_clients import installed
from rrd_servers import Client, connect, wait_for
from systems import Plain, Routed, create, known, statistics_of

# how often the feeder sends, and how often the servers are asked, in seconds
TURN, SAMPLE = 0.02, 0.25
DIRECT = "one rrdcached"


class Collectd:
    """A context manager: a collectd that writes what it is fed to one address."""

    def __init__(self, place, address):
        self.place, self.process = place, None
        place.mkdir()
        (place / "collectd.conf").write_text(f"""
            Hostname "bench"
            Interval 10
            BaseDir "{place}"
            PIDFile "{place}/collectd.pid"
            TypesDB "/usr/share/collectd/types.db"
            # more threads send values of one series in the wrong order when they are late
            WriteThreads 1
            LoadPlugin logfile
            <Plugin logfile>
                LogLevel warning
                File "{place}/said"
            </Plugin>
            LoadPlugin unixsock
            <Plugin unixsock>
                SocketFile "{place}/s"
                DeleteSocket true
            </Plugin>
            LoadPlugin rrdcached
            <Plugin rrdcached>
                DaemonAddress "{address}"
                CreateFiles false
                CollectStatistics false
            </Plugin>
        """)

    def __enter__(self):
        command = [installed("collectd"), "-f", "-C", self.place / "collectd.conf"]
        with open(self.place / "out", "wb") as out:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        wait_for((self.place / "s").exists, "collectd to listen")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def said(self):
        """Returns the warnings and errors of its writing."""
        said = self.place / "said"
        lines = said.read_text().splitlines() if said.exists() else []
        return "\n".join(line for line in lines if "rrdcached plugin" in line)


class Feeder(threading.Thread):
    """Gives collectd a value of each name in every second, evenly spread."""

    def __init__(self, address, names, seconds):
        super().__init__(daemon=True)
        self.socket, self.names, self.seconds = connect(address), names, seconds
        self.socket.settimeout(None)
        # when each turn ended, and how many values were fed until then
        self.times, self.counts = [], []
        self.accepted, self.refused = 0, None

    def run(self):
        first_in_line()
        threading.Thread(target=self.hear, daemon=True).start()
        rate = len(self.names)
        begin, stamp, fed = time.monotonic(), int(time.time()), 0
        while fed < rate * self.seconds and not self.refused:
            due = min(int((time.monotonic() - begin) * rate), rate * self.seconds)
            if due > fed:
                lines = (
                    f'PUTVAL "{self.names[n % rate]}" interval=1 '
                    f"{stamp + n // rate}:{n % 9973}\n"
                    for n in range(fed, due)
                )
                self.socket.sendall("".join(lines).encode())
                fed = due
                self.counts.append(fed)
                self.times.append(time.monotonic())
            time.sleep(TURN)

    def hear(self):
        """Counts collectd's answers."""
        first_in_line()
        for line in self.socket.makefile("rb"):
            if line.startswith(b"0 Success"):
                self.accepted += 1
            else:
                self.refused = line
                break

    def behind(self, arrived):
        """Returns the age of the oldest value that has not arrived."""
        now, times = time.monotonic(), self.times[:]
        at = bisect.bisect_right(self.counts, arrived)
        return now - times[at] if at < len(times) else 0.0


def arrived(system):
    """Returns how many values the slowest copy has: each zone has a copy of all."""
    zones = {}
    for name, server in enumerate(system.servers):
        zone = name * system.copies // len(system.servers)
        zones[zone] = zones.get(zone, 0) + statistics_of(server)["UpdatesReceived"]
    return min(zones.values())


def parts(system, more):
    """Returns the processes of each part of the system."""
    pids = {"servers": [server.process.pid for server in system.servers], **more}
    if system.router:
        pids["router"] = [system.router.pid]
    return pids


def usage(system, more):
    """Returns the seconds of CPU so far, by the part of the system."""
    pids = parts(system, more)
    return {who: sum(spent(pid)[0] for pid in pids[who]) for who in pids}


class Moments:
    """How far collectd was behind at each moment, and what every thread did until then."""

    def __init__(self, pids):
        self.pids, self.taken = pids, []

    def take(self, behind):
        threads = {
            who: {
                thread: times
                for pid in pids
                for thread, times in scheduled(pid).items()
            }
            for who, pids in self.pids.items()
        }
        self.taken.append((time.monotonic(), behind, threads))

    def worst(self):
        """Returns what the busiest thread of each part did while the value waited that
        waited longest: (seconds behind, {part: (computed, waited for a core)}).
        """
        end, behind, after = max(self.taken, key=lambda moment: moment[1])
        before = max(
            (moment for moment in self.taken if moment[0] <= end - behind),
            default=self.taken[0],
            key=lambda moment: moment[0],
        )[2]
        found = {}
        for who, threads in after.items():
            spans = (
                [
                    now - then
                    for now, then in zip(times, before[who].get(thread, (0, 0)))
                ]
                for thread, times in threads.items()
            )
            found[who] = max(spans, key=sum, default=[0.0, 0.0])
        return behind, found


def whole(system, count, what):
    """Ends the run unless each value arrived, and was written, in each copy once."""
    for server in system.servers:
        with Client(server.address) as client:
            client.ask("FLUSHALL")
    for server in system.servers:
        wait_for(lambda server=server: flushed(server), "values on disk")
    for name in ("UpdatesReceived", "DataSetsWritten"):
        got = sum(statistics_of(server)[name] for server in system.servers)
        if got != count * system.copies:
            sys.exit(
                f"{what}: {count} values in {system.copies} copies, and {name} is {got}"
            )


def flushed(server):
    """Returns whether no file waits for its values to be written."""
    with Client(server.address) as client:
        return client.ask("QUEUE").startswith(b"0 ")


def prioritise(pids, nice):
    """Gives every thread of some parts of the system its nice value."""
    for who in set(nice) & set(pids):
        for pid in pids[who]:
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.setpriority(os.PRIO_PROCESS, int(thread), nice[who])


def with_collectd(system, place, names, seconds, patience, nice):
    """Feeds collectd; returns the moments, the values that arrived, the time until the
    last arrived, and the CPU. If not all have arrived after `patience` seconds, the time
    is None.
    """
    with Collectd(place / "collectd", system.addresses[0]) as collectd:
        pids = {"client": [collectd.process.pid]}
        prioritise(parts(system, pids), nice)
        moments = Moments(parts(system, pids))
        before = usage(system, pids)
        feeder = Feeder(f"unix:{collectd.place}/s", names, seconds)
        feeder.start()
        first_in_line()
        while feeder.is_alive():
            time.sleep(SAMPLE)
            moments.take(feeder.behind(arrived(system)))
        first_in_line(False)
        end, count = time.monotonic(), feeder.counts[-1]
        if feeder.refused:
            sys.exit(f"collectd refused a value: {feeder.refused}")
        while (have := arrived(system)) < count and time.monotonic() < end + patience:
            moments.take(feeder.behind(have))
            time.sleep(SAMPLE)
        drain = time.monotonic() - end if have >= count else None
        after = usage(system, pids)
        if said := collectd.said():
            sys.exit(f"collectd says: {said[-1000:]}")
        if drain is None:
            collectd.process.kill()  # it would go on until its queue is empty
    return moments, have, drain, {who: after[who] - before[who] for who in after}


def with_load(system, programs, place, names, seconds, nice):
    """Sends the values with the client of `make bench-rrd`; returns the same."""
    (place / "files").write_text("".join(f"{name}.rrd\n" for name in names))
    command = [programs["load"], "--files", place / "files", "--to"]
    command += [system.addresses[0], "--rate", len(names), "--seconds", seconds]
    command += ["--start", int(time.time()), "--copies", system.copies]
    for server in system.servers:
        command += ["--server", server.address]
    prioritise(parts(system, {}), nice)
    before = usage(system, {})
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=False)
    after = usage(system, {})
    if done.returncode:
        sys.exit("the load failed; what the client says stands above")
    said = json.loads(done.stdout)
    cpu = {who: after[who] - before[who] for who in after}
    cpu["client"] = said["client_cpu"]
    ages = [said[f"late_{name}_us"] / 1e6 for name in ("p50", "p99", "max")]
    drain = said["delivered_seconds"] - said["seconds"]
    return ages, said["updates"], drain, cpu


def measure(options, programs, name, text, rate, place):
    """Returns the figures of one system at one rate."""
    names = [f"host{n // 40:03}/bench/gauge-{n % 40}" for n in range(rate)]
    create(place / "template.rrd", int(time.time()) - 10)
    template = (place / "template.rrd").read_bytes()
    if name == DIRECT:
        system = Plain(place / "s", "tcp")
    else:
        system = Routed(programs, place / "s", "tcp", text)
    worst = None
    with system:
        system.place_files([f"{name}.rrd" for name in names], template)
        begin, all_before = time.monotonic(), busy()
        if options.client == "load":
            ages, count, drain, cpu = with_load(
                system, programs, place, names, options.seconds, options.nice
            )
            median, p99, most = ages
        else:
            moments, count, drain, cpu = with_collectd(
                system, place, names, options.seconds, options.patience, options.nice
            )
            worst = moments.worst()
            ages = sorted(behind for _, behind, _ in moments.taken)
            median, most = statistics.median(ages), ages[-1]
            p99 = ages[min(len(ages) - 1, len(ages) * 99 // 100)]
        others = busy() - all_before - sum(cpu.values())
        others /= time.monotonic() - begin
        if drain is not None:
            whole(system, count, name)
    return {
        "values": count,
        "behind_s": {"median": median, "p99": p99, "max": most},
        "drain_s": drain,
        "cpu_us": {who: used * 1e6 / count for who, used in cpu.items()},
        "others": max(0.0, others),
        "worst": worst,
    }


def nice_values(text):
    """Reads -10, which is for the router, or router=-10,client=-5,servers=0."""
    if "=" not in text:
        return {"router": int(text)}
    found = dict(part.split("=") for part in text.split(","))
    if unknown := set(found) - {"router", "client", "servers"}:
        raise argparse.ArgumentTypeError(f"{unknown.pop()} is no part of the system")
    return {who: int(value) for who, value in found.items()}


def told(name, found):
    """Returns the line about the worst moment of one system."""
    behind, threads = found["worst"]
    what = "; ".join(
        f"{who} computed {computed:.2f} s and waited {waited:.2f} s"
        for who, (computed, waited) in sorted(threads.items())
    )
    return f"{name}, {behind:.2f} s behind: {what}"


def line(name, found):
    """Returns the cells of one system."""
    behind, cpu = found["behind_s"], found["cpu_us"]
    return [
        name,
        *(figures.time(behind[part] * 1e3) for part in ("median", "p99", "max")),
        "not all" if found["drain_s"] is None else figures.time(found["drain_s"] * 1e3),
        *(
            figures.microseconds(cpu.get(who))
            for who in ("router", "servers", "client")
        ),
        f"{found['others']:.1f}",
    ]


def command_line():
    parser = argparse.ArgumentParser(
        prog="collectd.py", description=__doc__.partition("\n\n")[0]
    )
    add = parser.add_argument
    add("--rates", default="350,5000", help="values a second (%(default)s)")
    add("--seconds", type=int, default=60, help="of each system and rate (%(default)s)")
    add(
        "--busy",
        type=int,
        default=0,
        metavar="N",
        help="processes that compute meanwhile (%(default)s)",
    )
    add(
        "--patience",
        type=float,
        default=60,
        metavar="SECONDS",
        help="how long the values that are late may take after the end (%(default)s)",
    )
    add(
        "--nice",
        type=nice_values,
        default={},
        metavar="N",
        help="the nice value of the router, as Nice= in its unit; or of several parts, as "
        "router=-10,client=-10 with collectd as the client",
    )
    add("--client", choices=["collectd", "load"], default="collectd")
    add("--only", metavar="NAME,NAME", help=f"some of '{DIRECT}' and the variants")
    add(
        "--router-args",
        metavar="OPTIONS",
        help="one more variant, args: options of stead-rrd serve, after its --listen",
    )
    add("--dir", default="/tmp", help="a directory on a disk (%(default)s)")
    add("--json", metavar="FILE", help="also write all figures there")
    return parser.parse_args()


def main():
    options = command_line()
    for name in ("rrdcached", "rrdtool", "collectd"):
        if not installed(name):
            sys.exit(
                f"{name} is not installed; on Debian: "
                "apt install rrdcached rrdtool collectd-core"
            )
    kind = disk(Path(options.dir).resolve())
    clean_up_when_told()
    place = Path(tempfile.mkdtemp(prefix="stead-rrd-", dir=Path(options.dir).resolve()))
    hogs = []
    try:
        programs = build(place)
        systems = {DIRECT: "", **known(programs["stead-rrd"])}
        if options.router_args:
            systems["args"] = options.router_args
        for name in options.only.split(",") if options.only else []:
            if name not in systems:
                sys.exit(f"--only {name}: it is none of {', '.join(systems)}")
        if options.only:
            systems = {name: systems[name] for name in options.only.split(",")}
        for _ in range(options.busy):
            hogs.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        print(
            f"{len(os.sched_getaffinity(0))} cores, {options.busy} of other processes "
            f"busy, log on {kind}; {options.seconds} s each"
        )
        results = {}
        for rate in map(int, options.rates.split(",")):
            rows, results[rate] = [], {}
            for number, (name, text) in enumerate(systems.items()):
                own = place / f"{rate}-{number}"
                own.mkdir()
                found = measure(options, programs, name, text, rate, own)
                shutil.rmtree(own)
                results[rate][name] = found
                rows.append(line(name, found))
                say(f"{rate} a second, {name}: {found['behind_s']['max']:.2f} s behind")
            title = f"{options.client}, {rate:,} values a second"
            print("\n".join(figures.table(title, rows, COLUMNS)))
            for name, found in results[rate].items():
                if found["worst"]:
                    print(told(name, found))
            print(flush=True)
        if options.json:
            Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
        shutil.rmtree(place, ignore_errors=True)


COLUMNS = [
    ("behind", ["median", "p99", "max", "after the end"]),
    ("CPU, us a value", ["router", "servers", "client"]),
    ("", ["others"]),
]


if __name__ == "__main__":
    main()

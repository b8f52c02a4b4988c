"""Loads the systems of `make bench-rrd` in turns, and measures each load."""

import json
import statistics
import subprocess
import sys
import time

import figures
from machine import busy, say, spent, sync_time
from rrd_servers import Client, wait_for
from systems import BEGIN, PAIR, Paired, Plain, Routed, create, statistics_of

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
# how often a load that other programs disturbed is measured at most
TRIES = 30
# the keys of the baselines, and what the tables call them
ONE, TWO, JOURNAL = "one", "two", "journal"
BASELINES = {ONE: "one rrdcached", TWO: "two rrdcached", JOURNAL: "one, journal"}
# begins the key of a variant of the router that --compare names
BEFORE = "before"


class Bench:
    """The systems that are compared, and the load."""

    def __init__(self, options, programs, place):
        self.options, self.programs, self.place = options, programs, place
        # names like collectd's: each host has its own directory
        self.names = [
            f"host{n // 40:03}/load-{n % 40}.rrd" for n in range(options.files)
        ]
        (place / "files").write_text("".join(f"{name}\n" for name in self.names))
        create(place / "template.rrd", BEGIN - 10)
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
                if options.compare:
                    old = {**programs, "stead-rrd": options.compare}
                    self.add(f"{BEFORE} {name}", copies, old, options.before[name])
        self.next_time = dict.fromkeys(self.systems, BEGIN)
        self.updates = dict.fromkeys(self.systems, 0)

    def add(self, name, copies, programs, arguments):
        # a short name: the path of a unix socket has at most 107 bytes
        kind = Paired if name.removeprefix(f"{BEFORE} ").startswith(PAIR) else Routed
        self.systems[name, copies] = kind(
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
        """Returns the client's own microseconds of CPU an update, those of them outside
        the kernel, and the median of its latency, for each load: with a server that only
        answers.
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
                    "user_us": said["client_user"] * 1e6 / said["updates"],
                    "p50_us": said["p50_us"],
                }
            echo.stdin.close()
        return found

    def load(self, key, clients, arguments):
        """Loads one system; returns the figures."""
        system = self.systems[key]
        servers = [server.process.pid for server in system.servers]
        routers = [router.pid for router in system.routers]
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

    def undisturbed(self, key, clients, arguments):
        """Loads one system, and again while other programs kept more cores busy than
        --others allows. Returns the figures of the least disturbed load.
        """
        tries = []
        while len(tries) < TRIES:
            tries.append(self.load(key, clients, arguments))
            if tries[-1]["others"] <= self.options.others:
                break
            self.flush()  # thirty loads of BATCH would take gigabytes of memory
            time.sleep(1)  # other programs are often busy for some seconds
        return min(tries, key=lambda found: found["others"])

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

    def warm_up(self, key):
        """Makes the files of a system, and updates each once: the first update of a file
        does more than those after it.
        """
        self.systems[key].place_files(self.names, self.template)
        once = ["--updates", len(self.names), "--seconds", 600]
        self.load(key, 1, [*once, "--batch", BATCH])

    def run(self):
        """Runs all rounds; returns {load: {system: the figures of each round}}."""
        found = {name: {key: [] for key in self.systems} for name, *_ in LOADS}
        syncs = []
        for key in self.systems:
            self.warm_up(key)
        turns = list(self.systems)
        for number in range(self.options.rounds):
            self.flush()
            for name, clients, arguments in LOADS:
                syncs.append(sync_time(self.place))
                for key in turns:
                    seconds = ["--seconds", self.options.seconds]
                    result = self.undisturbed(key, clients, [*seconds, *arguments])
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

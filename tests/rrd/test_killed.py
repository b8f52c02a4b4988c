"""kill -9 of the router, of the backends, of all at once, under updates: what was acknowledged is on every copy afterwards."""

import random
import signal
import subprocess
import threading
import time

import pytest
from rrd_servers import Client, wait_for

START = 1_700_000_000
FILES = 40
KILLS = 6


class Feed:
    """Updates one file after the other, a value each second of the file's time, and keeps what was acknowledged."""

    def __init__(self, cluster):
        self.cluster, self.acknowledged, self.ended = cluster, {f"host{i:02}/v.rrd": [] for i in range(FILES)}, False
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()

    def run(self):
        at = START
        while not self.ended:
            try:
                with Client(self.cluster.unix) as client:
                    while not self.ended:
                        at += 1
                        for name, times in self.acknowledged.items():
                            if client.ask(f"UPDATE {name} {at}:{at - START}").startswith(b"0 "):
                                times.append(at)
            except (OSError, AssertionError, IndexError, ValueError):
                time.sleep(0.02)  # the router is away

    def count(self):
        return sum(map(len, self.acknowledged.values()))


def create(cluster):
    with Client(cluster.unix) as client:
        for i in range(FILES):
            said = client.ask(f"CREATE host{i:02}/v.rrd -b {START} -s 1 DS:v:GAUGE:3600:U:U RRA:LAST:0.5:1:100000")
            assert said == b"0 RRD created OK\n"


def lost(cluster, acknowledged):
    """The acknowledged values that a copy does not have; and how many copies were looked into."""
    with Client(cluster.unix) as client:
        for name in acknowledged:
            assert client.ask(f"FLUSH {name}").startswith(b"0 "), name
    missing, copies = [], 0
    for name, times in acknowledged.items():
        for backend in cluster.backends.values():
            file = backend.base / name
            if not file.exists():
                continue
            copies += 1
            command = ["rrdtool", "fetch", file, "LAST", "-s", str(START), "-e", str(times[-1] + 1)]
            rows = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            there = {}
            for time_, value in (row.split(": ") for row in rows if ": " in row):
                there[int(time_)] = value
            missing += [(name, at) for at in times if "nan" in there.get(at, "nan") or float(there[at]) != at - START]
    return missing, copies


def killed(cluster, what, kills=KILLS):
    """Feeds while what is named is killed and started again, so many times; the feed's acknowledged values at the end."""
    choice = random.Random(what)
    create(cluster)
    with Feed(cluster) as feed:
        for kill in range(1, kills + 1):
            before = feed.count()
            wait_for(lambda before=before: feed.count() > before + choice.randrange(50, 400), "updates")
            if what in ("router", "all"):
                cluster.stop_router(signal.SIGKILL)
            hit = list(cluster.backends.values()) if what == "all" else [choice.choice(list(cluster.backends.values()))] * (what == "backend")
            for backend in hit:
                backend.stop(signal.SIGKILL)
            for backend in hit:
                backend.start()
            if what in ("router", "all"):
                cluster.start_router()
            else:
                wait_for(lambda kill=kill: len(cluster.router_said(r"is up")) >= len(cluster.backends) + kill, "the backend to be up again")
    return feed.acknowledged


@pytest.mark.parametrize("what", ["backend", "router", "all"])
def test_what_was_acknowledged_is_on_every_copy(cluster, what, record_property):
    acknowledged = killed(cluster, what)
    missing, copies = lost(cluster, acknowledged)
    count = sum(map(len, acknowledged.values()))
    record_property("updates", f"{what}: {count} acknowledged, {KILLS} times kill -9, {len(missing)} lost")
    assert copies == 2 * FILES and not missing, missing[:10]


def test_without_the_log_updates_are_lost(cluster, record_property):
    cluster.stop_router()
    cluster.options = ["--no-log"]
    cluster.start_router()
    missing, _ = lost(cluster, killed(cluster, "all", 2))
    record_property("updates", f"{len(missing)} lost without the log")
    assert missing

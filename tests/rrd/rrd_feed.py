"""Sends updates under load, and finds acknowledged updates that a copy does not have."""

import subprocess
import threading
import time

from rrd_servers import Client

START = 1_700_000_000
FILES = 40


def names(files=FILES):
    return [f"host{i:02}/v.rrd" for i in range(files)]


class Feed:
    """Updates one file after the other, with a value for each second of the file's
    time. It keeps the acknowledged values, and the answers to the others.
    """

    def __init__(self, cluster, files=FILES):
        self.cluster, self.acknowledged, self.ended = (
            cluster,
            {name: [] for name in names(files)},
            False,
        )
        self.refused = {}  # answers other than success, and how often each came
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
                            said = client.ask(f"UPDATE {name} {at}:{at - START}")
                            if said.startswith(b"0 "):
                                times.append(at)
                            else:
                                self.refused[said] = self.refused.get(said, 0) + 1
            except (OSError, AssertionError, IndexError, ValueError):
                time.sleep(0.02)  # the router is down

    def count(self):
        return sum(map(len, self.acknowledged.values()))


def create(cluster, files=FILES):
    with Client(cluster.unix) as client:
        for name in names(files):
            said = client.ask(
                f"CREATE {name} -b {START} -s 1 DS:v:GAUGE:3600:U:U RRA:LAST:0.5:1:100000"
            )
            assert said == b"0 RRD created OK\n"


def there(file, until):
    """Returns the values of a file by their times."""
    command = ["rrdtool", "fetch", file, "LAST", "-s", str(START), "-e", str(until + 1)]
    rows = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    return {
        int(at): value for at, value in (row.split(": ") for row in rows if ": " in row)
    }


def lost(cluster, acknowledged):
    """Returns the acknowledged values that a copy does not have, and how many copies
    were examined.
    """
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
            found = there(file, times[-1] if times else START)
            missing += [
                (name, at)
                for at in times
                if "nan" in found.get(at, "nan") or float(found[at]) != at - START
            ]
    return missing, copies


def row(record_property, fault, acknowledged, missing):
    """Returns a row of the table of faults."""
    count = sum(map(len, acknowledged.values()))
    record_property(
        "fault",
        f"{fault}: {count} updates acknowledged, {count - len(set(missing))} present "
        f"on every copy, {len(set(missing))} lost",
    )

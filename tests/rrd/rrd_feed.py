"""Sends updates under load, and finds acknowledged updates that a copy does not have."""

import threading
import time

from rrd_copies import rrdtool
from rrd_servers import LIMIT, Client, wait_for

START = 1_700_000_000
FILES = 40
# more seconds than a feed of that many files uses up in any test
ROWS = 40_000


def names(files=FILES, prefix="host"):
    return [f"{prefix}{i:02}/v.rrd" for i in range(files)]


def create(router, files=None, rows=ROWS):
    """Makes these files, or those of `names`, with this many rows of a second."""
    with Client(router.unix) as client:
        for name in files or names():
            said = client.ask(
                f"CREATE {name} -b {START} -s 1 DS:v:GAUGE:3600:U:U RRA:LAST:0.5:1:{rows}"
            )
            assert said == b"0 RRD created OK\n", said


def update(client, acknowledged, first, end):
    """Gives every file a value for each second from `first` to before `end`, and notes
    them as acknowledged.
    """
    for at in range(START + first, START + end):
        for name, times in acknowledged.items():
            assert client.ask(f"UPDATE {name} {at}:{at - START}").startswith(b"0 ")
            times.append(at)


class Feed:
    """Updates one file after the other through a router, with a value for each second of
    the file's time. It keeps what was acknowledged, and the other answers.
    """

    def __init__(self, router, files=None, patience=LIMIT):
        """`patience` is for how many seconds it waits for an answer before it connects
        again: a router that was cut off may never answer.
        """
        self.router, self.patience = router, patience
        self.acknowledged = {name: [] for name in files or names()}
        self.when = []  # the time of each acknowledgement
        self.refused = {}  # answers other than success, and how often each came
        self.last = START  # no value was sent for a later second
        self.ended = False
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()

    def run(self):
        while not self.ended:
            try:
                with Client(self.router.unix) as client:
                    client.socket.settimeout(self.patience)
                    while not self.ended:
                        self.last += 1
                        self.round(client)
            except (OSError, AssertionError, IndexError, ValueError):
                # whether the last value was taken is not known
                time.sleep(0.02)

    def round(self, client):
        """Gives each file one value."""
        for name, times in self.acknowledged.items():
            said = client.ask(f"UPDATE {name} {self.last}:{self.last - START}")
            if said.startswith(b"0 "):
                times.append(self.last)
                self.when.append(time.monotonic())
            else:
                self.refused[said] = self.refused.get(said, 0) + 1
                time.sleep(0.01)

    def count(self):
        return sum(map(len, self.acknowledged.values()))

    def more(self, count, what):
        """Waits until this many more are acknowledged."""
        before = self.count()
        try:
            wait_for(lambda: self.count() > before + count, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; refused: {self.refused}") from None


def there(file, until):
    """Returns the values of a file by their times."""
    out = rrdtool("fetch", file, "LAST", "-s", START, "-e", until + 1).decode()
    rows = (line.split(": ") for line in out.splitlines() if ": " in line)
    return {int(at): value for at, value in rows}


def contents(cluster, files, until):
    """Flushes these files, and returns for each of them what each copy has, as `there`
    returns it.
    """
    with Client(cluster.unix) as client:
        for name in files:
            said = client.ask(f"FLUSH {name}")
            assert said.startswith(b"0 "), (name, said)
    return {
        name: [
            there(server.base / name, until)
            for server in cluster.backends.values()
            if (server.base / name).exists()
        ]
        for name in files
    }


def lacking(acknowledged, every):
    """Returns the acknowledged values that a copy does not have, once for each copy."""
    return [
        (name, at)
        for name, times in acknowledged.items()
        for found in every[name]
        for at in times
        if "nan" in found.get(at, "nan") or float(found[at]) != at - START
    ]


def lost(cluster, acknowledged):
    """Returns the acknowledged values that a copy does not have, and how many copies
    were examined.
    """
    until = max((times[-1] for times in acknowledged.values() if times), default=START)
    every = contents(cluster, acknowledged, until)
    return lacking(acknowledged, every), sum(map(len, every.values()))


def row(record_property, fault, acknowledged, missing):
    """Returns a row of the table of faults."""
    count = sum(map(len, acknowledged.values()))
    record_property(
        "fault",
        f"{fault}: {count} updates acknowledged, {count - len(set(missing))} present "
        f"on every copy, {len(set(missing))} lost",
    )

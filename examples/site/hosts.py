"""What happens beside the carry: the visitors, and somebody who looks at it all."""

import collections
import json
import os
import subprocess
import sys
import threading
import time

import parts
import psycopg2
import stead
from census import Glance


class Visitors:
    """The process of the visitors, and what it says."""

    def __init__(self, truth_file, ports, pause):
        self.seen, self.rates = None, {}
        self.last = collections.deque(maxlen=5)  # a bit more than a second
        hosts = [f"{name}={port}" for name, port in ports.items()]
        setpriv = [parts.find("setpriv"), "--pdeathsig=KILL"]
        script = os.path.join(parts.HERE, "visitors.py")
        self.process = subprocess.Popen(
            [*setpriv, sys.executable, "-B", script, truth_file, str(pause), *hosts],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self):
        for line in self.process.stdout:
            now, seen = time.monotonic(), json.loads(line)
            self.last.append((now, seen["hosts"]))
            then, before = self.last[0]
            if now - then > 0.1:
                self.rates = {
                    name: (count - before[name]) / (now - then)
                    for name, count in seen["hosts"].items()
                }
            self.seen = seen

    def end(self):
        """Lets them finish what they do. Afterwards `seen` is all, and the file of the
        truth is written.
        """
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
        self.listener.join(10)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Watcher(threading.Thread):
    """Looks at the site several times a second, and shows what it sees."""

    def __init__(self, site, show):
        super().__init__(daemon=True)
        self.site, self.show = site, show
        self.began, self.ends = time.monotonic(), threading.Event()
        self.glance = Glance()
        self.rates = []  # one a second

    def moved(self, found):
        """How much of what moves is at the new node, and of how much: of rows, and of
        photos.
        """
        moved = []
        for kind in (0, 1):
            new = [found[node][kind] for node in found if node in self.site.new]
            there = set().union(*new) & self.site.moving
            due = set().union(*(keys[kind] for keys in found.values()))
            moved.append([len(there), len(due & self.site.moving)])
        return moved

    def look(self):
        site = self.site
        found = self.glance.look(dict(site.nodes))
        seen = site.visitors.seen if site.visitors else None
        rates = site.visitors.rates if site.visitors else {}
        second = int(time.monotonic() - self.began)
        while len(self.rates) <= second:
            self.rates.append(0)
        self.rates[second] = round(sum(rates.values()))
        hosts = []
        for name, (language, map) in site.hosts.items():
            pair = stead.Pair.open(map)
            used = seen["maps"].get(name, "") if seen else ""
            epoch, _, state = used.partition(" ")
            hosts.append(
                {
                    "name": name,
                    "language": language,
                    "epoch": epoch or str(pair.new.epoch),
                    "state": state or pair.state or "closed",
                    "rate": round(rates.get(name, 0)),
                }
            )
        self.show(
            seconds=round(time.monotonic() - self.began, 1),
            rate=round(sum(rates.values())),
            rates=self.rates[-90:],
            counts=seen,
            hosts=hosts,
            nodes=[
                {"name": n, "rows": len(r), "photos": len(p), "new": n in site.new}
                for n, (r, p) in found.items()
            ],
            moved=self.moved(found),
        )

    def run(self):
        while not self.ends.wait(0.4):
            try:
                self.look()
            except psycopg2.OperationalError:
                pass  # a shard was away; the next look is soon

    def stop(self):
        """Ends."""
        self.ends.set()
        self.join()

    def end(self):
        """Ends, after a last look."""
        self.stop()
        self.look()
        self.glance.close()

"""Visitors: they read, change, create and delete members on all web hosts, and judge
each answer by what they know to be true.

    python3 visitors.py TRUTH PAUSE NAME=PORT ...      until standard input ends

Each visitor waits PAUSE seconds between two requests. TRUTH is a file, {"members": {KEY: [about, photo] ...}}: the number of the text and of
the photo that each member has, or null. At the end it is written anew. Each 0.25 s a
line of JSON says what was seen so far.
"""

import hashlib
import http.client
import json
import os
import random
import sys
import threading
import time

# a write that is not acknowledged is repeated until it is, or for so many seconds
LONGEST = 30


def about(key, number):
    """The text of a member: no two of them are equal."""
    return f"{key} says for the {number}th time: ".encode() + b"hello, world! " * 8


def photo(key, number):
    """The photo of a member: 2 to 10 kB."""
    digest = hashlib.sha256(f"{key} {number}".encode()).digest()
    return b"photo of %s, number %d\n" % (key.encode(), number) + digest * (
        64 + digest[0]
    )


class Seen:
    """What was seen so far."""

    def __init__(self, hosts):
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(
            ("judged", "misses", "stale", "wrong", "repeated", "unanswered"), 0
        )
        self.hosts = dict.fromkeys(hosts, 0)
        self.maps = dict.fromkeys(hosts, "")
        self.examples = []

    def count(self, what, example=None):
        with self.lock:
            self.counts[what] += 1
            if example and len(self.examples) < 5:
                self.examples.append(example)

    def line(self):
        """A line of JSON."""
        with self.lock:
            return json.dumps(
                {
                    **self.counts,
                    "hosts": self.hosts,
                    "maps": self.maps,
                    "examples": self.examples,
                }
            )


class Visitor(threading.Thread):
    """A visitor of one host. A member is used by one visitor at a time, as by a person
    with one browser; so each answer has one right content.
    """

    def __init__(self, number, host, port, pause, truth, locks, seen):
        super().__init__(daemon=True)
        self.host, self.port, self.pause, self.seen = host, port, pause, seen
        self.truth, self.locks, self.keys = truth, locks, list(truth)
        self.random, self.ends = random.Random(number), threading.Event()
        self.connection = None

    def ask(self, verb, path, body=None):
        """Sends a request, and returns (status, body); status 0 when nobody answers."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=10
                )
            self.connection.request(verb, path, body)
            answer = self.connection.getresponse()
            content = answer.read()
            if answer.will_close:
                self.connection.close()
                self.connection = None
        except (OSError, http.client.HTTPException):
            if self.connection:
                self.connection.close()
            self.connection = None
            return 0, b""
        with self.seen.lock:
            self.seen.hosts[self.host] += 1
            self.seen.maps[self.host] = answer.getheader("X-Map") or ""
        return answer.status, content

    def until_answered(self, verb, path, body=None):
        """The same; a request that is refused for now is sent again."""
        end = time.monotonic() + LONGEST
        while True:
            status, content = self.ask(verb, path, body)
            if status in (200, 404):
                return status, content
            if time.monotonic() > end:
                self.seen.count(
                    "unanswered", f"{verb} {path}: {status} {content[:200]}"
                )
                return status, content
            # 503 is the answer of an application that knows what it does
            what = "wrong" if status == 500 else "repeated"
            self.seen.count(what, f"{verb} {path}: {status} {content[:200]}")
            time.sleep(0.05)

    def read(self, key, path, due, other):
        """Reads, and judges the answer. `other` tells an older value from a wrong one."""
        status, content = self.until_answered("GET", path)
        found = content if status == 200 else None
        self.seen.count("judged")
        if found == due:
            return
        told = f"{path} at {self.host} ({self.seen.maps[self.host]})"
        if found is None:
            self.seen.count("misses", f"{told} was not found")
        elif found.startswith(other):
            self.seen.count("stale", f"{told} is an older one, or was deleted")
        else:
            self.seen.count("wrong", f"{told} is {found[:60]!r}")

    def write(self, verb, path, body=None):
        """Writes; returns whether it was acknowledged."""
        status, _ = self.until_answered(verb, path, body)
        self.seen.count("judged")
        if status == 404:
            self.seen.count("wrong", f"{verb} {path} at {self.host}: not found")
        return status == 200

    def visit(self, key):
        """Does one thing with a member."""
        path, (text, picture) = f"/members/{key}", self.truth[key]
        what, number = self.random.random(), self.random.randrange(1, 1 << 40)
        if what < 0.5:
            due = None if text is None else about(key, text)
            self.read(key, path, due, f"{key} says".encode())
        elif what < 0.7:
            due = None if picture is None else photo(key, picture)
            self.read(key, f"{path}/photo", due, f"photo of {key},".encode())
        elif text is None or what < 0.83:
            if self.write("PUT", path, about(key, number)):
                self.truth[key] = number, picture
        elif what < 0.97:
            if self.write("PUT", f"{path}/photo", photo(key, number)):
                self.truth[key] = text, number
        elif self.write("DELETE", path):
            self.truth[key] = None, None

    def run(self):
        while not self.ends.wait(self.pause):
            key = self.random.choice(self.keys)
            if self.locks[key].acquire(blocking=False):
                try:
                    self.visit(key)
                finally:
                    self.locks[key].release()


def main():
    file, pause, *hosts = sys.argv[1:]
    with open(file, encoding="ascii") as said:
        truth = json.load(said)["members"]
    locks = {key: threading.Lock() for key in truth}
    hosts = [host.split("=") for host in hosts]
    seen = Seen([name for name, _ in hosts])
    visitors = [
        Visitor(number, name, int(port), float(pause), truth, locks, seen)
        for number, (name, port) in enumerate(hosts * 3)
    ]
    for visitor in visitors:
        visitor.start()
    ended = threading.Event()
    threading.Thread(
        target=lambda: (sys.stdin.read(), ended.set()), daemon=True
    ).start()
    while not ended.wait(0.25):
        print(seen.line(), flush=True)
    for visitor in visitors:
        visitor.ends.set()
    for visitor in visitors:
        visitor.join()
    with open(f"{file}.new", "w", encoding="ascii") as said:
        json.dump({"members": truth}, said)
    os.replace(f"{file}.new", file)
    print(seen.line(), flush=True)


if __name__ == "__main__":
    main()

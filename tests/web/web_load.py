"""Clients that make requests all the time, and record the answers, their times, and the
workers.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import quote

CLIENTS = 6
# Seconds between the requests of a client, to leave time for the workers and for stead
# apply
PAUSE = 0.03
# The number of requests after which a client that keeps its connection opens a new one,
# which another worker may accept.
REQUESTS_OF_A_CONNECTION = 20
KEYS = ["", "späti", "a/b", "frank\n", *(f"member{i}" for i in range(200))]


class Answer(NamedTuple):
    """One request. `said` is the JSON of the answer; if there was none, `said` is None
    and `error` is set.
    """

    start: float
    end: float
    method: str
    kind: str
    key: str
    worker: int
    said: dict | None
    error: str


class Client:
    """Requests /KIND/KEY. Each client has its own thread."""

    def __init__(self, address, keep):
        self.address, self.keep = address, keep
        self.connection, self.asked = None, 0
        self.answers = []

    def ask(self, kind, key, method="GET"):
        """Makes a request, and records it."""
        start, worker, said, error = time.monotonic(), 0, None, ""
        try:
            if self.connection is None:
                self.connection, self.asked = (
                    http.client.HTTPConnection(*self.address, timeout=20),
                    0,
                )
            # of a kind such as where?key= the key is a parameter
            slash = "" if kind.endswith("=") else "/"
            self.connection.request(method, f"/{kind}{slash}{quote(key, safe='')}")
            response = self.connection.getresponse()
            body = response.read()
            worker = int(response.headers.get("X-Worker", 0))
            if response.status == 200:
                said = json.loads(body)
            else:
                error = f"{response.status} {body[:200]!r}"
        except (OSError, http.client.HTTPException, ValueError) as problem:
            error = repr(problem)
            self.close()
        self.asked += 1
        if not self.keep or self.asked == REQUESTS_OF_A_CONNECTION:
            self.close()
        answer = Answer(start, time.monotonic(), method, kind, key, worker, said, error)
        self.answers.append(answer)
        return answer

    def close(self):
        """Closes the connection."""
        if self.connection:
            self.connection.close()
            self.connection = None


@contextmanager
def load(address, requests, keep):
    """Runs clients while the context is open. They make random requests from
    `requests`, a list of (method, kind) pairs. Yields the list of answers, to which the
    clients append each answer as it arrives.
    """
    stop, answers = threading.Event(), []
    clients = [Client(address, keep) for _ in range(CLIENTS)]
    for client in clients:
        client.answers = answers

    def run(client, seed):
        chance = random.Random(seed)
        while not stop.is_set():
            method, kind = chance.choice(requests)
            # in Django's URLs a name is not empty and has no slash
            keys = KEYS if kind == "where" else KEYS[4:]
            client.ask(kind, chance.choice(keys), method)
            time.sleep(PAUSE)
        client.close()

    threads = [
        threading.Thread(target=run, args=(client, seed))
        for seed, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stop.set()
        for thread in threads:
            thread.join()

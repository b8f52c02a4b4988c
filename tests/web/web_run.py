"""The result of a load while epochs were published, under gunicorn, Starman and
php-fpm.
"""

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from web_judge import changes, judge
from web_load import Client
from web_server import memory, open_maps

# Seconds within which each worker answers once, however slow the machine is
PATIENCE = 60
# Seconds from the end of an apply to the start of the next; an apply takes about as
# long
PAUSE = 0.015


class Run:
    """A subclass sets `answers` and `workers`, then calls `end`."""

    def end(self, server, publisher, before, method, kind):
        """Inspects the workers after the load; `before` is their memory at its
        start.
        """
        self.growth = {
            worker: memory(worker) - before[worker] for worker in self.workers
        }
        self.open_maps = {
            worker: open_maps(worker, publisher.map) for worker in self.workers
        }
        self.last = ask_until_all_answered(server, method, kind)
        self.workers_at_end, self.log = server.workers(), server.log()
        self.epochs = publisher.epochs

    def faults(self, kind=None):
        """Returns the faults in all answers, or in those of one kind."""
        return judge(
            [answer for answer in self.answers if kind in (None, answer.kind)],
            self.epochs,
        )

    def check(self, epochs, growth, record_property):
        """Asserts that every answer is right, that the last ones are of the newest
        epoch, and that no worker died or grew. Returns how often each worker saw the
        epoch change.
        """
        changed = changes(self.answers)
        record_property(
            "answers",
            f"{len(self.answers)}, epoch changes by worker {sorted(changed.values())}, "
            f"growth {max(self.growth.values()) >> 10} KiB",
        )
        assert len(self.epochs) == epochs + 1
        assert not self.faults(), self.log
        assert self.workers_at_end == self.workers and len(self.workers) == 3
        assert {
            worker: answer.said["epoch"] for worker, answer in self.last.items()
        } == dict.fromkeys(self.workers, epochs + 1)
        assert max(self.growth.values()) < growth
        return changed

    def check_controls(self, epochs):
        """Asserts that the faults of the applications with deliberate mistakes are
        detected.
        """
        assert self.faults("twice")["mixed"] >= 1
        assert self.faults("never")["stale"] >= epochs
        assert not self.faults("hoard"), self.log

    def control_faults(self):
        """Returns the faults by the kind of the application with a deliberate
        mistake.
        """
        return {kind: dict(self.faults(kind)) for kind in ("twice", "never", "hoard")}


def publish_during(answers, publisher, epochs):
    """Publishes epochs during a load, and yields after each. The system may give all
    requests to one worker for long, or few to all; so before the next epoch, the workers
    together have answered twice as often as there are epochs, and have seen at least half
    of the changes; all but the first, which may come before their first answer.
    """
    judged, said, seen = 0, 0, defaultdict(set)

    def behind():
        nonlocal judged, said
        for answer in answers[judged:]:
            judged += 1
            if answer.said:
                said += 1
                seen[answer.worker].add(answer.said["epoch"])
        published = len(publisher.epochs)
        changes = sum(len(epochs) - 1 for epochs in seen.values())
        return said < 2 * published or changes < (published - 1) // 2

    for _ in range(epochs):
        publisher.publish()
        time.sleep(PAUSE)
        deadline = time.monotonic() + PATIENCE
        while behind():
            assert time.monotonic() < deadline, f"{said} answers, epochs {dict(seen)}"
            time.sleep(PAUSE)
        yield


def ask_until_all_answered(server, method, kind):
    """Returns {worker: its newest answer}. Makes parallel requests over new connections
    until each worker has answered.
    """
    found, deadline = {}, time.monotonic() + PATIENCE
    with ThreadPoolExecutor(6) as pool:
        while len(found) < server.count or set(found) != server.workers():
            assert time.monotonic() < deadline, (
                f"only {sorted(found)} of {sorted(server.workers())} answered\n{server.log()}"
            )
            clients = [Client(server.address, keep=False) for _ in range(12)]
            for answer in pool.map(
                lambda client: client.ask(kind, "frank", method), clients
            ):
                assert answer.said, answer.error
                found[answer.worker] = answer
    return found

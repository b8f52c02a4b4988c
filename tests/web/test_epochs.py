"""gunicorn with several workers answers while `stead apply` publishes 50 epochs."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from web_judge import by_worker, changes, judge
from web_load import Client, load
from web_publisher import Publisher
from web_server import Server, memory, open_maps

EPOCHS = 50
# From the end of an apply to the begin of the next; an apply takes about as long
PAUSE = 0.015
# The map has 0.4 MB: 40 that were kept are 16 MB
MEMORY = 6 << 20
KINDS = {
    "sync": (["--worker-class", "sync"], False),
    "gthread": (["--worker-class", "gthread", "--threads", "4"], True),
    "preloaded": (["--worker-class", "gthread", "--threads", "4", "--preload"], True),
}
APPLICATIONS = {
    "where": [("GET", "where")],
    "django": [("GET", "twice"), ("POST", "members")],
    "controls": [("GET", "twice"), ("GET", "never"), ("GET", "hoard")],
}


class Run:
    """What a load during 50 epochs gave."""

    def __init__(self, application, kind, scratch, epochs=EPOCHS, **environment):
        options, keep = KINDS[kind]
        publisher = Publisher(scratch)
        publisher.publish()
        with Server(application, scratch, *options, **environment) as server:
            warm_up(server, APPLICATIONS[application])
            self.workers = server.workers()
            with load(server.address, APPLICATIONS[application], keep) as self.answers:
                for _ in range(epochs):
                    publisher.publish()
                    time.sleep(PAUSE)
                    if len(publisher.epochs) == 10:
                        before = {worker: memory(worker) for worker in self.workers}
            self.growth = {
                worker: memory(worker) - before[worker] for worker in self.workers
            }
            self.open_maps = {
                worker: open_maps(worker, publisher.map) for worker in self.workers
            }
            self.last = ask_until_all_answered(server, *APPLICATIONS[application][0])
            self.workers_at_end, self.log = server.workers(), server.log()
        self.epochs = publisher.epochs

    def faults(self, kind=None):
        """The faults in all answers, or in those of a kind."""
        return judge(
            [answer for answer in self.answers if kind in (None, answer.kind)],
            self.epochs,
        )


def warm_up(server, requests):
    """Waits until every worker has answered once: its imports are no part of the load."""
    for method, kind in requests:
        ask_until_all_answered(server, method, kind)


def ask_until_all_answered(server, method, kind):
    """{worker: the newest answer}, asked side by side over new connections until each
    worker has been seen.
    """
    found, deadline = {}, time.monotonic() + 20
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


@pytest.mark.parametrize(
    ("application", "kind"),
    [
        ("where", "sync"),
        ("where", "preloaded"),
        ("django", "sync"),
        ("django", "gthread"),
    ],
)
def test_every_answer_is_of_one_map_and_of_the_newest(
    application, kind, databases, record_property
):
    run = Run(
        application,
        kind,
        databases,
        **({"OPEN_AT_IMPORT": "1"} if kind == "preloaded" else {}),
    )
    changed = changes(run.answers)
    record_property(
        "answers",
        f"{len(run.answers)}, epoch changes by worker {sorted(changed.values())}, "
        f"growth {max(run.growth.values()) >> 10} KiB",
    )

    assert len(run.epochs) == EPOCHS + 1
    assert not run.faults(), run.log
    assert run.workers_at_end == run.workers and len(run.workers) == 3
    assert {
        worker: answer.said["epoch"] for worker, answer in run.last.items()
    } == dict.fromkeys(run.workers, EPOCHS + 1)
    assert max(run.growth.values()) < MEMORY
    # the cache holds the newest; a change during the last request may have left one
    # more
    assert max(run.open_maps.values()) <= 1
    # a fault could have shown: each worker answered often, and lived through most of
    # the changes
    assert set(changed) == run.workers and min(changed.values()) >= EPOCHS // 2
    assert all(len(some) > 2 * EPOCHS for some in by_worker(run.answers).values())
    if application == "django":
        assert {answer.kind for answer in run.answers} == {"twice", "members"}


def test_the_judge_catches_applications_that_are_written_wrong(
    tmp_path, record_property
):
    run = Run("controls", "gthread", tmp_path)
    record_property(
        "faults", {kind: dict(run.faults(kind)) for kind in ("twice", "never", "hoard")}
    )
    assert run.faults("twice")["mixed"] >= 1
    assert run.faults("never")["stale"] >= EPOCHS
    assert not run.faults("hoard"), run.log
    # who keeps every map is caught by his memory
    assert min(run.growth.values()) > MEMORY


def test_the_judge_catches_django_without_the_middleware(databases, record_property):
    run = Run("django", "gthread", databases, epochs=15, CONTROL="no middleware")
    record_property("faults", dict(run.faults()))
    assert run.faults("twice")["mixed"] >= 1

"""The PSGI example under Starman, several workers, while `stead apply` publishes 50
epochs; applications that are written wrong; system calls.
"""

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from starman_server import LONG, Starman
from web_judge import by_worker, changes, judge
from web_load import Client, load
from web_publisher import Publisher
from web_server import memory, open_maps
from web_strace import why_not

pytestmark = pytest.mark.skipif(
    not shutil.which("starman"), reason="starman is not installed"
)

EPOCHS = 50
# From the end of an apply to the begin of the next; an apply takes about as long
PAUSE = 0.015
# The map has 0.4 MB: 40 that were kept are 16 MB
MEMORY = 6 << 20


class Run:
    """What a load during 50 epochs gave."""

    def __init__(self, scratch, kinds, *options, **environment):
        publisher = Publisher(scratch)
        publisher.publish()
        with Starman(scratch, *options, **environment) as server:
            for kind in kinds:
                ask_until_all_answered(server, kind)
            self.workers = server.workers()
            # asks once in each epoch for each kind, however slow the machine is
            sure = Client(server.address, keep=False)
            with load(
                server.address, [("GET", kind) for kind in kinds], keep=False
            ) as self.answers:
                for _ in range(EPOCHS):
                    publisher.publish()
                    for kind in kinds:
                        sure.ask(kind, "frank")
                    time.sleep(PAUSE)
                    if len(publisher.epochs) == 10:
                        before = {worker: memory(worker) for worker in self.workers}
            self.answers.extend(sure.answers)
            self.growth = {
                worker: memory(worker) - before[worker] for worker in self.workers
            }
            self.open_maps = {
                worker: open_maps(worker, publisher.map) for worker in self.workers
            }
            self.last = ask_until_all_answered(server, kinds[0])
            self.workers_at_end, self.log = server.workers(), server.log()
        self.epochs = publisher.epochs

    def faults(self, kind=None):
        """The faults in all answers, or in those of a kind."""
        return judge(
            [answer for answer in self.answers if kind in (None, answer.kind)],
            self.epochs,
        )


def ask_until_all_answered(server, kind):
    """{worker: the newest answer}, asked side by side over new connections until each
    worker has been seen.
    """
    found, deadline = {}, time.monotonic() + LONG
    with ThreadPoolExecutor(6) as pool:
        while len(found) < server.count or set(found) != server.workers():
            assert time.monotonic() < deadline, (
                f"only {sorted(found)} of {sorted(server.workers())} answered\n{server.log()}"
            )
            clients = [Client(server.address, keep=False) for _ in range(12)]
            for answer in pool.map(lambda client: client.ask(kind, "frank"), clients):
                assert answer.said, answer.error
                found[answer.worker] = answer
    return found


@pytest.mark.parametrize(
    "preloaded", [False, True], ids=["loaded by each worker", "loaded before the fork"]
)
def test_every_answer_is_of_one_map_and_of_the_newest(
    preloaded, tmp_path, record_property
):
    run = Run(
        tmp_path,
        ["where"],
        *(["--preload-app"] if preloaded else []),
        **({"OPEN_AT_START": "1"} if preloaded else {}),
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
    # the cache holds the newest, with what the parent had open; a change during the
    # last request may have left one more
    assert max(run.open_maps.values()) <= 1 + preloaded
    # a fault could have shown: the workers answered often, and lived through changes
    assert set(changed) == run.workers and sum(changed.values()) >= EPOCHS // 2
    assert sum(map(len, by_worker(run.answers).values())) > 2 * EPOCHS


def test_the_judge_catches_applications_that_are_written_wrong(
    tmp_path, record_property
):
    run = Run(tmp_path, ["twice", "never", "hoard"])
    record_property(
        "faults", {kind: dict(run.faults(kind)) for kind in ("twice", "never", "hoard")}
    )
    assert run.faults("twice")["mixed"] >= 1
    assert run.faults("never")["stale"] >= EPOCHS
    assert not run.faults("hoard"), run.log
    # who keeps every map is caught by his memory
    assert max(run.growth.values()) > MEMORY


REQUESTS = 100
CHANGES = 5


@pytest.mark.skipif(bool(why_not()), reason=str(why_not()))
# the control opens twice in a request, and the counting must show it
@pytest.mark.parametrize(("kind", "stats"), [("where", 1), ("twice", 2)])
def test_a_request_costs_one_stat_of_the_map(kind, stats, tmp_path, record_property):
    publisher = Publisher(tmp_path)
    publisher.publish(3)
    trace = tmp_path / "trace"
    with Starman(
        tmp_path,
        workers=1,
        before=["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(trace)],
    ) as server:
        client = Client(server.address, keep=False)
        for number in range(REQUESTS):
            if number % (REQUESTS // CHANGES) == 1:
                publisher.publish(3)
            answer = client.ask(kind, "frank")
            assert answer.said and answer.said["epoch"] == len(publisher.epochs), answer
    # pid call(..., "/path/members.map", ...
    calls = re.findall(
        rf'^\d+ +(\w+)\([^"\n]*"{re.escape(str(publisher.map))}"',
        trace.read_text("utf-8", "replace"),
        re.MULTILINE,
    )
    opened = sum(call.startswith("open") for call in calls)
    record_property(
        "calls",
        f"{len(calls) - opened} stats and {opened} opens in {REQUESTS} requests over "
        f"{CHANGES + 1} epochs",
    )
    assert opened == CHANGES + 1
    assert len(calls) - opened == stats * REQUESTS


def test_no_map_is_an_answer_and_other_paths_are_none(tmp_path):
    with Starman(tmp_path, workers=1) as server:
        client = Client(server.address, keep=False)
        assert "503" in client.ask("where", "frank").error
        assert "404" in client.ask("elsewhere", "frank").error
        publisher = Publisher(tmp_path)
        publisher.publish()
        assert client.ask("where", "frank").said["epoch"] == 1

"""The PSGI example under Starman with several workers, while `stead apply` publishes 50
epochs; applications with deliberate mistakes; system calls.
"""

import shutil
import time

import pytest
import web_run
from starman_server import Starman
from web_judge import by_worker
from web_load import Client, load
from web_publisher import Publisher
from web_run import PAUSE, ask_until_all_answered
from web_server import memory
from web_strace import calls_of, why_not

pytestmark = pytest.mark.skipif(
    not shutil.which("starman"), reason="starman is not installed"
)

EPOCHS = 50
# The map has 0.4 MB, so 40 maps that are kept take 16 MB
MEMORY = 6 << 20


class Run(web_run.Run):
    """The result of a load during 50 epochs."""

    def __init__(self, scratch, kinds, *options, **environment):
        publisher = Publisher(scratch)
        publisher.publish()
        with Starman(scratch, *options, **environment) as server:
            for kind in kinds:
                ask_until_all_answered(server, "GET", kind)
            self.workers = server.workers()
            # makes one request of each kind in each epoch, however slow the machine is
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
            self.end(server, publisher, before, "GET", kinds[0])


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
    changed = run.check(EPOCHS, MEMORY, record_property)
    # the cache holds the newest map, and the one that the parent had open; a change
    # during the last request may have left one more
    assert max(run.open_maps.values()) <= 1 + preloaded
    # a fault would have been visible: the workers answered often, and during changes
    assert sum(changed.values()) >= EPOCHS // 2
    assert sum(map(len, by_worker(run.answers).values())) > 2 * EPOCHS


def test_the_judge_catches_applications_that_are_written_wrong(
    tmp_path, record_property
):
    run = Run(tmp_path, ["twice", "never", "hoard"])
    record_property("faults", run.control_faults())
    run.check_controls(EPOCHS)
    # an application that keeps every map is detected by its memory
    assert max(run.growth.values()) > MEMORY


REQUESTS = 100
CHANGES = 5


@pytest.mark.skipif(bool(why_not()), reason=str(why_not()))
# the control opens the map twice in a request, and the counts must show it
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
    asked, opened = calls_of(publisher.map, trace)
    record_property(
        "calls",
        f"{asked} stats and {opened} opens in {REQUESTS} requests over "
        f"{CHANGES + 1} epochs",
    )
    assert opened == CHANGES + 1
    assert asked == stats * REQUESTS


def test_no_map_is_an_answer_and_other_paths_are_none(tmp_path):
    with Starman(tmp_path, workers=1) as server:
        client = Client(server.address, keep=False)
        assert "503" in client.ask("where", "frank").error
        assert "404" in client.ask("elsewhere", "frank").error
        publisher = Publisher(tmp_path)
        publisher.publish()
        assert client.ask("where", "frank").said["epoch"] == 1

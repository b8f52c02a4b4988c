"""nginx and php-fpm with several workers answer while `stead apply` publishes epochs,
with each way of allowing FFI.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import web_run
from built import script
from fpm_server import PATIENCE, FpmServer, memory, open_maps, why_not
from ports import free_port
from web_judge import by_worker, changes
from web_load import Client, load
from web_publisher import Publisher
from web_run import ask_until_all_answered, publish_during
from web_strace import calls_of
from web_strace import why_not as strace_why_not
from wrk_load import Wrk

pytestmark = pytest.mark.skipif(bool(why_not()), reason=str(why_not()))

# where the extension cannot be built, its tests are skipped
EXTENSION = pytest.mark.skipif(
    bool(script("php-extension").why_not()),
    reason=str(script("php-extension").why_not()),
)
WITH_EXTENSION = pytest.param("extension", True, marks=EXTENSION)

EPOCHS = 50
REQUESTS = 30_000
# A map has 0.4 MB, so 40 maps that are kept take 16 MB; and 200 bytes of each request that
# a worker keeps are as much as this
MEMORY = 2 << 20


class Run(web_run.Run):
    """The result of a load during 50 epochs. The load is clients that record times, and
    wrk, which makes more requests.
    """

    def __init__(
        self, place, way, kinds, wrk_kind, requests=0, epochs=EPOCHS, **options
    ):
        publisher = Publisher(place)
        publisher.publish()
        with FpmServer(place, way, **options) as server:
            for kind in kinds:
                ask_until_all_answered(server, "GET", kind)
            self.workers = server.workers()
            self.wrk = Wrk(server, wrk_kind, place)
            with (
                self.wrk.all_the_while(),
                load(
                    server.address, [("GET", kind) for kind in kinds], keep=True
                ) as self.answers,
            ):
                for _ in publish_during(self.answers, publisher, epochs):
                    if len(publisher.epochs) == 10:
                        before = {worker: memory(worker) for worker in self.workers}
            while self.wrk.asked < requests:
                self.wrk.round(5)
                publisher.publish()
            self.growth = {
                worker: memory(worker) - before[worker]
                for worker in server.workers() & self.workers
            }
            self.last = ask_until_all_answered(server, "GET", kinds[0])
            self.open_maps = {
                worker: open_maps(worker, publisher.map) for worker in server.workers()
            }
            self.workers_at_end, self.log = server.workers(), server.log()
        self.epochs = publisher.epochs


@pytest.mark.parametrize(
    ("way", "root"), [WITH_EXTENSION, ("preload", True), ("enable", False)]
)
def test_every_answer_is_of_one_map_and_of_the_newest(
    way, root, place, record_property
):
    run = Run(place, way, ["where"], "where", REQUESTS, root=root)
    changed = changes(run.answers)
    record_property(
        "answers",
        f"{len(run.answers)} and {run.wrk.asked} of wrk, {len(run.epochs)} epochs, "
        f"epoch changes by worker {sorted(changed.values())}, "
        f"growth {max(run.growth.values()) >> 10} KiB",
    )
    assert not run.faults(), run.log
    assert not run.wrk.faults(run.epochs) and not run.wrk.failed, run.log
    # every answer to wrk was judged, except requests under way when it ended
    assert sum(run.wrk.answers().values()) > REQUESTS * 0.99
    assert run.wrk.asked >= REQUESTS
    # no worker died or was replaced
    assert (
        run.workers_at_end == run.workers == set(run.growth) and len(run.workers) == 3
    )
    assert "exited on signal" not in run.log
    assert {
        worker: answer.said["epoch"] for worker, answer in run.last.items()
    } == dict.fromkeys(run.workers, len(run.epochs))
    assert max(run.growth.values()) < MEMORY
    # the cache holds only the newest map
    assert max(run.open_maps.values()) <= 1
    # a fault would have been visible: the workers answered often, and during changes
    assert set(changed) <= run.workers and sum(changed.values()) >= EPOCHS // 2
    assert sum(map(len, by_worker(run.answers).values())) > 2 * EPOCHS


def test_the_judge_catches_pages_that_are_written_wrong(place, record_property):
    run = Run(place, "enable", ["twice", "never", "hoard"], "twice")
    record_property(
        "faults",
        run.control_faults() | {"wrk": dict(run.wrk.faults(run.epochs))},
    )
    run.check_controls(EPOCHS)
    assert run.wrk.faults(run.epochs)["mixed"] >= 1
    # an application that keeps every map is detected by its memory
    assert max(run.growth.values()) > MEMORY


def test_who_may_use_ffi(place, record_property):
    Publisher(place).publish()
    said = {}
    for way in ("pool", "preload", "scope", "enable", "none"):
        part = place / way
        part.mkdir()
        (part / "own").mkdir()
        (part / "own").chmod(0o777)
        shutil.copyfile(place / "members.map", part / "members.map")
        with FpmServer(part, way, workers=1) as server:
            client = Client(server.address, keep=False)
            said[way] = client.ask("where", "frank"), client.ask("ffi", "").said
            if way == "none":
                with pytest.raises(HTTPError) as refused:
                    urlopen("http://{}:{}/where/frank".format(*server.address))
                told = json.load(refused.value)["error"]
    assert (
        said["preload"][0].said
        and said["preload"][0].said
        == said["pool"][0].said
        == said["scope"][0].said
        == said["enable"][0].said
    )
    # preloaded classes may use FFI, other scripts may not
    assert "restricted" in said["preload"][1]
    assert (
        said["pool"][1] is True
        and said["scope"][1] is True
        and said["enable"][1] is True
    )
    assert "restricted" in said["none"][1]
    # without any setup, the message says what to write
    assert refused.value.code == 503 and said["none"][0].said is None
    for words in (
        "ffi.enable=preload",
        "ffi.preload=",
        "/preload/stead.h",
        "opcache.preload=",
        "opcache.preload_user",
        "ffi.enable=true",
    ):
        assert words in told


@EXTENSION
def test_the_extension_needs_no_ffi(place):
    Publisher(place).publish()
    with FpmServer(place, "extension", workers=1) as server:
        client = Client(server.address, keep=False)
        assert client.ask("where", "frank").said
        assert "restricted" in client.ask("ffi", "").said
    assert "PHP Warning" not in server.log()


@EXTENSION
def test_without_libstead_other_pages_work_and_stead_says_why(place):
    Publisher(place).publish()
    with FpmServer(place, "extension", workers=1, library=False) as server:
        assert "restricted" in Client(server.address, keep=False).ask("ffi", "").said
        with pytest.raises(HTTPError) as refused:
            urlopen("http://{}:{}/where/frank".format(*server.address))
        told = json.load(refused.value)["error"]
    assert refused.value.code == 503
    missing = f"{place}/lib/libstead.so.1, php.ini's stead.library, cannot be loaded"
    assert missing in told and missing in server.log()


@pytest.mark.parametrize("way", [pytest.param("extension", marks=EXTENSION), "ffi"])
def test_the_server_of_php_itself(way, place):
    """`php -S`, as docs/php.md starts it."""
    publisher = Publisher(place)
    publisher.publish()
    # this writes the files of the example
    FpmServer(place, "extension" if way == "extension" else "none")
    options = {
        "extension": ["-d", f"extension={place}/lib/stead.so"],
        "ffi": ["-d", "ffi.enable=true"],
    }[way]
    address = ("127.0.0.1", free_port())
    with (
        open(place / "said", "w+b") as said,
        subprocess.Popen(
            ["php", *options, "-S", "{}:{}".format(*address), "where.php"],
            cwd=place,
            env=dict(
                os.environ,
                STEAD_MAP=str(publisher.map),
                STEAD_LIBRARY=str(place / "lib" / "libstead.so.1"),
            ),
            stdout=said,
            stderr=said,
        ) as server,
    ):
        try:
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    socket.create_connection(address, timeout=5).close()
                    break
                except OSError:
                    assert server.poll() is None and time.monotonic() < deadline
                    time.sleep(0.05)
            for _ in range(3):
                publisher.publish()
                with urlopen("http://{}:{}/where/frank".format(*address)) as answer:
                    found = json.load(answer)
                assert found["epoch"] == len(publisher.epochs) and found["node"]
        finally:
            server.terminate()


@pytest.mark.skipif(bool(strace_why_not()), reason=str(strace_why_not()))
# the control opens the map twice in a request, and the counts must show it
@pytest.mark.parametrize(
    ("way", "kind", "stats"),
    [
        pytest.param("extension", "where", 1, marks=EXTENSION),
        ("pool", "where", 1),
        ("preload", "where", 1),
        ("scope", "where", 1),
        ("enable", "where", 1),
        ("enable", "twice", 2),
    ],
)
def test_a_request_costs_one_stat_of_the_map(way, kind, stats, place, record_property):
    requests, epochs = 100, 5
    publisher = Publisher(place)
    publisher.publish(3)
    trace = place / "trace"
    with FpmServer(
        place,
        way,
        workers=1,
        before=["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(trace)],
    ) as server:
        client = Client(server.address, keep=False)
        for number in range(requests):
            if number % (requests // epochs) == 1:
                publisher.publish(3)
            answer = client.ask(kind, "frank")
            assert answer.said and answer.said["epoch"] == len(publisher.epochs), (
                answer.error
            )
    asked, opened = calls_of(publisher.map, trace)
    record_property(
        "calls",
        f"{asked} stats and {opened} opens in {requests} requests over "
        f"{epochs + 1} epochs",
    )
    assert opened == epochs + 1
    assert asked == stats * requests

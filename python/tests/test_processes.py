"""Threads, forks, spawned processes, signals."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
import stead
from conftest import NAMES, fleet_of, others_run_while

KEYS = [f"user{i}" for i in range(2000)]


def located(map, keys):
    """Runs in another process, which got the map pickled."""
    return os.getpid(), [map.locate(key) for key in keys]


def failing(path):
    return stead.Map.open(path)


def big_fleet(nodes=20_000):
    """A fleet whose map takes some tenths of a second to build."""
    return {
        "name": "big",
        "replicas": 3,
        "spread": ["zone"],
        "node": [
            {"name": f"n{i:05}", "weight": i % 50 + 1, "labels": {"zone": f"z{i % 5}"}}
            for i in range(nodes)
        ],
    }


def test_other_threads_run_while_a_map_is_built():
    assert others_run_while(stead.Map.build, big_fleet())


def test_other_threads_run_while_names_are_surveyed():
    assert others_run_while(stead.survey, [f"user{i}" for i in range(200_000)])


def test_a_call_that_holds_the_lock_is_seen():
    assert not others_run_while(sum, range(5_000_000))


def test_many_threads_ask_one_map(members, grown, tmp_path):
    path = tmp_path / "m.map"
    members.save(path)
    answers = {map.epoch: [map.locate(key) for key in KEYS] for map in (members, grown)}

    def ask(n):
        for i in range(20):
            map = stead.Map.open(path)
            assert [map.locate(key) for key in KEYS] == answers[map.epoch]
            assert map.nodes[0].name == "n1" and len(map.slices) >= 3
            if n == 0 and i == 10:
                grown.save(path)
        return stead.Map.open(path).epoch

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        epochs = list(pool.map(ask, range(8)))
        assert epochs[0] == 2
    assert stead.Map.open(path) == grown


def test_many_threads_build_the_same_map():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert (
            len(
                {
                    map.digest
                    for map in pool.map(
                        lambda _: stead.Map.build(big_fleet(50)), range(16)
                    )
                }
            )
            == 1
        )


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_worker_processes_get_the_map_as_its_bytes(copies, method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        parts = [KEYS[i::4] for i in range(4)]
        found = list(pool.map(located, [copies] * 4, parts))
    assert [answers for _, answers in found] == [
        [copies.locate(key) for key in part] for part in parts
    ]
    assert os.getpid() not in {pid for pid, _ in found}


def test_an_error_of_a_worker_process_arrives_whole(tmp_path):
    with (
        concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn")
        ) as pool,
        pytest.raises(stead.NotFoundError, match="none.map") as caught,
    ):
        pool.submit(failing, tmp_path / "none.map").result()
    assert caught.value.errno == 2 and caught.value.status is stead.Status.NOT_FOUND


def test_bound_methods_go_to_worker_processes(members):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(members.locate, KEYS[:100]) == [
            members.locate(key) for key in KEYS[:100]
        ]
        assert pool.map(stead.path, KEYS[:10]) == [stead.path(key) for key in KEYS[:10]]


def test_a_pickle_is_for_any_python(members, tmp_path):
    """Unpickles in an unrelated process, which has only the pickle."""
    (tmp_path / "map.pickle").write_bytes(pickle.dumps(members))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).locate('frank'))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / "map.pickle"],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        == b"n1\n"
    )


def test_maps_work_on_after_a_fork(members, grown, tmp_path):
    path = tmp_path / "m.map"
    members.save(path)
    map, answers = stead.Map.open(path), [members.locate(key) for key in KEYS]
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            stead.Map.open(path).locate("frank")

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if not child:
                ok = [map.locate(key) for key in KEYS] == answers and stead.Map.open(
                    path
                ) == members
                ok = ok and stead.Map.build(fleet_of(*NAMES), map) == grown
                os._exit(0 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    "work",
    [
        "stead.Map.build(fleet)",
        "stead.survey(name for name in itertools.cycle(['frank']))",
        "stead.survey(itertools.repeat('frank'))",
        "[members.locate('frank') for _ in itertools.count()]",
    ],
)
def test_ctrl_c_is_not_lost(work):
    code = f"""
import itertools, stead
members = stead.Map.build({{"name": "m", "node": [{{"name": "a"}}]}})
fleet = {big_fleet(1500)!r}
print("ready", flush=True)
try:
    while True:
        {work}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert (
            process.communicate(timeout=60)[0] == b"interrupted\n"
            and process.returncode == 0
        )
    finally:
        process.kill()
        process.wait()


def test_an_exception_of_an_iterable_ends_the_survey():
    def names():
        yield "frank"
        raise RuntimeError("as it should")

    with pytest.raises(RuntimeError, match="as it should"):
        stead.survey(names())

"""Fixtures and helpers that the tests of the module share."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if sys.prefix == os.path.join(ROOT, ".venv"):
    # as cargo does, so that the tests run the current sources
    subprocess.run(
        [sys.executable, os.path.join(ROOT, "scripts", "python-module")], check=True
    )

import stead

NAMES = ["n1", "n2", "n3", "n4"]


# a shell that starts the tests in the background makes them, and all their child
# processes, ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)


def fleet_of(*names, **others):
    """A fleet of nodes of weight 1."""
    return {"name": "members", "node": [{"name": name} for name in names], **others}


def others_run_while(call, *arguments):
    """Returns whether another thread gets the interpreter before a call returns. On a
    busy machine it may get no core in that time, so there are several tries.
    """
    return any(another_runs_while(call, arguments) for _ in range(10))


def another_runs_while(call, arguments):
    """Tries once. The switch interval is too long to interrupt the call, so the call
    itself must release the GIL.
    """
    ran, gate, interval = [], threading.Lock(), sys.getswitchinterval()
    gate.acquire()

    def other():
        with gate:
            ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    time.sleep(0.05)  # the thread waits at the gate
    sys.setswitchinterval(1000)
    try:
        gate.release()
        call(*arguments)
        return bool(ran)
    finally:
        sys.setswitchinterval(interval)
        thread.join()


@pytest.fixture(scope="session")
def members():
    """The first map of three nodes."""
    return stead.Map.build(fleet_of(*NAMES[:3]))


@pytest.fixture(scope="session")
def grown(members):
    """The next map, of four nodes."""
    return stead.Map.build(fleet_of(*NAMES), members)


@pytest.fixture(scope="session")
def copies():
    """A map with three copies in three zones."""
    nodes = [
        {
            "name": f"{zone}{i}",
            "weight": i + 1,
            "labels": {"zone": zone},
            "attributes": {"address": f"10.0.0.{i}"},
        }
        for zone in "abc"
        for i in range(3)
    ]
    return stead.Map.build(
        {"name": "members", "replicas": 3, "spread": ["zone"], "node": nodes}
    )


@pytest.fixture(scope="session")
def program():
    """The program `stead`, built as its own tests build it. STEAD_PROGRAM can name
    another file.
    """
    if os.environ.get("STEAD_PROGRAM"):
        return os.environ["STEAD_PROGRAM"]
    sys.path.append(os.path.join(ROOT, "tests"))
    import built

    return built.program()

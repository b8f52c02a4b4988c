"""Servers whose disks fall back to an earlier time, as in a power cut: FLUSH makes
rrdcached write a file, and not sync it.
"""

import shutil
import signal

import pytest
from rrd_servers import Client, wait_for
from test_check import check
from test_repairs import create, lacking, names, status, update


def started(cluster, sync_after):
    """Starts the router again, and makes files with five values that are confirmed."""
    cluster.stop_router()
    cluster.options += ["--flush-after", "1", "--sync-after", sync_after]
    cluster.options += ["--check-every", "0"]
    cluster.start_router()
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    update(cluster, range(1, 6))
    flushed(cluster)


def flushed(cluster):
    """Waits until every server has written everything."""
    wait_for(
        lambda: (
            not any(one["unflushed_files"] for one in status(cluster)[0]["backends"])
        ),
        "all to be flushed",
    )


def confirmed(cluster):
    """Waits until the log needs nothing any more."""

    def has_all():
        now = status(cluster)[0]
        newest = now["log"]["newest"]
        return all(one["confirmed"] == newest for one in now["backends"])

    wait_for(has_all, "all to be confirmed")


def falls_back(cluster, name, earlier, address=None):
    """Ends a server, and starts it with the disk of an earlier time, perhaps at another
    address.
    """
    said = rf"backend {name} \(\S+ is up"
    times = len(cluster.router_said(said))
    server = cluster.backends[name]
    server.stop(signal.SIGKILL)
    shutil.rmtree(server.base)
    earlier.rename(server.base)
    if address:
        server.address = server.reached = address
    server.start()
    if address:
        cluster.publish()
    wait_for(lambda: len(cluster.router_said(said)) > times, f"{name} to be up")


@pytest.mark.parametrize("sync_after", ["60", "0"])
def test_a_server_that_loses_power_gets_again_what_its_disk_lacks(cluster, sync_after):
    """The control keeps nothing in the log that was flushed."""
    started(cluster, sync_after)
    earlier = cluster.place / "earlier"
    shutil.copytree(cluster.backends["a1"].base, earlier)
    update(cluster, range(6, 11))
    flushed(cluster)
    if sync_after == "0":
        confirmed(cluster)
    falls_back(cluster, "a1", earlier)
    update(cluster, range(11, 13))
    missing = lacking(cluster, range(1, 13))
    assert (missing == 0) == (sync_after == "60"), missing


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_disk_of_an_earlier_time_is_not_taken_for_the_right_one(cluster, is_moved):
    """The router goes on with both copies, and rrdtool fills the gap in one of them with
    later values. Then no copy lacks a value.
    """
    started(cluster, "0")
    for name, begin in (("a1", 10), ("b1", 20)):
        earlier = cluster.place / "earlier"
        shutil.copytree(cluster.backends[name].base, earlier)
        update(cluster, range(begin - 4, begin))
        confirmed(cluster)
        moved = f"unix:{cluster.backends[name].directory}/moved"
        falls_back(cluster, name, earlier, moved if is_moved else None)
        update(cluster, range(begin, begin + 6))
        # the control: values are gone, and none is unknown
        assert is_moved or lacking(cluster, range(1, begin + 6))
        code, result = check(cluster, "--restart")
        assert code == 1 or is_moved, result
        wait_for(lambda: status(cluster)[1], "all to be repaired")
        assert lacking(cluster, range(1, begin + 6)) == 0

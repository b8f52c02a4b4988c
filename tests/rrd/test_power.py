"""Servers whose disks fall back to an earlier time, as in a power cut: FLUSH makes
rrdcached write a file, and not sync it.
"""

import shutil
import signal

import pytest
from rrd_feed import START
from rrd_servers import Client, wait_for
from test_check import check
from test_repairs import create, lacking, names, rows, status, update


def started(cluster, sync_after, check_every="0"):
    """Starts the router again, and makes files with five values that are flushed."""
    cluster.stop_router()
    cluster.options += ["--flush-after", "1", "--sync-after", sync_after]
    cluster.options += ["--check-every", check_every]
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


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_disk_that_was_away_for_a_while_is_compared(cluster, by_agent):
    """It is unmounted, the router fills the empty directory, and it is mounted again, with
    files that lack what was written meanwhile.
    """
    away = cluster.backends["a1"]
    if by_agent:
        away.start_agent(cluster.programs)
        cluster.publish()
    started(cluster, "0", check_every="7")
    confirmed(cluster)
    mine = [name for name, places in cluster.located(names()).items() if "a1" in places]
    others = "in another directory or on another disk than before"
    disk = away.directory / "disk"
    away.base.rename(disk)
    away.base.mkdir()
    update(cluster, range(6, 16))
    wait_for(
        lambda: (
            all((away.base / name).exists() for name in mine)
            and status(cluster)[1]
            and len(cluster.router_said(others)) == 1
            and len(cluster.router_said("files were compared")) == 1
        ),
        "the empty directory to be filled and compared",
    )
    shutil.rmtree(away.base)
    disk.rename(away.base)
    update(cluster, range(16, 21))
    # the control: the copies on the old disk lack ten values each
    assert lacking(cluster, range(1, 21)) >= 10 * len(mine)
    wait_for(lambda: lacking(cluster, range(1, 21)) == 0, "the hole to be filled")
    assert len(cluster.router_said(others)) == 2


def exchanged(cluster, name, backup):
    """Gives a server that is stopped the disk of an earlier time, and starts it."""
    server = cluster.backends[name]
    server.stop(signal.SIGKILL)
    shutil.rmtree(server.base)
    backup.rename(server.base)
    server.start()


def test_a_disk_that_was_restored_while_the_router_was_down_is_noticed(cluster):
    """As after a power cut of everything. What is noticed is not forgotten, either, when
    the router is killed before it has compared the copies.
    """
    started(cluster, "0")
    backup = cluster.place / "backup"
    shutil.copytree(cluster.backends["a1"].base, backup)
    mine = [name for name, places in cluster.located(names()).items() if "a1" in places]
    update(cluster, range(6, 11))
    confirmed(cluster)
    cluster.stop_router(signal.SIGKILL)
    exchanged(cluster, "a1", backup)
    # the control: its copies are old
    assert max(rows(cluster.backends["a1"].base / mine[0])) < 10
    said = r"the files of (\w+) are in another directory or on another disk than before"
    for found in (["a1"], []):
        cluster.start_router()
        with Client(cluster.unix) as client:
            for name in mine:
                got = client.ask(f"FETCH {name} LAST {START} {START + 12}")
                assert f"{START + 10}: 1.00".encode() in got, got
        assert cluster.router_said(said) == found
        # the log drops what is confirmed only when the repair queue is on the disk
        update(cluster, [11 if found else 12])
        confirmed(cluster)
        cluster.stop_router(signal.SIGKILL)
    # the fixture has turned off that the router compares by itself
    cluster.start_router()
    check(cluster, "--restart")
    wait_for(lambda: lacking(cluster, range(1, 13)) == 0, "all to be compared")
    assert cluster.router_said(said) == []


def test_a_server_that_has_moved_while_the_router_was_down_is_compared(cluster):
    """Its address is another one, and its disk is that of an earlier time."""
    started(cluster, "0", check_every="7")
    backup = cluster.place / "backup"
    shutil.copytree(cluster.backends["a1"].base, backup)
    update(cluster, range(6, 11))
    confirmed(cluster)
    cluster.stop_router(signal.SIGKILL)
    server = cluster.backends["a1"]
    server.stop(signal.SIGKILL)
    # the old directory stays, so that only the address tells that something has changed
    for old in backup.rglob("*.rrd"):
        shutil.copy(old, server.base / old.relative_to(backup))
    server.address = server.reached = f"unix:{server.directory}/moved"
    server.start()
    cluster.publish()
    # the control: its copies are old
    mine = [name for name, places in cluster.located(names()).items() if "a1" in places]
    assert max(rows(server.base / mine[0])) < 10
    cluster.start_router()
    wait_for(lambda: lacking(cluster, range(1, 11)) == 0, "all to be compared")


def test_a_server_that_comes_back_with_a_backup_is_read_last(cluster):
    """Its directory is another one, which is seen before it answers reads."""
    started(cluster, "0")
    backup = cluster.place / "backup"
    shutil.copytree(cluster.backends["a1"].base, backup)
    mine = [name for name, places in cluster.located(names()).items() if "a1" in places]
    update(cluster, range(6, 11))
    confirmed(cluster)
    falls_back(cluster, "a1", backup)
    # the control: its copies are old
    assert max(rows(cluster.backends["a1"].base / mine[0])) < 10
    with Client(cluster.unix) as client:
        for name in mine:
            said = client.ask(f"FETCH {name} LAST {START} {START + 12}")
            assert f"{START + 10}: 1.00".encode() in said, said
    # the fixture has turned off that the router compares by itself
    check(cluster, "--restart")
    wait_for(lambda: lacking(cluster, range(1, 11)) == 0, "all to be compared")

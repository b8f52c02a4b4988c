"""Files that vanish under a server, because somebody removed them or their disk is not
mounted any more. rrdcached goes on taking updates for them, says that it has flushed
them, and drops them.
"""

import re
import shutil
import signal

import pytest
from rrd_feed import START
from rrd_servers import Client, wait_for
from test_faults import WIDE
from test_repairs import create, lacking, names, page, status, update


def counted(cluster, what):
    """Returns the sum of a number of all servers."""
    return sum(backend[what] for backend in status(cluster)[0]["backends"])


@pytest.fixture
def flushing(cluster):
    """Returns a cluster with files that are flushed after a second."""
    cluster.stop_router()
    cluster.options += ["--flush-after", "1", "--sync-after", "0", "--check-every", "0"]
    cluster.options += ["--log-size", "32"]
    cluster.start_router()
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    update(cluster, range(1, 6))
    wait_for(lambda: counted(cluster, "unflushed_files") == 0, "all to be flushed")
    return cluster


def put_away(cluster, hit):
    """Moves the directories of these files away on all of their servers. Returns where they were."""
    places = cluster.located(hit)
    away = [
        (cluster.backends[node].base / name).parent
        for name in hit
        for node in places[name]
    ]
    for directory in away:
        directory.rename(directory.with_name(directory.name + ".away"))
    return away


def test_a_file_that_is_made_anew_gets_the_updates_that_wait_first(flushing):
    """Otherwise newer updates would overtake them, and rrdcached refuse them."""
    hit = names()[:3]
    put_away(flushing, hit)
    update(flushing, range(6, 11), hit)
    both = 2 * len(hit)
    wait_for(lambda: counted(flushing, "gone") == both, "the files to be missed")
    made = f"-b {START + 5} -s 1 DS:v:GAUGE:5:U:U RRA:LAST:0.5:1:5000"
    with Client(flushing.unix) as client:
        for name in hit:
            # each one lets its servers be connected again
            wait_for(
                lambda name=name: client.ask(f"CREATE {name} {made}")[:2] == b"0 ",
                f"a new {name}",
            )
    update(flushing, range(11, 14), hit)
    update(flushing, range(6, 14), names()[3:])
    wait_for(lambda: status(flushing)[1], "all to be well")
    assert lacking(flushing, range(6, 14)) == 0


def test_a_client_that_updates_a_file_that_is_back_does_not_overtake_the_log(flushing):
    """The router has not looked yet whether it is back."""
    hit = names()[:3]
    away = put_away(flushing, hit)
    update(flushing, range(6, 11), hit)
    both = 2 * len(hit)
    wait_for(lambda: counted(flushing, "gone") == both, "the files to be missed")
    for directory in away:
        directory.with_name(directory.name + ".away").rename(directory)
    update(flushing, range(11, 14), hit)
    update(flushing, range(6, 14), names()[3:])
    wait_for(lambda: status(flushing)[1], "all to be well")
    assert lacking(flushing, range(1, 14)) == 0


def test_updates_of_a_file_that_is_gone_stay_in_the_log(flushing, record_property):
    """The files come back when all servers and the router have been restarted."""
    hit = names()[:3]
    places = flushing.located(hit)
    away = put_away(flushing, hit)
    update(flushing, range(6, 11))
    # the control: rrdcached believes that they are written, unless the router was faster
    name = hit[0]
    with Client(flushing.backends[places[name][0]].address) as client:
        said = client.ask(f"FLUSH {name}")
    assert said.startswith((b"0 Successfully flushed", b"-1 No such file")), said
    both = 2 * len(hit)
    wait_for(lambda: counted(flushing, "gone") == both, "the files to be missed")
    text = page(flushing)
    assert re.search(
        r"has lost \d files?, such as host0\d/v.rrd, with updates that", text
    ), text
    # clients are told
    with Client(flushing.unix) as client:
        assert b"No such file" in client.ask(f"UPDATE {name} {START + 99}:9")
    # the queue is on disk within a second or two
    wait_for(
        lambda: (flushing.state / "repairs").read_bytes().count(b"\tgone\t") == both,
        "the queue to be stored",
    )
    flushing.stop_router(signal.SIGKILL)
    for server in flushing.backends.values():
        server.stop()
        server.start()
    flushing.start_router()
    assert counted(flushing, "gone") == both and not status(flushing)[1]
    update(flushing, range(11, 13), names()[3:])
    newest = status(flushing)[0]["log"]["newest"]
    holders = {node for name in hit for node in places[name]}
    wait_for(
        lambda: all(
            backend["confirmed"] == newest
            for backend in status(flushing)[0]["backends"]
            if backend["name"] not in holders
        ),
        "the others to have all",
    )
    assert counted(flushing, "gone") == both
    for directory in away:
        directory.with_name(directory.name + ".away").rename(directory)
    wait_for(lambda: status(flushing)[1], "all to be well")
    missing = lacking(flushing, range(1, 11))
    record_property(
        "gone",
        f"{both} copies gone and put back, servers and router killed: {missing} values lost",
    )
    assert missing == 0


def test_a_server_is_connected_again_once_for_all_files_that_are_back(flushing):
    away = put_away(flushing, names())
    update(flushing, range(6, 11))
    wait_for(
        lambda: counted(flushing, "gone") == 2 * len(names()), "the files to be missed"
    )
    before = counted(flushing, "reconnects")
    for directory in away:
        directory.with_name(directory.name + ".away").rename(directory)
    wait_for(lambda: status(flushing)[1], "all to be well")
    # twice for a server that was looked at while its files came back, and not once for each file
    assert counted(flushing, "reconnects") - before <= 2 * len(flushing.backends)
    assert lacking(flushing, range(1, 11)) == 0


def test_a_server_whose_disk_is_unmounted_is_filled_again(flushing):
    """Its base is empty from one moment to the next, and it takes updates all the same."""
    base = flushing.backends["a1"].base
    mine = [
        name for name, places in flushing.located(names()).items() if "a1" in places
    ]
    assert mine
    for each in list(base.iterdir()):
        shutil.rmtree(each)
    update(flushing, range(6, 11))
    wait_for(
        lambda: all((base / name).exists() for name in mine) and status(flushing)[1],
        "the files to be copied",
    )
    update(flushing, range(11, 16))
    assert lacking(flushing, range(1, 16)) == 0


def test_a_file_that_was_removed_does_not_stop_the_others(flushing):
    """Somebody has removed a file on purpose while updates of it were on their way. The
    log is as small as it can be, and goes on.
    """
    hit, others = names()[:1], names()[1:]
    put_away(flushing, hit)
    update(flushing, [6], hit)
    wait_for(lambda: counted(flushing, "gone") == 2, "the file to be missed")
    with Client(flushing.unix) as client:
        # These files do not exist, but their updates fill the log all the same. It is looked at
        # after each batch: the router may give the file up before the next one.
        full = (
            b"the log is full"
            in client.batch([f"UPDATE wide{number}/v.rrd {WIDE}"] * 200)
            for number in range(400)
        )
        # the control: the log was full
        assert any(full)
    wait_for(
        lambda: flushing.router_said("the log does not keep its updates any longer"),
        "the file to be given up",
    )
    wait_for(lambda: status(flushing)[1], "all to be well")
    with Client(flushing.unix) as client:
        said = client.batch([f"UPDATE wide/v.rrd {WIDE}"] * 200)
    assert b"No such file" in said and b"the log is full" not in said, said[:300]
    update(flushing, [6], others)


@pytest.mark.parametrize("restarted", [False, True])
def test_updates_of_files_that_never_were_are_counted_and_named(flushing, restarted):
    """They are acknowledged while no server is up to judge them."""
    lines = [f"UPDATE none{n}/v.rrd {START}:{n}" for n in range(5)]
    before = counted(flushing, "late_errors")
    for backend in flushing.backends.values():
        backend.stop()
    with Client(flushing.unix) as client:
        for line in lines:
            # the router first has to notice that the servers are away
            wait_for(lambda line=line: client.ask(line).startswith(b"0 "), "an answer")
    if restarted:
        flushing.stop_router(signal.SIGKILL)
    for backend in flushing.backends.values():
        backend.start()
    if restarted:
        flushing.start_router()
    wait_for(lambda: status(flushing)[1], "all to be well")
    assert counted(flushing, "late_errors") - before >= 2 * len(lines)
    for n in range(5):
        assert flushing.router_said(
            rf"none{n}/v.rrd is on no server: \w+ refuses 1 update that was taken"
        )
    # a file that exists is not among them
    assert not flushing.router_said(rf"{names()[0]} is on no server")

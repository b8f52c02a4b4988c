"""`--answer logged`: an update is answered when the log has it. Its answers are those of
an rrdcached all the same, a client reads what it wrote, and nothing is lost or silent.
"""

import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from rrd_copies import differing
from rrd_feed import FILES, START, Feed, create, lost, names
from rrd_servers import Client, wait_for
from test_operations import status

LOGGED = ["--answer", "logged", "--durability", "crash"]


@pytest.fixture
def logged(cluster):
    """Returns a cluster whose router answers early."""
    restart(cluster)
    return cluster


def restart(cluster, *options):
    cluster.stop_router()
    cluster.policy = LOGGED
    cluster.start_router(*options)


@contextmanager
def standing_still(servers):
    """Stops these servers for a while. They keep their connections."""
    servers = list(servers)
    for server in servers:
        os.kill(server.process.pid, signal.SIGSTOP)
    for server in servers:
        wait_for(lambda server=server: stands_still(server), "a server to be stopped")
    try:
        yield
    finally:
        for server in servers:
            os.kill(server.process.pid, signal.SIGCONT)


def stands_still(server):
    """Returns whether all threads are stopped. Until the one that takes the signal gets a
    core, the others go on.
    """
    threads = Path(f"/proc/{server.process.pid}/task").iterdir()
    return all(
        (thread / "stat").read_text().rpartition(")")[2].split()[0] == "T"
        for thread in threads
    )


def known(cluster):
    """Lets the router learn all files, by updates that their servers refuse."""
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"UPDATE {name} {START}:1").startswith(b"-1 illegal")


@pytest.mark.parametrize("answer", ["served", "logged"])
def test_an_answer_waits_for_no_server_when_the_log_has_the_update(cluster, answer):
    if answer == "logged":
        restart(cluster, "--timeout", "600")
    else:
        cluster.stop_router()
        cluster.start_router("--timeout", "600")
    create(cluster)
    known(cluster)
    acknowledged = {name: [] for name in names()}
    with standing_still(cluster.backends.values()), Client(cluster.unix) as client:
        if answer == "served":
            # the control: without the option, the answer needs a server
            client.send(f"UPDATE {names()[0]} {START + 1}:1\n")
            client.socket.settimeout(1)
            with pytest.raises(OSError):
                client.socket.recv(1)
            return
        for at in range(START + 1, START + 12):
            for name, times in acknowledged.items():
                said = client.ask(f"UPDATE {name} {at}:{at - START}")
                assert said == b"0 errors, enqueued 1 value(s).\n", said
                times.append(at)
        batch = [f"UPDATE {name} {START + 12}:12" for name in acknowledged]
        client.send("\n".join(["BATCH", *batch, ".", ""]))
        assert client.file.readline().startswith(b"0 Go ahead")
        assert client.file.readline() == b"0 errors\n"
        for times in acknowledged.values():
            times.append(START + 12)
        wait_for(
            lambda: all(b["lag_ms"] > 100 for b in status(cluster)["backends"]),
            "the status to say how far the servers are behind",
        )
    missing, copies = lost(cluster, acknowledged)
    assert copies == 2 * FILES and not missing, missing[:5]


def test_a_client_reads_what_it_wrote(logged):
    create(logged)
    known(logged)
    with Client(logged.unix) as client:
        for at in range(START + 1, START + 12):
            for name in names():
                said = client.ask(f"UPDATE {name} {at}:{at - START}")
                assert said == b"0 errors, enqueued 1 value(s).\n", said
                assert client.ask(f"LAST {name}") == b"0 %d\n" % at
        at = START + 11
        for name in names():
            fetched = client.ask(f"FETCH {name} LAST {at - 1} {at}").decode()
            assert f"{at}: 1.1" in fetched, fetched


def together(address, name, rounds):
    """Lets two clients fetch a file at the same time, again and again, after updates that
    were acknowledged. Returns how many answers lacked some of these.
    """
    lacking, at, ahead = 0, START, "".join(f" RRA:MAX:0.5:{n}:20000" for n in (1, 5, 9))
    begin = threading.Barrier(2)

    def fetch(reader, pause):
        begin.wait()
        time.sleep(pause)
        return reader.ask(f"FETCH {name} LAST {at - 20} {at}").decode()

    with (
        Client(address) as writer,
        Client(address) as one,
        Client(address) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        said = writer.ask(
            f"CREATE {name} -b {START} -s 1 DS:v:GAUGE:3600:U:U RRA:LAST:0.5:1:20000{ahead}"
        )
        assert said == b"0 RRD created OK\n", said
        for number in range(rounds):
            for _ in range(20):
                at += 1
                assert writer.ask(f"UPDATE {name} {at}:1").startswith(b"0 ")
            pauses = (0, 0.0004 * (number % 8))
            for said in threads.map(fetch, (one, other), pauses):
                assert "Success" in said, said
                lacking += f"{at}: 1.0" not in said
    return lacking


def test_clients_that_read_at_the_same_time_all_get_what_was_written(cluster):
    """While rrdcached writes a file for one FETCH, it answers another one at once, from
    the file as it was. The router sends the second one after the first. The control
    shows that the readers meet often enough.
    """
    assert together(cluster.unix, "together.rrd", 200) == 0
    met = (together(cluster.single.address, f"control{n}.rrd", 200) for n in range(20))
    assert any(met), "no two readers have met"


def test_what_is_not_valid_is_answered_as_by_an_rrdcached(logged):
    """Each line goes to a single rrdcached, too. Then both have the same values."""
    choices = [1, 2, 2, 3, 1, 5, 4, 5.5, 5.2, 6]
    lines = [
        f"UPDATE c/v.rrd {START + at}:{value}"
        for value, at in itertools.product((1, 2), choices)
    ]
    lines += [f"UPDATE c/v.rrd {START + at}:1 {START + at + 1}:2" for at in (6, 7, 7)]
    lines += [f"UPDATE c/v.rrd {START + 20}:1 {START + 15}:1 {START + 21}:1"]
    lines += [
        "UPDATE c/v.rrd 12",
        "UPDATE c/v.rrd N:5",
        "UPDATE c/none.rrd 1800000000:1",
    ]
    with Client(logged.unix) as client, Client(logged.single.address) as single:
        create = f"CREATE c/v.rrd -b {START} -s 1 DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:100"
        for line in [create, *lines]:
            said, expected = client.ask(line), single.ask(line)
            assert said == expected, line
        assert client.ask(f"UPDATE c/v.rrd {START + 90}:1:2").startswith(b"-1 ")
        for each in (client, single):
            assert each.ask("FLUSH c/v.rrd").startswith(b"0 ")
    wrong, copies = differing(logged, [b"c/v.rrd"])
    assert (wrong, copies) == ([], 2)


@pytest.mark.parametrize("limit", ["bytes", "age"])
def test_answers_wait_when_too_much_waits_for_every_copy(cluster, limit):
    options = {
        "bytes": ("--backlog", "1", "--backlog-age", "600"),
        "age": ("--backlog", "1000", "--backlog-age", "1"),
    }[limit]
    restart(cluster, "--timeout", "600", *options)
    create(cluster)
    known(cluster)
    with standing_still(cluster.backends.values()), Feed(cluster) as feed:
        while True:
            count = feed.count()
            time.sleep(2)
            if feed.count() == count:
                break
        assert count > 10 * FILES, count
        backends = status(cluster)["backends"]
        waiting = max(backend["queued_bytes"] for backend in backends)
        lag = min(backend["lag_ms"] for backend in backends)
        assert (waiting < 2 << 20) if limit == "bytes" else lag > 1000, backends
        for server in cluster.backends.values():
            os.kill(server.process.pid, signal.SIGCONT)
        wait_for(lambda: feed.count() > count + 20 * FILES, "answers again")
    missing, copies = lost(cluster, feed.acknowledged)
    assert copies == 2 * FILES and not missing, missing[:5]
    assert feed.refused == {}


def test_one_server_that_stands_still_holds_nobody_up(cluster):
    restart(cluster, "--timeout", "600", "--backlog", "1", "--backlog-age", "1")
    create(cluster)
    known(cluster)
    with Feed(cluster) as feed, standing_still([cluster.backends["a1"]]):
        time.sleep(2)
        feed.more(20 * FILES, "answers")
        with Client(cluster.tcp) as client:
            for name in names():
                assert client.ask(f"LAST {name}").startswith(b"0 17"), name
    missing, copies = lost(cluster, feed.acknowledged)
    assert copies == 2 * FILES and not missing, missing[:5]


def test_what_every_server_refuses_after_the_answer_is_not_silent(logged):
    """Somebody has removed the file behind the router's back."""
    create(logged)
    known(logged)
    name = names()[0]
    for backend in logged.located([name])[name]:
        server = logged.backends[backend]
        with Client(server.address) as direct:
            direct.ask(f"FLUSH {name}")
            direct.ask(f"FORGET {name}")
        (server.base / name).unlink()
    with Client(logged.unix) as client:
        said = client.ask(f"UPDATE {name} {START + 2}:2")
        assert said == b"0 errors, enqueued 1 value(s).\n"
        assert client.ask(f"LAST {name}").startswith(b"-1 ")
        wait_for(
            lambda: logged.router_said(rf"an update of {name} that was answered"),
            "the message",
        )
        found = status(logged)["backends"]
        assert sum(backend["late_errors"] for backend in found) >= 2, found
        # it is not trusted again
        wait_for(
            lambda: client.ask(f"UPDATE {name} {START + 3}:2").startswith(
                b"-1 No such file"
            ),
            "the refusal",
        )

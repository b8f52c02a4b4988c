"""Hostile and unlucky clients: what they send has no effect on a normal client beside
them.
"""

import re
import resource
import selectors
import signal
import socket
import subprocess

import pytest
from rrd_copies import differing
from rrd_feed import FILES, START, Feed, create, lost, names, row, there, update
from rrd_lines import Line
from rrd_same import DIFFERENT, Differs, Same, exchange, known, replies
from rrd_servers import Client, Rrdcached, descriptors, resident, wait_for

MIB = 1 << 20
# seeds that found something and are always tried again; the last one is new
SEEDS = [2, 3, 20261121]
LINES = 20_000


@pytest.mark.parametrize("answer", ["served", "logged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_lines_get_the_answers_of_one_rrdcached(
    quiet, seed, answer, record_property
):
    if answer == "logged":
        quiet.stop_router()
        quiet.policy = ["--answer", "logged", "--durability", "crash"]
        quiet.start_router()
    same = Same(quiet, seed)
    same.run(2000)
    early = resident(quiet.router.pid)
    same.run(LINES // len(SEEDS))
    record_property(
        "lines",
        f"{same.sent} sent, {same.compared} answers compared, {same.refused} of them "
        f"errors, {same.alone} lines refused by the router alone",
    )
    assert same.refused > same.compared / 100 and same.compared > same.sent / 3
    # a repeated request keeps no memory: only a few buffers, whatever the number of
    # requests
    assert resident(quiet.router.pid) < early + 64 * MIB
    assert quiet.router_said(r".* is down.*") == []
    wrong, copies = differing(quiet, same.files())
    assert copies == 2 * len(same.files()) and wrong == [], wrong
    record_property("copies", f"{copies} compared, none differs")
    with Client(quiet.tcp) as client:
        assert (
            client.ask(
                f"CREATE c/after.rrd -b {START} -s 60 DS:v:GAUGE:120:U:U RRA:LAST:0.5:1:10"
            )
            == b"0 RRD created OK\n"
        )
        assert (
            client.ask(f"UPDATE c/after.rrd {START + 60}:1")
            == b"0 errors, enqueued 1 value(s).\n"
        )


def test_flush_of_a_suspended_file_says_what_is_not_so(cluster):
    """The control of the test below: what a server itself does, and why the router must
    not believe it.
    """
    with Client(cluster.single.address) as client:
        assert client.ask(
            f"CREATE c/a.rrd -b {START} -s 1 DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:100"
        ).startswith(b"0 ")
        assert client.ask(f"UPDATE c/a.rrd {START + 1}:1").startswith(b"0 ")
        assert client.ask("SUSPEND c/a.rrd").endswith(b" suspended\n")
        assert client.ask("FLUSH c/a.rrd").startswith(b"0 Successfully flushed ")
        assert (
            client.ask("PENDING c/a.rrd")
            == f"1 updates pending\n{START + 1}:1\n".encode()
        )
        assert (
            there(cluster.single.base / "c/a.rrd", START + 1)
            .get(START + 1, "nan")
            .endswith("nan")
        )


def test_a_difference_is_seen(quiet):
    """The control: one value written without the router shows in a dump and in an
    answer.
    """
    same = Same(quiet, 1)
    same.run(200)
    assert differing(quiet, same.files())[0] == []
    for address in (quiet.unix, quiet.single.address):
        with Client(address) as client:
            assert (
                client.ask(
                    f"CREATE c/a.rrd -b {START} -s 60 DS:v:GAUGE:120:U:U RRA:LAST:0.5:1:10"
                )
                == b"0 RRD created OK\n"
            )
    backend = quiet.located(["c/a.rrd"])["c/a.rrd"][0]
    with Client(quiet.backends[backend].address) as client:
        assert client.ask(f"UPDATE c/a.rrd {START + 60}:1").startswith(b"0 ")
        with pytest.raises(Differs, match="PENDING"):
            line, said = Line(b"PENDING c/a.rrd\n"), []
            for address in (quiet.single.address, quiet.unix):
                said += replies(exchange(address, [line.text]))
            same.compare(line, *said)
        assert client.ask("FLUSH c/a.rrd").startswith(b"0 ")
    assert differing(quiet, same.files())[0] == [(b"c/a.rrd", backend)]


def test_no_known_difference_covers_another():
    """A pattern that matches too much would hide real differences."""
    for text, single, routed in [
        (b"UPDATE a 1:1\n", b"0 errors, enqueued 1 value(s).", b"-1 illegal attempt"),
        (b"UPDATE a 1:1\n", b"-1 illegal attempt", b"0 errors, enqueued 1 value(s)."),
        (
            b"UPDATE a 1:1\n",
            b"0 errors, enqueued 2 value(s).",
            b"0 errors, enqueued 1 value(s).",
        ),
        (
            b"FETCH a AVERAGE 1700000000 1700000060\n",
            b"7 Success\n1: 1",
            b"7 Success\n1: 2",
        ),
        (b"PENDING a\n", b"1 updates pending\n1:1", b"0 updates pending"),
        (b"FLUSH a\n", b"0 Successfully flushed a.", b"-1 No such file: a."),
        (b"INFO a\n", b"-1 RRD Error: a", b"-1 a: Permission denied"),
        (b"FLUSH ./a\n", b"-1 No such file: a", b"-1 a: Permission denied"),
        (b"LIST /\n", b"1 RRDs\na", b"1 RRDs\nb"),
        (b"PING\n", b"0 PONG", b"-1 Unknown command: "),
    ]:
        assert not known(Line(text), single, routed), text
    assert len({what for what, *_ in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(
    "name, line",
    [
        ("definitions", b"CREATE c/many.rrd " + b"DS:x " * 250),
        ("definitions", b"CREATE c/more.rrd " + b"DS: " * 1500),
        ("long path", b"PENDING " + b"p/" * 20_000),
        ("long path", b"FLUSH " + b"p/" * 3000),
        ("long path", b"LIST /" + b"p/" * 3000),
        ("long path", b"FETCH " + b"p/" * 3000 + b" AVERAGE 1 2"),
        (
            "long path",
            b"CREATE " + b"p/" * 3000 + b" DS:x:GAUGE:60:U:U RRA:AVERAGE:0.5:1:5",
        ),
        ("long value", b"UPDATE c/a.rrd " + b"1" * 6000),
        ("long word", b"FETCH c/a.rrd " + b"L" * 6000 + b" 1700000000 1700000060"),
        ("long line", b"FETCH c/a.rrd AVERAGE 1700000000 1700000060" + b" d0" * 3000),
        ("long line", b"INFO " + b"p/" * 20_000),
        ("suspend", b"SUSPEND c/none.rrd"),
        ("template", b"CREATE c/t.rrd -t c/a.rrd"),
        ("source", b"CREATE c/s.rrd -r c/a.rrd DS:x:GAUGE:60:U:U RRA:AVERAGE:0.5:1:5"),
        ("nul", b"UPDATE c/a.rrd\x001700000060:1"),
        ("nul", b"LIST /c\0x"),
    ],
)
def test_what_an_rrdcached_cannot_take_does_not_reach_one(cluster, name, line):
    """rrdcached dies of it, or closes the connection, or sends bytes of its memory
    after the answer, or reads a different file.
    """
    with Client(cluster.unix) as client:
        assert (
            client.ask(
                f"CREATE c/a.rrd -b {START} -s 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0.5:1:5"
            )
            == b"0 RRD created OK\n"
        )
        for _ in range(3):
            assert client.ask(line + b"\n").startswith(b"-1 ")
            assert client.ask("PING") == b"0 PONG\n"
            if not line.startswith((b"FETCH", b"LIST", b"INFO")):
                assert client.ask("BATCH").startswith(b"0 ")
                client.send(line + b"\nUPDATE c/a.rrd none\n.\n")
                said = client.reply().split(b"\n")
                assert (
                    said[0] == b"2 errors"
                    and said[1].startswith(b"1 ")
                    and said[2].startswith(b"2 Cannot find timestamp")
                ), said
        assert (
            client.ask(f"UPDATE c/a.rrd {START + 60}:1")
            == b"0 errors, enqueued 1 value(s).\n"
        )
        assert (
            client.ask("PENDING c/a.rrd")
            == f"1 updates pending\n{START + 60}:1\n".encode()
        )
    assert cluster.router_said(r".* is down.*") == []
    assert [
        backend
        for backend, server in cluster.backends.items()
        if server.process.poll() is not None
    ] == []

    # the control: the same line sent to the server itself
    one = Rrdcached(cluster.place / "one", f"unix:{cluster.place}/one/s")
    one.start()
    try:
        with Client(one.address) as client:
            assert (
                client.ask(
                    f"CREATE c/a.rrd -b {START} -s 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0.5:1:5"
                )
                == b"0 RRD created OK\n"
            )
        got = exchange(one.address, [line + b"\nPING\n"])
        if name == "definitions":
            wait_for(
                lambda: one.process.poll() is not None, "the rrdcached to die of it"
            )
        elif name in ("suspend", "long line"):
            assert not got.endswith(b"0 PONG\n")  # it closed the connection
        elif name in ("template", "source", "nul"):
            assert replies(got)[0][:1] == b"0" or name == "template" or b"\0" not in got
        else:
            assert len(replies(got)) != 2 or b"\0" in got or len(replies(got)[0]) > 4096
    finally:
        one.stop(signal.SIGKILL)


def test_an_update_that_is_too_long_for_an_rrdcached_goes_there_in_pieces(cluster):
    values = [f"{START + second}:{second}" for second in range(1, 2001)]
    with Client(cluster.unix) as client, Client(cluster.single.address) as single:
        for each in (client, single):
            assert (
                each.ask(
                    f"CREATE c/a.rrd -b {START} -s 1 DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:5000"
                )
                == b"0 RRD created OK\n"
            )
        assert (
            client.ask(f"UPDATE c/a.rrd {' '.join(values)}")
            == b"0 errors, enqueued 2000 value(s).\n"
        )
        for at in range(0, 2000, 100):
            assert single.ask(
                f"UPDATE c/a.rrd {' '.join(values[at : at + 100])}"
            ).startswith(b"0 ")
        assert client.ask("PENDING c/a.rrd") == single.ask("PENDING c/a.rrd")
        for each in (client, single):
            assert each.ask("FLUSH c/a.rrd").startswith(b"0 ")
    assert differing(cluster, [b"c/a.rrd"]) == ([], 2)


def test_a_client_that_has_said_all_it_wants_still_hears_the_answers(cluster):
    with Client(cluster.unix) as client:
        assert (
            client.ask(
                f"CREATE c/a.rrd -b {START} -s 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0.5:1:5"
            )
            == b"0 RRD created OK\n"
        )
    for number in range(1, 21):
        for address in (cluster.unix, cluster.tcp):
            at = START + 2 * number + (address == cluster.tcp)
            assert (
                exchange(address, [f"UPDATE c/a.rrd {at}:1\n".encode()])
                == b"0 errors, enqueued 1 value(s).\n"
            )
            assert exchange(
                address, [f"BATCH\nUPDATE c/a.rrd {at}:1\n.\n".encode()]
            ).endswith(b"(minimum one second step)\n")


@pytest.mark.parametrize(
    "restarted", [False, True], ids=["", "and the router restarted"]
)
def test_what_is_acknowledged_for_a_suspended_file_is_not_lost(
    cluster, restarted, record_property
):
    """rrdcached answers a FLUSH of a suspended file with success and writes nothing.
    That must not count as written.
    """
    name = names()[0]
    cluster.stop_router()
    cluster.options += ["--flush-after", "0", "--sync-after", "0"]
    cluster.start_router()
    create(cluster, names(4))
    acknowledged = {each: [] for each in names(4)}

    with Client(cluster.unix) as client:
        update(client, acknowledged, 1, 20)
        assert client.ask(f"SUSPEND {name}").endswith(b" suspended\n")
        update(client, acknowledged, 20, 60)
    if restarted:
        cluster.stop_router()
        cluster.start_router()
    with Client(cluster.unix) as client:
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
        update(client, acknowledged, 60, 70)
        # the router flushes the others; the suspended one, which it tried to flush
        # before them, delays none
        for each in names(4)[1:]:
            for backend in cluster.located([each])[each]:
                file = cluster.backends[backend].base / each
                wait_for(
                    lambda file=file: (
                        "nan" not in there(file, START + 70).get(START + 69, "nan")
                    ),
                    f"{file} to be flushed",
                )
    for backend in cluster.backends.values():
        backend.stop(signal.SIGKILL)
    for backend in cluster.backends.values():
        backend.start()
    cluster.all_up(2)
    with Client(cluster.unix) as client:
        client.ask(f"RESUME {name}")
    missing, copies = lost(cluster, acknowledged)
    row(
        record_property,
        "kill -9 of all backends while a file is "
        f"suspended{' and the router restarted' * restarted}",
        acknowledged,
        missing,
    )
    assert copies == 8 and not missing, missing[:10]


class Crowd:
    """Clients that behave badly, by kind. They are closed at the end."""

    def __init__(self, address):
        self.path, self.sockets = address.removeprefix("unix:"), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.sockets:
            each.close()

    def more(self, count, say=b""):
        """Makes `count` clients that send `say` and then nothing. Bytes that the router
        does not take at once are not sent.
        """
        made = []
        for _ in range(count):
            each = socket.socket(socket.AF_UNIX)
            each.settimeout(120)
            each.connect(self.path)
            made.append(each)
        self.sockets += made
        for each in made:
            each.setblocking(False)
            try:
                each.send(say)
            except (BlockingIOError, BrokenPipeError):
                pass
        return made

    def slow(self, count, line):
        """Makes `count` clients that send requests until nothing more fits into the
        connection, and never read.
        """
        made = self.more(count)
        with selectors.DefaultSelector() as selector:
            for each in made:
                selector.register(each, selectors.EVENT_WRITE)
            full = 0
            while full < 3:  # for this many seconds the router took no byte
                full += 1
                for key, _ in selector.select(1):
                    try:
                        key.fileobj.send(line * 100)
                        full = 0
                    except BlockingIOError:
                        pass
        return made


def test_a_normal_client_notices_nothing_of_a_thousand_others(cluster, record_property):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2500:
        pytest.skip("fewer than 2,500 descriptors are allowed (ulimit -n)")
    create(cluster)
    with Client(cluster.unix) as client:
        assert (
            client.ask(
                f"CREATE big/a.rrd -b {START} -s 1 DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:2000"
            )
            == b"0 RRD created OK\n"
        )
        assert client.ask(
            f"FETCH big/a.rrd LAST {START - 2000} {START - 1}"
        ).startswith(b"200")
    pid = cluster.router.pid
    # an answer of about 50 KiB
    fetch = f"FETCH big/a.rrd LAST {START - 2000} {START - 1}\n".encode()
    grown = {}

    def measured(what, count, bytes_each):
        """Checks that updates continue and that the memory for these clients is
        bounded.
        """
        feed.more(3 * FILES, f"updates beside {count} {what}")
        now = resident(pid)
        grown[what] = (now - measured.last) // count
        measured.last = now
        assert grown[what] <= bytes_each, f"{count} {what}: {grown[what]} bytes each"

    with Feed(cluster) as feed:
        feed.more(20 * FILES, "updates")
        start, measured.last = descriptors(pid), resident(pid)
        with Crowd(cluster.unix) as crowd:
            crowd.more(300)
            measured("idle clients", 300, 64 << 10)
            crowd.more(150, b"UPDATE host00/v.rrd 17")
            measured("halves of a line", 150, 96 << 10)
            crowd.more(150, b"BATCH\n" + b"FLUSH none.rrd\n" * 50)
            measured("batches without an end", 150, 160 << 10)
            trickle = crowd.more(150)
            for byte in b"UPDATE host00/none.rrd 1700000000:1\nPI":
                for each in trickle:
                    each.send(bytes([byte]))
            measured("clients that send a byte at a time", 150, 96 << 10)
            crowd.slow(200, fetch)
            # one answer in the router's memory, one in the socket, and the requests
            # that were read ahead
            measured("clients that ask and never read", 200, 1 << 20)
            crowd.more(50, b"x" * (1 << 20))
            measured("lines without an end", 50, 1 << 20)
            assert descriptors(pid) > start + 900
            for _ in range(2000):
                with socket.socket(socket.AF_UNIX) as each:
                    each.settimeout(120)
                    each.connect(crowd.path)
            measured("clients that come and go", 2000, 8 << 10)
            # a normal client that connects now is served, too
            with Client(cluster.tcp) as client:
                assert client.ask("PING") == b"0 PONG\n"
                assert client.ask("LAST host00/v.rrd").startswith(b"0 17")
            for each in trickle[:10]:
                each.settimeout(120)
                each.sendall(b"NG\n")
                got = b""
                while not got.endswith(b"PONG\n"):
                    got += each.recv(1000)
                assert got.startswith(b"-1 No such file") and got.count(b"\n") == 2
        wait_for(
            lambda: descriptors(pid) <= start + 64, "the descriptors to be given back"
        )
        feed.more(3 * FILES, "updates afterwards")
    missing, copies = lost(cluster, feed.acknowledged)
    row(record_property, "1,000 idle and hostile clients", feed.acknowledged, missing)
    record_property(
        "memory",
        ", ".join(f"{what} {bytes_ >> 10} KiB each" for what, bytes_ in grown.items()),
    )
    assert feed.refused == {}
    assert copies == 2 * FILES and not missing, missing[:10]
    assert cluster.router_said(r".* is down.*") == []


def answers(cluster):
    """Returns whether a new client is answered."""
    try:
        with Client(cluster.unix) as client:
            return client.ask("PING") == b"0 PONG\n"
    except (OSError, AssertionError):
        return False  # it was disconnected


def test_a_router_without_descriptors_goes_on_with_the_clients_it_has(
    cluster, record_property
):
    create(cluster, names(8))
    pid = cluster.router.pid
    with Feed(cluster, names(8)) as feed:
        feed.more(400, "updates")
        most = descriptors(pid) + 50
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        with Crowd(cluster.unix) as crowd:
            crowd.more(most + 40)
            wait_for(
                lambda: cluster.router_said("no room for more"), "clients to be refused"
            )
            assert descriptors(pid) < most
            feed.more(400, "updates without a free descriptor")
        wait_for(lambda: answers(cluster), "room for a client again")
        feed.more(400, "updates afterwards")
    missing, copies = lost(cluster, feed.acknowledged)
    row(record_property, "no descriptor left in the router", feed.acknowledged, missing)
    assert copies == 16 and not missing and feed.refused == {}, (
        missing[:10],
        feed.refused,
    )


def test_silent_clients_stop_nobody_else(cluster):
    """They send three bytes and nothing more. There is room for others on every other
    listener, for status and for the servers, and after a while they are gone.
    """
    cluster.stop_router()
    cluster.start_router("--idle", "3")
    create(cluster, names(8))
    pid = cluster.router.pid
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (512, 512))
    host, port = cluster.tcp.rsplit(":", 1)
    with Crowd(cluster.unix) as crowd:
        crowd.more(1100, b"UPD")
        wait_for(
            lambda: cluster.router_said("no room for more"), "clients to be refused"
        )
        # on the listener where they are, a new client is told
        with socket.socket(socket.AF_UNIX) as late:
            late.settimeout(120)
            late.connect(crowd.path)
            told = late.recv(100)
        assert told == b"-1 too many connections; try again later\n" or not told
        # on the other one there is room
        with Client(f"{host}:{port}") as client:
            assert client.ask("PING") == b"0 PONG\n"
            cluster.backends["a1"].stop()
            cluster.backends["a1"].start()
            cluster.all_up(1)
            wait_for(
                lambda: len(cluster.router_said(r"backend a1 \(\S+ is up")) >= 2,
                "a server to be connected again",
            )
            asked = subprocess.run(
                [cluster.programs["stead-rrd"], "status", cluster.state],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            assert "backend" in asked.stdout, asked
        wait_for(lambda: answers(cluster), "the silent clients to be gone")


def test_a_fetch_of_everything_harms_nobody(cluster):
    """rrdcached makes a row for each step of the requested time. For nine years of
    seconds it takes all the memory there is.
    """
    with Client(cluster.unix) as client, Client(cluster.single.address) as single:
        for each in (client, single):
            assert (
                each.ask(
                    f"CREATE a/v.rrd -b {START} -s 1 DS:v:GAUGE:60:U:U "
                    "DS:w:GAUGE:60:U:U RRA:LAST:0.5:1:2000 RRA:LAST:0.5:60:2000"
                )
                == b"0 RRD created OK\n"
            )
        for verb in ("FETCH", "FETCHBIN"):
            for time in (
                f"{START} 2000000000",
                f"{START} 0x77359400",
                f"{START} 99999999999999999999",
                "1",
                f"-{START} -1",
            ):
                said = client.ask(
                    f"{verb} a/v.rrd {'MIN' if verb == 'FETCH' else 'LAST'} {time}"
                )
                assert re.match(
                    rb"-1 \d+ values from \d+ to \d+; at most 4194304 in one answer: "
                    rb"ask for a shorter time\n",
                    said,
                ), (time, said)
        # a large answer within the limit comes as rrdcached gives it
        for verb in ("FETCH", "FETCHBIN"):
            for rest in (
                f"LAST {START} {START + 100_000}",
                f"LAST {START - 8_000_000} {START}",
                f"MIN {START} {START + 100_000} w",
            ):
                said = client.ask(f"{verb} a/v.rrd {rest}")
                assert (
                    said == single.ask(f"{verb} a/v.rrd {rest}") and len(said) > 500_000
                ), rest
    assert cluster.router_said(r".* is down.*") == []


def test_a_batch_in_which_all_fails_leaves_no_memory_behind(cluster, record_property):
    """The answer names each line. Its text is not kept for all of them."""
    rounds, lines, before = 3, 1_000_000, []
    with Client(cluster.tcp) as client:
        # once before the measurement, for what a router keeps for its own use
        assert client.batch(["bogus"] * 1000).startswith(b"1000 errors\n1 Unknown")
        for _ in range(rounds):
            before.append(resident(cluster.router.pid))
            said = client.batch(["bogus"] * lines).splitlines()
            assert said[0] == b"%d errors" % lines and len(said) == lines + 1
            assert said[1] == b"1 Unknown command: bogus"
            assert said[-1].startswith(b"%d an error; " % lines)
            assert all(
                line.startswith(b"%d " % number)
                for number, line in enumerate(said[1:], 1)
            )
    before.append(resident(cluster.router.pid))
    record_property(
        "memory",
        f"{[size // 1024 for size in before]} KiB, before and after {lines} failures each",
    )
    # what glibc keeps settles at 20 MiB; the texts of a million lines would be over 48
    assert max(before) < before[0] + 32 * MIB, before


def test_clients_that_fetch_much_and_never_read_are_not_waited_for(cluster):
    cluster.stop_router()
    cluster.start_router("--timeout", "3")
    with Client(cluster.unix) as client:
        assert (
            client.ask(
                f"CREATE a/v.rrd -b {START} -s 1 DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:2000"
            )
            == b"0 RRD created OK\n"
        )
        fetch = f"FETCH a/v.rrd LAST {START} {START + 1_000_000}\n"  # about 25 MiB
        before = resident(cluster.router.pid)
        crowd = [Client(cluster.unix) for _ in range(12)]
        try:
            for each in crowd:
                each.send(fetch)
            most = 0

            def served():
                nonlocal most
                most = max(most, resident(cluster.router.pid))
                return client.ask(fetch.strip()).startswith(b"1000")

            wait_for(served, "a large answer for a client that reads")
        finally:
            for each in crowd:
                each.__exit__()
    # four of them at once, each with the room that a growing buffer takes
    assert most - before < 12 * (25 << 20), (most, before)
    assert cluster.router_said(r".* is down.*") == []

"""Real clients on the router: what they see and what they leave on disk, compared with
one rrdcached that gets the same input.
"""

import random
import shutil
import signal
import subprocess

import pytest
from rrd_copies import comparable, differing, equal
from rrd_servers import Client, free_port, wait_for

START = 1_700_000_000
SOURCES = (
    f"-b {START} -s 60 DS:in:GAUGE:120:U:U DS:out:DERIVE:120:0:U RRA:AVERAGE:0.5:1:50 "
    "RRA:MAX:0.5:5:20"
)
FILES = 500


def names():
    """Returns the files: some hosts with ten each, one with a blank in its name."""
    return [
        f"host{number // 10:03}/value{number % 10}.rrd" for number in range(FILES - 1)
    ] + ["host000/with blank.rrd"]


def escaped(name):
    return name.replace(" ", "\\ ")


def feed(seed):
    """Returns BATCHes of updates: four for every file, in a random order of files, some
    with more than one value.
    """
    choice = random.Random(seed)
    time = {name: START for name in names()}
    for _ in range(4):
        lines = []
        for name in choice.sample(names(), FILES):
            values = []
            for _ in range(choice.choice((1, 1, 3))):
                time[name] += choice.randrange(1, 90)
                values.append(
                    f"{time[name]}:{choice.randrange(1000)}:{choice.randrange(10**6)}"
                )
            lines.append(f"UPDATE {escaped(name)} {' '.join(values)}")
        yield lines


def rrdtool(address, *words):
    """Returns rrdtool's output and its exit code."""
    done = subprocess.run(
        ["rrdtool", *map(str, words), "--daemon", address],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return (
        done.returncode,
        comparable(done.stdout),
        done.stderr.replace(address.encode(), b"ADDRESS"),
    )


def fill(client, batches):
    """Creates all files one by one and feeds the batches."""
    for name in names():
        assert client.ask(f"CREATE {escaped(name)} {SOURCES}") == b"0 RRD created OK\n"
    for lines in batches:
        assert client.batch(lines) == b"0 errors\n"


def unequal(cluster):
    """Flushes everything. Returns the copies that differ from the file of `single`, and
    how many copies there are.
    """
    for address in (cluster.unix, cluster.single.address):
        with Client(address) as client:
            for name in names():
                assert client.ask(f"FLUSH {escaped(name)}").startswith(b"0 "), name
    return differing(cluster, names())


def test_every_copy_of_every_file_is_what_one_rrdcached_makes(cluster, record_property):
    with Client(cluster.tcp) as routed, Client(cluster.single.address) as single:
        for client in (routed, single):
            fill(client, feed(1))
        # one by one, without waiting; the answers come in order
        last = [
            f"UPDATE {escaped(name)} {START + 5000}:{number}:{number}"
            for number, name in enumerate(names())
        ]
        for client in (routed, single):
            for at in range(0, FILES, 200):
                client.send("".join(f"{line}\n" for line in last[at : at + 200]))
                for line in last[at : at + 200]:
                    assert client.reply() == b"0 errors, enqueued 1 value(s).\n", line
    wrong, copies = unequal(cluster)
    record_property("copies compared", copies)
    assert (wrong, copies) == ([], 2 * FILES)

    places = cluster.located(names())
    for name in names():
        has = sorted(
            backend
            for backend, server in cluster.backends.items()
            if (server.base / name).exists()
        )
        assert has == sorted(places[name])
        assert [backend[0] for backend in has] == ["a", "b"], (
            f"{name} is twice in one zone"
        )

    # the control: one more update without the router must show
    name, backend = names()[7], places[names()[7]][1]
    with Client(cluster.backends[backend].address) as client:
        assert client.ask(f"UPDATE {name} {START + 9000}:1:1").startswith(b"0 ")
    assert unequal(cluster)[0] == [(name, backend)]


@pytest.mark.parametrize("way", ["tcp", "unix"])
def test_rrdtool_gets_the_same_answers(cluster, way):
    """Paths are relative over TCP. Over the unix socket they are absolute, because
    rrdtool makes them so.
    """
    routed = getattr(cluster, way)
    single = cluster.single.address
    path = (
        (lambda name: str(cluster.base / name))
        if way == "unix"
        else (lambda name: name)
    )
    if way == "tcp":
        # rrdtool treats the two kinds of address differently, so `single` must listen
        # on TCP, too
        cluster.single.stop()
        single = cluster.single.address = f"127.0.0.1:{free_port()}"
        cluster.single.start()
    asked = 0

    def same(*words, code=0):
        nonlocal asked
        asked += 1
        answers = [rrdtool(address, *words) for address in (routed, single)]
        assert answers[0] == answers[1], words
        assert answers[0][0] == code, answers[0]
        return answers[0][1]

    for number in range(6):
        file = path(f"c{number}/load.rrd")
        # over a unix socket rrdtool looks for the directory itself
        (cluster.base / f"c{number}").mkdir(exist_ok=True)
        same("create", file, *SOURCES.split())
        same("create", file, "--no-overwrite", *SOURCES.split(), code=1)
        for minute in range(1, 5):
            same(
                "update",
                file,
                f"{START + 60 * minute}:{minute}:{minute * number}",
                f"{START + 60 * minute + 30}:1:{minute * number + 1}",
            )
        same("update", file, f"{START}:1:1", code=1)
        assert b": 2.1666666667e+00 " in same(
            "fetch", file, "MAX", "-s", START, "-e", START + 600
        )
        same("fetch", file, "AVERAGE", "-s", START, "-e", START + 300)
        assert same("info", file)
        assert int(same("last", file)) == (START + 270) // 60 * 60
        same("first", file)
        same("flushcached", file)
    same("update", path("c0/none.rrd"), f"{START + 60}:1:1", code=1)
    same("fetch", path("c0/none.rrd"), "AVERAGE", code=1)
    same("last", path("c0/none.rrd"), code=1)
    same("info", path("c0/none.rrd"), code=1)
    listed = [
        sorted(rrdtool(address, "list", "/")[1].split()) for address in (routed, single)
    ]
    assert listed[0] == listed[1] == [f"c{number}".encode() for number in range(6)]
    assert sorted(rrdtool(routed, "list", "--recursive", "/")[1].split()) == [
        f"c{number}/load.rrd".encode() for number in range(6)
    ]
    graph = ["graph", cluster.place / "graph.png", "-s", START, "-e", START + 300]
    drawn = []
    for address in (routed, single):
        code, _, error = rrdtool(
            address, *graph, f"DEF:x={path('c1/load.rrd')}:in:AVERAGE", "LINE1:x#ff0000"
        )
        assert code == 0, error
        drawn.append((cluster.place / "graph.png").read_bytes())
    assert drawn[0] == drawn[1] and drawn[0].startswith(b"\x89PNG")
    assert asked > 60


def test_replies_are_those_of_one_rrdcached_to_the_byte(cluster):
    base = cluster.base
    requests = f"""
        create c/a.rrd {SOURCES}|create c/a.rrd -O {SOURCES}|update c/a.rrd {START + 60}:1:2 {START + 120}:2:3|update c/a.rrd {START + 60}:1:2
        UpDaTe {base}/c/a.rrd {START + 180}:1:2|update c/a.rrd|update|update c/a.rrd abc|update c/a.rrd {START + 999}
        update c/none.rrd {START}:1:1|update ../c/a.rrd {START}:1|update c/../c/a.rrd {START}:1|update /etc/a.rrd {START}:1|pending c/a.rrd
        pending c/none.rrd|flush c/a.rrd|flush c/none.rrd|flush|last c/a.rrd|last c/none.rrd|first c/a.rrd 0|first c/a.rrd 1|first c/none.rrd 0
        info c/a.rrd|info c/none.rrd|fetch c/a.rrd AVERAGE {START} {START + 300}|fetch c/a.rrd NONE|fetch c/none.rrd AVERAGE|fetch|info|forget
        fetchbin c/a.rrd AVERAGE {START} {START + 300}|flushall|ping|PING x|help|queue|bogus|wrote c/a.rrd 1:2||.|list c|list /|list /c|list RECURSIVE /|list /none
        create c/sp\\ ace.rrd {SOURCES}|update c/sp\\ ace.rrd {START + 60}:1:1|pending c/sp\\ ace.rrd|update c/a.rrd {START + 600}:1:1\r|forget c/a.rrd|forget c/none.rrd
        suspend c/sp\\ ace.rrd|resume c/sp\\ ace.rrd"""
    lines = [
        line.lstrip(" ")
        for row in requests.split("\n")[1:]
        for line in row.strip(" ").split("|")
    ]
    differ = {}
    with Client(cluster.tcp) as routed, Client(cluster.single.address) as single:
        for line in lines:
            answers = [
                comparable(client.ask(f"{line}\n".encode()))
                for client in (routed, single)
            ]
            if line.startswith("wrote"):
                assert all(answer.startswith(b"-1 ") for answer in answers)
            elif answers[0] != answers[1]:
                differ[line] = answers
        # here rrdcached keeps two queues for one file and loses the values of one; for
        # the router it is one file
        assert (
            routed.ask(f"UPDATE c//./a.rrd {START + 1200}:1:2")
            == b"0 errors, enqueued 1 value(s).\n"
        )
        assert routed.ask("PENDING c/a.rrd").endswith(f"{START + 1200}:1:2\n".encode())
    assert not differ
    assert len(lines) > 50


def test_a_batch_names_the_clients_own_lines(cluster):
    lines = []
    for number in range(3000):
        host = number % 50
        kinds = {
            0: f"UPDATE h{host}/a.rrd {START + number + 60}:1:1",
            1: f"update h{host}/none.rrd {START}:1:1",
            2: f"FLUSH h{host}/a.rrd"
            if number % 100 == 2
            else f"UPDATE h{host}/a.rrd {START + number + 60}:U:U",
            3: "" if number % 2 else f"FETCH h{host}/a.rrd AVERAGE",
            4: f"UPDATE h{host}/a.rrd {START}:1:1",
        }
        lines.append(kinds[number % 7 if number % 7 < 5 else 0])
    replies = []
    for address in (cluster.unix, cluster.single.address):
        with Client(address) as client:
            created = [f"CREATE h{host}/a.rrd {SOURCES}" for host in range(50)]
            assert client.batch(created) == b"0 errors\n"
            replies.append(client.batch(lines))
            assert client.ask("PING") == b"0 PONG\n"
    assert replies[0] == replies[1]
    assert int(replies[0].split()[0]) > 1000


def test_a_backend_that_comes_back_has_what_it_missed(cluster, record_property):
    """kill -9 loses what the backend had in memory and what came while it was down.
    Reads continue, and in the end all copies are equal.
    """
    away = cluster.backends["b2"]
    with Client(cluster.tcp) as routed, Client(cluster.single.address) as single:
        batches = list(feed(2))
        for client in (routed, single):
            fill(client, batches[:2])
        away.stop(9)
        wait_for(
            lambda: cluster.router_said(r"backend b2 \(\S+ is down"),
            "b2 to be seen as down",
        )
        for client in (routed, single):
            for lines in batches[2:]:
                assert client.batch(lines) == b"0 errors\n"
        mine = [
            name
            for name, places in cluster.located(names()).items()
            if places[0] == "b2"
        ][:50]
        assert mine
        for name in mine:
            assert routed.ask(f"LAST {escaped(name)}") == single.ask(
                f"LAST {escaped(name)}"
            )
        # the control: it did lose updates
        for name in mine:
            assert single.ask(f"FLUSH {escaped(name)}").startswith(b"0 ")
        lost = [
            name
            for name in mine
            if not equal(away.base / name, cluster.single.base / name)
        ]
        assert lost
        away.start()
        wait_for(
            lambda: len(cluster.router_said(r"backend b2 \(\S+ is up")) == 2,
            "b2 to be up again",
        )
    wrong, copies = unequal(cluster)
    record_property("copies compared", copies)
    assert (wrong, copies) == ([], 2 * FILES)


def test_what_waits_in_a_backend_is_flushed_by_the_router(cluster):
    """This allows the log to drop the update. The servers themselves would keep it in
    memory for an hour.
    """
    name = "c/a.rrd"

    def has(backend):
        info = subprocess.run(
            ["rrdtool", "info", cluster.backends[backend].base / name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return f"last_update = {START + 60}\n" in info

    with Client(cluster.tcp) as client:
        assert client.ask(f"CREATE {name} {SOURCES}") == b"0 RRD created OK\n"
        assert client.ask(f"UPDATE {name} {START + 60}:1:1").startswith(b"0 ")
        places = cluster.located([name])[name]
        assert not any(map(has, places))  # the control: nobody else flushes it
    cluster.stop_router()
    cluster.start_router("--flush-after", "0", "--sync-after", "0")
    with Client(cluster.tcp) as client:
        # this repetition is refused; a new update brings both to disk
        assert client.ask(f"UPDATE {name} {START + 60}:1:1").startswith(
            b"-1 illegal attempt"
        )
        assert client.ask(f"UPDATE {name} {START + 61}:1:1").startswith(b"0 ")
    for backend in places:
        wait_for(
            lambda backend=backend: (
                f"{START + 61}"
                in subprocess.run(
                    ["rrdtool", "last", cluster.backends[backend].base / name],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            ),
            f"{backend} to have it on disk",
        )


def test_a_listener_takes_only_what_it_is_allowed(cluster):
    cluster.stop_router()
    # for the listener before it, on TCP
    cluster.start_router("--allow", "UPDATE,batch")
    with Client(cluster.unix) as all_of_it, Client(cluster.tcp) as some:
        assert all_of_it.ask(f"CREATE c/a.rrd {SOURCES}") == b"0 RRD created OK\n"
        assert some.ask(f"UPDATE c/a.rrd {START + 60}:1:1").startswith(b"0 ")
        assert some.ask("FLUSH c/a.rrd").startswith(b"-1 Permission denied")
        refused = some.batch([f"UPDATE c/a.rrd {START + 120}:1:1", "FORGET c/a.rrd"])
        assert refused == b"1 errors\n2 Permission denied.\n"
        assert all_of_it.ask("PENDING c/a.rrd").startswith(b"2 ")


def test_what_concerns_every_client_has_to_be_allowed_by_name(cluster):
    def asked(address, verb):
        with Client(address) as client:
            return client.ask(verb), client.batch([verb])

    for verb in ("SUSPENDALL", "resumeall"):
        for address in (cluster.unix, cluster.tcp):
            said, batch = asked(address, verb)
            hint = f"--allow DEFAULT,{verb.upper()}".encode()
            assert said.startswith(b"-1 Permission denied: ") and hint in said, said
            assert batch.startswith(b"1 errors\n1 Permission denied: "), batch
    cluster.stop_router()
    cluster.start_router("--allow", "DEFAULT,SUSPENDALL,resumeall")
    for verb in ("SUSPENDALL", "RESUMEALL"):
        assert asked(cluster.unix, verb)[0].startswith(b"-1 ")
        assert asked(cluster.tcp, verb)[0].startswith(b"0 ")
        assert asked(cluster.tcp, verb)[1] == b"0 errors\n"
    # one file may be suspended by everybody
    with Client(cluster.unix) as client:
        assert client.ask(f"CREATE c/a.rrd {SOURCES}") == b"0 RRD created OK\n"
        assert client.ask(f"UPDATE c/a.rrd {START + 60}:1:1").startswith(b"0 ")
        assert client.ask("SUSPEND c/a.rrd").startswith(b"0 ")
        assert client.ask("RESUME c/a.rrd").startswith(b"0 ")


def test_a_file_may_be_on_a_server_that_is_not_up(cluster):
    with Client(cluster.unix) as client:
        assert client.ask(f"CREATE c/a.rrd {SOURCES}") == b"0 RRD created OK\n"
        gone, left = cluster.located(["c/a.rrd"])["c/a.rrd"]
        questions = ("LAST", "INFO", "FETCH", "FLUSH")

        def asked(verb, name):
            return client.ask(f"{verb} {name}" + " AVERAGE -60" * (verb == "FETCH"))

        # the servers of a file that nobody has are up: it does not exist
        for verb in questions:
            assert b"No such file" in asked(verb, "c/none.rrd")
        (cluster.backends[left].base / "c/a.rrd").unlink()
        cluster.backends[gone].stop(signal.SIGKILL)
        wait_for(lambda: cluster.router_said(f"backend {gone} .* is down"), "it to go")
        for verb in questions:
            said = asked(verb, "c/a.rrd")
            assert said.startswith(b"-1 ") and said.endswith(
                f": not all of its servers are up ({gone}), and the others lack it; "
                "try again later\n".encode()
            ), (verb, said)


def test_the_files_of_a_host_stay_together_by_the_key_rule(cluster):
    """With `key = "first 1 segments"` in the fleet, the router and `stead locate` place
    a whole host by its name.
    """
    hosts = [f"host{number:03}" for number in range(40)]
    files = [f"{host}/value{number}.rrd" for host in hosts for number in range(5)]
    # the control: without the rule, the files of a host are spread
    apart = cluster.located(files)
    assert (
        len({tuple(apart[f"{hosts[0]}/value{number}.rrd"]) for number in range(5)}) > 1
    )
    cluster.stop_router()
    # a new fleet, because the rule of a map never changes
    cluster.map = cluster.place / "hosts.map"
    cluster.publish(rule='key = "first 1 segments"')
    shutil.rmtree(cluster.state)
    cluster.start_router()
    with Client(cluster.unix) as client:
        for name in files:
            assert (
                client.ask(
                    f"CREATE /{cluster.base}/{name} {SOURCES}".replace("//", "/")
                )
                == b"0 RRD created OK\n"
            )
            assert client.ask(f"UPDATE .//{name} {START + 60}:1:1").startswith(b"0 ")
    located = cluster.located(files)
    for name in files:
        host = name.split("/")[0]
        assert located[name] == located[f"{host}/value0.rrd"]
        assert {
            backend
            for backend, server in cluster.backends.items()
            if (server.base / name).exists()
        } == set(located[name])

"""Nodes are added and removed while clients write and read. Files move by the plan, no
update is lost, and every read gets an answer.
"""

import collections
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest
from rrd_copies import dumped, equal
from rrd_feed import START, Feed, create, lost, names, row, update
from rrd_servers import Client, Rrdcached, free_port, wait_for

STILL = 400
SOURCES = (
    f"-b {START} -s 60 DS:in:GAUGE:120:U:U RRA:AVERAGE:0.5:1:600 RRA:MAX:0.5:10:600"
)


def still_names():
    """Returns files that nobody updates while they move. One has a blank in its name,
    and one does not end in .rrd.
    """
    return [f"still{i // 10:02}/v{i % 10}.rrd" for i in range(STILL - 2)] + [
        "still00/with blank.rrd",
        "still00/no-suffix",
    ]


def fill(cluster):
    """Makes the files that do not change, each with a history of its own."""
    with Client(cluster.unix) as client:
        for number, name in enumerate(still_names()):
            name = name.replace(" ", "\\ ")
            assert client.ask(f"CREATE {name} {SOURCES}") == b"0 RRD created OK\n"
            values = " ".join(
                f"{START + 60 * step}:{number + step % 7}" for step in range(1, 60)
            )
            assert client.ask(f"UPDATE {name} {values}").startswith(b"0 "), name


class Reader:
    """Asks for the last time of one file after the other. It must never get an error,
    nor a time before the one that was acknowledged when it asked.
    """

    def __init__(self, cluster, feed):
        self.cluster, self.feed, self.ended, self.looks, self.wrong = (
            cluster,
            feed,
            False,
            0,
            [],
        )
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()

    def run(self):
        choice = random.Random(1)
        still = still_names()
        with Client(self.cluster.tcp) as client:
            while not self.ended:
                name, times = choice.choice(list(self.feed.acknowledged.items()))
                least = times[-1] if times else START
                said = client.ask(f"LAST {name}")
                if not said.startswith(b"0 ") or int(said.split()[1]) < least:
                    self.wrong.append((name, least, said))
                name = choice.choice(still).replace(" ", "\\ ")
                said = client.ask(f"FETCH {name} AVERAGE {START} {START + 3600}")
                if (
                    not said.split(b" ", 1)[1].startswith(b"Success")
                    or said.count(b"nan") > 3
                ):
                    self.wrong.append((name, said))
                self.looks += 2


def add(cluster, name, by_agent):
    """Starts one more rrdcached, which no map contains yet."""
    server = Rrdcached(cluster.place / name, f"127.0.0.1:{free_port()}")
    server.start()
    if by_agent:
        server.start_agent(cluster.programs)
    cluster.backends[name] = server


def move(cluster, *options):
    """Runs `stead-rrd move`. Returns its exit code and its output."""
    command = [cluster.programs["stead-rrd"], "move", cluster.state, *options]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def status(cluster):
    """Returns the output of `stead-rrd status --json`."""
    done = subprocess.run(
        [cluster.programs["stead-rrd"], "status", cluster.state, "--json"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)


def publish(cluster, nodes):
    """Publishes a new map, so that the router serves by both. Returns where the files
    were and where they must go.
    """
    every = [*names(), *still_names()]
    old = cluster.located(every)
    plan = cluster.publish(nodes)
    epoch = status(cluster)["epoch"]
    wait_for(
        lambda: status(cluster)["next_epoch"] == epoch + 1,
        "the router to take the map up",
    )
    return old, cluster.located(every), plan


def placed(cluster):
    """Returns for each file the backends that have it."""
    found = collections.defaultdict(set)
    for name, server in cluster.backends.items():
        for directory, _, files in os.walk(server.base):
            for file in files:
                found[os.path.relpath(os.path.join(directory, file), server.base)].add(
                    name
                )
    return found


def check(cluster, new):
    """Checks that every file is where the map places it and nowhere else, and that its
    copies are equal.
    """
    assert placed(cluster) == {name: set(nodes) for name, nodes in new.items()}
    for name in new:
        with Client(cluster.unix) as client:
            assert client.ask("FLUSH " + name.replace(" ", "\\ ")).startswith(b"0 ")
    for name, nodes in new.items():
        places = [cluster.backends[node].base / name for node in nodes]
        if not equal(*places):
            pytest.fail(
                "\n".join(
                    difflib.unified_diff(
                        *(dumped(place).decode().splitlines() for place in places),
                        *(f"{name} at {node}" for node in nodes),
                        n=0,
                        lineterm="",
                    )
                )
            )


def copies(old, new):
    """Returns the copies that have to be made, as (file, backend)."""
    return {(name, node) for name in old for node in set(new[name]) - set(old[name])}


@pytest.fixture
def filled(cluster):
    """Returns a cluster with files. Two backends offer theirs through agents."""
    cluster.stop_router()
    for name in ("a2", "b2"):
        cluster.backends[name].start_agent(cluster.programs)
    cluster.publish()
    cluster.start_router()
    create(cluster)
    fill(cluster)
    return cluster


def test_nodes_come_and_go_under_load(filled, record_property):
    with Feed(filled) as feed, Reader(filled, feed) as reader:
        # a router with nothing to move says so
        code, said = move(filled)
        assert not code and "no file has to move" in said, said
        for what, nodes, agents in (
            (
                "two added",
                ["a1", "a2", "a3", "b1", "b2", "b3"],
                {"a3": False, "b3": True},
            ),
            ("one removed", ["a2", "a3", "b1", "b2", "b3"], {}),
        ):
            for name, by_agent in agents.items():
                add(filled, name, by_agent)
            old, new, plan = publish(filled, nodes)
            count, looks = feed.count(), reader.looks
            # before anything has moved, the router reads from and writes to both
            wait_for(
                lambda count=count, looks=looks: (
                    feed.count() > count + 50 and reader.looks > looks + 50
                ),
                "updates and looks",
            )
            code, said = move(filled)
            assert code == 0, (said, (filled.place / "router").read_text())
            assert status(filled)["next_epoch"] is None
            feed.more(50, "updates")
            needed = copies(old, new)
            record_property(
                "files",
                f"{what}: {len(needed)} copies carried of {2 * len(old)}, "
                f"{100 * len(needed) / (2 * len(old)):.1f} %; {plan.splitlines()[-1]}",
            )
            check_places = placed(filled)
            assert check_places == {name: set(places) for name, places in new.items()}
    assert not reader.wrong, reader.wrong[:5]
    assert not feed.refused, feed.refused
    missing, found = lost(filled, feed.acknowledged)
    row(
        record_property,
        "two nodes added and one removed, files moving",
        feed.acknowledged,
        missing,
    )
    record_property("looks", reader.looks)
    assert (missing, found) == ([], 2 * len(feed.acknowledged))
    check(filled, new)
    # the router no longer knows the removed backend
    assert "a1" not in [backend["name"] for backend in status(filled)["backends"]]


@pytest.mark.parametrize("what", ["router", "mover", "agent", "target", "source"])
def test_a_move_that_was_interrupted_goes_on_by_itself(filled, what, record_property):
    choice = random.Random(what)
    add(filled, "a3", False)
    old, new, _ = publish(filled, ["a1", "a2", "a3", "b1", "b2"])
    needed = copies(old, new)

    def mover(*options):
        command = [filled.programs["stead-rrd"], "move", filled.state, *options]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    with Feed(filled) as feed:
        # slow enough to be interrupted in the middle
        running = mover("--rate", "1")
        for _ in range(3):
            goal = len(placed_at(filled, "a3")) + choice.randrange(5, 20)
            wait_for(
                lambda goal=goal: len(placed_at(filled, "a3")) >= goal,
                "files to move",
            )
            assert (filled.state / "moving").read_text() == f"3 {1 << 20}\n"
            strike(filled, what, running)
            if what == "mover":
                running.communicate()
                # it joins the one that goes on, with its rate
                running = mover()
        wait_for(
            lambda: status(filled)["next_epoch"] is None, "the move to end by itself"
        )
        said = running.communicate()[0]
    # without a router, it cannot tell how the move went on
    assert running.returncode == {"router": 69}.get(what, 0), said
    assert not (filled.state / "moving").exists()
    missing, found = lost(filled, feed.acknowledged)
    row(
        record_property,
        f"kill -9 of the {what} three times while files move",
        feed.acknowledged,
        missing,
    )
    assert (missing, found) == ([], 2 * len(feed.acknowledged))
    assert len(needed) == len(placed_at(filled, "a3"))
    check(filled, new)


def test_what_a_source_kept_while_it_was_down_is_removed_when_it_is_back(filled):
    """The last files have moved away from a server that is down just then."""
    add(filled, "a3", False)
    old, new, _ = publish(filled, ["a1", "a2", "a3", "b1", "b2"])
    needed = copies(old, new)
    left = {name for name in old if "a1" in old[name] and "a1" not in new[name]}
    source = filled.backends["a1"]
    source.stop(signal.SIGKILL)
    running = subprocess.Popen(
        [filled.programs["stead-rrd"], "move", filled.state],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(lambda: len(placed_at(filled, "a3")) == len(needed), "all files to move")
    assert left and all((source.base / name).exists() for name in left)
    source.start()
    said = running.communicate()[0]
    assert running.returncode == 0, said
    assert not [name for name in left if (source.base / name).exists()]
    check(filled, new)


def test_a_move_is_no_success_while_a_later_epoch_waits(filled):
    """Whoever then stops a server that the later epoch drains would stop it with its files."""
    add(filled, "a3", False)
    publish(filled, ["a1", "a2", "a3", "b1", "b2"])
    running = subprocess.Popen(
        [filled.programs["stead-rrd"], "move", filled.state, "--rate", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(lambda: placed_at(filled, "a3"), "the move to begin")
    filled.publish(["a2", "a3", "b1", "b2"])
    wait_for(lambda: status(filled)["waiting_epoch"] == 4, "the epoch to wait")
    said = running.communicate()[0]
    assert running.returncode == 1, said
    end = ": done; epoch 4 has come meanwhile: run this again to move its files\n"
    assert said.endswith(end), said
    wait_for(lambda: status(filled)["next_epoch"] == 4, "the epoch to be taken up")
    code, said = move(filled)
    assert code == 0 and said.endswith(": done\n"), said
    assert not placed_at(filled, "a1")


def test_a_move_that_failed_is_tried_again_by_itself(filled):
    """It ends after half a minute of attempts, and the router begins it again 10 seconds
    later.
    """
    add(filled, "a3", True)
    _, new, _ = publish(filled, ["a1", "a2", "a3", "b1", "b2"])
    target = filled.backends["a3"]
    target.stop_agent(signal.SIGKILL)
    code, said = move(filled)
    assert code == 1 and "cannot connect" in said, said
    assert said.endswith(
        ": not done; the router tries again by itself until it is, or "
        "until you run this again and stop it with Ctrl-C\n"
    ), said
    found = status(filled)
    assert found["move_goes_on"] and found["next_epoch"] and found["moving"]["ended"]
    page = subprocess.run(
        [filled.programs["stead-rrd"], "status", filled.state],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout
    assert "the move was interrupted and goes on by itself: " in page, page
    assert filled.router_said(r"is not done: .*; it goes on by itself in \d+ s")
    target.start_agent(filled.programs)
    wait_for(lambda: status(filled)["next_epoch"] is None, "the move to be done")
    assert filled.router_said("the move to epoch 3 goes on by itself")
    check(filled, new)


def test_a_target_that_dies_with_the_router_gets_what_was_for_it(filled):
    """From the moment that files are to move to a new server, the log keeps its
    records, also across a restart of the router.
    """
    add(filled, "a3", False)
    _, new, _ = publish(filled, ["a1", "a2", "a3", "b1", "b2"])
    mover = subprocess.Popen(
        [filled.programs["stead-rrd"], "move", filled.state, "--rate", "1"],
        stdout=subprocess.DEVNULL,
    )
    wait_for(lambda: len(placed_at(filled, "a3")) >= 10, "files to move")
    os.kill(mover.pid, signal.SIGKILL)
    mover.wait()
    acknowledged = {name: [] for name in names() if "a3" in new[name]}
    with Client(filled.unix) as client:
        update(client, acknowledged, 1, 11)
    filled.stop_router(signal.SIGKILL)
    filled.backends["a3"].stop(signal.SIGKILL)
    filled.backends["a3"].start()
    filled.start_router()
    wait_for(
        lambda: all(backend["state"] == "up" for backend in status(filled)["backends"]),
        "all to be up",
    )
    code, said = move(filled)
    assert code == 0, said
    missing, found = lost(filled, acknowledged)
    assert (missing, found) == ([], 2 * len(acknowledged))
    check(filled, new)


def placed_at(cluster, name):
    """Returns the files of one backend, without those that are being written."""
    base = cluster.backends[name].base
    return [
        file
        for _, _, files in os.walk(base)
        for file in files
        if file.endswith((".rrd", "no-suffix"))
    ]


def strike(cluster, what, mover):
    """Kills with kill -9 and restarts what was killed."""
    if what == "router":
        cluster.stop_router(signal.SIGKILL)
        cluster.start_router()
    elif what == "mover":
        os.kill(mover.pid, signal.SIGKILL)
    elif what == "agent":
        cluster.backends["a2"].stop_agent(signal.SIGKILL)
        time.sleep(0.2)
        cluster.backends["a2"].start_agent(cluster.programs)
    else:
        server = cluster.backends["a3" if what == "target" else "a1"]
        server.stop(signal.SIGKILL)
        time.sleep(0.2)
        server.start()
        wait_for(
            lambda: all(
                backend["state"] == "up" for backend in status(cluster)["backends"]
            ),
            "all to be up",
        )


def test_a_backend_is_given_its_files_again(filled):
    """Some files are old, as after a disk was restored. The router cannot know that and
    has to be told to repair them.
    """
    victim = filled.backends["b1"]
    code, said = repair(filled, "b9")
    assert code and "b9" in said
    mine = [
        name for name, places in filled.located(still_names()).items() if "b1" in places
    ]
    with Client(filled.unix) as client:
        for name in mine:
            assert client.ask("FLUSH " + name.replace(" ", "\\ ")).startswith(b"0 ")
    stale = {name: (victim.base / name).read_bytes() for name in mine}
    with Client(filled.unix) as client:
        for name in mine:
            assert client.ask(
                f"UPDATE {name} {START + 7200}:5".replace("with blank", "with\\ blank")
            ).startswith(b"0 ")
            assert client.ask("FLUSH " + name.replace(" ", "\\ ")).startswith(b"0 ")
    for name, before in stale.items():
        assert (victim.base / name).read_bytes() != before
        (victim.base / name).write_bytes(before)
    code, said = repair(filled, "b1")
    assert code == 0, said
    check(filled, filled.located([*names(), *still_names()]))
    for name, before in stale.items():
        assert (victim.base / name).read_bytes() != before


def repair(cluster, node):
    """Runs `stead-rrd repair`. Returns its exit code and its output."""
    done = subprocess.run(
        [cluster.programs["stead-rrd"], "repair", cluster.state, node],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_graph_has_no_gap_before_during_and_after_a_move(filled, place):
    """A graph of files that have moved and of some that have not stays equal byte for
    byte.
    """

    def graph(when):
        file = place / f"{when}.png"
        lines = []
        for number, name in enumerate(still_names()[:40:4]):
            lines += [
                f"DEF:v{number}={name}:in:AVERAGE",
                f"LINE1:v{number}#{number * 25:02x}40{255 - number * 25:02x}",
            ]
        command = [
            "rrdtool",
            "graph",
            file,
            "--daemon",
            filled.tcp,
            "-s",
            str(START),
            "-e",
            str(START + 3600),
            "-w",
            "600",
            "-h",
            "200",
            *lines,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return file.read_bytes()

    before = graph("before")
    add(filled, "a3", False)
    add(filled, "b3", False)
    old, new, _ = publish(filled, ["a1", "a2", "a3", "b1", "b2", "b3"])
    shown = {name for name, _ in copies(old, new)} & set(still_names()[:40:4])
    assert shown
    mover = subprocess.Popen(
        [filled.programs["stead-rrd"], "move", filled.state, "--rate", "3"],
        stdout=subprocess.DEVNULL,
    )
    during = 0
    while mover.poll() is None:
        assert graph("during") == before
        during += 1
    assert mover.returncode == 0 and during > 1
    assert graph("after") == before
    check(filled, new)
    # the control: one more value gives another picture
    with Client(filled.unix) as client:
        assert client.ask(
            f"UPDATE {min(shown)} {START + 3601}:900 {START + 3720}:900"
        ).startswith(b"0 ")
    assert graph("control") != before


def test_a_copy_that_is_not_finished_is_not_read(filled):
    """One of two new servers has a copy already, and the move of the file is not
    recorded, as after a router was killed. The copy lacks what was acknowledged later.
    """
    add(filled, "a3", False)
    old, new, _ = publish(filled, ["a1", "a2", "a3", "b1", "b2"])
    name = next(name for name in names() if "a3" in new[name])
    with Client(filled.unix) as client:
        assert client.ask(f"UPDATE {name} {START + 1}:1").startswith(b"0 ")
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
        copy = filled.backends["a3"].base / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(filled.backends[old[name][0]].base / name, copy)
        assert client.ask(f"UPDATE {name} {START + 2}:2").startswith(b"0 ")
        for server in old[name]:
            filled.backends[server].stop(signal.SIGKILL)
        for question in (f"FETCH {name} LAST {START} {START + 9}", f"INFO {name}"):
            said = client.ask(question)
            assert b"none of its servers is up" in said, said
        for server in old[name]:
            filled.backends[server].start()
        wait_for(
            lambda: client.ask(f"LAST {name}") == b"0 %d\n" % (START + 2),
            "the old copies to be read",
        )
    code, said = move(filled)
    assert code == 0, said
    check(filled, new)

"""Copies that lack something: nothing is dropped silently, and each copy is repaired
from the one that has it.
"""

import collections
import json
import os
import shutil
import signal
import subprocess

from rrd_feed import START
from rrd_servers import Client, wait_for
from test_faults import filled, small_disk  # noqa: F401  a fixture

FILES = 20


def names():
    return [f"host{number:02}/v.rrd" for number in range(FILES)]


def create(client, name):
    return client.ask(
        f"CREATE {name} -b {START} -s 1 DS:v:GAUGE:5:U:U RRA:LAST:0.5:1:5000"
    )


def update(cluster, seconds, files=None):
    """Updates all files through the router, and expects success."""
    with Client(cluster.unix) as client:
        for second in seconds:
            lines = [
                f"UPDATE {name} {START + second}:{second}" for name in files or names()
            ]
            assert client.batch(lines) == b"0 errors\n"


def status(cluster):
    """Returns the status, and whether all is well."""
    done = subprocess.run(
        [cluster.programs["stead-rrd"], "status", "--json", cluster.state],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done
    return json.loads(done.stdout), done.returncode == 0


def page(cluster):
    return subprocess.run(
        [cluster.programs["stead-rrd"], "status", cluster.state],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def rows(file):
    """Returns the known values of a file, by their times."""
    out = subprocess.run(
        ["rrdtool", "fetch", file, "LAST", "-s", f"{START}", "-e", f"{START + 1500}"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    found = {}
    for line in out.splitlines():
        time, colon, value = line.partition(": ")
        if colon and "nan" not in value:
            found[int(time) - START] = float(value)
    return found


def copies(cluster, name):
    """Returns the known values of each copy on disk, after a FLUSH."""
    with Client(cluster.unix) as client:
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    return {
        backend: rows(server.base / name)
        for backend, server in cluster.backends.items()
        if (server.base / name).exists()
    }


def present(cluster, second):
    """Returns the servers that have this value of all their files."""
    found = collections.defaultdict(set)
    for name in names():
        for backend, values in copies(cluster, name).items():
            found[backend].add(values.get(second) == second)
    return {backend for backend, values in found.items() if values == {True}}


def lacking(cluster, seconds):
    """Returns how many of these values the copies lack, of all files."""
    count = 0
    for name in names():
        found = copies(cluster, name)
        assert len(found) == 2, (name, found.keys())
        count += sum(
            values.get(second) != second
            for values in found.values()
            for second in seconds
        )
    return count


def test_a_file_made_while_its_other_server_is_down_is_not_said_to_be_lacking(cluster):
    """collectd sends values of a new file while one of its two servers is down. The other one
    makes it, and has it from then on. Whether the server that is down has older values is
    known when it is back.
    """
    templates = cluster.place / "templates.toml"
    templates.write_text(
        '[[create]]\nmatch = "*/v.rrd"\nstep = 1\n'
        'ds = ["DS:v:GAUGE:5:U:U"]\nrra = ["RRA:LAST:0.5:1:5000"]\n'
    )
    cluster.stop_router()
    cluster.start_router("--create", templates)
    away = cluster.backends["b2"]
    away.stop(signal.SIGKILL)
    wait_for(lambda: cluster.router_said(r"backend b2 \(\S+ is down"), "b2 to be down")
    update(cluster, range(1, 11))
    made = {
        name: sum((each.base / name).exists() for each in cluster.backends.values())
        for name in names()
    }
    alone = [name for name, count in made.items() if count == 1]
    assert alone and set(made.values()) == {1, 2}, made

    def counted(what):
        found, _ = status(cluster)
        return sum(each[what] for each in found["backends"])

    wait_for(
        lambda: counted("doubtful") == len(alone) and counted("lacking") == 0,
        "the new files to be doubtful, and none to be lacking",
    )
    assert "may lack values in" in page(cluster)
    away.start()
    wait_for(lambda: status(cluster)[1], "all to be well")
    assert lacking(cluster, range(1, 11)) == 0


def test_a_hole_that_another_router_left_is_filled(cluster, record_property):
    """A server is down, 300 updates go through router A, and A dies. Router B goes on,
    and the server comes back: it lacks what only the log of A has. When A comes back,
    the server refuses what A sends it, since it has newer values.
    """
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    # an answer means one copy, and what makes the other one is in A's log
    wait_for(
        lambda: all(len(copies(cluster, name)) == 2 for name in names()),
        "both copies of every file",
    )
    away = cluster.backends["b2"]
    away.stop(signal.SIGKILL)
    wait_for(lambda: cluster.router_said(r"backend b2 \(\S+ is down"), "b2 to be down")
    update(cluster, range(1, 301))
    # only b2 is to lack what A has
    wait_for(
        lambda: present(cluster, 300) == cluster.backends.keys() - {"b2"},
        "the other servers to have A's updates",
    )
    cluster.stop_router(signal.SIGKILL)
    away.start()
    first, cluster.state = cluster.state, cluster.place / "second"
    cluster.start_router()
    update(cluster, range(301, 401))
    # an answer means one copy; what the other one lacks is in B's log, which A does not have
    wait_for(
        lambda: lacking(cluster, range(302, 401)) == 0,
        "both copies to have B's updates",
    )
    # the control: there is a hole, for whoever reads from b2
    hole = lacking(cluster, range(1, 401))
    assert hole > 300
    cluster.stop_router()
    cluster.state = first
    cluster.start_router()
    wait_for(lambda: lacking(cluster, range(1, 401)) == 0, "the hole to be filled")
    wait_for(lambda: status(cluster)[1], "all to be well")
    found, _ = status(cluster)
    late = {each["name"]: each["late_errors"] for each in found["backends"]}
    # every server refuses what B has overtaken, and only one copy of some files differed
    assert late["b2"] >= 300, late
    assert {
        name for name, _ in cluster.router_said(r"backend (\S+) lacked (\d+) files")
    } == {"b2"}
    assert cluster.router_said(
        r"b2 refused a write of host\S+ that was taken elsewhere"
    )
    record_property("hole", f"{hole} values lacked, 0 afterwards; refusals {late}")


def test_what_is_sent_twice_is_no_refusal(cluster):
    """A router that is killed sends its servers again what they have."""
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    update(cluster, range(1, 101))
    with Client(cluster.unix) as client:
        # late values, which every server refuses
        for name in names():
            assert client.ask(f"UPDATE {name} {START + 5}:1").startswith(b"-1 illegal")
    cluster.stop_router(signal.SIGKILL)
    cluster.start_router()
    update(cluster, range(101, 111))
    found, well = status(cluster)
    assert well, page(cluster)
    assert {each["late_errors"] for each in found["backends"]} == {0}
    assert lacking(cluster, range(1, 111)) == 0


def test_fractions_of_a_second_that_are_sent_again_destroy_nothing(cluster):
    """rrdcached knows the last time of a file in whole seconds after its restart. So it
    takes a value of the same second again, and loses it with all that waits behind it.
    """
    name = names()[0]
    place = cluster.located([name])[name][1]
    with Client(cluster.unix) as client:
        assert create(client, name).startswith(b"0 ")
        for second in range(1, 21):
            line = f"UPDATE {name} {START + second}.5:{second}"
            assert client.ask(line).startswith(b"0 ")
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
        cluster.backends[place].stop(signal.SIGKILL)
        wait_for(
            lambda: cluster.router_said(rf"backend {place} \(\S+ is down"),
            f"{place} to be down",
        )
        for second in range(21, 41):
            line = f"UPDATE {name} {START + second}.5:{second} {START + second}.7:1"
            assert client.ask(line).startswith(b"0 ")
        cluster.backends[place].start()
        wait_for(
            lambda: len(cluster.router_said(rf"backend {place} \(\S+ is up")) >= 2,
            f"{place} to be up",
        )
    one, other = copies(cluster, name).values()
    assert one == other and max(one) == 40, (max(one), max(other))


def test_copies_that_each_lack_something_are_merged(cluster):
    """Somebody has written to one server without the router. Neither copy has
    everything, and both get everything that anybody was told is stored.
    """
    name = names()[0]
    with Client(cluster.unix) as client:
        assert create(client, name).startswith(b"0 ")
    update(cluster, range(1, 11), [name])
    places = cluster.located([name])[name]
    with Client(cluster.unix) as client:
        # an update is acknowledged when one copy has it; a FLUSH waits for both
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    with Client(cluster.backends[places[1]].address) as direct:
        line = f"UPDATE {name} {START + 50}:50 {START + 51}:51"
        assert direct.ask(line).startswith(b"0 ")
    taken = [*range(2, 11), 51]
    with Client(cluster.unix) as client:
        for second in range(11, 21):
            # the first server that answers decides: one takes it, and one refuses
            said = client.ask(f"UPDATE {name} {START + second}:{second}")
            if said.startswith(b"0 "):
                taken.append(second)
    wait_for(lambda: status(cluster)[1], "all to be well")
    found = copies(cluster, name)
    assert found[places[0]] == found[places[1]]
    assert found[places[0]].keys() >= set(taken), (found, taken)
    if 11 in taken:
        assert cluster.router_said(
            r"refused a write of host00/v.rrd that was taken elsewhere"
        )


def test_a_full_server_is_said_and_filled_when_it_has_room(
    cluster,
    small_disk,  # noqa: F811
    record_property,
):
    """The queue survives a kill of the router. Nothing is well before all is done."""
    full = cluster.backends["b1"]
    full.stop()
    shutil.rmtree(full.base)
    small_disk(full.base, 64)
    full.start()
    wait_for(
        lambda: len(cluster.router_said(r"backend b1 \(\S+ is up")) >= 2, "b1 to be up"
    )
    wait_for(lambda: status(cluster)[1], "all to be well")
    filler = filled(full.base)
    with Client(cluster.unix) as client:
        said = {name: create(client, name) for name in names()}
    mine = [name for name, at in cluster.located(names()).items() if "b1" in at]
    assert mine
    made = [name for name in mine if not (full.base / name).exists()]
    assert made, "the disk was not full"

    def state():
        found, well = status(cluster)
        (b1,) = [each for each in found["backends"] if each["name"] == "b1"]
        return not well and b1["lacking"] and "space" in (b1["repair_error"] or "")

    wait_for(state, "the status to say that the disk is full")
    assert "No space left on device" in page(cluster)
    # the queue is on disk within a second or two
    wait_for(
        lambda: (
            (cluster.state / "repairs").exists()
            and b"b1\tmissing\t" in (cluster.state / "repairs").read_bytes()
        ),
        "the queue to be stored",
    )
    cluster.stop_router(signal.SIGKILL)
    cluster.start_router()
    assert not status(cluster)[1]
    filler.unlink()
    wait_for(
        lambda: all((full.base / name).exists() for name in mine),
        "the files to be there",
    )
    wait_for(lambda: status(cluster)[1], "all to be well")
    refused = sum(answer.startswith(b"-1 ") for answer in said.values())
    record_property(
        "created",
        f"{len(said) - refused} acknowledged, {refused} refused, {len(made)} of "
        f"{len(mine)} lacked on the full disk, 0 afterwards",
    )


def test_nothing_is_well_while_a_file_is_suspended(cluster):
    name = names()[0]
    cluster.stop_router()
    cluster.allow = "DEFAULT,SUSPENDALL,RESUMEALL"
    cluster.start_router()
    with Client(cluster.unix) as client:
        assert create(client, name).startswith(b"0 ")
        assert client.ask(f"UPDATE {name} {START + 1}:1").startswith(b"0 ")
        assert status(cluster)[1]
        assert client.ask(f"SUSPEND {name}").startswith(b"0 ")
        assert not status(cluster)[1] and "writes nothing of 1 file" in page(cluster)
        assert client.ask(f"RESUME {name}").startswith(b"0 ")
        assert status(cluster)[1], page(cluster)
        assert client.ask("SUSPENDALL").startswith(b"0 ")
        assert not status(cluster)[1] and "SUSPENDALL" in page(cluster)
        assert client.ask("RESUMEALL").startswith(b"0 ")
        assert status(cluster)[1], page(cluster)
    # without the router: seen when it cannot flush the file
    cluster.stop_router()
    cluster.start_router("--flush-after", "0", "--sync-after", "0")
    place = cluster.located([name])[name][0]
    with Client(cluster.unix) as client:
        assert client.ask(f"UPDATE {name} {START + 2}:1").startswith(b"0 ")
        with Client(cluster.backends[place].address) as direct:
            direct.ask(f"SUSPEND {name}")
        assert client.ask(f"UPDATE {name} {START + 3}:1").startswith(b"0 ")
        wait_for(lambda: "does not write 1 file" in page(cluster), "it to be seen")
        with Client(cluster.backends[place].address) as direct:
            direct.ask(f"RESUME {name}")
        wait_for(lambda: status(cluster)[1], "all to be well")


def test_a_move_waits_for_an_agent_that_starts_again(cluster):
    agent = cluster.backends["a1"]
    agent.start_agent(cluster.programs)
    cluster.publish()
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    # a server leaves, so that its files move
    wait_for(
        lambda: cluster.router_said("serving by epoch 2; no file has to move"),
        "the agent to be known",
    )
    agent.stop_agent()
    os.unlink(agent.directory / "files")
    cluster.publish(["a1", "a2", "b1"])
    move = subprocess.Popen(
        [cluster.programs["stead-rrd"], "move", cluster.state],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for(lambda: status(cluster)[0]["moving"], "the move to begin")
        assert move.poll() is None
        agent.start_agent(cluster.programs)
        out, _ = move.communicate(timeout=120)
    finally:
        move.kill()
        move.wait()
    assert move.returncode == 0, out
    # and once more: there is nothing to do, which is a success
    again = subprocess.run(
        [cluster.programs["stead-rrd"], "move", cluster.state],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0 and "no file has to move" in again.stdout, again

"""Copies are compared: what differs is found, said and repaired, and no value is lost."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from rrd_copies import dumped
from rrd_feed import START, Feed, lost
from rrd_feed import create as create_feed
from rrd_feed import names as fed_names
from rrd_servers import Client, Cluster, free_port, wait_for
from test_repairs import page, status

FILES = 24
SOURCES = (
    f"-b {START} -s 1 DS:in:GAUGE:5:U:U DS:out:GAUGE:5:U:U "
    "RRA:AVERAGE:0.5:1:2000 RRA:MAX:0.5:10:300 RRA:LAST:0.5:60:100"
)


def names(files=FILES):
    """Returns files in directories of different depth. One does not end in .rrd."""
    depths = ("", "deep/er/")
    return ["site00/no-suffix"] + [
        f"site{number:02}/{depths[number % 2]}v.rrd" for number in range(1, files)
    ]


def update(client, name, seconds):
    values = " ".join(f"{START + at}:{at}:{2 * at}" for at in seconds)
    assert client.ask(f"UPDATE {name} {values}").startswith(b"0 "), name


def stead_rrd(cluster, *arguments):
    """Runs the program. Returns its exit code and its output."""
    done = subprocess.run(
        [cluster.programs["stead-rrd"], *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def check(cluster, *options):
    """Runs `stead-rrd check`. Returns its exit code and its result."""
    code, out, said = stead_rrd(cluster, "check", "--json", cluster.state, *options)
    assert code in (0, 1) and not said, (code, out, said)
    return code, json.loads(out)


def found(result):
    """Returns the findings as {file: text}."""
    return dict(line.split(": ", 1) for line in result["check"]["lines"])


def flush(address, name):
    with Client(address) as client:
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")


def dumps(cluster, name):
    """Returns the dumps of all copies, after a FLUSH."""
    flush(cluster.unix, name)
    return {
        backend: dumped(server.base / name)
        for backend, server in cluster.backends.items()
        if (server.base / name).exists()
    }


@pytest.fixture
def filled(cluster):
    """Returns a cluster with files. Two backends offer theirs through agents."""
    cluster.stop_router()
    for name in ("a2", "b2"):
        cluster.backends[name].start_agent(cluster.programs)
    cluster.publish()
    cluster.start_router("--check-every", "0")
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"CREATE {name} {SOURCES}").startswith(b"0 ")
            update(client, name, range(1, 31))
    return cluster


def test_a_check_without_agents_is_no_success(filled):
    """Nobody can list a file, so nothing is known to be equal. The status says which
    agents do not answer, also without a check.
    """
    assert page(filled).startswith("all is well")
    for name in ("a1", "b1"):
        filled.backends[name].start_agent(filled.programs)
    filled.publish()
    for server in filled.backends.values():
        server.stop_agent(signal.SIGKILL)

    def told():
        """Returns the servers whose agents the status names."""
        text = page(filled)
        return [
            name
            for name in filled.backends
            if re.search(rf"the files of backend {name} .* can be neither ", text)
        ]

    wait_for(lambda: told() == list(filled.backends), "the status to name the agents")
    code, result = check(filled, "--restart")
    assert code == 1 and result["check"]["whole"], result
    for name in filled.backends:
        assert any(reason.startswith(f"{name}: ") for reason in result["reasons"])
    assert filled.router_said(
        "the files of a2 cannot be reached: unix:.*cannot connect"
    )
    # such a check does not count as one, and leaves a trace
    left = status(filled)[0]["check"]
    assert left["last"] is None and left["incomplete"]["unlisted"] == 4, left
    assert "4 backends not listed by the one that ended" in page(filled)
    assert "unix:" in left["incomplete"]["reason"], left
    # something that is no agent is as good as none
    for server in filled.backends.values():
        server.start_agent(filled.programs)
    wait_for(lambda: page(filled).startswith("all is well"), "all to be well")
    filled.backends["a2"].files = filled.backends["a1"].address
    filled.publish()
    wait_for(lambda: told() == ["a2"], "the status to name what is no agent")
    assert "that is not `stead-rrd files` of this version" in page(filled)


def rows(dump):
    """Returns the rows of a dump as {(archive, time): values}, and the rest of it."""
    archives, found = -1, {}
    rest = []
    for line in dump.decode().splitlines():
        archives += "<rra>" in line
        row = re.search(r"/ (\d+) --> <row>(.*)</row>", line)
        if row:
            found[archives, int(row[1])] = re.findall(r"<v>(.*?)</v>", row[2])
        else:
            rest.append(line)
    return found, rest


def with_holes(cluster, name, start=0):
    """Gives each copy of a file values that the other one does not get."""
    places = cluster.located([name])[name]
    first, second = (cluster.backends[place].address for place in places)
    for address, since in ((first, start + 31), (second, start + 71)):
        seconds = range(since, since + 30)
        with Client(address) as direct:
            update(direct, name, seconds)
        with Client(cluster.unix) as client:
            update(client, name, range(seconds[-1] + 1, seconds[-1] + 11))
            # it is acknowledged when one copy has it; a FLUSH waits for both
            assert client.ask(f"FLUSH {name}").startswith(b"0 ")


def test_copies_with_gaps_are_merged_and_no_value_is_lost(filled, record_property):
    assert check(filled)[0] == 0
    holes = names()[::3]
    before = {}
    for name in holes:
        with_holes(filled, name)
        before[name] = [rows(dump) for dump in dumps(filled, name).values()]
    # the control: each copy lacks what only the other one got
    for (first, _), (second, _) in before.values():
        lacks = [
            sum(b != "NaN" == a for key in one for a, b in zip(one[key], other[key]))
            for one, other in ((first, second), (second, first))
        ]
        assert min(lacks) >= 30, lacks
    code, result = check(filled)
    assert code == 1 and result["failed"] == 0, result
    assert found(result).keys() == set(holes)
    for text in found(result).values():
        assert re.fullmatch(
            r"\w+ lacks \d+ values, \w+ lacks \d+ values: they are merged", text
        ), text
    wait_for(lambda: status(filled)[1], "all to be well")
    # the reference: a file that rrdtool has made of all updates
    whole = filled.place / "whole.rrd"
    subprocess.run(["rrdtool", "create", whole, *SOURCES.split()], check=True)
    every = [f"{START + at}:{at}:{2 * at}" for at in range(1, 111)]
    subprocess.run(["rrdtool", "update", whole, *every], check=True)
    reference, _ = rows(dumped(whole))
    values = 0
    for name in holes:
        one, other = dumps(filled, name).values()
        assert one == other, name
        after, head = rows(one)
        # every row is there, even a coarser one of which each copy had a part
        assert after == reference
        # what goes into rows to come is that of one of them; both have come equally far
        assert head in [head for _, head in before[name]]
        values += sum(value != "NaN" for row in after.values() for value in row)
    code, result = check(filled)
    assert (code, found(result)) == (0, {})
    # the file goes on
    with Client(filled.unix) as client:
        for name in holes:
            update(client, name, range(111, 121))
    for name in holes:
        one, other = dumps(filled, name).values()
        assert one == other and [float(v) for v in rows(one)[0][0, START + 120]] == [
            120,
            240,
        ]
    assert check(filled)[0] == 0
    record_property("merged", f"{len(holes)} files, {values} values, 0 lost")


def test_updates_that_come_while_copies_are_merged_are_not_lost(filled):
    for name in names():
        with_holes(filled, name)
    # the files of the feed are others; these are updated, too
    create_feed(filled, fed_names(4), rows=100_000)
    at = 111
    with Feed(filled, fed_names(4)) as feed:
        process = subprocess.Popen(
            [filled.programs["stead-rrd"], "check", filled.state],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        with Client(filled.unix) as client:
            while at < 600 and (process.poll() is None or not status(filled)[1]):
                for name in names():
                    update(client, name, [at])
                at += 1
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 1, out
        assert f"{FILES} differ" in out, out
    wait_for(lambda: status(filled)[1], "all to be well")
    for name in names():
        one, other = dumps(filled, name).values()
        assert one == other, name
        after, _ = rows(one)
        for second in range(1, at):
            assert [float(v) for v in after[0, START + second]] == [second, 2 * second]
    assert lost(filled, feed.acknowledged)[0] == []
    assert check(filled)[0] == 0


class Hammer(Feed):
    """Sends many updates before it reads their answers, until the times are used up."""

    def run(self):
        with Client(self.router.unix) as client:
            for at in range(START + 1, START + 99_000, 20):
                if self.ended:
                    return
                sent = [(f, t) for t in range(at, at + 20) for f in self.acknowledged]
                client.send("".join(f"UPDATE {f} {t}:{t - START}\n" for f, t in sent))
                for file, time in sent:
                    assert client.reply().startswith(b"0 "), (file, time)
                    self.acknowledged[file].append(time)


@pytest.mark.parametrize(("files", "feeder"), [(2, Hammer), (40, Feed)])
def test_a_check_under_load_raises_no_false_alarm(
    filled, files, feeder, record_property
):
    """Few files get many updates each; many files get some each."""
    filled.stop_router()
    filled.start_router("--check-every", "0", "--log-level", "debug")
    # A check reads every row, so the files have no more rows than they need. The updates of a Hammer
    # cover up to 99,000 seconds, and those of a Feed far fewer.
    create_feed(filled, fed_names(files), rows=100_000 if feeder is Hammer else 20_000)
    with feeder(filled, fed_names(files)) as feed:
        wait_for(lambda: feed.count() > 500, "the load")
        looks, again = 0, []

        def enough():
            nonlocal looks, again
            code, result = check(filled, "--restart")
            assert code == 0, result
            assert result["done"] == FILES + files
            looks += result["done"]
            again = filled.router_said(r"(\S+) is looked at again")
            # the control: without the second look there would be false alarms
            return len(again) >= 5 or (looks >= 500 and feeder is Feed)

        wait_for(enough, "copies that seem to differ")
        # and a real difference is seen under the same load
        name = names()[5]
        with_holes(filled, name)
        code, result = check(filled, "--restart")
        assert code == 1 and list(found(result)) == [name], result
        count = feed.count()
    wait_for(lambda: status(filled)[1], "all to be well")
    missing, _ = lost(filled, feed.acknowledged)
    assert not missing and not feed.refused, feed.refused
    assert check(filled)[0] == 0
    record_property(
        f"load on {files} files",
        f"{looks} files compared during {count} updates, {len(again)} looked at again, "
        "0 false alarms",
    )


def test_damaged_and_misplaced_files_are_said(filled):
    every = filled.located(names())
    for name in names():
        flush(filled.unix, name)
    torn, empty, extra, lonely = names()[:4]
    place = {name: every[name][0] for name in every}
    base = {name: filled.backends[place[name]].base for name in every}
    before = dumps(filled, torn)
    for name in (torn, empty):
        # rrdcached must not know the file, or it would write it from memory
        with Client(filled.backends[place[name]].address) as direct:
            direct.ask(f"FORGET {name}")
    whole = (base[torn] / torn).read_bytes()
    (base[torn] / torn).write_bytes(whole[: len(whole) // 2])
    (base[empty] / empty).write_bytes(b"")

    def elsewhere(name):
        other = next(b for b in filled.backends if b not in every[name])
        target = filled.backends[other].base / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(base[name] / name, target)
        return other, target

    other, target = elsewhere(extra)
    wrong, _ = elsewhere(lonely)
    for copy in every[lonely]:
        (filled.backends[copy].base / lonely).unlink()
    code, result = check(filled)
    said = found(result)
    assert code == 1 and result["check"]["differing"] == 3, result
    assert result["check"]["strays"] == 1
    assert f"the file on {place[torn]} is no whole RRD" in said[torn]
    assert f"the file on {place[empty]} is no whole RRD" in said[empty]
    assert said[extra] == f"also on {other}, where the map does not place it"
    assert said[lonely].startswith(f"only {wrong} has it, where the map does not place")
    wait_for(lambda: "1 file is only where the map does not" in page(filled), "a word")
    wait_for(lambda: "being co" not in page(filled), "the repair queue to be done")
    for name in (torn, empty):
        one, other = dumps(filled, name).values()
        assert one == other
    assert dumps(filled, torn) == before
    target.unlink()
    for copy in every[lonely]:
        shutil.copy(
            filled.backends[wrong].base / lonely, filled.backends[copy].base / lonely
        )
    (filled.backends[wrong].base / lonely).unlink()
    code, result = check(filled)
    assert (code, found(result)) == (0, {}), result
    assert status(filled)[1], page(filled)


def test_strays_are_taken_away_by_the_commands_of_the_manual(filled, place):
    if not shutil.which("rsync"):
        pytest.skip("rsync is not installed")
    manual = (Path(__file__).parents[2] / "docs/rrd-operations.md").read_text()
    commands = re.search(
        r"^## Copies where the map places none$.*?^```sh\n(.*?)^```",
        manual,
        re.MULTILINE | re.DOTALL,
    )[1]
    every = filled.located(names())
    other = next(iter(filled.backends))
    base = filled.backends[other].base
    strays = [n for n in names() if n.endswith(".rrd") and other not in every[n]]
    for name in strays:
        flush(filled.unix, name)
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(filled.backends[every[name][0]].base / name, base / name)
    before = {path.relative_to(base) for path in base.rglob("*") if path.is_file()}
    code, result = check(filled)
    assert (code, result["check"]["strays"]) == (0, len(strays)), result
    assert len(strays) > 3
    for old, new in (
        ("/var/lib/rrdcached/db", base),
        ("/var/lib/rrdcached", place / "taken"),
        ("/etc/stead/rrd.map", filled.map),
        ("node=rrd2", f"node={other}"),
    ):
        assert old in commands
        commands = commands.replace(old, str(new))
    (place / "taken").mkdir()
    programs = Path(filled.programs["stead"]).parent
    subprocess.run(
        ["sh", "-e", "-c", commands],
        env=dict(os.environ, HOME=str(place), PATH=f"{programs}:{os.environ['PATH']}"),
        check=True,
    )
    after = {path.relative_to(base) for path in base.rglob("*") if path.is_file()}
    assert before - after == {Path(name) for name in strays} and after < before
    for name in strays:
        assert (place / "taken" / "strays" / name).is_file()
    code, result = check(filled, "--restart")
    assert (code, result["check"]["strays"], found(result)) == (0, 0, {}), result


def test_a_missing_copy_is_said_and_made(filled):
    name = names()[0]
    one, other = filled.located([name])[name]
    file = filled.backends[one].base / name

    def attempt():
        with Client(filled.backends[one].address) as direct:
            direct.ask(f"FORGET {name}")
        file.unlink()
        code, result = check(filled)
        wait_for(file.exists, "the copy to be there")
        wait_for(lambda: status(filled)[1], "all to be well")
        return code and found(result)

    # a router that was just started looks for missing files itself, and may be faster
    said = wait_for(attempt, "the check to find it")
    assert said == {name: f"{one} has no such file, {other} is whole"}
    first, second = dumps(filled, name).values()
    assert first == second
    assert check(filled)[0] == 0


def test_copies_of_different_shapes_are_left_to_the_operator(filled):
    name = names()[7]
    places = filled.located([name])[name]
    flush(filled.unix, name)
    file = filled.backends[places[1]].base / name
    subprocess.run(["rrdtool", "tune", file, "--heartbeat", "in:77"], check=True)
    code, result = check(filled)
    assert code == 1 and "different columns" in found(result)[name], result
    wait_for(lambda: "--replace" in page(filled), "the status to say it")
    code, out, _ = stead_rrd(filled, "repair", filled.state, places[1])
    assert code == 1 and "different columns" in out, out
    code, out, _ = stead_rrd(filled, "repair", filled.state, places[1], "--replace")
    assert code == 0, out
    wait_for(lambda: status(filled)[1], "all to be well")
    assert check(filled)[0] == 0
    one, other = dumps(filled, name).values()
    assert one == other and b"<minimal_heartbeat>77<" not in other


def test_a_repair_takes_the_most_complete_copy(filled):
    """The copy on the server that is repaired has values that the other one lacks."""
    name = names()[3]
    places = filled.located([name])[name]
    with_holes(filled, name)
    code, out, _ = stead_rrd(filled, "repair", filled.state, places[0])
    assert code == 0, out
    one, other = dumps(filled, name).values()
    after, _ = rows(one)
    assert one == other
    for at in range(1, 111):
        assert [float(v) for v in after[0, START + at]] == [at, 2 * at], at
    assert check(filled)[0] == 0


def large(cluster, count=60):
    """Makes files that a check at 1 MiB a second takes 20 seconds for."""
    with Client(cluster.unix) as client:
        for number in range(count):
            said = client.ask(
                f"CREATE large/{number:03}.rrd -b {START} -s 1 DS:v:GAUGE:5:U:U "
                "RRA:LAST:0.5:1:20000"
            )
            assert said.startswith(b"0 ")
    return count


def started(cluster, *options):
    return subprocess.Popen(
        [cluster.programs["stead-rrd"], "check", cluster.state, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def running(cluster):
    """Returns the check that somebody has asked for, from the status."""
    return status(cluster)[0]["check"]["asked"]


def test_a_check_that_was_stopped_continues(filled):
    every = FILES + large(filled)
    with started(filled, "--rate", "1") as process:
        wait_for(lambda: (running(filled) or {"done": 0})["done"] > 10, "some files")
        assert "check       for " in page(filled)
        code, out, said = stead_rrd(filled, "check", filled.state)
        assert code == 75 and "already running" in said, (code, out, said)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 130 and "continue" in said, said
    wait_for(lambda: running(filled) is None, "it to end")
    code, result = check(filled)
    assert code == 0 and result["done"] == every, result
    assert result["check"]["continued"] and result["check"]["whole"]
    # it did not look at all of them again
    all_bytes = check(filled)[1]["bytes"]
    assert 0 < result["bytes"] < all_bytes, (result, all_bytes)
    last = status(filled)[0]["check"]["last"]
    assert last["files"] == every and last["ended"] >= last["began"] > 0


def test_a_check_survives_a_kill_of_the_router(filled):
    every = FILES + large(filled)
    name = names()[2]
    with_holes(filled, name)
    place = filled.state / "checks"
    with started(filled, "--rate", "1") as process:
        wait_for(
            lambda: (
                place.exists()
                and (json.loads(place.read_text())["asked"] or {}).get("files", 0) > 10
            ),
            "the place to be stored",
        )
        filled.stop_router(signal.SIGKILL)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 69, said
    filled.start_router("--check-every", "0")
    code, result = check(filled)
    assert result["done"] == every and result["check"]["continued"], result
    # what was found before the kill counts
    assert code == 1 and result["check"]["differing"] == 1, result
    wait_for(lambda: status(filled)[1], "all to be well")
    one, other = dumps(filled, name).values()
    assert one == other
    code, result = check(filled)
    assert code == 0 and result["check"]["continued"] is None, result
    # a damaged place is no reason not to start
    filled.stop_router()
    place.write_text("{")
    filled.start_router("--check-every", "0")
    assert check(filled)[0] == 0
    assert filled.router_said("the file `checks` is damaged")


def test_kills_while_copies_are_merged_lose_nothing(filled, record_property):
    """The router is killed at any moment of a check and of the repairs after it."""
    choice, there, killed = random.Random(21), list(range(1, 31)), 0
    for start in range(0, 500, 100):
        for name in names():
            with_holes(filled, name, start)
        there += [*range(start + 31, start + 61), *range(start + 62, start + 101)]
        there += range(start + 102, start + 111)
        with started(filled) as process:
            time.sleep(choice.random() * 2)  # what is done by then does not matter
            killed += process.poll() is None or not status(filled)[1]
            filled.stop_router(signal.SIGKILL)
            process.communicate(timeout=120)
        filled.start_router("--check-every", "0")
        check(filled)
        wait_for(lambda: status(filled)[1], "all to be well")
        assert check(filled)[0] == 0
    for name in names():
        one, other = dumps(filled, name).values()
        assert one == other, name
        after, _ = rows(one)
        for at in there:
            # the first second after a time without values is unknown
            if at % 100 != 31 or at == 31:
                assert [float(v) for v in after[0, START + at]] == [at, 2 * at], at
    assert killed
    record_property("killed", f"5 kills, {killed} of them before all was well, 0 lost")


def test_a_server_that_dies_during_a_check_is_said(filled):
    large(filled)
    away = filled.backends["b1"]
    with started(filled, "--rate", "1", "--json") as process:
        wait_for(lambda: (running(filled) or {"done": 0})["done"] > 5, "some files")
        away.stop(signal.SIGKILL)
        out, said = process.communicate(timeout=240)
        assert process.returncode == 1, (out, said)
    result = json.loads(out)
    assert result["check"]["differing"] == 0, result
    assert result["failed"] > 0 and "b1 is not up" in str(result["reasons"]), result
    away.start()
    wait_for(lambda: status(filled)[1], "all to be well")
    # what was not compared stays known until a later check has compared it
    left = status(filled)[0]["check"]["incomplete"]
    assert left["skipped"] == result["failed"], (left, result)
    assert re.search(r"\.rrd: .*b1 is not up", left["reason"]), left
    text = rf"check       {left['skipped']} files? not compared by the one that ended "
    assert re.search(text, page(filled)), page(filled)
    assert check(filled, "--restart")[0] == 0
    assert status(filled)[0]["check"]["incomplete"] is None


def metrics(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")


def test_the_check_in_the_background_finds_and_repairs(filled):
    filled.stop_router()
    address = f"127.0.0.1:{free_port()}"
    filled.start_router(
        "--check-every", "0.00002", "--check-rate", "64", "--metrics", address
    )

    def ended(since):
        last = status(filled)[0]["check"]["last"]
        return last if last and last["began"] > since else None

    last = wait_for(lambda: ended(0), "a whole pass")
    assert (last["files"], last["differing"], last["skipped"]) == (FILES, 0, 0)
    assert "check       the last one ended " in page(filled)
    holes = names()[:2]
    for name in holes:
        with_holes(filled, name)
    wait_for(
        lambda: float(metrics(address)["stead_rrd_check_differing_files_total"]) >= 2,
        "both to be found",
    )
    wait_for(lambda: status(filled)[1], "all to be well")
    for name in holes:
        one, other = dumps(filled, name).values()
        assert one == other
    now = int(time.time())
    last = wait_for(lambda: ended(now), "one more pass")
    assert last["differing"] == 0
    found = metrics(address)
    assert float(found["stead_rrd_check_last_files"]) == FILES
    assert float(found["stead_rrd_check_last_end_timestamp_seconds"]) >= last["ended"]
    # it waits while a server is away, and says so
    filled.backends["a1"].stop(signal.SIGKILL)
    wait_for(lambda: "waits: backend a1 is not up" in page(filled), "the check to wait")
    filled.backends["a1"].start()
    now = int(time.time())
    wait_for(lambda: ended(now), "it to go on")


@pytest.mark.parametrize("is_killed", [False, True])
def test_another_address_of_a_server_lets_all_copies_be_compared(filled, is_killed):
    """The disk there may be one of an earlier time. That is known after a restart, too."""
    filled.stop_router()
    filled.start_router(*("--check-rate", "64"), *("--check-every", "0") * is_killed)
    assert check(filled)[0] == 0
    holes = names()[:2]
    for name in holes:
        with_holes(filled, name)
    moved = filled.backends["a1"]
    moved.stop()
    moved.address = moved.reached = f"unix:{moved.directory}/moved"
    moved.start()
    before = status(filled)[0]["epoch"]
    filled.publish()
    if is_killed:
        wait_for(
            lambda: status(filled)[0]["epoch"] > before, "the router to take it up"
        )
        filled.stop_router(signal.SIGKILL)
        filled.start_router("--check-rate", "64")
    for name in holes:
        wait_for(
            lambda name=name: len(set(dumps(filled, name).values())) == 1,
            "the copies to be equal",
        )
    wait_for(lambda: status(filled)[1], "all to be well")


def test_what_is_in_doubt_is_compared_while_another_server_is_away(filled):
    """A directory was restored. The files that the other one has, too, are compared later."""
    filled.stop_router()
    filled.start_router("--check-rate", "64")
    restored, away = filled.backends["a1"], filled.backends["b2"]
    places = filled.located(names())
    shared = [name for name in names() if places[name] in (["a1", "b1"], ["b1", "a1"])]
    waiting = [name for name in names() if set(places[name]) == {"a1", "b2"}]
    assert shared and waiting, places
    for name in (shared[0], waiting[0]):
        with_holes(filled, name)
    away.stop(signal.SIGKILL)
    away.stop_agent(signal.SIGKILL)
    restored.stop()
    copy = restored.directory / "copy"
    shutil.copytree(restored.base, copy)
    restored.base.rename(restored.directory / "before")
    copy.rename(restored.base)
    restored.start()

    def equal(name):
        return len(set(dumps(filled, name).values())) == 1

    def doubted():
        now = status(filled)[0]
        return [one["name"] for one in now["backends"] if one["uncompared"]]

    wait_for(lambda: equal(shared[0]), "the copies that are there to be compared")
    wait_for(
        lambda: "they were compared without b2, and are compared again" in page(filled),
        "the status to say what is left",
    )
    assert doubted() == ["a1"] and not equal(waiting[0])
    away.start()
    away.start_agent(filled.programs)
    wait_for(lambda: equal(waiting[0]), "the other copies to be compared")
    wait_for(lambda: status(filled)[1] and not doubted(), "all to be well")


@pytest.mark.parametrize("heartbeat", [5, 600])
@pytest.mark.parametrize("is_flushed", [True, False])
def test_older_files_that_were_copied_into_a_server_in_use_win_nowhere(
    filled, heartbeat, is_flushed
):
    """Somebody has restored a backup. The next check finds each file, also where rrdcached still
    had values in memory, and the copy that was not restored is taken. With the longer heartbeat
    rrdtool fills the gap with the value after it, so no copy lacks anything.
    """
    made = [f"backup/{number}.rrd" for number in range(12)]
    sources = SOURCES.replace("GAUGE:5:", f"GAUGE:{heartbeat}:")
    restored = filled.backends["b1"]
    with Client(filled.unix) as client:
        for name in made:
            assert client.ask(f"CREATE {name} {sources}").startswith(b"0 ")
            update(client, name, range(1, 31))
            assert client.ask(f"FLUSH {name}").startswith(b"0 ")
        mine = [name for name, at in filled.located(made).items() if "b1" in at]
        assert len(mine) > 2
        backup = {name: (restored.base / name).read_bytes() for name in mine}
        for name in made:
            update(client, name, range(31, 61))
            if is_flushed:
                assert client.ask(f"FLUSH {name}").startswith(b"0 ")
        for name, content in backup.items():
            (restored.base / name).write_bytes(content)
        for name in made:
            update(client, name, range(61, 71))
            assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    # the control: the restored copies are not equal to the others
    unequal = [name for name in mine if len(set(dumps(filled, name).values())) > 1]
    assert unequal == (mine if is_flushed else []), unequal
    code, result = check(filled, "--restart")
    assert (code, set(found(result))) == (int(is_flushed), set(unequal)), result
    wait_for(lambda: status(filled)[1], "all to be well")
    for name in made:
        one, other = dumps(filled, name).values()
        assert one == other, name
        after, _ = rows(one)
        for second in range(1, 71):
            values = [float(value) for value in after[0, START + second]]
            assert values == [second, 2 * second], (name, second)


class Once(Cluster):
    """The same with one copy of each file."""

    copies = 1


def test_an_older_file_that_has_no_other_copy_keeps_what_was_in_memory(programs, place):
    """A backup was restored. Nothing else has what came after it, and no check can find that."""
    with Once(programs, place) as cluster, Client(cluster.unix) as client:
        made = names()[:2]
        for name in made:
            assert client.ask(f"CREATE {name} {SOURCES}").startswith(b"0 ")
            update(client, name, range(1, 31))
            flush(cluster.unix, name)
            [at] = cluster.located([name])[name]
            backup = (cluster.backends[at].base / name).read_bytes()
            update(client, name, range(31, 61))
            if name == made[0]:
                flush(cluster.unix, name)
            (cluster.backends[at].base / name).write_bytes(backup)
            update(client, name, range(61, 71))
        assert check(cluster)[0] == 0
        for name in made:
            [dump] = dumps(cluster, name).values()
            after, _ = rows(dump)
            known = [n for n in range(1, 71) if after[0, START + n][0] != "NaN"]
            gap = range(31, 62) if name == made[0] else ()
            assert known == [n for n in range(1, 71) if n not in gap], name


class Thrice(Cluster):
    """The same with three copies of each file."""

    copies = 3


def test_two_of_three_copies_are_compared_while_the_third_is_away(programs, place):
    """They are made equal, nothing is lost that only the third one has, and it gets what it
    lacks when it is back.
    """
    with Thrice(programs, place) as cluster:
        cluster.stop_router()
        cluster.start_router("--check-every", "0")
        places = cluster.located(names())
        here = [name for name in names() if "b2" in places[name]]
        each, one, third, equal = here[:4]
        others = {name: [at for at in places[name] if at != "b2"] for name in here}

        def direct(at, name, seconds):
            with Client(cluster.backends[at].address) as client:
                update(client, name, seconds)

        def known(at, name):
            """Returns the seconds whose values a copy on disk has, of those that were sent."""
            after, _ = rows(dumped(cluster.backends[at].base / name))
            return {
                second
                for second in range(1, 141)
                if after[0, START + second] != ["NaN", "NaN"]
            }

        with Client(cluster.unix) as client:
            for name in names():
                assert client.ask(f"CREATE {name} {SOURCES}").startswith(b"0 ")
                update(client, name, range(1, 31))
            direct("b2", third, range(31, 61))
            for name in here:
                update(client, name, range(61, 71))
                flush(cluster.unix, name)
            cluster.backends["b2"].stop(signal.SIGKILL)
            wait_for(
                lambda: cluster.router_said(r"backend b2 \(\S+ is down"),
                "b2 to be down",
            )
            for name, at, since in (
                (each, others[each][0], 71),
                (one, others[one][0], 71),
                (each, others[each][1], 101),
            ):
                direct(at, name, range(since, since + 20))
                flush(cluster.backends[at].address, name)
            for name in here:
                update(client, name, range(131, 141))
                flush(cluster.unix, name)
        every = set(range(1, 31)) | set(range(62, 71)) | set(range(132, 141))
        code, result = check(cluster)
        assert code == 1 and found(result).keys() == {each, one}, result
        # what is away is not said to be compared
        assert result["failed"] == len(here), result
        assert result["done"] == FILES - len(here), result
        text = r".*: b2 is not up; the copies on \w+ and \w+ were compared"
        for reason in result["reasons"]:
            assert re.fullmatch(text, reason), reason
        # the control: nothing that only the third one has
        assert not known(others[third][0], third) & set(range(32, 61))
        whole = {
            each: every | set(range(72, 91)) | set(range(102, 121)),
            one: every | set(range(72, 91)),
            equal: every,
        }
        for name, seconds in whole.items():
            for at in others[name]:
                wait_for(
                    lambda at=at, name=name, seconds=seconds: (
                        known(at, name) >= seconds
                    ),
                    f"{at} to have what the other one has of {name}",
                )
        # each of the two lacked something, so the third one may be the one to trust
        wait_for(
            lambda: "b2 is not up; the other copies were compared" in page(cluster),
            "the status to say what is left",
        )
        cluster.backends["b2"].start()
        wait_for(lambda: status(cluster)[1], "all to be well")
        assert known("b2", each) >= whole[each]
        code, result = check(cluster, "--restart")
        assert found(result).keys() == {one, third}, result
        wait_for(lambda: status(cluster)[1], "all to be well")
        assert check(cluster, "--restart")[0] == 0
        whole[third] = every | set(range(32, 61))
        for name, seconds in whole.items():
            assert len(set(dumps(cluster, name).values())) == 1, name
            assert all(known(at, name) >= seconds for at in places[name]), name


def test_a_check_while_files_move_is_refused(filled):
    filled.publish(["a1", "a2", "b1"])
    wait_for(lambda: status(filled)[0]["next_epoch"], "the new map")
    code, _, said = stead_rrd(filled, "check", filled.state)
    assert code == 75 and "check them when they have moved" in said, said
    assert stead_rrd(filled, "move", filled.state)[0] == 0
    assert check(filled)[0] == 0

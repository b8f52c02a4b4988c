"""Two routers: whatever happens to one of them, no acknowledged update is lost, all
copies are equal, and there is one primary.
"""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
import rrd_namespaces
from rrd_feed import ROWS, create
from rrd_pair import Load, Pair, Relay, files_of, judged
from rrd_servers import Client, wait_for
from test_faults import filled, small_disk  # noqa: F401  a fixture

# whether some tests go on for much longer, and use up more seconds of their files
LONG = bool(os.environ.get("STEAD_RRD_LONG"))
LONG_ROWS = 200_000 if LONG else ROWS


@pytest.fixture
def pair(programs, place):
    with Pair(programs, place) as made:
        yield made


@pytest.fixture
def pair_that(programs, place):
    """Makes a pair with another mode."""
    made = []

    def make(lost):
        made.append(Pair(programs, place, lost))
        return made[0].__enter__()

    yield make
    for one in made:
        one.__exit__()


# what an answer means: on the disks of both and at a server, or written to the primary's
# log and on the standby's disk
POLICIES = [[], ["--answer", "logged", "--durability", "crash"]]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: "+".join(policy[1::2]))
def test_the_primary_dies_with_its_disk_and_the_standby_goes_on(
    programs, place, policy, record_property
):
    pair = Pair(programs, place)
    pair.policy = policy
    with pair:
        the_primary_dies_with_its_disk(pair, record_property)


def the_primary_dies_with_its_disk(pair, record_property):
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.a.kill()
    pair.a.wipe()
    code, said = pair.b.promote()
    assert code == 0 and "promoted" in said, said
    pair.ready(pair.b)
    create(pair.b, files_of("b"))
    with Load(pair.b, files_of("b")) as later:
        later.more(300, "updates of the new primary")
    assert judged(pair, [load, later], record_property, "A killed, its disk wiped") == (
        0,
        0,
    )
    # it comes back with an empty disk, and becomes the standby
    pair.a.start()
    pair.a.is_so("in sync", role="standby", in_sync=True, connected=True)
    pair.b.is_so("in sync", role="primary", in_sync=True, alone=None)


def only_one(before, after):
    """Checks that the old primary acknowledged nothing after the new one did."""
    assert before.when and after.when and before.when[-1] < after.when[0]


def promoted(pair, old, new, *options):
    code, said = new.promote(*options)
    assert code == 0 and "promoted" in said, said
    # it serves already
    status = new.status()
    assert status["pair"]["role"] == "primary" and status["pair"]["serving"], status
    down = [b for b in status["backends"] if b["state"] == "down"]
    assert all(backend["reason"] for backend in down), down
    return said


def back_as_standby(old, new):
    """Waits until the old primary is a standby in sync, and returns what it has
    discarded.
    """
    old.is_so("a standby in sync", role="standby", in_sync=True, connected=True)
    new.is_so("not alone any more", role="primary", alone=None, in_sync=True)
    return old.status()["pair"]["discarded"]


CUTS = pytest.mark.parametrize(
    "other, servers", [(True, False), (False, True), (True, True)]
)


@CUTS
def test_the_primary_is_cut_off(pair, record_property, other, servers):
    """From the standby, from the servers, or from both."""
    the_primary_is_cut_off(pair, record_property, other, servers)


@CUTS
def test_links_between_real_networks_are_cut(
    programs, place, record_property, other, servers
):
    """The same, with network namespaces, whose packets are dropped, in place of relays."""
    if why := rrd_namespaces.missing():
        pytest.skip(why)
    with rrd_namespaces.Apart(programs, place) as pair:
        the_primary_is_cut_off(pair, record_property, other, servers)


def the_primary_is_cut_off(pair, record_property, other, servers):
    create(pair.a, files_of("a"))
    create(pair.a, files_of("b"))
    with Load(pair.a, files_of("a")) as old, Load(pair.b, files_of("b")) as new:
        old.more(300, "updates")
        pair.cut(pair.a, other=other, servers=servers)
        if other:
            pair.a.is_so("lost the standby", connected=False)
            count = old.count()
            # clients wait for the standby: whatever is acknowledged was on its way
            with Client(pair.a.unix) as client:
                client.socket.settimeout(3)
                with pytest.raises(OSError):
                    client.ask(f"UPDATE {files_of('a')[0]} N:1")
            # the standby may have had one that still waited for a disk or a server
            assert old.count() <= count + 1
        else:
            old.more(50, "updates that only the logs have")
        if other and servers:
            # nobody can tell this router that it is still the primary
            with Client(pair.a.unix) as client:
                wait_for(
                    lambda: (
                        b"try again later" in client.ask(f"LAST {files_of('a')[0]}")
                    ),
                    "reads to be refused",
                )
        if servers:
            wait_for(
                lambda: all(
                    one["state"] == "down" for one in pair.a.status()["backends"]
                ),
                "the old primary to have lost all servers",
            )
        promoted(pair, pair.a, pair.b)
        pair.ready(pair.b)
        new.more(300, "updates through the new primary")
        pair.heal()
        discarded = back_as_standby(pair.a, pair.b)
        new.more(100, "updates with the standby")
    only_one(old, new)
    # what the old primary took while it was cut off from the standby
    assert discarded > 0 or not other
    what = " and ".join(["B"] * other + ["the servers"] * servers)
    record_property("discarded", f"{what}: {discarded}")
    assert judged(pair, [old, new], record_property, f"A cut off from {what}") == (0, 0)


def test_a_primary_that_stood_still_is_none_when_it_wakes_up(pair, record_property):
    create(pair.a, files_of("a"))
    create(pair.a, files_of("b"))
    with Load(pair.a, files_of("a")) as old, Load(pair.b, files_of("b")) as new:
        old.more(300, "updates")
        os.kill(pair.a.process.pid, signal.SIGSTOP)
        promoted(pair, pair.a, pair.b)
        pair.ready(pair.b)
        new.more(300, "updates through the new primary")
        os.kill(pair.a.process.pid, signal.SIGCONT)
        back_as_standby(pair.a, pair.b)
    only_one(old, new)
    assert judged(pair, [old, new], record_property, "A stood still") == (0, 0)


@pytest.mark.parametrize("wiped", [False, True])
def test_the_standby_dies_and_comes_back(pair, record_property, wiped):
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.b.kill()
        pair.a.is_so("lost the standby", connected=False)
        count = load.count()
        status = pair.a.status()
        assert status["pair"]["alone"] is None
        # reads go on, since the agents confirm the term
        with Client(pair.a.unix) as client:
            for _ in range(50):
                assert client.ask(f"LAST {files_of('a')[0]}").startswith(b"0 ")
                time.sleep(0.1)
        # the standby may have had one that still waited for a disk or a server
        assert load.count() <= count + 1
        if wiped:
            pair.b.wipe()
        pair.b.start()
        load.more(300, "updates with the standby back")
        pair.b.is_so("in sync", in_sync=True, connected=True)
        pair.a.kill()
    pair.a.wipe()
    promoted(pair, pair.a, pair.b)
    pair.ready(pair.b)
    fault = f"B killed{', its disk wiped' * wiped} and back, then A killed"
    assert judged(pair, [load], record_property, fault) == (0, 0)


def test_writes_are_refused_without_the_standby_if_that_is_the_mode(
    pair_that, record_property
):
    pair = pair_that("refuse")
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.b.kill()
        wait_for(lambda: load.refused, "writes to be refused")
        with Client(pair.a.unix) as client:
            said = client.ask(f"UPDATE {files_of('a')[0]} N:1")
            assert b"the standby" in said and b"try again later" in said, said
            said = client.batch([f"UPDATE {files_of('a')[0]} N:1"])
            assert b"the standby" in said, said
        pair.b.start()
        count = load.count()
        load.more(300, "updates with the standby back")
        assert load.count() > count
    assert all(said.startswith(b"-1 ") and b"standby" in said for said in load.refused)
    assert judged(pair, [load], record_property, "B killed, mode refuse") == (0, 0)


def test_alone_is_said_and_the_standby_must_be_forced_and_loses(
    pair_that, record_property
):
    """The control: without the log of the standby, the same fault must lose."""
    pair = pair_that("alone")
    create(pair.a, files_of("a"))
    pair.b.is_so("in sync", connected=True)
    code, said = pair.b.promote()
    assert code == 75 and "--force" in said and "alone" in said, said
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.b.kill()
        wait_for(lambda: pair.a.status()["pair"]["alone"] is not None, "A to be alone")
        load.more(300, "updates alone")
        page = run_status(pair.a)
        assert page.startswith("not well: ") and "goes on alone" in page
        # the servers get nothing of it, because they are cut off
        for relay in pair.servers_of():
            relay.cut_off(pair.a.process.pid)
        load.more(300, "updates that only A has")
        pair.a.kill()
    pair.a.wipe()
    pair.heal()
    pair.b.start()
    wait_for(lambda: pair.b.status(), "B to run")
    code, said = pair.b.promote()
    assert code == 75 and "lost" in said, said
    said = promoted(pair, pair.a, pair.b, "--force")
    assert "by force" in said
    pair.ready(pair.b)
    lost, _ = judged(pair, [load], record_property, "control: A alone, then wiped")
    assert lost > 0


def test_a_primary_alone_goes_on_alone_after_a_restart_and_joins_again(
    pair_that, record_property
):
    pair = pair_that("alone")
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(100, "updates")
        pair.b.kill()
        load.more(300, "updates alone")
        pair.a.kill()
        pair.a.start()
        load.more(300, "updates alone, after a restart")
        assert pair.a.status()["pair"]["alone"] is not None
        pair.b.start()
        pair.b.is_so("connected", connected=True)
        pair.a.is_so("not alone", alone=None, in_sync=True)
        load.more(300, "updates with the standby")
    assert judged(pair, [load], record_property, "alone, restarted, joined") == (0, 0)


def test_a_standby_that_comes_for_moments_only_does_not_keep_clients_waiting(
    pair_that, record_property
):
    pair = pair_that("alone")
    create(pair.a, files_of("a"))
    is_alone = lambda: pair.a.status()["pair"]["alone"] is not None
    # the connection has lasted
    time.sleep(11)
    with Load(pair.a, files_of("a")) as load:
        load.more(100, "updates")
        found = []
        for _ in range(12):
            pair.b.kill()
            time.sleep(0.5)
            pair.b.start()
            pair.a.is_so("joined for a moment", connected=True)
            time.sleep(0.5)
            found.append((is_alone(), load.count()))
        # in its third moment at the latest, clients do not wait for it any more
        alone = [count for is_alone, count in found if is_alone]
        assert len(alone) >= 6, found
        load.more(300, "updates while the standby comes and goes")
        pair.a.is_so("not alone", alone=None, in_sync=True)
        pair.b.is_so("in sync", in_sync=True, connected=True)
        load.more(100, "updates with the standby")
    assert judged(pair, [load], record_property, "B comes and goes") == (0, 0)


def test_an_old_primary_that_comes_for_moments_only_keeps_no_client_waiting(
    pair_that, record_property
):
    """It is cut off, goes on alone, and the standby is promoted by force. Then the
    network between both works for moments only.
    """
    pair = pair_that("alone")
    create(pair.a, files_of("a"))
    create(pair.a, files_of("b"))
    with Load(pair.a, files_of("a")) as old, Load(pair.b, files_of("b")) as new:
        old.more(100, "updates")
        pair.cut(pair.a)
        wait_for(lambda: pair.a.status()["pair"]["alone"] is not None, "A to be alone")
        old.more(20, "updates alone")
        promoted(pair, pair.a, pair.b, "--force")
        new.more(20, "updates of the new primary")
        found = []
        for _ in range(6):
            pair.heal()
            pair.b.is_so("joined for a moment", connected=True)
            found.append(pair.b.status()["pair"]["alone"] is not None)
            pair.cut(pair.b)
            pair.b.is_so("lost again", connected=False)
            new.more(20, "updates while the old primary is away")
        # it stops when it hears of the new one, at the first moment
        assert pair.a.status()["pair"]["role"] == "standby"
        # after the first moment, clients do not wait for it
        assert all(found[1:]), found
        pair.heal()
        back_as_standby(pair.a, pair.b)
        new.more(100, "updates with the standby")
    pair.ready(pair.b)
    # what A took alone, and did not feed, is lost, as the page says
    fault = "A cut off, B promoted by force, then A comes and goes"
    assert judged(pair, [new], record_property, fault) == (0, 0)


def run_status(router):
    return subprocess.run(
        [router.pair.programs["stead-rrd"], "status", router.state],
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.parametrize("times", [20 if LONG else 3])
def test_promote_under_load(pair, record_property, times):
    create(pair.a, files_of("a"), rows=LONG_ROWS)
    create(pair.a, files_of("b"), rows=LONG_ROWS)
    old, new, discarded = pair.a, pair.b, 0
    loads = {router: [] for router in (old, new)}
    prefix = {pair.a: "a", pair.b: "b"}
    with Load(old, files_of("a")) as a, Load(new, files_of("b")) as b:
        load = {pair.a: a, pair.b: b}
        for _ in range(times):
            load[old].more(200, f"updates through {old.name}")
            promoted(pair, old, new)
            loads[old].append(load[old].count())
            pair.ready(new)
            load[new].more(200, f"updates through {new.name}")
            discarded += back_as_standby(old, new)
            # nothing since the promotion
            assert load[old].count() == loads[old][-1], prefix[old]
            old, new = new, old
    terms = [router.status()["pair"]["term"] for router in (old, new)]
    assert terms == [times + 1] * 2
    record_property("discarded", f"{times} promotions: {discarded}")
    assert judged(pair, [a, b], record_property, f"{times} promotions under load") == (
        0,
        0,
    )


def test_the_pair_is_upgraded_to_another_protocol(pair, record_property):
    """As docs/rrd-two-routers.md says: the standby, the promotion, then the old primary."""
    create(pair.a, files_of("a"))
    create(pair.a, files_of("b"))
    between = [pair.relays["A"], pair.relays["B"]]
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.b.kill(signal.SIGTERM)
        for relay in between:
            relay.other_version = True
        pair.b.start()
        for router in (pair.a, pair.b):
            wait_for(
                lambda router=router: router.said(
                    "it speaks version 2 of the protocol of pairs, and this router "
                    "version 1: upgrade the older one"
                ),
                f"{router.name} to refuse the other version",
            )
        pair.a.kill(signal.SIGTERM)
    promoted(pair, pair.a, pair.b)
    pair.ready(pair.b)
    with Load(pair.b, files_of("b")) as later:
        # the answers wait for a standby
        for relay in between:
            relay.other_version = False
        pair.a.start()
        later.more(300, "updates through the upgraded routers")
        back_as_standby(pair.a, pair.b)
    only_one(load, later)
    assert judged(pair, [load, later], record_property, "an upgrade") == (0, 0)


# an older build of stead-rrd, as `make test-upgrade` makes it
BEFORE = os.environ.get("STEAD_RRD_BEFORE")


def test_the_pair_is_upgraded_and_taken_back_under_load(
    programs, place, record_property
):
    """Without an older build, the same program is on both sides."""
    before = programs | {"stead-rrd": BEFORE or programs["stead-rrd"]}
    with Pair(before, place) as pair:
        create(pair.a, files_of("a"))
        create(pair.a, files_of("b"))
        with Load(pair.a, files_of("a")) as a, Load(pair.b, files_of("b")) as b:
            a.more(300, "updates of the old version")
            replaced(pair, pair.a, pair.b, programs)
            b.more(300, "updates of the new version")
            replaced(pair, pair.b, pair.a, before)
            a.more(300, "updates of the old version again")
        what = "an upgrade and back, under load"
        assert judged(pair, [a, b], record_property, what) == (0, 0)


def replaced(pair, primary, standby, programs):
    """Brings another version as docs/rrd-two-routers.md says: the agents, the standby,
    the promotion, then the old primary.
    """
    pair.programs = programs
    for server in pair.backends.values():
        server.stop_agent()
        server.start_agent(programs)
    for old, new in ((primary, standby), (standby, primary)):
        new.kill(signal.SIGTERM)
        new.start()
        back_as_standby(new, old)
        if new is standby:
            promoted(pair, old, new)
            pair.ready(new)
            back_as_standby(old, new)


def test_a_standby_tells_of_its_map_while_it_runs(pair):
    pair.b.map = pair.place / "map-of-b"
    whole = pair.map.read_bytes()
    pair.b.map.write_bytes(whole)
    pair.b.kill()
    pair.b.start()
    back_as_standby(pair.b, pair.a)
    assert pair.b.status()["map_refused"] is None
    pair.b.map.write_bytes(whole[:99])
    wait_for(lambda: pair.b.status()["map_refused"], "the damaged map to be told")
    done = subprocess.run(
        [pair.programs["stead-rrd"], "status", pair.b.state],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stdout.startswith(
        "not well: the map at --map could not be taken up if this router became the primary: "
    ), done
    # it stays the standby
    assert pair.b.status()["pair"]["connected"]
    pair.b.map.write_bytes(whole)
    wait_for(lambda: not pair.b.status()["map_refused"], "the map to be well")


# what happens to the pair while files move; the long run has all of them
IN_A_MOVE = ["A killed, its disk wiped", "A and B exchanged"]
if LONG:
    IN_A_MOVE += [
        "A cut off from B",
        "A cut off from the servers",
        "A cut off from B and the servers",
        "B killed and back",
    ]


@pytest.mark.parametrize("fault", IN_A_MOVE)
def test_a_move_is_under_way(pair, record_property, fault):
    names = files_of("a", 60)
    create(pair.a, names)
    pair.publish(["a1", "b1", "b2"])
    primary = pair.a if fault.startswith("B") else pair.b
    with Load(pair.a, names[:20]) as load:
        load.more(100, "updates")
        wait_for(
            lambda: pair.a.status()["next_epoch"] is not None, "A to see the new map"
        )
        pair.b.is_so("the move is known", connected=True)
        assert pair.b.status()["next_epoch"] is not None
        command = [pair.programs["stead-rrd"], "move", pair.a.state, "--rate", "1"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as move:
            wait_for(
                lambda: (
                    (moving := pair.a.status()["moving"])
                    and 2 <= moving["done"] < moving["files"] - 2
                ),
                "half of a move",
            )
            in_a_move(pair, fault)
            # it ends by itself, whatever became of its router
            move.wait(120)
    with Load(primary, names[20:40]) as later:
        later.more(100, "updates after the fault")
        subprocess.run(
            [pair.programs["stead-rrd"], "move", primary.state],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        later.more(100, "updates after the move")
    assert primary.status()["next_epoch"] is None
    assert not list(pair.backends["a2"].base.rglob("*.rrd"))
    rest = Load(primary, names[40:])
    what = f"{fault}, in a move"
    assert judged(pair, [load, later, rest], record_property, what) == (0, 0)


def in_a_move(pair, fault):
    """Makes the fault happen, and puts the pair right as an operator would."""
    if fault == "B killed and back":
        pair.b.kill()
        pair.a.is_so("lost the standby", connected=False)
        pair.b.start()
        back_as_standby(pair.b, pair.a)
        return
    if "killed" in fault:
        pair.a.kill()
        pair.a.wipe()
    elif "cut off" in fault:
        pair.cut(pair.a, other="from B" in fault, servers="servers" in fault)
        if "from B" in fault:
            pair.a.is_so("lost the standby", connected=False)
    promoted(pair, pair.a, pair.b)
    pair.ready(pair.b)
    if "killed" in fault:
        pair.a.start()
    pair.heal()
    back_as_standby(pair.a, pair.b)


def test_another_version_and_another_program_are_refused_clearly(programs, place):
    pair = Pair(programs, place)
    said = []
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(pair.b.own))
    other.listen()

    def answer():
        for line in (b"stead-rrd pair 2\n", b"-1 Unknown command: stead-rrd\n"):
            for _ in range(2):
                one, _ = other.accept()
                with one:
                    said.append(one.recv(100))
                    one.sendall(line)
        other.close()

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        for name, server in pair.backends.items():
            server.address = f"unix:{server.directory}/s"
            for key in (name, f"{name}.files"):
                pair.relays[key] = Relay(place / f"r.{key}", place / "none")
        pair.relays["A"] = Relay(place / "to-B", pair.b.own)
        pair.relays["B"] = Relay(place / "to-A", pair.a.own)
        pair.publish()
        pair.a.start()
        wait_for(
            lambda: pair.a.said(
                r"speaks version 2 of the protocol of pairs, and this router version 1: "
                r"upgrade the older one"
            ),
            "the other version to be named",
        )
        wait_for(
            lambda: pair.a.said(
                r"not the other router of a pair: it says \"-1 Unknown command"
            ),
            "the other program to be named",
        )
        answering.join()
        assert said[0] == b"stead-rrd pair 1\n"
        # the standby refuses them, too, and lives on
        pair.b.own.unlink()
        pair.b.start()
        wait_for(lambda: pair.b.status(), "B to run")
        for line, words in (
            (b"stead-rrd pair 2\n", b"speaks version 2"),
            (b"BATCH\n", b"not the other router of a pair"),
            (b"stead-rrd pair 1\n\xff\xff\xff\xff?", b"a frame of 4294967295 bytes"),
            (b"stead-rrd pair 1\n\x02\x00\x00\x00h{}", b"a strange frame"),
            (b"stead-rrd pair 1\n\x02\x00\x00\x00r{}", b"unexpected kind"),
        ):
            with socket.socket(socket.AF_UNIX) as one:
                one.settimeout(60)
                one.connect(str(pair.b.own))
                one.sendall(line)
                heard = b""
                while more := one.recv(4096):
                    heard += more
                assert heard.startswith(b"stead-rrd pair 1\n") and words in heard, heard
        assert pair.b.status()["pair"]["role"] == "standby"
    finally:
        for router in (pair.a, pair.b):
            router.kill()
        for relay in pair.relays.values():
            relay.close()


def test_a_standby_serves_nobody_and_says_so(pair):
    with Client(pair.b.unix) as client:
        for line in ("PING", "FETCH x AVERAGE", "UPDATE x N:1", "BATCH"):
            said = client.ask(line)
            assert said.startswith(b"-1 this router serves nobody now"), said
    for verb, more in (("move", []), ("repair", ["a1"])):
        done = subprocess.run(
            [pair.programs["stead-rrd"], verb, pair.b.state, *more],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 75 and "is the standby" in done.stderr, done
    assert run_status(pair.b).startswith("all is well: a standby in sync")
    assert run_status(pair.a).startswith("all is well: 4 backends up, standby in sync")
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "rrd-operations.md").read_text()
    rows = set(re.findall(r"^\| `(stead_rrd_pair_\w+)", page, re.MULTILINE))
    for router, primary in ((pair.a, 1), (pair.b, 0)):
        metrics = dict(
            line.rsplit(" ", 1)
            for line in router.metrics().splitlines()
            if line.startswith("stead_rrd_pair_")
        )
        assert set(metrics) == rows
        assert metrics["stead_rrd_pair_primary"] == f"{primary}"
        assert metrics["stead_rrd_pair_serving"] == f"{primary}"
        assert metrics["stead_rrd_pair_in_sync"] == "1"
    code, said = pair.a.promote()
    assert code == 75 and "primary already" in said
    # its state is not that of a router without another one
    pair.b.kill()
    done = subprocess.run(
        [
            pair.programs["stead-rrd"],
            "serve",
            *("--map", pair.map, "--base", pair.base, "--state", pair.b.state),
            *("--listen", pair.b.unix),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64 and "one of two routers" in done.stderr, done


def test_a_primary_that_lost_its_disk_does_not_empty_the_standby(pair, record_property):
    """A is started again with an empty disk before B is promoted."""
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.a.kill()
    pair.a.wipe()
    pair.a.start()
    wait_for(
        lambda: pair.a.said("the primary has lost its state: promote the standby"),
        "A to be told",
    )
    assert not pair.a.status()["pair"]["serving"]
    promoted(pair, pair.a, pair.b)
    pair.ready(pair.b)
    back_as_standby(pair.a, pair.b)
    assert judged(
        pair, [load], record_property, "A back with an empty disk before the promotion"
    ) == (0, 0)


def test_a_standby_whose_disk_is_full_says_so_when_it_is_promoted(
    programs,
    place,
    small_disk,  # noqa: F811
    record_property,
):
    """It stays the standby, and becomes the primary when there is room."""
    pair = Pair(programs, place)
    pair.options[-1] = "32"
    pair.b.state = small_disk(place / "small", 64)
    with pair:
        create(pair.a, files_of("a"))
        with Load(pair.a, files_of("a")) as load:
            load.more(100, "updates")
            pair.a.kill()
        filler = filled(pair.b.state)
        for options in ([], ["--force"]):
            code, said = pair.b.promote(*options)
            assert code == 75 and said.count("\n") == 1, (code, said)
            assert "No space left on device" in said, said
            assert "make room on that disk, and promote it again" in said, said
        pair.b.is_so("still the standby", role="standby", in_sync=True)
        filler.unlink()
        promoted(pair, pair.a, pair.b)
        pair.ready(pair.b)
        fault = "A killed, B promoted when its disk had room again"
        assert judged(pair, [load], record_property, fault) == (0, 0)


def test_a_router_whose_disk_is_full_is_not_well_until_there_is_room(
    programs,
    place,
    small_disk,  # noqa: F811
):
    """Both routers, although nothing is written to them meanwhile."""
    pair = Pair(programs, place)
    pair.options[-1] = "32"
    for router in (pair.a, pair.b):
        router.state = small_disk(place / f"small-{router.name}", 64)

    def says(router, words):
        """Waits until the page begins with the words, and returns it."""

        def page():
            done = subprocess.run(
                [pair.programs["stead-rrd"], "status", router.state],
                capture_output=True,
                text=True,
                check=False,
            )
            return done.stdout if done.stdout.startswith(words) else None

        return wait_for(page, f"{router.name} to say: {words}")

    def fill_and_look(router):
        # what the router has removed meanwhile is filled, too
        filled(router.state)
        return router.status().get("state_error")

    with pair:
        for router, lost in (
            (pair.b, "this standby could not be promoted"),
            (pair.a, "moves and repairs cannot be recorded"),
        ):
            says(router, "all is well")
            found = wait_for(
                lambda router=router: fill_and_look(router),
                f"{router.name} to know that its disk is full",
            )
            assert found["full"] and "No space left on device" in found["reason"], found
            said = says(router, "not well: the disk under --state is full: ")
            assert f"until there is room, {lost}" in said, said
            metrics = router.metrics()
            assert "stead_rrd_state_writable 0\n" in metrics
            assert "stead_rrd_problems 0\n" not in metrics
            filled(router.state).unlink()
            says(router, "all is well")
            metrics = router.metrics()
            assert "stead_rrd_state_writable 1\n" in metrics
            assert "stead_rrd_problems 0\n" in metrics


def test_a_primary_whose_disk_is_full_does_not_blame_the_standby(
    programs,
    place,
    small_disk,  # noqa: F811
):
    """It tries again and again to store a change, which the standby has."""
    pair = Pair(programs, place)
    pair.options[-1] = "32"
    pair.a.state = small_disk(place / "small", 64)
    name = files_of("a")[0]
    with pair:
        create(pair.a, files_of("a"))
        filler = filled(pair.a.state)
        # so that a copy of it has to be noted in the repair queue
        holder = pair.backends[pair.located([name])[name][0]]
        (holder.base / name).unlink()
        with Load(pair.a, [name]) as load:
            load.more(20, "updates")
            wait_for(
                lambda: pair.a.said("the repair queue cannot be stored"),
                "the primary to fail",
            )
            wait_for(lambda: pair.a.status()["state_error"], "the status to say so")
            found = set()
            for _ in range(40):
                found |= {
                    re.sub(r"[\d.]+", "N", line)
                    for line in run_status(pair.a).splitlines()
                    if line.startswith(("all is well", "not well", "    also"))
                }
            assert not [line for line in found if "standby" in line], found
            assert not [line for line in found if "all is well" in line], found
        filler.unlink()
        pair.a.is_so("in sync", in_sync=True)
        wait_for(
            lambda: run_status(pair.a).startswith("all is well"), "all to be well again"
        )


def test_a_promoted_standby_notices_a_disk_that_was_restored_meanwhile(pair):
    """The primary knew which directory the files were in, and dies together with a
    server.
    """
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(100, "updates")

    def confirmed():
        now = pair.a.status()
        return all(one["confirmed"] == now["log"]["newest"] for one in now["backends"])

    # what the log does not need any more has been written to the state, too
    wait_for(confirmed, "all to be confirmed")
    pair.a.kill()
    server = pair.backends["a1"]
    server.stop(signal.SIGKILL)
    backup = server.directory / "backup"
    shutil.copytree(server.base, backup)
    shutil.rmtree(server.base)
    backup.rename(server.base)
    server.start()
    promoted(pair, pair.a, pair.b)
    pair.ready(pair.b)
    assert pair.b.said(r"the files of (\w+) are in another directory") == ["a1"]
    # once as the standby, and once as the primary
    assert len(pair.b.said("metrics at")) == 2, pair.b.said()


def test_a_promoted_standby_knows_the_last_check(pair):
    """Somebody has asked the primary for it."""
    create(pair.a, files_of("a"))
    subprocess.run(
        [pair.programs["stead-rrd"], "check", pair.a.state],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    last = pair.a.status()["check"]["last"]
    kept = pair.b.state / "checks"

    def told():
        stored = json.loads(kept.read_text()) if kept.exists() else {}
        return stored.get("last") == last

    wait_for(told, "the standby to be told of the check")
    pair.a.kill()
    promoted(pair, pair.a, pair.b)
    pair.ready(pair.b)
    check = pair.b.status()["check"]
    # it compares all copies itself, too, and may have done so
    assert check["last"]["ended"] >= last["ended"] and last["files"] == 12
    assert check["slow"] or check["last"]["began"] > last["began"], check


class Single(Pair):
    """Begins with the first router only, as one that has no other beside it."""

    def begin(self):
        self.a.start(single=True)
        self.ready(self.a)


def test_a_router_that_ran_alone_gets_a_standby_and_mistakes_lose_nothing(
    programs, place, record_property
):
    with Single(programs, place, flush_after="3600") as pair:
        create(pair.a, files_of("a"))
        with Load(pair.a, files_of("a")) as load:
            load.more(300, "updates")
            pair.a.kill()
        # its log is not that of a standby
        pair.a.role = "standby"
        pair.a.start()
        assert pair.a.process.wait() == 74
        assert "start this router with --role primary" in pair.a.said()
        # both are primaries
        pair.a.role = pair.b.role = "primary"
        pair.a.start()
        pair.b.start()
        for router in (pair.a, pair.b):
            wait_for(
                lambda router=router: router.said("the other router is a primary, too"),
                f"{router.name} to name the mistake",
            )
            status = router.status()
            assert status["pair"]["role"] == "primary", status
            assert not status["pair"]["serving"], status
        pair.b.kill()
        pair.b.wipe()
        pair.b.role = "standby"
        pair.b.start()
        pair.ready(pair.a)
        pair.b.is_so("in sync", in_sync=True, connected=True)
        assert pair.b.status()["log"]["newest"] > 300
        pair.a.kill()
        pair.a.wipe()
        promoted(pair, pair.a, pair.b)
        pair.ready(pair.b)
        fault = "a single router got a standby, and died with its disk"
        assert judged(pair, [load], record_property, fault) == (0, 0)


def test_nothing_risky_is_sent_by_a_router_that_may_not_be_the_primary(
    programs, place, record_property
):
    """A server that comes back would get a CREATE from the log. The router can reach
    it, but neither the other router nor an agent.
    """
    with Pair(programs, place, flush_after="3600") as pair:
        create(pair.a, files_of("a"))
        with Load(pair.a, files_of("a")) as load:
            load.more(100, "updates")
        server = pair.backends["a1"]
        server.stop(signal.SIGKILL)
        pair.cut(pair.a)
        for name in pair.backends:
            pair.relays[f"{name}.files"].cut_off(pair.a.process.pid)
        time.sleep(4)  # the time for which an earlier answer counts
        server.start()

        def reason():
            status = pair.a.status()
            one = next(one for one in status["backends"] if one["name"] == "a1")
            assert one["state"] != "up"
            return "cannot find out whether it is still the primary" in (
                one["reason"] or ""
            )

        wait_for(reason, "the server to get nothing")
        pair.heal()
        pair.a.is_so("joined again", connected=True, in_sync=True)
        pair.ready(pair.a)
        assert judged(
            pair, [load], record_property, "A cannot ask whether it is the primary"
        ) == (0, 0)


def test_a_map_is_taken_up_only_when_the_standby_has_it(pair):
    pair.b.kill()
    pair.a.is_so("lost the standby", connected=False)
    pair.publish(["a1", "b1", "b2"])
    wait_for(
        lambda: pair.a.said("has not stored this change of the state"),
        "the map to be refused",
    )
    assert pair.a.status()["next_epoch"] is None
    pair.b.start()
    for router in (pair.a, pair.b):
        wait_for(
            lambda router=router: router.status()["next_epoch"] == 2,
            f"{router.name} to know the new map",
        )


@pytest.mark.parametrize("promote", [False, True])
def test_both_routers_die(pair, record_property, promote):
    """Both come back, or the standby only, which then is promoted."""
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.b.kill()
        pair.a.kill()
    pair.b.start()
    if promote:
        pair.a.wipe()
        wait_for(pair.b.status, "B to run")
        promoted(pair, pair.a, pair.b)
        pair.ready(pair.b)
    else:
        pair.a.start()
        pair.ready(pair.a)
        pair.a.is_so("in sync", in_sync=True, term=1)
    fault = f"both killed, {'B alone comes back' if promote else 'both come back'}"
    assert judged(pair, [load], record_property, fault) == (0, 0)


def test_random_faults_one_after_the_other(pair, record_property):
    """The same faults in an order that nobody has thought of."""
    chance = random.Random(20)
    create(pair.a, files_of("a"), rows=LONG_ROWS)
    create(pair.a, files_of("b"), rows=LONG_ROWS)
    primary, standby = pair.a, pair.b
    promotions, done = 0, []

    def cut():
        pair.cut(primary)
        time.sleep(chance.random() * 3)
        pair.heal()

    def stand_still():
        one = chance.choice([primary, standby])
        os.kill(one.process.pid, signal.SIGSTOP)
        time.sleep(chance.random() * 4)
        os.kill(one.process.pid, signal.SIGCONT)

    def kill_the_standby():
        standby.kill()
        if chance.random() < 0.5:
            standby.wipe()
            standby.role = "standby"
        standby.start()

    def kill_both():
        standby.kill()
        primary.kill()
        for one in chance.sample([primary, standby], 2):
            one.start()
            time.sleep(chance.random())

    def promote():
        promoted(pair, primary, standby)

    def kill_and_promote():
        primary.kill()
        if chance.random() < 0.5:
            primary.wipe()
        promoted(pair, primary, standby)
        primary.start()

    def kill_a_server():
        server = chance.choice(list(pair.backends.values()))
        server.stop(signal.SIGKILL)
        time.sleep(chance.random() * 2)
        server.start()

    faults = [cut, stand_still, kill_the_standby, kill_both, promote]
    faults += [kill_and_promote, kill_a_server]
    with Load(pair.a, files_of("a")) as a, Load(pair.b, files_of("b")) as b:
        load = {pair.a: a, pair.b: b}
        for _ in range(60 if LONG else 6):
            load[primary].more(30, f"updates through {primary.name} after {done[-1:]}")
            standby.is_so("in sync", role="standby", in_sync=True, connected=True)
            fault = chance.choice(faults)
            done.append(fault.__name__)
            fault()
            if fault in (promote, kill_and_promote):
                primary, standby = standby, primary
                promotions += 1
        load[primary].more(30, "updates at the end")
        back_as_standby(standby, primary)
    pair.ready(primary)
    # who acknowledged, in the order of time
    order = sorted([(at, "a") for at in a.when] + [(at, "b") for at in b.when])
    changes = sum(
        one[1] != other[1] for one, other in zip(order, order[1:], strict=False)
    )
    assert changes <= promotions
    fault = f"{len(done)} random faults, {promotions} promotions"
    assert judged(pair, [a, b], record_property, fault) == (0, 0), done

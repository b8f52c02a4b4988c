"""`stead-sync carry audit`: what is at nodes where the map does not place it is found, and brought
to where it belongs, while applications work and the audit is killed.
"""

import contextlib
import json
import os
import random
import threading
import time

import pytest
from carry_servers import KINDS, ServerCarry, program
from carry_site import App, Carry, kill, local
from carry_ssh import SSHD, Sshd
from test_carry_ssh import Far

KEYS = [f"key{n:04}" for n in range(240)]
NEW = ("a", "b", "c", "d")
ANY = "overlooked = 100"


def audit(carry, *options):
    """Runs an audit. Returns its exit code and its report."""
    done = carry.site.sync("carry", "audit", "--json", carry.file, *options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def forget(carry, *nodes):
    """Applies a change without --carry, and pushes it."""
    carry.make_roots(nodes)
    carry.nodes = list(nodes)
    carry.anna.apply(*nodes, more=carry.more, attributes=carry.attributes)
    assert carry.anna.push().returncode == 0


def write(path, text, age=0):
    """Writes a file whose content is so many seconds old."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = time.time() - age
    os.utime(path, (then, then))


def wrong_place(carry, key):
    """A node where the map does not place a key."""
    homes = carry.homes(key)
    return next(node for node in carry.nodes if node not in homes)


@pytest.mark.parametrize("copies", [1, 2])
def test_a_change_without_a_carry_is_found_and_brought_home(programs, place, copies):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, more=f"replicas = {copies}")
        carry.fill()
        assert audit(carry)[1]["misplaced"] == 0
        before = {key: carry.homes(key) for key in KEYS}
        forget(carry, *NEW)
        strays = [
            (key, node)
            for key in KEYS
            for node in before[key]
            if node not in carry.homes(key)
        ]
        code, found = audit(carry)
        assert (code, found["misplaced"]) == (1, len(strays))
        assert found["items"] == copies * len(KEYS)
        named = {(s["item"][3:], s["node"]) for s in found["misplaced_items"]}
        assert named == set(strays)
        by_node = {row["node"]: row["misplaced"] for row in found["nodes"]}
        assert by_node == {node: [n for _, n in strays].count(node) for node in NEW}
        if copies == 1:
            assert found["only_there"] == len(strays)
        # so many are refused at first, since the pattern may be wrong
        code, refused = audit(carry, "--bring")
        assert code == 69 and "raise limits.overlooked" in refused["problem"], refused
        assert sum(map(len, carry.copies().values())) == copies * len(KEYS)
        carry.write_file(limits=ANY)
        code, found = audit(carry, "--bring")
        assert (code, found["brought"]) == (0, len(strays)), found
        carry.judge()
        code, found = audit(carry)
        assert (code, found["misplaced"]) == (0, 0)


def test_the_newer_value_stays_and_what_nobody_knows_is_left(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:40])
        carry.write_file(limits=ANY)
        # an old backup was put back, with its times
        lacking, old, same, newer, unknown, equal_times = carry.ledger.values.keys() - {
            *KEYS[6:40]
        }
        for key in (old, same, newer, unknown, equal_times):
            write(carry.path(carry.home(key), key), f"{key} home", age=1000)
        wrong = {key: carry.path(wrong_place(carry, key), key) for key in KEYS[:6]}
        write(wrong[lacking], "only there")
        write(wrong[old], "an old backup", age=5000)
        write(wrong[same], f"{same} home", age=5000)
        write(wrong[newer], "a script with the old rule")
        # its content is newer, and it was put there before the right place was changed
        write(wrong[unknown], "of unknown age", age=10)
        time.sleep(0.05)
        os.chmod(carry.path(carry.home(unknown), unknown), 0o600)
        write(wrong[equal_times], "other")
        then = carry.path(carry.home(equal_times), equal_times).stat().st_mtime_ns
        os.utime(wrong[equal_times], ns=(then, then))
        code, found = audit(carry)
        whats = {s["item"][3:]: s["what"] for s in found["misplaced_items"]}
        assert whats == {
            lacking: "only_there",
            old: "older",
            same: "same",
            newer: "newer",
            unknown: "different",
            equal_times: "different",
        }
        assert code == 1 and {s["done"] for s in found["misplaced_items"]} == {"left"}
        code, found = audit(carry, "--bring")
        done = {s["item"][3:]: s["done"] for s in found["misplaced_items"]}
        assert code == 1 and done == {
            lacking: "brought",
            old: "removed",
            same: "removed",
            newer: "replaced",
            unknown: "left",
            equal_times: "left",
        }
        values = carry.copies()
        assert values[lacking] == {carry.home(lacking): "only there"}
        assert values[old] == {carry.home(old): f"{old} home"}
        assert values[same] == {carry.home(same): f"{same} home"}
        assert values[newer] == {carry.home(newer): "a script with the old rule"}
        for key in (unknown, equal_times):
            assert len(values[key]) == 2 and f"{key} home" in values[key].values()
        text = site.sync("carry", "audit", carry.file)
        assert text.returncode == 1, text
        assert "2 of them where the map does not place them" in text.stdout
        assert not list(carry.roots.rglob(".stead-carry*"))


class Reader(threading.Thread):
    """Reads keys at their places, where there must be a value at every moment."""

    def __init__(self, carry, keys):
        super().__init__(daemon=True)
        self.paths = [carry.path(carry.home(key), key) for key in keys]
        self.ends, self.looks, self.wrong = threading.Event(), 0, []

    def run(self):
        while not self.ends.is_set():
            for path in self.paths:
                try:
                    self.looks += path.read_text() in ("first", "second")
                except FileNotFoundError as error:
                    self.wrong.append(error)


def test_nothing_is_lost_or_missed_while_audits_are_killed(
    programs, place, record_property
):
    class Writer(App):
        """An application that reads and writes, and does not delete: nothing tells a
        deleted item from one that was never brought home.
        """

        def __init__(self, *arguments):
            super().__init__(*arguments)
            draw = self.random.random
            self.random.random = lambda: draw() * 0.8

    rng = random.Random(4)
    count = 1200
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.write_file(limits=ANY + "\nitems_per_second = 2000")
        carry.fill()
        carry.app = Writer
        # more keys, which no application writes meanwhile
        lost = [f"lost{n:05}" for n in range(count)]
        swapped = [f"swap{n:05}" for n in range(count)]
        for key in lost:
            write(carry.path(wrong_place(carry, key), key), f"{key} only there")
        for key in swapped:
            write(carry.path(carry.home(key), key), "first", age=100)
            write(carry.path(wrong_place(carry, key), key), "second")
        # old copies of keys that applications write all the while
        for key in KEYS:
            write(carry.path(wrong_place(carry, key), key), "old", age=100_000)
        carry.start()
        reader = Reader(carry, swapped)
        reader.start()
        killed, code = 0, 1
        while code != 0:
            run = site.start("carry", "audit", "--json", "--bring", carry.file)
            if killed < 15:
                # listing both passes takes some tenths of a second
                time.sleep(rng.uniform(0.1, 1.2))
                if kill(run):
                    killed += 1
                    continue
            _, told = run.communicate()
            code = run.returncode
            assert code in (0, 1), told
        carry.stop()
        reader.ends.set()
        reader.join()
        assert killed > 5 and reader.looks > count and reader.wrong == []
        found = carry.copies()
        for key in lost:
            assert found.pop(key) == {carry.home(key): f"{key} only there"}
        for key in swapped:
            assert found.pop(key) == {carry.home(key): "second"}
        carry.judge()
    record_property(
        "audits:",
        f"{killed} killed; {2 * count + len(KEYS)} items at wrong places, 0 lost; "
        f"{reader.looks} reads of what was exchanged, 0 missed; {carry.told()}",
    )


def test_copies_that_are_missing_are_found_and_filled_if_that_is_asked_for(
    programs, place, record_property
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, more="replicas = 2", limits=ANY)
        carry.fill()
        still = carry.ledger.still
        both = carry.copies()
        # of each of these, one of both copies goes; of one key both
        lacks = {key: carry.homes(key)[n % 2] for n, key in enumerate(still[1:])}
        for key, node in lacks.items():
            carry.path(node, key).unlink()
        for node in carry.homes(still[0]):
            carry.path(node, still[0]).unlink()
        both.pop(still[0])
        code, found = audit(carry)
        assert (code, found["misplaced"], found["lacking"]) == (1, 0, len(lacks))
        by_node = {row["node"]: row["lacking"] for row in found["nodes"]}
        nodes = list(lacks.values())
        assert by_node == {node: nodes.count(node) for node in ("a", "b", "c")}
        named = {(s["item"][3:], *s["homes"]) for s in found["lacking_items"]}
        assert named == set(lacks.items())
        assert {s["what"] for s in found["lacking_items"]} == {"lacking"}
        told = site.sync("carry", "audit", carry.file).stdout
        assert f"  a: lacks {by_node['a']} copies that it should have\n" in told, told
        # nothing is brought unless it is asked for: what was deleted would come back
        code, found = audit(carry, "--bring")
        assert (code, found["brought"], found["lacking"]) == (1, 0, len(lacks))
        carry.write_file(limits="overlooked = 2")
        code, found = audit(carry, "--bring", "--fill")
        told = f"node a lacks {by_node['a']} of "
        assert code == 69 and found["problem"].count(" lacks ") == 3, found
        assert found["problem"].startswith(told), found
        assert "raise limits.overlooked" in found["problem"], found
        # while applications write and delete other keys
        carry.write_file(limits=ANY)
        carry.start()
        code, found = audit(carry, "--bring", "--fill")
        carry.stop()
        assert (code, found["brought"]) == (0, len(lacks)), found
        carry.ledger.values[still[0]] = None
        carry.judge()
        assert all(carry.copies()[key] == both[key] for key in lacks)
        code, found = audit(carry)
        assert (code, found["lacking"], found["misplaced"]) == (0, 0, 0), found
    record_property("filled:", f"{len(lacks)} copies; {carry.told()}")


def test_what_is_brought_home_and_what_is_filled_are_two_things(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60], more="replicas = 2", limits=ANY)
        carry.fill()
        # one key has lost a copy, and of another one that copy is at a wrong place
        lost, moved = KEYS[:2]
        carry.path(carry.homes(lost)[0], lost).unlink()
        here = carry.path(carry.homes(moved)[1], moved)
        there = carry.path(wrong_place(carry, moved), moved)
        there.parent.mkdir(parents=True, exist_ok=True)
        here.rename(there)
        code, found = audit(carry)
        assert (code, found["same"], found["lacking"]) == (1, 1, 2), found
        code, found = audit(carry, "--bring")
        assert (code, found["brought"]) == (0, 1), found
        (note,) = found["notes"]
        assert "before this, 2 copies were missing" in note, note
        code, found = audit(carry)
        assert (code, found["lacking"]) == (1, 1), found
        code, found = audit(carry, "--bring", "--fill")
        assert (code, found["brought"]) == (0, 1), found
        carry.judge()


def test_a_writer_who_does_not_follow_the_map_is_told(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.write_file(limits=ANY)
        key = KEYS[0]
        path, ends = carry.path(wrong_place(carry, key), key), threading.Event()

        def scribble():
            number = 0
            while not ends.is_set():
                number += 1
                fresh = path.parents[1] / ".new"
                write(fresh, f"{number}")
                fresh.rename(path)

        path.parent.mkdir(parents=True)
        writer = threading.Thread(target=scribble)
        writer.start()
        try:
            code, found = audit(carry, "--bring")
        finally:
            ends.set()
            writer.join()
        assert code in (0, 1)
        [stray] = found["misplaced_items"]
        last = path.read_text()
        if stray["done"] in ("left", "failed"):
            assert stray["why"], stray
        code, found = audit(carry, "--bring")
        # the last value wins, whatever came between
        assert carry.copies() == {key: {carry.home(key): last}}, found


def test_it_waits_for_hosts_and_for_a_carry(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60])
        carry.write_file(limits=ANY)
        carry.fill()
        host = site.host("web1")
        host.wait(1)
        host.stop()
        forget(carry, *NEW)
        done = site.sync("carry", "audit", "--bring", carry.file)
        assert done.returncode == 75 and "web1" in done.stderr, done
        host.start()
        host.wait(2)
        carry.begin("a", "b", "c", "d", "e")
        done = site.sync("carry", "audit", carry.file)
        assert done.returncode == 69 and "a carry is open in epoch 3" in done.stderr


def test_nodes_that_left_the_fleet_are_asked_with_an_epoch(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60])
        carry.write_file(limits=ANY)
        carry.fill()
        at_c = [key for key in KEYS[:60] if carry.home(key) == "c"]
        forget(carry, "a", "b")
        assert audit(carry)[1]["misplaced"] == 0
        code, found = audit(carry, "--epoch", "1")
        assert (code, found["misplaced"]) == (1, len(at_c))
        assert audit(carry, "--epoch", "1", "--bring")[0] == 0
        carry.judge()


@pytest.mark.skipif(not SSHD, reason="sshd is not installed")
def test_nodes_at_other_machines_are_looked_at_and_brought_home(programs, place):
    with Sshd(place / "sshd") as sshd, local(programs, place) as site:
        far = Far(site, sshd, KEYS[:60])
        far.fill()
        for n, key in enumerate(KEYS[:60]):
            if n % 3 == 0:
                write(far.path(wrong_place(far, key), key), f"{key} newer")
                far.ledger.values[key] = f"{key} newer"
                home = far.path(far.home(key), key)
                write(home, f"{key} first", age=50)
                # the file at the wrong place is the newer one: its content and its inode are
                time.sleep(0.02)
                write(far.path(wrong_place(far, key), key), f"{key} newer")
            elif n % 3 == 1:
                home = far.path(far.home(key), key)
                wrong = far.path(wrong_place(far, key), key)
                wrong.parent.mkdir(parents=True, exist_ok=True)
                home.rename(wrong)
        code, found = audit(far)
        assert (code, found["newer"], found["only_there"]) == (1, 20, 20), found
        far.write_file(limits=ANY)
        code, found = audit(far, "--bring")
        assert (code, found["replaced"], found["brought"]) == (0, 20, 20), found
        far.judge()


@pytest.mark.parametrize("kind", list(KINDS))
def test_keys_and_rows_on_servers(programs, place, kind):
    missing = [word for word in KINDS[kind].needs if not program(word)]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    with (
        local(programs, place) as site,
        ServerCarry(site, kind, KEYS[:60], old=("a", "b", "c")) as carry,
    ):
        carry.write_file(limits=ANY)
        carry.fill()
        wrong = [key for key in KEYS[:60] if carry.home(key) != "a"]
        lacking, same, other = wrong[0:5], wrong[5:10], wrong[10:15]
        with carry_client(carry, "a") as client:
            for key in lacking + same:
                client.put(key, f"{key} first")
            for key in other:
                client.put(key, f"{key} other")
        for key in lacking:
            carry.delete_at(carry.home(key), key)
        code, found = audit(carry)
        assert (code, found["misplaced"]) == (1, 15), found
        forgets = kind == "memcached"
        expected = (0, 0, 0, 15) if forgets else (5, 5, 5, 0)
        names = ("only_there", "same", "different", "forgettable")
        assert tuple(found[name] for name in names) == expected, found
        code, found = audit(carry, "--bring")
        values = carry.copies()
        if forgets:
            # what a cache has at a wrong place may be old, so it is only removed
            assert (code, found["removed"]) == (0, 15), found
            for key in lacking:
                assert key not in values
        else:
            assert (code, found["brought"], found["removed"]) == (1, 5, 5), found
            for key in lacking + same:
                assert values[key] == {carry.home(key): f"{key} first"}
            for key in other:
                assert values[key] == {
                    carry.home(key): f"{key} first",
                    "a": f"{key} other",
                }


def carry_client(carry, node):
    return contextlib.closing(carry.connect(node))

"""`stead-sync carry`: data follows the map while applications read, write and delete it.
Each fault test counts the faults that took effect.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from carry_site import PATTERN, App, Carry, kill, local, mount, unmount
from sync_servers import wait_for

KEYS = [f"key{n:03}" for n in range(240)]
NEW = ("a", "b", "c", "d")


def test_a_carry_loses_nothing_while_applications_work(site, record_property):
    carry = Carry(site, KEYS, limits="workers = 2")
    carry.fill()
    carry.start()
    carry.begin(*NEW)
    dry = carry.run("--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    (count,) = json.loads(dry.stdout)["work"]
    assert {way["to"] for way in count["ways"]} == {"d"}
    # about: applications delete some of them meanwhile
    assert all(way["bytes"] > 1024 * way["items"] for way in count["ways"])
    assert sum(way["items"] for way in count["ways"]) == count["items"] > 20
    assert carry.copies() and not list((carry.roots / "d").iterdir())
    assert carry.state() == "old"
    done = carry.run("--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["state"], report["problem"], report["failed"]) == (None, None, [])
    passes = {work["pass"]: work for work in report["work"]}
    assert list(passes) == ["count", "copy", "verify", "check", "remove"]
    assert passes["copy"]["copied"] > 10 and passes["remove"]["removed"] > 10
    carry.stop()
    keys, *_ = carry.judge()
    ledger = carry.ledger
    assert min(ledger.looks, ledger.writes, ledger.deletes) > 10
    assert not os.path.exists(f"{carry.anna.map}.carry")
    assert "carry." not in " ".join(site.status())
    again = carry.run()
    assert again.returncode == 64 and "no carry is open" in again.stderr
    record_property("while carried:", f"{carry.told()}; {keys} keys, 0 lost, 0 twice")


def test_killed_at_fifty_moments(programs, place, record_property):
    rng, killed, states, carries = random.Random(5), 0, Counter(), 0
    with local(programs, place) as site:
        carry = Carry(site, KEYS, limits="items_per_second = 60\nworkers = 2")
        carry.fill()
        carry.start(1)
        nodes, journal = ["a", "b", "c"], f"{carry.anna.map}.carry"
        while killed < 50:
            carries += 1
            nodes.append(f"n{carries}")
            carry.begin(*nodes)
            while killed < 50:
                running = carry.start_run()
                try:
                    running.communicate(timeout=rng.uniform(0.02, 0.7))
                    assert running.returncode == 0, running.returncode
                    break
                except subprocess.TimeoutExpired:
                    states[carry.state()] += 1
                    killed += kill(running)
                    # killed after its last deed
                    if not carry.state() and not os.path.exists(journal):
                        break
            if carry.state():
                done = carry.run()
                assert done.returncode == 0, done.stderr
        carry.stop()
        keys, *_ = carry.judge()
    assert len([state for state in states if state]) >= 3, states
    record_property(
        "killed:",
        f"{killed} times in {carries} carries ({dict(states)}); {carry.told()}; {keys} keys, "
        "0 lost, 0 twice",
    )


def test_nothing_moves_before_every_host_has_confirmed(
    programs, place, record_property
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.start(1)
        slow = site.host("slow")
        site.wait_state("slow", "current", epoch=1)
        waited = 0
        for state in ("old", "both_old_first", "both_new_first", "new"):
            if state == "old":
                slow.stop()
                carry.begin(*NEW)
            before = carry.copies()
            # hosts confirm only what was pushed, so the state is there before the host is gone
            running = carry.start_run("--until", state)
            named = ""
            while "1 of 2 hosts lack epoch" not in named:
                named = running.stderr.readline()
                assert named, running.communicate()
            assert "slow (epoch" in named, named
            time.sleep(0.3)
            assert running.poll() is None and carry.state() == state
            # in the next states applications write there
            assert state != "old" or not list((carry.roots / "d").iterdir())
            # no copy is gone of the keys that no application touches
            after = carry.copies()
            still = carry.ledger.still
            gone = [k for k in still if not set(before[k]) <= set(after[k])]
            assert gone == [], gone[:3]
            waited += 1
            status = site.sync("carry", "status", carry.file, "--json")
            assert status.returncode == 1
            standing = json.loads(status.stdout)
            assert (standing["waits_for"], standing["pass"]) == (["slow"], None)
            assert standing["running"]
            slow.start()
            _, err = running.communicate(timeout=120)
            assert running.returncode == 0, err
            assert carry.state() == state
            slow.stop()
            if state != "new":
                # the step itself needs nobody; what follows it does
                step = carry.start_run()
                wait_for(lambda s=state: carry.state() != s, "the next state")
                assert kill(step)
        site.sync("forget", site.url, "slow", "--alive")
        done = carry.run()
        assert done.returncode == 0, done.stderr
        carry.stop()
        carry.judge()
    assert waited == 4
    record_property(
        "a host that does not confirm:", f"{waited} states, nothing removed"
    )


@pytest.mark.parametrize("state", ["old", "both_old_first", "both_new_first"])
def test_reversed_in_each_state(programs, place, state, record_property):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.start(1)
        carry.begin(*NEW)
        assert carry.run("--until", state).returncode == 0
        assert carry.state() == state
        copied = len(list((carry.roots / "d").glob("*/*")))
        assert (copied > 0) == (state != "old")
        done = site.sync("carry", "reverse", carry.file)
        assert done.returncode == 0, done.stderr
        again = site.sync("carry", "reverse", carry.file)
        assert again.returncode == 0, again.stderr
        done = carry.run()
        assert done.returncode == 0, done.stderr
        carry.stop()
        carry.judge()
        assert list((carry.roots / "d").glob("*/*")) == []
        record_property(
            f"reversed from {state}:", f"{copied} copies removed; {carry.told()}"
        )


def test_reversed_while_it_copies_and_too_late_in_the_last_state(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, limits="items_per_second = 20")
        carry.fill()
        carry.start(1)
        carry.begin(*NEW)
        running = carry.start_run()
        wait_for(lambda: list((carry.roots / "d").glob("*/*")), "the first copies")
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        _, err = running.communicate(timeout=120)
        assert running.returncode == 0, err
        assert "another one now" in err
        carry.judge()
        carry.begin("a", "b")
        carry.write_file()
        assert carry.run("--until", "new").returncode == 0
        late = site.sync("carry", "reverse", carry.file)
        assert late.returncode == 69 and "too late" in late.stderr, late.stderr
        assert carry.run().returncode == 0
        carry.stop()
        carry.judge()


def test_what_is_removed_at_new_places_stays_removed_after_kills(programs, place):
    """A new node has an old disk, with items that were deleted since."""
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        # some dozens are removed at once
        old = [
            key for key in (f"old{n:03}" for n in range(4000)) if carry.home(key) == "d"
        ]
        assert len(old) > 800
        for key in old:
            path = carry.path("d", key)
            path.parent.mkdir(exist_ok=True)
            path.write_text("deleted since")
        # and with one whose key is at another node in both maps
        misplaced = next(
            key for key in (f"old{n:03}" for n in range(400)) if carry.home(key) != "d"
        )
        carry.path("d", misplaced).parent.mkdir(exist_ok=True)
        carry.path("d", misplaced).write_text("of no map")
        done = carry.run()
        assert done.returncode == 1 and "or d has an old disk" in done.stdout, done
        told = f"their keys: 1 item, such as {misplaced[-2:]}/{misplaced} at node d"
        assert told in done.stdout, done
        assert carry.state() == "both_old_first"
        carry.write_file(limits="only_new = 4000\nitems_per_second = 60")
        left = lambda: len(list((carry.roots / "d").glob("*/old*")))
        killed = 0
        for _ in range(8):
            before, run = left(), carry.start_run()
            wait_for(lambda before=before: left() < before, "a removal")
            killed += kill(run)
        assert killed == 8 and left() and carry.state() == "both_old_first"
        carry.write_file(limits="only_new = 4000")
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done
        assert left() == 1
        carry.path("d", misplaced).unlink()
        carry.judge()


def test_files_are_copied_from_a_disk_that_is_read_only(programs, place):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60])
        mount(carry.roots / "a", "10m")
        try:
            carry.fill()
            carry.begin(*NEW)
            remount = ["mount", "-o", "remount,ro", carry.roots / "a"]
            subprocess.run(remount, check=True)
            done = carry.run("--until", "both_new_first")
            assert done.returncode == 0, done.stderr
            assert len(list((carry.roots / "d").glob("*/key*"))) > 3
            # old copies can be removed when it is writable again
            remount[2] = "remount,rw"
            subprocess.run(remount, check=True)
            done = carry.run()
            assert done.returncode == 0, done.stderr
            carry.judge()
        finally:
            unmount(carry.roots / "a")


def test_a_dry_run_says_what_is_left_to_do(programs, place):
    left = {
        "old": None,
        "both_old_first": None,
        "both_new_first": "compares it again, and removes the old copies\n",
        "new": "a run copies nothing in this state, and removes what was counted at the old",
    }
    back = (
        "being reversed: a run copies nothing from here on, and removes what was copied"
    )
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60], limits="deleted = 17")
        carry.fill()
        carry.begin("a", "b", "c", "d")
        for state, words in left.items():
            assert carry.run("--until", state).returncode == 0
            dry = carry.run("--dry-run").stdout
            assert ("a run " in dry) == bool(words) and (words or "") in dry, dry
        # who has only the map learns which file it was
        told = site.run("stead", "carry", carry.anna.map).stdout
        assert f"the file of the carry is {carry.file}" in " ".join(told.split()), told
        assert carry.run().returncode == 0
        told = site.run("stead", "history", carry.anna.map).stdout
        by = f"carried by {carry.file}, limits.deleted = 17"
        assert " ".join(told.split()).count(by) == 1, told
        carry.begin("a", "b", "c", "d", "e")
        assert carry.run("--until", "both_new_first").returncode == 0
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        dry = carry.run("--dry-run").stdout
        assert back in dry, dry
        assert carry.run().returncode == 0


def test_a_dry_run_says_which_copies_are_only_removed(programs, place):
    drops_copies = ("--allow", "drop-copies,take-back")
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:120], more="replicas = 2")
        carry.fill()
        carry.more = "replicas = 1"
        carry.begin("a", "b", "c", options=drops_copies)
        before = carry.copies()
        drops = {
            node: sum(
                node in before[key] and node not in carry.homes(key) for key in before
            )
            for node in ("a", "b", "c")
        }
        assert sum(drops.values()) == 120
        dry = carry.run("--dry-run")
        assert dry.stdout.startswith("count: 0 items, "), dry
        for node, items in drops.items():
            size = f"{items * 4096 / 1000:.1f} kB of disk"
            assert f"  {node}: {items} copies are only removed, {size}\n" in dry.stdout
        dry = json.loads(carry.run("--dry-run", "--json").stdout)["work"][0]
        assert {row["node"]: row["items"] for row in dry["drops"]} == drops
        done = json.loads(carry.run("--json").stdout)
        assert done["work"][-1]["removed"] == 120
        carry.judge()
        # copies that go and others that are only removed, in one change
        carry.more = "replicas = 2"
        carry.begin("a", "b", "c", options=drops_copies)
        assert "only removed" not in carry.run("--dry-run").stdout
        assert carry.run().returncode == 0
        carry.more = "replicas = 1"
        carry.begin("a", "b", "c", "d", options=drops_copies)
        dry = json.loads(carry.run("--dry-run", "--json").stdout)["work"][0]
        done = json.loads(carry.run("--json").stdout)
        only = sum(row["items"] for row in dry["drops"])
        gone = {item["pass"]: item["removed"] for item in done["work"]}["remove"]
        # those that are copied are removed at both old places
        assert 0 < only < gone == only + dry["items"], (dry, gone)
        carry.judge()


def test_a_full_disk_at_the_target(programs, place, record_property):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.make_roots("d")
        mount(carry.roots / "d", "200k")
        try:
            carry.fill()
            # applications find no room there either, so none works here
            site.host("web1").wait(1)
            carry.begin(*NEW)
            # it is told beforehand
            for options in ["--dry-run"], []:
                done = carry.run(*options)
                told = re.search(
                    r"the disk of d has ([\d.]+) kB free, and about ([\d.]+) kB are to be copied "
                    r"there; nothing was copied",
                    done.stderr,
                )
                assert done.returncode == 69 and told, done
                assert float(told[1]) < 205 < float(told[2])
                # and with it what goes where
                ways = re.findall(
                    r"^.*  \w -> d: \d+ items", done.stdout + done.stderr, re.MULTILINE
                )
                assert len(ways) >= 3, done
                assert carry.state() == "old" and not list(
                    (carry.roots / "d").glob("*/key*")
                )
            carry.write_file(limits="full = 1")
            full = carry.run("--json")
            assert full.returncode == 1, full.stderr
            report = json.loads(full.stdout)
            failed = [f for f in report["failed"] if "No space left" in f["why"]]
            assert failed and report["state"] == "both_old_first"
            assert set(carry.copies()) == set(KEYS)
            again = carry.run()
            assert again.returncode == 1 and "failed: node" in again.stdout
        finally:
            # what was copied there is gone with it: verifying finds that
            unmount(carry.roots / "d")
        away = carry.run()
        assert away.returncode == 66 and "--moved d" in away.stderr, away
        done = carry.run("--moved", "d")
        assert done.returncode == 0, done.stderr
        carry.judge()
        record_property("a full disk:", f"{len(failed)} items failed, 0 lost")


def test_the_new_node_loses_data_before_the_old_copies_are_removed(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        site.host("web1").wait(1)
        carry.begin(*NEW)
        assert carry.run("--until", "both_old_first").returncode == 0
        copies = sorted((carry.roots / "d").glob("*/*"))
        # the state changes, and then a file is lost that was not checked yet
        carry.write_file(limits="items_per_second = 1")
        step = carry.start_run("--until", "both_new_first")
        wait_for(lambda: carry.state() == "both_new_first", "the state")
        kill(step)
        carry.write_file()
        copies[-1].unlink()
        lost = carry.run()
        assert lost.returncode == 69 and copies[-1].name in lost.stderr, lost.stderr
        assert carry.state() == "both_new_first"
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        assert carry.run().returncode == 0
        carry.judge()


def test_copies_that_the_first_old_node_lacks_are_not_removed(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, more="replicas = 2")
        carry.fill()
        carry.begin(*NEW)
        # the disk of a was replaced by an empty one
        shutil.rmtree(carry.roots / "a")
        carry.make_roots(["a"])
        before = {key: set(nodes) for key, nodes in carry.copies().items()}
        assert set(before) == set(KEYS)
        # a node without any item is refused before anything is copied
        done = carry.run()
        assert (done.returncode, carry.state()) == (66, "old"), done
        carry.write_file(limits="empty = 1")
        lost = carry.run()
        assert (lost.returncode, carry.state()) == (69, "both_new_first"), lost.stderr
        assert "the new place lacks" in lost.stderr
        assert all(nodes <= set(carry.copies()[key]) for key, nodes in before.items())
        # with a named as lost, the other copies are where the rest is copied from
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        assert carry.run().returncode == 0 and carry.state() is None
        assert {key: set(nodes) for key, nodes in carry.copies().items()} == before
        carry.begin(*NEW, options=["--allow=take-back"])
        carry.write_file(top="lost = ['a']")
        assert carry.run().returncode == 0
        found = carry.copies()
        for key in KEYS:
            assert set(found[key]) == set(carry.homes(key)) - {"a"}, key


def test_values_that_differ_end_the_carry_before_anything_is_removed(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, limits="different = 2")
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_old_first").returncode == 0
        both = [key for key, nodes in carry.copies().items() if len(nodes) == 2]
        olds = {key: (set(carry.copies()[key]) - {"d"}).pop() for key in both}

        def forgotten(keys):
            """A program with the old map, which writes to the old places only."""
            for key in keys:
                carry.path(olds[key], key).write_text(f"{key} later")

        forgotten(both[:2])
        done = carry.run("--until", "both_new_first")
        assert done.returncode == 0, done.stderr
        note = "with another value at the new place: 2 items, such as "
        assert note in done.stdout, done.stdout
        forgotten(both[:3])
        # a second run looks at all of them again
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (69, "both_new_first")
            told = "more than 2 items have another value at their new places, such as "
            assert told in done.stderr, done.stderr
        # the way back keeps what the old places have
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        assert carry.run().returncode == 0 and carry.state() is None
        for key in both:
            value = f"{key} later" if key in both[:3] else f"{key} first"
            assert carry.copies()[key] == {olds[key]: value}


def test_status_says_how_far_a_killed_run_was(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        carry.write_file(limits="items_per_second = 20")
        running = carry.start_run()
        status = lambda *more: site.sync("carry", "status", carry.file, *more)
        standing = lambda: json.loads(status("--json").stdout)
        wait_for(lambda: standing()["under_way"], "items under way")
        at_work = standing()
        assert at_work["running"] and at_work["pass"] == "copy", at_work
        assert kill(running)
        killed = standing()
        assert not killed["running"] and killed["under_way"], killed
        told = rf"\npass copy: .* {killed['under_way']} under way when it stopped, \d+ s ago\n"
        assert re.search(told, status().stdout), status().stdout
        carry.write_file()
        assert carry.run().returncode == 0
        carry.judge()


def test_a_run_until_a_state_that_is_past_does_nothing(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_new_first").returncode == 0
        before = carry.anna.bytes()
        for past in ("old", "both_old_first"):
            done = carry.run("--until", past)
            told = f"the carry is in the state both_new_first and past {past}; nothing"
            assert done.returncode == 64 and told in done.stderr, done.stderr
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        reversed_ = carry.anna.bytes()
        assert reversed_ != before
        done = carry.run("--until", "new")
        assert done.returncode == 64 and "being reversed and past new" in done.stderr
        assert carry.anna.bytes() == reversed_
        assert carry.run("--until", "both_old_first").returncode == 0
        assert carry.state() == "both_old_first"
        assert carry.run().returncode == 0
        carry.judge()


def test_a_hub_that_has_no_map_is_no_hub_of_the_carry(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        carry.begin(*NEW)
        right = carry.file.read_text()
        carry.file.write_text(right.replace(site.url, f"{site.url}x"))
        before = carry.anna.bytes()
        for options in ((), ("--dry-run",)):
            done = carry.run(*options)
            assert done.returncode == 66, done.stderr
            assert (
                f"{site.url}x: this hub has no map, so no host follows it"
                in done.stderr
            )
        assert carry.anna.bytes() == before
        # the command that it names works
        command = done.stderr.split("begin with `stead-sync ")[1].split("`")[0]
        assert site.sync(*command.split()).returncode == 0
        carry.file.write_text(right)
        assert carry.run().returncode == 0
        carry.judge()


def test_a_pattern_that_overlooks_much_ends_before_the_first_step(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        files = f"[files]\nroot='{carry.roots}/{{node}}'\npattern="
        carry.write_file(kind=f"{files}'{{path}}'")
        for options in ((), (), ("--dry-run",)):
            done = carry.run(*options)
            assert (done.returncode, carry.state()) == (66, "old"), done.stderr
            assert "of 240 items are at nodes where neither map places" in done.stderr
        carry.write_file(kind=f"{files}'{{path}}'", limits="overlooked = 100")
        assert carry.run("--dry-run").returncode == 0
        # half of the files have another ending
        for n, path in enumerate(sorted(carry.roots.glob("*/*/key*"))):
            path.rename(f"{path}.{'jpg' if n % 2 else 'png'}")
        carry.write_file(kind=f"{files}'{{a}}/{{key}}.jpg'")
        done = carry.run()
        assert (done.returncode, carry.state()) == (66, "old"), done.stderr
        assert "120 paths do not fit the pattern {a}/{key}.jpg" in done.stderr
        assert "raise limits.overlooked" in done.stderr
        for path in sorted(carry.roots.glob("*/*/key*")):
            path.rename(path.with_suffix(""))
        carry.write_file()
        # a few that were forgotten long ago are counted, and left alone
        (carry.roots / "a" / "xx").mkdir()
        away = next(key for key in KEYS if carry.home(key) == "b")
        shutil.copy(carry.path("b", away), carry.roots / "a" / "xx" / away)
        dry = carry.run("--dry-run", "--json")
        found = json.loads(dry.stdout)
        assert found["work"][0]["misplaced"] == 1
        assert f"such as xx/{away} at node a" in found["notes"][0], found["notes"]
        (carry.roots / "a" / "xx" / away).unlink()
        assert carry.run().returncode == 0
        carry.judge()


def test_what_is_written_to_an_old_place_after_the_check_is_not_removed(
    programs, place
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60])
        carry.fill()
        first = {key: carry.home(key) for key in KEYS[:60]}
        carry.begin(*NEW)
        assert carry.run("--until", "both_new_first").returncode == 0
        # a program that does not follow the map: the old place has it, and no other
        late = next(key for key in KEYS[:60] if carry.home(key) == "d")
        carry.path("d", late).unlink()
        done = carry.run()
        assert (done.returncode, carry.state()) == (69, "both_new_first"), done
        assert late in done.stderr and carry.path(first[late], late).exists()
        carry.path("d", late).write_bytes(carry.path(first[late], late).read_bytes())
        assert carry.run("--until", "both_new_first").returncode == 0
        assert carry.run().returncode == 0
        carry.judge()


def test_a_dry_run_tells_that_the_hub_cannot_be_used(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        carry.begin(*NEW)
        text = carry.file.read_text()
        for url, code, named in (
            ("http://127.0.0.1:1/m", 64, "http://127.0.0.1:1/m"),
            (f"file://{place}/none/m", 68, f"{place}/none: "),
            ("m.map", 64, "m.map"),
        ):
            carry.file.write_text(text.replace(site.url, url))
            for options in (("--dry-run",), ()):
                done = carry.run(*options)
                (line,) = done.stderr.splitlines()
                assert done.returncode == code and named in line, done
                assert carry.state() == "old" and not (options and done.stdout)


def test_a_dry_run_tells_that_another_operator_was_first(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        bert = site.operator("bert")
        assert site.pull(bert.map).returncode == 0
        carry.begin(*NEW)
        # the control: so far, it is the only next epoch
        assert carry.run("--dry-run").returncode == 0
        bert.apply("a", "b", "e")
        assert bert.push().returncode == 0
        for options in (("--dry-run",), ()):
            done = carry.run(*options)
            assert done.returncode == 75 and not (options and done.stdout), done
            assert "another operator was first: the hub has epoch 2" in done.stderr
        assert carry.state() == "old"


def test_a_carry_whose_new_node_lacks_an_attribute_can_be_taken_back(programs, place):
    with local(programs, place) as site:
        disk = lambda node: f"attributes = {{ disk = '{node}' }}\n"
        lines = lambda node: disk(node) if node != "d" else ""
        carry = Carry(site, KEYS[:20], attributes=lines)
        carry.fill()
        carry.begin(*NEW)
        root = f"[files]\nroot='{carry.roots}/{{disk}}'\npattern='{PATTERN}'"
        carry.write_file(kind=root)
        done = carry.run()
        assert (done.returncode, carry.state()) == (66, "old")
        assert 'the attribute "disk", which node d does not have' in done.stderr
        assert "`stead-sync carry reverse` and `run`" in done.stderr
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        back = carry.run()
        assert (back.returncode, carry.state()) == (0, None), back.stderr
        carry.judge()
        carry.attributes = disk
        carry.begin(*NEW, options=["--allow=take-back"])
        assert carry.run().returncode == 0
        carry.judge()


COMMANDS = """[command]
list = 'cd ROOTS/$STEAD_FROM && find . -mindepth 2 -type f ! -name ".*" -printf "%f\\n"'
copy = 'read -r k; d=${k#${k%??}}; mkdir -p ROOTS/$STEAD_TO/$d && cp -p ROOTS/$STEAD_FROM/$d/$k ROOTS/$STEAD_TO/$d/$k'
verify = '''
d=${STEAD_KEY#${STEAD_KEY%??}}
f=ROOTS/$STEAD_FROM/$d/$STEAD_KEY t=ROOTS/$STEAD_TO/$d/$STEAD_KEY
if [ ! -e $f ]; then [ -e $t ] && exit 3; exit 4; fi
[ -e $t ] || exit 2
cmp -s $f $t || exit 1
'''
remove = 'rm -f ROOTS/$STEAD_FROM/${STEAD_KEY#${STEAD_KEY%??}}/$STEAD_KEY'
"""


def test_any_command_carries(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:100])
        carry.fill()
        carry.begin(*NEW)
        # the first two tries fail for a reason that passes
        flaky = COMMANDS.replace(
            "copy = 'read",
            "copy = 'echo x >> ROOTS/../tries; "
            "[ $(wc -l < ROOTS/../tries) -gt 2 ] || exit 75; read",
        )
        kind = flaky.replace("ROOTS", str(carry.roots))
        carry.write_file(kind=kind, limits="workers = 1\nnodes = 1")
        done = carry.run("--json")
        assert done.returncode == 0, done.stderr
        copied = {w["pass"]: w for w in json.loads(done.stdout)["work"]}["copy"][
            "copied"
        ]
        tries = (place / "tries").read_text().count("x")
        assert copied > 5 and tries == copied + 2
        carry.judge()


def test_commands_carry_in_batches(programs, place, record_property):
    # keys with a newline and with backslashes
    keys = [
        *KEYS[:100],
        "a\nkey",
        "a\\nkey",
        "\\\\",
        *(f"{n}\n\\{n:02}" for n in range(60)),
    ]
    tool = Path(__file__).with_name("batch_tool.py")
    with local(programs, place) as site:
        carry = Carry(site, keys)
        carry.fill()
        carry.begin(*NEW)
        commands = "".join(
            f"{verb} = '{sys.executable} {tool} {carry.roots} {verb}'\n"
            for verb in ("list", "copy", "verify", "remove")
        )
        kind = f"[command]\nbatch = 40\n{commands}"
        carry.write_file(kind=kind, limits="workers = 1\nnodes = 1")

        def calls(verb):
            path = place / f"calls-{verb}"
            return [int(line) for line in path.read_text().split()]

        # one box cannot be copied: it is named, and the others are carried
        odd = [key for key in keys if carry.home(key) == "d"]
        assert any("\n" in key and "\\" in key for key in odd)
        broken = place / "broken" / odd[0].encode().hex()
        broken.parent.mkdir()
        broken.touch()
        done = carry.run("--json")
        assert done.returncode == 1, done.stderr
        (failed,) = json.loads(done.stdout)["failed"]
        assert "copy exits with 9: " in failed["why"] and "no such box" in failed["why"]
        # each was busy at first, and then all of them were tried again together
        first = calls("copy")
        assert sum(first) == 2 * len(odd) and len(first) < len(odd) / 4
        broken.unlink()
        done = carry.run("--json")
        assert done.returncode == 0, done.stderr
        assert calls("copy")[len(first) :] == [1]
        work = {work["pass"]: work for work in json.loads(done.stdout)["work"]}
        assert work["remove"]["removed"] == len(odd)
        for verb in ("verify", "remove"):
            assert max(calls(verb)) <= 40 and sum(calls(verb)) >= len(odd)
        assert len(calls("remove")) <= 8
        carry.judge()
        record_property(
            "in batches:",
            f"{len(odd)} keys, {len(first)} calls of copy, each key busy once",
        )


def test_a_limit_on_the_size_of_files_fails_only_larger_ones(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        large = next(key for key in KEYS if carry.home(key) == "d")
        app = App(carry, carry.anna.map, carry.ledger, 9)
        app.put(large, "x" * 2_000_000)
        carry.ledger.values[large] = "x" * 2_000_000
        # ulimit counts blocks of 512 bytes; 2,000 of them are enough for the journal
        command = ["sh", "-c", 'ulimit -f 2000; exec "$@"', "sh"]
        limited = subprocess.run(
            [*command, programs["stead-sync"], "carry", "run", carry.file, "--json"],
            check=False,
            capture_output=True,
            text=True,
            env=site.environment("anna"),
        )
        assert limited.returncode == 1, limited
        (failed,) = json.loads(limited.stdout)["failed"]
        assert failed["item"].endswith(large) and "File too large" in failed["why"]
        assert carry.state() == "both_old_first"
        assert not carry.path("d", large).exists()
        done = carry.run()
        assert done.returncode == 0, done.stderr
        carry.judge()


def test_attributes_and_acls_travel(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:60])
        carry.fill()
        old = {key: nodes for key, nodes in carry.copies().items()}
        (first,) = old[KEYS[0]]
        try:
            os.setxattr(carry.path(first, KEYS[0]), "user.from", b"x")
        except OSError as error:
            pytest.skip(f"no extended attributes in {place}: {error}")
        for key, nodes in old.items():
            (node,) = nodes
            os.setxattr(carry.path(node, key), "user.from", node.encode())
        carry.begin(*NEW)
        assert carry.run().returncode == 0
        carry.judge()
        moved = 0
        for key, nodes in carry.copies().items():
            (node,) = nodes
            (was,) = old[key]
            moved += node != was
            assert os.getxattr(carry.path(node, key), "user.from") == was.encode()
        assert moved > 5
        # the control: without them
        carry.begin(*NEW, "e")
        text = carry.file.read_text()
        carry.file.write_text(text.replace("[files]", "[files]\nattributes = false"))
        assert carry.run().returncode == 0
        carry.judge()
        there = [
            carry.path("e", key) for key, at in carry.copies().items() if "e" in at
        ]
        assert there and not any(os.listxattr(path) for path in there)


def test_two_kinds_go_together_also_when_killed(programs, place, record_property):
    rng, killed = random.Random(6), 0
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:120])
        carry.fill()
        # each key also has a box: a command carries the boxes, and no application writes them
        boxes = place / "boxes"
        shutil.copytree(carry.roots, boxes)
        carry.start(1)
        carry.begin(*NEW)
        (boxes / "d").mkdir()
        files = f"[files]\nroot = '{carry.roots}/{{node}}'\npattern = '{PATTERN}'\n"
        command = COMMANDS.replace("ROOTS", str(boxes))
        carry.write_file(kind=files + command, limits="items_per_second = 60")
        journal = f"{carry.anna.map}.carry"
        while carry.state() or os.path.exists(journal):
            running = carry.start_run()
            try:
                # the last process ends by itself
                most = rng.uniform(0.1, 0.7) if killed < 8 else None
                _, said = running.communicate(timeout=most)
                # a command of the killed process may live for a moment longer, with its lock
                if "carries by this journal" not in said:
                    assert running.returncode == 0, said
            except subprocess.TimeoutExpired:
                killed += kill(running)
        carry.stop()
        keys, *_ = carry.judge()
        app = App(carry, carry.anna.map, carry.ledger, 0)
        for key in KEYS[:120]:
            there = [path.parts[-3] for path in boxes.glob(f"*/*/{key}")]
            assert there == app.lists(key), key
        moved = len(list((boxes / "d").glob("*/*")))
    assert killed >= 3 and moved > 10
    record_property(
        "two kinds:", f"killed {killed} times; {keys} keys, {moved} boxes moved"
    )


def test_what_is_in_the_way_is_mended(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        # left behind by somebody: another value, and a key that was deleted long ago
        for key in KEYS:
            path = carry.path("d", key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("stale")
        carry.fill()
        carry.begin(*NEW)
        app = App(carry, carry.anna.map, carry.ledger, 9)
        for key in KEYS[::3]:
            app.delete(key)
            carry.ledger.values[key] = None
        # files that only the new place has stay until a limit allows their removal
        done = carry.run()
        assert (done.returncode, carry.state()) == (1, "both_old_first"), done
        assert "only its new place, node d, has it" in done.stdout, done.stdout
        gone = [key for key in KEYS[::3] if carry.home(key) == "d"]
        assert len(gone) > 10 and all(carry.path("d", key).exists() for key in gone)
        carry.write_file(limits=f"only_new = {len(gone)}")
        done = carry.run("--json")
        assert done.returncode == 0, done.stderr
        verify = {w["pass"]: w for w in json.loads(done.stdout)["work"]}["verify"]
        assert verify["only_new"] == len(verify["only_new_items"]) >= len(gone)
        # what never belonged to the new node is not the carry's to remove
        for key in KEYS:
            path = carry.path("d", key)
            if path.exists() and path.read_text() == "stale":
                path.unlink()
        carry.judge()


def test_what_a_program_wrote_to_new_places_only_is_not_removed(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        fresh = {f"{key}-fresh": carry.home(f"{key}-fresh") for key in KEYS}
        carry.begin(*NEW)
        # a program that asks for the new place alone, while the carry works
        fresh = {key: old for key, old in fresh.items() if carry.home(key) == "d"}
        for key in fresh:
            path = carry.path("d", key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("fresh")
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (1, "both_old_first"), done
            assert all(carry.path("d", key).exists() for key in fresh)
            assert "a program that does not follow the carry" in done.stdout
        # copied to the old places, they go the whole way
        for key, old in fresh.items():
            path = carry.path(old, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("fresh")
            carry.ledger.values[key] = "fresh"
        assert carry.run().returncode == 0 and carry.state() is None
        found = carry.copies()
        assert all(found[key] == {"d": "fresh"} for key in fresh)


@pytest.mark.parametrize("how", ["contents", "disk"])
def test_a_new_place_that_is_emptied_between_two_runs_is_filled_again(
    programs, place, how
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_old_first").returncode == 0
        there = {path.name for path in (carry.roots / "d").glob("*/key*")}
        assert len(there) > 10
        if how == "disk":
            # somebody puts a file there at once, so the root is not empty
            shutil.rmtree(carry.roots / "d")
            other = next(key for key in KEYS if carry.home(key) != "d")
            there.add(other)
            other = carry.path("d", other)
            other.parent.mkdir(parents=True)
            other.write_text("other")
        else:
            # what `rm -rf d/*` leaves
            for path in (carry.roots / "d").glob("[!.]*"):
                shutil.rmtree(path)
        done = carry.run("--until", "both_old_first", "--json")
        assert (done.returncode, carry.state()) == (0, "both_old_first"), done
        told = "emptied or replaced after copies were there: node d: its root; "
        assert told in done.stderr, done.stderr
        assert any(told in note for note in json.loads(done.stdout)["notes"])
        now = {path.name for path in (carry.roots / "d").glob("*/key*")}
        assert now == there
        # nothing has changed since, so nothing is done again
        done = carry.run("--until", "both_old_first")
        assert done.returncode == 0 and "copy:" not in done.stdout, done.stdout
        # and in the next state, before old copies are removed
        assert carry.run("--until", "both_new_first").returncode == 0
        shutil.rmtree(carry.roots / "d")
        carry.make_roots(NEW)
        done = carry.run()
        assert (done.returncode, carry.state()) == (69, "both_new_first"), done
        assert told in done.stderr and "the new place lacks" in done.stderr
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        assert carry.run().returncode == 0
        carry.judge()


def emptied(carry, node):
    """Gives a node a new disk."""
    shutil.rmtree(carry.roots / node)
    carry.make_roots([node])


def names(carry):
    """The names of all files, wherever they are."""
    return set(carry.copies())


def test_an_old_place_that_is_emptied_ends_the_run_and_nothing_is_removed(
    programs, place
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_old_first").returncode == 0
        emptied(carry, "a")
        left = names(carry)
        told = "emptied or replaced since the carry began: node a: its root; nothing"
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (66, "both_old_first"), done
            assert told in done.stderr and "name it in lost" in done.stderr
            # and nobody goes back to where nothing is
            done = site.sync("carry", "reverse", carry.file)
            assert (done.returncode, carry.state()) == (69, "both_old_first"), done
            assert "items are only at their new places" in done.stderr, done.stderr
        assert names(carry) == left
        carry.write_file(top='lost = ["a"]')
        done = carry.run()
        assert done.returncode == 0, done.stderr
        assert names(carry) == left
        for key in left:
            carry.ledger.values[key] = f"{key} first"
        for key in set(KEYS) - left:
            carry.ledger.values[key] = None
        carry.judge()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_in_flight_is_not_removed_when_its_old_place_is_emptied(
    programs, place, end
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        # slow enough to be ended in the middle of a batch
        carry.write_file(limits="items_per_second = 20\nworkers = 1")
        running = carry.start_run()
        copied = carry.roots / "d"
        wait_for(lambda: len(list(copied.glob("*/key*"))) > 5, "copies")
        running.send_signal(end)
        running.communicate()
        for node in "abc":
            emptied(carry, node)
        left = names(carry)
        assert len(left) > 5
        carry.write_file()
        done = carry.run()
        assert (done.returncode, carry.state()) == (66, "both_old_first"), done
        assert names(carry) == left
        carry.write_file(limits="empty = 3")
        done = carry.run()
        assert (done.returncode, carry.state()) == (1, "both_old_first"), done
        assert names(carry) == left


def test_a_run_goes_on_with_a_step_that_is_taken_by_hand(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        carry.write_file(limits="items_per_second = 20\nworkers = 1")
        running = carry.start_run()
        wait_for(lambda: any((carry.roots / "d").glob("*/key*")), "copies")
        step = ["stead", "carry", carry.anna.map, "reverse"]
        assert site.run(*step).returncode == 0
        _, said = running.communicate(timeout=60)
        assert (running.returncode, carry.state()) == (0, None), said
        carry.judge()


def test_a_new_place_that_is_emptied_in_the_last_state_keeps_the_old_copies(
    programs, place
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_new_first").returncode == 0
        epoch = int.from_bytes(carry.anna.bytes()[48:56], "little")
        step = ["stead", "carry", carry.anna.map, "next", "--confirmed", str(epoch)]
        assert site.run(*step).returncode == 0
        before = carry.copies()
        there = [key for key in KEYS if carry.home(key) == "d"]
        assert 10 < len(there) < 1000
        for path in (carry.roots / "d").glob("[!.]*"):
            shutil.rmtree(path)
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (69, "new"), done
            assert "since d was emptied, replaced or started again while" in done.stderr
            now = carry.copies()
            assert all(set(before[key]) - set(now[key]) == {"d"} for key in there)
        # an application has deleted one meanwhile; the others are copied, as the message says
        deleted, *others = there
        carry.ledger.values[deleted] = None
        for key in others:
            [old] = set(before[key]) - {"d"}
            path = carry.path("d", key)
            path.parent.mkdir(exist_ok=True)
            shutil.copy(carry.path(old, key), path)
        done = carry.run()
        assert (done.returncode, carry.state()) == (69, "new"), done
        assert f"{deleted} of node" in done.stderr, done.stderr
        carry.write_file(limits="absent = 1")
        done = carry.run()
        assert done.returncode == 0, done.stderr
        carry.judge()


def test_what_hosts_wrote_to_new_places_before_a_carry_is_not_replaced(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        old = {key: carry.home(key) for key in KEYS}
        # a change without a carry: hosts miss what moved, and write it anew
        carry.make_roots(NEW)
        carry.anna.apply(*NEW)
        moved = [key for key in KEYS if carry.home(key) == "d"]
        for key in moved:
            path = carry.path("d", key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("newer")
        assert len(moved) > 10
        back = ["stead", "rollback", carry.anna.map, "1", "--exact"]
        assert site.run(*back, "--allow", "leave-data").returncode == 0
        assert carry.anna.push().returncode == 0
        carry.begin(*NEW, options=["--allow=take-back"])
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (1, "both_old_first"), done
            told = "its new place, node d, has another value, which may be the newer"
            assert told in done.stdout, done.stdout
            assert all(carry.path("d", key).read_text() == "newer" for key in moved)
        # one of them is copied to the old place, and the others are given up
        right, *others = moved
        carry.path(old[right], right).write_text("newer")
        carry.ledger.values[right] = "newer"
        carry.write_file(limits=f"different = {len(others)}")
        done = carry.run("--json")
        assert done.returncode == 0, done.stderr
        verify = {w["pass"]: w for w in json.loads(done.stdout)["work"]}["verify"]
        assert len(verify["mended_items"]) == len(others)
        carry.judge()


def test_what_new_places_are_ahead_with_is_listed(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        fresh = {f"{key}-frésh\t1": carry.home(f"{key}-frésh\t1") for key in KEYS}
        old = {key: carry.home(key) for key in KEYS}
        none = site.sync("carry", "ahead", carry.file)
        assert none.returncode == 64 and "no carry is open" in none.stderr
        carry.begin(*NEW)
        done = site.sync("carry", "ahead", carry.file)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        # a program that asks for the new place alone: new keys, and newer and older values
        fresh = {key: old for key, old in fresh.items() if carry.home(key) == "d"}
        moved = [key for key in KEYS if carry.home(key) == "d"]
        assert len(fresh) > 10 and len(moved) > 10
        for number, key in enumerate([*fresh, *moved]):
            path = carry.path("d", key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("newer")
            if key in moved and number % 3 == 0:
                again = carry.path(old[key], key)
                again.write_text(again.read_text() + " and written later")
        newer = [k for n, k in enumerate([*fresh, *moved]) if k in moved and n % 3]
        due = {(key, old[key], "newer") for key in newer}
        due |= {(key, home, "only_new") for key, home in fresh.items()}
        before = carry.copies()
        for state in ("old", "both_old_first"):
            assert carry.state() == state
            done = site.sync("carry", "ahead", "--json", carry.file)
            assert done.returncode == 1, done.stderr
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            found = [(Path(x["item"]).name, x["old"], x["what"]) for x in lines]
            assert set(found) == due and len(found) == len(due)
            assert {x["new"] for x in lines} == {"d"}
            told = f": {len(fresh)} only at the new place; {len(newer)} newer there\n"
            assert told in done.stderr
            assert carry.copies() == before
            if state == "old":
                assert carry.run("--until", "old").returncode == 0
                step = ["stead", "carry", carry.anna.map, "next", "--confirmed", "2"]
                assert site.run(*step).returncode == 0
        # the lines are what a script needs to put things right
        rows = [(x["item"], x["old"], x["new"], x["what"]) for x in lines]
        text = site.sync("carry", "ahead", carry.file).stdout.splitlines()
        plain = {"\t".join(row) for row in rows if row[3] == "newer"}
        assert plain < set(text) and len(text) == len(rows)
        for item, home, node, _ in rows:
            source, target = carry.roots / node / item, carry.roots / home / item
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            carry.ledger.values[Path(item).name] = "newer"
        done = site.sync("carry", "ahead", carry.file)
        assert (done.returncode, done.stdout) == (0, ""), done
        for key in set(moved) - set(newer):
            carry.ledger.values[key] = carry.path(old[key], key).read_text()
        assert carry.run().returncode == 0
        carry.judge()


def test_a_node_that_keeps_items_and_gets_others_is_not_taken_for_ahead(
    programs, place
):
    """With two copies, a node that stays is the source of some keys and gets others."""
    with local(programs, place) as site:
        roots, hub = place / "two", f"file://{place}/shared/members.map"
        nodes = [f"n{n}" for n in range(1, 5)]
        fleet, map, file = (
            place / "two.toml",
            place / "two.map",
            place / "two-carry.toml",
        )

        def apply(map, nodes, *options):
            named = ", ".join(f'{{name = "{node}"}}' for node in nodes)
            fleet.write_text(f'name = "two"\nreplicas = 2\nnode = [{named}]\n')
            done = site.run("stead", "apply", *options, fleet, map)
            assert done.returncode == 0, done.stderr

        def places(map, key):
            return site.run("stead", "locate", map, key).stdout.split()[1].split(",")

        for node in nodes:
            (roots / node).mkdir(parents=True)
        apply(map, nodes)
        old = {key: places(map, key) for key in KEYS}
        for key, where in old.items():
            for node in where:
                (roots / node / key).write_text("v")
        # where the same change without a carry would put them
        other = place / "other.map"
        shutil.copy(map, other)
        apply(other, nodes[:3])
        new = {key: places(other, key) for key in KEYS}
        apply(map, nodes[:3], "--carry")
        file.write_text(
            f"map = '{map}'\nurl = '{hub}'\ngrace = 0\n[files]\nroot = '{roots}/{{node}}'\n"
            "pattern = '{key}'\n"
        )
        key, target = next(
            (key, node)
            for key, where in old.items()
            for node in new[key]
            if where[0] != "n4" and node not in where
        )
        for first, second, code in (("older", "fixed", 0), ("fixed", "newer", 1)):
            # the later one of the two counts
            both = [roots / target / key, roots / old[key][0] / key]
            both = both[::-1] if code else both
            both[0].write_text(first)
            time.sleep(0.05)
            both[1].write_text(second)
            done = site.sync("carry", "ahead", file)
            assert done.returncode == code, done
        assert done.stdout == f"{key}\t{old[key][0]}\t{target}\tnewer\n"


def test_what_old_places_got_meanwhile_stays_when_a_carry_goes_back(programs, place):
    """Of two copies, one node stays and gets other items: the values of old places count."""
    with local(programs, place) as site:
        carry = Carry(site, KEYS, old=("a", "b", "c", "d"), more="replicas = 2")
        carry.fill()
        old = {key: carry.homes(key) for key in KEYS}
        carry.begin("a", "b", "c")
        assert carry.run("--until", "both_new_first").returncode == 0
        moved = [key for key in KEYS if set(carry.homes(key)) - set(old[key])]
        # nodes that stay are the source of some keys and the new place of others
        assert {old[key][0] for key in moved} > {"d"}
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        for key in moved:
            for node in old[key]:
                carry.path(node, key).write_text("later")
            carry.ledger.values[key] = "later"
        done = carry.run()
        assert done.returncode == 0, done.stderr
        assert carry.state() is None
        carry.judge()


def test_what_only_new_places_have_is_told_before_a_carry_goes_back(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        fresh = {f"{key}-fresh": carry.home(f"{key}-fresh") for key in KEYS}
        carry.begin(*NEW)
        assert carry.run("--until", "both_new_first").returncode == 0
        # a program that asks for the new place alone
        fresh = {key: old for key, old in fresh.items() if carry.home(key) == "d"}
        for key in fresh:
            path = carry.path("d", key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("fresh")
        assert site.sync("carry", "reverse", carry.file).returncode == 0
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (1, "both_old_first"), done
            told = "only its new place, node d, has it, and going back would remove it"
            assert told in done.stdout, done.stdout
            assert all(carry.path("d", key).exists() for key in fresh)
        # one of them is copied to the old place, and the others are given up
        right, *others = fresh
        path = carry.path(fresh[right], right)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("fresh")
        carry.ledger.values[right] = "fresh"
        carry.ledger.values.update(dict.fromkeys(others))
        carry.write_file(limits=f"only_new = {len(others)}")
        done = carry.run()
        assert done.returncode == 0, done.stderr
        assert f"{len(others)} lacking at the old place" in done.stdout, done.stdout
        assert "lacking at the new place" not in done.stdout, done.stdout
        assert "only at the new place, and removed there in the next" in done.stdout
        carry.judge()


def test_a_carry_back_after_a_change_without_one_removes_nothing(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        before = carry.copies()
        # the data was never moved, and the way back begins with a carry
        carry.make_roots(NEW)
        carry.anna.apply(*NEW)
        moved = [key for key in KEYS if carry.home(key) == "d"]
        done = site.run("stead", "rollback", carry.anna.map, "1", "--carry")
        assert done.returncode == 0, done.stderr
        assert carry.anna.push().returncode == 0
        for options in [["--dry-run"], []]:
            done = carry.run(*options)
            assert (done.returncode, carry.state()) == (69, "old"), done
            assert (
                f"{len(moved)} items are only at their new places, such as"
                in done.stderr
            )
            assert "epoch 2 moved data without a carry" in done.stderr
        assert carry.copies() == before
        # as the message says
        for verb in ["reverse", "run"]:
            done = site.run("stead-sync", "carry", verb, carry.file)
            assert done.returncode == 0, done.stderr
        back = ["stead", "rollback", carry.anna.map, "1", "--exact"]
        assert "--allow leave-data" in site.run(*back).stderr
        assert site.run(*back, "--allow", "leave-data").returncode == 0
        assert carry.copies() == before
        assert all(carry.home(key) in places for key, places in before.items())


def test_after_a_rollback_the_epoch_is_named_that_moved_data(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        # epoch 2 moves data without a carry, a host writes there, and epoch 3 goes back
        carry.make_roots(NEW)
        carry.anna.apply(*NEW)
        fresh = next(f"fresh{n}" for n in range(99) if carry.home(f"fresh{n}") == "d")
        path = carry.path("d", fresh)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("fresh")
        back = ["rollback", carry.anna.map, "1", "--exact"]
        assert site.run("stead", *back).returncode == 0
        carry.begin(*NEW, options=["--allow", "take-back"])
        assert carry.anna.push("--allow", "skip").returncode == 0
        done = carry.run("--dry-run")
        assert (done.returncode, carry.state()) == (69, "old"), done
        told = (
            "epoch 2 moved data without a carry, and epoch 3 took that back, so these"
        )
        assert told in done.stderr, done.stderr


def test_what_is_left_at_new_places_from_an_earlier_change_goes_by_its_limit(
    programs, place
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        # the data of a change was copied by hand, and its old copies stayed
        carry.make_roots(NEW)
        carry.anna.apply(*NEW)
        carry.fill()
        moved = [key for key in KEYS if carry.home(key) == "d"]
        gone = moved[::2]
        for key in gone:
            carry.path("d", key).unlink()
            carry.ledger.values[key] = None
        assert carry.anna.push().returncode == 0
        carry.begin("a", "b", "c", options=["--allow=take-back"])
        done = carry.run()
        assert (done.returncode, carry.state()) == (69, "old"), done
        count = re.search(r"(\d+) items are only at their new places", done.stderr)
        assert 1 < int(count[1]) <= len(gone), done.stderr
        carry.write_file(limits=f"only_new = {count[1]}")
        done = carry.run("--json")
        assert done.returncode == 0, done.stderr
        work = {w["pass"]: w for w in json.loads(done.stdout)["work"]}
        assert work["count"]["items"] == len(moved) - len(gone)
        found = carry.copies()
        for key in moved:
            is_there = carry.home(key) in found.get(key, {})
            assert is_there == (key not in gone), key


def test_a_mistake_is_told_before_anything_is_done(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:10])
        carry.fill()
        none = carry.run()
        assert none.returncode == 64 and "no carry is open" in none.stderr
        assert none.stdout == "" and "stead rollback" in none.stderr
        carry.begin(*NEW)
        for change, code, said in [
            ({"top": "colour = 1"}, 64, "carry.toml:4: unknown field `colour`"),
            ({"top": "lost = ['x']"}, 64, 'neither map has a node "x"'),
            ({"limits": "workers = 0"}, 64, "limits.workers"),
            ({"kind": "[files]\nroot='/no/{node}'\npattern='{key}'"}, 66, "mount it"),
            ({"kind": "[files]\nroot='/no'\npattern='{x}'"}, 64, "{key}"),
            (
                {"kind": "[files]\nroot='photos/{node}'\npattern='{key}'"},
                64,
                'carry.toml:6: root is "photos/{node}", which is not an absolute path',
            ),
            (
                {"kind": "[files]\nroot='{node}'\npattern='{key}'"},
                66,
                "node a: its root a is not an absolute path",
            ),
            (
                {"kind": "[files]\nroot='{mount}'\npattern='{key}'"},
                66,
                'attribute "mount"',
            ),
        ]:
            carry.write_file(**change)
            for options in ((), ("--dry-run",)):
                done = carry.run(*options)
                end = (done.returncode, said in done.stderr)
                assert end == (code, True), done.stderr
                assert len(done.stderr.strip().splitlines()[-1]) < 400
        carry.write_file()
        first = carry.start_run("--until", "old")
        first.communicate(timeout=60)
        assert carry.run().returncode == 0
        carry.judge()


def test_a_pattern_that_no_file_fits_ends_before_the_first_step(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        carry.begin(*NEW)
        root = f"[files]\nroot='{carry.roots}/{{node}}'\n"
        for pattern in ("{a}/{key}.jpeg", "{key}"):
            carry.write_file(kind=f"{root}pattern='{pattern}'")
            for options in ((), ("--dry-run",)):
                done = carry.run(*options)
                (line,) = done.stderr.splitlines()
                assert (done.returncode, carry.state()) == (66, "old"), done.stderr
                assert f"fits the pattern {pattern}, such as {carry.roots}/" in line
                assert "correct files.pattern" in line
        # a second kind is looked at by itself
        (carry.roots / "b" / "rows").mkdir()
        command = "[command]\nlist='true'\ncopy='true'\nverify='true'\nremove='true'"
        carry.write_file(kind=f"{command}\n{root}pattern='{{key}}'")
        assert carry.run().returncode == 66 and carry.state() == "old"
        carry.write_file()
        assert carry.run().returncode == 0
        carry.judge()


def test_a_terminal_shows_each_result_once(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        carry.begin(*NEW)
        ours, theirs = os.openpty()
        command = [programs["stead-sync"], "carry", "run", carry.file]
        running = subprocess.Popen(command, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 4096):
                shown += part
        os.close(ours)
        assert running.wait(60) == 0, shown
        for told in (b"count: ", b"copy: ", b"remove: ", b"the carry is closed"):
            assert shown.count(told) == 1, shown


def test_a_log_of_both_streams_shows_each_result_once(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:20])
        carry.fill()
        carry.begin(*NEW)
        ran = subprocess.run(
            [programs["stead-sync"], "carry", "run", carry.file],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        for told in ("count: ", "copy: ", "remove: ", "the carry is closed"):
            assert ran.stdout.count(told) == 1, ran.stdout


def test_ctrl_c_says_how_to_go_on(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, limits="items_per_second = 20")
        carry.fill()
        carry.begin(*NEW)
        for number, word in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            run = carry.start_run()
            before = len(list((carry.roots / "d").glob("*/*")))
            wait_for(
                lambda before=before: (
                    len(list((carry.roots / "d").glob("*/*"))) > before
                ),
                "a copy",
            )
            run.send_signal(number)
            _, said = run.communicate(timeout=60)
            assert run.returncode == -number
            assert said.endswith(
                f"stead-sync: stopped by {word}; nothing is lost: "
                f"`stead-sync carry run {carry.file}` goes on where it was\n"
            ), said
        carry.write_file()
        assert carry.run().returncode == 0
        carry.judge()


def test_two_carriers_on_one_machine(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, limits="items_per_second = 20")
        carry.fill()
        carry.begin(*NEW)
        first = carry.start_run()
        wait_for(lambda: os.path.exists(f"{carry.anna.map}.carry"), "the journal")
        wait_for(lambda: list((carry.roots / "d").glob("*/*")), "the first copies")
        second = carry.run()
        assert second.returncode == 75 and "another process" in second.stderr
        kill(first)
        carry.write_file()
        assert carry.run().returncode == 0
        carry.judge()

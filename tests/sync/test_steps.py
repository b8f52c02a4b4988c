"""A carry that is stepped by hand: hosts see each state, however late the map is pushed."""

import re
import shutil
from pathlib import Path

from carry_site import Carry, local

KEYS = [f"key{n:03}" for n in range(120)]
NEW = ("a", "b", "c", "d")


def step(carry, *steps):
    """Takes steps with the program `stead`."""
    for word in steps:
        epoch = int.from_bytes(carry.anna.bytes()[48:56], "little")
        command = ["carry", carry.anna.map, word, "--confirmed", epoch]
        done = carry.site.run("stead", *command)
        assert done.returncode == 0, done.stderr


def installed(host):
    """The epochs that a host has had, in order; the newest is in place and told."""
    host.wait_said(f"installed epoch {host.epoch()} ")
    return [int(n) for n in re.findall(r"installed epoch (\d+)", host.said())]


def test_the_only_copy_is_not_removed_after_states_that_were_passed_by_hand(
    programs, place
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "old").returncode == 0
        # somebody who does not see the journal takes the steps, and nobody copies
        away = carry.file.with_name("away.carry")
        carry.anna.map.with_name("members.map.carry").rename(away)
        step(carry, "next", "next", "next")
        top = f"journal = '{away}'"
        carry.write_file(top=top)
        before = carry.copies()
        lacking = [key for key in KEYS if carry.home(key) not in before[key]]
        assert len(lacking) > 10
        for _ in range(2):
            done = carry.run()
            assert (done.returncode, carry.state()) == (69, "new"), done
            assert (
                "this journal does not know that they were ever copied" in done.stderr
            )
            assert carry.copies() == before
        # what is set aside within a limit is not counted when it was copied later
        carry.write_file(top=top, limits="deleted = 3")
        done = carry.run()
        assert (
            done.returncode == 69 and "lacks 4 items or more of node" in done.stderr
        ), done
        carry.write_file(top=top)
        # they are copied now, but for one that an application has deleted meanwhile
        deleted, *others = lacking
        carry.ledger.values[deleted] = None
        for key in others:
            [old] = before[key]
            path = carry.path(carry.home(key), key)
            path.parent.mkdir(exist_ok=True)
            shutil.copy2(carry.path(old, key), path)
        done = carry.run()
        assert (
            done.returncode == 69 and "lacks 1 item or more of node" in done.stderr
        ), done
        carry.write_file(top=top, limits="deleted = 1")
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        carry.judge()


def test_hosts_see_each_state_of_a_carry_that_was_stepped_by_hand(site):
    carry = Carry(site, KEYS)
    hosts = [site.host(f"web{n}") for n in (1, 2)]
    for host in hosts:
        host.wait(1)
        site.wait_state(host.name, "current", epoch=1)
    carry.begin(*NEW)
    step(carry, "next", "next", "next", "close")
    states = ["old", "both_old_first", "both_new_first", "new"]
    for epoch, state in enumerate(states, 2):
        if state == "both_old_first":
            hosts[1].stop()
        done = carry.anna.push()
        told = f"members: pushed epoch {epoch} ({state}) of 6, since hosts must not"
        assert done.returncode == 75 and told in done.stderr, done
        assert done.stderr.count("\n") == 1 and done.stdout == ""
        assert f"wait {site.url} --epoch {epoch} --grace SECONDS`)" in done.stderr
        if state == "both_old_first":
            # a host that lacks the state is waited for, and named
            site.wait_state("web1", "current", epoch=3)
            done = carry.anna.push()
            told = "1 of 2 hosts lack epoch 3: web2 (epoch 2"
            assert done.returncode == 75 and told in done.stderr, done
            assert site.status()["web1"]["epoch"] == 3
            hosts[1].start()
        waited = site.sync("wait", site.url, "--epoch", epoch, "--timeout", "60")
        assert waited.returncode == 0, waited.stderr
    done = carry.anna.push()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "members: epoch 6 is the hub's newest, after epoch 5\n"
    for host in hosts:
        host.wait(6)
        assert installed(host) == [1, 2, 3, 4, 5, 6]


def test_who_means_it_may_skip_states(site):
    carry = Carry(site, KEYS)
    host = site.host("web1")
    host.wait(1)
    carry.begin(*NEW)
    step(carry, "next", "next", "next")
    done = carry.anna.push("--allow", "skip")
    assert (done.returncode, done.stderr) == (0, "")
    host.wait(5)
    assert installed(host) == [1, 5]


def test_a_hub_that_was_restored_gets_the_newer_map_at_once(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        host = site.host("web1")
        host.wait(1)
        carry.begin(*NEW)
        assert carry.anna.push().returncode == 0
        site.wait_state("web1", "current", epoch=2)
        shutil.copytree(place / "shared", place / "backup")
        for epoch in (3, 4, 5):
            step(carry, "next")
            assert carry.anna.push().returncode == 0
            site.wait_state("web1", "current", epoch=epoch)
        shutil.rmtree(place / "shared")
        shutil.copytree(place / "backup", place / "shared")
        row = site.wait_state("web1", "problem", epoch=5)
        told = (
            f"backup, push the newer map there (`stead-sync push {host.map} URL`); if"
        )
        assert told in row["problem"], row
        # to go back would read where copies may be removed
        away = shutil.copytree(host.directory, place / "away") / "members.map"
        before = away.read_bytes()
        done = site.pull(away, "--allow", "back")
        assert (done.returncode, done.stdout) == (69, ""), done
        told = "epoch 2 (old) arrives, and epoch 5 (new) is here; a carry in between"
        assert told in done.stderr and done.stderr.count("\n") == 1, done
        assert f"`stead-sync push {away} {site.url}`" in done.stderr, done
        assert away.read_bytes() == before
        done = site.pull(away, "--allow", "back,carry")
        assert done.returncode == 0 and away.read_bytes() != before, done
        # nothing has to be confirmed again
        done = carry.anna.push()
        told = "members: epoch 5 is the hub's newest, after epoch 2\n"
        assert (done.returncode, done.stdout) == (0, told), done
        site.wait_state("web1", "current", epoch=5)
        assert installed(host) == [1, 2, 3, 4, 5]


def test_a_carrier_that_takes_over_brings_each_state(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.start()
        carry.begin(*NEW)
        step(carry, "next")
        # the hub is two epochs behind, and hosts work
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        for host in site.hosts:
            host.wait(6)
            assert installed(host) == [1, 2, 3, 4, 5, 6]
        carry.stop()
        carry.judge()
        # closed by hand before anybody had the state new
        carry.begin("a", "b", "d")
        done = carry.run("--until", "both_new_first")
        assert done.returncode == 0, done.stderr
        # `stead carry` refuses that beside the journal of a run
        journal = Path(f"{carry.anna.map}.carry")
        away = journal.rename(f"{journal}.away")
        step(carry, "next", "close")
        away.rename(journal)
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        for host in site.hosts:
            host.wait(11)
            assert installed(host)[6:] == [7, 8, 9, 10, 11]

"""Faults: cut lines, a killed etcd, damaged values, forks, older epochs, kill -9. Each
test counts the faults that took effect, and has a control.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from carry_site import local
from sync_servers import Etcd, Relay, wait_for
from sync_site import (
    POWERLESS,
    Site,
    digest,
    epoch,
    leftovers,
    needs_setpriv,
    powerless,
    verify,
)

# a map of several parts: each node has an attribute of 4,000 bytes
LARGE = [f"n{i:04}" for i in range(500)]
ATTRIBUTES = f"attributes = {{ note = '{'x' * 4000}' }}\n"
BACK = ("--allow", "take-back")


def test_etcd_members_are_asked_in_turn(programs, place, cluster):
    dead = f"etcd://127.0.0.1:1,127.0.0.1:{cluster.port}/stead/turn{place.name[-8:]}"
    with Site(programs, place, dead, None) as site:
        anna = site.operator()
        anna.apply("a")
        assert anna.push().returncode == 0
        site.host("web1").wait(1)


def test_a_watcher_that_is_cut_off_comes_back(
    programs, place, cluster, record_property
):
    url = cluster.url(f"cut{place.name[-8:]}")
    with Relay(cluster.port) as relay, Site(programs, place, url, cluster) as site:
        anna = site.operator()
        anna.apply("a")
        anna.push()
        behind = url.replace(str(cluster.port), str(relay.port))
        host, control = site.host("far", url=behind), site.host("near")
        host.wait(1)
        for n in range(1, 4):
            relay.cut()
            host.wait_said("no contact", n)
            anna.apply(*"abcde"[: n + 1])
            anna.push()
            control.wait(n + 1)
            assert host.epoch() == n
            relay.restore()
            host.wait(n + 1)
            host.wait_said("is back", n)
        verify(site, host.map)
        # each outage is said once, however many attempts fail
        assert host.said().count("no contact") == 3
        assert control.said().count("no contact") == 0
        assert relay.cuts >= 3
        record_property("connections cut; outages survived:", f"{relay.cuts}; 3")


def test_a_connection_that_dies_in_silence_is_noticed(programs, place, cluster):
    url = cluster.url(f"frozen{place.name[-8:]}")
    with Relay(cluster.port) as relay, Site(programs, place, url, cluster) as site:
        anna = site.operator()
        anna.apply("a")
        anna.push()
        host = site.host("far", url=url.replace(str(cluster.port), str(relay.port)))
        host.wait(1)
        site.wait_state("far", "current", epoch=1)
        assert relay.freeze() > 0
        anna.apply("a", "b")
        anna.push()
        host.wait(2)


def test_etcd_is_killed_and_comes_back(programs, place, record_property):
    (place / "etcd").mkdir()
    with (
        Etcd(place / "etcd") as etcd,
        Site(programs, place, etcd.url("m"), etcd) as site,
    ):
        anna = site.operator()
        anna.apply("a")
        anna.push()
        host = site.host("web1")
        host.wait(1)
        site.wait_state("web1", "current")
        for n in range(1, 4):
            etcd.kill()
            host.wait_said("no contact", n)
            assert anna.push().returncode == 68
            anna.apply(*"abcde"[: n + 1])
            etcd.start()
            assert anna.push().returncode == 0
            host.wait(n + 1)
            site.wait_state("web1", "current", epoch=n + 1)
        # a host starts while etcd is away, and has its map
        etcd.kill()
        host.stop()
        host.start()
        host.wait_said("no contact", 4)
        assert host.epoch() == 4
        record_property("kills of etcd that the watcher noticed:", 4)


def test_a_damaged_value_is_refused_until_it_is_pushed_again(
    etcd_site, record_property
):
    site, cluster = etcd_site, etcd_site.cluster
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host = site.host("web1")
    host.wait(1)
    here = site.place / "here.map"
    site.pull(here)
    base = f"/stead/{site.url.rpartition('/')[2]}/"
    anna.apply("a", "b")
    refused = 0
    for damage in ("flipped", "short", "gone", "other"):
        # the part is damaged before the head names it: the watcher never sees it whole
        old = epoch(here.read_bytes())
        anna.push()
        key = next(
            k for k, v in cluster.keys(base + "maps/").items() if v == anna.bytes()
        )
        good = cluster.keys(key)[key]
        bad = {
            "flipped": good[:300] + bytes([good[300] ^ 1]) + good[301:],
            "short": good[:-1],
            "gone": b"",
            "other": here.read_bytes(),
        }[damage]
        cluster.put(key, bad)
        done = site.pull(here)
        assert done.returncode == 65, done
        # which member was asked for which key
        parts = key.rpartition("/")[0]
        assert f"etcd://127.0.0.1:{cluster.port}{parts}" in done.stderr, done
        assert epoch(here.read_bytes()) == old
        verify(site, here)
        refused += 1
        # whoever has the map writes it again
        assert anna.push().returncode == 0
        assert site.pull(here).returncode == 0
        assert here.read_bytes() == anna.bytes()
        host.wait(epoch(anna.bytes()))
        anna.apply(*"abcdefgh"[: epoch(anna.bytes()) + 1])
    cluster.put(base + "head", b"no head")
    done = site.pull(here)
    said = f"stead-sync: etcd://127.0.0.1:{cluster.port}{base}head: this is no head of a map"
    assert done.returncode == 65 and done.stderr.startswith(said), done
    record_property("damaged values refused, and repaired by a push:", refused)


def test_a_watcher_says_what_is_wrong_at_the_hub_and_keeps_its_map(
    site, record_property
):
    anna, bert = site.operator("anna"), site.operator("bert")
    anna.apply("a")
    anna.push()
    site.pull(bert.map)
    host = site.host("web1", "--metrics", str(site.place / "m.prom"))
    host.wait(1)
    anna.apply("a", "b")
    anna.push()
    host.wait(2)
    kept = host.map.read_bytes()
    # an older epoch, by force
    assert bert.push().returncode == 75
    assert bert.push("--allow", "fork").returncode == 0
    site.wait_state("web1", "problem", epoch=2)
    assert "back" in host.said()
    # a fork of the same number
    bert.apply("a", "c")
    assert bert.push().returncode == 0
    row = wait_for(
        lambda: (
            (r := site.status()["web1"])["problem"]
            and "side by side" in r["problem"]
            and r
        ),
        "the fork",
    )
    assert row["state"] == "problem" and "--allow fork" in row["problem"]
    assert host.map.read_bytes() == kept
    late = site.sync("wait", site.url, "--epoch", "2", "--timeout", "1")
    assert late.returncode == 1 and "web1" in late.stderr, late.stderr
    # both have epoch 2, so the digests say which is which
    told = f"another epoch 2: {anna.digest()}, and the hub has {bert.digest()}"
    assert told in late.stderr, late.stderr
    done = anna.push("--allow", "fork", url=site.url)
    told = (
        f"epoch 2 ({anna.digest()}) is the hub's newest, in place of another epoch 2 "
    )
    assert told + f"({bert.digest()})" in done.stdout, done
    site.wait_state("web1", "current", epoch=2)
    assert bert.push("--allow", "fork").returncode == 0
    site.wait_state("web1", "problem", epoch=2)
    assert "stead_sync_refused_total" in (site.place / "m.prom").read_text()
    # the control: by hand it is taken, and the watch goes on
    done = site.sync("pull", "--host", "web1", site.url, host.map, "--allow", "fork")
    assert done.returncode == 0, done.stderr
    site.wait_state("web1", "current", epoch=2)
    assert host.map.read_bytes() == bert.bytes()
    assert host.said().count("side by side") == 2
    host.wait_said("all is well again: epoch 2 is in place", 2)
    record_property("refused by the watcher: older epochs, forks:", "1, 1")


def followed(site, *nodes):
    """An operator whose map of these nodes is pushed, and a host that has it."""
    anna = site.operator()
    anna.apply(*nodes)
    anna.push()
    host = site.host("web1")
    host.wait(1)
    site.wait_state("web1", "current", epoch=1)
    return anna, host


def damages(whole):
    """Damaged files by the kind of damage; each has a whole header, but the last two."""
    return {
        "truncated": whole[:-100],
        "flipped": whole[:300] + bytes([whole[300] ^ 1]) + whole[301:],
        "empty": b"",
        "garbage": b"x" * 1000,
    }


def test_an_epoch_that_the_hub_does_not_have_confirms_nothing(site):
    _, host = followed(site, "a", "b")
    late = site.host("web2")
    late.wait(1)
    # somebody changes the map of a host instead of the operator's
    rogue = site.operator("bert")
    rogue.map = host.map
    told = f"a watch of stead-sync (process {host.process.pid}) keeps this map"
    for nodes in ("abc", "abcd"):
        assert told in rogue.apply(*nodes).stderr
    site.wait_state("web1", "problem", epoch=3)
    for number in (1, 2):
        said = site.sync(
            "wait", site.url, "--epoch", str(number), "--timeout", "1"
        ).stderr
        assert "web1 (epoch 3, which the hub does not have; it says: " in said, said
    # the controls: no watch keeps it any more, and the other host has confirmed its epoch
    host.stop()
    assert rogue.apply("a", "b", "c", "d", "e").stderr == ""
    assert site.sync("forget", site.url, "web1").returncode == 0
    done = site.sync("wait", site.url, "--epoch", "1", "--timeout", "60")
    assert done.returncode == 0, done.stderr


def test_an_old_map_that_is_put_back_under_a_watch_is_told(site, record_property):
    anna, host = followed(site, "a", "b")
    first = anna.bytes()
    anna.apply("a", "b", "c")
    anna.push()
    host.wait(2)
    second, draft, told = anna.bytes(), host.directory / "draft", 0
    for times in range(1, 4):
        draft.write_bytes(first)
        draft.rename(host.map)
        host.wait_said(
            f"somebody else has put epoch 1 ({digest(first)}) here,"
            f" in place of epoch 2 ({digest(second)})",
            times,
        )
        wait_for(lambda: host.map.read_bytes() == second, "the newest map")
        told += 1
    record_property("old maps replaced under a watch:", told)
    # the control: what the watch itself installs is not told
    assert host.said().count("somebody else") == told


def test_the_map_of_another_cluster_says_how_to_mend_it(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host = site.host("web1")
    host.wait(1)
    site.wait_state("web1", "current", epoch=1)
    other = site.place / "other.map"
    (site.place / "other.toml").write_text("name = 'other'\nnode = [{ name = 'x' }]\n")
    made = site.run("stead", "apply", site.place / "other.toml", other)
    assert made.returncode == 0, made.stderr
    shutil.copy(other, site.place / "copied")
    (site.place / "copied").replace(host.map)
    row = site.wait_state("web1", "problem")
    told = "if the hub is the right one, remove this file, and the hub's map takes its"
    assert 'the hub has the map "members"' in row["problem"], row
    assert told in row["problem"] and str(host.map) in row["problem"]
    host.wait_said(
        f"{told} place; otherwise give this watch another URL; epoch 1 stays"
    )
    # it is not replaced by itself, and not confirmed
    assert host.map.read_bytes() == other.read_bytes()
    late = site.sync("wait", site.url, "--timeout", "1")
    assert late.returncode == 1, late
    host.map.unlink()
    site.wait_state("web1", "current", epoch=1)
    assert host.map.read_bytes() == anna.bytes()
    host.wait_said("all is well again: epoch 1 is in place")


def test_a_map_that_is_damaged_under_a_watch_is_replaced(site, record_property):
    anna, host = followed(site, "a", "b")
    draft, repaired = host.directory / "draft", 0
    for times, (kind, bad) in enumerate(damages(anna.bytes()).items(), 1):
        draft.write_bytes(bad)
        draft.rename(host.map)
        wait_for(lambda: host.map.read_bytes() == anna.bytes(), f"repair of {kind}")
        host.wait_said("the map here is damaged", times)
        host.wait_said("the damaged map was replaced by epoch 1", times)
        host.wait_said("all is well again: epoch 1 is in place", times)
        repaired += 1
    # in place, too, with the old inode and size
    with open(host.map, "r+b") as file:
        file.seek(300)
        file.write(bytes([anna.bytes()[300] ^ 1]))
    assert host.map.read_bytes() != anna.bytes()
    wait_for(lambda: host.map.read_bytes() == anna.bytes(), "repair in place")
    host.wait_said("the map here is damaged", repaired + 1)
    site.wait_state("web1", "current", epoch=1)
    record_property("damaged maps replaced under a watch:", repaired + 1)


def test_a_damaged_map_that_nothing_replaces_is_a_problem_and_not_confirmed(site):
    anna, host = followed(site, "a", "b")
    # without a history nobody knows which map the damaged one was
    shutil.rmtree(f"{host.map}.history")
    draft = host.directory / "draft"
    draft.write_bytes(damages(anna.bytes())["flipped"])
    draft.rename(host.map)
    row = site.wait_state("web1", "problem", epoch=0, installed=0)
    assert "digest" in row["problem"], row
    host.wait_said("remove the file")
    late = site.sync("wait", site.url, "--timeout", "1")
    assert late.returncode == 1 and "web1" in late.stderr, late
    # the control: what the message says helps
    host.map.unlink()
    host.wait(1)
    site.wait_state("web1", "current", epoch=1, problem=None)
    host.wait_said("all is well again: epoch 1 is in place")
    assert host.map.read_bytes() == anna.bytes()


def test_a_damaged_map_is_replaced_while_the_hub_is_away(
    programs, place, cluster, record_property
):
    url = cluster.url(f"away{place.name[-8:]}")
    with Relay(cluster.port) as relay, Site(programs, place, url, cluster) as site:
        anna = site.operator()
        anna.apply("a", "b")
        anna.push()
        host = site.host("far", url=url.replace(str(cluster.port), str(relay.port)))
        host.wait(1)
        relay.cut()
        host.wait_said("no contact")
        draft = host.directory / "draft"
        draft.write_bytes(damages(anna.bytes())["flipped"])
        draft.rename(host.map)
        wait_for(lambda: host.map.read_bytes() == anna.bytes(), "repair")
        assert "is back" not in host.said()
        relay.restore()
        host.wait_said("is back")
        record_property("connections cut:", relay.cuts)


@needs_setpriv
def test_a_watch_that_may_not_write_says_so_before_the_next_push(site):
    _anna, host = followed(site, "a")
    host.stop()
    # without capabilities root may not write everywhere either
    host.prefix = POWERLESS
    host.directory.chmod(0o500)
    try:
        host.start()
        row = site.wait_state("web1", "problem", epoch=1)
        assert "may not write here" in row["problem"], row
    finally:
        host.directory.chmod(0o700)
    site.wait_state("web1", "current", epoch=1, problem=None)


@needs_setpriv
def test_a_host_that_may_not_report_is_told_whose_the_directory_is(programs, place):
    with local(programs, place) as site:
        followed(site, "a")
        hosts = place / "shared" / "members.map.hosts"
        hosts.chmod(0o500)
        try:
            done = powerless(
                programs["stead-sync"], "pull", site.url, place / "own.map"
            )
        finally:
            hosts.chmod(0o700)
        assert done.returncode == 77, done
        told = done.stderr
        assert "Permission denied" in told and "with mode 0500, and this is " in told
        assert "give this directory the mode 1777, or the group of all hosts" in told
        assert told.count("\n") == 1, told


@needs_setpriv
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_report_stays_its_users_after_root_has_pulled(programs, place):
    with local(programs, place) as site:
        followed(site, "a")
        hosts = place / "shared" / "members.map.hosts"

        own = ["pull", site.url, place / "own.map", "--host", "web2"]
        pull = lambda: site.sync(*own)
        assert pull().returncode == 0
        os.chown(hosts / "web2", 65534, 65534)
        assert pull().returncode == 0
        assert (hosts / "web2").stat().st_uid == 65534
        # who owns neither the report nor the directory is told what to do
        os.chown(hosts, 65534, -1)
        hosts.chmod(0o1777)
        try:
            done = powerless(programs["stead-sync"], *own)
        finally:
            os.chown(hosts, 0, -1)
        assert done.returncode == 77 and done.stderr.count("\n") == 1, done
        told = "only its owner and root may replace it: remove it"
        assert told in done.stderr and "cannot replace" in done.stderr, done


@needs_setpriv
def test_a_map_that_cannot_be_read_is_told_once_and_not_as_damaged(programs, place):
    with local(programs, place) as site:
        _anna, host = followed(site, "a")
        host.stop()
        host.prefix = POWERLESS
        host.start()
        host.wait(1)
        host.map.chmod(0)
        host.wait_said("Permission denied")
        time.sleep(3)
        host.map.chmod(0o644)
        host.wait_said("all is well again")
        assert host.said().count("Permission denied") == 1, host.said()
        assert "damaged" not in host.said()


@needs_setpriv
def test_status_says_why_a_host_does_not_read_the_hub(programs, place):
    with local(programs, place) as site:
        anna, host = followed(site, "a")
        host.stop()
        host.prefix = POWERLESS
        host.start()
        site.wait_state("web1", "current")
        anna.apply("a b")
        anna.push()
        site.wait_state("web1", "current", epoch=2)
        there = place / "shared" / "members.map"
        there.chmod(0)
        try:
            row = site.wait_state("web1", "problem", epoch=2)
        finally:
            there.chmod(0o644)
        assert "Permission denied" in row["problem"], row
        assert str(there) in row["problem"], row
        site.wait_state("web1", "current", epoch=2)
        # one that reports no more has a line, too
        host.stop(signal.SIGTERM)
        site.wait_state("web1", "silent")
        table = site.sync("status", site.url)
        assert "    its watch was ended\n" in table.stdout, table.stdout


def test_a_hub_that_has_lost_everything_gets_its_map_again(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host = site.host("web1")
    host.wait(1)
    site.wait_state("web1", "current")
    if site.cluster:
        site.cluster.delete(f"/stead/{site.url.rpartition('/')[2]}/")
        host.wait_said("forgotten")
    else:
        shutil.rmtree(site.place / "shared")
        host.wait_said("no contact")
        (site.place / "shared").mkdir()
    assert host.epoch() == 1
    # from the map of any host
    done = site.sync("push", host.map, site.url)
    assert done.returncode == 0, done.stderr
    site.wait_state("web1", "current", epoch=1)
    anna.apply("a", "b")
    assert anna.push().returncode == 0
    host.wait(2)


def test_a_full_disk_leaves_the_old_map(site, record_property):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    here = site.place / "here.map"
    site.pull(here)
    old = here.read_bytes()
    anna.apply(*LARGE, attributes=ATTRIBUTES)
    anna.push()
    full = 0
    for blocks in (0, 1, 1000, 3000):
        shell = f'ulimit -f {blocks}; exec "$@"'
        command = ["sh", "-c", shell, "sh", site.programs["stead-sync"], "pull"]
        done = subprocess.run(
            [*command, "--unregistered", site.url, here],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 74, done
        assert done.stderr.count("\n") == 1, done.stderr
        assert here.read_bytes() == old
        assert [p for p in leftovers(site.place) if "here.map" in p] == []
        full += 1
    assert site.pull(here).returncode == 0
    assert here.read_bytes() == anna.bytes()
    record_property("pulls with a disk too full for the map:", full)


def test_a_push_to_a_full_disk_leaves_no_entry_in_the_log(programs, place):
    (place / "shared").mkdir()
    with Site(programs, place, f"file://{place}/shared/members.map") as site:
        anna = site.operator()
        anna.apply("a")
        anna.push()
        log = place / "shared/members.map.history/log"
        before = log.read_text()
        anna.apply(*LARGE, attributes=ATTRIBUTES)
        command = ["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh"]
        done = subprocess.run(
            [*command, programs["stead-sync"], "push", anna.map, site.url],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 74, done
        assert log.read_text() == before
        # the control: with room
        assert anna.push().returncode == 0
        assert anna.bytes()[96:128].hex() in log.read_text()


def test_a_push_killed_at_any_point_changes_all_or_nothing(site, record_property):
    anna = site.operator()
    anna.apply(*LARGE, attributes=ATTRIBUTES, options=BACK)
    anna.push()
    here = site.place / "here.map"
    took = 0.0
    killed = {"old": 0, "new": 0}
    for n in range(9):
        before = anna.bytes()
        anna.apply(*LARGE[(n + 1) % 2 :], attributes=ATTRIBUTES, options=BACK)
        push = anna.start_push()
        # the first one at once, the others later and later
        time.sleep(took * n / 7)
        push.kill()
        push.communicate()
        done = site.pull(here)
        assert done.returncode == 0, done.stderr
        assert here.read_bytes() in (before, anna.bytes())
        if push.returncode == -9:
            killed["new" if here.read_bytes() == anna.bytes() else "old"] += 1
        # the operator simply pushes again
        began = time.monotonic()
        assert anna.push().returncode == 0
        took = time.monotonic() - began
        site.pull(here)
        assert here.read_bytes() == anna.bytes()
    assert killed["old"] > 0, killed
    if site.cluster:
        # what the killed pushes left is collected once their leases have ended
        base = f"/stead/{site.url.rpartition('/')[2]}/"
        site.cluster.end_leases()
        anna.apply(*LARGE[3:], attributes=ATTRIBUTES, options=BACK)
        assert anna.push().returncode == 0
        keys = site.cluster.keys(base)
        kept = {k["digest"] for k in json.loads(keys[base + "head"])["kept"]}
        found = {k.split("/")[4] for k in keys if "/maps/" in k}
        assert found == kept
        assert not [k for k in keys if "/pushes/" in k]
    else:
        anna.apply(*LARGE[3:], attributes=ATTRIBUTES, options=BACK)
        assert anna.push().returncode == 0
        assert leftovers(site.place / "shared") == []
    record_property("pushes killed, with the old and the new map at the hub:", killed)


def test_a_suspended_push_loses_nothing_and_wins_nothing(etcd_site, record_property):
    site, cluster = etcd_site, etcd_site.cluster
    base = f"/stead/{site.url.rpartition('/')[2]}/"
    anna, bert = site.operator("anna"), site.operator("bert")
    anna.apply(*LARGE, attributes=ATTRIBUTES)
    anna.push()
    site.pull(bert.map)
    told = []
    # more parts, so that the push is still under way when it is suspended
    names = ", ".join(f"a{i} = '{'x' * 4000}'" for i in range(4))
    more = {"attributes": f"attributes = {{ {names} }}\n", "options": BACK}
    for turn, ends in enumerate((False, True)):
        anna.apply(*LARGE[turn + 1 :], **more)
        bert.apply(*LARGE, f"new{turn}", **more)
        part = f"{base}maps/{bert.bytes()[96:128].hex()}/00000"
        push = bert.start_push()
        wait_for(lambda part=part: cluster.has(part), "the first part")
        push.send_signal(signal.SIGSTOP)
        assert cluster.keys(base + "pushes/"), "the push was over already"
        if ends:
            cluster.end_leases()
        else:
            # the other one collects garbage, and none of the suspended push
            assert anna.push().returncode == 0
            assert cluster.has(part)
        push.send_signal(signal.SIGCONT)
        told.append(push.communicate()[1])
        assert push.returncode == 75, told
        if ends:
            # the control: the same push again
            assert bert.push().returncode == 0
        else:
            site.pull(bert.map, "--allow", "fork")
    assert "another operator was first" in told[0]
    assert "took too long" in told[1]
    here = site.place / "here.map"
    assert site.pull(here).returncode == 0
    assert here.read_bytes() == bert.bytes()
    record_property("pushes suspended: outrun, expired:", "1, 1")


def test_a_pull_killed_at_any_point_leaves_a_whole_map(site, record_property):
    anna = site.operator()
    anna.apply(*LARGE, attributes=ATTRIBUTES, options=BACK)
    anna.push()
    here = site.place / "host" / "here.map"
    here.parent.mkdir()
    site.pull(here)
    took = 0.0
    killed = {"old": 0, "new": 0}
    for n in range(9):
        before = here.read_bytes()
        for more in (1, 2):
            anna.apply(*LARGE[n % 3 + more :], attributes=ATTRIBUTES, options=BACK)
        anna.push()
        pull = site.start("pull", "--unregistered", site.url, here)
        # the first one at once, the others later and later
        time.sleep(took * n / 7)
        pull.kill()
        pull.communicate()
        assert here.read_bytes() in (before, anna.bytes())
        if pull.returncode == -9:
            is_new = here.read_bytes() == anna.bytes()
            killed["new" if is_new else "old"] += 1
            if is_new:
                # readers of two epochs find the one before
                last = Path(f"{here}.history/{epoch(anna.bytes()) - 1}")
                assert last.exists()
        began = time.monotonic()
        done = site.pull(here)
        took = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        assert here.read_bytes() == anna.bytes()
    verify(site, here)
    assert leftovers(here.parent) == []
    assert killed["old"] > 0, killed
    record_property("pulls killed, with the old and the new map in place:", killed)

"""The epoch that a pair needs, lost from the history of a host while a carry is open. Each
test has a control: without that epoch no program opens the pair.
"""

import json
import shutil

import pytest
from carry_site import local
from sync_servers import Nginx
from sync_site import POWERLESS, epoch, leftovers, needs_setpriv, verify

KEYS = ("key1", "key2", "key3")


def begun(site):
    """An operator whose carry from epoch 2 is open at the hub, two states further."""
    anna = site.operator()
    anna.apply("a")
    anna.apply("a", "b")
    anna.push("--allow", "first")
    anna.apply("a", "b", "c", options=["--carry"])
    for _ in range(2):
        step(anna)
    assert anna.push("--allow", "skip").returncode == 0
    return anna


def step(anna):
    """Takes the carry one state further, at the operator."""
    now = epoch(anna.bytes())
    done = anna.site.run("stead", "carry", anna.map, "next", "--confirmed", now)
    assert done.returncode == 0, done.stderr


def opens(site, map):
    """Whether a program can read by the pair of the map; else what it says."""
    done = site.run("stead", "locate", "--carry", map, *KEYS)
    assert done.returncode == 0 or "where its data was" in done.stderr, done
    return True if done.returncode == 0 else done.stderr


def lose_at_hub(site, number):
    """Takes an epoch from the hub. Returns a function that gives it back."""
    if site.cluster:
        key = f"/stead/{site.url.rpartition('/')[2]}/head"
        head = site.cluster.keys(key)[key]
        left = json.loads(head)
        left["kept"] = [kept for kept in left["kept"] if kept["epoch"] != number]
        site.cluster.put(key, json.dumps(left))
        return lambda: site.cluster.put(key, head)
    kept = site.place / f"shared/members.map.history/{number}"
    away = kept.rename(site.place / "away")
    return lambda: away.rename(kept)


def lost(host, *epochs):
    """Removes epochs from the history of a host, or the whole history."""
    history = host.with_name(f"{host.name}.history")
    for number in epochs:
        (history / str(number)).unlink()
    if not epochs:
        shutil.rmtree(history)


def test_a_watch_brings_what_the_history_has_lost(site):
    anna = begun(site)
    host = site.host("web1")
    host.wait(5)
    site.wait_state("web1", "current", epoch=5)
    map = host.map.read_bytes()
    for times, gone in enumerate(((), (2,), (2, 4)), 1):
        assert opens(site, host.map) is True
        lost(host.map, *gone)
        host.wait_said("lacked the map where the data of the carry was", times)
        assert opens(site, host.map) is True
        site.wait_state("web1", "current", epoch=5, problem=None)
    assert host.map.read_bytes() == map and not leftovers(host.directory)
    # what was lost while no watch was running
    host.stop()
    lost(host.map)
    assert "`stead-sync pull` or a watch brings it" in opens(site, host.map)
    host.start()
    host.wait_said("lacked the map where the data of the carry was", 4)
    site.wait_state("web1", "current", epoch=5)
    assert opens(site, host.map) is True
    # and before the next state arrives
    host.stop()
    lost(host.map, 2)
    step(anna)
    assert anna.push().returncode == 0
    host.start()
    host.wait(6)
    assert opens(site, host.map) is True
    verify(site, host.map)


@pytest.mark.parametrize("who", [["--unregistered"], ["--host", "web1"]])
def test_a_pull_brings_what_the_history_has_lost(site, who):
    begun(site)
    map = site.place / "here.map"
    for gone in (None, (), (2,), (2, 4)):
        if gone is not None:
            lost(map, *gone)
            assert "`stead-sync pull` or a watch brings it" in opens(site, map)
        done = site.sync("pull", *who, site.url, map)
        assert done.returncode == 0, done.stderr
        came = "epoch 5 is here already; what its history lacked came from the hub"
        assert (came in done.stdout) == (gone is not None), done.stdout
        assert opens(site, map) is True
    # the control: a history that is whole is left alone
    done = site.sync("pull", *who, site.url, map)
    assert done.stdout.endswith("epoch 5 is here already\n"), done.stdout


def test_a_host_says_that_the_hub_has_lost_it_too_and_what_helps(site):
    begun(site)
    host = site.host("web1")
    host.wait(5)
    site.wait_state("web1", "current", epoch=5)
    saved = shutil.copy(f"{host.map}.history/2", site.place / "saved")
    give_back = lose_at_hub(site, 2)
    lost(host.map)
    row = site.wait_state("web1", "problem", epoch=0, installed=5)
    told = f"copy MAP.history/2 of a machine that has it to {host.map}.history/2"
    assert row["problem"].endswith(told), row
    assert site.sync("status", site.url).returncode == 1
    assert "where its data was" in opens(site, host.map)
    # what is not confirmed is waited for
    late = site.sync("wait", site.url, "--timeout", "1")
    assert late.returncode == 1 and "web1" in late.stderr, late
    # a pull says the same, and so does its report
    here = site.place / "here.map"
    for name in ("members.map", "members.map.history"):
        from_ = host.directory / name
        if from_.is_file():
            shutil.copy(from_, here)
    done = site.sync("pull", "--host", "web2", site.url, here)
    assert done.returncode == 65 and "copy MAP.history/2 of" in done.stderr, done
    row = site.wait_state("web2", "problem", epoch=0)
    assert row["problem"] in done.stderr, row
    # what the message says helps, also without a new push
    host.map.with_name("members.map.history").mkdir()
    shutil.copy(saved, f"{host.map}.history/2")
    site.wait_state("web1", "current", epoch=5, problem=None)
    host.wait_said("all is well again: epoch 5 is in place")
    assert opens(site, host.map) is True
    # a hub that has it again helps, too
    lost(host.map)
    site.wait_state("web1", "problem", epoch=0)
    give_back()
    site.wait_state("web1", "current", epoch=5, problem=None)
    assert opens(site, host.map) is True
    assert site.sync("pull", "--host", "web2", site.url, here).returncode == 0
    site.wait_state("web2", "current", epoch=5, problem=None)


def test_a_command_runs_again_when_the_map_can_be_read_again(site):
    begun(site)
    ran = site.place / "ran"
    host = site.host("web1", "--exec", f"echo $STEAD_SYNC_EPOCH >> {ran}")
    site.wait_state("web1", "current", epoch=5)
    give_back = lose_at_hub(site, 2)
    lost(host.map)
    site.wait_state("web1", "problem", epoch=0)
    assert ran.read_text() == "5\n"
    give_back()
    site.wait_state("web1", "current", epoch=5, problem=None)
    assert ran.read_text() == "5\n5\n"


def test_a_symbolic_link_in_place_of_the_history_is_left_alone(site):
    begun(site)
    host = site.host("web1")
    site.wait_state("web1", "current", epoch=5)
    # until then the watch makes no new history
    give_back = lose_at_hub(site, 2)
    lost(host.map)
    history = host.map.with_name("members.map.history")
    (site.place / "elsewhere").mkdir()
    history.symlink_to(site.place / "elsewhere")
    give_back()
    host.wait_said("this is a symbolic link")
    row = site.wait_state("web1", "problem", epoch=0)
    assert "this is a symbolic link" in row["problem"], row
    done = site.sync("pull", "--host", "web1", site.url, host.map)
    assert done.returncode != 0 and "this is a symbolic link" in done.stderr, done
    assert not list((site.place / "elsewhere").iterdir())
    history.unlink()
    site.wait_state("web1", "current", epoch=5, problem=None)
    assert opens(site, host.map) is True


@pytest.mark.skipif(
    not shutil.which("nginx", path="/usr/sbin:/usr/bin"),
    reason="nginx is not installed",
)
def test_a_web_server_brings_what_the_history_has_lost(programs, place):
    with (
        local(programs, place) as site,
        Nginx(place / "nginx", place / "shared") as nginx,
    ):
        begun(site)
        web = f"http://127.0.0.1:{nginx.port}/members.map"
        host = site.host("web1", url=web)
        host.wait(5)
        host.wait_said("installed epoch 5")
        lost(host.map)
        host.wait_said("lacked the map where the data of the carry was")
        assert opens(site, host.map) is True
        give_back = lose_at_hub(site, 2)
        lost(host.map)
        host.wait_said("copy MAP.history/2 of a machine that has it")
        here = place / "here.map"
        shutil.copy(host.map, here)
        assert site.pull(here, url=web).returncode == 65
        give_back()
        host.wait_said("all is well again: epoch 5 is in place")
        assert site.pull(here, url=web).returncode == 0
        assert opens(site, host.map) is opens(site, here) is True


def test_a_map_with_a_secret_keeps_its_history_as_secret(site):
    anna = site.operator()
    secret = f"hash = 'siphash'\nsecret = '{'5a' * 16}'"
    anna.apply("a", more=secret)
    anna.push()
    anna.apply("a", "b", more=secret, options=["--carry"])
    assert anna.push().returncode == 0
    host = site.host("web1")
    site.wait_state("web1", "current", epoch=2)
    kept = host.map.with_name("members.map.history") / "1"
    before = kept.stat().st_mode
    lost(host.map)
    host.wait_said("lacked the map where the data of the carry was")
    assert kept.stat().st_mode == before == host.map.stat().st_mode
    assert opens(site, host.map) is True


@needs_setpriv
def test_a_watch_that_may_not_mend_the_history_says_so(site):
    begun(site)
    host = site.host("web1")
    site.wait_state("web1", "current", epoch=5)
    host.stop()
    host.prefix = POWERLESS
    lost(host.map, 2)
    host.directory.chmod(0o500)
    (host.directory / "members.map.history").chmod(0o500)
    try:
        host.start()
        row = site.wait_state("web1", "problem", epoch=0)
        assert "ermission denied" in row["problem"], row
    finally:
        host.directory.chmod(0o700)
        (host.directory / "members.map.history").chmod(0o700)
    site.wait_state("web1", "current", epoch=5, problem=None)
    assert opens(site, host.map) is True

"""What users do every day: push, pull, watch, status, wait, forget, at every hub."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.error
from pathlib import Path

import pytest
import units
from carry_site import Carry
from sync_servers import Etcd, Nginx, encoded, wait_for
from sync_site import Site, epoch, verify


def test_a_map_travels_with_its_history(site):
    anna = site.operator()
    for n in range(1, 4):
        anna.apply(*"abcd"[:n])
    done = anna.push("--allow", "first")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "members: epoch 3 is the hub's first map; no host follows this hub yet"
        + "; a watch that waits for it registers now" * (site.cluster is None)
        + "\n"
    )
    assert "already" in anna.push().stdout
    here = site.place / "here.map"
    done = site.pull(here)
    assert done.returncode == 0, done.stderr
    assert here.read_bytes() == anna.bytes()
    for n in (1, 2):
        kept = anna.directory / f"members.map.history/{n}"
        assert (site.place / f"here.map.history/{n}").read_bytes() == kept.read_bytes()
    # the story came along
    told = site.run("stead", "history", here).stdout
    assert "anna@ops1" in told and "+c" in told, told
    assert "already" in site.pull(here).stdout
    # several epochs at once
    for n in (4, 5):
        anna.apply(*"abcdefg"[:n])
    assert "after epoch 3" in anna.push().stdout
    assert site.pull(here).returncode == 0
    assert epoch(here.read_bytes()) == 5
    assert epoch((site.place / "here.map.history/4").read_bytes()) == 4
    assert site.status() == {}


def test_a_mistyped_hub_is_no_success(site):
    anna = site.operator()
    anna.apply("a")
    assert "no host follows this hub yet" in anna.push().stdout
    # nobody is there to wait for
    lonely = site.sync("wait", site.url, "--timeout", "9")
    assert lonely.returncode == 66 and "is the URL right?" in lonely.stderr, lonely
    host = site.host("web1")
    site.wait_state("web1", "current", epoch=1)
    anna.apply("a", "b")
    wrong = site.url + "s"
    done = anna.push(url=wrong)
    assert done.returncode == 69 and "--allow first" in done.stderr, done
    assert wrong in done.stderr and done.stderr.count("\n") == 1, done.stderr
    for arguments in (("wait", wrong), ("wait", wrong, "--epoch", "2")):
        done = site.sync(*arguments, "--timeout", "9")
        assert done.returncode == 66 and wrong in done.stderr, done
    for options in ((), ("--json",)):
        done = site.sync("status", *options, wrong)
        assert done.returncode == 66 and "is the URL right?" in done.stderr, done
        assert done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["epoch"] is None
    # the control: the right one
    assert anna.push().returncode == 0
    assert site.sync("wait", site.url, "--timeout", "60").returncode == 0
    assert site.sync("status", site.url).returncode == 0
    host.stop()
    # whoever means it may begin with a later epoch
    done = anna.push("--allow", "fork,first", url=wrong)
    assert done.returncode == 0, done.stderr
    assert "epoch 2 is the hub's first map; no host follows" in done.stdout


def test_the_first_push_says_how_many_hosts_wait_for_it(site):
    anna = site.operator()
    for nodes in ("a", "ab"):
        anna.apply(*nodes)
    hosts = [site.host(name) for name in ("web1", "web2")]
    if not site.cluster:
        # a watch makes nothing in a directory that has no map
        for host in hosts:
            host.wait_said("waits for the first push there")
        done = anna.push()
        told = "(a watch registers at a directory when the first map is there), and epoch 2"
        assert done.returncode == 69 and told in done.stderr, done
        return
    wait_for(lambda: len(site.status()) == 2, "two hosts to register")
    done = anna.push()
    told = (
        "this hub has no map, 2 hosts wait for the first one, and epoch 2 would be that"
    )
    assert done.returncode == 69 and told in done.stderr, done
    assert "correct the URL" not in done.stderr, done.stderr
    assert "push with --allow first" in done.stderr, done.stderr
    assert hosts.pop().stop() is None
    assert site.sync("forget", site.url, "web2").returncode == 0
    done = anna.push("--allow", "first")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "members: epoch 2 is the hub's first map; 1 host waits for it\n"
    )


def test_a_pull_says_that_it_has_repaired_the_map(site):
    anna = site.operator()
    anna.apply("a", "b")
    anna.push()
    here = site.place / "here.map"
    assert "replaced" not in site.pull(here).stdout
    whole = here.read_bytes()
    for bad, word in ((None, "missing"), (b"", "damaged"), (whole[:-1], "damaged")):
        if bad is None:
            here.unlink()
        else:
            here.write_bytes(bad)
        done = site.pull(here)
        assert done.returncode == 0, done.stderr
        assert f"the map here was {word}, and is replaced" in done.stdout, done.stdout
        assert here.read_bytes() == whole
    # the control
    assert "is here already" in site.pull(here).stdout


def test_a_host_that_was_away_for_long_finds_its_way_by_the_log(site):
    anna = site.operator()
    anna.apply("a")
    anna.push("--keep", "2")
    here = site.place / "here.map"
    site.pull(here)
    for n in range(2, 7):
        anna.apply(*"abcdefg"[:n])
        assert anna.push("--keep", "2").returncode == 0
    done = site.pull(here)
    assert done.returncode == 0, done.stderr
    kept = sorted(p.name for p in (site.place / "here.map.history").iterdir())
    assert kept == ["1", "5", "6", "log"]


def test_who_has_what_and_who_is_waited_for(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    hosts = [site.host(f"web{n}") for n in (1, 2, 3)]
    for host in hosts:
        host.wait(1)
        site.wait_state(host.name, "current", alive=True, epoch=1)
    table = site.sync("status", site.url)
    assert table.returncode == 0, table.stderr
    assert "3 hosts: 3 current" in table.stdout
    assert all(len(line) <= 80 for line in table.stdout.splitlines())
    hosts[2].stop()
    anna.apply("a", "b")
    anna.push()
    for host in hosts[:2]:
        site.wait_state(host.name, "current", epoch=2)
    behind = site.sync("status", site.url)
    assert behind.returncode == 1
    assert next(iter(site.status())) == "web3"
    late = site.sync("wait", site.url, "--epoch", "2", "--timeout", "1")
    assert late.returncode == 1
    assert "1 of 3 hosts lack epoch 2: web3 (epoch 1" in late.stderr, late.stderr
    # a host that is down is waited for until somebody forgets it
    unknown = site.sync("forget", site.url, "web9")
    told = "web9: no host has this name; registered are web1, web2, web3\n"
    assert unknown.returncode == 66 and told in unknown.stderr, unknown
    assert site.sync("forget", site.url, "web3").returncode == 0
    done = site.sync("wait", site.url, "--epoch", "2", "--grace", "1")
    assert (done.returncode, done.stdout) == (0, "2 hosts have confirmed epoch 2\n")
    # back again: it registers, and gets the newest map
    hosts[2].start()
    site.wait_state("web3", "current", epoch=2)
    # forgotten while it runs: it registers again by itself, with its next heartbeat
    forgotten = site.sync("forget", site.url, "web1")
    assert "and registers it again unless it has ended" in forgotten.stdout
    hosts[0].wait_said("forgotten")
    site.wait_state("web1", "current", epoch=2)


def test_a_watch_that_ends_says_so(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host = site.host("web1")
    host.wait(1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        site.wait_state("web1", "current", alive=True, epoch=1)
        process = host.process
        host.stop(number)
        # it ends by the signal, as without a handler
        assert process.returncode == -number
        row = site.status()["web1"]
        assert (row["state"], row["alive"], row["epoch"]) == ("silent", False, 1)
        assert row["age"] < 60
        table = site.sync("status", site.url).stdout
        assert " s ago " in table and " now " not in table, table
        assert "1 host: 1 silent" in table
        # it confirmed the epoch, and still has it
        assert site.sync("wait", site.url, "--timeout", "9").returncode == 0
        host.start()
    # what it was started to ignore stays ignored
    site.wait_state("web1", "current", alive=True, epoch=1)
    host.stop()
    host.prefix = ["nohup"]
    begun = host.said().count("watching")
    host.start()
    host.wait_said("watching", begun + 1)
    host.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        host.process.wait(1)
    # the control: one that is killed counts as alive until it is missed
    site.wait_state("web1", "current", alive=True, epoch=1)
    host.stop()
    assert site.status()["web1"]["alive"]


def test_a_watch_ends_although_the_hub_is_away(programs, place):
    with Site(programs, place, "etcd://127.0.0.1:1/m") as site:
        host = site.host("web1")
        host.wait_said("no contact with the hub")
        process = host.process
        host.stop(signal.SIGTERM)
        assert process.returncode == -signal.SIGTERM


def test_a_wait_ends_when_the_last_host_has_confirmed(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    slow = site.host("slow", "--exec", f"test -e {site.place}/go")
    site.wait_state("slow", "problem", epoch=0, installed=1)
    assert "exits with 1" in site.status()["slow"]["problem"]
    waiting = site.start("wait", site.url, "--epoch", "1")
    wait_for(lambda: waiting.stderr.readline().startswith("stead-sync: 1 of 1"), "wait")
    assert waiting.poll() is None
    (site.place / "go").touch()
    assert waiting.wait(60) == 0
    assert site.status()["slow"]["epoch"] == 1
    assert "epoch 1 is not confirmed" in slow.said()


def test_the_command_gets_the_epochs(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    told = site.place / "told"
    text = f'echo "$STEAD_SYNC_OLD_EPOCH $STEAD_SYNC_EPOCH $STEAD_SYNC_NAME" >> {told}'
    site.host("web1", "--exec", text)
    wait_for(
        lambda: told.exists() and told.read_text() == "0 1 members\n", "the command"
    )
    anna.apply("a", "b")
    anna.push()
    wait_for(lambda: told.read_text().endswith("1 2 members\n"), "the command")


def test_a_map_that_a_host_cannot_read_is_refused_with_its_name(site):
    anna = site.operator()
    anna.apply("a", "b", more="replicas = 2")
    anna.push()
    site.host("old").wait(1)
    site.wait_state("old", "current")
    site.hosts[0].stop()

    def forget_firsts(report):
        report["features"] &= ~(1 << 4)

    site.change_report("old", forget_firsts)
    before = site.sync("status", "--json", site.url).stdout
    first = "replicas = 2\n[[first]]\nkey = 'k'\nnode = 'b'"
    anna.apply("a", "b", more=first)
    done = anna.push()
    assert done.returncode == 69
    assert "host old" in done.stderr and "feature 4" in done.stderr, done.stderr
    assert json.loads(before)["epoch"] == 1
    assert json.loads(site.sync("status", "--json", site.url).stdout)["epoch"] == 1
    # the control: another map passes, and so does this one without the host
    anna2 = site.operator("anna2")
    site.pull(anna2.map)
    anna2.apply("a", "b", "c", more="replicas = 2")
    assert anna2.push().returncode == 0
    site.sync("forget", site.url, "old")
    assert site.pull(anna.map, "--allow", "fork").returncode == 0
    anna.apply("a", "b", "c", more=first)
    assert anna.push().returncode == 0


def test_a_pull_that_is_refused_registers_no_host(site):
    anna, ben = site.operator("anna"), site.operator("ben")
    anna.apply("a", "b")
    assert anna.push().returncode == 0
    assert site.pull(ben.map).returncode == 0
    for operator, nodes in (anna, "abc"), (ben, "abd"):
        operator.apply(*nodes)
    assert anna.push().returncode == 0
    before = ben.bytes()
    pull = ("pull", "--host", "ben", site.url, ben.map)
    assert site.sync(*pull, who="ben").returncode == 69
    assert ben.bytes() == before and site.status() == {}
    # a host that was known before stays so, and one that has taken the map is
    assert site.sync(*pull, "--allow", "fork", who="ben").returncode == 0
    assert set(site.status()) == {"ben"}
    ben.apply(*"abce")
    anna.apply(*"abcf")
    assert anna.push().returncode == 0
    assert site.sync(*pull, who="ben").returncode == 69
    assert set(site.status()) == {"ben"}


def test_two_machines_of_one_name_are_told(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    first = site.host("web1")
    first.wait(1)
    site.wait_state("web1", "current", alive=True)
    other = site.host("web1", url=site.url)
    other.stop()
    other.directory = site.place / "clone"
    other.directory.mkdir()
    other.map, other.log = other.directory / "members.map", other.directory / "said"
    other.start()
    other.wait_said("another machine reports as web1")
    # nobody would know of its map: it takes none, not even the next one
    anna.apply("a", "b")
    anna.push()
    first.wait(2)
    site.wait_state("web1", "current", epoch=2, alive=True)
    other.wait_said("installs no map until then")
    assert not other.map.exists()
    done = site.sync("pull", "--host", "web1", site.url, other.map)
    assert done.returncode == 75 and not other.map.exists(), done
    # a watch that is killed and started again at the same place is no other machine
    first.stop()
    first.start()
    anna.apply("a", "b", "c")
    anna.push()
    first.wait(3)
    assert first.said().count("another machine") == 0
    # once the first one is gone, the other one goes on by itself
    first.stop()
    if site.cluster:
        site.cluster.end_leases()
    else:
        report = site.place / "shared/members.map.hosts/web1"
        os.utime(report, (report.stat().st_mtime - 1000,) * 2)
    other.wait(3)
    other.wait_said("all is well again: epoch 3 is in place")
    site.wait_state("web1", "current", epoch=3, alive=True)
    assert other.said().count("another machine") == 1


def test_a_pull_that_is_refused_reports_nothing(site):
    anna = site.operator()
    anna.apply("a", "b")
    assert anna.push().returncode == 0
    map = site.place / "web1.map"
    done = site.sync("pull", "--host", "web1", site.url, map)
    assert done.returncode == 0 and "registered as host web1" in done.stderr, done
    before = site.status()
    # a map of another cluster, and a file that is no map
    other = site.place / "other.map"
    (site.place / "other.toml").write_text("name = 'other'\nnode = [{name = 'x'}]\n")
    made = site.run("stead", "apply", site.place / "other.toml", other)
    assert made.returncode == 0, made.stderr
    for host, file, told in [
        ("web1", other, "name another URL, or another file"),
        ("web2", other, "name another URL, or another file"),
        ("web2", site.place / "other.toml", "this is not a stead map but a text"),
    ]:
        kept = file.read_bytes()
        done = site.sync("pull", "--host", host, site.url, file)
        assert done.returncode == 65 and told in done.stderr, done
        assert file.read_bytes() == kept
        after = site.status()
        assert list(after) == ["web1"]
        same = ("state", "epoch", "digest", "problem")
        assert [after["web1"][k] for k in same] == [before["web1"][k] for k in same]
    # the control: the right file is pulled again, and nothing is said of the host
    done = site.sync("pull", "--host", "web1", site.url, map)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_watch_at_an_empty_hub_says_once_that_it_waits(site):
    host = site.host("web1")
    host.wait_said("the hub has no map yet; this host waits")
    if not site.cluster:
        # a mistyped directory stays as it was; one that an operator has made takes reports
        assert site.url in host.said() and "is the URL right?" in host.said()
        assert os.listdir(site.place / "shared") == []
        (site.place / "shared/members.map.hosts").mkdir()
    row = site.wait_state("web1", "behind", epoch=0)
    assert row["problem"] is None
    done = site.sync("status", site.url)
    assert "1 host: 1 behind" in done.stdout, done.stdout
    assert "behind   none yet" in done.stdout, done.stdout
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host.wait(1)
    site.wait_state("web1", "current", epoch=1)
    assert host.said().count("has no map yet") == 1


def test_a_host_that_waits_at_an_empty_directory_registers_with_the_first_map(site):
    host = site.host("web1")
    host.wait_said("the hub has no map yet; this host waits")
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host.wait(1)
    site.wait_state("web1", "current", epoch=1)


def test_a_second_watch_of_a_file_is_refused_with_the_number_of_the_first(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    host = site.host("web1")
    host.wait(1)
    done = site.sync("watch", site.url, host.map)
    said = f"another process ({host.process.pid}) watches this file already; stop it"
    assert done.returncode == 75 and said in done.stderr, done
    assert done.stderr.count("\n") == 1
    # one that was killed leaves no lock behind
    host.process.kill()
    host.process.wait()
    host.start()
    anna.apply("a", "b")
    anna.push()
    host.wait(2)


def test_metrics_say_epoch_and_contact(site):
    anna = site.operator()
    anna.apply("a")
    anna.push()
    file = site.place / "stead.prom"
    host = site.host("web1", "--metrics", str(file))
    host.wait(1)

    def figures():
        if not file.exists():
            return None
        lines = [line for line in file.read_text().splitlines() if line[0] != "#"]
        found = {line.split("{")[0]: float(line.split()[-1]) for line in lines}
        return found if found["stead_sync_epoch"] == 1 else None

    found = wait_for(figures, "the metrics")
    assert found["stead_sync_contact"] == 1
    assert found["stead_sync_installed_total"] == 1
    assert found["stead_sync_last_contact_timestamp_seconds"] > 1.7e9
    assert 'map="members"' in file.read_text()


def test_metrics_say_where_a_carry_is_and_alerts_name_what_there_is(site):
    carry = Carry(site, [f"key{n}" for n in range(40)])
    carry.fill()
    file = site.place / "carry.prom"
    status = ["carry", "status", "--metrics", file, carry.file]

    def figures(code):
        done = site.sync(*status)
        assert done.returncode == code, done.stderr
        lines = [line for line in file.read_text().splitlines() if line[0] != "#"]
        return {line.split("{")[0]: float(line.split()[-1]) for line in lines}

    assert figures(0)["stead_carry_state"] == 0
    carry.begin("a", "b", "c", "d")
    assert figures(1)["stead_carry_state"] == 1
    assert carry.run("--until", "both_old_first").returncode == 0
    found = figures(1)
    assert found["stead_carry_state"] == 2 and found["stead_carry_running"] == 0
    assert found["stead_carry_total_items"] >= found["stead_carry_done_items"] > 0
    assert (found["stead_carry_failed_items"], found["stead_carry_reversed"]) == (0, 0)
    assert found["stead_carry_checked_timestamp_seconds"] > 1.7e9
    # those of a watch, and those of the router, whose own tests hold the page to it
    watched = site.place / "watch.prom"
    site.host("web1", "--metrics", str(watched))
    wait_for(watched.exists, "the metrics")
    root = Path(__file__).resolve().parents[2]
    known = set(re.findall("stead_[a-z_]+", watched.read_text() + file.read_text()))
    known |= set(
        re.findall(
            "`(stead_rrd_[a-z_]+)`", (root / "docs/rrd-operations.md").read_text()
        )
    )
    rules = (root / "examples/alerts.yml").read_text()
    named = set(re.findall("stead_[a-z_]+", rules))
    assert len(named) > 15 and named <= known, named - known


def test_an_etcd_that_is_full_takes_maps_again_after_what_the_docs_say(programs, place):
    (place / "etcd").mkdir()
    with (
        Etcd(place / "etcd", quota=3 << 20) as etcd,
        Site(programs, place, etcd.url("m"), etcd) as site,
    ):
        anna = site.operator()
        anna.apply("a")
        assert anna.push().returncode == 0
        host = site.host("web1")
        host.wait(1)
        # versions of another key, as etcd keeps them until it compacts
        for _ in range(8):
            with contextlib.suppress(urllib.error.HTTPError):
                etcd.call("kv/put", {"key": "QQ==", "value": encoded("x" * 1_000_000)})
        anna.apply("a", "b")
        done = anna.push()
        assert done.returncode == 74, done.stderr
        assert "database space exceeded; compact and defragment it" in done.stderr
        # etcdctl compact, defrag and alarm disarm
        found = etcd.call("kv/range", {"key": "QQ=="})
        etcd.call("kv/compaction", {"revision": found["header"]["revision"]})
        etcd.call("maintenance/defragment", {})
        for alarm in etcd.call("maintenance/alarm", {"action": "GET"})["alarms"]:
            etcd.call("maintenance/alarm", {"action": "DEACTIVATE", **alarm})
        assert anna.push().returncode == 0
        host.wait(2)


def test_bad_input_is_one_line(site):
    anna = site.operator()
    anna.apply("a")
    nothing = site.place / "nothing"
    for arguments, code in [
        (("push", anna.map, "members"), 64),
        ((), 64),
        (("carry",), 64),
        (("psuh", anna.map), 64),
        (("wait", site.url, "--epoch", "9x"), 64),
        (("push", anna.map, site.url, "--allow", "everything"), 64),
        (("push", nothing, site.url), 66),
        (("push", anna.map, "http://127.0.0.1:1/m"), 64),
        (("pull", site.url, nothing / "m"), 66),
        (("pull", "--unregistered", site.url, nothing), 66),
        (("pull", "--host", "a/b", site.url, nothing), 64),
        (("wait", site.url), 66),
        (("status", "etcd://127.0.0.1:1/m"), 68),
        (("status", "file:///no/such/m"), 68),
        (
            ("push", anna.map, site.url, "--user", "u"),
            0 if site.cluster is None else 64,
        ),
    ]:
        done = site.sync(*arguments)
        assert done.returncode == code, (arguments, done)
        assert done.stderr.count("\n") == (0 if code == 0 else 1), done.stderr
        if code == 64:
            assert done.stderr.startswith("stead-sync: "), done.stderr
    told = site.sync("wait", site.url, "--epoch", "9x").stderr
    assert "write a whole number" in told and "--help" in told, told
    assert not nothing.exists()


@pytest.mark.skipif(
    not shutil.which("nginx", path="/usr/sbin:/usr/bin"),
    reason="nginx is not installed",
)
def test_a_web_server_serves_what_a_directory_has(programs, place):
    (place / "shared").mkdir()
    with (
        Nginx(place / "nginx", place / "shared") as nginx,
        Site(programs, place, f"file://{place}/shared/members.map") as site,
    ):
        web = f"http://127.0.0.1:{nginx.port}/members.map"
        anna = site.operator()
        anna.apply("a")
        here = place / "here.map"
        assert site.pull(here, url=web).returncode == 66
        early = site.host("early", url=web)
        early.wait_said(f"{web}: the hub has no map yet; this host waits")
        early.stop()
        anna.push()
        assert site.pull(here, url=web).returncode == 0
        host = site.host("web1", url=web)
        host.wait(1)
        for n in (2, 3):
            anna.apply(*"abc"[:n])
        anna.push()
        host.wait(3)
        verify(site, host.map)
        assert epoch((host.directory / "members.map.history/2").read_bytes()) == 2
        # an unchanged map is not sent again
        wait_for(
            lambda: sum('map HTTP/1.1" 304' in line for line in nginx.lines()) > 2,
            "304",
        )
        whole = [line for line in nginx.lines() if '/members.map HTTP/1.1" 200' in line]
        assert len(whole) == 3, whole
        # a web server knows no hosts
        assert site.sync("status", web).returncode == 64
        # a damaged map stays at the server
        (place / "shared/members.map").write_bytes(anna.bytes()[:-1] + b"\xff")
        host.wait_said("digest")
        assert host.epoch() == 3
        assert site.pull(here, url=web).returncode == 65


def test_the_unit_is_what_systemd_takes(programs, place):
    program = str(programs["stead-sync"])
    units.check("stead-sync*.service", "stead-sync", program, place)

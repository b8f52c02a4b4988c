"""What a router does at its start when something is not as it should be."""

import os
import shutil
import subprocess

import pytest
from rrd_feed import START, create, names
from rrd_pair import Pair
from rrd_servers import Client, wait_for
from test_faults import filled, small_disk  # noqa: F401  a fixture


def refused(cluster, *options, prefix=()):
    """Starts a router that refuses to run. Returns its exit code and what it says."""
    done = subprocess.run(
        [
            *prefix,
            cluster.programs["stead-rrd"],
            "serve",
            *("--map", cluster.map, "--base", cluster.base),
            *("--state", cluster.state, "--listen", cluster.unix, *options),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1, done
    return done.returncode, done.stderr


def test_a_log_without_room_for_two_parts_is_a_mistake_on_the_command_line(cluster):
    cluster.stop_router()
    code, said = refused(cluster, "--log-size", "1")
    assert code == 64 and "--log-size" in said and "32" in said, said


def test_a_missing_map_says_where_the_router_has_its_own(cluster):
    cluster.stop_router()
    cluster.map.rename(cluster.place / "away")
    code, said = refused(cluster)
    kept = cluster.state / "settled.map"
    assert code == 66 and f"from {kept}, which is epoch 1" in said, said
    # as it says
    shutil.copy(kept, cluster.map)
    cluster.start_router()


@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_a_map_that_may_not_be_read_is_told_as_such(cluster):
    cluster.stop_router()
    cluster.map.chmod(0)
    # root reads everything, but not without its capabilities
    may_less = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    code, said = refused(cluster, prefix=may_less if os.geteuid() == 0 else [])
    assert code == 77 and str(cluster.map) in said and "denied" in said, said
    cluster.map.chmod(0o644)
    cluster.start_router()


def test_a_router_whose_disk_is_full_starts_and_answers_reads(
    cluster,
    small_disk,  # noqa: F811
):
    """The log has no part in reserve, so nothing on the disk can be removed for others."""
    cluster.stop_router()
    cluster.state = small_disk(cluster.place / "small", 64)
    cluster.options += ["--check-every", "0"]
    cluster.start_router()
    create(cluster)
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"UPDATE {name} {START + 1}:1").startswith(b"0 ")
    cluster.stop_router()
    for spare in (cluster.state / "log").glob("spare*"):
        spare.unlink()
    filled(cluster.state)
    # the control: nothing can be written there
    assert not small_write(cluster.state / "more")
    cluster.start_router()
    with Client(cluster.unix) as client:
        for name in names():
            said = client.ask(f"LAST {name}")
            assert said == b"0 %d\n" % (START + 1), said
    done = subprocess.run(
        [cluster.programs["stead-rrd"], "status", cluster.state],
        capture_output=True,
        text=True,
        check=False,
    )
    wait_for(
        lambda: cluster.router_said("the log cannot grow: .*No space left on device"),
        "the router to say so",
    )
    assert done.returncode in (0, 1), done


def small_write(path):
    """Returns whether a page can be written there."""
    try:
        with open(path, "wb", buffering=0) as file:
            return file.write(b"x" * 4096) == 4096
    except OSError:
        return False


def test_a_router_begins_a_new_log_when_the_damaged_one_is_moved_away(cluster):
    """As the manual says; the servers have everything that they have answered."""
    create(cluster)
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"UPDATE {name} {START + 1}:1").startswith(b"0 ")
            # waits for both copies
            assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    cluster.stop_router()
    (segment,) = (cluster.state / "log").glob("*.log")
    data = bytearray(segment.read_bytes())
    at = data.index(b"v.rrd")
    data[at] ^= 1
    segment.write_bytes(data)
    code, said = refused(cluster)
    assert code == 74 and str(segment) in said and "is damaged" in said, said
    assert "move the log away" in said, said
    (cluster.state / "log").rename(cluster.place / "away")
    cluster.start_router("--check-every", "0")
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"LAST {name}") == b"0 %d\n" % (START + 1)
    check = [cluster.programs["stead-rrd"], "check", cluster.state, "--restart"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


def test_an_empty_state_is_told_and_doubted_where_files_have_been_moved(cluster):
    """A mount that is missing looks like a first start."""
    first = (
        "is empty, so files are taken to be where epoch 1 places them, and a log begins"
    )
    assert len(cluster.router_said(first)) == 1
    cluster.stop_router()
    fleet = cluster.place / "fleet.toml"
    fleet.write_text(fleet.read_text().replace('"a1"\n', '"a1"\nweight = 3\n'))
    apply = [cluster.programs["stead"], "apply", fleet, cluster.map]
    subprocess.run(apply, check=True, stdout=subprocess.DEVNULL)
    # one that has a state knows where its files are
    cluster.start_router()
    assert not cluster.router_said("is empty")
    cluster.stop_router()
    cluster.state.rename(cluster.place / "away")
    cluster.start_router()
    doubt = (
        "epoch 2 moved files away from the places of epoch 1: if a router has served"
    )
    assert len(cluster.router_said(doubt)) == 1, cluster.router_said("is empty.*")


def test_two_routers_with_different_bases_are_no_pair(programs, place):
    """After a promotion, clients of the one would find no file of the other."""
    with Pair(programs, place) as pair:
        pair.b.kill()
        base, pair.base = pair.base, place / "other"
        pair.b.start()
        pair.base = base
        pair.a.is_so("not joined", connected=False)

        def told():
            reason = pair.a.status()["pair"]["reason"] or ""
            return f'--base "{place}/other"' in reason and "the same --map" in reason

        wait_for(told, "the primary to say why")
        pair.b.kill()
        pair.b.start()
        pair.a.is_so("in sync", connected=True, in_sync=True)

"""Faults other than a kill: a server that hangs, disks that are full, a server that
comes back empty. Every copy has all acknowledged updates afterwards.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

import pytest
from rrd_copies import info
from rrd_feed import FILES, START, Feed, create, lost, names, row, there
from rrd_servers import Client, Rrdcached, free_port, wait_for

# Values that fill a log soon: many bytes and few numbers, in a line that rrdcached takes as
# a whole (4,095 bytes)
WIDE = " ".join(f"{START + at}:{at:0100}" for at in range(10_000, 10_035))


@pytest.fixture
def small_disk(place):
    """Mounts a file system of a few MiB on a directory."""
    mounted = []

    def mount(directory, mib):
        directory.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", directory],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(
                f"a small file system cannot be mounted here: {done.stderr.strip()}"
            )
        mounted.append(directory)
        return directory

    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    yield mount
    for directory in mounted:
        subprocess.run(["umount", "-l", directory], check=False)


def filled(directory):
    """Fills the rest of a file system, and returns the file that does it. May be called again."""
    path = directory / "filler"
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
    return path


def finished(cluster, feed, record_property, fault, refused=()):
    """Checks that nothing is lost, that both copies of each file are equal, and that
    updates were refused only for the named reasons.
    """
    missing, copies = lost(cluster, feed.acknowledged)
    row(record_property, fault, feed.acknowledged, missing)
    record_property(
        "refused",
        f"{fault}: {sum(feed.refused.values())} "
        f"{[said.decode(errors='replace')[:120] for said in list(feed.refused)[:3]]}",
    )
    assert copies == 2 * len(feed.acknowledged) and not missing, missing[:10]
    unequal = [
        name
        for name in feed.acknowledged
        if len(
            {
                info(server.base / name)
                for server in cluster.backends.values()
                if (server.base / name).exists()
            }
        )
        != 1
    ]
    assert not unequal
    assert all(any(words in said for words in refused) for said in feed.refused), (
        feed.refused
    )


def page(cluster):
    """Returns the status page."""
    command = [cluster.programs["stead-rrd"], "status", cluster.state]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False
    ).stdout


def is_well(cluster):
    """Returns whether the status says that all is well."""
    command = [cluster.programs["stead-rrd"], "status", cluster.state]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def test_reads_wait_for_a_server_that_stands_still_only_once(cluster):
    """The router's own patience is longer than the whole test has time."""
    cluster.stop_router()
    cluster.options += ["--timeout", "600"]
    cluster.start_router()
    create(cluster)
    slow = cluster.backends["a1"]
    places = cluster.located(names())
    first_on_slow = [name for name in names() if places[name][0] == "a1"]
    assert first_on_slow
    os.kill(slow.process.pid, signal.SIGSTOP)
    try:
        with Client(cluster.tcp) as client:
            # each question has a limit of its own; a short wait for each would exceed
            # the limit of all of them
            end = time.monotonic() + 120
            for turn in range(300):
                name = first_on_slow[turn % len(first_on_slow)]
                for question in (f"LAST {name}", f"FETCH {name} AVERAGE -60"):
                    said = client.ask(question)
                    assert not said.startswith(b"-"), said
            assert time.monotonic() < end
    finally:
        os.kill(slow.process.pid, signal.SIGCONT)


def test_a_server_that_stands_still_holds_nobody_up(cluster, record_property):
    cluster.stop_router()
    cluster.options += ["--timeout", "2"]
    cluster.start_router()
    create(cluster)
    slow = cluster.backends["a1"]
    places = cluster.located(names()).values()
    assert any(place[0] == "a1" for place in places) and any(
        place[1] == "a1" for place in places
    )
    with Feed(cluster) as feed:
        feed.more(10 * FILES, "updates")
        os.kill(slow.process.pid, signal.SIGSTOP)
        try:
            wait_for(
                lambda: cluster.router_said(r"backend a1 \(\S+ is down"),
                "the server that stands still to be taken for down",
            )
            feed.more(20 * FILES, "updates beside a server that stands still")
            with Client(cluster.tcp) as client:
                for name in names():
                    assert client.ask(f"LAST {name}").startswith(b"0 17"), name
        finally:
            os.kill(slow.process.pid, signal.SIGCONT)
        wait_for(
            lambda: len(cluster.router_said(r"backend a1 \(\S+ is up")) >= 2,
            "it to be up again",
        )
        feed.more(10 * FILES, "updates afterwards")
    finished(cluster, feed, record_property, "a server stands still (SIGSTOP)")


def test_the_disk_of_a_server_is_full(cluster, small_disk, record_property):
    """Existing files have their place on the disk and keep working. A new file is made
    or refused, but never by half: its copies come when there is room.
    """
    full = cluster.backends["b1"]
    full.stop()
    shutil.rmtree(full.base)
    small_disk(full.base, 64)
    full.start()
    wait_for(
        lambda: len(cluster.router_said(r"backend b1 \(\S+ is up")) >= 2,
        "it to be up again",
    )
    create(cluster)
    with Feed(cluster) as feed:
        feed.more(10 * FILES, "updates")
        filler = filled(full.base)
        feed.more(10 * FILES, "updates with a full disk")
        said = {}
        with Client(cluster.unix) as client:
            for number in range(12):
                said[f"new{number}/v.rrd"] = client.ask(
                    f"CREATE new{number}/v.rrd -b {START} -s 1 DS:v:GAUGE:3600:U:U "
                    "RRA:LAST:0.5:1:100000"
                )
        feed.more(10 * FILES, "updates after files could not be made")
        filler.unlink()
        feed.more(10 * FILES, "updates with room on the disk")
    hit = [
        name for name, places in cluster.located(list(said)).items() if "b1" in places
    ]
    assert hit, "no new file would have been on the full disk"
    record_property(
        "created",
        f"{sum(said[name].startswith(b'0 ') for name in hit)} of {len(hit)} files "
        "that belong on the full disk",
    )
    finished(cluster, feed, record_property, "the disk of a server is full")
    # acknowledged files exist twice; refused ones can be made now
    with Client(cluster.unix) as client:
        for name, answer in said.items():
            if not answer.startswith(b"0 "):
                assert answer.startswith(b"-1 ") and name in hit, answer
                again = client.ask(
                    f"CREATE {name} -b {START} -s 1 DS:v:GAUGE:3600:U:U RRA:LAST:0.5:1:100000"
                )
                assert again.startswith(b"0 ") or again.endswith(b"File exists\n"), (
                    again
                )
            assert client.ask(f"UPDATE {name} {START + 1}:1").startswith(b"0 "), name
            assert client.ask(f"FLUSH {name}").startswith(b"0 "), name
    # the copies that had no room come by themselves
    wait_for(
        lambda: all((full.base / name).exists() for name in hit) and is_well(cluster),
        "every copy to be there",
    )
    assert lost(cluster, {name: [START + 1] for name in said}) == ([], 2 * len(said))


def test_a_full_log_refuses_in_clear_words_and_loses_nothing(cluster, record_property):
    """A server is down for longer than the log has room."""
    cluster.stop_router()
    cluster.options += ["--log-size", "32", "--flush-after", "1", "--sync-after", "0"]
    cluster.start_router()
    create(cluster)
    away = cluster.backends["a2"]
    with Feed(cluster) as feed:
        feed.more(10 * FILES, "updates")
        away.stop(signal.SIGKILL)
        with Client(cluster.unix) as client:
            end = False
            while not end:
                said = client.batch(
                    [f"UPDATE wide{number % 40}/v.rrd {WIDE}" for number in range(200)]
                )
                end = b"log" in said
                # these files do not exist, but their updates fill the log all the same
                assert end or b"No such file" in said, said[:300]
        wait_for(lambda: feed.refused, "an update to be refused")
        away.start()
        wait_for(
            lambda: len(cluster.router_said(r"backend a2 \(\S+ is up")) >= 2,
            "it to be up again",
        )
        feed.more(20 * FILES, "updates when the log has room")
    assert feed.refused
    finished(cluster, feed, record_property, "the log is full", refused=[b"log"])


def test_a_state_directory_that_was_removed_is_noticed(cluster, record_property):
    """What is written into a removed file survives nothing, so it is not acknowledged."""
    cluster.stop_router()
    port = free_port()
    cluster.options += ["--metrics", f"127.0.0.1:{port}"]
    cluster.start_router()
    create(cluster)
    with Feed(cluster) as feed:
        feed.more(10 * FILES, "updates")
    with Client(cluster.unix) as client:
        shutil.rmtree(cluster.state)
        said = client.ask(f"UPDATE {names()[0]} {int(time.time()) + 3600}:1")
        # reads go on
        assert client.ask(f"LAST {names()[0]}").startswith(b"0 ")
    words = (
        "is gone or another file: somebody has removed or replaced the state directory"
    )
    assert said.startswith(b"-1 ") and words.encode() in said, said
    assert cluster.router_said(f"the log has failed: .*{words}.*--flush-after")

    def behind():
        """How many records each server may lack."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
        assert "stead_rrd_log_failed 1" in text
        return re.findall(
            r"^stead_rrd_backend_behind_records\{.* (\d+)$", text, re.MULTILINE
        )

    # docs/rrd-operations.md: not before the servers have what was acknowledged
    wait_for(lambda: set(behind()) == {"0"}, "the servers to have everything")
    # it is flushed by the servers, and is there without the log
    cluster.stop_router()
    cluster.start_router()
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"FLUSH {name}").startswith(b"0 "), name
    finished(cluster, feed, record_property, "the state directory is removed")


def test_a_router_that_is_stopped_without_its_log_gives_the_servers_everything_first(
    cluster, record_property
):
    create(cluster)
    servers = [server.process.pid for server in cluster.backends.values()]

    def signal_all(number):
        for pid in servers:
            os.kill(pid, number)

    goes_on = threading.Timer(1, signal_all, [signal.SIGCONT])
    try:
        with Feed(cluster) as feed:
            feed.more(10 * FILES, "updates")
            signal_all(signal.SIGSTOP)
            feed.more(10 * FILES, "updates that no server has got")
            shutil.rmtree(cluster.state)
            wait_for(lambda: feed.refused, "the router to see that its log is gone")
        goes_on.start()
        cluster.stop_router()
    finally:
        goes_on.cancel()
        signal_all(signal.SIGCONT)
    cluster.start_router()
    with Client(cluster.unix) as client:
        for name in names():
            assert client.ask(f"FLUSH {name}").startswith(b"0 "), name
    gone = [b"removed or replaced the state directory"]
    fault = "a router without its log is stopped"
    finished(cluster, feed, record_property, fault, refused=gone)


def test_the_disk_of_the_log_is_full(cluster, small_disk, record_property):
    cluster.stop_router()
    cluster.state = small_disk(cluster.place / "smallstate", 64)
    cluster.options += ["--log-size", "1024", "--flush-after", "1", "--sync-after", "0"]
    cluster.start_router()
    create(cluster)
    away = cluster.backends["a2"]
    with Feed(cluster) as feed:
        feed.more(10 * FILES, "updates")
        filler = filled(cluster.state)
        away.stop(signal.SIGKILL)  # so that the log keeps everything
        with Client(cluster.unix) as client:
            for _ in range(300):
                if feed.refused:
                    break
                client.batch(
                    [f"UPDATE wide{number % 40}/v.rrd {WIDE}" for number in range(200)]
                )
        wait_for(lambda: feed.refused, "an update to be refused")
        # it says how much room it needs, in one text, whenever somebody asks
        needs = r"the log cannot grow: .*; the next part of the log needs 16384 KiB"
        assert cluster.router_said(needs)
        wait_for(
            lambda: re.search(
                f"the log has no room and refuses writes: {needs}", page(cluster)
            ),
            "the status to say that writes are refused",
        )
        assert len(feed.refused) == 1, feed.refused
        filler.unlink()
        away.start()
        # a log that cannot know what is on its disk takes no more records until the
        # router is restarted
        before = feed.count()
        try:
            wait_for(
                lambda: (
                    len(cluster.router_said(r"backend a2 \(\S+ is up")) >= 2
                    or feed.count() > before
                ),
                "it to be up again",
            )
        finally:
            cluster.stop_router()
            cluster.start_router()
        feed.more(20 * FILES, "updates when the disk has room")
    finished(
        cluster, feed, record_property, "the disk of the log is full", refused=[b"log"]
    )


def test_a_server_comes_back_with_an_empty_disk(cluster, record_property):
    create(cluster)
    empty = cluster.backends["b2"]
    with Feed(cluster) as feed:
        feed.more(10 * FILES, "updates")
        empty.stop(signal.SIGKILL)
        feed.more(5 * FILES, "updates without it")
        shutil.rmtree(empty.base)
        empty.base.mkdir()
        empty.start()
        wait_for(
            lambda: len(cluster.router_said(r"backend b2 \(\S+ is up")) >= 2,
            "it to be up again",
        )
        feed.more(10 * FILES, "updates when it is back")
        mine = [
            name for name, places in cluster.located(names()).items() if "b2" in places
        ]
        assert mine
        wait_for(
            lambda: all((empty.base / name).exists() for name in mine),
            "its files to be there again",
        )
        feed.more(5 * FILES, "updates when its files are back")
    finished(cluster, feed, record_property, "a server comes back with an empty disk")


@pytest.mark.parametrize("threads", [1, 4])
def test_rrdcached_keeps_what_it_acknowledged_only_with_one_write_thread(
    programs, place, threads, record_property
):
    """No router here. With the default of 4 threads, two of them write the same file
    when flushes overlap. One finds the file locked, drops the values that it was to
    write, and reports them as flushed. That is why docs/rrd.md says `-t 1`.
    """
    server = Rrdcached(place / "x", f"unix:{place}/s")
    server.threads = threads
    server.start()
    ended, count = threading.Event(), 1000

    def flush():
        with Client(server.address) as client:
            while not ended.is_set():
                client.ask("FLUSH v.rrd")

    flushers = [threading.Thread(target=flush) for _ in range(3)]
    missing, last = [], START
    try:
        with Client(server.address) as client:
            client.ask(
                f"CREATE v.rrd -b {START} -s 1 DS:v:GAUGE:3600:U:U RRA:LAST:0.5:1:100000"
            )
            for each in flushers:
                each.start()
            # whether the threads meet is a matter of luck
            for _ in range(1 if threads == 1 else 20):
                for at in range(last + 1, last + count):
                    assert client.ask(f"UPDATE v.rrd {at}:{at - START}").startswith(
                        b"0 "
                    )
                assert client.ask("FLUSH v.rrd").startswith(b"0 ")
                last += count - 1
                found = there(server.base / "v.rrd", last)
                missing = [
                    at
                    for at in range(START + 1, last)
                    if float(found.get(at, "nan")) != at - START
                ]
                if missing:
                    break
    finally:
        ended.set()
        for each in flushers:
            each.join()
        server.stop()
    record_property(
        "updates",
        f"{len(missing)} of {last - START} lost by one rrdcached with {threads} write threads",
    )
    assert bool(missing) == (threads > 1)


def test_rrdcached_loses_what_came_during_a_write_when_it_reads_its_journal(
    programs, place
):
    """No router here. `wrote` stands in the journal after the updates that came while
    the file was written, and after a crash rrdcached takes these for written, too. It
    refuses them when they are sent again. That is why docs/rrd.md wants no `-j` behind
    a router.
    """
    server = Rrdcached(place / "x", f"unix:{place}/s")
    server.journal = place / "journal"
    server.journal.mkdir()
    file = server.base / "v.rrd"
    subprocess.run(
        [
            "rrdtool",
            "create",
            file,
            "-b",
            str(START),
            "-s",
            "1",
            "DS:v:GAUGE:3600:U:U",
            "RRA:LAST:0.5:1:100",
        ],
        check=True,
    )
    subprocess.run(["rrdtool", "update", file, f"{START + 1}:1"], check=True)
    lines = [f"update {file} {START + at}:{at}\n" for at in (1, 2, 3)]
    (server.journal / f"rrd.journal.{START}.000000").write_text(
        "".join([*lines, f"wrote {file}\n"])
    )
    server.start()
    try:
        with Client(server.address) as client:
            assert client.ask("PENDING v.rrd") == b"0 updates pending\n"
            for at in (2, 3):
                assert client.ask(f"UPDATE v.rrd {START + at}:{at}").startswith(
                    b"-1 illegal attempt"
                )
            client.ask("FLUSH v.rrd")
    finally:
        server.stop()
    found = there(file, START + 3)
    assert (
        float(found[START + 1]) == 1
        and "nan" in found[START + 2]
        and "nan" in found[START + 3]
    )

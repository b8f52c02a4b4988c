"""`stead-sync carry` with data on real servers, from the first state to the end, while
applications on two hosts read, write and delete it, the carrier is killed again and
again, and the new server once.

    make kills            the same with over 50 kills of the carrier for each kind
"""

import contextlib
import json
import os
import random
import re
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest
from carry_servers import KINDS, RedisKind, ServerCarry, named, program
from carry_site import kill, local
from ports import free_port
from sync_servers import wait_for
from sync_site import Site

KEYS = [f"key{n:03}" for n in range(150)]
STATES = ("old", "both_old_first", "both_new_first", "new")
# in each state; `make kills` asks for more
KILLS = int(os.environ.get("STEAD_KILLS", "3"))

# in which state the new server is killed: another one for each kind
DOWN = dict(zip(KINDS, ("both_new_first", "both_old_first", "new", "both_old_first")))


def stacks(threads):
    """Where threads are now."""
    frames = sys._current_frames()
    return [traceback.format_stack(frames[t.ident]) for t in threads if t.is_alive()]


def lose_server(carry, node):
    """Kills a server while a carrier runs, and starts it again when an application has
    noticed. A cache may have forgotten what it had.
    """
    ledger = carry.ledger
    waited = sum(app.waited for app in carry.apps)
    ledger.is_down = True
    if carry.kind.needs == ("memcached",):
        ledger.excused.update(KEYS)
    carry.kill_server(node)
    try:
        wait_for(lambda: sum(app.waited for app in carry.apps) > waited, "applications")
    except AssertionError as error:
        raise AssertionError(f"{error}; {ledger.wrong}; {stacks(carry.apps)}") from None
    carry.start_server(node)
    ledger.is_down = False


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_carry_of_servers_loses_nothing(programs, place, kind, record_property):
    missing = [name for name in KINDS[kind].needs if not program(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} are not installed")
    (place / "shared").mkdir()
    rng, killed, states = random.Random(kind), 0, Counter()
    site = Site(programs, place, f"file://{place}/shared/members.map")
    # so slowly that each kill finds it at work
    limits = f"items_per_second = {60 / KILLS:.0f}\nworkers = 2"
    with site, ServerCarry(site, kind, KEYS, ("a", "b"), limits=limits) as carry:
        carry.fill()
        carry.start()
        carry.begin("a", "b", "c")
        for state in STATES:
            for turn in range(KILLS):
                running = carry.start_run("--until", state)
                time.sleep(rng.uniform(0.02, 0.5))
                if turn == 1 and state == DOWN[kind]:
                    wait_for(lambda s=state: carry.state() == s, state)
                    # a carrier pushes no state while a server is away, so the applications would
                    # never ask the new server
                    wait_for(lambda s=state: carry.all_see(s), "applications")
                    lose_server(carry, "c")
                states[carry.state()] += running.poll() is None
                killed += kill(running)
            done = carry.run("--until", state)
            assert done.returncode == 0, done.stderr
            assert carry.state() == state
        done = carry.run()
        assert done.returncode == 0, done.stderr
        carry.stop()
        keys, *_ = carry.judge()
        ledger = carry.ledger
        assert min(ledger.looks, ledger.writes, ledger.deletes) > 50, carry.told()
        assert len(states) >= 3 and killed >= KILLS * 5 // 3, states
        assert carry.waited > 0, "nobody noticed that the server was away"
        found = carry.copies()
        assert any("c" in nodes for nodes in found.values())
        # the control: the judge sees a key that is gone
        key, nodes = next((k, n) for k, n in found.items() if k not in ledger.excused)
        carry.delete_at(next(iter(nodes)), key)
        with pytest.raises(AssertionError, match=key):
            carry.judge()
    told = f"{killed} kills in {dict(states)}, 1 of the new server; {carry.told()}"
    if ledger.forgotten:
        told += f" ({ledger.forgotten} forgotten by the killed cache)"
    record_property(f"{kind}:", f"{told}; {keys} keys, 0 lost, 0 back, 0 twice")


def site_of(programs, place, kind):
    """A site with a shared directory, where the servers of a kind are installed."""
    missing = [name for name in KINDS[kind].needs if not program(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} are not installed")
    (place / "shared").mkdir()
    return Site(programs, place, f"file://{place}/shared/members.map")


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_server_that_is_away_is_named_with_its_node(programs, place, kind):
    if not all(program(name) for name in KINDS[kind].needs):
        pytest.skip(f"{', '.join(KINDS[kind].needs)} are not installed")
    site = site_of(programs, place, kind)
    keys = KEYS[:20]
    with site, ServerCarry(site, KINDS[kind], keys, ("a", "b")) as carry:
        carry.fill()
        carry.write_file(limits="tries = 2")
        carry.begin("a", "b", "c")
        carry.kill_server("c")
        done = carry.run("--dry-run")
        assert done.returncode == 66, done
        [line] = done.stderr.splitlines()
        assert line.startswith("stead-sync: node c: "), line
        # the servers listen at sockets in the directories of their nodes
        assert str(carry.roots / "c") in line, line
        # a run tries again, says how often, and stays where it is
        done = carry.run()
        assert (done.returncode, carry.state()) == (66, "old"), done
        line = done.stderr.splitlines()[-1]
        assert line.startswith("stead-sync: node c: "), line
        assert "tried 2 times, with pauses of 0.1 s in all (limits.tries)" in line, line
        carry.start_server("c")
        assert carry.run("--dry-run").returncode == 0


def test_a_redis_that_would_lose_keys_is_refused(programs, place):
    site = site_of(programs, place, "redis")
    keys = KEYS[:20]
    with site, ServerCarry(site, KINDS["redis"], keys, ("a", "b")) as carry:
        carry.fill()
        carry.begin("a", "b", "c")
        with contextlib.closing(carry.connect("c")) as server:
            server.command("CONFIG", "SET", "maxmemory", "100000000")
            for policy, is_refused in [
                ("allkeys-lru", True),
                ("volatile-lru", False),
                ("noeviction", False),
            ]:
                server.command("CONFIG", "SET", "maxmemory-policy", policy)
                done = carry.run("--dry-run")
                assert done.returncode == (66 if is_refused else 0), done
                told = f"evicts keys when 100000000 bytes are full (maxmemory-policy {policy})"
                assert (told in done.stderr) == is_refused, done.stderr
            # the servers of a cache may
            server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            text = carry.file.read_text()
            carry.file.write_text(text.replace("[redis]", "[redis]\ncache = true"))
            assert carry.run("--dry-run").returncode == 0
            carry.file.write_text(text)
            server.command("CONFIG", "SET", "maxmemory", "0")
            server.command("REPLICAOF", "127.0.0.1", "9")
            done = carry.run()
            assert (done.returncode, carry.state()) == (66, "old"), done
            assert "it is a replica of 127.0.0.1:9" in done.stderr
            server.command("REPLICAOF", "NO", "ONE")
        assert carry.run().returncode == 0
        carry.judge()


@pytest.mark.parametrize("how", ["flushed", "started again"])
def test_a_new_redis_that_may_have_lost_keys_is_filled_again(programs, place, how):
    site = site_of(programs, place, "redis")
    with site, ServerCarry(site, KINDS["redis"], KEYS[:40], ("a", "b")) as carry:
        carry.fill()
        carry.begin("a", "b", "c")
        assert carry.run("--until", "both_old_first").returncode == 0
        there = {key for key, nodes in carry.copies().items() if "c" in nodes}
        assert len(there) > 2
        if how == "flushed":
            with contextlib.closing(carry.connect("c")) as server:
                server.command("FLUSHALL")
        else:
            carry.kill_server("c")
            carry.start_server("c")
        done = carry.run("--until", "both_old_first")
        assert done.returncode == 0, done.stderr
        told = "emptied or replaced after copies were there: node c: its keys; "
        assert told in done.stderr, done.stderr
        is_restart = how == "started again"
        assert (f"started again, {told}" in done.stderr) == is_restart, done.stderr
        now = {key for key, nodes in carry.copies().items() if "c" in nodes}
        assert now == there
        done = carry.run()
        assert done.returncode == 0 and told not in done.stderr, done.stderr
        carry.judge()


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_carry_whose_only_new_server_dies_is_reversed(programs, place, kind):
    site = site_of(programs, place, kind)
    with site, ServerCarry(site, KINDS[kind], KEYS[:40], ("a", "b")) as carry:
        carry.fill()
        before = carry.copies()
        carry.begin("a", "b", "c")
        assert carry.run("--until", "both_old_first").returncode == 0
        assert any("c" in nodes for nodes in carry.copies().values())
        carry.kill_server("c")
        del carry.servers["c"]
        done = carry.run()
        told = "if it is gone for good, name it in lost"
        assert (done.returncode, told in done.stderr) == (66, True), done
        # going forward is refused, since c would get copies; the line names the way out
        carry.write_file(top="lost = ['c']")
        done = carry.run()
        told = "if it is gone, go back with `stead-sync carry reverse` and `run`"
        assert (done.returncode, told in done.stderr) == (64, True), done
        assert carry.state() == "both_old_first"
        done = site.sync("carry", "reverse", carry.file)
        assert (done.returncode, "lost" in done.stderr) == (0, False), done
        for options in (("--dry-run",), ()):
            done = carry.run(*options)
            assert done.returncode == 0, done.stderr
        assert carry.state() is None
        assert "counted as lost, by the file of the carry: c: " in done.stderr
        assert carry.copies() == before


@pytest.mark.parametrize("kind", ["redis", "postgresql", "mariadb"])
def test_a_carry_whose_only_old_server_is_lost_ends(programs, place, kind):
    site = site_of(programs, place, kind)
    with site, ServerCarry(site, KINDS[kind], KEYS[:40], ("a", "b")) as carry:
        carry.fill()
        before = carry.copies()
        left = {key: nodes for key, nodes in before.items() if "a" in nodes}
        assert 0 < len(left) < len(before)
        carry.kill_server("b")
        del carry.servers["b"]
        carry.write_file(top="lost = ['b']")
        carry.begin("a", options=["--lost=b"])
        for options in (("--dry-run",), ()):
            done = carry.run(*options)
            assert done.returncode == 0, done.stderr
        assert "had their copies only there, and are not copied" in done.stderr
        assert (carry.state(), carry.copies()) == (None, left)


@pytest.mark.parametrize("kind", ["redis", "postgresql", "mariadb"])
def test_what_hosts_wrote_before_a_carry_is_not_replaced(programs, place, kind):
    site = site_of(programs, place, kind)
    with site, ServerCarry(site, KINDS[kind], KEYS[:60], ("a", "b")) as carry:
        carry.fill()
        old = {key: carry.home(key) for key in KEYS[:60]}
        # a change without a carry: hosts miss what moved, and write it anew
        carry.make_roots(("a", "b", "c"))
        carry.anna.apply("a", "b", "c")
        moved = [key for key in KEYS[:60] if carry.home(key) == "c"]
        assert len(moved) > 3
        with contextlib.closing(carry.connect("c")) as client:
            for key in moved:
                client.put(key, "newer")
        back = ["stead", "rollback", carry.anna.map, "1", "--exact"]
        assert site.run(*back, "--allow", "leave-data").returncode == 0
        assert carry.anna.push().returncode == 0
        carry.begin("a", "b", "c", options=["--allow=take-back"])
        listed = site.sync("carry", "ahead", carry.file)
        assert listed.stdout.count("\tc\tdifferent\n") == len(moved), listed
        # each one fails, though fewer differ than else may
        for _ in range(2):
            done = carry.run("--json")
            assert (done.returncode, carry.state()) == (1, "both_old_first"), done
            failed = json.loads(done.stdout)["failed"]
            assert len(failed) == len(moved), failed
            why = failed[0]["why"]
            assert "another value, which may be the newer one" in why, why
            own = "or each database computed a value by itself, such as now() in an INSERT"
            assert (own in why) == (kind != "redis"), why
            found = carry.copies()
            assert all(found[key]["c"] == "newer" for key in moved)
        # one of them is copied to the old place, and the others are given up
        right, *others = moved
        with contextlib.closing(carry.connect(old[right])) as client:
            client.put(right, "newer")
        carry.ledger.values[right] = "newer"
        carry.write_file(limits=f"different = {len(others)}")
        assert carry.run().returncode == 0
        carry.judge()


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_rows_that_a_copy_replaces_are_named(programs, place, kind):
    site = site_of(programs, place, kind)
    with site, ServerCarry(site, KINDS[kind], KEYS[:40], ("a", "b")) as carry:
        carry.fill()
        carry.begin("a", "b", "c")
        assert carry.run("--until", "old").returncode == 0
        moved = [key for key in KEYS[:40] if carry.home(key) == "c"]
        # a program that asks for the new place alone
        with contextlib.closing(carry.connect("c")) as client:
            client.put(moved[0], "of the new place only")
        done = carry.run("--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        work = {w["pass"]: w for w in report["work"]}
        assert work["copy"]["mended"] == 1, work
        [named] = work["copy"]["mended_items"]
        assert moved[0] in named, named
        [note] = [n for n in report["notes"] if n.startswith("made equal to the old")]
        assert "made equal to the old place: 1 item" in note
        assert "each database computed a value by itself, such as now()" in note, note
        carry.judge()


@pytest.mark.parametrize("kind", ["memcached", "redis"])
def test_keys_are_found_in_names(programs, place, kind):
    site = site_of(programs, place, kind)
    with site, ServerCarry(site, named(KINDS[kind]), KEYS, ("a", "b")) as carry:
        carry.fill()
        # names that are none of the application's
        plain = KINDS[kind](place).connect(carry.roots / "a")
        for n in range(3):
            plain.put(f"lock{n}", "x")
        carry.begin("a", "b", "c")
        text = carry.file.read_text()
        for pattern, code, told in [
            ("{key}", 66, "are at nodes where neither map places their keys"),
            ("{any}", 64, "write {key}"),
        ]:
            carry.file.write_text(text.replace("{any}:{key}", pattern))
            done = carry.run()
            assert done.returncode == code and told in done.stderr, done
            assert carry.state() == "old"
        carry.file.write_text(text)
        done = carry.run()
        assert done.returncode == 0, done.stderr
        note = "3 keys do not fit the pattern {any}:{key} and were left alone, such as "
        assert note in done.stdout, done.stdout
        assert [plain.get(f"lock{n}") for n in range(3)] == ["x"] * 3
        plain.close()
        carry.judge()
        found = carry.copies()
        assert set(found) == set(KEYS)
        assert any("c" in nodes for nodes in found.values())


@pytest.mark.parametrize("kind", ["memcached", "redis"])
def test_keys_are_found_in_the_middle_of_names(programs, place, kind):
    site = site_of(programs, place, kind)
    names = ("sess:{}:1f:03", "doc:{}:1")
    patterns = "['sess:{key}:{any}', 'doc:{key}:{any}']"
    own = named(KINDS[kind], names, patterns)
    with site, ServerCarry(site, own, KEYS, ("a", "b")) as carry:
        carry.fill()
        # names that are none of the application's
        plain = KINDS[kind](place).connect(carry.roots / "a")
        for n in range(3):
            plain.put(f"lock:{n}", "x")
        carry.begin("a", "b", "c")
        text = carry.file.read_text()
        line = text[: text.index("pattern")].count("\n") + 1
        for pattern, code, told in [
            # takes the rest of the name for the key
            ("'{any}:{key}'", 66, "are at nodes where neither map places their keys"),
            (
                "'sess:{key}:{any}'",
                66,
                "keys do not fit the pattern sess:{key}:{any} and",
            ),
            (
                "'{any}:{key}:{key}'",
                64,
                (
                    f'{carry.file}:{line}: pattern "{{any}}:{{key}}:{{key}}": {{key}} stands twice; '
                    'write it once, such as "sess:{key}:{any}"\n'
                ),
            ),
        ]:
            carry.file.write_text(text.replace(patterns, pattern))
            done = carry.run()
            assert done.returncode == code and told in done.stderr, done
            assert carry.state() == "old"
        carry.file.write_text(text)
        done = carry.run("--until", "both_old_first")
        assert done.returncode == 0, done.stderr
        # one pattern finds the same keys, and yet is not the same as a list
        carry.file.write_text(text.replace(patterns, "'{any}:{key}:{any}'"))
        done = carry.run()
        was = "says something else than when the carry began"
        assert done.returncode == 64 and was in done.stderr, done
        assert carry.state() == "both_old_first"
        carry.file.write_text(text)
        done = carry.run()
        assert done.returncode == 0, done.stderr
        note = f"3 keys fit none of the patterns {patterns[1:-1]} and were left alone, such as "
        assert note in done.stdout, done.stdout
        assert [plain.get(f"lock:{n}") for n in range(3)] == ["x"] * 3
        plain.close()
        carry.judge()
        found = carry.copies()
        assert set(found) == set(KEYS)
        assert any("c" in nodes for nodes in found.values())


class ListeningRedis(RedisKind):
    """Servers that reach each other, each by a port."""

    def __init__(self, place):
        super().__init__(place)
        self.ports = {}

    def command(self, directory):
        port = self.ports.setdefault(directory.name, free_port())
        return [*super().command(directory), "--port", str(port)]


def test_what_is_wrong_with_the_address_of_a_redis_is_told(programs, place):
    site = site_of(programs, place, "redis")
    with site, ServerCarry(site, ListeningRedis, KEYS[:20], ("a", "b")) as carry:
        carry.fill()
        carry.begin("a", "b", "c")
        text, socket = carry.file.read_text(), f"'{carry.roots}/{{node}}/s'\n"
        port = carry.kind.ports["a"]
        secret, none = place / "secret", place / "none"
        secret.write_text("geheim\n")
        for server, more, told in [
            (
                f"http://127.0.0.1:{port}",
                "",
                (
                    f'node a: "http://127.0.0.1:{port}" is no address of a Redis; write '
                    "redis://HOST:PORT/DB, rediss://... for TLS, HOST:PORT, or the path of a socket"
                ),
            ),
            (
                f"redis://127.0.0.1:{port}/99",
                "",
                (
                    f"node a: redis 127.0.0.1:{port}/99: database 99 does not exist there; correct "
                    "the number at the end of the address"
                ),
            ),
            (
                f"redis://127.0.0.1:{port}",
                f"password_file = '{secret}'\n",
                (
                    f"node a: redis 127.0.0.1:{port}/0: a password is given, and this server asks "
                    "for none; leave out password_file and STEAD_CARRY_PASSWORD, or set the password "
                    "there (requirepass)"
                ),
            ),
            (
                f"redis://127.0.0.1:{port}",
                f"password_file = '{secret}'\nuser = 'carry'\n",
                (
                    f"node a: redis 127.0.0.1:{port}/0: it refuses this user or this password; check "
                    "both"
                ),
            ),
            (
                f"redis://127.0.0.1:{port}",
                f"password_file = '{none}'\n",
                (
                    f"password_file {none} cannot be read: No such file or directory (os error 2); "
                    "correct it in the file of the carry, and write the password into its first line"
                ),
            ),
            (
                f"rediss://127.0.0.1:{port}",
                "",
                (
                    f"node a: redis 127.0.0.1:{port}/0: this server has no TLS there; write "
                    "redis:// for rediss://"
                ),
            ),
        ]:
            carry.file.write_text(text.replace(socket, f"'{server}'\n{more}"))
            # none of these passes by itself, so nothing is tried again
            done = carry.run()
            assert done.returncode == 66, done
            [line] = done.stderr.splitlines()
            assert line.startswith(f"stead-sync: {told}"), line
            assert "tried" not in line, line
        carry.file.write_text(text)
        assert carry.run().returncode == 0
        carry.judge()


@pytest.mark.parametrize("kind", ["redis", "postgresql", "mariadb"])
def test_the_lines_of_the_page_copy_an_item_back_and_replace_none(
    programs, place, kind
):
    site = site_of(programs, place, kind)
    own = ListeningRedis if kind == "redis" else KINDS[kind]
    page = (Path(__file__).parents[2] / "docs" / "wrong-places.md").read_text()
    word = {"redis": "redis-cli", "postgresql": "psql", "mariadb": "mariadb"}[kind]
    # of the blocks that copy, that replace and that remove
    lines = re.findall(rf"^{word}.*(?:(?<=[\\|])\n.*)*", page, re.MULTILINE)
    lines = [line for line in lines if "anna" in line]
    assert len(lines) == 3, lines
    with site, ServerCarry(site, own, ["anna", "bob"], ("old", "new")) as carry:

        def ours(line):
            for node, address in (("old", "10.0.0.1"), ("new", "10.0.0.3")):
                at, ports = carry.roots / node, getattr(carry.kind, "ports", {node: 0})
                for words, here in {
                    f"redis-cli -h {address}": f"redis-cli -p {ports[node]}",
                    f"redis-cli -e -h {address}": f"redis-cli -e -p {ports[node]}",
                    f"MIGRATE {address} 6379": f"MIGRATE 127.0.0.1 {ports[node]}",
                    f"psql -h {address} -d app": f"psql -h {at} -U owner -d postgres",
                    f"mariadb-dump -h {address}": f"mariadb-dump --no-defaults -u root -S {at}/s",
                    f"mariadb -h {address}": f"mariadb --no-defaults -u root -S {at}/s",
                }.items():
                    line = line.replace(words, here)
            line = re.sub(r"\bapp\b", "test", line)
            assert "10.0.0" not in line, line
            return line

        copy, replace, remove = map(ours, lines)
        run = lambda line: subprocess.run(line, shell=True, check=False)
        with contextlib.ExitStack() as stack:
            old, new = (
                stack.enter_context(contextlib.closing(carry.connect(node)))
                for node in ("old", "new")
            )
            new.put("anna", "newer")
            new.put("bob", "of another key")
            assert run(copy).returncode == 0
            assert (old.get("anna"), old.get("bob")) == ("newer", None)
            old.put("anna", "the newest")
            assert run(copy).returncode != 0
            assert old.get("anna") == "the newest"
            assert run(replace).returncode == 0
            assert (old.get("anna"), new.get("anna")) == ("newer", "newer")
            assert run(remove).returncode == 0
            assert (new.get("anna"), new.get("bob")) == (None, "of another key")


def test_a_stray_writer_stands_out_among_what_applications_have_written(
    programs, place
):
    if not program("redis-server"):
        pytest.skip("redis-server is not installed")
    with (
        local(programs, place) as site,
        ServerCarry(site, "redis", KEYS, old=("a", "b", "c")) as carry,
    ):
        carry.write_file(grace=2)
        carry.fill()
        before = {key: carry.home(key) for key in KEYS}
        carry.begin("a", "b", "c", "d")
        moved = [key for key in KEYS if carry.home(key) != before[key]]
        new = next(key for key in moved if before[key] == "a")
        carry.delete_at("a", new)
        moved.remove(new)
        wrote, deleted, stray = moved[:15], moved[15:22], [new, *moved[22:25]]
        run = carry.start_run("--json")
        wait_for(lambda: carry.state() == "new", "the last state")
        # all hosts have this state, and until the grace is over nothing is removed
        with contextlib.closing(carry.connect("d")) as client:
            for key in wrote:
                client.put(key, "an application wrote it")
            for key in deleted:
                client.delete(key)
        for key in stray:
            with contextlib.closing(carry.connect(before[key])) as client:
                client.put(key, "by the old rule")
        told, _ = run.communicate(timeout=60)
        report = json.loads(told)
        removed = report["work"][-1]
        assert (removed["pass"], run.returncode) == ("remove", 0), report
        assert {item.split(" ")[0] for item in removed["rewritten_items"]} == set(stray)
        notes = report["notes"]
        assert "look at these: written at the old place since the check" in notes[0]
        assert "4 items, such as " in notes[0]
        others = [note for note in notes[1:] if note.startswith("removed with")]
        assert len(others) == 2 and all("but for those above" in o for o in others)
        # without such a writer, all is as usual
        carry.begin("a", "b", "c", options=("--allow", "take-back"))
        back = {key: carry.home(key) for key in wrote}
        run = carry.start_run("--json")
        wait_for(lambda: carry.state() == "new", "the last state")
        for key in wrote:
            with contextlib.closing(carry.connect(back[key])) as client:
                client.put(key, "again")
        told, _ = run.communicate(timeout=60)
        report = json.loads(told)
        assert "rewritten_items" not in report["work"][-1], report
        [note] = [note for note in report["notes"] if "removed with" in note]
        assert note.startswith("removed with another value at the new place: 15 items")
        assert note.endswith("their old copies have not changed since the check")

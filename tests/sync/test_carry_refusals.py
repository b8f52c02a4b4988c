"""What `stead-sync carry` refuses: to go on without hosts that it knows, and to remove
what a program that does not follow the map has written.
"""

import fcntl
import json
import os
import pty
import shutil
import socket
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from carry_site import PATTERN, Carry, kill, local
from sync_servers import wait_for
from sync_site import needs_setpriv, powerless

KEYS = [f"key{n:03}" for n in range(120)]
NEW = ("a", "b", "c", "d")


def registered(site):
    """Who is registered at the hub, and with what; not how long ago it was seen."""
    return {name: (row["state"], row["epoch"]) for name, row in site.status().items()}


def test_a_carry_does_not_go_on_without_the_hosts_of_a_hub_that_lost_everything(site):
    carry = Carry(site, KEYS)
    carry.fill()
    hosts = [site.host(f"web{n}") for n in (1, 2, 3)]
    for host in hosts:
        host.wait(1)
    # forgotten before the carry, and in its first state
    hosts.pop().stop()
    assert site.sync("forget", site.url, "web3").returncode == 0
    carry.begin(*NEW)
    late = site.host("late")
    late.wait(1)
    assert carry.run("--until", "old").returncode == 0
    # a host that is alive would read the old places while the carry goes on
    site.wait_state("late", "current", epoch=2)
    alive = site.sync("forget", site.url, "late")
    assert alive.returncode == 69 and "a carry is open" in alive.stderr, alive
    late.stop()
    assert site.sync("forget", site.url, "late", "--alive").returncode == 0
    assert carry.run("--until", "both_old_first").returncode == 0
    before = carry.copies()
    # the hosts are down, and the hub is set up anew
    for host in hosts:
        host.stop()
    site.lose()
    empty = carry.run()
    assert empty.returncode == 66 and "this hub has no map" in empty.stderr
    assert site.sync("forget", site.url, "web1").returncode == 66
    assert carry.anna.push("--allow", "first").returncode == 0
    for _ in range(2):
        lost = carry.run()
        assert (lost.returncode, carry.state()) == (69, "both_old_first"), lost
        told = (
            "the hub has lost 2 hosts that had confirmed epoch 3: web1, web2; the carry"
        )
        assert told in lost.stderr, lost.stderr
        assert f"`stead-sync forget {site.url} web1 --lost`" in lost.stderr
    assert carry.copies() == before
    # one is back, and the other one is gone for good
    hosts[1].start()
    site.wait_state("web2", "current", epoch=3)
    alone = carry.run()
    assert (alone.returncode, carry.state()) == (69, "both_old_first"), alone
    assert "1 host that had confirmed epoch 3: web1;" in alone.stderr, alone.stderr
    # a mistyped name is no host that was lost
    before = registered(site)
    wrong = site.sync("forget", site.url, "web11")
    assert wrong.returncode == 66 and "registered are web2, carry." in wrong.stderr
    assert "and a carry waits for it, add --lost" in wrong.stderr
    assert registered(site) == before
    gone = site.sync("forget", site.url, "web1", "--lost")
    assert gone.returncode == 0
    assert "if the open carry waited for it, it does so no longer" in gone.stdout
    done = carry.run()
    assert (done.returncode, carry.state()) == (0, None), done.stderr
    carry.judge()
    assert site.sync("forget", site.url, "web9", "--lost").returncode == 66


def until_new(site, keys=KEYS):
    """A carry in the state `new` before anything is removed, the keys that move, and the
    old node of each.
    """
    carry = Carry(site, keys)
    carry.fill()
    before = {key: carry.home(key) for key in keys}
    carry.begin(*NEW)
    assert carry.run("--until", "both_new_first").returncode == 0
    slow = site.host("slow")
    site.wait_state("slow", "current", epoch=4)
    slow.stop()
    step = carry.start_run()
    while "lacks epoch 5" not in (line := step.stderr.readline()):
        assert line, step.communicate()
    kill(step)
    assert site.sync("forget", site.url, "slow", "--alive").returncode == 0
    assert carry.state() == "new"
    moved = [key for key in keys if carry.home(key) != before[key]]
    assert len(moved) > 10
    return carry, moved, before


def test_a_newer_file_at_an_old_place_is_not_removed(programs, place):
    with local(programs, place) as site:
        carry, moved, old = until_new(site)
        late, beside, right = moved[:3]
        # hosts write to the new places only
        carry.path("d", right).write_text("as it should be")
        # a program that does not follow the map: in place, and with the times of another
        carry.path(old[late], late).write_text("later")
        copied = carry.path(old[beside], beside)
        copied.write_text("of a backup")
        os.utime(copied, (1, 1))
        for _ in range(2):
            done = carry.run("--json")
            assert (done.returncode, carry.state()) == (69, "new"), done
            told = (
                "some items have a newer value at their old places than at the new ones"
            )
            assert told in done.stderr, done.stderr
            # nobody can tell that from two programs that wrote one item at once
            assert "or two programs wrote one item at once" in done.stderr
            whys = {f["why"] for f in json.loads(done.stdout)["failed"]}
            assert whys == {"it was written at the old place after the new one"}
            assert carry.path(old[late], late).read_text() == "later"
            assert copied.read_text() == "of a backup"
            assert carry.path("d", late).read_text() == f"{late} first"
        # one is right, and the other one is not
        carry.path(old[late], late).replace(carry.path("d", late))
        carry.write_file(limits="different = 1")
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        note = "note: written at the old place after the new one: 1 item, such as "
        assert note in done.stdout and beside in done.stdout, done.stdout
        carry.ledger.values.update({late: "later", right: "as it should be"})
        carry.judge()


def test_another_pattern_is_refused_when_copies_were_made(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_old_first").returncode == 0
        right, before = carry.file.read_text(), carry.copies()
        # it would leave out most of what was copied
        narrow = PATTERN.replace("{key}", "{key}1")
        carry.file.write_text(right.replace(PATTERN, narrow))
        for options in ((), ("--dry-run",)):
            done = carry.run(*options)
            assert (done.returncode, carry.state()) == (64, "both_old_first"), done
            assert "[files] pattern was" in done.stderr, done.stderr
        assert carry.copies() == before
        carry.file.write_text(right)
        assert carry.run().returncode == 0
        carry.judge()


def test_a_new_file_at_an_old_place_is_not_removed(programs, place):
    with local(programs, place) as site:
        carry, moved, old = until_new(site)
        carry.write_file(limits="items_per_second = 1")
        step = carry.start_run()
        while "state new: " not in (line := step.stderr.readline()):
            assert line, step.communicate()
        # all hosts have confirmed the state, and the first copies are being removed
        assert kill(step)
        carry.write_file()
        still = [key for key in moved if carry.path(old[key], key).exists()]
        deleted, fresh = still[:2]
        # an application has deleted it, at the new place only
        carry.path("d", deleted).unlink()
        # a key that is written anew, at the old place only
        carry.path("d", fresh).unlink()
        carry.path(old[fresh], fresh).write_text("fresh")
        runs = []
        for _ in range(2):
            runs.append(carry.run("--json"))
            assert (runs[-1].returncode, carry.state()) == (69, "new"), runs[-1]
            assert "have a newer value at their old places" in runs[-1].stderr
            assert carry.path(old[fresh], fresh).read_text() == "fresh"
        carry.path(old[fresh], fresh).replace(carry.path("d", fresh))
        runs.append(carry.run("--json"))
        assert (runs[-1].returncode, carry.state()) == (0, None), runs[-1].stderr
        # at the end of its node, in whichever run that was
        works = [work for run in runs for work in json.loads(run.stdout)["work"]]
        removed = [name for work in works for name in work.get("unmatched_items", [])]
        assert removed == [f"{deleted[-2:]}/{deleted} at node {old[deleted]}"], works
        carry.ledger.values.update({deleted: None, fresh: "fresh"})
        carry.judge()


def test_a_host_that_died_between_two_writes_is_no_reason_to_go_back(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        old = {key: carry.home(key) for key in KEYS}
        carry.begin(*NEW)
        assert carry.run("--until", "both_new_first").returncode == 0
        moved = [key for key in KEYS if carry.home(key) != old[key]]
        # hosts write the new place first, and this one did not come to the old one
        carry.path("d", moved[0]).write_text("newer")
        done = carry.run("--until", "both_new_first")
        assert done.returncode == 0, done.stderr
        assert "with another value at the new place: 1 item" in done.stdout
        # one that wrote to the old place only
        carry.path(old[moved[1]], moved[1]).write_text("later")
        done = carry.run()
        assert (done.returncode, carry.state()) == (69, "both_new_first"), done
        assert "some items have another value at their new places" in done.stderr
        assert moved[1] in done.stderr, done.stderr
        carry.path("d", moved[1]).write_text("later")
        carry.ledger.values.update({moved[0]: "newer", moved[1]: "later"})
        assert carry.run().returncode == 0
        carry.judge()


def test_a_node_that_has_keys_and_no_files_is_refused(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        told = "% of the keys and no items; is it mounted"
        assert told not in carry.run("--dry-run").stdout
        # what was mounted there is not
        (carry.roots / "b").rename(place / "away")
        carry.make_roots("b")
        for options in (("--dry-run",), ()):
            done = carry.run(*options)
            assert (done.returncode, carry.state()) == (66, "old"), done
            assert f"b has 33 {told}" in done.stderr, done.stderr
            assert "name a marker" in done.stderr
        carry.write_file(limits="empty = 1")
        for options in (("--dry-run",), ("--until", "old")):
            done = carry.run(*options)
            assert done.returncode == 0, done.stderr
            assert f"note: b has 33 {told}" in done.stdout, done.stdout


def test_a_note_is_a_paragraph_on_a_terminal(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.write_file(limits="overlooked = 100")
        carry.fill()
        carry.begin(*NEW)
        # no key belongs to these paths
        for n in range(9):
            (carry.roots / "a" / f"{n}" / "x").mkdir(parents=True)
            (carry.roots / "a" / f"{n}" / "x" / "y").write_text("?")
        plain = carry.run("--dry-run").stdout
        note = next(line for line in plain.splitlines() if line.startswith("note: "))
        assert len(note) > 80, note
        ours, theirs = pty.openpty()
        with open(theirs, "wb") as terminal:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 60, 0, 0))
            command = [programs["stead-sync"], "carry", "run", "--dry-run", carry.file]
            subprocess.run(command, stdout=terminal, check=True, timeout=60)
        said = os.read(ours, 65536).decode().replace("\r\n", "\n")
        os.close(ours)
        assert max(map(len, said.splitlines())) <= 60, said
        # an indent marks what belongs together
        assert said.replace("\n    ", " ") == plain
        assert "\n    " in said


def test_two_journals_of_one_machine_do_not_carry_at_once(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        # the second operator has a map, a file and a journal of his own
        assert carry.anna.push().returncode == 0
        bob = site.operator("bob")
        assert site.pull(bob.map).returncode == 0
        other = place / "bob.toml"
        text = carry.file.read_text().replace(str(carry.anna.map), str(bob.map))
        other.write_text(text)
        # the first one waits for a host that does not come
        host = site.host("web1")
        host.wait(2)
        host.stop()
        first = carry.start_run()
        name = socket.gethostname()
        try:
            wait_for(lambda: f"carry.{name}" in site.status(), "the carrier")
            done = site.sync("carry", "run", other)
            told = f"carries by the journal {carry.anna.map}.carry; wait for it, or end"
            assert done.returncode == 75 and told in done.stderr, done
            assert done.stderr.count("\n") == 1, done.stderr
            told = site.sync("carry", "status", other)
            at_work = f"a run is at work on this machine by the journal {carry.anna.map}.carry"
            assert told.returncode == 1 and at_work in told.stdout, told
        finally:
            kill(first)
        told = site.sync("carry", "status", other).stdout
        assert "no run is at work on this machine" in told, told
        # a carrier may work, so it is not forgotten by the way
        carrier = next(name for name in site.status() if name.startswith("carry."))
        kept = site.sync("forget", site.url, carrier)
        assert kept.returncode == 69 and "is a carrier" in kept.stderr, kept
        # a hub that cannot be written to: what fails changes nothing
        hosts = Path(site.url.removeprefix("file://") + ".hosts")
        if site.url.startswith("file://") and shutil.which("setpriv"):
            hosts.chmod(0o500)
            try:
                failed = powerless(
                    programs["stead-sync"], "forget", site.url, "web1", "--alive"
                )
            finally:
                hosts.chmod(0o700)
            assert failed.returncode == 77, failed
            assert not (hosts.parent / "members.map.forgotten" / "web1").exists()
        # it was killed: the second one goes on, and says so
        assert site.sync("forget", site.url, "web1", "--alive").returncode == 0
        done = site.sync("carry", "run", other)
        assert done.returncode == 0, done.stderr
        told = f"by the journal {carry.anna.map}.carry, and does not work now; this one"
        assert done.stderr.count(told) == 1, done.stderr
        assert site.pull(carry.anna.map).returncode == 0
        carry.judge()


@needs_setpriv
def test_a_carry_that_may_not_give_files_away_says_what_to_do(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        for key in KEYS:
            os.chown(carry.path(carry.homes(key)[0], key), 12345, 12346)
        carry.begin(*NEW)
        carry.write_file(limits="failures = 1000")
        failed = powerless(programs["stead-sync"], "carry", "run", carry.file)
        assert failed.returncode == 1, failed
        said = failed.stdout + failed.stderr
        told = "only root may give it to user 12345 and group 12346: carry as root, or set owner"
        assert told in said, said
        kind = f"[files]\nroot = '{carry.roots}/{{node}}'\npattern = '{PATTERN}'\n"
        carry.write_file(kind=kind + "owner = false\n")
        done = powerless(programs["stead-sync"], "carry", "run", carry.file)
        assert (done.returncode, carry.state()) == (0, None), done
        carry.judge()


def test_lost_of_an_earlier_carry_is_refused(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, more="replicas = 2")
        carry.fill()
        carry.begin(*NEW)
        before = carry.copies()
        # d has died once, was removed from the fleet, and is there again
        carry.write_file(top="lost = ['d']")
        for options in ((), ("--dry-run",)):
            done = carry.run(*options)
            assert (done.returncode, carry.state()) == (64, "old"), done
            told = "lost names the node d, and epoch 2 places keys there"
            assert told in done.stderr, done.stderr
        assert carry.copies() == before
        carry.write_file()
        assert carry.run().returncode == 0
        found = carry.copies()
        assert all(set(found[key]) == set(carry.homes(key)) for key in KEYS)
        assert any("d" in found[key] for key in KEYS)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            "",
            '{mount} stands for the attribute "mount", which node d does not have; correct',
        ),
        ("attributes = {{ mount = '{roots}/a' }}\n", "have the same root"),
    ],
)
def test_a_wrong_attribute_is_mended_as_the_line_says(programs, place, wrong, told):
    with local(programs, place) as site:
        right = f"attributes = {{{{ mount = '{place}/nodes/{{}}' }}}}\n"
        carry = Carry(site, KEYS, attributes=right.format)
        kind = f"[files]\nroot = '{{mount}}'\npattern = '{PATTERN}'\n"
        carry.write_file(kind=kind)
        carry.fill()
        wrong = wrong.format(roots=carry.roots)
        carry.attributes = lambda node: wrong if node == "d" else right.format(node)
        carry.begin("a", "b", "c", "d")
        for options in ((), ("--dry-run",)):
            done = carry.run(*options)
            assert (done.returncode, carry.state()) == (66, "old"), done
            assert told in done.stderr, done.stderr
            # the node is not away
            assert "lost" not in done.stderr, done.stderr
            way = "; after a change of its attributes, apply the fleet, and run again; before other"
            assert done.stderr.count(way) == 1, done.stderr
        carry.anna.apply(*carry.nodes, attributes=right.format)
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        carry.judge()


def test_a_server_that_came_back_empty_is_filled_under_a_new_name(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS, more="replicas = 2")
        carry.fill()
        shutil.rmtree(carry.roots / "a")
        carry.make_roots(["a"])
        left = {key for key, nodes in carry.copies().items() if len(nodes) == 2}
        assert len(left) < len(KEYS)
        carry.write_file(top="lost = ['a']")
        carry.begin("a2", "b", "c", options=["--lost=a"])
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        assert "counted as lost, by the file of the carry: a: " in done.stderr
        assert "every key has another copy" in done.stderr
        found = carry.copies()
        assert all(set(found[key]) == set(carry.homes(key)) for key in KEYS)
        assert any("a2" in found[key] for key in KEYS)


def test_a_carry_that_was_closed_by_hand_is_told(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        carry.begin(*NEW)
        assert carry.run("--until", "both_new_first").returncode == 0
        for step, epoch, code in [("next", 4, 0), ("close", 5, 69)]:
            step = ["carry", carry.anna.map, step, "--confirmed", str(epoch)]
            done = site.run("stead", *step)
            assert done.returncode == code, done.stderr
        # the journal may be at another place, where `stead carry` does not look
        journal = Path(f"{carry.anna.map}.carry")
        away = journal.rename(f"{journal}.away")
        assert site.run("stead", *step).returncode == 0
        away.rename(journal)
        done = carry.run()
        told = (
            "epoch 6 closed the carry, and this journal does not say that copies were"
        )
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        assert f"note: {told}" in done.stdout, done.stdout
        # a carry that its runs have closed says nothing of it
        carry.begin("a", "b", "c", "d", "e")
        carry.write_file(limits="overlooked = 100")
        done = carry.run()
        assert done.returncode == 0 and "closed the carry, and" not in done.stdout, done

"""examples/shell/mailboxes.sh, on two hosts, delivers, lists, shows and deletes mails while
`stead-sync carry` moves the mailboxes. Two copies of it with a mistake are noticed.
"""

import os
import random
import shutil
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest
from carry_site import Carry, local
from sync_servers import wait_for

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "shell" / "mailboxes.sh"
KEYS = [f"user{n:02}" for n in range(60)]
STATES = ("old", "both_old_first", "both_new_first", "new")
# of each host, in each state
DELIVERED = 40

pytestmark = pytest.mark.skipif(
    not shutil.which("flock"), reason="flock is not installed"
)


class Mail(Carry):
    """A carry of mailboxes, and the mails that must be there: {mailbox: {name: text}}."""

    def __init__(self, site):
        super().__init__(site, KEYS)
        self.due = {key: {} for key in KEYS}
        self.wrong, self.counts = [], Counter()

    def make_roots(self, nodes):
        for node in nodes:
            (self.roots / node / "mail").mkdir(parents=True, exist_ok=True)

    def write_file(self, limits="", **_):
        files = f"[files]\nroot = '{self.roots}/{{node}}/mail'\npattern = '{{key}}/...'"
        # a command of the program takes much less than a second
        super().write_file(limits, kind=files, grace=1)

    def there(self):
        """{(mailbox, name): {node: text}} of all mails."""
        found = {}
        for path in self.roots.glob("*/mail/*/new/*"):
            node, _, key, _, name = path.parts[-5:]
            found.setdefault((key, name), {})[node] = path.read_text()
        return found

    def misplaced(self):
        """The mails that are not at their node, or elsewhere, too, and deleted ones that are back."""
        due = {
            (key, name): {self.home(key): text}
            for key, mails in self.due.items()
            for name, text in mails.items()
        }
        found = self.there()
        return [m for m in due.keys() | found.keys() if due.get(m) != found.get(m)]


class Shell(threading.Thread):
    """The program on a host, which works until it is stopped."""

    def __init__(self, mail, program, host, seed):
        super().__init__(daemon=True)
        self.mail, self.random, self.ends = mail, random.Random(seed), threading.Event()
        self.letter, self.seed, self.delivered = mail.place / f"letter{seed}", seed, 0
        stead = Path(mail.site.programs["stead"]).resolve().parent
        self.process = subprocess.Popen(
            ["bash", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **mail.site.environment("anna"),
                "PATH": f"{stead}:{os.environ['PATH']}",
                "MAP": str(host.map),
                "STORES": str(mail.roots),
                "LOCKS": str(mail.place / "locks"),
            },
        )

    def command(self, *words):
        """Gives a command, and returns what it printed and its exit code."""
        print(*words, file=self.process.stdin, flush=True)
        lines = []
        while not (line := self.process.stdout.readline()).startswith("exit "):
            assert line, "the program has ended"
            lines.append(line.rstrip("\n"))
        return lines, int(line.split()[1])

    def operate(self):
        """One command, judged."""
        mail = self.mail
        key = self.random.choice(KEYS)
        with mail.ledger.locks[key]:
            mails, what = mail.due[key], self.random.random()
            name = self.random.choice(list(mails)) if mails else None
            if what < 0.5 or not name:
                command = "deliver"
                self.letter.write_text(f"{key} {self.seed} {self.delivered}\n")
                said, code = self.command(command, key, self.letter)
                mails[said[0] if said else "nothing"] = self.letter.read_text()
                self.delivered += 1
                due = said[:1]
            elif what < 0.65:
                command, due = "list", sorted(mails)
                said, code = self.command(command, key)
            elif what < 0.8:
                command, due = "show", mails[name].splitlines()
                said, code = self.command(command, key, name)
            else:
                command, due = "delete", []
                said, code = self.command(command, key, name)
                del mails[name]
            mail.counts[command] += 1
            if (sorted(said), code) != (due, 0):
                mail.wrong.append(f"{command} {key}: {said}, {code}; not {due}")

    def run(self):
        while not self.ends.is_set():
            self.operate()

    def stop(self):
        self.ends.set()
        self.join()
        self.process.stdin.close()
        assert self.process.wait() == 0


def carried(programs, place, program):
    """Carries while the program works on two hosts. Returns the mail and the runs."""
    with local(programs, place) as site:
        mail = Mail(site)
        shells, runs = [], []
        for n in (1, 2):
            host = site.host(f"web{n}")
            host.wait(1)
            shells.append(Shell(mail, program, host, n))
        for shell in shells:
            shell.start()
        for state in (None, *STATES, "closed"):
            if state == "old":
                mail.begin("a", "b", "c", "d")
            if state:
                until = [] if state == "closed" else ["--until", state]
                runs.append(mail.run(*until))
                if runs[-1].returncode:
                    break
            for shell in shells:
                enough = shell.delivered + DELIVERED
                wait_for(
                    lambda s=shell, n=enough: s.delivered >= n or not s.is_alive(),
                    f"mails in the state {state}",
                )
        for shell in shells:
            shell.stop()
        return mail, runs


def test_no_mail_is_lost_or_twice_while_mailboxes_are_carried(
    programs, place, record_property
):
    mail, runs = carried(programs, place, EXAMPLE)
    assert [(done.returncode, done.stderr) for done in runs if done.returncode] == []
    assert mail.state() is None and not mail.wrong, mail.wrong[:3]
    assert mail.misplaced() == []
    moved = sum(len(mail.due[key]) for key in KEYS if mail.home(key) == "d")
    assert min(mail.counts.values()) > 50 and moved > 50, (mail.counts, moved)
    # no part of a mail is left
    assert [p for p in mail.roots.glob("*/tmp/*")] == []
    said = ", ".join(f"{n} {command}" for command, n in sorted(mail.counts.items()))
    record_property("shell:", f"{said}; {moved} mails are at the new node")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('in "${writes[@]}"', 'in "${writes[0]}"'),
        ("locate --carry --follow", "locate --carry"),
    ],
    ids=["only-the-first-place", "only-the-first-map"],
)
def test_a_program_with_a_mistake_is_noticed(programs, place, right, wrong):
    text = EXAMPLE.read_text()
    assert text.count(right) == 1
    program = place / EXAMPLE.name
    program.write_text(text.replace(right, wrong))
    mail, runs = carried(programs, place, program)
    refused = [done for done in runs if done.returncode]
    assert refused or mail.wrong or mail.misplaced()

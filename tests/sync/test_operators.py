"""Several operators and hosts, each a user of its own, at a hub in one directory, made as
docs/sync.md says.
"""

import os
import shutil
import subprocess

import pytest

# Users and a group that no account needs to have.
GROUP, ANNA, BEN, WEB1 = 60100, 60101, 60102, 60103

needs_users = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="only root can run programs as other users, with setpriv",
)


class User:
    """A user with a directory of his own, in the group."""

    def __init__(self, programs, hub, number):
        self.programs, self.hub, self.number = programs, hub, number
        self.home = hub.parent.parent / str(number)
        self.home.mkdir()
        os.chown(self.home, number, number)

    def run(self, program, *arguments):
        command = ["setpriv", f"--reuid={self.number}", f"--regid={self.number}"]
        command += [f"--groups={GROUP}", "--inh-caps=-all", self.programs[program]]
        return subprocess.run(
            [*command, *arguments],
            cwd=self.home,
            umask=0o002,
            capture_output=True,
            text=True,
            check=False,
        )

    def does(self, program, *arguments):
        """Runs a program that must succeed, and returns what it says."""
        done = self.run(program, *arguments)
        assert done.returncode == 0, done
        return done.stdout

    def apply(self, nodes):
        lines = "".join(f"[[node]]\nname = '{node}'\n" for node in nodes)
        (self.home / "fleet.toml").write_text(f"name = 'members'\n{lines}")
        self.does("stead", "apply", "fleet.toml", "members.map")

    def push(self):
        self.does("stead-sync", "push", "members.map", f"file://{self.hub}")

    def pull(self, *options):
        pull = ["pull", f"file://{self.hub}", "members.map", *options]
        self.does("stead-sync", *pull)


@pytest.fixture
def site(programs, place):
    """Returns two operators, a host, and the directory of the reports."""
    # the users must reach what is in there
    place.chmod(0o755)
    hub = place / "maps" / "members.map"
    reports = hub.with_name("members.map.hosts")
    for directory in (hub.parent, reports):
        directory.mkdir()
        os.chown(directory, -1, GROUP)
        directory.chmod(0o2775)
    users = [User(programs, hub, number) for number in (ANNA, BEN, WEB1)]
    if users[0].run("stead", "--version").returncode:
        pytest.skip("other users cannot run these programs: a directory is closed")
    return *users, reports


@needs_users
def test_operators_of_a_group_push_after_each_other_and_forget_hosts(site):
    anna, ben, host, reports = site
    anna.apply("ab")
    anna.push()
    host.pull("--host", "web1")
    ben.pull("--unregistered")
    ben.apply("abc")
    ben.push()
    anna.pull("--unregistered")
    anna.apply("abcd")
    anna.push()
    host.pull("--host", "web1")
    assert (reports / "web1").stat().st_uid == WEB1
    ben.does("stead-sync", "forget", f"file://{anna.hub}", "web1")
    assert not list(reports.iterdir())
    # who made which epoch is in one log
    told = ben.does("stead", "history", str(anna.hub))
    assert [f"{number}" in told for number in (ANNA, BEN)] == [True, True], told


@needs_users
def test_who_may_not_forget_a_host_is_told_what_the_directory_needs(site):
    anna, _, host, reports = site
    anna.apply("ab")
    anna.push()
    os.chown(reports, -1, 0)
    reports.chmod(0o1777)
    host.pull("--host", "web1")
    failed = anna.run("stead-sync", "forget", f"file://{anna.hub}", "web1")
    assert failed.returncode == 77 and failed.stderr.count("\n") == 1, failed
    assert "give the directory a group of operators and hosts" in failed.stderr
    assert (reports / "web1").exists()

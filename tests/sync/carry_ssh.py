"""A real sshd of the tests' own, on loopback, with keys that are made for it."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from ports import free_port
from sync_servers import Process, wait_for

SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")


class Sshd:
    """sshd, and how to reach it."""

    def __init__(self, directory):
        directory.mkdir()
        self.port, self.directory = free_port(), directory
        for name in ("host", "user"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name],
                check=True,
            )
        shutil.copy(directory / "user.pub", directory / "authorized")
        public = (directory / "host.pub").read_text()
        (directory / "known").write_text(f"[127.0.0.1]:{self.port} {public}")
        (directory / "config").write_text(
            f"""
            ListenAddress 127.0.0.1:{self.port}
            HostKey {directory}/host
            AuthorizedKeysFile {directory}/authorized
            PidFile none
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            PermitRootLogin yes
            MaxStartups 100
            LoginGraceTime 10
            # a shell within another one: then bash reads no .bashrc, which may take long
            SetEnv SHLVL=1
            """
        )
        if os.geteuid() == 0:
            # where Debian's sshd wants to be alone
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        command = [SSHD, "-D", "-e", "-f", str(directory / "config")]
        self.process = Process(command, directory / "log")

    def __enter__(self):
        self.process.start()
        wait_for(self.answers, "sshd")
        return self

    def __exit__(self, *_):
        for pid in self.below(self.process.process.pid):
            end(pid)
        self.process.end()

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def words(self):
        """What reaches a machine, for the file of a carry."""
        given = {
            "BatchMode": "yes",
            "UserKnownHostsFile": self.directory / "known",
            "IdentityFile": self.directory / "user",
            "IdentitiesOnly": "yes",
        }
        options = [f"-o{name}={value}" for name, value in given.items()]
        return ["ssh", "-F", "none", "-p", str(self.port), *options]

    def below(self, pid):
        """The processes that a process has started, and those that they have."""
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        except OSError:
            return []
        found = []
        for child in map(int, text.split()):
            found += [child, *self.below(child)]
        return found

    def agents(self):
        """The agents that work at the moment."""
        return [pid for pid in self.below(self.process.process.pid) if is_agent(pid)]

    def connections(self):
        """The processes of sshd for connections whose user is known: `sshd: USER@notty`."""
        all_of_them = self.below(self.process.process.pid)
        return [pid for pid in all_of_them if b"@" in command(pid).split(b"\0")[0]]


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_agent(pid):
    return command(pid).endswith(b"\0carry\0agent\0")


def end(pid):
    """Kills a process; returns whether it was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True

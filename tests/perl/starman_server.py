"""Starman for a test: on a free port of loopback, and stopped when the test ends."""

import os
import shutil
import signal
import socket
import subprocess
import time

from perl_module import MODULE, PERL
from ports import free_port
from web_server import ROOT, children

HERE = ROOT / "tests" / "perl"
# Generous, since the machine may be busy with other work
LONG = 60


class Starman:
    """A context manager that runs Starman with apps.psgi. `before` is a command that
    runs it, such as strace.
    """

    def __init__(self, scratch, *options, workers=3, before=(), **environment):
        self.scratch, self.count, self.before, self.options = (
            scratch,
            workers,
            list(before),
            list(options),
        )
        self.environment = dict(
            os.environ,
            STEAD_MAP=str(scratch / "members.map"),
            WHERE_PSGI=str(ROOT / "examples" / "perl" / "where.psgi"),
            **environment,
        )

    def __enter__(self):
        for _ in range(5):  # another process may take the port meanwhile
            self.address = ("127.0.0.1", free_port())
            # by default a worker exits after 1000 requests, and then its memory could
            # not be compared
            command = [
                *self.before,
                PERL,
                f"-Mblib={MODULE}",
                shutil.which("starman"),
                "--workers",
                str(self.count),
                "--max-requests",
                "100000000",
                "--listen",
                "{}:{}".format(*self.address),
                *self.options,
                str(HERE / "apps.psgi"),
            ]
            with open(self.scratch / "starman.log", "ab") as log:
                self.process = subprocess.Popen(
                    command,
                    cwd=self.scratch,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            if self.listens():
                return self
        raise AssertionError(f"Starman does not start\n{self.log()}")

    def listens(self):
        """Waits until the workers exist and one accepts connections. Returns False if
        Starman exits instead, or takes too long.
        """
        deadline = time.monotonic() + LONG
        while self.process.poll() is None:
            try:
                with socket.create_connection(self.address, timeout=LONG):
                    if len(self.workers()) == self.count:
                        return True
            except OSError:
                pass
            if time.monotonic() > deadline:
                self.__exit__()
                return False
            time.sleep(0.02)
        return False

    def __exit__(self, *_):
        master = self.master()
        pids = [*children(master), master, self.process.pid]
        try:
            os.kill(master, signal.SIGTERM)
            self.process.wait(LONG)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait()

    def log(self):
        """The log of Starman."""
        return (self.scratch / "starman.log").read_text("utf-8", "replace")

    def master(self):
        """The process of Starman itself."""
        if not self.before:
            return self.process.pid
        deadline = time.monotonic() + LONG
        while (
            not children(self.process.pid)
            and self.process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        return (children(self.process.pid) or [self.process.pid])[0]

    def workers(self):
        """The process ids of the workers."""
        return set(children(self.master()))

"""gunicorn for a test: on a port of loopback that the system chose, and stopped when
the test ends.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples" / "python"


class Server:
    """A context manager that runs gunicorn with an application of web_apps.py. `before`
    is a command that runs it, such as strace.
    """

    def __init__(
        self, application, scratch, *options, workers=3, before=(), **environment
    ):
        self.scratch, self.count, self.before = scratch, workers, before
        self.command = [
            *before,
            sys.executable,
            "-m",
            "gunicorn",
            "--no-control-socket",
            "--workers",
            str(workers),
            *options,
            f"web_apps:{application}",
        ]
        examples = ("wsgi", "django", "asgi", "flask")
        paths = [HERE, *(EXAMPLES / example for example in examples)]
        self.environment = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(map(str, paths)),
            PYTHONDONTWRITEBYTECODE="1",
            MEMBERS_DATA=str(scratch),
            STEAD_MAP=str(scratch / "members.map"),
            DJANGO_SETTINGS_MODULE="web_settings",
            **environment,
        )

    def __enter__(self):
        # this process binds the port and gunicorn inherits it, so that nobody can take
        # it meanwhile
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = self.socket.getsockname()
        with open(self.scratch / "gunicorn.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.command, *self.bind(self.socket.fileno())],
                cwd=self.scratch,
                env=self.environment,
                pass_fds=[self.socket.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def bind(self, fd):
        """The options that name the port."""
        return "--bind", f"fd://{fd}"

    def __exit__(self, *_):
        master = self.master()
        os.kill(master, signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            for pid in [*children(master), master, self.process.pid]:
                os.kill(pid, signal.SIGKILL)
            self.process.wait()
            raise
        finally:
            self.socket.close()

    def log(self):
        """The log of gunicorn."""
        return (self.scratch / "gunicorn.log").read_text("utf-8", "replace")

    def master(self):
        """The process of gunicorn itself."""
        if not self.before:
            return self.process.pid
        deadline = time.monotonic() + 20
        while not children(self.process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        return children(self.process.pid)[0]

    def workers(self):
        """The process ids of the workers."""
        return set(children(self.master()))


class Uvicorn(Server):
    """The same with uvicorn and an application of ASGI."""

    def __init__(self, application, scratch, *options, workers=3, **environment):
        super().__init__(application, scratch, workers=workers, **environment)
        self.command = [
            sys.executable,
            *("-m", "uvicorn", "--no-access-log", "--workers", str(workers)),
            *options,
            f"web_apps:{application}",
        ]

    def bind(self, fd):
        return "--fd", str(fd)

    def workers(self):
        def is_worker(pid):
            # the other child keeps account of semaphores
            try:
                return (
                    b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()
                )
            except FileNotFoundError:
                return False

        return set(filter(is_worker, super().workers()))


def children(pid):
    """The process ids of a process's children."""
    try:
        return [
            int(child)
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except FileNotFoundError:
        return []


def memory(pid):
    """The number of bytes that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGESIZE"
    )


def open_maps(pid, path):
    """The number of map files that a process has open, including deleted ones."""

    def target(fd):
        try:
            return os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            # a connection that was closed after the names were read
            return ""

    return sum(target(fd).startswith(str(path)) for fd in os.listdir(f"/proc/{pid}/fd"))

"""What nginx.py and nutcracker.py share: a server of ours on a free port of loopback, which ends when we do."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time


def lacking(why):
    """What is not installed: exit code 77 says so to clients.py."""
    sys.stderr.write(why + "\n")
    return 77


def said_by(*command):
    """What a command says on both streams."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode("utf-8", "replace")


def read_input():
    """Servers as text and keys as bytes, from standard input."""
    servers, _, keys = sys.stdin.buffer.read().partition(b"\n\n")
    return servers.decode().split("\n"), keys.rstrip(b"\n").split(b"\n")


def free_port():
    """A port of 127.0.0.1 that nobody had a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(port, *command):
    """The command runs, and listens on the port, while this is open."""
    # an end by SIGTERM shall go through the `finally` below
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # noqa: S603
    os.set_blocking(process.stderr.fileno(), False)
    try:
        for _ in range(6000):
            if process.poll() is not None:
                sys.exit(f"{os.path.basename(command[0])} ended with {process.returncode}: {(process.stderr.read() or b'').decode()[-300:]}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                break
            time.sleep(0.01)
        yield
    finally:
        process.terminate()
        process.wait()

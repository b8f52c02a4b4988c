"""Helpers that nginx.py and nutcracker.py share: a server on a free address of loopback
that stops when this process does.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time


def lacking(why):
    """Reports what is not installed, with exit code 77, which clients.py expects."""
    sys.stderr.write(why + "\n")
    return 77


def said_by(*command):
    """Returns the output of a command on both streams."""
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    ).stdout.decode("utf-8", "replace")


def read_input():
    """Reads servers as text and keys as bytes from standard input."""
    servers, _, keys = sys.stdin.buffer.read().partition(b"\n\n")
    return servers.decode().split("\n"), keys.rstrip(b"\n").split(b"\n")


def free_address():
    """Returns a free address of loopback. The system chooses the port, and one of 2^16
    hosts is chosen at random, so that no other process takes the address first.
    """
    host = "127.1.{}.{}".format(*os.urandom(2))
    with socket.socket() as probe:
        probe.bind((host, 0))
        return host, probe.getsockname()[1]


@contextlib.contextmanager
def running(address, *command):
    """Runs the command, which listens on the address, while the context is open."""
    # so that SIGTERM runs the `finally` below
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryFile() as complaint:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaint,
        )
        try:
            while True:
                if process.poll() is not None:
                    complaint.seek(0)
                    why = complaint.read().decode("utf-8", "replace")[-300:]
                    sys.exit(
                        f"{os.path.basename(command[0])} ended with {process.returncode}: {why}"
                    )
                with contextlib.suppress(OSError), socket.create_connection(address, 5):
                    break
                time.sleep(0.01)
            yield
        finally:
            process.terminate()
            process.wait()

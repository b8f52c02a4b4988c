"""What nginx.py and nutcracker.py share: a server of ours on a free address of
loopback, which ends when we do.
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
    """What is not installed: exit code 77 says so to clients.py."""
    sys.stderr.write(why + "\n")
    return 77


def said_by(*command):
    """What a command says on both streams."""
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    ).stdout.decode("utf-8", "replace")


def read_input():
    """Servers as text and keys as bytes, from standard input."""
    servers, _, keys = sys.stdin.buffer.read().partition(b"\n\n")
    return servers.decode().split("\n"), keys.rstrip(b"\n").split(b"\n")


def free_address():
    """An address of loopback that nobody has: the system chooses the port, and chance
    one of 2^16 hosts, so that nobody takes it before us.
    """
    host = "127.1.{}.{}".format(*os.urandom(2))
    with socket.socket() as probe:
        probe.bind((host, 0))
        return host, probe.getsockname()[1]


@contextlib.contextmanager
def running(address, *command):
    """The command runs, and listens on the address, while this is open."""
    # an end by SIGTERM shall go through the `finally` below
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

"""The ten servers of the table: real memcacheds on addresses of loopback, and the keys
that they are asked for.

Rings hash the names of servers, so names decide: the port is memcached's own, 11211, as
in the fleets of the world, and a free port would give another table. Loopback has 2^24
addresses; of the blocks of ten that are tried, the first that is free is taken.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

COUNT, PORT = 10, 11211
BLOCKS = [f"127.0.{third}." for third in range(73, 83)]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def names(block=BLOCKS[0]):
    """The servers of a block, host:port."""
    return [f"{block}{last}:{PORT}" for last in range(1, COUNT + 1)]


def user_names(count):
    """So many user names, of examples/names, as bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "names")
        maker = os.path.join(ROOT, "examples", "names", "make_names.py")
        subprocess.run(
            [sys.executable, maker, path, "--count", str(count)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with open(path, "rb") as file:
            return file.read().split()


def address(server):
    """host and port of a name."""
    host, port = server.rsplit(":", 1)
    return host, int(port)


def is_free(server):
    """Whether nobody listens there."""
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address(server))
        return True
    return False


def ends_with_us():
    """Called in a child: it gets SIGTERM when we die, however that comes about (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def process_that_answers(server):
    """The process id of the memcached there; None when none answers."""
    try:
        with socket.create_connection(address(server), 5) as connection:
            connection.settimeout(60)
            connection.sendall(b"stats\r\n")
            found = re.search(rb"STAT pid (\d+)", connection.recv(4096))
            return int(found[1]) if found else None
    except OSError:
        return None


def start(server):
    """A memcached there, that answers; None when another got the address first."""
    host, port = address(server)
    user = ["-u", "root"] if os.getuid() == 0 else []
    process = subprocess.Popen(
        [
            "memcached",
            "-l",
            host,
            "-p",
            str(port),
            "-U",
            "0",
            "-m",
            "64",
            "-t",
            "1",
            *user,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=ends_with_us,  # noqa: PLW1509  there are no threads here
    )
    while process.poll() is None:
        if process_that_answers(server) == process.pid:
            return process
        time.sleep(0.01)
    return None


@contextlib.contextmanager
def memcacheds():
    """Yields the names of ten memcacheds, which run while this is open; None when there
    is no memcached program or no free block.
    """
    running = []
    try:
        yield start_block(running) if shutil.which("memcached") else None
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def start_block(running):
    """Starts the ten of the first block that can be had, in the list `running`."""
    for block in BLOCKS:
        if not all(map(is_free, names(block))):
            continue
        for server in names(block):
            process = start(server)
            if process is None:
                break
            running.append(process)
        else:
            return names(block)
        while running:
            process = running.pop()
            process.terminate()
            process.wait()
    return None


def fill(servers, keys):
    """Gives every server every key, with the server's name as its value: whoever then
    gets a key learns where it was looked for.
    """
    for server in servers:
        value = server.encode()
        with socket.create_connection(address(server), 60) as connection:
            for first in range(0, len(keys), 1000):
                some = keys[first : first + 1000]
                connection.sendall(
                    b"".join(
                        b"set %b 0 0 %d noreply\r\n%b\r\n" % (key, len(value), value)
                        for key in some
                    )
                )
            connection.sendall(b"get %b\r\n" % keys[-1])
            with connection.makefile("rb") as stream:
                if not stream.readline().startswith(b"VALUE"):
                    raise RuntimeError(f"memcached at {server} has not taken the keys")

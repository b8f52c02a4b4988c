"""The ten servers of the table, which are real memcached servers on addresses of
loopback, and the keys.

Rings hash the names of servers, so the names matter. The port is memcached's default,
11211, as in most fleets; another port would give another table. Loopback has 2^24
addresses; the first free block of ten is used.
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
    """Returns the servers of a block, host:port."""
    return [f"{block}{last}:{PORT}" for last in range(1, COUNT + 1)]


def user_names(count):
    """Returns this many user names of examples/names, as bytes."""
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
    """Returns the host and port of a name."""
    host, port = server.rsplit(":", 1)
    return host, int(port)


def is_free(server):
    """Returns whether no process listens there."""
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address(server))
        return True
    return False


def ends_with_us():
    """Called in a child process: makes it get SIGTERM when its parent dies in any way
    (Linux).
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def process_that_answers(server):
    """Returns the process id of the memcached there; None if none answers."""
    try:
        with socket.create_connection(address(server), 5) as connection:
            connection.settimeout(60)
            connection.sendall(b"stats\r\n")
            found = re.search(rb"STAT pid (\d+)", connection.recv(4096))
            return int(found[1]) if found else None
    except OSError:
        return None


def start(server):
    """Starts a memcached there, and waits until it answers. Returns None if another
    process got the address first.
    """
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
    """Yields the names of ten memcached servers, which run while the context is open;
    None if there is no memcached program or no free block.
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
    """Starts the ten servers of the first free block, and appends them to the list
    `running`.
    """
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
    """Stores every key on every server, with the server's name as the value. A client
    that gets a key then receives the name of the server that it asked.
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

"""Runs the same client on the router and on one rrdcached, and compares what they have
on disk afterwards.
"""

import difflib
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

from rrd_copies import comparable
from rrd_servers import Client, free_port

SCRIPTS = Path(__file__).resolve().parent


def escaped(name):
    """Returns the name as the protocol writes it."""
    return name.replace("\\", "\\\\").replace(" ", "\\ ")


class Pair:
    """The router and `single`, both by unix socket or both by TCP. librrd treats the
    two kinds of address differently.
    """

    def __init__(self, cluster, way):
        self.cluster, self.way = cluster, way
        if way == "tcp":
            cluster.single.stop()
            cluster.single.address = f"127.0.0.1:{free_port()}"
            cluster.single.start()
        self.routed, self.single = getattr(cluster, way), cluster.single.address

    def path(self, name):
        """Returns the name as a client has to write it. Over TCP librrd refuses
        absolute paths; over a unix socket it makes all paths absolute.
        """
        return f"{self.cluster.base}/{name}" if self.way == "unix" else name

    def both(self, run):
        """Returns the results of `run(address)` for the two, without the address and
        without random parts.
        """
        given = []
        for address in (self.routed, self.single):
            done = run(address)
            given.append(
                (
                    done.returncode,
                    *(
                        comparable(text.replace(address.encode(), b"ADDRESS"))
                        for text in (done.stdout, done.stderr)
                    ),
                )
            )
        return given

    def same(self, run, code=0):
        """Returns the output of `run(address)`, which must be the same for both. It
        must exit with this code.
        """
        routed, single = self.both(run)
        assert routed[0] == single[0], (routed, single)
        for mine, theirs in zip(routed[1:], single[1:]):
            assert mine == theirs, "\n".join(
                difflib.unified_diff(
                    theirs.decode().split("\n"),
                    mine.decode().split("\n"),
                    "single",
                    "router",
                    n=1,
                    lineterm="",
                )
            )
        assert routed[0] == code, routed
        return routed[1]


def rrdtool(*words, text=None, place=None):
    """For Pair: runs rrdtool with these arguments, and `text` as its input."""

    def run(address):
        command = [
            "rrdtool",
            *map(str, words),
            *([] if words == ("-",) else ["--daemon", address]),
        ]
        given = None if text is None else text.replace("ADDRESS", address).encode()
        return subprocess.run(
            command,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            check=False,
            cwd=place,
        )

    return run


def script(interpreter, file, *words, place):
    """For Pair: runs a script from this directory. It gets the address from the
    environment, where librrd looks for it.
    """

    def run(address):
        environment = {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "RRDCACHED_ADDRESS": address,
        }
        command = [interpreter, SCRIPTS / file, *map(str, words)]
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            cwd=place,
            env=environment,
        )

    return run


def installed(program):
    """Returns the path of a program, even if only root has it in PATH."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def flush(cluster, names):
    """Flushes all files in the router and in `single`."""
    for address in (cluster.unix, cluster.single.address):
        with Client(address) as client:
            for name in names:
                assert client.ask(f"FLUSH {escaped(name)}").startswith(b"0 "), name


def unequal(cluster, names, look):
    """Flushes, and returns the copies whose `look` differs from that of `single`, as
    (name, backend). Every file must have two copies.
    """
    flush(cluster, names)
    wrong = []
    for name in names:
        expected = look(cluster.single.base / name)
        copies = {
            backend: server.base / name
            for backend, server in cluster.backends.items()
            if (server.base / name).exists()
        }
        assert len(copies) == 2, (name, copies)
        wrong += [
            (name, backend)
            for backend, path in copies.items()
            if look(path) != expected
        ]
    return wrong


class Tee:
    """A proxy before a server. It passes everything on unchanged and keeps what clients
    send, for each connection.
    """

    def __init__(self, server, place):
        """Listens like the server: on a unix socket in `place`, or on a port of
        127.0.0.1.
        """
        self.server, self.connections = server, []
        if server.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(f"{place}/tee")
            self.address = f"unix:{place}/tee"
        else:
            self.socket = socket.create_server(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.socket.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # shutdown, because close alone does not wake a thread that waits in accept
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            sent = bytearray()
            self.connections.append(sent)
            server = Client(self.server).socket
            server.settimeout(None)
            threading.Thread(
                target=self.carry, args=(client, server, sent), daemon=True
            ).start()
            threading.Thread(
                target=self.carry, args=(server, client, None), daemon=True
            ).start()

    def carry(self, source, target, kept):
        try:
            while data := source.recv(65536):
                if kept is not None:
                    kept.extend(data)
                target.sendall(data)
        except OSError:
            pass  # one side has closed the connection; close the other
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def lines(self):
        """Returns all complete lines that were sent, one connection after the other."""
        return [
            line
            for sent in list(self.connections)
            for line in bytes(sent).split(b"\n")[:-1]
        ]

"""The program `stead-rrd files` beside real rrdcached servers, with real RRD files.

The Rust tests use its own client. This is another client, written only from the
description of the protocol in wire.rs.
"""

import re
import shutil
import signal
import struct
import subprocess

import pytest
from rrd_servers import LIMIT, Client, Rrdcached, connect, free_port, wait_for

START = 1_700_000_000
HELLO = b"stead-rrd files 4\n"
CHUNK = 100_000


class Agent:
    """The program, and a connection to it."""

    def __init__(self, program, base, address, *options, before=()):
        command = [
            *before,
            program,
            "files",
            "--base",
            base,
            "--listen",
            address,
            *options,
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.said = self.process.stderr.readline().decode()
        self.socket = None

    def __enter__(self):
        try:
            assert "stead-rrd: listening on " in self.said, self.said
            self.socket = connect(self.said.split()[-1])
            self.file = self.socket.makefile("rb")
            self.socket.sendall(HELLO)
            assert self.file.read(len(HELLO)) == HELLO
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.socket:
            self.socket.close()
        self.process.kill()
        self.process.communicate()

    def send(self, kind, body=b""):
        self.socket.sendall(struct.pack("<Ic", len(body), kind) + body)

    def answer(self):
        length, kind = struct.unpack("<Ic", self.file.read(5))
        return kind, self.file.read(length)

    def ask(self, kind, body=b""):
        """Returns the answer, which must not be an error."""
        self.send(kind, body)
        kind, body = self.answer()
        assert kind == b"+", body
        return body

    def list(self):
        """Returns names and sizes."""
        self.send(b"l")
        found = {}
        while True:
            kind, body = self.answer()
            if kind == b"+":
                assert struct.unpack("<QQ", body) == (len(found), 0)
                return found
            assert kind == b"e", body
            while body:
                size, length = struct.unpack_from("<QI", body)
                found[body[12 : 12 + length]] = size
                body = body[12 + length :]

    def get(self, name):
        """Returns the mode and the bytes."""
        mode, pieces = struct.unpack("<I", self.ask(b"g", name))[0], []
        while True:
            pieces.append(self.ask(b"m", struct.pack("<I", CHUNK)))
            if len(pieces[-1]) < CHUNK:
                return mode, b"".join(pieces)

    def put(self, name, mode, data):
        """Writes a file, and returns its size and checksum as they are on disk there."""
        assert self.ask(b"p", struct.pack("<I", mode) + name) == b""
        for at in range(0, len(data), CHUNK):
            self.send(b"d", data[at : at + CHUNK])
        found = self.ask(b"v")
        assert self.ask(b"c") == b""
        return found


NAMES = [f"host{number // 3}/value{number % 3}.rrd" for number in range(30)] + [
    "host0/with blank.rrd"
]
# some files of one chunk and some of several
SOURCES = "DS:in:GAUGE:120:U:U DS:out:DERIVE:120:0:U RRA:AVERAGE:0.5:1:{rows} RRA:MAX:0.5:5:20"


def filled(address):
    """Makes files on a server, updates and flushes them."""
    with Client(address) as client:
        for number, name in enumerate(NAMES):
            name = name.replace(" ", "\\ ")
            rows = 20_000 if number % 7 == 0 else 50
            assert (
                client.ask(
                    f"CREATE {name} -b {START} -s 60 {SOURCES.format(rows=rows)}"
                )
                == b"0 RRD created OK\n"
            )
            for minute in range(1, 9):
                assert client.ask(
                    f"UPDATE {name} {START + 60 * minute}:{number + minute}:{number * minute}"
                ).startswith(b"0 ")
            assert client.ask(f"FLUSH {name}").startswith(b"0 ")


def carried(source, target):
    """Copies every file from one agent to the other, as the mover does. Returns how
    many bytes it copied.
    """
    listed, count = source.list(), 0
    assert sorted(listed) == sorted(name.encode() for name in NAMES)
    for name, size in listed.items():
        mode, data = source.get(name)
        assert len(data) == size
        assert target.put(name, mode, data) == source.ask(b"s", name)
        assert struct.unpack_from("<Q", target.ask(b"s", name))[0] == size
        count += size
    assert target.list() == listed
    return count


@pytest.fixture
def servers(place):
    """Starts two rrdcached: one with files, one without any."""
    made = [
        Rrdcached(place / "a", f"127.0.0.1:{free_port()}"),
        Rrdcached(place / "b", f"unix:{place}/b/s"),
    ]
    try:
        for server in made:
            server.start()
        yield made
    finally:
        for server in made:
            server.stop()


def test_files_are_carried_between_two_rrdcached_and_go_on_there(
    programs, place, servers, dump, record_property
):
    program = programs["stead-rrd"]
    one, other = servers
    filled(one.address)
    with (
        Agent(program, one.base, f"unix:{place}/agent", "--read-only") as source,
        Agent(program, other.base, "127.0.0.1:0") as target,
    ):
        dumps = {name: dump(one.base / name) for name in NAMES}
        record_property(
            "files", f"{len(NAMES)} carried, {carried(source, target)} bytes"
        )
        different = [name for name in NAMES if dump(other.base / name) != dumps[name]]
        assert not different, different
        # the control: a file that was updated since is not equal
        with Client(one.address) as client:
            assert client.ask(f"UPDATE {NAMES[0]} {START + 600}:1:1").startswith(b"0 ")
            assert client.ask(f"FLUSH {NAMES[0]}").startswith(b"0 ")
        assert dump(one.base / NAMES[0]) != dump(other.base / NAMES[0])
        # the other rrdcached, which never made the files, can update them: the same
        # updates give the same files
        with Client(one.address) as client, Client(other.address) as second:
            assert second.ask(f"UPDATE {NAMES[0]} {START + 600}:1:1").startswith(b"0 ")
            for name in NAMES:
                name = name.replace(" ", "\\ ")
                for server in (client, second):
                    assert server.ask(
                        f"UPDATE {name} {START + 660}:7:{2**20}"
                    ).startswith(b"0 "), name
                    assert server.ask(f"FLUSH {name}").startswith(b"0 "), name
        different = [
            name for name in NAMES if dump(other.base / name) != dump(one.base / name)
        ]
        assert not different, different
        # the old copies are removed, with their directories; a read-only agent refuses
        source.send(b"r", NAMES[0].encode())
        kind, text = source.answer()
        assert kind == b"!" and b"--read-only" in text
        for name in NAMES:
            assert target.ask(b"r", name.encode()) == b"\1"
            assert target.ask(b"r", name.encode()) == b"\0"
        assert list(other.base.iterdir()) == []
        assert len(list(one.base.rglob("*.rrd"))) == len(NAMES)


def unsynced(calls, place):
    """Returns the files and directories whose last changes could be lost in a power cut
    after these system calls. The file is put at `place`.
    """
    missing, temporary = set(), None
    for call in calls:
        if made := re.match(r"mkdirat\(\d+<(.*?)>, .* = 0", call):
            missing.add(made[1])
        elif wrote := re.match(r"pwrite64\(\d+<(.*?)>", call):
            temporary = wrote[1]
            missing.add(temporary)
        elif renamed := re.match(
            r"renameat2?\(\d+<(.*?)>, \"(.*?)\", \d+<(.*?)>, \"(.*?)\"", call
        ):
            assert (
                f"{renamed[1]}/{renamed[2]}" == temporary
                and f"{renamed[3]}/{renamed[4]}" == place
            ), call
            # bytes that were not on disk by then stay missing: the name came before
            # them
            missing.add(renamed[3])
        elif synced := re.match(r"f(?:data)?sync\(\d+<(.*?)>\) += 0", call):
            missing.discard(synced[1])
    assert temporary, calls
    return missing


def test_all_of_a_copy_is_on_disk_before_the_agent_says_so(programs, place):
    if (
        not shutil.which("strace")
        or subprocess.run(
            ["strace", "-qq", "-o", place / "true", "true"], check=False
        ).returncode
    ):
        pytest.skip("strace is missing or may not trace here")
    base, log = (place / "db").resolve(), place / "calls"
    base.mkdir()
    # -D: the agent is a child of the test and strace is the agent's, so strace ends
    # with it
    watched = "trace=mkdirat,pwrite64,renameat,renameat2,fsync,fdatasync"
    before = [
        "strace",
        "-D",
        "-f",
        "-qq",
        "-y",
        "-s",
        "8",
        "-e",
        watched,
        "-e",
        "signal=none",
        "-o",
        log,
    ]
    with Agent(
        programs["stead-rrd"], base, f"unix:{place}/agent", before=before
    ) as agent:
        agent.put(b"host/cpu/load.rrd", 0o644, b"RRD\0" + bytes(300_000))
        agent.process.terminate()
        assert agent.process.wait(LIMIT) == 0
    # the calls are made one after the other, though by several threads, so no line is
    # cut by another
    calls = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    file = f"{base}/host/cpu/load.rrd"
    assert unsynced(calls, file) == set(), calls
    # the control: each of its syncs is necessary
    syncs = [at for at, call in enumerate(calls) if "sync(" in call]
    assert len(syncs) == 4, calls
    for at in syncs:
        assert unsynced(calls[:at] + calls[at + 1 :], file), calls[at]


def test_the_agent_ends_cleanly_when_it_is_told_to(programs, place):
    (place / "db").mkdir()
    with Agent(programs["stead-rrd"], place / "db", f"unix:{place}/agent") as agent:
        assert agent.ask(b"p", struct.pack("<I", 0o644) + b"host/new.rrd") == b""
        agent.send(b"d", b"RRD\0half a file")
        assert list((place / "db").rglob("*copy*"))
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(LIMIT) == 0
        assert list((place / "db").iterdir()) == []
    # a socket that is left over is taken over, but not one that is in use
    with Agent(programs["stead-rrd"], place / "db", f"unix:{place}/agent") as agent:
        second = Agent(programs["stead-rrd"], place / "db", f"unix:{place}/agent")
        assert second.process.wait(LIMIT) == 74 and second.said.endswith(
            "another process listens there\n"
        ), second.said
        second.process.stderr.close()
        assert agent.list() == {}
        agent.process.kill()
        wait_for(lambda: agent.process.poll() is not None, "the agent to be gone")


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (
            ["--base", "{place}", "--listen", "0.0.0.0:0"],
            74,
            "cannot serve files on 0.0.0.0:0: not a loopback address",
        ),
        (
            ["--base", "{place}/none", "--listen", "127.0.0.1:0"],
            74,
            "{place}/none: No such file or directory",
        ),
        (
            ["--base", "{place}/file", "--listen", "127.0.0.1:0"],
            74,
            "{place}/file: Not a directory",
        ),
        (
            ["--base", "{place}", "--listen", "agent"],
            64,
            '"agent" is not an address: write unix:/path, host:port or tls:host:port',
        ),
        (
            ["--base", "{place}", "--listen", "unix:/no/such/s"],
            74,
            "cannot serve files on unix:/no/such/s: No such file or directory",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(programs, place, options, code, text):
    (place / "file").touch()
    command = [
        programs["stead-rrd"],
        "files",
        *(option.format(place=place) for option in options),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == code
    assert text.format(place=place) in done.stderr and done.stderr.count("\n") == 1, (
        done.stderr
    )

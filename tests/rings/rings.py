"""Helpers of the tests of rings: they draw a ring with the program, ask its map, grow
it, and run the real programs beside it.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "tests"),
    str(ROOT / "tests" / "reference"),
    str(ROOT / "tests" / "reference" / "rings"),
]

import ports

SPACE = 2**64
# Seconds that a program may take to answer; the machine may be very busy.
PATIENCE = 300
_program = []


def program():
    """Returns the path of `stead`: a release build, made once, or what STEAD_PROGRAM
    names.
    """
    if not _program:
        if "STEAD_PROGRAM" in os.environ:
            _program.append(os.environ["STEAD_PROGRAM"])
        else:
            import built

            _program.append(built.program())
    return _program[0]


def stead(*arguments, ends=(0,)):
    """Runs the program and returns its output. Fails the test if its exit status is not
    one of `ends`.
    """
    done = subprocess.run(
        [program(), *map(str, arguments)],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode in ends, (
        f"stead {' '.join(map(str, arguments))} ended with {done.returncode}: "
        f"{done.stderr.decode()}"
    )
    return done.stdout.decode()


class Ring:
    """A ring that the program drew. `map` and `fleet` are paths, `servers` is the text
    of the list.
    """

    def __init__(self, kind, servers, directory, name="ring", **choices):
        self.kind, self.servers, self.choices, self.name = kind, servers, choices, name
        directory.mkdir(parents=True, exist_ok=True)
        self.map, self.fleet = directory / f"{name}.map", directory / f"{name}.toml"
        listed = directory / f"{name}.servers"
        listed.write_bytes(servers if isinstance(servers, bytes) else servers.encode())
        set_ = [
            word
            for choice, value in choices.items()
            for word in ("--set", f"{choice}={value}")
        ]
        stead(
            "ring",
            kind,
            listed,
            "-o",
            self.map,
            "--fleet",
            self.fleet,
            "--name",
            name,
            *set_,
        )

    def locate(self, keys):
        """Returns the node of each key; a key is any bytes."""
        import stead as module

        return module.Map.open(self.map).locate_many(keys)

    def locate_all(self, keys):
        """Returns all nodes of each key, primary first."""
        import stead as module

        opened = module.Map.open(self.map)
        return [opened.locate_all(key) for key in keys]

    def slices(self):
        """(first, last, nodes) of each slice."""
        import stead as module

        return [(s.first, s.last, s.nodes) for s in module.Map.open(self.map).slices]

    def size(self):
        """The bytes of the map's file."""
        return self.map.stat().st_size

    def grow(self, *nodes):
        """Adds nodes to the written fleet ({name, weight} dicts, or names), plans,
        applies, and returns (plan's report, slices after).

        The map at `self.map` stays; the grown one is a copy.
        """
        fleet = self.fleet.with_suffix(".grown.toml")
        grown = self.map.with_suffix(".grown")
        shutil.copy(self.map, grown)
        text = self.fleet.read_text()
        for node in nodes:
            node = {"name": node} if isinstance(node, str) else node
            text += "\n[[node]]\n" + "".join(
                f"{field} = {json.dumps(value)}\n" for field, value in node.items()
            )
        fleet.write_text(text)
        report = json.loads(stead("plan", fleet, grown, "--json"))
        stead("apply", fleet, grown)
        import stead as module

        return report, [
            (s.first, s.last, s.nodes) for s in module.Map.open(grown).slices
        ]


def cell_bound(value, cells):
    """The first point of a cell."""
    return -(-value * SPACE // cells)


def is_cell_bound(point, cells):
    """Returns whether a point is the first of a cell."""
    return cell_bound(point * cells // SPACE, cells) == point


def grown_well(ring, node, cells):
    """Adds a node, and asserts that no more moves than must and that no cell is split.
    `cells` is the number of cells of the ORIGINAL.
    """
    assert all(is_cell_bound(first, cells) for first, _, _ in ring.slices()), (
        "the adopted map splits a cell"
    )
    report, after = ring.grow(node)
    amount = lambda what: int(report[what]["points"])
    assert amount("moved") == amount("lower_bound") > 0
    split = [first for first, _, _ in after if not is_cell_bound(first, cells)]
    assert not split, (
        f"{len(split)} slices start inside a cell, the first at {split[0]:#x}"
    )
    name = node if isinstance(node, str) else node["name"]
    assert any(name in nodes for _, _, nodes in after), f"{name} got nothing"
    return report


def plain_keys(count):
    """Keys as sites have them, in ASCII."""
    shapes = ["user:%d", "session/%d", "member.%d.profile", "img_%d.jpg", "%d"]
    return [(shapes[i % len(shapes)] % (i * 7919 + 13)).encode() for i in range(count)]


def accented_keys(count):
    """Keys with letters outside of ASCII, in UTF-8."""
    shapes = ["clé:%d", "größe/%d", "été-%d", "пользователь:%d", "鍵%d", "🔑%d"]
    return [(shapes[i % len(shapes)] % i).encode() for i in range(count)]


def odd_keys(empty=True, binary=True, longest=5000):
    """Edge cases: the empty key, keys of one byte, of lengths around MD5's blocks, long
    and binary ones (with NUL, and invalid UTF-8).
    """
    keys = [bytes([byte]) for byte in range(0x21, 0x7F)]
    keys += [
        b"k" * n
        for n in (
            2,
            3,
            31,
            54,
            55,
            56,
            57,
            63,
            64,
            65,
            119,
            120,
            128,
            200,
            249,
            250,
            255,
            256,
            1000,
            longest,
        )
        if n <= longest
    ]
    keys += [
        b"a b",
        b"a\tb",
        b" a",
        b"a ",
        b"{a}b",
        b"{}b",
        b"a{b",
        b"a}b{c",
        b"a,b",
        b"%41",
    ]
    if empty:
        keys.append(b"")
    if binary:
        keys += [
            b"\0",
            b"a\0b",
            b"a\n",
            b"\xff",
            b"\x80\x81",
            bytes(range(256)),
            b"\xc3",
            b"a\r\n",
        ]
        keys += [bytes([i, 255 - i, i * 7 % 256]) for i in range(256)]
    return keys


def sample(count=100_000, accented=True, **odd):
    """Returns `count` keys: a fifth of them accented, the odd ones, and plain ones.
    `odd` is as in odd_keys.
    """
    edge = odd_keys(**odd)
    some = accented_keys(count // 5) if accented else []
    keys = edge + some + plain_keys(count - len(edge) - len(some))
    assert len(keys) == count
    return keys


def disagreements(ours, theirs):
    """Returns how many answers differ."""
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    return sum(a != b for a, b in zip(ours, theirs))


def agreed(record, ring, keys, theirs, against):
    """Compares the answers of a ring for keys with the original's, and records the
    figures. Fails if one answer differs.

    record: pytest's record_property; against: the program and its version, or "the
    reference, no program".
    """
    ours = ring.locate(keys)
    wrong = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    about = " ".join(
        [ring.kind, *(f"{name}={value}" for name, value in ring.choices.items())]
    )
    record(
        f"{about} ({len(set(ours))} nodes)",
        f"{len(keys)} keys, {len(wrong)} disagreements with {against}",
    )
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    assert not wrong, (
        f"{len(wrong)} of {len(keys)}; first {keys[wrong[0]]!r}: {ours[wrong[0]]}, "
        f"{against} says {theirs[wrong[0]]}"
    )


def measured(record, ring):
    """Records the number of slices and the size of the file."""
    record(
        f"{ring.kind} {ring.choices or ''} size",
        f"{len(ring.slices())} slices, {ring.size()} bytes",
    )


def output(command, text=None, **more):
    """Runs a program with `text` as its input and returns its output. If it fails,
    fails the test with its error output.
    """
    done = subprocess.run(
        command, input=text, capture_output=True, timeout=PATIENCE, check=False, **more
    )
    assert done.returncode == 0, (
        f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}"
    )
    return done.stdout


def works(*command):
    """Returns whether a command can be run and succeeds: for skips."""
    try:
        return (
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            ).returncode
            == 0
        )
    except OSError:
        return False


class Server:
    """A context in which a real program runs on a free port of loopback.

    command: a function from the port to the words that start the program. If another
    process takes the port first, another port is tried.

    serves: a function from the port that asks the program something. It raises an
    OSError when the program ends before it answers. A program that opens several ports
    needs it, because it accepts connections on the first before it notices that another
    is taken.
    """

    def __init__(self, command, log, serves=None):
        self.command, self.log, self.serves = command, log, serves

    def __enter__(self):
        for _ in range(20):
            self.port = ports.free_port()
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    self.command(self.port),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            if self._answers():
                return self
        raise AssertionError(
            f"{self.command(0)[0]} does not start: {Path(self.log).read_bytes()[-2000:]!r}"
        )

    def _answers(self):
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                if self.serves:
                    self.serves(self.port)
            except OSError:
                time.sleep(0.05)
                continue
            if self.process.poll() is None:
                return True
        self._end()
        return False

    def _end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def __exit__(self, *_):
        self._end()

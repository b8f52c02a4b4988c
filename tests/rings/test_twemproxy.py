"""twemproxy's rings, against twemproxy: it stands before servers on loopback that say
which of them was asked.
"""

import contextlib
import shutil
import subprocess
import sys

import pytest
import rings
from places import short
from ports import free_port
from redis_client import Client

HERE = rings.ROOT / "tests" / "rings"
NUTCRACKER = shutil.which("nutcracker") or shutil.which(
    "nutcracker", path="/usr/sbin:/sbin"
)
# Port, weight and name of each server; a server without a port listens at a socket.
UNEVEN = [
    (11211, 600, ""),
    (22122, 300, ""),
    (11211, 200, "beta"),
    (22122, 350, "al"),
    (11211, 1000, "server-with-a-long-name"),
    (None, 800, ""),
    (None, 950, "socket"),
    (11212, 100, ""),
    (11211, 1, ""),
    (22122, 64, "gamma"),
]
# In single precision 25, 61 and 100 equal servers have 39 digests each, not 40.
LISTS = {
    "one": [(11211, 1, "")],
    "3 names": [(11211, 1, "c1"), (11211, 1, "c2"), (11211, 1, "c3")],
    "uneven": UNEVEN,
    "25 equal": [(11211, 1, "")] * 25,
    "61 equal": [(22122, 1, "")] * 61,
    "100 equal": [(11211, 1, "")] * 100,
    "100 uneven": [(11211, 1 + i * i % 17, f"n{i}" * (i % 2)) for i in range(100)],
}
HASHES = [
    "fnv1a_64",
    "one_at_a_time",
    "md5",
    "crc32",
    "crc32a",
    "fnv1_64",
    "fnv1_32",
    "fnv1a_32",
]


class Pool:
    """Servers that answer, and their entries for nutcracker.yml."""

    def __init__(self, entries, nodes, log):
        self.entries, self.nodes, self.log = entries, nodes, log

    @property
    def servers(self):
        """The list as twemproxy's users have it."""
        return "servers:\n" + "".join(f"   - {entry}\n" for entry in self.entries)

    def asked(self, keys, memcached=False, **options):
        """The node that twemproxy asks for each key. `options`: of the pool."""
        conf = self.log.with_suffix(".yml")

        def command(port):
            lines = {"listen": f"127.0.0.1:{port}", "redis": str(not memcached).lower()}
            lines.update(options)
            conf.write_text(
                "pool:\n"
                + "".join(f"  {name}: {value}\n" for name, value in lines.items())
                + "  "
                + self.servers
            )
            # it takes a port for its statistics, too
            statistics = str(free_port())
            return [NUTCRACKER, "-c", conf, "-a", "127.0.0.1", "-s", statistics]

        with (
            rings.Server(command, self.log) as proxy,
            contextlib.closing(Client(proxy.port)) as client,
        ):
            if memcached:
                found = through_memcached(client, keys)
            else:
                found = client.ask_many([("GET", key) for key in keys])
        return [self.nodes[int(number)] for number in found]


def through_memcached(client, keys):
    """The answers to `get` of many keys, in the order of the keys."""
    found = {}
    for at in range(0, len(keys), 100):
        client.socket.sendall(b"get " + b" ".join(keys[at : at + 100]) + b"\r\n")
        for line in iter(client.file.readline, b"END\r\n"):
            value, key, _flags, length = line.split()
            assert value == b"VALUE", line
            found[key] = client.file.read(int(length) + 2)[:-2]
    return [found[key] for key in keys]


@pytest.fixture
def pool(tmp_path):
    """pool(list): a Pool; pool.about is the program and its version."""
    if not NUTCRACKER:
        pytest.skip("twemproxy (nutcracker) is not installed")
    with contextlib.ExitStack() as stack:

        def start(listed):
            # another net of loopback when somebody has a place of this one
            for net in range(1, 50):
                entries, nodes, places = [], [], []
                for i, (port, weight, name) in enumerate(listed):
                    place = f"127.77.{net}.{i + 1}:{port}"
                    if port is None:
                        place = f"{short()}/stead-{net}-{i}-{tmp_path.name}"
                    entries.append(f"{place}:{weight} {name}".rstrip())
                    nodes.append(name or place)
                    places.append(place)
                program = subprocess.Popen(
                    [sys.executable, HERE / "answering.py", *places],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                stack.callback(ended, program, places)
                if program.stdout.readline():
                    return Pool(entries, nodes, tmp_path / "nutcracker.log")
            raise AssertionError("there are no free places on loopback")

        said = subprocess.run(
            [NUTCRACKER, "--version"], capture_output=True, check=True
        )
        start.about = (said.stdout + said.stderr).decode().split("\n")[0]
        start.about = start.about.removeprefix("This is ")
        yield start


def ended(program, places):
    """Ends the servers; their sockets go."""
    program.communicate()
    for place in places:
        if place.startswith("/"):
            rings.Path(place).unlink(missing_ok=True)


@pytest.mark.parametrize("name", LISTS)
def test_every_key_arrives_where_the_map_says(name, pool, draw, record_property):
    servers = pool(LISTS[name])
    ring = draw("twemproxy", servers.servers)
    many = name in ("uneven", "100 equal", "100 uneven")
    keys = rings.sample(100_000 if many else 20_000, empty=False)
    rings.agreed(record_property, ring, keys, servers.asked(keys), pool.about)
    if name == "100 equal":
        rings.measured(record_property, ring)
    if name == "uneven":
        rings.grown_well(ring, {"name": "new", "weight": 500}, 2**32)


@pytest.mark.parametrize("hash", HASHES)
@pytest.mark.parametrize("distribution", ["ketama", "modula"])
def test_each_hash(distribution, hash, pool, draw, record_property):
    servers = pool(UNEVEN)
    options = {"distribution": distribution, "hash": hash}
    # in modula a server has as many remainders in a row as its weight says
    ring = draw("twemproxy", servers.servers, **options)
    keys = rings.sample(10_000, empty=False)
    theirs = servers.asked(keys, **options)
    rings.agreed(record_property, ring, keys, theirs, pool.about)


def test_before_memcached(pool, draw, record_property):
    servers = pool(UNEVEN)
    ring = draw("twemproxy", servers.servers)
    # what its protocol can carry
    keys = rings.sample(20_000, empty=False, binary=False, longest=250)
    keys = [key for key in keys if not set(key) & set(b" \t\r\n\0")]
    theirs = servers.asked(keys, memcached=True)
    rings.agreed(record_property, ring, keys, theirs, f"{pool.about}, memcached")


def test_the_empty_key_has_the_hash_0_there(pool, draw):
    """The one key that the map has elsewhere: docs/rings.md says so."""
    servers = pool(LISTS["61 equal"])
    ring = draw("twemproxy", servers.servers)
    _, _, (at_0,) = ring.slices()[0]
    assert servers.asked([b""]) == [at_0] != ring.locate([b""])


def test_the_controls_are_caught(pool, draw):
    servers = pool(UNEVEN)
    keys = rings.sample(20_000, empty=False)
    theirs = servers.asked(keys)
    text = servers.servers
    for listed, choices in [
        (text, {"hash": "md5"}),
        (text, {"hash": "fnv1a_32"}),
        (text, {"char": "unsigned"}),
        (text, {"distribution": "modula"}),
        (text.replace(":600", ":900"), {}),
        (text.replace("beta", "Beta"), {}),
    ]:
        ours = draw("twemproxy", listed, **choices).locate(keys)
        renamed = [node.replace("Beta", "beta") for node in ours]
        assert rings.disagreements(renamed, theirs) > 500, choices


def test_modula_takes_the_servers_in_the_order_of_their_labels(pool, draw):
    """Twemproxy sorts the servers by label, so libmemcached's modula differs."""
    servers = pool(LISTS["3 names"][:2] + [(11211, 1, "c")])
    keys = rings.sample(20_000, empty=False)
    theirs = servers.asked(keys, distribution="modula")
    choices = {"mode": "modula", "hash": "fnv1a_64"}
    listed = "".join(f"{node}:11211\n" for node in servers.nodes)
    ours = draw("libmemcached", listed, **choices).locate(keys)
    ours = [node.partition(":")[0] for node in ours]
    assert rings.disagreements(ours, theirs) > 500

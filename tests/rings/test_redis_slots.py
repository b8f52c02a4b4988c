"""Redis Cluster's slots, against redis-server: the CLUSTER NODES, KEYSLOT and SLOTS of
a cluster on loopback.
"""

import contextlib
import shutil
import time

import pytest
import redis_slots
import rings
from ports import free_port
from redis_client import Client

needs_redis = pytest.mark.skipif(
    not shutil.which("redis-server"),
    reason="redis-server is not installed; no Redis Cluster to compare with",
)
KEYS = rings.sample()
TAGGED = (
    [b"{user%d}.following" % n for n in range(500)]
    + [b"foo{}{bar%d}" % n for n in range(500)]
    + [b"{%d" % n for n in range(100)]
)


def until(condition, what):
    """Waits for a condition."""
    deadline = time.monotonic() + rings.PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def ping(port):
    """Asks a server whether it serves."""
    with contextlib.closing(Client(port)) as client:
        client.ask("PING")


@contextlib.contextmanager
def cluster(directory, nodes):
    """Nodes of a cluster that know each other and hold nothing."""

    def command(number):
        return lambda port: [
            "redis-server",
            "--port",
            str(port),
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            str(free_port()),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(directory),
            "--cluster-config-file",
            f"{number}-{port}.conf",
            "--save",
            "",
            "--cluster-require-full-coverage",
            "no",
        ]

    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(rings.Server(command(n), directory / f"{n}.log", ping))
            for n in range(nodes)
        ]
        clients = [
            stack.enter_context(contextlib.closing(Client(server.port)))
            for server in servers
        ]
        addresses = []
        for client in clients:
            address = client.ask("CLUSTER", "NODES").split()[1].decode().split(",")[0]
            addresses.append(address.rpartition(":")[2].split("@"))

        def met():
            # a node gives up a handshake that takes too long, as it may while the disk is
            # busy; then it has to be asked again
            known = clients[0].ask("CLUSTER", "NODES").decode()
            for port, bus in addresses[1:]:
                if f":{port}@" not in known:
                    clients[0].ask("CLUSTER", "MEET", "127.0.0.1", port, bus)
            listed = [client.ask("CLUSTER", "NODES").decode() for client in clients]
            return all(
                len(text.splitlines()) == nodes
                and "handshake" not in text
                and ":0@" not in text
                for text in listed
            )

        until(met, "the nodes do not meet")
        yield servers, clients


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """Three masters, one with a replica: (CLUSTER NODES, CLUSTER SLOTS, a client)."""
    with cluster(tmp_path_factory.mktemp("redis"), 4) as (_, clients):
        ids = [client.ask("CLUSTER", "MYID") for client in clients]
        clients[0].ask("CLUSTER", "ADDSLOTSRANGE", 0, 5460)
        clients[1].ask("CLUSTER", "ADDSLOTSRANGE", 5461, 10922, 16383, 16383)
        clients[2].ask("CLUSTER", "ADDSLOTSRANGE", 10923, 16382)
        until(
            lambda: (
                clients[3].ask("CLUSTER", "NODES").count(b" master ") >= 3
                and ids[0] in clients[3].ask("CLUSTER", "NODES")
            ),
            "no masters",
        )
        clients[3].ask("CLUSTER", "REPLICATE", ids[0])

        def known():
            text = clients[0].ask("CLUSTER", "NODES").decode()
            whole = all(
                span in text for span in ("0-5460", "5461-10922 16383", "10923-16382")
            )
            # CLUSTER SLOTS names a replica once the replica has its first data
            return (
                text.count(" slave ") == 1
                and whole
                and sum(len(span) - 2 for span in clients[0].ask("CLUSTER", "SLOTS"))
                == 5
            )

        until(known, "the first node does not hear of slots and replica")
        yield (
            clients[0].ask("CLUSTER", "NODES").decode(),
            clients[0].ask("CLUSTER", "SLOTS"),
            clients[0],
        )


def owners(slots):
    """The addresses of each slot, by CLUSTER SLOTS."""
    table = [None] * 16384
    for first, last, *nodes in slots:
        table[first : last + 1] = [
            [f"{host.decode()}:{port}" for host, port, *_ in nodes]
        ] * (last + 1 - first)
    return table


@needs_redis
def test_every_key_has_the_nodes_of_its_slot(draw, record_property, settled):
    listed, slots, client = settled
    version = (
        "redis-server "
        + rings.output(["redis-server", "--version"])
        .split(b"v=")[1]
        .split()[0]
        .decode()
    )
    keys = TAGGED + KEYS[: 100_000 - len(TAGGED)]
    numbers = client.ask_many([("CLUSTER", "KEYSLOT", key) for key in keys])
    assert rings.disagreements(numbers, [redis_slots.slot_of(key) for key in keys]) == 0
    table = owners(slots)
    ring = draw("redis-slots", listed)
    rings.agreed(
        record_property, ring, keys, [table[slot][0] for slot in numbers], version
    )
    lists = ring.locate_all(keys)
    assert rings.disagreements(lists, [table[slot] for slot in numbers]) == 0
    assert {len(nodes) for nodes in lists} == {1, 2}
    masters = draw("redis-slots", listed, nodes="masters")
    assert masters.locate_all(keys) == [nodes[:1] for nodes in lists]
    # controls: another server's table, and the whole key in the place of its tag
    assert (
        rings.disagreements(
            ring.locate(keys), [table[(slot + 5000) % 16384][0] for slot in numbers]
        )
        > 50_000
    )
    assert (
        rings.disagreements(
            ring.locate(TAGGED),
            [table[redis_slots.binascii.crc_hqx(key, 0) % 16384][0] for key in TAGGED],
        )
        > 100
    )


@needs_redis
def test_a_slot_on_its_way_is_refused(tmp_path, settled):
    listed, _, client = settled
    other = next(
        line.split()[0]
        for line in listed.splitlines()
        if "myself" not in line and " master " in line
    )
    client.ask("CLUSTER", "SETSLOT", 7, "MIGRATING", other)
    path = tmp_path / "nodes"
    path.write_bytes(client.ask("CLUSTER", "NODES"))
    client.ask("CLUSTER", "SETSLOT", 7, "STABLE")
    # the exit status is not 0, and the message names the line
    done = rings.subprocess.run(
        [
            rings.program(),
            "ring",
            "redis-slots",
            path,
            "-o",
            tmp_path / "m",
            "--fleet",
            tmp_path / "f",
            "--name",
            "n",
        ],
        capture_output=True,
        timeout=rings.PATIENCE,
        check=False,
    )
    assert (
        done.returncode != 0 and b"slot 7 is on its way to another node" in done.stderr
    ), done.stderr
    assert not (tmp_path / "m").exists()


def test_every_example_is_as_the_reference_has_it(draw, record_property):
    for _, listed, choices in redis_slots.EXAMPLES:
        ring, rows = draw("redis-slots", listed, **choices), redis_slots.parse(listed)
        by_slot = {}
        for key in KEYS:
            slot = redis_slots.slot_of(key)
            if slot not in by_slot:
                by_slot[slot] = redis_slots.place(key, rows, choices)
        lists = [by_slot[redis_slots.slot_of(key)] for key in KEYS]
        rings.agreed(
            record_property, ring, KEYS, [nodes[0] for nodes in lists], "the reference"
        )
        assert rings.disagreements(ring.locate_all(KEYS), lists) == 0


def test_a_slot_is_not_split_when_the_cluster_grows(draw, record_property):
    for _, listed, choices in redis_slots.EXAMPLES:
        rings.grown_well(draw("redis-slots", listed, **choices), "10.0.0.9:6379", 16384)
    spans = [(n * 16384 // 100, (n + 1) * 16384 // 100 - 1) for n in range(100)]
    hundred = "".join(
        f"id{n:02} 10.0.0.{n}:6379@16379 master - 0 0 1 connected {a}-{b}\n"
        for n, (a, b) in enumerate(spans)
    )
    rings.measured(record_property, draw("redis-slots", hundred))

"""Fixtures that the tests of the table share: keys, and ten memcached servers."""

import random

import clients
import faces
import fleet
import pytest


@pytest.fixture(scope="session")
def keys():
    """User names, which every client accepts as keys."""
    return fleet.user_names(2000)


@pytest.fixture(scope="session")
def every_key():
    """20,000 keys for stead, which takes any bytes: names, words in many scripts, and
    bytes that are not text.
    """
    chance = random.Random(20000)
    scripts = [
        chr(code)
        for first, last in (
            (0x20, 0x7E),
            (0xC0, 0x24F),
            (0x391, 0x3C9),
            (0x430, 0x44F),
            (0x5D0, 0x5EA),
            (0x3042, 0x3093),
            (0x4E00, 0x4E80),
            (0x1F600, 0x1F640),
        )
        for code in range(first, last + 1)
    ]
    found = dict.fromkeys(
        [
            b"",
            b"\0",
            b"\n",
            b"\r\n",
            b"frank",
            b"frank\n",
            b"\xff" * 4095,
            "été".encode(),
            "e\u0301te\u0301".encode(),
        ]
    )
    while len(found) < 6000:
        found["".join(chance.choices(scripts, k=chance.randint(1, 40))).encode()] = None
    while len(found) < 12000:
        found[chance.randbytes(chance.randint(1, 80))] = None
    return list(found) + fleet.user_names(20000 - len(found))


@pytest.fixture(scope="session")
def servers(keys):
    """Ten servers that have all keys. If memcached cannot run here, only their names;
    then clients that need servers are skipped.
    """
    with fleet.memcacheds() as running:
        if running:
            fleet.fill(running, keys)
        yield running or fleet.names()


@pytest.fixture(scope="session")
def asked(servers, keys):
    """Returns a function that runs a client, once for all tests. A client that is not
    installed skips the test.
    """
    found = {}

    def ask(client, again=False):
        if client.wire and fleet.is_free(servers[0]):
            pytest.skip("memcached is not installed, or cannot listen on port 11211")
        try:
            if again:
                return clients.ask(client, servers, keys)
            if client not in found:
                found[client] = clients.ask(client, servers, keys)
        except clients.Lacking as why:
            pytest.skip(f"{client.label}: {why}")
        return found[client]

    return ask


@pytest.fixture(scope="session")
def made_map(tmp_path_factory):
    """The map of ten nodes with the names of the servers."""
    path = str(tmp_path_factory.mktemp("agree") / "agree.map")
    faces.make_map(fleet.names(), path)
    return path

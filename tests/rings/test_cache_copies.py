"""The class Cache of examples/adopt in PHP, Perl, Python and C, with keys that have several
nodes: copies of every key, and a pin of three nodes for a hot key.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time

import pytest
import rings
from rings import PATIENCE, Server, stead
from test_adopt_examples import EXAMPLES, KEYS, Site, servers, site  # noqa: F401  fixtures
from test_cache_in_c import compiled  # noqa: F401  a fixture
from test_guide import NEEDED

# enough that each of three nodes is asked: one of them is left out once in 10^10 runs
MANY = 60
# the lifetime of a copy that a read makes from another node of the key, in seconds
FILLED = 60


@pytest.fixture(params=["php", "perl", "python", "c"])
def example(request):
    """The words that start the example of a language, and their environment."""
    env = dict(os.environ)
    if request.param == "c":
        command = [request.getfixturevalue("compiled")["cache"]]
    else:
        for needed, reason in NEEDED:
            if not rings.works(*needed):
                pytest.skip(reason)
        sys.path.insert(0, str(rings.ROOT / "tests" / "perl"))
        import perl_module

        env = dict(perl_module.ENV, PYTHONDONTWRITEBYTECODE="1")
        env["STEAD_LIBRARY"] = os.path.join(perl_module.LIBRARIES, "libstead.so")
        command = {
            "php": ["php", EXAMPLES / "cache.php"],
            "perl": [
                perl_module.PERL,
                f"-Mblib={perl_module.MODULE}",
                EXAMPLES / "cache.pl",
            ],
            "python": [sys.executable, EXAMPLES / "cache.py"],
        }[request.param]

    return [str(word) for word in command], env


@pytest.fixture
def ask(example, site):  # noqa: F811
    """ask(lines, option...) has the example of a language answer these lines."""
    command, env = example

    def run(lines, *options):
        words = [*command, *options, str(site.map)]
        text = "".join(f"{line}\n" for line in lines).encode()
        return rings.output(words, text, env=env).decode().splitlines()

    return run


def told(address, line, *data):
    """What a server answers to a command."""
    host, port = address.split(":")
    with (
        socket.create_connection((host, int(port)), PATIENCE) as connection,
        connection.makefile("rb") as answer,
    ):
        connection.sendall("".join(f"{one}\r\n" for one in (line, *data)).encode())
        return answer.readline().decode().strip()


def put(address, key, value):
    """Has one server keep an item."""
    assert told(address, f"set {key} 0 0 {len(value)}", value) == "STORED"


def empty(address, key):
    """Takes an item from one server, as its expiry does."""
    assert told(address, f"delete {key}") == "DELETED"


def has(site, key):  # noqa: F811
    """Returns the servers that have a key."""
    return {address for address, there in site.items() if there == key}


def pinned(site, *numbers):  # noqa: F811
    """Draws a map in which the key `hot` has these servers; returns them."""
    site.draw(4)
    nodes = [site.addresses[number] for number in numbers]
    site.copy(pins=[("hot", nodes)])
    assert site.all("hot") == nodes
    return nodes


def test_all_nodes_have_what_is_set_and_none_what_is_deleted(site, ask):  # noqa: F811
    site.draw(4)
    site.copy(2, pins=[("hot", site.addresses[1:4])])
    keys = [*KEYS[:100], "hot"]
    wanted = {(address, key) for key in keys for address in site.all(key)}
    assert len(wanted) == 203
    assert ask([f"set {key} value" for key in keys]) == ["set"] * len(keys)
    assert set(site.items()) == wanted
    gets = [f"get {key}" for key in keys]
    assert ask([*gets, "copied"]) == [*["hit value"] * len(keys), "0"]
    deletes = [f"delete {key}" for key in keys]
    assert ask(deletes) == ["deleted"] * len(keys)
    assert site.items() == {}
    assert ask([*deletes, "get hot"]) == [*["not there"] * len(keys), "miss"]


def test_each_node_of_a_hot_key_is_asked(site, ask):  # noqa: F811
    nodes = pinned(site, 3, 0, 2)
    for address in nodes:
        put(address, "hot", address)
    answers = ask(["get hot"] * MANY)
    assert set(answers) == {f"hit {address}" for address in nodes}
    # also if each process asks only once
    put(site.where("item/1"), "item/1", "alone")
    first = {ask(["get hot"])[0] for _ in range(MANY // 2)}
    assert len(first) > 1
    # the control: a key with one node
    assert ask(["get item/1"] * 3) == ["hit alone"] * 3


def test_an_emptied_node_is_filled_from_one_before_it(site, ask):  # noqa: F811
    first, second = pinned(site, 2, 0)
    put(first, "hot", "value")
    start = time.time()
    answers = ask([*["get hot"] * MANY, "copied"])
    assert answers == [*["hit value"] * MANY, "0"]
    assert has(site, "hot") == {first, second}
    # the servers count whole seconds
    assert start < site.items()[second, "hot"] <= time.time() + FILLED + 2


def test_two_nodes_do_not_keep_an_item_alive_for_ever(site, ask):  # noqa: F811
    first, second = pinned(site, 2, 0)
    assert ask(["set hot value"]) == ["set"]
    # it expires at the second node a moment sooner, which is filled
    empty(second, "hot")
    assert ask(["get hot"] * MANY) == ["hit value"] * MANY
    assert has(site, "hot") == {first, second}
    # it expires at the first node a moment sooner, which is not
    empty(first, "hot")
    assert ask(["get hot"] * MANY) == ["hit value"] * MANY
    assert has(site, "hot") == {second}
    empty(second, "hot")
    assert ask(["get hot"]) == ["miss"]
    # the next set fills both
    assert ask(["set hot again"]) == ["set"]
    assert has(site, "hot") == {first, second}


def test_a_node_that_does_not_answer_costs_no_miss_and_is_told(site, ask):  # noqa: F811
    port = rings.ports.free_port()
    site.addresses.append(f"127.0.0.1:{port}")
    site.draw(5)
    site.addresses.pop()
    site.copy(pins=[("hot", [f"127.0.0.1:{port}", site.addresses[1]])])
    assert ask(["set hot value"]) == ["not set"]
    assert ask(["get hot"] * 20) == ["hit value"] * 20
    # the other node had it
    assert ask(["delete hot", "get hot"]) == ["deleted", "miss"]


def test_a_moved_key_is_copied_to_all_its_new_nodes_once(site, ask):  # noqa: F811
    (old,) = pinned(site, 1)
    put(old, "hot", "value")
    site.fleet.write_text(
        site.fleet.read_text().replace(
            f'nodes = ["{old}"]',
            f'nodes = ["{site.addresses[3]}", "{site.addresses[0]}"]',
        )
    )
    stead("apply", site.fleet, site.map)
    new = set(site.all("hot"))
    assert new == {site.addresses[3], site.addresses[0]}
    # the control: nothing is found without a second look
    assert ask(["get hot"] * 10) == ["miss"] * 10
    answers = ask([*["get hot"] * MANY, "copied"], "--back", "1")
    assert answers == [*["hit value"] * MANY, "1"]
    assert has(site, "hot") == {old, *new}
    # a copy for good, and not for a minute
    assert {site.items()[address, "hot"] for address in new} == {-1}
    # writes and deletes go to the old place, too
    assert ask(["set hot newer"], "--back", "1") == ["set"]
    for address in (old, *new):
        assert told(address, "get hot").startswith("VALUE hot 0 5")
    assert ask(["delete hot"], "--back", "1") == ["deleted"]
    assert has(site, "hot") == set()
    # `deleted` speaks of the nodes of today
    put(old, "hot", "value")
    assert ask(["delete hot"], "--back", "1") == ["not there"]
    assert has(site, "hot") == set()


def test_a_second_copy_of_every_key_costs_no_miss(site, ask):  # noqa: F811
    site.draw(4)
    assert set(ask([f"set {key} value" for key in KEYS])) == {"set"}
    site.copy(2)
    gets = [f"get {key}" for key in KEYS]
    answers = ask([*gets, "copied"], "--back", "1")
    # the node of before is one of the two, and not an old place
    assert answers == [*["hit value"] * len(KEYS), "0"]


@contextlib.contextmanager
def restarted(start, port):
    """Runs a program on this port once more."""
    process = subprocess.Popen(start(port))
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_server_is_used_as_soon_as_it_is_back(example, tmp_path):
    """libmemcached passes over a server for two seconds after it was away, and other clients fail
    once on the connection of before.
    """
    command, env = example
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    start = lambda port: ["memcached", "-l", "127.0.0.1", "-p", str(port), *user]
    own = Site(tmp_path, [])
    with (
        Server(start, tmp_path / "log") as one,
        Server(start, tmp_path / "log") as two,
    ):
        own.addresses = [f"127.0.0.1:{server.port}" for server in (one, two)]
        own.draw(2)
        own.copy(replicas=2)
        with subprocess.Popen(
            [*command, str(own.map)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        ) as program:

            def say(line):
                program.stdin.write(f"{line}\n")
                return program.stdout.readline().strip()

            assert say("set a first") == "set"
            one.process.kill()
            one.process.wait()
            assert say("set a second") == "not set"
            with restarted(start, one.port):
                assert say("set a third") == "set"
                assert has(own, "a") == set(own.addresses)
            # the program asks nothing while the server is away
            with restarted(start, one.port):
                put(own.addresses[0], "a", "x")
                assert say("delete a") == "deleted"
                assert has(own, "a") == set()
            with restarted(start, one.port):
                assert say("set a fourth") == "set"
                assert has(own, "a") == set(own.addresses)
            with restarted(start, one.port):
                assert [say("get a") for _ in range(20)] == ["hit fourth"] * 20

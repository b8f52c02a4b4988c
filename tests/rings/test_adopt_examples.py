"""The files of examples/adopt, with real servers, where a site is not as the walk of
test_guide.py has it: clients that add a prefix, a host without the history, attributes
that are misspelt, items with lifetimes.
"""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from urllib.parse import unquote

import pytest
import rings
from rings import PATIENCE, ROOT, Server, stead
from test_guide import NEEDED

EXAMPLES = ROOT / "examples" / "adopt"
LANGUAGES = ("php", "perl", "python")
YEAR = 365 * 86400
KEYS = [f"item/{i}" for i in range(400)]


class Site:
    """Servers, and a map of them."""

    def __init__(self, directory, servers):
        self.directory, self.map = directory, directory / "shop.map"
        self.fleet = directory / "shop.toml"
        self.addresses = [f"127.0.0.1:{server.port}" for server in servers]

    def draw(self, count):
        """Draws the map of the first servers."""
        listed = self.directory / "servers.txt"
        listed.write_text("".join(f"{one}\n" for one in self.addresses[:count]))
        written = ["-o", self.map, "--fleet", self.fleet, "--weights", "shares"]
        stead("ring", "libmemcached", listed, *written)

    def grow(self, *options):
        """Gives all servers of the site the same share; returns the map of before."""
        import stead as module

        before = module.Map.open(self.map)
        drawn = {node.name for node in before.nodes}
        text = self.fleet.read_text()
        text = re.sub("^weight.*\n", "", text, flags=re.MULTILINE)
        for address in self.addresses:
            if address not in drawn:
                text += f'\n[[node]]\nname = "{address}"\n'
        self.fleet.write_text(text)
        stead("apply", self.fleet, self.map, *options)
        return before

    def copy(self, replicas=None, pins=()):
        """Applies a number of copies and pins, given as (key, servers)."""
        text = self.fleet.read_text()
        if replicas:
            text = re.sub(
                "^name",
                f"replicas = {replicas}\nname",
                text,
                count=1,
                flags=re.MULTILINE,
            )
        for key, servers in pins:
            text += (
                f"\n[[pin]]\nkey = {json.dumps(key)}\nnodes = {json.dumps(servers)}\n"
            )
        self.fleet.write_text(text)
        stead("apply", self.fleet, self.map)

    def where(self, key):
        """Returns the server of a key by the newest map."""
        return self.all(key)[0]

    def all(self, key):
        """Returns all servers of a key by the newest map."""
        import stead as module

        return module.Map.open(self.map).locate_all(key)

    def put(self, places):
        """Sets items, given as (server, key), whatever a map says."""
        keys = {}
        for address, key in places:
            keys.setdefault(address, []).append(key)
        for address, some in keys.items():
            lines = "".join(f"set {key} 0 0 1\r\nx\r\n" for key in some)
            host, port = address.split(":")
            with (
                socket.create_connection((host, int(port)), PATIENCE) as connection,
                connection.makefile("rb") as answer,
            ):
                connection.sendall(lines.encode())
                for _ in some:
                    assert answer.readline() == b"STORED\r\n"

    def empty(self):
        """Deletes all items."""
        for address, key in self.items():
            host, port = address.split(":")
            with socket.create_connection((host, int(port)), PATIENCE) as connection:
                connection.sendall(f"delete {key}\r\n".encode())
                assert connection.recv(100) == b"DELETED\r\n"

    def items(self):
        """Returns {(server, key): when the item expires, -1 for never}."""
        found = {}
        for address in self.addresses:
            host, port = address.split(":")
            with (
                socket.create_connection((host, int(port)), PATIENCE) as connection,
                connection.makefile("rb") as answer,
            ):
                connection.sendall(b"lru_crawler metadump hash\r\n")
                for line in iter(answer.readline, b"END\r\n"):
                    said = dict(word.split("=", 1) for word in line.decode().split())
                    found[address, unquote(said["key"])] = int(said["exp"])
        return found

    def run(self, script, *arguments, end=0):
        """Runs a script of the example and returns what it writes."""
        done = subprocess.run(
            [sys.executable, EXAMPLES / script, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == end, done.stdout + done.stderr
        return (done.stdout + done.stderr).decode()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Four servers."""
    if not shutil.which("memcached"):
        pytest.skip("memcached is not installed")

    def memcached(port):
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        return ["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", *user]

    log = tmp_path_factory.mktemp("servers") / "memcached.log"
    with (
        Server(memcached, log) as a,
        Server(memcached, log) as b,
        Server(memcached, log) as c,
        Server(memcached, log) as d,
    ):
        yield [a, b, c, d]


@pytest.fixture
def site(servers, tmp_path):
    """Four servers that hold nothing."""
    pytest.importorskip("stead")
    site = Site(tmp_path, servers)
    yield site
    site.empty()


def swept(said):
    """Returns the numbers that sweep.py wrote, added up over all servers."""
    rows = re.findall(r"^127\S+ +(\d+) +(\d+) +(\d+) +(\d+)$", said, re.MULTILINE)
    return [sum(map(int, column)) for column in zip(*rows)]


@pytest.mark.parametrize("drawn, grown", [(4, False), (2, True), (1, True)])
@pytest.mark.parametrize(
    "words", [("--prefix", "shop:"), ("--prefix", "shop:", "--delete"), ("--delete",)]
)
def test_sweep_deletes_nothing_when_the_map_is_asked_for_other_keys(
    site, words, drawn, grown
):
    site.draw(drawn)
    if grown:
        # each key that moves was copied by a second look
        before = site.grow()
        site.put((before.locate(key), f"shop:{key}") for key in KEYS)
    site.put((site.where(key), f"shop:{key}") for key in KEYS)
    items = site.items()
    said = site.run("sweep.py", *words, site.map, end=1)
    assert "--strip" in said and "nothing is deleted" in said
    assert site.items() == items
    # the control: asked for the right keys, it deletes the copies, and nothing else
    said = site.run("sweep.py", "--strip", "shop:", "--delete", site.map)
    assert swept(said) == [len(items), len(items) - len(KEYS), 0, 0]
    assert {(site.where(key), f"shop:{key}") for key in KEYS} == set(site.items())


def test_sweep_deletes_copies_and_only_with_a_word_what_nobody_has_read(site):
    site.draw(3)
    before = site.grow()
    moved = [key for key in KEYS if before.locate(key) != site.where(key)]
    unread, copied = moved[:5], moved[5:]
    assert len(copied) > 50
    site.put((before.locate(key), key) for key in KEYS)
    site.put((site.where(key), key) for key in KEYS if key not in unread)
    # an item that no epoch has had there
    old = next(
        (address, key)
        for key in (f"old/{i}" for i in range(100))
        for address in site.addresses
        if address not in (before.locate(key), site.where(key))
    )
    site.put([old])
    whole = site.items()
    said = site.run("sweep.py", site.map)
    assert swept(said) == [len(whole), len(copied), len(unread), 1]
    assert f"{len(copied)} copies would be deleted by --delete" in said
    assert site.items() == whole
    # it refuses where more than 1 % lies wrong; the default, 5 %, is more than lies wrong here
    said = site.run("sweep.py", "--delete", "--at-most", 1, site.map, end=1)
    assert "nothing is deleted" in said and site.items() == whole
    site.run("sweep.py", "--delete", site.map)
    gone = {(before.locate(key), key) for key in copied}
    assert set(site.items()) == set(whole) - gone
    site.run("sweep.py", "--delete", "--unread", site.map)
    gone |= {(before.locate(key), key) for key in unread}
    assert set(site.items()) == set(whole) - gone and old in site.items()


def test_sweep_keeps_every_copy_that_the_map_wants(site):
    site.draw(3)
    site.copy(2, pins=[("hot", site.addresses[:3])])
    before = site.grow()
    keys = [*KEYS, "hot"]
    wanted = {(address, key) for key in keys for address in site.all(key)}
    assert len(wanted) == 2 * len(KEYS) + 3
    old = {(address, key) for key in keys for address in before.locate_all(key)}
    left = old - wanted
    assert len(left) > 50
    # an item of which a second node was emptied is at one place, where it belongs
    emptied = {(site.all(key)[1], key) for key in KEYS[:20]}
    # no client has read this one since it left its second node
    unread = next(key for address, key in left if (address, key) not in emptied)
    absent = emptied | {pair for pair in wanted if pair[1] == unread}
    site.put((wanted | left) - absent)
    whole = set(site.items())
    mine = {pair for pair in left if pair[1] == unread}
    said = site.run("sweep.py", "--delete", site.map)
    assert swept(said) == [len(whole), len(left - mine), len(mine), 0]
    assert f"{len(left - mine)} items are deleted" in said
    assert set(site.items()) == whole - (left - mine) == (wanted - absent) | mine
    # nothing more is left to delete
    assert swept(site.run("sweep.py", "--delete", site.map))[1] == 0


def test_sweep_cleans_a_server_that_has_the_weight_0(site):
    site.draw(2)
    before = site.grow()
    text = site.fleet.read_text()
    for address in site.addresses[:2]:
        text = text.replace(f'name = "{address}"', f'name = "{address}"\nweight = 0')
    site.fleet.write_text(text)
    stead("apply", site.fleet, site.map)
    site.put((before.locate(key), key) for key in KEYS)
    site.put((site.where(key), key) for key in KEYS)
    site.run("sweep.py", "--delete", site.map)
    assert set(site.items()) == {(site.where(key), key) for key in KEYS}


@pytest.mark.parametrize("sweep", [True, False])
def test_who_goes_back_as_the_page_says_reads_nothing_out_of_date(
    site, sweep, monkeypatch
):
    pytest.importorskip("pymemcache")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cache import Cache

    site.draw(2)
    for key in KEYS:
        Cache(site.map).set(key, "old")
    site.grow()
    unread, read = KEYS[:4], KEYS[4:]
    looking = Cache(site.map, back=1)
    assert [looking.get(key) for key in read] == [b"old"] * len(read)
    assert looking.copied > 50
    # no second looks any more; an item that no client has read since is written, too
    written = KEYS[2:200]
    for key in written:
        Cache(site.map).set(key, "new")
    if sweep:
        site.run("sweep.py", "--delete", "--unread", site.map)
    stead("rollback", site.map, 1, "--exact")
    looking = Cache(site.map, back=1)
    found = [looking.get(key) for key in written]
    if sweep:
        assert found == [b"new"] * len(written) and looking.copied > 20
        assert all(looking.get(key) == b"old" for key in KEYS[200:])
    else:  # the control
        assert found.count(b"old") > 20
    assert all(looking.get(key) in (b"old", None) for key in unread[:2])


@pytest.mark.parametrize("back", [2, 1])
def test_a_second_look_over_all_steps_spares_the_sweep_before_a_rollback(
    site, back, monkeypatch
):
    pytest.importorskip("pymemcache")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cache import Cache

    site.draw(2)
    first, second = Cache(site.map, back=back), Cache(site.map, back=back)
    for key in KEYS:
        first.set(key, "old")
    for _ in range(2):
        site.grow("--max-move", "20%")
        assert [first.get(key) for key in KEYS] == [b"old"] * len(KEYS)
    assert first.copied > 100
    written = KEYS[:200]
    for key in written:
        first.set(key, "new")
    stead("rollback", site.map, 1, "--exact")
    wrong = sum(second.get(key) != b"new" for key in written)
    if back == 2:
        assert wrong == 0
        assert all(second.get(key) == b"old" for key in KEYS[200:])
    else:  # the control: what the first step moved was not written at its first place
        assert wrong > 10


def test_keys_strips_the_prefix_of_the_clients(site):
    site.draw(4)
    site.put((site.where(key), f"shop:{key}") for key in KEYS)
    site.put([(site.addresses[0], "other")])
    said = site.run("keys.py", "--strip", "shop:", *site.addresses)
    seen = dict(line.split("\t") for line in said.splitlines())
    assert seen == {key: site.where(key) for key in KEYS}
    some = site.run(
        "keys.py", "--strip", "shop:", "--prefix", "item/1", *site.addresses
    )
    assert len(some.splitlines()) == sum(key.startswith("item/1") for key in KEYS)
    (site.directory / "seen.tsv").write_text(said)
    stead("check", site.map, "--observed", site.directory / "seen.tsv")
    # the control: with the prefix, no rule finds them
    said = site.run("keys.py", *site.addresses)
    (site.directory / "seen.tsv").write_text(said)
    said = stead(
        "check", site.map, "--observed", site.directory / "seen.tsv", ends=(1,)
    )
    assert "100.000 %" not in said


def test_keys_takes_the_words_of_a_list_with_weights(site):
    site.draw(4)
    site.put((site.where(key), key) for key in KEYS)
    listed = [word for address in site.addresses for word in (address, "2.5")]
    said = site.run("keys.py", *listed)
    assert said == site.run("keys.py", *site.addresses) and said.count("\n") == 400


@pytest.mark.parametrize(
    "words", [["10.0.0.1"], ["{0}", "2", "3"], ["2", "{0}"], ["{0}:1"], ["{0}", "x"]]
)
def test_keys_says_in_one_line_what_is_no_server(site, words):
    site.put([(site.addresses[0], "item")])
    said = site.run("keys.py", *(w.format(*site.addresses) for w in words), end=1)
    assert re.fullmatch(r"keys\.py: '[^']+' is not HOST:PORT[^\n]+\n", said), said


def test_a_server_that_does_not_answer_is_named_in_one_line(site):
    nobody = f"127.0.0.1:{rings.ports.free_port()}"
    said = site.run("keys.py", nobody, end=1)
    assert said.startswith(f"keys.py: {nobody} does not answer: "), said
    assert said.count("\n") == 1
    site.addresses.append(nobody)
    site.draw(5)
    site.addresses.pop()
    said = site.run("sweep.py", "--delete", site.map, end=1)
    assert said.startswith(f"sweep.py: {nobody} does not answer: "), said
    assert said.count("\n") == 1


@pytest.fixture(scope="module")
def started():
    """{language: the words that run a program in it}, and the environment."""
    for command, reason in NEEDED:
        if not rings.works(*command):
            pytest.skip(reason)
    sys.path.insert(0, str(ROOT / "tests" / "perl"))
    import perl_module

    library = os.path.join(perl_module.LIBRARIES, "libstead.so")
    env = dict(perl_module.ENV, STEAD_LIBRARY=library, PYTHONDONTWRITEBYTECODE="1")
    return {
        "php": ["php", "-r", f"require '{EXAMPLES}/cache.php';"],
        "perl": [
            perl_module.PERL,
            f"-Mblib={perl_module.MODULE}",
            "-e",
            f"require '{EXAMPLES}/cache.pl';",
        ],
        "python": [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, '{EXAMPLES}'); from cache import Cache;",
        ],
    }, env


@pytest.fixture(params=LANGUAGES)
def program(request, started, site):
    """program(php, perl, python) runs the one of these texts whose language it is, and
    returns (exit code, output, error output).
    """
    commands, env = started

    def run(*texts):
        *command, before = commands[request.param]
        done = subprocess.run(
            [*command, before + texts[LANGUAGES.index(request.param)]],
            cwd=site.directory,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


READS = (
    "$c = new Cache('shop.map', back: 3); $c->{verb}; echo $c->get('{key}') ?? 'miss';",
    "my $c = Cache->new(map => 'shop.map', back => 3); $c->{verb}; print $c->get('{key}') // 'miss';",
    "c = Cache('shop.map', back=3); c.{verb}; print((c.get('{key}') or b'miss').decode(), end='')",
)


@pytest.mark.parametrize(
    "verb", ["get('other')", "set('other', 'y')", "delete('other')"]
)
def test_a_host_without_the_epoch_before_says_so(site, program, verb):
    site.draw(3)
    before = site.grow()
    key = next(key for key in KEYS if before.locate(key) != site.where(key))
    site.put([(before.locate(key), key)])
    texts = [text.replace("{key}", key).replace("{verb}", verb) for text in READS]
    history = site.directory / "shop.map.history"
    history.rename(site.directory / "away")
    code, found, said = program(*texts)
    # php writes to its standard output
    assert code != 0 and "shop.map.history has no epoch 1" in found + said
    assert "miss" not in found
    # the control: with the history it is a hit, although there are no three epochs
    (site.directory / "away").rename(history)
    assert program(*texts) == (0, "x", "")


def test_older_epochs_may_be_missing(site, program):
    site.draw(3)
    before = site.grow()
    site.fleet.write_text(site.fleet.read_text() + "weight = 2\n")
    stead("apply", site.fleet, site.map)
    (site.directory / "shop.map.history" / "1").unlink()
    key = next(key for key in KEYS if before.locate(key) != site.where(key))
    site.put([(site.where(key), key)])
    texts = [
        text.replace("{key}", key).replace("{verb}", "get('other')") for text in READS
    ]
    assert program(*texts) == (0, "x", "")


def test_an_attribute_that_is_misspelt_is_heard(site, program):
    site.draw(4)
    text = site.fleet.read_text()
    for number, address in enumerate(site.addresses):
        name = f'name = "cache{number}"\nformerly = "{address}"\n'
        which = "adress" if number == 2 else "address"
        name += f'attributes = {{ {which} = "{address}" }}'
        text = text.replace(f'name = "{address}"', name)
    site.fleet.write_text(text)
    stead("apply", site.fleet, site.map)
    key = next(key for key in KEYS if site.where(key) == "cache2")
    texts = [
        text.replace("{key}", key).replace("{verb}", "get('other')") for text in READS
    ]
    code, found, said = program(*texts)
    assert code != 0 and "node cache2 needs an attribute `address`" in found + said


def test_items_have_the_lifetime_that_they_were_given(site, program):
    site.draw(3)
    before = site.grow()
    moved = next(key for key in KEYS if before.locate(key) != site.where(key))
    site.put([(before.locate(moved), moved)])
    start = time.time()
    date = int(start) + 7000
    code, found, said = program(
        f"$c = new Cache('shop.map', back: 1, lifetime: 9000); $c->get('{moved}'); $c->set('a', 'y'); $c->set('b', 'y', 90000); $c->set('c', 'y', {YEAR}); $c->set('d', 'y', {date});",
        f"my $c = Cache->new(map => 'shop.map', back => 1, lifetime => 9000); $c->get('{moved}'); $c->set('a', 'y'); $c->set('b', 'y', 90000); $c->set('c', 'y', {YEAR}); $c->set('d', 'y', {date});",
        f"c = Cache('shop.map', back=1, lifetime=9000); c.get('{moved}'); c.set('a', b'y'); c.set('b', b'y', 90000); c.set('c', b'y', {YEAR}); c.set('d', b'y', {date})",
    )
    assert (code, found, said) == (0, "", "")
    items = site.items()
    left = {key: items[site.where(key), key] - start for key in (moved, "a", "b")}
    assert all(abs(left[key] - 9000) < PATIENCE for key in (moved, "a")), left
    assert abs(left["b"] - 90000) < PATIENCE, left
    # memcached takes more than 30 days for a date
    assert abs(items[site.where("c"), "c"] - start - YEAR) < PATIENCE
    assert abs(items[site.where("d"), "d"] - date) < PATIENCE
    # the original of the copy has no lifetime
    assert items[before.locate(moved), moved] == -1


def test_clients_have_the_options_of_the_application(site, program):
    site.draw(3)
    before = site.grow()
    moved = next(key for key in KEYS if before.locate(key) != site.where(key))
    site.put([(before.locate(moved), f"shop:{moved}")])
    # a Cache with other options beside it has clients of its own
    code, found, said = program(
        "$p = [Memcached::OPT_PREFIX_KEY => 'shop:']; $d = new Cache('shop.map'); $d->set('a', 'y');"
        f"$c = new Cache('shop.map', back: 1, options: $p); $c->set('b', 'y'); echo $c->get('{moved}');",
        "my $d = Cache->new(map => 'shop.map'); $d->set('a', 'y'); my $c = Cache->new("
        "map => 'shop.map', back => 1, options => { namespace => 'shop:' });"
        f"$c->set('b', 'y'); print $c->get('{moved}');",
        "Cache('shop.map').set('a', b'y'); c = Cache('shop.map', back=1, options={'key_prefix': b'shop:'});"
        f"c.set('b', b'y'); print(c.get('{moved}').decode(), end='')",
    )
    assert (code, found, said) == (0, "x", "")
    names = {f"shop:{moved}", "a", "shop:b"}
    assert {key for _, key in site.items()} == names
    # the map is asked for the key without the prefix
    assert (site.where("b"), "shop:b") in site.items()
    assert (site.where(moved), f"shop:{moved}") in site.items()


@pytest.mark.parametrize("lifetime, filled", [(20, 20), (9000, 60)])
def test_a_node_is_filled_from_another_for_a_minute_at_most(
    site, program, lifetime, filled
):
    site.draw(3)
    first, second = site.addresses[:2]
    site.copy(pins=[("hot", [first, second])])
    site.put([(first, "hot")])
    start = time.time()
    code, found, said = program(
        f"$c = new Cache('shop.map', lifetime: {lifetime}); for ($i = 0; $i < 60; $i++) $c->get('hot');",
        f"my $c = Cache->new(map => 'shop.map', lifetime => {lifetime}); $c->get('hot') for 1 .. 60;",
        f"c = Cache('shop.map', lifetime={lifetime}); [c.get('hot') for _ in range(60)]",
    )
    assert (code, found, said) == (0, "", "")
    # the servers count whole seconds
    assert start < site.items()[second, "hot"] <= time.time() + filled + 2


def test_an_old_client_whose_rule_cannot_be_drawn_serves_the_second_look(
    site, monkeypatch
):
    pytest.importorskip("pymemcache")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cache import Cache
    from pymemcache.client.hash import HashClient

    old = HashClient(site.addresses, default_noreply=False)
    for key in KEYS:
        assert old.set(key, "value")
    site.draw(4)
    seen = site.directory / "seen.tsv"
    seen.write_text("".join(f"{key}\t{address}\n" for address, key in site.items()))
    said = stead("check", site.map, "--observed", seen, ends=(1,))
    assert "100.000 %" not in said
    elsewhere = {key for address, key in site.items() if address != site.where(key)}
    assert len(elsewhere) > len(KEYS) // 2
    cache = Cache(site.map, old=old)
    assert [cache.get(key) for key in KEYS] == [b"value"] * len(KEYS)
    assert cache.copied == len(elsewhere)
    # the control: then all are in their new places
    assert [Cache(site.map).get(key) for key in KEYS] == [b"value"] * len(KEYS)


def test_a_delete_begins_where_second_looks_read():
    """Otherwise a read in between would copy the item back to its new place."""
    spec = importlib.util.spec_from_file_location("cache", EXAMPLES / "cache.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    order = []

    class Client:
        def __init__(self, name, has):
            self.name, self.has = name, has

        def delete(self, key):
            order.append(self.name)
            return self.has

    cache = object.__new__(module.Cache)
    for new, old in ((True, False), (False, True)):
        del order[:]
        earlier = [Client("old", old), Client("ring", old)]
        places = [Client("new", new)], [Client("carried", old)], earlier
        cache.places = lambda key, writing, places=places: places
        assert cache.delete(b"k") is new
        assert order == ["old", "ring", "new", "carried"]

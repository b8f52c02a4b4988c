"""The example cache.c of docs/adopt.md: a cache client in C that asks a map. Its items were set by
libmemcached's own ring; it must find all of them, in many threads, also while a server is added.
"""

import shutil
import subprocess

import built
import pytest
import rings
from rings import PATIENCE, Server, stead

ITEMS, THREADS = 500, 8
EXAMPLE = rings.ROOT / "examples" / "adopt" / "cache.c"
DRIVER = rings.ROOT / "tests" / "rings" / "cache_threads.c"
FLAGS = ["-Wall", "-Wextra", "-Werror", "-O1"]
# a client as sites have it: libmemcached chooses the server; it sets each item to its key
OLD = """
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  memcached_st *ring = memcached_create(NULL);
  memcached_behavior_set(ring, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  for (int i = 2; i < argc; i++)
    memcached_server_add(ring, "127.0.0.1", (in_port_t)atoi(argv[i]));
  for (int i = 0; i < atoi(argv[1]); i++) {
    char key[32];
    int n = snprintf(key, sizeof key, "item/%d", i);
    if (memcached_set(ring, key, n, key, n, 0, 0) != MEMCACHED_SUCCESS)
      return 1;
  }
  memcached_free(ring);
  return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """{name: path} of the three programs."""
    place = tmp_path_factory.mktemp("cache")
    (place / "old.c").write_text(OLD)
    for tool in ("cc", "memcached"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    if not rings.works("cc", "-o", place / "old", place / "old.c", "-lmemcached"):
        pytest.skip("libmemcached's headers (libmemcached-dev) are not installed")
    libraries = built.libraries()
    stead_h = [f"-I{rings.ROOT}/include", f"{libraries}/libstead.so"]
    flags = [*FLAGS, f"-Wl,-rpath,{libraries}"]
    # the library that was built has no soname link beside it
    link = place / "libstead.so.1"
    link.symlink_to(f"{libraries}/libstead.so")
    flags.append(f"-Wl,-rpath,{place}")
    for name, source in (("cache", EXAMPLE), ("threads", DRIVER)):
        command = ["cc", *flags, str(source), *stead_h, "-lmemcached", "-pthread"]
        rings.output([*command, "-o", str(place / name)])
    return {name: place / name for name in ("old", "cache", "threads")}


@pytest.fixture
def site(compiled, tmp_path):
    """Three servers with the items of the old client, and the map of its ring."""

    class Site:
        map, fleet = tmp_path / "cache.map", tmp_path / "cache.toml"

        def server(self):
            command = lambda port: [
                *("memcached", "-l", "127.0.0.1", "-U", "0"),
                *("-u", "nobody", "-p", str(port)),
            ]
            return Server(command, tmp_path / "memcached.log")

        def ask(self, lines, *options):
            """What the example answers to these lines."""
            command = [compiled["cache"], *options, self.map]
            said = rings.output(command, "".join(f"{one}\n" for one in lines).encode())
            return said.decode().splitlines()

    one = Site()
    with one.server() as a, one.server() as b, one.server() as c:
        ports = [str(server.port) for server in (a, b, c)]
        rings.output([compiled["old"], str(ITEMS), *ports])
        listed = tmp_path / "servers.txt"
        listed.write_text("".join(f"127.0.0.1:{port}\n" for port in ports))
        drawn = ["-o", one.map, "--fleet", one.fleet, "--weights", "shares"]
        stead("ring", "libmemcached", listed, *drawn)
        yield one


GETS = [f"get item/{i}" for i in range(ITEMS)]
HITS = [f"hit item/{i}" for i in range(ITEMS)]


def grow(site, server):
    """Adds a server to the map; returns the items that move, as stead says."""
    address = f"address=127.0.0.1:{server.port}"
    node = ["new", "--weight", "33", "--attribute", address]
    stead("fleet", "add-node", site.fleet, *node)
    stead("apply", site.fleet, site.map)
    keys = site.map.with_suffix(".keys")
    keys.write_text("".join(f"item/{i}\n" for i in range(ITEMS)))
    with keys.open("rb") as text:
        said = subprocess.run(
            [rings.program(), "diff", f"{site.map}.history/1", site.map, "--keys"],
            stdin=text,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        ).stdout
    return {line.split(b"\t")[0].decode() for line in said.splitlines()}


def test_the_example_finds_what_the_ring_of_before_has_set(site):
    assert site.ask(GETS) == HITS
    lines = ["set a hello world", "get a", "delete a", "get a", "delete a", "copied"]
    answers = ["set", "hit hello world", "deleted", "miss", "not there", "0"]
    assert site.ask(lines) == answers


def test_an_item_may_live_for_a_year(site):
    """memcached takes more than 30 days for a date."""
    year = str(365 * 86400)
    assert site.ask(["set a hello", "get a"], "--lifetime", year) == [
        "set",
        "hit hello",
    ]


def test_a_second_look_finds_exactly_what_the_plan_moves(site):
    with site.server() as server:
        moved = grow(site, server)
        assert ITEMS / 10 < len(moved) < ITEMS / 2
        # without a second look these are missed, and no others
        without = ["miss" if hit.removeprefix("hit ") in moved else hit for hit in HITS]
        assert site.ask(GETS) == without
        assert site.ask([*GETS, "copied"], "--back", "1") == [*HITS, str(len(moved))]
        assert site.ask(GETS) == HITS


def ends_with_a_line(compiled, site, *options):
    """Asserts that the example answers nothing, and returns its error message."""
    command = [compiled["cache"], *options, site.map]
    done = subprocess.run(
        command, input=b"get a\n", capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    said = done.stderr.decode()
    assert said.startswith("cache: ") and said.count("\n") == 1
    return said


def test_a_host_without_the_epoch_before_says_so(site, compiled):
    with site.server() as server:
        grow(site, server)
        shutil.rmtree(f"{site.map}.history")
        assert ".history/1" in ends_with_a_line(compiled, site, "--back", "1")
        # the control: without a second look nothing is missing
        assert site.ask(["get a"]) == ["miss"]


def test_an_attribute_that_is_misspelt_is_heard(site, compiled):
    named = site.fleet.read_text()
    for number, line in enumerate(
        site.map.with_name("servers.txt").read_text().split()
    ):
        new = f'name = "cache{number}"\nformerly = "{line}"\nattributes = '
        new += f'{{ adress = "{line}" }}'
        named = named.replace(f'name = "{line}"', new)
    site.fleet.write_text(named)
    stead("apply", site.fleet, site.map)
    assert "needs an attribute `address`" in ends_with_a_line(compiled, site)


def test_threads_miss_nothing_while_a_server_is_added(site, compiled):
    with site.server() as server:
        command = [compiled["threads"], site.map, "item", str(ITEMS), str(THREADS)]
        readers = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

        def whole_round():
            readers.stdin.write(".")
            readers.stdin.flush()
            assert readers.stdout.readline() == "round\n"

        try:
            whole_round()
            moved = grow(site, server)
            whole_round()
            said, _ = readers.communicate(timeout=PATIENCE)
        finally:
            readers.kill()
            readers.wait()
        reads, misses, copied = map(int, said.splitlines()[-1].split())
        assert misses == 0 and reads >= 3 * THREADS * ITEMS
        # two threads may find the same item at its old place
        assert len(moved) <= copied <= THREADS * len(moved)


def test_a_map_that_is_not_there_is_said_in_one_line(compiled, tmp_path):
    done = subprocess.run(
        [compiled["cache"], tmp_path / "none.map"],
        input=b"get a\n",
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1 and done.stdout == b""
    said = done.stderr.decode()
    assert said.startswith("cache: ") and said.count("\n") == 1 and "none.map" in said

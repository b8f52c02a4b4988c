"""The rules of Cache::Memcached::Fast and python-memcached, against both, with real
memcached servers.
"""

import contextlib
import getpass
import json
import shutil
import zlib

import pytest
import rings

HERE = rings.ROOT / "tests" / "rings"
VENV = rings.ROOT / ".venv-rings-tests" / "bin" / "python"
UNEVEN = [1, 2.5, 0.7, 1, 3, 0.25, 1]
WHOLE = [1, 3, 2, 1, 5, 1, 2]


@pytest.fixture(scope="module")
def memcached(tmp_path_factory):
    """The addresses of seven memcached servers on loopback."""
    if not shutil.which("memcached"):
        pytest.skip("memcached is not installed")
    log = tmp_path_factory.mktemp("memcached") / "log"
    command = lambda port: [
        "memcached",
        "-l",
        "127.0.0.1",
        "-p",
        str(port),
        "-U",
        "0",
        "-m",
        "128",
        "-M",
        "-u",
        getpass.getuser(),
    ]
    with contextlib.ExitStack() as stack:
        yield [
            f"127.0.0.1:{stack.enter_context(rings.Server(command, log)).port}"
            for _ in UNEVEN
        ]


@pytest.fixture
def where(tmp_path):
    """where(servers, keys, ketama_points, namespace): Cache::Memcached::Fast's own
    answers.
    """
    if not rings.works("perl", "-MCache::Memcached::Fast", "-e", "1"):
        pytest.skip(
            "Cache::Memcached::Fast (libcache-memcached-fast-perl) is not installed"
        )

    def ask(servers, keys, ketama_points=0, namespace=""):
        file = tmp_path / "servers.pl"
        file.write_text(servers)
        lines = "".join(key.hex() + "\n" for key in keys).encode()
        return (
            rings.output(
                [
                    "perl",
                    HERE / "memcached_fast_where.pl",
                    file,
                    str(ketama_points),
                    namespace,
                ],
                lines,
            )
            .decode()
            .split("\n")[:-1]
        )

    version = rings.output(
        [
            "perl",
            "-MCache::Memcached::Fast",
            "-e",
            "print $Cache::Memcached::Fast::VERSION",
        ]
    ).decode()
    ask.about = f"Cache::Memcached::Fast {version} and memcached"
    return ask


def text(addresses, weights):
    """The list in each of the notations that Perl's module takes."""
    ways = [
        "{ address => '%s', weight => %s },",
        "['%s', %s],",
        "{ weight => %s, address => '%s', noreply => 0 },",
    ]
    lines = []
    for i, (address, weight) in enumerate(zip(addresses, weights)):
        way = ways[i % 3]
        lines.append(
            f"'{address}',"
            if weight == 1
            else way
            % ((weight, address) if way.startswith("{ weight") else (address, weight))
        )
    return "\n".join(lines) + "\n"


def keys(count):
    """Keys that memcached's protocol takes: 1 to 250 bytes, without blanks and control
    characters.
    """
    return [
        key
        for key in rings.sample(count, binary=False, empty=False, longest=240)
        if not set(key) & {0x20, 0x09}
    ]


@pytest.mark.parametrize("points", [0, 1, 150])
@pytest.mark.parametrize("weights", [UNEVEN, WHOLE], ids=["uneven", "whole"])
def test_every_key_is_where_the_module_puts_it(
    points, weights, memcached, where, draw, record_property
):
    servers, asked = (
        text(memcached, weights),
        keys(100_000 if points == 150 or weights is UNEVEN and not points else 20_000),
    )
    ring = draw("cache-memcached-fast", servers, ketama_points=points)
    rings.agreed(
        record_property, ring, asked, where(servers, asked, points), where.about
    )
    if points != 1:
        rings.grown_well(ring, {"name": "new", "weight": 2}, 2**32 if points else 2**15)


@pytest.mark.parametrize("points", [0, 100])
def test_a_namespace_that_is_hashed(points, memcached, where, draw, record_property):
    servers, asked = text(memcached, UNEVEN), keys(20_000)
    ring = draw(
        "cache-memcached-fast", servers, ketama_points=points, namespace="site:"
    )
    theirs = where(servers, asked, points, "site:")
    rings.agreed(record_property, ring, asked, theirs, where.about)
    # the control: without it
    without = draw("cache-memcached-fast", servers, ketama_points=points)
    assert rings.disagreements(without.locate(asked), theirs) > 5000


def test_the_controls_are_caught(memcached, where, draw):
    servers, asked = text(memcached, UNEVEN), keys(20_000)
    theirs = where(servers, asked, 150)
    for other, choices in [
        (servers, {"ketama_points": 160}),
        (servers, {}),
        (text(memcached, [1, 2.5, 1.4, *UNEVEN[3:]]), {"ketama_points": 150}),
    ]:
        assert (
            rings.disagreements(
                draw("cache-memcached-fast", other, **choices).locate(asked), theirs
            )
            > 100
        ), choices


def test_python_memcached_has_the_same_buckets(memcached, draw, record_property):
    if not rings.works(VENV, "-c", "import memcache"):
        pytest.skip(
            "python-memcached is not in .venv-rings-tests; scripts/rings-tests-venv makes it"
        )
    about = (
        "python-memcached "
        + rings.output([VENV, "-c", "import memcache; print(memcache.__version__)"])
        .decode()
        .strip()
    )
    zeros = [
        key
        for key in (f"zero{i}".encode() for i in range(300_000))
        if not zlib.crc32(key) >> 16 & 0x7FFF
    ]
    asked = keys(100_000 - len(zeros)) + zeros
    lines = "".join(key.hex() + "\n" for key in asked).encode()
    theirs = (
        rings.output(
            [
                VENV,
                HERE / "memcached_python_where.py",
                json.dumps(list(zip(memcached, WHOLE))),
            ],
            lines,
        )
        .decode()
        .split("\n")[:-1]
    )
    # up to 1.59 python-memcached counts a hash of 0 as 1
    old = tuple(map(int, about.split()[1].split("."))) <= (1, 59)
    rings.agreed(
        record_property,
        draw("cache-memcached-fast", text(memcached, WHOLE), zero=int(old)),
        asked,
        theirs,
        about,
    )
    # the control: as the other versions have it
    other = draw("cache-memcached-fast", text(memcached, WHOLE), zero=int(not old))
    assert rings.disagreements(other.locate(asked), theirs) >= len(zeros) > 3


def test_a_hundred_servers(draw, record_property):
    names = [f"cache{i}.example.com:11211" for i in range(100)]
    for points in (0, 160):
        rings.measured(
            record_property,
            draw("cache-memcached-fast", text(names, [1] * 100), ketama_points=points),
        )

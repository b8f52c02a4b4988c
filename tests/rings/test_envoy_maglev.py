"""Envoy's Maglev table, against Envoy; and XXH64 against its own program."""

import envoy_maglev
import hashes
import pytest
import rings
from envoy_asked import hosts_of, keys, listed, names

VENV = rings.ROOT / ".venv-rings-tests" / "bin" / "python"
UNEVEN = [1, 5, 2, 17, 3, 3, 100, 1, 8, 40]


def cluster(**config):
    """What the cluster's configuration says besides its hosts."""
    return {"lb_policy": "MAGLEV", "maglev_lb_config": config}


def test_every_key_goes_where_envoy_sends_it(envoy, draw, record_property):
    hosts, asked = hosts_of(10), keys(20_000)
    ring = draw("envoy-maglev", listed(hosts, UNEVEN))
    theirs = envoy(asked, hosts, UNEVEN, cluster())
    rings.agreed(record_property, ring, asked, theirs, envoy.about)
    rings.grown_well(ring, {"name": "new", "weight": 9}, 65_537)


@pytest.mark.parametrize(
    ("weights", "size"),
    [([1], 2), ([1] * 7, 5), ([3, 3, 1, 10_000], 251), ([1] * 100, 1009)],
    ids=["one", "more hosts than rows", "one in ten thousand", "100 equal"],
)
def test_other_tables(weights, size, envoy, draw, record_property):
    hosts, asked = hosts_of(len(weights)), keys(10 * size + 100)
    ring = draw("envoy-maglev", listed(hosts, weights), table_size=size)
    theirs = envoy(asked, hosts, weights, cluster(table_size=size))
    rings.agreed(record_property, ring, asked, theirs, envoy.about)


def test_hosts_that_are_hashed_by_their_hash_keys(envoy, draw, record_property):
    hosts, asked = hosts_of(10), keys(5000)
    ring = draw("envoy-maglev", listed(names(10), UNEVEN))
    theirs = envoy(asked, hosts, UNEVEN, cluster(), hash_keys=names(10))
    name_of = dict(zip(hosts, names(10)))
    theirs = [name_of[host] for host in theirs]
    rings.agreed(record_property, ring, asked, theirs, f"{envoy.about}, hash_key")


def test_the_controls_are_caught(envoy, draw):
    hosts, asked = hosts_of(10), keys(5000)
    theirs = envoy(asked, hosts, UNEVEN, cluster(table_size=1009))
    even = listed(hosts, [1] * 10)
    for kind, servers, choices in [
        ("envoy-maglev", listed(hosts, UNEVEN), {"table_size": 1013}),
        ("envoy-maglev", listed(hosts, UNEVEN[::-1]), {"table_size": 1009}),
        ("envoy-maglev", even, {"table_size": 1009}),
        ("envoy-ring-hash", listed(hosts, UNEVEN), {}),
    ]:
        ours = draw(kind, servers, **choices).locate(asked)
        assert rings.disagreements(ours, theirs) > 500, (kind, choices)


def test_a_map_answers_as_the_rule_with_many_rows(draw, record_property):
    """The rule in Python, at the default size; needs no Envoy."""
    hosts = [f"10.0.0.{i}:8080" for i in range(1, 101)]
    weights = [1 + i % 3 for i in range(100)]
    ring = draw("envoy-maglev", listed(hosts, weights))
    parsed = envoy_maglev.parse(ring.servers)
    asked = rings.sample(20_000)
    theirs = [envoy_maglev.place(key, parsed, {})[0] for key in asked]
    rings.agreed(record_property, ring, asked, theirs, "the rule in Python")
    equal = draw("envoy-maglev", listed(hosts, [1] * 100))
    rings.measured(record_property, equal)


def test_xxh64_is_that_of_its_own_program(record_property):
    if not rings.works(VENV, "-c", "import xxhash"):
        pytest.skip(
            "xxhash (PyPI) is not in .venv-rings-tests; scripts/rings-tests-venv makes it"
        )
    import stead

    program = (
        "import sys, xxhash\n"
        "for line in sys.stdin:\n"
        "    print(xxhash.xxh64(bytes.fromhex(line)).intdigest())"
    )
    asked = rings.sample(20_000) + [bytes(range(n)) for n in range(256)]
    lines = "".join(key.hex() + "\n" for key in asked).encode()
    theirs = list(map(int, rings.output([VENV, "-c", program], lines).split()))
    assert [hashes.xxh64(key) for key in asked] == theirs
    opened = stead.Map.open(rings.ROOT / "tests" / "maps" / "hash-xxh64.map")
    assert [opened.point(key) for key in asked] == theirs
    record_property("xxh64", f"{len(asked)} keys, 0 disagreements with xxhash (PyPI)")

"""Envoy's ring hash, against Envoy."""

import pytest
import rings
from envoy_asked import hosts_of, keys, listed, names

UNEVEN = [1, 5, 2, 17, 3, 3, 100, 1, 8, 40]


def cluster(**config):
    """What the cluster's configuration says besides its hosts."""
    return {"lb_policy": "RING_HASH", "ring_hash_lb_config": config}


def test_every_key_goes_where_envoy_sends_it(envoy, draw, record_property):
    hosts, asked = hosts_of(10), keys(20_000)
    ring = draw("envoy-ring-hash", listed(hosts, UNEVEN))
    theirs = envoy(asked, hosts, UNEVEN, cluster())
    rings.agreed(record_property, ring, asked, theirs, envoy.about)
    rings.grown_well(ring, {"name": "new", "weight": 9}, 2**64)


# ring sizes that give hosts a part of a point, and a host that gets none
OTHERS = {
    "one": ([1], {}),
    "a part of a point": (UNEVEN, {"minimum_ring_size": 77, "maximum_ring_size": 77}),
    "some without": ([1] * 10, {"minimum_ring_size": 3, "maximum_ring_size": 3}),
    "murmur": (UNEVEN, {"hash_function": "MURMUR_HASH_2"}),
    "100 equal": ([1] * 100, {}),
    "a larger ring": ([7, 11, 13], {"minimum_ring_size": 40_000}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_rings(name, envoy, draw, record_property):
    weights, config = OTHERS[name]
    hosts, asked = hosts_of(len(weights)), keys(5000)
    choices = {
        choice: value.lower() if isinstance(value, str) else value
        for choice, value in config.items()
    }
    ring = draw("envoy-ring-hash", listed(hosts, weights), **choices)
    theirs = envoy(asked, hosts, weights, cluster(**config))
    rings.agreed(record_property, ring, asked, theirs, envoy.about)
    if name == "100 equal":
        rings.measured(record_property, ring)


def test_hosts_that_are_hashed_by_their_hash_keys(envoy, draw, record_property):
    hosts, asked = hosts_of(10), keys(5000)
    ring = draw("envoy-ring-hash", listed(names(10), UNEVEN))
    theirs = envoy(asked, hosts, UNEVEN, cluster(), hash_keys=names(10))
    name_of = dict(zip(hosts, names(10)))
    theirs = [name_of[host] for host in theirs]
    rings.agreed(record_property, ring, asked, theirs, f"{envoy.about}, hash_key")


def test_the_controls_are_caught(envoy, draw):
    hosts, asked = hosts_of(10), keys(5000)
    theirs = envoy(asked, hosts, UNEVEN, cluster(minimum_ring_size=100))
    for servers, choices in [
        (listed(hosts, UNEVEN), {"minimum_ring_size": 1000}),
        (listed(hosts, UNEVEN[::-1]), {"minimum_ring_size": 100}),
        (
            listed(hosts, UNEVEN),
            {"minimum_ring_size": 100, "hash_function": "murmur_hash_2"},
        ),
        (listed(names(10), UNEVEN), {"minimum_ring_size": 100}),
    ]:
        ours = draw("envoy-ring-hash", servers, **choices).locate(asked)
        assert rings.disagreements(ours, theirs) > 500, choices

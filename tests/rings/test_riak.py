"""Riak Core's ring, against the reference, since Riak cannot be installed. The
reference gives the hashes and partitions that Riak's sources print.
"""

import pytest
import riak
import rings

AGAINST = "the reference; Riak by vectors only"
KEYS = rings.sample()


def table(partitions, nodes, indexed=False):
    """The owners of partitions: nodes take turns, as in a ring of Riak that was claimed
    at once.
    """
    step = 2**160 // partitions if indexed else 1
    return "".join(
        f"{p * step} riak@10.0.0.{p % nodes + 1}\n" for p in range(partitions)
    )


def expected(listed, some, **choices):
    """All nodes of each key, by the reference."""
    owners = riak.parse(listed)
    return [riak.place(key, owners, choices) for key in some]


# key, kind of key, hash, partitions and nodes: from Riak's docs/claim-fixes.md, and
# what its chash.erl gives
@pytest.mark.parametrize(
    ("key", "keys", "number", "where"),
    [
        (
            b"foo/bar",
            "riak",
            421486516048333064583846917797997857326251247216,
            {64: 19, 8: 3},
        ),
        (
            b"artist/REM",
            "riak",
            666603136322215606811169435479313437784925203632,
            {64: 30},
        ),
        (
            b"maps/foo/bar",
            "typed",
            610871011628207503606319776690170464748282788662,
            {64: 27},
        ),
    ],
)
def test_published_keys_are_where_riak_has_them(draw, key, keys, number, where):
    assert int(riak.sha1(riak.hashed(key, keys)).hexdigest(), 16) == number
    for partitions, partition in where.items():
        listed = "".join(f"{p} node{p}\n" for p in range(partitions))
        assert draw("riak", listed, keys=keys).locate([key]) == [f"node{partition}"]
        assert (
            riak.place(key, riak.parse(listed), {"keys": keys})[0] == f"node{partition}"
        )


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"walk": "distinct"},
        {"walk": "distinct", "cells": "partitions", "n_val": 5},
        {"keys": "typed", "n_val": 1},
        {"keys": "plain", "n_val": 2},
    ],
)
def test_every_key_has_the_preference_list_of_the_original(
    draw, record_property, choices
):
    listed = table(64, 7, indexed=True)
    ring = draw("riak", listed, **choices)
    lists = expected(listed, KEYS, **choices)
    rings.agreed(record_property, ring, KEYS, [nodes[0] for nodes in lists], AGAINST)
    assert rings.disagreements(ring.locate_all(KEYS), lists) == 0


def test_a_wrong_walk_or_owner_is_noticed(draw):
    listed, some = table(64, 7), KEYS[:5000]
    lists = draw("riak", listed).locate_all(some)
    assert rings.disagreements(lists, expected(listed, some, walk="distinct")) > 50
    assert rings.disagreements(lists, expected(listed, some, keys="plain")) > 2500
    assert (
        rings.disagreements(
            lists, expected(listed.replace("10.0.0.3", "10.0.0.9"), some)
        )
        > 1500
    )
    off_by_one = "".join(
        f"{(int(line.split()[0]) + 1) % 64} {line.split()[1]}\n"
        for line in listed.splitlines()
    )
    assert rings.disagreements(lists, expected(off_by_one, some)) > 2500


def test_a_partition_is_not_split_when_the_ring_grows(draw, record_property):
    for replicas in (1, 3):
        ring = draw("riak", table(64, 4), n_val=replicas, cells="partitions")
        rings.grown_well(ring, "riak@10.0.0.5", 64)
    whole = draw("riak", table(64, 4), n_val=1)
    rings.grown_well(whole, "riak@10.0.0.5", rings.SPACE)
    rings.measured(record_property, draw("riak", table(1024, 100), n_val=3))


def test_a_node_that_is_named_twice_is_listed_and_mended(draw):
    # partitions 0 and 63 go to the first of seven nodes
    ring = draw("riak", table(64, 7), cells="partitions")
    twice = [nodes for _, _, nodes in ring.slices() if len(set(nodes)) < len(nodes)]
    assert len(twice) == 2, twice
    # a shortfall of Riak's own does not make a file damaged: check names both slices
    assert (
        rings.stead("check", ring.map, ends=range(1, 100)).count(": 2 nodes, not 3")
        == 2
    )
    report, after = ring.grow("riak@10.0.0.8")
    assert all(len(set(nodes)) == 3 for _, _, nodes in after)
    assert int(report["moved"]["points"]) >= int(report["lower_bound"]["points"]) > 0


def test_every_example_is_as_the_reference_has_it(draw):
    for _, listed, choices in riak.EXAMPLES:
        ring = draw("riak", listed, **choices)
        assert (
            rings.disagreements(
                ring.locate_all(KEYS), expected(listed, KEYS, **choices)
            )
            == 0
        )

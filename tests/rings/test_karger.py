"""The ring of the RRD article, against the article's rule in plain Python: the article
has no program to install.
"""

from functools import lru_cache

import karger
import pytest
import rings

AGAINST = "the article's rule in Python"
KEYS = rings.sample()
LIST = "".join(f"rrd{i}.example.com {1 + i % 3}\n" for i in range(10))


def expected(listed, some, **choices):
    """All servers of each key, by the reference. Keys at one place share a walk, since
    a ring of 8 bits has only 256 places.
    """
    servers, bits = karger.parse(listed), choices.get("bits", 64)
    walk = lru_cache(None)(lambda key: karger.place(key, servers, choices))
    first_of = {}
    return [
        walk(first_of.setdefault(karger.sha1(key).digest()[0], key))
        if bits == 8
        else walk(key)
        for key in some
    ]


@pytest.mark.parametrize(
    ("choices", "some"),
    [({"bits": 8, "replicas": 3}, KEYS), ({"vnodes": 4, "replicas": 3}, KEYS)],
)
def test_every_key_is_where_the_article_has_it(draw, record_property, choices, some):
    ring, lists = draw("karger", LIST, **choices), expected(LIST, some, **choices)
    rings.agreed(record_property, ring, some, [nodes[0] for nodes in lists], AGAINST)
    assert rings.disagreements(ring.locate_all(some), lists) == 0


def test_a_wrong_ring_is_noticed(draw):
    some = KEYS[:5000]
    lists = draw("karger", LIST, vnodes=4).locate_all(some)
    assert rings.disagreements(lists, expected(LIST, some, vnodes=5)) > 500
    assert (
        rings.disagreements(
            lists, expected(LIST.replace("rrd3", "rrd33"), some, vnodes=4)
        )
        > 100
    )


@pytest.mark.parametrize(("choices", "cells"), [({}, 2**64), ({"bits": 8}, 2**8)])
def test_a_grown_ring_moves_the_least(draw, choices, cells):
    rings.grown_well(draw("karger", LIST, **choices), "rrd10.example.com", cells)

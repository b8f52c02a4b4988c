"""The ring of the RRD article: points SHA-1("0name"), SHA-1("1name") ...; a
key goes to the next points clockwise.
"""

import functools
from fractions import Fraction
from hashlib import sha1

EXAMPLES = [
    (
        "karger",
        "rrd1.example.com 2\nrrd2.example.com\nrrd3.example.com 0.5\n",
        {"vnodes": 20, "replicas": 2},
    ),
    # the article's own width: names share places
    ("karger-8", "A 2\nB\nC\n", {"vnodes": 40, "bits": 8, "replicas": 3}),
]


def parse(text):
    """[(name, weight)]"""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [
        (words[0], Fraction(words[1]) if len(words) > 1 else Fraction(1))
        for words in lines
    ]


def spot(data, bits):
    """The place of some bytes on the ring."""
    return int.from_bytes(sha1(data).digest(), "big") >> (160 - bits)


@functools.lru_cache
def ring(servers, vnodes, bits):
    """[(place, name)], in order; of names on one place the first has it."""
    found = {}
    for name, weight in servers:
        for i in range(int(vnodes * weight)):
            found.setdefault(spot(f"{i}{name}".encode(), bits), name)
    return sorted(found.items())


def place(key, servers, choices):
    """The servers of a key, primary first."""
    bits = int(choices.get("bits", 64))
    points = ring(tuple(servers), int(choices.get("vnodes", 100)), bits)
    at = spot(key, bits)
    clockwise = [name for p, name in points if p >= at] + [
        name for p, name in points if p < at
    ]
    return list(dict.fromkeys(clockwise))[: int(choices.get("replicas", 1))]

"""The golden vectors: the answers of a map for a million keys, as two digests. Every
language can compute them, and they are small to keep.

The keys are the decimal numbers from 0 up, in ASCII: b"0", b"1", ... b"999999". Both
digests are SHA-256. For each key, in this order, `digest` takes a line with the names
of all its nodes, primary first, joined by ","; `points` takes its point as 8 bytes,
big-endian. (No name has a comma or a control character, so different answers are
different bytes.)
"""

import array
import bisect
import functools
import hashlib
import sys

import hashes
import stead_reference as reference

KEYS = 1_000_000
# each map has a property that one language alone could get wrong
MAPS = [
    "three",  # one slice a node
    "many",  # 338 slices over 40 nodes; xxh3
    "article",  # sha1, weighted policies, and a pin to a policy of 81 nodes
    "pins",  # thin, by key, touching, at both ends
    "words",  # names in many alphabets, up to 255 bytes
    "weighted",  # a policy that has a weight
    "sha1",
    "siphash",  # with a secret
    "cells-16384",  # 2^14 cells, and pins that are rounded to them
    "cells-7",  # cells of unequal size
    "replicas",  # three copies over zones and racks
    "domains-2",  # two copies over zones
    "gradual",  # a change under way, with a leaving node and a named policy
    "gradual-copies",  # the same of three copies
]


def golden(maps):
    """Yields the vectors; `maps` is {name: map}."""
    for name in MAPS:
        yield {"map": name, "keys": KEYS, **answers(maps[name], KEYS)}


def asked():
    """The vectors without their answers."""
    return [{"map": name, "keys": KEYS} for name in MAPS]


def answers(m, keys):
    """The two digests of a map."""
    # adopted rings have vectors by key instead
    assert m.hash in hashes.HASHES and m.hash_number <= 4, m.name
    points = key_points(m.hash, m.secret, keys)
    if m.cells != reference.SPACE:
        points = array.array(
            "Q", (reference.cell(point, m.cells)[0] for point in points)
        )
    # locate_all() walks over all slices, so it is called once for each slice and not a
    # million times
    firsts = [first for first, _ in m.final]
    lines = [
        (",".join(reference.locate_all(m, first)) + "\n").encode() for first in firsts
    ]
    digest = hashlib.sha256()
    for point in points:
        digest.update(lines[bisect.bisect_right(firsts, point) - 1])
    return {
        "digest": digest.hexdigest(),
        "points": hashlib.sha256(big_endian(points)).hexdigest(),
    }


@functools.cache
def key_points(hash_name, secret, keys):
    """The hash of every key, computed once for all maps that share it: a million
    SipHashes take 10 s in plain Python.
    """
    return array.array(
        "Q", (hashes.point_of(hash_name, b"%d" % i, secret) for i in range(keys))
    )


def big_endian(points):
    """The points as 8 bytes each."""
    points = array.array("Q", points)
    if sys.byteorder == "little":
        points.byteswap()
    return points.tobytes()

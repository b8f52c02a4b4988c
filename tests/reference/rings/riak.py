"""Riak Core's partitions: SHA-1 of 160 bits, the next boundary clockwise, and then the
next partitions or the next nodes.
"""

from hashlib import sha1

OWNERS = ["riak1", "riak2", "riak3", "riak4", "riak5"]
# as riak_core_ring:all_owners/1 has it; five nodes do not fit sixteen partitions, so
# the walk meets its own start
INDEXED = "".join(
    f"{p * (2**160 // 16)} {OWNERS[p % 5]}@10.0.0.{p % 5 + 1}\n" for p in range(16)
)
EXAMPLES = [
    ("riak", INDEXED, {}),
    ("riak-distinct", INDEXED, {"walk": "distinct", "n_val": 3, "cells": "partitions"}),
    (
        "riak-typed",
        "".join(f"{p} n{p * 3 % 8 // 2}\n" for p in range(8)),
        {"n_val": 2, "keys": "typed"},
    ),
    (
        "riak-article",
        "0 A\n1 B\n2 C\n3 A\n",
        {"keys": "plain", "walk": "distinct", "n_val": 2, "cells": "partitions"},
    ),
]


def parse(text):
    """The owners of partitions 0, 1, ..."""
    pairs = [line.split() for line in text.splitlines() if line.strip()]
    return [name for _, name in sorted((int(index), name) for index, name in pairs)]


def term(parts):
    """Erlang's external form of nested pairs of binaries."""
    if isinstance(parts, bytes):
        return b"\x6d" + len(parts).to_bytes(4, "big") + parts
    return b"\x68\x02" + b"".join(map(term, parts))


def hashed(key, keys):
    """The bytes that SHA-1 gets."""
    if keys == "plain":
        return key
    kind = None
    if keys == "typed":
        kind, slash, rest = key.partition(b"/")
        kind, key = (kind, rest) if slash else (b"", key)
    bucket, slash, rest = key.partition(b"/")
    bucket, rest = (bucket, rest) if slash else (b"", key)
    return b"\x83" + term((bucket if kind is None else (kind, bucket), rest))


def place(key, servers, choices):
    """The nodes of a key: its preference list."""
    number = int.from_bytes(
        sha1(hashed(key, choices.get("keys", "riak"))).digest(), "big"
    )
    start = (number // (2**160 // len(servers)) + 1) % len(servers)
    around = servers[start:] + servers[:start]
    if choices.get("walk") == "distinct":
        around = list(dict.fromkeys(around))
    return around[: int(choices.get("n_val", 3))]

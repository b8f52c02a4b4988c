"""uhashring's two rules in plain Python, after ring.py, ring_meta.py and ring_ketama.py
of 2.5.
"""

import hashlib
import struct

EXAMPLES = [
    ("uhashring", "redis1 1\nredis2 3\nredis3 0\nredis4 2\n", {"vnodes": "40"}),
    (
        "uhashring-ketama",
        "redis1:6379 1\nredis2:6379 3\nredis3:6379 2\n",
        {"hash": "ketama", "replicas": "3"},
    ),
]


def parse(servers):
    """(name, weight) pairs."""
    return [
        (name, int(weight))
        for name, weight in (
            (line.split() + ["1"])[:2] for line in servers.splitlines()
        )
    ]


def place(key, nodes, choices):
    """The node of a key: the one of the first point AFTER its hash. Of nodes on one
    point the last has it.
    """
    ketama = choices.get("hash", "md5") == "ketama"
    vnodes = int(choices.get("vnodes", 0)) or (40 if ketama else 160)
    replicas = int(choices.get("replicas", 4))
    ring = {}
    for name, weight in nodes:
        count = (
            vnodes * len(nodes) * weight // sum(weight for _, weight in nodes)
            if ketama
            else vnodes * weight
        )
        for w in range(count):
            for point in numbers(f"{name}-{w}".encode(), ketama)[:replicas]:
                ring[point] = name
    own = numbers(key, ketama)[0]
    return [ring[min((point for point in ring if point > own), default=min(ring))]]


def numbers(data, ketama):
    """The four words of MD5, or the whole of it."""
    digest = hashlib.md5(data).digest()
    return (
        list(struct.unpack("<4I", digest))
        if ketama
        else [int.from_bytes(digest, "big")]
    )

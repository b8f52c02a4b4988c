"""twemproxy's ketama and modula in plain Python, after nc_ketama.c, nc_modula.c and
nc_conf.c of 0.5.0; walks over all points for every key.
"""

import hashlib
import math
import struct

import hashes

MIXED = """servers:
   - 127.0.0.1:11211:1
   - 127.0.0.1:22122:3 beta
   - 127.0.0.1:22123:2 alpha
   - "10.0.0.1:11212:2"
   - /run/memcached.sock:1
"""
EXAMPLES = [
    ("twemproxy", MIXED, {}),
    ("twemproxy-modula", MIXED, {"distribution": "modula", "parts": "10"}),
    (
        "twemproxy-unsigned",
        MIXED,
        {"hash": "one_at_a_time", "char": "unsigned"},
    ),
]

NAMES = {
    "one_at_a_time": "one-at-a-time",
    "md5": "md5-le32",
    "crc32": "crc32-15",
    "crc32a": "crc32",
    "fnv1_64": "fnv1-64",
    "fnv1a_64": "fnv1a-64",
    "fnv1_32": "fnv1-32",
    "fnv1a_32": "fnv1a-32",
}


def single(x):
    """A float of C: rounded to 4 bytes."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def parse(servers):
    """(label, weight, node) of each server, in the order in which twemproxy sorts them."""
    found = []
    for line in servers.splitlines():
        entry = line.strip().removeprefix("- ").strip('"')
        if entry == "servers:":
            continue
        place, _, name = entry.partition(" ")
        address, _, weight = place.rpartition(":")
        label = name or address.removesuffix(":11211")
        if address.startswith("/") and not name:
            label = address + ":"
        found.append((label, int(weight), name or address))
    return sorted(found, key=lambda server: (len(server[0]), server[0].encode()))


def takes(key):
    """twemproxy gives the empty key the hash 0, which no map can."""
    return key != b""


def number(key, choices):
    """The hash of a key."""
    name = NAMES[choices.get("hash", "fnv1a_64")]
    if name.startswith(("fnv", "one")) and choices.get("char", "signed") == "signed":
        name += "-signed"
    return hashes.number_of(name, key)


def place(key, listed, choices):
    """The server of a key."""
    own = number(key, choices)
    if choices.get("distribution") == "modula":
        slots = [node for _, weight, node in listed for _ in range(weight)]
        return [slots[own % len(slots)]]
    ring = sorted(points(listed))
    owner = next((i for point, i in ring if point >= own), ring[0][1])
    return [listed[owner][2]]


def points(listed):
    """(point, index of its server) of every point."""
    total = sum(weight for _, weight, _ in listed)
    for i, (label, weight, _) in enumerate(listed):
        part = single(single(weight) / single(total))
        product = single(single(single(part * 160) / 4) * len(listed))
        # the sum is in double precision
        for k in range(math.floor(single(product + 1e-10))):
            digest = hashlib.md5(f"{label}-{k}".encode()).digest()
            yield from ((point, i) for point in struct.unpack("<4I", digest))

"""libmemcached's rules in plain Python, after hosts.cc and hash.cc of 1.1.4; walks over
all points for every key.
"""

import hashlib
import math
import struct

import hashes

EIGHT = [f"10.0.1.{i}" for i in range(1, 9)]
WEIGHTS = [600, 300, 200, 350, 1000, 800, 950, 100]
EXAMPLES = [
    (
        "libmemcached",
        ",".join(f"{host}:11211:{weight}" for host, weight in zip(EIGHT, WEIGHTS)),
        {},
    ),
    # 25 equal servers: 39 digests each, not 40
    ("libmemcached-25", "\n".join(f"cache{i}:11212" for i in range(25)), {}),
    ("libmemcached-consistent", "\n".join(EIGHT), {"mode": "consistent"}),
    (
        "libmemcached-unsigned",
        "\n".join(EIGHT),
        {"mode": "consistent", "char": "unsigned"},
    ),
    # one weight above 1 changes the points, but not the hash of keys
    (
        "libmemcached-turned",
        "10.0.1.1:11211:2,10.0.1.2,10.0.1.3:11212",
        {"mode": "consistent", "hash": "fnv1a_64"},
    ),
    ("libmemcached-spy", "\n".join(EIGHT), {"mode": "spy"}),
    ("libmemcached-modula", "a,b,c,d,e,f,g", {"mode": "modula", "parts": "10"}),
]

NAMES = {
    "one_at_a_time": "one-at-a-time",
    "md5": "md5-le32",
    "crc": "crc32-15",
    "fnv1_64": "fnv1-64",
    "fnv1a_64": "fnv1a-64",
    "fnv1_32": "fnv1-32",
    "fnv1a_32": "fnv1a-32",
}


def single(x):
    """A float of C: rounded to 4 bytes."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def parse(servers):
    """(host, port, weight) of HOST[:PORT][:WEIGHT], separated by commas or lines. The
    other ways of writing are the program's.
    """
    found = []
    for entry in servers.replace("\n", ",").split(","):
        if entry:
            host, port, weight = (entry.split(":") + ["", ""])[:3]
            found.append((host, int(port or 11211), int(weight or 1)))
    return found


def number(name, char, key):
    """The hash of keys."""
    name = NAMES[name]
    if char == "signed" and name not in ("md5-le32", "crc32-15"):
        name += "-signed"
    return hashes.number_of(name, key)


def place(key, listed, choices):
    """The server of a key, as HOST:PORT."""
    mode, char = choices.get("mode", "weighted"), choices.get("char", "signed")
    name = choices.get(
        "hash", "md5" if mode in ("weighted", "spy") else "one_at_a_time"
    )
    own = number(name, char, choices.get("namespace", "").encode() + key)
    if mode == "modula":
        owner = own % len(listed)
    else:
        ring = sorted(points(listed, mode, lambda label: number(name, char, label)))
        owner = next((i for point, i in ring if point >= own), ring[0][1])
    host, port, _ = listed[owner]
    return [f"{host}:{port}"]


def points(listed, mode, hash_of_keys):
    """(point, index of its server) of every point."""
    weighted = mode in ("weighted", "spy") or any(weight > 1 for _, _, weight in listed)
    total = sum(weight for _, _, weight in listed)
    for i, (host, port, weight) in enumerate(listed):
        label = (
            f"/{host}:{port}"
            if mode.startswith("spy")
            else host
            if port == 11211
            else f"{host}:{port}"
        )
        if not weighted:
            yield from ((hash_of_keys(f"{label}-{k}".encode()), i) for k in range(100))
            continue
        share = single(single(weight) / single(total))
        step = single(single(single(share * 160) / 4) * len(listed))
        for k in range(math.floor(single(step + single(1e-10)))):
            yield from (
                (point, i)
                for point in struct.unpack(
                    "<4I", hashlib.md5(f"{label}-{k}".encode()).digest()
                )
            )

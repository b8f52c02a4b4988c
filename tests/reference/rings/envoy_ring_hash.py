"""Envoy's ring hash in plain Python, after ring_hash_lb.cc; walks over all points for
every key.
"""

import functools
import math

import hashes

MASK = 2**64 - 1
EXAMPLES = [
    # 7 / 3, 14 / 3 and 7 points: targets that are not whole numbers
    (
        "envoy-ring-hash",
        "10.0.0.1:8080 1\n10.0.0.2:8080 2\n[fd00::3]:8080 3\n",
        {"minimum_ring_size": "14", "maximum_ring_size": "14"},
    ),
    (
        "envoy-ring-hash-names",
        "".join(f"host{i}.example.com {1 + i % 4}\n" for i in range(7)),
        {"minimum_ring_size": "100"},
    ),
    (
        "envoy-ring-hash-murmur",
        "a\nbc 2\nd\n",
        {"hash_function": "murmur_hash_2", "minimum_ring_size": "20"},
    ),
]


def parse(servers):
    """(name, weight) pairs."""
    pairs = ((line.split() + ["1"])[:2] for line in servers.splitlines())
    return tuple((name, int(weight)) for name, weight in pairs)


def place(key, hosts, choices):
    """The host of a request whose header, cookie ... has this value."""
    least = int(choices.get("minimum_ring_size", 1024))
    most = int(choices.get("maximum_ring_size", 8388608))
    hash_ = murmur if choices.get("hash_function") == "murmur_hash_2" else hashes.xxh64
    ring = points(hosts, least, most, hash_)
    own = hashes.xxh64(key)
    return [next((name for point, name in ring if point >= own), ring[0][1])]


@functools.lru_cache
def points(hosts, least, most, hash_):
    """(point, name) of every point, in order."""
    total = sum(weight for _, weight in hosts)
    parts = [weight * 1.0 / total for _, weight in hosts]
    lightest = min(parts)
    scale = min(math.ceil(lightest * least) / lightest, float(most))
    ring, target = [], 0.0
    for (name, _), part in zip(hosts, parts):
        target += scale * part
        i = 0
        while len(ring) < target:
            ring.append((hash_(f"{name}_{i}".encode()), name))
            i += 1
    return sorted(ring)


def murmur(data):
    """MurmurHash64A (Austin Appleby) with the seed of libstdc++'s std::hash."""
    m = 0xC6A4A7935BD1E995
    h = 0xC70F6907 ^ len(data) * m & MASK
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at : at + 8], "little") * m & MASK
        k = (k ^ k >> 47) * m & MASK
        h = (h ^ k) * m & MASK
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & MASK
    h = (h ^ h >> 47) * m & MASK
    return h ^ h >> 47

"""The rules of Perl's Cache::Memcached::Fast in plain Python, after src/dispatch_key.c
of 0.28.
"""

import re
import zlib

FOUR = """servers => [
  '10.0.1.1:11211',
  { address => '10.0.1.2:11211', weight => 2.5 },
  ['10.0.1.3:11211', 0.7],
  '10.0.1.4:11211',
],
"""
EXAMPLES = [
    ("cache-memcached-fast", FOUR, {"ketama_points": "150"}),
    # without ketama_points weights are rounded on a continuum; no namespace, since maps
    # with one are read by their owner alone
    (
        "cache-memcached-fast-buckets",
        "['10.0.1.1:11211', 0.4]\n['10.0.1.2:11211', 2.5]\n",
        {},
    ),
]


def parse(servers):
    """(address, weight) pairs."""
    found = []
    for line in servers.splitlines():
        weight = re.search(r"(?:weight =>|',)\s*([0-9.]+)", line)
        address = re.search("'([^']+)'", line)
        if address:
            found.append((address[1], float(weight[1]) if weight else 1.0))
    return found


def place(key, listed, choices):
    """The server of a key."""
    crc = zlib.crc32(choices.get("namespace", "").encode() + key)
    count = int(choices.get("ketama_points", 0))
    owner = (
        on_ring(crc, listed, count)
        if count
        else in_bucket(crc, listed, int(choices.get("zero", 0)))
    )
    return [listed[owner][0]]


def on_ring(crc, listed, count):
    """The owner with ketama_points: the first point at the CRC or after it."""
    points = []
    for i, (address, weight) in enumerate(listed):
        host, _, port = address.rpartition(":") if ":" in address else (address, "", "")
        point = 0
        for _ in range(int(count * weight + 0.5)):
            point = zlib.crc32(
                host.encode() + b"\0" + port.encode() + point.to_bytes(4, "little")
            )
            points.append((point, i))
    points.sort()
    return next((i for point, i in points if point >= crc), points[0][1])


def in_bucket(crc, listed, zero):
    """The owner without: a bucket, and the server on whose run of the continuum it
    stands.
    """
    most = 2**32 - 1
    ends, total = [], 0.0
    for _, weight in listed:
        total += weight
        ends = [int(end - end * (weight / total)) for end in ends] + [most]
    number = crc >> 16 & 0x7FFF or zero
    bucket = number % int(total + 0.5)
    point = int(bucket / total * most + 0.5) + 1
    return next((i for i, end in enumerate(ends) if end >= point), 0)

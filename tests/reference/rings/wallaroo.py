"""Wallaroo's partitions: lower bounds of 128 bits, MD5 big-endian; the last bound that
is not above the key's number.
"""

from hashlib import md5

EXAMPLES = [
    (
        "wallaroo",
        (
            "0 worker1\n0x55555555555555555555555555555555 worker2\n"
            "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa worker3\n"
            "0xe0000000000000000000000000000000 worker1\n"
        ),
        {},
    ),
]


def parse(text):
    """[(bound, name)]"""
    return [
        (int(bound, 0), name)
        for bound, name in (line.split() for line in text.splitlines() if line.strip())
    ]


def place(key, servers, choices):
    """The worker of a key."""
    number = int.from_bytes(md5(key).digest(), "big")
    return [max(server for server in servers if server[0] <= number)[1]]

"""Envoy's Maglev table in plain Python, after maglev_lb.cc of 1.27."""

import functools

import hashes

EXAMPLES = [
    (
        "envoy-maglev",
        "".join(f"10.0.0.{i}:8080 {1 + i % 3}\n" for i in range(1, 12)),
        {"table_size": "251"},
    ),
    # the weights 1 / 7 and 2 / 7 have no exact double
    ("envoy-maglev-names", "one 1\ntwo 2\nthree 4\n", {"table_size": "101"}),
]


def parse(servers):
    """(name, weight) pairs."""
    pairs = ((line.split() + ["1"])[:2] for line in servers.splitlines())
    return tuple((name, int(weight)) for name, weight in pairs)


def place(key, hosts, choices):
    """The host of a request whose header, cookie ... has this value."""
    rows = table(hosts, int(choices.get("table_size", 65537)))
    return [rows[hashes.xxh64(key) % len(rows)]]


@functools.lru_cache
def table(hosts, size):
    """The host of each row."""
    total = sum(weight for _, weight in hosts)
    parts = {name: weight * 1.0 / total for name, weight in sorted(hosts)}
    sequences = {name: rows_of(name, size) for name in parts}
    targets = dict.fromkeys(parts, 0.0)
    rows, turn = {}, 0
    while len(rows) < size:
        turn += 1
        for name, part in parts.items():
            if turn * part >= targets[name] and len(rows) < size:
                targets[name] += max(parts.values())
                row = next(row for row in sequences[name] if row not in rows)
                rows[row] = name
    return [rows[row] for row in range(size)]


def rows_of(name, size):
    """The rows that a host wants, the first first."""
    offset = hashes.xxh64(name.encode()) % size
    skip = hashes.xxh64(name.encode(), 1) % (size - 1) + 1
    return ((offset + skip * i) % size for i in range(size))

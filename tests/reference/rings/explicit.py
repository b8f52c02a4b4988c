"""A table of bounds or buckets, which is itself the rule."""

import hashes

EXAMPLES = [
    ("explicit-modulo", "0-4 a,b\n5 c,a\n6-9 b,c\n", {"modulo": 10, "hash": "crc32"}),
    (
        "explicit-ids",
        "0 shard1\n1000 shard2\n5000000 shard3\n0x100000000 shard1\n",
        {"hash": "decimal"},
    ),
    (
        "explicit-user-mod",
        "".join(f"{n} db{n % 3 + 1}\n" for n in range(12)),
        {"modulo": 12, "hash": "decimal"},
    ),
    (
        "explicit-ranges",
        "0x0000-0x7fff a\n0xc000-0xffff c\n0x8000-0xbfff b\n",
        {"hash": "fnv1a-fold16"},
    ),
]


def parse(text):
    """[(first, last or None, nodes)]"""
    rows = []
    for line in text.splitlines():
        cells, nodes = line.split()
        first, _, last = cells.partition("-")
        rows.append((int(first, 0), int(last, 0) if last else None, nodes.split(",")))
    return rows


def place(key, servers, choices):
    """The nodes of a key."""
    name, buckets = choices.get("hash", "md5"), int(choices.get("modulo", 0))
    bits = hashes.ADOPTED[name][1] if name in hashes.ADOPTED else 64
    cell = hashes.cell_of(name, key, buckets or 2**bits, modulo=buckets > 0)
    if buckets or any(last is not None for _, last, _ in servers):
        (nodes,) = [
            nodes
            for first, last, nodes in servers
            if first <= cell <= (first if last is None else last)
        ]
        return nodes
    return max(row for row in servers if row[0] <= cell)[2]

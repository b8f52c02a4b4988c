"""Graphite's relays: 100 points a destination on 65,536 positions; carbon moves a point
to the next free position, carbon-c-relay does not.
"""

import bisect
import functools
from hashlib import md5

import hashes

# quoted by repr in three ways; two on one server; one without instance
LISTED = (
    "10.0.0.1:2004:a, 10.0.0.1:2104:b, 10.0.0.2:2004:it's, [fd00::3]:2004:c, "
    '10.0.0.4:2004, 10.0.0.5:2004:"q", 10.0.0.6:2004:\'"'
)
EXAMPLES = [
    ("carbon", LISTED, {"replication_factor": 2}),
    (
        "carbon-fnv1a",
        LISTED,
        {"hash": "fnv1a_ch", "replication_factor": 3, "diverse_replicas": "false"},
    ),
    (
        "carbon-relay",
        "10.0.0.2:2003=b 10.0.0.1:2003=a\n10.0.0.3:2003\n",
        {"collisions": "none"},
    ),
    (
        "carbon-relay-fnv1a",
        "h1:2003 h1:2004 h2:2003=x",
        {"collisions": "none", "hash": "fnv1a_ch", "replication_factor": 2},
    ),
]


def parse(text):
    """((host, port, instance or None, as it is written), ...)"""
    rows = []
    for word in text.replace("DESTINATIONS =", "").replace(",", " ").split():
        host, rest = (
            word[1:].split("]:") if word.startswith("[") else word.split(":", 1)
        )
        sign = "=" if "=" in rest else ":"
        port, found, instance = rest.partition(sign)
        rows.append((host, int(port), instance if found else None, word))
    return tuple(rows)


def position(data, fnv):
    """The position of some bytes."""
    return (
        hashes.number_of("fnv1a-fold16", data)
        if fnv
        else int(md5(data).hexdigest()[:4], 16)
    )


@functools.lru_cache
def ring(servers, fnv, bump):
    """[(position, row)], in order."""
    found = {}
    if not bump:
        servers = sorted(
            servers,
            key=lambda row: (
                (row[0], row[1]) if fnv else (row[0], row[2] is None, row[2] or "")
            ),
        )
    for row in servers:
        host, port, instance, _ = row
        for i in range(100):
            if bump:
                text = f"{i}-{instance}" if fnv else f"{(host, instance)}:{i}"
            elif fnv:
                text = f"{i}-{host}:{port}" if instance is None else f"{i}-{instance}"
            else:
                text = (
                    f"('{host}', None):{i}"
                    if instance is None
                    else f"('{host}', '{instance}'):{i}"
                )
            at = position(text.encode(), fnv)
            while bump and at in found:
                at += 1
            found.setdefault(at, row)
    return sorted(found.items())


def place(key, servers, choices):
    """The destinations of a metric."""
    fnv, bump = choices.get("hash") == "fnv1a_ch", choices.get("collisions") != "none"
    diverse = bump and choices.get("diverse_replicas") != "false"
    points = ring(servers, fnv, bump)
    start = bisect.bisect_left(points, (position(key, fnv),))
    found = {}
    for _, row in points[start:] + points[:start]:
        found.setdefault(row[0] if diverse else row, row[3])
        if len(found) == int(choices.get("replication_factor", 1)):
            break
    return list(found.values())

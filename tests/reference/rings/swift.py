"""OpenStack Swift's part rings: MD5 of prefix, /account/container/object, suffix; its
first bits are the partition, rows of devices have its nodes.
"""

import gzip
import json
import struct
from hashlib import md5


def ring_file(devices, rows, power, order="little"):
    """A .ring.gz of format 1."""
    head = {
        "byteorder": order,
        "devs": devices,
        "part_shift": 32 - power,
        "replica_count": len(rows),
        "version": 4,
    }
    text = json.dumps(head, sort_keys=True).encode()
    data = b"R1NG\0\1" + struct.pack("!I", len(text)) + text
    data += b"".join(
        struct.pack(("<" if order == "little" else ">") + f"{len(row)}H", *row)
        for row in rows
    )
    return gzip.compress(data, mtime=0)


def device(number, zone, ip, weight):
    """A device as swift-ring-builder writes it."""
    return {
        "id": number,
        "region": 1,
        "zone": zone,
        "ip": ip,
        "port": 6200,
        "device": "sdb1",
        "weight": weight,
        "meta": "",
        "replication_ip": ip,
        "replication_port": 6200,
    }


DEVICES = [
    device(0, 1, "10.0.0.1", 100.0),
    None,
    device(2, 2, "10.0.0.2", 100.0),
    device(3, 3, "fd00::3", 50.0),
]
EXAMPLES = [
    (
        "swift",
        ring_file(
            DEVICES,
            [
                [0, 2, 3, 0, 2, 0, 2, 0],
                [2, 0, 0, 3, 0, 2, 0, 2],
                [3, 3, 2, 2, 3, 3, 0, 3],
            ],
            3,
        ),
        {"suffix": "changeme"},
    ),
    # a device that holds two copies of a partition is listed once
    (
        "swift-big",
        ring_file(DEVICES, [[0, 2, 3, 0], [0, 3, 2, 2]], 2, "big"),
        {"prefix": "é", "suffix": "x"},
    ),
]


def parse(data):
    """(devices, rows, power)"""
    data = gzip.decompress(data)
    (length,) = struct.unpack_from("!I", data, 6)
    head = json.loads(data[10 : 10 + length])
    power, sign = (
        32 - head["part_shift"],
        "<" if head.get("byteorder", "little") == "little" else ">",
    )
    rows = [
        struct.unpack_from(f"{sign}{2**power}H", data, 10 + length + row * 2 * 2**power)
        for row in range(head["replica_count"])
    ]
    return head["devs"], rows, power


def place(key, servers, choices):
    """The devices of a key."""
    devices, rows, power = servers
    digest = md5(
        choices.get("prefix", "").encode() + key + choices.get("suffix", "").encode()
    ).digest()
    part = int.from_bytes(digest[:4], "big") >> 32 - power
    found = [devices[row[part]] for row in rows]
    names = [
        f"[{d['ip']}]:{d['port']}/{d['device']}"
        if ":" in d["ip"]
        else f"{d['ip']}:{d['port']}/{d['device']}"
        for d in found
    ]
    return list(dict.fromkeys(names))

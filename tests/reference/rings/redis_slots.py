"""Redis Cluster: slot = CRC-16/XMODEM of the tag modulo 16384; its master, then the
master's replicas.
"""

import binascii

NODES = (
    "07c37df1 10.0.0.4:6379@16379,host-4 slave e7d1eecc 0 1426238317239 4 connected\n"
    "67ed2db8 10.0.0.2:6379@16379 master - 0 1426238316232 2 connected 5461-10921 10923\n"
    "292f8b36 10.0.0.3:6379@16379,,shard-id=69bc master - 0 1426238318243 3 connected "
    "10922 10924-16383\n"
    "6ec23923 10.0.0.5:6379@16379 slave 67ed2db8 0 1426238316232 5 connected\n"
    "824fe116 10.0.0.6:6379@16379 slave 292f8b36 0 1426238317741 6 connected\n"
    "e7d1eecc 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-5460\n"
)
EXAMPLES = [
    ("redis-slots", NODES, {}),
    ("redis-slots-masters", NODES, {"nodes": "masters", "names": "id"}),
]


def parse(text):
    """[(id, address, master's id or -, slots)]"""
    rows = []
    for line in text.splitlines():
        words = line.split()
        slots = set()
        for word in words[8:]:
            first, _, last = word.partition("-")
            slots.update(range(int(first), int(last or first) + 1))
        rows.append((words[0], words[1].split("@")[0], words[3], slots))
    return rows


def slot_of(key):
    """The slot of a key."""
    opened = key.find(b"{")
    closed = key.find(b"}", opened + 1)
    if opened >= 0 and closed > opened + 1:
        key = key[opened + 1 : closed]
    return binascii.crc_hqx(key, 0) % 16384


def place(key, servers, choices):
    """The nodes of a key."""
    slot = slot_of(key)
    (master,) = [row for row in servers if slot in row[3]]
    nodes = [master] + [
        row
        for row in servers
        if row[2] == master[0] and choices.get("nodes") != "masters"
    ]
    return [row[0 if choices.get("names") == "id" else 1] for row in nodes]

"""libketama's rule in plain Python, after RJ/ketama libketama/ketama.c; walks over all
points for every key.
"""

import hashlib
import math
import re
import struct

EXAMPLES = [
    # comments, and a last line without an end, whose memory is 60
    (
        "libketama",
        "# the caches\n10.0.1.1:11211\t600\n\n10.0.1.2:11211 300\r\n10.0.1.3:11211 600",
        {},
    ),
    # 61 equal servers: 39 digests each, not 40
    ("libketama-61", "".join(f"10.0.2.{i}:11211 512\n" for i in range(1, 62)), {}),
]


def single(x):
    """A float of C: rounded to 4 bytes."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def parse(servers):
    """(address, memory) pairs, as read_server_line reads them."""
    found = []
    for line in servers.splitlines(keepends=True):
        if len(line) < 2 or line.startswith("#"):
            continue
        address, memory = re.split("[\t ]+", line)[:2]
        found.append((address, int(re.match("[0-9]+", memory[:-1])[0])))
    return found


def place(key, listed, choices):
    """The server of a key."""
    total = sum(memory for _, memory in listed)
    own = struct.unpack("<I", hashlib.md5(key).digest()[:4])[0]
    best = lowest = None
    for i, (address, memory) in enumerate(listed):
        share = single(single(memory) / single(total))
        for k in range(math.floor(single(share * 40.0 * len(listed)))):
            for point in struct.unpack(
                "<4I", hashlib.md5(f"{address}-{k}".encode()).digest()
            ):
                # the lowest point at the key's hash or above it; without one, the
                # lowest of all
                if lowest is None or (point, i) < lowest:
                    lowest = point, i
                if point >= own and (best is None or (point, i) < best):
                    best = point, i
    return [listed[(best or lowest)[1]][0]]

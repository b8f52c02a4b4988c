"""The reference implementation, written only from stead's documents: reads keys in hex,
one per line, and prints the node of each.
"""

import os
import sys

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "reference")
)
import stead_reference

with open(sys.argv[1], "rb") as file:
    map = stead_reference.read_map(file.read())
for line in sys.stdin:
    print(stead_reference.locate(map, map.point(bytes.fromhex(line))))

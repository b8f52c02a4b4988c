"""stead in Python: `python where.py MAP` reads keys in hex, one per line, and prints
the node of each.
"""

import sys

import stead

map = stead.Map.open(sys.argv[1])
for line in sys.stdin:
    print(map.locate(bytes.fromhex(line)))

"""Prints where the real uhashring places each key: `uhashring_where.py NODES OPTIONS`,
both JSON, reads keys in hex from standard input and prints a node a line.

It runs in .venv-rings-tests, where the package uhashring is.
"""

import json
import sys

from uhashring import HashRing

ring = HashRing(nodes=json.loads(sys.argv[1]), **json.loads(sys.argv[2]))
for line in sys.stdin:
    print(ring.get_node(bytes.fromhex(line).decode()))

"""Where the real uhashring says that each key lives: `uhashring_where.py NODES
OPTIONS`, both JSON, keys in hex on standard input, a node a line.

It runs in .venv-rings-tests, where the package uhashring is.
"""

import json
import sys

from uhashring import HashRing

ring = HashRing(nodes=json.loads(sys.argv[1]), **json.loads(sys.argv[2]))
for line in sys.stdin:
    print(ring.get_node(bytes.fromhex(line).decode()))

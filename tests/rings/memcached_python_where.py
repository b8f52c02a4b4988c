"""Prints where python-memcached puts each key: `memcached_python_where.py SERVERS` reads
keys in hex and prints an address a line. SERVERS is JSON of [address, weight] pairs.

It runs in .venv-rings-tests, where the package python-memcached is. The servers must
answer, or it would take the next one.
"""

import json
import sys

import memcache

client = memcache.Client(
    [tuple(server) for server in json.loads(sys.argv[1])], socket_timeout=60
)
for line in sys.stdin:
    server, _ = client._get_server(bytes.fromhex(line))
    host, port = server.address
    print(f"{host}:{port}")

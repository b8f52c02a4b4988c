"""where MAP KEY...: prints the nodes of each key and their addresses, one line per
node, the primary first.
"""

import os
import sys

import stead


def main(arguments):
    if not arguments:
        print("usage: where MAP KEY...", file=sys.stderr)
        return 2
    path, *keys = arguments
    try:
        members = stead.Map.open(path)
    except stead.Error as error:
        print(f"where: {error}", file=sys.stderr)
        return 1
    addresses = {
        node.name: node.attributes.get("address", "no address")
        for node in members.nodes
    }
    for key in map(os.fsencode, keys):  # the bytes that the shell passed
        for node in members.locate_all(key):
            sys.stdout.buffer.write(
                b"%b\t%b\t%b\n" % (key, node.encode(), addresses[node].encode())
            )
    return 0


sys.exit(main(sys.argv[1:]))

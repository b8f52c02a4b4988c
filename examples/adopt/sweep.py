"""Deletes from each server the items that belong to another server by the map: the
copies that second looks have left behind.

    python3 sweep.py [--prefix TEXT] MAP        only keys that begin with TEXT

Run it when no client takes second looks any more, and before the next change.
Otherwise, when a key comes back to a server, the server still has the item as it was
when the key left. It assumes that all keys on these servers belong to the map; if other
applications use the servers, too, name your keys with --prefix.
"""

import argparse

import stead
from keys import keys
from pymemcache.client.base import Client


def main():
    parser = argparse.ArgumentParser(prog="sweep.py")
    parser.add_argument("--prefix", default="")
    parser.add_argument("map")
    given = parser.parse_args()
    members = stead.Map.open(given.map)
    for node in members.nodes:
        server = node.attributes.get("address", node.name)
        there = [key for key in keys(server) if key.startswith(given.prefix.encode())]
        leftover = [
            key
            for key, owner in zip(there, members.locate_many(there))
            if owner != node.name
        ]
        client = Client(server)
        for key in leftover:
            client.delete(key, noreply=False)
        client.close()
        print(
            f"{node.name}: {len(there)} keys, {len(leftover)} of them lived elsewhere "
            "and are deleted"
        )


if __name__ == "__main__":
    main()

"""Deletes from each server what lives elsewhere by the map: the copies that a second
look has left behind.

    python3 sweep.py [--prefix TEXT] MAP        only keys that begin with TEXT

Run it when no client takes a second look any more, and before the next change: a key
that comes back to a server would else be found there as it was when it left. It takes
every key of these servers for the map's; where others use them too, say which keys are
yours.
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

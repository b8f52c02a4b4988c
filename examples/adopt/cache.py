"""A cache in memcached whose servers a map chooses: what a site writes on top of stead.
cache.php and cache.pl are the same.

While a site changes over, or grows, an item may still be where it was before. So a read
that finds nothing at the map's node looks a second time, where the client of before
would have put it, and copies what it finds to where it belongs. Writes and deletes go
to all places that a read may look at, so that no second look finds what is out of date.
"""

import argparse
import functools
import sys

import stead
from pymemcache.client.base import Client


class Cache:
    """
    path: the map's file; None: the client of today alone.
    back: into how many epochs before this one a read looks, too.
    old: the client of today, for the change-over.
    lifetime: of what is set or copied, in seconds; 0: for ever.
    """

    def __init__(self, path, back=0, old=None, lifetime=0):
        self.path, self.back, self.old, self.lifetime = path, back, old, lifetime
        # how often a second look found an item; when it stays 0 for as long as items
        # live, the second look can go
        self.copied = 0

    def get(self, key):
        """The value of a key; None when no place has it. A server that does not answer
        has nothing.
        """
        clients = self.clients(key)
        for place, client in enumerate(clients):
            value = client.get(key)
            if value is not None:
                if place > 0:
                    self.copied += 1
                    # not set: somebody may have written a newer one meanwhile
                    clients[0].add(key, value, self.lifetime)
                return value
        return None

    def set(self, key, value):
        """Sets a key; whether the place where it belongs took it."""
        taken = [client.set(key, value, self.lifetime) for client in self.clients(key)]
        return taken[0]

    def delete(self, key):
        """Deletes a key; whether the place where it belongs had it."""
        deleted = [client.delete(key) for client in self.clients(key)]
        return deleted[0]

    def clients(self, key):
        """The clients of the servers that may have a key: where it belongs, then where
        it was before; none twice.
        """
        clients = []
        if self.path is not None:
            # for each question: it costs one stat, and a new epoch is seen at once
            members = stead.Map.open(self.path)
            clients.append(server(address(members, key)))
            for epoch in range(
                members.epoch - 1, max(0, members.epoch - 1 - self.back), -1
            ):
                try:
                    client = server(
                        address(stead.Map.open(f"{self.path}.history/{epoch}"), key)
                    )
                except stead.NotFoundError:
                    break  # stead keeps 32 epochs
                if client not in clients:
                    clients.append(client)
        if self.old is not None:
            clients.append(self.old)
        return clients


@functools.lru_cache(maxsize=64)
def addresses(members):
    """The addresses of a map's nodes: made anew when the epoch changes, since maps are
    equal when their digests are.
    """
    return {
        node.name: node.attributes.get("address", node.name) for node in members.nodes
    }


def address(members, key):
    """The address of the server that a map gives a key."""
    return addresses(members)[members.locate(key)]


@functools.cache
def server(at):
    """The client of one server: it knows no other, so it has nothing to choose. What
    fails is a miss.
    """
    return Client(
        at,
        connect_timeout=5,
        timeout=5,
        no_delay=True,
        ignore_exc=True,
        default_noreply=False,
    )


class Today:
    """The client of today: uhashring chooses the server."""

    def __init__(self, servers):
        from uhashring import HashRing

        self.ring = HashRing(nodes=servers)

    def get(self, key):
        return server(self.ring.get_node(key)).get(key)

    def set(self, key, value, lifetime):
        return server(self.ring.get_node(key)).set(key, value, lifetime)

    def add(self, key, value, lifetime):
        return server(self.ring.get_node(key)).add(key, value, lifetime)

    def delete(self, key):
        return server(self.ring.get_node(key)).delete(key)


def main():
    """Answers `get KEY`, `set KEY VALUE`, `delete KEY`, `copied` and `epoch`, one on a
    line.
    """
    parser = argparse.ArgumentParser(prog="cache.py")
    parser.add_argument("--back", type=int, default=0)
    parser.add_argument("--old", metavar="HOST:PORT,...")
    parser.add_argument("map", nargs="?")
    given = parser.parse_args()
    if given.map is None and given.old is None:
        sys.exit(
            "cache.py: name a map, or the servers of today with --old HOST:PORT,..."
        )
    cache = Cache(
        given.map, given.back, Today(given.old.split(",")) if given.old else None
    )
    for line in sys.stdin:
        verb, key, value = [*line.rstrip("\n").split(" ", 2), "", ""][:3]
        if verb == "get":
            found = cache.get(key)
            print("miss" if found is None else f"hit {found.decode()}", flush=True)
        elif verb == "set":
            print("set" if cache.set(key, value) else "not set", flush=True)
        elif verb == "delete":
            print("deleted" if cache.delete(key) else "not there", flush=True)
        elif verb == "copied":
            print(cache.copied, flush=True)
        elif verb == "epoch":
            print(stead.Map.open(given.map).epoch, flush=True)
        else:
            print("say get KEY, set KEY VALUE, delete KEY, copied or epoch", flush=True)


if __name__ == "__main__":
    main()

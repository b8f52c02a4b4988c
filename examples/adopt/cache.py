"""A cache in memcached whose servers are chosen by a map: the code that a site writes
on top of stead. cache.php and cache.pl are the same class.

A key may have several nodes, as a hot key with a pin has. Writes and deletes go to all
of them, and each read begins at one that is chosen at random.

While a site changes its clients, or grows, an item may still be in its old place. So a
read that finds nothing at the map's nodes takes a second look at the old place, and
copies the item that it finds to its new place. Writes and deletes go to all places at
which a read may look, so a second look does not find what this program has replaced. If
other programs set or delete the same keys, all of them have to write to the old places
of all of them: see `rings`.

While a carry is open (docs/carry.md), writes and deletes go where the state of the carry
says, and reads to the nodes of one map, which have everything. There are no second looks
then.
"""

import argparse
import os
import random
import socket
import sys
import threading
import time

import stead
from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheServerError

# the lifetime in seconds of a copy that a read makes from another node of the same key
MINUTE = 60
# beyond so many seconds memcached takes a lifetime for a date, in seconds since 1970
MONTH = 30 * 86400


class Cache:
    """
    path: the map file; None to use only the old client.
    back: the number of previous epochs in which a read looks, too.
    old: the old client, during the change.
    rings: the map files of the rings of all old clients, if several languages set or delete
    the same keys: what is set or deleted is so at these places, too. Reads do not look
    there.
    lifetime: of items that are set or copied, in seconds; 0 means for ever. A second
    look does not know how long an item has lived: the copy begins a new lifetime.
    options: of each client, as for pymemcache's Client: those that the application has
    given so far, such as key_prefix or serde.
    """

    def __init__(self, path, back=0, old=None, lifetime=0, options=None, rings=()):
        self.path, self.back, self.old, self.lifetime = path, back, old, lifetime
        self.options, self.rings = options or {}, rings
        # the number of items that were found at an old place; when it stays 0 for the
        # lifetime of the items, the second look can be removed
        self.copied = 0

    def get(self, key):
        """Returns the value of a key; None if no place has it. A server that does not
        answer counts as empty. A map that cannot be opened raises; so does a missing
        history if `back` needs it.
        """
        present, _, earlier = self.places(key)
        order = random.sample(range(len(present)), len(present))
        for place in order:
            value = present[place].get(key)
            if value is not None:
                # A node is filled only from one before it, and not for long. Otherwise
                # two nodes could keep an item alive between them for ever
                if place < order[0]:
                    lifetime = min(self.lifetime or MINUTE, MINUTE)
                    done(present[order[0]].add, key, value, lifetime)
                return value
        for client in earlier:
            value = client.get(key)
            if value is not None:
                self.copied += 1
                for new in present:
                    # add, not set: another client may have written a newer value
                    # meanwhile
                    done(new.add, key, value, expiry(self.lifetime))
                return value
        return None

    def set(self, key, value, lifetime=None):
        """Sets a key. Returns whether all its nodes stored it. A lifetime that is given
        is that of this item, in place of the cache's own.
        """
        if lifetime is None:
            lifetime = self.lifetime
        present, carried, earlier = self.places(key, writing=True)
        everywhere = present + carried + earlier
        answers = [done(c.set, key, value, expiry(lifetime)) for c in everywhere]
        return all(answers[: len(present)])

    def delete(self, key):
        """Deletes a key. Returns whether one of its nodes had it."""
        present, carried, earlier = self.places(key, writing=True)
        # the places of second looks first, or a read in between would bring it back
        for client in earlier:
            done(client.delete, key)
        answers = [done(client.delete, key) for client in present + carried]
        return any(answers[: len(present)])

    def places(self, key, writing=False):
        """Returns the clients of the servers that may have a key, each once: those of
        its nodes by the map, in their order; while a carry is open, the others to which
        its state lets hosts write; and those of the places before. A write goes to the
        places of the rings, too.
        """
        present, carried, earlier = [], [], []
        if self.path is not None:
            # opened for each query: that costs one stat, and sees a new epoch
            # immediately
            pair = stead.Pair.open(self.path)
            members = pair.new
            # the first nodes are those of the map by which hosts read
            is_old = pair.state in ("old", "both_old_first")
            count = len((pair.old if is_old else members).locate_all(key))
            nodes = pair.writes(key)
            present = self.servers(pair, nodes[:count])
            carried = self.servers(pair, nodes[count:])
            back = self.back if pair.state is None else 0
            for epoch in range(members.epoch - 1, max(0, members.epoch - 1 - back), -1):
                try:
                    # a node that the newest map has, too, has its address there, also
                    # if it was renamed
                    pair = stead.Pair.open(
                        self.path, epoch=epoch, state="both_new_first"
                    )
                except stead.NotFoundError as missing:
                    if epoch == members.epoch - 1:  # this one is always kept
                        raise RuntimeError(
                            f"{self.path}.history has no epoch {epoch}, where a second "
                            "look has to look: copy the directory to this host"
                        ) from missing
                    break  # stead keeps 32 epochs
                earlier += self.servers(pair, pair.reads(key))
            for path in self.rings if writing else ():
                ring = stead.Map.open(path)
                earlier += self.servers(ring, ring.locate_all(key))
        if self.old is not None:
            earlier.append(self.old)
        # a dict keeps the order
        now = present + carried
        earlier = [one for one in dict.fromkeys(earlier) if one not in now]
        return (present, carried, earlier) if present else (earlier, [], [])

    def servers(self, where, nodes):
        """Returns the clients of these nodes of a map, or of a pair of maps."""
        found = []
        for node in nodes:
            # in the map of an adopted ring the name is the address
            at = where.attribute(node, "address") or node
            if ":" in at:
                found.append(server(at, **self.options))
            elif isinstance(where, stead.Map) or where.new.node(node):
                raise RuntimeError(
                    f"node {node} needs an attribute `address`, HOST:PORT"
                )
            # a node that has left and never had an address has no item
        return found


class Clients(threading.local):
    """The clients of one thread in one process: a client is for one thread at a time, and
    two processes that used one connection would read each other's answers.
    """

    def __init__(self):
        self.process, self.made = os.getpid(), {}


clients = Clients()  # caches with the same options share them


def server(at, **options):
    """Returns the client of one server. It knows only this server, so it has nothing to
    choose. A read that fails counts as a miss.
    """
    if clients.process != os.getpid():  # after a fork; the parent's stay open there
        clients.__init__()
    given = {
        "connect_timeout": 5,
        "timeout": 5,
        "no_delay": True,
        "ignore_exc": True,
        "default_noreply": False,
        **options,
    }
    same = (at, *sorted(options.items()))
    if same not in clients.made:
        clients.made[same] = Client(at, **given)
    return clients.made[same]


def expiry(lifetime):
    """Returns what to tell memcached of a lifetime; a date to come stays one."""
    now = int(time.time())
    return now + lifetime if MONTH < lifetime < now else lifetime


def done(write, *arguments):
    """Writes, and returns whether the server has done it. Writes once more if the connection
    was lost, as it is when the server was started again.
    """
    for _ in range(2):
        try:
            return write(*arguments)
        except socket.timeout:
            break
        except (OSError, MemcacheServerError):
            pass
    return False


class Today:
    """The old client: uhashring chooses the server."""

    def __init__(self, servers):
        from uhashring import HashRing

        self.ring = HashRing(nodes=servers)

    def client(self, key):
        return server(self.ring.get_node(key))

    def get(self, key):
        return self.client(key).get(key)

    def set(self, key, value, lifetime):
        return self.client(key).set(key, value, lifetime)

    def add(self, key, value, lifetime):
        return self.client(key).add(key, value, lifetime)

    def delete(self, key):
        return self.client(key).delete(key)


def main():
    """Answers the commands `get KEY`, `set KEY VALUE`, `delete KEY`, `copied` and
    `epoch`, one per line.
    """
    parser = argparse.ArgumentParser(prog="cache.py")
    parser.add_argument("--back", type=int, default=0)
    parser.add_argument("--old", metavar="HOST:PORT,...")
    parser.add_argument("--rings", metavar="MAP,...")
    parser.add_argument("map", nargs="?")
    given = parser.parse_args()
    if given.map is None and given.old is None:
        sys.exit(
            "cache.py: name a map, or the servers of the old client with --old HOST:PORT,..."
        )
    cache = Cache(
        given.map,
        given.back,
        Today(given.old.split(",")) if given.old else None,
        rings=given.rings.split(",") if given.rings else (),
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

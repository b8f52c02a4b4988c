"""Deletes from each server the items that belong to other servers by the map: the
copies that second looks have left behind. An item belongs on all nodes of its key, so
nothing is deleted from any of them. Without --delete it only counts.

    python3 sweep.py [--strip TEXT] [--prefix TEXT] [--delete [--unread]] MAP

    --strip TEXT     the prefix that the client library adds, such as PHP's
                     OPT_PREFIX_KEY, if the map is asked for the key without it
    --prefix TEXT    only keys that begin with TEXT (behind what --strip removes)
    --delete         deletes the copies
    --unread         deletes the unread items, too
    --at-most N      the percentage of unread and unknown items that is plausible [5]

Run it when no client takes second looks any more, and before the next change.
Otherwise, when a key comes back to a server, the server still has the item as it was
when the key left. It needs the Python module stead, and no client library. It prints a
line for each server, with the number of its keys, and how many of them do not belong
there:

    copies     a server where the item belongs has it, too
    unread     no such server has it, but an earlier epoch had the key here: no client
               has read the item since the change
    unknown    no such server has it, and no epoch had it here; these stay

If the map is asked for other keys than the clients ask it for, most items are unread
or unknown, although clients use them. The same is so for items of applications that do
not use the map. So sweep.py deletes nothing if more than 5 % of the items, copies not
counted, are unread or unknown. (Keys that memcached's text protocol cannot carry, with
blanks for example, are left out.)
"""

import argparse
import re
import sys

import stead
from keys import asked, fail, items

PLAIN = re.compile(rb"[^\0-\x20\x7f]{1,250}")


def address(maps, node):
    """Returns the address of a node of a map, or of a pair of maps: its attribute, else
    its name.
    """
    return maps.attribute(node, "address") or node


def places(members, keys):
    """Returns the addresses of all servers that have each key by a map."""
    addresses = {node.name: address(members, node.name) for node in members.nodes}
    return [
        {addresses[name] for name in names} for names in members.locate_all_many(keys)
    ]


def sort(server, found, has, before):
    """Returns the copies, the unread and the unknown items of a server.

    found: {the key that the server has: (the application's key, its addresses by the
    map)}; has: the same of each server by its address; before: the earlier epochs, each
    in a pair with the newest, which knows the addresses of today.
    """
    copies, alone = [], []
    for key, (_, to) in found.items():
        if server not in to:
            there = any(key in has[other] for other in to)
            (copies if there else alone).append(key)
    was_here = [
        any(
            server == address(pair, node)
            for pair in before
            for node in pair.reads(found[key][0])
        )
        for key in alone
    ]
    unread = [key for key, was in zip(alone, was_here) if was]
    unknown = [key for key, was in zip(alone, was_here) if not was]
    return copies, unread, unknown


def delete(server, keys):
    """Deletes keys from a server."""
    with asked(server) as (connection, answer):
        for start in range(0, len(keys), 100):
            some = keys[start : start + 100]
            connection.sendall(b"".join(b"delete %b\r\n" % key for key in some))
            for _ in some:
                line = answer.readline()
                if line not in (b"DELETED\r\n", b"NOT_FOUND\r\n"):
                    fail(f"{server} answers {line!r} to a delete")


def main():
    parser = argparse.ArgumentParser(prog="sweep.py")
    parser.add_argument("--strip", default="", metavar="TEXT")
    parser.add_argument("--prefix", default="", metavar="TEXT")
    parser.add_argument("--delete", action="store_true")
    parser.add_argument("--unread", action="store_true")
    parser.add_argument("--at-most", type=float, default=5, metavar="PERCENT")
    parser.add_argument("map")
    given = parser.parse_args()
    members = stead.Map.open(given.map)
    before = [
        stead.Pair.between(stead.Map.open_epoch(given.map, epoch), members, "old")
        for epoch in stead.Map.history(given.map)
        if epoch != members.epoch
    ]
    nodes = {node.name: address(members, node.name) for node in members.nodes}
    has = {}
    for server in nodes.values():
        there = [
            pair
            for pair in items(server, given.strip, given.prefix)
            if PLAIN.fullmatch(pair[0])
        ]
        asked = [key for _, key in there]
        has[server] = {
            key: (asked, to) for (key, asked), to in zip(there, places(members, asked))
        }
    sorted_ = {
        server: sort(server, found, has, before) for server, found in has.items()
    }

    width = max(map(len, nodes))
    print(f"{'node':<{width}}      keys    copies    unread   unknown")
    for node, server in nodes.items():
        numbers = [len(has[server]), *map(len, sorted_[server])]
        print(f"{node:<{width}}" + "".join(f"{n:>10}" for n in numbers))
    copies, unread, unknown = (
        sum(len(of[kind]) for of in sorted_.values()) for kind in range(3)
    )
    once = sum(map(len, has.values())) - copies
    if unread + unknown > once * given.at_most / 100:
        share = 100 * (unread + unknown) / once
        sys.exit(
            f"sweep.py: {unread + unknown} items ({share:.1f} %) are not where the map "
            "says, and are no copies; nothing is deleted. If the clients add a prefix "
            "to the keys, name it with --strip. If other applications use the servers, "
            "name the keys of this one with --prefix. If these really are items that "
            "nobody has read since the change, wait until they have expired, or allow "
            "more with --at-most PERCENT"
        )
    if not given.delete:
        print(f"{copies} copies would be deleted by --delete")
        return
    for server, (copied, left, _) in sorted_.items():
        delete(server, copied + left if given.unread else copied)
    print(f"{copies + unread if given.unread else copies} items are deleted")


if __name__ == "__main__":
    main()

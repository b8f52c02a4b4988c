#!/usr/bin/env python3
"""Writes a map file, format 1, from a plain description: `write_map.py DESCRIPTION.json
MAP`.

`lay_out` turns a description into records, `finish` adds the final slices and the
index, and `pack` turns the records into bytes. These are separate steps so that tests
can damage the records in between. The writer shares only the hashes with the reader.

    {"name": "members", "hash": "md5", "nodes": [{"name": "a", "weight": "1.5", "labels": {"zone": "x"}}, {"name": "b"}],
     "policies": [{"name": "cray", "kind": "chain", "nodes": ["b", "a"], "weight": "2"}],
     "base": [["0000000000000000", ["a"]], ["8000000000000000", "cray"]],
     "pins": [{"key": "6a757374696e", "policy": "cray"}, {"range": ["6.00000%", "6.00001%"], "nodes": ["b"]}]}

"modulo": true and "affixes": [hex, hex] belong to the hash of an adopted ring, and
"short": true to a pin; "firsts" is like "pins", with "node" instead of who gets it; "segments": N is the key rule "first N segments". A base slice
has a list of nodes or the name of a policy. The defaults are hash md5, weight 1, epoch
1, replicas 1 and cells 0 (meaning 2^64); everything else is empty by default. "target",
which is like "base", and "leaving", a list of node names, make a map with a gradual
change under way. "carry" is the carry that is open: {"state": 2, "reverse": false,
"from_epoch": 1, "from_digest": hex}; without the last two it is from the map before, or
goes on with the carry that is open there. "tolerance" is in millionths. "newer" makes the map of a program that
does not exist yet: it has the feature bits of "features", and the sections of "sections",
each a number, a record size and its bytes in hex. `after`, the bytes of the map before, determines epoch, map id and
parent; only callers in Python can give it.
"""

import hashlib
import json
import struct
import sys

from hashes import AFFIXED, MODULO, NUMBERS, SEGMENTS, cell_of

END = 2**64


def encode(description, after=None):
    """The bytes of the map that a description asks for."""
    return pack(finish(lay_out(description, after)))


def millionths(text):
    """A decimal of at most 6 places as an integer number of millionths."""
    whole, _, places = str(text).partition(".")
    if len(places) > 6:
        raise ValueError(f"weight {text}")
    return int(whole) * 1000000 + int(places.ljust(6, "0"))


def percent(text, cells):
    """The cell bound that a percentage stands for. It is rounded down to a point, and
    the point up to a cell bound.
    """
    whole, _, places = text.rstrip("%").partition(".")
    point = int(whole + places) * END // (100 * 10 ** len(places))
    value = (point * cells + END - 1) // END
    return (value * END + cells - 1) // cells


def lay_out(d, after=None):
    """Returns the records of a map, without the final slices and the index."""
    r = {
        "version": 1,
        "header_length": 488,
        "features": 0,
        "algorithm": d.get("algorithm", 1),
        "sections": 13,
        "gradual": "target" in d,
        "map_id": bytes.fromhex(d.get("map_id", "00" * 16)),
        "parent": bytes.fromhex(d.get("parent", "00" * 32)),
        "epoch": d.get("epoch", 1),
        "replicas": d.get("replicas", 1),
        "hash_name": d.get("hash", "md5"),
        "hash": NUMBERS[d.get("hash", "md5")],
        "modulo": d.get("modulo", False),
        "affixes": [bytes.fromhex(affix) for affix in d.get("affixes", ["", ""])],
        "segments": d.get("segments", 0),
        "max_slices": d.get("max_slices", 0),
        "cells": d.get("cells", 0),
        "name": d["name"].encode(),
        "secret": bytes.fromhex(d.get("secret", "00" * 16)),
        "spread": [s.encode() for s in d.get("spread", [])],
    }
    if r["gradual"]:
        r.update(header_length=560, features=1, sections=16)
    r["hash"] += (
        MODULO * r["modulo"] + AFFIXED * any(r["affixes"]) + SEGMENTS * r["segments"]
    )
    r["features"] |= 2 * (r["hash"] > 4)
    if after:
        r["parent"] = after[96:128]
        r["epoch"] = struct.unpack_from("<Q", after, 48)[0] + 1
        r["map_id"] = after[32:48] if r["epoch"] > 2 else after[96:112]
        r["from"] = [r["epoch"] - 1, r["parent"]]
        if (
            struct.unpack_from("<Q", after, 24)[0] == 32
        ):  # the carry is the last section
            r["from"] = [
                struct.unpack_from("<Q", after, len(after) - 40)[0],
                after[-32:],
            ]
    if d.get("firsts"):
        r["header_length"] += 24
        r["sections"] += 1
        r["features"] |= 16
    newer, r["more"] = d.get("newer", {"features": [], "sections": []}), []
    if "carry" in d:
        r["more"].append([18, 48, lay_carry(r, d["carry"])])
        r["features"] |= 32
    if "tolerance" in d:
        r["more"].append([19, 8, struct.pack("<II", d["tolerance"], 0)])
        r["features"] |= 2**32
    for number, size, content in newer["sections"]:
        r["more"].append([number, size, bytes.fromhex(content)])
    for bit in newer["features"]:
        r["features"] |= 1 << bit
    r["header_length"] += 24 * len(r["more"])
    r["sections"] += len(r["more"])
    r["nodes"], r["labels"], r["attributes"] = lay_nodes(d["nodes"])
    lay_policies(r, d)
    return r


def lay_carry(r, carry):
    """The record of a carry."""
    epoch, digest = r.get("from", [1, bytes(32)])
    epoch = carry.get("from_epoch", epoch)
    digest = bytes.fromhex(carry.get("from_digest", digest.hex()))
    flags = int(carry.get("reverse", False))
    return struct.pack("<IIQ", carry["state"], flags, epoch) + digest


def lay_nodes(nodes):
    """Returns the records of nodes, labels and attributes: sections 3, 4 and 5."""
    records, labels, attributes = [], [], []
    for n in sorted(nodes, key=lambda n: n["name"].encode()):
        own = [
            sorted([a.encode(), b.encode()] for a, b in n.get(what, {}).items())
            for what in ("labels", "attributes")
        ]
        records.append(
            [
                n["name"].encode(),
                n.get("formerly", "").encode(),
                millionths(n.get("weight", 1)),
                len(labels),
                len(own[0]),
                len(attributes),
                len(own[1]),
            ]
        )
        labels += own[0]
        attributes += own[1]
    return records, labels, attributes


def lay_policies(r, d):
    """Adds sections 6 to 10 and 14 to 16: the policies in their order, and the slices
    and pins that refer to them.
    """
    place = {record[0].decode(): i for i, record in enumerate(r["nodes"])}
    named = sorted(d.get("policies", []), key=lambda p: p["name"].encode())
    pins = [
        (p, p["policy"] if "policy" in p else p["nodes"]) for p in d.get("pins", [])
    ]
    holders = [who for _, who in d["base"] + d.get("target", []) + pins]
    lists = {tuple(place[n] for n in who) for who in holders if type(who) is list}
    r["firsts"] = []
    for first in d.get("firsts", []):
        start, last, flags, key = lay_pin(r, first)
        r["firsts"].append([start, last, place[first["node"]], flags, key])
    r["firsts"].sort()
    lists |= turned_lists(r, d, place)
    number = {p["name"]: i for i, p in enumerate(named)}
    number.update({members: len(named) + i for i, members in enumerate(sorted(lists))})

    def find(who):
        return number[who if type(who) is str else tuple(place[n] for n in who)]

    r["policies"], r["members"] = [], []
    for p in named:
        add_policy(
            r,
            p["name"],
            p.get("kind", ""),
            p.get("weight"),
            [place[n] for n in p["nodes"]],
            1,
        )
    for members in sorted(lists):
        add_policy(r, "", "", None, members, 0)
        if len(set(members)) < len(members):
            r["features"] |= 4
    for what in ("base", "target"):
        r[what] = joined((int(first, 16), find(who)) for first, who in d.get(what, []))
    r["leaving"] = sorted(place[n] for n in d.get("leaving", []))
    r["pins"] = []
    for pin, who in pins:
        first, last, flags, key = lay_pin(r, pin)
        if pin.get("short"):
            flags |= 2
            r["features"] |= 8
        r["pins"].append([first, last, find(who), flags, key])
    r["pins"].sort()


def turned_lists(r, d, place):
    """The lists of nodes that base slices have because of firsts, where no pin lies."""
    pins = [lay_pin(r, pin)[:2] for pin in d.get("pins", [])]
    base = [(int(first, 16), who) for first, who in d["base"]]
    lists = set()
    for first in r["firsts"]:
        cuts = (
            {first[0]} | {start for start, _ in base} | {last + 1 for _, last in pins}
        )
        for point in cuts:
            if not first[0] <= point <= first[1]:
                continue
            who = [who for start, who in base if start <= point][-1]
            if type(who) is str or any(a <= point <= b for a, b in pins):
                continue
            lists.add(tuple(turned([place[n] for n in who], first[2])))
    return lists


def turned(members, node):
    """The nodes with this one first, if it is one of them."""
    if node not in members:
        return members
    others = list(members)
    others.remove(node)
    return [node, *others]


def add_policy(r, name, kind, weight, members, flags):
    """Adds one record of section 6 and its members."""
    flags |= 2 if weight is not None else 0
    r["policies"].append(
        [
            name.encode(),
            kind.encode(),
            millionths(weight or 0),
            len(r["members"]),
            len(members),
            flags,
            0,
        ]
    )
    r["members"] += members


def lay_pin(r, pin):
    """Returns first, last, flags and key of a pin; the caller adds the flag `short`."""
    cells = r["cells"] or END
    if "key" in pin:
        key = bytes.fromhex(pin["key"])
        value = cell_of(
            r["hash_name"],
            key,
            cells,
            r["secret"],
            r["modulo"],
            r["affixes"],
            r["segments"],
        )
        return (
            (value * END + cells - 1) // cells,
            ((value + 1) * END + cells - 1) // cells - 1,
            1,
            key,
        )
    first, end = (percent(bound, cells) for bound in pin["range"])
    return first, end - 1, 0, b""


def joined(slices):
    """The slices, with neighbours of the same policy joined."""
    out = []
    for first, policy in slices:
        if not out or out[-1][1] != policy:
            out.append([first, policy])
    return out


def finish(r):
    """Adds what follows from the base slices, the firsts and the pins: the final slices,
    the index bits and the index.
    """
    base = under_firsts(r)
    final, ends = [], [first for first, _ in base[1:]] + [END]
    for (first, policy), end in zip(base, ends):
        for pin in [p for p in r["pins"] if p[0] < end and p[1] >= first]:
            if pin[0] > first:
                final.append([first, policy])
            final.append([max(pin[0], first), pin[2]])
            first = min(pin[1] + 1, end)
        if first < end:
            final.append([first, policy])
    final = joined(final)
    r["final"] = final if r["pins"] or r["firsts"] else []
    bits = 1
    while bits < 18 and 1 << bits < 4 * len(final):
        bits += 1
    r["bits"] = bits
    r["index"] = [
        sum(1 for first, _ in final if first < b << (64 - bits))
        for b in range(2**bits + 1)
    ]
    return r


def under_firsts(r):
    """The base slices with the firsts laid over them. Where the turned list is no policy,
    because pins cover all of it, the slice keeps its policy.
    """
    number = {
        tuple(r["members"][p[3] : p[3] + p[4]]): i
        for i, p in enumerate(r["policies"])
        if not p[0]
    }
    cuts = {first for first, _ in r["base"]}
    for first in r["firsts"] + r["pins"]:
        cuts |= {first[0], first[1] + 1}
    laid = []
    for point in sorted(cuts - {END}):
        policy = [policy for first, policy in r["base"] if first <= point][-1]
        record = r["policies"][policy]
        members = r["members"][record[3] : record[3] + record[4]]
        for first in r["firsts"]:
            if first[0] <= point <= first[1] and not record[0]:
                policy = number.get(tuple(turned(members, first[2])), policy)
        laid.append([point, policy])
    return laid


def pack(r):
    """Returns the bytes of a map file: header, section table, sections, and the digest
    in the header.
    """
    strings = bytearray()

    def put(string):
        strings.extend(string)
        return struct.pack("<II", len(strings) - len(string), len(string))

    secret = (
        b"".join(put(affix) for affix in r["affixes"])
        if any(r["affixes"])
        else r["secret"]
    )
    name = put(r["name"])
    spread = b"".join(put(s) for s in r["spread"])
    nodes = b"".join(
        put(n[0]) + put(n[1]) + struct.pack("<QIIII", *n[2:]) for n in r["nodes"]
    )
    labels = b"".join(put(a) + put(b) for a, b in r["labels"])
    attributes = b"".join(put(a) + put(b) for a, b in r["attributes"])
    policies = b"".join(
        put(p[0]) + put(p[1]) + struct.pack("<QIIII", *p[2:]) for p in r["policies"]
    )
    pins, firsts = (
        b"".join(struct.pack("<QQII", *p[:4]) + put(p[4]) for p in r[what])
        for what in ("pins", "firsts")
    )
    u32 = {
        what: b"".join(struct.pack("<I", x) for x in r[what])
        for what in ("members", "index", "leaving")
    }
    split = {
        what: [
            b"".join(struct.pack(form, s[i]) for s in r[what])
            for i, form in ((0, "<Q"), (1, "<I"))
        ]
        for what in ("base", "final", "target")
    }
    bodies = [
        (1, bytes(strings)),
        (8, spread),
        (40, nodes),
        (16, labels),
        (16, attributes),
        (40, policies),
        (4, u32["members"]),
        (8, split["base"][0]),
        (4, split["base"][1]),
        (32, pins),
        (8, split["final"][0]),
        (4, split["final"][1]),
        (4, u32["index"]),
    ]
    if r["gradual"]:
        bodies += [
            (8, split["target"][0]),
            (4, split["target"][1]),
            (4, u32["leaving"]),
        ]
    numbers = list(range(1, len(bodies) + 1))
    if r["features"] & 16 or r["firsts"]:
        bodies.append((32, firsts))
        numbers.append(17)
    for number, size, content in r["more"]:
        bodies.append((size, content))
        numbers.append(number)
    start, table, body = 176 + 24 * len(bodies), b"", b""
    for number, (size, content) in zip(numbers, bodies):
        body += bytes(-len(body) % 8)
        table += struct.pack(
            "<IIQQ", number, size, start + len(body), len(content) // size
        )
        body += content
    head = b"\x89STD\r\n\x1a\n" + struct.pack(
        "<IIQQ", r["version"], r["header_length"], start + len(body), r["features"]
    )
    head += (
        r["map_id"]
        + struct.pack("<QII", r["epoch"], r["algorithm"], r["replicas"])
        + r["parent"]
        + bytes(32)
    )
    head += struct.pack("<IIQ", r["hash"], r["max_slices"], r["cells"]) + secret + name
    return seal(head + struct.pack("<II", r["bits"], r["sections"]) + table + body)


def seal(data):
    """Returns the same bytes with the right digest."""
    digest = hashlib.sha256(data[:96] + bytes(32) + data[128:]).digest()
    return data[:96] + digest + data[128:]


if __name__ == "__main__":
    with (
        open(sys.argv[1], encoding="utf-8") as source,
        open(sys.argv[2], "wb") as target,
    ):
        target.write(encode(json.load(source)))

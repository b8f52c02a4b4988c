"""The damaged records, as rows of (map, rule, comment, whether the final slices and the
index are computed again, changes).

A change is a path into the records of write_map.lay_out, and the new value or a
function that computes it from the old one.
"""

import struct


def drop(at):
    """A change: the list without the item at an index."""
    return lambda items: items[:at] + items[at + 1 :]


def swap(a, b):
    """A change: the list with two items swapped."""
    return lambda items: [
        items[b if i == a else a if i == b else i] for i in range(len(items))
    ]


def plus(x):
    """A change: the number or the list with `x` added."""
    return lambda old: old + x


def carry(state, flags, epoch, digest=None):
    """A change: the section of a carry with these fields; the digest stays unless one is
    given.
    """
    head = struct.pack("<IIQ", state, flags, epoch)
    return lambda more: [18, 48, head + (digest or more[2][16:48])]


OTHER = bytes(range(32))


def next_cell(bound):
    """The first point of the next cell, on a map of 1000 cells."""
    return -(-(bound * 1000 // 2**64 + 1) * 2**64 // 1000)


BAD_UTF8 = [
    (b"\xff", "0xFF"),
    (b"\xc0\xaf", "an overlong slash"),
    (b"\xed\xa0\x80", "a surrogate"),
    (b"a\xe2\x82", "a cut character"),
    (b"\xf4\x90\x80\x80", "a character above U+10FFFF"),
    (b"\x80", "a lone continuation byte"),
    (b"\xe9", "Latin-1"),
]
CONTROL = [
    (b"a\nb", "a newline"),
    (b"\0", "NUL"),
    (b"\x7f", "DEL"),
    ("\x85".encode(), "U+0085"),
    (b"\x1f", "U+001F"),
    ("a\x9f".encode(), "U+009F"),
]

# In the map "words" the labels of node 0 are zone; of node 1, l...; of node 2, rack and
# zone; of node 4, B, a, ~ and ä; node 3 has none. The attributes of node 2 are address
# and empty; of node 3, note.
#
# Rows of (what the string is, name of the rule, map, path, least length, greatest
# length, whether a comma is wrong).
STRINGS = [
    ("map name", "map name", "one", ("name",), 1, 255, False),
    ("node name", "node name", "one", ("nodes", 0, 0), 1, 255, True),
    ("formerly", "formerly", "one", ("nodes", 0, 1), 0, 255, True),
    ("label name", "label name", "words", ("labels", 0, 0), 1, 4095, False),
    ("label value", "label value", "words", ("labels", 0, 1), 1, 4095, False),
    ("attribute name", "attribute name", "words", ("attributes", 2, 0), 1, 4095, False),
    (
        "attribute value",
        "attribute value",
        "words",
        ("attributes", 2, 1),
        0,
        4095,
        False,
    ),
    (
        "policy name",
        "policy name (reading)",
        "weighted",
        ("policies", 0, 0),
        1,
        255,
        True,
    ),
    (
        "policy kind",
        "policy kind (reading)",
        "weighted",
        ("policies", 0, 1),
        0,
        255,
        False,
    ),
    ("spread label", "spread", "replicas", ("spread", 1), 1, 4095, False),
]
RECORDS = []
for what, rule, name, path, least, most, comma in STRINGS:
    reading = "reading: " if "reading" in rule or rule == "spread" else ""
    for i, (value, how) in enumerate(BAD_UTF8):
        if i < 2 or what in ("map name", "node name"):
            RECORDS.append(
                (
                    name,
                    f"{rule}: UTF-8",
                    f"{what} that is not UTF-8: {how}",
                    False,
                    path + (value,),
                )
            )
    for i, (value, how) in enumerate(CONTROL):
        if i % 2 == 0 or what in ("map name", "node name"):
            RECORDS.append(
                (
                    name,
                    f"{rule}: control character",
                    f"{reading}{what} with {how}",
                    False,
                    path + (value,),
                )
            )
    RECORDS.append(
        (
            name,
            f"{rule}: length",
            f"{reading}{what} of {most + 1} bytes",
            False,
            path + (b"a" * (most + 1),),
        )
    )
    if least:
        RECORDS.append(
            (
                name,
                f"{rule}: length",
                f"{reading}{what} of no bytes",
                False,
                path + (b"",),
            )
        )
    if comma:
        RECORDS.append(
            (
                name,
                f"{rule}: comma",
                f"{reading}{what} with a comma",
                False,
                path + (b"a,b",),
            )
        )

RECORDS += [
    (
        "replicas",
        "spread: distinct names",
        "a label twice in spread",
        False,
        ("spread", [b"zone", b"zone"]),
    ),
    (
        "replicas",
        "spread: at most 16 labels",
        "17 labels in spread",
        False,
        ("spread", [b"label %02d" % i for i in range(17)]),
    ),
    # nodes, labels, attributes
    ("one", "number of nodes", "no nodes", False, ("nodes", [])),
    (
        "three",
        "nodes: names ascending",
        "two nodes swapped",
        False,
        ("nodes", swap(0, 1)),
    ),
    (
        "three",
        "nodes: names ascending",
        "two nodes of one name",
        False,
        ("nodes", 1, 0, b"n0"),
    ),
    (
        "three",
        "nodes: names ascending",
        "capital letter after a small one",
        False,
        ("nodes", 2, 0, b"N2"),
    ),
    (
        "three",
        "node weight",
        "a weight of 1,000,000.000001",
        False,
        ("nodes", 0, 2, 10**12 + 1),
    ),
    (
        "three",
        "node weight",
        "a weight of 2^64 - 1 millionths",
        False,
        ("nodes", 0, 2, 2**64 - 1),
    ),
    (
        "words",
        "labels follow each other",
        "first label of node 0 is 1",
        False,
        ("nodes", 0, 3, 1),
    ),
    (
        "words",
        "labels follow each other",
        "first label of a node 1 too large",
        False,
        ("nodes", 1, 3, plus(1)),
    ),
    (
        "words",
        "labels follow each other",
        "a node without labels whose first label is 0",
        False,
        ("nodes", 3, 3, 0),
    ),
    (
        "words",
        "labels follow each other",
        "a node with one label too many",
        False,
        ("nodes", 0, 4, plus(1)),
    ),
    (
        "words",
        "labels follow each other",
        "2^32 - 1 labels",
        False,
        ("nodes", 0, 4, 2**32 - 1),
    ),
    (
        "words",
        "labels end with their section",
        "a label that no node has",
        False,
        ("labels", plus([(b"x", b"y")])),
    ),
    (
        "one",
        "labels end with their section",
        "a label beyond the last record",
        False,
        ("nodes", 0, 4, 1),
    ),
    (
        "words",
        "attributes follow each other",
        "first attribute of node 0 is 1",
        False,
        ("nodes", 0, 5, 1),
    ),
    (
        "words",
        "attributes follow each other",
        "a node without attributes whose first one is 2^32 - 1",
        False,
        ("nodes", 4, 5, 2**32 - 1),
    ),
    (
        "words",
        "attributes follow each other",
        "a node with one attribute too few",
        False,
        ("nodes", 2, 6, plus(-1)),
    ),
    (
        "words",
        "attributes end with their section",
        "an attribute that no node has",
        False,
        ("attributes", plus([(b"x", b"y")])),
    ),
    (
        "words",
        "label: names ascending",
        "labels of a node swapped",
        False,
        ("labels", swap(2, 3)),
    ),
    (
        "words",
        "label: names ascending",
        "a label twice",
        False,
        ("labels", 3, [b"rack", b"2"]),
    ),
    (
        "words",
        "attribute: names ascending",
        "attributes of a node swapped",
        False,
        ("attributes", swap(0, 1)),
    ),
    (
        "words",
        "attribute: names ascending",
        "an attribute twice",
        False,
        ("attributes", 1, [b"address", b""]),
    ),
    # policies, members
    (
        "words",
        "named policies ascending",
        "named policies swapped",
        True,
        ("policies", 0, 0, b"\xcf\x81"),
    ),
    (
        "words",
        "named policies ascending",
        "two policies of one name",
        False,
        ("policies", 1, 0, b"Z"),
    ),
    (
        "pins",
        "named policies first",
        "a named policy after an unnamed one",
        False,
        ("policies", 1, [b"", b"", 0, 2, 1, 0, 0]),
        ("policies", 2, [b"idle", b"", 0, 3, 1, 1, 0]),
    ),
    (
        "three",
        "unnamed policies ascending",
        "unnamed policies swapped",
        False,
        ("members", swap(0, 1)),
    ),
    (
        "three",
        "unnamed policies ascending",
        "an unnamed policy twice",
        False,
        ("members", 1, 0),
    ),
    (
        "pins",
        "unnamed policies ascending",
        "a longer list before its own start",
        False,
        ("policies", 5, 4, 2),
        ("policies", 6, 3, 8),
        ("policies", 6, 4, 1),
        ("members", swap(7, 8)),
    ),
    (
        "three",
        "policy flags",
        "an unnamed policy with the weight flag",
        False,
        ("policies", 0, 5, 2),
    ),
    ("three", "policy flags", "unknown flag 4", False, ("policies", 0, 5, 4)),
    (
        "weighted",
        "policy flags",
        "unknown flag 2^31",
        False,
        ("policies", 0, 5, plus(2**31)),
    ),
    ("three", "policy: zero field", "zero field is 1", False, ("policies", 0, 6, 1)),
    (
        "weighted",
        "policy: zero field",
        "zero field is 2^31",
        False,
        ("policies", 0, 6, 2**31),
    ),
    (
        "three",
        "number of members",
        "a policy without nodes",
        False,
        ("policies", 2, 4, 0),
        ("members", drop(2)),
    ),
    (
        "three",
        "members follow each other",
        "first member 1 too small",
        False,
        ("policies", 1, 3, 0),
    ),
    (
        "three",
        "members follow each other",
        "first member 2^32 - 1",
        False,
        ("policies", 2, 3, 2**32 - 1),
    ),
    (
        "three",
        "members end with their section",
        "a member that no policy has",
        False,
        ("members", plus([0])),
    ),
    (
        "three",
        "members end with their section",
        "2^32 - 1 members",
        False,
        ("policies", 2, 4, 2**32 - 1),
    ),
    (
        "three",
        "members are nodes",
        "a member that is no node",
        False,
        ("members", 2, 3),
    ),
    ("three", "members are nodes", "member 2^32 - 1", False, ("members", 2, 2**32 - 1)),
    (
        "replicas",
        "policy names a node twice",
        "a node twice in an unnamed policy",
        False,
        ("members", 2, lambda old: 0),
        ("members", 0, 0),
    ),
    (
        "weighted",
        "policy names a node twice",
        "a node twice in a named policy",
        False,
        ("members", 0, 0),
    ),
    (
        "firsts-twice",
        "policy names a node twice",
        "a node twice in a named policy, and rightly in an unnamed one",
        False,
        ("members", 1, 0),
    ),
    (
        "three",
        "weight without the weight flag",
        "an unnamed policy of weight 1",
        False,
        ("policies", 0, 2, 1),
    ),
    (
        "pins",
        "weight without the weight flag",
        "a named policy of weight 1 without the flag",
        False,
        ("policies", 0, 2, 10**6),
    ),
    (
        "weighted",
        "policy weight (reading)",
        "reading: a policy's weight of 1,000,000.000001",
        False,
        ("policies", 0, 2, 10**12 + 1),
    ),
    (
        "three",
        "unnamed policy with a name or kind",
        "an unnamed policy with a name",
        False,
        ("policies", 0, 0, b"x"),
    ),
    (
        "three",
        "unnamed policy with a name or kind",
        "an unnamed policy with a kind",
        False,
        ("policies", 0, 1, b"chain"),
    ),
    (
        "three",
        "unnamed policy is used",
        "an unnamed policy that nothing uses",
        True,
        ("base", drop(2)),
    ),
    (
        "pin-moved",
        "unnamed policy is used",
        "an unnamed policy that a pin has lost",
        True,
        ("pins", 0, 2, 0),
    ),
    # base slices
    ("one", "base: at least one slice", "no base slice", False, ("base", [])),
    ("three", "base: starts at 0", "first base slice at 1", True, ("base", 0, 0, 1)),
    ("three", "base: ascending", "base slices swapped", False, ("base", swap(1, 2))),
    (
        "three",
        "base: ascending",
        "two base slices at one point",
        False,
        ("base", 2, 0, 6148914691236517206),
    ),
    ("three", "base: ascending", "two base slices at 0", False, ("base", 1, 0, 0)),
    ("three", "base: policy exists", "policy 3 of 3", False, ("base", 2, 1, 3)),
    (
        "three",
        "base: policy exists",
        "policy 2^32 - 1",
        False,
        ("base", 2, 1, 2**32 - 1),
    ),
    (
        "quarters",
        "base: neighbours differ",
        "neighbours of one policy",
        False,
        ("base", 1, 1, 0),
    ),
    (
        "cells-1000",
        "base: cell bounds",
        "a base slice one point after a cell bound",
        True,
        ("base", 1, 0, plus(1)),
    ),
    (
        "cells-7",
        "base: cell bounds",
        "a base slice one point before a cell bound",
        True,
        ("base", 2, 0, plus(-1)),
    ),
    (
        "words",
        "base: named policy without weight",
        "a base slice of a named policy without weight",
        False,
        ("base", 0, 1, 0),
    ),
    (
        "weighted",
        "base: named policy without weight",
        "a policy in use lost its weight",
        False,
        ("policies", 0, 2, 0),
        ("policies", 0, 5, 1),
    ),
    # firsts
    ("firsts", "feature bit 4", "feature bit 4, but no firsts", False, ("firsts", [])),
    ("firsts", "first flags", "first flags 2", False, ("firsts", 0, 3, 2)),
    ("firsts", "first: first <= last", "an empty first", False, ("firsts", 0, 1, 0)),
    (
        "firsts",
        "first: the policy exists",
        "a first for a list that no policy has",
        False,
        ("firsts", 0, 2, 2),
    ),
    (
        "firsts-gradual",
        "first: cell bounds",
        "a first that starts within a cell",
        False,
        ("firsts", 0, 0, plus(1)),
    ),
    (
        "firsts-gradual",
        "first by key covers the key's cell",
        "another key",
        False,
        ("firsts", 1, 4, b"another"),
    ),
    (
        "firsts-gradual",
        "leaving: in no first",
        "a first by a leaving node",
        False,
        ("firsts", 0, 2, 1),
    ),
    ("firsts", "first: node exists", "a node too many", False, ("firsts", 0, 2, 99)),
    ("firsts", "unnamed policy is used", "another node", False, ("firsts", 0, 2, 0)),
    (
        "firsts",
        "firsts: ascending, not overlapping",
        "two firsts swapped",
        False,
        ("firsts", swap(0, 1)),
    ),
    (
        "firsts",
        "first by range has no key",
        "a first by range with a key",
        False,
        ("firsts", 0, 4, b"x"),
    ),
    # pins
    ("pins", "feature bit 3", "a short pin without its bit", False, ("pins", 0, 3, 2)),
    (
        "pin-added",
        "feature bit 3",
        "a short pin by key without feature bit 3",
        False,
        ("pins", 0, 3, 3),
    ),
    (
        "pin-short",
        "feature bit 3",
        "feature bit 3 although no pin is short any more",
        False,
        ("pins", 0, 3, 1),
    ),
    ("pins", "pin flags", "pin flags 4", False, ("pins", 0, 3, 4)),
    (
        "pins-short",
        "pin flags",
        "pin flags 4 beside a short pin",
        False,
        ("pins", 0, 3, 4),
    ),
    ("pins-short", "pin flags", "pin flags 6", False, ("pins", 0, 3, 6)),
    ("pins", "pin flags", "pin flags 2^32 - 1", False, ("pins", 0, 3, 2**32 - 1)),
    (
        "pins-short",
        "pin by range has no key",
        "a short pin by range with a key",
        False,
        ("pins", 0, 4, b"x"),
    ),
    (
        "pins",
        "pin: first <= last",
        "a pin that ends before it starts",
        False,
        ("pins", 1, 1, 0),
    ),
    (
        "pins",
        "pin: policy exists",
        "a pin of a policy that is not there",
        False,
        ("pins", 0, 2, 99),
    ),
    (
        "pins",
        "pin: policy exists",
        "a pin of policy 2^32 - 1",
        False,
        ("pins", 0, 2, 2**32 - 1),
    ),
    (
        "cells-1000",
        "pin: cell bounds",
        "a pin that starts inside a cell",
        True,
        ("pins", 1, 0, plus(1)),
    ),
    (
        "cells-1000",
        "pin: cell bounds",
        "a pin that ends inside a cell",
        True,
        ("pins", 1, 1, plus(-1)),
    ),
    (
        "cells-16384",
        "pin: cell bounds",
        "a pin that ends one point after its cell",
        True,
        ("pins", 0, 1, plus(1)),
    ),
    (
        "pins",
        "pin by range has no key",
        "a pin by range with a key",
        False,
        ("pins", 0, 4, b"x"),
    ),
    (
        "pin-added",
        "pin by key covers the key's cell",
        "the key of a pin has changed",
        True,
        ("pins", 0, 4, b"justim"),
    ),
    (
        "pin-added",
        "pin by key covers the key's cell",
        "the key of a pin with a newline",
        True,
        ("pins", 0, 4, b"justin\n"),
    ),
    (
        "pin-added",
        "pin by key covers the key's cell",
        "the key of a pin is empty",
        True,
        ("pins", 0, 4, b""),
    ),
    (
        "pin-added",
        "pin by key covers the key's cell",
        "a pin by key covers a second cell",
        True,
        ("pins", 0, 1, plus(1)),
    ),
    (
        "cells-1000",
        "pin by key covers the key's cell",
        "a pin by key covers the cell after its own",
        True,
        ("pins", 0, 0, next_cell),
        ("pins", 0, 1, lambda old: next_cell(old + 1) - 1),
    ),
    (
        "pin-added",
        "pin by key covers the key's cell",
        "a pin by range that says it is by key",
        True,
        ("pins", 0, 0, 0),
        ("pins", 0, 1, 5),
    ),
    (
        "pins",
        "pins: ascending, not overlapping",
        "pins swapped",
        False,
        ("pins", swap(1, 2)),
    ),
    (
        "pins",
        "pins: ascending, not overlapping",
        "a pin twice",
        False,
        ("pins", lambda old: [old[0]] + old),
    ),
    (
        "pins",
        "pins: ascending, not overlapping",
        "two pins overlap by one point",
        False,
        ("pins", 0, 1, 2**64 // 100),
    ),
    (
        "pins",
        "pins: ascending, not overlapping",
        "a pin inside another",
        False,
        ("pins", 0, 1, 2**64 - 1),
    ),
    # gradual: nodes n0 n1 n2 n3 n4 n9; policies idle (n2), pair (n9, n0), then n0, n1,
    # n2, n3, n4, (n4, n0); n1 is leaving
    ("gradual", "target: at least one slice", "no target slice", False, ("target", [])),
    (
        "gradual",
        "target: starts at 0",
        "first target slice at 1",
        False,
        ("target", 0, 0, 1),
    ),
    (
        "gradual",
        "target: starts at 0",
        "first target slice missing",
        False,
        ("target", drop(0)),
    ),
    (
        "gradual",
        "target: ascending",
        "target slices swapped",
        False,
        ("target", swap(1, 2)),
    ),
    (
        "gradual",
        "target: ascending",
        "two target slices at 0",
        False,
        ("target", 1, 0, 0),
    ),
    (
        "gradual",
        "target: policy exists",
        "target policy 8 of 8",
        False,
        ("target", 2, 1, 8),
    ),
    (
        "gradual",
        "target: policy exists",
        "target policy 2^32 - 1",
        False,
        ("target", 2, 1, 2**32 - 1),
    ),
    (
        "gradual",
        "target: neighbours differ",
        "neighbouring target slices of one policy",
        False,
        ("target", 2, 1, 6),
    ),
    (
        "gradual",
        "target: cell bounds",
        "a target slice one point after a cell bound",
        False,
        ("target", 1, 0, plus(1)),
    ),
    (
        "gradual",
        "target: cell bounds",
        "a target slice one point before a cell bound",
        False,
        ("target", 4, 0, plus(-1)),
    ),
    (
        "gradual",
        "target: named policy without weight",
        "a target slice of a named policy without weight",
        False,
        ("target", 0, 1, 0),
    ),
    *(
        (
            name,
            f"carry: {rule}",
            f"{name}: {what}",
            False,
            ("more", 0, change),
        )
        for name, rule, what, change in (
            ("carry-old", "state", "state 0", carry(0, 0, 1)),
            ("carry-old", "state", "state 5", carry(5, 0, 1)),
            ("carry-old", "flags", "an unknown flag", carry(1, 2, 1)),
            ("carry-old", "flags", "all flags", carry(1, 2**32 - 1, 1)),
            ("carry-old", "reversed state", "state 3, reversed", carry(3, 1, 1)),
            ("carry-old", "reversed state", "state 4, reversed", carry(4, 1, 1)),
            ("carry-old", "from epoch", "from epoch 0", carry(1, 0, 0)),
            ("carry-old", "from epoch", "from its own epoch", carry(1, 0, 2)),
            ("carry-old", "from epoch", "from epoch 2^64 - 1", carry(1, 0, 2**64 - 1)),
            ("carry-old", "from digest", "no digest", carry(1, 0, 1, bytes(32))),
            ("carry-old", "digest of epoch 1", "another digest", carry(1, 0, 1, OTHER)),
            (
                "carry-old",
                "digest of the parent",
                "a digest that only begins like the parent",
                lambda more: [18, 48, more[2][:32] + bytes(16)],
            ),
            (
                "carry-both-old",
                "digest of the parent",
                "epoch 2",
                carry(2, 0, 2, OTHER),
            ),
            ("carry-both-old", "digest of epoch 1", "a digest", carry(2, 0, 1, OTHER)),
            ("carry-old", "one record", "no record", lambda more: [18, 48, b""]),
            (
                "carry-old",
                "one record",
                "two records",
                lambda more: [18, 48, 2 * more[2]],
            ),
        )
    ),
    *(
        (
            "tolerance",
            f"tolerance: {rule}",
            f"tolerance: {content.hex()} in records of {size}",
            False,
            ("more", 0, [19, size, content]),
        )
        for rule, size, content in (
            ("millionths", 8, bytes(8)),
            ("millionths", 8, struct.pack("<II", 100001, 0)),
            ("millionths", 8, bytes(4) + struct.pack("<I", 10000)),
            ("zero field", 8, struct.pack("<II", 10000, 1)),
            ("one record", 8, b""),
            ("one record", 8, struct.pack("<IIII", 10000, 0, 10000, 0)),
            ("one record", 4, struct.pack("<II", 10000, 0)),
        )
    ),
    (
        "three",
        "target slices are not the base slices",
        "target slices equal to the base slices",
        False,
        ("gradual", True),
        ("features", 1),
        ("header_length", 560),
        ("sections", 16),
        ("target", [[0, 0], [6148914691236517206, 1], [12297829382473034411, 2]]),
    ),
    (
        "gradual",
        "unnamed policy is used",
        "an unnamed policy that no target slice uses any more",
        False,
        ("target", drop(4)),
    ),
    (
        "gradual",
        "leaving: ascending",
        "a leaving node twice",
        False,
        ("leaving", [1, 1]),
    ),
    (
        "gradual-left",
        "leaving: ascending",
        "leaving nodes swapped",
        False,
        ("nodes", 5, 2, 0),
        ("leaving", [5, 2]),
    ),
    (
        "gradual",
        "leaving: node exists",
        "a leaving node that is no node",
        False,
        ("leaving", plus([6])),
    ),
    (
        "gradual",
        "leaving: node exists",
        "leaving node 2^32 - 1",
        False,
        ("leaving", plus([2**32 - 1])),
    ),
    (
        "gradual",
        "leaving: weight 0",
        "a leaving node with the least weight",
        False,
        ("nodes", 1, 2, 1),
    ),
    (
        "gradual-left",
        "leaving: weight 0",
        "a leaving node of weight 1",
        False,
        ("nodes", 2, 2, 10**6),
    ),
    (
        "gradual",
        "leaving: in a base slice's unnamed policy",
        "a leaving node that holds nothing",
        False,
        ("nodes", 3, 2, 0),
        ("leaving", plus([3])),
    ),
    (
        "gradual",
        "leaving: in a base slice's unnamed policy",
        "a leaving node of which only a named policy knows",
        False,
        ("leaving", plus([5])),
    ),
    (
        "gradual",
        "leaving: in no target slice's policy",
        "a leaving node in a target slice",
        False,
        ("target", 2, 1, 3),
    ),
    (
        "gradual-left",
        "leaving: in no target slice's policy",
        "a leaving node is a second copy in target slices",
        False,
        ("nodes", 3, 2, 0),
        ("leaving", plus([3])),
    ),
    (
        "gradual",
        "leaving: in no pin's policy",
        "a leaving node in a pin by key",
        True,
        ("pins", 0, 2, 3),
    ),
    (
        "gradual",
        "leaving: in no pin's policy",
        "a leaving node is the second in a pin by range",
        False,
        ("members", 9, 1),
    ),
    (
        "gradual",
        "leaving: in no named policy",
        "a leaving node in a named policy that holds nothing",
        False,
        ("members", 0, 1),
    ),
    (
        "gradual",
        "leaving: in no target slice's policy",
        "a leaving node in a named policy of a target slice",
        False,
        ("members", 1, 1),
    ),
    # final slices and index
    (
        "pins",
        "final slices",
        "no final slices although there are pins",
        False,
        ("final", []),
    ),
    ("three", "final slices", "final slices without pins", False, ("final", [[0, 0]])),
    (
        "pin-added",
        "final slices",
        "the final slices are the base slices",
        False,
        ("final", lambda old: [old[0]] + old[3:]),
    ),
    (
        "pin-added",
        "final slices",
        "a final slice starts one point late",
        False,
        ("final", 1, 0, plus(1)),
    ),
    (
        "pin-added",
        "final slices",
        "a final slice of the wrong policy",
        False,
        ("final", 1, 1, 1),
    ),
    (
        "pin-added",
        "final slices",
        "a final slice of policy 2^32 - 1",
        False,
        ("final", 1, 1, 2**32 - 1),
    ),
    (
        "pin-wide",
        "final slices",
        "neighbours not joined",
        False,
        ("final", lambda old: old + [[2**64 - 1, old[-1][1]]]),
    ),
    (
        "pins",
        "final slices",
        "last final slice missing",
        False,
        ("final", lambda old: old[:-1]),
    ),
    ("three", "index", "entry 0 is 1", False, ("index", 0, 1)),
    ("three", "index", "last entry too large", False, ("index", -1, plus(1))),
    ("three", "index", "last entry 2^32 - 1", False, ("index", -1, 2**32 - 1)),
    ("three", "index", "an entry too small", False, ("index", 8, plus(-1))),
    ("three", "index", "an entry too large", False, ("index", 3, plus(1))),
    (
        "quarters",
        "index",
        "a slice on the bound counted too early",
        False,
        ("index", 4, plus(1)),
    ),
    (
        "quarters",
        "index",
        "all entries zero",
        False,
        ("index", lambda old: [0] * len(old)),
    ),
    ("three", "index", "one entry missing", False, ("index", drop(1))),
    ("three", "index", "one entry too many", False, ("index", plus([3]))),
    ("three", "index", "no entries", False, ("index", [])),
    (
        "three",
        "index bits",
        "an index of one bit more than needed",
        False,
        ("bits", 5),
        ("index", lambda old: [i for e in old for i in (e, e)][:33]),
    ),
]

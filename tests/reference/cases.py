"""The maps and the keys that the vectors are made of, described by hand.

`maps()` returns {file name: (description for write_map, name of the map before or
None)}. Every map is compared with the one before it; `PLANS` names the further pairs
that are compared. All random choices come from SplitMix64 with fixed seeds.
"""

from hashes import ADOPTED
from write_map import END, millionths


class SplitMix64:
    """Random numbers of our own, so that the vectors never change."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        """Returns the next 64-bit number."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % END
        z = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 % END
        z = (z ^ z >> 27) * 0x94D049BB133111EB % END
        return z ^ z >> 31

    def bytes(self, n):
        """Returns the next n bytes."""
        return b"".join(self.next().to_bytes(8, "little") for _ in range(n // 8 + 1))[
            :n
        ]

    def shuffle(self, items):
        """Returns the items as a new list in random order (Fisher and Yates)."""
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.next() % (i + 1)
            items[i], items[j] = items[j], items[i]
        return items


def point(p):
    """A point as 16 hex digits."""
    return f"{p:016x}"


def nodes(*names, **more):
    """Nodes by name; the weight is 1, or follows the name after a colon."""
    return [dict(zip(("name", "weight"), name.split(":")), **more) for name in names]


def due(description):
    """{holder: the cells that it is due}, by the largest remainder. The name of a
    policy has "=" before it.
    """
    cells = description.get("cells", 0) or END
    weights = [
        (n["name"], millionths(n.get("weight", 1)))
        for n in sorted(description["nodes"], key=lambda n: n["name"].encode())
    ]
    weights += [
        ("=" + p["name"], millionths(p["weight"]))
        for p in description.get("policies", [])
        if "weight" in p
    ]
    total = sum(weight for _, weight in weights)
    cells_of = {who: cells * weight // total for who, weight in weights}
    order = sorted(
        range(len(weights)), key=lambda i: (-(cells * weights[i][1] % total), i)
    )
    for i in order[: cells - sum(cells_of.values())]:
        cells_of[weights[i][0]] += 1
    return cells_of


def runs(description, pieces):
    """Returns the description with its base slices: one for each item of `pieces`,
    which is a holder or (holder, parts). The cells that a holder is due are divided
    among its pieces in proportion to their parts; its last piece takes the remainder.
    """
    pieces = [piece if type(piece) is tuple else (piece, 1) for piece in pieces]
    cells, whole = description.get("cells", 0) or END, due(description)
    at, base, left = 0, [], dict(whole)
    for i, (who, parts) in enumerate(pieces):
        of = sum(other for name, other in pieces if name == who)
        size = (
            whole[who] * parts // of
            if who in [name for name, _ in pieces[i + 1 :]]
            else left[who]
        )
        left[who] -= size
        base.append([point(-(-at * END // cells)), who[1:] if who[0] == "=" else [who]])
        at += size
    assert at == cells, (description["name"], at)
    return dict(description, base=base)


def members(*pieces, names=("n0", "n1", "n2"), **more):
    """A map of nodes with equal weights, unless `names` says otherwise."""
    description = {"name": "members", "nodes": nodes(*names), **more}
    return runs(description, pieces or [name.split(":")[0] for name in names])


def with_base(description, *base):
    """The description with base slices written by hand: (start, nodes) pairs, where the
    start is a percentage or a point of 16 hex digits.
    """
    return dict(
        description,
        base=[
            [first if len(first) == 16 else point(int(first) * END // 100), who]
            for first, who in base
        ],
    )


def figure_4():
    """The article's six layouts of three nodes: 1, 2, 4 and 8 rounds, a mixture, and
    the 24 slices of the fourth layout in a random order in which three pairs of
    neighbours have the same node. (The article prints no numbers; rounds of 2, 4 and 8
    are the fewest that let case 5 be half case 2, a quarter case 4 and a quarter case
    3.)
    """
    n = ["n0", "n1", "n2"]
    mixed = [(w, 4) for w in n] + [(w, 1) for w in n * 2] + [(w, 2) for w in n]
    random = SplitMix64(4)
    while True:
        shuffled = random.shuffle(n * 8)
        if sum(a == b for a, b in zip(shuffled, shuffled[1:])) == 3:
            return [n, n * 2, n * 4, n * 8, mixed, shuffled]


def article():
    """The article's five placement policies and its hot key, in one map."""
    servers = [f"s{i}" for i in [17, 22, 23, *range(31, 40), 77, 82]] + [
        f"j{i:02}" for i in range(81)
    ]
    d = {
        "name": "article",
        "hash": "sha1",
        "nodes": nodes(*[s + ":0" for s in servers], "color-printer:0", "n11:0"),
        "policies": [
            {
                "name": "policy-0",
                "kind": "paxos",
                "nodes": ["s82", "s17", "s22"],
                "weight": "1",
            },
            {
                "name": "policy-1",
                "kind": "chain",
                "nodes": ["s77", "s23"],
                "weight": "1",
            },
            {
                "name": "policy-2",
                "kind": "rs-7-2",
                "nodes": [f"s{i}" for i in range(31, 40)],
                "weight": "1",
            },
            {
                "name": "policy-3",
                "kind": "printer",
                "nodes": ["color-printer"],
                "weight": "1.5",
            },
            {
                "name": "justin",
                "kind": "primary-and-80-caches",
                "nodes": [f"j{i:02}" for i in range(81)],
            },
        ],
        "pins": [
            {"range": ["6.00000%", "6.00001%"], "policy": "justin"},
            {"key": b"justin".hex(), "nodes": ["n11"]},
        ],
    }
    return runs(
        d,
        [
            "=policy-0",
            ("=policy-3", 3),
            "=policy-1",
            ("=policy-3", 1),
            "=policy-2",
            ("=policy-3", 2),
        ],
    )


def pins():
    """Pins of every sort: thin, by key, touching each other, at both ends of the space,
    and one that changes nothing.
    """
    return members(
        "n0",
        "n1",
        "n2",
        "n3",
        "n0",
        "n1",
        "n2",
        "n3",
        names=("n0", "n1", "n11:0", "n2", "n3"),
        policies=[
            {"name": "cray", "kind": "chain", "nodes": ["n11", "n3"]},
            {"name": "idle", "nodes": ["n2"]},
        ],
        pins=[
            {"range": ["0%", "0.00000001%"], "policy": "cray"},
            {"range": ["6.00000%", "6.00001%"], "nodes": ["n11"]},
            {"range": ["1%", "2%"], "nodes": ["n0"]},
            {"range": ["20%", "21%"], "policy": "cray"},
            {"range": ["21%", "30%"], "policy": "cray"},
            {"range": ["30%", "30.5%"], "nodes": ["n2", "n0"]},
            {"range": ["99.999999999999999999%", "100%"], "policy": "cray"},
            {"key": "", "policy": "cray"},
            {"key": b"justin".hex(), "policy": "cray"},
            {"key": b"justin\n".hex(), "nodes": ["n11"]},
            {"key": "00ff", "nodes": ["n3", "n2", "n1", "n0"]},
            {"key": "É".encode().hex(), "policy": "cray"},
        ],
    )


def words():
    """Names, labels and attributes in many alphabets, up to the greatest lengths that
    are allowed.
    """
    a = {
        "name": "Ärger",
        "formerly": "10.0.0.1:11211",
        "labels": {"zone": "ost", "rack": "é"},
        "attributes": {"address": "10.0.0.1:3306", "empty": ""},
    }
    b = {"name": "サーバー", "weight": "0.000001", "attributes": {"note": "x" * 4095}}
    c = {
        "name": "z" * 255,
        "weight": "1000000",
        "labels": {"l" * 4095: "v"},
        "formerly": "z y",
    }
    d = {"name": " ", "labels": {"zone": "west"}}
    e = {
        "name": "🐘-1",
        "weight": "2.5",
        "labels": {"a": "1", "B": "2", "ä": "3", "~": "4"},
    }
    all_ = {
        "name": "Mitglieder/会員 🐘",
        "nodes": [e, d, c, b, a],
        "max_slices": 4294967295,
        "policies": [
            {"name": "π", "kind": "k" * 255, "nodes": ["🐘-1", " "], "weight": "0.5"},
            {"name": "Z", "nodes": [" "]},
        ],
    }
    return runs(all_, ["=π", "Ärger", "サーバー", "z" * 255, " ", "🐘-1", "=π"])


def many():
    """About 300 slices over 40 nodes of five weights, drawn with a fixed seed."""
    random = SplitMix64(300)
    names = [f"m{i:02}" for i in range(40)]
    weighted = nodes(
        *[
            f"{name}:{('1', '0.5', '2', '1.25', '3')[i % 5]}"
            for i, name in enumerate(names)
        ]
    )
    pieces = [
        (name, 1 + random.next() % 9)
        for name in random.shuffle(names * 8)[:306] + names
    ]
    return runs(
        {"name": "many", "hash": "xxh3", "nodes": weighted}, random.shuffle(pieces)
    )


def replicas(swap=None):
    """Three copies over three zones of two racks; the order of each policy rotates."""
    where = {
        "a1": "a/r1",
        "a2": "a/r2",
        "b1": "b/r3",
        "b2": "b/r4",
        "c1": "c/r5",
        "c2": "c/r6",
    }
    all_ = [
        {"name": n, "labels": dict(zip(("zone", "rack"), w.split("/")))}
        for n, w in where.items()
    ]
    lists = [
        ["a1", "b1", "c1"],
        ["b2", "c2", "a2"],
        ["c1", "a2", "b1"],
        ["a2", "b2", "c2"],
        ["c2", "b1", "a1"],
        ["b2", "a1", "c1"],
        ["a1", "c2", "b2"],
        ["c1", "b1", "a2"],
    ]
    for at, other in (swap or {}).items():
        lists[at] = other
    d = {"name": "copies", "replicas": 3, "spread": ["zone", "rack"], "nodes": all_}
    return dict(d, base=[[point(i * END // 8), who] for i, who in enumerate(lists)])


def renamed_copies():
    """The map of replicas(), with the node a1 renamed to z1."""
    d = replicas()
    d["nodes"] = [
        dict(n, name="z1", formerly="a1") if n["name"] == "a1" else n
        for n in d["nodes"]
    ]
    return dict(
        d,
        base=[
            [first, ["z1" if n == "a1" else n for n in who]] for first, who in d["base"]
        ],
    )


def domains(copies):
    """One or two copies over three zones of two nodes. A fourth zone holds nothing, so
    `prefer` must not wait for a node of it.
    """
    names = ["a1", "a2", "b1", "b2", "c1", "c2", "d1"]
    zoned = [
        {"name": n, "labels": {"zone": n[0]}, "weight": "0" if n == "d1" else "1"}
        for n in names
    ]
    lists = [
        ["a1", "b1"],
        ["a2", "b2"],
        ["c1", "a1"],
        ["b1", "a2"],
        ["b2", "c1"],
        ["c2", "b1"],
        ["a1", "c2"],
        ["a2", "b1"],
    ]
    d = {"name": "domains", "replicas": copies, "spread": ["zone"], "nodes": zoned}
    return dict(
        d, base=[[point(i * END // 8), who[:copies]] for i, who in enumerate(lists)]
    )


def held():
    """One copy over zones that hold base points in different ways: c by a named policy
    alone, and d under a pin alone. Zone e has pinned points and no base points, and two
    nodes are in no zone. The rules of `prefer` decide otherwise if any of this is
    overlooked.
    """
    names = ["a1", "a2", "b1", "b2", "c1", "d1", "e1", "u1", "u2"]
    zoned = [
        {"name": n, "weight": "0"}
        if n[0] == "u"
        else {"name": n, "labels": {"zone": n[0]}}
        for n in names
    ]
    d = {
        "name": "held",
        "spread": ["zone"],
        "nodes": zoned,
        "policies": [{"name": "chain", "nodes": ["c1"], "weight": "1"}],
        "pins": [{"range": ["40%", "50%"], "nodes": ["e1"]}],
    }
    return with_base(
        d,
        ("0", ["a1"]),
        ("15", ["b1"]),
        ("30", "chain"),
        ("40", ["d1"]),
        ("50", ["a2"]),
        ("65", ["u1"]),
        ("75", ["u2"]),
        ("85", ["b2"]),
    )


def seldom():
    """One copy over zones of which z holds a 64th of the points, so that a draw seldom
    finds its node, and t one point, which no draw finds. So the last step of `prefer`
    lists nodes while a zone is still missing.
    """
    names = ["a1", "a2", "b1", "b2", "m:0", "t1", "z1"]
    zoned = [dict(n, labels={"zone": n["name"][0]}) for n in nodes(*names)]
    d = {"name": "seldom", "spread": ["zone"], "nodes": zoned}
    return with_base(
        d,
        ("0", ["a1"]),
        ("30", ["b1"]),
        ("60", ["a2"]),
        ("90", ["b2"]),
        (point(END - END // 64 - 1), ["z1"]),
        (point(END - 1), ["t1"]),
    )


def thin():
    """Slices of one point each: at the start, around 2^63, and at 2^64 - 1."""
    starts = [
        0,
        1,
        2,
        3,
        2**32 - 1,
        2**32,
        2**63 - 2,
        2**63 - 1,
        2**63,
        2**63 + 1,
        END - 3,
        END - 2,
        END - 1,
    ]
    return {
        "name": "thin",
        "nodes": nodes("a", "b", "c"),
        "base": [[point(p), ["abc"[i % 3]]] for i, p in enumerate(starts)],
    }


NEWER = {"features": [40], "sections": [[20, 4, "0102030405060708"], [25, 1, "ff"]]}


def tolerance():
    """Three copies over three zones, with shares that are up to 1% from their targets."""
    d, part = replicas(), END // 800
    base = [
        [point(int(first, 16) + i % 2 * part // 4), who]
        for i, (first, who) in enumerate(d["base"])
    ]
    return dict(d, name="tolerance", tolerance=10000, base=base)


def gradual():
    """A gradual change of the map cells-1000 that is under way: n1 is leaving, pair and
    n4 have received some cells already, n3 has received none yet.
    """
    base, target = (
        [(0, "n2"), (125, "n4"), (250, "n0"), (500, "pair"), (575, "n1"), (833, "n2")],
        [(750, "n3")],
    )

    def laid(slices):
        return [
            [point(-(-value * END // 1000)), who if who == "pair" else [who]]
            for value, who in slices
        ]

    d = {
        "name": "members",
        "cells": 1000,
        "nodes": nodes("n0", "n1:0", "n2:0.5", "n3", "n4:0.5", "n9:0"),
        "policies": [
            {"name": "pair", "kind": "chain", "nodes": ["n9", "n0"], "weight": "1"},
            {"name": "idle", "nodes": ["n2"]},
        ],
        "pins": [
            {"key": b"frank".hex(), "nodes": ["n0"]},
            {"range": ["33.3%", "33.44%"], "nodes": ["n4", "n0"]},
        ],
    }
    return dict(d, base=laid(base), target=laid(base[:4] + target), leaving=["n1"])


def gradual_end():
    """The map of gradual() after the change is complete."""
    d = gradual()
    return {
        **{k: v for k, v in d.items() if k not in ("target", "leaving")},
        "base": d["target"],
        "nodes": [n for n in d["nodes"] if n["name"] != "n1"],
    }


def gradual_copies(swap, taken, leaving=()):
    """Three copies in a gradual change from `replicas()` to `replicas(swap)`; the first
    `taken` slices have been changed already.
    """
    d, target = replicas(), replicas(swap)["base"]
    d["nodes"] = [
        dict(n, weight="0") if n["name"] in leaving else n for n in d["nodes"]
    ]
    return dict(
        d, base=target[:taken] + d["base"][taken:], target=target, leaving=list(leaving)
    )


def adopted():
    """Maps like those drawn from other programs' rings: one for each of their hashes,
    some with modulo, with affixes or with both, and one whose policies name a node
    twice.
    """
    n, plain = ("n0", "n1", "n2", "n0", "n1"), {}
    for name, (_, bits) in ADOPTED.items():
        plain["hash-" + name] = members(*n, name="ring", hash=name, cells=2**bits % END)
    hot = {"pins": [{"key": b"justin".hex(), "nodes": ["n2"]}]}
    around = {"affixes": [b"changeme".hex(), b"\xff\0".hex()]}
    plain.update(
        {
            "hash-crc32-mod": members(
                *n, name="ring", hash="crc32", cells=12, modulo=True, **hot
            ),
            "hash-md5-mod": members(
                *n, name="ring", hash="md5", cells=1000, modulo=True, **hot
            ),
            "hash-sha1-mod": members(
                *n, name="ring", hash="sha1", cells=7, modulo=True
            ),
            "hash-riak-mod": members(
                *n, name="ring", hash="riak", cells=64, modulo=True
            ),
            "hash-md5-affixes": members(
                *n, name="ring", hash="md5", cells=1024, **around, **hot
            ),
            "hash-crc32-both": members(
                *n,
                name="ring",
                hash="crc32",
                cells=97,
                modulo=True,
                affixes=["", b"/x".hex()],
            ),
            "hash-decimal-mod": members(
                *n, name="ring", hash="decimal", cells=12, modulo=True, **hot
            ),
            "hash-riak-32": members(*n, name="ring", hash="riak", cells=32),
        }
    )
    lists = [["a", "b", "a"], ["b", "a", "c"], ["c", "c", "c"], ["a", "b", "c"]]
    twice = {
        "name": "twice",
        "replicas": 3,
        "hash": "sha1",
        "cells": 4,
        "nodes": nodes("a", "b", "c"),
    }
    plain["twice"] = dict(
        twice, base=[[point(i * END // 4), who] for i, who in enumerate(lists)]
    )
    return {name: (description, None) for name, description in plain.items()}


def firsts_twice():
    """Firsts over lists that name a node twice: the node of a first keeps its second
    place. A named policy names no node twice, though the map has such lists.
    """
    lists = [["a", "b", "b"], ["b", "a", "c"], ["c", "c", "c"], ["a", "c", "b"]]
    return {
        "name": "twice",
        "replicas": 3,
        "hash": "sha1",
        "cells": 16,
        "nodes": nodes("a", "b", "c"),
        "policies": [{"name": "both", "nodes": ["a", "b"]}],
        "base": [[point(i * END // 4), who] for i, who in enumerate(lists)],
        "firsts": [
            {"range": ["6.25%", "87.5%"], "node": "b"},
            {"range": ["93.75%", "100%"], "node": "c"},
        ],
    }


def key_rules():
    """Maps that hash the first segments of a key: under stead's own hashes, and under a
    ring's hash together with modulo and affixes.
    """
    n = ("n0", "n1", "n2", "n0", "n1")
    # a pin by key holds for all keys with the same first segments; the second key has
    # slashes at its start
    hot = {
        "pins": [
            {"key": b"web1/cpu/0.rrd".hex(), "nodes": ["n2"]},
            {"key": b"//justin/x".hex(), "nodes": ["n1", "n0"]},
            {"key": "", "nodes": ["n0"]},
        ]
    }
    plain = {
        "keys-first-1": members(*n, name="rrd", segments=1, **hot),
        "keys-first-2": members(
            *n,
            name="rrd",
            hash="siphash",
            secret="000102030405060708090a0b0c0d0e0f",
            segments=2,
            **hot,
        ),
        "keys-first-255": members(*n, name="rrd", hash="xxh3", segments=255),
        "keys-both": members(
            *n,
            name="rrd",
            hash="crc32",
            cells=97,
            modulo=True,
            affixes=[b"/a/".hex(), b"/x".hex()],
            segments=1,
        ),
        "keys-riak": members(*n, name="rrd", hash="riak", segments=2),
    }
    return {name: (description, None) for name, description in plain.items()}


def maps():
    """Every map, as {name: (description, name of the map before or None)}. A map is
    listed after the map before it.
    """
    four, copies = ("n0", "n1", "n2", "n3"), replicas()
    pair = {"name": "pair", "kind": "chain", "nodes": ["b", "a"], "weight": "2"}
    weighted = runs(
        {"name": "weighted", "nodes": nodes("a", "b", "c:0.5"), "policies": [pair]},
        ["a", "=pair", "b", "c", "=pair"],
    )
    all_ = {
        "one": (members(names=("only",)), None),
        "three": (members(), None),
        "quarters": (members(names=four), None),
        "four-weights": (
            members(
                ("n0", 1),
                ("n3", 1),
                "n1",
                ("n3", 1),
                "n2",
                ("n3", 1),
                names=("n0", "n1", "n2", "n3:1.5"),
            ),
            None,
        ),
        **{
            f"figure-4-{i + 1}": (members(*pieces), None)
            for i, pieces in enumerate(figure_4())
        },
        "article": (article(), None),
        "pins": (pins(), None),
        "weighted": (weighted, None),
        "words": (words(), None),
        "sha1": (members(hash="sha1", name="sha one"), None),
        "xxh3": (members("n1", "n0", "n2", "n0", hash="xxh3"), None),
        "siphash": (
            members(
                "n2",
                "n1",
                "n0",
                hash="siphash",
                secret="000102030405060708090a0b0c0d0e0f",
            ),
            None,
        ),
        "cells-16384": (
            members(
                "n0",
                "n1",
                "n2",
                "n0",
                "n1",
                cells=16384,
                pins=[
                    {"key": b"justin".hex(), "nodes": ["n2"]},
                    {"range": ["6.00000%", "6.01%"], "nodes": ["n1"]},
                    {"range": ["50%", "50.01%"], "nodes": ["n0"]},
                ],
            ),
            None,
        ),
        "cells-1000": (
            members(
                "n2",
                "n0",
                "n1",
                "n2",
                cells=1000,
                pins=[
                    {"key": b"frank".hex(), "nodes": ["n0", "n1"]},
                    {"range": ["33.3%", "33.44%"], "nodes": ["n1"]},
                ],
            ),
            None,
        ),
        "cells-7": (members("n0", "n1", "n2", cells=7), None),
        "many": (many(), None),
        "replicas": (copies, None),
        "pins-short": (
            dict(
                copies,
                pins=[
                    {"key": b"frank".hex(), "nodes": ["a1"], "short": True},
                    {
                        "range": ["6%", "6.5%"],
                        "nodes": ["b1", "a1", "a2"],
                        "short": True,
                    },
                    {"range": ["7%", "8%"], "nodes": ["b1", "a2", "c1"]},
                ],
            ),
            None,
        ),
        "firsts": (
            dict(
                copies,
                pins=[{"range": ["20%", "25%"], "nodes": ["b1", "a2", "c1"]}],
                firsts=[
                    {"range": ["10%", "22%"], "node": "c1"},
                    {"range": ["40%", "100%"], "node": "a2"},
                    {"key": b"justin".hex(), "node": "b1"},
                ],
            ),
            "replicas",
        ),
        # a named policy is no list that a first could turn
        "firsts-named": (
            dict(weighted, firsts=[{"range": ["10%", "100%"], "node": "a"}]),
            "weighted",
        ),
        "firsts-twice": (firsts_twice(), None),
        "tolerance": (tolerance(), None),
        # a feature and two sections of a program that does not exist yet
        "newer": (dict(pins(), name="newer", algorithm=7, newer=NEWER), None),
        "newer-tolerance": (dict(tolerance(), name="newer", newer=NEWER), None),
        "thin": (thin(), None),
        "domains-1": (domains(1), None),
        "domains-2": (domains(2), None),
        "held": (held(), None),
        "seldom": (seldom(), None),
    }
    all_.update(adopted())
    all_.update(key_rules())
    all_.update(histories(all_, pair))
    all_.update(carries(all_))
    return all_


def carries(made):
    """The maps of carries: each state in turn, one that is reversed, and one beside a
    tolerance, with several copies.
    """
    grown = dict(
        made["node-added"][0],
        nodes=[
            {"name": "n1-new", "formerly": "n1"} if node["name"] == "n1" else node
            for node in made["node-added"][0]["nodes"]
        ],
    )
    grown["base"] = [
        [first, ["n1-new"] if who == ["n1"] else who] for first, who in grown["base"]
    ]

    def carried(state, after, reverse=False, of=grown):
        return dict(of, carry={"state": state, "reverse": reverse}), after

    return {
        "carry-old": carried(1, "three"),
        "carry-both-old": carried(2, "carry-old"),
        "carry-both-new": carried(3, "carry-both-old"),
        "carry-new": carried(4, "carry-both-new"),
        "carry-turned": carried(2, "carry-both-new", True),
        "carry-old-turned": carried(1, "carry-turned", True),
        "carry-copies": carried(
            1, "replicas", of=dict(made["copies-2"][0], tolerance=100000)
        ),
    }


# the old and the new map of a pair; the vectors have each in every state
PAIRS = [
    ("three", "carry-old"),
    ("three", "carry-both-new"),
    ("three", "node-lost"),
    ("three", "nodes-all-new"),
    ("three", "rename-grow"),
    ("three", "rename-swap"),
    ("three", "rename-no"),
    ("three", "rename-odd"),
    ("rename-odd", "three"),
    ("rename-grow", "three"),
    ("three", "three"),
    ("replicas", "carry-copies"),
    ("replicas", "copies-turned"),
    ("copies-turned", "copies-renamed"),
    ("pins", "pins-all-gone"),
    ("weighted", "policy-shorter"),
    ("twice", "twice-repaired"),
    ("twice-repaired", "twice"),
    ("cells-1000", "cells-moved"),
    ("domains-1", "domains-1"),
]


def histories(first, pair):
    """The maps of later epochs, which the vectors of `plan` are about."""
    three, pinned, weighted, _copies = (
        first[name][0] for name in ("three", "pins", "weighted", "replicas")
    )
    n, hot = ["n0", "n1", "n2"], {"key": b"justin".hex(), "nodes": ["n2"]}
    third = END // 3
    six_three = with_base(
        members(names=n, name="six"),
        ("0", ["n0"]),
        (point(third + 1), ["n2"]),
        ("50", ["n1"]),
        (point(END // 2 + third), ["n2"]),
    )
    hot_n0 = {"range": ["0%", "50%"], "nodes": ["n2"]}
    renamed = dict(
        three, nodes=nodes("n0", "n2") + [{"name": "alpha", "formerly": "n1"}]
    )
    all_nodes = nodes("n0", "n1", "n2", "n3", "n4")
    chain = dict(weighted, policies=[dict(pair, nodes=["c", "a"])])
    swapped = [
        {"name": "n0", "formerly": "n1"},
        {"name": "n1", "formerly": "n0"},
        {"name": "n2"},
    ]
    odd = nodes("n0", "n2") + [
        {"name": "alpha", "formerly": "n1"},
        {"name": "beta", "formerly": "n1"},
        {"name": "zeta", "formerly": "n2"},
    ]
    # three policies get another primary, one keeps its primary and lists the others in
    # another order, and in one a copy moves between nodes that are not the primary
    turned = replicas(
        {
            0: ["c1", "b1", "a1"],
            1: ["c2", "a2", "b2"],
            2: ["c1", "b1", "a2"],
            4: ["a1", "b1", "c2"],
            7: ["c1", "b1", "a1"],
        }
    )
    return {
        "six-1": (members(names=("n0",), name="six"), None),
        "six-2": (members("n0", "n1", names=("n0", "n1"), name="six"), "six-1"),
        "six-3": (six_three, "six-2"),
        "six-4": (six(six_three, "1"), "six-3"),
        "six-5": (six(six_three, "1.5"), "six-4"),
        "naive-4": (members(names=("n0", "n1", "n2", "n3")), "three"),
        "same": (three, "three"),
        "rename": (
            with_base(
                renamed,
                *[(s, ["alpha"] if w == ["n1"] else w) for s, w in three["base"]],
            ),
            "three",
        ),
        "rename-grow": (
            with_base(renamed, ("0", ["n0"]), ("25", ["alpha"]), ("75", ["n2"])),
            "three",
        ),
        "rename-shrink": (
            with_base(renamed, ("0", ["n0"]), ("45", ["alpha"]), ("50", ["n2"])),
            "three",
        ),
        "rename-no": (
            with_base(
                dict(
                    three, nodes=all_nodes[:3] + [{"name": "alpha", "formerly": "n1"}]
                ),
                ("0", ["n0"]),
                ("50", ["alpha"]),
                ("75", ["n2"]),
            ),
            "three",
        ),
        "rename-swap": (dict(three, nodes=swapped), "three"),
        # former names that no fleet has: two nodes have the same one, and a node has that
        # of another node of the map, and of the old one
        "rename-odd": (
            with_base(
                dict(three, nodes=odd),
                ("0", ["n0"]),
                ("20", ["alpha"]),
                ("40", ["beta"]),
                ("60", ["n2"]),
                ("80", ["zeta"]),
            ),
            "three",
        ),
        "pin-added": (dict(three, pins=[hot]), "three"),
        "pin-gone": (three, "pin-added"),
        "pin-short": (dict(three, pins=[dict(hot, short=True)]), "pin-added"),
        "pin-moved": (dict(three, pins=[dict(hot, nodes=["n0", "n1"])]), "pin-added"),
        "pin-wide": (dict(three, pins=[hot_n0]), "pin-moved"),
        "pin-over-move": (
            with_base(
                dict(three, pins=[hot_n0]),
                ("0", ["n1"]),
                ("25", ["n0"]),
                ("75", ["n2"]),
            ),
            "pin-wide",
        ),
        "pins-all-gone": ({k: v for k, v in pinned.items() if k != "pins"}, "pins"),
        "policy-by-hand": (chain, "weighted"),
        "policy-reordered": (
            dict(weighted, policies=[dict(pair, nodes=["a", "b"])]),
            "weighted",
        ),
        "policy-longer": (
            dict(weighted, policies=[dict(pair, nodes=["b", "a", "c"])]),
            "weighted",
        ),
        "policy-shorter": (
            dict(weighted, policies=[dict(pair, nodes=["a"])]),
            "policy-longer",
        ),
        "policy-renamed": (
            dict(
                weighted,
                policies=[dict(pair, name="duo")],
                base=[[s, "duo" if w == "pair" else w] for s, w in weighted["base"]],
            ),
            "weighted",
        ),
        "policy-gone": (runs(dict(weighted, policies=[]), ["a", "b", "c"]), "weighted"),
        "policy-new": (
            with_base(
                dict(
                    three,
                    policies=[{"name": "pair", "nodes": ["n1", "n0"], "weight": "1"}],
                ),
                ("0", ["n0"]),
                ("25", "pair"),
                ("50", ["n1"]),
                ("75", ["n2"]),
            ),
            "three",
        ),
        "node-added": (
            with_base(
                dict(three, nodes=all_nodes[:4]),
                ("0", ["n0"]),
                ("25", ["n3"]),
                ("34", ["n1"]),
                ("60", ["n3"]),
                ("75", ["n2"]),
            ),
            "three",
        ),
        "node-lost": (
            with_base(
                dict(three, nodes=nodes("n0", "n2")), ("0", ["n0"]), ("50", ["n2"])
            ),
            "three",
        ),
        "nodes-all-new": (
            with_base(
                dict(three, nodes=nodes("x0", "x1")), ("0", ["x1"]), ("50", ["x0"])
            ),
            "three",
        ),
        "lists": (
            with_base(
                dict(three, nodes=all_nodes),
                ("0", ["n0", "n1", "n2"]),
                ("25", ["n3", "n4"]),
                ("50", ["n2", "n1"]),
                ("75", ["n4"]),
            ),
            "three",
        ),
        "lists-2": (
            with_base(
                dict(three, nodes=all_nodes),
                ("0", ["n2", "n0", "n3"]),
                ("25", ["n1", "n0", "n2", "n3"]),
                ("50", ["n4", "n3", "n0"]),
                ("75", ["n2"]),
                ("80", ["n4", "n0"]),
            ),
            "lists",
        ),
        "copies-2": (
            replicas(
                {0: ["a1", "b2", "c1"], 3: ["c2", "a1", "b1"], 6: ["b2", "a1", "c2"]}
            ),
            "replicas",
        ),
        # The last two of the eight target slices are joined. The remaining seven make
        # an odd number of 4-byte records, so the file ends with padding before an empty
        # section.
        "gradual-copies": (
            gradual_copies(
                {
                    0: ["a1", "b2", "c1"],
                    3: ["c2", "a1", "b1"],
                    5: ["a1", "b2", "c1"],
                    6: ["c1", "b1", "a2"],
                },
                1,
            ),
            "replicas",
        ),
        "gradual-left": (
            gradual_copies(
                {
                    0: ["a1", "b2", "c1"],
                    2: ["c1", "a2", "b2"],
                    4: ["c2", "b2", "a1"],
                    7: ["a1", "b2", "c1"],
                },
                2,
                ["b1"],
            ),
            "replicas",
        ),
        "gradual": (gradual(), "cells-1000"),
        "gradual-end": (gradual_end(), "gradual"),
        "firsts-gradual": (
            dict(
                gradual(),
                firsts=[
                    {"range": ["2%", "9%"], "node": "n4"},
                    {"key": b"justin".hex(), "node": "n0"},
                ],
            ),
            "cells-1000",
        ),
        "cells-moved": (
            members(
                "n2",
                "n1",
                "n0",
                "n2",
                cells=1000,
                pins=[{"key": b"frank".hex(), "nodes": ["n1"]}],
            ),
            "cells-1000",
        ),
        "secret-moved": (
            members(
                "n1",
                "n2",
                "n0",
                hash="siphash",
                secret="000102030405060708090a0b0c0d0e0f",
            ),
            "siphash",
        ),
        "keys-moved": (
            members(
                "n1",
                "n2",
                "n0",
                "n2",
                name="rrd",
                segments=1,
                pins=[{"key": b"web1/mem.rrd".hex(), "nodes": ["n0"]}],
            ),
            "keys-first-1",
        ),
        "copies-turned": (turned, "replicas"),
        # a primary under its new name is the same primary
        "copies-renamed": (renamed_copies(), "copies-turned"),
        "twice-repaired": (
            dict(first["twice"][0], base=[["0000000000000000", ["a", "b", "c"]]]),
            "twice",
        ),
        "thin-moved": (
            with_base(
                thin(),
                (point(0), ["a"]),
                (point(2**63 - 1), ["c"]),
                (point(END - 1), ["b"]),
            ),
            "thin",
        ),
    }


def six(three, weight):
    """The article's figure 6 with four nodes: each of the other three gives the end of
    one slice to n3, and nothing else moves.
    """
    d = {"name": "six", "nodes": nodes("n0", "n1", "n2", "n3:" + weight)}
    size, (_, one, two, last) = due(d), [int(first, 16) for first, _ in three["base"]]
    starts = [
        (0, "n0"),
        (size["n0"], "n3"),
        (one, "n2"),
        (two, "n1"),
        (two + size["n1"], "n3"),
        (last, "n2"),
        (last + size["n2"] - (two - one), "n3"),
    ]
    return dict(d, base=[[point(first), [who]] for first, who in starts])


# Pairs that are compared in addition to each map and the map before it. Some leave out
# epochs, some go backwards.
PLANS = [
    ("six-1", "six-3"),
    ("six-1", "six-5"),
    ("six-2", "six-5"),
    ("pin-added", "pin-wide"),
    ("three", "pin-over-move"),
    ("weighted", "policy-shorter"),
    ("three", "three"),
    ("pins", "pins"),
    ("replicas", "replicas"),
    ("three", "lists-2"),
    ("figure-4-1", "figure-4-6"),
    ("three", "figure-4-5"),
    ("rename", "node-added"),
    ("many", "many"),
    ("twice-repaired", "twice"),
    ("twice", "twice"),
    ("rename", "three"),
    ("rename-grow", "three"),
    ("rename-shrink", "three"),
    ("rename-swap", "three"),
    ("rename-odd", "three"),
    ("copies-turned", "replicas"),
    ("copies-2", "copies-turned"),
    ("replicas", "copies-renamed"),
    ("copies-renamed", "copies-2"),
]

#!/usr/bin/env python3
"""Makes tests/maps/*.map and tests/vectors/*.json, byte for byte the same each time:
`make_vectors.py` writes them, `make_vectors.py --check` only compares.

Each vector file is {"about": ..., "vectors": [...]} with one vector a line. A key is
hex, a point 16 hex digits, a count of points a decimal string. The answers come from
the reference, the maps and the questions from cases.py and golden.py.
"""

import hashlib
import json
import sys
from pathlib import Path

import cases
import comparison
import damage
import fleets
import golden
import ring_examples
import stead_reference as reference
import write_map
from hashes import HASHES, point_of

TESTS = Path(__file__).resolve().parent.parent
SECRET = bytes(range(16))
NAMES = [
    "frank",
    "frank\n",
    "Frank",
    "FRANK",
    "",
    "justin",
    "justin\n",
    "artist/REM",
    "REM",
    "bob",
    "alice",
    "a",
    "A",
    "0",
    "user:1",
    "user:2",
    "user:1000",
    "/home/frank/mail",
    "https://example.org/a?b=c&d=%20",
    "frank@example.org",
    "böb",
    "bo\u0308b",
    "サーバー",
    "🐘",
    "10.0.0.1:11211",
    " frank",
    "frank ",
    "frank\r\n",
    "frank\0",
    "\0",
    "..",
    ".",
    "a/../b",
    "con",
    "-",
    "--help",
    "'; DROP TABLE users; --",
    "x" * 255,
    "x" * 256,
    "\\",
    '"',
    "\t",
    "\ufeff",
    "e\u0301",
    "é",
]
RAW = [
    b"\xff",
    b"\xfe\xff",
    b"b\xf6b",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf0\x9f\x98",
    b"a\0b",
    b"\0" * 64,
    b"\xff" * 64,
]


# Keys for the hash `decimal`: ids as sites use them, numbers on both sides of 2^64,
# leading zeros, and other characters before and after the digits.
NUMBERS = [
    "1",
    "7",
    "11",
    "12",
    "13",
    "100",
    "4294967296",
    "9999999999",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551627",
    "1" * 100,
    "0042",
    "42:profile",
    "42 ",
    " 42",
    "+42",
    "-42",
    "4.2",
    "1e3",
    "0x2a",
    "user:42",
    "\u0664\u0662",
]


# Keys for key rules: paths of files as hosts use them, slashes in every position, and
# 256 segments and more.
PATHS = [
    b"web1/cpu/0.rrd",
    b"web1/cpu/1.rrd",
    b"web1/mem.rrd",
    b"/web1/cpu/0.rrd",
    b"///web1/cpu/0.rrd",
    b"web2/cpu/0.rrd",
    b"web1",
    b"web1/",
    b"/web1",
    b"web1//cpu/0.rrd",
    b"web1/cpu",
    b"web1/cpu/",
    b"./web1/mem.rrd",
    b"WEB1/cpu/0.rrd",
    b"web1 /cpu",
    b"web1\n",
    b"/",
    b"//",
    b"justin/",
    b"justin/x/y",
    b"\xff\0/\xfe\n/x",
    b"a\\b/c/d",
    b"ab/" * 254 + b"ab",
    b"ab/" * 255,
    b"ab/" * 255 + b"c",
    b"ab/" * 300,
    b"/" * 300 + b"x/y/z",
    "h\u00f6st/cpu.rrd".encode(),
    b"x" * 300 + b"/y/z",
]


# Keys for `prefer` on the map "seldom": draw 64 is the first that finds the node z1, and
# draw 65 would be.
SELDOM = [b"key-405", b"key-621", b"key-31", b"key-156"]


def hostile_keys():
    """Keys that people have, and keys that break programs."""
    return [name.encode() for name in NAMES] + RAW


def points():
    """For every hash: hostile keys, every byte, all lengths up to 130 and the lengths
    at which XXH3 changes its method.
    """
    random = cases.SplitMix64(1)
    counted = [
        bytes(i % 251 for i in range(n))
        for n in [
            *range(131),
            191,
            192,
            239,
            240,
            241,
            256,
            257,
            511,
            512,
            513,
            1023,
            1024,
            1025,
            1087,
            1088,
            1089,
            2048,
            2049,
            4096,
        ]
    ]
    keys = hostile_keys() + [bytes([b]) for b in range(256)] + counted
    keys += [random.bytes(n) for n in range(1, 130, 4)] + [random.bytes(4096)]
    for name in HASHES:
        for key in dict.fromkeys(keys):
            v = {
                "hash": name,
                "key": key.hex(),
                "point": cases.point(point_of(name, key, SECRET)),
            }
            yield dict(v, secret=SECRET.hex()) if name == "siphash" else v
    for secret in (bytes(16), b"\xff" * 16, bytes(range(16, 0, -1))):
        for key in keys[:60:4]:
            yield {
                "hash": "siphash",
                "key": key.hex(),
                "point": cases.point(point_of("siphash", key, secret)),
                "secret": secret.hex(),
            }


def paths():
    """Hostile names under several levels, with and without fold, and the cases that are
    errors.
    """
    keys = (
        hostile_keys()
        + [bytes([b]) for b in range(256)]
        + [b"F" * 85, b"F" * 86, b"_" * 255, b"_" * 256, b"=" * 85, b"x" + b"X" * 85]
    )
    keys += [b"Fr\xc3\x84NK", b"con", b"aux.txt", b"a=41", b"a=", b"aA", b"=41"]
    levels = [
        (64, 64, 128),
        (256,),
        (1,),
        (16,) * 16,
        (64, 64, 64),
        (7, 100, 255),
        (256,) * 16,
        (1, 2, 3, 4),
    ]
    asked = [(key, levels[0], fold) for key in keys for fold in (False, True)] + [
        (k, l, False) for k in keys[:40] for l in levels[1:]
    ]
    asked += [
        (b"frank", wrong, False)
        for wrong in ((), (0,), (257,), (64, 0), (64, 64, 257), (1,) * 17)
    ]
    for key, level, fold in asked:
        v = {"key": key.hex(), "levels": list(level), "fold": fold}
        try:
            yield dict(v, path=reference.path(key, level, fold))
        except ValueError as error:
            yield dict(v, path=None, error=str(error))


def names():
    """The path of every vector of paths(), below other directories too, and paths that no
    name has.
    """
    asked = []
    for i, v in enumerate(v for v in paths() if v["path"] is not None):
        above = (b"", b"/nas/", b"./", b"\xff\n/", b"3/", b"//")[i % 6]
        asked.append((above + v["path"].encode(), tuple(v["levels"])))
    # each byte in its place: as itself, escaped, and escaped in upper case
    for byte in range(256):
        for key in (bytes([byte]), b"a" + bytes([byte])):
            for file in (bytes([byte]), b"=%02x" % byte, b"=%02X" % byte):
                asked.append((directories(key) + key[:-1] + file, LEVELS))
    # the names of the longest file names, and of longer ones
    for key in (b"_" * 255, b"." * 85, b"_" * 256, b"." * 86):
        file = key if key[0] == 0x5F else key.replace(b".", b"=2e")
        asked.append((directories(key) + file, LEVELS))
    frank = b"38/37/60/frank"
    wrong = [b"", b"/", b"frank", b"/frank", b"37/60/frank", b"/37/60/frank"]
    wrong += [frank.replace(a, b, 1) for a, b in WRONG_PARTS]
    wrong += [frank + end for end in WRONG_ENDS]
    asked += [(found, LEVELS) for found in wrong]
    asked += [(frank, levels) for levels in ((), (0,), (257,), (64, 0), (1,) * 17)]
    asked += [(frank, (64, 64)), (b"37/" + frank, (64, 64, 128, 256))]
    for found, levels in dict.fromkeys(asked):
        v = {"path": found.hex(), "levels": list(levels)}
        try:
            yield dict(v, name=reference.path_name(found, levels).hex())
        except ValueError as error:
            yield dict(v, name=None, error=str(error))


LEVELS = (64, 64, 128)
# what makes 38/37/60/frank a path that no name has
WRONG_PARTS = (
    (b"38", b"39"),
    (b"37", b"037"),
    (b"60", b"+60"),
    (b"60", b" 60"),
    (b"60", b""),
    (b"60", b"=36=30"),
    (b"38", b"10000000000000000000000038"),
    (b"/", b"//"),
    (b"/", b"\\"),
    (b"frank", b"Frank"),
    (b"frank", b"fr=61nk"),
    (b"frank", b"fr=2Enk"),
    (b"frank", b"fr==nk"),
    (b"frank", b"=frank"),
    (b"frank", b"fran\xc3\xa9"),
    (b"frank", b".."),
)
WRONG_ENDS = (
    b"/",
    b"=",
    b"=2",
    b"=2e",
    b"=0g",
    b"=g0",
    b".",
    b"\n",
    b"\0",
    b" ",
    b"==",
)


def directories(key):
    """The directories of a key on the default levels."""
    digest = hashlib.md5(key).digest()
    return b"%d/%d/%d/" % (digest[0] % 64, digest[1] % 64, digest[2] % 128)


def locate(files):
    """For each map: keys, and the points on both sides of every bound."""
    for name, data in files.items():
        m = reference.read_map(data)
        keys = (
            hostile_keys()
            if m.epoch == 1 and not name.startswith("figure")
            else hostile_keys()[:12]
        )
        keys = keys + [
            number.encode() for number in NUMBERS if name.startswith("hash-decimal")
        ]
        keys = keys + [path for path in PATHS if m.segments]
        for key in keys + [pin.key for pin in m.pins if pin.key is not None]:
            yield {"map": name, "key": key.hex(), **located(m, m.point(key))}
        for key in (b"Frank", b"FRANK\xc3\x84", b"JUSTIN") + (
            b"/WEB1/CPU/0.rrd",
            b"Web1/MEM.rrd",
        ) * bool(m.segments):
            yield {
                "map": name,
                "key": key.hex(),
                "fold": True,
                **located(m, m.point(reference.ascii_fold(key))),
            }
        bounds = (
            [first for first, _ in m.final + m.base]
            + [p.last + 1 for p in m.pins]
            + [1, cases.END]
        )
        for point in sorted(
            {p for first in bounds for p in (first - 1, first) if 0 <= p < cases.END}
        ):
            yield {"map": name, **located(m, point)}


def rings(maps):
    """Keys on the maps of adopted rings. The answers are those of the original's rule,
    and the map must give the same.
    """
    keys = (
        hostile_keys()[::4]
        + RAW
        + [b"user/%d" % i for i in range(20)]
        + ["clé:%d".encode() % i for i in range(8)]
    )
    for example in ring_examples.examples():
        name = f"ring-{example.name}"
        m = reference.read_map(maps[name])
        for key in filter(example.takes, keys):
            nodes, point = example.place(key), m.point(key)
            found = reference.locate_all(m, point)
            assert found == nodes, (
                f"{name} has {key!r} on {found}, and the rule of {example.kind} on {nodes}"
            )
            yield {
                "map": name,
                "key": key.hex(),
                "point": cases.point(point),
                "locate": nodes[0],
                "all": nodes,
            }


def ring_maps():
    """The maps of adopted rings by name, as tests/rings/draw_maps.py wrote them."""
    return {
        f"ring-{e.name}": (TESTS / "maps" / f"ring-{e.name}.map").read_bytes()
        for e in ring_examples.examples()
    }


def located(m, point):
    """The expected answers for one point."""
    return {
        "point": cases.point(point),
        "locate": reference.locate(m, point),
        "all": reference.locate_all(m, point),
    }


def prefer(files):
    """For each map: some keys, with n from 1 to a few, the number of nodes, and more
    than that.
    """
    for name, data in files.items():
        m = reference.read_map(data)
        few = len(m.nodes) > 30
        keys = hostile_keys()[
            : 3 if few else 6 if m.epoch > 1 else 30 if m.spread else 10
        ]
        keys = keys + [path for path in PATHS[:6] if m.segments]
        for key in keys + SELDOM * (name == "seldom"):
            for n in sorted(
                {*range(1, min(len(m.nodes), 6) + 1), len(m.nodes), len(m.nodes) + 1}
            ):
                yield {
                    "map": name,
                    "key": key.hex(),
                    "n": n,
                    "prefer": reference.prefer(m, m.point(key), n),
                }


def plans(files):
    """Each map with the one before it, and the pairs of cases.PLANS."""
    pairs = [
        (after, name) for name, (_, after) in cases.maps().items() if after
    ] + cases.PLANS
    for old, new in pairs:
        d = comparison.compare(
            reference.read_map(files[old]), reference.read_map(files[new])
        )
        moves = [
            {
                "first": cases.point(a),
                "last": cases.point(b),
                "from": f,
                "to": t,
                "cause": c,
            }
            for a, b, f, t, c in d["moves"]
        ]
        yield {
            "old": old,
            "new": new,
            **{k: str(d[k]) for k in ("moved", "reordered", "lower_bound", "by_hand")},
            "moves": moves,
        }


def pairs(files):
    """Pairs of maps in each state: where keys, and the points on both sides of some
    bounds, are read and written.
    """
    for old_name, new_name in cases.PAIRS:
        old, new = (reference.read_map(files[name]) for name in (old_name, new_name))
        bounds = sorted({first for m in (old, new) for first, _ in m.final})
        bounds = bounds[:: len(bounds) // 12 + 1]
        asked = [{"key": key.hex()} for key in hostile_keys()[:12]]
        asked += [{"point": cases.point(p)} for p in bounds]
        for state in reference.STATES:
            for what in asked:
                point = (
                    new.point(bytes.fromhex(what["key"]))
                    if "key" in what
                    else int(what["point"], 16)
                )
                before, after = comparison.both_lists(old, new, point)
                reads, writes = comparison.in_state(state, before, after)
                yield {
                    "old": old_name,
                    "new": new_name,
                    "state": state,
                    **what,
                    "reads": reads,
                    "writes": writes,
                    "moved": before != after,
                }


ABOUT = {
    "points": "hash of key (hex) -> point; siphash with its secret",
    "paths": "key (hex), levels and fold -> path; null where it is an error",
    "names": (
        "path (hex) and levels -> the name (hex) that has this path; null where it is an "
        "error"
    ),
    "locate": (
        "map and key (hex; fold: ASCII fold first), or map and point alone -> point, "
        "primary, all nodes"
    ),
    "prefer": "map, key (hex) and n -> names, best first",
    "plans": "old and new map -> what differs, in points",
    "pairs": (
        "old and new map, state, and key (hex) or point -> names to read from and to "
        "write to, in order, and whether the maps answer differently"
    ),
    "damaged": (
        "map cut or zero-filled to size, then patched at [offset, hex]; reseal: "
        "digest made anew last -> status"
    ),
    "fleet_errors": (
        "fleet text as a first map's -> status, line, and words that the message has; "
        "hex instead of text where it is no text"
    ),
    "golden": "map and keys (how many: the decimal numbers from 0 up, in ASCII) -> SHA-256 "
    "of a line for each key, all its nodes joined by "
    "a comma, and a newline; SHA-256 of their points, 8 bytes each, big-endian",
}


def everything():
    """Returns {path below tests/: bytes} of all files but golden.json, and {name:
    bytes} of the maps.
    """
    files = {}
    for name, (description, after) in cases.maps().items():
        files[name] = write_map.encode(description, files[after] if after else None)
    adopted = ring_maps()
    made = {f"maps/{name}.map": data for name, data in {**files, **adopted}.items()}
    vectors = {
        "points": points(),
        "paths": paths(),
        "names": names(),
        "locate": [*locate(files), *rings(adopted)],
        "prefer": prefer(files),
        "plans": plans(files),
        "pairs": pairs(files),
        "damaged": damage.damaged(files, cases.maps()),
        "fleet_errors": fleets.errors(),
    }
    for name, list_ in vectors.items():
        made[f"vectors/{name}.json"] = vector_file(name, list_)
    return made, files


def vector_file(name, vectors):
    """The bytes of a vector file."""
    lines = ",\n".join(
        json.dumps(v, separators=(",", ":"), ensure_ascii=True) for v in vectors
    )
    return f'{{"about":{json.dumps(ABOUT[name])},"vectors":[\n{lines}\n]}}\n'.encode()


def golden_file(files, check):
    """The bytes of golden.json. Since its answers take a quarter of a minute to
    compute, --check puts the answers of the existing file to the current questions;
    tests/runners/reference_runner.py computes them again in every `make test`.
    """
    if not check:
        return vector_file(
            "golden",
            golden.golden(
                {name: reference.read_map(files[name]) for name in golden.MAPS}
            ),
        )
    place = TESTS / "vectors" / "golden.json"
    there = json.loads(place.read_text())["vectors"] if place.exists() else []
    answers = {
        v["map"]: {name: v.get(name) for name in ("digest", "points")} for v in there
    }
    return vector_file(
        "golden",
        [{**asked, **answers.get(asked["map"], {})} for asked in golden.asked()],
    )


def main(check):
    """Writes all files, or prints those that differ."""
    (made, files), wrong = everything(), []
    made["vectors/golden.json"] = golden_file(files, check)
    there = {
        str(p.relative_to(TESTS))
        for pattern in ("maps/*.map", "vectors/*.json")
        for p in TESTS.glob(pattern)
    }
    wrong += sorted(there - set(made))
    for name, data in made.items():
        place = TESTS / name
        if not check:
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        elif not place.exists() or place.read_bytes() != data:
            wrong.append(name)
        # a file that a person still opens; locate.json, the largest, is half of it
        assert len(data) < 2**21, name
    for name in wrong:
        print(
            f"tests/{name}: differs from what make_vectors.py makes, or is not made by it"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--check"]))

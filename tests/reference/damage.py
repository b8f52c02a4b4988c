"""The damaged maps: each a good map, a few changed bytes, and the one rule of
docs/map-format.md that they break.

`damaged(files, descriptions)` returns the vectors of damaged.json. They come from three
tables: bytes of the header and the section table, fields of records, and whole lists. A
vector says how to make the damaged file from the good one: cut it, or extend it with
zeros, to `size` bytes; apply the patches; and, where `reseal` is true, compute the
digest again. The length in the header is not corrected.
"""

import struct

from damage_records import RECORDS
from hashes import ADOPTED
from write_map import finish, lay_out, pack, seal

# the first number that no hash has
UNKNOWN_HASH = 1 + max(number for number, _ in ADOPTED.values())


def damaged(files, descriptions):
    """All vectors, each with `rule`, the reference's name for the rule that is
    broken.
    """
    out = []

    def add(name, data, status, rule, comment, reseal=True):
        out.append(
            vector(name, files[name], bytes(data), status, rule, comment, reseal)
        )

    for name, size, rule in SIZES:
        data = files[name]
        size = size if size >= 0 else len(data) + size
        add(
            name,
            data[:size] + bytes(max(0, size - len(data))),
            "format",
            rule,
            f"{len(data)} bytes cut or filled up to {size}",
            False,
        )
    for name, at, form, value, status, rule, comment, reseal in (
        header_cases(files) + table_cases(files) + byte_cases(files)
    ):
        data = bytearray(files[name])
        struct.pack_into(form, data, at, value)
        add(name, data, status, rule, comment, reseal)
    add(
        "three",
        b"".join([files["three"], bytes(8)]),
        "format",
        "file length",
        "8 bytes too many, digest made anew",
    )
    for name, grow in (("three", 1), ("three", 8), ("pins", 4)):
        data = bytearray(files[name] + bytes(grow))
        struct.pack_into("<Q", data, 16, len(data))
        add(
            name,
            data,
            "format",
            "end of the last section",
            f"{grow} zero bytes after the last section, in the file length",
        )
    data = bytearray(files["three"][:-4])
    struct.pack_into("<Q", data, 16, len(data))
    add(
        "three",
        data,
        "format",
        "section inside the file",
        "the last index entry is cut off, the file length fits",
    )
    data = bytearray(files["three"][:176])
    struct.pack_into("<Q", data, 16, len(data))
    add(
        "three",
        data,
        "format",
        "file shorter than its header",
        "176 bytes that say so, without a section table",
    )
    data = bytearray(files["gradual-copies"][:-4])
    struct.pack_into("<Q", data, 16, len(data))
    add(
        "gradual-copies",
        data,
        "format",
        "section inside the file",
        "the padding before the empty last section is cut off, the file length fits",
    )
    data = bytearray(files["gradual"][:500])
    struct.pack_into("<Q", data, 16, len(data))
    add(
        "gradual",
        data,
        "format",
        "file shorter than its header",
        "500 bytes that say so, of a header of 560",
    )
    for name, header, features, sections, what in (
        ("three", 560, 1, 16, "16 sections in the header of 13"),
        ("gradual", 488, 0, 13, "13 of 16"),
    ):
        data = bytearray(files[name])
        for at, form, value in (
            (12, "<I", header),
            (24, "<Q", features),
            (172, "<I", sections),
        ):
            struct.pack_into(form, data, at, value)
        add(name, data, "format", "section offset", what)
    for old, new, comment in TEXT_MODE:
        add(
            "three", files["three"].replace(old, new), "format", "magic", comment, False
        )
    for section in (2, 3, 8, 13):
        add(
            "pins",
            gap(files["pins"], section),
            "format",
            "section offset",
            f"8 zero bytes too many before section {section}",
        )
    for section in (14, 15, 16):
        add(
            "gradual",
            gap(files["gradual"], section),
            "format",
            "section offset",
            f"8 zero bytes too many before section {section}",
        )
    for name, rule, comment, again, *changes in RECORDS:
        r = finish(lay_out(descriptions[name][0], files.get(descriptions[name][1])))
        for change in changes:
            apply(r, change)
        add(name, pack(finish(r) if again else r), "format", rule, comment)
    return out


def vector(name, good, bad, status, rule, comment, reseal):
    """The difference between two files as patches. The digest is left out where it will
    be computed again.
    """
    if reseal:
        bad = seal(bad)
    padded, patches, at = good[: len(bad)].ljust(len(bad), b"\0"), [], 0
    while at < len(bad):
        if bad[at] == padded[at] or (reseal and 96 <= at < 128):
            at += 1
            continue
        end = at + 1
        while (
            end < len(bad)
            and bad[end : end + 8] != padded[end : end + 8]
            and not (reseal and end == 96)
        ):
            end += 1
        patches.append([at, bad[at:end].hex()])
        at = end
    return {
        "map": name,
        "size": len(bad),
        "patches": patches,
        "reseal": reseal,
        "status": status,
        "rule": rule,
        "comment": comment,
    }


def rebuild(good, v):
    """The damaged file that a vector describes."""
    data = bytearray(good[: v["size"]].ljust(v["size"], b"\0"))
    for at, patch in v["patches"]:
        data[at : at + len(patch) // 2] = bytes.fromhex(patch)
    return seal(bytes(data)) if v["reseal"] else bytes(data)


def apply(r, change):
    """Follows a path into the records and sets the value there. A function in place of
    the value computes it from the old one.
    """
    *way, last, value = change
    for step in way:
        r = r[step]
    r[last] = value(r[last]) if callable(value) else value


def sections_of(data):
    """How many sections a map has."""
    return struct.unpack_from("<I", data, 172)[0]


def gap(data, section):
    """Inserts 8 zero bytes before a section and moves everything after them."""
    data = bytearray(data)
    at = struct.unpack_from("<Q", data, 176 + 24 * (section - 1) + 8)[0]
    for i in range(section - 1, sections_of(data)):
        offset = struct.unpack_from("<Q", data, 184 + 24 * i)[0]
        struct.pack_into("<Q", data, 184 + 24 * i, offset + 8)
    struct.pack_into("<Q", data, 16, len(data) + 8)
    return data[:at] + bytes(8) + data[at:]


SIZES = [
    (name, size, "at least 176 bytes")
    for name, size in (
        ("three", 0),
        ("three", 1),
        ("three", 8),
        ("pins", 96),
        ("words", 175),
    )
]
SIZES += [
    (name, size, "file length")
    for name, size in (
        ("three", 176),
        ("three", 487),
        ("three", 488),
        ("pins", -1),
        ("words", -8),
        ("many", 8192),
        ("thin", 1173),
        ("one", 629),
        ("three", 4096),
        ("gradual", 560),
        ("gradual", -1),
        ("gradual-copies", -4),
    )
]
TEXT_MODE = [
    (b"\r\n", b"\n", "CR LF became LF"),
    (b"\n", b"\r\n", "LF became CR LF"),
    (b"\r", b"\n", "CR became LF"),
    (b"\x1a", b"", "the end-of-file character fell out"),
    (b"\x89", b"\xef\xbf\xbd", "read and written as UTF-8 text"),
    (b"\x89", b"\xc2\x89", "read as Latin-1, written as UTF-8"),
    (b"\x89", b"\x09", "the eighth bit fell out"),
    (b"\x89STD", b"DTS\x89", "words swapped"),
    (b"\x89STD", b"\x00\x00\x00\x00", "zeros at the start"),
]


def header_cases(files):
    """(map, offset, form, value, status, rule, comment, reseal) for the header's
    fields.
    """
    size = len(files["three"])
    cases = [
        (
            "three",
            i,
            "B",
            files["three"][i] ^ 1,
            "format",
            "magic",
            f"magic, byte {i}",
            True,
        )
        for i in range(8)
    ]
    cases += [
        ("three", 8, "<I", v, "version", "version", f"format version {v}", True)
        for v in (2, 3, 1 << 24, 2**32 - 1)
    ]
    cases.append(("three", 8, "<I", 0, "format", "version 0", "format version 0", True))
    cases += [
        (
            "three",
            8,
            "<I",
            2,
            "version",
            "version",
            "newer version; the digest, wrong too, comes later",
            False,
        )
    ]
    cases += [
        (
            "three",
            24,
            "<Q",
            1 << b,
            "version",
            "required features",
            f"unknown feature bit {b}",
            True,
        )
        for b in range(6, 32)
    ]
    cases += [
        (
            "three",
            24,
            "<Q",
            1 << b,
            "format",
            f"feature bit {b}",
            f"feature bit {b} without what it says",
            True,
        )
        for b in (1, 2, 3, 32)
    ]
    cases += [
        (
            "three",
            24,
            "<Q",
            2**64 - 1,
            "version",
            "required features",
            "all feature bits, digest wrong too",
            False,
        )
    ]

    def more(name, at, form, values, rule, what, status="format", reseal=True):
        cases.extend(
            (name, at, form, v, status, rule, f"{what} {v}", reseal) for v in values
        )

    more(
        "three",
        12,
        "<I",
        (0, 176, 464, 487, 489, 512, 2**32 - 1),
        "header length",
        "header length",
    )
    more(
        "three",
        24,
        "<Q",
        (1,),
        "header length",
        "no target slices, but required features",
    )
    more(
        "gradual",
        24,
        "<Q",
        (0,),
        "header length",
        "target slices, but required features",
    )
    more(
        "gradual",
        24,
        "<Q",
        (2,),
        "header length",
        "target slices, but required features",
    )
    more(
        "gradual",
        24,
        "<Q",
        (3,),
        "feature bit 1",
        "target slices and required features",
    )
    more(
        "gradual",
        24,
        "<Q",
        (9,),
        "feature bit 3",
        "target slices and required features",
    )
    more(
        "gradual",
        24,
        "<Q",
        (64, 65, 2**31 + 1, 2**63 + 2**31 + 1),
        "required features",
        "target slices and required features",
        "version",
    )
    more("three", 24, "<Q", (16,), "header length", "no firsts, but required features")
    more(
        "gradual",
        24,
        "<Q",
        (16, 17),
        "header length",
        "target slices and no firsts, but required features",
    )
    more(
        "firsts",
        24,
        "<Q",
        (0, 1, 17),
        "header length",
        "firsts, but required features",
    )
    more(
        "gradual",
        12,
        "<I",
        (0, 488, 536, 559, 584),
        "header length",
        "target slices, but header length",
    )
    more(
        "gradual",
        172,
        "<I",
        (0, 13, 14, 15, 17),
        "number of sections",
        "target slices, but number of sections",
    )
    cases.append(
        (
            "three",
            12,
            "20s",
            struct.pack("<IQQ", 560, size, 1),
            "format",
            "number of sections",
            "feature bit 0 and header length 560 in a map of 13 sections",
            True,
        )
    )
    more(
        "three",
        16,
        "<Q",
        (0, 488, size - 1, size + 1, size + 8, size + 2**32, 2**63, 2**64 - 1),
        "file length",
        "file length",
    )
    more(
        "three",
        32,
        "<Q",
        (1, 2**63),
        "epoch 1: map id",
        "map id in epoch 1, first word",
    )
    more(
        "three", 40, "<Q", (1 << 56,), "epoch 1: map id", "map id in epoch 1, last word"
    )
    more("three", 64, "<Q", (1,), "epoch 1: parent", "parent in epoch 1, first word")
    more(
        "three", 88, "<Q", (1 << 56,), "epoch 1: parent", "parent in epoch 1, last word"
    )
    more("three", 48, "<Q", (0,), "epoch from 1", "epoch")
    more("six-5", 48, "<Q", (0,), "epoch from 1", "map id and parent, but epoch")
    more(
        "three", 48, "<Q", (2, 2**64 - 1), "later epoch: map id", "zero map id in epoch"
    )
    more("six-5", 48, "<Q", (1,), "epoch 1: map id", "map id and parent in epoch")
    more("three", 56, "<I", (0,), "algorithm version", "algorithm version")
    more(
        "newer",
        24,
        "<Q",
        (2**40 + 2**20,),
        "required features",
        "a feature for judges and one for every reader,",
        "version",
    )
    more("newer", 24, "<Q", (0,), "header length", "later sections, but features")
    more("carry-old", 24, "<Q", (0,), "header length", "a carry, but features")
    more(
        "tolerance",
        24,
        "<Q",
        (0,),
        "header length",
        "a tolerance, but features",
    )
    more(
        "tolerance",
        24,
        "<Q",
        (2**40,),
        "feature bit 32",
        "a tolerance and an unknown feature, features",
    )
    more(
        "newer",
        24,
        "<Q",
        (2**32,),
        "sections of unknown features",
        "later sections and a tolerance that is not there, features",
    )
    more(
        "newer",
        172,
        "<I",
        (0, 12, 14, 16, 2**32 - 1),
        "header length",
        "later sections, but number of sections",
    )
    more(
        "newer",
        12,
        "<I",
        (488, 512, 560, 2**32 - 1),
        "header length",
        "later sections, but header length",
    )
    more("three", 60, "<I", (0, 256, 2**32 - 1), "replicas", "replicas")
    more("three", 128, "<I", (0,), "hash number", "hash")
    more("three", 128, "<I", (5, 2**32 - 513), "feature bit 1", "hash")
    more("hash-crc32", 128, "<I", (1, 4), "feature bit 1", "hash")
    more(
        "hash-crc32",
        128,
        "<I",
        (UNKNOWN_HASH, 260, 1031),
        "hash number",
        "hash",
        "version",
    )
    more(
        "hash-crc32",
        128,
        "<I",
        (516, 519, 2**32 - 1),
        "affixes",
        "hash with affixes that are not there",
    )
    more("hash-crc32", 144, "<I", (1,), "secret without a keyed hash", "secret")
    more("hash-sha1-mod", 136, "<Q", (0,), "modulo 2^64", "cells")
    more("hash-md5-affixes", 144, "<I", (1, 2**32 - 1), "string offset", "prefix at")
    more("hash-md5-affixes", 148, "<I", (0, 7), "string offset", "prefix of length")
    more(
        "hash-md5-affixes",
        148,
        "<I",
        (256, 2**32 - 1),
        "string inside section 1",
        "prefix of length",
    )
    more("keys-first-1", 128, "<I", (1,), "feature bit 1", "key rule gone, hash")
    more(
        "keys-first-1",
        128,
        "<I",
        (131073, 0xFF0001),
        "pin by key covers",
        "another key rule, hash",
    )
    more(
        "keys-first-1",
        128,
        "<I",
        (65536, 65536 + UNKNOWN_HASH, 65796, 66561, 2**24 + 65537, 2**31 + 65537),
        "hash number",
        "key rule with hash",
        "version",
    )
    more(
        "keys-first-1",
        128,
        "<I",
        (66049,),
        "affixes",
        "key rule with affixes that are not there, hash",
    )
    more(
        "keys-first-1",
        144,
        "<I",
        (1,),
        "secret without a keyed hash",
        "key rule and secret",
    )
    more("keys-first-255", 128, "<I", (3,), "feature bit 1", "key rule gone, hash")
    more(
        "keys-first-255",
        128,
        "<I",
        (0xFF0103,),
        "modulo 2^64",
        "key rule, modulo and cells 2^64, hash",
    )
    more(
        "keys-first-255",
        24,
        "<Q",
        (0,),
        "feature bit 1",
        "key rule without feature 1, features",
    )
    more(
        "three",
        128,
        "<I",
        (65537, 0xFF0001),
        "feature bit 1",
        "key rule without feature 1, hash",
    )
    more(
        "twice",
        24,
        "<Q",
        (0,),
        "policy names a node twice",
        "features of a map whose policy names a node twice",
    )
    for name in ("three", "sha1", "xxh3"):
        more(
            name,
            144,
            "<Q",
            (1,),
            "secret without",
            f"secret in a map without keyed hash ({name}):",
        )
    more(
        "three",
        152,
        "<Q",
        (1 << 63,),
        "secret without",
        "last bit of a secret in an md5 map:",
    )
    more("three", 136, "<Q", (1, 2, 1000, 16384, 2**63), "base: cell bounds", "cells")
    more("thin", 136, "<Q", (2**64 - 1,), "base: cell bounds", "cells")
    more("cells-7", 136, "<Q", (6, 8), "base: cell bounds", "cells 7 became")
    more("cells-1000", 136, "<Q", (0,), "pin by key covers", "cells 1000 became")
    more(
        "quarters",
        168,
        "<I",
        (0, 1, 3, 5, 18, 19, 2**32 - 1),
        "index bits",
        "index bits 4 became",
    )
    more(
        "three",
        172,
        "<I",
        (0, 12, 14, 2**32 - 1),
        "number of sections",
        "number of sections",
    )
    more("three", 48, "<Q", (7,), "digest", "digest wrong, epoch", "digest", False)
    for at, what in (
        (96, "first byte of the digest"),
        (127, "last byte of the digest"),
        (176, "section table"),
        (488, "strings"),
        (size - 1, "last byte"),
        (130, "hash"),
    ):
        cases.append(
            (
                "three",
                at,
                "B",
                files["three"][at] ^ 0x80,
                "digest",
                "digest",
                f"one flipped bit: {what}",
                False,
            )
        )
    cases.append(
        ("pins", 96, "32s", bytes(32), "digest", "digest", "digest of zeros", False)
    )
    cases += [
        (
            "six-5",
            32,
            "16s",
            bytes(16),
            "format",
            "later epoch: map id",
            "zero map id in epoch 5",
            True,
        ),
        (
            "six-5",
            64,
            "32s",
            bytes(32),
            "format",
            "later epoch: parent",
            "zero parent in epoch 5",
            True,
        ),
        (
            "six-2",
            64,
            "32s",
            bytes(32),
            "format",
            "later epoch: parent",
            "zero parent in epoch 2",
            True,
        ),
        (
            "six-2",
            32,
            "B",
            files["six-2"][32] ^ 1,
            "format",
            "epoch 2: map id is the parent's start (reading)",
            "reading: in epoch 2 the map id is the start of the parent",
            True,
        ),
    ]
    return cases


def table_cases(files):
    """The same for the section table: the four fields of each entry, including sizes
    whose product wraps around 2^64.
    """
    cases, data = [], files["pins"]
    for name, i in [("pins", i) for i in range(13)] + [
        ("gradual", i) for i in (13, 14, 15)
    ]:
        at = 176 + 24 * i
        _kind, size, offset, count = struct.unpack_from("<IIQQ", files[name], at)
        wrap = count + 2**64 // (size & -size)
        what = f"section {i + 1}:"
        cases += [
            (
                name,
                at,
                "<I",
                (i + 1) % sections_of(files[name]) + 1,
                "format",
                "section type",
                f"{what} type of the next",
                True,
            ),
            (
                name,
                at + 4,
                "<I",
                size + 4,
                "format",
                "section record size",
                f"{what} record size {size + 4}",
                True,
            ),
            (
                name,
                at + 8,
                "<Q",
                offset + 8,
                "format",
                "section offset",
                f"{what} offset 8 too large",
                True,
            ),
            (
                name,
                at + 16,
                "<Q",
                wrap % 2**64 if wrap < 2**64 else 2**64 - 1,
                "format",
                "section inside the file",
                f"{what} count {wrap}, whose product with the record size wraps around 2^64",
                True,
            ),
        ]
    nodes, index = 176 + 24 * 2, 176 + 24 * 12
    offset = struct.unpack_from("<Q", data, nodes + 8)[0]
    for value in (2**32, 2**63, 2**64 - 1):
        for at, what in ((nodes, "nodes"), (index, "index")):
            cases.append(
                (
                    "pins",
                    at + 16,
                    "<Q",
                    value,
                    "format",
                    "section inside the file",
                    f"count of {what} {value}",
                    True,
                )
            )
    for value in (0, offset - 8, offset + 1, offset + 2**32, 2**63, 2**64 - 8):
        cases.append(
            (
                "pins",
                nodes + 8,
                "<Q",
                value,
                "format",
                "section offset",
                f"offset of nodes {value}",
                True,
            )
        )
    cases += [
        ("pins", nodes, "<I", v, "format", "section type", f"type {v} for nodes", True)
        for v in (0, 14, 2**32 - 1)
    ]
    cases += [
        (
            "pins",
            nodes + 4,
            "<I",
            v,
            "format",
            "section record size",
            f"record size {v} for nodes",
            True,
        )
        for v in (0, 2**32 - 1)
    ]
    swapped = data[176 + 72 : 176 + 96] + data[176 + 48 : 176 + 72]
    cases.append(
        (
            "pins",
            176 + 48,
            "48s",
            swapped,
            "format",
            "section type",
            "entries of sections 3 and 4 swapped",
            True,
        )
    )
    # sections 19 and 25, which belong to a feature that no reader knows
    for i, at, form, value, rule in (
        (13, 0, "<I", 13, "section type"),
        (13, 0, "<I", 17, "section type"),
        (13, 0, "<I", 25, "section type"),
        (14, 0, "<I", 19, "section type"),
        (14, 0, "<I", 0, "section type"),
        (13, 8, "<Q", 0, "section offset"),
        (14, 8, "<Q", 2**64 - 1, "section offset"),
        (13, 16, "<Q", 2**62 + 2, "section inside the file"),
        (14, 16, "<Q", 2, "section inside the file"),
        (14, 4, "<I", 0, "end of the last section"),
    ):
        what = f"later section {(19, 25)[i - 13]}: field at {at} is {value}"
        place = 176 + 24 * i + at
        cases.append(("newer", place, form, value, "format", rule, what, True))
    return cases


def byte_cases(files):
    """The same for strings, padding, and counts that are off by one."""
    cases, padded = [], []
    for name in ("pins", "words", "thin", "gradual", "gradual-copies"):
        end = 176 + 24 * sections_of(files[name])
        for i in range(sections_of(files[name])):
            _, size, offset, count = struct.unpack_from(
                "<IIQQ", files[name], 176 + 24 * i
            )
            padded += [(name, at) for at in range(end, offset)][:1] + [
                (name, at) for at in range(end, offset)
            ][-1:]
            end = offset + size * count
    cases += [
        (
            name,
            at,
            "B",
            1,
            "format",
            "zero padding",
            f"padding byte {at} is not zero",
            True,
        )
        for name, at in dict.fromkeys(padded)
    ]
    place = {
        name: [
            struct.unpack_from("<IIQQ", files[name], 176 + 24 * i)[2:]
            for i in range(13)
        ]
        for name in ("three", "xxh3", "pins")
    }
    # records of 40 bytes; their strings: name at 0, formerly at 8
    nodes = place["three"][2][0]
    string, inside = "string offset", "string inside section 1"
    cases += [
        ("three", at, form, value, "format", rule, comment, True)
        for at, form, value, rule, comment in (
            (160, "<I", 1, string, "the name of the map starts at 1"),
            (160, "<I", 2**32 - 1, string, "string offset 2^32 - 1"),
            (164, "<I", 6, string, "a gap of one byte after the first string"),
            (164, "<I", 8, string, "strings overlap by one byte"),
            (164, "<I", 2**32 - 1, inside, "string length 2^32 - 1"),
            (164, "<I", 0, string, "the first string became empty"),
            (nodes, "<I", 0, string, "a node's name lies on the map's name"),
            (nodes + 8, "<I", 0, string, "an empty string not where it would lie"),
            (nodes + 8, "<I", 2**31, string, "an empty string outside of section 1"),
            (nodes, "<I", 9, string, "the strings of two nodes in another order"),
            (nodes + 40, "<I", 7, string, "two nodes share a string"),
            (nodes + 84, "<I", 99, inside, "the last string ends after section 1"),
        )
    ]
    beyond = place["three"][0][1] + 1
    base, final = place["xxh3"][8][1], place["pins"][11][1]
    target = struct.unpack_from("<Q", files["gradual-left"], 176 + 24 * 14 + 16)[0]
    # None of these cases may move the section that follows. One byte more or less stays
    # within the padding; so does a cut record of 4 bytes, which must be policy 0 to
    # pass as zeros
    assert beyond % 8 != 1 and base % 2 == final % 2 == target % 2 == 0
    cases += [
        (
            "three",
            192,
            "<Q",
            beyond,
            "format",
            "no bytes beyond",
            "section 1 has a byte beyond the strings",
            True,
        ),
        (
            "three",
            192,
            "<Q",
            beyond - 2,
            "format",
            "zero padding",
            "section 1 is one byte short",
            True,
        ),
        (
            "xxh3",
            384,
            "<Q",
            base - 1,
            "format",
            "base: as many points as policies",
            "one base policy less than base points",
            True,
        ),
        (
            "gradual-left",
            528,
            "<Q",
            target - 1,
            "format",
            "target: as many points as policies",
            "one target policy less than target points",
            True,
        ),
        (
            "pins",
            456,
            "<Q",
            final - 1,
            "format",
            "final: as many points as policies",
            "one final policy less than final points",
            True,
        ),
    ]
    return cases

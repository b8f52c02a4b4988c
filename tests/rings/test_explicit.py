"""Tables of bounds and buckets, against what sites with such tables compute themselves."""

import hashlib
import zlib

import explicit
import rings

KEYS = rings.sample()
# some keys have text behind the number
IDS = [
    b"%d%b" % (n * n * 7919 % 10**9 + n % 97, [b"", b"", b":profile", b"/x1"][n % 4])
    for n in range(100_000)
]


def number(key):
    """The id that a key starts with."""
    return int(key.replace(b"/", b":").partition(b":")[0])


def test_user_id_modulo_n(draw, record_property):
    listed = "".join(f"{bucket} db{bucket % 16}\n" for bucket in range(64))
    ring = draw("explicit", listed, hash="decimal", modulo=64)
    rings.agreed(
        record_property,
        ring,
        IDS,
        [f"db{number(key) % 64 % 16}" for key in IDS],
        "int(id) % 64",
    )
    ring = draw("explicit", listed, modulo=64)
    md5 = [f"db{int(hashlib.md5(key).hexdigest(), 16) % 64 % 16}" for key in KEYS]
    rings.agreed(record_property, ring, KEYS, md5, "int(md5(key), 16) % 64")
    ring = draw("explicit", listed, hash="crc32", modulo=64)
    rings.agreed(
        record_property,
        ring,
        KEYS,
        [f"db{zlib.crc32(key) % 64 % 16}" for key in KEYS],
        "crc32(key) % 64",
    )
    assert rings.disagreements(ring.locate(KEYS), md5) > 50_000, (
        "a wrong hash is not noticed"
    )


def test_ranges_of_ids_and_of_a_hash(draw, record_property):
    ring = draw(
        "explicit",
        "0 a\n1000 b\n250000000-999999999999 c\n".replace("-999999999999", ""),
        hash="decimal",
    )
    wanted = [
        "a" if number(key) < 1000 else "b" if number(key) < 250_000_000 else "c"
        for key in IDS
    ]
    rings.agreed(
        record_property, ring, IDS, wanted, "comparing int(id) with the bounds"
    )
    ring = draw(
        "explicit",
        "0x00000000-0x7fffffff a,b\n0x80000000-0xffffffff b,a\n",
        hash="crc32",
    )
    rings.agreed(
        record_property,
        ring,
        KEYS,
        ["ab"[zlib.crc32(key) >> 31] for key in KEYS],
        "crc32(key) >> 31",
    )


def test_every_example_is_as_the_reference_has_it(draw, record_property):
    for _, listed, choices in explicit.EXAMPLES:
        ring, keys = draw("explicit", listed, **choices), IDS[:50_000] + KEYS[:50_000]
        rows = explicit.parse(listed)
        lists = [explicit.place(key, rows, choices) for key in keys]
        rings.agreed(
            record_property, ring, keys, [nodes[0] for nodes in lists], "the reference"
        )
        assert rings.disagreements(ring.locate_all(keys), lists) == 0
    # ranges of one node each
    assert (
        rings.disagreements(ring.locate_all(keys), [nodes[::-1] for nodes in lists])
        == 0
    )
    assert (
        rings.disagreements(
            ring.locate(keys), [nodes[0].replace("a", "b") for nodes in lists]
        )
        > 10_000
    )


def test_a_bucket_is_not_split_when_the_fleet_grows(draw, record_property):
    buckets = "".join(f"{bucket} db{bucket % 16}\n" for bucket in range(1000))
    rings.grown_well(
        draw("explicit", buckets, hash="decimal", modulo=1000), "db16", 1000
    )
    copies = "".join(
        f"{bucket} db{bucket % 16},db{(bucket + 1) % 16}\n" for bucket in range(1000)
    )
    rings.grown_well(draw("explicit", copies, hash="md5", modulo=1000), "db16", 1000)
    rings.grown_well(
        draw("explicit", "0 a\n0x8000 b\n", hash="fnv1a-fold16"), "c", 2**16
    )
    hundred = "".join(f"{bucket} db{bucket % 100}\n" for bucket in range(1000))
    rings.measured(record_property, draw("explicit", hundred, modulo=1000))


def own_hash(key):
    """A hash that stead does not have: djb2 in 32 bits, of signed chars."""
    h = 5381
    for byte in key:
        h = (h * 33 + (byte ^ 0x80) - 0x80) % 2**32
    return h


def test_a_hash_of_ones_own_by_its_number(draw, record_property):
    """The first way of docs/rings.md#a-hash-of-your-own."""
    listed = "".join(f"{bucket} db{bucket % 6}\n" for bucket in range(6000))
    wanted = [f"db{own_hash(key) % 6}" for key in KEYS]
    ring = draw("explicit", listed, hash="decimal", modulo=6000)
    numbers = [str(own_hash(key)) for key in KEYS]
    rings.agreed(record_property, ring, numbers, wanted, "djb2 of 32 bits, signed")
    # the control: stead's djb2 is another one
    ring = draw("explicit", listed, hash="djb2", modulo=6000)
    assert rings.disagreements(ring.locate(KEYS), wanted) > 10_000


def test_a_hash_of_ones_own_by_a_pin_for_each_key(tmp_path):
    """The second way of docs/rings.md#a-hash-of-your-own."""
    import stead

    keys = sorted({f"room-{key.hex()}" for key in KEYS[:5000]})
    homes = {key: f"db{own_hash(key.encode()) % 6}" for key in keys}
    nodes = "".join(f'[[node]]\nname = "db{i}"\n' for i in range(6))
    pins = "".join(
        f'[[pin]]\nkey = "{key}"\nnodes = ["{node}"]\n' for key, node in homes.items()
    )
    fleet, path = tmp_path / "rooms.toml", tmp_path / "rooms.map"
    fleet.write_text(f'name = "rooms"\n{nodes}{pins}')
    rings.stead("apply", fleet, path)
    assert stead.Map.open(path).locate_many(keys) == list(homes.values())
    fleet.write_text(f'name = "rooms"\n{nodes}')
    rings.stead("apply", "--carry", fleet, path)
    pair = stead.Pair.open(path)
    assert all(pair.reads(key) == [node] for key, node in homes.items())
    moved = sum(stead.Map.open(path).locate(key) != homes[key] for key in keys)
    assert 0.75 < moved / len(keys) < 0.9, "nearly all move, once"

"""The hashes of docs/placement.md, written out in plain Python: stead's own four, and
those of adopted rings.

MD5 and SHA-1 come from the standard library. XXH3 (64 bits, seed 0) and XXH64 follow the
specification of xxHash, "XXH3 algorithm overview" and "XXH64 algorithm description";
SipHash-2-4 follows Aumasson and Bernstein, "SipHash: a fast short-input PRF". Slow and
literal on purpose.
"""

import binascii
import functools
import hashlib
import itertools
import zlib

MASK = 2**64 - 1
HASHES = {"md5": 1, "sha1": 2, "xxh3": 3, "siphash": 4}
# of adopted rings: number and width in bits
ADOPTED = {
    "md5-le32": (5, 32),
    "md5-be32": (6, 32),
    "crc32": (7, 32),
    "crc32-15": (8, 15),
    "crc16-tag": (9, 14),
    "fnv1-32": (10, 32),
    "fnv1-32-signed": (11, 32),
    "fnv1a-32": (12, 32),
    "fnv1a-32-signed": (13, 32),
    "fnv1-64": (14, 32),
    "fnv1-64-signed": (15, 32),
    "fnv1a-64": (16, 32),
    "fnv1a-64-signed": (17, 32),
    "one-at-a-time": (18, 32),
    "one-at-a-time-signed": (19, 32),
    "fnv1a-fold16": (20, 16),
    "riak": (21, 64),
    "riak-typed": (22, 64),
    "djb2": (23, 64),
    "decimal": (24, 64),
    "xxh64": (25, 64),
}
NUMBERS = {**HASHES, **{name: number for name, (number, _) in ADOPTED.items()}}
MODULO, AFFIXED, SEGMENTS = 256, 512, 65536


def point_of(hash_name, key, secret=bytes(16)):
    """The point of a key: docs/placement.md, "Hash"."""
    if hash_name == "md5":
        return int.from_bytes(hashlib.md5(key).digest()[:8], "big")
    if hash_name == "sha1":
        return int.from_bytes(hashlib.sha1(key).digest()[:8], "big")
    if hash_name == "xxh3":
        return xxh3(key)
    if hash_name == "siphash":
        return siphash(key, secret)
    return number_of(hash_name, key) << 64 - ADOPTED[hash_name][1]


def hashed_part(key, segments):
    """What of a key is hashed: docs/placement.md, "Key rule". `segments` 0 is the whole
    of it.
    """
    return b"/".join(key.lstrip(b"/").split(b"/")[:segments]) if segments else key


def cell_of(
    hash_name,
    key,
    cells,
    secret=bytes(16),
    modulo=False,
    affixes=(b"", b""),
    segments=0,
):
    """The cell of a key, of so many: docs/placement.md, "Hash", "Key rule" and "Cells"."""
    key = hashed_part(key, segments)
    key = affixes[0] + key + affixes[1]
    if not modulo:
        return point_of(hash_name, key, secret) * cells // 2**64
    if hash_name in ("md5", "sha1"):
        return int(hashlib.new(hash_name, key).hexdigest(), 16) % cells
    if hash_name.startswith("riak"):
        return int(hashlib.sha1(riak_term(hash_name, key)).hexdigest(), 16) % cells
    return (
        number_of(hash_name, key) if hash_name in ADOPTED else point_of(hash_name, key)
    ) % cells


def number_of(hash_name, key):
    """The number of a key under a hash of adopted rings."""
    name = hash_name.removesuffix("-signed")
    if name.startswith("md5"):
        return int.from_bytes(
            hashlib.md5(key).digest()[:4], "little" if name == "md5-le32" else "big"
        )
    if name.startswith("crc32"):
        return zlib.crc32(key) if name == "crc32" else zlib.crc32(key) >> 16 & 0x7FFF
    if name == "crc16-tag":
        return binascii.crc_hqx(redis_tag(key), 0) & 0x3FFF
    if name.startswith("riak"):
        return int.from_bytes(hashlib.sha1(riak_term(name, key)).digest()[:8], "big")
    if name == "djb2":
        return functools.reduce(lambda h, c: (h * 33 + c) & MASK, key, 5381)
    if name == "decimal":
        digits = itertools.takewhile(lambda c: 48 <= c <= 57, key)
        return functools.reduce(
            lambda number, c: (number * 10 + c - 48) & MASK, digits, 0
        )
    if name == "xxh64":
        return xxh64(key)
    if name == "fnv1a-fold16":
        h = fnv("fnv1a-32", key)
        return h >> 16 ^ h & 0xFFFF
    signed = [c - 256 if c >= 128 and hash_name != name else c for c in key]
    return (
        one_at_a_time(signed)
        if name == "one-at-a-time"
        else fnv(name, signed) & 0xFFFFFFFF
    )


def fnv(name, numbers):
    """FNV-1 and FNV-1a, with the numbers of draft-eastlake-fnv."""
    bits = int(name[-2:])
    h, prime = {32: (2166136261, 16777619), 64: (14695981039346656037, 1099511628211)}[
        bits
    ]
    for c in numbers:
        c %= 2**bits
        h = (
            (h ^ c) * prime % 2**bits
            if name.startswith("fnv1a")
            else h * prime % 2**bits ^ c
        )
    return h


def one_at_a_time(numbers):
    """Bob Jenkins, "Hash functions", Dr. Dobb's Journal, September 1997."""
    h, mask = 0, 0xFFFFFFFF
    for c in numbers:
        h = h + c & mask
        h = h + (h << 10) & mask
        h ^= h >> 6
    h = h + (h << 3) & mask
    h ^= h >> 11
    return h + (h << 15) & mask


def redis_tag(key):
    """What Redis Cluster hashes of a key."""
    _before, opened, rest = key.partition(b"{")
    tag, closed, _after = rest.partition(b"}")
    return tag if opened and closed and tag else key


def riak_term(name, key):
    """The bytes that Riak hashes for BUCKET/KEY or TYPE/BUCKET/KEY."""

    def binary(part):
        return b"m" + len(part).to_bytes(4, "big") + part

    def split(text):
        first, slash, rest = text.partition(b"/")
        return (first, rest) if slash else (b"", text)

    if name == "riak":
        return b"\x83h\x02" + b"".join(map(binary, split(key)))
    kind, rest = split(key)
    return b"\x83h\x02h\x02" + b"".join(map(binary, (kind, *split(rest))))


def rotate(x, bits):
    """Rotate a 64-bit number to the left."""
    return (x << bits | x >> (64 - bits)) & MASK


def word(data, at, size=8):
    """A little-endian number in the middle of some bytes."""
    return int.from_bytes(data[at : at + size], "little")


# ---------------------------------------------------------------- SipHash-2-4


def siphash(key, secret):
    """SipHash-2-4 with 64 bits: bytes 0-7 of the secret are k0, 8-15 are k1."""
    k0, k1 = word(secret, 0), word(secret, 8)
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]
    padded = key + bytes(7 - len(key) % 8) + bytes([len(key) % 256])
    for at in range(0, len(padded), 8):
        m = word(padded, at)
        v[3] ^= m
        sip_round(v)
        sip_round(v)
        v[0] ^= m
    v[2] ^= 0xFF
    for _ in range(4):
        sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def sip_round(v):
    """One SipRound, in place."""
    v[0] = (v[0] + v[1]) & MASK
    v[1] = rotate(v[1], 13) ^ v[0]
    v[0] = rotate(v[0], 32)
    v[2] = (v[2] + v[3]) & MASK
    v[3] = rotate(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) & MASK
    v[3] = rotate(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) & MASK
    v[1] = rotate(v[1], 17) ^ v[2]
    v[2] = rotate(v[2], 32)


# ------------------------------------------------------ XXH3, 64 bits, seed 0

PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2, PRIME64_3 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
)
PRIME64_4, PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

# The default secret of XXH3: 192 bytes.
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def xxh3(key):
    """XXH3 with 64 bits and seed 0; one way for each range of lengths."""
    if len(key) <= 16:
        return xxh3_to_16(key)
    if len(key) <= 128:
        return xxh3_to_128(key)
    if len(key) <= 240:
        return xxh3_to_240(key)
    return xxh3_long(key)


def xxh3_to_16(key):
    """Keys of 0 to 16 bytes."""
    n = len(key)
    if n == 0:
        return avalanche64(word(SECRET, 56) ^ word(SECRET, 64))
    if n <= 3:
        mixed = key[0] << 16 | key[n >> 1] << 24 | key[n - 1] | n << 8
        return avalanche64(mixed ^ word(SECRET, 0, 4) ^ word(SECRET, 4, 4))
    if n <= 8:
        h = (
            (word(key, 0, 4) << 32) + word(key, n - 4, 4)
            ^ word(SECRET, 8)
            ^ word(SECRET, 16)
        )
        h ^= rotate(h, 49) ^ rotate(h, 24)
        h = h * PRIME_MX2 & MASK
        h ^= (h >> 35) + n
        h = h * PRIME_MX2 & MASK
        return h ^ h >> 28
    low = word(key, 0) ^ word(SECRET, 24) ^ word(SECRET, 32)
    high = word(key, n - 8) ^ word(SECRET, 40) ^ word(SECRET, 48)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return avalanche(n + swapped + high + fold(low, high))


def xxh3_to_128(key):
    """Keys of 17 to 128 bytes: pairs of 16 bytes, from both ends inwards."""
    n = len(key)
    total = n * PRIME64_1
    for i in range((n - 1) // 32 + 1):
        total += mix16(key, 16 * i, 32 * i)
        total += mix16(key, n - 16 * (i + 1), 32 * i + 16)
    return avalanche(total)


def xxh3_to_240(key):
    """Keys of 129 to 240 bytes."""
    n = len(key)
    total = n * PRIME64_1
    for i in range(8):
        total += mix16(key, 16 * i, 16 * i)
    total = avalanche(total)
    for i in range(8, n // 16):
        total += mix16(key, 16 * i, 16 * (i - 8) + 3)
    return avalanche(total + mix16(key, n - 16, 136 - 17))


def xxh3_long(key):
    """Keys above 240 bytes: stripes of 64 bytes, 16 of them to a block."""
    n = len(key)
    lanes = [
        PRIME32_3,
        PRIME64_1,
        PRIME64_2,
        PRIME64_3,
        PRIME64_4,
        PRIME32_2,
        PRIME64_5,
        PRIME32_1,
    ]
    for stripe in range((n - 1) // 64):
        accumulate(lanes, key, 64 * stripe, 8 * (stripe % 16))
        if stripe % 16 == 15:
            scramble(lanes)
    accumulate(lanes, key, n - 64, 192 - 64 - 7)
    total = n * PRIME64_1
    for i in range(4):
        total += fold(
            lanes[2 * i] ^ word(SECRET, 11 + 16 * i),
            lanes[2 * i + 1] ^ word(SECRET, 19 + 16 * i),
        )
    return avalanche(total)


def accumulate(lanes, key, at, secret_at):
    """Add one stripe of 64 bytes to the eight lanes."""
    for i in range(8):
        value = word(key, at + 8 * i)
        keyed = value ^ word(SECRET, secret_at + 8 * i)
        lanes[i ^ 1] = (lanes[i ^ 1] + value) & MASK
        lanes[i] = (lanes[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & MASK


def scramble(lanes):
    """Stir the lanes at the end of a block, with the last 64 bytes of the secret."""
    for i in range(8):
        lanes[i] = (
            lanes[i] ^ lanes[i] >> 47 ^ word(SECRET, 128 + 8 * i)
        ) * PRIME32_1 & MASK


def mix16(key, at, secret_at):
    """16 bytes of the key, folded with 16 bytes of the secret."""
    return fold(
        word(key, at) ^ word(SECRET, secret_at),
        word(key, at + 8) ^ word(SECRET, secret_at + 8),
    )


def fold(a, b):
    """The two halves of a 128-bit product, xor-ed."""
    product = a * b
    return product >> 64 ^ product & MASK


def avalanche(h):
    """The last step of XXH3."""
    h &= MASK
    h ^= h >> 37
    h = h * PRIME_MX1 & MASK
    return h ^ h >> 32


def avalanche64(h):
    """The last step of XXH64, which XXH3 takes for the shortest keys."""
    h ^= h >> 33
    h = h * PRIME64_2 & MASK
    h ^= h >> 29
    h = h * PRIME64_3 & MASK
    return h ^ h >> 32


# ---------------------------------------------------------------------- XXH64


def xxh64(key, seed=0):
    """XXH64: stripes of 32 bytes for four lanes, then what is left by 8, 4 and 1 bytes."""
    n, at = len(key), 0
    if n < 32:
        h = seed + PRIME64_5
    else:
        lanes = [
            seed + PRIME64_1 + PRIME64_2 & MASK,
            seed + PRIME64_2 & MASK,
            seed,
            seed - PRIME64_1 & MASK,
        ]
        while at + 32 <= n:
            lanes = [
                xxh64_round(lane, word(key, at + 8 * i)) for i, lane in enumerate(lanes)
            ]
            at += 32
        h = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = (h ^ xxh64_round(0, lane)) * PRIME64_1 + PRIME64_4 & MASK
    h = h + n & MASK
    while at + 8 <= n:
        h ^= xxh64_round(0, word(key, at))
        h = rotate(h, 27) * PRIME64_1 + PRIME64_4 & MASK
        at += 8
    if at + 4 <= n:
        h ^= word(key, at, 4) * PRIME64_1 & MASK
        h = rotate(h, 23) * PRIME64_2 + PRIME64_3 & MASK
        at += 4
    for byte in key[at:]:
        h ^= byte * PRIME64_5 & MASK
        h = rotate(h, 11) * PRIME64_1 & MASK
    return avalanche64(h)


def xxh64_round(lane, value):
    """Add 8 bytes of the key to a lane."""
    return rotate(lane + value * PRIME64_2 & MASK, 31) * PRIME64_1 & MASK

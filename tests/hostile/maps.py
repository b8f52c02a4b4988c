"""Hostile maps: a large map, of which each breaks one rule of docs/map-format.md and has the
right digest. Where a rule holds for every record, it is broken in the first one, in the
middle, and in the last one, which a reader finds after all others.

The vectors (tests/vectors/damaged.json) have small ones, with every rule.
"""

import hashlib
import struct
from dataclasses import dataclass

FORMAT, VERSION = 4, 6
HEADER, ENTRY = 176, struct.Struct("<IIQQ")
TABLE = ENTRY.size
STRING, NODE, LABEL, ATTRIBUTE, POLICY, MEMBER = 1, 3, 4, 5, 6, 7
BASE, BASE_POLICY, PIN, FINAL, FINAL_POLICY, INDEX, TOLERANCE = (*range(8, 14), 19)
MOST_32, MOST_64 = (1 << 32) - 1, (1 << 64) - 1
NODES = 2000


def fleet():
    """Returns the fleet of the large map: it has pins, policies, labels, attributes and a
    tolerance.
    """
    text = ['name = "large"\nreplicas = 2\nspread = ["zone"]\ntolerance = "1%"\n']
    for i in range(NODES):
        text.append(
            f'[[node]]\nname = "node{i:05}"\nweight = {1 + i % 7}\n'
            f'labels = {{ rack = "r{i % 64}", zone = "z{i % 8}" }}\n'
            f'attributes = {{ address = "10.0.{i >> 8}.{i & 255}", note = "{i:040}" }}\n'
        )
    for i in range(50):
        nodes = f'"node{i:05}", "node{i + 100:05}"'
        text.append(
            f'[[policy]]\nname = "p{i:03}"\nkind = "chain"\nnodes = [{nodes}]\n'
        )
    for i in range(200):
        text.append(f'[[pin]]\nkey = "hot{i}"\npolicy = "p{i % 50:03}"\n')
    return "".join(text).encode()


def sealed(data):
    """Returns bytes with the right digest."""
    data = bytearray(data)
    data[96:128] = bytes(32)
    data[96:128] = hashlib.sha256(data).digest()
    return bytes(data)


@dataclass(frozen=True)
class Hostile:
    """A hostile map: the rule that it breaks, the bytes to put in, and the status that
    every reader must give.
    """

    rule: str
    at: int
    put: bytes
    status: int = FORMAT

    def bytes(self, data):
        """Returns the map's bytes."""
        return sealed(data[: self.at] + self.put + data[self.at + len(self.put) :])


class Map:
    """The bytes of a map, and where its sections are."""

    def __init__(self, data):
        self.data, self.sections = data, {}
        (count,) = struct.unpack_from("<I", data, 172)
        for i in range(count):
            at = HEADER + i * TABLE
            number, *numbers = ENTRY.unpack_from(data, at)
            self.sections[number] = (at, *numbers)

    def place(self, section, record, field=0):
        """Returns the offset of a field of a record."""
        _, size, offset, _ = self.sections[section]
        return offset + size * record + field

    def count(self, section):
        """Returns the number of a section's records."""
        return self.sections[section][3]

    def number(self, at, kind):
        """Returns the number that is there."""
        return struct.unpack_from("<" + kind, self.data, at)[0]

    def put(self, rule, at, kind, *values, status=FORMAT):
        """Yields a hostile map for each value of a field."""
        was = self.number(at, kind)
        for value in values:
            value = value(was) if callable(value) else value
            assert value != was, rule
            yield Hostile(
                f"{rule}: {was} is {value}", at, struct.pack("<" + kind, value), status
            )

    def ends(self, section):
        """Returns the numbers of the first record, of one in the middle and of the last."""
        last = self.count(section) - 1
        return (0, last // 2, last)


def more(value):
    return value + 1


def less(value):
    return value - 1


def header(m):
    """Hostile maps whose header is wrong."""
    for i in range(8):
        yield from m.put("magic", i, "B", m.data[i] ^ 0x80)
    yield from m.put("version", 8, "I", 0)
    yield from m.put("version", 8, "I", 2, MOST_32, status=VERSION)
    yield from m.put("header length", 12, "I", 0, less, more, MOST_32)
    yield from m.put("file length", 16, "Q", 0, less, more, 1 << 63, MOST_64)
    features = m.number(24, "Q")
    for bit in range(6):
        yield from m.put(f"feature bit {bit}", 24, "Q", features ^ 1 << bit)
    for bit in (6, 15, 31):
        value = features | 1 << bit
        yield from m.put(f"feature bit {bit}", 24, "Q", value, status=VERSION)
    yield from m.put("map id of epoch 1", 32, "Q", 1)
    yield from m.put("epoch", 48, "Q", 0)
    yield from m.put("algorithm", 56, "I", 0)
    yield from m.put("replicas", 60, "I", 0, 256, MOST_32)
    yield from m.put("parent of epoch 1", 64, "Q", 1)
    # above 4, feature bit 1 would have to be set
    yield from m.put("hash", 128, "I", 0, 77, MOST_32)
    yield from m.put("secret without siphash", 144, "Q", 1)
    yield from m.put("name: offset", 160, "I", 1, MOST_32)
    yield from m.put("name: length", 164, "I", 0, more, MOST_32)
    yield from m.put("index bits", 168, "I", 0, 1, less, 19, MOST_32)
    yield from m.put("section count", 172, "I", 0, less, more, MOST_32)


def table(m):
    """Hostile maps whose section table is wrong."""
    for number, (at, size, _, _) in m.sections.items():
        name = f"section {number}"
        yield from m.put(f"{name}: number", at, "I", more, MOST_32)
        yield from m.put(f"{name}: record size", at + 4, "I", 0, MOST_32)
        yield from m.put(f"{name}: offset", at + 8, "Q", more, 1 << 63, MOST_64 - 7)
        # one that multiplies to less than it is
        wraps = (1 << 64) // size + 1 if size > 1 else MOST_64
        yield from m.put(f"{name}: count", at + 16, "Q", more, wraps)


def runs(m, section, offset, of, what):
    """Hostile maps whose runs of other records do not follow each other."""
    for record in m.ends(section):
        at = m.place(section, record, offset)
        name = f"{what} {record}: {of}"
        yield from m.put(f"{name} first", at, "I", more, MOST_32)
        yield from m.put(f"{name} count", at + 4, "I", more, MOST_32)


def strings(m, section, offset, what):
    """Hostile maps whose strings are not where, or as long, as they must be."""
    for record in m.ends(section):
        at = m.place(section, record, offset)
        yield from m.put(f"{what} {record}: offset", at, "I", more, MOST_32)
        yield from m.put(f"{what} {record}: length", at + 4, "I", 0, more, MOST_32)
        # a control character, and a byte that UTF-8 never has
        byte = m.place(STRING, m.number(at, "I"))
        yield from m.put(f"{what} {record}: characters", byte, "B", 0x1F, 0xFF)


def nodes(m):
    """Hostile maps whose nodes are wrong."""
    yield from strings(m, NODE, 0, "name of node")
    yield from strings(m, LABEL, 0, "name of label")
    yield from strings(m, LABEL, 8, "value of label")
    yield from strings(m, ATTRIBUTE, 0, "name of attribute")
    for record in m.ends(NODE):
        at = m.place(NODE, record, 16)
        yield from m.put(f"weight of node {record}", at, "Q", 10**12 + 1, MOST_64)
    yield from runs(m, NODE, 24, "labels", "node")
    yield from runs(m, NODE, 32, "attributes", "node")


def policies(m):
    """Hostile maps whose policies or members are wrong."""
    yield from runs(m, POLICY, 24, "members", "policy")
    for record in m.ends(POLICY):
        at = m.place(POLICY, record)
        flags = m.number(at + 32, "I")
        name = f"policy {record}"
        yield from m.put(f"{name}: flags", at + 32, "I", flags ^ 4, flags ^ 1 << 31)
        yield from m.put(f"{name}: zero", at + 36, "I", 1, MOST_32)
        yield from m.put(f"{name}: weight without its flag", at + 16, "Q", 1)
    for record in m.ends(MEMBER):
        at = m.place(MEMBER, record)
        yield from m.put(f"member {record}", at, "I", m.count(NODE), MOST_32)


def slices(m):
    """Hostile maps whose slices, pins, index or tolerance are wrong."""
    last = m.count(BASE) - 1
    for section, name in ((BASE, "base"), (FINAL, "final")):
        yield from m.put(f"{name}: the first point", m.place(section, 0), "Q", 1)
        for record in (1, last // 2, last):
            at = m.place(section, record)
            before = m.number(at - 8, "Q")
            yield from m.put(f"{name} point {record}", at, "Q", 0, before)
    for section, name in ((BASE_POLICY, "base"), (FINAL_POLICY, "final")):
        for record in m.ends(section):
            at = m.place(section, record)
            neighbour = at - 4 if record else at + 4
            values = (m.number(neighbour, "I"), m.count(POLICY), MOST_32)
            yield from m.put(f"{name} policy {record}", at, "I", *values)
    for record in m.ends(PIN):
        at = m.place(PIN, record)
        name = f"pin {record}"
        yield from m.put(f"{name}: first", at, "Q", more)
        yield from m.put(f"{name}: last", at + 8, "Q", less, more)
        yield from m.put(f"{name}: policy", at + 16, "I", m.count(POLICY), MOST_32)
        yield from m.put(f"{name}: flags", at + 20, "I", 4, 1 << 31)
        yield from m.put(f"{name}: key", at + 24, "I", more, MOST_32)
    yield from m.put("index 0", m.place(INDEX, 0), "I", 1, MOST_32)
    for record in m.ends(INDEX)[1:]:
        at = m.place(INDEX, record)
        yield from m.put(f"index {record}", at, "I", less, more, MOST_32)
    at = m.place(TOLERANCE, 0)
    yield from m.put("tolerance", at, "I", 0, 100_001, MOST_32)
    yield from m.put("tolerance: zero", at + 4, "I", 1)


def hostile(data):
    """Yields all hostile maps."""
    m = Map(data)
    for part in (header, table, nodes, policies, slices):
        yield from part(m)

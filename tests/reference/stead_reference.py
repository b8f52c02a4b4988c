"""The independent reference of stead: slow, plain, written from docs/ alone, so that it
can judge the program.

It reads a map by docs/map-format.md (`read_map`), places keys by docs/placement.md
(`locate`, `locate_all`, `prefer`) and makes paths by docs/paths.md (`path`). The hashes
are in hashes.py, the comparison of two maps is in comparison.py. All arithmetic is on
integers. Nothing here was taken from the program. A rule whose name ends in "(reading)"
is not stated on the page; it is our interpretation of the page.
"""

import bisect
import hashlib
import re
import struct
from collections import namedtuple

from hashes import AFFIXED, MASK, MODULO, NUMBERS, SEGMENTS, cell_of

SPACE = 2**64
HEADER = "<8sIIQQ16sQII32s32sIIQ16sIIII"
MAGIC = bytes.fromhex("895354440d0a1a0a")
SECTIONS = [  # name and record, as in the section table of docs/map-format.md
    ("strings", "<B"),
    ("spread", "<II"),
    ("nodes", "<IIIIQIIII"),
    ("labels", "<IIII"),
    ("attributes", "<IIII"),
    ("policies", "<IIIIQIIII"),
    ("members", "<I"),
    ("base points", "<Q"),
    ("base policies", "<I"),
    ("pins", "<QQIIII"),
    ("final points", "<Q"),
    ("final policies", "<I"),
    ("index", "<I"),
    ("target points", "<Q"),
    ("target policies", "<I"),
    ("leaving", "<I"),
    ("firsts", "<QQIIII"),
    ("carry", "<IIQ32s"),
]
# feature, bit 0: a gradual change is under way, and there are sections 14 to 16
GRADUAL = 1
ADOPTED = 2  # bit 1: the number of the hash is above 4
TWICE = 4  # bit 2: an unnamed policy names a node twice
SHORT_PIN = 8  # bit 3: a pin is short
FIRSTS = 16  # bit 4: the map has firsts, which are section 17
CARRYING = 32  # bit 5: a carry is open, which is section 18
FOR_EVERY_READER = 2**32 - 1  # the bits that every reader must know
TOLERANT = 2**32  # bit 32: the map has a tolerance, which is section 19

# the states of a carry, by their numbers from 1
STATES = ["old", "both_old_first", "both_new_first", "new"]

Node = namedtuple("Node", "name formerly weight labels attributes")
Policy = namedtuple("Policy", "name kind weight members named weighted")
Pin = namedtuple("Pin", "first last policy key short")  # key: None of a range
First = namedtuple("First", "first last node key")  # key: None of a range
Carry = namedtuple("Carry", "state reverse from_epoch from_digest")


class Refused(Exception):
    """Raised for a map that breaks a rule. `status` is "format", "digest" or "version";
    `rule` names the rule.
    """

    def __init__(self, status, rule):
        super().__init__(f"{status}: {rule}")
        self.status, self.rule = status, rule


def need(holds, rule, status="format"):
    """Refuse the file when a rule does not hold."""
    if not holds:
        raise Refused(status, rule)


# ------------------------------------------------------------------ the format


class Map:
    """A verified map. `nodes`, `policies` and `pins` are lists. `base` and `final` are
    lists of (first point, policy number). `target` is such a list, too, or None when no
    gradual change is under way. `leaving` is a list of node numbers. `carry` is the
    carry that is open, or None.
    """

    def point(self, key):
        """The point of a key, under this map: the first point of the cell that its hash
        falls into.
        """
        value = cell_of(
            self.hash,
            key,
            self.cells,
            self.secret,
            self.modulo,
            self.affixes,
            self.segments,
        )
        return cell_bound(value, self.cells)


def read_map(data):
    """Read and verify a map file; raises `Refused`."""
    m = Map()
    table = read_header(m, data)
    sections = read_sections(m, table, data)
    read_strings(m, sections)
    check_header(m)
    read_nodes(m, sections)
    read_policies(m, sections)
    read_slices(m, sections)
    read_carry(m, sections)
    read_tolerance(m, sections)
    return m


def read_header(m, data):
    """Reads the header and checks it up to the digest, in the order that the page
    gives; returns the section table.
    """
    need(len(data) >= 176, "at least 176 bytes")
    h = struct.unpack_from(HEADER, data)
    need(h[0] == MAGIC, "magic")
    need(h[1] <= 1, "version", "version")
    need(h[1] == 1, "version 0")
    known = GRADUAL | ADOPTED | TWICE | SHORT_PIN | FIRSTS | CARRYING
    need(h[4] & FOR_EVERY_READER <= known, "required features", "version")
    m.features = h[4]
    m.unknown = m.features & ~FOR_EVERY_READER & ~TOLERANT
    count = len(sections_of(m.features))
    if m.features > FOR_EVERY_READER:
        count = max(count, h[-1])
    need(h[2] == 176 + 24 * count, "header length")
    need(h[3] == len(data), "file length")
    need(len(data) >= 176 + 24 * count, "file shorter than its header")
    m.digest = h[10]
    need(
        m.digest == hashlib.sha256(data[:96] + bytes(32) + data[128:]).digest(),
        "digest",
        "digest",
    )
    m.map_id, m.epoch, m.algorithm, m.replicas, m.parent = h[5:10]
    (
        m.hash_number,
        m.max_slices,
        m.cells,
        m.secret,
        m.name_at,
        m.name_length,
        m.bits,
        m.section_count,
    ) = h[11:]
    need(m.section_count == count, "number of sections")
    return [struct.unpack_from("<IIQQ", data, 176 + 24 * i) for i in range(count)]


def sections_of(features):
    """The sections that every reader knows of a map with these features: (number, name,
    record).
    """
    numbered = [(i + 1, *section) for i, section in enumerate(SECTIONS)]
    return [
        section
        for section in numbered
        if section[0] <= 13
        or (features & GRADUAL and section[0] <= 16)
        or (features & FIRSTS and section[0] == 17)
        or (features & CARRYING and section[0] == 18)
    ]


def read_sections(m, table, data):
    """Returns {name of a section: its records}, after checking where the sections
    stand, how long they are, and that only zeros are between them. After the sections
    that every reader knows there may be others, with higher numbers: such a section is
    returned as {number: (record size, bytes)}.
    """
    sections, end, last = {}, 176 + 24 * len(table), len(SECTIONS)
    known = sections_of(m.features)
    for i, (kind, size, offset, count) in enumerate(table):
        number, name, record = known[i] if i < len(known) else (kind, kind, None)
        need(kind == number and (record or kind > last), "section type")
        last = last if record else kind
        need(not record or size == struct.calcsize(record), "section record size")
        need(offset == -(-end // 8) * 8, "section offset")
        need(offset + size * count <= len(data), "section inside the file")
        need(not any(data[end:offset]), "zero padding")
        end = offset + size * count
        body = data[offset:end]
        if name == "strings":
            sections[name] = body
        elif record:
            sections[name] = list(struct.iter_unpack(record, body))
        else:
            sections[number] = (size, body)
    need(end == len(data), "end of the last section")
    return sections


def read_strings(m, sections):
    """Replaces each (offset, length) by the bytes that it refers to, in the order of
    the references. The strings must fill section 1 exactly.
    """
    strings, cursor = sections["strings"], 0

    def take(offset, length):
        nonlocal cursor
        need(offset == cursor, "string offset")
        need(cursor + length <= len(strings), "string inside section 1")
        cursor += length
        return bytes(strings[offset:cursor])

    m.affixes = (b"", b"")
    if m.hash_number & AFFIXED:
        places = struct.unpack("<IIII", m.secret)
        m.affixes, m.secret = (take(*places[:2]), take(*places[2:])), bytes(16)
        need(
            any(m.affixes) and all(len(affix) <= 255 for affix in m.affixes), "affixes"
        )
    m.name = take(m.name_at, m.name_length)
    m.spread = [take(*r) for r in sections["spread"]]
    sections["nodes"] = [
        (take(*r[0:2]), take(*r[2:4])) + r[4:] for r in sections["nodes"]
    ]
    for name in ("labels", "attributes"):
        sections[name] = [(take(*r[0:2]), take(*r[2:4])) for r in sections[name]]
    sections["policies"] = [
        (take(*r[0:2]), take(*r[2:4])) + r[4:] for r in sections["policies"]
    ]
    for name in ("pins", "firsts"):
        sections[name] = [r[:4] + (take(*r[4:6]),) for r in sections.get(name, [])]
    need(cursor == len(strings), "no bytes beyond the strings")


def text(data, rule, least=1, most=255, comma=True):
    """Decodes bytes that must be UTF-8, `least` to `most` bytes long, and without
    control characters; where `comma` is false, also without a comma.
    """
    need(least <= len(data) <= most, f"{rule}: length")
    try:
        string = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("format", f"{rule}: UTF-8") from None
    need(
        not re.search("[\x00-\x1f\x7f-\x9f]", string),
        f"{rule}: control character",
    )
    need(comma or "," not in string, f"{rule}: comma")
    return string


def ascending(items):
    """Whether the items are in strictly ascending order."""
    return all(a < b for a, b in zip(items, items[1:]))


def check_header(m):
    """Checks the header's fields that follow the digest, and the spread."""
    m.name = text(m.name, "map name")
    m.spread = [text(s, "spread", 1, 4095) for s in m.spread]
    need(len(set(m.spread)) == len(m.spread), "spread: distinct names")
    need(len(m.spread) <= 16, "spread: at most 16 labels")
    need(m.epoch >= 1, "epoch from 1")
    if m.epoch == 1:
        need(not any(m.map_id), "epoch 1: map id is zero")
        need(not any(m.parent), "epoch 1: parent is zero")
    else:
        need(any(m.map_id), "later epoch: map id is not zero")
        need(any(m.parent), "later epoch: parent is not zero")
        need(
            m.epoch > 2 or m.map_id == m.parent[:16],
            "epoch 2: map id is the parent's start (reading)",
        )
    need(m.algorithm >= 1, "algorithm version")
    need(1 <= m.replicas <= 255, "replicas")
    need((m.hash_number > 4) == bool(m.features & ADOPTED), "feature bit 1")
    m.modulo = bool(m.hash_number & MODULO)
    m.segments = m.hash_number // SEGMENTS % 256
    number = m.hash_number - SEGMENTS * m.segments
    function = number & ~(MODULO | AFFIXED)
    names = [name for name, number in NUMBERS.items() if number == function]
    need(
        names and (function != 4 or number == 4),
        "hash number",
        "version" if m.hash_number > 4 else "format",
    )
    m.hash = names[0]
    need(m.hash == "siphash" or not any(m.secret), "secret without a keyed hash")
    need(not m.modulo or m.cells, "modulo 2^64")
    m.cells = m.cells or SPACE


def consecutive(records, first, count, total, rule):
    """Checks that the ranges follow each other from 0 to the end of a section."""
    place = 0
    for record in records:
        need(record[first] == place, f"{rule} follow each other")
        place += record[count]
    need(place == total, f"{rule} end with their section")


def pairs(records, rule, least):
    """Returns the labels or the attributes of one node, as {name: value}."""
    need(ascending([name for name, _ in records]), f"{rule}: names ascending")
    return {
        text(n, f"{rule} name", 1, 4095): text(v, f"{rule} value", least, 4095)
        for n, v in records
    }


def read_nodes(m, sections):
    """Reads the nodes with their labels and attributes: sections 3, 4 and 5."""
    records, labels, attributes = (
        sections["nodes"],
        sections["labels"],
        sections["attributes"],
    )
    need(1 <= len(records) <= 65536, "number of nodes")
    need(ascending([r[0] for r in records]), "nodes: names ascending")
    consecutive(records, 3, 4, len(labels), "labels")
    consecutive(records, 5, 6, len(attributes), "attributes")
    m.nodes = []
    for (
        name,
        formerly,
        weight,
        label,
        label_count,
        attribute,
        attribute_count,
    ) in records:
        need(weight <= 10**12, "node weight")
        m.nodes.append(
            Node(
                text(name, "node name", comma=False),
                text(formerly, "formerly", least=0, comma=False),
                weight,
                pairs(labels[label : label + label_count], "label", 1),
                pairs(
                    attributes[attribute : attribute + attribute_count], "attribute", 0
                ),
            )
        )


def read_policies(m, sections):
    """Reads the policies and their members: sections 6 and 7."""
    records, members = sections["policies"], [r[0] for r in sections["members"]]
    consecutive(records, 3, 4, len(members), "members")
    m.policies = []
    for name, kind, weight, first, count, flags, zero in records:
        need(flags in (0, 1, 3), "policy flags")
        need(zero == 0, "policy: zero field")
        named, weighted = flags & 1 == 1, flags & 2 == 2
        need(1 <= count <= 65536, "number of members")
        nodes = members[first : first + count]
        need(all(node < len(m.nodes) for node in nodes), "members are nodes")
        need(
            len(set(nodes)) == count or not named and m.features & TWICE,
            "policy names a node twice",
        )
        need(weighted or weight == 0, "weight without the weight flag")
        need(weight <= 10**12, "policy weight (reading)")
        if named:
            name = text(name, "policy name (reading)", comma=False)
            kind = text(kind, "policy kind (reading)", least=0)
        need(named or name == kind == b"", "unnamed policy with a name or kind")
        m.policies.append(
            Policy(name or "", kind or "", weight, nodes, named, weighted)
        )
    need(
        any(len(set(p.members)) < len(p.members) for p in m.policies)
        == bool(m.features & TWICE),
        "feature bit 2",
    )
    named = [p for p in m.policies if p.named]
    need(m.policies[: len(named)] == named, "named policies first")
    need(ascending([p.name for p in named]), "named policies ascending")
    need(
        ascending([p.members for p in m.policies[len(named) :]]),
        "unnamed policies ascending",
    )


def read_slices(m, sections):
    """Reads sections 8 to 16: the base slices, the pins, the final slices and the index
    over them, the target slices and the leaving nodes.
    """
    m.base, m.target, m.leaving = covering(m, sections, "base"), None, []
    if "target points" in sections:
        m.target = covering(m, sections, "target")
        need(m.target != m.base, "target slices are not the base slices")
    m.pins = [read_pin(m, *record) for record in sections["pins"]]
    need(
        any(pin.short for pin in m.pins) == bool(m.features & SHORT_PIN),
        "feature bit 3",
    )
    need(
        all(a.last < b.first for a, b in zip(m.pins, m.pins[1:])),
        "pins: ascending, not overlapping",
    )
    m.firsts = [read_first(m, *record) for record in sections["firsts"]]
    need(bool(m.firsts) == bool(m.features & FIRSTS), "feature bit 4")
    need(
        all(a.last < b.first for a, b in zip(m.firsts, m.firsts[1:])),
        "firsts: ascending, not overlapping",
    )
    final = lay_pins(lay_firsts(m), m.pins) if m.pins or m.firsts else []
    used = {policy for _, policy in m.base + (m.target or []) + final} | {
        pin.policy for pin in m.pins
    }
    need(
        all(p.named or i in used for i, p in enumerate(m.policies)),
        "unnamed policy is used",
    )
    m.final = slices(sections, "final")
    need(m.final == final, "final slices")
    m.final = m.final or m.base
    bits = next(k for k in range(1, 19) if 2**k >= 4 * len(m.final) or k == 18)
    need(m.bits == bits, "index bits")
    firsts = [first for first, _ in m.final]
    index = [bisect.bisect_left(firsts, b << (64 - bits)) for b in range(2**bits + 1)]
    need([r[0] for r in sections["index"]] == index, "index")
    if m.target:
        m.leaving = [r[0] for r in sections["leaving"]]
        check_leaving(m)


def read_carry(m, sections):
    """Reads section 18: `m.carry` is the carry that is open, or None."""
    m.carry = None
    if not m.features & CARRYING:
        return
    need(len(sections["carry"]) == 1, "carry: one record")
    ((state, flags, epoch, digest),) = sections["carry"]
    need(1 <= state <= len(STATES), "carry: state")
    need(flags in (0, 1), "carry: flags")
    need(not flags or state <= 2, "carry: reversed state")
    need(1 <= epoch < m.epoch, "carry: from epoch")
    need(any(digest), "carry: from digest")
    need(epoch > 1 or digest[:16] == m.map_id, "carry: digest of epoch 1")
    need((epoch == m.epoch - 1) == (digest == m.parent), "carry: digest of the parent")
    m.carry = Carry(STATES[state - 1], bool(flags), epoch, digest)


def read_tolerance(m, sections):
    """Reads section 19: `m.tolerance` is how far a share may be from its target, in
    millionths of it, and 0 where shares are exact. Further sections belong to unknown
    features.
    """
    others = [number for number in sections if type(number) is int and number > 19]
    need(m.unknown or not others, "sections of unknown features")
    need((19 in sections) == bool(m.features & TOLERANT), "feature bit 32")
    size, body = sections.get(19, (8, struct.pack("<II", 1, 0)))
    need(size == 8 and len(body) == 8, "tolerance: one record")
    millionths, zero = struct.unpack("<II", body)
    need(1 <= millionths <= 100000, "tolerance: millionths")
    need(zero == 0, "tolerance: zero field")
    m.tolerance = millionths if 19 in sections else 0


def covering(m, sections, name):
    """Returns the base slices or the target slices, checked by the rules that hold for
    both.
    """
    found = slices(sections, name)
    need(found, f"{name}: at least one slice")
    need(found[0][0] == 0, f"{name}: starts at 0")
    need(ascending([first for first, _ in found]), f"{name}: ascending")
    need(all(policy < len(m.policies) for _, policy in found), f"{name}: policy exists")
    need(
        all(a[1] != b[1] for a, b in zip(found, found[1:])),
        f"{name}: neighbours differ",
    )
    need(all(is_bound(first, m.cells) for first, _ in found), f"{name}: cell bounds")
    for _, policy in found:
        need(
            m.policies[policy].weighted or not m.policies[policy].named,
            f"{name}: named policy without weight",
        )
    return found


def check_leaving(m):
    """Checks the leaving nodes: those that the fleet dropped and base slices still
    name.
    """
    unnamed = [
        m.policies[policy] for _, policy in m.base if not m.policies[policy].named
    ]
    need(ascending(m.leaving), "leaving: ascending")
    for node in m.leaving:
        need(node < len(m.nodes), "leaving: node exists")
        need(m.nodes[node].weight == 0, "leaving: weight 0")
        need(
            any(node in p.members for p in unnamed),
            "leaving: in a base slice's unnamed policy",
        )
        need(
            all(node not in m.policies[policy].members for _, policy in m.target),
            "leaving: in no target slice's policy",
        )
        need(
            all(node not in m.policies[pin.policy].members for pin in m.pins),
            "leaving: in no pin's policy",
        )
        need(
            not any(node in p.members for p in m.policies if p.named),
            "leaving: in no named policy",
        )
        need(all(node != first.node for first in m.firsts), "leaving: in no first")


def slices(sections, name):
    """Returns two sections, the first points and the policies, as one list of pairs."""
    points, policies = sections[f"{name} points"], sections[f"{name} policies"]
    need(len(points) == len(policies), f"{name}: as many points as policies")
    return [(point[0], policy[0]) for point, policy in zip(points, policies)]


def read_pin(m, first, last, policy, flags, key):
    """Returns one pin, checked by the rules of pins."""
    need(flags <= 3, "pin flags")
    by_key, short = flags & 1 == 1, flags & 2 == 2
    pin = Pin(first, last, policy, key if by_key else None, short)
    need(pin.first <= pin.last, "pin: first <= last")
    need(pin.policy < len(m.policies), "pin: policy exists")
    need(
        is_bound(pin.first, m.cells) and is_bound(pin.last + 1, m.cells),
        "pin: cell bounds",
    )
    if by_key:
        need(
            (first, last) == cell(m.point(key), m.cells),
            "pin by key covers the key's cell",
        )
    else:
        need(key == b"", "pin by range has no key")
    return pin


def read_first(m, first, last, node, flags, key):
    """Returns one first, checked by the rules of firsts."""
    need(flags <= 1, "first flags")
    need(first <= last, "first: first <= last")
    need(node < len(m.nodes), "first: node exists")
    need(
        is_bound(first, m.cells) and is_bound(last + 1, m.cells),
        "first: cell bounds",
    )
    if flags:
        need(
            (first, last) == cell(m.point(key), m.cells),
            "first by key covers the key's cell",
        )
    else:
        need(key == b"", "first by range has no key")
    return First(first, last, node, key if flags else None)


# ------------------------------------------------------------------- placement


def cell_bound(value, cells):
    """The first point of a cell."""
    return -(-value * SPACE // cells)


def cell(point, cells):
    """The first and the last point of the cell that contains a point."""
    value = point * cells // SPACE
    return cell_bound(value, cells), cell_bound(value + 1, cells) - 1


def is_bound(point, cells):
    """Whether a cell starts at this point; 2^64, the end of the space, is a bound, too."""
    return cell_bound(point * cells // SPACE, cells) == point


def owner(slices, point):
    """The policy of the last slice whose first point is not greater than the point."""
    return slices[bisect.bisect_right([first for first, _ in slices], point) - 1][1]


def locate_all(m, point):
    """The names of the nodes that hold a point, primary first."""
    return [m.nodes[i].name for i in m.policies[owner(m.final, point)].members]


def locate(m, point):
    """The name of the primary of a point."""
    return locate_all(m, point)[0]


def lay_firsts(m):
    """The base slices with the firsts laid over them; neighbours are not joined. Where
    a pin lies over a first, the policy of the first need not exist.
    """
    number = {tuple(p.members): i for i, p in enumerate(m.policies) if not p.named}
    cuts = {first for first, _ in m.base}
    for over in m.firsts + m.pins:
        cuts |= {over.first, over.last + 1}
    laid = []
    for point in sorted(cuts - {SPACE}):
        policy = m.policies[owner(m.base, point)]
        place = owner(m.base, point)
        for first in m.firsts:
            pinned = any(p.first <= point <= p.last for p in m.pins)
            if first.first <= point <= first.last and not policy.named and not pinned:
                place = turned(number, policy.members, first.node, place)
        laid.append((point, place))
    return laid


def turned(number, members, node, policy):
    """The policy that lists a node first and the other members in their order; the same
    policy where the node is first already, or no member.
    """
    if node not in members or members[0] == node:
        return policy
    others = list(members)
    others.remove(node)
    need((node, *others) in number, "first: the policy exists")
    return number[(node, *others)]


def lay_pins(base, pins):
    """The base slices with the pins laid over them. Neighbouring slices of the same
    policy are joined.
    """
    cuts = (
        {first for first, _ in base}
        | {p.first for p in pins}
        | {p.last + 1 for p in pins}
    )
    final = []
    for point in sorted(cuts - {SPACE}):
        policy = next((p.policy for p in pins if p.first <= point <= p.last), None)
        policy = owner(base, point) if policy is None else policy
        if not final or final[-1][1] != policy:
            final.append((point, policy))
    return final


def ascii_fold(key):
    """`fold = ascii`: the bytes A-Z become a-z."""
    return bytes(b + 32 if 65 <= b <= 90 else b for b in key)


def mix(point, j):
    """The j-th draw for a point: the output step of SplitMix64."""
    z = point + j * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def prefer(m, point, n):
    """Up to n distinct nodes for a point, best first."""

    def domain(i):
        return m.nodes[i].labels.get(m.spread[0]) if m.spread else None

    listed = list(dict.fromkeys(m.policies[owner(m.final, point)].members))
    holding = {
        domain(i) for _, policy in m.base for i in m.policies[policy].members
    } - {None}
    for j in range(1, 65):
        for i in m.policies[owner(m.base, mix(point, j))].members:
            used = {domain(other) for other in listed}
            if i not in listed and not (holding - used and domain(i) in used - {None}):
                listed.append(i)
    listed += [i for i in range(len(m.nodes)) if i not in listed]
    return [m.nodes[i].name for i in listed[:n]]


def path(key, levels=(64, 64, 128), fold=False):
    """The path of a key by docs/paths.md; raises ValueError when there is none."""
    if not 1 <= len(levels) <= 16 or not all(1 <= level <= 256 for level in levels):
        raise ValueError("levels")
    key = ascii_fold(key) if fold else key
    plain = b"abcdefghijklmnopqrstuvwxyz0123456789_"
    name = "".join(chr(b) if b in plain else f"={b:02x}" for b in key) or "="
    if len(name) > 255:
        raise ValueError("file name")
    digest = hashlib.md5(key).digest()
    return "/".join([str(digest[i] % level) for i, level in enumerate(levels)] + [name])


def path_name(found, levels=(64, 64, 128)):
    """The name whose path ends a path, by docs/paths.md; raises ValueError when there is
    none. It undoes the escapes, and then asks what the path of that name would be.
    """
    parts = found.split(b"/")
    name = b"" if parts[-1] == b"=" else unescaped(parts[-1])
    try:
        wanted = path(name, levels).encode()
    except ValueError as error:
        raise ValueError("levels" if str(error) == "levels" else "path") from None
    if wanted != b"/".join(parts[-1 - len(levels) :]):
        raise ValueError("path")
    return name


def unescaped(name):
    """A file name with each = and the two hex digits after it as the byte that they mean.
    Other bytes stay, also where no path has them.
    """
    return re.sub(
        b"=([0-9a-f]{2})", lambda escape: bytes.fromhex(escape[1].decode()), name
    )

"""The second half of the reference: the shares of one map, and the differences between
two, by docs/placement.md.

`shares` takes one map; `pieces` and `compare` take two. All arithmetic is on integers.
The space is cut at every bound of both maps, and each piece is compared by itself.
"""

from stead_reference import SPACE, locate_all, owner


def cells_between(m, first, end):
    """How many cells lie between two cell bounds."""
    return end * m.cells // SPACE - first * m.cells // SPACE


def ends(slices):
    """(first, end, policy) of each slice; `end` is the point after its last point."""
    return [
        (first, end, policy)
        for (first, policy), end in zip(
            slices, [first for first, _ in slices[1:]] + [SPACE]
        )
    ]


def shares(m, unit="points", slices=None):
    """{holder: the points or cells that it holds} of `slices`; these are the base
    slices unless others are given.
    """
    held = {("node", n.name): 0 for n in m.nodes}
    held.update({("policy", p.name): 0 for p in m.policies if p.weighted})
    for first, end, policy in ends(slices or m.base):
        size = end - first if unit == "points" else cells_between(m, first, end)
        p = m.policies[policy]
        for holder in (
            [("policy", p.name)]
            if p.named
            else [("node", m.nodes[i].name) for i in dict.fromkeys(p.members)]
        ):
            held[holder] += size
    return held


def same_nodes(old, new):
    """{old name: new name} of the nodes that are in both maps. When `new` is the
    earlier of the two, the former names that the later map records are used backwards.
    Of two nodes with one former name, the later one is it.
    """
    if new.epoch < old.epoch:
        return {before: now for now, before in same_nodes(new, old).items()}
    old_names, new_names = {n.name for n in old.nodes}, {n.name for n in new.nodes}
    same = {name: name for name in old_names & new_names}
    for node in new.nodes:
        if node.name not in old_names and node.formerly in old_names - new_names:
            same[node.formerly] = node.name
    return same


def both_lists(old, new, point):
    """The names of the nodes of a point in the old and in the new map, doubles included.
    A node of the old map has the name that it has in the new one.
    """
    same = same_nodes(old, new)
    return [same.get(name, name) for name in locate_all(old, point)], locate_all(
        new, point
    )


def in_state(state, before, after):
    """Which of the nodes of both maps are read, and which are written, in a state of a carry:
    those of the map that comes first, then those of the other that are not named yet. Places
    to which data is still copied are not read.
    """
    reads, writes = {
        "old": ([before], [before]),
        "both_old_first": ([before], [before, after]),
        "both_new_first": ([after, before], [after, before]),
        "new": ([after], [after]),
    }[state]
    return tuple(
        list(dict.fromkeys(name for names in lists for name in names))
        for lists in (reads, writes)
    )


def pieces(old, old_slices, new, new_slices):
    """Cuts the space at the bounds of both maps; yields (first, end, policy before,
    policy after) for each piece.

    A policy is the pair of its name ("" when it is unnamed) and the names of its nodes.
    Nodes of the old map have the names that they have in the new one.
    """
    same, before, after = same_nodes(old, new), ends(old_slices), ends(new_slices)

    def policy_of(m, number):
        names = [m.nodes[i].name for i in dict.fromkeys(m.policies[number].members)]
        return m.policies[number].name, names if m is new else [
            same.get(name, name) for name in names
        ]

    first = i = j = 0
    while first < SPACE:
        end = min(before[i][1], after[j][1])
        yield first, end, policy_of(old, before[i][2]), policy_of(new, after[j][2])
        first, i, j = end, i + (end == before[i][1]), j + (end == after[j][1])


def copies_moved(before, after):
    """How many copies of each point move when a piece passes from one policy to
    another.
    """
    if before[0] or after[0]:
        return int(before[0] != after[0])
    return len([name for name in after[1] if name not in before[1]])


def is_reordered(before, after):
    """Whether a piece has another primary although its old primary still holds a copy."""
    return (
        not before[0]
        and not after[0]
        and before[1][0] != after[1][0]
        and before[1][0] in after[1]
    )


def compare(old, new):
    """Compares a map with a later one; returns a dictionary of moved, reordered,
    lower_bound, by_hand and moves: docs/placement.md, "What differs".
    """
    if any(
        getattr(old, what) != getattr(new, what)
        for what in ("name", "hash_number", "secret", "affixes", "cells")
    ):
        raise ValueError("not maps of one cluster")
    same = same_nodes(old, new)
    old_name = {now: before for before, now in same.items()}

    def policy_of(m, slices, point):
        p = m.policies[owner(slices, point)]
        names = [m.nodes[i].name for i in dict.fromkeys(p.members)]
        return p, names if m is new else [same.get(name, name) for name in names]

    cuts = {first for m in (old, new) for first, _ in m.base + m.final}
    cuts |= {
        point
        for m in (old, new)
        for pin in m.pins
        for point in (pin.first, pin.last + 1)
    }
    cuts = sorted(cuts | {SPACE})
    moved, reordered, moves = 0, 0, {}
    for first, end in zip(cuts, cuts[1:]):
        (p, old_names), (q, new_names) = (
            policy_of(old, old.base, first),
            policy_of(new, new.base, first),
        )
        moved += (end - first) * copies_moved((p.name, old_names), (q.name, new_names))
        reordered += (end - first) * is_reordered(
            (p.name, old_names), (q.name, new_names)
        )
        cause = "policy" if p.named and q.named and p.name == q.name else "rebalance"
        if any(pin.first <= first <= pin.last for m in (old, new) for pin in m.pins):
            cause = "pin"
        for pair in paired(
            policy_of(old, old.final, first)[1],
            policy_of(new, new.final, first)[1],
            old_name,
        ):
            moves.setdefault(pair + (cause,), []).append((first, end - 1))
    joined = [
        (first, last) + key
        for key, pieces in moves.items()
        for first, last in join(pieces)
    ]
    joined.sort(key=lambda move: (move[0], move[1], move[2] or "", move[3] or ""))
    before, after = {}, shares(new)
    for (kind, name), points in shares(old).items():
        before[kind, same.get(name, name) if kind == "node" else name] = points
    return {
        "moved": moved,
        "reordered": reordered,
        "lower_bound": sum(
            max(0, points - before.get(holder, 0)) for holder, points in after.items()
        ),
        "by_hand": sum(
            last - first + 1
            for first, last, _, _, cause in joined
            if cause != "rebalance"
        ),
        "moves": joined,
    }


def paired(old, new, old_name):
    """The (from, to) pairs of one piece. A node that goes and one that comes at the
    same position are a pair; the remaining nodes are paired in order of their names.

    Both lists use the names of the new map for nodes that are in it; `from` is the name
    in the old map.
    """
    lost, come = [n for n in old if n not in new], [n for n in new if n not in old]
    found = [(a, b) for a, b in zip(old, new) if a in lost and b in come]
    lost = sorted(old_name.get(n, n) for n in lost if n not in [a for a, _ in found])
    found = [(old_name.get(a, a), b) for a, b in found]
    come = sorted(n for n in come if n not in [b for _, b in found])
    rest = max(len(lost), len(come))
    return found + list(
        zip(lost + [None] * (rest - len(lost)), come + [None] * (rest - len(come)))
    )


def join(pieces):
    """Joins ranges that touch; the ranges come in ascending order."""
    joined = []
    for first, last in pieces:
        if joined and joined[-1][1] + 1 == first:
            first = joined.pop()[0]
        joined.append((first, last))
    return joined

"""Shares, targets, and what differs between two maps, by docs/placement.md: the second half of the reference.

`targets` and `shares` are about one map, `compare` about two. Integers only, pieces cut at every bound there is.
"""

from stead_reference import SPACE, owner


def targets(m):
    """The cells that each holder is due, as {("node" or "policy", name): cells}."""
    holders = [(("node", n.name), n.weight) for n in m.nodes]
    holders += [(("policy", p.name), p.weight) for p in m.policies if p.weighted]
    total = sum(weight for _, weight in holders)
    due = {holder: m.cells * weight // total for holder, weight in holders}
    by_remainder = sorted(holders, key=lambda h: -(m.cells * h[1] % total))  # stable: of equal ones the earlier holder
    for holder, _ in by_remainder[: m.cells - sum(due.values())]:
        due[holder] += 1
    return due


def shares(m, unit="points"):
    """What each holder has of the base slices, in points or in cells."""
    held = {("node", n.name): 0 for n in m.nodes}
    held.update({("policy", p.name): 0 for p in m.policies if p.weighted})
    for (first, policy), end in zip(m.base, [first for first, _ in m.base[1:]] + [SPACE]):
        size = end - first if unit == "points" else end * m.cells // SPACE - first * m.cells // SPACE
        p = m.policies[policy]
        for holder in [("policy", p.name)] if p.named else [("node", m.nodes[i].name) for i in p.members]:
            held[holder] += size
    return held


def same_nodes(old, new):
    """{old name: new name} of the nodes that are in both maps; backwards, what the later map remembers of names holds."""
    if new.epoch < old.epoch:
        return {before: now for now, before in same_nodes(new, old).items()}
    old_names, new_names = {n.name for n in old.nodes}, {n.name for n in new.nodes}
    same = {name: name for name in old_names & new_names}
    for node in new.nodes:
        if node.name not in old_names and node.formerly in old_names - new_names and node.formerly not in same:
            same[node.formerly] = node.name
    return same


def compare(old, new):
    """moved, lower_bound, by_hand and moves from one map to a later one: docs/placement.md, "What differs"."""
    if (old.name, old.hash, old.secret, old.cells) != (new.name, new.hash, new.secret, new.cells):
        raise ValueError("not maps of one cluster")
    same = same_nodes(old, new)
    old_name = {now: before for before, now in same.items()}

    def policy_of(m, slices, point):
        p = m.policies[owner(slices, point)]
        names = [m.nodes[i].name for i in p.members]
        return p, names if m is new else [same.get(name, name) for name in names]

    cuts = {first for m in (old, new) for first, _ in m.base + m.final}
    cuts |= {point for m in (old, new) for pin in m.pins for point in (pin.first, pin.last + 1)}
    cuts = sorted(cuts | {SPACE})
    moved, moves = 0, {}
    for first, end in zip(cuts, cuts[1:]):
        (p, old_names), (q, new_names) = policy_of(old, old.base, first), policy_of(new, new.base, first)
        if not p.named and not q.named:
            moved += (end - first) * len([name for name in new_names if name not in old_names])
        elif not (p.named and q.named and p.name == q.name):
            moved += end - first
        cause = "policy" if p.named and q.named and p.name == q.name else "rebalance"
        if any(pin.first <= first <= pin.last for m in (old, new) for pin in m.pins):
            cause = "pin"
        for pair in paired(policy_of(old, old.final, first)[1], policy_of(new, new.final, first)[1], old_name):
            moves.setdefault(pair + (cause,), []).append((first, end - 1))
    joined = [(first, last) + key for key, pieces in moves.items() for first, last in join(pieces)]
    joined.sort(key=lambda move: (move[0], move[1], move[2] or "", move[3] or ""))
    before, after = {}, shares(new)
    for (kind, name), points in shares(old).items():
        before[kind, same.get(name, name) if kind == "node" else name] = points
    return {
        "moved": moved,
        "lower_bound": sum(max(0, points - before.get(holder, 0)) for holder, points in after.items()),
        "by_hand": sum(last - first + 1 for first, last, _, _, cause in joined if cause != "rebalance"),
        "moves": joined,
    }


def paired(old, new, old_name):
    """The (from, to) pairs of one piece: by position first, then the rest of both, each by name.

    Both lists have the names of the new map where there is one; `from` is the name in the old map."""
    lost, come = [n for n in old if n not in new], [n for n in new if n not in old]
    found = [(a, b) for a, b in zip(old, new) if a in lost and b in come]
    lost = sorted(old_name.get(n, n) for n in lost if n not in [a for a, _ in found])
    found = [(old_name.get(a, a), b) for a, b in found]
    come = sorted(n for n in come if n not in [b for _, b in found])
    rest = max(len(lost), len(come))
    return found + list(zip(lost + [None] * (rest - len(lost)), come + [None] * (rest - len(come))))


def join(pieces):
    """Ranges in ascending order, with those that touch joined."""
    joined = []
    for first, last in pieces:
        if joined and joined[-1][1] + 1 == first:
            first = joined.pop()[0]
        joined.append((first, last))
    return joined

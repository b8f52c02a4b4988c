"""The least that a step can move, and the least that it can reorder: docs/placement.md,
"What every map keeps", 3, and "Primaries".

Both are exact minimum-cost flows, in cells. The sets of R nodes that keep the caps are
the bases of a laminar matroid, and the cost of a set is the sum over its nodes. So the
cheapest flow through the domains costs as much as the best way to cut the slices.
"""

from collections import Counter

from comparison import (
    cells_between,
    copies_moved,
    ends,
    is_reordered,
    pieces,
    same_nodes,
)
from domains import caps, chain
from flow import Network
from targets import targets


def moved(old, old_slices, m, slices):
    """How many cells move from one set of slices to another; each copy counts."""
    return sum(
        cells_between(m, first, end) * copies_moved(p, q)
        for first, end, p, q in pieces(old, old_slices, m, slices)
    )


def reordered(old, old_slices, m, slices):
    """How many cells get another primary although the old one still holds a copy."""
    return sum(
        cells_between(m, first, end) * is_reordered(p, q)
        for first, end, p, q in pieces(old, old_slices, m, slices)
    )


def least_moved(old, old_slices, m, goals=None):
    """The fewest cells that must move from the slices of an old map so that every
    holder has its target in the fleet of `m`, or its cells in `goals`.
    """
    goals = goals or targets(m)
    target = {holder: cells for holder, cells in goals.items() if cells}
    groups = groups_of(old, old_slices, m, target)
    network, found = Network(), caps(m)
    inner = {("node", n.name): chain(n, m.spread)[-1] for n in m.nodes}
    for key, cells in groups.items():
        network.add("source", (key, ()), cells * m.replicas)
        for domain in sorted(found, key=len)[1:]:
            network.add((key, domain[:-1]), (key, domain), cells * found[domain])
        for holder in target:
            free = holder in key[1] or is_named(key) and m.replicas > 1
            network.add(
                (key, inner.get(holder, ())),
                ("holder", holder),
                cells,
                0 if free else 1,
            )
    for holder, cells in target.items():
        network.add(("holder", holder), "sink", cells)
    amount, cost = network.send("source", "sink")
    assert amount == m.replicas * m.cells, "the targets cannot be met under the caps"
    # the cells of a named policy move once, whatever the number of nodes that they go
    # to
    return cost + sum(
        cells for key, cells in groups.items() if is_named(key) and m.replicas > 1
    )


def groups_of(old, old_slices, m, target):
    """Groups the old slices by their holders that still have a target; returns
    {(whether a named policy held them, these holders): cells}. Slices of one group have
    the same feasible sets, so the flow needs only one vertex for them.
    """
    same, groups = same_nodes(old, m), Counter()
    for first, end, policy in ends(old_slices):
        p = old.policies[policy]
        names = (
            [("policy", p.name)]
            if p.named
            else [("node", same.get(old.nodes[i].name)) for i in p.members]
        )
        key = (p.named, frozenset(name for name in names if name in target))
        groups[key] += cells_between(m, first, end)
    return groups


def is_named(key):
    """Whether a group's slices were held by named policies; `key` is the group's."""
    return key[0]


def primaries(m, slices):
    """{node: how many cells it is the primary of}; counts the slices of unnamed
    policies.
    """
    count = Counter()
    for first, end, policy in ends(slices):
        p = m.policies[policy]
        if not p.named:
            count[m.nodes[p.members[0]].name] += cells_between(m, first, end)
    return count


def least_reordered(old, old_slices, m, slices):
    """The fewest cells that must be reordered when every slice keeps its set of nodes,
    and every node the number of cells that it is the primary of.
    """
    groups = Counter()
    for first, end, before, after in pieces(old, old_slices, m, slices):
        if not after[0]:
            primary = (
                before[1][0] if not before[0] and before[1][0] in after[1] else None
            )
            groups[primary, frozenset(after[1])] += cells_between(m, first, end)
    network = Network()
    for key, cells in groups.items():
        primary, nodes = key
        network.add("source", key, cells)
        for node in sorted(nodes):
            network.add(
                key, ("node", node), cells, int(primary is not None and node != primary)
            )
    for node, cells in primaries(m, slices).items():
        network.add(("node", node), "sink", cells)
    return network.send("source", "sink")[1]


def primary_numbers(m, slices):
    """{node: how many cells it is due to be the primary of}, by the page's rule of
    remainders. On the given slices every node must have its target.

    First, every node gets its part rounded down. Then the nodes are tried by the
    largest remainder: a node is rounded up if the slices allow it together with the
    nodes that were rounded up before.
    """
    target = {
        name: cells for (kind, name), cells in targets(m).items() if kind == "node"
    }
    network, arcs, sets = Network(), {}, Counter()
    for first, end, policy in ends(slices):
        if not m.policies[policy].named:
            sets[tuple(m.policies[policy].members)] += cells_between(m, first, end)
    for members, cells in sets.items():
        network.add("source", members, cells)
        for i in members:
            network.add(members, ("node", m.nodes[i].name), cells)
    for name, cells in target.items():
        arcs[name] = network.add(("node", name), "sink", cells // m.replicas)
    network.send("source", "sink")
    due = {name: cells // m.replicas for name, cells in target.items()}
    for name in sorted(target, key=lambda name: -(target[name] % m.replicas)):
        if target[name] % m.replicas:
            network.room[arcs[name]] += 1
            up = network.send("source", "sink")[0]
            due[name] += up
            network.room[arcs[name]] -= 1 - up
    return due

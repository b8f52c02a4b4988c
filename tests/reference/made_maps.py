"""Makes good maps for the judge's tests: their shares are exact, they keep the caps,
and they move and reorder the least.

`lay(description)` gives a fleet its base slices; given the map before, it makes the
step from there. The method is that of the theory. A minimum-cost flow says how many
cells of each group of old slices every node gets. The cells of a group's nodes are laid
end to end, domain by domain, and this line is folded at the group's length. So a domain
with a cells in all appears floor(a / length) or ceil(a / length) times at every point.
This is not a rebalancer for use: it cuts far more slices than necessary.
"""

from collections import Counter

from comparison import cells_between, ends, same_nodes
from domains import caps, chain
from flow import Network
from stead_reference import cell_bound, read_map
from targets import targets
from write_map import encode

# Dearer than the changes of primaries on any path through the network, so that the flow
# fills the parts that were rounded down before it rounds one up.
DEAR = 10**6


def fleet_of(description, after=None):
    """The map of a description whose base slices are not known yet: it has one slice,
    of an arbitrary node.
    """
    any_node = min(node["name"] for node in description["nodes"])
    return read_map(encode(dict(description, base=[["0" * 16, [any_node]]]), after))


def lay(description, after=None):
    """Returns the description with its base slices; `after` is the map before, as
    bytes. All policies must be unnamed.
    """
    m = fleet_of(description, after)
    old = read_map(after) if after else None
    runs = runs_of(old, m)
    sets = [
        (first, end, nodes, primary)
        for run, shares in share_out(m, runs)
        for first, end, nodes, primary in wrap(m, run, shares)
    ]
    base = []
    for first, _, nodes in order(m, sorted(sets)):
        base.append([f"{cell_bound(first, m.cells):016x}", nodes])
    return dict(description, base=base)


def make(description, after=None):
    """The bytes of a good map."""
    return encode(lay(description, after), after)


def runs_of(old, m):
    """Groups the old slices by the set of their nodes that still have a target; returns
    [(these nodes, [(first cell, end cell, old primary), ...])].
    """
    target, runs = targets(m), {}
    if old is None:
        return [(frozenset(), [(0, m.cells, None)])]
    same = same_nodes(old, m)
    for first, end, policy in ends(old.base):
        names = [same.get(old.nodes[i].name) for i in old.policies[policy].members]
        key = frozenset(name for name in names if target.get(("node", name)))
        runs.setdefault(key, []).append(
            (cells_between(m, 0, first), cells_between(m, 0, end), names[0])
        )
    return sorted(runs.items(), key=lambda run: run[1])


def share_out(m, runs):
    """Returns [(run, {node: its cells of this run})] with the least movement."""
    network, arcs, found = Network(), {}, caps(m)
    for i, (kept, parts) in enumerate(runs):
        length = sum(end - first for first, end, _ in parts)
        network.add("source", (i, ()), length * m.replicas)
        for domain in sorted(found, key=len)[1:]:
            network.add((i, domain[:-1]), (i, domain), length * found[domain])
        for node in m.nodes:
            if node.weight:
                arcs[i, node.name] = network.add(
                    (i, chain(node, m.spread)[-1]),
                    node.name,
                    length,
                    int(node.name not in kept),
                )
    for (_, name), cells in targets(m).items():
        network.add(name, "sink", cells)
    network.send("source", "sink")
    return [
        (parts, {name: network.flow(arc) for (j, name), arc in arcs.items() if i == j})
        for i, (_, parts) in enumerate(runs)
    ]


def wrap(m, parts, shares):
    """Folds the nodes' cells over the parts of a run; returns [(first cell, end cell,
    nodes, old primary)].
    """
    length = sum(end - first for first, end, _ in parts)
    in_order = sorted(
        (n for n in m.nodes if shares.get(n.name)),
        key=lambda n: (chain(n, m.spread)[-1], n.name),
    )
    at, held = 0, []  # (first, end, node) within the length
    for n in in_order:
        first, at = at % length, at + shares[n.name]
        held += [
            (first, min(first + shares[n.name], length), n.name),
            (0, max(0, first + shares[n.name] - length), n.name),
        ]
    cuts = {bound for first, end, _ in held for bound in (first, end)}
    pieces, before = [], 0
    for first, end, primary in parts:
        inside = sorted(
            {0, end - first}
            | {cut - before for cut in cuts if before < cut < before + end - first}
        )
        for a, b in zip(inside, inside[1:]):
            nodes = [name for x, y, name in held if x <= a + before < y]
            pieces.append((first + a, first + b, nodes, primary))
        before += end - first
    return pieces


def order(m, sets):
    """Chooses the primaries so that the fewest change, and cuts the pieces where the
    primary changes; returns [(first cell, end cell, nodes)].
    """
    network, arcs = Network(), {}
    for i, (first, end, nodes, primary) in enumerate(sets):
        network.add("source", i, end - first)
        for name in nodes:
            arcs[i, name] = network.add(
                i, name, end - first, int(primary in nodes and name != primary)
            )
    whole = Counter()
    for first, end, nodes, _ in sets:
        whole.update({name: end - first for name in nodes})
    for name, cells in whole.items():
        network.add(name, "sink", cells // m.replicas)
        network.add(name, "sink", int(cells % m.replicas > 0), DEAR)
    network.send("source", "sink")
    pieces = []
    for i, (first, end, nodes, _) in enumerate(sets):
        for name in sorted(nodes):
            cells = network.flow(arcs[i, name])
            if cells:
                pieces.append(
                    (
                        first,
                        first + cells,
                        [name] + sorted(other for other in nodes if other != name),
                    )
                )
                first += cells
        assert first == end
    return pieces

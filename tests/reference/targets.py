"""The targets of a fleet by progressive filling: docs/placement.md, "Targets". All
arithmetic is on integers and exact fractions.

A holder is ("node", name) or, at one replica, ("policy", name). Holders are always in
the same order: nodes before policies, and both by name.
"""

from collections import namedtuple
from fractions import Fraction

from domains import caps, chain

# An upper bound on the cells of some holders. `rank` orders bounds that are reached at
# the same level: nodes, then the deepest domains, and so on up to the whole fleet.
# `cells` is the most that the holders may have together.
Bound = namedtuple("Bound", "rank name cells holders")


def weights(m):
    """{holder: weight} in the order of the holders. With more than one replica a policy
    has no share, so its weight counts as 0.
    """
    found = {("node", n.name): n.weight for n in m.nodes}
    found.update(
        {
            ("policy", p.name): p.weight if m.replicas == 1 else 0
            for p in m.policies
            if p.weighted
        }
    )
    return found


def bounds(m):
    """All bounds of a fleet, in the order in which they count when they are reached at
    the same level.
    """
    under = {}
    for n in m.nodes:
        for domain in chain(n, m.spread)[1:] if n.weight > 0 else []:
            under.setdefault(domain, []).append(("node", n.name))
    found = [Bound(0, (n.name.encode(),), m.cells, [("node", n.name)]) for n in m.nodes]
    for domain, cap in caps(m).items():
        if domain:
            name = tuple(value.encode() for value in domain)
            found.append(
                Bound(
                    1 + len(m.spread) - len(domain), name, cap * m.cells, under[domain]
                )
            )
    found.append(Bound(1 + len(m.spread), (), m.replicas * m.cells, list(weights(m))))
    return sorted(found, key=lambda bound: (bound.rank, bound.name))


def fill(m):
    """Returns ({holder: target in cells}, {holder: its exact share in cells, a
    Fraction}). Raises `Impossible`.
    """
    weight, all_bounds = weights(m), bounds(m)
    target = {holder: 0 for holder, w in weight.items() if w == 0}
    exact = {holder: Fraction(0) for holder in target}
    while len(target) < len(weight):
        # min() takes the first of equal levels; the bounds are in the order of the page
        level, bound = min(
            (
                (reached_at(b, weight, target), b)
                for b in all_bounds
                if rising(b, target)
            ),
            key=lambda pair: pair[0],
        )
        frozen = rising(bound, target)
        exact.update({holder: level * weight[holder] for holder in frozen})
        freeze(bound, frozen, weight, target, all_bounds)
    return {holder: target[holder] for holder in weight}, {
        holder: exact[holder] for holder in weight
    }


def targets(m):
    """{holder: target in cells}."""
    return fill(m)[0]


def rising(bound, target):
    """The holders under a bound that are not frozen yet."""
    return [holder for holder in bound.holders if holder not in target]


def left(bound, target):
    """The cells of a bound that its frozen holders leave to the others."""
    return bound.cells - sum(target.get(holder, 0) for holder in bound.holders)


def reached_at(bound, weight, target):
    """The level at which a bound is reached; some of its holders must still be rising."""
    return Fraction(
        left(bound, target), sum(weight[holder] for holder in rising(bound, target))
    )


def freeze(bound, frozen, weight, target, all_bounds):
    """Divides the cells that are left under a bound among the holders that freeze with
    it, by the largest remainders.
    """
    whole, total = left(bound, target), sum(weight[holder] for holder in frozen)
    target.update({holder: whole * weight[holder] // total for holder in frozen})
    over = left(bound, target)
    # the sort is stable: of equal remainders the earlier holder comes first
    order = sorted(frozen, key=lambda holder: -(whole * weight[holder] % total))
    for holder in order:
        if over and all(left(b, target) > 0 for b in all_bounds if holder in b.holders):
            target[holder] += 1
            over -= 1
    assert over == 0, "cells are left although the bounds have room"

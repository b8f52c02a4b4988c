#!/usr/bin/env python3
"""Judges a map, or a map together with the one before it: `judge.py MAP [OLD]`. Prints
JSON; exits with 1 when something is wrong.

The judge knows docs/map-format.md and docs/placement.md through the reference, and
nothing of the program. It demands that

- every holder has exactly as many cells as its target or, where the map has a
  tolerance, not further from it than that;
- every unnamed policy has R nodes and keeps the caps at every level;
- every node is the primary of its part;
- every pin has R nodes and keeps the caps, unless its fleet calls it short;
- OLD, when given, is the parent of the map, and no more moved, and no more was
  reordered, than had to be.

While a gradual change is under way, these rules hold for the target slices. The step
from OLD must then have changed the base slices in order from point 0 upwards, each to
its target.
"""

import json
import sys

from comparison import compare, pieces, shares
from domains import Impossible, broken_pins, caps, violations
from optimum import (
    least_moved,
    least_reordered,
    moved,
    primaries,
    primary_numbers,
    reordered,
)
from stead_reference import SPACE, Refused, read_map
from targets import fill

NOTHING = {
    "ok": False,
    "max_share_error_points": None,
    "violations": [],
    "violating_slices": 0,
    "pending_violations": 0,
    "pin_violations": 0,
    "short_pins": 0,
    "primaries_by_remainder": None,
    "moved": None,
    "lower_bound": None,
    "optimum": None,
    "moved_cells": None,
    "optimum_cells": None,
    "reordered": None,
    "least_reordered_cells": None,
    "slices": 0,
}


def judge(data, old_data=None):
    """Returns the report about a map, a dictionary; `ok` is true when `problems` is
    empty.
    """
    try:
        m = read_map(data)
        old = read_map(old_data) if old_data is not None else None
    except Refused as refused:
        return dict(NOTHING, problems=[f"refused: {refused}"])
    if m.unknown:
        return dict(NOTHING, problems=["features that this judge does not know"])
    problems, report = [], dict(NOTHING, slices=len(m.base))
    slices = m.target or m.base
    if m.max_slices and len(slices) > m.max_slices:
        problems.append(f"{len(slices)} slices, max_slices is {m.max_slices}")
    try:
        report["max_share_error_points"] = str(judge_shares(m, slices, problems))
        judge_domains(m, slices, report, problems)
        balanced = not problems
        judge_pins(m, report, problems)
        judge_primaries(m, slices, balanced, report, problems)
        if m.target:
            judge_rest(m, problems)
        if old:
            judge_step(m, old, report, problems)
    except Impossible as impossible:
        problems.append(f"the fleet is impossible: {impossible}")
    return dict(report, ok=not problems, problems=problems)


def judge_shares(m, slices, problems):
    """Returns the largest distance of any holder from its exact share, in points,
    rounded up. A holder that misses its target, by more than the tolerance, is a
    problem.
    """
    have, points, (due, exact), worst = (
        shares(m, "cells", slices),
        shares(m, "points", slices),
        fill(m),
        0,
    )
    for holder, cells in due.items():
        least, most = allowed(m, cells)
        if not least <= have[holder] <= most:
            problems.append(
                f"{holder[0]} {holder[1]} has {have[holder]} cells, its target is {cells}"
            )
        distance = abs(points[holder] - exact[holder] * SPACE / m.cells)
        worst = max(worst, -(-distance.numerator // distance.denominator))
    return worst


def allowed(m, target):
    """The fewest and the most cells that a holder with this target may have."""
    million = 10**6
    return (
        -(-target * (million - m.tolerance) // million),
        min(m.cells, target * (million + m.tolerance) // million),
    )


def judge_domains(m, slices, report, problems):
    """Checks the caps at every level, and that every policy has R nodes. In a gradual
    change, base slices that break these rules are only counted: their targets repair
    them.
    """
    found = caps(m)
    report["violations"] = violations(m, slices, found)
    report["violating_slices"] = len(
        {first for v in report["violations"] for first in v["slices"]}
    )
    for v in report["violations"]:
        what = (
            f"domain {'/'.join(v['domain'])} has {v['count']} copies, its cap is"
            if v["domain"]
            else f"{v['count']} nodes, replicas is"
        )
        problems.append(
            f"policy {','.join(v['policy'])} from {v['first']}: {what} {v['cap']}"
        )
    if m.target:
        pending = violations(m, m.base, found)
        report["pending_violations"] = len(
            {first for v in pending for first in v["slices"]}
        )


def judge_pins(m, report, problems):
    """Checks the pins. They have no target: a gradual change makes no difference."""
    broken = broken_pins(m, caps(m))
    for pin, what in broken:
        if not pin.short:
            problems.append(f"the pin at {pin.first:016x}: {what}")
    for field, short in (("pin_violations", False), ("short_pins", True)):
        report[field] = len({p.first for p, _ in broken if p.short == short})


def judge_primaries(m, slices, balanced, report, problems):
    """Checks that every node is the primary of one R-th of the cells that it may have,
    rounded up or down, and that the nodes after the primary are in order of their names.
    """
    have, due = primaries(m, slices), fill(m)[0]
    # at one replica every copy is a primary
    for n in m.nodes if m.replicas > 1 else []:
        cells = due["node", n.name]
        least, most = allowed(m, cells)
        if not least // m.replicas <= have[n.name] <= -(-most // m.replicas):
            problems.append(
                f"node {n.name} is primary of {have[n.name]} cells, of {cells} at "
                f"{m.replicas} replicas"
            )
    if balanced and not m.tolerance:
        report["primaries_by_remainder"] = all(
            have[name] == cells for name, cells in primary_numbers(m, slices).items()
        )
    for number in sorted({policy for _, policy in slices}):
        p = m.policies[number]
        if not p.named and p.members[1:] != sorted(p.members[1:]):
            problems.append(
                f"policy {number}: after the primary the nodes do not stand by name"
            )


def judge_rest(m, problems):
    """Checks that a gradual change has no more left to move and to reorder than the
    least. If the whole way is a shortest one, so is every part of it.
    """
    if not m.max_slices:
        least = least_moved(m, m.base, m, goals(m, m.target))
        if moved(m, m.base, m, m.target) != least:
            problems.append("from base to target slices more moves than the least")
        if reordered(m, m.base, m, m.target) != least_reordered(m, m.base, m, m.target):
            problems.append(
                "from base to target slices more is reordered than the least"
            )


def goals(m, slices):
    """The cells that every holder is to have: its target or, where the map has a
    tolerance, what it has.
    """
    return shares(m, "cells", slices) if m.tolerance else None


def judge_step(m, old, report, problems):
    """Checks that a map is the next epoch of another, and moves and reorders the
    least.
    """
    if m.epoch != old.epoch + 1 or m.parent != old.digest:
        problems.append("OLD is not the parent of MAP")
    if m.map_id != (old.map_id if old.epoch > 1 else old.digest[:16]):
        problems.append("OLD has another map id")
    try:
        difference = compare(old, m)
    except ValueError as error:
        problems.append(str(error))
        return
    for field in ("moved", "lower_bound", "reordered"):
        report[field] = str(difference[field])
    report["moved_is_lower_bound"] = difference["moved"] == difference["lower_bound"]
    if m.target:
        judge_walk(m, old, problems)
    else:
        judge_movement(m, old, report, problems)


def judge_movement(m, old, report, problems):
    """Checks that a change made in one step moves the least, exact to the cell. With
    max_slices it may move and reorder more.
    """
    here = moved(old, old.base, m, m.base)
    least = least_moved(old, old.base, m, goals(m, m.base))
    report["moved_cells"], report["optimum_cells"] = str(here), str(least)
    # otherwise the cells have different sizes, and the least in cells is not the least
    # in points
    if SPACE % m.cells == 0:
        report["optimum"] = str(least * (SPACE // m.cells))
    if here < least:
        problems.append(
            f"{here} cells moved, the least to the targets is {least}: these are not the targets"
        )
    if here > least and not m.max_slices:
        problems.append(f"{here} cells moved, the least is {least}")
    # during a gradual change the old base slices may still have the copies of a larger
    # number of replicas; then the least may be above the lower bound
    if (
        m.replicas == old.replicas == 1
        and not old.target
        and not m.max_slices
        and not report["moved_is_lower_bound"]
    ):
        problems.append("at one replica more moved than the lower bound")
    here, least = (
        reordered(old, old.base, m, m.base),
        least_reordered(old, old.base, m, m.base),
    )
    report["least_reordered_cells"] = str(least)
    if here > least and not m.max_slices:
        problems.append(
            f"{here} cells have another primary although the one before still holds a "
            f"copy, the least is {least}"
        )


def judge_walk(m, old, problems):
    """Checks a step of a gradual change: up to the last point that it changed, the base
    slices must be equal to the target slices.
    """

    def what(policy):
        # a named policy is identified by its name; renaming a node may change the order
        # of the nodes after the primary
        return policy[0] or (policy[1][0], sorted(policy[1]))

    walked = max(
        [
            end
            for _, end, p, q in pieces(old, old.base, m, m.base)
            if what(p) != what(q)
        ],
        default=0,
    )
    for first, _, p, q in pieces(m, m.base, m, m.target):
        if first < walked and p != q:
            problems.append(
                f"at {first:016x} the slices are not the target's, and the step "
                "changed points behind it"
            )
            return


def main(paths):
    """Judges the files of the command line."""
    if len(paths) not in (1, 2):
        sys.exit("use: judge.py MAP [OLD]")
    files = []
    for path in paths:
        with open(path, "rb") as file:
            files.append(file.read())
    report = judge(*files)
    print(json.dumps(report, ensure_ascii=False))
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Judges a map, or a map and the one before it: `judge.py MAP [OLD]`. Prints JSON; exit 1 when something is wrong.

It knows docs/map-format.md and docs/placement.md through the reference, and nothing of the program. It demands that every
holder has its target to the cell, that every unnamed policy has R nodes, kept apart, and that an OLD map is the map's
parent from which no more than the lower bound moved.
"""

import json
import sys

from comparison import compare, shares, targets
from stead_reference import SPACE, Refused, read_map


def judge(data, old_data=None):
    """What is to be said of a map, as a dictionary; `ok` is true when `problems` is empty."""
    problems, report = [], {"ok": False, "max_share_error_points": None, "violations": 0, "moved": None, "lower_bound": None, "slices": 0}
    try:
        m = read_map(data)
        old = read_map(old_data) if old_data is not None else None
    except Refused as refused:
        return dict(report, problems=[f"refused: {refused}"])
    report["slices"] = len(m.base)
    if m.max_slices and len(m.base) > m.max_slices:
        problems.append(f"{len(m.base)} base slices, max_slices is {m.max_slices}")
    if m.replicas == 1:  # targets under spread and replicas are not in docs/placement.md
        report["max_share_error_points"] = str(judge_shares(m, problems))
    broken = violations(m)
    report["violations"] = len(broken)
    problems += broken
    if old:
        judge_step(m, old, report, problems)
    return dict(report, ok=not problems, problems=problems)


def judge_shares(m, problems):
    """The largest distance of a holder from its weighted share, in points rounded up; a holder off its target is a problem."""
    weights = [n.weight for n in m.nodes] + [p.weight for p in m.policies if p.weighted]
    total = sum(weights)
    if total == 0:
        problems.append("no holder has a weight")
        return SPACE
    have, due, worst = shares(m, "cells"), targets(m), 0
    for holder, cells in due.items():
        if have[holder] != cells:
            problems.append(f"{holder[0]} {holder[1]} has {have[holder]} cells, its target is {cells}")
    for points, weight in zip(shares(m).values(), weights):
        worst = max(worst, -(-abs(points * total - SPACE * weight) // total))
    return worst


def violations(m):
    """The unnamed policies of base slices that have not R nodes, or more nodes of an outermost domain than its cap: the
    smallest c for which the domains, each with at most c, can hold R copies."""
    broken, domains = [], {}
    for node in m.nodes:
        if m.spread and node.weight > 0:
            domains.setdefault(node.labels.get(m.spread[0]), []).append(node)
    caps = [c for c in range(1, m.replicas + 1) if sum(min(c, len(nodes)) for nodes in domains.values()) >= m.replicas]
    for i in sorted({policy for _, policy in m.base if not m.policies[policy].named}):
        nodes = [m.nodes[n] for n in m.policies[i].members]
        if len(nodes) != m.replicas:
            broken.append(f"policy {i} has {len(nodes)} nodes, replicas is {m.replicas}")
        used = [node.labels.get(m.spread[0]) for node in nodes] if m.spread else []
        if used and (not caps or max(used.count(domain) for domain in used) > caps[0]):
            broken.append(f"policy {i} has more nodes in a domain than it must")
    return broken


def judge_step(m, old, report, problems):
    """Whether a map is the next epoch of another, and moves the lower bound exactly."""
    if m.epoch != old.epoch + 1 or m.parent != old.digest:
        problems.append("OLD is not the parent of MAP")
    if m.map_id != (old.map_id if old.epoch > 1 else old.digest[:16]):
        problems.append("OLD has another map id")
    try:
        difference = compare(old, m)
    except ValueError as error:
        problems.append(str(error))
        return
    report["moved"], report["lower_bound"] = str(difference["moved"]), str(difference["lower_bound"])
    report["moved_is_lower_bound"] = difference["moved"] == difference["lower_bound"]
    if not report["moved_is_lower_bound"]:
        problems.append("more moved than the lower bound")


def main(paths):
    """Judge the files of the command line."""
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

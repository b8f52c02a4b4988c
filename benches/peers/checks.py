"""What a candidate can do, found by asking it: whether weights work, how much moves when
a node joins or leaves, and whether a key can have several nodes.
"""

from collections import Counter

import clusters
import workers


def placed(worker, name, cluster, keys):
    """The node of each of the first keys, or (None, the reason)."""
    right, said = worker.ask("build", name, cluster.path)
    if right:
        file = workers.TARGET / "placed"
        right, said = worker.ask("place", name, keys, file)
    if not right:
        return None, said
    return file.read_text(encoding="utf-8").splitlines(), None


def worst_error(owners, weights):
    """How far the node that is worst off is from its share, as a part of the share."""
    counts, whole = Counter(owners), sum(weights.values())
    return max(
        abs(counts[name] / len(owners) * whole / weight - 1)
        for name, weight in weights.items()
    )


def movement(before, after, may_move):
    """The part of the keys that moved, and the part whose move was needless: from a node
    that stays to a node that was there.
    """
    pairs = list(zip(before, after))
    moved = sum(a != b for a, b in pairs)
    needless = sum(a != b and not may_move(a, b) for a, b in pairs)
    return moved / len(pairs), needless / len(pairs)


def several(worker, name, keys=1000):
    """Whether keys have three distinct nodes, the first being the key's node; or why not."""
    file = workers.TARGET / "copies"
    right, said = worker.ask("copies", name, keys, file)
    if not right:
        return said
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    if all(len(set(line)) == 3 for line in lines):
        return "yes"
    alike = sum(len(set(line)) < 3 for line in lines) / len(lines)
    return f"the three nodes of {100 * alike:.0f} % of keys are not distinct"


def check(worker, name, keys):
    """What a candidate can do, as {"weights": ..., "joins": ..., ...}; a text is the
    reason why there is no figure.
    """
    found = {}
    before, why = placed(worker, name, clusters.BEFORE, keys)
    if why:
        return {"why": why}
    if strange := set(before) - {node for node, _ in clusters.TEN}:
        raise AssertionError(f"{name} answers with {min(strange)!r}, not a node")
    found["copies"] = several(worker, name)
    for what, cluster, may_move in (
        ("joins", clusters.JOINED, lambda _, to: to == "n0011"),
        ("leaves", clusters.LEAVING, lambda origin, _: origin == clusters.LEFT),
    ):
        after, why = placed(worker, name, cluster, keys)
        found[what] = why or movement(before, after, may_move)
    after, why = placed(worker, name, clusters.WEIGHTED, keys)
    weights = dict(clusters.WEIGHTED.states[-1])
    found["weights"] = why or worst_error(after, weights)
    return found

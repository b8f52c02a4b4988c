"""The arithmetic of the table: which clients agree on all keys, on which share of the
keys two clients agree, and the median pair.
"""

from statistics import median
from typing import NamedTuple


class Table(NamedTuple):
    """The content of the table. Placements are numbered in the order of `groups`, the
    largest first.
    """

    keys: int
    groups: list  # lists of labels: the clients of each placement
    alike: list  # [i][j]: the number of keys on which the placements i and j agree
    pairs: int  # of the clients that were asked
    median: float  # the share of the keys on which the median pair agrees
    same: int  # pairs that agree on every key


def agree(one, other):
    """Returns the number of keys for which two lists of answers name the same
    server.
    """
    if len(one) != len(other):
        raise ValueError(f"{len(one)} answers and {len(other)}")
    return sum(map(str.__eq__, one, other))


def group(answers):
    """Returns the labels of {label: answers} in groups with equal answers, the largest
    group first. Labels, and groups of equal size, stay in the given order.
    """
    groups = {}
    for label, found in answers.items():
        groups.setdefault(tuple(found), []).append(label)
    return sorted(groups.values(), key=len, reverse=True)


def table(answers):
    """Returns the table for {label: the server of each key}."""
    groups = group(answers)
    first = [answers[members[0]] for members in groups]
    alike = [[agree(one, other) for other in first] for one in first]
    keys = len(first[0])
    # a pair within one placement agrees on all keys, any other pair as its two
    # placements do
    shares = []
    for i, members in enumerate(groups):
        shares += [1.0] * (len(members) * (len(members) - 1) // 2)
        for j in range(i):
            shares += [alike[i][j] / keys] * (len(members) * len(groups[j]))
    return Table(
        keys,
        groups,
        alike,
        len(shares),
        median(shares) if shares else 1.0,
        sum(share == 1 for share in shares),
    )


def percent(alike, keys):
    """Returns the text of a cell, in whole percents. Only all keys give 100, and only
    no keys give 0.
    """
    value = round(100 * alike / keys)
    if value == 100 and alike < keys:
        return ">99"
    return "<1" if value == 0 and alike else str(value)


def differing(answers):
    """Compares clients that should agree, given as {label: answers}. For each one that
    differs from the first, returns (label, number of keys with another answer, index of
    the first such key).
    """
    labels = list(answers)
    found = []
    for label in labels[1:]:
        wrong = [
            i
            for i, (one, other) in enumerate(zip(answers[labels[0]], answers[label]))
            if one != other
        ]
        if len(answers[label]) != len(answers[labels[0]]):
            raise ValueError(
                f"{label} has {len(answers[label])} answers and {labels[0]} "
                f"{len(answers[labels[0]])}"
            )
        if wrong:
            found.append((label, len(wrong), wrong[0]))
    return found

"""The arithmetic of the table: who places all keys alike, which share of the keys two
agree on, and the median pair.
"""

from statistics import median
from typing import NamedTuple


class Table(NamedTuple):
    """What the table says. Placements are numbered in the order of `groups`: the
    largest first.
    """

    keys: int
    groups: list  # of lists of labels: who places every key alike
    alike: list  # [i][j]: the number of keys on which the placements i and j agree
    pairs: int  # of those who were asked
    median: float  # the share of the keys on which the median pair agrees
    same: int  # pairs that agree on every key


def agree(one, other):
    """The number of keys for which two lists of answers name one server."""
    if len(one) != len(other):
        raise ValueError(f"{len(one)} answers and {len(other)}")
    return sum(map(str.__eq__, one, other))


def group(answers):
    """{label: answers} as groups of those whose answers are equal, the largest first;
    labels and equal sizes stay in the order given.
    """
    groups = {}
    for label, found in answers.items():
        groups.setdefault(tuple(found), []).append(label)
    return sorted(groups.values(), key=len, reverse=True)


def table(answers):
    """The table of {label: the server of each key}."""
    groups = group(answers)
    first = [answers[members[0]] for members in groups]
    alike = [[agree(one, other) for other in first] for one in first]
    keys = len(first[0])
    # a pair of one placement agrees on all, any other pair as the two placements do
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
    """What a cell says: whole percents; 100 and 0 are said of all keys and of none
    alone.
    """
    value = round(100 * alike / keys)
    if value == 100 and alike < keys:
        return ">99"
    return "<1" if value == 0 and alike else str(value)


def differing(answers):
    """Of those who should agree, as {label: answers}: (label, number of keys that it
    places otherwise than the first, the first such number).
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

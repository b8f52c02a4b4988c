"""Wallaroo's partitions, against the rule in plain Python: Wallaroo can no longer be
had.
"""

import rings
import wallaroo

AGAINST = "Wallaroo's rule in Python"
KEYS = rings.sample()
BOUNDS = [0, *(2**128 // 12 * i + 12345**i % 10**30 for i in range(1, 12))]
LIST = "".join(f"{bound} worker{i % 5}\n" for i, bound in enumerate(BOUNDS))


def expected(listed, some):
    partitions = wallaroo.parse(listed)
    return [wallaroo.place(key, partitions, {})[0] for key in some]


def test_every_key_is_with_the_worker_of_its_partition(draw, record_property):
    rings.agreed(
        record_property, draw("wallaroo", LIST), KEYS, expected(LIST, KEYS), AGAINST
    )


def test_a_wrong_bound_or_worker_is_noticed(draw):
    some = KEYS[:5000]
    found = draw("wallaroo", LIST).locate(some)
    assert (
        rings.disagreements(found, expected(LIST.replace("worker3", "worker9"), some))
        > 500
    )
    moved = "".join(
        f"{bound and bound + 2**123} worker{i % 5}\n" for i, bound in enumerate(BOUNDS)
    )
    assert rings.disagreements(found, expected(moved, some)) > 50


def test_grown_partitions_move_the_least(draw):
    rings.grown_well(draw("wallaroo", LIST), "worker5", 2**64)

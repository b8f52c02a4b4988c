"""The expected counts are right themselves: they agree with the plan, which was not
computed from keys.
"""

import stead
from engine_case import ROWS


def test_every_key_that_moves_is_in_a_move_of_the_plan_and_in_the_right_one(case):
    plan = stead.Plan.between(case.old, case.new)
    for i in case.sample:
        said = [(move.from_, move.to) for move in plan.affects(case.keys[i])]
        pair = (case.before[i], case.after[i])
        assert said == ([] if pair == ("db2", "two") or pair[0] == pair[1] else [pair])


def test_the_counts_for_each_pair_of_nodes_are_those_of_the_plan(case):
    expected = {}
    for move in stead.Plan.between(case.old, case.new):
        pair = (move.from_, move.to)
        expected[pair] = (
            expected.get(pair, 0) + (move.last - move.first + 1) / 2**64 * ROWS
        )
    assert case.moved.keys() == expected.keys()
    for pair, rows in case.moved.items():
        # keys are hashed, so the standard deviation of a count is its square root; a
        # difference of six of them never happens
        assert abs(rows - expected[pair]) < 6 * expected[pair] ** 0.5, pair


def test_the_case_has_all_that_can_happen(case):
    assert ("db2", "two") in case.differ and ("db2", "two") not in case.moved
    assert {a for a, _ in case.moved} >= {"db3"}, (
        "a node that is gone gives up its keys"
    )
    assert {b for _, b in case.moved} >= {"db6"}, "a new node gets some"

"""Plan: the sequence of moves that is the difference between two maps."""

import collections.abc
import copy
import pickle

import pytest
import stead
from conftest import NAMES, fleet_of


@pytest.fixture(scope="module")
def plan(members, grown):
    return stead.Plan.between(members, grown)


@pytest.fixture(scope="module")
def pairs(members, grown, copies):
    """Pairs of maps, before and after changes of many kinds."""
    nodes = [
        {"name": node.name, "weight": node.weight, "labels": dict(node.labels)}
        for node in copies.nodes
    ]
    spread = {"name": "members", "replicas": 3, "spread": ["zone"]}
    fewer = stead.Map.build(
        {**spread, "node": [n for n in nodes if n["name"] != "b1"]}, copies
    )
    heavier = stead.Map.build(
        {
            **spread,
            "node": [{**n, "weight": 7} if n["name"] == "c2" else n for n in nodes],
        },
        fewer,
    )
    pinned = stead.Map.build(
        fleet_of(
            *NAMES,
            pin=[
                {"key": "user7", "nodes": ["n4"]},
                {"range": ["10%", "20%"], "nodes": ["n1"]},
            ],
        ),
        grown,
    )
    two = stead.Map.build(fleet_of(*NAMES, replicas=2), grown)
    return [
        (members, grown),
        (grown, members),
        (members, members),
        (copies, fewer),
        (fewer, heavier),
        (grown, pinned),
        (pinned, grown),
        (grown, two),
        (two, grown),
    ]


def test_affects_is_the_difference_of_locate_all_for_10_000_keys(pairs):
    moved = [0] * len(pairs)
    for n, (old, new) in enumerate(pairs):
        plan = stead.Plan.between(old, new)
        for i in range(10_000):
            key = f"user{i}"
            before, after = set(old.locate_all(key)), set(new.locate_all(key))
            moves = plan.affects(key)
            assert {move.from_ for move in moves} - {None} == before - after
            assert {move.to for move in moves} - {None} == after - before
            assert len(moves) == max(len(before - after), len(after - before))
            assert all(move.first <= old.point(key) <= move.last for move in moves)
            moved[n] += len(moves)
    # in the last two, a copy of every point is added, and dropped
    assert (
        moved[2] == 0
        and min(moved[:2] + moved[3:]) > 0
        and moved[-1] == moved[-2] >= 10_000
    )


def test_moves_in_order_are_what_affects_finds(pairs):
    for old, new in pairs:
        plan = stead.Plan.between(old, new)
        moves = list(plan)
        assert [move.first for move in moves] == sorted(move.first for move in moves)
        assert all(
            isinstance(move, stead.Move)
            and move.cause in ("rebalance", "pin", "policy")
            for move in moves
        )
        # a copy that is dropped does not count as moved
        assert (
            sum(move.last - move.first + 1 for move in moves if move.to is not None)
            == plan.moved + plan.by_hand
        )
        for one in moves[:50]:
            assert one.from_ in old.locate_all_point(one.first) + [
                None
            ] and one.to in new.locate_all_point(one.last) + [None]


def test_the_part_is_of_the_map_with_more_copies():
    two = stead.Map.build(fleet_of(*"abc", replicas=2))
    one = stead.Map.build(fleet_of(*"abcd"), two)
    plan = stead.Plan.between(two, one)
    assert plan.moved == 2**62 and plan.fraction == 0.125


def test_amounts_are_exact(plan, members, grown):
    assert (
        plan.moved == plan.lower_bound == 2**62
        and plan.by_hand == plan.reordered == 0
        and plan.fraction == 0.25
    )
    assert (
        (plan.old, plan.new) == (members, grown)
        and plan.old is members
        and plan.new is grown
    )
    pinned = stead.Plan.between(
        grown,
        stead.Map.build(
            fleet_of(*NAMES, pin=[{"range": ["0%", "50%"], "nodes": ["n1"]}]), grown
        ),
    )
    assert (
        pinned.moved == 0
        and 0 < pinned.by_hand <= 2**63
        and {move.cause for move in pinned} == {"pin"}
    )


def test_a_plan_is_a_sequence(plan):
    moves = list(plan)
    assert (
        isinstance(plan, collections.abc.Sequence)
        and len(plan) == len(moves) == 3
        and bool(plan)
    )
    for i in range(-3, 3):
        assert plan[i] == moves[i]
    for i in (3, -4, 10**6, 2**63, -(2**63) - 1, 2**100):
        with pytest.raises(IndexError, match="there are 3"):
            plan[i]
    for i in ("0", 1.0, None):
        with pytest.raises(TypeError):
            plan[i]
    assert list(reversed(plan)) == moves[::-1] and moves[1] in plan and "n1" not in plan
    assert (
        plan.index(moves[2]) == 2
        and plan.count(moves[2]) == 1
        and plan.count(None) == 0
    )
    with pytest.raises(ValueError):
        plan.index(moves[0], 1)
    assert plan.index(moves[1], 1, 2) == 1
    first, *others = plan
    assert first == moves[0] and others == moves[1:]


@pytest.mark.parametrize(
    "slice",
    [
        slice(None),
        slice(2),
        slice(1, None),
        slice(-2, None),
        slice(None, None, -1),
        slice(0, 3, 2),
        slice(5, 9),
        slice(2, 0),
        slice(2, 0, -1),
        slice(-100, 100),
        slice(None, None, 2**62),
        slice(2**70, None, -(2**70)),
    ],
)
def test_a_slice_is_a_tuple_of_moves(plan, slice):
    assert plan[slice] == tuple(plan)[slice]


def test_a_step_of_0_is_refused(plan):
    with pytest.raises(ValueError):
        plan[::0]


def test_iterators_are_their_own(plan):
    one, two = iter(plan), iter(plan)
    assert iter(one) is one and next(one) == next(two) == plan[0]
    assert list(one) == list(plan)[1:] and list(one) == [] and len(list(two)) == 2


def test_a_plan_without_moves_is_empty(members):
    plan = stead.Plan.between(members, members)
    assert (
        not plan
        and len(plan) == 0
        and list(plan) == []
        and plan[:] == ()
        and plan.affects("frank") == []
        and plan.fraction == 0.0
    )


def test_a_plan_is_a_value(plan, members, grown):
    for again in (pickle.loads(pickle.dumps(plan)), stead.Plan.between(members, grown)):
        assert (
            again == plan
            and hash(again) == hash(plan)
            and not again != plan  # noqa: SIM202  tests both operators
            and list(again) == list(plan)
        )
    assert copy.copy(plan) is plan and copy.deepcopy(plan) is plan
    assert (
        plan != stead.Plan.between(grown, members)
        and plan != list(plan)
        and len({plan, stead.Plan.between(members, grown)}) == 1
    )
    assert repr(plan) == '<stead.Plan "members" epoch 1 -> 2, 3 moves, 25.000000 %>'
    with pytest.raises(AttributeError):
        plan.moved = 1
    with pytest.raises(TypeError):
        plan[0] = plan[1]
    with pytest.raises(TypeError):
        stead.Plan()


def test_a_plan_keeps_its_maps():
    old = stead.Map.build(fleet_of("a"))
    plan = stead.Plan.between(old, stead.Map.build(fleet_of("a", "b"), old))
    del old
    assert plan.old.name == "members" and plan[0].to == "b"


def test_the_report_is_that_of_the_program(plan, members, grown, program, tmp_path):
    import json
    import subprocess

    members.save(tmp_path / "old.map")
    grown.save(tmp_path / "new.map")
    for flags, report in (([], plan.report()), (["--moves"], plan.report(moves=True))):
        said = subprocess.run(
            [
                program,
                "diff",
                tmp_path / "old.map",
                tmp_path / "new.map",
                "--json",
                *flags,
            ],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        assert report == json.loads(said)
    assert [int(move["first"], 16) for move in plan.report(moves=True)["moves"]] == [
        move.first for move in plan
    ]


def test_wrong_arguments_are_type_errors(members):
    for arguments in (
        (),
        (members,),
        (members, None),
        (members, members.to_bytes()),
        (members, members, members),
    ):
        with pytest.raises(TypeError):
            stead.Plan.between(*arguments)

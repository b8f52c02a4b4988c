"""Node, Slice and Move behave as tuples."""

import copy
import json
import pickle
from decimal import Decimal

import pytest
import stead


def records(copies, members, grown):
    return [copies.nodes[0], copies.slices[0], stead.Plan.between(members, grown)[0]]


def test_records_pickle_copy_hash_and_compare(copies, members, grown):
    for record in records(copies, members, grown):
        for again in (
            pickle.loads(pickle.dumps(record)),
            copy.copy(record),
            copy.deepcopy(record),
            type(record)(*record),
            type(record)(**record._asdict()),
        ):
            assert (
                again == record
                and hash(again) == hash(record)
                and repr(again) == repr(record)
                and type(again) is type(record)
            )
        assert type(record).__module__ == "stead" and getattr(
            stead, type(record).__name__
        ) is type(record)
        with pytest.raises(AttributeError):
            setattr(record, record._fields[0], 1)


def test_the_fields_are_these():
    assert stead.Node._fields == ("name", "weight", "labels", "attributes", "leaving")
    assert stead.Slice._fields == ("first", "last", "nodes", "policy")
    assert stead.Move._fields == ("first", "last", "from_", "to", "cause")


def test_a_weight_is_exact():
    map = stead.Map.build(
        {
            "name": "m",
            "node": [
                {"name": "a", "weight": "0.000001"},
                {"name": "b", "weight": "999999.999999"},
            ],
        }
    )
    assert [node.weight for node in map.nodes] == [
        Decimal("0.000001"),
        Decimal("999999.999999"),
    ]
    assert all(type(node.weight) is Decimal for node in map.nodes)


def test_labels_are_a_dict_that_stays_as_it_is(copies):
    labels = copies.nodes[0].labels
    assert (
        labels == {"zone": "a"}
        and labels["zone"] == "a"
        and labels.get("rack") is None
        and list(labels) == ["zone"]
    )
    assert (
        json.dumps(labels) == '{"zone": "a"}'
        and repr(labels) == "{'zone': 'a'}"
        and {**labels} == {"zone": "a"}
    )
    assert (labels | {"rack": "r"}) == {"zone": "a", "rack": "r"} and type(
        labels | {}
    ) is dict
    for change in (
        lambda: labels.update(zone="b"),
        lambda: labels.pop("zone"),
        lambda: labels.popitem(),
        lambda: labels.clear(),
        lambda: labels.setdefault("zone", "b"),
        lambda: labels.__setitem__("zone", "b"),
        lambda: labels.__delitem__("zone"),
        lambda: labels.__ior__({"zone": "b"}),
    ):
        with pytest.raises(TypeError, match="never changes"):
            change()
    assert labels == {"zone": "a"} and copy.deepcopy(labels) == labels
    mine = dict(labels)
    mine["zone"] = "b"
    assert copies.nodes[0].labels == {"zone": "a"}


def test_a_fleet_can_be_made_from_nodes(copies):
    nodes = [
        {
            "name": node.name,
            "weight": node.weight,
            "labels": node.labels,
            "attributes": node.attributes,
        }
        for node in copies.nodes
    ]
    again = stead.Map.build(
        {
            "name": copies.name,
            "replicas": copies.replicas,
            "spread": copies.spread,
            "node": nodes,
        },
        copies,
    )
    assert again.same(copies)


def test_a_leaving_node_is_marked(members):
    step = stead.Map.build(
        {"name": "members", "node": [{"name": "n1"}, {"name": "n2"}]},
        members,
        max_move="1%",
    )
    assert [(node.name, node.leaving) for node in step.nodes] == [
        ("n1", False),
        ("n2", False),
        ("n3", True),
    ]

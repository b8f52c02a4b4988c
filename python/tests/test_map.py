"""Map: its answers, and that it behaves as a value."""

import copy
import gc
import pickle
import sys
import weakref
from decimal import Decimal

import pytest
import stead
from conftest import NAMES, fleet_of


def test_keys_live_where_their_md5_says(members):
    assert members.point("frank") == 0x26253C50741FAA9C
    assert members.locate("frank") == "n1" and members.locate_all("frank") == ["n1"]
    assert members.locate_point(0x26253C50741FAA9C) == "n1"


def test_copies_live_in_three_zones_and_prefer_begins_with_them(copies):
    for i in range(1000):
        key = f"user{i}"
        found = copies.locate_all(key)
        assert {name[0] for name in found} == set("abc") and found[0] == copies.locate(
            key
        )
        assert (
            copies.prefer(key, 3) == found
            and copies.prefer(key, 1) == found[:1]
            and copies.prefer(key, 0) == []
        )
        every = copies.prefer(key, 100)
        assert every[:3] == found and sorted(every) == sorted(
            node.name for node in copies.nodes
        )


def test_a_map_tells_what_is_in_it(members, copies):
    assert (
        members.name,
        members.epoch,
        members.replicas,
        members.hash,
        members.spread,
    ) == ("members", 1, 1, "md5", ())
    assert (copies.replicas, copies.spread) == (3, ("zone",))
    assert len(members.digest) == 32 and members.parent == bytes(32)
    assert [node.name for node in copies.nodes] == [
        f"{zone}{i}" for zone in "abc" for i in range(3)
    ]
    node = copies.nodes[5]
    assert (node.name, node.weight, node.labels, node.attributes, node.leaving) == (
        "b2",
        3,
        {"zone": "b"},
        {"address": "10.0.0.2"},
        False,
    )
    assert copies.nodes is copies.nodes and copies.slices is copies.slices


def test_slices_cover_the_space_and_say_what_locate_says(copies, members):
    for map in (copies, members):
        point = 0
        for one in map.slices:
            assert one.first == point and one.last >= one.first and one.policy is None
            for inside in (one.first, one.last, (one.first + one.last) // 2):
                assert map.locate_all_point(inside) == list(one.nodes)
            point = one.last + 1
        assert point == 2**64


def test_named_policies_and_pins_are_seen():
    map = stead.Map.build(
        fleet_of(
            *NAMES,
            policy=[{"name": "cray", "kind": "chain", "nodes": ["n4", "n1"]}],
            pin=[{"key": "justin", "policy": "cray"}],
        )
    )
    assert map.locate_all("justin") == ["n4", "n1"]
    (pinned,) = [one for one in map.slices if one.policy == "cray"]
    assert pinned.first == pinned.last == map.point("justin") and pinned.nodes == (
        "n4",
        "n1",
    )


def test_every_hash_is_named():
    for hash in ("md5", "sha1", "xxh3"):
        assert stead.Map.build(fleet_of("a", hash=hash)).hash == hash
    secret = stead.Map.build(fleet_of("a", hash="siphash", secret="00" * 16))
    assert secret.hash == "siphash" and "00" * 16 not in repr(secret) + str(
        secret.report()
    )


def test_keys_with_the_same_first_segments_live_together():
    whole, ruled = (
        stead.Map.build(fleet_of(*NAMES, **more))
        for more in ({}, {"key": "first 1 segments"})
    )
    assert (whole.key_rule, ruled.key_rule) == ("whole", "first 1 segments")
    files = ["web1", "web1/cpu.rrd", "/web1/disk/0.rrd", b"web1/\xff"]
    assert {ruled.point(file) for file in files} == {whole.point("web1")}
    assert (
        ruled.locate_many(files)
        == [ruled.locate(file) for file in files]
        == [whole.locate("web1")] * 4
    )
    assert len({whole.point(file) for file in files}) == 4
    with pytest.raises(
        stead.IdentityError,
        match='the fleet says key = "first 2 segments" and the map has "first 1 segments"',
    ):
        stead.Map.build(fleet_of(*NAMES, key="first 2 segments"), previous=ruled)


def test_the_report_has_the_shares(members, copies):
    report = members.report()
    assert report["name"] == "members" and [
        node["points"] for node in report["nodes"]
    ] == ["6148914691236517206", "6148914691236517205", "6148914691236517205"]
    assert sum(int(node["points"]) for node in copies.report()["nodes"]) == 3 * 2**64
    assert "moves" not in report


def test_equal_maps_are_equal_and_hash_so(members, grown):
    same = stead.Map.from_bytes(members.to_bytes())
    assert (
        same is not members
        and same == members
        and hash(same) == hash(members)
        and not same != members  # noqa: SIM202  tests both operators
    )
    assert members != grown and len({members, same, grown}) == 2
    assert not members == grown  # noqa: SIM201  tests both operators
    assert members != 1
    assert not members == "members"  # noqa: SIM201  the same
    for compare in (lambda: members < grown, lambda: members >= grown):
        with pytest.raises(TypeError):
            compare()


def test_same_ignores_the_epoch_alone(members, grown):
    again = stead.Map.build(fleet_of(*NAMES[:3]), members)
    assert (
        again != members
        and again.same(members)
        and members.same(again)
        and again.epoch == 2
    )
    assert again.parent == members.digest
    assert not grown.same(members)
    with pytest.raises(TypeError):
        members.same("members")


def test_a_map_is_its_bytes(members):
    data = members.to_bytes()
    assert (
        data == members.to_bytes()
        and data[8:] != b""
        and stead.Map.from_bytes(data).digest == members.digest
    )
    for wrong in (bytearray(data), memoryview(data), "text", None):
        with pytest.raises(TypeError):
            stead.Map.from_bytes(wrong)


@pytest.mark.parametrize("protocol", range(3, pickle.HIGHEST_PROTOCOL + 1))
def test_a_map_pickles_as_its_bytes(copies, protocol):
    data = pickle.dumps(copies, protocol)
    assert copies.to_bytes() in data
    again = pickle.loads(data)
    assert (
        again == copies
        and again.nodes == copies.nodes
        and again.slices == copies.slices
    )


def test_a_damaged_pickle_is_refused(members):
    data = bytearray(pickle.dumps(members))
    data[data.index(members.to_bytes()) + 600] ^= 1
    with pytest.raises(stead.DigestError):
        pickle.loads(data)


def test_bound_methods_and_functions_pickle(members):
    assert pickle.loads(pickle.dumps(members.locate))("frank") == "n1"
    for function in (stead.Map.build, stead.Plan.between, stead.path, stead.survey):
        assert pickle.loads(pickle.dumps(function)) is function


def test_a_copy_is_the_map_itself(members):
    assert copy.copy(members) is members and copy.deepcopy(members) is members
    assert copy.deepcopy({"map": [members]})["map"][0] is members


def test_a_map_cannot_be_changed_nor_made_by_hand(members):
    for name in ("epoch", "name", "something"):
        with pytest.raises(AttributeError):
            setattr(members, name, 1)
    with pytest.raises(AttributeError):
        del members.epoch
    with pytest.raises(TypeError, match="cannot create"):
        stead.Map()
    with pytest.raises(TypeError):
        type("Mine", (stead.Map,), {})


def test_a_map_says_what_it_is(members, copies):
    assert (
        repr(members)
        == f'<stead.Map "members" epoch 1, 3 nodes, 3 slices, {members.digest.hex()[:8]}>'
    )
    assert str(copies) == repr(copies) and "9 nodes" in repr(copies)


def test_maps_go_when_nobody_has_them():
    map = stead.Map.build(fleet_of("a", "b"))
    nodes, gone = map.nodes, weakref.ref(map)
    assert map.slices and map.locate("frank")
    del map
    gc.collect()
    assert gone() is None and nodes[0].name == "a"


def test_names_are_made_once(members):
    first = members.locate("frank")
    assert members.locate("frank") is first
    before = sys.getrefcount(first)
    for _ in range(1000):
        members.locate("frank")
        members.locate_all("frank")
        members.prefer("frank", 2)
    assert sys.getrefcount(first) == before


def test_keyword_names_are_kept(members):
    assert (
        members.locate(key="frank")
        == members.locate_all(key=b"frank")[0]
        == members.prefer(key="frank", n=1)[0]
    )
    assert (
        members.locate_point(point=0) == "n1"
        and members.point(key="") == 0xD41D8CD98F00B204
    )
    assert (
        stead.Plan.between(
            old=members,
            new=stead.Map.build(
                fleet=fleet_of(*NAMES[:3]), previous=members, max_move=None
            ),
        ).moved
        == 0
    )


def test_nodes_are_found_by_name(copies):
    for node in copies.nodes:
        assert copies.node(node.name) is node
        assert copies.attribute(node.name, "address") == node.attributes["address"]
        assert copies.label(node.name, "zone") == node.labels["zone"]
        assert copies.attribute(node.name, "zone") is None
        assert copies.label(node.name, "address") is None
    for name in ("", "a", "a00", "\0", "zzz"):
        assert copies.node(name) is None
        assert copies.attribute(name, "address") is copies.label(name, "zone") is None


def test_policies_are_those_of_the_fleet_and_of_the_slices(copies):
    fleet = fleet_of(*NAMES)
    fleet["policy"] = [
        {"name": "p", "nodes": ["n3", "n1"], "kind": "proxy", "weight": 0.5},
        {"name": "q", "nodes": ["n2"]},
    ]
    fleet["pin"] = [{"key": "frank", "policy": "q"}]
    map = stead.Map.build(fleet)
    named = {policy.name: policy for policy in map.policies if policy.name}
    assert named == {
        "p": stead.Policy("p", "proxy", Decimal("0.5"), ("n3", "n1")),
        "q": stead.Policy("q", "", None, ("n2",)),
    }
    assert map.policies is map.policies
    lists = {(policy.name, policy.nodes) for policy in map.policies}
    assert {(one.policy, one.nodes) for one in map.slices} <= lists
    assert {policy.name for policy in copies.policies} == {None}
    assert {policy.nodes for policy in copies.policies} == {
        one.nodes for one in copies.slices
    }


def test_uncached_maps_are_opened_each_time(tmp_path, members, grown):
    path = tmp_path / "m.map"
    members.save(path)
    first = stead.Map.open_uncached(path)
    assert first == members
    # a file that is overwritten in place is another map, and no ChangedError
    path.write_bytes(grown.to_bytes())
    assert stead.Map.open_uncached(path) == grown and first == members
    path.write_bytes(grown.to_bytes()[:-1])
    with pytest.raises(stead.Error):
        stead.Map.open_uncached(path)
    with pytest.raises(stead.NotFoundError):
        stead.Map.open_uncached(tmp_path / "none.map")


def test_notebooks_show_tables(members, grown, copies):
    table = members._repr_html_()
    assert table.count("<tr>") == 4 and ">33.3333%</td>" in table
    assert "members, epoch 1: 3 nodes, 1 copy of each key" in table
    assert "zone=a" in copies._repr_html_() and "3 copies" in copies._repr_html_()
    table = stead.Plan.between(members, grown)._repr_html_()
    assert "members, epoch 1 to 2: 25.0000% of all copies move" in table
    assert table.count(">n4</td>") == 3
    # names are text
    odd = stead.Map.build(
        {"name": "m", "node": [{"name": "a", "labels": {"zone": "<b>&"}}]}
    )
    assert "zone=&lt;b&gt;&amp;" in odd._repr_html_() and "<b>" not in odd._repr_html_()
    many = stead.Map.build(fleet_of(*(f"n{i}" for i in range(300))))
    assert many._repr_html_().count("<tr>") == 22
    assert "and 280 more" in many._repr_html_()

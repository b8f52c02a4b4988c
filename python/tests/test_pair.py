"""Pair: where to read and to write while a carry is open."""

import copy
import os
import pickle
import shutil
import subprocess
import sysconfig

import pytest
import stead

# the program that the wheel installs; another one for a module that is no wheel
PROGRAM = os.path.join(sysconfig.get_path("scripts"), "stead")
STATES = ("old", "both_old_first", "both_new_first", "new")


def maps():
    fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2"}]}
    members = stead.Map.build(fleet)
    fleet["node"].append({"name": "db3", "attributes": {"address": "10.0.0.3"}})
    return members, stead.Map.build(fleet, members)


def test_each_state_has_its_places():
    old, new = maps()
    moved = 0
    for i in range(500):
        key = f"key{i}"
        was, now = old.locate_all(key), new.locate_all(key)
        reads = [was, was, now + was, now] if was != now else [was] * 4
        writes = [was, was + now, now + was, now] if was != now else [was] * 4
        for state, *expected in zip(STATES, reads, writes):
            pair = stead.Pair.between(old, new, state)
            assert [pair.reads(key), pair.writes(key.encode())] == expected
            assert pair.moved(key) is (was != now)
            point = new.point(key)
            assert [pair.reads_point(point), pair.writes_point(point)] == expected
            assert pair.moved_point(point) is (was != now)
        moved += was != now
    assert moved > 100


def test_a_pair_is_a_value():
    old, new = maps()
    pair = stead.Pair.between(old, new, "both_old_first")
    assert (pair.old, pair.new, pair.state) == (old, new, "both_old_first")
    again = pickle.loads(pickle.dumps(pair))
    assert again == pair and hash(again) == hash(pair)
    assert pair != stead.Pair.between(old, new, "new")
    assert copy.copy(pair) is pair and copy.deepcopy(pair) is pair
    assert pair.attribute("db3", "address") == "10.0.0.3"
    assert pair.attribute("db3", "none") is None
    assert pair.attribute("db9", "address") is None


def test_mistakes_have_their_exceptions():
    old, new = maps()
    with pytest.raises(stead.InvalidError, match="no state of a carry"):
        stead.Pair.between(old, new, "both")
    with pytest.raises(TypeError, match="state is a str"):
        stead.Pair.between(old, new, 2)
    with pytest.raises(TypeError, match="old is a stead.Map"):
        stead.Pair.between("members.map", new, "old")
    with pytest.raises(stead.InvalidError, match="belong together"):
        stead.Pair.open("members.map", epoch=1)
    with pytest.raises(stead.NotFoundError):
        stead.Pair.open("nowhere.map")
    other = stead.Map.build({"name": "other", "node": [{"name": "a"}]})
    with pytest.raises(stead.IdentityError):
        stead.Pair.between(other, new, "old")
    pair = stead.Pair.between(old, new, "old")
    with pytest.raises(TypeError, match="a key is str or bytes"):
        pair.reads(7)
    with pytest.raises(stead.InvalidError):
        pair.reads_point(-1)


def test_a_pair_follows_the_map_file(tmp_path):
    program = os.environ.get("STEAD_PROGRAM") or PROGRAM
    path = tmp_path / "members.map"
    fleet = tmp_path / "fleet.toml"

    def run(*arguments):
        subprocess.run([program, *map(str, arguments)], check=True, capture_output=True)

    fleet.write_text('name = "m"\nnode = [{ name = "a" }, { name = "b" }]\n')
    run("apply", fleet, path)
    plain = stead.Pair.open(path)
    assert plain.state is None and plain.old is None and not plain.moved("frank")
    assert pickle.loads(pickle.dumps(plain)) == plain
    fleet.write_text(
        'name = "m"\nnode = [{ name = "a" }, { name = "b" }, { name = "c" }]\n'
    )
    run("apply", fleet, path, "--carry")
    seen = [stead.Pair.open(path).state]
    with pytest.raises(stead.GuardedError, match="has a carry open"):
        stead.Map.rollback(path, 1)
    with pytest.raises(stead.GuardedError, match="stead-sync carry"):
        stead.Map.build({"name": "m", "node": [{"name": "a"}]}, stead.Map.open(path))
    for _ in range(3):
        run("carry", path, "next", "--confirmed", str(stead.Map.open(path).epoch))
        seen.append(stead.Pair.open(path, copy=True).state)
    assert tuple(seen) == STATES
    named = stead.Pair.open(path, epoch=1, state="both_new_first")
    assert named.old.epoch == 1 and named.state == "both_new_first"
    run("carry", path, "close", "--confirmed", "5")
    assert stead.Pair.open(path).state is None
    assert repr(stead.Pair.open(path)) == '<stead.Pair "m" epoch 6>'


def test_a_missing_old_map_says_where_to_get_it(tmp_path):
    path = tmp_path / "carry-old.map"
    here = os.path.dirname(os.path.abspath(__file__))
    maps = os.path.join(here, "..", "..", "tests", "maps")
    shutil.copy(os.path.join(maps, "carry-old.map"), path)
    with pytest.raises(stead.NotFoundError, match="the map where its data was"):
        stead.Pair.open(path)
    (tmp_path / "carry-old.map.history").mkdir()
    shutil.copy(
        os.path.join(maps, "words.map"), tmp_path / "carry-old.map.history" / "1"
    )
    with pytest.raises(stead.IdentityError, match="not the one where the data was"):
        stead.Pair.open(path)
    (tmp_path / "carry-old.map.history" / "1").unlink()
    shutil.copy(
        os.path.join(maps, "three.map"), tmp_path / "carry-old.map.history" / "1"
    )
    pair = stead.Pair.open(path)
    assert pair.state == "old"
    # a node that was renamed is one node, under its new name
    assert "n1-new" in {pair.reads(f"key{i}")[0] for i in range(100)}

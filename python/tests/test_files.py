"""Maps as files: opening through the cache, saving, publishing, conflicts, and the
program as a second writer.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
import stead
from conftest import NAMES, fleet_of


@pytest.fixture
def path(tmp_path, members):
    path = tmp_path / "members.map"
    members.publish(path)
    return path


def test_a_published_map_is_opened(path, members):
    for spelled in (path, str(path), os.fspath(path)):
        assert stead.Map.open(spelled) == members
    assert stead.Map.open(path, copy=True) == members
    for wrong in (None, 3, b"members.map"):
        with pytest.raises(TypeError):
            stead.Map.open(wrong)
    with pytest.raises(TypeError):
        stead.Map.open(path, True)


def test_a_new_epoch_is_seen_and_open_maps_keep_their_answers(path, members, grown):
    before = stead.Map.open(path)
    key = next(
        f"user{i}"
        for i in range(1000)
        if members.locate(f"user{i}") != grown.locate(f"user{i}")
    )
    grown.publish(path, before)
    after = stead.Map.open(path)
    assert (before.epoch, after.epoch) == (1, 2) and after == grown
    assert before.locate(key) == members.locate(key) != after.locate(key)


def test_a_replaced_file_is_seen(path, tmp_path, members, grown):
    assert stead.Map.open(path) == members
    for map in (grown, members, grown):
        map.save(tmp_path / "other.map")
        os.replace(tmp_path / "other.map", path)
        assert stead.Map.open(path) == map


def test_a_removed_file_is_missed_and_may_come_back(path, members):
    map = stead.Map.open(path)
    data = path.read_bytes()
    path.unlink()
    with pytest.raises(stead.NotFoundError):
        stead.Map.open(path)
    assert map.locate("frank") == "n1"
    path.write_bytes(data)
    assert stead.Map.open(path) == members


def test_overwriting_in_place_is_an_error_and_changes_no_answer(path, members, grown):
    map = stead.Map.open(path)
    answers = [map.locate(f"user{i}") for i in range(100)]
    with open(path, "r+b") as file:
        file.write(grown.to_bytes())
    with pytest.raises(stead.ChangedError, match="overwritten in place"):
        stead.Map.open(path)
    assert [map.locate(f"user{i}") for i in range(100)] == answers and map == members
    shutil.copy(path, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)
    assert stead.Map.open(path) == grown


def test_a_touched_file_is_the_same_map(path, members):
    assert stead.Map.open(path) == members
    os.utime(path, ns=(1, 1))
    assert stead.Map.open(path) == members


def test_a_damaged_file_is_refused(path, members):
    data = bytearray(members.to_bytes())
    data[700] ^= 1
    path.unlink()
    path.write_bytes(data)
    with pytest.raises(stead.DigestError, match="restore it from MAP.history"):
        stead.Map.open(path)


def test_of_two_writers_one_wins(path, members, grown):
    other = stead.Map.build(fleet_of("n1", "n2"), members)
    grown.publish(path, members)
    with pytest.raises(
        stead.ConflictError,
        match="planned on epoch 1, and epoch 2 is there now; nothing was changed",
    ):
        other.publish(path, members)
    with pytest.raises(
        stead.ConflictError, match="somebody made this map in the meantime"
    ):
        members.publish(path)
    assert stead.Map.open(path) == grown
    now = stead.Map.open(path)
    stead.Map.build(fleet_of("n1", "n2"), now).publish(path, now, allow="take-back")
    assert stead.Map.open(path).epoch == 3


def test_a_lost_map_is_not_begun_anew(path, members):
    path.unlink()
    with pytest.raises(
        stead.IdentityError, match="the map is missing, but .* has its epochs up to 1"
    ):
        members.publish(path)


def test_the_program_and_the_module_share_maps_and_history(
    path, tmp_path, members, grown, program
):
    def run(*arguments):
        return subprocess.run(
            [program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
            text=True,
        ).stdout

    grown.publish(path, members)
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        "name = 'members'\n"
        + "".join(f"[[node]]\nname = '{name}'\n" for name in [*NAMES, "n5"])
    )
    by_module = stead.Map.build_file(fleet, grown)
    run("apply", fleet, path)
    assert stead.Map.open(path) == by_module and by_module.epoch == 3
    run("check", path)
    assert [
        epoch["epoch"] for epoch in json.loads(run("history", path, "--json"))["epochs"]
    ] == [1, 2, 3]
    run("rollback", path, "1", "--exact")
    back = stead.Map.open(path)
    assert back.epoch == 4 and back.same(members)
    history = pathlib.Path(f"{path}.history")
    assert {file.name for file in history.iterdir()} == {"1", "2", "3", "4", "log"}
    assert (
        stead.Map.open(history / "2") == grown
        and stead.Plan.between(members, grown).moved
        == stead.Plan.between(
            stead.Map.open(history / "1"), stead.Map.open(history / "2")
        ).moved
    )


def test_what_the_program_makes_the_module_makes(tmp_path, program, copies):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        "name = 'members'\nreplicas = 3\nspread = ['zone']\n"
        + "".join(
            f"[[node]]\nname = '{node.name}'\nweight = {node.weight}\n"
            f"labels = {{ zone = '{node.labels['zone']}' }}\n"
            f"attributes = {{ address = '{node.attributes['address']}' }}\n"
            for node in copies.nodes
        )
    )
    subprocess.run(
        [program, "apply", fleet, tmp_path / "m.map"],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    assert (
        (tmp_path / "m.map").read_bytes()
        == copies.to_bytes()
        == stead.Map.build_file(fleet).to_bytes()
    )


def test_save_replaces_and_knows_no_history(tmp_path, members, grown):
    path = tmp_path / "m.map"
    grown.save(path)
    members.save(path)
    assert path.read_bytes() == members.to_bytes() and os.listdir(tmp_path) == ["m.map"]


def test_a_map_with_a_secret_is_for_its_owner_alone(tmp_path):
    map = stead.Map.build(fleet_of("a", hash="siphash", secret="00" * 16))
    map.publish(tmp_path / "s.map")
    map.save(tmp_path / "t.map")
    for file in ("s.map", "t.map", "s.map.history/1"):
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o600


def test_opening_again_costs_no_more_than_a_stat(path):
    """Opened maps share their content: 20,000 opens of a map with many slices take well
    under a second; verifying the map each time would take minutes.
    """
    import time

    big = stead.Map.build(
        {
            "name": "big",
            "node": [{"name": f"n{i}", "weight": i % 7 + 1} for i in range(300)],
        }
    )
    big.save(path.with_name("big.map"))
    start = time.process_time()
    for _ in range(20_000):
        stead.Map.open(path.with_name("big.map"))
    assert time.process_time() - start < 5


def test_paths_of_any_bytes_work(tmp_path, members):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \n.map")
    members.save(path)
    assert stead.Map.open(path) == members
    with pytest.raises(OSError):
        stead.Map.open("a\0b")


def test_apply_publishes_what_differs_and_nothing_else(tmp_path):
    path = tmp_path / "new.map"
    first = stead.Map.apply(fleet_of("n1", "n2"), path)
    assert first == stead.Map.open(path) and first.epoch == 1
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert stead.Map.apply(fleet_of("n1", "n2"), path) == first
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    three = fleet_of("n1", "n2", "n3")
    step = stead.Map.apply(three, path, max_move="5%")
    assert step.epoch == 2 and step == stead.Map.open(path)
    assert stead.Plan.between(first, step).fraction < 0.051
    file = tmp_path / "fleet.json"
    file.write_text(json.dumps(three))
    whole = stead.Map.apply_file(file, path)
    assert whole.epoch == 3 and whole.slices == stead.Map.build(three, first).slices
    file.write_text('{"name": "members", "nod": []}')
    with pytest.raises(stead.FleetError, match=f"{file}:1: unknown key `nod`"):
        stead.Map.apply_file(file, path)
    with pytest.raises(stead.FleetError, match=r"site\['nod'\]: unknown key"):
        stead.Map.apply({"name": "members", "nod": []}, path, name="site")
    with pytest.raises(stead.IdentityError):
        stead.Map.apply({"name": "other", "node": [{"name": "n1"}]}, path)
    with pytest.raises(FileNotFoundError):
        stead.Map.apply_file(tmp_path / "none.toml", path)
    with pytest.raises(
        TypeError, match="fleet_path is a str or an os.PathLike, not dict"
    ):
        stead.Map.apply_file(three, path)
    assert stead.Map.open(path) == whole


def test_history_lists_epochs_and_rollback_publishes_one_again(path, members, grown):
    assert stead.Map.history(path) == [1]
    grown.publish(path, members)
    assert stead.Map.history(path) == [1, 2]
    assert stead.Map.open_epoch(path, 1) == members
    assert stead.Map.open_epoch(str(path), 2) == grown
    back = stead.Map.rollback(path, 1)
    assert back.epoch == 3 and back.same(members) and back == stead.Map.open(path)
    assert stead.Map.rollback(path, 1) == back  # nothing to do
    assert stead.Map.history(path) == [1, 2, 3]
    grown_again = stead.Map.build(grown.fleet(), back)
    grown_again.publish(path, back, allow="take-back")
    with pytest.raises(stead.InvalidError, match="say how to go back: exact"):
        stead.Map.rollback(path, 1)
    with pytest.raises(stead.InvalidError, match='"most" is no way to go back'):
        stead.Map.rollback(path, 1, back="most")
    assert stead.Map.rollback(path, 1, back="least").fleet() == members.fleet()
    assert stead.Map.rollback(path, 1, back="exact").same(members)
    for call in (stead.Map.open_epoch, stead.Map.rollback):
        with pytest.raises(stead.Error, match="epoch 9 is not in the history"):
            call(path, 9)
        with pytest.raises(stead.InvalidError, match="epoch is not a number from 0"):
            call(path, -1)
        with pytest.raises(TypeError):
            call(path, "1")
    for call in (stead.Map.history, stead.Map.peek):
        with pytest.raises(FileNotFoundError):
            call(f"{path}.none")


def test_harm_is_refused_unless_it_is_allowed(tmp_path):
    path, file = tmp_path / "guarded.map", tmp_path / "guarded.toml"
    single = {"name": "g", "node": [{"name": "a"}, {"name": "b"}]}
    pair = single | {"replicas": 2}
    file.write_text("name = 'g'\nnode = [{ name = 'a' }, { name = 'b' }]\n")
    first = stead.Map.apply(pair, path)
    second = stead.Map.build(single, first)
    drops = "drops copies of 100.00 % of the points.*if you mean it, allow drop-copies$"
    for call in (
        lambda **allow: stead.Map.apply(single, path, **allow),
        lambda **allow: stead.Map.apply_file(file, path, **allow),
        lambda **allow: second.publish(path, first, **allow),
    ):
        with pytest.raises(stead.GuardedError, match=drops):
            call()
        with pytest.raises(stead.GuardedError, match=drops):
            call(allow="move,lose-domain")
        with pytest.raises(stead.InvalidError, match="`drop` is not the word of a"):
            call(allow="drop")
        with pytest.raises(TypeError, match="allow is a str, not list"):
            call(allow=["drop-copies"])
    assert stead.Map.history(path) == [1]
    second.publish(path, first, allow="drop-copies")
    with pytest.raises(stead.GuardedError, match="takes back epoch 2: replicas, 1 ->"):
        stead.Map.apply(pair, path)
    assert stead.Map.apply(pair, path, allow="take-back").epoch == 3
    with pytest.raises(stead.GuardedError, match=drops):
        stead.Map.rollback(path, 2)
    assert stead.Map.rollback(path, 2, allow="drop-copies").epoch == 4
    assert stead.Map.apply_file(file, path).epoch == 4
    limited = single | {"node": [*single["node"], {"name": "c"}]}
    limited |= {"guard": {"move": "10%"}}
    with pytest.raises(stead.GuardedError, match="the fleet permits 10% in one step"):
        stead.Map.apply(limited, path)
    base = stead.Map.open(path)
    with pytest.raises(stead.GuardedError, match="allow move$"):
        stead.Map.build(limited, base).publish(path, base)
    assert stead.Map.apply(limited, path, allow="move").epoch == 5


def test_peek_reads_the_header_alone(path, members, tmp_path):
    assert stead.Map.peek(path) == (members.epoch, members.digest)
    damaged = bytearray(members.to_bytes())
    damaged[-1] ^= 1
    (tmp_path / "damaged.map").write_bytes(damaged)
    assert stead.Map.peek(tmp_path / "damaged.map") == (1, members.digest)
    (tmp_path / "text").write_bytes(b"x" * 500)
    with pytest.raises(stead.FormatError):
        stead.Map.peek(tmp_path / "text")


def test_the_fleet_of_a_map_builds_the_same_map(members, grown, copies):
    fleet = fleet_of(
        "n1",
        "n2",
        "n3",
        policy=[{"name": "p", "nodes": ["n3", "n1"], "kind": "proxy", "weight": 0.5}],
        pin=[{"key": "frank", "policy": "p"}],
    )
    for map in (members, grown, copies, stead.Map.build(fleet)):
        text = map.fleet()
        assert stead.Map.build(text, map).same(map)
        again = stead.Map.build(text)
        assert again.nodes == map.nodes and set(again.policies) >= {
            policy for policy in map.policies if policy.name
        }
    secret = stead.Map.build(fleet_of("a", hash="siphash", secret="07" * 16))
    assert "07" not in secret.fleet()
    assert stead.Map.build(secret.fleet(), secret).same(secret)

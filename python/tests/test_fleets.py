"""Fleets as text, bytes, dict and file; the numbers in a dict, and the messages about
it.
"""

import collections
import decimal
import enum
import fractions
import json
import pathlib
import types
from decimal import Decimal

import numpy
import pytest
import stead
from conftest import NAMES, fleet_of

TEXT = """
name = "members"
[[node]]
name = "n1"
[[node]]
name = "n2"
weight = 1.5
labels = { zone = "b" }
"""
DICT = {
    "name": "members",
    "node": [{"name": "n1"}, {"name": "n2", "weight": 1.5, "labels": {"zone": "b"}}],
}


def refused(fleet, message, cls=stead.FleetError, **named):
    with pytest.raises(cls) as caught:
        stead.Map.build(fleet, **named)
    assert message in str(caught.value), str(caught.value)
    return str(caught.value)


def weight_of(weight):
    (node,) = stead.Map.build(
        {"name": "m", "node": [{"name": "a", "weight": weight}]}
    ).nodes
    return node.weight


def test_all_shapes_give_the_same_map(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(TEXT)
    as_json = tmp_path / "fleet.json"
    as_json.write_text(json.dumps(DICT))
    shapes = [
        TEXT,
        TEXT.encode(),
        DICT,
        json.dumps(DICT),
        json.dumps(DICT).encode(),
        "\n\n" + json.dumps(DICT, indent=2),
        types.MappingProxyType(DICT),
        collections.OrderedDict(DICT),
        collections.ChainMap(DICT),
        {**DICT, "node": tuple(map(types.MappingProxyType, DICT["node"]))},
    ]
    maps = [stead.Map.build(shape) for shape in shapes]
    maps += [stead.Map.build_file(file) for file in (path, str(path), as_json)]
    assert {map.to_bytes() for map in maps} == {stead.Map.build(TEXT).to_bytes()}


def test_messages_call_the_fleet_as_the_caller_does(tmp_path):
    wrong = {"name": "m", "node": [{"name": "a", "wieght": 1}]}
    refused(wrong, "site['node'][0]['wieght']: unknown key", name="site")
    refused(json.dumps(wrong), "site.json:1: unknown key", name="site.json")
    refused(b"name = 'm'\n[[node", "etcd /fleet:2: ", name="etcd /fleet")
    with pytest.raises(TypeError, match="name is a str, not int"):
        stead.Map.build(DICT, name=1)
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(wrong))
    with pytest.raises(stead.FleetError, match=f"{path}:1: "):
        stead.Map.build_file(path)


def test_a_file_builds_on_the_previous_map(tmp_path, members, grown):
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(fleet_of(*NAMES)))
    assert stead.Map.build_file(path, members) == grown
    step = stead.Map.build_file(path, members, max_move="5%")
    assert step == stead.Map.build(fleet_of(*NAMES), members, max_move="5%") != grown


def test_without_a_previous_map_max_move_changes_nothing(members):
    first = stead.Map.build(fleet_of(*NAMES[:3]), max_move="5%")
    assert (
        first == stead.Map.build(fleet_of(*NAMES[:3]), None, max_move="5%") == members
    )


def test_a_pin_may_be_short():
    def digest(**pin):
        pin = {"key": "frank", "nodes": ["n1"], **pin}
        return stead.Map.build({**DICT, "pin": [pin]}).digest

    text = "[[pin]]\nkey = 'frank'\nnodes = ['n1']\nshort = true\n"
    assert digest(short=True) == stead.Map.build(TEXT + text).digest
    assert digest(short=False) == digest() != digest(short=True)
    for wrong in (1, "true", []):
        pin = {"key": "frank", "nodes": ["n1"], "short": wrong}
        refused(
            {**DICT, "pin": [pin]},
            "fleet['pin'][0]['short']: short must be true or false",
        )


def test_a_str_is_a_text_and_never_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.toml").write_text(TEXT)
    assert "call Map.build_file(path)" in refused(
        "fleet.toml", "fleet:1: not valid TOML"
    )
    assert "call Map.build_file(path)" in refused("", "fleet:1: the file is empty")
    assert "build_file" not in refused('name = "members"', "fleet:1: ")
    # apply takes a file in another call
    remedy = r"call Map\.apply_file\(fleet_path, path\)$"
    with pytest.raises(stead.FleetError, match=remedy):
        stead.Map.apply("members.map", TEXT)
    remedy = r"a file is read by stead\.Map\.apply_file\(fleet_path, path\)$"
    with pytest.raises(TypeError, match=remedy):
        stead.Map.apply(tmp_path / "fleet.toml", "members.map")
    assert "build_file" not in refused(
        TEXT + "wieght = 1\n", "fleet:9: unknown key `wieght`"
    )


def test_what_is_no_fleet_is_a_type_error():
    for wrong in (None, 7, [], (), {"a"}, bytearray(TEXT.encode()), object()):
        with pytest.raises(TypeError, match="fleet is a fleet's text"):
            stead.Map.build(wrong)
    with pytest.raises(
        TypeError, match=r"not PosixPath; .* stead.Map.build_file\(path"
    ):
        stead.Map.build(pathlib.Path("fleet.toml"))
    refused(b"\xff", "fleet:1: byte 0xff is not UTF-8")
    with pytest.raises(UnicodeEncodeError):
        stead.Map.build("name = '\udc80'")


@pytest.mark.parametrize(
    ("weight", "exact"),
    [
        (2, "2"),
        (0.1, "0.1"),
        (1.1, "1.1"),
        (1e-6, "0.000001"),
        (1e6, "1000000"),
        (1e5, "100000"),
        (0.30000000000000004 - 5.551115123125783e-17, "0.3"),
        ("0.1", "0.1"),
        ("2", "2"),
        (Decimal("1.50"), "1.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1e-6"), "0.000001"),
        (Decimal(2), "2"),
        (numpy.float64(1.1), "1.1"),
        (numpy.int64(3), "3"),
        (numpy.uint8(3), "3"),
        (numpy.array([4])[0], "4"),
        (True + 1, "2"),
        (enum.IntEnum("Size", {"BIG": 4}).BIG, "4"),
    ],
)
def test_weights_are_exact_decimals(weight, exact):
    assert weight_of(weight) == Decimal(exact)


def test_a_float_counts_as_its_repr():
    # Decimal(0.7) is the exact value of the float, with all its digits
    assert weight_of(0.7) == Decimal("0.7") != Decimal(0.7)  # noqa: RUF032
    refused(
        {"name": "m", "node": [{"name": "a", "weight": 0.1 + 0.2}]},
        "fleet['node'][0]['weight']: weight 0.30000000000000004 has 17 places; at most 6: write "
        "0.3",
    )
    # the value that is proposed is taken
    said = refused(
        {"name": "m", "node": [{"name": "a", "weight": 1 / 3}]}, "write 0.333333"
    )
    assert weight_of(float(said.split()[-1])) == Decimal("0.333333")
    refused(
        {"name": "m", "node": [{"name": "a", "weight": 1e-7}]},
        "weight 0.0000001 has 7 places; at most 6",
    )


@pytest.mark.parametrize(
    "weight",
    [
        float("inf"),
        float("nan"),
        Decimal("Infinity"),
        Decimal("NaN"),
        Decimal("sNaN"),
        -1,
        -0.5,
        1000001,
        10**30,
        "x",
        "",
        "1e3",
        "1,5",
        True,
    ],
)
def test_weights_out_of_range_say_so(weight):
    refused(
        {"name": "m", "node": [{"name": "a", "weight": weight}]},
        "fleet['node'][0]['weight']: ",
    )


@pytest.mark.parametrize(
    "weight",
    [
        None,
        1j,
        fractions.Fraction(1, 2),
        numpy.float32(1.5),
        object(),
        b"1",
        {1},
        range(2),
    ],
)
def test_other_numbers_are_a_type_error_that_names_the_place(weight):
    with pytest.raises(
        TypeError,
        match=(
            r"fleet\['node'\]\[0\]\['weight'\]: a fleet has str, int, Decimal, float, "
            r"bool, list and dict, not "
        ),
    ):
        weight_of(weight)


def test_the_context_of_decimal_changes_nothing():
    with decimal.localcontext(decimal.Context(prec=2, capitals=0)):
        assert weight_of(Decimal("123456.123456")) == Decimal("123456.123456")
        assert weight_of(123456.5) == Decimal("123456.5")


def test_messages_name_the_place_in_a_dict():
    a = {"name": "a"}
    refused(
        {"name": "m", "node": [a, {"name": "b", "wieght": 2}]},
        "fleet['node'][1]['wieght']: unknown key `wieght`",
    )
    refused(
        {"name": "m", "node": [a, {"weight": 1}]},
        "fleet['node'][1]: required key `name` is missing",
    )
    refused({"node": [a]}, "fleet: required key `name` is missing")
    refused(
        {"name": "m", "node": [a, {"name": "b"}, a]},
        "fleet['node'][2]['name']: node name `a` is already used in fleet['node'][0]['name']",
    )
    refused(
        {
            "name": "m",
            "node": [a],
            "pin": [{"key": "x", "nodes": ["a"]}, {"key": "x", "nodes": ["a"]}],
        },
        "fleet['pin'][1]: pin covers points of the pin in fleet['pin'][0]",
    )
    refused(
        {"name": "m", "node": [a], "pin": [{"key": "x", "nodes": ["a", "z"]}]},
        "fleet['pin'][0]['nodes'][1]: ",
    )
    refused(
        {"name": "m", "node": [a], "replicas": 2},
        "fleet['replicas']: replicas = 2 needs 2 nodes",
    )
    refused({"name": "m\nin line 3", "node": [a]}, "fleet['name']: ")
    refused(
        {"name": "m", 'it\'s "so"': 1, "node": [a]},
        """fleet['it\\'s "so"']: unknown key""",
    )


def test_keys_are_str_and_depth_has_an_end():
    with pytest.raises(
        TypeError, match=r"fleet\['node'\]\[0\]: the keys of a fleet are str, not int"
    ):
        stead.Map.build({"name": "m", "node": [{1: 2}]})
    loop = {"name": "m"}
    loop["node"] = [loop]
    refused(loop, "lie too deep in each other")
    deep = []
    for _ in range(100_000):
        deep = [deep]
    refused({"name": "m", "node": deep}, "lie too deep in each other")
    while deep:
        deep = deep.pop()


def test_an_item_that_raises_is_not_swallowed():
    class Broken(collections.abc.Mapping):
        def __getitem__(self, key):
            raise RuntimeError("as it should")

        def __iter__(self):
            return iter(["name"])

        def __len__(self):
            return 1

    with pytest.raises(RuntimeError, match="as it should"):
        stead.Map.build(Broken())


def test_text_of_all_kinds_survives():
    name = 'Zoë "the\\one" 名\U0001f600'
    map = stead.Map.build(
        {
            "name": name,
            "node": [{"name": "a", "attributes": {"note": name, "u2028": "\u2028"}}],
        }
    )
    assert map.name == name and map.nodes[0].attributes == {
        "note": name,
        "u2028": "\u2028",
    }
    assert eval(repr(map).split(" epoch")[0].removeprefix("<stead.Map ")) == name
    with pytest.raises(UnicodeEncodeError):
        stead.Map.build({"name": "\ud800", "node": [{"name": "a"}]})


def test_a_secret_is_read_from_its_file_and_never_shown(tmp_path):
    (tmp_path / "secret").write_text("00112233445566778899aabbccddeeff\n")
    path = tmp_path / "fleet.toml"
    path.write_text('hash = "siphash"\nsecret_file = "secret"\n' + TEXT)
    map = stead.Map.build_file(path)
    assert map == stead.Map.build(
        {**DICT, "hash": "siphash", "secret": "00112233445566778899aabbccddeeff"}
    )
    assert "0011" not in repr(map) and "00112233" not in json.dumps(map.report())
    assert stead.Map.build(DICT, map).same(map)


def test_a_gradual_change_goes_step_by_step(members):
    four = fleet_of("n1", "n2", "n3", "n4")
    map, steps = members, 0
    whole = stead.Plan.between(members, stead.Map.build(four, members)).moved
    while True:
        after = stead.Map.build(four, map, max_move="10%")
        if after.same(map):
            break
        moved = stead.Plan.between(map, after).moved
        assert 0 < moved <= 2**64 // 10 + 1
        whole -= moved
        map, steps = after, steps + 1
    assert steps == 3 and map.epoch == 4 and whole == 0
    assert map.slices == stead.Map.build(four, members).slices


def test_building_is_the_same_everywhere(members):
    assert stead.Map.build(fleet_of("n1", "n2", "n3")).digest == members.digest
    assert members.digest.hex() == stead.Map.from_bytes(members.to_bytes()).digest.hex()

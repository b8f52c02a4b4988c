"""uhashring's two rings, against uhashring itself."""

import json

import pytest
import rings

HERE = rings.ROOT / "tests" / "rings"
VENV = rings.ROOT / ".venv-rings-tests" / "bin" / "python"

WEIGHTS = {
    f"redis{i}.example.com:6379": weight
    for i, weight in enumerate([1, 3, 2, 5, 1, 0, 4, 2])
}
EQUAL = {n: dict.fromkeys((f"cache{i}" for i in range(n)), 1) for n in (3, 25, 61, 100)}
# options of HashRing, each with the choices of the ring that mean the same
WAYS = [
    ({}, {}),
    ({"vnodes": 7}, {"vnodes": 7}),
    ({"hash_fn": "ketama"}, {"hash": "ketama"}),
    ({"hash_fn": "ketama", "vnodes": 100}, {"hash": "ketama", "vnodes": 100}),
    ({"hash_fn": "ketama", "replicas": 3}, {"hash": "ketama", "replicas": 3}),
    (
        {"hash_fn": "ketama", "replicas": 1, "vnodes": 160},
        {"hash": "ketama", "replicas": 1, "vnodes": 160},
    ),
]


@pytest.fixture
def where():
    """where(nodes, keys, options): uhashring's own answers."""
    if not rings.works(VENV, "-c", "import uhashring"):
        pytest.skip(
            "uhashring is not in .venv-rings-tests; scripts/rings-tests-venv makes it"
        )

    def ask(nodes, keys, options):
        lines = "".join(key.hex() + "\n" for key in keys).encode()
        return (
            rings.output(
                [
                    VENV,
                    HERE / "uhashring_where.py",
                    json.dumps(nodes),
                    json.dumps(options),
                ],
                lines,
            )
            .decode()
            .split("\n")[:-1]
        )

    ask.about = (
        "uhashring "
        + rings.output(
            [
                VENV,
                "-c",
                "import importlib.metadata as m; print(m.version('uhashring'))",
            ]
        )
        .decode()
        .strip()
    )
    return ask


def text(nodes):
    return "".join(f"{name} {weight}\n" for name, weight in nodes.items())


def keys(count):
    """Keys that are text, as uhashring takes them."""
    found = []
    for key in rings.sample(count):
        try:
            key.decode()
        except UnicodeDecodeError:
            continue
        found.append(key)
    return found


@pytest.mark.parametrize("options, choices", WAYS)
def test_every_key_is_where_uhashring_has_it(
    options, choices, where, draw, record_property
):
    for nodes, count in [(WEIGHTS, 100_000), (EQUAL[3], 20_000)]:
        ring, asked = draw("uhashring", text(nodes), **choices), keys(count)
        rings.agreed(
            record_property, ring, asked, where(nodes, asked, options), where.about
        )
    rings.grown_well(ring, "cache-new", 2**32 if "hash" in choices else 2**64)


@pytest.mark.parametrize("count", [25, 61, 100])
def test_many_equal_nodes(count, where, draw, record_property):
    for options, choices in [WAYS[0], WAYS[2]]:
        ring, asked = draw("uhashring", text(EQUAL[count]), **choices), keys(20_000)
        rings.agreed(
            record_property,
            ring,
            asked,
            where(EQUAL[count], asked, options),
            where.about,
        )
        if count == 100:
            rings.measured(record_property, ring)


def test_a_key_on_a_point_belongs_to_the_next_one(where, draw):
    # the label of a point is itself a key that hashes onto it
    labels = [f"{name}-{i}".encode() for name in EQUAL[3] for i in range(40)]
    for options, choices in [WAYS[0], WAYS[2]]:
        ours = draw("uhashring", text(EQUAL[3]), **choices).locate(labels)
        assert ours == where(EQUAL[3], labels, options)
        assert (
            sum(
                node == label.rpartition(b"-")[0].decode()
                for node, label in zip(ours, labels)
            )
            < 80
        )


def test_the_controls_are_caught(where, draw):
    asked = keys(20_000)
    theirs = where(WEIGHTS, asked, {"hash_fn": "ketama"})
    for nodes, choices in [
        (WEIGHTS, {"hash": "md5"}),
        (WEIGHTS, {"hash": "ketama", "replicas": 3}),
        (WEIGHTS, {"hash": "ketama", "vnodes": 41}),
        ({**WEIGHTS, "redis0.example.com:6379": 2}, {"hash": "ketama"}),
    ]:
        assert (
            rings.disagreements(
                draw("uhashring", text(nodes), **choices).locate(asked), theirs
            )
            > 500
        ), choices

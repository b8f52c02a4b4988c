"""OpenStack Swift's part rings: its RingBuilder makes rings, and its own Ring is asked."""

import json

import pytest
import rings
import swift

PYTHON = rings.ROOT / ".venv-rings-tests" / "bin" / "python"
needs_swift = pytest.mark.skipif(
    not rings.works(PYTHON, "-c", "from swift.common.ring import Ring, RingBuilder"),
    reason="swift is not in .venv-rings-tests; scripts/rings-tests-venv makes it",
)

BUILD = """
import json, sys
from swift.common.ring import RingBuilder
asked = json.load(sys.stdin)
builder = RingBuilder(asked["power"], asked["replicas"], 0)
for device in asked["devices"]:
    builder.add_dev(device)
builder.rebalance(seed=1)
for gone in asked.get("removed", []):
    builder.remove_dev(gone)
    builder.pretend_min_part_hours_passed()
    builder.rebalance(seed=2)
builder.get_ring().save(asked["path"], format_version=asked.get("format", 1))
"""
ASK = """
import importlib.metadata, json, sys
import swift.common.utils as utils
asked = json.load(sys.stdin)
utils.HASH_PATH_PREFIX, utils.HASH_PATH_SUFFIX = asked["prefix"].encode(), asked["suffix"].encode()
from swift.common.ring import Ring
ring = Ring(asked["path"])
found = []
for key in asked["keys"]:
    part, nodes = ring.get_nodes(*(bytes.fromhex(name) for name in key))
    found.append([(node["ip"], node["port"], node["device"]) for node in nodes])
print(json.dumps([importlib.metadata.version("swift"), found]))
"""


def devices(count, zones=4):
    """Devices of different weights, one of them with an IPv6 address."""
    return [
        {
            "region": 1 + n % 2,
            "zone": n % zones,
            "ip": f"10.0.0.{n}" if n else "fd00::1",
            "port": 6200,
            "device": f"sdb{n}",
            "weight": 100.0 * (1 + n % 3),
        }
        for n in range(count)
    ]


def built(path, power, replicas, count=8, **more):
    """Returns the file of a ring that Swift built."""
    asked = {
        "path": str(path),
        "power": power,
        "replicas": replicas,
        "devices": devices(count),
        **more,
    }
    rings.output([PYTHON, "-c", BUILD], json.dumps(asked).encode())
    return path.read_bytes()


def keys_of(count):
    """Accounts, containers and objects, as lists of names."""
    some = [[b"AUTH_%d" % (n % 100)] for n in range(100)] + [
        [b"AUTH_%d" % (n % 100), b"c %d" % n] for n in range(5000)
    ]
    names = rings.sample(count - len(some), empty=False)
    return some + [[b"AUTH_test", b"photos", name] for name in names]


def asked(path, keys, prefix="", suffix=""):
    """(Swift's version, the devices that it has for each key)."""
    question = {
        "path": str(path),
        "keys": [[name.hex() for name in key] for key in keys],
        "prefix": prefix,
        "suffix": suffix,
    }
    version, found = json.loads(
        rings.output([PYTHON, "-c", ASK], json.dumps(question).encode())
    )
    return "swift " + version, [
        [
            f"[{ip}]:{port}/{name}" if ":" in ip else f"{ip}:{port}/{name}"
            for ip, port, name in nodes
        ]
        for nodes in found
    ]


@needs_swift
@pytest.mark.parametrize(
    ("power", "replicas", "affixes"),
    [
        (10, 3, {"suffix": "changeme"}),
        (6, 1, {"prefix": "pré", "suffix": "fix"}),
        (3, 5, {"prefix": "only"}),
    ],
)
def test_every_path_has_the_devices_that_swift_has(
    draw, record_property, tmp_path, power, replicas, affixes
):
    path = tmp_path / "object.ring.gz"
    # one device is gone and leaves a gap in the ids
    data, keys = built(path, power, replicas, removed=[3]), keys_of(100_000)
    version, lists = asked(path, keys, **affixes)
    paths = [b"/" + b"/".join(key) for key in keys]
    ring = draw("swift", data, **affixes)
    rings.agreed(record_property, ring, paths, [nodes[0] for nodes in lists], version)
    assert rings.disagreements(ring.locate_all(paths), lists) == 0
    wrong = draw("swift", data, suffix="other")
    assert rings.disagreements(wrong.locate_all(paths), lists) > 50_000
    parsed = swift.parse(data)
    assert (
        rings.disagreements(
            [swift.place(path, parsed, affixes) for path in paths[:5000]], lists[:5000]
        )
        == 0
    )


@needs_swift
def test_other_formats_and_numbers_of_replicas_are_refused(tmp_path):
    for change, words in (
        ({"format": 2}, b"the ring has format 2"),
        ({"replicas": 2.5}, b"the ring ends too early"),
    ):
        path = tmp_path / "ring.gz"
        built(path, 6, **{"replicas": 3, **change})
        done = rings.subprocess.run(
            [
                rings.program(),
                "ring",
                "swift",
                path,
                "-o",
                tmp_path / "m",
                "--fleet",
                tmp_path / "f",
                "--name",
                "n",
            ],
            capture_output=True,
            timeout=rings.PATIENCE,
            check=False,
        )
        assert done.returncode != 0 and words in done.stderr, done.stderr


def test_every_example_is_as_the_reference_has_it(draw, record_property):
    keys = rings.sample()
    for _, data, choices in swift.EXAMPLES:
        ring, parsed = draw("swift", data, **choices), swift.parse(data)
        lists = [swift.place(key, parsed, choices) for key in keys]
        rings.agreed(
            record_property, ring, keys, [nodes[0] for nodes in lists], "the reference"
        )
        assert rings.disagreements(ring.locate_all(keys), lists) == 0


@needs_swift
def test_a_partition_is_not_split_when_the_ring_grows(draw, record_property, tmp_path):
    new = {"name": "10.0.0.99:6200/sdb1", "weight": 200}
    for replicas in (1, 3):
        data = built(tmp_path / f"{replicas}.gz", 10, replicas)
        rings.grown_well(draw("swift", data, suffix="x"), new, 2**10)
    rings.measured(
        record_property, draw("swift", built(tmp_path / "hundred.gz", 14, 3, 100))
    )

"""Graphite's consistent hashing, against carbon's own router and against
carbon-c-relay.
"""

import json
import re
import shutil

import carbon
import pytest
import rings

PYTHON = rings.ROOT / ".venv-rings-tests" / "bin" / "python"
needs_carbon = pytest.mark.skipif(
    not rings.works(PYTHON, "-c", "import carbon.routers"),
    reason="carbon is not in .venv-rings-tests; scripts/rings-tests-venv makes it",
)
needs_relay = pytest.mark.skipif(
    not shutil.which("carbon-c-relay"), reason="carbon-c-relay is not installed"
)

# what carbon's relay does with its configuration: lists of destinations for each metric
ROUTER = """
import importlib.metadata, json, sys
from carbon.routers import ConsistentHashingRouter
from carbon.util import parseDestinations
asked = json.load(sys.stdin)
class settings: REPLICATION_FACTOR, DIVERSE_REPLICAS, ROUTER_HASH_TYPE = asked["factor"], asked["diverse"], asked["hash"]
router = ConsistentHashingRouter(settings)
for destination in parseDestinations(asked["destinations"]):
    router.addDestination(destination)
metrics = [bytes.fromhex(metric).decode() for metric in asked["metrics"]]
print(json.dumps([importlib.metadata.version("carbon"), [list(router.getDestinations(metric)) for metric in metrics]]))
"""
SERVERS = carbon.LISTED
MANY = ", ".join(
    f"10.0.{n // 8}.{n % 8}:2{n:03}:{'abcdefgh'[n % 8]}{n}" for n in range(24)
)
# metrics are text to carbon
KEYS = rings.sample(binary=False)
METRICS = [
    b"servers.web%d.cpu%d.load_%d" % (n % 997, n % 16, n) for n in range(100_000)
]


def routed(listed, metrics, hash="carbon_ch", factor=1, diverse=False):
    """(carbon's version, where its router sends each metric, as host, port, instance)."""
    asked = {
        "destinations": [word.strip() for word in listed.split(",")],
        "hash": hash,
        "factor": factor,
        "diverse": diverse,
        "metrics": [metric.hex() for metric in metrics],
    }
    version, found = json.loads(
        rings.output([PYTHON, "-c", ROUTER], json.dumps(asked).encode())
    )
    names = {
        (host, port, instance): name
        for host, port, instance, name in carbon.parse(listed)
    }
    return "carbon " + version, [[names[tuple(to)] for to in tos] for tos in found]


@needs_carbon
@pytest.mark.parametrize("hash", ["carbon_ch", "fnv1a_ch"])
@pytest.mark.parametrize(
    ("listed", "factor", "diverse"),
    [(SERVERS, 1, False), (MANY, 3, False), (MANY, 3, True)],
    ids=["one", "three", "diverse"],
)
def test_every_metric_goes_where_carbon_sends_it(
    draw, record_property, hash, listed, factor, diverse
):
    version, lists = routed(listed, KEYS, hash, factor, diverse)
    ring = draw(
        "carbon",
        listed,
        hash=hash,
        replication_factor=factor,
        diverse_replicas=str(diverse).lower(),
    )
    rings.agreed(record_property, ring, KEYS, [nodes[0] for nodes in lists], version)
    assert rings.disagreements(ring.locate_all(KEYS), lists) == 0
    # controls: another order of the list, other collisions, another name
    turned = ", ".join(reversed(listed.split(", ")))
    for other in (
        {"listed": turned},
        {"collisions": "none"},
        {"listed": listed.replace("10.0.0.2", "10.9.0.2").replace(":a1,", ":z1,")},
    ):
        servers = other.pop("listed", listed)
        if other and ("'" in servers or "[" in servers):
            # carbon-c-relay does not quote as Python does, so its list has another form
            continue
        wrong = draw(
            "carbon",
            servers,
            hash=hash,
            replication_factor=factor,
            diverse_replicas=str(diverse).lower(),
            **other,
        )
        assert rings.disagreements(wrong.locate_all(KEYS), lists) > 0, other


@needs_carbon
def test_a_ring_with_more_points_than_positions_is_carbons(draw, record_property):
    # points pass position 65535, and walks for copies find them there
    listed = ", ".join(f"h{n}:2004" for n in range(660))
    metrics = METRICS[:20]
    ring = draw("carbon", listed, replication_factor=3)
    keys = metrics + KEYS[:300]
    # carbon needs time in the square of the points for such a ring, so the answers are
    # the reference's, which is compared with carbon above
    rows = carbon.parse(listed)
    lists = [carbon.place(key, rows, {"replication_factor": 3}) for key in keys]
    assert rings.disagreements(ring.locate_all(keys), lists) == 0
    assert max(carbon.ring(rows, False, True))[0] > 65535


def relayed(tmp_path, listed, metrics, hash="carbon_ch", factor=1):
    """Where carbon-c-relay would send each metric: destinations as they are listed.
    With `-t` it prints routes and sends nothing.
    """
    conf = tmp_path / "relay.conf"
    conf.write_text(
        f"cluster all {hash} replication {factor} {listed} ; match * send to all stop ;"
    )
    text = rings.output(
        ["carbon-c-relay", "-t", "-f", str(conf)],
        b"".join(metric + b"\n" for metric in metrics),
    ).decode()
    # "match", "* -> METRIC", the cluster, a line for each destination without its
    # instance, "stop"
    names = {word.partition("=")[0]: word for word in listed.split()}
    routes = re.findall(
        rf"^match\n +\* -> (.*)\n +{hash}\(all\)\n((?: +\S+:\d+\n)+) +stop$",
        text,
        flags=re.MULTILINE,
    )
    assert [metric.encode() for metric, _ in routes] == metrics
    return [[names[word] for word in found.split()] for _, found in routes]


@needs_relay
@pytest.mark.parametrize("hash", ["carbon_ch", "fnv1a_ch"])
@pytest.mark.parametrize("factor", [1, 2])
def test_every_metric_goes_where_carbon_c_relay_sends_it(
    draw, record_property, tmp_path, hash, factor
):
    listed = " ".join(
        f"10.0.{n % 5}.{n % 7}:2{n:03}" + (f"=i{n}" if n % 3 else "") for n in range(24)
    )
    said = rings.subprocess.run(
        ["carbon-c-relay", "-v"],
        capture_output=True,
        timeout=rings.PATIENCE,
        check=False,
    )
    version = (said.stdout + said.stderr).decode().splitlines()[0]
    lists = relayed(tmp_path, listed, METRICS, hash, factor)
    assert {len(nodes) for nodes in lists} == {factor}
    ring = draw(
        "carbon", listed, hash=hash, collisions="none", replication_factor=factor
    )
    rings.agreed(record_property, ring, METRICS, [nodes[0] for nodes in lists], version)
    assert rings.disagreements(ring.locate_all(METRICS), lists) == 0
    wrong = draw(
        "carbon",
        listed.replace("=", ":").replace(" ", ", "),
        hash=hash,
        replication_factor=factor,
    )
    assert (
        rings.disagreements(
            wrong.locate(METRICS), [nodes[0].replace("=", ":") for nodes in lists]
        )
        > 100
    )


def test_every_example_is_as_the_reference_has_it(draw, record_property):
    for _, listed, choices in carbon.EXAMPLES:
        ring, rows = draw("carbon", listed, **choices), carbon.parse(listed)
        lists = [carbon.place(key, rows, choices) for key in KEYS]
        rings.agreed(
            record_property, ring, KEYS, [nodes[0] for nodes in lists], "the reference"
        )
        assert rings.disagreements(ring.locate_all(KEYS), lists) == 0


def test_a_position_is_not_split_when_the_ring_grows(draw, record_property):
    rings.grown_well(draw("carbon", SERVERS), "10.0.0.9:2004:z", 2**16)
    rings.grown_well(
        draw(
            "carbon",
            MANY,
            replication_factor=2,
            hash="fnv1a_ch",
            diverse_replicas="false",
        ),
        "10.9.0.9:2004:z",
        2**16,
    )
    hundred = ", ".join(f"10.0.0.{n}:2004:i{n}" for n in range(100))
    rings.measured(record_property, draw("carbon", hundred))

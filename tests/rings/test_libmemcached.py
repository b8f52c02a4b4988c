"""libmemcached's rings, against libmemcached itself, through a C program and through
php-memcached.
"""

import json
import shutil

import pytest
import rings

HERE = rings.ROOT / "tests" / "rings"
HOSTS = [f"10.0.1.{i}" for i in range(1, 11)]
EQUAL = [(host, 11211, 1) for host in HOSTS]
UNEVEN = [
    (host, 11211 + i % 2, weight)
    for i, (host, weight) in enumerate(
        zip(HOSTS, [600, 300, 200, 350, 1000, 800, 950, 100, 1, 64])
    )
]
# where single precision takes a digest from each of equal servers, and one more
TRAPS = {
    n: [(f"cache{i}.example.com", 11211, 1) for i in range(n)] for n in (25, 61, 100)
}

HASHES = ["one_at_a_time", "md5", "crc", "fnv1_64", "fnv1a_64", "fnv1_32", "fnv1a_32"]


def text(servers):
    return "\n".join(f"{host}:{port}:{weight}" for host, port, weight in servers)


def named(servers):
    return [f"{host}:{port}" for host, port, _ in servers]


@pytest.fixture(scope="session")
def where(tmp_path_factory):
    """libmemcached's own answer: where(servers, keys, mode=..., hash=...,
    namespace=...); where.about is its version.
    """
    source, program = (
        HERE / "memcached_where.c",
        tmp_path_factory.mktemp("where") / "memcached-where",
    )
    probe = program.with_suffix(".c")
    probe.write_text(
        "#include <libmemcached/memcached.h>\nint main(void) { return !memcached_lib_version(); }\n"
    )
    if not shutil.which("cc") or not rings.works(
        "cc", "-o", program, probe, "-lmemcached"
    ):
        pytest.skip("libmemcached's headers (libmemcached-dev) are not installed")
    rings.output(
        ["cc", "-O1", "-Wall", "-Werror", "-o", program, source, "-lmemcached"]
    )

    def ask(servers, keys, mode="weighted", hash="of-mode", namespace="-", **_):
        lines = b"".join(b"%d\n%b" % (len(key), key) for key in keys)
        said = rings.output(
            [
                program,
                mode,
                hash,
                namespace,
                *[f"{host}:{port}:{weight}" for host, port, weight in servers],
            ],
            lines,
        )
        names = named(servers)
        return [names[int(index)] for index in said.split()]

    ask.about = "libmemcached " + rings.output([program, "--version"]).decode().strip()
    return ask


@pytest.mark.parametrize(
    "mode", ["weighted", "consistent", "spy", "spy-consistent", "modula"]
)
@pytest.mark.parametrize("servers", [EQUAL, UNEVEN], ids=["equal", "uneven"])
def test_each_mode(mode, servers, where, draw, record_property):
    ring = draw("libmemcached", text(servers), mode=mode)
    keys = rings.sample()
    rings.agreed(record_property, ring, keys, where(servers, keys, mode), where.about)
    if servers is UNEVEN and mode == "weighted":
        rings.grown_well(ring, {"name": "new", "weight": 500}, 2**32)


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize("mode", ["weighted", "consistent", "modula"])
def test_each_hash(mode, name, where, draw, record_property):
    ring = draw("libmemcached", text(EQUAL), mode=mode, hash=name)
    keys = rings.sample(20_000)
    rings.agreed(
        record_property, ring, keys, where(EQUAL, keys, mode, name), where.about
    )


@pytest.mark.parametrize("count", TRAPS)
def test_single_precision(count, where, draw, record_property):
    ring = draw("libmemcached", text(TRAPS[count]))
    keys = rings.sample(20_000)
    rings.agreed(record_property, ring, keys, where(TRAPS[count], keys), where.about)
    if count == 100:
        rings.measured(record_property, ring)


def test_a_namespace_that_is_hashed(where, draw, record_property):
    ring = draw("libmemcached", text(EQUAL), namespace="site:")
    # libmemcached takes no more than 250 bytes together, and copies the key with
    # strncpy, which stops at a NUL
    keys = [key for key in rings.sample(20_000) if len(key) <= 240 and b"\0" not in key]
    rings.agreed(
        record_property, ring, keys, where(EQUAL, keys, namespace="site:"), where.about
    )


def test_the_controls_are_caught(where, draw):
    keys = rings.sample(20_000)
    theirs = where(EQUAL, keys, "consistent")
    for servers, choices in [
        (EQUAL, {"mode": "weighted"}),
        (EQUAL, {"mode": "spy-consistent"}),
        (EQUAL, {"mode": "consistent", "char": "unsigned"}),
        (EQUAL, {"mode": "consistent", "hash": "md5"}),
        ([("10.0.1.1", 11213, 1), *EQUAL[1:]], {"mode": "consistent"}),
    ]:
        ours = draw("libmemcached", text(servers), **choices).locate(keys)
        assert rings.disagreements(ours, theirs) > 500, choices
    # with exact arithmetic 25 equal servers would have 160 points each, as in
    # uhashring, which differs in its bisect only
    trap = TRAPS[25]
    exact = draw(
        "uhashring", "\n".join(host for host, _, _ in trap), hash="ketama"
    ).locate(keys)
    assert (
        rings.disagreements([f"{host}:11211" for host in exact], where(trap, keys))
        > 100
    )


def test_modula_grows_in_parts(draw, record_property):
    ring = draw("libmemcached", text(EQUAL), mode="modula")
    report = rings.grown_well(ring, "new", 1000)
    record_property(
        "libmemcached modula, 10 servers and one more",
        f"moved {float(report['moved']['fraction']):.4%}",
    )


PHP = {
    "weighted": ([("OPT_LIBKETAMA_COMPATIBLE", True)], {}),
    "consistent": (
        [("OPT_DISTRIBUTION", "DISTRIBUTION_CONSISTENT")],
        {"mode": "consistent"},
    ),
    "consistent md5": (
        [("OPT_DISTRIBUTION", "DISTRIBUTION_CONSISTENT"), ("OPT_HASH", "HASH_MD5")],
        {"mode": "consistent", "hash": "md5"},
    ),
    "nothing set": ([], {"mode": "modula"}),
    "crc": ([("OPT_HASH", "HASH_CRC")], {"mode": "modula", "hash": "crc"}),
}


@pytest.mark.parametrize("servers", [EQUAL, UNEVEN], ids=["equal", "uneven"])
@pytest.mark.parametrize("options", PHP)
def test_php_memcached(options, servers, draw, record_property):
    if not rings.works("php", "-r", "exit((int) !extension_loaded('memcached'));"):
        pytest.skip("php-memcached is not installed")
    version = rings.output(["php", "-r", "echo phpversion('memcached');"]).decode()
    settings, choices = PHP[options]
    ring = draw(
        "libmemcached",
        "[\n"
        + "".join(
            f"    ['{host}', {port}, {weight}],\n" for host, port, weight in servers
        )
        + "]",
        **choices,
    )
    # getServerByKey takes neither an empty key nor one above 250 bytes
    keys = [
        key
        for key in rings.sample(binary=False, empty=False, longest=250)
        if b"\t" not in key and b" " not in key
    ]
    task = {
        "options": settings,
        "servers": servers,
        "keys": [key.hex() for key in keys],
    }
    theirs = (
        rings.output(["php", HERE / "memcached_where.php"], json.dumps(task).encode())
        .decode()
        .split("\n")[:-1]
    )
    rings.agreed(
        record_property, ring, keys, theirs, f"php-memcached {version} ({options})"
    )

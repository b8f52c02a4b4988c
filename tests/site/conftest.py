"""Hooks that the tests of the site in a box share."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from summary import pytest_terminal_summary  # noqa: F401  pytest calls it

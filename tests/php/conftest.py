"""Fixtures and hooks that the tests of PHP under php-fpm share."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# the judge, the load and the publisher are those of Python's web tests; the reference
# implementation reads the maps
sys.path[:0] = [str(TESTS), str(TESTS / "web"), str(TESTS / "reference")]

from summary import pytest_terminal_summary  # noqa: F401  pytest calls it


@pytest.fixture
def place():
    """A directory that the user of the workers may enter; pytest's own directory may
    not be one. Workers create files only in `own`.
    """
    path = Path(tempfile.mkdtemp(prefix="stead-fpm-"))
    path.chmod(0o755)
    (path / "own").mkdir()
    (path / "own").chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)

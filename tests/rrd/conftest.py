"""Fixtures that the tests of the RRD router share."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import built
import places
from rrd_copies import dumped
from rrd_servers import Cluster
from summary import pytest_terminal_summary  # noqa: F401  pytest calls it


@pytest.fixture(scope="session")
def programs():
    """Returns the programs by name, as built from this source."""
    for name in ("rrdcached", "rrdtool"):
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    return built.programs()


@pytest.fixture
def place():
    """Makes a directory with a short name: the path of a unix socket has at most 107
    bytes.
    """
    path = Path(tempfile.mkdtemp(prefix="stead-rrd-", dir=places.short()))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def cluster(programs, place):
    """Starts four rrdcached in two zones behind a router, and one rrdcached beside
    them.
    """
    with Cluster(programs, place) as made:
        yield made


@pytest.fixture
def quiet(programs, place):
    """Starts the same, but only clients cause a flush. So the same values wait in all
    of them. And clients may ask everything.
    """
    with Cluster(programs, place, quiet=True) as made:
        yield made


@pytest.fixture
def dump():
    """Dumps files, with one rrdtool process."""
    return dumped

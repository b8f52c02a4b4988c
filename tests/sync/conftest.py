"""Fixtures that the tests of stead-sync share."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import built
import places
from summary import pytest_terminal_summary  # noqa: F401  pytest calls it
from sync_servers import Etcd
from sync_site import Site


@pytest.fixture(scope="session")
def programs():
    """Returns the programs by name, as built from this source, or those of the
    directory in STEAD_PROGRAMS.
    """
    given = os.environ.get("STEAD_PROGRAMS")
    if given:
        return {name: f"{given}/{name}" for name in ("stead", "stead-sync")}
    return built.programs()


@pytest.fixture
def place():
    """Makes a directory."""
    path = Path(tempfile.mkdtemp(prefix="stead-sync-", dir=places.short()))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster():
    """Starts one etcd for all tests that do not harm it; each test has its own keys."""
    if not shutil.which("etcd"):
        pytest.skip("etcd is not installed")
    directory = Path(tempfile.mkdtemp(prefix="stead-etcd-", dir=places.short()))
    with Etcd(directory) as made:
        yield made
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(params=["etcd", "directory"])
def site(request, programs, place):
    """Makes a site with each kind of hub that takes maps."""
    if request.param == "etcd":
        cluster = request.getfixturevalue("cluster")
        url = cluster.url(f"test{place.name[-8:]}")
    else:
        cluster = None
        (place / "shared").mkdir()
        url = f"file://{place}/shared/members.map"
    with Site(programs, place, url, cluster) as made:
        yield made


@pytest.fixture
def etcd_site(programs, place, cluster):
    """Makes a site with a hub in etcd."""
    with Site(programs, place, cluster.url(f"test{place.name[-8:]}"), cluster) as made:
        yield made

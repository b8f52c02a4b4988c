"""Fixtures and hooks that the tests of web applications share."""

import shutil
import sys

import pytest
from web_manage import manage
from web_server import EXAMPLES, ROOT

# for the reference, which reads the maps, for tests/built.py, which builds the program,
# and for the WSGI example
sys.path[:0] = [
    str(ROOT / "tests"),
    str(ROOT / "tests" / "reference"),
    str(EXAMPLES / "wsgi"),
]

from summary import pytest_terminal_summary  # noqa: F401  pytest calls it

MIGRATE = """
from django.conf import settings
from django.core.management import call_command
for database in settings.DATABASES:
    call_command("migrate", database=database, verbosity=0)
"""


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """The databases of the Django example, created once."""
    directory = tmp_path_factory.mktemp("migrated")
    manage(directory, "shell", "-c", MIGRATE)
    return directory


@pytest.fixture
def databases(migrated, tmp_path):
    """A copy of the databases for one test."""
    return shutil.copytree(migrated, tmp_path, dirs_exist_ok=True)

"""What the tests of web use share."""

import os
import subprocess
import sys

import pytest
from web_server import EXAMPLES, ROOT

# the reference reads the maps, the runners know how to build the program, and the WSGI example
sys.path[:0] = [str(ROOT / "tests" / "runners"), str(ROOT / "tests" / "reference"), str(EXAMPLES / "wsgi")]


def manage(scratch, *command, wait=True):
    """`manage.py` of the Django example, on the data of this directory."""
    environment = dict(os.environ, MEMBERS_DATA=str(scratch), DJANGO_SETTINGS_MODULE="shards.settings", PYTHONDONTWRITEBYTECODE="1")
    call = [sys.executable, str(EXAMPLES / "django" / "manage.py"), *map(str, command)]
    if not wait:
        return subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL)
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


MIGRATE = """
from django.conf import settings
from django.core.management import call_command
for database in settings.DATABASES:
    call_command("migrate", database=database, verbosity=0)
"""


@pytest.fixture
def databases(tmp_path):
    """The Django example's databases, migrated, in a directory of their own."""
    manage(tmp_path, "shell", "-c", MIGRATE)
    return tmp_path


def pytest_terminal_summary(terminalreporter):
    """Each skip with its reason, as scripts/suites.py reads it; and what the tests counted."""
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}")
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.head_line}: {name} {value}")



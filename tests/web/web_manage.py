"""The Django example's `manage.py`, for a test."""

import os
import subprocess
import sys

from web_server import EXAMPLES


def manage(scratch, *command, wait=True):
    """Runs `manage.py` of the Django example, on the data of this directory."""
    environment = dict(
        os.environ,
        MEMBERS_DATA=str(scratch),
        DJANGO_SETTINGS_MODULE="shards.settings",
        PYTHONDONTWRITEBYTECODE="1",
    )
    call = [sys.executable, str(EXAMPLES / "django" / "manage.py"), *map(str, command)]
    if not wait:
        return subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        call, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

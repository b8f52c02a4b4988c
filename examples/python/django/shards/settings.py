"""Settings: a database for each shard, named as its node is in the map."""

import os
from pathlib import Path

DATA = Path(
    os.environ.get("MEMBERS_DATA", Path(__file__).resolve().parent.parent / "data")
)

# The map, and the one before it while rows are being moved (members/places.py)
STEAD_MAP = DATA / "members.map"
STEAD_MAP_BEFORE = DATA / "members.map.before"

# First, so that views and all other middleware are inside
MIDDLEWARE = [
    "stead.django.one_map_per_request",
    "django.middleware.common.CommonMiddleware",
]


def database(name):
    """A shard; in earnest a server of its own. IMMEDIATE makes SQLite lock at a
    transaction's begin, as the moving of rows needs it.
    """
    options = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
    }
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA / f"{name}.sqlite3",
        "OPTIONS": options,
    }


# A new shard is added here, and migrated, before it is added to the fleet. `default`
# has what is not sharded.
DATABASES = {
    name: database(name)
    for name in ("default", "db1", "db2", "db3", "db4", "db5", "db6")
}
DATABASE_ROUTERS = ["members.router.Router"]

INSTALLED_APPS = ["django.contrib.contenttypes", "members"]
ROOT_URLCONF = "shards.urls"
WSGI_APPLICATION = "shards.wsgi.application"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
SECRET_KEY = os.environ.get("MEMBERS_SECRET_KEY", "nothing here is signed")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

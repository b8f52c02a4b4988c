"""Settings: a database for each shard, with the name of its node in the map."""

import os
from pathlib import Path

DATA = Path(
    os.environ.get("MEMBERS_DATA", Path(__file__).resolve().parent.parent / "data")
)

# The map and, while rows are being moved, the old map (members/places.py)
STEAD_MAP = DATA / "members.map"
STEAD_MAP_BEFORE = DATA / "members.map.before"

# First in the list, so that it encloses the views and all other middleware
MIDDLEWARE = [
    "stead.django.one_map_per_request",
    "django.middleware.common.CommonMiddleware",
]


def database(name):
    """A shard; in production it would be a separate server. IMMEDIATE makes SQLite lock
    at the start of a transaction, as the moving of rows requires.
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


# Add a new shard here, and migrate it, before you add it to the fleet. `default` has
# the tables that are not sharded.
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

"""A router that places rows by their key. To be copied: it knows nothing of this
project but the name of the app and of the database that has the rest.

Django tells a router the model and, at times, an instance; never the key that a query
asks for. So:

* with an instance (`member.save()`, `.delete()`, `.refresh_from_db()`, related objects)
  the key is there, in the field that its model names as `shard_key`, and the map gives
  the database;
* without one (`Member.objects.filter(...)`) nobody knows the database. The router then
  refuses. A guess would find nothing in the wrong shard, and look like an empty answer.
  Say the key: `Member.objects.for_key(name)`, which is
  `Member.objects.using(shard(name))`, and Django does not ask the router.
"""

from stead.django import shard

SHARDED_APP = "members"
REST = "default"


class NoKey(LookupError):
    """A query of a sharded model does not say which key it is about."""


class Router:
    """What settings.DATABASE_ROUTERS names."""

    def db_for_read(self, model, **hints):
        """The database of the hint's key; the rest lives in one database."""
        if model._meta.app_label != SHARDED_APP:
            return REST
        instance = hints.get("instance")
        field = getattr(instance, "shard_key", None)
        if field is None:
            name = model.__name__
            raise NoKey(
                f"{name} is sharded, and this query names no key: use "
                f"{name}.objects.for_key(key), or .using(database)"
            )
        return shard(getattr(instance, field))

    db_for_write = db_for_read

    def allow_relation(self, one, other, **hints):
        """Foreign keys hold inside of a database only."""
        return one._state.db == other._state.db

    def allow_migrate(self, db, app_label, **hints):
        """Shards have the tables of the sharded app, whether the map knows them yet or
        not; the other database has the rest.
        """
        return (app_label == SHARDED_APP) == (db != REST)

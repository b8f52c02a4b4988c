"""A router that chooses databases by the key of a row. You can copy it: the only things
it knows about this project are the name of the app and the name of the database for the
other tables.

Django tells a router the model and sometimes an instance, but never the key that a
query looks for. So:

* with an instance (`member.save()`, `.delete()`, `.refresh_from_db()`, related objects)
  the router finds the key in the field that the model names as `shard_key`, and the map
  gives the database;
* without one (`Member.objects.filter(...)`) the database is unknown, and the router
  refuses the query. A guess would find nothing in a wrong shard, which looks like an
  empty answer. Name the key: `Member.objects.for_key(name)`, which is
  `Member.objects.using(shard(name))`, for which Django does not ask the router.
"""

from stead.django import shard

SHARDED_APP = "members"
REST = "default"


class NoKey(LookupError):
    """A query of a sharded model does not name its key."""


class Router:
    """The router that settings.DATABASE_ROUTERS names."""

    def db_for_read(self, model, **hints):
        """The database for the key of the instance; other models live in one
        database.
        """
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
        """Foreign keys work only within one database."""
        return one._state.db == other._state.db

    def allow_migrate(self, db, app_label, **hints):
        """Shards have the tables of the sharded app, even before the map contains them;
        the other database has all other tables.
        """
        return (app_label == SHARDED_APP) == (db != REST)

"""A sharded model."""

from django.db import models
from stead.django import shard

from .places import places


class Members(models.Manager):
    """Queries that say their key."""

    def for_key(self, name):
        """The rows of the database where this key is written:
        `.for_key(name).filter(name=name)`, `.create(name=name)`.
        """
        return self.using(shard(name))

    def find(self, name):
        """The member, also while rows are moving; DoesNotExist when there is none."""
        for place in places(name):
            found = self.using(place).filter(name=name).first()
            if found:
                return found
        raise self.model.DoesNotExist(f"there is no member {name!r}")

    def remove(self, name):
        """Deletes the member wherever it is: in the old place first, or it would be
        moved after it was deleted in the new one.
        """
        for place in reversed(list(dict.fromkeys(places(name)))):
            self.using(place).filter(name=name).delete()


class Member(models.Model):
    """A member; `name` decides where the row lives, so it is no automatic number, and
    does not change.
    """

    shard_key = "name"  # for the router

    name = models.CharField(max_length=100, primary_key=True)
    visits = models.PositiveIntegerField(default=0)

    objects = Members()

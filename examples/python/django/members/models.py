"""A sharded model."""

from django.db import models
from stead.django import shard

from .places import places


class Members(models.Manager):
    """Queries that name their key."""

    def for_key(self, name):
        """The rows of the database to which this key is written:
        `.for_key(name).filter(name=name)`, `.create(name=name)`.
        """
        return self.using(shard(name))

    def find(self, name):
        """Returns the member, also while rows are moving. Raises DoesNotExist if there
        is none.
        """
        for place in places(name):
            found = self.using(place).filter(name=name).first()
            if found:
                return found
        raise self.model.DoesNotExist(f"there is no member {name!r}")

    def remove(self, name):
        """Deletes the member in all its places. The old place comes first, since
        otherwise the row could be moved to the new place after it was deleted there.
        """
        for place in reversed(list(dict.fromkeys(places(name)))):
            self.using(place).filter(name=name).delete()


class Member(models.Model):
    """A member. `name` decides where the row lives, so the primary key is not an
    automatic number, and the name never changes.
    """

    shard_key = "name"  # read by the router

    name = models.CharField(max_length=100, primary_key=True)
    visits = models.PositiveIntegerField(default=0)

    objects = Members()

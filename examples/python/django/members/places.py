"""Where a row may be while rows are moving.

`stead_plan --move` first keeps the current map as settings.STEAD_MAP_BEFORE, then
publishes the new one, then moves the rows. Meanwhile all requests write to the new
place, and a row that is not there yet is still in the old one. When all rows are where
the new map says, the old map is removed.
"""

import stead
from django.conf import settings
from stead.django import shard


def places(key):
    """Yields the databases in which to look, one after the other, until the row is
    found.

    The new place comes first. If the row is there, that is the only cost: the others
    are needed only after a miss. The new place also comes last, because the row may
    have been moved there from the old place after the first look.
    """
    new = shard(key)
    yield new
    try:
        old = shard(key, settings.STEAD_MAP_BEFORE)
    except stead.NotFoundError:
        return  # nothing is moving
    if old != new:
        yield old
        yield new

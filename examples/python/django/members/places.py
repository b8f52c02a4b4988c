"""Where a row may be while rows are moving.

`stead_plan --move` first keeps the map in use as settings.STEAD_MAP_BEFORE, then
publishes the new one, then moves the rows. Meanwhile everybody writes to the new place,
and a row that is not there yet is still in the old one. When the rows are where the new
map says, the map before is removed.
"""

import stead
from django.conf import settings
from stead.django import shard


def places(key):
    """The databases to look into, one after the other, until the row is found.

    The new place comes first, and costs all that there is to pay when the row is there:
    later ones are only asked for after a miss. It comes last, too, since the row may
    have left the old place for it after we looked.
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

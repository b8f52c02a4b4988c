"""For Django: one map for the whole of a request, and the database that a key lives in.

In settings::

    STEAD_MAP = "/etc/shards/members.map"
    MIDDLEWARE = ["stead.django.one_map_per_request", ...]

and in the code::

    Member.objects.using(shard(name)).get(name=name)

A request opens the map when it first asks, which costs one `stat`, and keeps it to its
end: two lookups never come from two epochs. The next request sees the newest epoch. The
nodes of the map are named as the databases in `DATABASES` are.

Only this module of stead needs Django; it is tested with 5.2.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator
from typing import Any, Callable, Union

from asgiref.sync import iscoroutinefunction
from django.conf import settings  # type: ignore[import-not-found,import-untyped,unused-ignore]

from . import Map

__all__ = ["current_map", "one_map", "one_map_per_request", "shard"]

AnyPath = Union[str, "os.PathLike[str]"]

# The maps of this request, by path. The request's tasks and threads have copies of the
# context, so they share the dict.
_maps: contextvars.ContextVar[dict[str, Map] | None] = contextvars.ContextVar(
    "stead_maps", default=None
)


@contextlib.contextmanager
def one_map() -> Iterator[None]:
    """Keeps the maps that are opened inside to its end, as a request does: for tasks of
    a queue and for management commands.

    Inside another one it changes nothing.
    """
    if _maps.get() is not None:
        yield
        return
    token = _maps.set({})
    try:
        yield
    finally:
        _maps.reset(token)


def one_map_per_request(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The middleware: what a request asks is answered by one map. Put it before all
    that asks.

    It ends where the response begins: what a StreamingHttpResponse computes later sees
    a map of its own each time.
    """
    if iscoroutinefunction(get_response):

        async def in_one_map_async(request: Any) -> Any:
            with one_map():
                return await get_response(request)

        return in_one_map_async

    def in_one_map(request: Any) -> Any:
        with one_map():
            return get_response(request)

    return in_one_map


# as Django's sync_and_async_middleware does, which has no types, and would take them
# from the function
for _capable in ("sync_capable", "async_capable"):
    setattr(one_map_per_request, _capable, True)


def current_map(path: AnyPath | None = None) -> Map:
    """The map of this request; outside of a request, the newest. `path` is for those
    who have more maps than `settings.STEAD_MAP`.

    Raises what `Map.open` raises.
    """
    name = os.fspath(settings.STEAD_MAP if path is None else path)
    maps = _maps.get()
    if maps is None:
        return Map.open(name)
    known = maps.get(name)
    # of two threads that open at once both get the one that was kept
    return known if known is not None else maps.setdefault(name, Map.open(name))


def shard(key: str | bytes, path: AnyPath | None = None) -> str:
    """The alias of the database that a key lives in:
    `Member.objects.using(shard(name))`.
    """
    return current_map(path).locate(key)

"""For Django: one map for a whole request, and the database that a key lives in.

In settings::

    STEAD_MAP = "/etc/shards/members.map"
    MIDDLEWARE = ["stead.django.one_map_per_request", ...]

and in the code::

    Member.objects.using(shard(name)).get(name=name)

A request opens the map when it first needs it, which costs one `stat`, and keeps it
until the request ends, so two lookups never use two epochs. The next request sees the
newest epoch. The nodes of the map have the names of the databases in `DATABASES`.

Only this module of stead needs Django; it is tested with 5.2.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator
from typing import Any, Callable, Union

try:
    from asgiref.sync import iscoroutinefunction
    from django.conf import settings  # type: ignore[import-not-found,import-untyped,unused-ignore]
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] not in ("asgiref", "django"):
        raise
    raise ModuleNotFoundError(
        "stead.django needs Django, which is not installed: pip install django",
        name="django",
    ) from None

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
    """A context manager for tasks of a queue and for management commands. It keeps each
    map that `current_map` opens in the block until the block ends, as a request does.

    Within another `one_map` it has no effect.
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
    """The middleware that makes all lookups of a request use one map. Put it before all
    middleware that locates keys.

    The map is shared until the response begins: code that a StreamingHttpResponse runs
    later opens the map again for each lookup.
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


# as Django's sync_and_async_middleware does; that decorator is untyped, so the function
# would lose its types
for _capable in ("sync_capable", "async_capable"):
    setattr(one_map_per_request, _capable, True)


def current_map(path: AnyPath | None = None) -> Map:
    """Returns the map of this request; outside of a request, the newest map. `path` is the
    file to use instead of `settings.STEAD_MAP`.

    Raises the same exceptions as `Map.open`.
    """
    name = os.fspath(settings.STEAD_MAP if path is None else path)
    maps = _maps.get()
    if maps is None:
        return Map.open(name)
    known = maps.get(name)
    # if two threads open it at the same time, both get the map that was stored first
    return known if known is not None else maps.setdefault(name, Map.open(name))


def shard(key: str | bytes, path: AnyPath | None = None) -> str:
    """Returns the alias of the database that a key lives in:
    `Member.objects.using(shard(name))`.
    """
    return current_map(path).locate(key)

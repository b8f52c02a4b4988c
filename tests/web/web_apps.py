"""The applications under test, whose answers name the worker, and the controls, which
have deliberate mistakes.
"""

import json
import os
import time

import stead

MAP = os.environ["STEAD_MAP"]
# Seconds; shorter than an epoch, but long enough for a publisher to publish meanwhile
GAP = 0.01

if "OPEN_AT_IMPORT" in os.environ:
    # with --preload this runs before the fork
    BEFORE_FORK = stead.Map.open(MAP)


def with_worker(application):
    """Adds the process id of the worker to the answers of an application."""

    def wrapped(environ, start_response):
        def start(status, headers, *more):
            return start_response(
                status, [*headers, ("X-Worker", str(os.getpid()))], *more
            )

        return application(environ, start)

    return wrapped


@with_worker
def where(environ, start_response):
    """The example."""
    from where import application

    return application(environ, start_response)


never_again = []
hoard = []


@with_worker
def controls(environ, start_response):
    """/twice/ opens the map twice in a request, /never/ once in a process, /hoard/
    keeps every map.
    """
    _, kind, key = environ["PATH_INFO"].encode("latin-1").split(b"/", 2)
    members = again = stead.Map.open(MAP)
    if kind == b"twice":
        time.sleep(GAP)
        again = stead.Map.open(MAP)
    elif kind == b"never":
        never_again.append(members)
        members = again = never_again[0]
        del never_again[1:]
    elif kind == b"hoard" and members not in hoard:
        hoard.append(members)
    body = json.dumps(
        {"epoch": members.epoch, "node": again.locate(key), "again": again.epoch}
    ).encode()
    start_response(
        "200 OK",
        [("Content-Type", "application/json"), ("Content-Length", str(len(body)))],
    )
    return [body]


@with_worker
def flask(environ, start_response):
    """The example."""
    from where_flask import app

    return app(environ, start_response)


@with_worker
def django(environ, start_response):
    """The example, and /twice/ (web_urls.py)."""
    from shards.wsgi import application

    return application(environ, start_response)


async def fastapi(scope, receive, send):
    """The example under ASGI."""
    from where_asgi import app

    async def with_worker(message):
        if message["type"] == "http.response.start":
            message["headers"].append((b"x-worker", str(os.getpid()).encode()))
        await send(message)

    await app(scope, receive, with_worker if scope["type"] == "http" else send)

"""Where does this member live? A WSGI application: GET /where/KEY answers {"epoch": 3,
"key": "frank", "node": "db1", "address": "10.0.0.1:3306"}.

Each request opens the map. That costs one `stat`: the process keeps the map open, and
opens the file again only after a new epoch was published. So no worker has to be
signalled, restarted or reloaded. Open the map once per request and use it for the whole
request: a second open in the same request may return the next epoch.
"""

import functools
import json
import os

import stead

MAP = os.environ.get("STEAD_MAP", "members.map")


@functools.lru_cache(maxsize=1)
def addresses(members):
    """Returns the addresses of a map's nodes. They are computed again when the epoch
    changes, because maps are equal only if their digests are.
    """
    return {node.name: node.attributes.get("address") for node in members.nodes}


def application(environ, start_response):
    """The application: `gunicorn where:application`."""
    # WSGI passes the path decoded as latin-1; a key is the original bytes
    path = environ["PATH_INFO"].encode("latin-1")
    if not path.startswith(b"/where/"):
        return answer(start_response, "404 Not Found", {"error": "ask for /where/KEY"})
    key = path.removeprefix(b"/where/")
    try:
        members = stead.Map.open(MAP)
    except stead.Error as error:
        return answer(start_response, "503 Service Unavailable", {"error": str(error)})
    node = members.locate(key)
    found = {
        "epoch": members.epoch,
        "key": key.decode("utf-8", "replace"),
        "node": node,
        "address": addresses(members)[node],
    }
    return answer(start_response, "200 OK", found)


def answer(start_response, status, found):
    """Returns an answer in JSON."""
    body = json.dumps(found).encode()
    start_response(
        status,
        [("Content-Type", "application/json"), ("Content-Length", str(len(body)))],
    )
    return [body]

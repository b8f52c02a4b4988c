"""Where does this member live? A WSGI application: GET /where/KEY answers {"epoch": 3,
"key": "frank", "node": "db1", "address": "10.0.0.1:3306"}.

Each request opens the map. That costs one `stat`: the process keeps the map open, and
opens the file again only when somebody has published a new epoch. So nobody has to be
told, restarted or reloaded. Open it once and use that for the whole request; whoever
opens it again half-way may get the next epoch.
"""

import functools
import json
import os

import stead

MAP = os.environ.get("STEAD_MAP", "members.map")


@functools.lru_cache(maxsize=1)
def addresses(members):
    """The addresses of a map's nodes: made anew when the epoch changes, since maps are
    equal when their digests are.
    """
    return {node.name: node.attributes.get("address") for node in members.nodes}


def application(environ, start_response):
    """The application: `gunicorn where:application`."""
    # WSGI hands the path over as if its bytes were latin-1; a key is the bytes
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
    """An answer in JSON."""
    body = json.dumps(found).encode()
    start_response(
        status,
        [("Content-Type", "application/json"), ("Content-Length", str(len(body)))],
    )
    return [body]

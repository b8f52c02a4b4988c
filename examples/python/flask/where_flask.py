"""Where does this member live? A Flask application: GET /where?key=KEY answers
{"epoch": 3, "key": "frank", "node": "db1", "address": "10.0.0.1:3306"}.

Each request opens the map when it first needs it, and keeps it in `flask.g` until the
request ends. Opening costs one `stat`: the process keeps the map open, and opens the
file again only after a new epoch was published.

The key is a parameter and not a part of the path, because routes do not take every key:
not the empty one, and none with a newline.
"""

import os

import stead
from flask import Flask, g, request

MAP = os.environ.get("STEAD_MAP", "members.map")

app = Flask(__name__)


def current_map():
    """Returns the map of this request."""
    if "members" not in g:
        g.members = stead.Map.open(MAP)
    return g.members


@app.errorhandler(stead.Error)
def no_map(error):
    """There is no map, or it is damaged."""
    return {"error": str(error)}, 503


@app.get("/where")
def where():
    """The node of a key."""
    members, key = current_map(), request.args["key"]
    node = members.locate(key)
    return {
        "epoch": members.epoch,
        "key": key,
        "node": node,
        "address": members.attribute(node, "address"),
    }

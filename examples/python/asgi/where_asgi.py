"""Where does this member live? A FastAPI application: GET /where?key=KEY answers
{"epoch": 3, "key": "frank", "node": "db1", "address": "10.0.0.1:3306"}.

Each request opens the map, through a dependency, and every part of the request shares
that map. Opening costs one `stat`: the process keeps the map open, and opens the file
again only after a new epoch was published. It needs no thread pool, so the dependency
is `async`: FastAPI would run a plain function in another thread.

The key is a parameter and not a part of the path: a path's pattern drops a newline at
the end, and the key would be another one.
"""

import os
from typing import Annotated

import stead
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse

MAP = os.environ.get("STEAD_MAP", "members.map")

app = FastAPI()


async def one_map() -> stead.Map:
    """The map of a request; FastAPI calls this once in a request."""
    return stead.Map.open(MAP)


Members = Annotated[stead.Map, Depends(one_map)]


@app.exception_handler(stead.Error)
async def no_map(_: Request, error: stead.Error) -> JSONResponse:
    """There is no map, or it is damaged."""
    return JSONResponse({"error": str(error)}, 503)


@app.get("/where")
async def where(key: str, members: Members):
    """The node of a key."""
    node = members.locate(key)
    return {
        "epoch": members.epoch,
        "key": key,
        "node": node,
        "address": members.attribute(node, "address"),
    }

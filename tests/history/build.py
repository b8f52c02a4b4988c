"""build.py PREVIOUS FLEET SHAPE MAX_MOVE OUT: the next map of a fleet, from Python.

PREVIOUS is a map file, or - for none. FLEET is a fleet file. SHAPE says how it is given
to stead: file (its path), text (its content), or value (what the language's own reader
of JSON makes of it). MAX_MOVE is such as 5%, or - for none. The map is saved as OUT,
and its digest is printed in hex. Where the fleet changes nothing, OUT is the previous
map, as an application would publish nothing.
"""

import json
import pathlib
import sys

import stead

previous, fleet, shape, max_move, out = sys.argv[1:]
before = None if previous == "-" else stead.Map.open(previous)
path = pathlib.Path(fleet)
given = {
    "file": lambda: path,
    "text": path.read_text,
    "value": lambda: json.loads(path.read_text("utf-8")),
}[shape]()
step = None if max_move == "-" else max_move
if shape == "file" and hasattr(stead.Map, "build_file"):
    after = stead.Map.build_file(path, before, max_move=step)
else:
    after = stead.Map.build(given, before, max_move=step)
if before is not None and after.same(before):
    after = before
after.save(out)
print(after.digest.hex(), end="")

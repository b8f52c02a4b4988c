"""The script in the pages of `stead report` as a runner: makes a page of each map, opens
it in a headless Chromium, and puts the vectors through the functions of which the box of
the page has its answers.

A page locates keys of one map, and only of a map that it offers. PARTS of tests/run says
which vectors these are, and counts them. Here a vector of locate.json belongs to the
part when the page of its map has the data of the box.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from report import TESTS, report

# isort: split
import browser  # report says where they are
import built

# The answers to the vectors of one map: their points and nodes. Without a key the point
# is given. A key is given as it is typed, in hex digits; so is the secret.
PLACES = """
((vectors, secret) => vectors.map((v) => {
  const places = locating[0];
  const point = "key" in v
    ? places.point(Hashes.fromHex(v.key), v.fold === true, Hashes.fromHex(secret))
    : BigInt("0x" + v.point);
  const names = places.at(point).nodes.map((node) => places.nodes[node]);
  return [hexOf(point), names];
}))
"""
POINTS = """
((vectors) => vectors.map((v) =>
  hexOf(Hashes.point(v.hash, Hashes.fromHex(v.key), Hashes.fromHex(v.secret ?? "")))))
"""
# Where a map file has the secret of siphash, and the number of its hash.
SECRET, HASH = slice(144, 160), 128
SIPHASH = 4


def called(page, function, *arguments):
    """What a function of JavaScript returns in the page."""
    return page.value(f"{function}({', '.join(map(json.dumps, arguments))})")


def told(file, vectors, good):
    """Prints the first vectors that fail; returns how many pass."""
    for v in [v for v, passed in zip(vectors, good) if not passed][:4]:
        print(f"page: {file}: {json.dumps(v)[:400]}")
    return sum(good)


def run(program, files, scratch):
    """{file: passed}"""
    maps = defaultdict(list)
    for v in files["locate.json"]:
        maps[v["map"]].append(v)
    counts = {"points.json": 0, "locate.json": 0}
    with browser.Browser(1000, 800) as page:
        for name, vectors in maps.items():
            source = Path(TESTS, "maps", name + ".map")
            html = Path(scratch, name + ".html")
            command = [program, "report", source, "-o", html]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                continue  # a map with rules that this stead does not know
            page.load(html.as_uri())
            assert not page.complaints(), (name, page.complaints())
            if not counts["points.json"]:
                asked = files["points.json"]
                found = called(page, POINTS, asked)
                good = [a == v["point"] for v, a in zip(asked, found)]
                counts["points.json"] = told("points.json", asked, good)
            if not page.value("locating.length"):
                continue  # a map that the page does not offer
            data = source.read_bytes()
            secret = data[SECRET].hex() if data[HASH] == SIPHASH else ""
            found = called(page, PLACES, vectors, secret)
            good = [
                [v["point"], v["locate"], v["all"]] == [point, names[0], names]
                for v, (point, names) in zip(vectors, found)
            ]
            counts["locate.json"] += told("locate.json", vectors, good)
    return counts


if __name__ == "__main__":
    if not browser.find():
        sys.exit("page.py: there is no Chromium (Debian's chromium-headless-shell)")
    stead = os.environ.get("STEAD") or built.programs()["stead"]
    with tempfile.TemporaryDirectory() as made:
        report("page", lambda files: run(stead, files, made))

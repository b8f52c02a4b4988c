"""The script in the pages of `stead report` as a runner: makes a page of each map, opens
it in a headless Chromium, and puts the vectors through the functions of which the box of
the page has its answers.

A page locates keys only of a map that it offers. PARTS of tests/run says which vectors
these are, and counts them. Here a vector of locate.json or prefer.json belongs to the
part when the page of its map has the data of the box, and one of pairs.json when the
page of the change has a carry.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from report import TESTS, report

# isort: split
import browser  # report says where they are
import built

# The answers to the vectors of one map: their points and nodes. Without a key the point
# is given. A key is given as it is typed, in hex digits; so is the secret.
PLACES = """
((vectors, secret) => vectors.map((v) => {
  const places = locating[0].places;
  const point = "key" in v
    ? places.point(Hashes.fromHex(v.key), v.fold === true, Hashes.fromHex(secret))
    : BigInt("0x" + v.point);
  const names = places.at(point).nodes.map((node) => places.nodes[node]);
  return [hexOf(point), names];
}))
"""
# The names of the nodes that take over, and those of a carry in any state.
PREFERRED = """
((vectors, secret) => vectors.map((v) => {
  const places = locating[0].places;
  const point = places.point(Hashes.fromHex(v.key), false, Hashes.fromHex(secret));
  return places.prefer(point, v.n).map((node) => places.nodes[node]);
}))
"""
PAIRS = """
((vectors, secret) => vectors.map((v) => {
  const { pair, places } = locating[1];
  const point = "key" in v
    ? places.point(Hashes.fromHex(v.key), v.fold === true, Hashes.fromHex(secret))
    : BigInt("0x" + v.point);
  pair.state = v.state;
  return [pair.reads(point), pair.writes(point)].map((nodes) =>
    nodes.map((node) => pair.names[node]));
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


def opened(page, program, scratch, *maps):
    """Opens the page of maps; returns whether it locates keys."""
    html = Path(scratch, "-".join(maps) + ".html")
    sources = [Path(TESTS, "maps", name + ".map") for name in maps]
    command = [program, "report", *sources, "-o", html]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return False  # a map with rules that this stead does not know
    page.load(html.as_uri())
    assert not page.complaints(), (maps, page.complaints())
    return bool(page.value("locating.length"))


def secret_of(name):
    """The secret of a map, in hex digits; empty where its hash needs none."""
    data = Path(TESTS, "maps", name + ".map").read_bytes()
    return data[SECRET].hex() if data[HASH] == SIPHASH else ""


def of_each(vectors, *names):
    """{the maps of a vector: its vectors}"""
    found = defaultdict(list)
    for v in vectors:
        found[tuple(v[name] for name in names)].append(v)
    return found


def run(program, files, scratch):
    """{file: passed}"""
    located, preferred = (
        of_each(files[name], "map") for name in ("locate.json", "prefer.json")
    )
    counts = Counter()
    with browser.Browser(1000, 800) as page:
        for maps in located | preferred:
            if not opened(page, program, scratch, *maps):
                continue
            if not counts["points.json"]:
                asked = files["points.json"]
                found = called(page, POINTS, asked)
                good = [a == v["point"] for v, a in zip(asked, found)]
                counts["points.json"] = told("points.json", asked, good)
            secret, vectors = secret_of(*maps), located[maps]
            found = called(page, PLACES, vectors, secret)
            good = [
                [v["point"], v["locate"], v["all"]] == [point, names[0], names]
                for v, (point, names) in zip(vectors, found)
            ]
            counts["locate.json"] += told("locate.json", vectors, good)
            vectors = preferred[maps]
            found = called(page, PREFERRED, vectors, secret)
            good = [v["prefer"] == names for v, names in zip(vectors, found)]
            counts["prefer.json"] += told("prefer.json", vectors, good)
        for maps, vectors in of_each(files["pairs.json"], "old", "new").items():
            if not opened(page, program, scratch, *maps):
                continue
            if not page.value("locating[1].pair !== undefined"):
                continue  # no carry is open
            found = called(page, PAIRS, vectors, secret_of(maps[1]))
            good = [
                [v["reads"], v["writes"]] == both for v, both in zip(vectors, found)
            ]
            counts["pairs.json"] += told("pairs.json", vectors, good)
    return dict(counts)


if __name__ == "__main__":
    if not browser.find():
        sys.exit("page.py: there is no Chromium (Debian's chromium-headless-shell)")
    stead = os.environ.get("STEAD") or built.program()
    with tempfile.TemporaryDirectory() as made:
        report("page", lambda files: run(stead, files, made))

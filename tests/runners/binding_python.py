"""The Python module as a runner: puts every vector through `import stead`. tests/run
starts it with the interpreter of .venv.
"""

import array
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# builds the module first, as the other runners do; does nothing when nothing changed
subprocess.run(
    [sys.executable, Path(__file__).parents[2] / "scripts" / "python-module"],
    check=True,
)

import stead
from reference_runner import AMOUNTS, damage
from report import TESTS, report

MAPS = {}


def map_of(name):
    """A map of tests/maps, opened and then made again from its bytes."""
    if name not in MAPS:
        opened = stead.Map.open(os.path.join(TESTS, "maps", name + ".map"))
        MAPS[name] = stead.Map.from_bytes(opened.to_bytes())
        assert MAPS[name] == opened
    return MAPS[name]


def hashing(hash, secret):
    """A map with this hash, built by the module."""
    if (hash, secret) not in MAPS:
        MAPS[hash, secret] = stead.Map.build(
            {
                "name": "m",
                "hash": hash,
                "node": [{"name": "a"}],
                **({"secret": secret} if secret else {}),
            }
        )
    return MAPS[hash, secret]


def key_of(v):
    """The key's bytes; `bytes.lower` changes ASCII letters only."""
    key = bytes.fromhex(v["key"])
    return key.lower() if v.get("fold") else key


def spellings(key):
    """The key as bytes and, where it is UTF-8, as str."""
    try:
        return key, key.decode()
    except UnicodeDecodeError:
        return (key,)


def point(v):
    map = hashing(v["hash"], v.get("secret"))
    return all(f"{map.point(key):016x}" == v["point"] for key in spellings(key_of(v)))


def place(v):
    map, point = map_of(v["map"]), int(v["point"], 16)
    good = (map.locate_point(point), map.locate_all_point(point)) == (
        v["locate"],
        v["all"],
    )
    keys = spellings(key_of(v)) if "key" in v else ()
    good = good and map.locate_many(keys) == [v["locate"]] * len(keys)
    return good and all(
        (map.point(key), map.locate(key), map.locate_all(key))
        == (point, v["locate"], v["all"])
        for key in keys
    )


def prefer(v):
    return all(
        map_of(v["map"]).prefer(key, v["n"]) == v["prefer"]
        for key in spellings(key_of(v))
    )


def path(v):
    options = {"levels": v["levels"], "fold": "ascii" if v["fold"] else "none"}
    try:
        return all(
            stead.path(key, **options) == v["path"]
            for key in spellings(bytes.fromhex(v["key"]))
        )
    except stead.InvalidError:
        return v["path"] is None and v["error"] == "levels"
    except stead.PathNameError:
        return v["path"] is None and v["error"] != "levels"


def names(v):
    path, levels = bytes.fromhex(v["path"]), v["levels"]
    try:
        found = {stead.path_name(path, levels=levels).hex()}
        found.add(stead.path_name(os.fsdecode(path), levels=levels).hex())
    except stead.InvalidError:
        return v["name"] is None and v["error"] == "levels"
    except stead.PathNameError:
        return v["name"] is None and v["error"] != "levels"
    return found == {v["name"]}


def plan(v):
    old, new = map_of(v["old"]), map_of(v["new"])
    plan = stead.Plan.between(old, new)
    moves = [
        {
            "first": f"{m.first:016x}",
            "last": f"{m.last:016x}",
            "from": m.from_,
            "to": m.to,
            "cause": m.cause,
        }
        for m in plan
    ]
    good = moves == v["moves"] and all(
        str(getattr(plan, name)) == v[name] for name in AMOUNTS
    )
    report = plan.report(moves=True)
    good = (
        good
        and report["moves"] == v["moves"]
        and all(report[name]["points"] == v[name] for name in AMOUNTS)
    )

    def concerned(key):
        point = new.point(key)
        moves = [move for move in plan if move.first <= point <= move.last]
        return plan.affects(key) == plan.affects_point(point) == moves

    keys = [b"%d" % i for i in range(100)]
    rows = [
        (i, move.from_, move.to)
        for i, key in enumerate(keys)
        for move in plan.affects(key)
    ]
    return good and all(map(concerned, keys)) and plan.affects_many(keys) == rows


def pair(v):
    pair = stead.Pair.between(map_of(v["old"]), map_of(v["new"]), v["state"])
    wanted = v["reads"], v["writes"], v["moved"]
    keys = spellings(key_of(v)) if "key" in v else ()
    point = map_of(v["new"]).point(keys[0]) if keys else int(v["point"], 16)
    found = [(pair.reads(key), pair.writes(key), pair.moved(key)) for key in keys] + [
        (pair.reads_point(point), pair.writes_point(point), pair.moved_point(point))
    ]
    return pair.state == v["state"] and all(one == wanted for one in found)


def status(call, *arguments):
    """The status and message of the error that a call raises."""
    try:
        call(*arguments)
    except stead.Error as error:
        return error.status.name.lower(), str(error)
    return None, ""


def damaged(v, scratch):
    with open(os.path.join(TESTS, "maps", v["map"] + ".map"), "rb") as file:
        data = damage(file.read(), v)
    path = os.path.join(scratch, "damaged.map")
    if os.path.exists(path):
        os.remove(path)
    with open(path, "wb") as file:
        file.write(data)
    opened, said = status(stead.Map.open, path)
    return status(stead.Map.from_bytes, data)[0] == opened == v[
        "status"
    ] and said.startswith(f"{path}: ")


def fleet(v, scratch):
    data = v["text"].encode() if "text" in v else bytes.fromhex(v["hex"])
    file = Path(scratch, v["file"])
    file.write_bytes(data)
    shapes = [
        (stead.Map.build, data, "fleet"),
        (stead.Map.build_file, file, str(file)),
        *([(stead.Map.build, v["text"], "fleet")] if "text" in v else []),
    ]

    def refused(build, shape, name):
        found, said = status(build, shape)
        return (
            found == v["status"]
            and said.startswith(f"{name}:{v['line']}: ")
            and all(word in said for word in v["words"])
        )

    return all(refused(*shape) for shape in shapes)


@functools.cache
def numbers(count):
    """The keys of the golden vectors: the decimal numbers from 0 up."""
    return [b"%d" % i for i in range(count)]


def golden(v):
    map_, keys = map_of(v["map"]), numbers(v["keys"])
    found = [map_.locate_all(key) for key in keys]
    if map_.locate_many(keys) != [nodes[0] for nodes in found]:
        return False
    nodes = hashlib.sha256(
        "".join([",".join(nodes) + "\n" for nodes in found]).encode()
    ).hexdigest()
    points = array.array("Q", map(map_.point, keys))
    if sys.byteorder == "little":
        points.byteswap()
    return (nodes, hashlib.sha256(points).hexdigest()) == (v["digest"], v["points"])


def run(files):
    """{file: passed}"""
    with tempfile.TemporaryDirectory() as scratch:
        checks = {
            "points.json": point,
            "locate.json": place,
            "prefer.json": prefer,
            "paths.json": path,
            "names.json": names,
            "plans.json": plan,
            "pairs.json": pair,
            "golden.json": golden,
            "damaged.json": lambda v: damaged(v, scratch),
            "fleet_errors.json": lambda v: fleet(v, scratch),
        }
        return {
            file: sum(bool(checks[file](v)) for v in vectors)
            for file, vectors in files.items()
        }


if __name__ == "__main__":
    report("python", run)

"""The reference as a runner: it reads every vector in the repository and answers it
again.

The reference made the vectors. So this shows that the files are complete and current,
but not that they are right. The evidence for that is that programs which share no code
with the reference agree with them.
"""

import os
import struct
import sys

from report import TESTS, report

AMOUNTS = ("moved", "reordered", "lower_bound", "by_hand")  # of a plan, in points


def run(files):
    """{file: passed}"""
    sys.path.insert(0, os.path.join(TESTS, "reference"))
    import golden
    import hashes
    import stead_reference as reference
    from comparison import both_lists, compare, in_state

    maps = {}

    def bytes_of(name):
        with open(os.path.join(TESTS, "maps", name + ".map"), "rb") as file:
            return file.read()

    def map_of(name):
        if name not in maps:
            maps[name] = reference.read_map(bytes_of(name))
        return maps[name]

    def key(v):
        raw = bytes.fromhex(v["key"])
        return reference.ascii_fold(raw) if v.get("fold") else raw

    def points(v):
        secret = bytes.fromhex(v.get("secret", ""))
        return hashes.point_of(v["hash"], key(v), secret) == int(v["point"], 16)

    def places(v):
        m = map_of(v["map"])
        point = m.point(key(v)) if "key" in v else int(v["point"], 16)
        return (
            f"{point:016x}",
            reference.locate(m, point),
            reference.locate_all(m, point),
        ) == (v["point"], v["locate"], v["all"])

    def prefer(v):
        m = map_of(v["map"])
        return reference.prefer(m, m.point(key(v)), v["n"]) == v["prefer"]

    def paths(v):
        try:
            return (
                reference.path(bytes.fromhex(v["key"]), v["levels"], v["fold"])
                == v["path"]
            )
        except ValueError:
            return v["path"] is None

    def names(v):
        try:
            name = reference.path_name(bytes.fromhex(v["path"]), v["levels"])
        except ValueError as error:
            return v["name"] is None and v["error"] == str(error)
        return name.hex() == v["name"]

    def plans(v):
        d = compare(map_of(v["old"]), map_of(v["new"]))
        moves = [
            (int(m["first"], 16), int(m["last"], 16), m["from"], m["to"], m["cause"])
            for m in v["moves"]
        ]
        return d["moves"] == moves and all(str(d[name]) == v[name] for name in AMOUNTS)

    def pairs(v):
        old, new = map_of(v["old"]), map_of(v["new"])
        point = new.point(key(v)) if "key" in v else int(v["point"], 16)
        before, after = both_lists(old, new, point)
        reads, writes = in_state(v["state"], before, after)
        found = v["reads"], v["writes"], v["moved"]
        return found == (reads, writes, before != after)

    def damaged(v):
        try:
            reference.read_map(damage(bytes_of(v["map"]), v))
        except reference.Refused as refused:
            return refused.status == v["status"]
        except struct.error:
            return False
        return False

    def fleets(v):
        # the reference cannot read fleets, so a vector passes when it is complete
        return (
            v["status"] in ("fleet", "impossible")
            and v["line"] >= 1
            and ("text" in v or "hex" in v)
        )

    def goldens(v):
        # all keys; make_vectors.py --check leaves this to the runner
        return golden.answers(map_of(v["map"]), v["keys"]) == {
            name: v[name] for name in ("digest", "points")
        }

    checks = {
        "points.json": points,
        "locate.json": places,
        "prefer.json": prefer,
        "paths.json": paths,
        "names.json": names,
        "plans.json": plans,
        "pairs.json": pairs,
        "damaged.json": damaged,
        "fleet_errors.json": fleets,
        "golden.json": goldens,
    }
    return {
        file: sum(bool(checks[file](v)) for v in vectors)
        for file, vectors in files.items()
    }


def damage(data, v):
    """The bytes of a damaged map, made as `about` in tests/vectors/damaged.json says."""
    import hashlib

    size = v.get("size")
    data = bytearray(data[:size] + bytes(max(0, size - len(data))))
    for offset, patch in v["patches"]:
        patch = bytes.fromhex(patch)
        data[offset : offset + len(patch)] = patch
    if v["reseal"]:
        data[96:128] = hashlib.sha256(
            bytes(data[:96]) + bytes(32) + bytes(data[128:])
        ).digest()
    return bytes(data)


if __name__ == "__main__":
    report("reference", run)

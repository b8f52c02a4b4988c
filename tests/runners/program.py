"""The program `stead` as a runner: puts every vector through the command line, with many
keys in one call.
"""

import functools
import hashlib
import json
import os
import subprocess
import tempfile
from collections import defaultdict

from reference_runner import AMOUNTS, damage
from report import TESTS, report

# isort: split
import built  # report says where it is


def run(files):
    """{file: passed}"""
    stead = built.program()
    with tempfile.TemporaryDirectory() as scratch:
        return run_with(stead, files, scratch)


def run_with(stead, files, scratch):
    return {
        "points.json": points(stead, files["points.json"], scratch),
        "locate.json": places(stead, files["locate.json"]),
        "prefer.json": prefer(stead, files["prefer.json"]),
        "paths.json": paths(stead, files["paths.json"]),
        "names.json": names(stead, files["names.json"]),
        "pairs.json": pairs(stead, files["pairs.json"], scratch),
        "plans.json": sum(plan(stead, v) for v in files["plans.json"]),
        "damaged.json": sum(damaged(stead, v, scratch) for v in files["damaged.json"]),
        "fleet_errors.json": sum(
            fleet(stead, v, scratch) for v in files["fleet_errors.json"]
        ),
        "golden.json": sum(golden(stead, v, scratch) for v in files["golden.json"]),
    }


def call(*command, keys=None):
    """Returns the exit code, the output and the error output. The keys go to the input,
    each with a NUL behind it.
    """
    data = b"".join(key + b"\0" for key in keys) if keys is not None else b""
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def map_file(name):
    return os.path.join(TESTS, "maps", name + ".map")


def has_nul(v):
    return "00" in [v["key"][i : i + 2] for i in range(0, len(v["key"]), 2)]


def records(stead, arguments, vectors):
    """The record that the program prints for each vector. Keys end with NUL (-0); those
    that contain a NUL are written in hex.
    """
    answers = {}
    for part, flags in (
        ([v for v in vectors if not has_nul(v)], []),
        ([v for v in vectors if has_nul(v)], ["--hex"]),
    ):
        keys = [v["key"].encode() if flags else bytes.fromhex(v["key"]) for v in part]
        if part:
            code, out, error = call(stead, *arguments, *flags, "-0", keys=keys)
            found = out.split(b"\0")[:-1]
            if code or len(found) != len(part):
                print(
                    f"program: {arguments}: exit {code}, {len(found)} records for "
                    f"{len(part)} keys: {error}"
                )
            answers.update(
                {
                    id(v): record
                    for v, key, record in zip(part, keys, found)
                    if record.endswith(b"\t" + key)
                }
            )
    return answers


def grouped(vectors, *fields):
    groups = defaultdict(list)
    for v in vectors:
        groups[tuple(json.dumps(v.get(field)) for field in fields)].append(v)
    return groups.values()


def points(stead, vectors, scratch):
    """Asks `locate --json` on a map with the vector's hash, which the program makes
    itself.
    """
    passed = 0
    for number, group in enumerate(grouped(vectors, "hash", "secret")):
        secret = f'secret = "{group[0]["secret"]}"\n' if "secret" in group[0] else ""
        fleet, path = (
            os.path.join(scratch, f"p{number}.toml"),
            os.path.join(scratch, f"p{number}.map"),
        )
        with open(fleet, "w", encoding="ascii") as file:
            file.write(
                f'name = "points"\nhash = "{group[0]["hash"]}"\n{secret}[[node]]\nname = "a"\n'
            )
        call(stead, "apply", fleet, path)
        for flags in ([], ["--hex"]):
            part = [v for v in group if has_nul(v) == bool(flags)]
            keys = [
                v["key"].encode() if flags else bytes.fromhex(v["key"]) for v in part
            ]
            out = (
                call(stead, "locate", path, "--json", "-0", *flags, keys=keys)[1]
                if part
                else b""
            )
            passed += sum(
                json.loads(line)["point"] == v["point"]
                for v, line in zip(part, out.splitlines())
            )
    return passed


def places(stead, vectors):
    """Asks `locate` for the keys, and `locate --points` for the point of every vector."""
    passed = 0
    for group in grouped(vectors, "map", "fold"):
        path = map_file(group[0]["map"])
        fold = ["--fold", "ascii"] if group[0].get("fold") else []
        with_key = [v for v in group if "key" in v]
        answers = records(stead, ["locate", path, *fold], with_key) if with_key else {}
        out = call(
            stead,
            "locate",
            path,
            "--points",
            "-0",
            keys=[v["point"].encode() for v in group],
        )[1]
        for v, by_point in zip(group, out.split(b"\0")):
            nodes = by_point.partition(b"\t")[0].decode().split(",")
            good = nodes == v["all"] and nodes[0] == v["locate"]
            passed += good and (
                "key" not in v or answer_nodes(answers.get(id(v), b"")) == nodes
            )
    return passed


def answer_nodes(record):
    """The nodes of `nodes<TAB>key`."""
    return record.partition(b"\t")[0].decode().split(",")


def prefer(stead, vectors):
    passed = 0
    for group in grouped(vectors, "map", "n"):
        answers = records(
            stead,
            ["locate", map_file(group[0]["map"]), "--prefer", str(group[0]["n"])],
            group,
        )
        passed += sum(
            answer_nodes(answers.get(id(v), b"")) == v["prefer"] for v in group
        )
    return passed


def paths(stead, vectors):
    passed = 0
    for group in grouped(vectors, "levels", "fold"):
        options = [
            "--levels",
            ",".join(map(str, group[0]["levels"])),
            *(["--fold", "ascii"] if group[0]["fold"] else []),
        ]
        good = [v for v in group if v["path"] is not None]
        # The record of a path does not repeat the name. Names that contain a NUL are given
        # one in a line; none of them contains a newline too.
        plain, with_nul = (
            [v for v in good if not has_nul(v)],
            [v for v in good if has_nul(v)],
        )
        out = (
            call(
                stead,
                "path",
                *options,
                "-0",
                keys=[bytes.fromhex(v["key"]) for v in plain],
            )[1]
            if plain
            else b""
        )
        passed += sum(
            found.decode() == v["path"] for v, found in zip(plain, out.split(b"\0"))
        )
        data = b"".join(bytes.fromhex(v["key"]) + b"\n" for v in with_nul)
        done = (
            subprocess.run(
                [stead, "path", *options],
                input=data,
                stdout=subprocess.PIPE,
                check=False,
            )
            if with_nul
            else None
        )
        passed += (
            sum(
                found.decode() == v["path"]
                for v, found in zip(with_nul, done.stdout.split(b"\n"))
            )
            if done
            else 0
        )
        for v in group:
            if v["path"] is None:
                code, out, error = call(
                    stead, "path", *options, "-0", keys=[bytes.fromhex(v["key"])]
                )
                passed += (
                    code == (64 if v["error"] == "levels" else 65)
                    and out == b""
                    and error.count("\n") == 1
                )
    return passed


def names(stead, vectors):
    """Gives the paths of a group at once, and each path that has no name in a call of its
    own. A path that contains a NUL is a line.
    """
    passed = 0
    for group in grouped(vectors, "levels"):
        levels = ",".join(map(str, group[0]["levels"]))
        command = [stead, "path", "--names", "--levels", levels]
        good = [v for v in group if v["name"] is not None]
        if good:
            out = call(*command, "-0", keys=[bytes.fromhex(v["path"]) for v in good])[1]
            passed += sum(
                found == bytes.fromhex(v["name"])
                for v, found in zip(good, nul_ended(out, good))
            )
        for v in [v for v in group if v["name"] is None]:
            path = bytes.fromhex(v["path"])
            flags, end = ([], b"\n") if b"\0" in path else (["-0"], b"\0")
            done = subprocess.run(
                [*command, *flags], input=path + end, capture_output=True, check=False
            )
            passed += (
                done.returncode == (64 if v["error"] == "levels" else 65)
                and done.stdout == b""
                and done.stderr.count(b"\n") == 1
            )
    return passed


def nul_ended(out, vectors):
    """The names in an output. A name may contain NUL itself, so their lengths are used."""
    for v in vectors:
        length = len(v["name"]) // 2
        yield out[:length] if out[length : length + 1] == b"\0" else None
        out = out[length + 1 :]


def plan(stead, v):
    code, out, error = call(
        stead, "diff", map_file(v["old"]), map_file(v["new"]), "--json", "--moves"
    )
    if code or error:
        return False
    d = json.loads(out)
    return d["moves"] == v["moves"] and all(
        d[name]["points"] == v[name] for name in AMOUNTS
    )


def pairs(stead, vectors, scratch):
    """Asks `locate --carry`, which needs a map with a carry open and its history. The
    program itself makes such a map of every pair whose new map was built on the old one;
    for the others, `locate` and the rule of the states answer.
    """
    passed = 0
    for group in grouped(vectors, "old", "new", "state"):
        old, new, state = (group[0][what] for what in ("old", "new", "state"))
        path = opened(stead, old, new, state, scratch)
        for points in (False, True):
            part = [v for v in group if ("point" in v) == points]
            if not part:
                continue
            if path is None:
                passed += sum(by_rule(stead, part, points))
                continue
            flags = ["--points", "-0"] if points else ["--hex", "-0"]
            keys = [v["point" if points else "key"].encode() for v in part]
            found = call(stead, "locate", path, "--carry", *flags, keys=keys)[1]
            for v, record in zip(part, found.split(b"\0")):
                reads, writes = record.decode().split("\t")[:2]
                passed += (
                    reads.split(",") == v["reads"] and writes.split(",") == v["writes"]
                )
    return passed


def opened(stead, old, new, state, scratch):
    """A map with this carry open, beside its history; None where the vectors have none."""
    with open(map_file(new), "rb") as file:
        data = file.read()
    states = ["old", "both_old_first", "both_new_first", "new"]
    features = int.from_bytes(data[24:32], "little")
    if features != 32 or data[-48] != states.index(state) + 1:
        return None
    with open(map_file(old), "rb") as file:
        before = file.read()
    if data[-32:] != before[96:128]:
        return None
    path = os.path.join(scratch, f"{new}.map")
    os.makedirs(f"{path}.history", exist_ok=True)
    for name, content in ((path, data), (f"{path}.history/1", before)):
        with open(name, "wb") as file:
            file.write(content)
    return path


def by_rule(stead, vectors, points):
    """Whether the answers of both maps, in the order of the state, are those of each
    vector. A node that was renamed is told by its former name.
    """
    flags = ["--points"] if points else ["--hex"]
    keys = [v["point" if points else "key"].encode() for v in vectors]
    lists, renamed = [], {}
    for name in (vectors[0]["old"], vectors[0]["new"]):
        out = call(stead, "locate", map_file(name), *flags, "-0", keys=keys)[1]
        lists.append([answer_nodes(record) for record in out.split(b"\0")[: len(keys)]])
    shown = [
        json.loads(call(stead, "show", map_file(vectors[0][which]), "--json")[1])
        for which in ("old", "new")
    ]
    names = [{node["name"] for node in one["nodes"]} for one in shown]
    back = shown[1]["epoch"] < shown[0]["epoch"]
    # of several nodes with one former name, the last one by name is it
    for node in shown[0 if back else 1]["nodes"]:
        before, now = node.get("formerly"), node["name"]
        old, new = (names[1], names[0]) if back else (names[0], names[1])
        if before in old and before not in new and now not in old:
            renamed[before] = now
    if back:
        renamed = {now: before for before, now in renamed.items()}
    for v, before, after in zip(vectors, *lists):
        before = [renamed.get(name, name) for name in before]
        reads, writes = {
            "old": ([before], [before]),
            "both_old_first": ([before], [before, after]),
            "both_new_first": ([after, before], [after, before]),
            "new": ([after], [after]),
        }[v["state"]]
        reads, writes = (
            list(dict.fromkeys(name for part in parts for name in part))
            for parts in (reads, writes)
        )
        found = v["reads"], v["writes"], v["moved"]
        yield found == (reads, writes, before != after)


def damaged(stead, v, scratch):
    path = os.path.join(scratch, "damaged.map")
    with open(map_file(v["map"]), "rb") as file:
        data = damage(file.read(), v)
    with open(path, "wb") as file:
        file.write(data)
    code, out, error = call(stead, "check", path)
    return (
        code == 65
        and out == b""
        and error.startswith(f"stead: {path}")
        and error.count("\n") == 1
    )


def fleet(stead, v, scratch):
    path = os.path.join(scratch, v["file"])
    with open(path, "wb") as file:
        file.write(v["text"].encode() if "text" in v else bytes.fromhex(v["hex"]))
    code, out, error = call(stead, "plan", path)
    place = f"stead: {path}:{v['line']}: "
    return (
        code == 78
        and out == b""
        and error.startswith(place)
        and error.count("\n") == 1
        and all(w in error for w in v["words"])
    )


@functools.cache
def numbers(count):
    """The keys of the golden vectors: the decimal numbers from 0 up."""
    return [b"%d" % i for i in range(count)]


def golden(stead, v, scratch):
    """Asks for a line for each key, and then for a JSON object for each. The output is
    read in pieces of many lines, and the points are cut out of the objects, because a
    loop over lines, or json.loads, would take longer than all the rest.
    """
    file_of_keys = os.path.join(scratch, "keys")
    with open(file_of_keys, "wb") as file:
        file.write(b"\n".join(numbers(v["keys"])) + b"\n")

    def printed(*flags):
        command = [stead, "locate", map_file(v["map"]), *flags]
        rest = b""
        with (
            open(file_of_keys, "rb") as stdin,
            subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE) as process,
        ):
            while piece := process.stdout.read(1 << 20):
                lines, newline, rest = (rest + piece).rpartition(b"\n")
                yield lines + newline
        if process.returncode or rest:
            raise subprocess.CalledProcessError(process.returncode, command)

    nodes, points, keys = hashlib.sha256(), hashlib.sha256(), []
    for lines in printed():
        # KEY<TAB>NODES: no name has a tab or a newline
        fields = lines.replace(b"\n", b"\t").split(b"\t")
        keys += fields[:-1:2]
        nodes.update(b"\n".join(fields[1::2]) + b"\n")
    for lines in printed("--json"):
        # {"key":"0","point":"cfcd208495d565ef",...
        objects = lines.split(b'","point":"')[1:]
        points.update(bytes.fromhex(b"".join([o[:16] for o in objects]).decode()))
    return keys == numbers(v["keys"]) and (nodes.hexdigest(), points.hexdigest()) == (
        v["digest"],
        v["points"],
    )


if __name__ == "__main__":
    report("program", run)

"""Puts every vector through a program that answers requests in its own language:
answer.c, answer.php or answer.pl. The head of answer.c describes the requests.

A runner names the program and gets the counts of the files:

    files = {"locate.json": [...], ...}
    counts = passed("C", ["./answer"], files, scratch)
"""

import hashlib
import json
import os
import subprocess
from collections import defaultdict

from reference_runner import AMOUNTS, damage
from report import TESTS

HASHES = {"md5": 1, "sha1": 2, "xxh3": 3, "siphash": 4}
OK = b"STEAD_OK"


def passed(language, program, files, scratch):
    """Returns {file: how many of its vectors passed}. The command `program` is started
    once for each kind of request.
    """
    runner = Runner(language, program, files["locate.json"], scratch)
    return {file: runner.count(file, vectors) for file, vectors in files.items()}


class Runner:
    """Turns vectors into requests, and compares the answers."""

    def __init__(self, language, program, places, scratch):
        self.language, self.program, self.scratch = language, program, scratch
        # {map: its vectors with a key that is not folded}
        self.keys = defaultdict(list)
        for v in places:
            if "key" in v and not v.get("fold"):
                self.keys[v["map"]].append(v)

    def count(self, file, vectors):
        """Returns how many vectors of a file pass, and prints the first that fail."""
        checks = {
            "points.json": self.points,
            "locate.json": self.places,
            "prefer.json": self.prefer,
            "paths.json": self.paths,
            "names.json": self.names,
            "plans.json": self.plans,
            "pairs.json": self.pairs,
            "damaged.json": self.damaged,
            "fleet_errors.json": self.fleets,
            "golden.json": self.golden,
        }
        good = (
            [bool(passed) for passed in checks[file](vectors)] if file in checks else []
        )
        for v in [v for v, passed in zip(vectors, good) if not passed][:4]:
            print(f"{self.language}: {file}: {json.dumps(v)[:400]}")
        return sum(good)

    def ask(self, requests):
        """Returns the fields of each answer."""
        lines = "".join(
            "\t".join(map(str, request)) + "\n" for request in requests
        ).encode("ascii")
        done = subprocess.run(
            self.program,
            input=lines,
            capture_output=True,
            check=False,
        )
        answers = [line.split(b"\t") for line in done.stdout.split(b"\n")[:-1]]
        if done.returncode or done.stderr or len(answers) != len(requests):
            said = done.stderr.decode("utf-8", "replace")
            print(
                f"{self.language}: exit {done.returncode}, {len(answers)} answers to "
                f"{len(requests)} requests: {said}"
            )
            return [[b""]] * len(requests)
        return answers

    def points(self, vectors):
        """Asks without a map, and with a map of the vector's hash, which the library
        builds and saves.
        """
        fleets = {}
        for v in vectors:
            secret = f'secret = "{v["secret"]}"\n' if "secret" in v else ""
            fleets.setdefault(
                f'name = "points"\nhash = "{v["hash"]}"\n{secret}[[node]]\nname = "a"\n',
                [],
            ).append(v)
        saved = {
            id(v): in_hex(os.path.join(self.scratch, f"points-{i}.map"))
            for i, group in enumerate(fleets.values())
            for v in group
        }
        built = self.ask(
            [
                ("build", in_hex("points.toml"), in_hex(fleet), saved[id(group[0])])
                for fleet, group in fleets.items()
            ]
        )
        alone = self.ask(
            [
                ("point", HASHES[v["hash"]], v.get("secret", ""), v["key"])
                for v in vectors
            ]
        )
        by_map = self.ask([("map-point", saved[id(v)], v["key"]) for v in vectors])
        good = all(answer == [OK] for answer in built)
        return [
            good and a == b == [OK, v["point"].encode()]
            for v, a, b in zip(vectors, alone, by_map)
        ]

    def places(self, vectors):
        """Asks for each vector by its point and, where it has one, by its key; then for
        all keys of a map at once.
        """
        by_point = self.ask(
            [("locate-point", map_in_hex(v["map"]), v["point"]) for v in vectors]
        )
        good = {
            id(v): answer == [OK, nodes(v["all"])]
            for v, answer in zip(vectors, by_point)
        }
        with_key = [v for v in vectors if "key" in v]
        by_key = self.ask(
            [
                ("locate", map_in_hex(v["map"]), int(v.get("fold", False)), v["key"])
                for v in with_key
            ]
        )
        for v, answer in zip(with_key, by_key):
            good[id(v)] &= answer == [
                OK,
                v["point"].encode(),
                nodes([v["locate"]]),
                nodes(v["all"]),
            ]
        at_once = self.ask(
            [
                ("locate-many", map_in_hex(name), ",".join(v["key"] for v in group))
                for name, group in self.keys.items()
            ]
        )
        for group, answer in zip(self.keys.values(), at_once):
            for v in group:
                good[id(v)] &= answer == [OK, nodes(v["locate"] for v in group)]
        return [good[id(v)] for v in vectors]

    def prefer(self, vectors):
        answers = self.ask(
            [("prefer", map_in_hex(v["map"]), v["n"], v["key"]) for v in vectors]
        )
        return [
            answer == [OK, nodes(v["prefer"])] for v, answer in zip(vectors, answers)
        ]

    def paths(self, vectors):
        requests = [
            ("path", in_hex(",".join(map(str, v["levels"]))), int(v["fold"]), v["key"])
            for v in vectors
        ]
        wrong = {"levels": "STEAD_INVALID", "file name": "STEAD_NAME"}
        return [
            answer == [OK, in_hex(v["path"]).encode()]
            if v["path"] is not None
            else refused(answer, wrong[v["error"]])
            for v, answer in zip(vectors, self.ask(requests))
        ]

    def names(self, vectors):
        requests = [
            ("path-name", in_hex(",".join(map(str, v["levels"]))), v["path"])
            for v in vectors
        ]
        wrong = {"levels": "STEAD_INVALID", "path": "STEAD_NAME"}
        return [
            answer == [OK, v["name"].encode()]
            if v["name"] is not None
            else refused(answer, wrong[v["error"]])
            for v, answer in zip(vectors, self.ask(requests))
        ]

    def plans(self, vectors):
        """Compares moves, the keys that they concern, the fraction, and the report."""
        keys = [self.keys[v["new"]] for v in vectors]
        requests = [
            (
                "plan",
                map_in_hex(v["old"]),
                map_in_hex(v["new"]),
                ",".join(k["key"] for k in asked),
            )
            for v, asked in zip(vectors, keys)
        ]
        return [
            answer[0] == OK and plan(v, asked, answer[1:])
            for v, asked, answer in zip(vectors, keys, self.ask(requests))
        ]

    def pairs(self, vectors):
        """Asks for each vector by its point and, where it has one, by its key."""
        states = ["old", "both_old_first", "both_new_first", "new"]

        def request(v, kind, what):
            maps = map_in_hex(v["old"]), map_in_hex(v["new"])
            return (kind, *maps, states.index(v["state"]) + 1, what)

        points = self.ask(
            [
                ("map-point", map_in_hex(v["new"]), v["key"])
                if "key" in v
                else ("map-point", map_in_hex(v["new"]), "")
                for v in vectors
            ]
        )
        points = [
            answer[-1].decode() if "key" in v else v["point"]
            for v, answer in zip(vectors, points)
        ]
        by_point = self.ask(
            [request(v, "pair-point", point) for v, point in zip(vectors, points)]
        )
        with_key = [v for v in vectors if "key" in v]
        by_key = self.ask([request(v, "pair", v["key"]) for v in with_key])
        found = {id(v): answer for v, answer in zip(with_key, by_key)}

        def wanted(v):
            moved = b"1" if v["moved"] else b"0"
            return [OK, nodes(v["reads"]), nodes(v["writes"]), moved]

        return [
            answer == found.get(id(v), answer) == wanted(v)
            for v, answer in zip(vectors, by_point)
        ]

    def damaged(self, vectors):
        """Gives each map as bytes, and as a file that is verified and opened."""
        maps = {name: read(map_file(name)) for name in {v["map"] for v in vectors}}
        data = [damage(maps[v["map"]], v) for v in vectors]
        paths = [
            os.path.join(self.scratch, f"damaged-{i}.map") for i in range(len(vectors))
        ]
        for path, damaged in zip(paths, data):
            write(path, damaged)
        by_bytes = self.ask([("bytes", damaged.hex()) for damaged in data])
        by_file = self.ask([("file", in_hex(path)) for path in paths])
        return [
            refused(a, wanted(v))
            and len(b) == 6
            and all(refused(b[i : i + 2], wanted(v), path) for i in (0, 2, 4))
            for v, a, b, path in zip(vectors, by_bytes, by_file, paths)
        ]

    def fleets(self, vectors):
        """Gives each fleet as bytes with a name, and as a file."""
        texts = [
            v["text"].encode() if "text" in v else bytes.fromhex(v["hex"])
            for v in vectors
        ]
        paths = [
            os.path.join(self.scratch, f"fleet-{i}-" + v["file"])
            for i, v in enumerate(vectors)
        ]
        for path, text in zip(paths, texts):
            write(path, text)
        by_bytes = self.ask(
            [
                ("build", in_hex(v["file"]), text.hex(), "")
                for v, text in zip(vectors, texts)
            ]
        )
        by_file = self.ask([("build-file", in_hex(path)) for path in paths])
        return [
            all(
                refused(answer, wanted(v), f"{name}:{v['line']}: ", v["words"])
                for answer, name in ((a, v["file"]), (b, path))
            )
            for v, a, b, path in zip(vectors, by_bytes, by_file, paths)
        ]

    def golden(self, vectors):
        return [
            [self.digest(what, v) for what in ("lines", "points")]
            == [v["digest"], v["points"]]
            for v in vectors
        ]

    def digest(self, what, v):
        """Returns the SHA-256 of the program's output for all keys of a vector. The
        output has up to 400 MB and is not kept in memory.
        """
        found = hashlib.sha256()
        with subprocess.Popen(
            [*self.program, what, map_file(v["map"]), str(v["keys"])],
            stdout=subprocess.PIPE,
        ) as running:
            for part in iter(lambda: running.stdout.read(1 << 20), b""):
                found.update(part)
        return found.hexdigest() if running.returncode == 0 else None


# ---- comparing


def in_hex(text):
    return text.encode("utf-8").hex()


def map_file(name):
    return os.path.join(TESTS, "maps", name + ".map")


def map_in_hex(name):
    return in_hex(map_file(name))


def nodes(names):
    """Names in the notation of an answer."""
    return ",".join(map(in_hex, names)).encode()


def wanted(v):
    """The name of a vector's status."""
    return "STEAD_" + v["status"].upper()


def refused(answer, status, start="", words=()):
    """Whether an answer is this status, with a message of one line that begins with
    `start` and has these words.
    """
    if len(answer) != 2 or answer[0] != status.encode():
        return False
    message = bytes.fromhex(answer[1].decode()).decode("utf-8")
    return (
        message != ""
        and "\n" not in message
        and message.startswith(start)
        and all(word in message for word in words)
    )


def plan(v, keys, answer):
    """Whether the answer to a plan has the vector's moves and amounts, in the report
    too, and the right moves for each key.
    """
    fraction, report, count = (
        float(answer[0]),
        json.loads(bytes.fromhex(answer[1].decode())),
        int(answer[2]),
    )
    moves = [
        dict(zip(("first", "last", "from", "to", "cause"), move.decode().split(",")))
        for move in answer[3 : 3 + count]
    ]
    for move in moves:
        move.update(
            {
                side: bytes.fromhex(move[side]).decode("utf-8") or None
                for side in ("from", "to")
            }
        )
    concerned = [
        [i for i, m in enumerate(v["moves"]) if m["first"] <= k["point"] <= m["last"]]
        for k in keys
    ]
    found = [
        [int(i) for i in numbers.split(b",") if i] for numbers in answer[3 + count :]
    ]
    return (
        moves == report["moves"] == v["moves"]
        and all(report[name]["points"] == v[name] for name in AMOUNTS)
        and fraction
        == report["moved"]["fraction"]
        == int(v["moved"]) / (report["replicas"] << 64)
        and (found == concerned or not keys)
    )


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)

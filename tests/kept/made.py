"""What an archive is made of: fleets with each feature of maps, questions, and a carry that
is under way.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))

import hashes

HEAD = 'name = "members"\n'
THREE = "".join(f'[[node]]\nname = "n{i}"\n' for i in range(3))
ZONES = "".join(
    f'[[node]]\nname = "z{i}"\nlabels = {{ zone = "{"abc"[i % 3]}", rack = "r{i % 2}" }}\n'
    f'attributes = {{ address = "10.0.0.{i}:11211" }}\nweight = {1 + i % 2}.5\n'
    for i in range(6)
)
COPIES = 'replicas = 2\nspread = ["zone"]\n'
# {name of a map: the fleets of its epochs}
FLEETS = {
    "plain": [HEAD + THREE],
    "copies": [HEAD + COPIES + ZONES],
    "sha1": [HEAD + 'hash = "sha1"\n' + THREE],
    "xxh3": [HEAD + 'hash = "xxh3"\n' + THREE],
    "siphash": [
        HEAD + 'hash = "siphash"\nsecret = "000102030405060708090a0b0c0d0e0f"\n' + THREE
    ],
    "pins": [HEAD + THREE + '[[pin]]\nkey = "frank"\nnodes = ["n2", "n0"]\n'],
    "policies": [
        HEAD
        + THREE
        + '[[policy]]\nname = "chain1"\nkind = "chain"\nnodes = ["n0", "n1"]\nweight = 2\n'
    ],
    "tolerance": [HEAD + 'tolerance = "2%"\n' + THREE],
    "grown": [HEAD + THREE, HEAD + THREE + '[[node]]\nname = "n3"\nweight = 2\n'],
    "renamed": [
        HEAD + THREE,
        HEAD + THREE.replace('"n2"', '"n9"\nformerly = "n2"'),
    ],
}
# the fleet of a saved plan of `grown`
NEXT = FLEETS["grown"][1] + '[[node]]\nname = "n4"\n'
QUESTIONS = [
    "locate MAP frank bob erin justin",
    "locate MAP --prefer 3 frank bob erin justin",
]
# {verb: its arguments}; FILES is the directory of the files
JSON = {
    "locate": "stead locate FILES/copies.map --json frank bob",
    "locate-explain": "stead locate FILES/pins.map --json --explain frank",
    "locate-carry": "stead locate FILES/carried.map --json --carry frank justin",
    "locate-count": "stead locate FILES/plain.map --json --count frank bob",
    "show": "stead show FILES/copies.map --json",
    "show-policies": "stead show FILES/policies.map --json",
    "show-carry": "stead show FILES/carried.map --json",
    "plan": "stead plan FILES/next.toml FILES/grown.map --json",
    "plan-copies": "stead plan FILES/copies.toml FILES/copies.map --json",
    "apply": "stead apply FILES/next.plan FILES/grown.map --json",
    "check": "stead check FILES/copies.map --json",
    "what-if": "stead what-if FILES/copies.map --down zone=a --json",
    "load": "stead load FILES/copies.map FILES/access.log --json",
    "history": "stead history FILES/renamed.map --json",
    "diff": "stead diff FILES/grown.map.history/1 FILES/grown.map --json",
    "who": "stead who FILES/copies.map z1 --json",
    "carry": "stead carry FILES/carried.map --json",
    "path": "stead path --json frank",
    "rollback": "stead rollback FILES/renamed.map 1 --json",
    "survey": "stead survey FILES/names.txt --json",
}
CARRY = """map = "data.map"
url = "file://PLACE/hub/members.map"
grace = 0

[command]
list = "ls boxes/$STEAD_FROM"
copy = "test $STEAD_KEY != erin || test -e mended && cp boxes/$STEAD_FROM/$STEAD_KEY boxes/$STEAD_TO/"
verify = "cmp boxes/$STEAD_FROM/$STEAD_KEY boxes/$STEAD_TO/$STEAD_KEY"
remove = "rm -f boxes/$STEAD_FROM/$STEAD_KEY"
"""
KEYS = ["frank", "bob", "erin", "justin", *(f"key{i}" for i in range(16))]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def archive(run, schema):
    """Makes an archive in the directory of the programs."""
    top, files = run.place / "archive", run.place / "archive/files"
    for name, fleets in FLEETS.items():
        for fleet in fleets:
            write(files / f"{name}.toml", fleet)
            run(f"stead apply archive/files/{name}.toml archive/files/{name}.map")
    write(files / "next.toml", NEXT)
    write(files / "access.log", "frank\t40\nbob\t7\nerin\t3\njustin\n")
    write(files / "names.txt", "frank\nbob\nerin\njustin\n")
    for name in ("plain", "carried"):
        write(files / f"{name}.toml", FLEETS["plain"][0])
    run("stead apply archive/files/carried.toml archive/files/carried.map")
    run("stead apply archive/files/next.toml archive/files/carried.map --carry")
    run(
        "stead apply archive/files/copies.toml archive/files/stepped.map --allow drop-copies"
    )
    write(files / "stepped.toml", COPIES.join([HEAD, ZONES]).replace("1.5", "9"))
    run(
        "stead apply archive/files/stepped.toml archive/files/stepped.map --max-move 5%"
    )
    plan = "stead plan archive/files/next.toml archive/files/grown.map"
    run(f"{plan} -o archive/files/next.plan")
    run(f"{plan} --carry -o archive/files/next-carry.plan")

    shutil.copytree(files, run.place / "files")
    answers = {}
    for map in sorted(files.glob("*.map")):
        of_map = {
            q: run(f"stead {q.replace('MAP', f'files/{map.name}')}") for q in QUESTIONS
        }
        answers[map.name] = of_map
    write(top / "answers.json", json.dumps(answers, indent=1) + "\n")
    for history in sorted(files.glob("*.history")):
        name = history.name.removesuffix(".history")
        write(
            top / "json" / f"history-{name}.json",
            run(f"stead history files/{name} --json"),
        )
    schemas = {}
    for name, question in JSON.items():
        said = run(question.replace("FILES", "files"))
        write(top / "json" / f"{name}.json", said)
        schemas[name] = [question, schema(said)]
    write(top / "schemas.json", json.dumps(schemas, indent=1) + "\n")
    for lock in files.glob("*.lock"):
        lock.unlink()
    begun(run, top)


def begun(run, top):
    """A carry that failed for one item, so that it is under way."""
    carry = top / "carry"
    write(carry / "data.toml", FLEETS["grown"][0])
    run("stead apply archive/carry/data.toml archive/carry/data.map")
    write(carry / "data.toml", FLEETS["grown"][1])
    for key in KEYS:
        (node,) = run(f"stead locate archive/carry/data.map {key}").split()[1:]
        write(carry / "boxes" / node / key, f"the box of {key}\n")
    run("stead apply archive/carry/data.toml archive/carry/data.map --carry")
    write(carry / "carry.toml", CARRY)
    for lock in carry.glob("*.lock"):
        lock.unlink()
    site(run, carry, mended=False)
    run("stead-sync carry run carry.toml", code=None)

    journal = Path(run.place, "data.map.carry").read_text()
    assert " failed " in journal and " mark " in journal or " end " in journal, journal
    for name in ("data.map", "data.map.carry"):
        shutil.copy(run.place / name, carry / name)
    for name in ("data.map.history", "boxes"):
        shutil.rmtree(carry / name)
        shutil.copytree(run.place / name, carry / name)
    # as a check will find it: with an empty hub
    site(run, carry, place="again")
    told = run("stead-sync carry status again/carry.toml", code=None)
    write(top / "carry-status.txt", told)


def site(run, carry, place=".", mended=True):
    """Puts a carry into a directory, with an empty hub and boxes of every node."""
    to = run.place / place
    shutil.copytree(carry, to, dirs_exist_ok=True)
    for node in ("n0", "n1", "n2", "n3"):
        (to / "boxes" / node).mkdir(parents=True, exist_ok=True)
    (to / "hub").mkdir()
    text = (to / "carry.toml").read_text().replace("PLACE", str(to.resolve()))
    (to / "carry.toml").write_text(text)
    if mended:
        (to / "mended").write_text("")


def items(run):
    """{key: the nodes that have it}"""
    found = {key: [] for key in KEYS}
    for box in sorted((run.place / "boxes").glob("*/*")):
        found[box.name].append(box.parent.name)
    return found


def wanted(run):
    """{key: the node where the map places it}"""
    lines = run(f"stead locate data.map {' '.join(KEYS)}").splitlines()
    return {key: [node] for key, node in (line.split("\t") for line in lines)}


def line(words):
    """A line of a journal: a checksum, and the words."""
    checksum = hashes.xxh3(words.encode()) & 0xFFFFFFFF
    return f"{checksum:08x} {words}\n".encode()

"""The carries of an archive: one that stands at each state, one in which an item failed, and one that
was turned round.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))

import hashes
from questions import FLEETS

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
STATES = ["old", "both_old_first", "both_new_first", "new"]
RUN = "stead-sync carry run carry.toml"
# {name: (the state that it ends in, whether erin can be copied, the commands)}
CARRIES = {
    "failed": ("both_old_first", False, [RUN]),
    **{state: (state, True, [f"{RUN} --until {state}"]) for state in STATES},
    "reversed": (
        "both_old_first",
        True,
        [f"{RUN} --until both_new_first", "stead-sync carry reverse carry.toml"],
    ),
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def begun(run, top):
    """Makes all carries, each in a directory of its own below `carries`."""
    base = run.inside("base")
    write(base.place / "data.toml", FLEETS["grown"][0])
    base("stead apply data.toml data.map")
    for key in KEYS:
        (node,) = base(f"stead locate data.map {key}").split()[1:]
        write(base.place / "boxes" / node / key, f"the box of {key}\n")
    write(base.place / "data.toml", FLEETS["grown"][1])
    base("stead apply data.toml data.map --carry")
    write(base.place / "carry.toml", CARRY)
    for name, (state, mended, commands) in CARRIES.items():
        here = run.inside(f"carry-{name}")
        site(here, base.place, mended)
        push(here)
        for command in commands:
            here(command, code=None)
        found, _ = state_of(here)
        assert found == state, f"{name}: the carry is in the state {found}"
        journal = (here.place / "data.map.carry").read_text()
        assert (" failed " in journal) == (name == "failed"), journal
        keep(here, top / "carries" / name)
        again = run.inside(f"again-{name}")
        site(again, top / "carries" / name)
        told = again("stead-sync carry status carry.toml", code=None)
        write(top / "carries" / name / "status.txt", told)


def keep(run, to):
    """Keeps the map, the history, the journal and the items of a carry."""
    for name in ("data.map", "data.map.carry", "data.toml"):
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy(run.place / name, to / name)
    # without the place, which is another one each time
    write(to / "carry.toml", CARRY)
    for name in ("data.map.history", "boxes"):
        shutil.copytree(run.place / name, to / name)


def site(run, carry, mended=True):
    """Puts a carry into the directory of the programs, with an empty hub and boxes of every
    node.
    """
    shutil.copytree(carry, run.place, dirs_exist_ok=True)
    for node in ("n0", "n1", "n2", "n3"):
        (run.place / "boxes" / node).mkdir(parents=True, exist_ok=True)
    (run.place / "hub").mkdir()
    file = run.place / "carry.toml"
    file.write_text(file.read_text().replace("PLACE", str(run.place.resolve())))
    if mended:
        (run.place / "mended").write_text("")


def push(run):
    """Brings the map to the hub, which a carry wants there. It is a later epoch than the first."""
    url = f"file://{run.place.resolve()}/hub/members.map"
    run(f"stead-sync push --allow first data.map {url}")


def state_of(run):
    """The state of the carry of data.map, and its direction; None and None without one."""
    carry = json.loads(run("stead carry data.map --json"))["carry"] or {}
    return carry.get("state"), carry.get("direction")


def ahead(state, direction):
    """The states that a carry still has before it, when nobody turns it round."""
    at = STATES.index(state)
    return STATES[at + 1 :] if direction == "forward" else STATES[:at][::-1]


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

"""Checks that the present programs read what earlier ones wrote and others keep: maps,
histories, saved plans, journals of carries, and the JSON that scripts take apart.

    python3 tests/kept/run.py             checks every archive (tests/kept/1, 2, ...)
    python3 tests/kept/run.py --record    makes the archive of the present release

README.md says what an archive contains. Each format is also given a newer number, which
must be refused with one line that says so.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests")]
sys.dont_write_bytecode = True

import built
import carries
import made
from questions import GROWING, WORDS

# Where a map and a plan have the number of their format, and where their digests are.
VERSION = slice(8, 12)
MAP_DIGEST = slice(96, 128)


@functools.cache
def paths():
    """{name: path} of the programs, which the environment may name."""
    named = {
        "stead": os.environ.get("STEAD"),
        "stead-sync": os.environ.get("STEAD_SYNC"),
    }
    return named if all(named.values()) else built.programs()


class Programs:
    """The present programs, run in one directory."""

    def __init__(self, place):
        self.place = Path(place)
        self.paths = paths()

    def inside(self, name):
        """The programs, run in a new directory below this one."""
        (self.place / name).mkdir()
        return Programs(self.place / name)

    def __call__(self, command, code=0, output=False):
        """Runs a line of arguments; returns its standard output, or its standard error
        where it must fail and the output is not wanted. A code of None is any.
        """
        name, *arguments = command.split()
        env = dict(os.environ, SOURCE_DATE_EPOCH="1795381740", LOGNAME="anna", TZ="UTC")
        done = subprocess.run(
            [self.paths[name], *arguments],
            cwd=self.place,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        assert code is None or done.returncode == code, said
        return done.stderr if code and not output else done.stdout


def shape(value, path=""):
    """{place in JSON: the types there}; all items of a list are one place."""
    found = {}
    kind = "number" if type(value) in (int, float) else type(value).__name__
    found.setdefault(path or ".", set()).add(kind)
    inside = []
    if isinstance(value, dict):
        inside = [(f"{path}.{name}", item) for name, item in value.items()]
    elif isinstance(value, list):
        inside = [(f"{path}[]", item) for item in value]
    for place, item in inside:
        for where, kinds in shape(item, place).items():
            found.setdefault(where, set()).update(kinds)
    return found


def documents(text):
    """The JSON values of an output, of which there may be one a line."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def schema(text):
    """{place: types, sorted}"""
    found = {}
    for value in documents(text):
        for place, kinds in shape(value).items():
            found.setdefault(place, set()).update(kinds)
    return {place: sorted(kinds) for place, kinds in sorted(found.items())}


def missing(old, new):
    """What a schema had and another one has no more, or has with other types. Places may
    be added. A list that is empty now says nothing about its items.
    """
    lost = [place for place in old if place not in new]
    changed = [p for p in old if p in new and not set(old[p]) & set(new[p])]
    return lost + changed


def differing(old, new, place, name=""):
    """The places where a JSON value is not as it was. Objects may have more values, and the
    lists of GROWING more items; texts that are for people may have other words.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                yield f"{place}.{key}"
            else:
                yield from differing(value, new[key], f"{place}.{key}", key)
    elif isinstance(old, list) and isinstance(new, list) and name in GROWING:
        left = iter(new)
        for number, item in enumerate(old):
            if all(any(differing(item, other, place)) for other in left):
                yield f"{place}[{number}]"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (item, other) in enumerate(zip(old, new)):
            yield from differing(item, other, f"{place}[{number}]")
    elif name in WORDS and isinstance(old, str) and isinstance(new, str):
        return
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield place


def unlike(old, new, name):
    """The places where the JSON documents of two texts differ."""
    old, new = documents(old), documents(new)
    old, new = (old, new) if len(old) > 1 else (old[0], new[0])
    return list(differing(old, new, name, name))


# ---- checks: each yields what is wrong


def check_maps(archive, run):
    """Maps answer as before, and are verified."""
    answers = json.loads((archive / "answers.json").read_text())
    assert answers, "no map has answers, so nothing was tested"
    for path, wanted in answers.items():
        # check reports that the shares of a ring are uneven
        run(f"stead check {archive / path}", code=None if "/ring-" in path else 0)
        for question, answer in wanted.items():
            found = run(f"stead {question.replace('MAP', str(archive / path))}")
            if found != answer:
                yield f"{path}: stead {question}: {found!r}, and it was {answer!r}"


def check_histories(archive, run):
    """Every kept epoch is listed, and the oldest can be gone back to."""
    for history in sorted((archive / "files").glob("*.history")):
        name = history.name.removesuffix(".history")
        was = (archive / "json" / f"history-{name}.json").read_text()
        now = run(f"stead history files/{name} --json")
        if differ := unlike(was, now, "history"):
            yield f"{name}: its history is listed otherwise: {', '.join(differ[:5])}"
    shutil.copytree(archive / "files", run.place / "back")
    run("stead rollback back/grown.map 1")
    found = run("stead locate back/grown.map frank bob erin")
    if found != run("stead locate files/grown.map.history/1 frank bob erin"):
        yield "grown.map: after a rollback it answers otherwise than epoch 1"


def check_plans(archive, run):
    """A saved plan is shown and applied, and gives the map that it was saved with."""
    for plan in sorted((archive / "files").glob("*.plan")):
        (run.place / "grown.map").write_bytes(
            (archive / "files/grown.map").read_bytes()
        )
        shutil.rmtree(run.place / "grown.map.history", ignore_errors=True)
        shutil.copytree(
            archive / "files/grown.map.history", run.place / "grown.map.history"
        )
        run(f"stead apply files/{plan.name} grown.map")
        body = plan.read_bytes()[32:-32]
        if (run.place / "grown.map").read_bytes() != body:
            yield f"{plan.name}: another map was published than it has"


def check_rings(archive, run):
    """A ring that was adopted is drawn with the same bytes, and grows to the same map."""
    for listed in sorted((archive / "files").glob("*.servers")):
        name = listed.stem
        kind, servers, settings = made.RINGS[name]
        assert listed.read_text() == servers
        run(f"stead ring {kind} {listed} {settings} -o {name}.map --fleet {name}.toml")
        for file in (f"{name}.map", f"{name}.toml"):
            if (run.place / file).read_bytes() != (
                archive / "files" / file
            ).read_bytes():
                yield f"{file}: the ring is drawn otherwise"
    adopted = f"{made.questions.ADOPTED}.map"
    run(f"stead apply files/ring-grown.toml {adopted}")
    grown = (archive / "files/ring-grown.map").read_bytes()
    if (run.place / adopted).read_bytes() != grown:
        yield f"{adopted}: it grows to another map"


def check_journals(archive, run):
    """Carries that an older program began are told of, taken on and closed."""
    found = sorted((archive / "carries").iterdir())
    assert len(found) == len(carries.CARRIES)
    for carry in found:
        here = run.inside(carry.name)
        carries.site(here, carry)
        told = here("stead-sync carry status carry.toml", code=None)
        if told != (carry / "status.txt").read_text():
            yield f"{carry.name}: stead-sync carry status: {told!r}"
        carries.push(here)
        here("stead-sync carry run carry.toml")
        if carries.state_of(here) != (None, None):
            yield f"{carry.name}: the carry could not be closed"
        kept, wanted = carries.items(here), carries.wanted(here)
        if kept != wanted:
            yield f"{carry.name}: the items are {kept}, and should be {wanted}"


def check_states(archive, run):
    """From each state of a carry the next ones can be reached by hand, in their order."""
    for carry in sorted((archive / "carries").iterdir()):
        here = run.inside(carry.name)
        carries.site(here, carry)
        # whoever goes on by hand has done what the run has not
        (here.place / "data.map.carry").unlink()
        ahead = carries.ahead(*carries.state_of(here))
        for state in ahead:
            epoch = json.loads(here("stead carry data.map --json"))["epoch"]
            here(f"stead carry data.map next --confirmed {epoch}")
            if carries.state_of(here)[0] != state:
                yield f"{carry.name}: {carries.state_of(here)[0]} came, and not {state}"
        epoch = json.loads(here("stead carry data.map --json"))["epoch"]
        here(f"stead carry data.map close --confirmed {epoch}")
        if carries.state_of(here) != (None, None):
            yield f"{carry.name}: the carry could not be closed by hand"


def check_json(archive, run):
    """Every verb gives every value that it gave, with the same types."""
    schemas = json.loads((archive / "schemas.json").read_text())
    for name, (question, old) in schemas.items():
        _, said = made.asked(run, name, question)
        if lost := missing(old, schema(said)):
            yield f"{name}: {question}: its JSON has lost {', '.join(lost[:5])}"
        was = (archive / "json" / f"{name}.json").read_text()
        if differ := unlike(was, said, name):
            yield f"{name}: {question}: another value at {', '.join(differ[:5])}"
    control = dict(schemas["show"][1])
    control[".left_out"] = ["str"]
    if missing(control, schemas["show"][1]) != [".left_out"]:
        yield "the control: a value that is gone was not missed"
    old = {"a": [1, {"b": "x", "found": "y"}], "checks": [{"c": 1}]}
    more = {"a": [1, {"b": "x", "found": "z", "new": 2}], "checks": [{}, {"c": 1}]}
    less = {"a": [1, {"b": "w", "found": "y"}], "checks": [{"c": 2}]}
    if list(differing(old, more, "")) or len(list(differing(old, less, ""))) != 2:
        yield "the control: values are compared wrongly"


def renumbered_map(data):
    """The bytes of a map, with the next number of the format and the right digest."""
    new = bytearray(data)
    new[VERSION] = (int.from_bytes(new[VERSION], "little") + 1).to_bytes(4, "little")
    new[MAP_DIGEST] = bytes(32)
    new[MAP_DIGEST] = hashlib.sha256(new).digest()
    return bytes(new)


def renumbered_plan(data):
    """The same for a plan."""
    new = bytearray(data[:-32])
    new[VERSION] = (int.from_bytes(new[VERSION], "little") + 1).to_bytes(4, "little")
    return bytes(new) + hashlib.sha256(new).digest()


def check_newer(archive, run):
    """A newer number is refused with 65 and one line, and nothing is changed."""
    files = archive / "files"
    newer = run.place / "newer.map"
    newer.write_bytes(renumbered_map((files / "grown.map").read_bytes()))
    plan = run.place / "newer.plan"
    plan.write_bytes(renumbered_plan((files / "next.plan").read_bytes()))
    lines = [
        (run("stead locate newer.map frank", code=65), newer),
        (run("stead apply files/grown.toml newer.map", code=65), newer),
        (run("stead apply newer.plan files/grown.map", code=65), plan),
    ]
    later = run.inside("later")
    carries.site(later, archive / "carries/both_old_first")
    carries.push(later)
    journal = later.place / "data.map.carry"
    journal.write_bytes(journal.read_bytes() + carries.line("weigh a 7"))
    lines.append((later("stead-sync carry run carry.toml", code=65), journal))
    for said, file in lines:
        if not re.fullmatch(r"[^\n]*newer[^\n]*\n", said) or file.name not in said:
            yield f"{file.name}: the refusal is {said!r}"


CHECKS = [
    check_maps,
    check_histories,
    check_plans,
    check_rings,
    check_journals,
    check_states,
    check_json,
    check_newer,
]


def archives():
    """The directories of the archived releases, oldest first."""
    return sorted(
        (p for p in HERE.iterdir() if p.name.isdigit()), key=lambda p: int(p.name)
    )


def checked(archive):
    """Runs every check; returns how many fail."""
    failed = 0
    for check in CHECKS:
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(archive / "files", Path(place, "files"))
            try:
                wrong = list(check(archive, Programs(place)))
            except AssertionError as failure:
                wrong = [f"{check.__name__}: {failure}"]
        for line in wrong:
            print(f"{archive.name}: {line}")
        failed += bool(wrong)
    return failed


def record():
    """Makes the archive of the present release, over the last one."""
    number = max((int(p.name) for p in archives()), default=1)
    archive = HERE / str(number)
    with tempfile.TemporaryDirectory() as place:
        run = Programs(place)
        made.archive(run, schema)
        shutil.rmtree(archive, ignore_errors=True)
        shutil.copytree(run.place / "archive", archive)
    print(f"recorded {archive.relative_to(ROOT)}")


def main():
    if "--record" in sys.argv[1:]:
        return record()
    found = archives()
    assert found, "there is no archive; run --record"
    failed = sum(map(checked, found))
    total = len(found) * len(CHECKS)
    print(f"{total - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

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
import made

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

    def __call__(self, command, code=0):
        """Runs a line of arguments; returns its standard output, or its standard error
        where it must fail. A code of None is any.
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
        return done.stderr if code else done.stdout


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


# ---- checks: each yields what is wrong


def check_maps(archive, run):
    """Maps answer as before, and are verified."""
    answers = json.loads((archive / "answers.json").read_text())
    assert answers, "no map has answers, so nothing was tested"
    for name, wanted in answers.items():
        run(f"stead check files/{name}")
        for question, answer in wanted.items():
            found = run(f"stead {question.replace('MAP', f'files/{name}')}")
            if found != answer:
                yield f"{name}: stead {question}: {found!r}, and it was {answer!r}"


def check_histories(archive, run):
    """Every kept epoch is listed, and the oldest can be gone back to."""
    for history in sorted((archive / "files").glob("*.history")):
        name = history.name.removesuffix(".history")
        if (
            run(f"stead history files/{name} --json")
            != (archive / "json" / f"history-{name}.json").read_text()
        ):
            yield f"{name}: its history is listed otherwise"
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


def check_journals(archive, run):
    """A carry that an older program began is told of, taken on and closed."""
    made.site(run, archive / "carry")
    told = run("stead-sync carry status carry.toml", code=None)
    if told != (archive / "carry-status.txt").read_text():
        yield f"stead-sync carry status: {told!r}"
    run("stead-sync carry run carry.toml")
    if run("stead locate data.map --carry frank").count("\t") != 2:
        yield "the carry could not be closed"
    kept = made.items(run)
    if kept != made.wanted(run):
        yield f"after the carry the items are {kept}"


def check_json(archive, run):
    """Every verb gives every value that it gave, with the same types."""
    schemas = json.loads((archive / "schemas.json").read_text())
    shutil.copytree(archive / "files", run.place / "json-files")
    for name, (question, old) in schemas.items():
        lost = missing(old, schema(run(question.replace("FILES", "json-files"))))
        if lost:
            yield f"{name}: {question}: its JSON has lost {', '.join(lost[:5])}"
    control = dict(schemas["show"][1])
    control[".left_out"] = ["str"]
    if missing(control, schemas["show"][1]) != [".left_out"]:
        yield "the control: a value that is gone was not missed"


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
    made.site(run, archive / "carry", place="later")
    journal = run.place / "later/data.map.carry"
    journal.write_bytes(journal.read_bytes() + made.line("weigh a 7"))
    lines.append((run("stead-sync carry run later/carry.toml", code=65), journal))
    for said, file in lines:
        if not re.fullmatch(r"[^\n]*newer[^\n]*\n", said) or file.name not in said:
            yield f"{file.name}: the refusal is {said!r}"


CHECKS = [
    check_maps,
    check_histories,
    check_plans,
    check_journals,
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

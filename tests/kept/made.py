"""Makes an archive: maps with each feature, adopted rings, what they answer, and the JSON of each
verb. carries.py adds the carries.
"""

import json
import shutil

import carries
import questions
from questions import FLEETS, JSON, NEXT, QUESTIONS, RINGS


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def archive(run, schema):
    """Makes an archive in the directory of the programs."""
    top, files = run.place / "archive", run.place / "archive/files"
    maps(run, files)
    rings(run, files)
    for lock in files.glob("*.lock"):
        lock.unlink()
    carries.begun(run, top)
    answers = {
        str(path.relative_to(top)): answers_of(run, path)
        for path in sorted([*files.glob("*.map"), *top.glob("carries/*/data.map")])
    }
    write(top / "answers.json", json.dumps(answers, indent=1) + "\n")
    for history in sorted(files.glob("*.history")):
        name = history.name.removesuffix(".history")
        said = run(f"stead history archive/files/{name} --json")
        write(top / "json" / f"history-{name}.json", said)

    shutil.copytree(files, run.place / "files")
    schemas = {}
    for name in JSON:
        question, said = asked(run, name)
        write(top / "json" / f"{name}.json", said)
        schemas[name] = [question, schema(said)]
    write(top / "schemas.json", json.dumps(schemas, indent=1) + "\n")


def asked(run, name, question=None):
    """Asks a question of JSON; returns it and what was said."""
    question = question or JSON[name]
    command = question.replace("FILES", "files")
    ends = int(name in questions.ENDS_WITH_1)
    return question, run(command, code=ends, output=True)


def answers_of(run, path):
    """{question: answer} of a map."""
    return {q: run(f"stead {q.replace('MAP', str(path))}") for q in QUESTIONS}


def maps(run, files):
    """Makes the maps of fleets, and those that a change has left in the middle."""
    of = lambda name: f"archive/files/{name}"
    for name, fleets in FLEETS.items():
        for fleet in fleets:
            write(files / f"{name}.toml", fleet)
            run(f"stead apply {of(name)}.toml {of(name)}.map")
    write(files / "next.toml", NEXT)
    write(files / "access.log", "frank\t40\nbob\t7\nerin\t3\njustin\n")
    write(files / "names.txt", "frank\nbob\nerin\njustin\n")
    write(files / "carried.toml", FLEETS["plain"][0])
    run(f"stead apply {of('carried.toml')} {of('carried.map')}")
    run(f"stead apply {of('next.toml')} {of('carried.map')} --carry")
    stepped = f"{of('stepped.toml')} {of('stepped.map')}"
    write(files / "stepped.toml", FLEETS["copies"][0])
    run(f"stead apply {stepped}")
    write(files / "stepped.toml", FLEETS["copies"][0].replace("1.5", "9"))
    run(f"stead apply {stepped} --max-move 5%")
    plan = f"stead plan {of('next.toml')} {of('grown.map')}"
    run(f"{plan} -o {of('next.plan')}")
    run(f"{plan} --carry -o {of('next-carry.plan')}")


def rings(run, files):
    """Makes the maps of rings, and grows one of them."""
    for name, (kind, servers, settings) in RINGS.items():
        write(files / f"{name}.servers", servers)
        to = f"-o archive/files/{name}.map --fleet archive/files/{name}.toml"
        run(f"stead ring {kind} archive/files/{name}.servers {settings} {to}")
    adopted = (files / f"{questions.ADOPTED}.toml").read_text()
    write(files / "ring-grown.toml", adopted + questions.MORE)
    shutil.copy(files / f"{questions.ADOPTED}.map", files / "ring-grown.map")
    run("stead apply archive/files/ring-grown.toml archive/files/ring-grown.map")
    # as keys were seen on its servers, one of them elsewhere
    keys = [f"user/{i}" for i in range(20)]
    lines = run(f"stead locate archive/files/{questions.ADOPTED}.map {' '.join(keys)}")
    seen = lines.replace("10.0.0.1:11211", "10.0.0.3:11211", 1)
    assert seen != lines
    write(files / "observed.tsv", seen)

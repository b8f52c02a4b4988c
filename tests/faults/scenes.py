"""The scenes of the campaign: a directory with a fleet and maybe a map, one command that
changes it, and the commands that come after it.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

TARGET = "m.map"
PLAN = "saved.plan"
# more epochs than the history keeps, so that the next apply removes one
MANY = 33

# the same bytes at each run, and no name of this machine
ENV = {"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "0", "USER": "u", "HOSTNAME": "h"}


@dataclass
class Scene:
    """A command, the directory that it starts from, and what a run without a fault
    leaves. `old` and `new` are the bytes of `target` before and after it, and `end` has
    the map and its epochs after the commands that follow.
    """

    name: str
    start: str
    command: list
    after: list
    target: str = TARGET
    old: bytes = None
    new: bytes = None
    end: dict = field(default_factory=dict)
    before: list = field(default_factory=list)
    # what writes the directory's own path into its files, and what judges it, where that
    # is not verdict.judged
    settle: object = None
    judge: object = None


def read(path):
    """Returns the bytes of a file, or None when there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def kept(directory):
    """Returns the map and the epochs that are kept."""
    files = {TARGET: read(os.path.join(directory, TARGET))}
    history = os.path.join(directory, TARGET + ".history")
    for name in sorted(os.listdir(history)) if os.path.isdir(history) else []:
        if re.fullmatch(r"\d+", name):
            files[name] = read(os.path.join(history, name))
    return files


def must(command, cwd):
    """Runs a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, env=ENV, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}: {done.stderr}")


def made(root, stead, store):
    """Makes the scenes below a directory. Without `store`, the program in C, those of the
    library are left out.
    """
    apply = lambda nodes, *more: [stead, "apply", f"f{nodes}.toml", TARGET, *more]
    carry = lambda epoch: [stead, "carry", TARGET, "next", "--confirmed", str(epoch)]
    back_again = ["--allow", "take-back"]
    many = [apply(3 - i % 2, *back_again) for i in range(MANY)]
    carried = [apply(2), apply(3, "--carry")]
    planned = [apply(2), [stead, "plan", "f4.toml", TARGET, "-o", PLAN]]
    plan = [stead, "plan", "f3.toml", TARGET, "-o", PLAN]
    built = [apply(2), ["cp", TARGET, "old.map"], apply(3), ["cp", TARGET, "new.map"]]
    alone = ["rm", "-r", TARGET + ".history", TARGET + ".lock"]
    back = [*built, ["cp", "old.map", TARGET], alone]
    scenes = [
        ("first apply", [], apply(2), [apply(3)]),
        ("apply", [apply(2)], apply(3), [apply(4)]),
        ("apply and prune", many, apply(2, *back_again), [apply(4, *back_again)]),
        (
            "rollback",
            [apply(2), apply(3)],
            [stead, "rollback", TARGET, "1"],
            [apply(4, *back_again)],
        ),
        ("plan -o", planned, plan, [[stead, "apply", PLAN, TARGET]]),
        ("carry next", carried, carry(2), [carry(3)]),
    ]
    if store:
        save, publish = [store, "save", "new.map", TARGET], [store, "publish"]
        scenes += [
            ("save (C)", back, save, [[store, "save", "old.map", TARGET]]),
            (
                "publish (C)",
                back,
                [*publish, "new.map", "old.map", TARGET],
                [apply(4)],
            ),
        ]
    # writes in place, so a kill or an error tears the map
    scenes.append(("control: cp", back, ["cp", "new.map", TARGET], [apply(4)]))
    return [scene(root, *parts) for parts in scenes]


def scene(root, name, prepare, command, after):
    """Makes one scene: its directory, and what a run without a fault leaves."""
    start = os.path.join(root, "start-" + re.sub(r"\W+", "-", name))
    os.mkdir(start)
    for nodes in range(2, 5):
        text = "".join(f'[[node]]\nname = "n{i}"\n' for i in range(nodes))
        with open(os.path.join(start, f"f{nodes}.toml"), "w", encoding="utf-8") as file:
            file.write(f'name = "m"\nreplicas = 2\n{text}')
    for step in prepare:
        must(step, start)
    made = Scene(name, start, command, after, PLAN if name == "plan -o" else TARGET)
    made.before = sorted(os.listdir(start))
    made.old = read(os.path.join(start, made.target))
    with_new = f"{start}-new"
    shutil.copytree(start, with_new)
    must(command, with_new)
    made.new = read(os.path.join(with_new, made.target))
    assert made.new not in (None, made.old), name
    for step in after:
        must(step, with_new)
    made.end = kept(with_new)
    shutil.rmtree(with_new)
    return made

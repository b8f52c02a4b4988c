"""The scenes of stead-sync, for power cuts: a map that is pulled from a hub, and a carry of
files, whose journal says what is under way.
"""

import os
import subprocess

import verdict
from scenes import ENV, TARGET, Scene, must, scene

CARRY = "carry.toml"
KEYS = [f"key{i}" for i in range(24)]
# the directory of a key in its node
FIRST = "{a}/{key}"


def made(root, stead, sync):
    """Makes the scenes below `root`."""
    hub = os.path.join(root, "hub")
    os.mkdir(hub)
    url = f"file://{hub}/m.map"
    apply = lambda nodes, *more: [stead, "apply", f"f{nodes}.toml", TARGET, *more]
    publish = [[sync, "push", TARGET, url]]
    prepare = [apply(2), *publish, apply(3), *publish]
    # the map that the others start from was pushed before the one that they pull
    scene(os.path.join(root), "the hub", prepare[:3], apply(4), [])
    start = os.path.join(root, "start-the-hub")
    must(publish[0], start)
    pull = [sync, "pull", "--unregistered", url, TARGET]
    pulled = scene(root, "stead-sync pull", [apply(2)], pull, [apply(4)])
    return [pulled, carried(root, stead, sync)]


def located(stead, directory):
    """Returns {path below the nodes: content} as the map there places the keys."""
    done = subprocess.run(
        [stead, "locate", TARGET, *KEYS],
        cwd=directory,
        env=ENV,
        capture_output=True,
        check=True,
    )
    pairs = [line.split("\t") for line in done.stdout.decode().splitlines()]
    return {f"{node}/{key[-1]}/{key}": key for key, node in pairs}


def found(directory):
    """Returns {path below the nodes: content} of the files that are there."""
    files, nodes = {}, os.path.join(directory, "nodes")
    for place, _, names in os.walk(nodes):
        for name in names:
            path = os.path.join(place, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                files[os.path.relpath(path, nodes)] = file.read()
    return files


def carried(root, stead, sync):
    """Makes the scene of a carry: 24 files, some of which move to a third node."""
    start = os.path.join(root, "start-carry")
    os.mkdir(start)
    for count in (2, 3):
        text = "".join(f'[[node]]\nname = "n{i}"\n' for i in range(count))
        with open(os.path.join(start, f"f{count}.toml"), "w", encoding="utf-8") as file:
            file.write(f'name = "m"\n{text}')
    must([stead, "apply", "f2.toml", TARGET], start)
    for path, key in located(stead, start).items():
        there = os.path.join(start, "nodes", path)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        with open(there, "w", encoding="utf-8") as file:
            file.write(key)
    os.mkdir(os.path.join(start, "nodes", "n2"))
    os.mkdir(os.path.join(start, "hub"))
    must([sync, "push", TARGET, f"file://{start}/hub/m.map"], start)
    must([stead, "apply", "--carry", "f3.toml", TARGET], start)
    made_scene = Scene("stead-sync carry", start, [sync, "carry", "run", CARRY], [])
    made_scene.settle, made_scene.judge = settled, judged
    return made_scene


def settled(directory):
    """Writes the file of the carry, which has the paths of the directory."""
    with open(os.path.join(directory, CARRY), "w", encoding="utf-8") as file:
        file.write(
            f"map = '{TARGET}'\nurl = 'file://{directory}/hub/m.map'\ngrace = 0\n"
            f"[files]\nroot = '{directory}/nodes/{{node}}'\npattern = '{FIRST}'\n"
        )


def judged(scene, stead, directory, code):
    """Judges a carry after a cut: when it was done, every file is where the new map
    places it, and nowhere else; otherwise it goes on, and then they are.
    """
    steps = [[stead, "check", TARGET]]
    if code != verdict.DONE:
        steps += [scene.command, [stead, "check", TARGET]]
    for step in steps:
        done = subprocess.run(
            step, cwd=directory, env=ENV, capture_output=True, check=False, timeout=120
        )
        if done.returncode:
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
            return f"then {' '.join(step[1:])}: exit {done.returncode}: {said}"
    due, there = located(stead, directory), found(directory)
    if there != due:
        wrong = sorted(path for path in due | there if due.get(path) != there.get(path))
        return f"these files are not as they should be: {', '.join(wrong[:5])}"
    return ""

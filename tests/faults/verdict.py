"""Judges what a command left behind after a fault: its exit code is held against what is
on disk, and the commands that follow must work and end where they always end.
"""

import os
import subprocess

from scenes import ENV, PLAN, TARGET, kept, read

DONE, IN_PLACE = 0, 76
# codes after which the map is as it was; docs/cli.md
AS_IT_WAS = set(range(64, 79)) - {IN_PLACE}
KILLED = -9


def temporaries(directory):
    """Returns the temporary files of the map, of the plan, and of the history."""
    return [
        name
        for _, _, names in os.walk(directory)
        for name in names
        if name.endswith(".tmp")
    ]


def judged(scene, stead, directory, code, fault):
    """Returns what is wrong after a command that ended with this code; empty when all is
    as promised.
    """
    now = read(os.path.join(directory, scene.target))
    if now not in (scene.old, scene.new):
        return f"{scene.target} is torn ({len(now) if now is not None else 'no'} bytes)"
    is_new = now == scene.new
    if code in (DONE, IN_PLACE) and not is_new:
        return f"exit {code}, and {scene.target} is the old one"
    # a plan is no map; its command changes none, whatever its exit code
    if code in AS_IT_WAS and is_new and scene.target != PLAN:
        return f"exit {code}, and {scene.target} is the new one"
    if code not in AS_IT_WAS | {DONE, IN_PLACE, KILLED}:
        return f"exit {code}, which is not documented"
    wrong = left(scene, directory, code, fault)
    if code == DONE and not wrong:
        wrong = missing(scene, directory)
    return wrong or goes_on(scene, stead, directory, is_new)


def left(scene, directory, code, fault):
    """Returns which files a failed first apply left, where it could remove them."""
    if scene.old is not None or code not in AS_IT_WAS:
        return ""
    # whoever may not remove or look at a file leaves it
    if fault.name in ("unlink", "rmdir", "statx", "flock"):
        return ""
    more = sorted(set(os.listdir(directory)) - set(scene.before))
    return f"exit {code}, and it left {', '.join(more)}" if more else ""


def missing(scene, directory):
    """Returns which copy of the new map the history lacks after a success."""
    copies = {name for name, content in scene.end.items() if content == scene.new}
    lacks = copies - set(kept(directory))
    return f"exit {DONE}, and the history lacks {', '.join(lacks)}" if lacks else ""


def goes_on(scene, stead, directory, is_new):
    """Returns what is wrong with the history and with the commands that follow."""
    steps = [] if is_new else [scene.command]
    steps += scene.after
    if os.path.exists(os.path.join(directory, TARGET)):
        steps.insert(0, [stead, "history", TARGET])
    for step in steps:
        done = subprocess.run(
            step,
            cwd=directory,
            env=ENV,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            return f"then {' '.join(step[1:])}: exit {done.returncode}: {said}"
    end = kept(directory)
    if end != scene.end:
        names = {
            name for name in end | scene.end if end.get(name) != scene.end.get(name)
        }
        return f"in the end these differ: {', '.join(sorted(names))}"
    over = temporaries(directory)
    return f"in the end there are temporary files: {', '.join(over)}" if over else ""

"""Many writers of one map at once, and a reader that verifies each map that it finds:
threads, processes, and processes of other PID namespaces.
"""

import os
import re
import shutil
import subprocess
import time

from scenes import ENV, TARGET, must

SAVERS, THREADS = 4, 4


def run(command, cwd):
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=ENV,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def elsewhere():
    """Returns the words before a command that give it a PID namespace of its own, and
    why that is not possible.
    """
    words = ["unshare", "--pid", "--fork"]
    if shutil.which("unshare") and not subprocess.call(
        [*words, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ):
        return words, ""
    return None, "a PID namespace needs root and unshare (package util-linux)"


def ended(children):
    """Waits for processes; returns what those said that did not succeed."""
    wrong = []
    for child in children:
        said = child.communicate(timeout=300)[1].decode("utf-8", "replace").strip()
        if child.returncode:
            wrong.append(f"exit {child.returncode}: {said}")
    return wrong


def saves(store, scene, scratch, rounds, before):
    """Savers of one file, each with threads, and a reader. Returns how many saves there
    were, how many readings, and what is wrong.
    """
    directory = os.path.join(scratch, "saves")
    shutil.copytree(scene.start, directory)
    maps, stop = ["old.map", "new.map"], os.path.join(directory, "stop")
    reader = run([store, "reader", TARGET, *maps, "stop"], directory)
    words = [store, "savers", TARGET, *maps, str(THREADS), str(rounds)]
    wrong = ended([run([*before, *words], directory) for _ in range(SAVERS)])
    with open(stop, "wb"):
        pass
    said = reader.communicate(timeout=300)[0].decode()
    found = re.fullmatch(r"(\d+) reads, (\d+) torn\n", said)
    if not found or found[2] != "0":
        wrong.append(f"the reader: {said!r}, exit {reader.returncode}")
    over = [name for name in os.listdir(directory) if name.endswith(".tmp")]
    wrong += [f"temporary files are left: {over}"] if over else []
    shutil.rmtree(directory)
    return SAVERS * THREADS * rounds, int(found[1]) if found else 0, wrong


def applies(stead, scene, scratch, rounds, before):
    """Processes that apply to one map. Each success is one epoch, and each other one is
    a conflict. Returns how many there were, how many conflicts, and what is wrong.
    """
    directory = os.path.join(scratch, "applies")
    shutil.copytree(scene.start, directory)
    conflicts, wrong = 0, []
    for i in range(rounds):
        command = [stead, "apply", f"f{3 - i % 2}.toml", TARGET, "--allow", "take-back"]
        children = [run([*before, *command], directory) for _ in range(SAVERS)]
        for line in ended(children):
            conflicts += line.startswith("exit 75")
            wrong += [] if line.startswith("exit 75") else [line]
    must([stead, "check", TARGET], directory)
    said = subprocess.run(
        [stead, "history", TARGET],
        cwd=directory,
        env=ENV,
        capture_output=True,
        check=True,
    ).stdout.decode()
    epoch = int(re.search(r"epoch (\d+) is current", said)[1])
    if epoch != 1 + rounds:
        wrong.append(f"{rounds} changes gave epoch {epoch}")
    shutil.rmtree(directory)
    return SAVERS * rounds, conflicts, wrong


def campaign(tally, stead, store, scene, scratch, long):
    """Runs both, in one PID namespace and in several, and counts them."""
    places = [("", [])]
    words, why = elsewhere()
    if words:
        places.append((", PID namespaces", words))
    else:
        tally.without("writers of several PID namespaces", why)
    for where, before in places:
        begun = time.monotonic()
        rounds = 1000 if long else 30
        if store:
            tries, reads, wrong = saves(store, scene, scratch, rounds, before)
            seconds = time.monotonic() - begun
            note = f"  ({reads} readings)"
            tally.row(f"saves at once{where}", tries, reads, wrong, seconds, note)
        begun = time.monotonic()
        done = applies(stead, scene, scratch, 200 if long else 10, before)
        tries, conflicts, wrong = done
        seconds = time.monotonic() - begun
        note = f"  ({conflicts} conflicts)"
        tally.row(f"applies at once{where}", tries, tries, wrong, seconds, note)

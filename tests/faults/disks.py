"""Disks that are full, have no inodes left, are read-only, or limit the size of a file."""

import os
import shutil
import subprocess
import time

import verdict
from scenes import ENV
from strace import Fault

PAGES, INODES = 60, 60
# bytes; a map of these scenes has less than 3,000
SIZES = range(0, 3000, 100)
# mounts in a namespace of its own, so that no mount is left
APART = ["unshare", "--mount"]
FULL = (
    'mount -t tmpfs -o "$1" none "$2" && cp -a . "$2" || exit 99; out=$PWD; cd "$2"; shift 2; '
    '"$@"; code=$?; cd "$out" && rm -rf m.map* saved.plan .??*; cp -a "$OLDPWD/." . ; exit $code'
)
READ_ONLY = 'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind "$PWD" || exit 99; cd "$PWD"; "$@"'


def ways(command, room):
    """Returns (name, commands) for each kind of disk."""
    full = lambda option: [*APART, "sh", "-c", FULL, "sh", option, room, *command]
    yield "file size limit", [["prlimit", f"--fsize={n}", *command] for n in SIZES]
    yield "disk full", [full(f"size={n * 4}k") for n in range(1, PAGES)]
    yield "no inodes", [full(f"nr_inodes={n}") for n in range(2, INODES)]
    yield "read-only", [[*APART, "sh", "-c", READ_ONLY, "sh", *command]]


def campaign(tally, stead, scenes, scratch):
    """Runs each scene's command on each kind of disk."""
    room = os.path.join(scratch, "room")
    os.mkdir(room)
    may = subprocess.call(
        [*APART, "mount", "-t", "tmpfs", "none", room], stderr=subprocess.DEVNULL
    )
    names = ("disk full", "no inodes", "read-only") if may else ()
    for name in names:
        tally.without(name, "mounting in a namespace needs root")
    for scene in scenes:
        if scene.name.startswith("control"):
            continue
        for name, commands in ways(scene.command, room):
            if name not in names:
                on(tally, stead, scene, scratch, name, commands)


def on(tally, stead, scene, scratch, name, commands):
    """Runs one scene's command on one kind of disk."""
    begun, tries, effect, wrong = time.monotonic(), 0, 0, []
    for command in commands:
        directory = os.path.join(scratch, "disk")
        shutil.copytree(scene.start, directory)
        done = subprocess.run(
            command, cwd=directory, env=ENV, capture_output=True, check=False
        )
        # too small for the scene itself
        if done.returncode != 99:
            tries += 1
            effect += done.returncode != 0
            fault = Fault("disk", name, tries, "")
            said = verdict.judged(scene, stead, directory, done.returncode, fault)
            if said:
                wrong.append(f"{name}, try {tries}: {said} ({done.stderr.decode()})")
        shutil.rmtree(directory)
    seconds = time.monotonic() - begun
    tally.row(f"{scene.name}, {name}", tries, effect, wrong, seconds)

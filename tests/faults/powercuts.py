"""Power cuts: what each command wrote to the disk is recorded, and the disk is put back
to every moment between two writes. There the file system is mounted again, which repairs
it from its journal, and the map is judged as after a kill.

A disk keeps what was written before its last flush. Of what came after it, any sector may
be there or not: so at each moment the writes since the flush are all there, all lost, or
chosen at random, sector by sector. A sector itself is never torn.

The controls must lose what was acknowledged: a program that syncs nothing, `stead apply`
whose calls of fsync do nothing (all of them, or those of directories), and a disk that
does not flush.
"""

import os
import random
import shutil
import subprocess
import time
from dataclasses import dataclass, replace

import disk
import strace
import verdict
from scenes import ENV, PLAN
from strace import Fault

SECTOR = 512
BEGUN, ENDED = "begun", "ended"
# cuts of each scene in the short form
SAMPLE = 10
# choices at random for each moment, in the long form
CHOICES = 3


@dataclass(frozen=True)
class Kind:
    """A file system: its name, the command that makes it, the command's package in Debian,
    megabytes, and options.
    """

    name: str
    make: tuple
    package: str
    size: int
    options: str


class Unmountable(Exception):
    """Why a file system cannot be mounted after a cut."""


# Without the first two options ext4 writes a renamed file before its name, of its own
# accord; other file systems don't, and a program may not count on it.
KINDS = (
    Kind(
        "ext4", ("mkfs.ext4", "-q", "-F"), "e2fsprogs", 24, "noauto_da_alloc,commit=300"
    ),
    Kind("xfs", ("mkfs.xfs", "-q", "-f"), "xfsprogs", 300, "rw"),
)


def formatted(kind, image):
    """Makes an empty file system in a file."""
    with open(image, "wb") as file:
        file.truncate(kind.size << 20)
    disk.run(*kind.make, image)


def recorded(kind, scene, scratch, lies):
    """Runs a scene's command on a recorded disk. Returns the image that it started from,
    and the record.
    """
    image = os.path.join(scratch, "image")
    formatted(kind, image)
    clean = os.path.join(scratch, "clean")
    disk.run("cp", "--sparse=always", image, clean)
    used = disk.Disk(image, scratch, kind.options)
    try:
        directory = os.path.join(used.place, "scene")
        shutil.copytree(scene.start, directory)
        if scene.settle:
            scene.settle(directory)
        disk.run("sync", "--file-system", used.place)
        used.recorder.note(BEGUN)
        used.recorder.lies = lies
        done = subprocess.run(
            scene.command,
            cwd=directory,
            env=ENV,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        record = [*used.recorder.record, ENDED]
    finally:
        used.close()
        os.remove(image)
    if done.returncode:
        raise AssertionError(f"{scene.name}: {done.stderr.decode()}")
    return clean, record


def moments(record):
    """Returns (moment, the flush before it) for each moment after the start: the writes
    before the flush are on the disk, those between it and the moment may be.
    """
    flush, begun, found = 0, False, []
    for at, what in enumerate(record):
        if what == BEGUN:
            begun = True
            # a sync of everything came before the mark
            flush = at
        if begun:
            found.append((at, flush))
        if what is None:
            flush = at
    return [*found, (len(record), flush)]


def sectors(writes):
    """Yields the sectors of writes, in their order."""
    for offset, data in writes:
        for at in range(0, len(data), SECTOR):
            yield offset + at, data[at : at + SECTOR]


def cuts(record, chance):
    """Returns (moment, flush, how) of every cut to try."""
    found = []
    for at, flush in moments(record):
        open_writes = sum(isinstance(what, tuple) for what in record[flush:at])
        found.append((at, flush, "all"))
        if open_writes:
            found.append((at, flush, "none"))
            found += [(at, flush, chance.random()) for _ in range(CHOICES)]
    return found


def restored(clean, record, cut, image):
    """Makes the image that a cut leaves. Returns how many sectors it lost."""
    at, flush, how = cut
    disk.run("cp", "--sparse=always", clean, image)
    writes = lambda part: [what for what in part if isinstance(what, tuple)]
    kept_writes, lost = writes(record[:flush]), 0
    last = list(sectors(writes(record[flush:at])))
    if how == "all":
        kept_writes += last
    elif how != "none":
        chance = random.Random(how)
        kept_writes += [sector for sector in last if chance.random() < 0.5]
    lost = len(last) - (len(kept_writes) - len(writes(record[:flush])))
    file = os.open(image, os.O_WRONLY)
    for offset, data in kept_writes:
        os.pwrite(file, data, offset)
    os.close(file)
    return lost


def judged(scene, stead, clean, record, cut, scratch, options):
    """Mounts what a cut leaves and judges it. Returns the sectors lost, and what is
    wrong.
    """
    image, place = os.path.join(scratch, "cut"), os.path.join(scratch, "mounted")
    lost = restored(clean, record, cut, image)
    try:
        disk.mount(image, place, f"loop,{options}")
    except disk.Lacking as why:
        raise Unmountable(str(why)) from why
    try:
        directory = os.path.join(place, "scene")
        acknowledged = ENDED in record[: cut[0]]
        code = verdict.DONE if acknowledged else verdict.KILLED
        return lost, (scene.judge or by_verdict)(scene, stead, directory, code)
    finally:
        disk.run("umount", place)
        os.remove(image)


def by_verdict(scene, stead, directory, code):
    """Judges a map: `check` must read it, and then what holds after a kill."""
    path = os.path.join(directory, scene.target)
    if os.path.exists(path) and scene.target != PLAN:
        done = subprocess.run(
            [stead, "check", path], env=ENV, capture_output=True, check=False
        )
        if done.returncode:
            return f"check: exit {done.returncode}: {done.stderr.decode().strip()}"
    return verdict.judged(scene, stead, directory, code, Fault("cut", "power", 1, ""))


def chosen(every, record, chance, options, is_control):
    """Returns the cuts to try: in the short form a sample, after those at the end, where all
    must be durable. (A control needs no sample: it is done when it has lost something.)
    """
    if options.long:
        return every
    after = [cut for cut in every if cut[0] == len(record)]
    before = [cut for cut in every if cut[0] < len(record)]
    most = len(before) if is_control else min(SAMPLE, len(before))
    return after + chance.sample(before, most)


def tried(tally, kind, scene, stead, scratch, options, lies=False):
    """Makes the power cuts of one scene on one file system. A control that the short form
    has seen to lose something is done.
    """
    begun, chance = time.monotonic(), random.Random(options.seed)
    clean, record = recorded(kind, scene, scratch, lies)
    is_control = lies or scene.name.startswith("control")
    wrong, unmountable, effect, tries = [], [], 0, 0
    every = cuts(record, chance)
    for cut in chosen(every, record, chance, options, is_control):
        if is_control and wrong and not options.long:
            break
        tries += 1
        where = f"cut at {cut[0]} of {len(record)}, kept {cut[2]}"
        try:
            lost, said = judged(scene, stead, clean, record, cut, scratch, kind.options)
        except Unmountable as why:
            unmountable.append(f"{where}: the file system cannot be mounted: {why}")
            continue
        # a cut after the last write counts only if something was lost with the memory
        effect += lost > 0 or cut[0] < len(record) or bool(said)
        if said:
            wrong.append(f"{where}: {said}")
    os.remove(clean)
    lying = ", disk lies" if lies else ""
    name = f"{scene.name}, {kind.name} cut{lying}"
    seconds = time.monotonic() - begun
    if is_control:
        # a disk that lies may break the file system, too, which shows nothing of the judge
        blind = [] if wrong else ["no lost or torn map was found"]
        note = f"  (a control: {len(wrong)} lost or torn maps found)"
        tally.row(name, tries, effect, blind, seconds, note)
        return
    flushes = sum(what is None for what in record[record.index(BEGUN) :])
    wrong += unmountable
    tally.row(name, tries, effect, wrong, seconds, f"  ({flushes} flushes)")


def controls(all_scenes):
    """Returns commands whose calls of fsync do nothing: all those of `apply`, and that of
    the directory where the library saves a map. (After it, `apply` syncs other files, too,
    and ext4 then also writes the directory.)
    """
    if strace.why_not():
        return []
    calm = ["strace", "-f", "-o", os.devnull, "-e", "trace=fsync,fdatasync"]
    calm += ["-e", "inject=fsync,fdatasync:retval=0"]
    wanted = {
        "apply": ("no fsync", calm),
        "save (C)": ("no fsync of a directory", [*calm, "-P", "."]),
    }
    made = []
    for scene in all_scenes:
        if scene.name in wanted:
            what, words = wanted[scene.name]
            command = [*words, *scene.command]
            made.append(replace(scene, name=f"control: {what}", command=command))
    return made


def why_not():
    """Returns why there can be no power cuts here; empty when there can."""
    if os.geteuid() != 0:
        return "loop devices and mounts need root"
    if not os.access("/dev/fuse", os.W_OK):
        return "there is no /dev/fuse"
    if not disk.has("losetup"):
        return "losetup is missing (package mount)"
    try:
        disk.apart()
    except disk.Lacking as why:
        return str(why)
    return ""


def lacking(kind, scratch):
    """Returns why this file system cannot be made and mounted on a recorded disk; empty
    when it can. What fails after this is a failure.
    """
    if not disk.has(kind.make[0]):
        return f"{kind.make[0]} is missing (package {kind.package})"
    image = os.path.join(scratch, "image")
    try:
        formatted(kind, image)
        disk.Disk(image, scratch, kind.options).close()
    except disk.Lacking as why:
        return str(why)
    finally:
        if os.path.exists(image):
            os.remove(image)
    return ""


def campaign(tally, stead, all_scenes, scratch, options):
    """Makes the power cuts of all scenes."""
    why = why_not()
    if why:
        tally.without("power cuts", why)
        return
    scenes = [*all_scenes, *controls(all_scenes)]
    for kind in KINDS:
        place = os.path.join(scratch, "cuts-" + kind.name)
        os.mkdir(place)
        why = lacking(kind, place)
        if why:
            tally.without(f"power cuts, {kind.name}", why)
            continue
        for scene in scenes:
            if options.only in scene.name:
                tried(tally, kind, scene, stead, place, options)
            if scene.name == "apply" and options.only in scene.name:
                tried(tally, kind, scene, stead, place, options, lies=True)

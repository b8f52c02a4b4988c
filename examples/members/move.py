"""Carries the photos of members to a changed fleet while the site is reading them
(README.md). It needs only Python 3 and the program `stead`.

    python3 move.py begin DIRECTORY FLEET    keeps photos.map as photos.map.before, and publishes the map of the fleet
    python3 move.py carry DIRECTORY          carries the files that move; may be killed at any time, and run again
    python3 move.py end DIRECTORY            carries photos that came late, until none is left, and removes photos.map.before

Options of carry and end: --no-sync (do not wait for disks; after a power cut photos
may be missing). The environment variable STEAD names the program.

Each file is copied to MOUNT/.moving, gets its name in the new place by a hard link, and
is removed from the old place after that. So at any time it is complete in at least one
of the two places. The name is given by a link because a rename would replace a photo
that was uploaded meanwhile by the old one.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

STEAD = os.environ.get("STEAD", "stead")
DIGITS = re.compile(rb"[0-9]+\Z")
# the file names of paths; to get the key, replace each =xx by the byte that it stands
# for
NAME = re.compile(rb"(?:[a-z0-9_]|=[0-9a-f]{2})+\Z|=\Z")


def stead(*arguments, **options):
    """Returns what the program prints. If it fails, prints its error messages and exits
    with its exit code. (The program shows no progress, since its output is not a
    terminal here.)
    """
    try:
        done = subprocess.run(
            [STEAD, *arguments],
            capture_output=True,
            check=False,
            **options,
        )
    except OSError as error:
        sys.exit(
            f"move: {STEAD}: {error.strerror}; say in the environment's STEAD where the program is"
        )
    if done.returncode:
        sys.stderr.write(done.stderr.decode("utf-8", "replace"))
        sys.exit(done.returncode)
    return done.stdout


def key_of(name):
    """Returns the key for a file name."""
    return (
        b""
        if name == b"="
        else re.sub(rb"=(..)", lambda found: bytes.fromhex(found[1].decode()), name)
    )


def mounts(map):
    """Returns {node: its mount} of a map. Each mount has a file .node with the name of
    its node, so that an unmounted NAS does not look like an empty one.
    """
    shown = json.loads(stead("show", map, "--json"))
    if shown["replicas"] != 1:
        sys.exit(
            f"move: {map} has {shown['replicas']} replicas; this program moves maps of one"
        )
    found = {}
    for node in shown["nodes"]:
        mount = node["attributes"].get("mount") or sys.exit(
            f"move: {map}: node {node['name']} has no attribute `mount`; add it to the fleet"
        )
        try:
            with open(os.path.join(mount, ".node"), encoding="utf-8") as file:
                name = file.read().strip()
        except FileNotFoundError:
            sys.exit(
                f"move: {mount}/.node is missing: mount {node['name']} there, and "
                "write its name into this file once"
            )
        if name != node["name"]:
            sys.exit(
                f"move: {mount}/.node says `{name}`, and {map} says that "
                f"{node['name']} is mounted there"
            )
        found[node["name"]] = os.fsencode(mount)
    return found


# ---- carrying


def sync_directory(path):
    """Waits until the names in a directory are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(path, sync):
    """Does the same as os.makedirs, and waits until the new names are on disk."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_directories(os.path.dirname(path), sync)
        return make_directories(path, sync)
    if sync:
        sync_directory(os.path.dirname(path))


def carry_file(old, new, spare, sync):
    """Carries one file. Returns False if its owner has removed it meanwhile. `spare` is
    a temporary name on the file system of `new`.
    """
    # a file that a killed run left; it is removed and not overwritten, since it may be
    # a second name of a file in its new place
    if os.path.lexists(spare):
        os.unlink(spare)
    try:
        source = open(old, "rb")  # noqa: SIM115  closed by the `with` below
    except FileNotFoundError:
        return False
    with source, open(spare, "xb") as copy:
        shutil.copyfileobj(source, copy)
        shutil.copystat(source.fileno(), spare)
        if sync:
            copy.flush()
            os.fsync(copy.fileno())
    try:
        try:
            os.link(spare, new)
        except FileNotFoundError:
            make_directories(os.path.dirname(new), sync)
            os.link(spare, new)
    except FileExistsError:
        # carried by a run that was killed here, or uploaded since then: the existing
        # file is newer
        pass
    if sync:
        sync_directory(os.path.dirname(new))
    os.unlink(old)  # not before the new file is on disk
    os.unlink(spare)
    return True


def listed(directory):
    """Returns the sorted names in a directory; none if it does not exist."""
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def photos(mount, first):
    """Returns the photos below a directory of the first level, as {key: path below the
    mount}, and the number of other files there.
    """
    found, others = {}, 0
    for second in listed(os.path.join(mount, first)):
        for third in listed(os.path.join(mount, first, second)):
            for name in listed(os.path.join(mount, first, second, third)):
                if NAME.match(name):
                    found[key_of(name)] = os.path.join(first, second, third, name)
                else:
                    others += 1
    return found, others


def moving(old_map, new_map, keys):
    """Returns (from, to, key) of the keys that move. Only this function asks stead
    which they are.
    """
    said = stead(
        "diff",
        old_map,
        new_map,
        "--keys",
        "-0",
        input=b"".join(key + b"\0" for key in keys),
    )
    return [record.split(b"\t", 2) for record in said.split(b"\0")[:-1]]


def carry(old_map, new_map, sync, show):
    """Carries all files that move, and returns their number."""
    old, new = mounts(old_map), mounts(new_map)
    for node in old.keys() & new.keys():
        if old[node] != new[node]:
            sys.exit(
                f"move: {node} is mounted at {os.fsdecode(old[node])} in the map "
                f"before, and at {os.fsdecode(new[node])} now: keep it"
            )
    moves = json.loads(stead("diff", old_map, new_map, "--json", "--moves"))["moves"]
    carried = others = 0
    for source in sorted({move["from"] for move in moves}):
        directories = [name for name in listed(old[source]) if DIGITS.match(name)]
        for number, first in enumerate(directories, 1):
            found, strangers = photos(old[source], first)
            others += strangers
            show(
                f"{source}  directory {number} of {len(directories)}  {carried:,} files carried"
            )
            for held, to, key in moving(old_map, new_map, found):
                if held.decode() != source:  # not where the old map says
                    others += 1
                    continue
                path, target = found[key], new[to.decode()]
                carried += carry_file(
                    os.path.join(old[source], path),
                    os.path.join(target, path),
                    os.path.join(target, b".moving"),
                    sync,
                )
                show(
                    f"{source}  directory {number} of {len(directories)}  {carried:,} files carried"
                )
    # a copy stays here if a run was killed and the owner then removed the file
    for mount in new.values():
        if os.path.lexists(os.path.join(mount, b".moving")):
            os.unlink(os.path.join(mount, b".moving"))
    show(
        f"{carried:,} files carried"
        + (f", {others:,} that are no member's there left alone" if others else ""),
        last=True,
    )
    return carried


# ---- the three steps


def begin(now, before, fleet, allow):
    """Publishes the map of the fleet, and keeps the old map beside it. `allow` are the
    words of guards that may not stop it.
    """
    current = lambda path: json.loads(stead("show", path, "--json"))["digest"]
    if os.path.exists(before) and current(before) != current(now):
        sys.exit(
            f"move: {before} is there, so a move is under way: carry and end it first"
        )
    with tempfile.TemporaryDirectory() as scratch:
        trial = os.path.join(scratch, "photos.map")
        shutil.copyfile(now, trial)
        said = stead("apply", fleet, trial)
        if current(trial) == current(now):
            if os.path.exists(before):
                os.unlink(before)
            print(said.decode(), end="")
            return
        mounts(
            trial
        )  # fails unless all are mounted; readers do not know the new map yet
    # a guard is asked before anything is written here
    for found in json.loads(stead("plan", fleet, now, "--json")).get("guards", []):
        if found["guard"] not in allow.split(","):
            sys.exit(
                f"move: {found['finding']}; nothing was changed; if you mean it, add "
                f"--allow {found['guard']}"
            )
    # in this order, and each by a rename: a reader that sees the new map also finds the
    # old one
    shutil.copyfile(now, before + ".new")
    with open(before + ".new", "rb") as file:
        os.fsync(file.fileno())
    os.replace(before + ".new", before)
    sync_directory(os.path.dirname(before) or ".")
    allowed = ["--allow", allow] if allow else []
    sys.stdout.buffer.write(stead("apply", fleet, now, *allowed))


def end(now, before, sync, show):
    """Removes the old map, once nothing is left in old places."""
    while carry(before, now, sync, show):
        pass
    os.unlink(before)


class Show:
    """Shows progress: on a terminal at most ten times per second, in one line;
    elsewhere only the last line.
    """

    def __init__(self):
        self.shown, self.live = 0.0, sys.stderr.isatty()

    def __call__(self, text, last=False):
        if last or self.live and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            print(
                ("\r\x1b[K" if self.live else "") + text,
                end="\n" if last else "",
                file=sys.stderr,
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(
        description="carries the photos of members to a changed fleet",
        epilog="README.md says when to do what",
    )
    parser.add_argument("step", choices=["begin", "carry", "end"])
    parser.add_argument("directory", help="where photos.map is")
    parser.add_argument("fleet", nargs="?", help="for begin: the new fleet")
    parser.add_argument(
        "--no-sync",
        action="store_true",
        help="do not wait for disks; after a power cut photos may be missing",
    )
    parser.add_argument(
        "--allow",
        metavar="WORDS",
        default="",
        help="for begin: what the guards of `stead apply` may not refuse",
    )
    arguments = parser.parse_args()
    if (arguments.step == "begin") != (arguments.fleet is not None):
        parser.error("begin, and only begin, needs a fleet")
    now = os.path.join(arguments.directory, "photos.map")
    before = now + ".before"
    if not os.path.exists(now):
        sys.exit(
            f"move: {now} is not there; `stead apply FLEET {now}` makes the first map"
        )
    with open(now + ".moving", "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"move: another move.py works on {arguments.directory}")
        if arguments.step == "begin":
            begin(now, before, arguments.fleet, arguments.allow)
        elif not os.path.exists(before):
            sys.exit(
                f"move: there is no {before}, so no move is under way; `move.py begin` begins one"
            )
        elif arguments.step == "carry":
            carry(before, now, not arguments.no_sync, Show())
        else:
            end(now, before, not arguments.no_sync, Show())


try:
    main()
except OSError as failed:
    sys.exit(
        f"move: {os.fsdecode(failed.filename2 or failed.filename or 'a file')}: "
        f"{failed.strerror}; no photo is lost: put it right and run this step again"
    )
except KeyboardInterrupt:
    sys.exit("\nmove: stopped; no photo is lost: run this step again")

"""The commands of a carry in batches, for boxes that are files: keys on standard input,
what failed on standard output.

    python3 batch_tool.py ROOTS list|copy|verify|remove
"""

import filecmp
import os
import shutil
import sys
from pathlib import Path

roots, verb = Path(sys.argv[1]), sys.argv[2]
source = roots / os.environ["STEAD_FROM"]
target = roots / os.environ.get("STEAD_TO", "")


def written(key):
    return key.replace("\\", "\\\\").replace("\n", "\\n")


def read(line):
    parts = line.split("\\\\")
    return "\\".join(part.replace("\\n", "\n") for part in parts)


def code(key):
    """What became of a key."""
    here, there = (root / key[-2:] / key for root in (source, target))
    if verb == "remove":
        here.unlink(missing_ok=True)
        return 0
    if verb == "verify":
        if not (here.exists() and there.exists()):
            return {(1, 0): 2, (0, 1): 3, (0, 0): 4}[here.exists(), there.exists()]
        return 0 if filecmp.cmp(here, there, shallow=False) else 1
    # each key is busy when it is copied for the first time
    mark = roots.parent / "busy" / key.encode().hex()
    if not mark.exists():
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        print("some are busy", file=sys.stderr)
        return 75
    if (roots.parent / "broken" / key.encode().hex()).exists():
        print("no such box", file=sys.stderr)
        return 9
    there.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(here, there)
    return 0


if verb == "list":
    for path in source.glob("*/[!.]*"):
        print(written(path.name))
else:
    keys = [read(line.removesuffix("\n")) for line in sys.stdin]
    with open(roots.parent / f"calls-{verb}", "a") as calls:
        calls.write(f"{len(keys)}\n")
    for key in keys:
        if number := code(key):
            print(number, written(key))

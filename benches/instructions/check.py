#!/usr/bin/env python3
"""Counts the instructions of fixed work under callgrind, and compares them with the
counts that are recorded in counts.json. `make test` runs it.

A count is exact and does not depend on how busy the machine is, so it shows a small loss
that no clock would show. It depends on the compiler, however: under another toolchain
than the recorded one the comparison is only printed.

    check.py             fails when a count has grown by more than 5 %
    check.py --record    writes counts.json
    check.py --show      prints the counts and compares nothing
"""

import argparse
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
sys.path.insert(0, str(ROOT / "tests"))

import built

RECORD = HERE / "counts.json"
# callgrind knows no AVX-512, and no SHA-NI
KERNELS = ("scalar", "portable", "sse2", "avx2")
MOST = 0.05  # what a count may grow by
PLANTED = 10  # percent more keys, which must be seen


class Skip(Exception):
    """Why nothing can be counted here."""


def program():
    """Builds the program of the cases together with what is shipped, so that nothing is
    built twice; returns its path.
    """
    for message in built.messages([*built.RELEASE, "-p", "stead-instructions"]):
        if message.get("target", {}).get("name") == "instructions":
            return message["executable"]
    raise AssertionError("cargo names no program")


def toolchain():
    """What the counts depend on besides the source."""
    version = lambda *command: (
        subprocess.run(
            command, stdout=subprocess.PIPE, encoding="utf-8", check=True
        ).stdout
    )
    rustc = version(os.environ.get("RUSTC", "rustc"), "-vV")
    return {
        "rustc": rustc.partition("\n")[0],
        "host": re.search(r"^host: (.*)$", rustc, re.MULTILINE)[1],
        "libc": "-".join(os.confstr("CS_GNU_LIBC_VERSION").split()),
    }


def inclusive(profile):
    """{name of a case: instructions of its calls and all that they call}, from the text
    of a profile. There a call is the lines `cfn=(NUMBER) NAME`, `calls=...` and
    `POSITION COST`; the name is left out where the number is known.
    """
    names, counts, called, next_is_cost = {}, {}, None, False
    for line in profile.splitlines():
        if match := re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line):
            if match[2]:
                names[match[1]] = match[2]
            if line.startswith("c"):
                called = names[match[1]]
        elif line.startswith("calls="):
            next_is_cost = True
        elif next_is_cost:
            next_is_cost = False
            if called.startswith("case_"):
                counts[called] = counts.get(called, 0) + int(line.split()[1])
    return counts


def count(path, kernel, *arguments):
    """Runs the cases with a kernel; returns {"KERNEL CASE": instructions}."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        done = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"),
                *(path, *arguments),
            ],
            env=dict(os.environ, STEAD_KERNEL=kernel),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            sys.exit(f"stead: under callgrind, {kernel}: {done.stdout[-1000:]}")
        # the library ignores the name of a kernel that it does not have
        assert f"kernel {kernel}\n" in done.stdout, done.stdout
        found = inclusive(profile.read_text(encoding="utf-8"))
    # one and many, for three hashes; the compiler could make one case of several
    assert len(found) == 6, sorted(found)
    return {
        f"{kernel} {name.removeprefix('case_').replace('_', ' ')}": taken
        for name, taken in sorted(found.items())
    }


def kernels():
    """The kernels that can be counted on this machine."""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    if os.uname().machine != "x86_64":
        raise Skip("the recorded kernels are those of x86-64")
    flags = re.search(
        r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
    )[1]
    return [name for name in KERNELS if name != "avx2" or "avx2" in flags.split()]


def grown(recorded, counted, most=MOST):
    """The counts that have grown too much, and the cases that only one of the two has, as
    lines; an empty list if all is well.
    """
    lines = []
    for name, before in recorded.items():
        now = counted.get(name)
        if now is None:
            lines.append(f"{name}: recorded, but not counted any more")
        elif now > before * (1 + most):
            more = 100 * (now / before - 1)
            lines.append(f"{name}: {now:,} instructions, {more:.1f} % above {before:,}")
    lines += [
        f"{name}: counted, but not recorded" for name in counted if name not in recorded
    ]
    return lines


def compared(recorded, counted):
    """Yields a line for each count: now, before, and the difference."""
    for name, now in counted.items():
        before = recorded.get(name)
        change = f"{100 * (now / before - 1):+7.2f} %" if before else "new"
        yield f"{name:<22} {now:>12,} {before or 0:>12,} {change:>10}"


def differences(before, now):
    """How a toolchain differs from the recorded one; empty if it does not."""
    return [
        f"{now[name]} (recorded: {was})"
        for name, was in before.items()
        if now[name] != was
    ]


def check(path, names):
    """Compares; returns (passed, failed, skipped)."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    recorded = {
        name: was for name, was in record["counts"].items() if name.split()[0] in names
    }
    counted = {}
    for kernel in names:
        counted.update(count(path, kernel))
    print("\n".join(compared(recorded, counted)))
    # the same work with more keys: what comes out must be seen as a growth
    kernel = names[0]
    before = {name: n for name, n in counted.items() if name.split()[0] == kernel}
    seen = grown(before, count(path, kernel, str(PLANTED)))
    control = int(len(seen) == len(before))
    if not control:
        print(
            f"FAIL: a planted growth of {PLANTED} % is seen in {len(seen)} of {len(before)}"
        )
    if other := differences(record["toolchain"], toolchain()):
        print(f"skipped: the counts are of another toolchain: {'; '.join(other)}")
        return control, 1 - control, len(recorded)
    wrong = grown(recorded, counted)
    for line in wrong:
        print(f"FAIL: {line}")
    if wrong:
        print("when the growth is wanted: benches/instructions/check.py --record")
    return control + max(0, len(recorded) - len(wrong)), 1 - control + len(wrong), 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    try:
        names = kernels()
    except Skip as why:
        print(f"skipped: {why}\n0 passed, 0 failed, 1 skipped")
        return 0
    path = program()
    if not (options.record or options.show):
        passed, failed, skipped = check(path, names)
        absent = [name for name in KERNELS if name not in names]
        if absent:
            print(f"skipped: this processor has no {', '.join(absent)}")
        print(f"{passed} passed, {failed} failed, {skipped + len(absent)} skipped")
        return int(failed > 0)
    counted = {}
    for kernel in names:
        counted.update(count(path, kernel))
    for name, taken in counted.items():
        print(f"{name:<22} {taken:>12,}")
    if options.record:
        if names != list(KERNELS):
            sys.exit("stead: record on a processor that has all of these kernels")
        text = json.dumps({"toolchain": toolchain(), "counts": counted}, indent=2)
        RECORD.write_text(text + "\n", encoding="utf-8")
        print(f"wrote {RECORD.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

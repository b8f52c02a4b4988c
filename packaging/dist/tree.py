"""The source tree that the packages are made from: its version, its files, its time, and
the directories that everything is built in.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.abspath(
    os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
)
# what is handed out
OUT = os.path.join(TARGET, "dist")
# what is kept from one run to the next: systems, tools, and the objects of compilers
WORK = os.path.join(TARGET, "dist-work")
CARGO = os.environ.get("CARGO", "cargo")


def say(text):
    """Prints what is being done."""
    print(f"== {text}", flush=True)


def fail(text):
    """Ends with a message of one line."""
    sys.exit(f"stead: {text}")


def read(*path):
    """Returns the text of a file of the tree."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def run(command, cwd=ROOT, **environment):
    """Runs a command and returns its output; shows the end of it only on failure."""
    done = subprocess.run(
        command,
        cwd=cwd,
        # a make that runs this script hands its own options on
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
        | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-60:]), file=sys.stderr)
        fail(f"'{' '.join(command)[:200]}' failed; the reason is above")
    return done.stdout


def version():
    """Returns the version of the workspace."""
    return re.search(r'^version = "([^"]+)"', read("Cargo.toml"), re.MULTILINE)[1]


def files(*paths):
    """Returns the files that git tracks, at or below the paths; all without a path."""
    listed = run(["git", "ls-files", "-z", "--", *paths]).split("\0")
    return sorted(
        name for name in listed if name and os.path.lexists(os.path.join(ROOT, name))
    )


def changed():
    """Whether a tracked file differs from the commit. The packages have the file as it
    is."""
    return bool(run(["git", "status", "--porcelain", "-uno"]).strip())


def time():
    """Returns the time of the last commit in seconds since 1970. Every package has this
    time, however often and wherever it is built: see reproducible-builds.org.
    """
    return int(
        os.environ.get("SOURCE_DATE_EPOCH") or run(["git", "log", "-1", "--format=%ct"])
    )


# read by cargo-cyclonedx, dpkg, gzip, PEAR and others
os.environ["SOURCE_DATE_EPOCH"] = str(time())

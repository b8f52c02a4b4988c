"""Shared by the parts of the C suite: counting, commands with a time limit, compiling."""

import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
INCLUDE = os.path.join(ROOT, "include")
MAPS = os.path.join(ROOT, "tests", "maps")
# Seconds after which a program counts as hanging. The longest, under valgrind, takes a minute and a
# half on an idle machine, and at a load of 27 it took more than five minutes.
PATIENCE = 1200


class Part:
    """A part of the suite and its counts. Its output is printed when it is done, because
    parts run at the same time.
    """

    def __init__(self, name):
        self.name, self.lines = name, []
        self.passed = self.failed = self.skipped = 0

    def that(self, sentence, ok, detail=""):
        """Counts a check."""
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            self.say(
                f"FAILED: {sentence}"
                + "".join(f"\n    {line}" for line in str(detail).splitlines()[-25:])
            )
        return ok

    def equal(self, sentence, got, wanted):
        """Counts a check that two things are the same."""
        return self.that(sentence, got == wanted, f"got {got!r}\nwanted {wanted!r}")

    def without(self, reason):
        """Counts a check that is not possible here."""
        self.skipped += 1
        self.say(f"skipped: {reason}")

    def say(self, line):
        """Adds a line to the output."""
        self.lines.append(line)

    def program(self, sentence, done):
        """Adds the counts of one of our programs, which must have succeeded and skipped
        nothing.
        """
        found = re.findall(
            r"^(\d+) passed, (\d+) failed, 0 skipped$", done.text, re.MULTILINE
        )
        if not found or done.code != (int(found[-1][1]) > 0):
            return self.that(sentence, False, f"exit {done.code}: {done.told[-3000:]}")
        passed, failed = map(int, found[-1])
        self.passed, self.failed = self.passed + passed, self.failed + failed
        if failed:
            self.say(f"FAILED: {sentence}: {failed} checks\n{done.told[-3000:]}")
        return not failed


class Done:
    """A command that ran: its output, and its exit code, which is None when it took too
    long.
    """

    def __init__(self, command, cwd=ROOT, patience=PATIENCE, **env):
        try:
            done = subprocess.run(
                command,
                cwd=cwd,
                env=dict(os.environ, **env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=patience,
                check=False,
            )
            self.code, out = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            self.code, out = (
                None,
                (late.stdout or b"") + b"\ntook too long, and was ended",
            )
        self.text = out.decode("utf-8", "replace")

    @property
    def told(self):
        """The output for a person: without the hundreds of lines that `statuses.py` reads, in which
        the check that failed would be lost.
        """
        return re.sub(r"(?m)^saw \w+ \d+\n", "", self.text)


# the compiler of the tests: with CC=s390x-linux-gnu-gcc that of another machine
GCC = os.environ.get("CC") or "gcc"


def has(command):
    """Returns whether there is such a program."""
    return shutil.which(command) is not None


def compiled(program, sources, libraries, *options, cc=GCC):
    """Compiles and links a program of this directory, so that it finds the library where
    it is now. Returns the compiler's complaints.
    """
    command = [
        cc,
        "-std=gnu11",
        "-g",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        *options,
        "-I",
        INCLUDE,
        "-o",
        program,
        *(os.path.join(HERE, source) for source in sources),
        "-L",
        libraries,
        f"-Wl,-rpath,{libraries}",
        "-lstead",
        "-lpthread",
        "-lm",
    ]
    done = Done(command)
    return "" if done.code == 0 else done.text or "the compiler failed"


def declared():
    """Returns the functions of stead.h, in its order."""
    with open(os.path.join(INCLUDE, "stead.h"), encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return re.findall(r"\b(stead_\w+)\s*\(", text)


def new_directory(scratch, name):
    """Makes an empty directory with this name and returns its path."""
    path = os.path.join(scratch, name)
    os.mkdir(path)
    return path

"""What the campaigns need beside a stable Rust, and how they run it. Nothing is installed:
what is missing is said in one line.
"""

import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# where `cargo install --root target/tools` puts programs, which this finds, too
OWN = os.path.join(ROOT, "target", "tools", "bin")


def refuse(problem):
    """Ends the program."""
    sys.exit(f"stead: {problem}")


def said(*command):
    """What a command prints; None if it fails or is not there."""
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def nightly(*components):
    """The command that runs cargo of the nightly toolchain, which has these components."""
    listed = said(
        "rustup", "component", "list", "--toolchain", "nightly", "--installed"
    )
    have = {
        name
        for name in components
        for line in (listed or "").splitlines()
        if line == name or line.startswith(name + "-")
    }
    if listed is None or have != set(components):
        wanted = ",".join(components)
        refuse(
            f"the nightly toolchain of Rust with {wanted} is missing; install it: "
            f"rustup toolchain install nightly --component {wanted}"
        )
    return ["rustup", "run", "nightly", "cargo"]


def program(name):
    """The path of a program of cargo that is installed by itself."""
    found = shutil.which(name, path=OWN + os.pathsep + os.environ["PATH"])
    if not found:
        refuse(
            f"{name} is missing; install it: cargo install --locked --root target/tools {name}"
        )
    return found


def host():
    """The target triple of this machine."""
    return re.search(r"^host: (\S+)", said("rustc", "-vV") or "", re.MULTILINE)[1]


class Ran:
    """A command that has ended, and what it printed."""

    def __init__(self, command, **env):
        began = time.monotonic()
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.text = done.stdout.decode("utf-8", "replace")
        self.code = done.returncode
        self.seconds = time.monotonic() - began
        # only programs of tests print this line, so a failed build has no number
        counts = re.findall(
            r"^test result: .*? (\d+) passed; (\d+) failed", self.text, re.MULTILINE
        )
        self.passed = sum(int(passed) for passed, _ in counts)
        self.failed = sum(int(failed) for _, failed in counts)


class Tally:
    """Counts tests; each line that it prints is a table's row."""

    def __init__(self):
        self.passed = self.failed = 0

    def row(self, name, ran, reports):
        """Counts the tests of a run. One without a test, or with a report, has failed."""
        well = ran.code == 0 and ran.passed > 0 and not reports
        self.passed += ran.passed
        self.failed += 0 if well else max(1, ran.failed, len(reports))
        print(
            f"{name:<32} {ran.passed:>4} passed {ran.failed:>3} failed "
            f"{len(reports):>3} reports {ran.seconds:>6.1f} s",
            flush=True,
        )
        if not well:
            print("\n".join(ran.text.splitlines()[-60:]), flush=True)

    def control(self, name, ran, reports):
        """Counts a run that must fail, with a report."""
        seen = ran.code != 0 and bool(reports)
        self.passed += seen
        self.failed += not seen
        word = "reported, as it must be" if seen else "NOT REPORTED"
        print(f"{name:<32} {word} {ran.seconds:>6.1f} s", flush=True)
        if not seen:
            print("\n".join(ran.text.splitlines()[-60:]), flush=True)

    def close(self):
        """Prints the sums, and ends the program."""
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        sys.exit(1 if self.failed or not self.passed else 0)

"""Builds what the demo shows with cargo's profile "quick": the program, libstead and the
Python module, in one run of cargo. Cargo builds a crate with the features that all
packages of a run ask for. In a run of its own, the Python module would ask for other
ones, and the core would be built a second time.
"""

import atexit
import collections
import json
import os
import shutil
import subprocess
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = ["stead-cli", "stead-capi"]
# the module needs this Python or a newer one
if sys.version_info >= (3, 10):
    PACKAGES.append("stead-python")


class Build:
    """A run of cargo, whose progress is shown until `wait_for` returns."""

    def __init__(self, shown=True):
        # as maturin tells pyo3: do not link with libpython
        env = dict(
            os.environ, PYO3_BUILD_EXTENSION_MODULE="1", PYO3_PYTHON=sys.executable
        )
        if shown and sys.stderr.isatty():
            columns = shutil.get_terminal_size().columns
            env.update(CARGO_TERM_COLOR="always", CARGO_TERM_PROGRESS_WHEN="always")
            env["CARGO_TERM_PROGRESS_WIDTH"] = str(columns)
        command = [os.environ.get("CARGO", "cargo"), "build", "--profile", "quick"]
        command += ["--locked", "--keep-going"]
        command += ["--message-format", "json-render-diagnostics"]
        command += [word for package in PACKAGES for word in ("-p", package)]
        try:
            # pylint: disable-next=consider-using-with
            self.cargo = subprocess.Popen(
                command,
                cwd=ROOT,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            sys.exit(f"stead: {command[0]}: {error.strerror}")
        atexit.register(self.cargo.kill)
        self.shown = shown
        self.last = collections.deque(maxlen=4096)
        self.built, self.change = set(), threading.Condition()
        self.threads = [
            threading.Thread(target=read, daemon=True)
            for read in (self.read_artifacts, self.read_progress)
        ]
        for thread in self.threads:
            thread.start()

    def read_artifacts(self):
        """Notes which packages have their program or library."""
        for line in self.cargo.stdout:
            message = json.loads(line)
            if message.get("reason") != "compiler-artifact":
                continue
            if {"bin", "cdylib"} & set(message["target"]["kind"]):
                folder = os.path.dirname(message["manifest_path"])
                self.note(os.path.basename(folder))
        self.note(None)

    def note(self, package):
        """Notes a package that is built, or None at the end."""
        with self.change:
            self.built.add(package)
            self.change.notify_all()

    def read_progress(self):
        """Shows what cargo says, or keeps its end."""
        while part := os.read(self.cargo.stderr.fileno(), 65536):
            self.last.extend(part)
            if self.shown:
                sys.stderr.buffer.write(part)
                sys.stderr.buffer.flush()

    def wait_for(self, *packages):
        """Waits until packages are built, and shows no progress from then on. Ends the
        program if they cannot be built.
        """
        with self.change:
            self.change.wait_for(
                lambda: self.built.issuperset(packages) or None in self.built
            )
            done = self.built.issuperset(packages)
        if not done:
            self.code()
            sys.exit("stead: cargo could not build stead; the reason is above")
        self.shown = False
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    def code(self):
        """Waits for the end; returns the exit code."""
        for thread in self.threads:
            thread.join()
        return self.cargo.wait()

    def complaint(self):
        """The first line of the last error."""
        lines = bytes(self.last).decode("utf-8", "replace").splitlines()
        errors = [line for line in lines if line.startswith("error")]
        return errors[0] if errors else f"cargo ended with {self.cargo.returncode}"

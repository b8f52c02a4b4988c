"""What a user sees first: `make help` fits a screen, `make help-all` has every target, and
a machine whose cargo cannot be used is told so in one line.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "scripts" / "setup"


def make(*targets):
    """The lines that make prints."""
    command = ["make", "-s", "--no-print-directory", *targets]
    # as of a fresh shell, not of the make that runs this test
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG")}
    said = subprocess.run(
        command, cwd=ROOT, env=kept, capture_output=True, text=True, check=True
    )
    return said.stdout.splitlines()


def targets():
    """The targets of the Makefile that a user may name."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))


def named(lines):
    """The targets that a help text explains, one at the start of a line each."""
    found = [re.match(r" *make ([a-z-]+) ", line) for line in lines]
    return {match[1] for match in found if match}


def setup(cargo):
    """What scripts/setup says when `cargo` is the script that stands for cargo, or when
    there is none (None): its exit code and its lines.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "cargo"
        if cargo is not None:
            path.write_text("#!/bin/sh\n" + cargo)
            path.chmod(0o755)
        done = subprocess.run(
            [SETUP],
            env=dict(os.environ, CARGO=str(path)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.replace(str(path), "CARGO").splitlines()


class Help(unittest.TestCase):
    def test_help_fits_a_screen_and_names_only_targets(self):
        lines = make("help")
        self.assertLessEqual(len(lines), 30)
        self.assertEqual([line for line in lines if len(line) > 80], [])
        self.assertGreater(len(named(lines)), 12)
        self.assertEqual(named(lines) - targets(), set())
        self.assertEqual(make(), lines)

    def test_help_all_has_every_target(self):
        # program and setup are parts of other targets
        own = {"help", "help-all", "program", "setup"}
        self.assertEqual(targets() - own - named(make("help-all")), set())
        self.assertEqual(named(make("help-all")) - targets(), set())


class Space(unittest.TestCase):
    def test_a_full_disk_is_said_before_anything_is_built(self):
        with tempfile.TemporaryDirectory() as directory:
            df = Path(directory) / "df"
            df.write_text(
                "#!/bin/sh\necho 'Filesystem 1024-blocks Used Available'\n"
                "echo 'disk 9999999 9000000 512000'\n"
            )
            df.chmod(0o755)
            done = subprocess.run(
                [SETUP, "--tests"],
                env=dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}"),
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        for words in ("has 500 MiB free", " GiB; make room", "make clean"):
            self.assertIn(words, done.stderr)


class Cargo(unittest.TestCase):
    def refused(self, cargo, *words):
        code, lines = setup(cargo)
        self.assertEqual((code, len(lines)), (1, 1), lines)
        for word in ("stead: ", *words):
            self.assertIn(word, lines[0])

    def test_no_cargo(self):
        self.refused(None, "cargo is missing", "install Rust 1.85 or newer")

    def test_an_old_cargo(self):
        self.refused(
            "echo 'cargo 1.63.0 (fd9c4297c 2022-07-01)'",
            "stead needs cargo 1.85 or newer, and this is cargo 1.63",
            "install Rust",
        )

    def test_a_cargo_of_rustup_without_a_toolchain(self):
        self.refused(
            "echo 'error: rustup could not choose a version of cargo to run' >&2\n"
            "echo \"help: run 'rustup default stable'\" >&2\nexit 1",
            "has no toolchain",
            "rustup default stable",
        )

    def test_the_real_stub_of_rustup(self):
        stub = shutil.which("cargo")
        if not stub or not shutil.which("rustup"):
            print("skipped: rustup is not installed")
            self.skipTest("rustup is not installed")
        with tempfile.TemporaryDirectory() as empty:
            self.refused(
                f'RUSTUP_HOME={empty} RUSTUP_TOOLCHAIN= exec {stub} "$@"',
                "has no toolchain",
                "rustup default stable",
            )

    def test_a_cargo_that_fails_or_says_no_version(self):
        self.refused("echo 'no memory' >&2\nexit 1", "no memory", "install Rust")
        self.refused("echo hello", "does not say its version: hello", "install Rust")

    def test_control_a_cargo_that_is_new_enough(self):
        code, lines = setup("echo 'cargo 1.85.0 (d73d2caf9 2024-12-31)'")
        self.assertEqual((code, lines), (0, []))


if __name__ == "__main__":
    unittest.main()

"""What the tests of the page share: pages that the program makes, and a browser."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]

import browser
import built
from summary import pytest_terminal_summary  # noqa: F401  pytest calls it


class Stead:
    """The program, in a directory of its own."""

    def __init__(self, program, place):
        self.program, self.place = program, place

    def __call__(self, *arguments, stdin=None):
        """Runs the program, which must succeed; returns its output."""
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            cwd=self.place,
            capture_output=True,
            input=stdin,
            env=dict(os.environ, SOURCE_DATE_EPOCH="1795381740", LOGNAME="anna"),
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), done
        return done.stdout

    def map(self, name, fleet):
        """Makes a map, or its next epoch, of a fleet's text."""
        (self.place / f"{name}.toml").write_text(fleet, encoding="utf-8")
        self("apply", f"{name}.toml", f"{name}.map")
        return f"{name}.map"

    def page(self, *arguments):
        """Makes a page, and returns its file."""
        html = self.place / f"{'-'.join(Path(a).stem for a in arguments[:2])}.html"
        self("report", *arguments, "-o", html.name)
        return html

    def located(self, map, *arguments):
        """What `stead locate --json` says of one key."""
        return json.loads(self("locate", map, "--json", *arguments))


@pytest.fixture(scope="session")
def program():
    return os.environ.get("STEAD") or built.program()


@pytest.fixture
def stead(program, tmp_path):
    return Stead(program, tmp_path)


@pytest.fixture(scope="session")
def chromium():
    """A browser, which is opened once."""
    if not browser.find():
        pytest.skip("there is no Chromium (Debian's chromium-headless-shell)")
    with browser.Browser(1400, 900) as opened:
        yield opened


@pytest.fixture
def page(chromium):
    """The browser as every test expects it: wide, light, with scripts."""
    chromium.resize(1400, 900)
    chromium.prefers(color_scheme="light")
    chromium.call("Emulation.setScriptExecutionDisabled", value=False)
    return chromium


def fleet(nodes, *lines, replicas=3, zones=3, racks=2):
    """A fleet of nodes in zones and racks; `lines` come before its nodes."""
    spread = '["zone", "rack"]' if replicas > 1 else "[]"
    text = [
        'name = "shop"',
        f"replicas = {replicas}",
        f"spread = {spread}",
        *lines,
    ]
    for i in range(nodes):
        zone, rack = i % zones + 1, i // zones % racks + 1
        text += [
            "[[node]]",
            f'name = "db{i + 1:04}"',
            f"weight = {1 + i % 3 * 0.5}",
            f'labels = {{ zone = "z{zone}", rack = "r{rack}" }}',
            f'attributes = {{ address = "10.0.{i // 256}.{i % 256}:5432" }}',
        ]
    return "\n".join(text) + "\n"

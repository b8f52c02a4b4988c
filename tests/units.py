"""Checks units for systemd: that systemd takes them, and that the programs have the
options that they give.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).resolve().parents[1] / "packaging" / "systemd"


def check(pattern, name, program, place):
    """Checks the units that fit a pattern, with this program as the installed one."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    sources = sorted(UNITS.glob(pattern))
    assert sources
    for source in sources:
        text = source.read_text()
        assert f"ExecStart=/usr/local/bin/{name} " in text
        text = text.replace(f"/usr/local/bin/{name}", program)
        for wrong, line in ((False, ""), (True, "ProtectSystme=strict\n")):
            unit = place / source.name
            unit.write_text(text.replace("[Service]\n", f"[Service]\n{line}"))
            done = subprocess.run(
                ["systemd-analyze", "verify", "--man=no", unit],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (source.name in done.stderr) == wrong, done.stderr
        verb, *words = re.search(r"^ExecStart=\S+ (.*)$", text, re.MULTILINE)[1].split()
        usage = subprocess.run(
            [program, verb, "--help"], capture_output=True, text=True, check=True
        ).stdout
        # a comment of the unit may name options, too
        words += re.findall(r"^# OPTIONS=(\S+)", text, re.MULTILINE)
        options = [word for word in words if word.startswith("--")]
        assert options and all(f"{option} " in usage for option in options), options

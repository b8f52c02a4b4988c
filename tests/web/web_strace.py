"""strace, for the tests that count system calls: whether it can be used, and its
counts.
"""

import re
import shutil
import subprocess


def why_not():
    """Returns why strace cannot be used here; None if it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    if subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "true"],
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode:
        return "strace may not trace here"
    return None


def calls_of(file, trace):
    """Returns how often a trace has a call with the path of a file, and how often the
    file was opened.
    """
    # pid call(..., "/path/members.map", ...
    calls = re.findall(
        rf'^\d+ +(\w+)\([^"\n]*"{re.escape(str(file))}"',
        trace.read_text("utf-8", "replace"),
        re.MULTILINE,
    )
    opened = sum(call.startswith("open") for call in calls)
    return len(calls) - opened, opened

"""Whether strace can be used, for the tests that count system calls."""

import shutil
import subprocess


def why_not():
    """Why strace cannot be used here."""
    if not shutil.which("strace"):
        return "strace is not installed"
    if subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "true"],
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode:
        return "strace may not trace here"
    return None

"""The module's own tests, t/ and xt/, by prove in the copy that was built: each file counts once."""

import re
import subprocess

import pytest
from perl_module import ENV, MODULE, SOURCES

FILES = sorted(str(path.relative_to(SOURCES)) for folder in ("t", "xt") for path in (SOURCES / folder).glob("*.t"))
# what a file needs beside what comes with Perl
NEEDS = {"xt/pod.t": "Test::Pod", "xt/pod-coverage.t": "Test::Pod::Coverage", "xt/leak.t": "Test::LeakTrace"}


def prove(file, **options):
    """What prove says of a file; warnings of Perl are on."""
    return subprocess.run(["prove", "-b", "-w", "-v", file], cwd=MODULE, env=ENV, stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False, **options)


@pytest.mark.parametrize("file", FILES)
def test_file(file, record_property):
    needed = NEEDS.get(file)
    if needed and subprocess.run([ENV.get("PERL", "perl"), f"-M{needed}", "-e", "1"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip(f"{needed} is not installed")
    done = prove(file)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    # a warning is no failure for prove, and is one here
    said = [line for line in done.stderr.splitlines() if line and not line.startswith("#")]
    assert not said, said
    assert len(re.findall(r"^ok ", done.stdout, re.M)) >= 1
    record_property("checks", len(re.findall(r"^ok ", done.stdout, re.M)))

"""The section "Roll out slowly" of docs/adopt.md: its sessions are run with a real hub and twelve
real watches, and must print what the page says.
"""

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
import rings
from rings import PATIENCE, ROOT

PAGE = ROOT / "docs" / "adopt.md"
HOSTS = 12
PROGRAMS = Path(os.environ.get("STEAD_PROGRAMS") or Path(rings.program()).parent)
# who and when, as the page says: 2026-11-22 21:09 UTC
WHO = {
    "SUDO_USER": "",
    "LOGNAME": "anna",
    "HOSTNAME": "ops1",
    "SOURCE_DATE_EPOCH": "1795381740",
}
# what `wait` says meanwhile depends on how fast the hosts are
WAITED = re.compile(r"^stead-sync: \d+ of \d+ hosts lack .*\n", re.MULTILINE)


def section():
    """Returns the section with all its parts."""
    text = PAGE.read_text(encoding="utf-8")
    return re.search(
        r"^## Roll out slowly\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )[0]


def as_of_today(text, directory, env):
    """Returns a text with the output of each command as it is today."""

    def block(found):
        kind, body = found[1], found[2]
        if kind != "console":
            name = re.match(r"# (\S+)\n", body)
            if name:
                (directory / name[1]).write_text(body)
            return found[0]
        today = ""
        for command in re.findall(r"^\$ .*\n(?:>.*\n)*", body, re.MULTILINE):
            words = "\n".join(line[2:] for line in command.splitlines())
            done = subprocess.run(
                ["sh", "-c", words],
                cwd=directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=False,
            )
            today += command + WAITED.sub("", done.stdout.decode())
        return f"```console\n{today}```\n"

    return re.sub(
        r"^```(\w+)\n(.*?)^```\n", block, text, flags=re.MULTILINE | re.DOTALL
    )


@pytest.fixture
def site(tmp_path):
    """The directory of the operator, and the environment; twelve hosts watch the hub."""
    hub = tmp_path / "hub" / "sessions.map"
    reports = hub.with_name("sessions.map.hosts")
    reports.mkdir(parents=True)
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    env = dict(os.environ, **WHO, PATH=path, HUB=f"file://{hub}")
    operator = tmp_path / "operator"
    operator.mkdir()
    with contextlib.ExitStack() as ends, open(tmp_path / "log", "wb") as log:
        for number in range(1, HOSTS + 1):
            name = f"web{number}"
            words = ["watch", "--host", name, env["HUB"], tmp_path / f"{name}.map"]
            watch = subprocess.Popen(
                [PROGRAMS / "stead-sync", *words], env=env, stdout=log, stderr=log
            )
            ends.callback(watch.wait)
            ends.callback(watch.terminate)
        deadline = time.monotonic() + PATIENCE
        while len([one for one in reports.iterdir() if one.name[0] != "."]) < HOSTS:
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
            time.sleep(0.05)
        yield operator, env


def test_the_section_is_what_the_programs_say_today(site, tmp_path):
    said = section()
    assert said.count("\n$ ") >= 15
    today = as_of_today(said, *site)
    (tmp_path / "today.md").write_text(today)
    assert today == said, f"the section as it is today is {tmp_path / 'today.md'}"
    # the map of every host is the operator's, who went back
    newest = (site[0] / "sessions.map").read_bytes()
    for number in range(1, HOSTS + 1):
        assert (tmp_path / f"web{number}.map").read_bytes() == newest


def test_the_judge_sees_a_section_that_lies(tmp_path):
    text = "```toml\n# f.toml\nname = 'm'\n```\n```console\n$ cat f.toml &&\n>   echo b\nlies\n```\n"
    today = as_of_today(text, tmp_path, dict(os.environ))
    assert today == text.replace("lies", "# f.toml\nname = 'm'\nb")

"""The site in a box (examples/site): a shard is added while visitors work, and every
count is 0; its control, applications that do not know of the carry, fails; and the page
shows it.
"""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "site"
sys.path[:0] = [str(EXAMPLE), str(ROOT / "tests")]

import browser
import built
import parts
import places

# generous, because the machine may be very busy; nothing is measured by it
LIMIT = 400
# nine visitors leave a part of the machine to the other suites
PAUSE = ["--pause", "40"]
ZEROS = "0 stale, 0 wrong, 0 come back, 0 never answered"


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """Returns the environment in which the demo finds the parts of stead."""
    try:
        for name in ("etcd", "nginx", "starman", "setpriv"):
            parts.find(name)
        parts.postgres("postgres")
        parts.php_needs()
        parts.perl_needs()
        parts.said(["/usr/bin/python3", "-c", "import gunicorn, psycopg2"])
    except parts.Missing as missing:
        pytest.skip(str(missing))
    if parts.BUILT:
        return dict(os.environ)
    place = tmp_path_factory.mktemp("parts")
    for name in ("stead", "stead-sync"):
        (place / name).symlink_to(built.programs()[name])
    (place / "libstead.so").symlink_to(Path(built.libraries()) / "libstead.so")
    (place / "perl").symlink_to(built.script("perl-module").build())
    (place / "python").mkdir()
    module = importlib.util.find_spec("stead").submodule_search_locations[0]
    (place / "python" / "stead").symlink_to(module)
    return dict(os.environ, STEAD_PARTS=str(place))


def test_a_virtual_environment_goes_on_in_the_systems_python(tmp_path):
    """Also where it was made of that Python: then both are the same file."""
    system = "/usr/bin/python3"
    have = [system, "-c", "import ensurepip, psycopg2, venv"]
    if subprocess.run(have, capture_output=True, check=False).returncode:
        pytest.skip("the system's Python has no psycopg2 or no venv")
    place = tmp_path / "venv"
    subprocess.run([system, "-m", "venv", "--without-pip", place], check=True)
    program = tmp_path / "asks.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(EXAMPLE)!r})\nimport parts\n"
        "parts.use_a_python_with('psycopg2')\nprint(sys.executable)\n"
    )
    said = parts.said([place / "bin" / "python", program])
    assert said == system


@pytest.fixture
def room():
    """Makes a directory for the directories of demos, with a short name: the paths of
    their sockets have at most 107 bytes.
    """
    with tempfile.TemporaryDirectory(prefix="stead-", dir=places.short()) as made:
        os.chmod(made, 0o755)  # PostgreSQL does not run as root
        yield Path(made)


class Demo:
    """A context manager that runs the demo, with its directory in a room."""

    def __init__(self, environment, room, *options):
        command = [sys.executable, str(EXAMPLE / "run.py"), "--dir", room, *options]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        self.said = ""
        self.timer = threading.Timer(LIMIT, self.process.kill)
        self.timer.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.end()
        self.timer.cancel()

    def read_until(self, pattern):
        """Reads what it says until a line fits, and returns the match."""
        for line in self.process.stdout:
            self.said += line
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it does not say {pattern}:\n{self.said}")

    def end(self):
        """Waits for the end; returns the exit code."""
        self.said += self.process.stdout.read()
        return self.process.wait()

    def number(self, pattern):
        """The number that it said."""
        found = re.search(pattern, self.said)
        assert found, f"it does not say {pattern}:\n{self.said}"
        return int(found[1].replace(",", ""))


def processes(room):
    """The processes of the demo in a room, without the demo itself."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().decode(errors="replace")
        except OSError:
            continue
        found += [command] * (f"{room}/stead-site-" in command)
    return found


def until(condition, what):
    """Waits until a condition is true."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def test_a_shard_is_added_and_nobody_notices(
    environment, room, tmp_path, record_property
):
    if not browser.find():
        record_property("without the page:", "chromium-headless-shell is not installed")
    with Demo(
        environment, room, "--members", "1500", "--seconds", "15", *PAUSE
    ) as demo:
        url = demo.read_until(r"the page: (http://127\.0\.0\.1:\d+/)")[1]
        demo.read_until("stead-sync carry run")
        assert len(processes(room)) > 10
        if browser.find():
            look_at_the_page(url, tmp_path)
        code = demo.end()
    assert code == 0, demo.said
    judged = demo.number(r"([\d,]+) requests judged: 0 misses, 0 lost, 0 twice")
    assert judged > 1000
    assert ZEROS in demo.said
    for language in ("php", "perl", "python"):
        assert f"({language})" in demo.said, demo.said
    # the count reads the shards; db4 must have a quarter of the keys, give or take chance
    rows, photos = (demo.number(rf"([\d,]+) of [\d,]+ {w}") for w in ("rows", "photos"))
    assert 1500 / 4 * 0.7 < rows < 1650 / 4 * 1.3, demo.said
    assert 1500 / 4 * 0.5 < photos < 1650 / 4 * 1.3, demo.said
    assert "the plan said 25.00 %" in demo.said
    assert (list(room.iterdir()), processes(room)) == ([], [])
    record_property("judged:", f"{judged} requests, {rows} rows, {photos} photos moved")


def look_at_the_page(url, tmp_path):
    """Looks at the page while data is carried, and at its end."""
    pictures = Path(os.environ.get("STEAD_PICTURES", tmp_path))
    with browser.Browser(1280, 800) as wide:
        wide.open(url)
        of = "document.getElementById('{}')?.textContent"
        moved = lambda: wide.value(of.format("moved")) or ""
        until(lambda: re.match(r"[1-9]", moved()), "a row has moved")
        assert wide.value("document.querySelectorAll('#hosts tr').length") == 3
        now = "document.querySelector('li.now').textContent"
        until(lambda: wide.value(now).startswith("both"), "both places are written")
        assert "db4" in wide.value(of.format("nodes"))
        assert re.match(r"[1-9]", wide.value(of.format("rate")))
        # nothing sticks out at the side
        fits = "document.documentElement.scrollWidth <= innerWidth"
        assert wide.value(fits)
        wide.picture(pictures / "site-1280.png")
        with browser.Browser(390, 800) as narrow:
            narrow.open(url)
            until(lambda: narrow.value(of.format("hosts")), "the page on a telephone")
            assert narrow.value(fits)
            narrow.picture(pictures / "site-390.png")
        until(lambda: wide.value("!document.getElementById('end').hidden"), "the end")
        assert "0 misses, 0 lost, 0 twice" in wide.value(of.format("told"))
        wide.picture(pictures / "site-end.png")


def test_without_pairs_members_are_missed_and_lost(environment, room, record_property):
    with Demo(
        *(environment, room, "--members", "600", "--seconds", "6", "--no-page"),
        *("--break", *PAUSE),
    ) as demo:
        code = demo.end()
    assert code == 1, demo.said
    misses = demo.number(r"requests judged: ([\d,]+) misses")
    lost = demo.number(r"misses, ([\d,]+) lost")
    assert misses > 10 and lost > 0, demo.said
    assert "as it must be without the carry" in demo.said
    record_property("the control:", f"{misses} misses, {lost} lost")


def test_connections_that_break_make_no_miss(environment, room, record_property):
    with Demo(
        environment, room, "--members", "900", "--seconds", "20", "--no-page", *PAUSE
    ) as demo:
        demo.read_until("old: the old place")
        (here,) = room.iterdir()
        broken = 0
        while demo.read_until(r"requests/s|new: ")[0] != "new: ":
            broken += break_connections(here)
        code = demo.end()
    assert code == 0, demo.said
    again = demo.number(r"([\d,]+) sent again")
    assert broken > 20 and again > 0
    assert (
        re.search("judged: 0 misses, 0 lost, 0 twice", demo.said) and ZEROS in demo.said
    )
    record_property("broken connections:", f"{broken}; {again} requests sent again")


def break_connections(here):
    """Ends the sessions of all shards, and returns how many there were."""
    broken = 0
    for postmaster in Path("/proc").glob("[0-9]*"):
        try:
            if f"-D\0{here}/db" not in (postmaster / "cmdline").read_text():
                continue
            children = (postmaster / f"task/{postmaster.name}/children").read_text()
            for child in children.split():
                if "site postgres" in Path(f"/proc/{child}/cmdline").read_text():
                    os.kill(int(child), signal.SIGTERM)
                    broken += 1
        except OSError:
            continue  # it has just ended
    return broken


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_when_it_is_stopped_it_leaves_nothing_behind(environment, room, number):
    with Demo(environment, room, "--members", "600", "--no-page", *PAUSE) as demo:
        demo.read_until("stead-sync carry run")
        demo.process.send_signal(number)
        assert demo.end() == 130, demo.said
    assert "Traceback" not in demo.said, demo.said
    assert (list(room.iterdir()), processes(room)) == ([], [])

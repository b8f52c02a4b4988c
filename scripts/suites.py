"""Runs every suite, shows each one's line as it ends, and ends with the names of the
tests that failed and the plain total. Exit 1 when anything failed.

    python3 scripts/suites.py [SUITE ...]      only those with this in their names
    python3 scripts/suites.py --set-up         installs what they need, and builds the Rust tests meanwhile
"""

import argparse
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

import built
import places

CARGO = os.environ.get("CARGO", "cargo")
PYTHON = os.environ.get("PYTHON", "python3")
# made by scripts/setup, with the packages of tests/requirements.txt
VENV = os.path.join(ROOT, ".venv", "bin", "python")
REFERENCE_PYTHON = VENV if os.path.exists(VENV) else PYTHON


class Count:
    """The numbers of a suite's tests that passed, failed and were skipped."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped


def cargo_counts(text):
    """The sum over cargo's `test result:` lines."""
    count = Count()
    for passed, failed, ignored in re.findall(
        r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored",
        text,
        re.MULTILINE,
    ):
        count.passed += int(passed)
        count.failed += int(failed)
        count.skipped += int(ignored)
    return count


def unittest_counts(text):
    """The numbers at the end of unittest's output."""
    ran = re.search(r"^Ran (\d+) tests?", text, re.MULTILINE)
    number = lambda word: int((re.search(word + r"=(\d+)", text) or [0, 0])[1])
    failed, skipped = number("failures") + number("errors"), number("skipped")
    # an error of a whole class or module is none of the tests that ran
    passed = max(0, int(ran[1]) - failed - skipped) if ran else 0
    return Count(passed, failed, skipped)


def pytest_counts(text):
    """The numbers in pytest's last line."""
    number = lambda word: int(
        (re.findall(rf"(\d+) {word}", text.rstrip().rpartition("\n")[2]) or [0])[-1]
    )
    return Count(
        number("passed"), number("failed") + number("error"), number("skipped")
    )


def whole(text):
    """The count of a suite that is a single check."""
    return Count(1, 0)


def has(*command):
    """Whether a command can be run."""
    try:
        return (
            subprocess.run(
                command,
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            ).returncode
            == 0
        )
    except OSError:
        return False


def rust(*arguments):
    """The command for a package's tests, which are built together with all others."""
    return [PYTHON, "tests/built.py", *arguments]


# What the Python suites need; scripts/setup says why something is missing. The module
# stead itself is not checked: where it can be built, its absence is a failure.
IN_VENV = (
    (VENV, "-c", "import maturin, mypy, numpy, pytest"),
    "maturin, mypy, numpy or pytest is not in .venv",
)

# what PHP under php-fpm needs: the server of these tests knows, and names what is
# missing
FPM = (
    "import sys; sys.path[:0] = ['tests', 'tests/web', 'tests/php']; import pytest, "
    "fpm_server; sys.exit(fpm_server.why_not())"
)

# Options of pytest for tests that wait for servers more than they compute: one process
# more than there are processors, each of which takes tests that another one has not begun.
WAITING = ["-n", str(min((os.cpu_count() or 1) + 1, 8)), "--dist", "worksteal"]

# The one file of tests/sync that needs the Python module, which is built after its suite has begun.
NEEDS_MODULE = "tests/sync/test_carry_page.py"

# (name, command, counter of its output, and a check of what it needs: a command that
# must succeed, and the reason for skipping the suite when it does not)
SUITES = [
    # without the vectors, which a suite below puts through every runner
    (
        "core (Rust)",
        rust("stead", "--", "--skip", "vectors::"),
        cargo_counts,
        None,
    ),
    (
        "manual's examples (Rust)",
        # without stead-python, like all other tests: with it, everything is built again
        [
            CARGO,
            "test",
            "--workspace",
            "--exclude",
            "stead-python",
            "--locked",
            "--doc",
        ],
        cargo_counts,
        None,
    ),
    ("program (Rust)", rust("stead-cli"), cargo_counts, None),
    ("RRD router (Rust)", rust("stead-rrd"), cargo_counts, None),
    ("maps to every host (Rust)", rust("stead-sync"), cargo_counts, None),
    ("C boundary (Rust)", rust("stead-capi"), cargo_counts, None),
    ("house of every crate (Rust)", rust("layers"), cargo_counts, None),
    ("fuzzed surfaces (Rust)", rust("fuzz"), cargo_counts, None),
    (
        "RRD router before rrdcached",
        [VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WAITING, "tests/rrd"],
        pytest_counts,
        (
            (
                "sh",
                "-c",
                (
                    f"{VENV} -c 'import pytest, xdist' && command -v rrdtool && "
                    "command -v rrdcached"
                ),
            ),
            "pytest or xdist is not in .venv, or rrdtool or rrdcached is not installed",
        ),
    ),
    (
        "maps to every host (etcd, nginx)",
        [
            *(VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WAITING),
            *("tests/sync", f"--ignore={NEEDS_MODULE}"),
        ],
        pytest_counts,
        (
            (VENV, "-c", "import pytest, xdist"),
            "pytest or xdist is not in .venv",
        ),
    ),
    (
        "site in a box (PHP, Perl, Python)",
        # two at once: each is a site with all its servers
        [
            *(VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-n", "2", "--dist", "worksteal", "tests/site", NEEDS_MODULE),
        ],
        pytest_counts,
        (
            (VENV, "-c", "import pytest, stead, xdist"),
            "pytest, xdist or stead is not in .venv",
        ),
    ),
    (
        "page of a report (Chromium)",
        [
            *(VENV, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider"),
            "tests/report",
        ],
        pytest_counts,
        ((VENV, "-c", "import pytest"), "pytest is not in .venv"),
    ),
    (
        "pages: links and code blocks",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/pages"],
        unittest_counts,
        None,
    ),
    (
        "every file is formatted",
        [PYTHON, "scripts/format", "--check"],
        None,
        None,
    ),
    ("headers are current", rust("header"), cargo_counts, None),
    (
        "lints (clippy)",
        [PYTHON, "scripts/lints"],
        None,
        (
            (PYTHON, "scripts/lints", "--ready"),
            "clippy is not installed, or too old: scripts/lints --ready says which is needed",
        ),
    ),
    (
        "licences and origin of the crates",
        [CARGO, "deny", "--offline", "check", "licenses", "bans", "sources"],
        whole,
        ((CARGO, "deny", "--version"), "cargo-deny is not installed; see make deny"),
    ),
    (
        "reference (Python)",
        [REFERENCE_PYTHON, "-m", "unittest", "discover", "-s", "tests/reference"],
        unittest_counts,
        None,
    ),
    (
        "vectors are the reference's",
        [PYTHON, "tests/reference/make_vectors.py", "--check"],
        whole,
        None,
    ),
    (
        "rings against their programs",
        [VENV, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "tests/rings"],
        pytest_counts,
        ((VENV, "-c", "import pytest, stead"), "pytest or stead is not in .venv"),
    ),
    (
        "rings are drawn as ever",
        [PYTHON, "tests/rings/draw_maps.py", "--check"],
        None,
        None,
    ),
    ("vectors through every runner", [PYTHON, "tests/run"], None, None),
    (
        "runners' judge (Python)",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/runners"],
        unittest_counts,
        None,
    ),
    (
        "one language in every language",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/languages"],
        unittest_counts,
        (
            (
                "sh",
                "-c",
                (
                    "php --version && ${PERL:-perl} -MConfig -e 'exit !-e "
                    '"$Config{archlibexp}/CORE/perl.h"\''
                ),
            ),
            "php, perl or perl's headers (libperl-dev) are not installed",
        ),
    ),
    ("C library", [PYTHON, "tests/c/run.py"], None, None),
    ("ABI kept (C)", [PYTHON, "tests/abi/run.py"], None, None),
    (
        "formats kept (maps, plans, journals, JSON)",
        [PYTHON, "tests/kept/run.py"],
        None,
        None,
    ),
    ("one history in every language", [PYTHON, "tests/history/run.py"], None, None),
    ("maps judged from outside", [PYTHON, "tests/judged.py"], None, None),
    ("copies judged from outside", [PYTHON, "tests/judged_replicas.py"], None, None),
    ("faults while maps are written", [PYTHON, "tests/faults/run.py"], None, None),
    ("hostile maps and fleets", [PYTHON, "tests/hostile/run.py"], None, None),
    ("manual pages (Rust)", rust("pages"), cargo_counts, None),
    (
        "packages have one version",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/dist"],
        unittest_counts,
        None,
    ),
    ("install", [PYTHON, "tests/install.py"], None, None),
    (
        "Python module",
        [
            VENV,
            "-m",
            "pytest",
            "-q",
            "-rfEs",
            "--ignore=python/tests/engines",
            "python",
        ],
        pytest_counts,
        IN_VENV,
    ),
    (
        "Python engines",
        [VENV, "-m", "pytest", "-q", "-rfEs", "python/tests/engines"],
        pytest_counts,
        IN_VENV,
    ),
    ("Python typing", [VENV, "python/tests/typing/check.py"], None, IN_VENV),
    ("Python wheel", [VENV, "python/tests/wheel.py"], None, IN_VENV),
    (
        "balance benchmark's measuring (Python)",
        [REFERENCE_PYTHON, "-m", "unittest", "discover", "-s", "benches/balance"],
        unittest_counts,
        None,
    ),
    (
        "peers' benchmark (Python)",
        [REFERENCE_PYTHON, "-m", "unittest", "discover", "-s", "benches/peers"],
        unittest_counts,
        None,
    ),
    (
        "scale's simulation (Python)",
        [VENV, "-m", "unittest", "discover", "-s", "benches/scale"],
        unittest_counts,
        ((VENV, "-c", "import numpy, stead"), "numpy or stead is not in .venv"),
    ),
    (
        "RRD router's benchmark (Python)",
        [REFERENCE_PYTHON, "-m", "unittest", "discover", "-s", "benches/rrd"],
        unittest_counts,
        None,
    ),
    (
        "instruction counts' comparison (Python)",
        [REFERENCE_PYTHON, "-m", "unittest", "discover", "-s", "benches/instructions"],
        unittest_counts,
        None,
    ),
    (
        "instruction counts (callgrind)",
        [PYTHON, "-B", "benches/instructions/check.py"],
        None,
        None,
    ),
    (
        "Python web (gunicorn, uvicorn)",
        [VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/web"],
        pytest_counts,
        (
            (
                VENV,
                "-c",
                "import django, fastapi, flask, gunicorn, pytest, stead, uvicorn",
            ),
            "django, fastapi, flask, gunicorn, uvicorn, pytest or stead is not in .venv",
        ),
    ),
    (
        "PHP package",
        [PYTHON, "php/tests/run.py"],
        None,
        (
            ("php", "-r", "exit((int) !extension_loaded('FFI'));"),
            "php with FFI is not installed",
        ),
    ),
    (
        "PHP under php-fpm",
        [VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/php"],
        pytest_counts,
        (
            (VENV, "-c", FPM),
            "php-fpm with FFI and OPcache, nginx, wrk, setpriv, or pytest in .venv is missing",
        ),
    ),
    (
        "Perl module",
        [PYTHON, "scripts/perl-module", "--test"],
        None,
        (
            ("perl", "-MConfig", "-e", 'exit !-e "$Config{archlibexp}/CORE/perl.h"'),
            "perl or its headers (libperl-dev) are not installed",
        ),
    ),
    (
        "Perl under Starman, and its distribution",
        [VENV, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/perl"],
        pytest_counts,
        (
            (
                "sh",
                "-c",
                (
                    f"{VENV} -c 'import pytest' && ${{PERL:-perl}} -MConfig -e 'exit "
                    f'!-e "$Config{{archlibexp}}/CORE/perl.h"\''
                ),
            ),
            "pytest is not in .venv, or perl or its headers (libperl-dev) are not installed",
        ),
    ),
    (
        "figures and pictures of the docs",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/figures"],
        unittest_counts,
        None,
    ),
    (
        "demo's five languages (Python)",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/demo"],
        unittest_counts,
        None,
    ),
    (
        "members' photos move (Python, PHP, Perl)",
        [PYTHON, "-m", "unittest", "discover", "-s", "tests/members"],
        unittest_counts,
        None,
    ),
    (
        "clients and stead agree (Python)",
        [VENV, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "tests/agree"],
        pytest_counts,
        ((VENV, "-c", "import pytest, stead"), "pytest or stead is not in .venv"),
    ),
    (
        "name list (Python)",
        [PYTHON, "-m", "unittest", "discover", "-s", "examples/names"],
        unittest_counts,
        None,
    ),
    # the last one: it runs what the suites before it have built
    ("install lines as printed", [PYTHON, "tests/printed/run.py"], None, None),
]


def closing_counts(text):
    """The numbers of `N passed, N failed, N skipped`, the last line of our own runners."""
    found = re.findall(r"(\d+) passed, (\d+) failed, (\d+) skipped", text)
    return Count(*map(int, found[-1])) if found else Count(0, 1)


def failures(text):
    """The lines that name a failed test: pytest's, cargo's, unittest's (with the exception),
    prove's, PHPUnit's, our own runners'. Without any, the last lines of the text.
    """
    text = re.sub(
        r"^((?:FAIL|ERROR): .*)\n-{70}\nTraceback .*\n(?:[ \n].*\n|\n)*(\S.*)",
        r"\1: \2",
        text,
        flags=re.MULTILINE,
    )
    named = re.findall(
        r"^ *((?:FAILED|ERROR) \S+\.py.*|test .* \.\.\. FAILED|(?:FAIL|FAILED|ERROR): .*"
        r"|not ok .*|\d+\) .*|== .* see above; .*)$",
        text,
        re.MULTILINE,
    )
    return named[:20] or [line for line in text.splitlines() if line.strip()][-5:]


# How many seconds a suite may take: a test that never ends is to be named, and the other
# suites are to run.
LONGEST = 30 * 60

# The process groups of the suites that are running.
RUNNING = set()
# The directory of the tests' files, when it is in memory.
TEMPORARY = []


def finish(command, out):
    """Runs a command in a process group of its own, and ends the whole group if it takes
    too long. Returns whether it ended in time, its exit code, and the seconds of CPU that
    it and the processes that it waited for have used.
    """
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    # With it, Python makes a system call for each line that it prints, and some tests print 100,000.
    env.pop("PYTHONUNBUFFERED", None)
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=out,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )
    RUNNING.add(child.pid)
    late = threading.Timer(LONGEST, os.killpg, (child.pid, signal.SIGKILL))
    late.daemon = True
    late.start()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    RUNNING.discard(child.pid)
    in_time = late.is_alive()
    late.cancel()
    return in_time, child.returncode, used.ru_utime + used.ru_stime


def stop(number, _):
    """Ends every suite that is running, and then this program."""
    for group in list(RUNNING):
        os.killpg(group, signal.SIGTERM)
    for directory in TEMPORARY:
        shutil.rmtree(directory, ignore_errors=True)
    os._exit(128 + number)


def run(name, command, counter, needs, log_dir):
    """Runs one suite; returns its count, what to print about it, whether it failed, and the
    seconds of CPU.
    """
    if needs and not has(*needs[0]):
        return Count(skipped=1), needs[1], False, 0
    log = os.path.join(log_dir, re.sub(r"\W+", "-", name) + ".log")
    with open(log, "w+b") as out:
        in_time, code, used = finish(command, out)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if not in_time:
        text += f"\nFAIL: it was stopped after {LONGEST // 60} minutes\n"
    if code == 0:
        count = (counter or closing_counts)(text)
        if count.passed == 0 and count.failed == 0:
            return Count(failed=1), "no test ran\n" + text[-2000:], True, used
    else:
        count = (
            counter(text)
            if counter in (cargo_counts, unittest_counts, pytest_counts)
            else closing_counts(text)
        )
        count.failed = max(1, count.failed)
    reasons = "; ".join(sorted(set(re.findall(r"^skipped: (.*)$", text, re.MULTILINE))))
    return count, text if count.failed else reasons, bool(count.failed), used


# Several suites run at once: most of them wait for a part of their time, for servers, for
# disks, or for cargo to let go of its directory. No two write the same files.
LANES = (os.cpu_count() or 1) + 2

# The first suites need neither the Python module nor anything else of the release build, which
# runs beside them.
FIRST = (
    *(
        name
        for name, *_ in itertools.takewhile(
            lambda suite: suite[0].endswith("(Rust)"), SUITES
        )
    ),
    "reference (Python)",
    "every file is formatted",
)

# These need what the release build makes, but not the Python module, which is built after it and
# leaves a processor idle for a part of its time.
NEXT = (
    "RRD router before rrdcached",
    "maps to every host (etcd, nginx)",
    "C library",
    "install",
    "PHP package",
    "Perl module",
    "instruction counts (callgrind)",
)

# Of the others the longest begin first, so that none is left alone at the end.
LONGEST_FIRST = (
    "rings against their programs",
    "vectors through every runner",
    "lints (clippy)",
    "site in a box (PHP, Perl, Python)",
    "PHP under php-fpm",
    "Python module",
    "page of a report (Chromium)",
    "members' photos move (Python, PHP, Perl)",
    "Python web (gunicorn, uvicorn)",
    "Perl under Starman, and its distribution",
)

# It runs what the suites before it have built.
LAST = "install lines as printed"


def ordered(suites):
    """The suites in the order in which they begin: those of FIRST, those of NEXT, and the
    others.
    """
    order = (*FIRST, *NEXT, *LONGEST_FIRST)
    place = lambda suite: order.index(suite[0]) if suite[0] in order else len(order)
    suites = sorted((suite for suite in suites if suite[0] != LAST), key=place)
    first = [suite for suite in suites if suite[0] in FIRST]
    after = [suite for suite in suites if suite[0] in NEXT]
    return first, after, suites[len(first) + len(after) :]


def set_up():
    """Installs what the suites need, which waits for the network and the disk for most of its
    time, and builds the Rust tests meanwhile. Returns the exit code.
    """
    print("== building the Rust tests, beside the next steps", flush=True)
    # the suites build them again, and say why they cannot be built
    tests = subprocess.Popen(
        [CARGO, *built.TESTS],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    RUNNING.add(tests.pid)
    code = subprocess.call([os.path.join(ROOT, "scripts", "setup"), "--tests"])
    if code and tests.poll() is None:
        os.killpg(tests.pid, signal.SIGTERM)
    tests.wait()
    RUNNING.discard(tests.pid)
    return code


def build_module():
    """Builds the Python module into .venv."""
    done = subprocess.run(
        [PYTHON, "scripts/python-module"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    print(done.stdout.decode("utf-8", "replace"), end="", flush=True)
    if done.returncode:
        print(
            "== the Python module could not be built; its tests will fail", flush=True
        )


def keep_commands():
    """Makes every cargo that is started from here write down how it compiles our crates.
    scripts/lints reads it.
    """
    if "RUSTC_WRAPPER" not in os.environ:
        os.environ["RUSTC_WRAPPER"] = os.path.join(ROOT, "scripts", "rustc-kept")
        os.environ["STEAD_COMMANDS"] = built.COMMANDS


@contextlib.contextmanager
def files_of_tests():
    """Makes the directory for the temporary files of the tests, in memory where that is possible,
    unless the caller has chosen one. Removes it at the end.
    """
    memory = None if "TMPDIR" in os.environ else places.in_memory()
    if memory is None:
        yield
        return
    made = tempfile.mkdtemp(prefix="stead-", dir=memory)
    TEMPORARY.append(made)
    os.chmod(made, 0o1777)  # as /tmp, since not all servers run as root
    os.environ["TMPDIR"] = made
    try:
        yield
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="a part of its name")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--set-up", action="store_true", help="only prepare their run")
    asked = parser.parse_args()
    keep_commands()
    if asked.set_up:
        return set_up()
    wanted = asked.suites
    if asked.list:
        print("\n".join(name for name, *_ in SUITES))
        return 0
    for word in wanted:
        if not any(word in name for name, *_ in SUITES):
            parser.error(f"no suite has {word!r} in its name; --list prints them")
    suites = [
        suite for suite in SUITES if not wanted or any(w in suite[0] for w in wanted)
    ]
    total = Count()
    done = {}
    named = []
    speaking = threading.Lock()
    with tempfile.TemporaryDirectory() as log_dir, files_of_tests():
        os.environ[built.KEPT] = log_dir

        def go(name, command, counter, needs):
            with speaking:
                print(f"== {name}", flush=True)
            start = time.monotonic()
            try:
                count, said, failed, used = run(name, command, counter, needs, log_dir)
            except (OSError, ValueError, IndexError) as error:
                count, said, failed, used = Count(failed=1), f"FAILED: {error}", True, 0
            with speaking:
                if failed:
                    print(said, flush=True)
                    named.append(name)
                    named.extend(f"  {line}" for line in failures(said))
                total.passed, total.failed, total.skipped = (
                    total.passed + count.passed,
                    total.failed + count.failed,
                    total.skipped + count.skipped,
                )
                note = f"  ({said})" if said and not failed else ""
                done[name] = (
                    f"{name:<30} {count.passed:>6} passed {count.failed:>3} failed "
                    f"{count.skipped:>3} skipped "
                    f"{time.monotonic() - start:>6.1f} s {used:>6.1f} s of CPU{note}"
                )
                print(done[name], flush=True)

        first, after, others = ordered(suites)
        with ThreadPoolExecutor(LANES) as lanes:
            for suite in first:
                lanes.submit(go, *suite)
            if not wanted:
                with speaking:
                    print("== the release build, beside the first suites", flush=True)
                # a suite that needs it says why it cannot be built
                subprocess.call(
                    [CARGO, *built.RELEASE], cwd=ROOT, stderr=subprocess.DEVNULL
                )
            for suite in after:
                lanes.submit(go, *suite)
            if not wanted and os.path.exists(VENV):
                with speaking:
                    print("== the Python module, beside the next suites", flush=True)
                build_module()
            for suite in others:
                lanes.submit(go, *suite)
        for suite in (suite for suite in suites if suite[0] == LAST):
            go(*suite)
    lines = [done.get(name, f"{name:<30} did not end") for name, *_ in suites]
    if len(done) < len(suites):
        total.failed += 1
    print()
    print("\n".join(lines + named))
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())

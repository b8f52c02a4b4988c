"""The demo's last table: the same names located by C, Python, PHP, Perl and the
program.

Each language has the small program `where` (examples/c, examples/where), which is
prepared here: the C program is compiled, and the modules of Python and Perl are built
into target/. The complete output is compared: keys, nodes and addresses. For a language
that cannot be prepared, the table shows the reason, in one line, instead of its
answers.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.abspath(
    os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
)
# cargo's profile "quick": made for whoever waits for the build
QUICK = os.path.join(TARGET, "quick")
BUILT = os.environ.get("STEAD_BUILT") or QUICK
WHERE = os.path.join(ROOT, "examples", "where")
VENV = os.path.join(ROOT, ".venv", "bin")
CC, PERL, PHP = (os.environ.get(name.upper(), name) for name in ("cc", "perl", "php"))
NAMES = [
    "frank",
    "Frank",
    "frankie",
    "bob",
    "nathan",
    "ethan",
    "natalie",
    "justin",
    "zoë",
    "łukasz",
]


class NotHere(Exception):
    """The reason why a language cannot take part."""


def said(command, **more_env):
    """Returns what a command prints. If it fails, raises NotHere with the last line of
    its error messages.
    """
    env = dict(os.environ, **more_env)
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise NotHere(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        complaint = (done.stderr.strip() or done.stdout.strip()).decode(
            "utf-8", "replace"
        ).splitlines() or [f"it ended with {done.returncode}"]
        raise NotHere(f"{os.path.basename(command[0])}: {complaint[-1]}")
    return done.stdout


# ---- for each language: its version, the command for `where`, and the environment
# variables that it needs


def c():
    """C, compiled and linked with libstead.so."""
    here = os.path.join(TARGET, "demo", f"c-{os.path.basename(BUILT)}")
    os.makedirs(here, exist_ok=True)
    # made under another name and renamed: the demo may be running twice
    fresh = os.path.join(here, str(os.getpid()))
    # the names that the linker and the loader look for
    for name in ("libstead.so", "libstead.so.1"):
        os.symlink(os.path.join(BUILT, "libstead.so"), fresh)
        os.replace(fresh, os.path.join(here, name))
    said(
        [
            CC,
            "-O2",
            "-I",
            os.path.join(ROOT, "include"),
            "-o",
            fresh,
            os.path.join(ROOT, "examples", "c", "where.c"),
            "-L",
            here,
            f"-Wl,-rpath,{here}",
            "-lstead",
        ]
    )
    program = os.path.join(here, "where")
    os.replace(fresh, program)
    return "C", [program], {}


def python():
    """Python, with the module in .venv if `make test` has built it of these sources;
    otherwise with the one that cargo builds for this Python.
    """
    module = os.path.join(ROOT, "scripts", "python-module")
    try:
        said([sys.executable, module, "--check"])
        interpreter, env = os.path.join(VENV, "python"), {}
    except NotHere:
        tree = os.fsdecode(said([sys.executable, module, "--tree"])).strip()
        interpreter, env = sys.executable, {"PYTHONPATH": tree}
    version = (
        said([interpreter, "-c", "import sys; print(sys.version.split()[0])"])
        .decode()
        .strip()
    )
    return f"Python {version}", [interpreter, os.path.join(WHERE, "where.py")], env


def php():
    """PHP, which calls libstead by FFI."""
    version = said(
        [PHP, "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;"]
    ).decode()
    if said([PHP, "-r", "echo (int) extension_loaded('FFI');"]) != b"1":
        raise NotHere("php has no extension FFI")
    return (
        f"PHP {version}",
        [PHP, os.path.join(WHERE, "where.php")],
        {"STEAD_LIBRARY": os.path.join(BUILT, "libstead.so")},
    )


def perl():
    """Perl, with the XS module of target/perl."""
    version = said([PERL, "-e", "printf '%vd', $^V"]).decode()
    said(
        [
            PERL,
            "-MConfig",
            "-e",
            (
                "die qq(its headers are not installed (libperl-dev)\\n) if !-e "
                "qq($Config{archlibexp}/CORE/perl.h)"
            ),
        ]
    )
    # the script prints: perl -Mblib=DIRECTORY, relative to ROOT
    script = os.path.join(ROOT, "scripts", "perl-module")
    built = (
        os.fsdecode(
            said([sys.executable, script, *(["--quick"] if BUILT == QUICK else [])])
        )
        .rstrip("\n")
        .rpartition("-Mblib=")[2]
    )
    return (
        f"Perl {version}",
        [PERL, "-Mblib=" + os.path.join(ROOT, built), os.path.join(WHERE, "where.pl")],
        {},
    )


def places(answer):
    """Returns [key, node] of each line. The node of a line without one is empty, which
    is not an answer.
    """
    return [(*line.split(b"\t"), b"")[:2] for line in answer.splitlines()]


LANGUAGES = {"C": c, "Python": python, "PHP": php, "Perl": perl}


def prepare():
    """Starts to prepare the languages while the demo counts. Returns the futures for
    agree().
    """
    pool = ThreadPoolExecutor()
    return {name: pool.submit(make) for name, make in LANGUAGES.items()}


def agree(path, ready):
    """Prints the table for a map. Returns False if two answers differ."""
    names = [name.encode() for name in NAMES]
    rows = [
        ("the program", said([os.path.join(BUILT, "stead"), "locate", path, *names]))
    ]
    whole = set()
    for language, future in ready.items():
        try:
            label, command, env = future.result()
            answer = said([*command, path, *names], **env)
            whole.add(answer)
            rows.append((label, answer))
        except NotHere as why:
            rows.append((language, why))
    expected = places(rows[0][1])
    good = [key for key, _ in expected] == names and len(whole) <= 1
    # so that a line has at most 80 letters
    widths = [max(len(name), 3) for name in NAMES]
    print(" " * 16 + " ".join(map(str.rjust, NAMES, widths)))
    for label, answer in rows:
        if isinstance(answer, NotHere):
            print(f"  {label:<13}  not here: {answer}")
        else:
            found = places(answer)
            good = good and found == expected
            print(
                f"  {label:<13} "
                + " ".join(
                    map(
                        str.rjust,
                        (node.decode("utf-8", "replace") for _, node in found),
                        widths,
                    )
                )
            )
    if good:
        print(
            f"\n  {len(NAMES)} names, "
            f"{len([row for row in rows if isinstance(row[1], bytes)])} of "
            f"{len(rows)} asked, one answer. "
            "Their programs: examples/where, examples/c"
        )
    return good

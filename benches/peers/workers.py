"""The workers: a process for each language, which holds the keys and is asked by lines.

A worker is started with the path of a file of keys, one in each line. It reads lines
of words that are separated by tabs, and answers each with one line:

    build   CANDIDATE STATES        makes the candidate for the last state of a cluster
    time    CANDIDATE FIRST COUNT   looks up keys that follow each other, each once
    place   CANDIDATE COUNT FILE    writes the node of each of the first keys
    copies  CANDIDATE COUNT FILE    writes three nodes of each of the first keys
    version CANDIDATE

The answer is `ok` or `no` and the reason. After `ok` come, for build and time, the
nanoseconds of CPU time that it took, and for version the version.

STATES is a file: a line `NAME WEIGHT` for each node, and an empty line between one state
of the cluster and the next. Most rings need only the last state, but some keep what
they have placed before. The maps of stead for the last state are STATES.md5.map and
STATES.xxh3.map.
"""

import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "peers"
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
sys.path.insert(0, str(ROOT / "tests"))

import built


@functools.cache
def library():
    """The path of libstead.so, built as it is shipped."""
    return Path(built.libraries()) / "libstead.so"


class Missing(Exception):
    """A worker that cannot be had here; the message says why."""


def run(command, **options):
    """Runs a command; returns what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        **options,
    )
    if done.returncode:
        raise Missing(done.stdout.strip().rpartition("\n")[2] or f"{command[0]} fails")
    return done.stdout


def c():
    """Compiles the C worker; returns its command."""
    if not Path("/usr/include/libmemcached/memcached.h").exists():
        raise Missing("libmemcached-dev is not installed")
    program, folder = TARGET / "c-worker", TARGET / "lib"
    folder.mkdir(exist_ok=True)
    # the name that the loader looks for
    for name in ("libstead.so", "libstead.so.1"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(library())
    run(
        [
            *("cc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"),
            *(HERE / "c" / "worker.c", "-o", program, f"-L{folder}"),
            *(f"-Wl,-rpath,{folder}", "-lstead", "-lmemcached"),
        ]
    )
    return [program]


def rust():
    """Builds the Rust worker; returns its command."""
    cargo = os.environ.get("CARGO", "cargo")
    # in its own folder, so that cargo reads no lock file but the worker's
    run(
        [cargo, "build", "--release", "--locked", "-q", "--target-dir", TARGET],
        cwd=HERE / "rust",
    )
    return [TARGET / "release" / "peers"]


def python():
    """The command of the Python worker."""
    if not PYTHON.exists():
        raise Missing("there is no .venv-peers; scripts/peers-venv makes it")
    return [PYTHON, "-B", HERE / "python_worker.py"]


def php():
    """Builds the PHP extension; returns the command of the worker."""
    command = os.environ.get("PHP", "php")
    extension = built.script("php-extension")
    if not shutil.which(command):
        raise Missing("PHP is not installed")
    if why := extension.why_not():
        raise Missing(why)
    # the settings of a web server's PHP; its JIT is off by default
    settings = ["-d", "opcache.enable_cli=1", "-d", f"extension={extension.build()}"]
    return [command, *settings, HERE / "php_worker.php"]


def perl():
    """Builds the Perl module; returns the command of the worker."""
    command = os.environ.get("PERL", "perl")
    if not shutil.which(command):
        raise Missing("Perl is not installed")
    module = built.script("perl-module").build()
    return [command, f"-Mblib={module}", HERE / "perl_worker.pl"]


MAKERS = {"C": c, "Rust": rust, "Python": python, "PHP": php, "Perl": perl}


def why_ended(code):
    """What to say about a process that ended without an answer."""
    if code is not None and code < 0:
        return f"ends the process ({signal.Signals(-code).name})"
    return f"ends the process (exit code {code})"


class Worker:
    """The process of one language. It is started when it is asked for the first time,
    and again after it has died.
    """

    def __init__(self, command, keys, environment=None):
        self.command, self.keys, self.process = command, keys, None
        self.environment = {**os.environ, **(environment or {})}

    def start(self):
        # a candidate that aborts need not leave its memory on the disk
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        self.process = subprocess.Popen(
            [str(word) for word in [*self.command, self.keys]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            encoding="utf-8",
        )

    def ask(self, *words):
        """Asks for something; returns (whether it worked, what it said). After a death
        `alive` is False.
        """
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write("\t".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None
            return False, why_ended(code)
        first, _, rest = line.rstrip("\n").partition("\t")
        return first == "ok", rest

    @property
    def alive(self):
        return self.process is not None

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None

"""The clients of the table, one row each, and how they are run.

A client is a program that is started as `COMMAND MODE`. It reads servers (host:port,
one per line), an empty line, and keys (one per line), and prints the server of each
key. `COMMAND MODE version` prints the version. Exit code 77 means that something it
needs is not installed; standard error says what. To add a client, write an entry in the
program of its language in clients/, and a row here.
"""

import functools
import os
import shlex
import shutil
import signal
import subprocess
from typing import NamedTuple

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
TARGET = os.path.join(
    os.path.abspath(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")),
    "agree",
)
VENV = os.path.join(ROOT, ".venv-agree")
SPYMEMCACHED = "/usr/share/java/spymemcached.jar"
ENV = dict(
    os.environ,
    NODE_PATH=os.path.join(VENV, "npm", "node_modules"),
    PYTHONDONTWRITEBYTECODE="1",
    LC_ALL="C.UTF-8",
)
LONGEST = (
    1200  # seconds for a client; the slowest needs two when it has a core for itself
)


class Client(NamedTuple):
    """A row: the language, the name, the program in clients/ and the mode in which it
    is started, and what is special about the client.
    """

    language: str
    name: str
    program: str
    mode: str
    # the client needs real servers, because only they can tell which one it asks (or
    # because it connects to them)
    wire: bool = False
    # it chooses its points at random, differently in each process
    random: bool = False

    @property
    def label(self):
        return f"{self.language} {self.name}"

    @property
    def library(self):
        """The library, without its configuration."""
        return f"{self.language} {self.name}".partition(",")[0].partition(" (")[0]


CLIENTS = [
    Client("C", "libmemcached, default (modula)", "libmemcached", "modula"),
    Client("C", "libmemcached, ketama", "libmemcached", "ketama"),
    Client("C", "libmemcached, ketama weighted", "libmemcached", "weighted"),
    Client("C", "libmemcached, ketama spy", "libmemcached", "spy"),
    Client("PHP", "memcached, default", "php.php", "memcached"),
    Client("PHP", "memcached, consistent", "php.php", "memcached-consistent"),
    Client("PHP", "memcached, consistent + md5", "php.php", "memcached-consistent-md5"),
    Client("PHP", "memcached, libketama compatible", "php.php", "memcached-ketama"),
    Client("PHP", "memcache, standard", "php.php", "memcache-standard", wire=True),
    Client(
        "PHP",
        "memcache, consistent (default)",
        "php.php",
        "memcache-consistent",
        wire=True,
    ),
    Client("PHP", "phpredis RedisArray", "php.php", "redisarray"),
    Client(
        "PHP", "phpredis RedisArray, consistent", "php.php", "redisarray-consistent"
    ),
    Client("PHP", "Predis", "php.php", "predis"),
    Client("PHP", "Predis, ketama", "php.php", "predis-ketama"),
    Client("Perl", "Cache::Memcached", "perl.pl", "cache-memcached", wire=True),
    Client("Perl", "Cache::Memcached::Fast", "perl.pl", "fast", wire=True),
    Client(
        "Perl",
        "Cache::Memcached::Fast, ketama 150",
        "perl.pl",
        "fast-ketama-150",
        wire=True,
    ),
    Client(
        "Perl",
        "Cache::Memcached::Fast, ketama 160",
        "perl.pl",
        "fast-ketama-160",
        wire=True,
    ),
    Client("Perl", "Memcached::libmemcached", "perl.pl", "libmemcached", wire=True),
    Client(
        "Perl",
        "Memcached::libmemcached, ketama weighted",
        "perl.pl",
        "libmemcached-ketama",
        wire=True,
    ),
    Client("Python", "python-memcached", "python.py", "python-memcached", wire=True),
    Client("Python", "pymemcache HashClient", "python.py", "pymemcache"),
    Client("Python", "pylibmc, default", "python.py", "pylibmc", wire=True),
    Client("Python", "pylibmc, ketama", "python.py", "pylibmc-ketama", wire=True),
    Client(
        "Python",
        "pylibmc, ketama weighted",
        "python.py",
        "pylibmc-ketama-weighted",
        wire=True,
    ),
    Client("Python", "libmc", "python.py", "libmc"),
    Client("Python", "uhashring", "python.py", "uhashring"),
    Client("Python", "uhashring, ketama", "python.py", "uhashring-ketama"),
    Client("Python", "hashring", "python.py", "hashring"),
    Client("Python", "hash-ring", "python.py", "hash-ring"),
    Client("Python", "consistent-hash-git", "python.py", "consistent-hash-git"),
    Client("Python", "clandestined", "python.py", "clandestined"),
    Client("Python", "flexihash", "python.py", "flexihash"),
    Client("JavaScript", "memcached", "javascript.js", "memcached"),
    Client("JavaScript", "memjs", "javascript.js", "memjs"),
    Client("JavaScript", "hashring", "javascript.js", "hashring"),
    Client("JavaScript", "ketama", "javascript.js", "ketama"),
    Client(
        "JavaScript", "consistent-hash", "javascript.js", "consistent-hash", random=True
    ),
    Client("Rust", "ketama", "rust", "ketama"),
    Client("Rust", "hashring, 160 points", "rust", "hashring"),
    Client("Rust", "hash_ring, 160 points", "rust", "hash_ring"),
    Client("Rust", "conhash, 160 points", "rust", "conhash"),
    Client("Rust", "consistent_hash, 160 points", "rust", "consistent_hash"),
    Client("Rust", "flexihash", "rust", "flexihash"),
    Client("Java", "spymemcached", "Spymemcached", "default", wire=True),
    Client("Java", "spymemcached, ketama", "Spymemcached", "ketama", wire=True),
    Client("Ruby", "Dalli", "dalli.rb", "default", wire=True),
    Client("proxy", "nginx, hash", "nginx.py", "modulo", wire=True),
    Client("proxy", "nginx, hash consistent", "nginx.py", "consistent", wire=True),
    Client(
        "proxy", "twemproxy (ketama, fnv1a_64)", "nutcracker.py", "default", wire=True
    ),
    Client(
        "proxy", "twemproxy, ketama + md5", "nutcracker.py", "ketama-md5", wire=True
    ),
    Client("proxy", "twemproxy, modula", "nutcracker.py", "modula", wire=True),
]


class Lacking(Exception):
    """A client cannot be run here; the text says why."""


# ---- programs that have to be compiled


def said(command):
    """Returns what a command prints; None if it is missing or fails."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
    except OSError:
        return None
    return done.stdout.decode() if done.returncode == 0 else None


def compiled(source, result, command):
    """Compiles `source` unless `result` is newer. Returns the path of `result`."""
    if not os.path.exists(result) or os.path.getmtime(result) < os.path.getmtime(
        source
    ):
        os.makedirs(os.path.dirname(result), exist_ok=True)
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            raise RuntimeError(
                f"{source} does not compile: {done.stdout.decode('utf-8', 'replace')}"
            )
    return result


def libmemcached():
    """Returns the path of the C program."""
    compiler, flags = (
        os.environ.get("CC", "cc"),
        said(["pkg-config", "--cflags", "--libs", "libmemcached"]),
    )
    if flags is None or not shutil.which(compiler):
        raise Lacking(
            "libmemcached's header and library, cc or pkg-config are not installed"
        )
    source, result = (
        os.path.join(HERE, "libmemcached.c"),
        os.path.join(TARGET, "libmemcached"),
    )
    return [
        compiled(
            source,
            result,
            [
                compiler,
                "-D_GNU_SOURCE",
                "-O1",
                "-Wall",
                "-o",
                result,
                source,
                *shlex.split(flags),
            ],
        )
    ]


def spymemcached():
    """Returns the path of the Java program. Its version is in the package, not in the
    jar.
    """
    if not (
        os.path.exists(SPYMEMCACHED) and shutil.which("javac") and shutil.which("java")
    ):
        raise Lacking("spymemcached (libspymemcached-java) or a JDK is not installed")
    source, result = (
        os.path.join(HERE, "Spymemcached.java"),
        os.path.join(TARGET, "Spymemcached.class"),
    )
    compiled(source, result, ["javac", "-cp", SPYMEMCACHED, "-d", TARGET, source])
    return [
        "java",
        "-Xshare:auto",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{TARGET}:{SPYMEMCACHED}",
        "Spymemcached",
    ]


@functools.cache
def rust():
    """Returns Rust's program, or the reason why there is none. cargo runs only once,
    since it may have to download the crates.
    """
    command = [
        os.environ.get("CARGO", "cargo"),
        "build",
        "--release",
        "--locked",
        "-q",
        "--manifest-path",
        os.path.join(HERE, "rust", "Cargo.toml"),
        "--target-dir",
        os.path.join(TARGET, "rust"),
    ]
    if not shutil.which(command[0]):
        return [], "cargo is not installed"
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    why = (
        "cargo cannot build Rust's rings: "
        + " ".join(done.stdout.decode("utf-8", "replace").split())[:300]
        if done.returncode
        else None
    )
    return [os.path.join(TARGET, "rust", "release", "rings")], why


def command_of(client):
    """Returns the command that starts a client."""
    if client.program == "libmemcached":
        return [*libmemcached(), client.mode]
    if client.program == "Spymemcached":
        return [*spymemcached(), client.mode]
    if client.program == "rust":
        command, why = rust()
        if why:
            raise Lacking(why)
        return [*command, client.mode]
    python = os.path.join(VENV, "bin", "python")
    starters = {
        ".php": os.environ.get("PHP", "php"),
        ".pl": os.environ.get("PERL", "perl"),
        ".py": python,
        ".js": "node",
        ".rb": "ruby",
    }
    starter = starters[os.path.splitext(client.program)[1]]
    if not shutil.which(starter):
        raise Lacking(
            f"{client.program} needs {os.path.basename(starter)}, which is not installed"
            if starter != python
            else "there is no .venv-agree; scripts/agree-venv makes it"
        )
    return [starter, os.path.join(HERE, client.program), client.mode]


# ---- running


def run(command, given=b""):
    """Returns what a program prints. Raises Lacking if the program says that something
    is not installed, and RuntimeError if it fails.
    """
    # a separate session, so that its child processes can be stopped with it
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENV, start_new_session=True
    ) as process:
        try:
            out, complaint = process.communicate(given, LONGEST)
        except BaseException as why:
            os.killpg(process.pid, signal.SIGTERM)
            if isinstance(why, subprocess.TimeoutExpired):
                raise RuntimeError(  # noqa: TRY004  not a wrong type, but a program that hangs
                    f"{shlex.join(command)} has not ended after {LONGEST} seconds"
                ) from None
            raise
    complaint = complaint.decode("utf-8", "replace").strip()
    if process.returncode == 77:
        raise Lacking(complaint)
    if process.returncode:
        raise RuntimeError(
            f"{shlex.join(command)} ended with {process.returncode}: {complaint[-2000:]}"
        )
    return out


def version(client):
    """Returns the version of a client."""
    if client.program == "Spymemcached":
        spymemcached()
        return (
            said(["dpkg-query", "-W", "-f", "${Version}", "libspymemcached-java"])
            or "of " + SPYMEMCACHED
        ).strip()
    return run([*command_of(client), "version"]).decode().strip()


def ask(client, servers, keys):
    """Returns the server that the client chooses for each key. A missing answer, or one
    that is not a server, is an error.
    """
    found = (
        run(
            command_of(client),
            b"\n".join([*(s.encode() for s in servers), b"", *keys]) + b"\n",
        )
        .decode("utf-8", "replace")
        .split("\n")
    )
    if found.pop() != "" or len(found) != len(keys):
        raise RuntimeError(f"{client.label}: {len(found)} answers to {len(keys)} keys")
    known = set(servers)
    for key, server in zip(keys, found):
        if server not in known:
            raise RuntimeError(
                f"{client.label}: the answer to {key!r} is {server!r}, which is no server"
            )
    return found

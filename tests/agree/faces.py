"""The faces of stead: the programs in faces/, one for each language, which all use one
map; and maps that stead draws of the rings of other programs.

A face is started as `COMMAND MAP`. It reads keys in hex, one per line (so a key can
contain any byte), and prints the node of each.
"""

import os
import runpy
import shutil
import subprocess
import sys
from typing import NamedTuple

from clients import ROOT, TARGET, Lacking, compiled, run

sys.path.insert(0, os.path.join(ROOT, "tests"))
import built

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faces")


class Face(NamedTuple):
    """A language, and a function that returns the command for its program, or raises
    Lacking.
    """

    name: str
    start: object


def c():
    """The C library, with a small program."""
    libraries, source, result = (
        built.libraries(),
        os.path.join(HERE, "where.c"),
        os.path.join(TARGET, "where"),
    )
    # libstead.so.1 is the name that loaders look for
    folder = os.path.join(TARGET, "lib")
    os.makedirs(folder, exist_ok=True)
    for name in ("libstead.so", "libstead.so.1"):
        link, wanted = (
            os.path.join(folder, name),
            os.path.join(libraries, "libstead.so"),
        )
        if not os.path.islink(link) or os.readlink(link) != wanted:
            if os.path.lexists(link):
                os.remove(link)
            os.symlink(wanted, link)
    command = [
        os.environ.get("CC", "cc"),
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-O2",
        "-I",
        os.path.join(ROOT, "include"),
        "-o",
        result,
        source,
        "-L",
        folder,
        f"-Wl,-rpath,{folder}",
        "-lstead",
    ]
    return [compiled(source, result, command)]


def python():
    """The Python module of .venv."""
    program = os.path.join(ROOT, ".venv", "bin", "python")
    if (
        not os.path.exists(program)
        or subprocess.run(
            [program, "-c", "import stead"], stderr=subprocess.DEVNULL, check=False
        ).returncode
    ):
        raise Lacking(
            "stead's module is not in .venv (scripts/python-module builds it)"
        )
    return [program, os.path.join(HERE, "where.py")]


def php():
    """The PHP package, over libstead."""
    program = os.environ.get("PHP", "php")
    if (
        not shutil.which(program)
        or subprocess.run(
            [program, "-r", "exit((int) !extension_loaded('FFI'));"], check=False
        ).returncode
    ):
        raise Lacking("php with FFI is not installed")
    return [
        "env",
        "STEAD_LIBRARY=" + os.path.join(built.libraries(), "libstead.so"),
        program,
        os.path.join(HERE, "where.php"),
    ]


def perl():
    """The Perl module, built in target/perl."""
    program = os.environ.get("PERL", "perl")
    if (
        not shutil.which(program)
        or subprocess.run(
            [program, "-MConfig", "-e", 'exit !-e "$Config{archlibexp}/CORE/perl.h"'],
            check=False,
        ).returncode
    ):
        raise Lacking("perl or its headers (libperl-dev) are not installed")
    module = runpy.run_path(os.path.join(ROOT, "scripts", "perl-module"))["build"]()
    return [program, "-w", f"-Mblib={module}", os.path.join(HERE, "where.pl")]


def stead():
    """The program, which uses the Rust library."""
    return [built.program(), "locate", "--hex"]


FACES = [
    Face("program (Rust)", stead),
    Face("C", c),
    Face("Python", python),
    Face("PHP", php),
    Face("Perl", perl),
    Face("reference", lambda: [sys.executable, os.path.join(HERE, "reference.py")]),
]


def make_map(servers, path):
    """Makes the map of a fleet of these nodes, all with the same weight."""
    fleet = path + ".toml"
    with open(fleet, "w", encoding="utf-8") as file:
        file.write(
            'name = "agree"\n'
            + "".join(f'[[node]]\nname = "{server}"\n' for server in servers)
        )
    run([built.program(), "apply", fleet, path])


def ask(face, path, keys):
    """Returns the node that a face of stead gives for each key in the map at `path`."""
    out = run([*face.start(), path], "".join(key.hex() + "\n" for key in keys).encode())
    # `stead locate` prints the key and a tab before the node
    found = [
        line.rpartition("\t")[2] for line in out.decode("utf-8", "replace").splitlines()
    ]
    if len(found) != len(keys):
        raise RuntimeError(
            f"stead, {face.name}: {len(found)} answers to {len(keys)} keys"
        )
    return found


# ---- rings that stead draws

# (program, mode) of a client whose ring `stead ring` can draw: its kind and options
RINGS = {
    ("libmemcached", "modula"): ["libmemcached", "--set", "mode=modula"],
    ("libmemcached", "ketama"): ["libmemcached", "--set", "mode=consistent"],
    ("libmemcached", "weighted"): ["libmemcached"],
    ("libmemcached", "spy"): ["libmemcached", "--set", "mode=spy-consistent"],
    ("php.php", "memcached"): ["libmemcached", "--set", "mode=modula"],
    ("php.php", "memcached-consistent"): ["libmemcached", "--set", "mode=consistent"],
    ("php.php", "memcached-consistent-md5"): [
        "libmemcached",
        "--set",
        "mode=consistent",
        "--set",
        "hash=md5",
    ],
    ("php.php", "memcached-ketama"): ["libmemcached"],
    ("perl.pl", "cache-memcached"): ["cache-memcached-fast"],
    ("perl.pl", "fast"): ["cache-memcached-fast"],
    ("perl.pl", "fast-ketama-150"): [
        "cache-memcached-fast",
        "--set",
        "ketama_points=150",
    ],
    ("perl.pl", "fast-ketama-160"): [
        "cache-memcached-fast",
        "--set",
        "ketama_points=160",
    ],
    ("python.py", "python-memcached"): ["cache-memcached-fast"],
    ("python.py", "pylibmc-ketama-weighted"): ["libmemcached"],
    ("python.py", "uhashring"): ["uhashring"],
    ("python.py", "uhashring-ketama"): ["uhashring", "--set", "hash=ketama"],
    ("nginx.py", "modulo"): ["cache-memcached-fast"],
    ("nginx.py", "consistent"): ["cache-memcached-fast", "--set", "ketama_points=160"],
    ("nutcracker.py", "default"): ["libmemcached", "--set", "hash=fnv1a_64"],
    ("nutcracker.py", "ketama-md5"): ["libmemcached"],
    ("php.php", "memcache-standard"): ["cache-memcached-fast", "--set", "zero=1"],
}


def draw(client, servers, path):
    """Draws a client's ring as a map."""
    with open(path + ".servers", "w", encoding="utf-8") as file:
        file.write("".join(server + "\n" for server in servers))
    kind, *options = RINGS[client.program, client.mode]
    run(
        [
            built.program(),
            "ring",
            kind,
            path + ".servers",
            "-o",
            path,
            "--fleet",
            path + ".toml",
            *options,
        ]
    )

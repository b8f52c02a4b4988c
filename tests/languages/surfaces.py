"""The public functions of each language, read from what a caller sees: Rust's syntax
tree, stead.h, Python's stub, PHP's reflection, Perl's symbol table, the program's help.

Each reader returns names as docs/languages.md writes them: `Map::locate` in Rust and PHP,
`stead_map_locate` in C, `Map.locate` in Python, `Map->locate` in Perl, `stead locate` for
the program.
"""

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True

import built

PHP = os.environ.get("PHP", "php")
# the types whose methods callers use, and what else they call; the rest of the crate is
# for those who make maps in another way
RUST_TYPES = (
    "Map",
    "Pair",
    "Follower",
    "Plan",
    "Store",
    "Fleet",
    "Node",
    "Policy",
    "Survey",
)
RUST_FUNCTIONS = ("build", "build_max_move", "path", "path_name", "save")


def output(command, **more):
    """What a command prints; its complaints are an error of the test."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, **more
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def rust():
    """Methods of the types above, and the free functions above."""
    names = output([built.tool("surface"), "crates/stead/src"]).split()
    return {
        name
        for name in names
        if name.split("::")[0] in RUST_TYPES
        if "::" in name or name in RUST_FUNCTIONS
    } | {name for name in names if name in RUST_FUNCTIONS}


def c():
    """The functions that stead.h declares."""
    header = (ROOT / "include" / "stead.h").read_text(encoding="utf-8")
    return set(re.findall(r"^[a-z].*?\b(stead_\w+)\(", header, re.MULTILINE))


def c_statuses():
    """{name: number}"""
    header = (ROOT / "include" / "stead.h").read_text(encoding="utf-8")
    status = header[: header.index("} stead_status;")].rpartition("typedef enum {")[2]
    return {name: int(n) for name, n in re.findall(r"(STEAD_\w+) = (\d+)", status)}


def rust_statuses():
    """{name: number}"""
    source = (ROOT / "crates/stead/src/error.rs").read_text(encoding="utf-8")
    status = source[source.index("pub enum Status {") :].partition("\n}")[0]
    return {
        name: int(n)
        for name, n in re.findall(r"^    (\w+) = (\d+)", status, re.MULTILINE)
    }


def python_trees():
    """The parsed stub and the parsed records."""
    package = ROOT / "python" / "python" / "stead"
    for name in ("_stead.pyi", "_records.py"):
        yield ast.parse((package / name).read_text(encoding="utf-8"))


def python_public():
    """The names that `from stead import *` gives."""
    text = (ROOT / "python/python/stead/__init__.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    raise RuntimeError("stead/__init__.py has no __all__")


def python():
    """Methods, properties and fields of the public classes, and the public functions."""
    found, public = {"__version__"}, python_public()
    for tree in python_trees():
        for one in tree.body:
            if getattr(one, "name", "") not in public:
                continue
            if isinstance(one, ast.FunctionDef):
                found.add(one.name)
            for part in one.body if isinstance(one, ast.ClassDef) else ():
                name = getattr(part, "name", None)
                if isinstance(part, ast.AnnAssign):
                    name = part.target.id
                if name and not name.startswith("_"):
                    found.add(f"{one.name}.{name}")
    return found


def python_defaults():
    """{(function, argument): default}, of arguments that have one."""
    found, public = {}, python_public()

    def read(function, place):
        given = function.args
        positional = given.posonlyargs + given.args
        pairs = zip(positional[len(positional) - len(given.defaults) :], given.defaults)
        for argument, default in [*pairs, *zip(given.kwonlyargs, given.kw_defaults)]:
            if default is not None and ast.unparse(default) != "...":
                found[place, argument.arg] = ast.literal_eval(default)

    for tree in python_trees():
        for one in tree.body:
            if getattr(one, "name", "") not in public:
                continue
            if isinstance(one, ast.FunctionDef):
                read(one, one.name)
            for part in one.body if isinstance(one, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    read(part, f"{one.name}.{part.name}")
    return found


def python_errors():
    """{class: number}"""
    path = ROOT / "python" / "python" / "stead" / "_errors.py"
    module = runpy.run_path(str(path))
    return {
        name: int(found.status)
        for name, found in module.items()
        if isinstance(found, type) and issubclass(found, module["Error"])
        if found is not module["Error"]
    }


def php_reflection():
    """What PHP's reflection says: `names`, `defaults` and `errors`."""
    text = output(
        [PHP, "-d", "ffi.enable=1", str(ROOT / "tests/languages/reflect.php")]
    )
    names, defaults, errors = set(), {}, {}
    for line in text.splitlines():
        kind, *rest = line.split("\t")
        if kind == "name":
            names.add(rest[0])
        elif kind == "default":
            defaults[rest[0], rest[1]] = rest[2]
        else:
            errors[rest[0]] = int(rest[1])
    return names, defaults, errors


def perl():
    """The subs of the symbol table, and the numbers of the statuses."""
    module = runpy.run_path(str(ROOT / "scripts" / "perl-module"))
    command = [module["PERL"], "-Mblib=" + module["build"]()]
    text = output([*command, str(ROOT / "tests/languages/symbols.pl")])
    lines = [line.split("\t") for line in text.splitlines()]
    names = {rest[0] for kind, *rest in lines if kind == "name"}
    statuses = {rest[0]: int(rest[1]) for kind, *rest in lines if kind == "status"}
    return names, statuses


def program():
    """The verbs in the program's help."""
    text = output([built.program(), "--help"])
    verbs = text.partition("Usage:")[2].partition("\nOptions:")[0]
    # the other lines are headings of groups
    return {f"stead {verb}" for verb in re.findall(r"^  (\S+)", verbs, re.MULTILINE)}

"""Builds what the tests run, with cargo, and returns the paths. It always builds the
same selection of packages, so that no dependency is built twice.

(For another selection cargo may choose other features of shared dependencies. Then it
builds these again, and everything that depends on them.)
"""

import hashlib
import json
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CARGO = os.environ.get("CARGO", "cargo")
# the same arguments as in `make build`
RELEASE = [
    "build",
    "--release",
    "--locked",
    "-q",
    "-p",
    "stead-cli",
    "-p",
    "stead-sync",
    "-p",
    "stead-rrd",
    "-p",
    "stead-capi",
]
TESTS = [
    "test",
    "--workspace",
    # it has no Rust tests, and a test program of it would need a Python interpreter to be linked
    "--exclude",
    "stead-python",
    "--locked",
    "-q",
    "--lib",
    "--bins",
    "--tests",
    "--no-run",
]

# where scripts/rustc-kept keeps how cargo compiles each crate, for scripts/lints
COMMANDS = os.path.join(
    os.path.abspath(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")),
    "commands",
)

# The variable that names the directory in which a run of all suites keeps cargo's messages.
# Without it, each suite starts cargo again, and cargo first waits until nobody else builds.
KEPT = "STEAD_BUILT_KEPT"


def kept(arguments):
    """Returns the file with what cargo said to these arguments, if answers are kept."""
    if KEPT not in os.environ:
        return None
    settings = {k: v for k, v in os.environ.items() if k.startswith(("CARGO", "RUST"))}
    asked = json.dumps([ROOT, arguments, settings], sort_keys=True)
    return os.path.join(
        os.environ[KEPT], hashlib.sha256(asked.encode()).hexdigest() + ".json"
    )


def messages(arguments):
    """Runs cargo; returns its message about each artifact. Exits when the build fails."""
    file = kept(arguments)
    if file and os.path.exists(file):
        with open(file, encoding="utf-8") as said:
            return json.load(said)
    done = subprocess.run(
        [CARGO, *arguments, "--message-format=json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        sys.exit(f"cargo {' '.join(arguments)} failed")
    found = [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")
    ]
    if file:
        # renamed, so that a suite that looks at the same time never reads half of it
        with open(f"{file}.{os.getpid()}", "w", encoding="utf-8") as said:
            json.dump(found, said)
        os.replace(said.name, file)
    return found


def executables(arguments):
    """Returns {name: path} of the programs that cargo builds with these arguments, without tests."""
    return {
        m["target"]["name"]: m["executable"]
        for m in messages(arguments)
        if m.get("executable") and not m.get("profile", {}).get("test")
    }


def programs():
    """Returns {name: path} of `stead`, `stead-sync` and `stead-rrd`, built as they are shipped."""
    return executables(RELEASE)


def program():
    """Returns the path of the program `stead`, built as it is shipped."""
    return programs()["stead"]


def tool(name):
    """Returns the path of a program of the directory tools, built as for its tests."""
    return executables(TESTS)[name]


def libraries():
    """Returns the directory of libstead.so and libstead.a, built as they are shipped."""
    files = [
        file
        for m in messages(RELEASE)
        if m.get("target", {}).get("name") == "stead"
        for file in m["filenames"]
    ]
    return os.path.dirname(next(file for file in files if file.endswith(".so")))


def script(name):
    """Returns a script of the directory scripts as a module."""
    path = os.path.join(ROOT, "scripts", name)
    loader = SourceFileLoader(name.replace("-", "_"), path)
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def rust_tests(package):
    """Returns the test programs of a package, as a list of (name, path), and the
    package's directory, in which they must run.
    """
    found = [
        m
        for m in messages(TESTS)
        if m.get("executable") and m.get("profile", {}).get("test")
    ]
    ours = [
        m
        for m in found
        if os.path.basename(os.path.dirname(m["manifest_path"])) == package
    ]
    return [(m["target"]["name"], m["executable"]) for m in ours], os.path.dirname(
        ours[0]["manifest_path"]
    ) if ours else ROOT


def main():
    """built.py PACKAGE [TEST...] [-- ARGUMENT...]: runs the tests of a package, or only
    the named ones, with these arguments.
    """
    arguments, own = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, own = arguments[:at], arguments[at + 1 :]
    package, *wanted = arguments
    tests, directory = rust_tests(package)
    tests = [(name, path) for name, path in tests if not wanted or name in wanted]
    if not tests:
        sys.exit(f"{package} has no test {' '.join(wanted)}")
    failed = [
        name
        for name, path in tests
        if subprocess.run([path, *own], cwd=directory, check=False).returncode
    ]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()

"""What the tests run, built by cargo: always of the same selection of packages, so that
no dependency is built twice.

(With another selection cargo chooses other features of shared dependencies, and builds
them and all that stands on them anew.)
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CARGO = os.environ.get("CARGO", "cargo")
# as `make build` says it
RELEASE = [
    "build",
    "--release",
    "--locked",
    "-q",
    "-p",
    "stead-cli",
    "-p",
    "stead-rrd",
    "-p",
    "stead-capi",
]
TESTS = [
    "test",
    "--workspace",
    "--locked",
    "-q",
    "--lib",
    "--bins",
    "--tests",
    "--no-run",
]


def messages(arguments):
    """What cargo says of each thing that it built; ends the program when it does not
    build.
    """
    done = subprocess.run(
        [CARGO, *arguments, "--message-format=json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        sys.exit(f"cargo {' '.join(arguments)} failed")
    return [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")
    ]


def program():
    """The path of the program, as it is shipped."""
    return next(
        m["executable"]
        for m in messages(RELEASE)
        if m.get("executable") and m["target"]["name"] == "stead"
    )


def programs():
    """The programs by name, as the tests of their packages run them."""
    return {
        m["target"]["name"]: m["executable"]
        for m in messages(TESTS)
        if m.get("executable") and not m.get("profile", {}).get("test")
    }


def libraries():
    """The directory of libstead.so and libstead.a, as they are shipped."""
    files = [
        file
        for m in messages(RELEASE)
        if m.get("target", {}).get("name") == "stead"
        for file in m["filenames"]
    ]
    return os.path.dirname(next(file for file in files if file.endswith(".so")))


def rust_tests(package):
    """The test programs of a package: (name, path), to be run in the package's
    directory, which comes second.
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
    """Runs the tests of a package, or of it those that are named: built.py PACKAGE
    [TEST]; then the program's own arguments after --.
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

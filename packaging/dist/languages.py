"""The packages of the languages: wheel and source distribution for Python, the archive
for PECL, the zip for composer, and the distribution for CPAN.
"""

import glob
import io
import json
import os
import re
import shutil
import sys
import tarfile
import time

import archive
import tree


def flags(*directories):
    """Returns the flags for rustc with which nothing depends on the directories of this
    machine. They are written as if all was below /usr/src/stead-VERSION.
    """
    home = os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo")
    there = f"/usr/src/stead-{tree.version()}"
    pairs = [(home, f"{there}/cargo"), (tree.ROOT, there)]
    pairs += [(directory, f"{there}/target") for directory in directories]
    return " ".join(f"--remap-path-prefix={path}={name}" for path, name in pairs)


def wheel():
    """Makes the wheel for Linux with glibc 2.17 and newer, of the processor here."""
    tree.say("wheel of the Python module and the program, linked by zig (some minutes)")
    objects = os.path.join(tree.WORK, "objects")
    tree.run(
        [sys.executable, "scripts/python-module", "--portable"],
        CARGO_TARGET_DIR=objects,
        RUSTFLAGS=flags(objects),
        PYTHONDONTWRITEBYTECODE="1",
    )
    (made,) = glob.glob(os.path.join(objects, "wheels", "*.whl"))
    return shutil.copy(made, os.path.join(tree.OUT, "python"))


# What the source distribution for Python has. Its Cargo.toml names no other crate.
MEMBERS = [
    "crates/stead",
    "crates/stead-arrow",
    "crates/stead-plot",
    "crates/stead-cli",
    "python",
]


def sdist():
    """Makes the source distribution for Python: the module, the program and the core,
    with a pyproject.toml at the top, as PEP 517 wants it.
    """
    tree.say("source distribution of the Python module")
    name = f"stead-{tree.version()}"
    folder = os.path.join(tree.WORK, "sdist", name)
    shutil.rmtree(folder, ignore_errors=True)
    kept = [f"{member}/{part}" for member in MEMBERS for part in ("src", "Cargo.toml")]
    kept += ["crates/stead/build.rs", "python/build.rs", "python/stead_build.py"]
    kept += ["python/python", "python/README.md"]
    kept += ["Cargo.toml", "Cargo.lock", ".cargo", "LICENSE-MIT", "LICENSE-APACHE"]
    for file in tree.files(*kept):
        path = os.path.join(folder, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(os.path.join(tree.ROOT, file), path)
    edit(
        folder, "Cargo.toml", r"(?m)^members = .*$", f"members = {json.dumps(MEMBERS)}"
    )
    edit(folder, "Cargo.toml", r"(?m)^exclude = .*\n", "")
    edit(folder, "Cargo.toml", r"(?ms)^\[profile\.dev.*\Z", "")
    text = tree.read("python", "pyproject.toml")
    for was, now in (
        ('backend-path = ["."]', 'backend-path = ["python"]'),
        ('readme = "README.md"', 'readme = "python/README.md"'),
        ('python-source = "python"', 'python-source = "python/python"'),
        ('data = "../target/wheel-data"', 'data = "target/wheel-data"'),
        ("[tool.maturin]\n", '[tool.maturin]\nmanifest-path = "python/Cargo.toml"\n'),
    ):
        if was not in text:
            tree.fail(f"python/pyproject.toml has no line {was!r} any more")
        text = text.replace(was, now)
    text = text[: text.index("[tool.pytest")]
    write(text, folder, "pyproject.toml")
    # without the crates that only other programs need
    tree.run([tree.CARGO, "update", "--workspace", "-q"], cwd=folder)
    write(metadata(text), folder, "PKG-INFO")
    path = os.path.join(tree.OUT, "python", f"{name}.tar.gz")
    archive.tar(path, folder)
    return path


def metadata(project):
    """Returns PKG-INFO: the core metadata of a source distribution (version 2.2)."""
    description = re.search(r'^description = "(.*)"$', project, re.MULTILINE)[1]
    return f"""Metadata-Version: 2.2
Name: stead
Version: {tree.version()}
Summary: {description}
License: MIT OR Apache-2.0
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{tree.read("python", "README.md")}"""


def edit(folder, name, pattern, replacement):
    """Replaces what a pattern finds in a file; it must find something."""
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        text, count = re.subn(pattern, replacement, file.read())
    if not count:
        tree.fail(f"{name} has nothing like {pattern!r} any more")
    write(text, path)


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def pecl():
    """Makes the archive for PECL: PEAR's, with the times and owners of all archives
    here."""
    tree.say("PHP extension for PECL")
    folder = os.path.join(tree.WORK, "pecl")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(tree.ROOT, "php", "ext"), folder)
    tree.run(["pear", "package", "package.xml"], cwd=folder)
    name = f"stead-{tree.version()}"
    with tarfile.open(os.path.join(folder, f"{name}.tgz")) as made:
        made.extractall(os.path.join(folder, "out"), filter="data")
    # PEAR writes package.xml again, with the day and time at which it did so
    package = os.path.join(folder, "out", "package.xml")
    for name_of, form in (("date", "%Y-%m-%d"), ("time", "%H:%M:%S")):
        said = time.strftime(form, time.gmtime(tree.time()))
        written = f"<{name_of}>{said}</{name_of}>"
        edit(folder, "out/package.xml", f"<{name_of}>.*</{name_of}>", written)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as again:
        again.add(package, "package.xml", filter=archive.plain)
        again.add(os.path.join(folder, "out", name), name, filter=archive.plain)
    path = os.path.join(tree.OUT, "php", f"{name}.tgz")
    archive.write(path, archive.gzipped(packed.getvalue()))
    return path


def composer():
    """Makes the zip that composer installs as an artifact: the package without its
    tests. Its composer.json has the version, which composer else asks git for.
    """
    tree.say("PHP package for composer")
    parts = ("php/src", "php/preload", "php/autoload.php", "php/README.md")
    licences = ("php/LICENSE-MIT", "php/LICENSE-APACHE")
    members = {
        os.path.relpath(name, "php"): os.path.join(tree.ROOT, name)
        for name in tree.files(*parts, *licences)
    }
    described = json.loads(tree.read("php", "composer.json"))
    described["version"] = tree.version()
    manifest = os.path.join(tree.WORK, "composer.json")
    write(json.dumps(described, indent=4, ensure_ascii=False) + "\n", manifest)
    members["composer.json"] = manifest
    path = os.path.join(tree.OUT, "php", f"stead-stead-{tree.version()}.zip")
    archive.zipped(path, members)
    return path


def cpan():
    """Makes the distribution for CPAN."""
    tree.say("Perl module for CPAN")
    said = tree.run([sys.executable, "scripts/perl-module", "--dist"])
    made = said.splitlines()[-1]
    return shutil.copy(os.path.join(tree.ROOT, made), os.path.join(tree.OUT, "perl"))


def make():
    """Makes all of them; returns their paths."""
    for folder in ("python", "php", "perl"):
        shutil.rmtree(os.path.join(tree.OUT, folder), ignore_errors=True)
        os.makedirs(os.path.join(tree.OUT, folder))
    return [pecl(), composer(), cpan(), sdist(), wheel()]

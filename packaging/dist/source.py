"""The archive of the sources, with every crate that they need: it builds where there is
no network.

A crate that no Linux compiles is only named there: cargo wants to find it, but not its
files. Most of these are import libraries of Windows, some 250 MB.
"""

import json
import os
import shutil
import tarfile

import archive
import tree

# cargo is asked which crates these need; others are replaced by a crate without code
PLATFORMS = [
    f"{processor}-unknown-linux-{libc}"
    for processor in ("x86_64", "aarch64", "i686", "riscv64gc", "powerpc64le", "s390x")
    for libc in ("gnu", "musl")
    if (processor, libc) not in (("powerpc64le", "musl"), ("s390x", "musl"))
] + ["armv7-unknown-linux-gnueabihf"]

OFFLINE = """
# the crates are in this archive: no network is needed
[source.crates-io]
replace-with = "vendor"
[source.vendor]
directory = "vendor"
"""


def needed():
    """Returns the names and versions of the crates that some Linux compiles."""
    command = [tree.CARGO, "metadata", "--format-version=1", "--locked", "-q"]
    for platform in PLATFORMS:
        command += ["--filter-platform", platform]
    text = tree.run(command)
    metadata = json.loads(text[text.index("{") :])
    nodes = {node["id"] for node in metadata["resolve"]["nodes"]}
    return {
        (package["name"], package["version"])
        for package in metadata["packages"]
        if package["id"] in nodes
    }


def vendor(folder):
    """Puts the crates into `folder`."""
    command = [tree.CARGO, "vendor", "--locked", "--versioned-dirs", "-q", folder]
    tree.run(command)
    wanted = {f"{name}-{version}" for name, version in needed()}
    for name in os.listdir(folder):
        if name not in wanted:
            hollow(os.path.join(folder, name))


def hollow(crate):
    """Leaves only the manifest of a crate, and an empty library. The file of checksums
    must list no file then, and keeps the checksum of the crate that Cargo.lock has.
    """
    for name in os.listdir(crate):
        path = os.path.join(crate, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif name not in ("Cargo.toml", ".cargo-checksum.json"):
            os.remove(path)
    with open(os.path.join(crate, "Cargo.toml"), encoding="utf-8") as file:
        text = file.read()
    # the sections that name files which are gone; `build` and `links` stand in [package]
    kept, skipping = [], False
    for line in text.splitlines():
        if line.startswith("["):
            skipping = line.strip("[]") in ("bin", "example", "test", "bench", "lib")
        if not skipping and not line.startswith(("build = ", "links = ")):
            kept.append(line)
    kept.append('\n[lib]\npath = "src/lib.rs"\n')
    write(os.path.join(crate, "Cargo.toml"), "\n".join(kept))
    write(os.path.join(crate, "src", "lib.rs"), "")
    checksums = os.path.join(crate, ".cargo-checksum.json")
    with open(checksums, encoding="utf-8") as file:
        package = json.load(file)["package"]
    write(checksums, json.dumps({"files": {}, "package": package}))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def is_current(path):
    """Whether an archive is there and has every file of the tree as it is now."""
    if not os.path.exists(path):
        return False
    found = {}
    with tarfile.open(path) as tar:
        for member in tar:
            name = member.name.partition("/")[2]
            if name.startswith("vendor/") or not (member.isfile() or member.issym()):
                continue
            found[name] = tar.extractfile(member).read() if member.isfile() else None
    config = os.path.join(".cargo", "config.toml")
    now = {name: contents(name) for name in tree.files()}
    now[config] = (now.get(config) or b"") + OFFLINE.encode()
    return found == now


def contents(name):
    """Returns the bytes of a file of the tree, and None for a link."""
    path = os.path.join(tree.ROOT, name)
    if os.path.islink(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def make():
    """Makes the archive; returns its path."""
    name = f"stead-{tree.version()}"
    tree.say(f"{name}.tar.xz: the sources and the crates that they need")
    folder = os.path.join(tree.WORK, name)
    shutil.rmtree(folder, ignore_errors=True)
    for file in tree.files():
        path = os.path.join(folder, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(os.path.join(tree.ROOT, file), path, follow_symlinks=False)
    vendor(os.path.join(folder, "vendor"))
    with open(os.path.join(folder, ".cargo", "config.toml"), "a") as file:
        file.write(OFFLINE)
    path = os.path.join(tree.OUT, f"{name}.tar.xz")
    archive.tar(path, folder)
    shutil.rmtree(folder)
    return path

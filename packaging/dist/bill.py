"""The bills of materials (CycloneDX) of what has crates compiled into it, and the
checksums of everything that is handed out.
"""

import glob
import hashlib
import json
import os
import shutil

import archive
import tree

# cargo-cyclonedx is installed into target/ by cargo; the version decides what it writes
TOOL = "cargo-cyclonedx@0.5.9"
# where manifests are that the workspace needs, those of its members and of what they depend on
MANIFESTS = ["Cargo.toml", "Cargo.lock", "crates", "python", "tools", "fuzz/capi"]
DESCRIBED = {
    "stead-cli": "crates/stead-cli",
    "stead-sync": "crates/stead-sync",
    "stead-rrd": "crates/stead-rrd",
    "stead-capi": "crates/stead-capi",
    "stead-python": "python",
}


def tool():
    """Returns the program, which is installed if it is not there."""
    name, _, version = TOOL.partition("@")
    root = os.path.join(tree.WORK, "tools", version)
    program = os.path.join(root, "bin", name)
    if not os.path.exists(program):
        tree.say(f"installing {TOOL} into target (a minute)")
        objects = os.path.join(tree.WORK, "tools-objects")
        options = ["--root", root, "--target-dir", objects, "--debug", "--locked", "-q"]
        # not below the tree: its .cargo/config.toml is for the crates of stead
        tree.run([tree.CARGO, "install", *options, TOOL], cwd="/")
        shutil.rmtree(objects)
    return program


def make():
    """Writes a bill for each program and library into OUT/sbom; returns their paths."""
    program = tool()
    tree.say("bills of materials")
    out = os.path.join(tree.OUT, "sbom")
    work = os.path.join(tree.WORK, "sbom")
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(out)
    # the tool writes its files beside the manifests: so into a copy
    for name in tree.files(*MANIFESTS):
        path = os.path.join(work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(os.path.join(tree.ROOT, name), path, follow_symlinks=False)
    options = ["--format", "json", "--spec-version", "1.5", "--no-build-deps"]
    tree.run([program, "cyclonedx", *options], cwd=work)
    paths = []
    for name, folder in DESCRIBED.items():
        (made,) = glob.glob(os.path.join(work, folder, "*.cdx.json"))
        with open(made, encoding="utf-8") as file:
            text = file.read().replace(work, f"/usr/src/stead-{tree.version()}")
        bill = json.loads(text)
        # a random number, and the time of the build
        bill.pop("serialNumber", None)
        bill["metadata"].pop("timestamp", None)
        path = os.path.join(out, f"{name}-{tree.version()}.cdx.json")
        archive.write(path, (json.dumps(bill, indent=2) + "\n").encode())
        paths.append(path)
    shutil.rmtree(work)
    return paths


def checksums():
    """Writes OUT/SHA256SUMS, for sha256sum -c; returns the number of files."""
    lines = []
    for where, _, names in os.walk(tree.OUT):
        for name in names:
            path = os.path.join(where, name)
            if name != "SHA256SUMS":
                with open(path, "rb") as file:
                    digest = hashlib.sha256(file.read()).hexdigest()
                lines.append(f"{digest}  {os.path.relpath(path, tree.OUT)}\n")
    lines.sort(key=lambda line: line[66:])
    archive.write(os.path.join(tree.OUT, "SHA256SUMS"), "".join(lines).encode())
    return len(lines)

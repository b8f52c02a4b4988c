"""Archives whose bytes depend on the files alone: members are sorted, belong to root, and
have the time of the last commit.
"""

import gzip
import io
import lzma
import os
import tarfile
import time
import zipfile

import tree


def plain(member):
    """A member of a tar archive without what differs from one machine to another."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mtime = tree.time()
    executable = member.isdir() or member.mode & 0o100
    member.mode = 0o755 if executable else 0o644
    return member


def tar(path, folder):
    """Packs a folder, under its own name, into `path`: .tar.gz, .tgz or .tar.xz."""
    packed = io.BytesIO()
    # the format of GNU has no limit on the length of a path, and no header with a time
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(folder, os.path.basename(folder), filter=plain)
    if path.endswith(".xz"):
        # a higher preset takes five times as long and saves a tenth
        data = lzma.compress(packed.getvalue(), preset=2)
    else:
        data = gzipped(packed.getvalue())
    write(path, data)


def gzipped(data):
    """Compresses without a time in the header."""
    return gzip.compress(data, mtime=0)


def zipped(path, members):
    """Packs {name: path of the file} into a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, time.gmtime(tree.time())[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every machine
            entry.external_attr = 0o100644 << 16
            with open(members[name], "rb") as file:
                archive.writestr(entry, file.read())
    write(path, packed.getvalue())


def write(path, data):
    """Replaces a file as a whole."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "wb") as file:
        file.write(data)
    os.replace(f"{path}.new", path)

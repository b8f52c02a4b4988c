"""A disk that remembers what was written to it, and when its cache was flushed.

It is one file of a file system in user space (FUSE, spoken here directly with the
kernel), with a loop device on it, and a real file system on that. The loop device turns
each flush of the file system into an fsync of the file. So the record has every write
that reached the disk, in order, and every barrier between them.
"""

import ctypes
import os
import shutil
import struct
import subprocess
import threading
import time

# operations of the kernel's protocol, linux/fuse.h
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE = (
    *(1, 2, 3, 4, 14, 15, 16, 17),
    18,
)
FSYNC, FLUSH, INIT, BATCH_FORGET = 20, 25, 26, 42
ENOENT, ENOSYS = 2, 38
DIRECT_IO = 1  # of FOPEN: the kernel keeps no pages of the file
WHOLE = 1 << 20  # bytes that the kernel may send at once
BIG_WRITES = 1 << 5
MAX_PAGES = 1 << 22
NODE, NAME = 2, b"disk"
# seconds
PATIENCE = 20
NEW_MOUNTS, RECURSIVE_PRIVATE = 0x00020000, 16384 | 1 << 18
HEAD = struct.Struct("<IIQQIIII")

LIBC = ctypes.CDLL(None, use_errno=True)


# a user's PATH lacks the directories of mkfs and losetup
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class Lacking(Exception):
    """Why there can be no such disk here."""


def has(program):
    """Returns whether there is such a program."""
    return shutil.which(program, path=PATH) is not None


def run(*command):
    """Runs a command that must succeed; returns what it prints."""
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": PATH},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        raise Lacking(f"{' '.join(command)}: {said}")
    return said


class Recorder:
    """The file system in user space. `record` has (offset, bytes) for each write, None
    for each barrier, and whatever `note` was given.
    """

    def __init__(self, image, directory):
        self.file = os.open(image, os.O_RDWR)
        self.size = os.fstat(self.file).st_size
        self.record, self.directory, self.lies = [], directory, False
        os.makedirs(directory, exist_ok=True)
        try:
            self.kernel = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise Lacking(f"/dev/fuse: {error.strerror}") from error
        words = f"fd={self.kernel},rootmode=40000,user_id=0,group_id=0"
        if LIBC.mount(b"recorder", os.fsencode(directory), b"fuse", 6, words.encode()):
            number = ctypes.get_errno()
            os.close(self.kernel)
            raise Lacking(
                f"mounting a file system in user space: {os.strerror(number)}"
            )
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def note(self, what):
        """Puts a mark into the record."""
        self.record.append(what)

    def close(self):
        """Unmounts it, which ends the thread. A loop device that is detached lets go of
        its file a moment later.
        """
        until = time.monotonic() + PATIENCE
        while True:
            try:
                run("umount", self.directory)
                break
            except Lacking:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        self.thread.join()
        os.close(self.kernel)
        os.close(self.file)

    def serve(self):
        """Answers the kernel until it is unmounted."""
        while True:
            try:
                request = os.read(self.kernel, WHOLE + 8192)
            except InterruptedError:
                continue
            except OSError:
                return
            _, what, number, node, *_ = HEAD.unpack_from(request)
            if what in (FORGET, BATCH_FORGET):
                continue
            answer = self.answer(what, node, request[HEAD.size :])
            error, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
            head = struct.pack("<IiQ", 16 + len(body), error, number)
            try:
                os.write(self.kernel, head + body)
            except OSError:
                # the request was interrupted, or all is unmounted
                continue

    def attributes(self, node):
        """Returns the struct fuse_attr of the directory or of the file."""
        size, mode, links = (
            (self.size, 0o100600, 1) if node == NODE else (0, 0o40700, 2)
        )
        numbers = struct.pack("<6Q", node, size, size // 512, 0, 0, 0)
        return numbers + struct.pack("<10I", 0, 0, 0, mode, links, 0, 0, 0, 4096, 0)

    def answer(self, what, node, body):
        """Returns the bytes of an answer, or the number of an error."""
        if what == INIT:
            minor = struct.unpack_from("<I", body, 4)[0]
            flags = struct.unpack_from("<I", body, 12)[0] & (BIG_WRITES | MAX_PAGES)
            page = WHOLE // 4096
            return struct.pack(
                *("<IIIIHHIIHH8I", 7, min(minor, 31), 1 << 17, flags, 16, 12),
                *(WHOLE, 1, page, 0, *[0] * 8),
            )
        if what == LOOKUP:
            if body.rstrip(b"\0") != NAME:
                return ENOENT
            return struct.pack("<QQQQII", NODE, 0, 60, 60, 0, 0) + self.attributes(NODE)
        if what in (GETATTR, SETATTR):
            return struct.pack("<QII", 60, 0, 0) + self.attributes(node)
        if what == OPEN:
            return struct.pack("<QII", 1, DIRECT_IO, 0)
        if what == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return os.pread(self.file, size, offset)
        if what == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            data = body[40 : 40 + size]
            self.record.append((offset, data))
            os.pwrite(self.file, data, offset)
            return struct.pack("<II", len(data), 0)
        if what == FSYNC:
            if not self.lies:
                self.record.append(None)
            return b""
        if what in (RELEASE, FLUSH):
            return b""
        if what == STATFS:
            blocks = self.size // 4096
            return struct.pack("<5Q4I6I", blocks, 0, 0, 1, 0, 4096, 255, 4096, *[0] * 7)
        return ENOSYS


class Disk:
    """A mounted file system whose writes are recorded."""

    def __init__(self, image, scratch, options):
        self.recorder = Recorder(image, os.path.join(scratch, "recorder"))
        self.place, self.device = os.path.join(scratch, "mounted"), None
        try:
            file = os.path.join(self.recorder.directory, NAME.decode())
            self.device = run("losetup", "--find", "--show", file)
            mount(self.device, self.place, options)
        except Lacking:
            self.close()
            raise

    def close(self):
        """Unmounts and frees everything."""
        if os.path.ismount(self.place):
            run("umount", self.place)
        if self.device:
            run("losetup", "--detach", self.device)
        self.recorder.close()


def apart():
    """Gives this process a list of mounts of its own: nobody else sees its disks, so nobody
    else keeps them busy, and none is left when it ends.
    """
    if LIBC.unshare(NEW_MOUNTS) or LIBC.mount(
        None, b"/", None, RECURSIVE_PRIVATE, None
    ):
        raise Lacking(f"mounts of our own: {os.strerror(ctypes.get_errno())}")


def mount(device, place, options):
    """Mounts a device or an image."""
    os.makedirs(place, exist_ok=True)
    run("mount", "-o", options, device, place)

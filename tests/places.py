"""Where the files of tests are.

The suites write many small files and wait for disks with each `fsync`, so scripts/suites.py
puts all of them into memory where that is possible.
"""

import os
import tempfile

# a file system in memory that Linux systems have
MEMORY = "/dev/shm"
# Bytes that must be free there: the suites use less than 1 GiB at a time.
ENOUGH = 4 << 30
# Longer names of directories are not short: the path of a Unix socket has at most 107 bytes.
SHORT = 24


def in_memory():
    """Returns the directory of a file system in memory that has enough space and from which programs
    can be run, or None.
    """
    try:
        system = os.statvfs(MEMORY)
    except OSError:
        return None
    if system.f_bavail * system.f_frsize < ENOUGH or system.f_flag & os.ST_NOEXEC:
        return None
    return MEMORY if os.access(MEMORY, os.W_OK) else None


def short():
    """Returns the directory for temporary files if its name is short, else /tmp."""
    directory = tempfile.gettempdir()
    return directory if len(directory) <= SHORT else "/tmp"

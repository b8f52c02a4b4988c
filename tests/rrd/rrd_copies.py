"""Checks whether all copies of files equal the files of one rrdcached."""

import re
import subprocess


def dumped(path):
    """Returns rrdtool's dump without the one thing that rrdtool chooses at random when
    it makes a file: the row with which an archive begins.
    """
    done = subprocess.run(
        [b"rrdtool", b"dump", path],
        capture_output=True,
        check=True,
    )
    return re.sub(rb"(cur_row (?:1|=)) \d+", rb"\1 LOT", done.stdout)


def differing(cluster, names):
    """Returns the copies whose dump differs from that of `single`, as (name, backend),
    and how many copies there are.
    """
    wrong, copies = [], 0
    for name in names:
        expected = dumped(bytes(cluster.single.base) + b"/" + name)
        for backend, server in cluster.backends.items():
            path = bytes(server.base) + b"/" + name
            try:
                found = dumped(path)
            except subprocess.CalledProcessError:
                continue  # this backend has no copy
            copies += 1
            if found != expected:
                wrong.append((name, backend))
    return wrong, copies

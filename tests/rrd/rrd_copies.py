"""Reads files with rrdtool, and checks whether all copies equal the files of one
rrdcached.
"""

import os
import re
import subprocess
import time


class Tool:
    """One rrdtool process that runs one command after the other."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["rrdtool", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *words):
        """Returns the output of a command. The words contain no quotes. A file that a server
        writes at that moment is locked for an instant.
        """
        for _ in range(100):
            lines, error = self.once(words)
            if error != b"ERROR: could not lock RRD\n":
                break
            time.sleep(0.01)
        assert error is None, (words, error)
        return b"".join(lines)

    def once(self, words):
        """Returns the lines of the output, and the line of an error."""
        line = b" ".join(b'"%b"' % word for word in words)
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            assert line, f"rrdtool ended at {words}"
            if line.startswith(b"OK u:"):
                return lines, None
            if line.startswith(b"ERROR"):
                return lines, line
            lines.append(line)


# the process that runs the simple commands, as soon as there is one
tool = None


def rrdtool(*words):
    """Returns the output of an rrdtool command, which must succeed."""
    global tool
    words = [
        os.fsencode(word if isinstance(word, bytes) else str(word)) for word in words
    ]
    # rrdtool has rules of its own for quotes, and one line for each command
    if any(re.search(rb"[^\w./: -]", word) for word in words):
        return subprocess.run(
            [b"rrdtool", *words], stdout=subprocess.PIPE, check=True
        ).stdout
    tool = tool or Tool()
    return tool.run(*words)


def comparable(text):
    """Removes the one thing that rrdtool chooses at random when it makes a file: the
    row with which an archive begins.
    """
    return re.sub(rb"(cur_row[^0-9]+(?:1 )?)\d+", rb"\1LOT", text)


def info(path):
    """Returns the description of a file, without its rows and its name."""
    return comparable(rrdtool("info", path).replace(os.fsencode(path), b"FILE"))


def dumped(path):
    """Returns rrdtool's dump, in which the archives begin with their oldest rows."""
    return rrdtool("dump", path)


def whole(path):
    """Returns the description of a file, and the bytes of its rows in the order of a
    dump. The rows are the last part of a file, and this is much faster than a dump.
    """
    text = rrdtool("info", path)

    def numbers(name):
        return [int(number) for number in re.findall(rb"\b%b = (\d+)" % name, text)]

    with open(path, "rb") as file:
        file.seek(*numbers(b"header_size"))
        data = file.read()
    row = 8 * len(numbers(b"index"))
    archives, at = [], 0
    for count, newest in zip(numbers(b"rows"), numbers(b"cur_row")):
        archive, at = data[at : at + count * row], at + count * row
        oldest = (newest + 1) % count * row
        archives.append(archive[oldest:] + archive[:oldest])
    assert at == len(data), f"{path}: {len(data)} bytes of rows, and not {at}"
    return comparable(text.replace(os.fsencode(path), b"FILE")), archives


def equal(one, other):
    """Returns whether two files have the same content."""
    # there is more than one way to write that a value is unknown
    return whole(one) == whole(other) or dumped(one) == dumped(other)


def differing(cluster, names):
    """Returns the copies whose content differs from that of `single`, as (name,
    backend), and how many copies there are.
    """
    wrong, copies = [], 0
    for name in names:
        expected = os.path.join(os.fsencode(cluster.single.base), os.fsencode(name))
        for backend, server in cluster.backends.items():
            path = os.path.join(os.fsencode(server.base), os.fsencode(name))
            if not os.path.exists(path):
                continue  # this backend has no copy
            copies += 1
            if not equal(path, expected):
                wrong.append((name, backend))
    return wrong, copies

"""Whether all copies of files are what one rrdcached has made."""

import re
import subprocess


def dumped(path):
    """What rrdtool dumps, without what it draws by lot when it makes a file: the row
    that an archive begins with.
    """
    done = subprocess.run(
        [b"rrdtool", b"dump", path],
        capture_output=True,
        check=True,
    )
    return re.sub(rb"(cur_row (?:1|=)) \d+", rb"\1 LOT", done.stdout)


def differing(cluster, names):
    """The copies whose dump is not the one of `single`: (name, backend), and how many
    copies there are.
    """
    wrong, copies = [], 0
    for name in names:
        expected = dumped(bytes(cluster.single.base) + b"/" + name)
        for backend, server in cluster.backends.items():
            path = bytes(server.base) + b"/" + name
            try:
                found = dumped(path)
            except subprocess.CalledProcessError:
                continue  # none here
            copies += 1
            if found != expected:
                wrong.append((name, backend))
    return wrong, copies

"""twemproxy (Debian: nutcracker) in front of memcached: `python nutcracker.py MODE` or
`python nutcracker.py MODE version`; clients.py describes input and output.
"""

import re
import shutil
import socket
import sys
import tempfile

from proxies import free_address, lacking, read_input, running, said_by

NUTCRACKER = shutil.which("nutcracker") or shutil.which(
    "nutcracker", path="/usr/sbin:/sbin"
)
# distribution and hash, as in its configuration; ketama and fnv1a_64 are its defaults
MODES = {
    "default": "",
    "ketama-md5": "  hash: md5\n  distribution: ketama\n",
    "modula": "  distribution: modula\n",
}


def main(mode, *version):
    if not NUTCRACKER:
        return lacking("twemproxy (nutcracker) is not installed")
    if version:
        print(re.search(r"nutcracker-([\d.]+)", said_by(NUTCRACKER, "--version"))[1])
        return 0
    servers, keys = read_input()
    with tempfile.TemporaryDirectory() as scratch:
        # it requires an address for its statistics
        address, (host, statistics) = free_address(), free_address()
        with open(f"{scratch}/conf", "w", encoding="ascii") as file:
            listen = "{}:{}".format(*address)
            file.write(
                f"fleet:\n  listen: {listen}\n{MODES[mode]}  servers:\n"
                + "".join(f"   - {server}:1\n" for server in servers)
            )
        command = [
            NUTCRACKER,
            "-c",
            f"{scratch}/conf",
            "-a",
            host,
            "-s",
            str(statistics),
            "-o",
            f"{scratch}/log",
            "-p",
            f"{scratch}/pid",
        ]
        with (
            running(address, *command),
            socket.create_connection(address) as connection,
        ):
            stream = connection.makefile("rb")
            for first in range(0, len(keys), 100):
                some = keys[first : first + 100]
                connection.sendall(b"get " + b" ".join(some) + b"\r\n")
                found = {}
                for line in iter(stream.readline, b"END\r\n"):
                    if not line.startswith(b"VALUE "):
                        sys.exit(f"nutcracker said {line!r}")
                    _, key, _, length = line.split()[:4]
                    found[key] = stream.read(int(length) + 2)[:-2].decode()
                print("\n".join(found.get(key, "") for key in some))
    return 0


sys.exit(main(*sys.argv[1:]))

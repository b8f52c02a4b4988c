"""Lists the keys that memcached servers have, KEY<TAB>HOST:PORT on each line, for
`stead check MAP --observed`. It needs memcached 1.4.31 or newer.

    python3 keys.py [--strip TEXT] [--prefix TEXT] HOST:PORT ...

    --strip TEXT     the prefix that the client library adds, such as PHP's
                     OPT_PREFIX_KEY: lists only keys that begin with it, and without it
    --prefix TEXT    lists only keys that begin with TEXT (behind what --strip removes)

It asks the servers themselves, so it sees the keys of clients in any language, whatever
their rule. memcached before 1.6.9 may omit a key, or name it twice, if the key moves
from one of the server's lists to another meanwhile.
"""

import argparse
import socket
import sys
import time
from urllib.parse import unquote_to_bytes


def keys(server):
    """Yields the keys of a server, as bytes."""
    host, _, port = server.rpartition(":")
    # walk the hash table; before 1.6.9 only the lists of items by age could be walked
    walk = b"hash"
    while True:
        with (
            socket.create_connection((host, int(port)), 30) as connection,
            connection.makefile("rb") as answer,
        ):
            connection.sendall(b"lru_crawler metadump %b\r\n" % walk)
            for line in answer:
                if line.startswith(b"BADCLASS") and walk == b"hash":
                    walk = b"all"
                    break
                if line.startswith(b"BUSY"):
                    time.sleep(0.2)  # it serves one such request at a time
                    break
                if line.startswith(b"END"):
                    return
                if not line.startswith(b"key="):
                    sys.exit(
                        f"keys.py: {server} answers "
                        f"{line.decode(errors='replace').strip()!r}; it takes "
                        "memcached 1.4.31 or newer"
                    )
                yield unquote_to_bytes(line.split(b" ", 1)[0][4:])
            else:
                sys.exit(f"keys.py: {server} hung up")


def items(server, strip="", prefix=""):
    """Yields two keys for each item that --strip and --prefix choose: the one that the
    server has, and the one that the application gave to its client.
    """
    strip, prefix = strip.encode(), prefix.encode()
    for key in keys(server):
        if key.startswith(strip + prefix):
            yield key, key[len(strip) :]


def main():
    parser = argparse.ArgumentParser(prog="keys.py")
    parser.add_argument("--strip", default="", metavar="TEXT")
    parser.add_argument("--prefix", default="", metavar="TEXT")
    parser.add_argument("servers", nargs="+", metavar="HOST:PORT")
    given = parser.parse_args()
    for server in given.servers:
        for _, key in items(server, given.strip, given.prefix):
            sys.stdout.buffer.write(key + b"\t" + server.encode() + b"\n")


if __name__ == "__main__":
    main()

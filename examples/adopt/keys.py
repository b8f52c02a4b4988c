"""Lists the keys that memcached servers have, KEY<TAB>HOST:PORT on each line, for
`stead check MAP --observed`. It needs memcached 1.4.31 or newer.

    python3 keys.py [--strip TEXT] [--prefix TEXT] HOST:PORT [WEIGHT] ...

    --strip TEXT     the prefix that the client library adds, such as PHP's
                     OPT_PREFIX_KEY: lists only keys that begin with it, and without it
    --prefix TEXT    lists only keys that begin with TEXT (behind what --strip removes)

The weights of a list for `stead ring` may stay in it: they are passed over. The script
asks the servers themselves, so it sees the keys of clients in any language, whatever
their rule. memcached before 1.6.9 may omit a key, or name it twice, if the key moves
from one of the server's lists to another meanwhile.
"""

import argparse
import contextlib
import os
import re
import socket
import sys
import time
from urllib.parse import unquote_to_bytes

SERVER = re.compile(r"([^\s:]+|\[[0-9A-Fa-f:.]+\]):(\d+)")


def fail(problem):
    """Ends the script that was called, keys.py or sweep.py, with one line."""
    sys.exit(f"{os.path.basename(sys.argv[0])}: {problem}")


@contextlib.contextmanager
def asked(server):
    """Connects to a server: the socket, and a file of what it answers."""
    place = SERVER.fullmatch(server)
    if not place:
        fail(f"{server!r} is not HOST:PORT; write the address of a server")
    try:
        with (
            socket.create_connection((place[1].strip("[]"), int(place[2])), 30) as one,
            one.makefile("rb") as answer,
        ):
            yield one, answer
    except (OSError, OverflowError) as error:
        fail(f"{server} does not answer: {error}")


def keys(server):
    """Yields the keys of a server, as bytes."""
    # walk the hash table; before 1.6.9 only the lists of items by age could be walked
    walk = b"hash"
    while True:
        with asked(server) as (connection, answer):
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
                    fail(
                        f"{server} answers "
                        f"{line.decode(errors='replace').strip()!r}; it takes "
                        "memcached 1.4.31 or newer"
                    )
                yield unquote_to_bytes(line.split(b" ", 1)[0][4:])
            else:
                fail(f"{server} hung up")


def items(server, strip="", prefix=""):
    """Yields two keys for each item that --strip and --prefix choose: the one that the
    server has, and the one that the application gave to its client.
    """
    strip, prefix = strip.encode(), prefix.encode()
    for key in keys(server):
        if key.startswith(strip + prefix):
            yield key, key[len(strip) :]


def without_weights(words):
    """Returns the servers of a list in which a weight may follow each of them."""
    servers, after = [], None
    for word in words:
        if re.fullmatch(r"\d+(\.\d+)?", word) and after in servers:
            after = None
            continue
        if not SERVER.fullmatch(word):
            fail(
                f"{word!r} is not HOST:PORT, nor the weight of the server before it; "
                "name each server as HOST:PORT or HOST:PORT WEIGHT"
            )
        servers.append(word)
        after = word
    return servers


def main():
    parser = argparse.ArgumentParser(prog="keys.py")
    parser.add_argument("--strip", default="", metavar="TEXT")
    parser.add_argument("--prefix", default="", metavar="TEXT")
    parser.add_argument("servers", nargs="+", metavar="HOST:PORT [WEIGHT]")
    given = parser.parse_args()
    for server in without_weights(given.servers):
        for _, key in items(server, given.strip, given.prefix):
            sys.stdout.buffer.write(key + b"\t" + server.encode() + b"\n")


if __name__ == "__main__":
    main()

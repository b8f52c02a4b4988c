"""Sends conversations to the router and to one rrdcached, and compares the answers byte
for byte. Run alone, it is a campaign:

    python3 tests/rrd/rrd_same.py --lines 1000000 --seed 1
"""

import argparse
import difflib
import re
import selectors
import socket
import time

from rrd_lines import Lines

# (name, why the answers differ, and how to recognise it: a pattern of the line, one of
# rrdcached's answer, one of the router's)
SUCCESS, ERROR = rb"\d+ .*", rb"-1 .*"
DIFFERENT = [
    # answers that differ each time, or that cover several servers
    (
        "STATS",
        "counters of all servers, and copies are counted each",
        rb"stats\b.*",
        rb"9 Statistics follow\n.*",
        rb"\d+ Statistics follow\n.*",
    ),
    (
        "QUEUE",
        "what waits for the disk at that moment",
        rb"queue\b.*",
        rb"\d+ in queue\..*",
        rb"\d+ in queue\..*",
    ),
    (
        "SUSPENDALL",
        "copies are counted each",
        rb"(suspend|resume)all\b.*",
        rb"0 \d+ rrds (suspend|resumed)",
        rb"0 \d+ rrds (suspend|resumed)",
    ),
    (
        "recent FETCH",
        "by the time of the day",
        rb"fetch (?:\\.|\S)+ ?\S*( -600)?\r?",
        rb"\d+ Success\n.*",
        rb"\d+ Success\n.*",
    ),
    (
        "HELP",
        "the router's own words",
        rb"help\b.*",
        rb"\d+ (Command overview|Help for \w+)\n.*",
        rb"\d+ (Command overview|Help for \w+)\n.*",
    ),
    # paths
    (
        "no name before a carriage return",
        "it is the name of the base directory there",
        rb"\w+ +\r",
        rb"-1 (No such file: .*|RRD Error: mmaping file '.*': No such device)",
        rb"-1 Usage: .*",
    ),
    (
        "control characters",
        "no file of ours has one in its name",
        rb".*[\x01-\x1f\x7f].*",
        rb"-1 .*|0 updates pending",
        rb"-1 .*: Permission denied",
    ),
    (
        "LIST of odd names",
        "the router reads over two blanks, and the server over a CR at the end",
        rb"list (.*[\x01-\x1f].*| .*)",
        ERROR,
        rb"(?:\d+ RRDs|-1 ).*",
    ),
    (
        "LIST RECURSIVE with two blanks",
        "the router reads over them, and the server sees an empty path, which is the base",
        rb"list recursive  .*",
        rb".*",
        rb"(?:\d+ RRDs|-1 ).*",
    ),
    (
        "LIST of a word",
        "RECURSIVE is taken as it is written, and a path begins with a slash",
        rb"list (\S*\\\S* .*|([^ /]\S*)?\\|recursive ([^/].*)?)",
        rb".*",
        rb"-1 Usage: LIST .*",
    ),
    (
        "an empty path",
        "for rrdcached it is the base",
        rb"\w+ (|[ /].*|\\?\.(/+\.?)*( .*)?)",
        rb"-1 .*|0 updates pending",
        rb"-1 Usage: .*|-1 .*: Permission denied",
    ),
    (
        "..",
        "refused wherever it stands as a part",
        rb".*\.\..*",
        rb"-1 .*|0 updates pending",
        rb"-1 .*: Permission denied",
    ),
    (
        "x../",
        "what follows the dots is no part of the name that the server gets",
        rb"\w+ \S*\.\.(/\.?)+( .*)?",
        rb"-1 .*: Permission denied",
        rb"-1 .*",
    ),
    (
        "outside",
        "rrdcached tells whoever asks that nothing is pending for /etc/passwd",
        rb"pending /.*",
        rb"0 updates pending",
        rb"-1 .*: Permission denied",
    ),
    (
        "a directory or file in the way",
        "it may be on other servers",
        rb".*",
        rb"-1 (stat failed with error 20\.|No such file: .*|.*: Not a directory)",
        rb"-1 (stat failed with error 20\.|.*No such file.*)",
    ),
    (
        "CREATE where a directory is",
        "it may be on other servers, which then look at the definitions",
        rb"create .* -O .*",
        rb"-1 RRD Error: creating '.*': File exists",
        rb"-1 RRD Error: (?!creating ).*",
    ),
    (
        "a directory that is read",
        "it may be on other servers",
        rb".*",
        rb"-1 .*mmaping file '.*': No such device",
        rb"-1 .*opening '.*': No such file or directory",
    ),
    (
        "blanks side by side",
        "the router makes one of them",
        rb"create .*(  .*| \r?)",
        ERROR,
        rb"-1 .*",
    ),
    # values
    (
        "two faults",
        "the router looks for values first",
        rb"update .*",
        ERROR,
        rb"-1 No values updated\.",
    ),
    (
        "a blank at the end",
        "rrdcached takes the values, and says -1 since there is one more, which is empty",
        rb"update .* \r?",
        rb"-1 Cannot find timestamp in ''!",
        rb"0 .*",
    ),
]


class Differs(AssertionError):
    """The answers of the two differ."""


def exchange(address, chunks):
    """Sends the pieces and then closes the sending half. Returns everything that is
    received until the other side closes, too.
    """
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address.removeprefix("unix:"))
    else:
        host, port = address.rsplit(":", 1)
        connection = socket.create_connection((host, int(port)))
    connection.setblocking(False)
    got, chunks, data = bytearray(), iter(chunks), b""
    with connection, selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
        while True:
            ready = selector.select(120)
            if not ready:
                raise Differs(
                    f"{address} says nothing for 120 s, after {bytes(got[-200:])!r}"
                )
            if ready[0][1] & selectors.EVENT_READ:
                try:
                    part = connection.recv(1 << 20)
                except ConnectionError:
                    part = b""
                if not part:
                    return bytes(got)
                got += part
            if ready[0][1] & selectors.EVENT_WRITE:
                data = data or next(chunks, b"")
                try:
                    if data:
                        data = data[connection.send(data) :]
                    else:
                        connection.shutdown(socket.SHUT_WR)
                        selector.modify(connection, selectors.EVENT_READ)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    selector.modify(connection, selectors.EVENT_READ)


def replies(data):
    """Returns the replies of a connection. The last one may be incomplete and is
    returned as it is.
    """
    at, found = 0, []
    while at < len(data):
        start, at = at, data.find(b"\n", at) + 1
        count = re.match(rb"-?\d+ ", data[start:at])
        if not at or not count:
            return [*found, data[start:]]
        for _ in range(int(count[0])):
            line, at = at, data.find(b"\n", at) + 1
            if not at:
                return [*found, data[start:]]
            binary = re.match(rb"DSName-.*: BinaryData (\d+) (\d+) ", data[line:at])
            at += int(binary[1]) * int(binary[2]) + 1 if binary else 0
        found.append(data[start:at])
    return found


def answered(lines):
    """Returns the lines that get an answer while the connection lasts, as (line, the
    lines of the BATCH that it ends).
    """
    found, batch = [], None
    for line in lines:
        if not line.text.endswith(b"\n"):
            break
        word = line.words[0]
        if batch is None:
            if line.verb == b"QUIT":
                break
            found.append((line, None))
            if line.verb == b"BATCH":
                batch = []
        elif word == b".":
            found.append((line, batch))
            batch = None
        else:
            batch.append(line)
    return found


def comparable(line, reply, base):
    """Returns the reply without the parts in which the two may differ."""
    reply = reply.removesuffix(b"\n")
    if line.verb == b"INFO":
        reply = re.sub(rb"(cur_row 1) \d+", rb"\1 LOT", reply)
    elif line.verb == b"LIST":
        head, *rest = reply.split(b"\n")
        reply = b"\n".join([head, *sorted(rest)])
    if reply.startswith(b"-"):
        # for the router, all spellings of a path are the same
        reply = re.sub(rb"/(\./|/)+", b"/", reply)
        reply = re.sub(rb"/\.?(?=$|: |')", b"", reply)
        # a directory, or a file in place of one, exists only on some of its servers
        reply = re.sub(rb"(Not a regular file|No such file)", b"No such file", reply)
    return reply


def errors(reply):
    """Returns the line numbers and messages of a BATCH's answer."""
    head, *rest = reply.split(b"\n")
    found = {}
    for text in rest[:-1]:
        number, _, message = text.partition(b" ")
        found.setdefault(int(number), message)
    if not re.fullmatch(rb"%d errors" % len(found), head):
        raise Differs(f"a BATCH with {len(found)} errors says {head!r}")
    return found


def known(line, single, routed):
    """Returns whether this is one of the known differences."""
    text = (
        line.verb.lower()
        + line.text.removesuffix(b"\n")[
            len(re.match(rb"(?:\\.|[^ \\\n])*", line.text, re.DOTALL)[0]) :
        ]
    )
    patterns = (
        ((said, text), (by_one, single), (by_router, routed))
        for _, _, said, by_one, by_router in DIFFERENT
    )
    return any(
        all(
            re.fullmatch(pattern, found, re.IGNORECASE | re.DOTALL)
            for pattern, found in three
        )
        for three in patterns
    )


class Same:
    """Compares one conversation after the other, and counts what it saw."""

    def __init__(self, cluster, seed):
        self.cluster, self.base = cluster, str(cluster.base).encode()
        self.lines = Lines(seed, self.base)
        self.seed, self.sent, self.compared, self.alone, self.conversations = (
            seed,
            0,
            0,
            0,
            0,
        )
        self.differ, self.refused, self.survey, self.here = {}, 0, False, f"seed {seed}"

    def run(self, count):
        """Sends `count` lines, then compares what waits for the disk."""
        while self.sent < count:
            self.converse()
        self.settle()

    def converse(self):
        """Runs a conversation on one connection to each."""
        lines = self.lines.conversation()
        self.conversations += 1
        self.sent += len(lines)
        both = [line for line in lines if not line.alone]
        said = []
        for address, own in (
            (self.cluster.single.address, both),
            (self.cluster.tcp if self.conversations % 2 else self.cluster.unix, lines),
        ):
            data = b"".join(line.text for line in own)
            self.here = f"seed {self.seed}, conversation {self.conversations}"
            said.append(replies(exchange(address, self.lines.chunks(data))))
        single, routed = ([], [])
        for found, mine, own in ((single, said[0], both), (routed, said[1], lines)):
            wanted = answered(own)
            for at, (line, batch) in enumerate(wanted):
                if at >= len(mine):
                    who = "rrdcached" if found is single else "the router"
                    raise Differs(
                        f"{self.here}: {who} gave {len(mine)} answers and not "
                        f"{len(wanted)}; without one: {line!r}, before it "
                        f"{own[max(0, own.index(line) - 3) : own.index(line)]}, last "
                        f"{mine[-2:]}"
                    )
                found.append((line, batch, mine[at]))
            if len(mine) > len(wanted):
                raise Differs(
                    f"{self.here}: {'rrdcached' if found is single else 'the router'} "
                    f"gave more answers than questions: {mine[len(wanted)][:300]!r} "
                    "..."
                )
        by_line = {id(line): (batch, reply) for line, batch, reply in single}
        for line, batch, reply in routed:
            if line.alone:
                self.alone_answered(line, reply)
            elif batch is None:
                self.compare(line, by_line[id(line)][1], reply)
            else:
                self.compare_batch(batch, by_line[id(line)], reply)
        if any(line.verb == b"FLUSHALL" for line in lines):
            self.settle()

    def alone_answered(self, line, reply):
        self.alone += 1
        if not reply.startswith(b"-1 ") or reply.count(b"\n") != 1:
            self.differs(line, b"(" + line.alone.encode() + b": to be refused)", reply)

    def compare(self, line, single, routed):
        self.compared += 1
        self.refused += single.startswith(b"-")
        single, routed = (
            comparable(line, reply, self.base) for reply in (single, routed)
        )
        if single != routed and not known(line, single, routed):
            self.differs(line, single, routed)

    def differs(self, line, single, routed):
        text = (
            f"{self.here}: {line!r}\n  rrdcached says {single[:300]!r}\n"
            f" the router says {routed[:300]!r}"
        )
        if b"\n" in single and b"\n" in routed:
            lines = (repr(reply)[2:-1].split("\\n") for reply in (single, routed))
            text = f"{self.here}: {line!r}\n" + "\n".join(
                difflib.unified_diff(*lines, "rrdcached", "router", "", "", 0, "")
            )
        if not self.survey:
            raise Differs(text)
        kind = (
            line.verb[:10],
            re.sub(rb"[0-9a-f]+|/\S+|'.*'", b"", single)[:60],
            re.sub(rb"[0-9a-f]+|/\S+|'.*'", b"", routed)[:60],
        )
        if kind not in self.differ:
            self.differ[kind] = text
            print(text, flush=True)

    def compare_batch(self, batch, single, routed):
        both, reply = single
        numbers = {id(line): number for number, line in enumerate(both, 1)}
        one, many = errors(reply), errors(routed)
        for number, line in enumerate(batch, 1):
            if line.alone:
                if number not in many:
                    self.differs(
                        line,
                        b"(" + line.alone.encode() + b": to be refused in a BATCH)",
                        b"0 ",
                    )
                self.alone += 1
                continue
            self.compare(
                line,
                *(
                    b"-1 " + said[at] if at in said else b"0 "
                    for said, at in ((one, numbers[id(line)]), (many, number))
                ),
            )

    def settle(self):
        """Flushes every file on both sides."""
        lines = [
            b"FLUSH " + name.replace(b"\\", b"\\\\").replace(b" ", b"\\ ") + b"\n"
            for name in self.files()
        ]
        for address in (self.cluster.single.address, self.cluster.unix):
            got = replies(exchange(address, [b"".join(lines)]))
            bad = [
                (line, reply)
                for line, reply in zip(lines, got, strict=True)
                if not reply.startswith(b"0 ")
            ]
            if bad:
                raise Differs(f"{self.here}: {address} does not flush: {bad[:3]}")

    def files(self):
        """Returns the names of all files of the single rrdcached."""
        base = self.cluster.base
        return sorted(
            str(path.relative_to(base)).encode(errors="surrogateescape")
            for path in base.rglob("*.rrd")
            if path.is_file()
        )


def main():
    """Runs a campaign."""
    import signal
    import sys
    import tempfile
    from pathlib import Path

    sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
    import built
    import places
    from rrd_copies import differing, dumped
    from rrd_servers import Cluster, resident

    arguments = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    arguments.add_argument("--lines", type=int, default=1_000_000)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument(
        "--survey",
        action="store_true",
        help="go on at a difference; one of each kind is printed",
    )
    arguments.add_argument(
        "--polite", action="store_true", help="wait for the answers before the end"
    )
    arguments.add_argument(
        "--without",
        default="",
        help="kinds of lines for the router alone that are left out: long,NUL",
    )
    asked = arguments.parse_args()
    # exit in a way that also stops all processes that it has started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    with (
        tempfile.TemporaryDirectory(prefix="stead-rrd-", dir=places.short()) as place,
        Cluster(built.programs(), Path(place), quiet=True) as cluster,
    ):
        same = Same(cluster, asked.seed)
        same.lines.polite = asked.polite
        same.survey, same.lines.without = asked.survey, tuple(asked.without.split(","))
        while same.sent < asked.lines:
            try:
                same.run(min(asked.lines, same.sent + 100_000))
            except Differs as differs:
                servers = {
                    name: server.process.poll()
                    for name, server in [
                        ("single", cluster.single),
                        *cluster.backends.items(),
                    ]
                }
                sys.exit(
                    f"{differs}\n the router says "
                    f"{(cluster.place / 'router').read_text()[-3000:]}\n"
                    f" ended: {servers}"
                )
            print(
                f"seed {asked.seed}: {same.sent} lines, {same.compared} answers "
                f"compared, {same.refused} errors among them, "
                f"{same.alone} lines refused by the router alone; it holds "
                f"{resident(cluster.router.pid) >> 20} MiB",
                flush=True,
            )
        for text in cluster.router_said(r".* is down.*"):
            print(text)
        wrong, copies = differing(cluster, same.files())
        print(
            f"{copies} copies of {len(same.files())} files, {len(wrong)} differ {wrong[:3] or ''}"
        )
        for name, backend in wrong[:1]:
            texts = [
                dumped(bytes(server.base) + b"/" + name).decode().splitlines()
                for server in (cluster.single, cluster.backends[backend])
            ]
            print(
                "\n".join(
                    difflib.unified_diff(*texts, "rrdcached", backend, lineterm="", n=1)
                )
            )
        sys.exit(bool(wrong or same.differ))


if __name__ == "__main__":
    main()

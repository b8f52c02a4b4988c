"""`python -m stead MAP [KEY...]`: the command `stead locate`, for machines that do not
have the program.

Arguments, records and exit codes are those of `stead locate` (docs/cli.md). So are the
error messages, except for those about the command line.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from . import Error, Map, PermissionDeniedError, Status, __version__

# sysexits.h, as in docs/cli.md
_USAGE, _DATA, _NO_INPUT, _INTERNAL, _IO, _PERMISSION = 64, 65, 66, 70, 74, 77
_PIPE = 141  # 128 + SIGPIPE, as the shell reports it
_CODES = {Status.NOT_FOUND: _NO_INPUT, Status.IO: _IO, Status.INTERNAL: _INTERNAL}
_PORTION = 1 << 16  # the capacity of a pipe


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _end(_USAGE, f"{message}; see --help")


def _end(code: int, line: str) -> NoReturn:
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in line
    )
    sys.stderr.buffer.write(f"stead: {shown}\n".encode("utf-8", "backslashreplace"))
    sys.stderr.buffer.flush()
    # not sys.exit, which would once more flush to an output that nobody reads
    os._exit(code)


def _at_least_1(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("write a whole number from 1")
    return int(text)


def _records(end: bytes, out: BinaryIO) -> Iterator[bytes]:
    """Yields the records of standard input, without their ends. Before it waits for
    more input, it flushes all answers.
    """
    begun: list[bytes] = []
    while True:
        out.flush()
        portion = os.read(0, _PORTION)
        if not portion:
            break
        first, *others = portion.split(end)
        begun.append(first)
        for other in others:
            record = b"".join(begun)
            # one \r before the \n is part of the line end
            yield record[:-1] if end == b"\n" and record.endswith(b"\r") else record
            begun = [other]
    if any(begun):
        yield b"".join(begun)


def main(arguments: list[str]) -> None:
    """Runs the program; exits the process if anything fails."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parser = _Parser(
        prog="python -m stead",
        usage="python -m stead [-0] [--prefer N] MAP [KEY ...]",
        description="Say where keys live: KEY<TAB>node1,node2,... with the primary first.",
        epilog=(
            "Exit codes: 0 done; 64 wrong usage; 65 the map is damaged or not a map; "
            "66 no such map; 74 reading or writing failed"
        ),
        allow_abbrev=False,
    )
    parser.add_argument(
        "words",
        metavar="MAP, KEY",
        nargs="*",
        help=(
            "the map, and the keys (after -- when one starts with a dash); none = one "
            "a line from standard input"
        ),
    )
    parser.add_argument(
        "-0",
        dest="zero",
        action="store_true",
        help="keys and records end in NUL, and a record is node1,node2<TAB>KEY",
    )
    parser.add_argument(
        "--prefer",
        metavar="N",
        type=_at_least_1,
        help=(
            "list N distinct nodes instead, best first: those of the key, then those "
            "that take over"
        ),
    )
    parser.add_argument("--version", action="version", version=f"stead {__version__}")
    # arguments after -- are handled here, because argparse drops more than one --
    dashes = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_intermixed_args(arguments[:dashes])
    words = options.words + arguments[dashes + 1 :]
    if not words:
        parser.error("MAP is missing")
    map_file, keys = words[0], words[1:]
    try:
        members = Map.open(map_file, copy=True)
        # closefd=False keeps standard output open; after an error the buffered rest is
        # dropped
        out = open(1, "wb", buffering=_PORTION, closefd=False)  # noqa: SIM115
        for key in (
            map(os.fsencode, keys)
            if keys
            else _records(b"\0" if options.zero else b"\n", out)
        ):
            nodes = ",".join(
                members.prefer(key, options.prefer)
                if options.prefer
                else members.locate_all(key)
            ).encode()
            out.write(
                b"%b\t%b\0" % (nodes, key)
                if options.zero
                else b"%b\t%b\n" % (key, nodes)
            )
        out.flush()
    except PermissionDeniedError as error:
        _end(_PERMISSION, str(error))
    except Error as error:
        _end(_CODES.get(error.status, _DATA), str(error))
    except BrokenPipeError:
        os._exit(_PIPE)
    except OSError as error:
        _end(
            _PERMISSION if isinstance(error, PermissionError) else _IO,
            f"cannot read standard input or write standard output: {error}",
        )


if __name__ == "__main__":
    main(sys.argv[1:])

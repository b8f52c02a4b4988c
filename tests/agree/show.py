"""The table for readers: the clients of each placement, and a matrix of percentages; in
colour on a terminal, or as Markdown.
"""

import os
import sys

from agreement import percent

GREEN, YELLOW, DIM, BOLD, PLAIN = (
    "\x1b[1;32m",
    "\x1b[33m",
    "\x1b[2m",
    "\x1b[1m",
    "\x1b[0m",
)


def coloured(stream=sys.stdout):
    """Returns whether to write in colour: on a terminal, unless NO_COLOR is set to
    anything (no-color.org) or TERM is dumb.
    """
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def cell(alike, keys, colour):
    """Returns a cell of the matrix, four characters."""
    paint = (
        (GREEN if alike == keys else YELLOW if 2 * alike >= keys else DIM)
        if colour
        else ""
    )
    return f"{paint}{percent(alike, keys):>4}{PLAIN if paint else ''}"


def text(table, names, colour=False):
    """Yields lines: the placements with their clients, and the matrix. `names` is
    {label: text to show}.
    """
    strong, plain = (BOLD, PLAIN) if colour else ("", "")
    yield f"{strong}placement, and who has it{plain}"
    for number, members in enumerate(table.groups, 1):
        for at, label in enumerate(members):
            yield f"{number if at == 0 else '':>4}  {names[label]}"
    yield ""
    yield f"{strong}agreement of the placements, % of {table.keys:,} keys{plain}"
    yield "    " + "".join(f"{number:4}" for number in range(1, len(table.groups) + 1))
    for number, row in enumerate(table.alike, 1):
        yield f"{number:4}" + "".join(cell(alike, table.keys, colour) for alike in row)


def markdown(table, names):
    """Yields the same in Markdown."""
    yield "| | placed alike by |"
    yield "|---:|---|"
    for number, members in enumerate(table.groups, 1):
        yield f"| {number} | {'<br>'.join(names[label] for label in members)} |"
    yield ""
    yield "```"
    yield from list(text(table, names))[sum(map(len, table.groups)) + 3 :]
    yield "```"


def share(value):
    """Returns a share in percent with one decimal place; only the whole is 100."""
    return "100 %" if value == 1 else f"{min(99.9, 100 * value):.1f} %"

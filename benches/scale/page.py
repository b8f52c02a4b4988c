"""Writes the tables and pictures of docs/scale.md."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import picture
import play
from rates import FILE
from tables import growth, table

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scale.md"
RACK = "a rack of 20 is added"
BEGIN, END = "<!-- `make scale` writes from here -->", "<!-- to here -->"

# the carries of the first picture: (limits.nodes, limits.items_per_second)
LINES = {
    "nodes = 4 (default)": (4, 0),
    "nodes = 64": (64, 0),
    "nodes = 64, 1,000 rows/s a node": (64, 1000),
    "nodes = 64, 100 rows/s a node": (64, 100),
}


def costs():
    """The measured costs, as a table."""
    found = json.loads(FILE.read_text())
    micro = lambda seconds: f"{seconds * 1e6:.1f}"
    rows = []
    for kind, had in found["kinds"].items():
        rates = had["rates"]
        listed = rates["listed"]
        rows.append(
            [f"{kind}: list", micro(listed["carrier"]), micro(listed["source"]), "", ""]
        )
        for task, item in rates["item"].items():
            unit = rates["unit"].get(task, {})
            each = f"{sum(unit.values()) * 1e6:.0f}" if unit else "-"
            rows.append(
                [
                    f"{kind}: {task}",
                    *(micro(item[place]) for place in ("carrier", "source", "target")),
                    each,
                ]
            )
    head = [
        "microseconds of processor time",
        "carrier",
        "old place",
        "new place",
        "a transaction",
    ]
    return table(head, rows)


def worst():
    """The largest errors of PostgreSQL's carries, in words."""
    had = json.loads(FILE.read_text())["kinds"]["postgresql"]["measured"]["checks"]
    wrong = lambda check, one, other: [
        found[one] / found[other] - 1 for found in check["passes"].values()
    ]
    free, limited = (
        [check for check in had if bool(check["shape"]["items_per_second"]) == is_so]
        for is_so in (False, True)
    )
    most = lambda some: max(
        abs(error) for check in some for error in wrong(check, "predicted", "measured")
    )
    least = min(
        error
        for check in free
        for error in wrong(check, "cpu_predicted", "cpu_measured")
    )
    return (
        f"For PostgreSQL the times on the clock were right to {100 * most(free):.0f} % without a limit "
        f"and to {100 * most(limited):.0f} % with one. Without a limit, the predicted processor "
        f"times were up to {-100 * least:.0f} % too low, because a processor that does many things "
        "at once does each of them more slowly. If a processor of yours is busy all the time, add a "
        "half to the times. Passes of a second or less say little."
    )


def checks():
    """What was predicted and measured."""
    rows = []
    for kind, had in json.loads(FILE.read_text())["kinds"].items():
        for check in had["measured"]["checks"]:
            shape = check["shape"]
            limit = shape["items_per_second"]
            said = f"{kind}: {shape['before']} to {shape['after']} nodes"
            said += f", {limit:,} rows/s a node" if limit else ", no limit"
            for task, both in check["passes"].items():
                pairs = ("predicted", "measured"), ("cpu_predicted", "cpu_measured")
                rows.append([f"{said}: {task}", f"{both['items']:,}"])
                for one, other in pairs:
                    wrong = both[one] / both[other] - 1 if both[other] else 0.0
                    rows[-1] += [f"{both[one]:.2f} s", f"{both[other]:.2f} s"]
                    rows[-1] += [f"{wrong * 100:+.0f} %"]
    head = ["carry", "items", "predicted", "measured", "error"]
    return table([*head, "CPU predicted", "CPU measured", "error"], rows)


def sections(asked):
    """Yields the lines between the marks of the page."""
    found = json.loads(FILE.read_text())
    yield f"Written on {datetime.now(timezone.utc):%Y-%m-%d}; costs of {found['machine']}."
    wide = replace(asked.site, nodes=64)
    for title, lines in (
        ("With the limits as they are (`nodes = 4`, `workers = 4`)", asked.by_change()),
        (
            "With `nodes = 64`",
            type(asked)(
                asked.rows, asked.rates, wide, asked.hosts, asked.changes
            ).by_change(),
        ),
    ):
        yield f"\n### {title}\n"
        yield from lines
    asked.site = wide
    yield "\n### Who is busy, with `nodes = 64`\n"
    yield from asked.busiest()
    yield "\n### In 1 h, and in 24 h\n"
    yield from asked.in_time()
    yield "\n### What a slow one costs, with `nodes = 64`\n"
    yield from asked.slow(RACK)
    yield "\n### What phases that overlap would give, with `nodes = 64`\n"
    yield from asked.ideas()
    yield "\n### What a limit for each node costs, with `nodes = 64`\n"
    yield from asked.limited()
    yield "\n### What was measured\n"
    yield (
        "Real carries on this machine gave the costs of a row, of a transaction and of a row "
        "that is only listed: each with one node at a time and one worker, and rows of 1 KB. "
        "The load was below 2, on two processors."
    )
    yield ""
    yield from costs()
    yield ""
    yield (
        "From these, the times of carries of other shapes were predicted: three nodes and four "
        "workers at once, and a limit. One more carry, which ran in turns with them, says for "
        "each pass how much slower than its processor time it was on the busy machine. "
        + worst()
    )
    yield ""
    yield from checks()


def pictures(asked):
    """Writes the two pictures."""
    steps = list(growth(asked))
    lines = {}
    for label, (lanes, limit) in LINES.items():
        site = replace(asked.site, nodes=lanes, items_per_second=limit)
        lines[label] = [asked.carry(ways, site).seconds for _, ways in steps]
    drawn = picture.growth([more for more, _ in steps], lines)
    (ROOT / "docs" / "scale-nodes.svg").write_text("\n".join(drawn) + "\n")
    ways, _ = asked.changes[RACK]
    slow = replace(asked.hosts, slow=600.0)
    carries = {
        "as it is": asked.carry(ways),
        "a host that takes 10 min for each state": asked.carry(ways, hosts=slow),
        "the same, with all that could be otherwise": asked.carry(
            ways, hosts=slow, ideas=tuple(play.IDEAS)
        ),
    }
    said = f"{RACK[0].upper()}{RACK[1:]}, 10⁹ rows, 1,000 nodes, `nodes = 64`".replace(
        "`", ""
    )
    drawn = picture.timeline(carries, said)
    (ROOT / "docs" / "scale-phases.svg").write_text("\n".join(drawn) + "\n")


def write(asked):
    """Writes the page and its pictures."""
    text = PAGE.read_text()
    written = f"{BEGIN}\n\n" + "\n".join(sections(asked)) + f"\n\n{END}"
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: written, text, flags=re.DOTALL))
    pictures(asked)
    format_page = [str(ROOT / ".venv" / "bin" / "mdformat"), str(PAGE)]
    if os.access(format_page[0], os.X_OK):
        subprocess.run(format_page, cwd=ROOT, check=False)
    print(f"{PAGE} and its pictures are written", file=sys.stderr)

"""The tables of docs/measuring.md, made from the results of a run.

A result has, for each candidate and size of cluster, the CPU nanoseconds per key of each
round. All candidates of a round were timed within seconds, so the ratios of a round
do not depend on how busy the machine was, and the tables show their median.
"""

import statistics

from candidates import BY_KEY, CANDIDATES, LANGUAGES, base
from clusters import SIZES

BEGIN = "<!-- `make bench` writes from here -->"
END = "<!-- to here -->"


def number(value):
    """A figure with three digits that count: 0.123, 1.23, 12.3, 123, 12,345."""
    if value >= 99.95:
        return f"{value:,.0f}"
    digits = 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{digits}f}"


def markdown(header, rows):
    """Yields the lines of a table. The first column is aligned to the left, and the
    others to the right; the cells of a column are equally wide, as the formatter of the
    pages wants them.
    """
    widths = [
        max(3, *(len(row[at]) for row in [header, *rows])) for at in range(len(header))
    ]
    for index, row in enumerate([header, *rows]):
        cells = [
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ]
        yield "| " + " | ".join(cells) + " |"
        if index == 0:
            marks = [
                "-" * (w - 1) + ":" if at else "-" * w for at, w in enumerate(widths)
            ]
            yield "| " + " | ".join(marks) + " |"


def quartiles(values):
    """The lower quartile, the median and the upper one."""
    if len(values) < 2:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def ratios(results, one, other, size):
    """The quartiles of the rounds' ratios of two candidates; None where one is missing."""
    times = results["times"]
    a = times.get(one, {}).get(str(size))
    b = times.get(other, {}).get(str(size))
    return quartiles([x / y for x, y in zip(a, b)]) if a and b else None


def nanoseconds(results, key, size):
    """The median of the rounds; None where the candidate is missing."""
    taken = results["times"].get(key, {}).get(str(size))
    return statistics.median(taken) if taken else None


def rows(results, language):
    """The candidates of a language that took part."""
    return [
        one
        for one in CANDIDATES
        if one.language == language and one.key in results["versions"]
    ]


def label(results, row):
    """What the page calls a candidate, with the version of another program."""
    if row.kind != "peer":
        return row.label
    name, comma, rest = row.label.partition(", ")
    return f"{name} {results['versions'][row.key]}{comma}{rest}"


def speed(results, language):
    """Yields the lines of a language's table of times."""
    header = ["CPU time of a key"]
    for size in SIZES:
        header += [f"{size:,} nodes", "ratio (quartiles)"]
    lines = []
    for row in rows(results, language):
        line = [label(results, row)]
        for size in SIZES:
            taken = nanoseconds(results, row.key, size)
            if taken is None:
                line += ["-", "-"]
                continue
            line += [f"{number(taken)} ns", "-"]
            if row.key == base(language):
                line[-1] = "1"
            elif found := ratios(results, row.key, base(language), size):
                low, middle, high = map(number, found)
                line[-1] = f"{middle} ({low} to {high})"
        lines.append(line)
    yield from markdown(header, lines)


def missing(results):
    """Yields a sentence for each candidate that lacks a figure, with the reason."""
    for language, why in results["lacking"].items():
        yield f"- {language} was not measured: {why}."
    for key, sizes in results["missing"].items():
        listed = " and ".join(f"{int(size):,}" for size in sizes)
        reasons = "; ".join(sorted(set(sizes.values())))
        row = BY_KEY[key]
        yield f"- {row.label} ({row.language}) has no figure for {listed} nodes: {reasons}."


def percent(value):
    """A part in percent; what is not zero is never shown as zero."""
    return "0 %" if value == 0 else f"{max(100 * value, 0.01):.2f} %"


def moved(found):
    """A cell: what moved, and what of it needlessly."""
    if isinstance(found, str):
        return found
    whole, needless = found
    return f"{percent(whole)}, needless {percent(needless)}"


def abilities(results):
    """Yields the lines of the table of what each candidate can do."""
    header = [
        "on 10 nodes",
        "weights 1, 2, 4: worst node",
        "an 11th joins: moved",
        "the 4th leaves: moved",
        "3 distinct nodes of a key",
    ]
    lines = []
    for language in LANGUAGES:
        for row in rows(results, language):
            found = results["checks"].get(row.key)
            if found is None:
                continue
            name = "stead" if row.kind == "stead" else label(results, row)
            if "why" in found:
                lines.append([f"{language}: {name}", found["why"], "", "", ""])
                continue
            weights = found["weights"]
            lines.append(
                [
                    f"{language}: {name}",
                    "no weights" if isinstance(weights, str) else percent(weights),
                    moved(found["joins"]),
                    moved(found["leaves"]),
                    found["copies"],
                ]
            )
    yield from markdown(header, lines)


def about(results):
    """Yields the sentences about the run."""
    it = results["machine"]
    kernel = f" `STEAD_KERNEL` was {it['kernel']}." if "kernel" in it else ""
    yield (
        f"Measured on {results['date']}: {it['processor']} ({it['vectors']}), "
        f"{it['cores']} cores, {it['system']}, {it['rustc']}, cc {it['cc']}; "
        f"{results['keys']:,} user names, {results['rounds']} rounds.{kernel}"
    )


def page(results):
    """Yields the lines between the marks of docs/measuring.md."""
    yield from wrapped(about(results))
    yield ""
    yield "![The same figures as bars](measuring.svg)"
    for language in LANGUAGES:
        if rows(results, language):
            yield from ["", f"### {language}", ""]
            yield from speed(results, language)
    gaps = list(missing(results))
    if gaps:
        yield from ["", "### What has no figure", ""]
        yield from wrapped(gaps)
    yield from ["", "## What each can do", ""]
    yield from abilities(results)


def wrapped(paragraphs, width=100):
    """Yields the lines of paragraphs and list items, wrapped as the formatter does it."""
    for paragraph in paragraphs:
        line, indent = "", "  " if paragraph.startswith("- ") else ""
        for word in paragraph.split(" "):
            if line and len(line) + 1 + len(word) > width:
                yield line
                line = indent + word
            else:
                line = f"{line} {word}" if line else word
        yield line


def into(text, results):
    """The text of the page with the tables of these results."""
    before, found, rest = text.partition(BEGIN)
    _, also, after = rest.partition(END)
    if not (found and also):
        raise ValueError(f"the page has no line {BEGIN!r} or no line {END!r}")
    lines = "\n".join(page(results))
    return f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}"


def has_weights(results, key):
    """Whether a candidate honours weights: no node is further from its share than rings
    are.
    """
    found = results["checks"].get(key, {}).get("weights", "")
    return not isinstance(found, str) and found < 0.5


def goals(results):
    """Yields a line for each goal of the project that this benchmark shows."""
    python = "Python stead locate_many({}) md5"
    for language in LANGUAGES:
        for hash in ("md5", "xxh3"):
            calls = [f"{language} stead {call} {hash}" for call in ("prefer", "locate")]
            found = ratios(results, *calls, SIZES[0])
            if found:
                yield (
                    f"{language}, 10 nodes: prefer of 2 nodes, {hash} / locate, {hash}: "
                    f"{number(found[1])} ({number(found[0])} to {number(found[2])}; goal 2.5)"
                )
    for other in ("fastring", "fastring get_node_batch"):
        for form in ("list", "Arrow"):
            found = ratios(results, python.format(form), f"Python {other}", SIZES[0])
            if found:
                yield (
                    f"Python, 10 nodes: locate_many({form}), md5 / {BY_KEY[f'Python {other}'].label}: "
                    f"{number(found[1])} ({number(found[0])} to {number(found[2])}; goal 1.0)"
                )
    with_weights = [
        row.key
        for row in rows(results, "Rust")
        if row.kind == "peer"
        and has_weights(results, row.key)
        and nanoseconds(results, row.key, 1000)
    ]
    if with_weights:
        quickest = min(with_weights, key=lambda key: nanoseconds(results, key, 1000))
        found = ratios(results, "C stead locate xxh3", quickest, 1000)
        if found:
            yield (
                f"C, 1,000 nodes: stead_map_locate, xxh3 / {BY_KEY[quickest].label} of Rust, the "
                f"quickest with weights: {number(found[1])} ({number(found[0])} to "
                f"{number(found[2])}; goal 0.5)"
            )

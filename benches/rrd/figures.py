"""Turns what the rounds of `make bench-rrd` measured into medians, ratios and tables."""

import statistics

# the columns of a table in groups, which have titles of their own
GROUPS = [
    ("answered", ["a second", "/one", "/two"]),
    ("delivered", ["a second", "/one", "/two"]),
    ("latency, us", ["p50", "p99"]),
    ("CPU, us an update", ["router", "servers", "client"]),
]


def figures(said, copies, cpu, sleeps, others):
    """Returns what one run of the client means. `said` is its JSON; `cpu` has the
    seconds of router and servers, `sleeps` how often the router's threads slept.
    """
    updates = said["updates"]
    seconds = {**cpu, "client": said["client_cpu"]}
    return {
        "updates": updates,
        "requests": said["requests"],
        "answered": updates / said["seconds"],
        "delivered": updates / said["delivered_seconds"],
        # updates that some server lacked when the last answer came, and the time until
        # none did
        "backlog": said["lacked"] / copies,
        "drain_ms": (said["delivered_seconds"] - said["seconds"]) * 1e3,
        **{name: said[name] for name in ("p50_us", "p99_us", "max_us")},
        "cpu_us": {who: spent * 1e6 / updates for who, spent in seconds.items()},
        "router_sleeps": sleeps / updates,
        "others": others,
    }


def summary(found, one=None, two=None):
    """Returns the medians of the rounds, and those of the rounds' ratios to the same
    round of the two baselines.
    """

    def median(figure):
        return statistics.median(map(figure, found))

    names = [name for name in found[0] if name != "cpu_us"]
    result = {name: median(lambda r, name=name: r[name]) for name in names}
    result["cpu_us"] = {
        who: median(lambda r, who=who: r["cpu_us"][who]) for who in found[0]["cpu_us"]
    }
    for name, base in (("one", one), ("two", two)):
        for rate in ("answered", "delivered"):
            result[f"{rate}_to_{name}"] = ratio(found, base, rate) if base else None
    return result


def ratio(found, base, figure):
    """Returns the median of the rounds' ratios of a figure: a name, or a function."""
    if len(found) != len(base):
        raise ValueError(f"{len(found)} and {len(base)} rounds have no ratio")
    of = figure if callable(figure) else lambda run: run[figure]
    return statistics.median(of(own) / of(other) for own, other in zip(found, base))


def comparison(new, old):
    """Returns the ratios of one router's rounds to those of another, in words."""
    shown = {
        "answered": "answered",
        "delivered": "delivered",
        "p50": "p50_us",
        "p99": "p99_us",
        "CPU": lambda run: run["cpu_us"]["router"],
        "servers": lambda run: run["cpu_us"]["servers"],
    }
    return ", ".join(
        f"{name} {ratio(new, old, figure):.2f}" for name, figure in shown.items()
    )


def number(value, digits=0):
    """Returns a number as a table shows it; None is a dash."""
    return "-" if value is None else f"{value:,.{digits}f}"


def microseconds(value):
    """Returns a time with two or three digits that count."""
    if value is None:
        return "-"
    return number(value, 2 if value < 1 else 1 if value < 100 else 0)


def row(name, figures):
    """Returns the cells of a system."""
    cells = [name]
    for rate in ("answered", "delivered"):
        cells += [
            number(figures[rate]),
            *(number(figures[f"{rate}_to_{base}"], 2) for base in ("one", "two")),
        ]
    cells += [number(figures["p50_us"]), number(figures["p99_us"])]
    cpu = figures["cpu_us"]
    cells += [microseconds(cpu.get(who)) for who in ("router", "servers", "client")]
    return cells


def table(title, rows, groups=GROUPS):
    """Returns the lines of a table with these groups of columns after the name. There
    are two blanks between groups, and one within them.
    """
    head = ["", *(column for _, columns in groups for column in columns)]
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = [[cells[0].ljust(widths[0]) for cells in ([""], head, *rows)]]
    at = 1
    for group, columns in groups:
        span = range(at, at + len(columns))
        at = span.stop
        # a title that is wider than its columns widens the first of them
        widths[span[0]] += max(
            0, len(group) - len(span) + 1 - sum(widths[i] for i in span)
        )
        parts = [
            " ".join(cells[i].rjust(widths[i]) for i in span) for cells in [head, *rows]
        ]
        lines.append([group.rjust(len(parts[0])), *parts])
    return [title, *("  ".join(parts).rstrip() for parts in zip(*lines))]


def time(milliseconds):
    """Returns a time in words."""
    if milliseconds < 10:
        return f"{milliseconds:.1f} ms"
    if milliseconds < 10_000:
        return f"{milliseconds:,.0f} ms"
    return f"{milliseconds / 1e3:,.1f} s"

"""The picture of docs/measuring.md: for each language the CPU time of a key on a
logarithmic scale, a bar for each candidate and size of cluster.
"""

import math
from xml.sax.saxutils import escape

from candidates import LANGUAGES
from clusters import SIZES
from tables import label, nanoseconds, number, rows

WIDTH, LEFT, RIGHT, MARGIN, TOP = 960, 330, 70, 24, 92
BAR, GAP, HEADING = 11, 8, 34
# the colours are told apart by those who see no red or green, too; in the dark, the
# lighter ones are used. Stead's are blue, all others' are orange.
STYLE = """
text { font-family: "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2328; }
.page { fill: #ffffff; }
.title { font-size: 18px; font-weight: bold; }
.language { font-size: 14px; font-weight: bold; }
.small { font-size: 10px; fill: #59636e; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.stead0 { fill: #a8c8f0; } .stead1 { fill: #4f8fdc; } .stead2 { fill: #0b4a94; }
.other0 { fill: #f3cfa5; } .other1 { fill: #dd8a33; } .other2 { fill: #8f4d08; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.page { fill: #0d1117; }
.small { fill: #9198a1; }
.grid { stroke: #3d444d; }
.stead0 { fill: #1f4f86; } .stead1 { fill: #4f8fdc; } .stead2 { fill: #b3d4ff; }
.other0 { fill: #7a4a14; } .other1 { fill: #dd8a33; } .other2 { fill: #ffdcb3; }
}
"""


def plain(text):
    """A label without the marks of Markdown."""
    return text.replace("`", "")


def words(x, y, said, kind="", anchor="start"):
    """Returns a line of text, as SVG."""
    kind = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{kind}>{escape(said)}</text>'
    )


def scale(results):
    """The powers of ten between which all figures are."""
    every = [
        nanoseconds(results, key, size)
        for key, sizes in results["times"].items()
        for size in sizes
    ]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    return low, max(high, low + 1)


def svg(results):
    """Yields the lines of the picture."""
    low, high = scale(results)
    at = lambda value: (
        LEFT + (WIDTH - LEFT - RIGHT) * ((math.log10(value) - low) / (high - low))
    )
    lines, y = [], TOP
    for language in LANGUAGES:
        found = [row for row in rows(results, language) if row.key in results["times"]]
        if not found:
            continue
        y += HEADING
        lines.append(words(MARGIN, y - 10, language, "language"))
        for row in found:
            family = "stead" if row.kind == "stead" else "other"
            middle = y + 3 * BAR / 2 + 4
            lines.append(words(LEFT - 8, middle, plain(label(results, row)), "", "end"))
            for index, size in enumerate(SIZES):
                taken = nanoseconds(results, row.key, size)
                top = y + index * BAR
                if taken is None:
                    lines.append(words(LEFT + 4, top + 9, "no figure", "small"))
                    continue
                lines.append(
                    f'<rect x="{LEFT}" y="{top}" width="{at(taken) - LEFT:.1f}" '
                    f'height="{BAR - 1}" class="{family}{index}"><title>'
                    f"{escape(plain(row.label))}, {size:,} nodes: {number(taken)} ns"
                    "</title></rect>"
                )
                lines.append(words(at(taken) + 4, top + 9, f"{number(taken)}", "small"))
            y += 3 * BAR + GAP
    height = y + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">'
    )
    yield "<title>The CPU time of a key, with stead and with other programs</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{height}" class="page"/>'
    yield words(MARGIN, MARGIN + 14, "CPU time of a key, nanoseconds", "title")
    yield words(
        MARGIN,
        MARGIN + 36,
        "A short bar is quick; the scale is logarithmic. From top to bottom: 10, 100 "
        "and 1,000 nodes.",
    )
    for index, (family, said) in enumerate((("stead", "stead"), ("other", "others"))):
        x = MARGIN + index * 120
        for shade in range(3):
            yield (
                f'<rect x="{x + shade * 14}" y="{MARGIN + 46}" width="13" '
                f'height="11" class="{family}{shade}"/>'
            )
        yield words(x + 48, MARGIN + 56, said)
    for power in range(low, high + 1):
        x = at(10**power)
        yield f'<line x1="{x:g}" y1="{TOP}" x2="{x:g}" y2="{y}" class="grid"/>'
        yield words(
            x,
            TOP - 6,
            f"{number(10.0**power) if power < 0 else f'{10**power:,}'}",
            "small",
            "middle",
        )
    yield from lines
    yield "</svg>"

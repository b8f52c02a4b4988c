"""The pictures of docs/scale.md: the time of a carry against the nodes that are added, and
the phases of a carry one below the other.
"""

import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, MARGIN = 960, 70, 250, 24
# colours that are told apart by those who see no red or green, too; each has a shade for
# the dark
STYLE = """
text { font-family: "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2328; }
.page { fill: #ffffff; }
.title { font-size: 18px; font-weight: bold; }
.small { font-size: 10px; fill: #59636e; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.line { fill: none; stroke-width: 2.5; }
.c0 { stroke: #0b4a94; } .c1 { stroke: #4f8fdc; } .c2 { stroke: #dd8a33; } .c3 { stroke: #8f4d08; }
.wait { fill: #c4ccd4; } .count { fill: #a8c8f0; } .copy { fill: #0b4a94; }
.verify { fill: #4f8fdc; } .check { fill: #f3cfa5; } .remove { fill: #dd8a33; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.page { fill: #0d1117; }
.small { fill: #9198a1; }
.grid { stroke: #3d444d; }
.c0 { stroke: #b3d4ff; } .c3 { stroke: #ffdcb3; }
.wait { fill: #545d66; } .count { fill: #1f4f86; } .copy { fill: #b3d4ff; }
.check { fill: #7a4a14; }
}
"""


def words(x, y, said, kind="", anchor="start"):
    """Returns a line of text, as SVG."""
    kind = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{kind}>{escape(said)}</text>'
    )


def framed(height, title, said, lines):
    """Yields a picture with its title."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">'
    )
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{height}" class="page"/>'
    yield words(MARGIN, MARGIN + 14, title, "title")
    for number, line in enumerate(said):
        yield words(MARGIN, MARGIN + 36 + 16 * number, line)
    yield from lines
    yield "</svg>"


def growth(added, lines):
    """The time against the nodes that are added. `lines` is {label: [seconds]}."""
    top, bottom, height = 96, 400, 440
    hours = [[seconds / 3600 for seconds in taken] for taken in lines.values()]
    low = 10 ** math.floor(math.log10(min(map(min, hours))))
    high = 10 ** math.ceil(math.log10(max(map(max, hours))))
    wide = math.log10(added[-1] / added[0])
    x = lambda n: LEFT + (WIDTH - LEFT - RIGHT) * math.log10(n / added[0]) / wide
    y = lambda h: bottom - (bottom - top) * math.log10(h / low) / math.log10(high / low)
    drawn = []
    for number in added:
        drawn.append(
            f'<line x1="{x(number):.1f}" y1="{top}" x2="{x(number):.1f}" y2="{bottom}" '
            'class="grid"/>'
        )
        drawn.append(words(x(number), bottom + 16, f"{number}", "small", "middle"))
    drawn.append(
        words(x(added[-1]), bottom + 32, "nodes added to 1,000", "small", "end")
    )
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        at = y(10.0**power)
        drawn.append(
            f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" class="grid"/>'
        )
        drawn.append(words(LEFT - 6, at + 4, f"{10.0**power:g} h", "small", "end"))
    labels = sorted(
        (y(taken[-1]), number, label)
        for number, (label, taken) in enumerate(zip(lines, hours))
    )
    last = 0.0
    for at, number, label in labels:
        # labels of lines that end near to each other stand one below the other
        last = max(at + 4, last + 16)
        drawn.append(words(WIDTH - RIGHT + 8, last, label))
        drawn.append(
            f'<line x1="{WIDTH - RIGHT}" y1="{at:.1f}" x2="{WIDTH - RIGHT + 6}" '
            f'y2="{last - 4:.1f}" class="line c{number}"/>'
        )
    for number, taken in enumerate(hours):
        points = " ".join(f"{x(n):.1f},{y(h):.1f}" for n, h in zip(added, taken))
        drawn.append(f'<polyline points="{points}" class="line c{number}"/>')
    return framed(
        height,
        "Hours until a carry is closed, 10⁹ rows of 1 KB",
        ["Both scales are logarithmic. Simulated with measured costs (make scale)."],
        drawn,
    )


NAMES = {
    "wait": "hosts confirm",
    "count": "count",
    "copy": "copy",
    "verify": "verify",
    "check": "verify again",
    "remove": "remove",
}


def timeline(carries, said):
    """The phases of some carries below each other. `carries` is {label: Carry}."""
    bar, gap, top = 22, 46, 120
    most = max(carry.seconds for carry in carries.values())
    x = lambda seconds: MARGIN + (WIDTH - 2 * MARGIN) * seconds / most
    drawn = []
    for number, (name, label) in enumerate(NAMES.items()):
        at = MARGIN + number * 130
        drawn.append(
            f'<rect x="{at}" y="{top - 46}" width="13" height="13" class="{name}"/>'
        )
        drawn.append(words(at + 18, top - 35, label))
    y = top + 16
    for label, carry in carries.items():
        drawn.append(words(MARGIN, y - 6, label))
        lanes = []
        for phase in sorted(carry.phases, key=lambda p: (p.begin, p.name != "wait")):
            # what overlaps stands in a lane of its own
            lane = next(
                (n for n, end in enumerate(lanes) if end <= phase.begin + 1e-6),
                len(lanes),
            )
            lanes[lane : lane + 1] = [phase.end]
            drawn.append(
                f'<rect x="{x(phase.begin):.1f}" y="{y + lane * bar}" '
                f'width="{max(x(phase.end) - x(phase.begin) - 1, 0.5):.1f}" '
                f'height="{bar - 2}" class="{phase.name}"><title>{NAMES[phase.name]}, '
                f"{phase.state}: {phase.seconds:.0f} s</title></rect>"
            )
        y += len(lanes) * bar + gap
    y -= gap - 12
    step = next(
        s for s in (60, 300, 600, 1800, 3600, 7200, 36000, 1e9) if most / s <= 12
    )
    for number in range(int(most // step) + 1):
        at = x(number * step)
        drawn.append(
            f'<line x1="{at:.1f}" y1="{y - 4}" x2="{at:.1f}" y2="{y + 2}" class="grid"/>'
        )
        unit = (
            f"{number * step / 60:g} min"
            if step < 3600
            else f"{number * step / 3600:g} h"
        )
        drawn.append(words(at, y + 16, unit, "small", "middle" if number else "start"))
    return framed(y + MARGIN + 4, "The phases of a carry", [said], drawn)

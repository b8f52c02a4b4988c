"""The table as a picture: an SVG heat map in which every client has a row and a column."""

from xml.sax.saxutils import escape

from agreement import percent

CELL, FONT, SMALL, MARGIN, TITLE = 20, 12, 9, 24, 66
# the width of a letter of a sans-serif font divided by its size: an upper bound for
# text like ours
LETTER = 0.56
# the colours for no key, for nearly all keys, and for all keys
LEAST, MOST, SAME = (250, 243, 232), (226, 110, 30), "#1f7a4d"


def shade(alike, keys):
    """The colour of a cell."""
    if alike == keys:
        return SAME
    return "#{:02x}{:02x}{:02x}".format(
        *tuple(
            round(low + (high - low) * alike / keys) for low, high in zip(LEAST, MOST)
        )
    )


def words(x, y, said, size=FONT, anchor="start", fill="#222", more=""):
    """Returns a line of text, as SVG."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{fill}"{more}>{escape(said)}</text>'
    )


def svg(blocks, alike, keys, title, subtitle):
    """Returns the picture, as text. `blocks` is [(heading, [(label, index of its
    placement), ...]), ...]; `alike[i][j]` is as in a Table.
    """
    rows = [(label, index) for _, members in blocks for label, index in members]
    left = MARGIN + round(max(len(label) + 5 for label, _ in rows) * FONT * LETTER)
    top = MARGIN + TITLE + CELL
    side = CELL * len(rows)
    width = max(
        left + side + MARGIN,
        2 * MARGIN + round(max(len(title) * 18, len(subtitle) * FONT) * LETTER),
    )
    height = top + side + 3 * CELL + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" '
        'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">'
    )
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{width}" height="{height}" fill="#fff"/>'
    yield words(MARGIN, MARGIN + 18, title, 18, more=' font-weight="bold"')
    yield words(MARGIN, MARGIN + 40, subtitle, FONT, fill="#555")
    for number, (label, index) in enumerate(rows):
        at = number * CELL + CELL * 0.7
        yield words(left - 30, top + at, label, anchor="end")
        yield words(left - 4, top + at, str(number + 1), SMALL, "end", "#777")
        yield words(
            left + number * CELL + CELL / 2,
            top - 5,
            str(number + 1),
            SMALL,
            "middle",
            "#777",
        )
        for column, (other, other_index) in enumerate(rows):
            found = alike[index][other_index]
            x, y = left + column * CELL, top + number * CELL
            yield (
                f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
                f'fill="{shade(found, keys)}">'
                f"<title>{escape(label)} / {escape(other)}: {100 * found / keys:.2f} "
                "%</title></rect>"
            )
            yield words(
                x + (CELL - 1) / 2,
                y + 13,
                percent(found, keys),
                SMALL,
                "middle",
                "#fff" if found == keys else "#4a3b2c",
                ' pointer-events="none"',
            )
    first = 0
    for heading, members in blocks:
        if heading:
            span = len(members) * CELL
            yield (
                f'<rect x="{left + first * CELL - 1.5}" '
                f'y="{top + first * CELL - 1.5}" width="{span + 2}" '
                f'height="{span + 2}" '
                'fill="none" stroke="#222" stroke-width="2"/>'
            )
        first += len(members)
    y = top + side + CELL
    yield words(left, y + 13, "% of keys:", FONT)
    for number, value in enumerate((0, 10, 25, 50, 75, 99, 100)):
        x = left + 80 + number * 2 * CELL
        yield (
            f'<rect x="{x}" y="{y}" width="{2 * CELL - 1}" height="{CELL - 1}" '
            f'fill="{shade(value, 100)}"/>'
        )
        yield words(
            x + CELL,
            y + 14,
            str(value),
            SMALL,
            "middle",
            "#fff" if value == 100 else "#4a3b2c",
        )
    yield "</svg>"

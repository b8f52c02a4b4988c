"""Tables of plain text that are also Markdown."""


def table(header, rows):
    """Returns the table as text; all cells of a column are equally wide."""
    rows = [header, *[tuple(map(str, row)) for row in rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    return "\n".join(
        [
            lines[0],
            "|" + "|".join("-" * (width + 2) for width in widths) + "|",
            *lines[1:],
        ]
    )

"""The pictures and tables that notebooks show for a map and for a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._stead import Map, Plan

# the number of rows of a table; a cluster may have thousands of nodes
_ROWS = 20
_SPACE = 2**64


def _table(caption: str, head: dict[str, str], rows: list[list[str]]) -> str:
    """Returns a table. `head` has the names of the columns and the side to which each
    is aligned: notebooks would align names as if they were numbers. The caption has one
    line, also over a narrow table.
    """
    styles = [f' style="text-align: {side}"' for side in head.values()]

    def line(tag: str, cells: Iterable[str]) -> str:
        aligned = zip(styles, cells)
        inside = (f"<{tag}{style}>{escape(cell)}</{tag}>" for style, cell in aligned)
        return f"<tr>{''.join(inside)}</tr>"

    lines = [
        f'<table><caption style="white-space: nowrap">{escape(caption)}</caption>',
        f"<thead>{line('th', head)}</thead>",
        "<tbody>",
        *(line("td", row) for row in rows[:_ROWS]),
    ]
    if len(rows) > _ROWS:
        more = f"and {len(rows) - _ROWS} more"
        lines.append(f'<tr><td colspan="{len(head)}"{styles[0]}>{more}</td></tr>')
    return "\n".join([*lines, "</tbody></table>"])


def _above(picture: str, table: str) -> str:
    """Returns the table below a picture, which is never wider than the notebook. Its
    ground is light, since a notebook may be light where the system is dark.
    """
    return f'<div style="max-width: 960px">{picture}</div>\n{table}'


def of_map(map: Map) -> str:
    """Map._repr_html_: a picture, the nodes, and which part of all copies each of them
    holds.
    """
    points: Counter[str] = Counter()
    for piece in map.slices:
        for node in piece.nodes:
            points[node] += piece.last - piece.first + 1
    whole = sum(points.values())
    rows = [
        [
            node.name,
            f"{node.weight:f}",
            f"{points[node.name] / whole:.4%}",
            ", ".join(f"{name}={value}" for name, value in node.labels.items()),
        ]
        for node in map.nodes
    ]
    copies = "1 copy" if map.replicas == 1 else f"{map.replicas} copies"
    caption = f"{map.name}, epoch {map.epoch}: {len(rows)} nodes, {copies} of each key"
    head = {"node": "left", "weight": "right", "share": "right", "labels": "left"}
    return _above(map.plot(theme="light"), _table(caption, head, rows))


def of_plan(plan: Plan) -> str:
    """Plan._repr_html_: a picture, and what moves between each pair of nodes."""
    pairs: Counter[tuple[str, str, str]] = Counter()
    for move in plan:
        pair = (move.from_ or "", move.to or "", move.cause)
        pairs[pair] += move.last - move.first + 1
    whole = plan.new.replicas * _SPACE
    rows = [
        [*pair, f"{points / whole:.4%}"]
        for pair, points in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    caption = (
        f"{plan.new.name}, epoch {plan.old.epoch} to {plan.new.epoch}: "
        f"{plan.fraction:.4%} of all copies move"
    )
    head = {"from": "left", "to": "left", "cause": "left", "of all copies": "right"}
    return _above(plan.plot(theme="light"), _table(caption, head, rows))

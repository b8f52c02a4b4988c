"""The tables that notebooks show for a map and for a plan."""

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


def _table(caption: str, head: Iterable[str], rows: list[list[str]]) -> str:
    """Returns a table. Columns after the first text ones are aligned as notebooks do."""
    shown = rows[:_ROWS]
    names = list(head)
    lines = [
        f"<table><caption>{escape(caption)}</caption>",
        "<thead><tr>"
        + "".join(f"<th>{escape(name)}</th>" for name in names)
        + "</tr></thead>",
        "<tbody>",
    ]
    lines += [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in shown
    ]
    if len(rows) > _ROWS:
        more = f"and {len(rows) - _ROWS} more"
        lines.append(f'<tr><td colspan="{len(names)}">{more}</td></tr>')
    return "\n".join([*lines, "</tbody></table>"])


def of_map(map: Map) -> str:
    """Map._repr_html_: the nodes, and which part of all copies each of them holds."""
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
    return _table(caption, ("node", "weight", "share", "labels"), rows)


def of_plan(plan: Plan) -> str:
    """Plan._repr_html_: what moves between each pair of nodes."""
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
        f"{plan.fraction:.4%} of all copies moves"
    )
    return _table(caption, ("from", "to", "cause", "of all copies"), rows)

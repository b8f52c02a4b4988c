"""What is in maps and plans: plain named tuples."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, Mapping, NamedTuple


class Node(NamedTuple):
    """A node of a map: a server, a mount point, a shard."""

    name: str
    """Its stable name."""
    weight: Decimal
    """What it wants, exact."""
    labels: Mapping[str, str]
    """Such as its zone; read only."""
    attributes: Mapping[str, str]
    """Such as its address; read only."""
    leaving: bool
    """Whether the fleet dropped it and a gradual change still has to empty it."""


class Slice(NamedTuple):
    """A run of points, and who holds it."""

    first: int
    """The first point."""
    last: int
    """The last point; it belongs to the slice."""
    nodes: tuple[str, ...]
    """The nodes, primary first."""
    policy: str | None
    """The name of the policy, when the fleet names it."""


class Move(NamedTuple):
    """A run of points of which one copy moves."""

    first: int
    """The first point."""
    last: int
    """The last point; it belongs to the move."""
    from_: str | None
    """The node that loses the copy; None when a copy is added."""
    to: str | None
    """The node that gets it; None when a copy is dropped."""
    cause: Literal["rebalance", "pin", "policy"]
    """Why."""

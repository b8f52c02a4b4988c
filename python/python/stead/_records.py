"""The records in maps and plans. They are named tuples, which compare, hash, copy and
pickle by their values.

Access the fields by name, and do not rely on their number: later versions may add
fields at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

if TYPE_CHECKING:
    from ._stead import Array


class ReadOnly(dict[str, str]):
    """A read-only dict, so that records are hashable. json and other code can use it as
    a dict.

    >>> from stead._records import ReadOnly
    >>> zone = ReadOnly(zone="a")
    >>> zone, zone == {"zone": "a"}, hash(zone) == hash(ReadOnly({"zone": "a"}))
    ({'zone': 'a'}, True, True)
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "this is part of a map, which never changes; dict(it) is a copy that can"
        )

    if not TYPE_CHECKING:  # type checkers see a Mapping, in Node
        __setitem__ = __delitem__ = __ior__ = pop = setdefault = update = _refuse

    def clear(self) -> NoReturn:
        self._refuse()

    def popitem(self) -> NoReturn:
        self._refuse()

    def __copy__(self) -> ReadOnly:
        return self

    def __deepcopy__(self, memo: object) -> ReadOnly:
        return self

    def __reduce__(self) -> tuple[type[ReadOnly], tuple[dict[str, str]]]:
        return ReadOnly, (dict(self),)


class Node(NamedTuple):
    """A node of a map: a server, a mount point, a shard.

    >>> import stead
    >>> map = stead.Map.build({"name": "m", "node": [{"name": "a", "weight": 1.5, "labels": {"zone": "x"}}]})
    >>> map.nodes
    (Node(name='a', weight=Decimal('1.5'), labels={'zone': 'x'}, attributes={}, leaving=False),)
    """

    name: str
    """The stable name of the node."""
    weight: Decimal
    """The weight of the node, exact."""
    labels: Mapping[str, str]
    """The labels, such as the zone; read-only."""
    attributes: Mapping[str, str]
    """The attributes, such as the address; read-only."""
    leaving: bool
    """Whether the fleet dropped the node and a gradual change still has to empty it."""


class Policy(NamedTuple):
    """A list of nodes that slices refer to.

    >>> import stead
    >>> fleet = {"name": "m", "node": [{"name": "a"}], "policy": [{"name": "p", "nodes": ["a"], "kind": "proxy"}]}
    >>> [policy for policy in stead.Map.build(fleet).policies if policy.name]
    [Policy(name='p', kind='proxy', weight=None, nodes=('a',))]
    """

    name: str | None
    """The name if the fleet names the policy, otherwise None."""
    kind: str
    """The free text that the fleet gave the policy; empty if it gave none."""
    weight: Decimal | None
    """The weight, exact; None if the policy takes no share of its own."""
    nodes: tuple[str, ...]
    """The nodes, primary first."""


class Slice(NamedTuple):
    """A run of points, and the nodes that hold it.

    >>> import stead
    >>> stead.Map.build({"name": "m", "node": [{"name": "a"}]}).slices
    (Slice(first=0, last=18446744073709551615, nodes=('a',), policy=None),)
    """

    first: int
    """The first point."""
    last: int
    """The last point, which is included in the slice."""
    nodes: tuple[str, ...]
    """The nodes, primary first."""
    policy: str | None
    """The name of the policy if the fleet names it, otherwise None."""


class Move(NamedTuple):
    """A run of points of which one copy moves.

    >>> import stead
    >>> one = stead.Map.build({"name": "m", "node": [{"name": "a"}]})
    >>> two = stead.Map.build({"name": "m", "node": [{"name": "a"}, {"name": "b"}]}, one)
    >>> stead.Plan.between(one, two)[0]
    Move(first=0, last=9223372036854775807, from_='a', to='b', cause='rebalance')
    """

    first: int
    """The first point."""
    last: int
    """The last point, which is included in the move."""
    from_: str | None
    """The node that loses the copy; None when a copy is added."""
    to: str | None
    """The node that gets the copy; None when a copy is dropped."""
    cause: Literal["rebalance", "pin", "policy"]
    """Why the copy moves."""


class Affected(NamedTuple):
    """A copy of a key that moves: a row of Plan.affects_many.

    >>> import stead
    >>> one = stead.Map.build({"name": "m", "node": [{"name": "a"}]})
    >>> two = stead.Map.build({"name": "m", "node": [{"name": "a"}, {"name": "b"}]}, one)
    >>> stead.Plan.between(one, two).affects_many(["bob", "frank"])
    [Affected(key=1, from_='a', to='b')]
    """

    key: int
    """The position of the key in the batch that was given, from 0."""
    from_: str | None
    """The node that gives up the copy; None when a copy is added."""
    to: str | None
    """The node that gets the copy; None when a copy is dropped."""


class AffectedColumns(NamedTuple):
    """The copies of a column's keys that move, as three columns of the same length.

    >>> import numpy, stead
    >>> one = stead.Map.build({"name": "m", "node": [{"name": "a"}]})
    >>> two = stead.Map.build({"name": "m", "node": [{"name": "a"}, {"name": "b"}]}, one)
    >>> moved = stead.Plan.between(one, two).affects_many(numpy.array(["bob", "frank"]))
    >>> moved.key
    <stead.Array of 1 positions, 0 null>
    """

    key: Array[int]
    """The row of the key in the column that was given, from 0."""
    from_: Array[str | None]
    """The node that gives up the copy; null when a copy is added."""
    to: Array[str | None]
    """The node that gets the copy; null when a copy is dropped."""

"""Right uses: a strict type checker accepts every line, and they run."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import numpy
import polars
import stead

# building, from every kind of fleet
text: stead.Map = stead.Map.build("name = 'm'\n[[node]]\nname = 'a'\n")
data: stead.Map = stead.Map.build(b"name = 'm'\n[[node]]\nname = 'a'\n")
plain: stead.Map = stead.Map.build(
    {
        "name": "m",
        "node": [
            {"name": "a", "weight": Decimal("1.5")},
            {"name": "b", "weight": 2},
            {"name": "c", "weight": 0.5},
        ],
    }
)
fleet: dict[str, Any] = {"name": "m", "node": [{"name": "a"}]}
typed: Mapping[str, object] = {"name": "m", "node": ({"name": "a"},)}
stead.Map.build(typed)
after = stead.Map.build(fleet, plain)
stepped = stead.Map.build(fleet, previous=plain, max_move="5%")
again: stead.Map = stead.Map.build(fleet, None)


def from_file(path: pathlib.Path) -> stead.Map:
    """Builds the map of a fleet file, and publishes it."""
    map = stead.Map.build_file(path)
    map = stead.Map.build_file(str(path), map, max_move="5%")
    map.publish(path.with_suffix(".map"))
    map.publish(str(path), map)
    map.save(path.parent / "copy.map")
    return stead.Map.open(path, copy=True)


# locating
node: str = plain.locate("frank")
nodes: list[str] = plain.locate_all(b"frank")
lists: list[list[str]] = plain.locate_all_many(["a", b"b"], threads=2)
holes: list[list[str] | None] = plain.locate_all_many(["a", None])
list_numbers: list[list[int]] = plain.locate_all_many(["a"], numbers=True)
list_column: stead.Array[list[str] | None] = plain.locate_all_many(
    polars.Series(["a", None])
)
list_row: list[str] | None = list_column[0]
threaded: stead.Array[str | None] = plain.locate_many(numpy.array(["a"]), threads=2)
preferred: list[str] = plain.prefer("frank", 2)
point: int = plain.point("frank")
there: str = plain.locate_point(point)
all_there: list[str] = plain.locate_all_point(point)
ask: Callable[[str], str] = plain.locate
ask_bytes: Callable[[bytes], str] = plain.locate
by_node: dict[str, list[str]] = {}
for key in ("frank", "bob"):
    by_node.setdefault(plain.locate(key), []).append(key)

# many keys at once
placed: list[str | None] = plain.locate_many(["frank", b"bob", None])
all_placed: list[str] = plain.locate_many(["frank", b"bob"])
numbered: list[int] = plain.locate_many(("frank", "bob"), numbers=True)
some_numbered: list[int | None] = plain.locate_many(["frank", None], numbers=True)
column: stead.Array[str | None] = plain.locate_many(polars.Series(["frank", None]))
from_numpy: stead.Array[int | None] = plain.locate_many(
    numpy.array(["frank", "bob"]), numbers=True
)
of_column: list[str | None] = column.to_pylist()
one_of: str | None = column[0]
some_of: list[int | None] = from_numpy[1:]
bare: stead.Array = column
nulls: int = column.null_count + len(column)
listed: list[str | None] = list(column)

# the content of a map
name: str = plain.name
epoch: int = plain.epoch
digest: bytes = plain.digest + plain.parent
replicas: int = plain.replicas
hash_name: str = plain.hash
spread: tuple[str, ...] = plain.spread
found: stead.Node | None = plain.node("a")
address_of: str | None = plain.attribute("a", "address")
zone_of: str | None = plain.label("a", "zone")
kinds: list[tuple[str | None, str, Decimal | None]] = [
    (policy.name, policy.kind, policy.weight) for policy in plain.policies
]
report: dict[str, Any] = plain.report()
for one in plain.nodes:
    weight: Decimal = one.weight
    zone: str | None = one.labels.get("zone")
    address: str = one.attributes.get("address", one.name)
    leaving: bool = one.leaving
first: stead.Slice = plain.slices[0]
width: int = first.last - first.first + 1
holders: tuple[str, ...] = first.nodes
policy: str | None = first.policy
equal: bool = (
    plain == again and plain.same(again) and plain != "m" and hash(plain) == hash(again)
)
known: set[stead.Map] = {plain, again}
stored: bytes = plain.to_bytes()
restored: stead.Map = stead.Map.from_bytes(stored)

# plans
plan: stead.Plan = stead.Plan.between(plain, after)
sequence: Sequence[stead.Move] = plan
some: tuple[stead.Move, ...] = plan[:10]
count: int = len(plan)
for move in plan:
    source: str | None = move.from_
    target: str | None = move.to
    cause: Literal["rebalance", "pin", "policy"] = move.cause
moves: list[stead.Move] = plan.affects("frank")
moves_there: list[stead.Move] = plan.affects_point(2**63)
affected: list[stead.Affected] = plan.affects_many(["frank", b"bob", None])
for at, before, now in affected:
    affected_key: int = at
    nodes_of: tuple[str | None, str | None] = (before, now)
affected_columns: stead.AffectedColumns = plan.affects_many(polars.Series(["frank"]))
rows_affected: stead.Array[int] = affected_columns.key
amounts: list[int] = [plan.moved, plan.lower_bound, plan.by_hand, plan.reordered]
fraction: float = plan.fraction
whole: dict[str, Any] = plan.report(moves=True)
maps: tuple[stead.Map, stead.Map] = (plan.old, plan.new)

# tools
path: str = stead.path("frank", levels=[16, 16], fold="ascii")
stead.path(b"frank", levels="64,64,128")
names: Iterable[str] = iter(["frank", "bob"])
survey: dict[str, Any] = stead.survey(names, members=10**9, levels=(64, 64))
version: str = stead.__version__


def safely(path: str | os.PathLike[str]) -> stead.Map | int:
    """Every failure has a status; some are also Python's own exceptions."""
    try:
        return stead.Map.open(path)
    except FileNotFoundError:
        return 0
    except stead.IoError as error:
        return error.errno or int(error.status)
    except stead.Error as error:
        status: stead.Status = error.status
        return status

"""Locates the keys of polars frames, and finds the rows that change nodes.

    stead.polars.locate(pl.col("key"), members)         an expression: the node of each key
    stead.polars.moves(frame, "key", members, grown)    the rows that change nodes, with the old and the new node
    stead.polars.plan(frame, "key", members, grown)     the number of such rows, for each pair of nodes

All three take DataFrames and LazyFrames and stay lazy. The streaming engine evaluates them
in parts, so that a table may be larger than memory. A query may use any number of maps.
They compare the first nodes of keys: `moves` and `plan` refuse maps with several replicas
unless they get primary=True.
"""

# types are checked on machines that may not have polars
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ._copies import check_copies
from ._errors import InvalidError
from ._stead import (  # type: ignore[attr-defined, unused-ignore]
    Map,
    _check_map,
    _same_nodes,
)

if TYPE_CHECKING:
    import polars as pl

    Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

__all__ = ["locate", "moves", "plan"]


def locate(keys: pl.Expr | str, map: Map) -> pl.Expr:
    """Returns an expression for the names of the nodes that keys live on; null for a
    null key.

    keys: an expression, or the name of a column, of strings (which stand for their
    UTF-8), of binary, or of categories. For keys of another type, the query fails with a
    message that names the type. Raises TypeError if `keys` or `map` is something else.

    >>> import polars, stead.polars
    >>> users = polars.DataFrame({"key": ["frank", "bob", None]})
    >>> users.select(stead.polars.locate("key", members)).to_series().to_list()
    ['db1', 'db2', None]
    """
    import polars as pl

    if isinstance(keys, str):
        keys = pl.col(keys)
    elif not isinstance(keys, pl.Expr):
        remedy = "write locate(keys, map)"
        if isinstance(keys, pl.Series):
            remedy = "write map.locate_many(keys)"
        raise TypeError(
            "keys are an expression of polars or the name of a column, not "
            f"{type(keys).__name__}; {remedy}"
        )
    _check_map("map", map)
    # elementwise, so that polars may evaluate it in parts and in streams
    return keys.map_batches(
        lambda series: pl.Series(series.name, map.locate_many(series)).cast(pl.String),
        return_dtype=pl.String,
        is_elementwise=True,
    )


def moves(
    frame: Frame, column: str, old: Map, new: Map, *, primary: bool = False
) -> Frame:
    """Returns the rows of `frame` whose node in `new` is not the one in `old`, with two
    more columns, `from` and `to`: the rows that a migration has to move, and their
    nodes.

    A node that was renamed with `formerly` counts as the same node. A null key has no
    node and does not move. Any two maps of one cluster can be compared: for the least
    movement, `new` must be built on `old`, and then `new.parent` is `old.digest`.

    primary: says that the first node of each key is meant. Where keys have several, copies
    move of which these rows know nothing; Plan.affects_many has all of them.

    Raises InvalidError if the frame has no column `column`, or a column `from` or `to`
    already, and without `primary` if a map has several replicas, IdentityError if the maps are not of one cluster, and TypeError for an
    argument of another type.

    >>> import polars, stead.polars
    >>> users = polars.DataFrame({"key": ["frank", "bob", None]})
    >>> stead.polars.moves(users, "key", members, grown).rows()
    [('bob', 'db2', 'db3')]
    """
    import polars as pl

    _check(frame, column)
    changed: dict[str, str | None] = {}
    # first, because it refuses what is no map
    same_nodes = _same_nodes(old, new)
    check_copies(old, new, primary)
    for before, now in zip(old.nodes, same_nodes):
        # a name that another node had before must not count as that node
        name = None if now is None else new.nodes[now].name
        if name != before.name:
            changed[before.name] = name
    same = pl.col("from")
    if changed:
        # the expression `replace` makes the streaming engine hold all rows (32 to 103
        # bytes a row with polars 2.1); a function of each part does not
        same = same.map_batches(
            lambda names: names.replace(changed),
            return_dtype=pl.String,
            is_elementwise=True,
        )
    return frame.with_columns(
        locate(column, old).alias("from"), locate(column, new).alias("to")
    ).filter(same.ne_missing(pl.col("to")))


def plan(
    frame: Frame, column: str, old: Map, new: Map, *, primary: bool = False
) -> Frame:
    """Returns the number of rows of `frame` that move, for each pair of nodes between
    which rows move: columns `from`, `to` and `rows`, in no particular order.

    Raises the exceptions of `moves`.

    >>> import polars, stead.polars
    >>> users = polars.DataFrame({"key": ["frank", "bob", None]})
    >>> stead.polars.plan(users, "key", members, grown).rows()
    [('db2', 'db3', 1)]
    """
    _check(frame, column)
    rows = moves(frame.select(column), column, old, new, primary=primary)
    return rows.group_by("from", "to").len("rows")


def _check(frame: pl.DataFrame | pl.LazyFrame, column: str) -> None:
    """Raises TypeError if the arguments are no frame of polars and no name, and
    InvalidError if the frame lacks the column, or has one of the new ones.
    """
    import polars as pl

    if not isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        kind = type(frame)
        package = kind.__module__.partition(".")[0]
        found = kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"
        remedy = "the arguments are frame, column, old and new, in this order"
        if hasattr(frame, "__arrow_c_stream__"):
            remedy = "write polars.DataFrame(frame)"
        raise TypeError(
            f"frame is a DataFrame or a LazyFrame of polars, not {found}; {remedy}"
        )
    if not isinstance(column, str):
        raise TypeError(
            f"column is a str, the name of a column, not {type(column).__name__}; "
            "to compute the keys, add them with frame.with_columns first"
        )
    names = frame.lazy().collect_schema().names()
    if column not in names:
        raise InvalidError(
            f"the frame has no column {column!r}; its columns are {', '.join(names)}"
        )
    for name in ("from", "to"):
        if name in names:
            raise InvalidError(
                f"the frame has a column {name!r} already; rename it or drop it first"
            )

"""Adds a map to DuckDB as a function in SQL.

    stead.duckdb.register(connection, "node_of", members)
    SELECT node_of(key), count(*) FROM 'users/*.parquet' GROUP BY ALL

DuckDB hands the function Arrow data, a part of a column at a time, so one machine can
process files of any size. DuckDB needs pyarrow and numpy for that.
"""

# types are checked on machines that may not have duckdb and pyarrow
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._errors import InvalidError
from ._stead import Map, _check_map  # type: ignore[attr-defined, unused-ignore]

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["register"]

# the names that a query resolves without our function: the functions and macros that a
# connection has, and the keywords that are no names of functions, such as coalesce
_TAKEN = """
    SELECT 1 FROM duckdb_functions()
    WHERE lower(function_name) = lower($1)
        AND function_type IN ('scalar', 'aggregate', 'macro')
    UNION ALL
    SELECT 1 FROM duckdb_keywords()
    WHERE keyword_name = lower($1) AND keyword_category IN ('reserved', 'column_name')
"""


def register(connection: DuckDBPyConnection, name: str, map: Map) -> None:
    """Adds a function of one argument to a connection: it returns the name of the node
    that a key lives on in `map`; null for null.

    The function takes VARCHAR, which stands for its UTF-8, ENUM and BLOB; UUID and JSON
    are their text. For any other type the query fails, and the message says so, but for
    BIGNUM and BIT: DuckDB gives their bytes, so cast these to text. It keeps its map:
    register the map of another epoch under another name, or under the same one, which
    replaces the function, also one that `create_function` made. The function belongs to
    the connection and its cursors.

    Raises ModuleNotFoundError if pyarrow or numpy is not installed, and InvalidError if
    `name` is no identifier, or if DuckDB has a function of this name, such as `lower`:
    queries would call that one. Names ignore case. Raises TypeError for an argument of
    another type.

    >>> import duckdb, stead.duckdb
    >>> connection = duckdb.connect()
    >>> stead.duckdb.register(connection, "node_of", members)
    >>> stead.duckdb.register(connection, "node_after", grown)
    >>> connection.sql("SELECT node_of('bob'), node_after('bob'), node_of(NULL)").fetchall()
    [('db2', 'db3', None)]
    """
    import duckdb

    # DuckDB imports both when a function takes Arrow data
    for package in ("pyarrow", "numpy"):
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"stead.duckdb needs pyarrow and numpy, and {package} is not installed; "
                "run `pip install pyarrow numpy`",
                name=package,
            ) from error
    import pyarrow as pa

    if not hasattr(connection, "create_function"):
        raise TypeError(
            f"connection is a connection of duckdb, not {type(connection).__name__}; "
            "write duckdb.connect()"
        )
    if not isinstance(name, str):
        raise TypeError(
            "name is a str, the name of the function in SQL, not "
            f"{type(name).__name__}; write register(connection, name, map)"
        )
    _check_map("map", map)
    if not name.isidentifier():
        raise InvalidError(f"{name!r} is no name of a function in SQL")

    def node_of(*columns: Any) -> Any:
        if len(columns) != 1:
            raise TypeError(f"{name} takes one key, not {len(columns)}")
        return pa.array(map.locate_many(columns[0])).cast(pa.string())

    # DuckDB's types know only its enums, not their names
    untyped: Any = connection
    try:
        connection.remove_function(name)
    except duckdb.InvalidInputException:
        pass  # there is none
    # a cursor, so that a result of the connection stays
    if connection.cursor().execute(_TAKEN, [name]).fetchone():
        raise InvalidError(
            f"DuckDB has a function or a keyword {name!r} already, which queries would use "
            "instead; choose another name"
        )
    # no types of parameters, so that VARCHAR and BLOB are both taken; special: DuckDB
    # passes nulls to the function; no side effects: equal keys have equal nodes
    untyped.create_function(
        name,
        node_of,
        None,
        "VARCHAR",
        type="arrow",
        null_handling="special",
        side_effects=False,
    )

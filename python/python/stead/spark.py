"""Locates the keys of Spark DataFrames and plans the migration of a table, on all
machines of a Spark cluster.

    stead.spark.locate(df, "key", members)          df, and the node of each row
    stead.spark.moves(df, "key", members, grown)    the rows that change nodes, with the old and the new node
    stead.spark.plan(df, "key", members, grown)     the number of such rows, for each pair of nodes

All three are lazy, and no row comes to the driver. They use `DataFrame.mapInArrow`:
Spark passes Arrow batches to a Python process beside each executor, which locates one
batch at a time. The bytes of the map are broadcast to the executors; each Python
process verifies and opens the map once and keeps it. The executors need stead and
pyarrow, and no file.

With several replicas, only the primary counts. Importing this module does not need
pyspark.
"""

# types are checked on machines that may not have pyspark and pyarrow
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ._copies import check_copies
from ._errors import InvalidError
from ._stead import Map, _check_map, _same_nodes  # type: ignore[attr-defined, unused-ignore]

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["locate", "moves", "plan"]


def locate(df: DataFrame, column: str, map: Map, *, node: str = "node") -> DataFrame:
    """Returns the rows of `df` with one more column of strings: the name of the node
    that the row's key lives on; null for a null key.

    The keys in `column` are binary, or strings, which stand for their UTF-8. Raises
    InvalidError if there is no such column, if it has another type, or if `df` has a
    column `node` already.
    """
    _check_map("map", map)
    place = _key_column(df, column)
    schema = _schema(df, node)
    carried = _Carried(df, map)

    def located(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        map = carried.open()
        for batch in batches:
            keys = batch.column(place)
            nodes = pa.array(map.locate_many(keys)).cast(_text(keys))
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, nodes], names=schema.names
            )

    return _numbered(df).mapInArrow(located, schema)


def moves(
    df: DataFrame, column: str, old: Map, new: Map, *, primary: bool = False
) -> DataFrame:
    """Returns the rows of `df` whose node in `new` is not the one in `old`, with two
    more columns, `from` and `to`: the rows that a migration has to move, and their
    nodes.

    A node that was renamed with `formerly` counts as the same node. A null key has no
    node and does not move. `primary` says that the first node of each key is meant: where
    keys have several, copies move of which these rows know nothing. Raises InvalidError as
    `locate` does, and without `primary` if a map has several replicas, and IdentityError if
    the maps are not of one cluster.
    """
    place = _key_column(df, column)
    schema = _schema(df, "from", "to")
    change = _Change(df, old, new, primary)

    def moved(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        change.open()
        for batch in batches:
            keys = batch.column(place)
            mask, was, now = change.of(keys)
            rows = batch.filter(mask)
            names = [
                change.old_names.take(was).cast(_text(keys)),
                change.new_names.take(now).cast(_text(keys)),
            ]
            yield pa.RecordBatch.from_arrays(
                [*rows.columns, *names], names=schema.names
            )

    return _numbered(df).mapInArrow(moved, schema)


def plan(
    df: DataFrame, column: str, old: Map, new: Map, *, primary: bool = False
) -> DataFrame:
    """Returns the number of rows of `df` that move, for each pair of nodes between
    which rows move: columns `from`, `to` and `rows`, in no particular order.

    The result is the same as counting the rows of `moves`, but cheaper: only the keys
    go to Python, and each task sends back one row per pair of nodes. Raises the same
    exceptions as `moves`.
    """
    place = _key_column(df, column)
    change = _Change(df, old, new, primary)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        change.open()
        nodes = len(change.new_names)
        rows: Counter[int] = Counter()
        large = False
        for batch in batches:
            keys = batch.column(0)
            large = _text(keys) == pa.large_string()
            _, was, now = change.of(keys)
            # a pair as one number; a map has at most 2**16 nodes
            pairs = pc.value_counts(
                pc.add(pc.multiply(was.cast(pa.int64()), nodes), now.cast(pa.int64()))
            )
            rows.update(
                dict(
                    zip(
                        pairs.field("values").to_pylist(),
                        pairs.field("counts").to_pylist(),
                    )
                )
            )
        # without a batch, the type that Spark expects is unknown
        if not rows:
            return
        text = pa.large_string() if large else pa.string()
        was = pa.array([pair // nodes for pair in rows], pa.int32())
        now = pa.array([pair % nodes for pair in rows], pa.int32())
        columns = [
            change.old_names.take(was).cast(text),
            change.new_names.take(now).cast(text),
            pa.array(rows.values(), pa.int64()),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["from", "to", "rows"])

    counts = (
        _numbered(df)
        .select(f"c{place}")
        .mapInArrow(counted, "`from` string, `to` string, `rows` bigint")
    )
    return (
        counts.groupBy("from", "to")
        .agg({"rows": "sum"})
        .withColumnRenamed("sum(rows)", "rows")
    )


class _Carried:
    """A map that is broadcast to the Python processes of the executors."""

    # the number of maps that stay open in a process: those of a job and of a few before
    KEPT = 8
    _open: ClassVar[dict[bytes, Map]] = {}

    def __init__(self, df: DataFrame, map: Map) -> None:
        self.digest = map.digest
        self.bytes = df.sparkSession.sparkContext.broadcast(map.to_bytes())

    def open(self) -> Map:
        """Returns the map. A process opens it once and uses it for many tasks."""
        map = _Carried._open.get(self.digest)
        if map is None:
            while len(_Carried._open) >= _Carried.KEPT:
                del _Carried._open[next(iter(_Carried._open))]
            map = _Carried._open[self.digest] = Map.from_bytes(self.bytes.value)
        return map


class _Change:
    """Two maps of one cluster that are broadcast to the executors, to find the keys
    that change nodes between them.
    """

    def __init__(self, df: DataFrame, old: Map, new: Map, primary: bool) -> None:
        self.same: list[int | None] = _same_nodes(old, new)
        check_copies(old, new, primary)
        self.maps = _Carried(df, old), _Carried(df, new)

    def open(self) -> None:
        """Opens the maps, in the process that has the batches."""
        import pyarrow as pa

        self.old, self.new = (carried.open() for carried in self.maps)
        self.old_names, self.new_names = (
            pa.array([node.name for node in map.nodes], pa.string())
            for map in (self.old, self.new)
        )
        # -1 for a node that is gone, which equals no number of a new node
        self.renumbered = pa.array(
            [-1 if node is None else node for node in self.same], pa.int32()
        )

    def of(self, keys: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Returns which keys change nodes (null for a null key) and, for those that do,
        the numbers of their old nodes and of their new nodes.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        was, now = (
            pa.array(map.locate_many(keys, numbers=True))
            for map in (self.old, self.new)
        )
        mask = pc.not_equal(self.renumbered.take(was), now)
        return mask, was.filter(mask), now.filter(mask)


def _key_column(df: DataFrame, column: str) -> int:
    """Returns the index of the column of keys."""
    from pyspark.sql.types import BinaryType, StringType

    found = [place for place, name in enumerate(df.columns) if name == column]
    if len(found) != 1:
        raise InvalidError(
            f"the DataFrame has {len(found) or 'no'} columns {column!r}; its columns "
            f"are {', '.join(df.columns)}"
        )
    kind = df.schema[found[0]].dataType
    if not isinstance(kind, (StringType, BinaryType)):
        raise InvalidError(
            f"column {column!r} is {kind.simpleString()}; keys are string or binary, "
            "so cast it as the keys are written elsewhere"
        )
    return found[0]


def _numbered(df: DataFrame) -> DataFrame:
    """Returns the same rows with numbered columns: mapInArrow of Spark 4.3 fails for a
    column name that has a dot, and for one that two columns have.
    """
    return df.toDF(*(f"c{place}" for place in range(len(df.columns))))


def _schema(df: DataFrame, *more: str) -> Any:
    """Returns the schema of `df` with more columns of strings."""
    from pyspark.sql.types import StringType, StructField, StructType

    for name in more:
        # Spark ignores the case of names
        if name.lower() in (column.lower() for column in df.columns):
            raise InvalidError(
                f"the DataFrame has a column {name!r} already; rename it or drop it first"
            )
    return StructType(
        [*df.schema.fields, *(StructField(name, StringType()) for name in more)]
    )


def _text(keys: pa.Array) -> pa.DataType:
    """Returns the type of strings that Spark expects: large strings if it is configured
    so, which the type of the keys shows.
    """
    import pyarrow as pa

    return (
        pa.large_string()
        if keys.type in (pa.large_string(), pa.large_binary())
        else pa.string()
    )

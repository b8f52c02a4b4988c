"""Places the keys of Spark DataFrames and plans the migration of a table, on as many
machines as Spark has.

    stead.spark.locate(df, "key", members)          df, and the node of each row
    stead.spark.moves(df, "key", members, grown)    the rows that change nodes, and where from and to
    stead.spark.plan(df, "key", members, grown)     how many do, for each pair of nodes

All three are lazy, and no row comes to the driver. They are `DataFrame.mapInArrow`:
Spark hands Arrow batches to a Python process beside each executor, which asks the map
for a batch at a time. The map goes to the executors as a broadcast of its bytes; each
Python process verifies and opens it once and keeps it. The executors need stead and
pyarrow, and no file.

Of several replicas, the primary counts. Importing this module needs no pyspark.
"""

# types are checked where pyspark and pyarrow need not be
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ._errors import InvalidError
from ._stead import Map, _same_nodes  # type: ignore[attr-defined, unused-ignore]

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["locate", "moves", "plan"]


def locate(df: DataFrame, column: str, map: Map, *, node: str = "node") -> DataFrame:
    """The rows of `df` with one more column, of strings: the name of the node that the
    row's key lives on; null for a null key.

    `column` has strings, which stand for their UTF-8, or binary. Raises InvalidError
    when there is no such column or it has another type, and when there is a column
    `node` already.
    """
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


def moves(df: DataFrame, column: str, old: Map, new: Map) -> DataFrame:
    """The rows of `df` whose node is another one in `new` than in `old`, with two more
    columns, `from` and `to`: what a migration has to carry, and where.

    A node renamed by `formerly` is the same node. A null key lives nowhere and does not
    move. Raises InvalidError as `locate` does, and IdentityError when the maps are not
    of one cluster.
    """
    place = _key_column(df, column)
    schema = _schema(df, "from", "to")
    change = _Change(df, old, new)

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


def plan(df: DataFrame, column: str, old: Map, new: Map) -> DataFrame:
    """How many rows of `df` move, for each pair of nodes that some do: `from`, `to`,
    `rows`, in no order.

    The same as counting what `moves` gives, and cheaper: only the keys go to Python,
    and each task sends back one row for a pair of nodes. Raises what `moves` raises.
    """
    place = _key_column(df, column)
    change = _Change(df, old, new)

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
            # a pair as one number: 2**16 nodes at most on each side
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
        # without a batch nothing has shown which type Spark expects
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
    """A map on its way to the Python processes of the executors."""

    # so many maps stay open in a process: those of a job and of the few before it
    KEPT = 8
    _open: ClassVar[dict[bytes, Map]] = {}

    def __init__(self, df: DataFrame, map: Map) -> None:
        self.digest = map.digest
        self.bytes = df.sparkSession.sparkContext.broadcast(map.to_bytes())

    def open(self) -> Map:
        """The map, which each process opens once: it serves many tasks."""
        map = _Carried._open.get(self.digest)
        if map is None:
            while len(_Carried._open) >= _Carried.KEPT:
                del _Carried._open[next(iter(_Carried._open))]
            map = _Carried._open[self.digest] = Map.from_bytes(self.bytes.value)
        return map


class _Change:
    """Two maps of one cluster on their way to the executors, and which keys change
    nodes between them.
    """

    def __init__(self, df: DataFrame, old: Map, new: Map) -> None:
        self.same: list[int | None] = _same_nodes(old, new)
        self.maps = _Carried(df, old), _Carried(df, new)

    def open(self) -> None:
        """Opens the maps, where the batches are."""
        import pyarrow as pa

        self.old, self.new = (carried.open() for carried in self.maps)
        self.old_names, self.new_names = (
            pa.array([node.name for node in map.nodes], pa.string())
            for map in (self.old, self.new)
        )
        # a node that is gone is none of the new ones
        self.renumbered = pa.array(
            [-1 if node is None else node for node in self.same], pa.int32()
        )

    def of(self, keys: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Which keys change nodes (null for a null key), and for those that do the
        number of the old node and of the new one.
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
    """The place of the column of keys."""
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
    """The same rows with other names: mapInArrow of Spark 4.3 fails for a name with a
    dot, and for one that two columns have.
    """
    return df.toDF(*(f"c{place}" for place in range(len(df.columns))))


def _schema(df: DataFrame, *more: str) -> Any:
    """The columns of `df`, and more, of strings."""
    from pyspark.sql.types import StringType, StructField, StructType

    for name in more:
        # Spark does not tell names apart by case
        if name.lower() in (column.lower() for column in df.columns):
            raise InvalidError(
                f"the DataFrame has a column {name!r} already; rename it or drop it first"
            )
    return StructType(
        [*df.schema.fields, *(StructField(name, StringType()) for name in more)]
    )


def _text(keys: pa.Array) -> pa.DataType:
    """The type that Spark expects of strings: large ones where it is configured to,
    which the keys show.
    """
    import pyarrow as pa

    return (
        pa.large_string()
        if keys.type in (pa.large_string(), pa.large_binary())
        else pa.string()
    )

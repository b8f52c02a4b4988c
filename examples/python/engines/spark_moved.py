"""Writes the rows that move between two maps to files, one for each pair of nodes, so that
a loader can load all targets at the same time.

    python examples/python/engines/spark_moved.py old.map new.map moved --table users --column name --master 'local[2]'

On a cluster (docs/python-engines.md says how stead reaches the executors):

    spark-submit --archives stead-env.tar.gz#env spark_moved.py old.map new.map hdfs:///moved --table hdfs:///users --column name

It writes

    moved/plan.json                                 what has to be written
    moved/rows/to=TARGET/from=SOURCE/rows.parquet   the rows, with all their columns
    moved/manifest.json                             what was written; it comes last

A row that gets several new copies is written once for each. The job may be killed and run
again: a file that is there is whole, and is not written again. The table must not change
meanwhile. A loader checks each file by the manifest: `rows`; `keys`, the sum of the first
64 bits of the MD5 of each key, modulo 2^64, which any database can compute; and `content`,
the same sum of Spark's xxhash64 of all columns.
"""

import argparse
import hashlib
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet
import stead
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

WHOLE = 1 << 64
NAME = "rows.parquet"


class Moves:
    """What moves between two maps. It travels to the executors, and each of their Python
    processes makes the plan once.
    """

    made = None

    def __init__(self, spark, old, new, lost=()):
        self.maps = spark.sparkContext.broadcast((old.to_bytes(), new.to_bytes()))
        self.digest, self.lost = new.digest + old.digest, frozenset(lost)

    def plan(self):
        if Moves.made is None or Moves.made[0] != self.digest:
            old, new = map(stead.Map.from_bytes, self.maps.value)
            Moves.made = self.digest, stead.Plan.between(old, new)
        return Moves.made[1]

    def of(self, keys):
        """Returns three arrays for each copy that moves: which key, from where, to where."""
        plan = self.plan()
        moved = plan.affects_many(keys)
        row, source, target = (pa.array(column) for column in moved)
        source, target = source.cast(pa.string()), target.cast(pa.string())
        there = target.is_valid()
        row, source, target = (
            row.filter(there),
            source.filter(there),
            target.filter(there),
        )
        # a copy that is added, or whose node is gone, comes from the first node that lives
        lacks = pc.or_(
            source.is_null(), pc.is_in(source, pa.array(sorted(self.lost), pa.string()))
        )
        if pc.any(lacks).as_py():
            place = numpy.flatnonzero(lacks.to_numpy(zero_copy_only=False))
            found = source.to_pylist()
            for at, key in zip(place, keys.take(row.take(pa.array(place))).to_pylist()):
                alive = (n for n in plan.old.locate_all(key) if n not in self.lost)
                found[at] = next(alive, None)
            source = pa.array(found, pa.string())
            there = source.is_valid()
            row, source, target = (a.filter(there) for a in (row, source, target))
        return row, source, target


def moved_rows(table, column, moves, done=()):
    """Returns the rows that move, without those of pairs that are done. They have more
    columns: the nodes, the halves of the first 64 bits of the key's MD5, and the digest of
    the row.
    """
    names = table.columns
    place = names.index(column)
    done = frozenset(done)

    def tagged(batches):
        for batch in batches:
            row, source, target = moves.of(batch.column(place))
            if done:
                left = [
                    pair not in done
                    for pair in zip(source.to_pylist(), target.to_pylist())
                ]
                mask = pa.array(left, pa.bool_())
                row, source, target = (a.filter(mask) for a in (row, source, target))
            rows = batch.take(row)
            yield pa.RecordBatch.from_arrays(
                [*rows.columns, source, target],
                names=[*batch.schema.names, "from", "to"],
            )

    nodes = [StructField(name, StringType()) for name in ("from", "to")]
    # mapInArrow takes no names with dots
    plain = table.toDF(*(f"c{number}" for number in range(len(names))))
    fields = [*plain.schema.fields, *nodes]
    found = plain.mapInArrow(tagged, StructType(fields))
    digits = F.md5(F.col(f"c{place}").cast("binary"))
    half = lambda start: F.conv(F.substring(digits, start, 8), 16, 10).cast("bigint")
    content = F.xxhash64(*plain.columns)
    added = {"high": half(1), "low": half(9), "content": content}
    return found.withColumns(added)


def plan(table, column, moves):
    """Returns for each pair how many rows have to be written, and the sum of their keys.
    Only the keys are read.
    """
    quoted = "`" + column.replace("`", "``") + "`"
    keys = table.select(quoted)
    sums = [F.sum(name).alias(name) for name in ("high", "low")]
    pairs = moved_rows(keys, column, moves).groupBy("from", "to")
    counted = pairs.agg(F.count("*").alias("rows"), *sums).collect()
    return [
        {
            "from": row["from"],
            "to": row["to"],
            "rows": row["rows"],
            "keys": f"{(row['high'] * (1 << 32) + row['low']) % WHOLE:016x}",
        }
        for row in sorted(counted, key=lambda row: (row["to"], row["from"]))
    ]


class Writer:
    """Writes the rows of one pair. They are in a file of another name until it is whole."""

    def __init__(self, folder, pair, schema, attempt):
        self.files, base = pyarrow.fs.FileSystem.from_uri(folder)
        self.folder = f"{base}/{path_of(*pair)}"
        self.files.create_dir(self.folder, recursive=True)
        # a name that begins so is no data for Spark and others
        self.fresh = f"{self.folder}/_{attempt}"
        self.parquet = pyarrow.parquet.ParquetWriter(
            self.fresh, schema, filesystem=self.files
        )
        self.rows, self.sums = 0, numpy.zeros(2, numpy.uint64)

    def write(self, rows, high, low, content):
        self.parquet.write_batch(rows)
        self.rows += len(rows)
        number = lambda column: column.to_numpy(zero_copy_only=False).view(numpy.uint64)
        keys = number(high) * numpy.uint64(1 << 32) + number(low)
        # unsigned sums are modulo 2^64
        self.sums += numpy.array([keys.sum(), number(content).sum()], numpy.uint64)

    def close(self):
        told = {"rows": self.rows}
        told |= dict(zip(("keys", "content"), (f"{int(s):016x}" for s in self.sums)))
        self.parquet.add_key_value_metadata({"stead": json.dumps(told)})
        self.parquet.close()
        self.files.move(self.fresh, f"{self.folder}/{NAME}")


def path_of(source, target):
    """The folder of a pair. Names of nodes may have any characters."""
    return f"rows/to={quote(target, safe='')}/from={quote(source, safe='')}"


def write(table, column, moves, folder, done, tasks):
    """Writes the rows of all pairs that are not done."""
    count = len(table.columns)
    names = table.columns

    def written(batches):
        writer, now = None, None
        attempt = TaskContext.get().taskAttemptId()
        for batch in batches:
            pairs = [pc.cast(batch.column(count + i), pa.string()) for i in (0, 1)]
            other = [pc.not_equal(p.slice(1), p.slice(0, len(p) - 1)) for p in pairs]
            change = pc.or_(*other).to_numpy(zero_copy_only=False)
            starts = [0, *(numpy.flatnonzero(change) + 1)] if len(batch) else []
            for first, past in zip(starts, [*starts[1:], len(batch)]):
                part = batch.slice(first, past - first)
                pair = tuple(p[int(first)].as_py() for p in pairs)
                data = pa.RecordBatch.from_arrays(part.columns[:count], names=names)
                if pair != now:
                    if writer:
                        writer.close()
                    writer, now = Writer(folder, pair, data.schema, attempt), pair
                writer.write(data, *part.columns[count + 2 :])
        if writer:
            writer.close()
        yield pa.RecordBatch.from_pydict({"done": [attempt]})

    rows = moved_rows(table, column, moves, done)
    sorted_rows = rows.repartition(tasks, "to", "from").sortWithinPartitions(
        "to", "from"
    )
    sorted_rows.mapInArrow(written, "done long").count()


def written(folder, pairs):
    """Returns what is in the files of those pairs that are written."""
    files, base = pyarrow.fs.FileSystem.from_uri(folder)

    def look(pair):
        path = f"{path_of(*pair)}/{NAME}"
        info = files.get_file_info(f"{base}/{path}")
        if info.type == pyarrow.fs.FileType.NotFound:
            return None
        footer = pyarrow.parquet.read_metadata(f"{base}/{path}", filesystem=files)
        told = json.loads(footer.metadata[b"stead"])
        return {**told, "bytes": info.size, "path": path}

    # there may be a million pairs, on a file system that is far away
    with ThreadPoolExecutor(16) as pool:
        return {pair: told for pair, told in zip(pairs, pool.map(look, pairs)) if told}


def load(folder, name):
    """Reads a JSON file; None when it is not there."""
    files, base = pyarrow.fs.FileSystem.from_uri(folder)
    if files.get_file_info(f"{base}/{name}").type == pyarrow.fs.FileType.NotFound:
        return None
    with files.open_input_file(f"{base}/{name}") as file:
        return json.loads(file.read())


def save(folder, name, found):
    """Writes a JSON file, whole or not at all."""
    files, base = pyarrow.fs.FileSystem.from_uri(folder)
    files.create_dir(base, recursive=True)
    with files.open_output_stream(f"{base}/_{name}") as file:
        file.write(json.dumps(found, indent=1).encode())
    files.move(f"{base}/_{name}", f"{base}/{name}")


def expected(old, new, count):
    """Returns how many copies of `count` rows the plan of the maps moves, and the standard
    deviation: each row falls into the part that moves by chance.
    """
    fraction = stead.Plan.between(old, new).fraction * new.replicas
    return fraction * count, math.sqrt(count * fraction * max(1 - fraction, 0))


def moved(spark, table, column, old, new, folder, lost=(), tasks=None):
    """Writes what moves, and returns the manifest."""
    moves = Moves(spark, old, new, lost)
    # rows that were counted and those that are written are of the same files
    source = hashlib.sha256("\n".join(sorted(table.inputFiles())).encode()).hexdigest()
    head = {
        "old": old.digest.hex(),
        "new": new.digest.hex(),
        "column": column,
        "table": source,
        "lost": sorted(lost),
    }
    due = load(folder, "plan.json")
    if due is None:
        due = {**head, "table_rows": table.count(), "pairs": plan(table, column, moves)}
        save(folder, "plan.json", due)
    elif any(due[name] != value for name, value in head.items()):
        sys.exit(
            f"{folder} has a plan of other maps or another table; give an empty folder"
        )
    pairs = {(pair["from"], pair["to"]): pair for pair in due["pairs"]}
    done = written(folder, pairs)
    left = sum(pair["rows"] for key, pair in pairs.items() if key not in done)
    if left:
        # a task writes about a million rows, and each pair is written by one task
        spread = min(len(pairs) - len(done), max(left // 1_000_000, 1))
        least = spark.sparkContext.defaultParallelism
        write(table, column, moves, folder, done, tasks or max(spread, least))
    there = written(folder, pairs)
    for key, pair in pairs.items():
        same = key in there and all(there[key][n] == pair[n] for n in ("rows", "keys"))
        if not same:
            sys.exit(
                f"{path_of(*key)}: {there.get(key)} is not what was counted ({pair}); the table "
                "has changed; remove the folder and begin again"
            )
    mean, deviation = expected(old, new, due["table_rows"])
    manifest = {
        **head,
        "table_rows": due["table_rows"],
        "rows": sum(pair["rows"] for pair in pairs.values()),
        "rows_by_the_maps": round(mean, 1),
        "standard_deviation": round(deviation, 1),
        "written_before": len(done),
        "pairs": [{"from": a, "to": b, **there[a, b]} for a, b in pairs],
    }
    save(folder, "manifest.json", manifest)
    return manifest


def main():
    parser = argparse.ArgumentParser(
        description="Writes the rows that move between two maps, by pair of nodes."
    )
    parser.add_argument("old", help="the old map file")
    parser.add_argument("new", help="the new map file")
    parser.add_argument("output", help="folder for the rows and the manifest")
    parser.add_argument("--table", required=True, help="the Parquet table to read")
    parser.add_argument("--column", default="key", help="the column of keys (key)")
    parser.add_argument(
        "--lost", nargs="*", default=[], help="nodes that are gone for good"
    )
    parser.add_argument("--tasks", type=int, help="how many tasks write")
    parser.add_argument(
        "--master", help="such as local[2]; spark-submit says it otherwise"
    )
    given = parser.parse_args()
    old, new = stead.Map.open(given.old), stead.Map.open(given.new)
    builder = SparkSession.builder.appName(f"stead: rows that move in {new.name}")
    spark = (builder.master(given.master) if given.master else builder).getOrCreate()
    table = spark.read.parquet(given.table)
    folder = given.output
    if "://" not in folder:
        folder = "file://" + os.path.abspath(folder)
    made = moved(spark, table, given.column, old, new, folder, given.lost, given.tasks)
    print(
        f"{made['rows']} of {made['table_rows']} rows move between {len(made['pairs'])} pairs "
        f"of nodes; by the maps {made['rows_by_the_maps']:.0f}, give or take "
        f"{2 * made['standard_deviation']:.0f}; {made['written_before']} pairs were there before"
    )
    spark.stop()


if __name__ == "__main__":
    main()

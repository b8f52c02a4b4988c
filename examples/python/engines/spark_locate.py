"""Plans the migration of a table between two maps with Spark, and writes a new table,
partitioned by node.

    python examples/python/engines/spark_locate.py old.map new.map /tmp/placed --rows 1000000 --master 'local[2]'

On a cluster, run the same file; spark-submit sets the master and the Python environment
(docs/python-engines.md):

    spark-submit --archives stead-env.tar.gz#env spark_locate.py old.map new.map hdfs:///placed --table hdfs:///users --column name

The maps are files of the driver; the executors get them by broadcast.
"""

import argparse

import stead
import stead.spark
from pyspark.sql import SparkSession


def keys(spark, rows):
    """A table of generated keys, of 1 to 20 bytes or so."""
    return spark.range(rows).selectExpr(
        "concat(repeat('k', cast(id % 13 AS int)), id) AS key", "id AS value"
    )


def main():
    parser = argparse.ArgumentParser(
        description="Plans the migration of a table, and writes it partitioned by node."
    )
    parser.add_argument("old", help="the old map file")
    parser.add_argument("new", help="the new map file")
    parser.add_argument(
        "output",
        help=(
            "folder for the table, which must not exist; one folder below for each "
            "node of the new map"
        ),
    )
    parser.add_argument(
        "--table", help="Parquet to read; without it, keys are generated"
    )
    parser.add_argument(
        "--column", default="key", help="the column of keys (default: key)"
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=1_000_000,
        help="number of keys to generate (default: 1000000)",
    )
    parser.add_argument(
        "--master", help="such as local[2]; spark-submit says it otherwise"
    )
    given = parser.parse_args()
    old, new = stead.Map.open(given.old), stead.Map.open(given.new)

    builder = SparkSession.builder.appName(
        f"stead: {new.name}, epoch {old.epoch} to {new.epoch}"
    )
    spark = (builder.master(given.master) if given.master else builder).getOrCreate()
    table = spark.read.parquet(given.table) if given.table else keys(spark, given.rows)

    # the driver gets one row per pair of nodes
    for row in (
        stead.spark.plan(table, given.column, old, new).orderBy("from", "to").collect()
    ):
        print(f"{row['from']}\t{row['to']}\t{row['rows']}", flush=True)
    stead.spark.locate(table, given.column, new).write.partitionBy("node").parquet(
        given.output
    )
    spark.stop()


if __name__ == "__main__":
    main()

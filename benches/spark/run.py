"""Measures the cost of placing keys in Spark with stead, and with a function in pure
Python (hashlib and bisect) over the same map.

    python benches/spark/run.py [--rows 100000000] [--nodes 16] [--master 'local[2]']

Both do the same job: Spark generates keys, a mapInArrow adds the node of each, and
Spark counts the rows of each node. The output is the time of the whole job, and the CPU
time within the function, from the Arrow column of keys to the Arrow column of nodes.
Each Python process measures that time for each batch, and an accumulator sums it. The
counts of both must be equal. `make bench-spark` runs it.
"""

import argparse
import bisect
import hashlib
import os
import sys
import threading
import time

import pyarrow as pa
import stead
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType


def with_stead(data):
    """Returns a function from a column of keys to their nodes, by stead."""
    map = stead.Map.from_bytes(data)
    return lambda keys: pa.array(map.locate_many(keys)).cast(pa.string())


def in_python(data):
    """Returns the same in pure Python: the point is the first 8 bytes of the key's MD5,
    and its owner is the last slice that starts at the point or before it.
    """
    slices = stead.Map.from_bytes(data).slices
    firsts, names = [one.first for one in slices], [one.nodes[0] for one in slices]
    md5, owner, integer = hashlib.md5, bisect.bisect_right, int.from_bytes

    def locate(key):
        return names[owner(firsts, integer(md5(key.encode()).digest()[:8], "big")) - 1]

    return lambda keys: pa.array(
        [None if key is None else locate(key) for key in keys.to_pylist()], pa.string()
    )


def job(spark, data, make, rows):
    """Runs the job; returns its seconds, the CPU seconds within the function, and
    {node: count of its rows}.
    """
    carried, spent = (
        spark.sparkContext.broadcast(data),
        spark.sparkContext.accumulator(0),
    )

    def place(batches):
        nodes_of = make(carried.value)
        for batch in batches:
            start = time.thread_time_ns()
            nodes = nodes_of(batch.column(0))
            spent.add(time.thread_time_ns() - start)
            yield pa.RecordBatch.from_arrays(
                [batch.column(0), nodes], names=["key", "node"]
            )

    keys = spark.range(rows).selectExpr(
        "concat(repeat('k', cast(id % 13 AS int)), id) AS key"
    )
    schema = StructType(
        [StructField("key", StringType()), StructField("node", StringType())]
    )
    start = time.monotonic()
    counts = dict(keys.mapInArrow(place, schema).groupBy("node").count().collect())
    return time.monotonic() - start, spent.value / 1e9, counts


def show_progress(spark, what, done):
    """Prints every ten seconds how many tasks are done, until `done` is set."""
    tracker, start = spark.sparkContext.statusTracker(), time.monotonic()
    while not done.wait(10):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = ", ".join(
            f"{stage.numCompletedTasks} of {stage.numTasks} tasks"
            for stage in stages
            if stage
        )
        print(
            f"   {what}: {time.monotonic() - start:.0f} s, {tasks or 'between stages'}",
            file=sys.stderr,
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description="Placing keys in Spark: stead beside pure Python."
    )
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--master", default=f"local[{min(os.cpu_count() or 1, 8)}]")
    given = parser.parse_args()
    data = stead.Map.build(
        {"name": "bench", "node": [{"name": f"db{i}"} for i in range(given.nodes)]}
    ).to_bytes()

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master(given.master).appName("stead: bench")
    # small tasks, so that progress is visible
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.default.parallelism": str(max(8, given.rows // 2_000_000)),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    ways = {"stead": with_stead, "pure Python": in_python}
    # the first jobs do not count: Spark starts its processes and compiles its code in
    # them
    for make in ways.values():
        job(spark, data, make, 100_000)

    print(
        f"{given.rows} rows, {given.nodes} nodes, {given.master}, Spark "
        f"{spark.version}, Python {sys.version.split()[0]}",
        flush=True,
    )
    print(f"{'':<12} {'job':>9} {'ns a row':>9} {'CPU within':>11} {'ns a row':>9}")
    results = {}
    for what, make in ways.items():
        done = threading.Event()
        threading.Thread(
            target=show_progress, args=(spark, what, done), daemon=True
        ).start()
        results[what] = wall, cpu, counts = job(spark, data, make, given.rows)
        done.set()
        assert sum(counts.values()) == given.rows, counts
        print(
            f"{what:<12} {wall:>7.1f} s {wall / given.rows * 1e9:>9.0f} {cpu:>9.1f} s "
            f"{cpu / given.rows * 1e9:>9.0f}",
            flush=True,
        )
    (wall, cpu, counts), (python_wall, python_cpu, python_counts) = results.values()
    if counts != python_counts:
        sys.exit("the two do not agree on where keys live")
    print(
        f"pure Python takes {python_cpu / cpu:.2f} times the CPU time within the "
        f"function, and {python_wall / wall:.2f} times the time of the job"
    )
    spark.stop()


if __name__ == "__main__":
    main()

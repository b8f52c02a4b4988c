#!/usr/bin/env python3
"""Measures how much memory each engine takes at most to place a table, and to find the
rows that a migration moves, for tables of two sizes.

Each job has a process of its own. Its peak (VmHWM of Linux) contains Python and the
engine itself. The table is written to files of Parquet first, a million rows to a file:
a key of 18 bytes and a number, in groups of 100,000 rows. Between the two maps one node
is added, one is renamed and one is removed. An engine that works in parts takes about
the same for both sizes. Run it with `make bench-engines`.

    engines.py [--rows N,N] [WORD ...]      only the jobs whose names have one of the words
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

FILE_ROWS, GROUP_ROWS = 1_000_000, 100_000
MIB = 1 << 20


# ---- the jobs, with the calls of docs/python-engines.md


def pyarrow_count(table):
    from collections import Counter

    import pyarrow.parquet

    counts = Counter()
    for path in table.paths:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(columns=["key"]):
            nodes = table.old.locate_many(batch["key"]).to_arrow()
            for found in nodes.value_counts().to_pylist():
                counts[found["values"]] += found["counts"]


def pyarrow_table(table):
    import pyarrow.parquet

    users = pyarrow.parquet.read_table(table.paths)
    nodes = table.old.locate_many(users["key"]).to_arrow()
    users = users.append_column("node", nodes)
    pyarrow.parquet.write_to_dataset(users, table.out, partition_cols=["node"])


def polars_count(table):
    import polars as pl
    import stead.polars

    node = stead.polars.locate("key", table.old).alias("node")
    pl.scan_parquet(table.paths).group_by(node).len().collect(engine="streaming")


def polars_plan(table):
    import polars as pl
    import stead.polars

    users = pl.scan_parquet(table.paths)
    plan = stead.polars.plan(users, "key", table.old, table.new)
    plan.collect(engine="streaming")


def polars_moves(table):
    import polars as pl
    import stead.polars

    users = pl.scan_parquet(table.paths)
    moves = stead.polars.moves(users, "key", table.old, table.new)
    moves.sink_parquet(os.path.join(table.out, "moves"), engine="streaming")


def polars_folders(table):
    import polars as pl
    import stead.polars

    node = stead.polars.locate("key", table.old).alias("node")
    users = pl.scan_parquet(table.paths).with_columns(node)
    users.sink_parquet(
        pl.PartitionBy(table.out, key="node"), mkdir=True, engine="streaming"
    )


def duckdb_sql(table, statement, *settings):
    import duckdb
    import stead.duckdb

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"SET temp_directory = '{table.out}.tmp'")
        for setting in settings:
            connection.execute(setting)
        stead.duckdb.register(connection, "node_of", table.old)
        stead.duckdb.register(connection, "node_after", table.new)
        users = f"read_parquet({table.paths})"
        connection.execute(statement.format(users=users, out=table.out)).fetchall()


COUNT = "SELECT node_of(key) AS node, count(*) FROM {users} GROUP BY node"
MOVES = """
    SELECT "from", "to", count(*) AS rows
    FROM (SELECT node_of(key) AS "from", node_after(key) AS "to" FROM {users})
    WHERE "from" <> "to" GROUP BY ALL"""
COPY = """
    COPY (SELECT *, node_of(key) AS node FROM {users})
    TO '{out}' (FORMAT parquet, PARTITION_BY (node))"""


def pandas_column(table):
    import pandas as pd

    users = pd.concat([pd.read_parquet(path) for path in table.paths])
    users["node"] = table.old.locate_many(users["key"]).to_pandas().array


JOBS = {
    "pyarrow: count per node, batch by batch": pyarrow_count,
    "pyarrow: a table in memory, to one folder per node": pyarrow_table,
    "polars: count per node": polars_count,
    "polars: `plan`": polars_plan,
    "polars: `moves`, to a file": polars_moves,
    "polars: to one folder per node": polars_folders,
    "DuckDB: count per node": lambda table: duckdb_sql(table, COUNT),
    "DuckDB: count of moves": lambda table: duckdb_sql(table, MOVES),
    "DuckDB: `COPY` to one folder per node": lambda table: duckdb_sql(table, COPY),
    "DuckDB: the same, `SET memory_limit = '300MB'`": lambda table: duckdb_sql(
        table, COPY, "SET memory_limit = '300MB'"
    ),
    "pandas: a column in memory": pandas_column,
}


class Table:
    """What a job gets: the first files of the table, two maps, and a folder to write to."""

    def __init__(self, folder, rows, out):
        import stead

        count = -(-rows // FILE_ROWS)
        self.paths = [os.path.join(folder, f"{i}.parquet") for i in range(count)]
        self.out = out
        nodes = [{"name": f"db{i}"} for i in range(1, 7)]
        later = [nodes[0], {"name": "two", "formerly": "db2"}, *nodes[3:]]
        self.old = stead.Map.build({"name": "members", "node": nodes[:5]})
        self.new = stead.Map.build({"name": "members", "node": later}, self.old)


# ---- measuring


def write(folder, rows):
    """Writes the files of the table."""
    import pyarrow as pa
    import pyarrow.parquet

    for i in range(-(-rows // FILE_ROWS)):
        numbers = range(i * FILE_ROWS, min(rows, (i + 1) * FILE_ROWS))
        table = pa.table(
            {"key": [f"user-{n:08}-name" for n in numbers], "age": numbers}
        )
        path = os.path.join(folder, f"{i}.parquet")
        pyarrow.parquet.write_table(table, path, row_group_size=GROUP_ROWS)


def child(name, folder, rows):
    """Does one job, and prints the peak of this process in bytes."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        JOBS[name](Table(folder, rows, out))
    with open("/proc/self/status", encoding="utf-8") as file:
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1])
    print(json.dumps(1024 * peak))


def measured(name, folder, rows):
    """Returns the peak of a job in bytes, or None if it fails, and its seconds."""
    command = [sys.executable, os.path.abspath(__file__), "--child", name]
    command += ["--folder", folder, "--rows", str(rows)]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    peak = json.loads(done.stdout) if done.returncode == 0 else None
    return peak, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="only these jobs")
    parser.add_argument(
        "--rows", default="4000000,16000000", help="the two sizes (%(default)s)"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = [int(rows) for rows in given.rows.split(",")]
    if given.child:
        return child(given.child, given.folder, sizes[0])
    words = [word.lower() for word in given.words]
    jobs = [
        name
        for name in JOBS
        if not words or any(word in name.lower() for word in words)
    ]
    with tempfile.TemporaryDirectory(prefix="stead-engines-") as folder:
        write(folder, max(sizes))
        columns = [f"{rows:,} rows" for rows in sizes]
        print("| job | " + " | ".join(columns) + " |", flush=True)
        print("| --- |" + " ---: |" * len(sizes), flush=True)
        for name in jobs:
            found = [measured(name, folder, rows) for rows in sizes]
            cells = [
                "failed" if peak is None else f"{peak / MIB:,.0f} MiB"
                for peak, _ in found
            ]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            seconds = ", ".join(f"{took:.1f} s" for _, took in found)
            print(f"{name}: {seconds}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

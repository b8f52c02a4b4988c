"""Locates the keys of a table of pyarrow, and those of a file that may be larger than
memory, batch by batch.

    python examples/python/engines/pyarrow_locate.py
"""

import collections
import os
import tempfile

import pyarrow as pa
import pyarrow.parquet
import stead


def locate(table, column, members):
    """Returns the table with one more column, the node of each key. The names of the
    nodes are stored once, so a row costs 4 bytes.
    """
    nodes = members.locate_many(table[column]).to_arrow()
    return table.append_column("node", nodes)


def count(path, column, members, rows=1_000_000):
    """Counts the rows of each node in a file of Parquet, of which this many rows are in
    memory at a time.
    """
    counts = collections.Counter()
    file = pyarrow.parquet.ParquetFile(path)
    for batch in file.iter_batches(batch_size=rows, columns=[column]):
        nodes = members.locate_many(batch[column]).to_arrow()
        for found in nodes.value_counts().to_pylist():
            counts[found["values"]] += found["counts"]
    return counts


def main():
    members = stead.Map.build(
        {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
    )
    users = pa.table({"key": [f"user{i}" for i in range(1_000_000)]})
    placed = locate(users, "key", members)
    print(placed.group_by("node").aggregate([([], "count_all")]).to_pylist())
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "users.parquet")
        pyarrow.parquet.write_table(users, path)
        print(dict(count(path, "key", members, rows=100_000)))


if __name__ == "__main__":
    main()

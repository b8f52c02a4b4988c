"""Locates the keys of a polars frame with an expression, which works in select,
with_columns, group_by and in lazy queries.

    python examples/python/engines/polars_locate.py
"""

import polars as pl
import stead


def node_of(keys, members):
    """Returns the expression for the nodes of `keys`, another expression; null for
    null. `members` is the map.
    """
    # elementwise, so that polars may evaluate it in parts
    return keys.map_batches(
        lambda series: pl.Series(members.locate_many(series)).cast(pl.String),
        return_dtype=pl.String,
        is_elementwise=True,
    )


def main():
    members = stead.Map.build(
        {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
    )
    grown = stead.Map.build(
        {
            "name": "members",
            "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}, {"name": "db3"}],
        },
        members,
    )
    users = pl.LazyFrame({"key": [f"user{i}" for i in range(1_000_000)]})

    print(
        users.group_by(node_of(pl.col("key"), members).alias("node"))
        .len()
        .sort("node")
        .collect()
    )

    # the rows that a migration moves
    pair = users.select(
        node_of(pl.col("key"), members).alias("from"),
        node_of(pl.col("key"), grown).alias("to"),
    )
    print(
        pair.filter(pl.col("from") != pl.col("to"))
        .group_by("from", "to")
        .len("rows")
        .sort("from", "to")
        .collect()
    )


if __name__ == "__main__":
    main()

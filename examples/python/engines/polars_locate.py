"""Locates the keys of a polars frame with an expression, which works in select,
with_columns, group_by and in lazy queries, and finds the rows that a migration moves.

    python examples/python/engines/polars_locate.py
"""

import polars as pl
import stead
import stead.polars


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

    node = stead.polars.locate("key", members)
    print(users.group_by(node.alias("node")).len().sort("node").collect())

    # the rows that a migration moves, counted, and some of them
    plan = stead.polars.plan(users, "key", members, grown)
    print(plan.sort("from", "to").collect())
    print(stead.polars.moves(users, "key", members, grown).head(3).collect())


if __name__ == "__main__":
    main()

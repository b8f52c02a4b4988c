"""Locates keys inside DuckDB, with a function in SQL for each map, so that one machine
can process files of any size.

    python examples/python/engines/duckdb_locate.py
"""

import duckdb
import stead
import stead.duckdb


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
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    stead.duckdb.register(connection, "node_of", members)
    stead.duckdb.register(connection, "node_after", grown)
    connection.execute(
        "CREATE TABLE users AS SELECT 'user' || i AS key FROM range(1000000) t(i)"
    )

    print(
        connection.sql(
            "SELECT node_of(key) AS node, count(*) AS users FROM users GROUP BY ALL ORDER BY ALL"
        )
    )

    # the rows that a migration moves
    print(
        connection.sql("""
        SELECT "from", "to", count(*) AS rows FROM (SELECT node_of(key) AS "from", node_after(key) AS "to" FROM users)
        WHERE "from" <> "to" GROUP BY ALL ORDER BY ALL""")
    )


if __name__ == "__main__":
    main()

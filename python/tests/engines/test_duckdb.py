"""A million keys through DuckDB, with a function in SQL."""

import pytest
from engine_case import ROWS, example

duckdb = pytest.importorskip("duckdb", reason="duckdb is not in .venv")
pytest.importorskip("pyarrow", reason="pyarrow is not in .venv")
register = example("duckdb_locate").register


@pytest.fixture(scope="module")
def sql(case):
    """A connection with both maps and a table of keys that DuckDB generates itself."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    register(connection, "old_node", case.old)
    register(connection, "new_node", case.new)
    connection.execute(
        "CREATE TABLE keys AS SELECT i, repeat('k', (i % 13)::INT) || i AS key FROM "
        f"range({ROWS}) t(i)"
    )
    yield connection.sql
    connection.close()


def test_every_key_lives_where_locate_many_says(case, sql):
    rows = sql("SELECT key, old_node(key) FROM keys ORDER BY i").fetchall()
    assert [key for key, _ in rows] == case.keys
    assert [node for _, node in rows] == case.before


def test_counts_per_node_are_those_of_locate_many(case, sql):
    assert (
        dict(
            sql(
                "SELECT old_node(key) AS node, count(*) FROM keys GROUP BY node"
            ).fetchall()
        )
        == case.counts
    )


def test_the_rows_that_move_are_counted_for_each_pair_of_nodes(case, sql):
    counts = sql(
        "SELECT f, t, count(*) FROM (SELECT old_node(key) AS f, new_node(key) AS t "
        "FROM keys) WHERE f <> t GROUP BY f, t"
    )
    assert {(a, b): rows for a, b, rows in counts.fetchall()} == case.differ


def test_nulls_stay_null(case, sql):
    nodes = sql(
        "SELECT old_node(key) FROM (VALUES (1, NULL), (2, 'frank'), (3, ''), (4, "
        "NULL)) v(i, key) ORDER BY i"
    ).fetchall()
    assert nodes == [
        (None,),
        (case.old.locate("frank"),),
        (case.old.locate(""),),
        (None,),
    ]
    assert sql("SELECT old_node(NULL)").fetchall() == [(None,)]

"""A million keys through DuckDB, with stead.duckdb."""

import sys

import pytest
import stead
from engine_case import ROWS, example

duckdb = pytest.importorskip("duckdb", reason="duckdb is not in .venv")
pytest.importorskip("pyarrow", reason="pyarrow is not in .venv")
import stead.duckdb

register = stead.duckdb.register


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


def test_text_and_blob_are_keys_and_nothing_else_is(case, sql):
    for expression, key in (
        ("'Zo\u00eb'", "Zo\u00eb"),
        (r"'\xFF\x00a'::BLOB", b"\xff\x00a"),
        ("'frank'::ENUM('frank', 'bob')", "frank"),
        ("'x' || chr(233)", "x\u00e9"),
    ):
        said = sql(f"SELECT old_node(k) FROM (SELECT {expression} AS k)").fetchall()
        assert said == [(case.old.locate(key),)], expression
    for wrong in ("5", "5.5", "true", "['a']", "{'a': 'b'}", "DATE '2026-01-01'"):
        with pytest.raises(duckdb.Error, match="keys are"):
            sql(f"SELECT old_node({wrong})").fetchall()
    uuid = "00112233-4455-6677-8899-aabbccddeeff"
    said = sql(f"SELECT old_node('{uuid}'::UUID)").fetchall()
    assert said == [(case.old.locate(uuid),)]
    with pytest.raises(duckdb.Error, match="old_node takes one key, not 2"):
        sql("SELECT old_node('a', 'b')").fetchall()
    with pytest.raises(duckdb.Error, match="No function matches"):
        sql("SELECT old_node()").fetchall()


def test_a_name_gets_the_map_that_was_registered_last(case):
    with duckdb.connect() as connection:
        for map in (case.old, case.new, case.old):
            register(connection, "node_of", map)
            said = connection.sql("SELECT node_of('k7'), node_of('12')").fetchall()
            assert said == [(map.locate("k7"), map.locate("12"))]
        said = connection.cursor().sql("SELECT node_of('k7')").fetchall()
        assert said == [(case.old.locate("k7"),)]
        for name in ("", "node of", "a-b", 'a"b'):
            with pytest.raises(stead.InvalidError, match="is no name of a function"):
                register(connection, name, case.old)


def test_an_argument_of_the_wrong_type_is_named_with_what_to_write(case):
    with duckdb.connect() as connection:
        for arguments, said in (
            (("node_of", connection, case.old), "connection is .* not str; write duck"),
            (
                (connection, case.old, "node_of"),
                r"name is a str, .* not Map; write reg",
            ),
            (
                (connection, "node_of", "members.map"),
                r"map is a stead\.Map, not str; open the file first: stead\.Map\.open",
            ),
        ):
            with pytest.raises(TypeError, match=said):
                register(*arguments)


def test_a_name_that_duckdb_has_is_refused(case):
    with duckdb.connect() as connection:
        connection.execute("CREATE MACRO mine(key) AS 'a macro'")
        for name in (
            "lower",
            "upper",
            "md5",
            "reverse",
            "hash",
            "LOWER",
            "count",
            "coalesce",
            "nullif",
            "select",
            "Mine",
        ):
            with pytest.raises(ValueError, match=f"{name!r} already.* another name$"):
                register(connection, name, case.old)
        assert connection.sql(
            "SELECT lower('A'), hash('A') = hash('A')"
        ).fetchall() == [("a", True)]
        # one's own function is replaced, in any case of its name
        connection.create_function("node_of", lambda key: key, ["VARCHAR"], "VARCHAR")
        for name, map in (("Node_Of", case.new), ("node_of", case.old)):
            register(connection, name, map)
            said = connection.sql("SELECT node_of('12')").fetchall()
            assert said == [(map.locate("12"),)]


@pytest.mark.parametrize("package", ["pyarrow", "numpy"])
def test_a_package_that_is_missing_is_named(case, monkeypatch, package):
    # Python refuses to import a module whose entry is None
    monkeypatch.setitem(sys.modules, package, None)
    with (
        duckdb.connect() as connection,
        pytest.raises(
            ModuleNotFoundError, match=f"needs pyarrow and numpy, and {package} is not"
        ),
    ):
        register(connection, "node_of", case.old)


def test_files_are_read_in_parts_by_several_threads(case, sql, tmp_path):
    sql("SELECT * FROM keys").write_parquet(str(tmp_path / "keys.parquet"))
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET threads = 4")
        register(connection, "node_of", case.old)
        counts = connection.sql(
            f"SELECT node_of(key), count(*) FROM '{tmp_path}/keys.parquet' GROUP BY ALL"
        )
        assert dict(counts.fetchall()) == case.counts


def test_the_example_runs(capsys):
    example("duckdb_locate").main()
    assert "db3" in capsys.readouterr().out

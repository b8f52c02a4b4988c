"""A million keys through Spark, with several Python processes; `make test-spark`
installs it and runs these.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest
import stead
import stead.spark
from engine_case import ROOT, ROWS

pyspark = pytest.importorskip(
    "pyspark",
    reason="Spark: pyspark is not installed here; make test-spark installs it",
)
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip(
        "Spark: java is missing; install default-jre-headless", allow_module_level=True
    )

import pyarrow.dataset
from pyspark.sql import SparkSession

# nothing listens but on this machine, and the workers have the modules that the tests
# have
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
}
ENV = dict(
    os.environ,
    PYSPARK_PYTHON=sys.executable,
    PYSPARK_DRIVER_PYTHON=sys.executable,
    SPARK_LOCAL_IP="127.0.0.1",
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ.update(ENV)
    builder = SparkSession.builder.master("local[2]").appName("stead's tests")
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    spark = builder.config(
        "spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))
    ).getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def table(spark):
    """The keys of the case, made by Spark, and their numbers."""
    return spark.range(ROWS, numPartitions=8).selectExpr(
        "concat(repeat('k', cast(id % 13 AS int)), id) AS key", "id AS i"
    )


def read(path):
    """A Parquet table with folders by node, by the keys' numbers; nothing of Spark's is
    used.
    """
    parts = pyarrow.dataset.partitioning(
        pyarrow.schema([("node", pyarrow.string())]), flavor="hive"
    )
    return (
        pyarrow.dataset.dataset(str(path), partitioning=parts).to_table().sort_by("i")
    )


@pytest.fixture(scope="module")
def written(case, spark, table, tmp_path_factory):
    """Where the table lies after it was written, partitioned by node."""
    path = tmp_path_factory.mktemp("spark") / "placed"
    stead.spark.locate(table, "key", case.new).write.partitionBy("node").parquet(
        str(path)
    )
    return path


def test_every_key_lives_where_locate_many_says(case, written):
    found = read(written)
    assert found["key"].to_pylist() == case.keys
    assert found["node"].to_pylist() == case.after


def test_each_folder_has_the_keys_of_its_node_and_no_others(case, written):
    folders = sorted(folder.name for folder in written.iterdir() if folder.is_dir())
    assert folders == [f"node={node}" for node in sorted(set(case.after))]
    for folder in folders:
        keys = pyarrow.dataset.dataset(str(written / folder)).to_table()["key"]
        assert set(case.new.locate_many(keys).to_pylist()) == {
            folder.removeprefix("node=")
        }


def test_the_plan_counts_what_moves_for_each_pair_of_nodes(case, table):
    found = {
        (row["from"], row["to"]): row["rows"]
        for row in stead.spark.plan(table, "key", case.old, case.new).collect()
    }
    assert found == case.moved


def test_moves_are_the_rows_that_move(case, table):
    moves = stead.spark.moves(table, "key", case.old, case.new)
    assert moves.columns == ["key", "i", "from", "to"]
    rows = moves.toArrow().sort_by("i")
    expected = [i for i in range(ROWS) if (case.before[i], case.after[i]) in case.moved]
    assert rows["i"].to_pylist() == expected
    assert rows["from"].to_pylist() == [case.before[i] for i in expected]
    assert rows["to"].to_pylist() == [case.after[i] for i in expected]


def test_a_step_back_moves_the_same_rows_the_other_way(case, table):
    found = {
        (row["to"], row["from"]): row["rows"]
        for row in stead.spark.plan(table, "key", case.new, case.old).collect()
    }
    assert found == case.moved


def test_several_python_processes_take_part(table):
    def process(batches):
        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict(
                {"process": [os.getpid()] * len(batch)}
            )

    assert table.mapInArrow(process, "process long").distinct().count() >= 2


@pytest.mark.parametrize("large", ["false", "true"])
@pytest.mark.parametrize("kind", ["string", "binary"])
def test_nulls_stay_null_and_do_not_move(case, spark, kind, large):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", large)
    try:
        keys = [None, "frank", "", *case.keys[:1000], None]
        df = spark.createDataFrame(
            [(key, i) for i, key in enumerate(keys)], "key string, i long"
        ).selectExpr(f"cast(key AS {kind}) AS key", "i")
        placed = (
            stead.spark.locate(df, "key", case.old, node="where").orderBy("i").collect()
        )
        assert [row["where"] for row in placed] == case.old.locate_many(keys)
        rows = stead.spark.moves(df, "key", case.old, case.new).orderBy("i").collect()
        expected = [
            i
            for i, pair in enumerate(
                zip(case.old.locate_many(keys), case.new.locate_many(keys))
            )
            if pair in case.moved
        ]
        assert [row["i"] for row in rows] == expected
        counts = stead.spark.plan(df, "key", case.old, case.new).collect()
        assert {(row["from"], row["to"]): row["rows"] for row in counts} == Counter(
            (row["from"], row["to"]) for row in rows
        )
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_a_table_without_rows_and_columns_of_odd_names_are_taken(case, spark):
    empty = spark.createDataFrame([], "key string")
    assert stead.spark.locate(empty, "key", case.old).collect() == []
    assert stead.spark.plan(empty, "key", case.old, case.new).collect() == []
    odd = spark.createDataFrame(
        [("frank", 1, [1, 2]), ("anna", 2, [])],
        "`a.b` string, `x y` int, list array<int>",
    )
    for row in stead.spark.locate(odd, "a.b", case.old).collect():
        assert row["node"] == case.old.locate(row["a.b"]) and isinstance(
            row["list"], list
        )
    assert {
        row["rows"]
        for row in stead.spark.plan(odd, "a.b", case.old, case.new).collect()
    } <= {1, 2}


def test_no_job_runs_before_rows_are_asked_for(case, spark, table):
    group = "stead: lazy"
    spark.sparkContext.setJobGroup(group, "nothing should run")
    stead.spark.locate(table, "key", case.old)
    stead.spark.moves(table, "key", case.old, case.new)
    lazy = stead.spark.plan(table.limit(10), "key", case.old, case.new)
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == []
    # the control: a job does show
    lazy.collect()
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) != []


def test_mistakes_are_told_before_anything_runs(case, spark, table):
    with pytest.raises(
        stead.InvalidError, match="no columns 'nme'; its columns are key, i"
    ):
        stead.spark.locate(table, "nme", case.old)
    with pytest.raises(
        stead.InvalidError, match="'i' is bigint; keys are string or binary"
    ):
        stead.spark.plan(table, "i", case.old, case.new)
    with pytest.raises(stead.InvalidError, match="has a column 'KEY' already"):
        stead.spark.locate(table, "key", case.old, node="KEY")
    with pytest.raises(stead.InvalidError, match="has a column 'to' already"):
        stead.spark.moves(table.withColumnRenamed("i", "to"), "key", case.old, case.new)
    with pytest.raises(stead.IdentityError):
        stead.spark.plan(
            table,
            "key",
            case.old,
            stead.build({"name": "others", "node": [{"name": "a"}]}),
        )
    with pytest.raises(stead.InvalidError, match="2 columns 'key'"):
        stead.spark.locate(table.selectExpr("key", "key"), "key", case.old)


def test_a_process_opens_a_map_once_and_keeps_few(case):
    class Held:
        value = case.old.to_bytes()
        asked = 0

    def carried(map):
        one = stead.spark._Carried.__new__(stead.spark._Carried)
        one.digest, one.bytes = map.digest, Held()
        one.bytes.value = map.to_bytes()
        return one

    first = carried(case.old).open()
    assert carried(case.old).open() is first
    for i in range(stead.spark._Carried.KEPT):
        carried(stead.build({"name": f"other{i}", "node": [{"name": "a"}]})).open()
    assert len(stead.spark._Carried._open) == stead.spark._Carried.KEPT
    assert carried(case.old).open() is not first


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_the_job_runs_unchanged_wherever_spark_submit_sends_it(
    case, table, tmp_path, master
):
    """local-cluster starts a master and two workers, whose executors are processes of
    their own, as on machines of their own.
    """
    case.old.save(tmp_path / "old.stead")
    case.new.save(tmp_path / "new.stead")
    table.limit(100_000).repartition(4).write.parquet(str(tmp_path / "table"))
    submit = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-submit")
    conf = [
        word for name, value in LOCAL.items() for word in ("--conf", f"{name}={value}")
    ]
    command = [
        submit,
        "--master",
        master,
        *conf,
        os.path.join(ROOT, "examples", "python", "engines", "spark_locate.py"),
        "old.stead",
        "new.stead",
        str(tmp_path / "placed"),
        "--table",
        str(tmp_path / "table"),
    ]
    # the session of these tests is not to be joined
    env = {
        name: value
        for name, value in ENV.items()
        if not name.startswith(("PYSPARK_GATEWAY", "SPARK_ENV"))
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    found = read(tmp_path / "placed")
    numbers = found["i"].to_pylist()
    assert len(numbers) == 100_000
    assert found["node"].to_pylist() == [case.after[i] for i in numbers]
    moved = Counter((case.before[i], case.after[i]) for i in numbers)
    lines = [
        line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2
    ]
    assert {(a, b): int(rows) for a, b, rows in lines} == {
        pair: rows for pair, rows in moved.items() if pair in case.moved
    }

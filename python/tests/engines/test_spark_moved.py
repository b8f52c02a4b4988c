"""The Spark job that writes the rows that move, by pair of nodes
(examples/python/engines/spark_moved.py). `make test-spark` runs these tests.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
import stead
from engine_case import ROOT, example, key_of
from spark_case import ENV

pyspark = pytest.importorskip(
    "pyspark",
    reason="Spark: pyspark is not installed here; make test-spark installs it",
)
if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip(
        "Spark: java is missing; install default-jre-headless", allow_module_level=True
    )

import pyarrow
import pyarrow.parquet as pq

ROWS = 200_000
JOB = example("spark_moved")


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    """A Parquet table of keys and numbers."""
    path = str(tmp_path_factory.mktemp("spark") / "table")
    rows = spark.range(ROWS, numPartitions=8).selectExpr(
        "concat(repeat('k', cast(id % 13 AS int)), id) AS key", "id AS i"
    )
    rows.write.parquet(path)
    return path


def due(case):
    """{(from, to): numbers of the rows} that move."""
    found = defaultdict(list)
    for i in range(ROWS):
        pair = case.before[i], case.after[i]
        if pair in case.moved:
            found[pair].append(i)
    return found


def sum_of(keys):
    """The digest of some keys, computed plainly."""
    first = (hashlib.md5(key.encode()).digest()[:8] for key in keys)
    return f"{sum(int.from_bytes(part) for part in first) % 2**64:016x}"


def run(spark, table, case, folder, **more):
    return JOB.moved(
        spark,
        spark.read.parquet(table),
        "key",
        case.old,
        case.new,
        f"file://{folder}",
        **more,
    )


def files(folder):
    return {
        path: path.stat().st_mtime_ns for path in Path(folder).rglob("rows.parquet")
    }


def test_each_pair_has_its_rows_once_and_the_manifest_counts_them(
    spark,
    table,
    case,
    tmp_path,
):
    made = run(spark, table, case, tmp_path)
    expected = due(case)
    pairs = {(pair["from"], pair["to"]): pair for pair in made["pairs"]}
    assert pairs.keys() == expected.keys() and len(pairs) > 4
    for pair, numbers in expected.items():
        found = pq.ParquetFile(tmp_path / pairs[pair]["path"]).read()
        assert found.column_names == ["key", "i"]
        assert sorted(found["i"].to_pylist()) == numbers
        assert pairs[pair]["rows"] == len(numbers)
        assert pairs[pair]["keys"] == sum_of(map(key_of, numbers))
    assert len(files(tmp_path)) == len(pairs)
    assert made["rows"] == sum(map(len, expected.values()))
    # what the maps say, to within what chance allows
    off = abs(made["rows"] - made["rows_by_the_maps"]) / made["standard_deviation"]
    assert off < 5
    assert json.loads((tmp_path / "manifest.json").read_text()) == made


def test_a_job_that_was_killed_goes_on_and_writes_nothing_twice(
    spark,
    table,
    case,
    tmp_path,
):
    case.old.save(tmp_path / "old.map")
    case.new.save(tmp_path / "new.map")
    out = tmp_path / "out"
    environment = {
        n: v
        for n, v in ENV.items()
        if not n.startswith(("PYSPARK_GATEWAY", "SPARK_ENV"))
    }
    # many more tasks than pairs, so that the pairs are written one after the other
    process = subprocess.Popen(
        [
            sys.executable,
            os.path.join(ROOT, "examples", "python", "engines", "spark_moved.py"),
            *("old.map", "new.map", str(out), "--table", table, "--master", "local[1]"),
            *("--tasks", "64"),
        ],
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 300
    while not files(out):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # Spark's own process may finish a file before it, too, is gone
    time.sleep(1)
    before = files(out)
    count = len(due(case))
    assert 0 < len(before) < count and not (out / "manifest.json").exists()
    made = run(spark, table, case, out)
    after = files(out)
    assert made["written_before"] == len(before) and len(after) == count
    assert {path: after[path] for path in before} == before
    assert made["rows"] == sum(map(len, due(case).values()))
    assert run(spark, table, case, out)["written_before"] == count
    assert files(out) == after


def test_a_table_or_maps_that_changed_are_refused(spark, table, case, tmp_path):
    own, out = tmp_path / "table", tmp_path / "out"
    spark.read.parquet(table).limit(5000).coalesce(1).write.parquet(str(own))
    run(spark, str(own), case, out)
    with pytest.raises(SystemExit, match="of other maps or another table"):
        JOB.moved(
            spark,
            spark.read.parquet(str(own)),
            "key",
            case.new,
            case.old,
            f"file://{out}",
        )
    # one row of another key in a file of the same name: a count or a sum differs
    (file,) = own.glob("*.parquet")
    rows = pq.read_table(file)
    keys = rows["key"].to_pylist()
    moved = {i for numbers in due(case).values() for i in numbers}
    place = next(at for at, i in enumerate(rows["i"].to_pylist()) if i in moved)
    keys[place] = "another"
    rows = rows.set_column(0, "key", pyarrow.array(keys))
    pq.write_table(rows, file, compression="gzip")
    for crc in own.glob(".*.crc"):
        crc.unlink()
    for path in files(out):
        path.unlink()
    spark.catalog.clearCache()
    with pytest.raises(SystemExit, match="the table has changed"):
        run(spark, str(own), case, out)


def test_every_new_copy_is_written_from_a_node_that_lives(spark, tmp_path):
    fleet = lambda *names: {
        "name": "members",
        "replicas": 2,
        "node": [{"name": name} for name in names],
    }
    old = stead.Map.build(fleet("a", "b", "c", "d"))
    new = stead.Map.build(fleet("b", "c", "d", "e/f"), old)
    keys = [key_of(i) for i in range(5000)] + [None]
    rows = spark.createDataFrame(
        [(key, i) for i, key in enumerate(keys)], "`a.b` string, i long"
    )
    made = JOB.moved(spark, rows, "a.b", old, new, f"file://{tmp_path}", lost=["a"])
    expected = defaultdict(list)
    for i, key in enumerate(keys[:-1]):
        was, now = old.locate_all(key), new.locate_all(key)
        for target in set(now) - set(was):
            if "a" in was:
                source = next(node for node in was if node != "a")
                expected[source, target].append(i)
    found = {
        (pair["from"], pair["to"]): sorted(
            pq.ParquetFile(tmp_path / pair["path"]).read()["i"].to_pylist()
        )
        for pair in made["pairs"]
    }
    assert found and {p: n for p, n in found.items() if p in expected} == dict(expected)
    assert "a" not in {source for source, _ in found}

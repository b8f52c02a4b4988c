"""Polars' streaming engine finds the rows that move without holding the table."""

import json
import os
import subprocess
import sys

import pytest
import stead

pl = pytest.importorskip("polars", reason="polars is not in .venv")

# small groups of rows, since those that are read ahead are in memory; a query reads the
# file several times
ROWS, GROUP = 500_000, 25_000
# enough rows that the buffers of the engine are full at the smaller size
FEW, MANY = 4, 14

# A process of its own, whose peak of memory is that of one query. The results are written
# as polars makes them, so that they are not part of the peak.
QUERY = """
import json, re, sys
import polars as pl
import stead.polars

what, old, new, path, times = sys.argv[1:]
old, new = stead.Map.open(old), stead.Map.open(new)
frame = pl.scan_parquet([path] * int(times))
if what == "held":
    rows = frame.collect(engine="streaming").height
elif what == "plan":
    plan = stead.polars.plan(frame, "key", old, new).collect(engine="streaming")
    rows = plan["rows"].sum()
elif what == "moves":
    moves = stead.polars.moves(frame, "key", old, new)
    moves.sink_parquet(path + ".moves", engine="streaming")
    rows = pl.scan_parquet(path + ".moves").select(pl.len()).collect().item()
with open("/proc/self/status") as file:
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", file.read())[1])
print(json.dumps([rows, 1024 * peak]))
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file of keys, and the bytes of a key: its text and its offset in Arrow."""
    path = tmp_path_factory.mktemp("table") / "keys.parquet"
    numbers = pl.int_range(ROWS).cast(pl.String).str.zfill(8)
    keys = pl.select(key=pl.format("user-{}-of-a-longer-name.example", numbers))
    keys.write_parquet(path, row_group_size=GROUP)
    return path, len(keys["key"][0]) + 8


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """The path of a map, and those of later ones: one with a node more, and one that
    also lacks a node and has a new name for another.
    """
    folder = tmp_path_factory.mktemp("maps")
    nodes = [{"name": f"db{i}"} for i in range(1, 7)]
    old = stead.Map.build({"name": "members", "node": nodes[:5]})
    old.publish(folder / "old")
    renamed = [nodes[0], {"name": "two", "formerly": "db2"}, *nodes[3:]]
    for name, later in (("grown", nodes), ("renamed", renamed)):
        new = stead.Map.build({"name": "members", "node": later}, old)
        (folder / name).write_bytes(new.to_bytes())
    return folder


def growth(what, old, new, table):
    """Returns by how many bytes the peak of a query grows with each further row."""
    path, _ = table
    # so that the engine has the same number of buffers on every machine
    environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
    found = []
    for times in (FEW, MANY):
        command = [sys.executable, "-c", QUERY, what, old, new, path, str(times)]
        done = subprocess.run(command, env=environment, stdout=-1, check=True)
        found.append(json.loads(done.stdout))
    (fewer, low), (more, high) = found
    assert more * FEW == fewer * MANY > 0, (
        "each reading of the file gives the same rows"
    )
    return (high - low) / ((MANY - FEW) * ROWS)


@pytest.mark.parametrize("later", ["grown", "renamed"])
@pytest.mark.parametrize("what", ["plan", "moves"])
def test_memory_does_not_grow_with_the_table(maps, table, what, later):
    # a quarter of the table that is read is far above what the engine's buffers still
    # grow by, and far below what a query takes that holds its rows
    assert growth(what, maps / "old", maps / later, table) < table[1] / 4


def test_a_table_that_is_held_would_be_seen(maps, table):
    assert growth("held", maps / "old", maps / "grown", table) > table[1] / 2

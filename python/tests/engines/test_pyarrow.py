"""A million keys through pyarrow, as a table and from a file."""

from collections import Counter

import pytest
from engine_case import example

pa = pytest.importorskip("pyarrow", reason="pyarrow is not in .venv")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not in .venv")
asked = example("pyarrow_locate")


@pytest.mark.parametrize("kind", ["string", "large_string", "binary"])
def test_every_key_lives_where_locate_many_says(case, kind):
    table = pa.table({"key": pa.array(case.keys, getattr(pa, kind)())})
    nodes = asked.locate(table, "key", case.old)["node"]
    assert nodes.to_pylist() == case.before


def test_a_column_of_several_chunks_and_missing_keys(case):
    keys = pa.chunked_array([[None, "frank"], [], ["", None]])
    nodes = asked.locate(pa.table({"key": keys}), "key", case.old)["node"].to_pylist()
    locate = case.old.locate
    assert nodes == [None, locate("frank"), locate(""), None]


def test_the_rows_of_a_file_are_counted_batch_by_batch(case, tmp_path):
    path = tmp_path / "users.parquet"
    parquet.write_table(pa.table({"key": [*case.keys, None]}), path)
    counts = asked.count(path, "key", case.old, rows=30_000)
    assert counts == Counter([*case.before, None])


def test_bytes_that_mean_something_else_are_no_keys(case):
    uuids = pa.array([b"0" * 16], pa.binary(16)).cast(pa.uuid())
    for column in (uuids, pa.chunked_array([uuids])):
        with pytest.raises(TypeError, match="extension type arrow.uuid.*cast"):
            case.old.locate_many(column)
    assert case.old.locate_many(uuids.storage).to_pylist() == [
        case.old.locate(b"0" * 16)
    ]
    text = pa.array(['"frank"']).cast(pa.json_())
    assert case.old.locate_many(text).to_pylist() == [case.old.locate('"frank"')]

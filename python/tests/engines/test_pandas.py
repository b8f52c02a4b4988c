"""A million keys through pandas."""

import os
import re
from collections import Counter

import pytest
from engine_case import ROOT, example

pd = pytest.importorskip("pandas", reason="pandas is not in .venv")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not in .venv")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not in .venv")
locate = example("pandas_locate").locate


@pytest.mark.parametrize("kind", ["str", "object", "string[pyarrow]"])
def test_every_key_lives_where_locate_many_says(case, kind):
    nodes = locate(pd.Series(case.keys, dtype=kind), case.old)
    assert nodes.tolist() == case.before
    assert nodes.value_counts().to_dict() == case.counts


def test_the_rows_that_move_are_counted_for_each_pair_of_nodes(case):
    keys = pd.Series(case.keys)
    pair = pd.DataFrame(
        {
            "from": locate(keys, case.old).astype(str),
            "to": locate(keys, case.new).astype(str),
        }
    )
    assert pair[pair["from"] != pair["to"]].value_counts().to_dict() == case.differ


@pytest.mark.parametrize("kind", ["str", "object", "category", "string[pyarrow]"])
def test_missing_keys_have_missing_nodes_and_the_index_is_kept(case, kind):
    keys = pd.Series([None, "frank", None, ""], index=list("abcd"), dtype=kind)
    nodes = locate(keys, case.old)
    assert list(nodes.index) == list("abcd")
    assert nodes.isna().tolist() == [True, False, True, False]
    assert nodes["b"] == case.old.locate("frank") and nodes["d"] == case.old.locate("")


def test_the_lines_of_the_page_leave_rows_without_a_key_where_they_are(
    case, tmp_path, monkeypatch
):
    path = os.path.join(ROOT, "docs", "python-engines.md")
    with open(path, encoding="utf-8") as file:
        page = file.read().partition("## pandas\n")[2].partition("\n## ")[0]
    keys = [None, *case.keys[:1000], None]
    # an index of its own
    users = pd.DataFrame({"key": keys}, index=range(5, 5 + len(keys)))
    # integers that are too large for a float, with nulls
    large = [2**60 + at for at in range(1000)]
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"number": [None, *large, None]}), "users.parquet")
    names = {"users": users, "members": case.old, "grown": case.new, "pandas": pd}
    for block in re.findall("```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)  # noqa: S102 (the page is ours)
    places = zip(users.index, case.old.locate_many(keys), case.new.locate_many(keys))
    moved = [row for row in places if row[1] != row[2]]
    moves = names["moves"]
    assert list(zip(moves.index, moves["from"], moves["to"])) == moved
    counted = Counter((was, now) for _, was, now in moved)
    assert names["counts"].to_dict() == counted and len(moved) > 100
    assert users["node"].tolist()[1:-1] == case.before[:1000]
    numbers = case.old.locate_many(names["keys"]).to_pylist()
    assert numbers[1:-1] == [case.old.locate(f"{i}") for i in large]
    assert numbers[0] is None and numbers[-1] is None

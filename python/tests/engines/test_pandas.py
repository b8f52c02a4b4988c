"""A million keys through pandas."""

import pytest
from engine_case import example

pd = pytest.importorskip("pandas", reason="pandas is not in .venv")
pytest.importorskip("pyarrow", reason="pyarrow is not in .venv")
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

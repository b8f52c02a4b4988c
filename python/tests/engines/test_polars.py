"""A million keys through polars, as an expression."""

import pytest
from engine_case import example

pl = pytest.importorskip("polars", reason="polars is not in .venv")
node_of = example("polars_locate").node_of


@pytest.fixture(scope="module")
def frame(case):
    return pl.LazyFrame({"key": case.keys})


def test_every_key_lives_where_locate_many_says(case, frame):
    nodes = frame.select(node_of(pl.col("key"), case.old).alias("node")).collect()[
        "node"
    ]
    assert nodes.to_list() == case.before


def test_counts_per_node_are_those_of_locate_many(case, frame):
    counts = (
        frame.group_by(node_of(pl.col("key"), case.old).alias("node")).len().collect()
    )
    assert dict(counts.iter_rows()) == case.counts


def test_the_rows_that_move_are_counted_for_each_pair_of_nodes(case, frame):
    pair = frame.select(
        node_of(pl.col("key"), case.old).alias("from"),
        node_of(pl.col("key"), case.new).alias("to"),
    )
    counts = (
        pair.filter(pl.col("from") != pl.col("to"))
        .group_by("from", "to")
        .len()
        .collect()
    )
    assert {(a, b): rows for a, b, rows in counts.iter_rows()} == case.differ


@pytest.mark.parametrize("kind", ["String", "Binary", "Categorical"])
def test_nulls_stay_null_in_every_type_of_key(case, kind):
    keys = pl.Series("key", [None, "frank", None, "", "anna"], dtype=pl.String)
    nodes = pl.DataFrame({"key": keys.cast(getattr(pl, kind))}).select(
        node_of(pl.col("key"), case.old)
    )["key"]
    assert nodes.to_list() == [
        None,
        case.old.locate("frank"),
        None,
        case.old.locate(""),
        case.old.locate("anna"),
    ]


def test_the_expression_works_within_groups_and_in_the_streaming_engine(case, frame):
    nodes = node_of(pl.col("key"), case.old).alias("node")
    grouped = (
        frame.head(1000)
        .group_by(pl.col("key").str.len_bytes().alias("bytes"))
        .agg(nodes, "key")
        .explode("node", "key")
        .collect()
    )
    assert grouped["node"].to_list() == case.old.locate_many(grouped["key"].to_list())
    streamed = frame.group_by(nodes).len().collect(engine="streaming")
    assert dict(streamed.iter_rows()) == case.counts

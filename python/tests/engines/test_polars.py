"""A million keys through polars, with stead.polars."""

import pytest
import stead
from engine_case import example

pl = pytest.importorskip("polars", reason="polars is not in .venv")
import stead.polars

node_of = stead.polars.locate


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


def test_moves_are_those_of_locate_many_and_a_renamed_node_moves_nothing(case, frame):
    moves = stead.polars.moves(frame.with_row_index("i"), "key", case.old, case.new)
    assert isinstance(moves, pl.LazyFrame)
    rows = moves.sort("i").collect()
    assert rows.columns == ["i", "key", "from", "to"]
    expected = [
        (i, key, a, b)
        for i, (key, a, b) in enumerate(zip(case.keys, case.before, case.after))
        if ("two" if a == "db2" else a) != b
    ]
    assert rows.rows() == expected
    # and back again, where the later map is the old one
    back = stead.polars.moves(frame.with_row_index("i"), "key", case.new, case.old)
    assert back.sort("i").collect()["i"].to_list() == [row[0] for row in expected]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_plan_counts_the_rows_of_moves(case, frame, engine):
    counts = stead.polars.plan(frame, "key", case.old, case.new).collect(engine=engine)
    assert counts.columns == ["from", "to", "rows"]
    assert {(a, b): rows for a, b, rows in counts.iter_rows()} == case.moved


def test_maps_whose_nodes_are_all_gone_or_renamed_are_compared():
    old = stead.Map.build({"name": "members", "node": [{"name": "a"}, {"name": "b"}]})
    renamed = {"name": "c", "formerly": "b"}
    for nodes in ([{"name": "c"}], [renamed], [{"name": "a"}, renamed]):
        new = stead.Map.build({"name": "members", "node": nodes}, old)
        now = {node.get("formerly", node["name"]): node["name"] for node in nodes}
        keys = [None, *(str(i) for i in range(1000))]
        pairs = zip(keys, old.locate_many(keys), new.locate_many(keys))
        expected = [row for row in pairs if now.get(row[1]) != row[2]]
        frame = pl.LazyFrame({"key": keys})
        for engine in ("in-memory", "streaming"):
            moves = stead.polars.moves(frame, "key", old, new).collect(engine=engine)
            assert sorted(moves.rows()) == sorted(expected)


def test_frames_that_are_in_memory_give_such_frames(case):
    frame = pl.DataFrame({"key": ["k7", None, "12", *case.keys[:100]]})
    moves = stead.polars.moves(frame, "key", case.old, case.new)
    assert isinstance(moves, pl.DataFrame) and None not in moves["key"]
    plan = stead.polars.plan(frame, "key", case.old, case.new)
    assert isinstance(plan, pl.DataFrame) and plan["rows"].sum() == len(moves) > 10
    assert stead.polars.moves(frame, "key", case.old, case.old).rows() == []


def test_a_column_that_is_missing_or_in_the_way_is_named(case):
    frame = pl.LazyFrame({"key": ["a"], "from": [1]})
    for call in (stead.polars.moves, stead.polars.plan):
        with pytest.raises(
            stead.InvalidError, match="no column 'name'; its columns are"
        ):
            call(frame, "name", case.old, case.new)
        with pytest.raises(stead.InvalidError, match="has a column 'from' already"):
            call(frame, "key", case.old, case.new)
    with pytest.raises(
        (TypeError, pl.exceptions.ComputeError), match="keys are Arrow int64"
    ):
        frame.select(node_of("from", case.old)).collect()
    other = stead.Map.build({"name": "other", "node": [{"name": "a"}]})
    with pytest.raises(stead.IdentityError):
        stead.polars.moves(frame.drop("from"), "key", case.old, other)


def test_an_argument_of_the_wrong_type_is_named_with_what_to_write(case):
    frame, old, new = pl.DataFrame({"key": ["a"]}), case.old, case.new
    file = r"; open the file first: stead\.Map\.open\(path\)$"
    for call in (stead.polars.moves, stead.polars.plan):
        for arguments, said in (
            (
                ("key", frame, old, new),
                "frame is a DataFrame or a LazyFrame of polars, not str; the arguments",
            ),
            ((Pandas(), "key", old, new), r"not somewhere\.DataFrame; write polars\."),
            ((frame, pl.col("key"), old, new), "column is a str, .* not Expr; to comp"),
            ((frame, "key", "a.map", new), f"old is a stead.Map, not str{file}"),
            ((frame, "key", old, "b.map"), f"new is a stead.Map, not str{file}"),
        ):
            with pytest.raises(TypeError, match=said):
                call(*arguments)
    for arguments, said in (
        (
            (old, "key"),
            r"^keys are an expression .* not Map; write locate\(keys, map\)$",
        ),
        ((frame["key"], old), r"not Series; write map\.locate_many\(keys\)$"),
        (("key", "a.map"), f"^map is a stead.Map, not str{file}"),
    ):
        with pytest.raises(TypeError, match=said):
            node_of(*arguments)


class Pandas:
    """A frame of another library."""

    __arrow_c_stream__ = None


Pandas.__name__, Pandas.__module__ = "DataFrame", "somewhere.core"


def test_a_column_of_structs_is_refused(case):
    frame = pl.DataFrame({"key": ["a"], "other": [1]})
    for fields in (["key"], ["other"], ["key", "other"]):
        with pytest.raises(
            (TypeError, pl.exceptions.ComputeError), match="keys are Arrow struct,"
        ):
            frame.select(node_of(pl.struct(fields), case.old))


def test_the_column_keeps_its_name_and_a_literal_is_one_row(case):
    frame = pl.DataFrame({"key": ["k7", "12"]})
    assert frame.select(node_of("key", case.old)).columns == ["key"]
    said = frame.with_columns(
        node_of(pl.col("key"), case.old).alias("a"),
        node_of(pl.col("key") + "x", case.new).alias("b"),
        node_of(pl.lit("frank"), case.old).alias("c"),
    )
    assert said.rows() == [
        (
            key,
            case.old.locate(key),
            case.new.locate(key + "x"),
            case.old.locate("frank"),
        )
        for key in ("k7", "12")
    ]


def test_the_example_runs(capsys):
    example("polars_locate").main()
    assert "db3" in capsys.readouterr().out


def test_maps_with_several_copies_are_compared_only_if_their_first_nodes_are_meant():
    nodes = [{"name": f"db{i}"} for i in range(6)]
    old = stead.Map.build({"name": "m", "replicas": 2, "node": nodes[:5]})
    new = stead.Map.build({"name": "m", "replicas": 2, "node": nodes}, old)
    keys = [f"user{i}" for i in range(10_000)]
    users = pl.DataFrame({"key": keys, "bytes": range(len(keys))})
    for of in (stead.polars.moves, stead.polars.plan):
        with pytest.raises(stead.InvalidError, match="affects_many.*primary=True"):
            of(users, "key", old, new)
    first = stead.polars.moves(users, "key", old, new, primary=True)
    counts = stead.polars.plan(users, "key", old, new, primary=True)
    assert counts["rows"].sum() == first.height
    # the lines of the page
    members, grown, polars = old, new, pl
    moved = stead.Plan.between(members, grown).affects_many(users["key"])
    copies = polars.DataFrame(
        {
            "row": polars.Series(moved.key),
            "from": polars.Series(moved.from_),
            "to": polars.Series(moved.to),
        }
    )
    copies = copies.with_columns(users["bytes"].gather(copies["row"]))
    sums = copies.group_by("from", "to").agg(
        polars.len().alias("copies"), polars.sum("bytes")
    )
    plan = stead.Plan.between(old, new)
    each = [(at, plan.affects(key)) for at, key in enumerate(keys)]
    assert sums["copies"].sum() == sum(len(moves) for _, moves in each) > first.height
    assert sums["bytes"].sum() == sum(at * len(moves) for at, moves in each)

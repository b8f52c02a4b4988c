"""Batches are located in blocks, by vector kernels and in threads: each key gets the
node that `locate` gives, wherever it lies in its block, and whatever its length is.
"""

import os
import subprocess
import sys
import textwrap

import numpy
import polars
import pyarrow
import pytest
import stead

MAP = stead.Map.build(
    {"name": "blocks", "node": [{"name": f"db{i}"} for i in range(50)]}
)
GROWN = stead.Map.build(
    {"name": "blocks", "node": [{"name": f"db{i}"} for i in range(53)]}, MAP
)
# around the ends of blocks of 1,024 and 4,096 rows
COUNTS = [1, 1023, 1024, 1025, 4095, 4096, 4097, 9001]

COLUMNS = {
    "string": lambda keys: pyarrow.array(keys, pyarrow.string()),
    "large_string": lambda keys: pyarrow.array(keys, pyarrow.large_string()),
    "string_view": lambda keys: pyarrow.array(keys, pyarrow.string_view()),
    "dictionary": lambda keys: pyarrow.array(
        keys, pyarrow.string()
    ).dictionary_encode(),
    "short of its dictionary": lambda keys: pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(
            [None if key is None else i for i, key in enumerate(keys)], pyarrow.int32()
        ),
        pyarrow.array([*(key or "" for key in keys), "unused"]),
    ),
    "polars": lambda keys: polars.Series(keys, dtype=polars.String),
    "numpy objects": lambda keys: numpy.array(keys, dtype=object),
    "list": lambda keys: keys,
}


def located(keys, map=MAP):
    return [None if key is None else map.locate(key) for key in keys]


def as_list(nodes):
    return nodes if isinstance(nodes, list) else nodes.to_pylist()


@pytest.mark.parametrize("every", [0, 2, 7, 1000], ids=lambda n: f"null each {n}")
@pytest.mark.parametrize("name", COLUMNS)
def test_rows_at_the_ends_of_blocks_have_their_own_nodes(name, every):
    for count in COUNTS:
        keys = [None if every and i % every == 0 else f"key{i}" for i in range(count)]
        assert as_list(MAP.locate_many(COLUMNS[name](keys))) == located(keys)


@pytest.mark.parametrize("name", ["string", "large_string", "string_view", "polars"])
def test_nulls_in_only_one_block_are_in_that_block(name):
    keys = [None if 5000 <= i < 5003 else f"key{i}" for i in range(13_000)]
    nodes = MAP.locate_many(COLUMNS[name](keys))
    assert nodes.to_pylist() == located(keys) and nodes.null_count == 3
    taken = pyarrow.array(nodes)
    taken.validate(full=True)
    # a slice whose first row is not the first of a byte
    part = COLUMNS[name](keys)[4099:9000]
    assert MAP.locate_many(part).to_pylist() == located(keys[4099:9000])


def test_keys_of_every_length_are_placed_as_locate_does():
    keys = [bytes((i * 31 + j) % 256 for j in range(i % 301)) for i in range(2_000)]
    expected = located(keys)
    assert MAP.locate_many(keys) == expected
    for kind in [pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()]:
        assert MAP.locate_many(pyarrow.array(keys, kind)).to_pylist() == expected


KERNELS = ["scalar", "portable", "sse2", "avx2", "avx512", "neon"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_gives_the_same_nodes(kernel):
    """A kernel that this processor does not have is replaced by one that it has."""
    script = """
        import sys, pyarrow, stead
        for hash in ["md5", "sha1", "xxh3"]:
            fleet = {"name": "m", "hash": hash, "node": [{"name": f"db{i}"} for i in range(9)]}
            map = stead.Map.build(fleet)
            keys = ["x" * (i % 200) + str(i) for i in range(3000)]
            expected = [map.locate(key) for key in keys]
            assert map.locate_many(keys) == expected, hash
            assert map.locate_many(pyarrow.array(keys)).to_pylist() == expected, hash
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "STEAD_KERNEL": kernel},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# -- NumPy's strings, which are converted from four bytes a character


def test_numpy_text_becomes_utf8():
    keys = [
        "",
        "a",
        "Zoë",
        "名前",
        "\U0001f600x",
        "\0a",
        "a\0b",
        "\x7f\x80\u07ff\u0800\uffff",
    ]
    column = numpy.array(keys * 100)
    assert MAP.locate_many(column).to_pylist() == located(column.tolist())
    assert MAP.locate_many(numpy.array(["", ""])).to_pylist() == located(["", ""])


def test_numpy_text_that_has_no_utf8_is_refused():
    for surrogate in ["\ud800", "x\udfff"]:
        with pytest.raises(UnicodeEncodeError):
            MAP.locate_many(numpy.array(["frank", surrogate]))
    beyond = numpy.array([0x41, 0x110000], "u4").view("U1")
    # NumPy cannot make a str of it either
    with pytest.raises((SystemError, ValueError)):
        beyond.tolist()
    with pytest.raises((SystemError, ValueError)):
        MAP.locate_many(beyond)


# -- lists


def test_long_keys_in_a_list_are_not_in_the_way_of_short_ones():
    keys = [("x" * 70_000 if i % 50 == 7 else "y") + str(i) for i in range(300)]
    keys[9] = None
    assert MAP.locate_many(keys) == located(keys)
    with pytest.raises(TypeError, match="^key 300: a key is str or bytes, not int"):
        MAP.locate_many([*keys, 1])


def test_names_of_a_list_are_the_same_objects():
    nodes = MAP.locate_many([f"key{i}" for i in range(5000)])
    assert len({id(name) for name in nodes}) == len(set(nodes)) <= 50


# -- threads


@pytest.mark.parametrize("threads", [1, 2, 3, 1000])
@pytest.mark.parametrize("name", COLUMNS)
def test_any_number_of_threads_gives_the_same_nodes(name, threads):
    keys = [None if i % 77 == 3 else f"key{i}" for i in range(150_000)]
    expected = MAP.locate_many(keys)
    column = COLUMNS[name](keys)
    assert as_list(MAP.locate_many(column, threads=threads)) == expected
    assert as_list(MAP.locate_all_many(column, threads=threads)) == [
        None if node is None else [node] for node in expected
    ]


@pytest.mark.parametrize("threads", [0, -1, 2**70])
def test_a_number_of_threads_is_from_1(threads):
    for call in [MAP.locate_many, MAP.locate_all_many]:
        with pytest.raises(stead.InvalidError, match="threads is not a number of thr"):
            call(["a"], threads=threads)


@pytest.mark.parametrize("threads", [1.0, "2", None])
def test_threads_are_an_int(threads):
    if threads is None:
        assert MAP.locate_many(["a"], threads=None) == located(["a"])
        return
    with pytest.raises(TypeError, match=r"^threads is an int, not (float|str)$"):
        MAP.locate_many(["a"], threads=threads)


# -- what moves


@pytest.mark.parametrize("name", COLUMNS)
def test_what_moves_is_found_in_every_block(name):
    plan = stead.Plan.between(MAP, GROWN)
    keys = [None if i % 9 == 4 else f"key{i}" for i in range(9_001)]
    expected = [
        (i, move.from_, move.to)
        for i, key in enumerate(keys)
        if key is not None
        for move in plan.affects(key)
    ]
    moved = plan.affects_many(COLUMNS[name](keys))
    if name != "list":
        moved = zip(moved.key, moved.from_, moved.to)
    assert [tuple(row) for row in moved] == expected and len(expected) > 100

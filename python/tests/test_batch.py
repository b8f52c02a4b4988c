"""`Map.locate_many` gives, for every kind of batch, the same nodes as `locate` for each
key, without copies, leaks or crashes.
"""

import ctypes
import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import duckdb
import nanoarrow
import numpy
import pandas
import polars
import pyarrow
import pytest
import stead
from conftest import others_run_while
from producers import Chunks, Column, packed, strings, text

MAP = stead.Map.build(
    {
        "name": "batches",
        "node": [{"name": f"db{i}", "weight": 1 + i / 2} for i in range(11)],
    }
)
NAMES = [node.name for node in MAP.nodes]

# short and long keys, for views; a NUL inside; not ASCII; empty; keys that look alike
KEYS = [
    "frank",
    "",
    "Zoë",
    "a\0b",
    "名前",
    "twelve bytes",
    "thirteen byte",
    "x" * 300,
    "frank\n",
    "\U0001f600",
] + [f"key{i}" * (i % 7) for i in range(90)]
SOME_NULL = [None if i % 5 == 2 or 40 <= i < 60 else key for i, key in enumerate(KEYS)]
BATCHES = {
    "all": KEYS,
    "some null": SOME_NULL,
    "all null": [None] * 20,
    "one": ["frank"],
    "none": [],
}

TYPES = {
    "string": pyarrow.string(),
    "large_string": pyarrow.large_string(),
    "string_view": pyarrow.string_view(),
    "binary": pyarrow.binary(),
    "large_binary": pyarrow.large_binary(),
    "binary_view": pyarrow.binary_view(),
}


def located(keys):
    """The answer of `locate` for each key."""
    return [None if key is None else MAP.locate(key) for key in keys]


def arrow(keys, kind):
    """An array of an Arrow type; a binary array has the UTF-8 of the keys."""
    is_text = (
        pyarrow.types.is_string(kind)
        or pyarrow.types.is_large_string(kind)
        or pyarrow.types.is_string_view(kind)
    )
    return pyarrow.array(
        [key if key is None or is_text else key.encode() for key in keys], kind
    )


STRING, INT32 = pyarrow.string(), pyarrow.int32()


def coded(keys, values=STRING, indices=INT32):
    """A dictionary array. Its dictionary also has values that no row uses, and another
    order than the rows.
    """
    known = [
        "unused",
        *sorted({key for key in keys if key is not None}, reverse=True),
        "also unused",
    ]
    rows = pyarrow.array(
        [None if key is None else known.index(key) for key in keys], indices
    )
    return pyarrow.DictionaryArray.from_arrays(rows, arrow(known, values))


COLUMNS = {
    **{name: lambda keys, kind=kind: arrow(keys, kind) for name, kind in TYPES.items()},
    **{
        f"dictionary of {name}": lambda keys, kind=kind: coded(keys, kind)
        for name, kind in TYPES.items()
    },
    **{
        f"dictionary by {kind}": lambda keys, kind=kind: coded(keys, indices=kind)
        for kind in [
            pyarrow.int8(),
            pyarrow.uint8(),
            pyarrow.int16(),
            pyarrow.uint16(),
            pyarrow.uint32(),
            pyarrow.int64(),
            pyarrow.uint64(),
        ]
    },
    "dictionary with a null": lambda keys: pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(
            [0 if key is None else i + 1 for i, key in enumerate(keys)], pyarrow.int32()
        ),
        pyarrow.array([None, *keys], pyarrow.string()),
    ),
    "chunks": lambda keys: pyarrow.chunked_array(
        [[], keys[:3], [], keys[3:17], keys[17:], []], pyarrow.string()
    ),
    "chunked dictionaries": lambda keys: pyarrow.chunked_array(
        [coded(keys[:9]), coded(keys[9:])]
    ),
    "chunks of views": lambda keys: pyarrow.chunked_array(
        [keys[:50], keys[50:]], pyarrow.string_view()
    ),
    "no chunk": lambda keys: pyarrow.chunked_array(
        [keys] if keys else [], pyarrow.string()
    ),
    "table": lambda keys: pyarrow.table({"key": pyarrow.array(keys, pyarrow.string())}),
    "record batch": lambda keys: pyarrow.record_batch(
        {"key": pyarrow.array(keys, pyarrow.string())}
    ),
    "record batch of dictionary": lambda keys: pyarrow.record_batch(
        {"key": coded(keys)}
    ),
    "reader": lambda keys: pyarrow.table(
        {"key": pyarrow.array(keys, pyarrow.string())}
    ).to_reader(max_chunksize=7),
    "nanoarrow": lambda keys: nanoarrow.Array(keys, nanoarrow.string()),
    "nanoarrow chunks": lambda keys: nanoarrow.Array(
        pyarrow.chunked_array([keys[:5], keys[5:]], pyarrow.string())
    ),
    "polars": lambda keys: polars.Series(keys, dtype=polars.String),
    "polars chunks": lambda keys: polars.concat(
        [
            polars.Series(keys[:9], dtype=polars.String),
            polars.Series(keys[9:], dtype=polars.String),
        ],
        rechunk=False,
    ),
    "polars binary": lambda keys: polars.Series(
        [None if key is None else key.encode() for key in keys], dtype=polars.Binary
    ),
    "polars categorical": lambda keys: polars.Series(keys, dtype=polars.Categorical),
    "polars enum": lambda keys: polars.Series(
        keys, dtype=polars.Enum(sorted({key for key in keys if key is not None}))
    ),
    "polars objects": lambda keys: polars.Series(keys, dtype=polars.Object),
    "polars frame": lambda keys: polars.DataFrame(
        {"key": polars.Series(keys, dtype=polars.String)}
    ),
    "pandas str": lambda keys: pandas.Series(keys, dtype="str"),
    "pandas string": lambda keys: pandas.Series(keys, dtype="string"),
    "pandas python string": lambda keys: pandas.Series(
        keys, dtype=pandas.StringDtype("python")
    ),
    "pandas objects": lambda keys: pandas.Series(keys, dtype=object),
    "pandas NaN": lambda keys: pandas.Series(
        [float("nan") if key is None else key for key in keys], dtype=object
    ),
    "pandas NA": lambda keys: pandas.Series(
        [pandas.NA if key is None else key for key in keys], dtype=object
    ),
    "pandas categories": lambda keys: pandas.Series(
        pandas.Categorical(
            keys,
            categories=pandas.Index(
                sorted({k for k in keys if k is not None}), dtype="str"
            ),
        )
    ),
    "pandas arrow": lambda keys: pandas.Series(
        arrow(keys, pyarrow.large_binary()).to_pylist(),
        dtype=pandas.ArrowDtype(pyarrow.large_binary()),
    ),
    "pandas index": lambda keys: pandas.Index(keys, dtype="str"),
    "pandas frame": lambda keys: pandas.DataFrame(
        {"key": pandas.Series(keys, dtype="str")}
    ),
    "numpy objects": lambda keys: numpy.array(keys, dtype=object),
    "numpy StringDType": lambda keys: numpy.array(
        keys, dtype=numpy.dtypes.StringDType(na_object=None)
    ),
    "numpy StringDType NaN": lambda keys: numpy.array(
        [numpy.nan if key is None else key for key in keys],
        dtype=numpy.dtypes.StringDType(na_object=numpy.nan),
    ),
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_placed_as_its_keys_are(name, batch):
    keys = BATCHES[batch]
    nodes = MAP.locate_many(COLUMNS[name](keys))
    assert isinstance(nodes, stead.Array)
    assert nodes.to_pylist() == located(keys)
    assert len(nodes) == len(keys) and nodes.null_count == keys.count(None)
    numbers = MAP.locate_many(COLUMNS[name](keys), numbers=True)
    assert numbers.to_pylist() == [
        None if node is None else NAMES.index(node) for node in located(keys)
    ]


@pytest.mark.parametrize(
    "start, length",
    [(0, 5), (1, 8), (3, 0), (7, 9), (8, 50), (13, 87), (39, 22), (99, 1), (100, 0)],
)
@pytest.mark.parametrize(
    "name",
    [
        *TYPES,
        "dictionary of string",
        "dictionary with a null",
        "dictionary by int8",
        "chunks",
        "chunked dictionaries",
        "table",
        "record batch",
        "polars",
        "polars categorical",
        "pandas str",
    ],
)
def test_a_slice_is_placed_as_its_keys_are(name, start, length):
    column = COLUMNS[name](SOME_NULL)
    part = (
        column.iloc[start : start + length]
        if isinstance(column, pandas.Series)
        else column.slice(start, length)
    )
    nodes = MAP.locate_many(part)
    assert nodes.to_pylist() == located(SOME_NULL[start : start + length])
    assert pyarrow.array(nodes).to_pylist() == nodes.to_pylist()


@pytest.mark.parametrize("kind", TYPES)
def test_a_sliced_dictionary_is_placed_as_its_keys_are(kind):
    values = arrow(["left out", *KEYS, None], TYPES[kind]).slice(1)
    rows = [len(KEYS) if key is None else i for i, key in enumerate(SOME_NULL)]
    rows[7] = None
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([5, *rows, 6], pyarrow.int32()).slice(1, len(rows)), values
    )
    keys = [None if i == 7 else key for i, key in enumerate(SOME_NULL)]
    assert MAP.locate_many(column).to_pylist() == located(keys)
    # the column is shorter than its dictionary, so each row is located
    assert MAP.locate_many(column.slice(3, 6)).to_pylist() == located(keys[3:9])


def test_rows_of_a_sliced_batch_are_null_where_the_batch_or_the_column_is():
    class Batch:
        """Passes a column of structs on as a batch: Arrow does not tell them apart."""

        def __init__(self, structs):
            self.__arrow_c_array__ = structs.__arrow_c_array__

    batch = pyarrow.StructArray.from_arrays(
        [pyarrow.array(["a", None, "c", "d", "e"])],
        ["key"],
        mask=pyarrow.array([False, False, True, False, False]),
    )
    nodes = MAP.locate_many(Batch(batch))
    assert nodes.to_pylist() == located(["a", None, None, "d", "e"])
    nodes = MAP.locate_many(Batch(batch.slice(1, 3)))
    assert nodes.to_pylist() == located([None, None, "d"])
    inner = pyarrow.StructArray.from_arrays(
        [pyarrow.array(["left out", "a", None, "c"]).slice(1)], ["key"]
    )
    nodes = MAP.locate_many(Batch(inner.slice(1)))
    assert nodes.to_pylist() == located([None, "c"])


def test_fixed_size_binary_is_itself():
    keys = [b"abcd", b"\0\0\0\0", None, b"ab\0\0", b"wxyz"]
    column = pyarrow.array(keys, pyarrow.binary(4))
    assert MAP.locate_many(column).to_pylist() == located(keys)
    assert MAP.locate_many(column.slice(2)).to_pylist() == located(keys[2:])
    assert MAP.locate_many(column.dictionary_encode()).to_pylist() == located(keys)
    assert MAP.locate_many(
        pyarrow.array([b"", None, b""], pyarrow.binary(0))
    ).to_pylist() == located([b"", None, b""])


def test_bytes_that_are_no_text_are_themselves():
    keys = [bytes(range(256)), b"\xff\xfe", b"\0"]
    for kind in ["binary", "large_binary", "binary_view"]:
        assert MAP.locate_many(pyarrow.array(keys, TYPES[kind])).to_pylist() == located(
            keys
        )


def test_a_column_of_nothing_is_all_null():
    for column in [
        pyarrow.nulls(3),
        polars.Series([None] * 3),
        pyarrow.chunked_array([pyarrow.nulls(2), pyarrow.nulls(1)]),
    ]:
        assert MAP.locate_many(column).to_pylist() == [None] * 3


# -- lists


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        lambda keys: (key for key in keys),
        lambda keys: dict(enumerate(keys)).values(),
    ],
    ids=["list", "tuple", "iterator", "generator", "view"],
)
def test_a_list_is_placed_as_its_keys_are(make, batch):
    keys = BATCHES[batch]
    assert MAP.locate_many(make(keys)) == located(keys)
    assert MAP.locate_many(make(keys), numbers=True) == [
        None if node is None else NAMES.index(node) for node in located(keys)
    ]


def test_a_list_may_have_str_and_bytes_and_is_placed_in_blocks():
    keys = [f"key{i}" if i % 3 else b"key%d" % i for i in range(140_001)]
    keys[65_536] = None
    assert MAP.locate_many(keys) == located(keys)


def test_a_key_that_is_none_is_named_by_its_place():
    with pytest.raises(
        TypeError, match=r"^key 2: a key is str or bytes, not float; if "
    ):
        MAP.locate_many(["a", None, 1.5])
    with pytest.raises(
        TypeError, match=r"^key 70000: a key is str or bytes, not int; write str\(key\)"
    ):
        MAP.locate_many(["a"] * 70_000 + [7])
    with pytest.raises(
        TypeError, match=r"^key 1: a key is str or bytes, not float; it is"
    ):
        # NaN is null in a series, not in a list
        MAP.locate_many(["a", float("nan")])
    with pytest.raises(
        TypeError, match=r"^key 1: a key is str or bytes, not float; if "
    ):
        MAP.locate_many(numpy.array(["a", 1.5], dtype=object))


@pytest.mark.parametrize(
    "make",
    [
        list,
        iter,
        numpy.array,
        lambda keys: numpy.array(keys, dtype=object),
        lambda keys: pandas.Series(keys, dtype=object),
    ],
)
def test_a_key_that_has_no_utf8_is_named_by_its_place(make):
    with pytest.raises(
        UnicodeEncodeError, match="in position 1: key 2: surrogates not allowed; for"
    ):
        MAP.locate_many(make(["a", "b", "a\ud800"]))


def test_what_an_iterator_raises_comes_through():
    def keys():
        yield "a"
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        MAP.locate_many(keys())


# -- NumPy


def test_numpy_bytes_end_where_numpy_says():
    keys = [b"frank", b"", b"a\0b", b"ab\0", b"\0", b"123456"]
    column = numpy.array(keys, dtype="S6")
    assert column.tolist() == [b"frank", b"", b"a\0b", b"ab", b"", b"123456"]
    assert MAP.locate_many(column).to_pylist() == located(column.tolist())


@pytest.mark.parametrize("kind", ["S12", "U12"])
def test_numpy_arrays_may_be_views_with_strides_and_swapped_bytes(kind):
    column = numpy.array([f"key{i}" for i in range(1000)], dtype=kind)
    record = numpy.zeros(1000, dtype=[("number", "i8"), ("key", kind)])
    record["key"] = column
    swapped = column.astype(column.dtype.newbyteorder())
    read_only = column.copy()
    read_only.flags.writeable = False
    for view in [
        column,
        column[::2],
        column[::-3],
        column[:0],
        column[5:6],
        record["key"],
        numpy.broadcast_to(column[3], (4,)),
        swapped,
        read_only,
    ]:
        assert MAP.locate_many(view).to_pylist() == located(view.tolist())


def test_numpy_arrays_are_read_in_blocks():
    column = numpy.array([b"%d" % i for i in range(30_000)], dtype="S100")  # 3 MB
    assert MAP.locate_many(column).to_pylist() == located(column.tolist())
    wide = numpy.array([b"a", b"b" * 1_500_000, b"c"])
    assert MAP.locate_many(wide).to_pylist() == located(wide.tolist())


def test_masked_numpy_keys_are_null():
    for kind in ["S5", "U5", object]:
        column = numpy.ma.array(["a", "b", "c"], dtype=kind, mask=[False, True, False])
        assert MAP.locate_many(column).to_pylist() == [
            MAP.locate("a"),
            None,
            MAP.locate("c"),
        ]


# -- arguments that are not batches


TAKEN = (
    ", and stead takes string, binary (also large, view, fixed-size) and a dictionary of "
    "these; "
)
FLOATS = f"{TAKEN}cast the column to integers, then to text: "
STRUCTS = f"{TAKEN}pass one of its fields"


@pytest.mark.parametrize(
    "keys, message",
    [
        (
            pyarrow.array([1, 2]),
            (
                "keys are Arrow int64, and stead takes string, binary (also large, view, "
                "fixed-size) and a dictionary of these; cast the column to the text that "
                "other programs use as the key"
            ),
        ),
        (
            pyarrow.array([1.0]),
            (
                "keys are Arrow float64, and stead takes string, binary (also large, "
                "view, fixed-size) and a dictionary of these; cast the column to "
                "integers, then to text: as text, 1.0 would be another key than 1"
            ),
        ),
        # integers with a null, which pandas makes floats
        (pandas.Series([1, None]), f"keys are Arrow float64{FLOATS}"),
        (polars.Series([1.0], dtype=polars.Float32), f"keys are Arrow float32{FLOATS}"),
        (pyarrow.array([1.0], pyarrow.float16()), f"keys are Arrow float16{FLOATS}"),
        (
            pyarrow.array([1.0]).dictionary_encode(),
            f"keys are Arrow dictionary of float64{FLOATS}",
        ),
        (pyarrow.array([True]), "keys are Arrow bool"),
        (pyarrow.array([["a"]]), "keys are Arrow lists"),
        (pyarrow.array([], pyarrow.int8()), "keys are Arrow int8"),
        (
            pyarrow.array([1, 1]).dictionary_encode(),
            "keys are Arrow dictionary of int64",
        ),
        (
            pyarrow.RunEndEncodedArray.from_arrays([2], ["a"]),
            "keys are Arrow run-end encoded",
        ),
        (pyarrow.array([0], pyarrow.timestamp("s")), "keys are Arrow timestamps"),
        (pyarrow.array([0], pyarrow.duration("s")), 'keys are Arrow of format "tDs"'),
        (pyarrow.array([{"a": {"b": "c"}}]), "keys are Arrow struct"),
        (pyarrow.array([{"a": "b"}]), f"keys are Arrow struct{STRUCTS}"),
        (pyarrow.chunked_array([[{"a": "b"}]]), f"keys are Arrow struct{STRUCTS}"),
        (polars.Series([{"a": "b"}]), f"keys are Arrow struct{STRUCTS}"),
        (polars.Series([{"a": 1}]), f"keys are Arrow struct{STRUCTS}"),
        (polars.Series([{"a": "b", "c": "d"}]), f"keys are Arrow struct{STRUCTS}"),
        (
            pandas.Series(
                [{"a": "b"}],
                dtype=pandas.ArrowDtype(pyarrow.struct([("a", pyarrow.string())])),
            ),
            f"keys are Arrow struct{STRUCTS}",
        ),
        (polars.Series([["a"]]), "keys are Arrow lists"),
        (
            polars.LazyFrame({"a": ["b"]}),
            (
                "keys are a list, an Arrow or NumPy array, or a series, not LazyFrame; "
                "write keys.collect()"
            ),
        ),
        (
            pyarrow.table({"a": ["b"], "c": ["d"]}),
            "keys are one column, not the 2 of a table: pass one of them",
        ),
        (pyarrow.chunked_array([], pyarrow.int64()), "keys are Arrow int64"),
        (
            pyarrow.chunked_array(
                [], pyarrow.dictionary(pyarrow.int8(), pyarrow.int64())
            ),
            "keys are Arrow dictionary of int64",
        ),
        (pyarrow.table({"a": [1]}), "keys are Arrow int64"),
        (
            pyarrow.table({}),
            "keys are one column, not the 0 of a table: pass one of them",
        ),
        (polars.Series([1]), "keys are Arrow int64"),
        (pandas.Series([1]), "keys are Arrow int64"),
        (
            numpy.array([1]),
            (
                "keys are a NumPy array of int64, and stead takes S, U, StringDType and "
                "object; convert the array to the text that other programs use as the key"
            ),
        ),
        (
            numpy.array([1.0]),
            (
                "keys are a NumPy array of float64, and stead takes S, U, StringDType and "
                "object; convert the array to integers, then to text: as text, 1.0 would "
                "be another key than 1"
            ),
        ),
        (numpy.array([b"a"]).view("V1"), "keys are a NumPy array of |V1"),
        (
            "frank",
            "keys are a list or an array of keys, not one str: write [key]",
        ),
        (
            b"frank",
            "keys are a list or an array of keys, not one bytes: write [key]",
        ),
        (5, "keys are a list, an Arrow or NumPy array, or a series, not int"),
        (None, "keys are a list, an Arrow or NumPy array, or a series, not NoneType"),
    ],
    ids=str,
)
def test_what_is_no_batch_of_keys_is_named(keys, message):
    with pytest.raises(TypeError) as raised:
        MAP.locate_many(keys)
    assert str(raised.value).startswith(message)


def test_a_table_of_one_column_is_no_column_of_structs():
    for table in (
        pyarrow.table({"type": ["frank"]}),
        pyarrow.record_batch({"type": ["frank"]}),
        polars.DataFrame({"type": ["frank"]}),
        pandas.DataFrame({"type": ["frank"]}),
        # a series whose label is read as an attribute
        pandas.Series(["frank"], index=["type"]),
        duckdb.sql("select 'frank' as type"),
    ):
        assert MAP.locate_many(table).to_pylist() == located(["frank"])


@pytest.mark.parametrize("keys", [numpy.array(b"a"), numpy.array([[b"a"], [b"b"]])])
def test_numpy_arrays_have_one_dimension(keys):
    with pytest.raises(
        stead.InvalidError,
        match=f"keys are a NumPy array of {keys.ndim} dimensions, not of one",
    ):
        MAP.locate_many(keys)


@pytest.mark.parametrize("gives", [None, 5, (), (1, 2), (1, 2, 3), object()])
def test_a_producer_that_gives_no_capsules_is_named(gives):
    class Gives:
        def __arrow_c_array__(self, requested_schema=None):
            return gives

    class Streams:
        def __arrow_c_stream__(self, requested_schema=None):
            return gives

    for keys in [Gives(), Streams()]:
        with pytest.raises(TypeError, match="gave"):
            MAP.locate_many(keys)


def test_the_capsules_of_one_thing_are_not_those_of_another():
    class Crossed:
        def __arrow_c_array__(self, requested_schema=None):
            return pyarrow.array(["a"]).__arrow_c_array__()[::-1]

    with pytest.raises(TypeError, match='"arrow_schema"'):
        MAP.locate_many(Crossed())


def test_a_capsule_is_taken_once():
    class Again:
        capsules = pyarrow.array(["a"]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.capsules

    keys = Again()
    assert MAP.locate_many(keys).to_pylist() == located(["a"])
    with pytest.raises(stead.InvalidError, match="was taken already"):
        MAP.locate_many(keys)


def test_what_a_producer_raises_comes_through():
    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        MAP.locate_many(Raises())


# -- uses of the result


def test_the_dictionary_has_all_nodes_and_the_index_is_the_number():
    keys = pyarrow.array(SOME_NULL)
    names, numbers = (
        pyarrow.array(MAP.locate_many(keys)),
        pyarrow.array(MAP.locate_many(keys, numbers=True)),
    )
    assert (
        names.type == pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        and numbers.type == pyarrow.int32()
    )
    assert names.dictionary.to_pylist() == NAMES
    assert names.indices.equals(numbers)
    names.validate(full=True)
    numbers.validate(full=True)
    assert names.null_count == SOME_NULL.count(None)
    assert (
        pyarrow.array(MAP.locate_many(KEYS and pyarrow.array(KEYS))).buffers()[0]
        is None
    )


def test_the_numbers_are_those_of_one_epoch():
    before = stead.Map.build({"name": "m", "node": [{"name": "db2"}]})
    after = stead.Map.build(
        {"name": "m", "node": [{"name": "db1"}, {"name": "db2"}]}, before
    )
    key = next(f"{i}" for i in range(99) if after.locate(f"{i}") == "db2")
    numbers = [map.locate_many([key], numbers=True) for map in (before, after)]
    assert before.locate(key) == "db2" and numbers == [[0], [1]]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 15, 16, 17, 64, 1000])
@pytest.mark.parametrize("first_null", [0, 1, 7, 8, 9, 15, 63, 999])
def test_nulls_are_where_the_keys_nulls_are(count, first_null):
    keys = [
        None if i == first_null or (i > first_null and i % 3 == 0) else f"{i}"
        for i in range(count)
    ]
    taken = pyarrow.array(MAP.locate_many(pyarrow.array(keys, pyarrow.string())))
    taken.validate(full=True)
    assert taken.to_pylist() == located(keys) and taken.null_count == keys.count(None)


def test_pyarrow_takes_the_result_without_a_copy():
    nodes = MAP.locate_many(pyarrow.array(SOME_NULL))
    first, second = pyarrow.array(nodes), pyarrow.array(nodes)
    assert [buffer.address for buffer in first.buffers()] == [
        buffer.address for buffer in second.buffers()
    ]
    assert [b.address for b in first.dictionary.buffers() if b] == [
        b.address for b in second.dictionary.buffers() if b
    ]
    assert pyarrow.array(nodes).cast("string").to_pylist() == located(SOME_NULL)
    numbers = pyarrow.array(MAP.locate_many(pyarrow.array(KEYS), numbers=True))
    assert numbers.to_numpy(zero_copy_only=True).tolist() == [
        NAMES.index(node) for node in located(KEYS)
    ]


def test_polars_takes_the_result():
    keys = polars.Series("key", SOME_NULL)
    names = polars.Series(MAP.locate_many(keys))
    assert names.to_list() == located(SOME_NULL)
    nodes = MAP.locate_many(keys, numbers=True)
    numbers = polars.Series(nodes)
    assert (
        numbers.dtype == polars.Int32
        and numbers.to_arrow().buffers()[1].address
        == pyarrow.array(nodes).buffers()[1].address
    )
    frame = polars.DataFrame({"key": keys}).with_columns(node=names)
    assert frame.drop_nulls().group_by("node").len()["len"].sum() == len(
        SOME_NULL
    ) - SOME_NULL.count(None)


def test_pandas_takes_the_result():
    nodes = MAP.locate_many(pandas.Series(SOME_NULL))
    series = pyarrow.array(nodes).to_pandas()
    assert series.dtype == "category" and [
        None if node != node else node  # noqa: PLR0124  NaN is not equal to itself
        for node in series
    ] == located(SOME_NULL)
    taken = pandas.Series.from_arrow(nodes)
    assert [
        None if node is None or node != node else node  # noqa: PLR0124  NaN, as above
        for node in taken
    ] == located(SOME_NULL)


def test_nanoarrow_takes_the_result():
    taken = nanoarrow.c_array(MAP.locate_many(pyarrow.array(SOME_NULL)))
    assert taken.dictionary.length == len(
        NAMES
    ) and taken.null_count == SOME_NULL.count(None)
    indices = nanoarrow.Array(
        MAP.locate_many(pyarrow.array(SOME_NULL), numbers=True)
    ).to_pylist()
    assert indices == [
        None if node is None else NAMES.index(node) for node in located(SOME_NULL)
    ]


def test_duckdb_gives_keys_and_takes_nodes():
    database = duckdb.connect()
    keys = database.sql("select 'key' || range as key from range(5000)")
    # DuckDB finds the table by the name of the variable
    nodes = pyarrow.table(  # noqa: F841
        {"node": pyarrow.array(MAP.locate_many(keys))}
    )
    counted = dict(
        database.sql(
            "select node::varchar, count(*) from nodes group by all"
        ).fetchall()
    )
    expected = located(f"key{i}" for i in range(5000))
    assert counted == {node: expected.count(node) for node in set(expected)}


def test_duckdb_calls_it_as_a_function():
    database = duckdb.connect()
    database.create_function(
        "node_of",
        lambda keys: pyarrow.array(MAP.locate_many(keys)),
        ["VARCHAR"],
        "VARCHAR",
        type="arrow",
    )
    rows = database.sql(
        "select 'key' || range, node_of('key' || range) from range(5000)"
    ).fetchall()
    assert len(rows) == 5000 and [node for _, node in rows] == located(
        key for key, _ in rows
    )


def test_a_result_outlives_its_map_its_keys_and_itself():
    def taken():
        map = stead.Map.from_bytes(MAP.to_bytes())
        return pyarrow.array(map.locate_many(pyarrow.array(SOME_NULL)))

    column = taken()
    gc.collect()
    column.validate(full=True)
    assert column.to_pylist() == located(SOME_NULL)


def test_a_result_can_be_keys_again():
    nodes = MAP.locate_many(pyarrow.array(SOME_NULL))
    assert MAP.locate_many(nodes).to_pylist() == located(located(SOME_NULL))


def test_a_result_says_what_it_is():
    keys = pyarrow.array(["a", None])
    assert repr(MAP.locate_many(keys)) == "<stead.Array of 2 node names, 1 null>"
    assert (
        repr(MAP.locate_many(keys, numbers=True))
        == "<stead.Array of 2 node numbers, 1 null>"
    )
    with pytest.raises(TypeError):
        stead.Array()


# -- memory: releases, leaks, peaks


def test_a_column_is_released_once():
    for column in [
        strings(b"a", b"bc"),
        Column(
            b"i",
            [None, packed(ctypes.c_int32, 1, 0)],
            2,
            dictionary=strings(b"a", b"b"),
        ),
        Column(b"+s", [None], 2, children=[strings(b"a", b"b")]),
        Column(b"n", [], 3, null_count=3),
    ]:
        MAP.locate_many(column)
        assert column.is_released()
    assert MAP.locate_many(strings(b"a", b"bc")).to_pylist() == located(["a", "bc"])


def test_a_stream_is_released_once():
    keys = Chunks(strings(b"a"), strings(), strings(b"b", b"c"))
    assert MAP.locate_many(keys).to_pylist() == located(["a", "b", "c"])
    assert keys.is_released()


@pytest.mark.parametrize(
    "keys, message",
    [
        (Chunks(strings(b"a"), fails=(5, b"the disk is gone")), "the disk is gone"),
        (Chunks(strings(b"a"), fails=(5, None)), "it gave no reason (error 5)"),
        (Chunks(strings(b"a"), fails=(22, b""), fails_at_once=True), ""),
        (
            Chunks(
                strings(b"a"),
                fails=(22, b"no schema today"),
                fails_at_once=True,
                get_last_error=None,
            ),
            "it gave no reason (error 22)",
        ),
    ],
    ids=["text", "no text", "empty text", "no function"],
)
def test_a_stream_that_fails_says_why_and_is_released_once(keys, message):
    with pytest.raises(stead.IoError) as raised:
        MAP.locate_many(keys)
    assert str(raised.value) == f"cannot read the Arrow stream of keys: {message}"
    assert keys.is_released()


def test_an_exception_inside_a_stream_comes_as_its_text():
    def batches():
        yield pyarrow.record_batch({"key": ["a"]})
        raise LookupError("nothing more")

    with pytest.raises(stead.IoError, match="nothing more"):
        MAP.locate_many(
            pyarrow.RecordBatchReader.from_batches(
                pyarrow.schema({"key": pyarrow.string()}), batches()
            )
        )


def test_a_stream_whose_second_chunk_is_malformed_is_released_once():
    bad = Column(b"u", [None, packed(ctypes.c_int32, 0, 5, 2), text(b"abcde")], 2)
    keys = Chunks(strings(b"a"), bad, strings(b"b"))
    with pytest.raises(stead.InvalidError, match="row 0 of 2"):
        MAP.locate_many(keys)
    assert keys.is_released() and bad.made == 1 and keys.columns[2].made == 0


def views(*items):
    """A buffer of views, each given as bytes or as (length, number of buffer,
    offset).
    """
    made = [
        item
        if isinstance(item, bytes)
        else item[0].to_bytes(4, "little", signed=True)
        + b"....".ljust(4)
        + b"".join(part.to_bytes(4, "little", signed=True) for part in item[1:])
        for item in items
    ]
    return text(b"".join(made))


I32, I64 = ctypes.c_int32, ctypes.c_int64
FIVE = packed(I32, 0, 5)
DATA = text(b"abcde" * 4)
MALFORMED = {
    "offsets that fall": Column(b"u", [None, packed(I32, 0, 5, 3), DATA], 2),
    "offsets that rise and fall": Column(
        b"u", [None, packed(I32, 0, 1_000_000_000, 5), DATA], 2
    ),
    "large offsets that rise and fall": Column(
        b"U", [None, packed(I64, 0, 1 << 60, 5), DATA], 2
    ),
    "negative first offset": Column(b"u", [None, packed(I32, -1, 5), DATA], 1),
    "negative last offset": Column(b"u", [None, packed(I32, 0, -5), DATA], 1),
    "negative large offset": Column(b"Z", [None, packed(I64, 0, -5), DATA], 1),
    "no offsets": Column(b"u", [None, None, DATA], 1),
    "no data": Column(b"u", [None, FIVE, None], 1),
    "no large data": Column(b"U", [None, packed(I64, 0, 5), None], 1),
    "nulls without validity": strings(b"abc", null_count=1),
    "more nulls than rows": strings(b"abc", null_count=2),
    "null count -2": strings(b"abc", null_count=-2),
    "length -1": strings(b"abc", length=-1),
    "offset -1": strings(b"abc", offset=-1),
    "length of all numbers": strings(b"abc", length=(1 << 63) - 1),
    "offset of all numbers": strings(b"abc", offset=(1 << 63) - 1),
    "nothing, very often": Column(b"n", [], 1 << 61, null_count=1 << 61),
    "two buffers": strings(b"abc", n_buffers=2),
    "four buffers": strings(b"abc", n_buffers=4),
    "-1 buffers": strings(b"abc", n_buffers=-1),
    "buffers nowhere": strings(b"abc", buffers=None),
    "no format": strings(b"abc", schema_fields={"format": None}),
    "a format that is no text": strings(b"abc", schema_fields={"format": b"\xff\xfe"}),
    "indices without dictionary": Column(
        b"i",
        [None, packed(I32, 0)],
        1,
        dictionary=strings(b"a"),
        array_fields={"dictionary": None},
    ),
    "index beyond": Column(
        b"i", [None, packed(I32, 0, 2)], 2, dictionary=strings(b"a", b"b")
    ),
    "index beyond, by row": Column(
        b"i", [None, packed(I32, 2)], 1, dictionary=strings(b"a", b"b")
    ),
    "index below": Column(
        b"c", [None, packed(ctypes.c_int8, 0, -1)], 2, dictionary=strings(b"a", b"b")
    ),
    "index of all numbers": Column(
        b"L",
        [None, packed(ctypes.c_uint64, (1 << 64) - 1)],
        1,
        dictionary=strings(b"a"),
    ),
    "no indices": Column(b"i", [None, None], 2, dictionary=strings(b"a", b"b")),
    "malformed dictionary": Column(
        b"i", [None, packed(I32, 0)], 1, dictionary=Column(b"u", [None, FIVE, None], 1)
    ),
    "view into no buffer": Column(b"vu", [None, views((13, 0, 0)), packed(I64, 0)], 1),
    "view into another buffer": Column(
        b"vu", [None, views((13, 1, 0)), DATA, packed(I64, 20)], 1
    ),
    "view into buffer -1": Column(
        b"vu", [None, views((13, -1, 0)), DATA, packed(I64, 20)], 1
    ),
    "view past the end": Column(
        b"vu", [None, views((13, 0, 8)), DATA, packed(I64, 20)], 1
    ),
    "view of all lengths": Column(
        b"vu", [None, views((0x7FFFFFFF, 0, 8)), DATA, packed(I64, 20)], 1
    ),
    "view from offset -1": Column(
        b"vu", [None, views((13, 0, -1)), DATA, packed(I64, 20)], 1
    ),
    "view of length -1": Column(
        b"vz", [None, views((-1, 0, 0)), DATA, packed(I64, 20)], 1
    ),
    "view without its buffer": Column(
        b"vu", [None, views((13, 0, 0)), None, packed(I64, 20)], 1
    ),
    "view buffer of length -1": Column(
        b"vu", [None, views((13, 0, 0)), DATA, packed(I64, -1)], 1
    ),
    "views without sizes": Column(b"vu", [None, views((13, 0, 0)), DATA, None], 1),
    "views without views": Column(b"vu", [None, None, DATA, packed(I64, 20)], 1),
    "two view buffers": Column(b"vu", [None, None], 1),
    "fixed without data": Column(b"w:4", [None, None], 1),
    "fixed of all sizes": Column(b"w:9223372036854775807", [None, DATA], 2),
    "batch of no child": Column(b"+s", [None], 1, schema_fields={"n_children": 1}),
    "batch of nothing": Column(
        b"+s", [None], 1, children=[strings(b"a")], array_fields={"children": None}
    ),
    "batch longer than its column": Column(b"+s", [None], 2, children=[strings(b"a")]),
    "batch that starts after its column": Column(
        b"+s", [None], 1, offset=3, children=[strings(b"a")]
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_and_can_be_seen_is_an_error(name):
    column = MALFORMED[name]
    with pytest.raises((stead.InvalidError, MemoryError)) as raised:
        MAP.locate_many(column)
    assert "\n" not in str(raised.value) and "keys" in str(raised.value)
    assert column.is_released()


@pytest.mark.parametrize(
    "format",
    [
        b"",
        b"x",
        b"w",
        b"w:",
        b"w:-1",
        b"w:x",
        b"uu",
        b"v",
        b"tdD",
        b"d:10,2",
        b"+ud:0",
        b"\n",
        b"n2",
    ],
)
def test_a_format_of_no_key_is_a_type_error(format):
    column = Column(format, [None, FIVE, DATA], 1)
    with pytest.raises(TypeError, match="^keys are Arrow "):
        MAP.locate_many(column)
    assert column.is_released()
    column = Column(
        b"i",
        [None, packed(I32, 0)],
        1,
        dictionary=Column(format, [None, FIVE, DATA], 1),
    )
    with pytest.raises(TypeError, match="^keys are Arrow dictionary of "):
        MAP.locate_many(column)
    assert column.is_released()


@pytest.mark.parametrize("field", ["get_schema", "get_next"])
def test_a_stream_without_its_functions_is_an_error(field):
    keys = Chunks(strings(b"a"), **{field: None})
    with pytest.raises(stead.InvalidError, match=f"has no {field}"):
        MAP.locate_many(keys)
    assert keys.is_released()


def test_buffers_that_no_row_needs_may_be_missing():
    assert MAP.locate_many(Column(b"u", [None, None, None], 0)).to_pylist() == []
    assert MAP.locate_many(Column(b"vu", [None, None, None], 0)).to_pylist() == []
    assert MAP.locate_many(
        Column(b"u", [None, packed(I32, 0, 0, 0), None], 2)
    ).to_pylist() == located(["", ""])
    assert MAP.locate_many(
        Column(b"vu", [None, views(b"\3\0\0\0abc".ljust(16, b"\0")), None], 1)
    ).to_pylist() == located(["abc"])
    assert MAP.locate_many(strings(b"a", b"b", null_count=-1)).to_pylist() == located(
        ["a", "b"]
    )


def test_buffers_need_no_alignment():
    offsets = text(b"?" + bytes(packed(I32, 0, 1, 3)))
    moved = ctypes.c_char.from_buffer(offsets, 1)
    column = Column(b"u", [None, ctypes.pointer(moved), text(b"abc")], 2)
    assert MAP.locate_many(column).to_pylist() == located(["a", "bc"])


def test_numbers_changed_at_random_give_errors_or_nodes():
    chance = random.Random(9)
    refused = taken = 0
    for _ in range(2000):
        offsets = sorted(chance.randrange(21) for _ in range(9))
        # never the last row
        offsets[chance.randrange(8)] = chance.choice(
            [-1, 0, 7, 20, 21, 1 << 30, -(1 << 31), (1 << 31) - 1]
        )
        items = [
            (
                chance.choice([13, 15, 20, 21, -1, 1 << 30]),
                chance.choice([0, 0, 0, 1, -1]),
                chance.choice([0, 0, 1, 5, 7, 8, -1, 1 << 30]),
            )
            for _ in range(2)
        ]
        codes = [chance.choice([0, 1, 2, 2, 3, -1, -128, 127]) for _ in range(3)]
        for column in [
            Column(b"u", [None, packed(I32, *offsets), DATA], 8),
            Column(b"Z", [None, packed(I64, *offsets), DATA], 8),
            Column(b"vu", [None, views(*items), DATA, packed(I64, 20)], 2),
            Column(
                b"c",
                [None, packed(ctypes.c_int8, *codes)],
                3,
                dictionary=strings(b"a", b"b", b"c"),
            ),
        ]:
            try:
                taken += len(MAP.locate_many(column)) == column.length
            except stead.InvalidError:
                refused += 1
            assert column.is_released()
    assert refused > 500 and taken > 500 and refused + taken == 8000


def test_keys_are_let_go():
    class Owner(bytearray):
        pass

    owner = Owner(b"frankanna")
    gone = weakref.ref(owner)
    column = pyarrow.Array.from_buffers(
        pyarrow.string(),
        2,
        [None, pyarrow.py_buffer(packed(I32, 0, 5, 9)), pyarrow.py_buffer(owner)],
    )
    nodes = MAP.locate_many(column)
    del owner
    assert gone() is not None
    del column
    gc.collect()
    assert gone() is None
    assert nodes.to_pylist() == located(["frank", "anna"])


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"),
    reason="there is no /proc to read the memory in use from",
)


@needs_proc
def test_nothing_leaks():
    keys = [f"key{i}" if i % 9 else None for i in range(20_000)]
    table = pyarrow.table({"key": keys})
    inputs = [
        pyarrow.array(keys),
        coded(keys),
        pyarrow.chunked_array([keys, keys]),
        polars.Series(keys),
        pandas.Series(keys, dtype=object),
        numpy.array([key or "" for key in keys], dtype="S"),
        keys,
    ]

    def rounds(count):
        for _ in range(count):
            for keys in inputs:
                nodes = MAP.locate_many(keys)
                if isinstance(nodes, stead.Array):
                    (
                        pyarrow.array(nodes),
                        nodes.__arrow_c_array__(),
                        nodes.__arrow_c_schema__(),
                    )
            with pytest.raises(TypeError):
                MAP.locate_many(pyarrow.table({"a": table["key"], "b": table["key"]}))
            MAP.locate_many(table.to_reader())
        gc.collect()

    rounds(5)
    before = resident()
    rounds(40)  # if each result leaked: 40 * 8 * 80 kB = 25 MB
    assert resident() - before < 6 << 20


PEAK = """
import sys
import numpy, pyarrow, stead

count, kind = 10_000_000, sys.argv[1]
map = stead.Map.build({"name": "m", "node": [{"name": f"db{i}"} for i in range(12)]})
numbers = numpy.random.default_rng(1).integers(0, 1 << 63, count)
data = pyarrow.py_buffer(numbers)
binary = pyarrow.Array.from_buffers(pyarrow.binary(8), count, [None, data])
if kind in ("binary", "copied"):
    keys = pyarrow.Array.from_buffers(pyarrow.binary(), count, [None, pyarrow.py_buffer(numpy.arange(0, 8 * count + 1, 8, dtype="i4")), data])
elif kind == "fixed":
    keys = binary
elif kind == "chunks":
    keys = pyarrow.chunked_array([binary.slice(i, 100_000) for i in range(0, count, 100_000)])
elif kind == "view":
    views = numpy.zeros(count, dtype=[("length", "i4"), ("key", "i8"), ("rest", "i4")])
    views["length"], views["key"] = 8, numbers
    keys = pyarrow.Array.from_buffers(pyarrow.binary_view(), count, [None, pyarrow.py_buffer(views.tobytes())])
    del views
elif kind == "numpy":
    keys = numbers.view("S8")

def field(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name + ":"))

map.locate_many(keys[:10])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is what is in use now
before = field("VmRSS")
assert field("VmHWM") - before < 1 << 20
if kind == "copied":
    keys = pyarrow.concat_arrays([keys[:1], keys[1:]])
nodes = map.locate_many(keys)
print(field("VmHWM") - before, len(nodes))
"""


def peak(kind):
    """Returns by how much ten million keys of 8 bytes raise the peak of memory: 40 MB
    for the numbers of the nodes, and any other memory.
    """
    done = subprocess.run(
        [sys.executable, "-c", PEAK, kind],
        capture_output=True,
        text=True,
        check=False,
    )
    if "clear_refs" in done.stderr:
        pytest.skip("/proc/self/clear_refs cannot be written here")
    assert done.returncode == 0, done.stderr
    grown, count = map(int, done.stdout.split())
    assert count == 10_000_000
    return grown


@needs_proc
@pytest.mark.parametrize("kind", ["binary", "fixed", "chunks", "view", "numpy"])
def test_the_peak_grows_by_the_result_only(kind):
    assert 38 << 20 <= peak(kind) < 40_000_000 + (6 << 20)


@needs_proc
def test_a_copy_of_the_keys_would_be_seen():
    assert peak("copied") > 100_000_000


# -- other threads, and Ctrl-C


def test_other_threads_run_meanwhile():
    column = pyarrow.array([b"%08d" % i for i in range(1_000_000)])
    fixed = numpy.array(column.to_pylist(), dtype="S")
    for keys in [
        column,
        pyarrow.chunked_array([column.slice(0, 500_000), column.slice(500_000)]),
        fixed,
    ]:
        assert others_run_while(MAP.locate_many, keys)


def test_ctrl_c_ends_a_long_batch():
    chunk = pyarrow.array([b"%08d" % i for i in range(1_000_000)])
    keys = pyarrow.chunked_array([chunk] * 1000)  # minutes
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        MAP.locate_many(keys)
    assert time.perf_counter() - start < 20


def test_threads_may_share_a_map_a_column_and_a_result():
    column = pyarrow.array(SOME_NULL * 200)
    nodes, expected, wrong = MAP.locate_many(column), located(SOME_NULL * 200), []

    def check():
        for _ in range(5):
            if (
                MAP.locate_many(column).to_pylist() != expected
                or pyarrow.array(nodes).to_pylist() != expected
            ):
                wrong.append(threading.current_thread().name)

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pandas_without_pyarrow_gives_its_keys():
    script = """
        import sys
        sys.modules["pyarrow"] = None
        import pandas, stead
        map = stead.Map.build({"name": "m", "node": [{"name": "db1"}, {"name": "db2"}]})
        keys = pandas.Series(["frank", None, "anna"])
        assert map.locate_many(keys).to_pylist() == [map.locate("frank"), None, map.locate("anna")], keys.dtype
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_column_has_rows_as_a_list_has():
    column = MAP.locate_many(polars.Series(SOME_NULL))
    rows = located(SOME_NULL)
    assert list(column) == column[:] == column.to_pylist() == rows and len(
        column
    ) == len(rows)
    assert (
        [column[i] for i in range(len(rows))] == rows
        and column[-1] == rows[-1]
        and column[10:2:-3] == rows[10:2:-3]
    )
    assert (
        column[numpy.int64(3)] == rows[3]
        and rows[0] in column
        and None in column
        and "elsewhere" not in column
    )
    for row in (len(rows), -len(rows) - 1, 2**70):
        with pytest.raises(IndexError, match="there is no row"):
            column[row]
    with pytest.raises(TypeError):
        column["0"]
    assert stead.Array[str | None].__origin__ is stead.Array


# -- rules for the source


def test_unsafe_code_lives_in_one_file():
    sources = pathlib.Path(__file__).parents[1].joinpath("src").glob("*.rs")
    found = [
        path.name
        for path in sources
        if any(
            word in path.read_text()
            for word in ["unsafe {", "unsafe fn", "unsafe impl", "allow(unsafe"]
        )
    ]
    assert found == ["arrow.rs"]

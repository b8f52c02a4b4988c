"""`Map.locate_all_many` gives the nodes of `locate_all` for each key: lists for a list,
and an Arrow column of lists for a column.
"""

import copy
import gc
import pickle

import numpy
import pandas
import polars
import pyarrow
import pytest
import stead
from producers import Column, strings

MAP = stead.Map.build(
    {
        "name": "copies",
        "replicas": 3,
        "node": [{"name": f"db{i}", "weight": 1 + i / 2} for i in range(9)],
    }
)
NAMES = [node.name for node in MAP.nodes]
# a named policy has another number of nodes than the others
VARIED = stead.Map.build(
    {
        "name": "varied",
        "replicas": 2,
        "node": [{"name": f"db{i}"} for i in range(5)],
        "policy": [{"name": "hot", "nodes": ["db4", "db1", "db2", "db0"]}],
        "pin": [{"key": "frank", "policy": "hot"}],
    }
)
KEYS = ["frank", "", "Zoë", "x" * 300, *(f"key{i}" for i in range(200))]
SOME_NULL = [None if i % 6 == 1 else key for i, key in enumerate(KEYS)]


def located(keys, map=MAP):
    return [None if key is None else map.locate_all(key) for key in keys]


@pytest.mark.parametrize("map", [MAP, VARIED], ids=["three copies", "varied"])
@pytest.mark.parametrize("keys", [KEYS, SOME_NULL, [None] * 9, ["frank"], []])
@pytest.mark.parametrize(
    "make",
    [
        pyarrow.array,
        lambda keys: pyarrow.array(keys, pyarrow.string()).dictionary_encode(),
        lambda keys: polars.Series(keys, dtype=polars.String),
        lambda keys: pandas.Series(keys, dtype=object),
        lambda keys: numpy.array(keys, dtype=object),
    ],
    ids=["arrow", "dictionary", "polars", "pandas", "numpy"],
)
def test_a_column_gives_the_lists_of_its_keys(make, keys, map):
    nodes = map.locate_all_many(make(keys))
    assert isinstance(nodes, stead.Array)
    assert nodes.to_pylist() == located(keys, map)
    assert len(nodes) == len(keys) and nodes.null_count == keys.count(None)
    taken = pyarrow.array(nodes)
    taken.validate(full=True)
    assert taken.to_pylist() == located(keys, map)
    assert taken.type == pyarrow.list_(
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    )
    numbers = pyarrow.array(map.locate_all_many(make(keys), numbers=True))
    numbers.validate(full=True)
    assert numbers.type == pyarrow.list_(pyarrow.int32())
    names = [node.name for node in map.nodes]
    assert numbers.to_pylist() == [
        row and [names.index(name) for name in row] for row in located(keys, map)
    ]


def test_the_pin_of_the_other_map_has_four_nodes():
    assert len(VARIED.locate_all("frank")) == 4 and len(VARIED.locate_all("anna")) == 2


@pytest.mark.parametrize("make", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_a_list_gives_lists(make):
    assert MAP.locate_all_many(make(SOME_NULL)) == located(SOME_NULL)
    assert MAP.locate_all_many(make(["frank"]), numbers=True) == [
        [NAMES.index(name) for name in MAP.locate_all("frank")]
    ]


def test_the_lists_of_a_list_are_not_shared():
    first, second = MAP.locate_all_many(["frank", "frank"])
    first.append("more")
    assert second == MAP.locate_all("frank")


def test_what_is_no_batch_is_refused_as_by_locate_many():
    with pytest.raises(TypeError, match="keys are a list or an array of keys, not one"):
        MAP.locate_all_many("frank")
    with pytest.raises(
        TypeError, match=r"^key 1: a key is str or bytes, not float; if "
    ):
        MAP.locate_all_many(["a", 1.5])
    with pytest.raises(TypeError, match="keys are Arrow int64"):
        MAP.locate_all_many(pyarrow.array([1]))


# -- uses of the result


def test_rows_can_be_read_as_those_of_a_list():
    nodes, rows = MAP.locate_all_many(pyarrow.array(SOME_NULL)), located(SOME_NULL)
    assert list(nodes) == nodes[:] == rows and nodes[-1] == rows[-1]
    assert nodes[10:2:-3] == rows[10:2:-3] and nodes[1] is None
    with pytest.raises(IndexError, match="there is no row"):
        nodes[len(rows)]
    assert repr(nodes) == f"<stead.Array of {len(rows)} lists of node names, 34 null>"
    numbers = MAP.locate_all_many(pyarrow.array(["a"]), numbers=True)
    assert repr(numbers) == "<stead.Array of 1 lists of node numbers, 0 null>"


@pytest.mark.parametrize("numbers", [False, True])
def test_a_column_of_lists_is_copied_and_pickled(numbers):
    nodes = MAP.locate_all_many(pyarrow.array(SOME_NULL), numbers=numbers)
    again = pickle.loads(pickle.dumps(nodes))
    assert again.to_pylist() == nodes.to_pylist() and again.null_count == 34
    assert pyarrow.array(again).equals(pyarrow.array(nodes))
    assert copy.copy(nodes) is nodes and copy.deepcopy(nodes) is nodes


@pytest.mark.parametrize(
    "offsets",
    [
        b"",
        b"\0\0\0",
        b"\1\0\0\0\2\0\0\0",  # does not start at 0
        b"\0\0\0\0\1\0\0\0",  # ends before the numbers
        b"\0\0\0\0\3\0\0\0\2\0\0\0",  # decreases
        b"\0\0\0\0\xff\xff\xff\xff\2\0\0\0",
    ],
)
def test_a_damaged_pickle_of_lists_is_refused(offsets):
    nodes = MAP.locate_all_many(pyarrow.array(["a"]), numbers=True)
    make, (width, _, bits, names, _) = nodes.__reduce__()
    with pytest.raises(stead.InvalidError, match="damaged"):
        make(width, b"\0" * 8, bits, names, offsets)
    assert make(width, b"\0" * 8, bits, names, b"\0\0\0\0\2\0\0\0")[0] == [0, 0]


def test_numpy_and_pandas_take_lists():
    nodes, rows = MAP.locate_all_many(pyarrow.array(SOME_NULL)), located(SOME_NULL)
    for taken in [nodes.to_numpy(), numpy.asarray(nodes), numpy.array(nodes)]:
        assert taken.dtype == object and taken.shape == (len(rows),)
        assert taken.tolist() == rows
    with pytest.raises(ValueError, match="a column of lists needs a copy"):
        nodes.__array__(copy=False)
    assert nodes.to_pandas().tolist() == rows
    assert nodes.to_arrow().to_pylist() == rows


def test_polars_takes_lists():
    nodes = MAP.locate_all_many(polars.Series(SOME_NULL))
    assert polars.Series("nodes", nodes).to_list() == located(SOME_NULL)


def test_pyarrow_takes_lists_without_a_copy_and_casts_them():
    nodes = MAP.locate_all_many(pyarrow.array(KEYS))
    first, second = pyarrow.array(nodes), pyarrow.array(nodes)
    assert [buffer and buffer.address for buffer in first.buffers()] == [
        buffer and buffer.address for buffer in second.buffers()
    ]
    text = first.cast(pyarrow.list_(pyarrow.string()))
    assert text.to_pylist() == located(KEYS)


def test_an_exported_column_outlives_its_parts_and_leaks_nothing():
    def taken():
        map = stead.Map.from_bytes(MAP.to_bytes())
        nodes = map.locate_all_many(pyarrow.array(SOME_NULL))
        nodes.__arrow_c_array__(), nodes.__arrow_c_schema__()  # nobody takes these
        return pyarrow.array(nodes)

    column = taken()
    gc.collect()
    column.validate(full=True)
    assert column.to_pylist() == located(SOME_NULL)
    # the items alone, after their lists are gone
    items = column.flatten()
    del column
    gc.collect()
    items.validate(full=True)
    assert len(items) == 3 * (len(SOME_NULL) - 34)


def test_a_column_of_keys_is_released_once():
    column = strings(b"a", b"bc")
    assert MAP.locate_all_many(column).to_pylist() == located(["a", "bc"])
    assert column.is_released()
    bad = Column(b"u", [None, None, None], 1)
    with pytest.raises(stead.InvalidError):
        MAP.locate_all_many(bad)
    assert bad.is_released()

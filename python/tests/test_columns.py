"""Array as a column of NumPy, pandas and pyarrow, and its pickle."""

import copy
import multiprocessing
import pickle
import subprocess
import sys

import numpy
import pandas
import polars
import pyarrow
import pytest
import stead
from conftest import NAMES, fleet_of

KEYS = [f"user{i}" for i in range(100)]
# null at the first row, at the last one, and at both sides of a byte's end
HOLES = [None if i in (0, 7, 8, 63, 99) else key for i, key in enumerate(KEYS)]


def columns(members, numbers):
    """A column without null, one with nulls, one of nulls alone, and an empty one."""
    for keys in (KEYS, HOLES, [None, None], []):
        yield members.locate_many(
            pyarrow.array(keys, pyarrow.string()), numbers=numbers
        )


@pytest.fixture
def positions(members, grown):
    """A column of positions, as affects_many returns them."""
    return stead.Plan.between(members, grown).affects_many(pyarrow.array(KEYS)).key


def test_every_conversion_has_the_rows_of_the_list(members, positions):
    for numbers in (False, True):
        for column in columns(members, numbers):
            rows = column.to_pylist()
            assert column.to_arrow().to_pylist() == rows
            assert numpy.asarray(column).tolist() == rows
            assert column.to_numpy().tolist() == rows
            assert [
                None if pandas.isna(row) else row for row in column.to_pandas().tolist()
            ] == rows
            assert polars.Series(column).to_list() == rows
            assert pyarrow.array(column).to_pylist() == rows
    rows = positions.to_pylist()
    assert len(rows) > 10 and positions[0] == rows[0]
    for found in (
        positions.to_arrow().to_pylist(),
        numpy.asarray(positions).tolist(),
        positions.to_numpy().tolist(),
        positions.to_pandas().tolist(),
        polars.Series(positions).to_list(),
    ):
        assert found == rows


def test_types_are_those_that_the_docstrings_promise(members, positions):
    names, holes = list(columns(members, False))[:2]
    numbers, gaps = list(columns(members, True))[:2]
    assert numbers.to_numpy().dtype == numpy.int32
    assert positions.to_numpy().dtype == numpy.int64
    assert names.to_numpy().dtype == holes.to_numpy().dtype == object
    assert isinstance(gaps.to_numpy(), numpy.ma.MaskedArray)
    assert numpy.asarray(gaps).dtype == object
    assert isinstance(names.to_pandas().dtype, pandas.CategoricalDtype)
    assert list(names.to_pandas().cat.categories) == NAMES[:3]
    assert str(numbers.to_pandas().dtype) == "int32"
    assert str(gaps.to_pandas().dtype) == "Int32"
    assert positions.to_arrow().type == pyarrow.int64()
    assert numpy.asarray(names, dtype="U2").dtype == "<U2"
    assert numpy.asarray(numbers, dtype="i8").dtype == numpy.int64
    assert repr(positions).startswith("<stead.Array of ")
    assert repr(positions).endswith(" positions, 0 null>")


def test_numbers_are_not_copied_and_cannot_be_changed(members):
    column = members.locate_many(pyarrow.array(KEYS), numbers=True)
    for array in (
        column.to_numpy(),
        numpy.asarray(column),
        numpy.array(column, copy=False),
    ):
        assert array.ctypes.data == column.to_numpy().ctypes.data
        with pytest.raises(ValueError):
            array[0] = 1
    assert numpy.array(column).ctypes.data != column.to_numpy().ctypes.data
    # the array keeps the memory alive
    array, rows = column.to_numpy(), column.to_pylist()
    del column
    assert array.tolist() == rows
    for needs_a_copy in (
        lambda: numpy.array(
            members.locate_many(pyarrow.array(KEYS), numbers=True), "i8", copy=False
        ),
        lambda: numpy.array(members.locate_many(pyarrow.array(KEYS)), copy=False),
    ):
        with pytest.raises(ValueError, match="needs a copy"):
            needs_a_copy()


def test_a_column_pickles_without_its_map(members, positions):
    for numbers in (False, True):
        for column in columns(members, numbers):
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                again = pickle.loads(pickle.dumps(column, protocol))
                assert again.to_pylist() == column.to_pylist()
                assert again.null_count == column.null_count
                assert pyarrow.array(again).equals(pyarrow.array(column))
            assert copy.copy(column) is copy.deepcopy(column) is column
    again = pickle.loads(pickle.dumps(positions))
    assert again.to_pylist() == positions.to_pylist() and repr(again) == repr(positions)


def test_a_column_goes_through_multiprocessing(members):
    keys = [pyarrow.array(KEYS), pyarrow.array(HOLES)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(members.locate_many, keys)
    assert [column.to_pylist() for column in found] == [
        members.locate_many(column).to_pylist() for column in keys
    ]


def test_a_damaged_pickle_is_refused(members):
    make, (width, numbers, bits, names, _) = members.locate_many(
        pyarrow.array(HOLES)
    ).__reduce__()
    assert make(width, numbers, bits, names).null_count == 5
    for wrong in (
        (3, numbers, bits, names),
        (width, numbers[:-1], bits, names),
        (width, numbers, bits[:-1], names),
        (width, numbers[:4], bits, names),
        (width, b"\x03\0\0\0" + numbers[4:], bits, names),
        (width, b"\xff\xff\xff\xff" + numbers[4:], bits, names),
        (width, numbers, bits, ()),
        (8, numbers, None, names),
    ):
        with pytest.raises(stead.InvalidError, match="damaged"):
            make(*wrong)


def test_a_module_that_is_missing_is_named(members):
    column = members.locate_many(numpy.array(KEYS))
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import pickle, sys\n"
                "sys.modules['numpy'] = sys.modules['pandas'] = None\n"
                "sys.modules['pyarrow'] = None\n"
                "column = pickle.load(sys.stdin.buffer)\n"
                "for name in 'to_numpy', 'to_pandas', 'to_arrow':\n"
                "    try: getattr(column, name)()\n"
                "    except ModuleNotFoundError as error: print(error)\n"
            ),
        ],
        input=pickle.dumps(column),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    assert said.splitlines() == [
        f"stead.Array.to_{name} needs {module}, which is not installed: pip install {module}"
        for name, module in (
            ("numpy", "numpy"),
            ("pandas", "pandas"),
            ("arrow", "pyarrow"),
        )
    ]


def test_affects_many_says_the_same_of_every_kind_of_batch(members, grown):
    plan = stead.Plan.between(members, grown)
    rows = [
        (i, move.from_, move.to)
        for i, key in enumerate(HOLES)
        if key is not None
        for move in plan.affects(key)
    ]
    assert len(rows) > 10 and plan.affects_many(HOLES) == rows
    assert plan.affects_many(iter(HOLES)) == plan.affects_many(tuple(HOLES)) == rows
    assert plan.affects_many([]) == []
    assert type(plan.affects_many(HOLES)[0]) is stead.Affected
    for column in (
        pyarrow.array(HOLES),
        pyarrow.array(HOLES).dictionary_encode(),
        pyarrow.chunked_array([HOLES[:50], HOLES[50:]]),
        polars.Series(HOLES),
        pandas.Series(HOLES),
        numpy.array(HOLES, dtype=object),
    ):
        found = plan.affects_many(column)
        assert type(found) is stead.AffectedColumns
        assert list(zip(*(part.to_pylist() for part in found))) == rows


def test_affects_many_has_a_row_for_each_copy_that_moves():
    def fleet(replicas):
        return fleet_of(*NAMES, replicas=replicas)

    one, three = stead.Map.build(fleet(1)), None
    three = stead.Map.build(fleet(3), one)
    for plan, added in (
        (stead.Plan.between(one, three), True),
        (stead.Plan.between(three, one), False),
    ):
        rows = plan.affects_many(KEYS)
        assert rows == [
            (i, move.from_, move.to)
            for i, key in enumerate(KEYS)
            for move in plan.affects(key)
        ]
        alone = [row for row in rows if (row.from_ if added else row.to) is None]
        assert len(alone) == 2 * len(KEYS)
        found = plan.affects_many(pyarrow.array(KEYS))
        assert (found.from_ if added else found.to).null_count == len(alone)
        assert list(zip(*(part.to_pylist() for part in found))) == rows


def test_a_copy_of_a_column_needs_no_map_either(members):
    map = stead.Map.from_bytes(members.to_bytes())
    column = map.locate_many(pyarrow.array(KEYS))
    rows = column.to_pylist()
    del map
    assert column.to_numpy().tolist() == rows


def test_django_that_is_missing_is_named():
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys\n"
                "sys.modules['asgiref'] = sys.modules['django'] = None\n"
                "try: import stead.django\n"
                "except ModuleNotFoundError as error: print(error.name, '/', error)\n"
            ),
        ],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    assert said == (
        "django / stead.django needs Django, which is not installed: pip install django\n"
    )

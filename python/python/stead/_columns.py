"""Converts an Array to the columns of NumPy, pandas and pyarrow. Each of these is
imported only when it is asked for.
"""

# types are checked on machines that may not have pandas and pyarrow
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._stead import Array


def _needed(module: str, method: str) -> Any:
    """Imports a module, or says which method needs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ModuleNotFoundError(
            f"stead.Array.{method} needs {module}, which is not installed: "
            f"pip install {module}",
            name=module,
        ) from None


def _parts(column: Array[Any], method: str) -> tuple[Any, Any, Any, Any]:
    """Returns NumPy, the numbers of the rows (which are not copied), which rows are
    null (None if none is), and the names of the nodes (None for numbers).
    """
    numpy = _needed("numpy", method)
    memory, bits, names, _ = column._parts()
    numbers = numpy.asarray(memory)
    nulls = None
    if bits is not None:
        valid = numpy.unpackbits(
            numpy.frombuffer(bits, numpy.uint8), count=len(numbers), bitorder="little"
        )
        nulls = valid == 0
    if names is not None:
        # NumPy would make an array of fixed-size strings of the tuple
        objects = numpy.empty(len(names), dtype=object)
        objects[:] = names
        names = objects
    return numpy, numbers, nulls, names


def _lists(column: Array[Any], method: str) -> Any:
    """Returns a column of lists as an array of objects; None if the rows are no lists."""
    if column._parts()[3] is None:
        return None
    # NumPy would make an array of two dimensions of lists that are equally long
    found = _needed("numpy", method).empty(len(column), dtype=object)
    for row, items in enumerate(column):
        found[row] = items
    return found


def to_numpy(column: Array[Any]) -> Any:
    """Array.to_numpy."""
    lists = _lists(column, "to_numpy")
    if lists is not None:
        return lists
    numpy, numbers, nulls, names = _parts(column, "to_numpy")
    if names is None:
        return numbers if nulls is None else numpy.ma.MaskedArray(numbers, mask=nulls)
    found = names.take(numbers)
    if nulls is not None:
        found[nulls] = None
    return found


def array(column: Array[Any], dtype: Any, copy: bool | None) -> Any:
    """Array.__array__. Nulls among numbers are None, as in a list: NumPy drops masks."""
    lists = _lists(column, "__array__")
    if lists is not None:
        if copy is False:
            raise ValueError("a column of lists needs a copy to become an array")
        return lists if dtype is None else lists.astype(dtype)
    numpy, numbers, nulls, names = _parts(column, "__array__")
    if names is None and nulls is None:
        if copy or (dtype is not None and numpy.dtype(dtype) != numbers.dtype):
            if copy is False:
                raise ValueError(
                    f"the column is {numbers.dtype}, so an array of "
                    f"{numpy.dtype(dtype)} needs a copy"
                )
            return numbers.astype(dtype or numbers.dtype)
        return numbers
    if copy is False:
        raise ValueError(
            "a column of names or with nulls needs a copy to become an array"
        )
    found = to_numpy(column) if names is not None else numbers.astype(object)
    if names is None:
        found[nulls] = None
    return found if dtype is None else found.astype(dtype)


def to_arrow(column: Array[Any]) -> Any:
    """Array.to_arrow."""
    return _needed("pyarrow", "to_arrow").array(column)


def to_pandas(column: Array[Any]) -> Any:
    """Array.to_pandas."""
    pandas = _needed("pandas", "to_pandas")
    lists = _lists(column, "to_pandas")
    if lists is not None:
        return pandas.Series(lists)
    _, numbers, nulls, names = _parts(column, "to_pandas")
    if names is None:
        if nulls is None:
            return pandas.Series(numbers)
        return pandas.Series(pandas.arrays.IntegerArray(numbers.copy(), nulls))
    codes = numbers.copy()
    if nulls is not None:
        codes[nulls] = -1
    return pandas.Series(pandas.Categorical.from_codes(codes, names))

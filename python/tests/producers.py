"""Hand-made producers of Arrow columns, with ctypes. They count their releases, and can
be malformed in any way that a test needs.

The structs are those of "The Arrow C data interface" and "The Arrow C stream
interface". They are written down here again, independently of the module under test.
"""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_int64,
    c_void_p,
    cast,
    py_object,
    pythonapi,
)


class Schema(Structure):
    """struct ArrowSchema"""


Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))),
    ("dictionary", POINTER(Schema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]


class Array(Structure):
    """struct ArrowArray"""


Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(Array))),
    ("dictionary", POINTER(Array)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]


class Stream(Structure):
    """struct ArrowArrayStream"""

    _fields_ = [
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


_release = CFUNCTYPE(None, c_void_p)
_fill = CFUNCTYPE(c_int, c_void_p, c_void_p)
_explain = CFUNCTYPE(c_void_p, c_void_p)
_new = pythonapi.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_pointer = pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [c_void_p, c_char_p]
_kept = []  # capsules outlive their producers, so callbacks that C may still call are never freed


def _address(callback):
    _kept.append(callback)
    return cast(callback, c_void_p).value


def _capsule(struct, name):
    def destroy(capsule):
        inside = type(struct).from_address(_pointer(capsule, name))
        if inside.release:
            _release(inside.release)(addressof(inside))

    _kept.append((struct, name))
    return _new(addressof(struct), name, _address(_release(destroy)))


class Column:
    """Arrays of one type. `array_fields` overwrite fields of the array's struct, and
    `schema_fields` fields of the schema's struct.
    """

    def __init__(
        self,
        format,
        buffers,
        length,
        *,
        null_count=0,
        offset=0,
        dictionary=None,
        children=(),
        array_fields=None,
        schema_fields=None,
    ):
        self.format, self.buffers, self.length = format, buffers, length
        self.null_count, self.offset, self.dictionary, self.children = (
            null_count,
            offset,
            dictionary,
            children,
        )
        self.array_fields, self.schema_fields = array_fields or {}, schema_fields or {}
        self.made = self.released = 0
        self.schemas_made = self.schemas_released = 0

    def schema(self):
        """A new struct."""
        made = Schema(
            format=self.format, name=b"", flags=2, n_children=len(self.children)
        )
        inner = [child.schema() for child in self.children]
        if inner:
            made.children = (POINTER(Schema) * len(inner))(
                *(ctypes.pointer(child) for child in inner)
            )
        if self.dictionary:
            inner.append(self.dictionary.schema())
            made.dictionary = ctypes.pointer(inner[-1])
        for name, value in self.schema_fields.items():
            setattr(made, name, value)
        self.schemas_made += 1

        def release(address):
            assert Schema.from_address(address).release, "a schema was released twice"
            self.schemas_released += 1
            for child in inner:
                _release(child.release)(addressof(child))
            Schema.from_address(address).release = None

        made.release = _address(_release(release))
        _kept.append((made, inner))
        return made

    def array(self):
        """A new struct."""
        made = Array(
            self.length,
            self.null_count,
            self.offset,
            len(self.buffers),
            len(self.children),
        )
        if self.buffers:
            made.buffers = (c_void_p * len(self.buffers))(
                *(buffer and cast(buffer, c_void_p).value for buffer in self.buffers)
            )
        inner = [child.array() for child in self.children]
        if inner:
            made.children = (POINTER(Array) * len(inner))(
                *(ctypes.pointer(child) for child in inner)
            )
        if self.dictionary:
            inner.append(self.dictionary.array())
            made.dictionary = ctypes.pointer(inner[-1])
        for name, value in self.array_fields.items():
            setattr(made, name, value)
        self.made += 1

        def release(address):
            assert Array.from_address(address).release, "an array was released twice"
            self.released += 1
            for child in inner:
                _release(child.release)(addressof(child))
            Array.from_address(address).release = None

        made.release = _address(_release(release))
        _kept.append((made, inner, self.buffers))
        return made

    def __arrow_c_array__(self, requested_schema=None):
        return _capsule(self.schema(), b"arrow_schema"), _capsule(
            self.array(), b"arrow_array"
        )

    def is_released(self):
        """Returns whether every struct that was made was released exactly once."""
        inner = [*self.children, *([self.dictionary] if self.dictionary else [])]
        own = (
            self.made == self.released
            and self.schemas_made == self.schemas_released
            and self.made > 0
        )
        return own and all(column.is_released() for column in inner)


class Chunks:
    """A stream of columns. If `fails` is given, the stream ends with that error, a
    number and a text. `fields` overwrite fields of the struct.
    """

    def __init__(self, *columns, fails=None, fails_at_once=False, **fields):
        self.columns, self.fails, self.fails_at_once, self.fields = (
            columns,
            fails,
            fails_at_once,
            fields,
        )
        self.made = self.released = 0

    def __arrow_c_stream__(self, requested_schema=None):
        left = list(self.columns)
        text = (
            ctypes.create_string_buffer(self.fails[1])
            if self.fails and self.fails[1] is not None
            else None
        )

        def get_schema(_, out):
            if self.fails_at_once:
                return self.fails[0]
            _move(left[0].schema() if left else Schema(), out)
            return 0

        def get_next(_, out):
            if not left and self.fails:
                return self.fails[0]
            _move(left.pop(0).array() if left else Array(), out)
            return 0

        def release(address):
            assert Stream.from_address(address).release, "a stream was released twice"
            self.released += 1
            Stream.from_address(address).release = None

        made = Stream(
            _address(_fill(get_schema)),
            _address(_fill(get_next)),
            _address(_explain(lambda _: text and addressof(text))),
            _address(_release(release)),
        )
        for name, value in self.fields.items():
            setattr(made, name, value)
        self.made += 1
        return _capsule(made, b"arrow_array_stream")

    def is_released(self):
        """Returns whether the stream and everything that it yielded was released
        exactly once.
        """
        return self.made == self.released == 1 and all(
            column.made == column.released for column in self.columns
        )


def _move(struct, address):
    ctypes.memmove(address, addressof(struct), ctypes.sizeof(struct))


def packed(kind, *numbers):
    """A buffer of numbers of a ctypes type."""
    return (kind * len(numbers))(*numbers)


def text(data):
    """A buffer of bytes."""
    return ctypes.create_string_buffer(data, max(len(data), 1))


def strings(*keys, null_count=0, schema_fields=None, **array_fields):
    """A well-formed column of strings, which a test can change."""
    offsets, data = [0], b""
    for key in keys:
        data += key
        offsets.append(len(data))
    return Column(
        b"u",
        [None, packed(ctypes.c_int32, *offsets), text(data)],
        len(keys),
        null_count=null_count,
        array_fields=array_fields,
        schema_fields=schema_fields,
    )

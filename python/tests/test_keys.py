"""Keys: a str stands for its UTF-8, bytes are used as they are, nothing else is a
key.
"""

import array
import decimal
import enum
import hashlib
import pathlib
import uuid

import numpy
import pandas
import pytest
import stead


def point(key):
    return int.from_bytes(hashlib.md5(key).digest()[:8], "big")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "frank",
        "frank\n",
        "Frank",
        "Zoë",
        "Zoe\u0308",
        "名前",
        "\U0001f600",
        "a\0b",
        "\0",
        "\ufeffa",
        "\x7f\x80\xff",
        " a ",
    ],
)
def test_text_is_its_utf8_and_never_changed(members, text):
    assert members.point(text) == members.point(text.encode()) == point(text.encode())
    assert (
        members.locate(text)
        == members.locate(text.encode())
        == members.locate_point(point(text.encode()))
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"a\0b",
        b"\xff\xfe",
        bytes(range(256)),
        b"\xed\xa0\x80",
        b"frank\r\n",
    ],
)
def test_bytes_are_themselves(members, data):
    assert members.point(data) == point(data)


def test_long_keys_are_keys(members):
    for length in [*range(200), 2**16, 2**20 + 1]:
        assert (
            members.point(b"x" * length)
            == members.point("x" * length)
            == point(b"x" * length)
        )


def test_every_method_takes_the_same_keys(members, grown):
    plan = stead.Plan.between(members, grown)
    for method in (
        members.locate,
        members.locate_all,
        members.point,
        lambda key: members.prefer(key, 2),
        plan.affects,
        stead.path,
    ):
        assert method("Zoë") == method("Zoë".encode())
        for wrong in (
            None,
            1,
            1.5,
            [b"a"],
            ("a",),
            object(),
            bytearray(b"a"),
            memoryview(b"a"),
            array.array("b"),
            pathlib.Path("a"),
            uuid.UUID(int=1),
            decimal.Decimal(1),
            numpy.int64(1),
            numpy.array([b"a"]),
        ):
            with pytest.raises(TypeError, match="a key is str or bytes, not "):
                method(wrong)
        with pytest.raises(UnicodeEncodeError):
            method("\udc80")


def test_the_message_says_what_to_write(members):
    for key, words in (
        (7, r"not int; write str\(key\)"),
        (bytearray(b"a"), r"not bytearray; write bytes\(key\)"),
        (memoryview(b"a"), r"not memoryview; write bytes\(key\)"),
        (numpy.int64(7), r"not int64; write str\(key\)"),
        (pandas.Series([7], dtype="Int64")[0], r"not int64; write str\(key\)"),
        (True, "not bool; write the text that other programs use as the key"),
        (numpy.bool_(True), "not bool_?; write the text that other programs use"),
        (1.0, r"not float; if it is a whole number, write str\(int\(key\)\)"),
        (numpy.float64(1), r"not float64; if it is a whole number, write str\(int"),
        (numpy.float32(1), r"not float32; if it is a whole number, write str\(int"),
        (None, "not NoneType; it is a missing value: leave it out"),
        (float("nan"), "not float; it is a missing value: leave it out"),
        (pandas.NA, "not NAType; it is a missing value: leave it out"),
        (pandas.NaT, "not NaTType; it is a missing value: leave it out"),
        (["a"], "not list; it holds several keys: pass one of them"),
        (numpy.array(["a"]), "not ndarray; it holds several keys: pass one of them"),
        (pandas.Series(["a"]), "not Series; it holds several keys: pass one of them"),
        (uuid.UUID(int=1), "not UUID$"),
    ):
        with pytest.raises(TypeError, match=words):
            members.locate(key)
        if key is not None:  # which is null in a list
            with pytest.raises(TypeError, match=f"^key 1: a key is .*{words}"):
                members.locate_many(["a", key])


def test_classes_made_from_str_and_bytes_are_keys(members):
    class Text(str):
        def __str__(self):
            return "something else"

    class Data(bytes):
        def __bytes__(self):
            return b"something else"

    class Who(str, enum.Enum):
        FRANK = "frank"

    assert (
        members.point(Text("frank"))
        == members.point(Data(b"frank"))
        == members.point(Who.FRANK)
        == point(b"frank")
    )
    assert (
        members.point(numpy.str_("frank"))
        == members.point(numpy.bytes_(b"frank"))
        == point(b"frank")
    )
    assert members.point(numpy.array(["frank", "bob"])[0]) == point(b"frank")


def test_a_file_name_that_is_no_utf8_goes_as_bytes(members):
    import os

    name = os.fsdecode(b"caf\xe9")
    with pytest.raises(UnicodeEncodeError, match=r"write os\.fsencode\(name\)$"):
        members.locate(name)
    assert members.point(os.fsencode(name)) == point(b"caf\xe9")

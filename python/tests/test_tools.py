"""path and survey."""

import hashlib
import inspect
import json
import pathlib
import subprocess

import pytest
import stead


def test_paths_are_those_of_the_manual():
    for key, options, path in (
        ("frank", {}, "38/37/60/frank"),
        ("frank\n", {}, "18/40/72/frank=0a"),
        ("Frank", {}, "57/28/119/=46rank"),
        ("Frank", {"fold": "ascii"}, "38/37/60/frank"),
        ("", {}, "20/29/12/="),
        (b"\0\xff", {"levels": [1]}, "0/=00=ff"),
        ("frank", {"fold": "none", "levels": "64,64,128"}, "38/37/60/frank"),
        ("../..", {"levels": (256,)}, None),
    ):
        found = stead.path(key, **options)
        assert found == (path or f"{hashlib.md5(b'../..').digest()[0]}/=2e=2e=2f=2e=2e")


def test_levels_are_a_str_or_an_iterable_of_numbers():
    import numpy

    for levels in (
        "16,8",
        [16, 8],
        (16, 8),
        iter([16, 8]),
        range(16, 7, -8),
        numpy.array([16, 8]),
    ):
        assert stead.path("frank", levels=levels) == "6/5/frank"
    assert stead.path("frank", levels=None) == stead.path("frank")


def test_options_go_by_name_only():
    for call in (
        lambda: stead.path("frank", [16]),
        lambda: stead.survey([], 5),
        lambda: stead.Map.build("", None, "5%"),
    ):
        with pytest.raises(TypeError, match="positional"):
            call()


def test_the_survey_is_that_of_the_program(program, tmp_path):
    names = [f"user{i}" for i in range(5000)] + ["", "Zoë", "frank", "x y", "123"]
    (tmp_path / "names").write_bytes(b"".join(name.encode() + b"\n" for name in names))

    def said(*options):
        return json.loads(
            subprocess.run(
                [program, "survey", tmp_path / "names", "--json", *options],
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )

    assert (
        stead.survey(names)
        == stead.survey(iter([name.encode() for name in names]))
        == said()
    )
    assert stead.survey(names, members=10**9, levels=[64, 64]) == said(
        "--members", "1000000000", "--levels", "64,64"
    )


def test_a_survey_of_much_text_is_the_same_in_any_portions():
    long, names = "x" * 3_000_000, ["a", "", "b" * 2_000_000]
    assert stead.survey([long, *names])["names"] == 4
    assert stead.survey([])["names"] == 0 and stead.survey([""] * 10)["names"] == 10


def test_one_name_is_not_an_iterable_of_names():
    for names in ("frank", b"frank"):
        with pytest.raises(TypeError, match="iterable of keys, not one"):
            stead.survey(names)
    for names in (["frank", 1], [None], 5):
        with pytest.raises(TypeError):
            stead.survey(names)


def test_help_shows_signatures():
    assert str(inspect.signature(stead.path)) == "(key, *, levels=None, fold='none')"
    assert (
        str(inspect.signature(stead.survey)) == "(names, *, members=None, levels=None)"
    )
    assert (
        str(inspect.signature(stead.Map.build))
        == "(fleet, previous=None, *, max_move=None, name=None)"
    )
    assert str(inspect.signature(stead.Map.open)) == "(path, *, copy=False)"


@pytest.mark.parametrize("levels", [None, [64, 64, 128], "16,16", [256] * 16])
def test_path_name_is_the_inverse_of_path(levels):
    named = {} if levels is None else {"levels": levels}
    for key in (
        b"frank",
        b"Frank",
        b"",
        b"a/b",
        b"\xff\x00",
        "Zo\u00eb".encode(),
        b"=" * 80,
    ):
        path = stead.path(key, **named)
        for given in (path, path.encode(), f"/srv/x/{path}", pathlib.Path(path)):
            assert stead.path_name(given, **named) == key
    for wrong in ("", "frank", "1/2/3/frank", stead.path("bob", **named) + "x"):
        with pytest.raises(stead.PathNameError):
            stead.path_name(wrong, **named)
    with pytest.raises(stead.InvalidError):
        stead.path_name("38/37/60/frank", levels=[0])
    with pytest.raises(TypeError, match="path is a str or an os.PathLike, not int"):
        stead.path_name(7)

"""One tree of exceptions; each has its status, and the attributes of Python's own
exceptions.
"""

import copy
import errno
import os
import pickle
import subprocess
import sys

import pytest
import stead
from conftest import fleet_of

BASES = {
    stead.InvalidError: (1, ValueError),
    stead.FleetError: (2, ValueError),
    stead.ImpossibleError: (3, ValueError),
    stead.FormatError: (4, ValueError),
    stead.DigestError: (5, stead.FormatError),
    stead.VersionError: (6, Exception),
    stead.IdentityError: (7, ValueError),
    stead.NotFoundError: (8, FileNotFoundError),
    stead.IoError: (9, OSError),
    stead.ConflictError: (10, Exception),
    stead.UncertainError: (11, OSError),
    stead.ChangedError: (12, Exception),
    stead.PathNameError: (13, ValueError),
    stead.InternalError: (15, Exception),
    stead.PermissionDeniedError: (16, PermissionError),
    stead.OutOfMemoryError: (17, MemoryError),
    stead.GuardedError: (18, Exception),
}


def raised(call, *arguments, **named):
    with pytest.raises(stead.Error) as caught:
        call(*arguments, **named)
    return caught.value


def test_the_tree_is_whole():
    named = {
        value
        for name, value in vars(stead).items()
        if isinstance(value, type) and issubclass(value, stead.Error)
    }
    assert named == {stead.Error, *BASES}
    assert {status for status, _ in BASES.values()} == set(map(int, stead.Status))
    for cls, (status, base) in BASES.items():
        assert (
            issubclass(cls, base)
            and cls.status == status
            and isinstance(cls.status, stead.Status)
        )
        assert cls.__module__ == "stead" and cls.__doc__
    assert not issubclass(stead.Error, (ValueError, OSError))
    assert not issubclass(stead.OutOfMemoryError, OSError)


@pytest.mark.parametrize("cls", BASES, ids=lambda cls: cls.__name__)
def test_every_class_pickles_and_copies(cls):
    error = cls("what is wrong")
    if isinstance(error, OSError):
        error.errno, error.filename = errno.ENOSPC, "m.map"
    error.note = "kept"
    for again in (
        pickle.loads(pickle.dumps(error)),
        copy.copy(error),
        copy.deepcopy(error),
    ):
        assert (
            type(again) is cls
            and str(again) == "what is wrong"
            and again.note == "kept"
        )
        for name in "errno", "filename", "strerror":
            assert getattr(again, name, None) == getattr(error, name, None)


def test_invalid(members):
    for wrong in (
        lambda: members.prefer("a", -1),
        lambda: members.locate_point(-1),
        lambda: members.locate_point(2**64),
        lambda: members.locate_point(2**200),
        lambda: stead.Map.build(fleet_of("a"), max_move="5"),
        lambda: stead.path("a", levels=[0]),
        lambda: stead.path("a", levels=[2**70]),
        lambda: stead.path("a", levels=[]),
        lambda: stead.path("a", levels="64,,64"),
        lambda: stead.path("a", fold="ASCII"),
        lambda: stead.survey([], members=-1),
    ):
        assert type(raised(wrong)) is stead.InvalidError
    for wrong in (
        lambda: members.prefer("a", "2"),
        lambda: members.prefer("a", 1.0),
        lambda: members.locate_point(1.5),
        lambda: members.locate_point("0"),
        lambda: stead.path("a", levels=64),
        lambda: stead.path("a", levels=[1.5]),
        lambda: stead.Map.build(fleet_of("a"), max_move=0.05),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_fleet_and_impossible():
    assert (
        type(raised(stead.Map.build, "name = 'm'\nnode = [{name = 'a'}, {name = 'a'}]"))
        is stead.FleetError
    )
    error = raised(stead.Map.build, fleet_of("a", "b", max_slices=1))
    assert (
        type(error) is stead.ImpossibleError
        and error.status == stead.Status.IMPOSSIBLE == 3
    )


def test_format_digest_and_version(members, tmp_path):
    data = members.to_bytes()
    error = raised(stead.Map.from_bytes, b"not a map at all")
    assert type(error) is stead.FormatError and "not a stead map" in str(error)
    assert (
        type(raised(stead.Map.from_bytes, data[:-1] + bytes([data[-1] ^ 1])))
        is stead.DigestError
    )
    assert (
        type(raised(stead.Map.from_bytes, data[:8] + b"\x63" + data[9:]))
        is stead.VersionError
    )
    path = tmp_path / "m.map"
    path.write_bytes(b"x" * 1000)
    assert str(raised(stead.Map.open, path)).startswith(f"{path}: ")


def test_identity(members):
    other = stead.Map.build({"name": "others", "node": [{"name": "a"}]})
    assert type(raised(stead.Plan.between, members, other)) is stead.IdentityError
    assert (
        type(
            raised(
                stead.Map.build, {"name": "others", "node": [{"name": "a"}]}, members
            )
        )
        is stead.IdentityError
    )
    assert (
        type(raised(stead.Map.build, fleet_of("n1", hash="sha1"), members))
        is stead.IdentityError
    )


def test_files(tmp_path, members):
    missing = raised(stead.Map.open, tmp_path / "none.map")
    assert (
        type(missing) is stead.NotFoundError
        and missing.errno == errno.ENOENT
        and missing.status is stead.Status.NOT_FOUND
        and missing.filename == str(tmp_path / "none.map")
        and missing.strerror == os.strerror(errno.ENOENT)
        and str(missing).startswith(f"cannot open {tmp_path}")
    )
    with pytest.raises(FileNotFoundError) as caught:
        stead.Map.build_file(tmp_path / "none.toml")
    assert caught.value.filename == str(tmp_path / "none.toml")
    # a name that is not UTF-8, as os.fsdecode returns it
    odd = str(tmp_path / "m\udcff.map")
    assert raised(stead.Map.open, odd).filename == odd
    with pytest.raises(OSError) as caught:
        members.save(tmp_path / "none" / "m.map")
    assert isinstance(caught.value, stead.NotFoundError)
    (tmp_path / "file").write_text("")
    error = raised(members.save, tmp_path / "file" / "m.map")
    assert (
        type(error) is stead.IoError
        and error.errno == errno.ENOTDIR
        and "\n" not in str(error)
    )
    (tmp_path / "link").symlink_to(tmp_path / "m.map")
    assert type(raised(members.publish, tmp_path / "link")) is stead.InvalidError


def test_a_refused_file_is_a_permission_error(tmp_path, members):
    path = tmp_path / "m.map"
    members.save(path)
    path.chmod(0)
    child = os.fork()
    if not child:
        # root may read everything; the user nobody may not
        try:
            if os.geteuid() == 0:
                os.chmod(tmp_path, 0o755)
                os.setuid(65534)
            stead.Map.open(path)
        except PermissionError as error:
            os._exit(
                0
                if type(error) is stead.PermissionDeniedError
                and error.errno == errno.EACCES
                and error.status == stead.Status.PERMISSION
                and error.filename == str(path)
                else 2
            )
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_path_name():
    error = raised(stead.path, "x" * 256)
    assert type(error) is stead.PathNameError and "256 bytes" in str(error)


def test_long_messages_are_whole():
    name = "x" * 100_000
    error = raised(stead.Map.build, {"name": "m", "node": [{"name": "a"}], name: 1})
    assert str(error).startswith(f"fleet['{name[:100]}") and str(error).count("\n") == 0
    deep = raised(stead.Map.open, "d/" * 1000 + "none.map")
    assert "d/" * 1000 in str(deep)


def test_an_unknown_status_is_no_crash():
    from stead._errors import _error

    with pytest.raises(ValueError):
        _error(99, "", 0, None)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda m: stead.Map.build(fleet_of("a"), m, max_move=0.05),
            'max_move is a str, not float; for 5 percent, write max_move="5%"',
        ),
        (
            lambda m: stead.Map.build(fleet_of("a"), m, max_move=0.0625),
            'max_move is a str, not float; for 6.25 percent, write max_move="6.25%"',
        ),
        (
            lambda m: stead.Map.build_file("f.toml", m, max_move=5),
            'max_move is a str, not int; write a percentage, such as max_move="5%"',
        ),
        (
            lambda m: stead.Map.build(fleet_of("a"), "members.map"),
            (
                "previous is a stead.Map, not str; open the file first: "
                "stead.Map.open(path)"
            ),
        ),
        (
            lambda m: stead.Plan.between(m, fleet_of("a")),
            (
                "new is a stead.Map, not dict; build the map of a fleet first: "
                "stead.Map.build(fleet)"
            ),
        ),
        (
            lambda m: stead.Plan.between(m.to_bytes(), m),
            (
                "old is a stead.Map, not bytes; make a map of the bytes first: "
                "stead.Map.from_bytes(data)"
            ),
        ),
        (lambda m: stead.Plan.between(None, m), "old is a stead.Map, not NoneType"),
        (
            lambda m: m.publish("m.map", "old.map"),
            (
                "previous is a stead.Map, not str; open the file first: "
                "stead.Map.open(path)"
            ),
        ),
        (lambda m: m.publish(None), "path is a str or an os.PathLike, not NoneType"),
        (lambda m: m.save(7), "path is a str or an os.PathLike, not int"),
        (
            lambda m: stead.Map.open(b"m.map"),
            (
                "path is a str or an os.PathLike of str, not bytes; write "
                "os.fsdecode(path). The bytes of a map are read by stead.Map.from_bytes"
            ),
        ),
        (
            lambda m: stead.Map.open_uncached(open),
            "path is a str or an os.PathLike, not builtin_function_or_method",
        ),
        (
            lambda m: stead.Map.open("m.map", copy=1),
            "copy is True or False, not int",
        ),
        (
            lambda m: stead.Map.from_bytes("m.map"),
            (
                "data is the bytes of a map, not str; open a file with "
                "stead.Map.open(path)"
            ),
        ),
        (
            lambda m: stead.Map.from_bytes(bytearray(b"x")),
            "data is the bytes of a map, not bytearray; write bytes(data)",
        ),
        (lambda m: m.same("m.map"), "other is a stead.Map, not str; open the file"),
        (
            lambda m: m.node(7),
            "name is a str, not int; a node is looked up by its name",
        ),
        (lambda m: m.attribute(None, "a"), "node is a str, not NoneType"),
        (lambda m: m.label("n1", b"zone"), "name is a str, not bytes"),
        (
            lambda m: m.locate_many({"frank"}),
            (
                "keys are a list or an array of keys, not set, which has no order: write "
                "sorted(keys)"
            ),
        ),
        (lambda m: m.locate_many(frozenset()), "not frozenset, which has no order"),
        (lambda m: m.locate_many([], numbers=1), "numbers is True or False, not int"),
        (
            lambda m: stead.Plan.between(m, m).affects_many("frank"),
            "keys are a list or an array of keys, not one str: write [key]",
        ),
        (
            lambda m: stead.Plan.between(m, m).report(moves="yes"),
            "moves is True or False, not str",
        ),
        (
            lambda m: m.prefer("frank", "1"),
            "n is an int, not str; convert it with int()",
        ),
        (lambda m: m.prefer("frank", 1.0), "n is an int, not float"),
        (lambda m: m.locate_point("7"), "point is an int, not str; convert it with"),
        (lambda m: m.locate_all_point(None), "point is an int, not NoneType"),
        (
            lambda m: stead.Map.rollback("m.map", "1"),
            "epoch is an int, not str; convert it with int()",
        ),
        (
            lambda m: stead.Map.rollback("m.map", 1, back=3),
            'back is a str, not int; write "exact" or "least"',
        ),
        (lambda m: stead.Map.open_epoch("m.map", 1.5), "epoch is an int, not float"),
        (lambda m: stead.path("frank", levels=[1.5]), "a level is an int, not float"),
        (lambda m: stead.survey([], members="1"), "members is an int, not str"),
        (
            lambda m: stead.path("frank", fold=True),
            'fold is a str, not bool; write "none" or "ascii"',
        ),
    ],
)
def test_a_wrong_type_is_named_with_the_argument_and_the_remedy(members, call, said):
    with pytest.raises(TypeError) as caught:
        call(members)
    assert said in str(caught.value), str(caught.value)


def test_a_ctrl_c_in_a_path_is_not_lost(members):
    class Path:
        def __fspath__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stead.Map.open(Path())


def test_a_limit_of_memory_refuses_before_it_begins():
    """In another process: the limit is read once, when it is first needed."""
    code = (
        "import stead\n"
        "try:\n"
        "    stead.Map.build({'name': 'm', 'node': [{'name': 'a'}]})\n"
        "except stead.OutOfMemoryError as error:\n"
        "    print(error.status, isinstance(error, MemoryError), error)\n"
        "else:\n"
        "    print('built')\n"
    )

    def said(limit):
        environment = {**os.environ, "STEAD_MEMORY_LIMIT": limit}
        return subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    assert said("1000000") == "built\n"
    refused = said("1000")
    assert refused.startswith("17 True this may need up to "), refused
    assert "the limit is 1000; raise the limit (STEAD_MEMORY_LIMIT)" in refused

"""One tree of exceptions; each has its status, and the attributes of Python's own
exceptions.
"""

import copy
import errno
import os
import pickle

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
    stead.PermissionDeniedError: (9, PermissionError),
    stead.ConflictError: (10, Exception),
    stead.UncertainError: (11, OSError),
    stead.ChangedError: (12, Exception),
    stead.PathNameError: (13, ValueError),
    stead.InternalError: (15, Exception),
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


@pytest.mark.parametrize("cls", BASES, ids=lambda cls: cls.__name__)
def test_every_class_pickles_and_copies(cls):
    error = cls("what is wrong")
    if isinstance(error, OSError):
        error.errno = errno.ENOSPC
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
        assert getattr(again, "errno", None) == getattr(error, "errno", None)


def test_invalid(members):
    for wrong in (
        lambda: members.prefer("a", -1),
        lambda: members.locate_point(-1),
        lambda: members.locate_point(2**64),
        lambda: members.locate_point(2**200),
        lambda: stead.build(fleet_of("a"), max_move="5"),
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
        lambda: stead.build(fleet_of("a"), max_move=0.05),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_fleet_and_impossible():
    assert (
        type(raised(stead.build, "name = 'm'\nnode = [{name = 'a'}, {name = 'a'}]"))
        is stead.FleetError
    )
    error = raised(stead.build, fleet_of("a", "b", max_slices=1))
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
    other = stead.build({"name": "others", "node": [{"name": "a"}]})
    assert type(raised(stead.plan, members, other)) is stead.IdentityError
    assert (
        type(raised(stead.build, {"name": "others", "node": [{"name": "a"}]}, members))
        is stead.IdentityError
    )
    assert (
        type(raised(stead.build, fleet_of("n1", hash="sha1"), members))
        is stead.IdentityError
    )


def test_files(tmp_path, members):
    missing = raised(stead.Map.open, tmp_path / "none.map")
    assert (
        type(missing) is stead.NotFoundError
        and missing.errno == errno.ENOENT
        and missing.status is stead.Status.NOT_FOUND
    )
    with pytest.raises(FileNotFoundError):
        stead.build(tmp_path / "none.toml")
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
                and error.status == 9
                else 2
            )
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_path_name():
    error = raised(stead.path, "x" * 256)
    assert type(error) is stead.PathNameError and "256 bytes" in str(error)


def test_long_messages_are_whole():
    name = "x" * 100_000
    error = raised(stead.build, {"name": "m", "node": [{"name": "a"}], name: 1})
    assert str(error).startswith(f"fleet['{name[:100]}") and str(error).count("\n") == 0
    deep = raised(stead.Map.open, "d/" * 1000 + "none.map")
    assert "d/" * 1000 in str(deep)


def test_an_unknown_status_is_no_crash():
    from stead._errors import _error

    with pytest.raises(ValueError):
        _error(99, "", 0)

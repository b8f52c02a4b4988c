"""The exceptions: one tree under `Error`, with one class for each status. The status
numbers are the same in every language.
"""

from __future__ import annotations

import enum
import os
from typing import Any


class Status(enum.IntEnum):
    """The status number of a failure, the same in every language.

    >>> import stead
    >>> try:
    ...     stead.Map.from_bytes(b"not a map")
    ... except stead.Error as error:
    ...     error.status
    <Status.FORMAT: 4>
    """

    INVALID = 1
    FLEET = 2
    IMPOSSIBLE = 3
    FORMAT = 4
    DIGEST = 5
    VERSION = 6
    IDENTITY = 7
    NOT_FOUND = 8
    IO = 9
    CONFLICT = 10
    UNCERTAIN = 11
    CHANGED = 12
    NAME = 13
    # 14 was never raised, and is not reused
    INTERNAL = 15
    PERMISSION = 16
    MEMORY = 17
    GUARDED = 18


class Error(Exception):
    """A failure of stead. Its text is one line that says what is wrong, where, and what
    to do.

    >>> import stead
    >>> try:
    ...     stead.Map.build("name = 'm'\\n[[node]]\\nname = 'a'\\nweight = -1")
    ... except stead.Error as error:
    ...     print(error)
    fleet:4: weight -1 has a sign; weights go from 0 to 1000000
    """

    status: Status = Status.INTERNAL
    """The status of the failure."""


class InvalidError(Error, ValueError):
    """An argument is out of range."""

    status = Status.INVALID


class FleetError(Error, ValueError):
    """A fleet contains a mistake. The message begins with file and line or, for a fleet
    that is a dict, with the place in the dict.
    """

    status = Status.FLEET


class ImpossibleError(Error, ValueError):
    """A fleet is well formed, but no map can satisfy it."""

    status = Status.IMPOSSIBLE


class FormatError(Error, ValueError):
    """The bytes are not a map, or their structure is damaged."""

    status = Status.FORMAT


class DigestError(FormatError):
    """The digest of a map does not match its bytes."""

    status = Status.DIGEST


class VersionError(Error):
    """The map needs a newer stead."""

    status = Status.VERSION


class IdentityError(Error, ValueError):
    """The map belongs to another cluster, has another hash or key rule, or is not the newest of its
    history.
    """

    status = Status.IDENTITY


class IoError(Error, OSError):
    """A system call to read or write failed. `errno` and `strerror` say why, and
    `filename` says for which file, as in every OSError.
    """

    status = Status.IO

    def __str__(self) -> str:
        # OSError.__str__ would replace the message by one of errno and filename
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError.__reduce__ loses attributes that were not among the arguments
        known = {
            name: getattr(self, name) for name in ("errno", "strerror", "filename")
        }
        return _again, (type(self), self.args, known, self.__dict__)


class NotFoundError(IoError, FileNotFoundError):
    """A file is missing."""

    status = Status.NOT_FOUND


class PermissionDeniedError(IoError, PermissionError):
    """The operating system denied access."""

    status = Status.PERMISSION


class ConflictError(Error):
    """Another process changed the map meanwhile; nothing was written."""

    status = Status.CONFLICT


class UncertainError(IoError):
    """The new map is in place, but may not survive a power cut. Do not publish
    again; sync the disk.
    """

    status = Status.UNCERTAIN


class ChangedError(Error):
    """A file was overwritten in place while it was open. Maps that are open keep their
    answers, except memory-mapped ones.
    """

    status = Status.CHANGED


class PathNameError(Error, ValueError):
    """A key has no path: its file name would be too long."""

    status = Status.NAME


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory for the call."""

    status = Status.MEMORY


class GuardedError(Error):
    """The change does harm that a guard forbids, and the guard was not lifted."""

    status = Status.GUARDED


class InternalError(Error):
    """Stead has a bug: please report it."""

    status = Status.INTERNAL


_CLASSES: dict[Status, type[Error]] = {
    cls.status: cls
    for cls in (
        InvalidError,
        FleetError,
        ImpossibleError,
        FormatError,
        DigestError,
        VersionError,
        IdentityError,
        NotFoundError,
        IoError,
        ConflictError,
        UncertainError,
        ChangedError,
        PathNameError,
        InternalError,
        PermissionDeniedError,
        OutOfMemoryError,
        GuardedError,
    )
}


def _error(status: int, message: str, os_errno: int, filename: str | None) -> Error:
    """Returns the exception for a failure. The extension module calls this."""
    error = _CLASSES[Status(status)](message)
    if isinstance(error, OSError):
        if os_errno:
            error.errno, error.strerror = os_errno, os.strerror(os_errno)
        error.filename = filename
    return error


def _again(
    cls: type[IoError],
    arguments: tuple[Any, ...],
    known: dict[str, Any],
    others: dict[str, Any],
) -> IoError:
    """Rebuilds a pickled exception."""
    error = cls(*arguments)
    for name, value in known.items():
        setattr(error, name, value)
    error.__dict__.update(others)
    return error

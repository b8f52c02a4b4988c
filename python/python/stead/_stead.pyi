import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import GenericAlias
from typing import (
    Any,
    Generic,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

from ._records import Move, Node, Slice

__all__ = [
    "Array",
    "Map",
    "Plan",
    "_Moves",
    "__version__",
    "_same_nodes",
    "build",
    "path",
    "plan",
    "survey",
]
__version__: str

_Key: TypeAlias = str | bytes
_Path: TypeAlias = str | os.PathLike[str]
_Fleet: TypeAlias = str | bytes | os.PathLike[str] | Mapping[str, Any]
_Levels: TypeAlias = str | Iterable[SupportsIndex]
_Fold: TypeAlias = Literal["none", "ascii"]
_T_co = TypeVar("_T_co", covariant=True)

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...

class _NumpyArray(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Column: TypeAlias = _ArrowStream | _ArrowArray | _NumpyArray

@final
class Map:
    """Where keys live: an immutable, verified map, safe to ask from any number of threads.

    Made by Map.open, Map.from_bytes or build. A key is str, which stands for its UTF-8, or bytes,
    or of a class made from them; anything else is a TypeError. Two maps are equal when their
    digests are, and hash so. A map pickles as its bytes, so it works where its file is not; a copy
    is the map itself.

    >>> members = stead.build({"name": "members", "node": [{"name": "db1"}, {"name": "db2"}]})
    >>> members
    <stead.Map "members" epoch 1, 2 nodes, 2 slices, f1c5f07a>
    >>> import pickle
    >>> pickle.loads(pickle.dumps(members)) == members
    True
    """
    @staticmethod
    def open(path: _Path, *, copy: bool = False) -> Map:
        """Opens a map file; costs one stat when this process has it open already and it is unchanged.

        path: str or os.PathLike. copy: read the file into memory whatever its size, so that nobody
        who truncates it in place can end this process. Without, files above 1 MiB are mapped, and
        all processes share them.

        A file that was replaced by renaming is opened anew, while maps that are open keep their
        answers: so a server may open its map for each request.

        Raises NotFoundError, PermissionDeniedError, IoError, FormatError, DigestError,
        VersionError, and ChangedError when the file was overwritten in place.

        >>> stead.Map.open("members.map").name
        'members'
        """
    @staticmethod
    def from_bytes(data: bytes) -> Map:
        """The map of the bytes of a map file, wherever they come from. They are verified.

        Raises FormatError, DigestError and VersionError.

        >>> stead.Map.from_bytes(members.to_bytes()) == members
        True
        """
    @staticmethod
    def build(
        fleet: _Fleet, previous: Map | None = None, *, max_move: str | None = None
    ) -> Map:
        """The same as stead.build.

        >>> stead.Map.build({"name": "m", "node": [{"name": "a"}]}).locate("frank")
        'a'
        """
    def locate(self, key: _Key) -> str:
        """The name of the node that a key lives on: its primary, when there are several.

        Raises TypeError when the key is neither str nor bytes, and UnicodeEncodeError when it is a
        str with lone surrogates, which have no UTF-8; for the name of a file give
        os.fsencode(name).

        >>> members.locate("frank"), members.locate(b"bob")
        ('db1', 'db2')
        """
    @overload
    def locate_many(
        self, keys: _Column, *, numbers: Literal[False] = False
    ) -> Array[str | None]:
        """The names of the nodes that many keys live on, in their order: `locate` for a whole batch,
        other threads running meanwhile.

        - A list, or another iterable of `str`, `bytes` and None, gives a list; None stays None.
        - Anything of Arrow's PyCapsule interface gives an `Array`: arrays and streams of pyarrow,
          polars, pandas, DuckDB and others, of string, large_string, string_view, binary,
          large_binary, binary_view, fixed_size_binary, or a dictionary of one of these; also tables
          and record batches of one column. Null stays null. The keys are read where they are, not
          copied: memory grows by 4 bytes a key, and a bit if one is null.
        - A NumPy array of S, U, StringDType or object, and a pandas or polars series of objects,
          gives an `Array`. None, NaN, NA and masked are null. An item of S ends where NumPy says:
          NULs at its end do not count. The array is read in blocks of 1 MiB.

        A key is `str`, which stands for its UTF-8, or `bytes`, also in columns. With `numbers`, the
        numbers of the nodes in `Map.nodes` in place of their names.

        Raises TypeError for what is no batch of keys, InvalidError for a column that is malformed,
        IoError for a stream that fails.

        >>> members.locate_many(["frank", b"bob", None])
        ['db1', 'db2', None]
        >>> members.locate_many(["frank", b"bob", None], numbers=True)
        [0, 1, None]
        """
    @overload
    def locate_many(
        self, keys: _Column, *, numbers: Literal[True]
    ) -> Array[int | None]: ...
    @overload
    def locate_many(
        self, keys: Iterable[_Key | None], *, numbers: Literal[False] = False
    ) -> list[str | None]: ...
    @overload
    def locate_many(
        self, keys: Iterable[_Key | None], *, numbers: Literal[True]
    ) -> list[int | None]: ...
    def locate_all(self, key: _Key) -> list[str]:
        """The names of all nodes of a key, primary first: as many as the map has replicas, or as its
        policy lists.

        >>> members.locate_all("frank")
        ['db1']
        """
    def prefer(self, key: _Key, n: SupportsIndex) -> list[str]:
        """Up to n distinct nodes for a key, best first: its own, then those that take over when they
        are down.

        All clients get the same list; it is shorter only when the map has fewer nodes.

        Raises InvalidError when n is below 0.

        >>> members.prefer("frank", 2)
        ['db1', 'db2']
        """
    def point(self, key: _Key) -> int:
        """The point of a key, from 0 to 2**64 - 1: its hash, by which it is located.

        >>> f"{members.point('frank'):016x}"
        '26253c50741faa9c'
        """
    def locate_point(self, point: SupportsIndex) -> list[str]:
        """The names of all nodes of a point, primary first.

        Raises InvalidError when the point is not from 0 to 2**64 - 1.

        >>> members.locate_point(0), members.locate_point(2**64 - 1)
        (['db1'], ['db2'])
        """
    def publish(self, path: _Path, previous: Map | None = None) -> None:
        """Publishes the map to those who open path: whole or not at all, with its history beside it.

        previous: the map that this one was built on, which must still be the one at path; None when
        there is no map yet.

        The history is in path + ".history", the newest 32 epochs, each a map file; `stead history`
        and `stead rollback` know it.

        Raises ConflictError when somebody was faster: nothing was changed then, build again on the
        map that is there now. IoError and its kin: nothing was changed either. UncertainError: the
        map is in place, and may be lost in a power cut. InvalidError: path is a symbolic link.

        >>> before = stead.Map.open("members.map")
        >>> fleet["node"].append({"name": "db4"})
        >>> after = stead.build(fleet, before)
        >>> after.publish("members.map", before)
        >>> stead.Map.open("members.map").epoch
        2
        """
    def save(self, path: _Path) -> None:
        """Writes a copy of the map to a file, whole or not at all, in place of what is there; it knows
        no history and no conflicts.

        Raises IoError and its kin, UncertainError, and InvalidError when path is a symbolic link.

        >>> members.save("copy.map")
        """
    def to_bytes(self) -> bytes:
        r"""The bytes of the map's file. A map of a fleet with a secret has the secret in them.

        >>> members.to_bytes()[:5]
        b'\x89STD\r'
        """
    def same(self, other: Map) -> bool:
        """Whether two maps are equal but for epoch and parent, so that publishing the one over the
        other would change nothing.

        >>> again = stead.build(fleet, members)
        >>> again == members, again.same(members)
        (False, True)
        """
    def report(self) -> dict[str, Any]:
        """What is in the map as a dict, in the shape of `stead diff --json` (docs/cli.md) for a map
        that changes nothing: each node's weight, share and points, domains and their caps,
        violations.

        Points are decimal strings there, since 2**64 does not fit a number of JSON.

        >>> [(node["name"], node["points"]) for node in members.report()["nodes"]]
        [('db1', '9223372036854775808'), ('db2', '9223372036854775808')]
        """
    @property
    def name(self) -> str:
        """The name of the cluster, str."""
    @property
    def epoch(self) -> int:
        """The number of this version, from 1."""
    @property
    def digest(self) -> bytes:
        """SHA-256 of the map, 32 bytes: the identity of this version."""
    @property
    def parent(self) -> bytes:
        """The digest of the map that this one was built on, 32 bytes; all zero for a first map."""
    @property
    def replicas(self) -> int:
        """How many nodes hold each point."""
    @property
    def hash(self) -> str:
        """How keys become points: "md5", "sha1", "xxh3" or "siphash"; in the map of an adopted ring
        also the others of docs/placement.md.
        """
    @property
    def key(self) -> str:
        """What of a key is hashed, as a fleet writes it: "whole", or "first 1 segments" and so on.

        >>> members.key
        'whole'
        """
    @property
    def spread(self) -> tuple[str, ...]:
        """The labels over which copies are kept apart, outermost first: a tuple of str."""
    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, by name: a tuple of Node."""
    @property
    def slices(self) -> tuple[Slice, ...]:
        """The slices that locate reads, pins applied, by point: a tuple of Slice, which together cover
        the whole space.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Map: ...
    def __deepcopy__(self, memo: object, /) -> Map: ...

@final
class Plan(Sequence[Move]):
    """What differs between two maps: a sequence of Move, one for each copy that moves, comes or goes,
    by first point.

    Made by plan. Two plans are equal when their maps are. A plan pickles as its two maps.

    >>> plan = stead.plan(members, grown)
    >>> plan
    <stead.Plan "members" epoch 1 -> 2, 2 moves, 33.333333 %>
    >>> plan[0].from_, plan[0].to, len(plan), plan[-1] in plan
    ('db1', 'db3', 2, True)
    >>> sum(move.last - move.first + 1 for move in plan) == plan.moved
    True
    """
    @property
    def old(self) -> Map:
        """The map before."""
    @property
    def new(self) -> Map:
        """The map after."""
    @property
    def moved(self) -> int:
        """Copies of points that rebalancing moves: an int up to replicas * 2**64."""
    @property
    def lower_bound(self) -> int:
        """The least that any way to the new shares moves, in copies of points."""
    @property
    def by_hand(self) -> int:
        """What pins and policies changed by hand move, in copies of points."""
    @property
    def reordered(self) -> int:
        """Points whose primary changes although the one before still holds a copy."""
    @property
    def fraction(self) -> float:
        """Which part of all copies rebalancing moves, from 0 to 1."""
    def affects(self, key: _Key) -> list[Move]:
        """The moves that concern a key: a list of Move, empty for a key that stays.

        Raises TypeError when the key is neither str nor bytes.

        >>> plan = stead.plan(members, grown)
        >>> [(move.from_, move.to) for move in plan.affects("frank")]
        []
        >>> [(move.from_, move.to) for move in plan.affects("bob")]
        [('db2', 'db3')]
        """
    def report(self, *, moves: bool = False) -> dict[str, Any]:
        """The plan as a dict, in the shape of `stead diff --json` (docs/cli.md).

        moves: whether to list every move, too.

        >>> report = stead.plan(members, grown).report()
        >>> report["moved"] == report["lower_bound"], report["by_hand"]["points"]
        (True, '0')
        """
    def index(self, value: object, start: int = 0, stop: int = ...) -> int:
        """The place of a move in the plan. Raises ValueError when it is not there.

        >>> plan = stead.plan(members, grown)
        >>> plan.index(plan[1])
        1
        """
    def count(self, value: object) -> int:
        """How often a move is in the plan: 0 or 1.

        >>> stead.plan(members, grown).count("db3")
        0
        """
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Move: ...
    @overload
    def __getitem__(self, index: slice, /) -> tuple[Move, ...]: ...
    def __iter__(self) -> Iterator[Move]: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Plan: ...
    def __deepcopy__(self, memo: object, /) -> Plan: ...

@final
class Array(Generic[_T_co]):
    """The nodes of a column of keys, in their order, as a column of Arrow: node names,
    dictionary-encoded, or node numbers.

    `pyarrow.array`, `polars.Series`, `nanoarrow.Array` and all others that know Arrow's PyCapsule
    interface take it without a copy. It has int32 indices, and the dictionary has the names of all
    the map's nodes, so that an index is the number of its node in `Map.nodes`.

    It has rows as a list has, with None for null. (It does not call itself a Sequence: polars would
    copy it item by item.)

    >>> import numpy
    >>> nodes = members.locate_many(numpy.array(["frank", "bob"]))
    >>> nodes
    <stead.Array of 2 node names, 0 null>
    >>> list(nodes), nodes[-1], len(nodes), nodes[:1]
    (['db1', 'db2'], 'db2', 2, ['db1'])
    >>> import pyarrow
    >>> pyarrow.array(nodes).type
    DictionaryType(dictionary<values=string, indices=int32, ordered=0>)
    """
    def to_pylist(self) -> list[_T_co]:
        """The nodes as a list, with None for null.

        >>> import numpy
        >>> members.locate_many(numpy.array(["frank", None]), numbers=True).to_pylist()
        [0, None]
        """
    @property
    def null_count(self) -> int:
        """How many of the nodes are null, as their keys are."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> _T_co: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[_T_co]: ...
    def __iter__(self) -> Iterator[_T_co]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...

@final
class _Moves(Iterator[Move]):
    def __iter__(self) -> _Moves: ...
    def __next__(self) -> Move: ...

def build(
    fleet: _Fleet, previous: Map | None = None, *, max_move: str | None = None
) -> Map:
    """Builds the map of a fleet: the first one, or the next epoch of a map, from which as little as is
    possible moves.

    fleet: the text of a fleet file, TOML or JSON (str or bytes); the file itself (pathlib.Path); or
    a dict of the same shape (docs/fleet.md). In a dict, weights are int, Decimal, str, or float,
    which counts as its repr: 0.1 is exactly a tenth. At most 6 places are exact.

    previous: the map to build on. It must be of the same cluster. max_move: how much of all copies
    may move in this epoch, such as "5%". The map then carries its target, and building the same
    fleet on it takes the next step, until nothing is left to do (same).

    Nothing is written; the same fleet, previous map and options give the same map everywhere. Other
    threads run meanwhile.

    Raises FleetError, whose text begins with the line or the place in the dict; ImpossibleError
    when the fleet is well written and cannot be met; IdentityError when previous is of another
    cluster or hash; InvalidError for another max_move; NotFoundError and its kin for a file.

    >>> fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
    >>> before = stead.build(fleet)
    >>> fleet["node"].append({"name": "db3", "labels": {"zone": "b"}})
    >>> after = stead.build(fleet, before)
    >>> after.epoch, f"{stead.plan(before, after).fraction:.4f}"
    (2, '0.2857')
    >>> stead.build(fleet, before, max_move="10%").slices == after.slices
    False
    >>> wrong = {"name": "members", "node": [{"name": "db1", "wieght": 2}]}
    >>> stead.build(wrong)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    stead.FleetError: fleet['node'][0]['wieght']: unknown key `wieght` in `node`; known keys: ...
    """

def plan(old: Map, new: Map) -> Plan:
    """What differs between two maps of one cluster: before anything is done, or afterwards.

    Costs one pass over the slices of both; other threads run meanwhile.

    Raises IdentityError when the maps are of two clusters or have two hashes.

    >>> plan = stead.plan(members, grown)
    >>> plan.moved == plan.lower_bound
    True
    """

def _same_nodes(old: Map, new: Map) -> list[int | None]:
    """For each node of the old map, by its number there, the number of the same node in the new one,
    by name or by `formerly`; None for a node that is gone. Raises IdentityError.
    """

def path(key: _Key, *, levels: _Levels | None = None, fold: _Fold = "none") -> str:
    """The directories and the file name of a key, by docs/paths.md.

    key: str, which stands for its UTF-8, or bytes. levels: how many directories there are on each
    level, 1 to 16 numbers from 1 to 256; an iterable of int, or a str such as "64,64,128", which is
    the default. fold: "ascii" makes A-Z a-z first, for sites whose names ignore case; "none" is the
    default.

    The path is relative, has "/" between its parts and none but the characters a-z, 0-9, _ and =.

    Raises PathNameError when the file name would have more than 255 bytes, and InvalidError for
    wrong levels or fold.

    >>> stead.path("frank")
    '38/37/60/frank'
    >>> stead.path("Frank", levels=[16, 16])
    '9/12/=46rank'
    >>> stead.path("Frank", levels=[16, 16], fold="ascii")
    '6/5/frank'
    """

def survey(
    names: Iterable[_Key],
    *,
    members: SupportsIndex | None = None,
    levels: _Levels | None = None,
) -> dict[str, Any]:
    """How evenly the schemes of "Evenly distributing members by MD5" spread names.

    names: an iterable of keys; a file opened with "rb" keeps its line ends, so strip them. members:
    with a number also a projection of so many members onto the directories of levels, as in path.

    Gives a dict in the shape of `stead survey --json` (docs/cli.md). Ctrl-C ends it.

    Raises TypeError when a name is neither str nor bytes, and InvalidError for wrong members or
    levels.

    >>> report = stead.survey(["frank", "bob", "justin"], members=1_188_968)
    >>> report["names"], [scheme["scheme"] for scheme in report["schemes"]]
    (3, ['D1', 'D2', 'D3', 'N1', 'N2', 'M1', 'M2', 'M3'])
    >>> round(report["projection"]["levels"][-1]["members"], 2)
    2.27
    """

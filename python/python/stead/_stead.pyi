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
    final,
    overload,
)

from typing_extensions import Never, TypeVar

from ._records import Affected, AffectedColumns, Move, Node, Policy, Slice

__all__ = [
    "Array",
    "Map",
    "Pair",
    "Plan",
    "_Moves",
    "_Numbers",
    "__version__",
    "_array",
    "_check_map",
    "_same_nodes",
    "path",
    "path_name",
    "survey",
]
__version__: str

_Key: TypeAlias = str | bytes
_Path: TypeAlias = str | os.PathLike[str]
_Fleet: TypeAlias = str | bytes | Mapping[str, Any]
_Levels: TypeAlias = str | Iterable[SupportsIndex]
_Fold: TypeAlias = Literal["none", "ascii"]
_State: TypeAlias = Literal["old", "both_old_first", "both_new_first", "new"]
# a bare Array is one of names, as locate_many returns it
_T_co = TypeVar("_T_co", covariant=True, default=str | None)

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
    """A map says where keys live. It is immutable and verified, and any number of threads may use it.

    Map.build, Map.open and Map.from_bytes create maps. A key is bytes, or a str, which stands for
    its UTF-8, or an instance of a subclass of either; anything else raises a TypeError. Two maps
    are equal, and have the same hash, when their digests are equal. A map is pickled as the bytes
    of its file, so unpickling it needs no file. Copying a map returns the map itself.

    >>> members = stead.Map.build({"name": "members", "node": [{"name": "db1"}, {"name": "db2"}]})
    >>> members
    <stead.Map "members" epoch 1, 2 nodes, 2 slices, 0a311c38>
    >>> import pickle
    >>> pickle.loads(pickle.dumps(members)) == members
    True
    """
    # there is no Map(): a map is built, opened or made of bytes
    def __new__(cls, _: Never, /) -> Map: ...
    @staticmethod
    def open(path: _Path, *, copy: bool = False) -> Map:
        """Opens a map file. This costs one stat if the process has the file open already and it is
        unchanged.

        path: str or os.PathLike. copy: whether to read the file into memory whatever its size.
        Without it, files above 1 MiB are memory-mapped and shared by all processes. If another
        program overwrites such a file in place, maps that are open give wrong answers; if it
        truncates the file, this process is killed by SIGBUS.

        After the file was replaced by renaming, the next call opens the new file, and maps that
        are open keep their answers. So a server should open its map in each request.

        Raises NotFoundError, PermissionDeniedError, IoError, FormatError, DigestError,
        VersionError, and ChangedError when the file was overwritten in place.

        >>> stead.Map.open("members.map").name
        'members'
        """
    @staticmethod
    def open_uncached(path: _Path) -> Map:
        """Opens and verifies a map file without the cache of open maps, and reads it into memory
        whatever its size. Use it to look at many files once, such as the epochs of a history.

        Raises NotFoundError, PermissionDeniedError, IoError, FormatError, DigestError and
        VersionError.

        >>> stead.Map.open_uncached("members.map") == stead.Map.open("members.map")
        True
        """
    @staticmethod
    def from_bytes(data: bytes) -> Map:
        """Makes a map from the bytes of a map file, and verifies them.

        Raises FormatError, DigestError and VersionError.

        >>> stead.Map.from_bytes(members.to_bytes()) == members
        True
        """
    @staticmethod
    def build(
        fleet: _Fleet,
        previous: Map | None = None,
        *,
        max_move: str | None = None,
        name: str | None = None,
    ) -> Map:
        """Builds the map of a fleet: the first one or, if previous is given, the next epoch of that
        map, from which as little as possible moves.

        fleet: the text of a fleet, TOML or JSON (str or bytes), or a dict of the same shape
        (docs/fleet.md); Map.build_file takes a file. In a dict, a weight is an int, a Decimal, a
        str,
        or a float, which counts as the decimal in its repr: 0.1 is exactly a tenth. A weight has at
        most 6 decimal places.

        previous: the map to build on. It must be of the same cluster. max_move: the upper bound on
        the part of all copies that may move in this epoch, such as "5%". The map then contains its
        target slices, and building the same fleet on it takes the next step, until nothing is left
        to do (see same). Without previous nothing moves, so max_move changes nothing. name: what
        messages call the fleet.

        No file is written. The same fleet, previous map and options give the same map everywhere.
        Other threads run meanwhile.

        Raises FleetError, whose text begins with the line or the place in the dict; ImpossibleError
        if the fleet is well formed, but no map can satisfy it; IdentityError if previous is of
        another cluster or hash; InvalidError if max_move is wrong.

        >>> fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
        >>> before = stead.Map.build(fleet)
        >>> fleet["node"].append({"name": "db3", "labels": {"zone": "b"}})
        >>> after = stead.Map.build(fleet, before)
        >>> after.epoch, f"{stead.Plan.between(before, after).fraction:.4f}"
        (2, '0.2857')
        >>> stead.Map.build(fleet, before, max_move="10%").slices == after.slices
        False
        >>> wrong = {"name": "members", "node": [{"name": "db1", "wieght": 2}]}
        >>> stead.Map.build(wrong)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        stead.FleetError: fleet['node'][0]['wieght']: unknown key `wieght` in `node`; known ...
        """
    @staticmethod
    def build_file(
        path: _Path, previous: Map | None = None, *, max_move: str | None = None
    ) -> Map:
        r"""Builds the map of a fleet file, as Map.build does with a text. Messages call the fleet by
        its path.

        Raises the exceptions of Map.build, and NotFoundError, PermissionDeniedError or IoError if
        the file cannot be read.

        >>> import pathlib
        >>> text = "name = 'members'\nnode = [{name = 'db1'}]"
        >>> size = pathlib.Path("fleet.toml").write_text(text)
        >>> stead.Map.build_file("fleet.toml")
        <stead.Map "members" epoch 1, 1 nodes, 1 slices, c5ec533c>
        """
    @staticmethod
    def apply(
        fleet: _Fleet,
        path: _Path,
        *,
        max_move: str | None = None,
        name: str | None = None,
        allow: str | None = None,
    ) -> Map:
        """Builds the map of a fleet on the map at path, or a first map if there is no file, and
        publishes it if it differs. Returns the map that is then at path.

        fleet, max_move and name are those of Map.build, and path and allow are those of publish.

        Raises the exceptions of Map.build and of publish. After a ConflictError, call it again.

        >>> fleet["node"].append({"name": "db3"})
        >>> stead.Map.apply(fleet, "members.map").epoch
        2
        >>> stead.Map.apply(fleet, "members.map").epoch  # nothing changed
        2
        """
    @staticmethod
    def apply_file(
        fleet_path: _Path,
        path: _Path,
        *,
        max_move: str | None = None,
        allow: str | None = None,
    ) -> Map:
        r"""Applies a fleet file, as Map.apply does with a text. Messages call the fleet by its path.

        >>> import pathlib
        >>> text = "name = 'members'\n[[node]]\nname = 'db1'\n"
        >>> size = pathlib.Path("fleet.toml").write_text(text)
        >>> stead.Map.apply_file("fleet.toml", "members.map").epoch
        2
        """
    @staticmethod
    def history(path: _Path) -> list[int]:
        """Returns the epochs that the history of a map has: a list of int, the oldest first.

        Raises IoError and its subclasses.

        >>> stead.Map.history("members.map")
        [1]
        """
    @staticmethod
    def open_epoch(path: _Path, epoch: SupportsIndex) -> Map:
        """Opens an epoch of the history of the map at path.

        Raises NotFoundError if the history does not have the epoch, and the exceptions of
        Map.open_uncached.

        >>> stead.Map.open_epoch("members.map", 1) == members
        True
        """
    @staticmethod
    def rollback(
        path: _Path,
        epoch: SupportsIndex,
        *,
        back: Literal["exact", "least"] | None = None,
        allow: str | None = None,
    ) -> Map:
        """Goes back to an old epoch in a new epoch, so that every reader notices the change, and
        returns the map that is then at path. Publishes nothing if nothing would change.

        back says how: "exact" publishes the slices of the old epoch again, so that every key lives
        where it lived then; "least" builds the fleet of the old epoch on the newest one, which
        moves as little as possible. Without it the epoch just before the newest one comes back
        exactly, and an older one raises InvalidError, which says what both would move.
        Nodes keep the attributes that they have now if data has moved since the old epoch.

        allow: as in publish; "take-back" is never needed here.

        Raises the exceptions of Map.open_epoch and of publish.

        >>> fleet["node"].append({"name": "db3"})
        >>> grown = stead.Map.apply(fleet, "members.map")
        >>> back = stead.Map.rollback("members.map", 1)
        >>> back.epoch, back.same(members)
        (3, True)
        """
    @staticmethod
    def peek(path: _Path) -> tuple[int, bytes]:
        """Reads the epoch and the digest from the header of a map file, without verifying it: a cheap
        way to ask whether there is a newer epoch. Returns a tuple of int and bytes.

        >>> stead.Map.peek("members.map") == (members.epoch, members.digest)
        True
        """
    def locate(self, key: _Key) -> str:
        """Returns the name of the node that a key lives on; with several replicas, of the primary.

        Raises TypeError if the key is neither str nor bytes, and UnicodeEncodeError if it is a str
        with lone surrogates, which have no UTF-8. For the name of a file, pass os.fsencode(name).

        >>> members.locate("frank"), members.locate(b"bob")
        ('db1', 'db2')
        """
    @overload
    def locate_many(
        self,
        keys: _Column,
        *,
        numbers: Literal[False] = False,
        threads: int = 1,
    ) -> Array[str | None]:
        """Returns the names of the nodes that many keys live on, in the order of the keys. Other
        threads run meanwhile.

        - A list, or another iterable of `str`, `bytes` and None, gives a list; None stays None.
        - An object with Arrow's PyCapsule interface gives an `Array`. It may be an array or a
          stream of pyarrow, polars, pandas, DuckDB and others, of type string, large_string,
          string_view, binary, large_binary, binary_view, fixed_size_binary, or a dictionary of one
          of these; or a table or record batch of one column. A column of structs is refused: pass
          one of its fields. Null stays null. The keys are read in place and not copied. The result
          needs 4 bytes per key, and one bit more per key if any key is null.
        - A NumPy array of S, U, StringDType or object, and a pandas or polars series of objects,
          gives an `Array`. None, NaN, NA and masked items are null. As in NumPy, NULs at the end of
          an item of S do not count. The array is read in blocks of 1 MiB.

        A key is `bytes`, or a `str`, which stands for its UTF-8, also in columns. With `numbers`,
        the result has the index of each node in `Map.nodes` instead of its name. The numbers are
        those of this map alone: in another epoch, a node may have another number. So store names.

        threads: the number of threads that locate keys, from 1; more than the machine has
        processors are not started. They help with columns of Arrow from some 100,000 keys on; much
        of the time of a list goes into reading and making Python objects, which one thread does.

        Raises TypeError if the argument is not a batch of keys, InvalidError if a column is
        malformed or if threads is wrong, and IoError if a stream fails.

        >>> members.locate_many(["frank", b"bob", None])
        ['db1', 'db2', None]
        >>> members.locate_many(["frank", b"bob", None], numbers=True)
        [0, 1, None]
        """
    @overload
    def locate_many(
        self, keys: _Column, *, numbers: Literal[True], threads: int = 1
    ) -> Array[int | None]: ...
    @overload
    def locate_many(
        self,
        keys: Iterable[_Key],
        *,
        numbers: Literal[False] = False,
        threads: int = 1,
    ) -> list[str]: ...
    @overload
    def locate_many(
        self, keys: Iterable[_Key], *, numbers: Literal[True], threads: int = 1
    ) -> list[int]: ...
    @overload
    def locate_many(
        self,
        keys: Iterable[_Key | None],
        *,
        numbers: Literal[False] = False,
        threads: int = 1,
    ) -> list[str | None]: ...
    @overload
    def locate_many(
        self, keys: Iterable[_Key | None], *, numbers: Literal[True], threads: int = 1
    ) -> list[int | None]: ...
    def locate_all(self, key: _Key) -> list[str]:
        """Returns the names of all nodes of a key, primary first. There are as many as the map has
        replicas, or as many as a named policy lists.

        >>> members.locate_all("frank")
        ['db1']
        """
    @overload
    def locate_all_many(
        self,
        keys: _Column,
        *,
        numbers: Literal[False] = False,
        threads: int = 1,
    ) -> Array[list[str] | None]:
        """Returns the names of all nodes of many keys, primary first, in the order of the keys. Other
        threads run meanwhile.

        keys, numbers and threads are those of locate_many. A list of keys gives a list of lists;
        None stays None. A column gives an `Array` of lists: Arrow's type list, with int32 offsets,
        of dictionary-encoded names or of int32. Null stays null.

        Raises the exceptions of locate_many, and InvalidError if the lists of one call would have
        more than 2**31 - 1 nodes together.

        >>> fleet.update(replicas=2, node=[{"name": f"db{i}"} for i in range(1, 4)])
        >>> copies = stead.Map.build(fleet)
        >>> copies.locate_all_many(["frank", None])
        [['db3', 'db2'], None]
        >>> import numpy, pyarrow
        >>> nodes = copies.locate_all_many(numpy.array(["frank", "alice"]), numbers=True)
        >>> pyarrow.array(nodes).type, nodes.to_pylist()
        (ListType(list<item: int32>), [[2, 1], [1, 0]])
        """
    @overload
    def locate_all_many(
        self, keys: _Column, *, numbers: Literal[True], threads: int = 1
    ) -> Array[list[int] | None]: ...
    @overload
    def locate_all_many(
        self,
        keys: Iterable[_Key],
        *,
        numbers: Literal[False] = False,
        threads: int = 1,
    ) -> list[list[str]]: ...
    @overload
    def locate_all_many(
        self, keys: Iterable[_Key], *, numbers: Literal[True], threads: int = 1
    ) -> list[list[int]]: ...
    @overload
    def locate_all_many(
        self,
        keys: Iterable[_Key | None],
        *,
        numbers: Literal[False] = False,
        threads: int = 1,
    ) -> list[list[str] | None]: ...
    @overload
    def locate_all_many(
        self, keys: Iterable[_Key | None], *, numbers: Literal[True], threads: int = 1
    ) -> list[list[int] | None]: ...
    def prefer(self, key: _Key, n: SupportsIndex) -> list[str]:
        """Returns up to n distinct nodes for a key, best first: those that hold the key, then those
        that take over when these are down.

        All clients get the same list. It is shorter than n only if the map has fewer nodes.

        Raises InvalidError if n is below 0.

        >>> members.prefer("frank", 2)
        ['db1', 'db2']
        """
    def point(self, key: _Key) -> int:
        """Returns the point of a key, from 0 to 2**64 - 1. It is the hash by which the key is located.

        >>> f"{members.point('frank'):016x}"
        '26253c50741faa9c'
        """
    def locate_point(self, point: SupportsIndex) -> str:
        """Returns the name of the node that a point lives on, the primary.

        Raises InvalidError if the point is not from 0 to 2**64 - 1.

        >>> members.locate_point(0), members.locate_point(2**64 - 1)
        ('db1', 'db2')
        """
    def locate_all_point(self, point: SupportsIndex) -> list[str]:
        """Returns the names of all nodes of a point, primary first.

        Raises InvalidError if the point is not from 0 to 2**64 - 1.

        >>> members.locate_all_point(0)
        ['db1']
        """
    def node(self, name: str) -> Node | None:
        """Returns the node of a name; None if the map has no such node.

        >>> members.node("db1").weight, members.node("db9")
        (Decimal('1'), None)
        """
    def attribute(self, node: str, name: str) -> str | None:
        """Returns an attribute of a node, such as its address; None if there is no such node, or if it
        has no such attribute.

        >>> fleet["node"][0]["attributes"] = {"address": "10.0.0.1:3306"}
        >>> stead.Map.build(fleet).attribute("db1", "address")
        '10.0.0.1:3306'
        """
    def label(self, node: str, name: str) -> str | None:
        """Returns a label of a node, such as its zone; None if there is no such node, or if it has no
        such label.

        >>> fleet["node"][0]["labels"] = {"zone": "a"}
        >>> stead.Map.build(fleet).label("db1", "zone")
        'a'
        """
    def publish(
        self, path: _Path, previous: Map | None = None, *, allow: str | None = None
    ) -> None:
        """Publishes the map at path, completely or not at all, with its history beside it.

        previous: the map that this one was built on, which must still be the one at path; None if
        there is no map at path yet.

        The history is the directory path + ".history", with a map file for each of the newest 32
        epochs. Map.history, Map.open_epoch and Map.rollback use it.

        allow: the words of guards that may not refuse the change, with commas between them:
        "drop-copies", "leave-data", "lose-domain", "move", "take-back". docs/guards.md says what
        each refuses.

        Raises ConflictError if another process published meanwhile: nothing was changed, so build
        again on the new map. Raises GuardedError if a guard refuses the change, and nothing was
        changed either. Raises UncertainError if the map is in place, but a power cut may
        lose it; any other IoError means that nothing was changed. Raises InvalidError if path is a
        symbolic link.

        >>> before = stead.Map.open("members.map")
        >>> fleet["node"].append({"name": "db4"})
        >>> after = stead.Map.build(fleet, before)
        >>> after.publish("members.map", before)
        >>> stead.Map.open("members.map").epoch
        2
        """
    def save(self, path: _Path) -> None:
        """Writes a copy of the map to a file, completely or not at all, and replaces an existing file.
        It keeps no history and detects no conflicts.

        Raises IoError and its subclasses, UncertainError among them, and InvalidError if path is a
        symbolic link.

        >>> members.save("copy.map")
        """
    def to_bytes(self) -> bytes:
        r"""Returns the bytes of the map's file. If the fleet has a secret, they contain it.

        >>> members.to_bytes()[:5]
        b'\x89STD\r'
        """
    def same(self, other: Map) -> bool:
        """Returns whether two maps are equal except for epoch and parent, so that publishing one over
        the other would change nothing.

        >>> again = stead.Map.build(fleet, members)
        >>> again == members, again.same(members)
        (False, True)
        """
    def fleet(self) -> str:
        """Returns the fleet of the map as TOML: its nodes, policies and pins, with everything that
        placement depends on. Building this text on the map changes nothing, except that a gradual
        change which is under way is completed, and that the map of an adopted ring gets exact
        shares. A secret is never part of the text; a build keeps the hash and the secret of the
        map.

        >>> stead.Map.build(members.fleet(), members).same(members)
        True
        """
    def report(self) -> dict[str, Any]:
        """Returns the content of the map as a dict: each node's weight, share and points, the domains
        and their caps, and violations. It has the shape of `stead diff --json` (docs/cli.md) for a
        map that changes nothing.

        Counts of points are decimal strings in it, because many readers of JSON round integers
        as large as 2**64.

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
        """The SHA-256 of the map, 32 bytes, which identifies this version."""
    @property
    def parent(self) -> bytes:
        """The digest of the map that this one was built on, 32 bytes; all zeros for a first map."""
    @property
    def replicas(self) -> int:
        """The number of nodes that hold each point."""
    @property
    def hash(self) -> str:
        """The hash that turns keys into points: "md5", "sha1", "xxh3" or "siphash"; in the map of an
        adopted ring also one of the others in docs/placement.md.
        """
    @property
    def key_rule(self) -> str:
        """The part of a key that is hashed, as in a fleet file: "whole", "first 1 segments" and so on.

        >>> members.key_rule
        'whole'
        """
    @property
    def spread(self) -> tuple[str, ...]:
        """The labels over which copies are kept apart, outermost first: a tuple of str."""
    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, a tuple of Node sorted by name."""
    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies, a tuple of Policy: the lists of nodes that slices refer to. Those that the
        fleet names have a name, and may have a kind and a weight.
        """
    @property
    def slices(self) -> tuple[Slice, ...]:
        """The slices that locate reads, with pins applied: a tuple of Slice sorted by point. Together
        they cover the whole space.
        """
    def plot(
        self,
        kind: Literal["bands", "ring", "shares", "domains"] | None = None,
        *,
        keys: Iterable[_Key] | None = None,
        theme: Literal["auto", "light", "dark"] | None = None,
        width: int | None = None,
        title: str | None = None,
    ) -> str:
        """Returns a picture of the map as SVG, a str that stands alone in a file or in a page.

        kind: "bands" shows who has which part of the hash space, and is the default; "ring" shows
        the same as a circle, with keys on it; "shares" compares what nodes have with what their
        weights ask for; "domains" shows the fault domains. keys: an iterable of keys, which a ring
        shows by their numbers. theme: "light", "dark", or "auto", the default, which is dark where
        the reader prefers that. width: in pixels, 960 by default. title: a str instead of the usual
        title.

        The same map gives the same bytes. docs/figures.md shows the kinds.

        >>> members.plot("ring", keys=["frank"]).startswith("<svg ")
        True
        """
    def _repr_html_(self) -> str:
        """A picture of the map and a table of the nodes and their shares, which notebooks show."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Map: ...
    def __deepcopy__(self, memo: object, /) -> Map: ...

@final
class Pair:
    """A map, and the map where its data was while a carry is open: it says where to read and to write.

    Pair.open and Pair.between create pairs. A pair is immutable, and any number of threads may use
    it. Nodes are named as in the new map; a node that only the old map has is named as there. Two
    pairs are equal when their maps and their states are. A pair is pickled as its maps.

    >>> pair = stead.Pair.between(members, grown, "both_old_first")
    >>> pair.reads("bob"), pair.writes("bob"), pair.moved("bob")
    (['db2'], ['db2', 'db3'], True)
    >>> pair.reads("frank"), pair.moved("frank")
    (['db1'], False)
    >>> pair
    <stead.Pair "members" epoch 1 -> 2, both_old_first>
    """
    # there is no Pair(): Pair.open and Pair.between make one
    def __new__(cls, _: Never, /) -> Pair: ...
    @staticmethod
    def open(
        path: _Path,
        *,
        copy: bool = False,
        epoch: SupportsIndex | None = None,
        state: _State | None = None,
    ) -> Pair:
        """Opens a map file and, while a carry is open, the map where the data was. Without a carry the
        pair has the new map alone, and answers like it. This costs two stats if the process has the
        files open already and they are unchanged, so a server should open its pair in each request.

        path and copy: as in Map.open. epoch and state: take this epoch of the history as the old
        map, and this state, instead of those of the carry.

        Raises the exceptions of Map.open; also NotFoundError if the history lacks the old map, and
        IdentityError if it has another one under its number.

        >>> pair = stead.Pair.open("members.map")
        >>> pair.state is None, pair.old is None
        (True, True)
        >>> pair.reads("frank") == stead.Map.open("members.map").locate_all("frank")
        True
        """
    @staticmethod
    def between(old: Map, new: Map, state: _State) -> Pair:
        """Makes a pair of two maps of one cluster, as if a carry from the old one to the new one were
        open in this state: old, both_old_first, both_new_first or new.

        Raises IdentityError if the maps are of two clusters or have two hashes, and InvalidError if
        there is no such state.

        >>> [stead.Pair.between(members, grown, state).reads("bob")
        ...  for state in ("old", "both_old_first", "both_new_first", "new")]
        [['db2'], ['db2'], ['db3', 'db2'], ['db3']]
        """
    @property
    def state(self) -> _State | None:
        """The state of the carry: "old", "both_old_first", "both_new_first" or "new"; None if no carry
        is open.

        >>> stead.Pair.between(members, grown, "old").state
        'old'
        """
    @property
    def new(self) -> Map:
        """The map where the data will be, or is."""
    @property
    def old(self) -> Map | None:
        """The map where the data was; None if no carry is open."""
    def reads(self, key: _Key) -> list[str]:
        """Returns the names of the nodes to read a key from, in this order. The first node that
        answers decides, also when it answers that there is no such key. Go on to the next node only
        if one does not answer at all. A new place is not among them while data is copied to it.

        Raises TypeError if the key is neither str nor bytes.

        >>> stead.Pair.between(members, grown, "both_new_first").reads("bob")
        ['db3', 'db2']
        """
    def writes(self, key: _Key) -> list[str]:
        """Returns the names of the nodes to write a key to, or to delete it from, in this order. The
        write is done when all of them have it.

        Raises TypeError if the key is neither str nor bytes.

        >>> stead.Pair.between(members, grown, "both_old_first").writes("bob")
        ['db2', 'db3']
        """
    def moved(self, key: _Key) -> bool:
        """Returns whether the two maps answer differently for a key: with other nodes, or with the
        same in another order. Where they do not, every state reads and writes the same nodes.

        Raises TypeError if the key is neither str nor bytes.

        >>> pair = stead.Pair.between(members, grown, "old")
        >>> [key for key in ("alice", "bob", "frank") if pair.moved(key)]
        ['alice', 'bob']
        """
    def reads_point(self, point: SupportsIndex) -> list[str]:
        """Returns for a point what reads returns for a key.

        Raises InvalidError if the point is not from 0 to 2**64 - 1.

        >>> pair = stead.Pair.between(members, grown, "old")
        >>> pair.reads_point(grown.point("bob")) == pair.reads("bob")
        True
        """
    def writes_point(self, point: SupportsIndex) -> list[str]:
        """Returns for a point what writes returns for a key.

        Raises InvalidError if the point is not from 0 to 2**64 - 1.

        >>> pair = stead.Pair.between(members, grown, "both_old_first")
        >>> pair.writes_point(grown.point("bob"))
        ['db2', 'db3']
        """
    def moved_point(self, point: SupportsIndex) -> bool:
        """Returns for a point what moved returns for a key.

        Raises InvalidError if the point is not from 0 to 2**64 - 1.

        >>> pair = stead.Pair.between(members, grown, "old")
        >>> pair.moved_point(grown.point("frank"))
        False
        """
    def attribute(self, node: str, name: str) -> str | None:
        """Returns an attribute of a node, such as its address; None if there is no such node, or if it
        has no such attribute. The node is one of the new map, or one that only the old map has.

        >>> pair = stead.Pair.between(members, grown, "old")
        >>> pair.attribute("db1", "address") is None
        True
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Pair: ...
    def __deepcopy__(self, memo: object, /) -> Pair: ...

@final
class Plan(Sequence[Move]):
    """The difference between two maps: a sequence of Move, sorted by first point. There is one Move
    for each run of points of which a copy moves, is added or is dropped.

    Plan.between creates plans. Two plans are equal when their maps are. A plan is pickled as
    its two maps.

    >>> plan = stead.Plan.between(members, grown)
    >>> plan
    <stead.Plan "members" epoch 1 -> 2, 2 moves, 33.333333 %>
    >>> plan[0].from_, plan[0].to, len(plan), plan[-1] in plan
    ('db1', 'db3', 2, True)
    >>> sum(move.last - move.first + 1 for move in plan) == plan.moved
    True
    """
    # there is no Plan(): Plan.between makes one
    def __new__(cls, _: Never, /) -> Plan: ...
    @staticmethod
    def between(old: Map, new: Map) -> Plan:
        """Returns the difference between two maps of one cluster, before the new one is published or
        afterwards.

        Any two maps of one cluster can be compared. A new map that was built without a previous one
        has epoch 1 again, and more moves than needs to: `moved` is far above `lower_bound`.

        The cost is one pass over the slices of both maps. Other threads run meanwhile.

        Raises IdentityError if the maps are of two clusters or have two hashes.

        >>> plan = stead.Plan.between(members, grown)
        >>> plan.moved == plan.lower_bound
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
        """The number of copies of points that rebalancing moves, an int up to replicas * 2**64."""
    @property
    def lower_bound(self) -> int:
        """The lower bound on moved: the least that any rebalancing to the new shares moves, in copies
        of points.
        """
    @property
    def by_hand(self) -> int:
        """The number of copies of points that move because pins or policies were changed by hand."""
    @property
    def reordered(self) -> int:
        """The number of points whose primary changes although the old primary still holds a copy."""
    @property
    def fraction(self) -> float:
        """The part of all copies that rebalancing moves, from 0 to 1. All copies are those of the map
        that has more of them, as in `stead plan`.
        """
    def affects(self, key: _Key) -> list[Move]:
        """Returns the moves that concern a key: a list of Move, empty for a key that stays.

        Raises TypeError if the key is neither str nor bytes.

        >>> plan = stead.Plan.between(members, grown)
        >>> [(move.from_, move.to) for move in plan.affects("frank")]
        []
        >>> [(move.from_, move.to) for move in plan.affects("bob")]
        [('db2', 'db3')]
        """
    def affects_point(self, point: SupportsIndex) -> list[Move]:
        """Returns the moves that contain a point: a list of Move, empty for a point that stays.

        Raises InvalidError if the point is not from 0 to 2**64 - 1.

        >>> plan = stead.Plan.between(members, grown)
        >>> plan.affects_point(grown.point("bob")) == plan.affects("bob")
        True
        """
    @overload
    def affects_many(self, keys: _Column) -> AffectedColumns:
        """Returns what moves of many keys: one row for each copy that moves, in the order of the keys,
        and none for a key that stays where it is. Each key is hashed once, and other threads run
        meanwhile.

        keys: a batch of keys, as for Map.locate_many. A list, or another iterable, gives a list of
        Affected, which are tuples (key, from_, to): the position of the key in the batch, from 0,
        and the names of the nodes. A column gives one AffectedColumns, which has the same as three
        Arrays. from_ is None or null if a copy is added, and to is if a copy is dropped. A key that
        is None or null has no node and does not move.

        Raises the exceptions of Map.locate_many.

        >>> plan, keys = stead.Plan.between(members, grown), ["frank", "bob"]
        >>> for key, from_, to in plan.affects_many(keys):
        ...     print(keys[key], from_, to)
        bob db2 db3
        >>> import numpy
        >>> moved = plan.affects_many(numpy.array(keys))
        >>> moved.key.to_pylist(), moved.from_.to_pylist(), moved.to.to_pylist()
        ([1], ['db2'], ['db3'])
        """
    @overload
    def affects_many(self, keys: Iterable[_Key | None]) -> list[Affected]: ...
    def report(self, *, moves: bool = False) -> dict[str, Any]:
        """Returns the plan as a dict, in the shape of `stead diff --json` (docs/cli.md).

        moves: whether the dict also lists every move.

        >>> report = stead.Plan.between(members, grown).report()
        >>> report["moved"] == report["lower_bound"], report["by_hand"]["points"]
        (True, '0')
        """
    def index(self, value: object, start: int = 0, stop: int = ...) -> int:
        """Returns the index of a move in the plan. Raises ValueError if it is not in the plan.

        >>> plan = stead.Plan.between(members, grown)
        >>> plan.index(plan[1])
        1
        """
    def count(self, value: object) -> int:
        """Returns how often a move is in the plan: 0 or 1.

        >>> stead.Plan.between(members, grown).count("db3")
        0
        """
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Move: ...
    @overload
    def __getitem__(self, index: slice, /) -> tuple[Move, ...]: ...
    def __iter__(self) -> Iterator[Move]: ...
    def __contains__(self, value: object, /) -> bool: ...
    def plot(
        self,
        kind: Literal["moves", "bands", "shares"] | None = None,
        *,
        theme: Literal["auto", "light", "dark"] | None = None,
        width: int | None = None,
        title: str | None = None,
    ) -> str:
        """Returns a picture of the plan as SVG, a str that stands alone in a file or in a page.

        kind: "moves" shows what goes from which node to which, and is the default; "bands" shows
        who has which part of the hash space before and after; "shares" compares the shares before
        and after. theme, width and title are those of Map.plot.

        >>> "moves 33.3 %" in stead.Plan.between(members, grown).plot("bands")
        True
        """
    def _repr_html_(self) -> str:
        """A picture and a table of what moves between each pair of nodes, which notebooks show."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Plan: ...
    def __deepcopy__(self, memo: object, /) -> Plan: ...

@final
class Array(Generic[_T_co]):
    """The nodes of a column of keys, in the order of the keys. It is an Arrow column of
    dictionary-encoded node names, or of node numbers; that of Map.locate_all_many has a list of
    these in each row. Plan.affects_many also returns positions as an Array.

    `pyarrow.array`, `polars.Series`, `nanoarrow.Array` and everything else that supports Arrow's
    PyCapsule interface import it without a copy. Its indices are int32. The dictionary has the
    names of all the map's nodes, so an index is the number of the node in `Map.nodes`. Positions
    are int64.

    `numpy.asarray` and `to_numpy`, `pandas.Series` and `to_pandas`, and `to_arrow` convert it. A
    column is pickled with its rows and the names of the nodes, so unpickling it needs no map.

    Its rows can be read like those of a list, with None for null. (It is not registered as a
    Sequence, because polars would then copy it item by item.)

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
        """Returns the nodes as a list, with None for null.

        >>> import numpy
        >>> members.locate_many(numpy.array(["frank", None]), numbers=True).to_pylist()
        [0, None]
        """
    def to_numpy(self) -> Any:
        """Returns the column as a NumPy array. Numbers without null are not copied: the array is
        read-only and shares their memory. Numbers of which some are null give a masked array. Names
        give an array of str objects, with None for null, and lists an array of list objects.

        >>> import numpy
        >>> nodes = members.locate_many(numpy.array(["frank", "bob"]), numbers=True)
        >>> nodes.to_numpy()
        array([0, 1], dtype=int32)
        """
    def to_arrow(self) -> Any:
        """Returns the column as an array of pyarrow, without a copy.

        >>> import numpy
        >>> members.locate_many(numpy.array(["frank", "bob"])).to_arrow().indices.to_pylist()
        [0, 1]
        """
    def to_pandas(self) -> Any:
        """Returns the column as a series of pandas: names as categories, numbers as int32, or as Int32
        if some are null; positions are int64, and lists are objects.

        >>> import numpy
        >>> members.locate_many(numpy.array(["frank", "bob"])).to_pandas().tolist()
        ['db1', 'db2']
        """
    def _parts(
        self,
    ) -> tuple[_Numbers, bytes | None, tuple[str, ...] | None, _Numbers | None]:
        """What stead._columns makes arrays of: the numbers, as an object with NumPy's array interface,
        which keeps them alive; a list of bits, the lowest first, which are 0 for null, or None; the
        names of the nodes, or None; and, if the rows are lists, where each starts and the last one
        ends, as int32, or None.
        """
    @property
    def null_count(self) -> int:
        """The number of null rows. A row is null if its key is null."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> _T_co: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[_T_co]: ...
    def __iter__(self) -> Iterator[_T_co]: ...
    def __copy__(self) -> Array[_T_co]: ...
    def __deepcopy__(self, memo: object, /) -> Array[_T_co]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias: ...

@final
class _Numbers:
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class _Moves(Iterator[Move]):
    def __iter__(self) -> _Moves: ...
    def __next__(self) -> Move: ...

def _array(
    width: int,
    numbers: bytes,
    bits: bytes | None,
    names: tuple[str, ...] | None,
    offsets: bytes | None = None,
) -> Array[Any]:
    """Makes an Array again of what its pickle has. Raises InvalidError if the pickle is damaged."""

def _same_nodes(old: Map, new: Map) -> list[int | None]:
    """Returns, for each node of the old map in the order of `nodes`, the number of the same node in
    the new map, found by name or by `formerly`; None for a node that is gone. Raises IdentityError.
    """

def _check_map(name: str, value: object) -> None:
    """Raises a TypeError that names the argument if its value is no map."""

def path(key: _Key, *, levels: _Levels | None = None, fold: _Fold = "none") -> str:
    """Returns the relative path of a key: directories and a file name, as docs/paths.md defines them.

    key: bytes, or a str, which stands for its UTF-8. levels: the number of directories on each
    level, 1 to 16 numbers from 1 to 256; an iterable of int, or a str such as "64,64,128", which is
    the default. fold: with "ascii" A-Z becomes a-z first, for sites whose names ignore case; "none"
    is the default.

    The parts of the path are separated by "/", and have only the characters a-z, 0-9, _ and =.

    Raises PathNameError if the file name would have more than 255 bytes, and InvalidError if levels
    or fold are wrong.

    >>> stead.path("frank")
    '38/37/60/frank'
    >>> stead.path("Frank", levels=[16, 16])
    '9/12/=46rank'
    >>> stead.path("Frank", levels=[16, 16], fold="ascii")
    '6/5/frank'
    """

def path_name(path: bytes | _Path, *, levels: _Levels | None = None) -> bytes:
    """Returns the name of a path, as bytes: the inverse of path without fold.

    path: str or bytes. Its last parts are the directories and the file name that stead.path makes;
    what comes before them is ignored, so an absolute path is fine. levels: as in path.

    Raises PathNameError if no name has this path, and InvalidError if levels are wrong.

    >>> stead.path_name("/srv/members/38/37/60/frank")
    b'frank'
    """

def survey(
    names: Iterable[_Key],
    *,
    members: SupportsIndex | None = None,
    levels: _Levels | None = None,
) -> dict[str, Any]:
    """Measures how evenly the schemes of "Evenly distributing members by MD5" spread names.

    names: an iterable of keys. The lines of a file that is opened with "rb" keep their line ends,
    so strip them. members: a number of members; if given, the result also has a projection of
    that many members onto the directories. levels: the number of these directories on each level,
    as in path.

    Returns a dict in the shape of `stead survey --json` (docs/cli.md). Ctrl-C interrupts it.

    Raises TypeError if a name is neither str nor bytes, and InvalidError if members or levels are
    wrong.

    >>> report = stead.survey(["frank", "bob", "justin"], members=1_188_968)
    >>> report["names"], [scheme["scheme"] for scheme in report["schemes"]]
    (3, ['D1', 'D2', 'D3', 'N1', 'N2', 'M1', 'M2', 'M3'])
    >>> round(report["projection"]["levels"][-1]["members"], 2)
    2.27
    """

"""The rows of the tables: stead's calls, and what users of each language would pick
instead.
"""

from typing import NamedTuple


class Candidate(NamedTuple):
    """A row: the language, the name that the worker knows, and what the page says."""

    language: str
    name: str
    label: str
    # stead: ours. peer: another program's. bare: what a program without a ring would
    # do, or a lower bound
    kind: str = "peer"
    # a batch: one call for all keys
    batch: bool = False

    @property
    def key(self):
        return f"{self.language} {self.name}"


def ours(language, single, prefer, batches):
    """Stead's rows in a language: two calls for each key, and batches, each of which is
    (name in the worker, name on the page)."""
    rows = [
        ("locate", single, False),
        ("prefer", f"{prefer}, 2 nodes", False),
        *((*batch, True) for batch in batches),
    ]
    return [
        Candidate(language, f"stead {name} {hash}", f"{label}, {hash}", "stead", many)
        for name, label, many in rows
        for hash in ("md5", "xxh3")
    ]


def base(language):
    """The row that the others of its language are compared with."""
    return f"{language} stead locate md5"


CANDIDATES = [
    *ours(
        "C",
        "`stead_map_locate`",
        "`stead_map_prefer`",
        [("locate_many", "`stead_map_locate_many`")],
    ),
    Candidate("C", "libmemcached modula", "libmemcached, its default (modulo)"),
    Candidate("C", "libmemcached ketama", "libmemcached, `KETAMA`"),
    Candidate("C", "libmemcached ketama_weighted", "libmemcached, `KETAMA_WEIGHTED`"),
    *ours(
        "Rust",
        "`Map::locate`",
        "`Map::prefer_into`",
        [
            ("locate_keys(spans)", "`Map::locate_keys`, spans of one buffer"),
            ("locate_keys(each)", "`Map::locate_keys`, slices"),
        ],
    ),
    Candidate("Rust", "ketama", "ketama"),
    Candidate("Rust", "hashring", "hashring, 160 points"),
    Candidate("Rust", "consistent_hash", "consistent_hash, 160 points"),
    Candidate("Rust", "conhash", "conhash, 160 points"),
    Candidate("Rust", "anchorhash", "anchorhash"),
    Candidate("Rust", "jumphash", "jumphash"),
    Candidate("Rust", "maglev", "maglev, table of 65,537"),
    *ours(
        "Python",
        "`Map.locate`",
        "`Map.prefer`",
        [
            ("locate_many(list)", "`Map.locate_many`, list"),
            ("locate_many(Arrow)", "`Map.locate_many`, Arrow"),
        ],
    ),
    Candidate("Python", "uhashring", "uhashring"),
    Candidate("Python", "hashring", "hashring"),
    Candidate("Python", "fastring", "fastring, `get_node`"),
    Candidate(
        "Python",
        "fastring get_node_batch",
        "fastring, `get_node_batch`",
        batch=True,
    ),
    Candidate("Python", "jump-consistent-hash", "jump-consistent-hash, after an MD5"),
    Candidate("Python", "clandestined", "clandestined, rendezvous hashing"),
    Candidate("Python", "swift", "swift, a ring of 2^14 partitions"),
    Candidate("Python", "pure Python", "pure Python: hashlib, bisect", "bare"),
    Candidate("Python", "hashlib.md5", "`hashlib.md5`, no node", "bare"),
    *ours(
        "PHP", "`Map::locate`", "`Map::prefer`", [("locateMany", "`Map::locateMany`")]
    ),
    Candidate("PHP", "memcached modula", "php-memcached, its default (modulo)"),
    Candidate("PHP", "memcached ketama", "php-memcached, `LIBKETAMA_COMPATIBLE`"),
    Candidate("PHP", "pure PHP", "pure PHP: md5, binary search", "bare"),
    Candidate("PHP", "md5()", "`md5()`, no node", "bare"),
    *ours(
        "Perl",
        "`$map->locate`",
        "`$map->prefer`",
        [("locate_many", "`$map->locate_many`")],
    ),
    Candidate("Perl", "pure Perl", "pure Perl: Digest::MD5, binary search", "bare"),
    Candidate("Perl", "Digest::MD5", "`Digest::MD5::md5`, no node", "bare"),
]
LANGUAGES = list(dict.fromkeys(one.language for one in CANDIDATES))
BY_KEY = {one.key: one for one in CANDIDATES}

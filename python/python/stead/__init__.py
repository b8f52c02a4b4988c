"""Where does this key live? stead gives the same answer, byte for byte, in C, Python,
PHP, Perl, Rust and the shell; and the fleet can grow safely.

>>> import stead
>>> fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
>>> members = stead.Map.build(fleet)
>>> members.locate("frank")
'db1'
>>> members.locate_many(["frank", "anna", None])  # an Arrow, polars, pandas or NumPy column gives a column
['db1', 'db2', None]
>>> fleet["node"].append({"name": "db3"})
>>> grown = stead.Map.build(fleet, members)
>>> plan = stead.Plan.between(members, grown)
>>> f"{plan.fraction:.6f}", plan.moved == plan.lower_bound
('0.285714', True)
>>> [(move.from_, move.to) for move in plan.affects("frank")]
[]

A key is `bytes`, or a `str`, which stands for its UTF-8. A map is stored in a file:
`grown.publish("members.map", members)` replaces the file, and `Map.open("members.map")`
opens it. A process opens a file only once, and again after it was replaced. All objects
are immutable and may be used by any number of threads. All failures raise an `Error`.
"""

from collections.abc import Sequence as _Sequence

from ._errors import (
    ChangedError,
    ConflictError,
    DigestError,
    Error,
    FleetError,
    FormatError,
    GuardedError,
    IdentityError,
    ImpossibleError,
    InternalError,
    InvalidError,
    IoError,
    NotFoundError,
    OutOfMemoryError,
    PathNameError,
    PermissionDeniedError,
    Status,
    UncertainError,
    VersionError,
)
from ._records import Affected, AffectedColumns, Move, Node, Policy, Slice
from ._stead import Array, Map, Pair, Plan, __version__, path, path_name, survey

__all__ = [
    "Affected",
    "AffectedColumns",
    "Array",
    "ChangedError",
    "ConflictError",
    "DigestError",
    "Error",
    "FleetError",
    "FormatError",
    "GuardedError",
    "IdentityError",
    "ImpossibleError",
    "InternalError",
    "InvalidError",
    "IoError",
    "Map",
    "Move",
    "Node",
    "NotFoundError",
    "OutOfMemoryError",
    "Pair",
    "PathNameError",
    "PermissionDeniedError",
    "Plan",
    "Policy",
    "Slice",
    "Status",
    "UncertainError",
    "VersionError",
    "__version__",
    "path",
    "path_name",
    "survey",
]

_Sequence.register(Plan)

for _name in __all__:
    if hasattr(globals()[_name], "__module__"):
        # so that tracebacks and pickles name the module that users import
        globals()[_name].__module__ = "stead"

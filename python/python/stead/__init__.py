"""Where does this key live? The same answer, to the byte, in C, Python, PHP, Perl, Rust and the shell; and safe to change.

>>> import stead
>>> fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
>>> members = stead.build(fleet)
>>> members.locate("frank")
'db1'
>>> members.locate_many(["frank", "anna", None])  # as well Arrow, polars, pandas and NumPy: then a column for them
['db1', 'db2', None]
>>> fleet["node"].append({"name": "db3"})
>>> grown = stead.build(fleet, members)
>>> plan = stead.plan(members, grown)
>>> f"{plan.fraction:.6f}", plan.moved == plan.lower_bound
('0.285714', True)
>>> [(move.from_, move.to) for move in plan.affects("frank")]
[]
"""

from ._errors import (
    ChangedError,
    ConflictError,
    DigestError,
    Error,
    FleetError,
    FormatError,
    IdentityError,
    ImpossibleError,
    InternalError,
    InvalidError,
    IoError,
    NotFoundError,
    NotYetError,
    PathNameError,
    Status,
    UncertainError,
    VersionError,
)
from ._records import Move, Node, Slice
from ._stead import Array, Map, Plan, __version__, build, path, plan, survey

__all__ = [
    "Array",
    "ChangedError",
    "ConflictError",
    "DigestError",
    "Error",
    "FleetError",
    "FormatError",
    "IdentityError",
    "ImpossibleError",
    "InternalError",
    "InvalidError",
    "IoError",
    "Map",
    "Move",
    "Node",
    "NotFoundError",
    "NotYetError",
    "PathNameError",
    "Plan",
    "Slice",
    "Status",
    "UncertainError",
    "VersionError",
    "__version__",
    "build",
    "path",
    "plan",
    "survey",
]

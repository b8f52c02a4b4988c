"""Refuses to count the rows that move by their first nodes alone, unless that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._errors import InvalidError

if TYPE_CHECKING:
    from ._stead import Map


def check_copies(old: Map, new: Map, primary: bool) -> None:
    """Raises InvalidError if keys have several nodes in one of the maps and the caller
    does not want the first one alone.
    """
    most = max(old.replicas, new.replicas)
    if most > 1 and not primary:
        raise InvalidError(
            f"each key has {most} nodes, and only the first ones are compared here: "
            "stead.Plan.between(old, new).affects_many(keys) has every copy that moves; "
            "pass primary=True for the first nodes alone"
        )

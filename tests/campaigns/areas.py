"""The parts of the sources that are measured most closely, with the tests that reach them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Area:
    """Some files of one package, and the test programs that judge mutants of them."""

    package: str
    files: str
    tests: tuple


AREAS = {
    "format": Area("stead", "crates/stead/src/format/", ("golden", "limits")),
    "rebalance": Area(
        "stead", "crates/stead/src/rebalance/", ("guarantees", "gradual")
    ),
    "store": Area("stead", "crates/stead/src/store/", ("store", "installing")),
    "verdict": Area("stead", "crates/stead/src/verdict/", ("verdicts", "guarantees")),
    "boundary": Area("stead-capi", "crates/stead-capi/src/", ()),
    "router's log": Area("stead-rrd", "crates/stead-rrd/src/log/", ("log_crash",)),
}

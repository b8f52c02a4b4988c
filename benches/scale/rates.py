"""What things cost: the measured times of an item, and the machines of a site.

`rates.json` has the measured ones; `measure.py` writes it. All are seconds of processor
time on the machine that they were measured on.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

FILE = Path(__file__).with_name("rates.json")

# The passes, in their order, with the states in which they run.
PASSES = {
    "count": "old",
    "copy": "both_old_first",
    "verify": "both_old_first",
    "check": "both_new_first",
    "remove": "new",
}


@dataclass(frozen=True)
class Cost:
    """Seconds at the carrier, at the node that is read, and at the one that is written
    (or compared with).
    """

    carrier: float = 0.0
    source: float = 0.0
    target: float = 0.0


@dataclass(frozen=True)
class Rates:
    """The costs of one kind of data."""

    # of each item that a node lists, whether it moves or not
    listed: Cost
    # {pass: Cost} of each item that moves: `copy`, `check`, `remove`
    item: dict
    # {pass: Cost} of each transaction or call, and how often it waits for an answer
    unit: dict = field(default_factory=dict)
    trips: dict = field(default_factory=dict)
    # {pass: how many items go into one}; 1 where nothing is said
    at_once: dict = field(default_factory=dict)
    # {pass: how often each of them waits until something is on a disk}
    syncs: dict = field(default_factory=dict)
    # {pass: how often the journal does for each batch}; one batch at a time
    journal: dict = field(default_factory=dict)
    # bytes of an item, and of its name in a listing
    bytes: float = 1024.0
    name_bytes: float = 32.0
    # how many names come with one answer
    page: int = 1000

    @staticmethod
    def of(found):
        """Returns the rates that a JSON object has."""
        costs = {
            name: {task: Cost(**cost) for task, cost in found.get(name, {}).items()}
            for name in ("item", "unit")
        }
        return Rates(**{**found, "listed": Cost(**found["listed"]), **costs})

    def with_bytes(self, size):
        """The same for items of another size; only the network notices."""
        return replace(self, bytes=size)

    def to_json(self):
        """The same as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Site:
    """The machines, and the limits of the carry (`[limits]` in its file)."""

    # processors that the carry may use at each node, and at the carrier
    node_cores: float = 1.0
    carrier_cores: float = 8.0
    # bytes a second that the carrier can receive, and send at the same time: 10 Gbit/s
    network: float = 1.25e9
    # seconds from a question to its answer
    trip: float = 0.0005
    # seconds until a small write is on a disk
    sync: float = 0.001
    # `limits`
    nodes: int = 4
    workers: int = 4
    items_per_second: float = 0.0
    # {node: how many times slower it is than the others}
    slow: dict = field(default_factory=dict)
    # all nodes and the carrier are one machine with `carrier_cores`
    one_machine: bool = False


def measured(kind):
    """Returns the measured rates of a kind of data."""
    return Rates.of(json.loads(FILE.read_text())["kinds"][kind]["rates"])

"""Publishes epoch after epoch with the program `stead`, and keeps each map and its
time.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import stead_reference
from built import program

# The fleet grows and shrinks; the databases of the Django example are db1 to db6.
SIZES = [3, 4, 5, 6, 5, 4]
# A map of 400 KB, so that 50 maps that are kept are visible in a worker's memory; an
# attribute has at most 4095 bytes.
BALLAST = "".join(f', b{i} = "{"x" * 4000}"' for i in range(100))
# it removes the databases that it added before
ALLOW = ["--allow", "take-back"]
STEAD = None


class Epoch(NamedTuple):
    """A published map, as the reference reads it, its addresses by node, and the times
    at which `stead apply` began and ended.
    """

    map: object
    addresses: dict
    begun: float
    done: float


class Publisher:
    """Publishes maps in a directory; `epochs` has all of them by number."""

    def __init__(self, scratch):
        global STEAD  # built once in a run
        STEAD = STEAD or program()
        self.scratch, self.map = scratch, scratch / "members.map"
        self.epochs = {}

    def write_fleet(self, size):
        """Writes a fleet whose addresses contain the epoch, so that an address and an
        epoch of two maps do not match.
        """
        epoch = len(self.epochs) + 1
        text = 'name = "members"\n'
        for i in range(1, size + 1):
            more = BALLAST if i == 1 else ""
            text += (
                f'\n[[node]]\nname = "db{i}"\n'
                f'attributes = {{ address = "10.0.{epoch}.{i}:3306"{more} }}\n'
            )
        (self.scratch / "fleet.toml").write_text(text)

    def publish(self, size=None):
        """Publishes the next epoch."""
        number = len(self.epochs) + 1
        self.write_fleet(size or SIZES[number % len(SIZES)])
        begun = time.monotonic()
        subprocess.run(
            [STEAD, "apply", self.scratch / "fleet.toml", self.map, *ALLOW],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        done = time.monotonic()
        # the history keeps 32 epochs
        read = stead_reference.read_map(self.map.read_bytes())
        assert read.epoch == number
        self.epochs[number] = Epoch(
            read,
            {node.name: dict(node.attributes)["address"] for node in read.nodes},
            begun,
            done,
        )

    def next_map(self, size):
        """Makes the next epoch in a separate file, which nobody uses yet."""
        new = Path(tempfile.mkdtemp(dir=self.scratch)) / "new.map"
        shutil.copyfile(self.map, new)
        self.write_fleet(size)
        subprocess.run(
            [STEAD, "apply", self.scratch / "fleet.toml", new, *ALLOW],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return new

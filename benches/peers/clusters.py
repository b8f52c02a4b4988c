"""The clusters of the run, and their maps: what every worker is built for.

A cluster is a file that workers.py describes, and beside it stead's map of the same
nodes, one for each hash.
"""

import shutil
import subprocess
from typing import NamedTuple

import workers

HASHES = ("md5", "xxh3")
SIZES = (10, 100, 1000)
LEFT = "n0004"  # the node that leaves; any but the last one


def nodes(count, weight=lambda i: 1):
    """Nodes with their weights. Names have four digits, so that all keep their order."""
    return [(f"n{i:04}", weight(i)) for i in range(1, count + 1)]


class Cluster(NamedTuple):
    """The states that a cluster was in, the last one as it is now."""

    name: str
    states: list

    @property
    def path(self):
        return workers.TARGET / "clusters" / self.name


def grown(size):
    """A cluster that grew in ten steps, so that its slices are like those of real maps."""
    return Cluster(str(size), [nodes(size * step // 10) for step in range(1, 11)])


TEN = nodes(10)
JOINED = Cluster("joined", [TEN, nodes(11)])
LEAVING = Cluster("left", [TEN, [node for node in TEN if node[0] != LEFT]])
BEFORE = Cluster("ten", [TEN])
WEIGHTED = Cluster("weighted", [nodes(12, lambda i: (1, 2, 4)[i % 3])])
TIMED = {size: grown(size) for size in SIZES}


def fleet(hash, state):
    """The text of a fleet file."""
    lines = [f'name = "bench"\nhash = "{hash}"\n']
    lines += [f'[[node]]\nname = "{name}"\nweight = {w}\n' for name, w in state]
    return "\n".join(lines)


def publish(cluster, program, states=None):
    """Writes the file of a cluster and its maps. `states` is what the file has when it
    is not every state of the cluster.
    """
    cluster.path.parent.mkdir(parents=True, exist_ok=True)
    blocks = [
        "".join(f"{name} {weight}\n" for name, weight in state)
        for state in states or cluster.states
    ]
    cluster.path.write_text("\n".join(blocks), encoding="utf-8")
    for hash in HASHES:
        path = cluster.path.with_name(f"{cluster.name}.{hash}.map")
        text = f"{path}.toml"
        path.unlink(missing_ok=True)
        shutil.rmtree(f"{path}.history", ignore_errors=True)
        for state in cluster.states:
            with open(text, "w", encoding="utf-8") as file:
                file.write(fleet(hash, state))
            subprocess.run(
                [program, "apply", text, path],
                stdout=subprocess.DEVNULL,
                check=True,
            )


def publish_all(program):
    """Publishes every cluster. Rings other than stead are built for the last state of a
    cluster that is timed: their lookups do not depend on how it grew.
    """
    for cluster in TIMED.values():
        publish(cluster, program, cluster.states[-1:])
    for cluster in (BEFORE, JOINED, LEAVING, WEIGHTED):
        publish(cluster, program)

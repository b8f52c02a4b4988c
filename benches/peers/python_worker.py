"""The Python worker of `make bench`: it times stead and Python's hash rings on the same
keys. workers.py describes what it reads and answers.

python_worker.py KEYS     (started by benches/peers/run.py, in .venv-peers)
"""

import bisect
import hashlib
import importlib.metadata
import os
import sys
import time

COPIES = 3  # the number of nodes that `copies` asks for
# Swift's table has 2^14 partitions, some 16 for each of 1,000 nodes
PART_POWER = 14


def one_by_one(call):
    """Returns a pass that calls a function for each key."""

    def run(keys):
        for key in keys:
            call(key)

    return run


class Refused(Exception):
    """What a candidate cannot do."""


class Candidate:
    """What a candidate does once it is built. `prepare` turns the keys into the form that
    `run` takes, outside of the timed part.
    """

    def __init__(self, owner, copies=None, run=None, prepare=None):
        self.owner, self.copies = owner, copies
        self.run = run or one_by_one(owner)
        self.prepare = prepare or (lambda keys: keys)


def states(path):
    """The states of a cluster: for each a list of (node, weight)."""
    with open(path, encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")
    return [
        [(name, int(weight)) for name, weight in map(str.split, block.splitlines())]
        for block in blocks
    ]


def equal(nodes):
    """The names of nodes that have no weights."""
    if any(weight != 1 for _, weight in nodes):
        raise Refused("no weights")
    return [name for name, _ in nodes]


def stead_call(call, path):
    import stead

    members = stead.Map.open(path)
    copies = lambda key: members.prefer(key, COPIES)
    if call == "locate":
        return Candidate(members.locate, copies)
    if call == "prefer":
        prefer = members.prefer

        def run(keys):
            for key in keys:
                prefer(key, 2)

        return Candidate(lambda key: prefer(key, 2)[0], copies, run)
    one = lambda key: members.locate_many([key])[0]
    if call == "locate_many(list)":
        return Candidate(one, copies, members.locate_many)
    import pyarrow

    return Candidate(one, copies, members.locate_many, pyarrow.array)


def uhashring_of(nodes):
    from uhashring import HashRing

    ring = HashRing(nodes=dict(nodes))
    copies = lambda key: [one["nodename"] for one in ring.range(key, COPIES)]
    return Candidate(ring.get_node, copies)


def hashring_of(nodes):
    from hashring import HashRing

    names = [name for name, _ in nodes]
    weighted = any(weight != 1 for _, weight in nodes)
    ring = HashRing(names, dict(nodes) if weighted else None)

    def copies(key):
        found = ring.iterate_nodes(key)
        return [next(found) for _ in range(COPIES)]

    return Candidate(ring.get_node, copies)


def fastring_of(nodes, batch):
    from fastring import HashRing

    ring = HashRing()
    for name, weight in nodes:
        ring.add_node(name, weight=weight)
    copies = lambda key: ring.get_replicas(key, COPIES)
    return Candidate(ring.get_node, copies, ring.get_node_batch if batch else None)


def jump_of(nodes):
    import jump

    names, md5, number = equal(nodes), hashlib.md5, int.from_bytes
    # jump takes a number, and its page leaves the hash to the caller
    return Candidate(
        lambda key: names[
            jump.hash(number(md5(key.encode()).digest()[:8], "big"), len(names))
        ]
    )


def clandestined_of(nodes):
    from clandestined import RendezvousHash

    return Candidate(RendezvousHash(equal(nodes)).find_node)


def swift_of(every, path):
    from swift.common import utils
    from swift.common.ring import Ring, RingBuilder

    # what swift.conf has on a server: a secret part of every key
    utils.HASH_PATH_SUFFIX = b"bench"
    # a table of 1,000 nodes takes Swift many seconds, so it is kept
    kept = f"{path}.{PART_POWER}.ring.gz"
    if not os.path.exists(kept):
        builder, ids = RingBuilder(PART_POWER, 1, 0), {}
        for nodes in every:
            for gone in set(ids) - {name for name, _ in nodes}:
                builder.remove_dev(ids.pop(gone))
            for name, weight in nodes:
                if name not in ids:
                    ids[name] = builder.add_dev(
                        {
                            "region": 1,
                            "zone": 1,
                            "ip": "127.0.0.1",
                            "port": 6200,
                            "device": name,
                            "weight": float(weight),
                        }
                    )
            builder.rebalance(seed=1)
        builder.get_ring().save(kept)
    ring = Ring(kept)
    return Candidate(
        lambda key: ring.get_nodes(key)[1][0]["device"], run=one_by_one(ring.get_nodes)
    )


def pure_of(path):
    import stead

    slices = stead.Map.open(path).slices
    firsts = [one.first.to_bytes(8, "big") for one in slices]
    names = [one.nodes[0] for one in slices]
    md5, after = hashlib.md5, bisect.bisect
    # bytes compare as the numbers do
    return Candidate(lambda key: names[after(firsts, md5(key.encode()).digest()) - 1])


def md5_of():
    md5 = hashlib.md5
    return Candidate(lambda key: md5(key.encode()).digest())


def build(name, path):
    """Builds a candidate for the last state of a cluster."""
    if name.startswith("stead "):
        _, call, kind = name.split()
        return stead_call(call, f"{path}.{kind}.map")
    if name == "pure Python":
        return pure_of(f"{path}.md5.map")
    if name == "hashlib.md5":
        return md5_of()
    every = states(path)
    nodes = every[-1]
    if name == "swift":
        return swift_of(every, path)
    makers = {
        "uhashring": uhashring_of,
        "hashring": hashring_of,
        "fastring": lambda nodes: fastring_of(nodes, False),
        "fastring get_node_batch": lambda nodes: fastring_of(nodes, True),
        "jump-consistent-hash": jump_of,
        "clandestined": clandestined_of,
    }
    return makers[name](nodes)


def version(name):
    """The version of a candidate's package."""
    package = name.split()[0]
    if package == "stead":
        return "this tree"
    if package in ("pure", "hashlib.md5"):
        return sys.version.split()[0]
    return importlib.metadata.version(package)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def answer(keys, built, words):
    """Does what a line asks for; returns the words of the answer."""
    verb, name, *rest = words
    if verb == "version":
        return [version(name)]
    if verb == "build":
        built.pop(name, None)
        start = time.process_time_ns()
        built[name] = build(name, rest[0])
        return [str(time.process_time_ns() - start)]
    it = built[name]
    if verb == "time":
        first, count = map(int, rest)
        part = it.prepare(keys[first : first + count])
        start = time.process_time_ns()
        it.run(part)
        return [str(time.process_time_ns() - start)]
    count = int(rest[0])
    if verb == "place":
        write(rest[1], map(it.owner, keys[:count]))
        return []
    if verb == "copies":
        if it.copies is None:
            raise Refused("no call for it")
        write(rest[1], (" ".join(it.copies(key)) for key in keys[:count]))
        return []
    raise ValueError(f"an unknown command: {verb}")


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        keys = file.read().splitlines()
    built = {}
    for line in sys.stdin:
        try:
            said = ["ok", *answer(keys, built, line.rstrip("\n").split("\t"))]
        except Refused as why:
            said = ["no", str(why)]
        except Exception as error:  # noqa: BLE001 - whatever a ring raises is the answer
            said = ["no", f"{type(error).__name__}: {error}".replace("\n", " ")]
        print("\t".join(said), flush=True)


if __name__ == "__main__":
    main()

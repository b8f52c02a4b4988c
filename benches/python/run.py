#!/usr/bin/env python3
"""Times `Map.locate` in Python against a bare MD5 and other hash rings, in one process.

Each round asks every candidate for the same keys, and the order of the candidates
rotates from round to round. A figure is the median over the rounds of the CPU time per
key, and a ratio is the median of the rounds' ratios. Run it with `make bench-python`.

    run.py [--rounds N] [--keys N]
"""

import argparse
import hashlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import stead

try:
    import pyarrow
except ImportError:
    pyarrow = None


def members(nodes):
    """A map that grew in ten steps, so that its slices are like those of real maps."""
    grown = None
    for count in range(nodes // 10, nodes + 1, nodes // 10):
        grown = stead.Map.build(
            {"name": "bench", "node": [{"name": f"n{i:04}"} for i in range(count)]},
            grown,
        )
    return grown


BUCKETS = 12_000


def adopted(nodes):
    """The map of `zlib.crc32(key) % nodes`, drawn as docs/rings.md says; None without the
    program.
    """
    built = Path(__file__).resolve().parents[2] / "target" / "release" / "stead"
    program = built if built.exists() else shutil.which("stead")
    if not program:
        print("skipped: an adopted map, since the program stead is not built")
        return None
    with tempfile.TemporaryDirectory() as place:
        servers = Path(place, "servers.txt")
        lines = (f"{bucket} n{bucket % nodes:04}\n" for bucket in range(BUCKETS))
        servers.write_text("".join(lines))
        draw = [program, "ring", "explicit", servers, "--set", f"modulo={BUCKETS}"]
        draw += ["--set", "hash=crc32", "-o", Path(place, "m.map")]
        draw += ["--fleet", Path(place, "m.toml")]
        subprocess.run(draw, check=True, stdout=subprocess.DEVNULL)
        return stead.Map.from_bytes(Path(place, "m.map").read_bytes())


def one_by_one(call, keys):
    """Returns a candidate that calls a function for each key."""

    def run():
        for key in keys:
            call(key)

    return run


def rings(nodes, keys):
    """Returns the other rings that are installed, with the same nodes and keys."""
    names = [f"n{i:04}" for i in range(nodes)]
    found = {}
    try:
        import uhashring

        found["uhashring get_node(str)"] = one_by_one(
            uhashring.HashRing(nodes=names).get_node, keys
        )
    except ImportError:
        print("skipped: uhashring is not installed")
    try:
        import hashring

        found["hashring get_node(str)"] = one_by_one(
            hashring.HashRing(names).get_node, keys
        )
    except ImportError:
        print("skipped: hashring is not installed")
    try:
        import fastring

        ring = fastring.HashRing()
        for name in names:
            ring.add_node(name)
        found["fastring get_node(str)"] = one_by_one(ring.get_node, keys)
    except ImportError:
        print("skipped: fastring is not installed (it needs Python 3.13)")
    return found


def candidates(nodes, keys):
    """{name: a function that runs once over all keys}."""
    placed = members(nodes)
    texts = [key.decode() for key in keys]
    md5 = hashlib.md5

    def digests():
        for key in keys:
            md5(key).digest()

    crc32 = zlib.crc32
    drawn = adopted(nodes)

    def modulo():
        for key in keys:
            crc32(key) % nodes

    found = {
        "stead locate(bytes)": one_by_one(placed.locate, keys),
        "stead locate(str)": one_by_one(placed.locate, texts),
        "hashlib.md5(bytes).digest()": digests,
        "zlib.crc32(bytes) % n": modulo,
        "stead locate_many(list of bytes)": lambda: placed.locate_many(keys),
        "stead locate_many(list of str)": lambda: placed.locate_many(texts),
        **rings(nodes, texts),
    }
    if pyarrow:
        column = pyarrow.array(texts)
        found["stead locate_many(Arrow)"] = lambda: placed.locate_many(column)
        found["stead locate_many(Arrow), numbers"] = lambda: placed.locate_many(
            column, numbers=True
        )
        found["stead locate_all_many(Arrow)"] = lambda: placed.locate_all_many(column)
        if drawn:
            found["stead locate_many(Arrow), adopted"] = lambda: drawn.locate_many(
                column
            )
    if drawn:
        found["stead locate(bytes), adopted"] = one_by_one(drawn.locate, keys)
    return found


def measured(found, rounds, keys):
    """{name: CPU nanoseconds per key, one figure for each round}."""
    names = list(found)
    times = {name: [] for name in names}
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.process_time_ns()
            found[name]()
            spent = time.process_time_ns() - start
            if number:  # the first round warms up
                times[name].append(spent / keys)
    return times


def ratio(times, name, base):
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times[name], times[base]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--keys", type=int, default=20_000)
    options = parser.parse_args()
    keys = [b"user%d" % (i * 7919 % 1_000_003) for i in range(options.keys)]
    print(
        f"Python {sys.version.split()[0]}, stead {stead.__version__}, {options.keys} "
        f"keys, medians of {options.rounds} rounds\n"
    )
    print(
        f"{'nodes':>5}  {'call':<36} {'ns a key':>10} {'of locate':>10} {'of MD5':>8}"
    )
    for nodes in (10, 1000):
        times = measured(candidates(nodes, keys), options.rounds, options.keys)
        for name in times:
            locate, md5 = (
                ratio(times, name, "stead locate(bytes)"),
                ratio(times, name, "hashlib.md5(bytes).digest()"),
            )
            print(
                f"{nodes:>5}  {name:<36} {statistics.median(times[name]):>10.1f} "
                f"{locate:>10.3f} {md5:>8.3f}"
            )
        print()
        for name in times:
            if "get_node" in name:
                like = "stead locate(str)"
                print(
                    f"{nodes:>5}  {like} / {name.split()[0]}: {ratio(times, like, name):.3f}"
                )
        print(
            f"{nodes:>5}  stead locate(bytes) / hashlib.md5(bytes).digest(): "
            f"{ratio(times, 'stead locate(bytes)', 'hashlib.md5(bytes).digest()'):.3f}\n"
        )


if __name__ == "__main__":
    main()

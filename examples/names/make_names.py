#!/usr/bin/env python3
"""Writes a list of distinct user names as a social site of 2005 had them:
`make_names.py OUT [--count 1188968]`.

The default is the number of members in "Evenly distributing members by MD5". First and
last names are drawn with their frequencies in the US Census of 1990 (see README.md) and
combined by the PATTERNS below. If a name is taken, digits or underscores are added.
Each line is one name, 3 to 20 characters of [a-z0-9_], in order of sign-up, so a
shorter list is the start of a longer one. The list is the same on every machine: the
only source of randomness is SplitMix64, and all arithmetic uses integers.
"""

import argparse
import os
import sys
import time
from bisect import bisect_right
from itertools import accumulate

COUNT = 1188968  # members of Fotolog on April 2, 2005, according to the paper
SEED = 20050402  # the same day
SHORTEST, LONGEST = 3, 20
HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1


def splitmix64(state):
    """Yields the 64-bit numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def weight(frequency):
    """Returns the weight of a frequency such as `1.006` (percent), in sixths of a
    thousandth of a percent. The weight of `0.000` is 1.

    The source rounds to thousandths. Its cumulated column ends at 90.483 while the
    frequencies add up to 79.590, so the 69,960 last names at 0.000 share 10.893:
    0.000156 each, a sixth of a thousandth.
    """
    whole, places = frequency.split(".")
    return 6 * (1000 * int(whole) + int(places)) or 1


def read_names(*files):
    """Returns the names in the files, and their cumulated weights."""
    names, weights = [], []
    for file in files:
        value = 0
        with open(os.path.join(HERE, file), encoding="ascii") as lines:
            for line in lines:
                words = line.split()
                if words[0][0].isdigit():
                    value = weight(words.pop(0))
                names += words
                weights += [value] * len(words)
    return names, list(accumulate(weights))


PREFIXES = [
    "dj",
    "xx",
    "the",
    "miss",
    "mr",
    "la",
    "el",
    "lil",
    "lady",
    "super",
    "mc",
    "its",
    "just",
    "o_",
    "little",
    "dr",
]
SUFFIXES = [
    "girl",
    "boy",
    "pics",
    "foto",
    "cam",
    "photos",
    "xx",
    "_x",
    "gurl",
    "kid",
    "flog",
    "rocks",
    "x",
    "mania",
    "grrl",
    "punk",
]
FAVOURITES = [
    "1",
    "2",
    "3",
    "7",
    "10",
    "11",
    "12",
    "13",
    "01",
    "00",
    "007",
    "69",
    "77",
    "99",
    "123",
    "2000",
    "2005",
    "2004",
    "666",
    "21",
    "22",
    "23",
    "88",
    "4",
    "5",
    "9",
    "18",
    "24",
    "100",
    "33",
    "17",
    "1000",
]


def number(n):
    """Returns a short number as people choose them, from ten random bits."""
    return FAVOURITES[n >> 2 & 31] if n & 3 == 0 else str((n >> 2) % 100)


def born(n):
    """Returns a year of birth from eight random bits: 1968 to 1998, most often 1983."""
    return str(1968 + (n & 15) + (n >> 4 & 15))


# the number of members of 1,024 that choose the pattern, and the name made from the
# first name, the last name and ten random bits
PATTERNS = (
    (44, lambda f, l, n: f),
    (36, lambda f, l, n: l),
    (140, lambda f, l, n: f + l),
    (100, lambda f, l, n: f + "_" + l),
    (118, lambda f, l, n: f[0] + l),
    (24, lambda f, l, n: f[0] + "_" + l),
    (44, lambda f, l, n: f + l[0]),
    (20, lambda f, l, n: f + "_" + l[0]),
    (16, lambda f, l, n: l + f[0]),
    (28, lambda f, l, n: f[:3] + l[:3]),
    (106, lambda f, l, n: f + born(n)[2:]),
    (50, lambda f, l, n: f + born(n)),
    (78, lambda f, l, n: f + number(n)),
    (24, lambda f, l, n: f + "_" + number(n)),
    (44, lambda f, l, n: l + number(n)),
    (24, lambda f, l, n: l + born(n)[2:]),
    (20, lambda f, l, n: f + f[-1] * (1 + (n & 3))),  # mariaaa
    (16, lambda f, l, n: "_" + f + "_"),
    (10, lambda f, l, n: "_" + f + l),
    (28, lambda f, l, n: PREFIXES[n & 15] + f),
    (14, lambda f, l, n: PREFIXES[n & 15] + "_" + l),
    (24, lambda f, l, n: f + SUFFIXES[n & 15]),
    (6, lambda f, l, n: born(n) + f),
    (10, lambda f, l, n: number(n) + f),
)


def free_name(name, taken, draws):
    """Returns the name under which somebody signs up if `name` is taken or too short.
    Something is added to the name, and more digits with each attempt.
    """
    digits = 10
    while True:
        bits = next(draws)
        kind, bits = bits & 7, bits >> 3
        if kind == 0:
            end = "_" + str(bits % digits)
        elif kind == 1:
            end = born(bits)[2:]
        elif kind == 2:
            end = born(bits)
        elif kind == 3:
            end = "_"
        else:
            end = str(bits % digits)
        room = LONGEST - len(end)
        other = "_" + name[:room] if kind == 3 and bits & 1 else name[:room] + end
        if other not in taken and len(other) >= SHORTEST:
            return other
        digits = min(10 * digits, 10**12)


def make(count):
    """Returns distinct names, in order, as the keys of a dictionary, which keeps the
    order and finds names that are taken.
    """
    firsts, first_weights = read_names("first-female.txt", "first-male.txt")
    lasts, last_weights = read_names("last.txt")
    first_total, last_total = first_weights[-1], last_weights[-1]
    patterns = [make_one for share, make_one in PATTERNS for _ in range(share)]
    draws = splitmix64(SEED)
    taken = {}
    # one draw of 64 bits per member: 10 bits for the pattern, 21 for the first name, 23
    # for the last name, 10 for numbers
    for bits in draws:
        if len(taken) == count:
            return taken
        first = firsts[
            bisect_right(first_weights, (bits >> 10 & 0x1FFFFF) * first_total >> 21)
        ]
        last = lasts[
            bisect_right(last_weights, (bits >> 31 & 0x7FFFFF) * last_total >> 23)
        ]
        name = patterns[bits & 1023](first, last, bits >> 54)[:LONGEST]
        if name in taken or len(name) < SHORTEST:
            name = free_name(name, taken, draws)
        taken[name] = None


def write(path, names):
    """Writes one name per line to a temporary file, then renames it, so that nobody
    sees half a list.
    """
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "xb") as out:
            out.write("".join([name + "\n" for name in names]).encode("ascii"))
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def main(arguments=None):
    """The program; returns the exit code."""
    parser = argparse.ArgumentParser(
        description="Write a list of distinct user names, always the same."
    )
    parser.add_argument("out", metavar="OUT", help="the file to write")
    parser.add_argument(
        "--count", type=int, default=COUNT, help="how many names (default %(default)s)"
    )
    options = parser.parse_args(arguments)
    if not 1 <= options.count <= 100000000:
        parser.error("--count is from 1 to 100000000")
    start = time.perf_counter()
    try:
        write(options.out, make(options.count))
    except OSError as error:
        print(f"make_names.py: {error}", file=sys.stderr)
        return 1
    print(
        f"{options.out}: {options.count} distinct names in {time.perf_counter() - start:.1f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

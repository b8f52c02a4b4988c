"""The figures of the three documents that stead started from: docs/figures.md has our
number beside theirs, and its pictures are what the program draws today.

Where a figure follows from a rule, the rule is written here a second time, in Python and
from the document alone.
"""

import bisect
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "figures.md")
sys.path.insert(0, os.path.join(ROOT, "tests"))

import built

PICTURES = built.script("pictures.py")
PROGRAM = built.program()
KEYS = [
    "host01.example.com:cpu",
    "host01.example.com:memory",
    "host01.example.com:load",
    "host02.example.com:cpu",
    "host02.example.com:memory",
    "host02.example.com:load",
    "www.example.com:requests_per_second",
]


def page():
    """The text of docs/figures.md."""
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def rows():
    """{(first column, second column): last column} of the tables with figures."""
    found = {}
    for line in page().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) >= 3:
            found[tuple(cells[:-2])] = cells[-1]
    heads = ("graph", "figure", "what")
    return {k: v for k, v in found.items() if k[0] not in heads and k[0].strip("-")}


def run(*arguments, **more):
    """The output of the program."""
    done = subprocess.run(
        [PROGRAM, *arguments], stdout=subprocess.PIPE, check=True, text=True, **more
    )
    return done.stdout


def simulated(scenario):
    """{system: report} of a scenario."""
    report = json.loads(run("simulate", scenario, "--json", "--no-times"))
    return {system["system"]: system for system in report["systems"]}


def percent(fraction):
    """As pictures print it."""
    return f"{fraction * 100:.{2 if fraction < 0.09995 else 1}f} %"


def djb2(key):
    """Bernstein's hash, the low 8 bits, as the article prints it in C."""
    number = 5381
    for byte in key.encode():
        number = (number * 33 + byte) % 2**64
    return number % 256


def ring(servers):
    """The rule of the article: (share of each server, its keys by their numbers).
    `servers` is {name: number of virtual nodes}.
    """
    first_byte = lambda text: hashlib.sha1(text.encode()).digest()[0]
    points = {}
    for name, virtual in servers.items():
        for i in range(virtual):
            points.setdefault(first_byte(f"{i}{name}"), name)
    order = sorted(points)
    owner = lambda at: points[order[bisect.bisect_left(order, at) % len(order)]]
    places = [owner(at) for at in range(256)]
    owners = [owner(first_byte(key)) for key in KEYS]
    return {
        name: (
            places.count(name) / 256,
            [number for number, own in enumerate(owners, 1) if own == name],
        )
        for name in servers
    }


def names(count, virtual=1, first=None):
    """Servers of equal weight, but for the first one."""
    servers = {f"s{i}.example.com": virtual for i in range(1, count + 1)}
    if first:
        servers["s1.example.com"] = first
    return servers


def counts(servers):
    """How many keys each server has, as the table prints it."""
    return ", ".join(str(len(keys)) for _, keys in ring(servers).values())


def described(picture):
    """What a picture says to those who do not see it."""
    with open(
        os.path.join(PICTURES.FIGURES, f"{picture}.svg"), encoding="utf-8"
    ) as file:
        return re.search(r"<desc[^>]*>(.*)</desc>", file.read())[1]


class Figures(unittest.TestCase):
    """Every row of the page, by document."""

    @classmethod
    def setUpClass(cls):
        cls.rows = rows()
        cls.checked = set()

    def ours(self, row, value):
        """The last column of a row is this value."""
        self.checked.add(row)
        self.assertEqual(self.rows.get(row), value, row)

    def test_1_members_by_md5(self):
        """The paper on members and MD5, on a list of as many names."""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "names.txt")
            make = os.path.join(ROOT, "examples", "names", "make_names.py")
            quiet = subprocess.DEVNULL
            subprocess.run([sys.executable, "-B", make, path], check=True, stdout=quiet)
            report = json.loads(run("survey", path, "--json"))
        self.assertEqual(report["names"], 1_188_968)
        by = {scheme["scheme"]: scheme for scheme in report["schemes"]}
        over = lambda scheme: by[scheme]["sd_over_mean"]
        for row, value in {
            ("D1", "first letter, mean"): f"{by['D1']['mean']:,.0f}",
            ("D1", "deviation"): f"{by['D1']['sd']:,.0f}",
            ("D2", "first two letters, deviation / mean"): f"{over('D2'):.2f}",
            ("D3", "first three letters, deviation / mean"): f"{over('D3'):.2f}",
            ("D3", "fullest"): f"{by['D3']['fullest']:,}",
            ("N1", "sum of characters, deviation / mean"): f"{over('N1'):.4f}",
            ("N2", "sums of two levels, deviation / mean"): f"{over('N2'):.4f}",
            ("M1", "MD5, mean"): f"{by['M1']['mean']:,.0f}",
            ("M1", "deviation / mean"): f"{over('M1'):.4f}",
            ("M2", "mean"): f"{by['M2']['mean']:.1f}",
            ("M2", "deviation / mean"): f"{over('M2'):.4f}",
            ("M3", "mean"): f"{by['M3']['mean']:.2f}",
            ("M3", "deviation / mean"): f"{over('M3'):.4f}",
        }.items():
            self.ours(row, value)
        # what the page says of the paper's errors
        self.assertEqual(f"{1_188_968 / 37:,.0f}", "32,134")
        chance = lambda buckets: math.sqrt((1 - 1 / buckets) / (1_188_968 / buckets))
        for buckets, said in {
            31: "0.0050",
            64 * 64 * 128: "0.664",
            64 * 64 * 64: "0.470",
        }.items():
            self.assertEqual(f"{chance(buckets):.{len(said) - 2}f}", said)
            self.assertIn(said, page())

    def test_2_random_slicing(self):
        """The article on Random Slicing."""
        for n in range(3, 10):
            period = math.lcm(n, n + 1)
            stays = sum(h % n == h % (n + 1) for h in range(period)) / period
            self.assertAlmostEqual(stays, 1 / (n + 1))
            self.assertIn(
                f"To {n + 1} buckets: moves {percent(1 - stays)}.",
                described("figure-1"),
            )
        self.ours(("1", "stays when n becomes n + 1, of all hashes"), "1/(n + 1)")
        largest = []
        for number in range(1, 7):
            path = os.path.join(ROOT, "tests", "maps", f"figure-4-{number}.map")
            nodes = json.loads(run("show", path, "--json"))["nodes"]
            largest.append(max(int(node["points"]) for node in nodes) / 2**64)
        self.ours(
            ("4", "largest share of a node in the six maps"),
            f"{max(largest):.2%}".replace("%", " %"),
        )
        fraction = lambda system: system["total"]["moved"]["fraction"]
        naive, best = (
            simulated("figure-5")["contiguous"],
            simulated("figure-6")["stead"],
        )
        self.ours(("5", "moved, naive, 1 to 4 nodes"), percent(fraction(naive)))
        steps = [step["moved"]["fraction"] for step in best["steps"]]
        self.ours(("6", "moved, 1 to 4 nodes"), percent(sum(steps[:4])))
        self.ours(("6", "moved when n3 grows to 1.5"), percent(steps[4]))
        shares = dict(
            re.findall(r"(n\d) (\d+\.\d) %", described("figure-6").split("4 nodes")[-1])
        )
        ratio = float(shares["n3"]) / float(shares["n0"])
        self.ours(("6", "n3 over the others, at the end"), f"{ratio:.1f}")
        systems = simulated("figure-7")
        imbalance = lambda name: [
            f"{step['imbalance']:.2f}" for step in systems[name]["steps"]
        ]
        riak = imbalance("riak")
        for nodes, value in zip((4, 7, 10, 13, 16), riak):
            self.ours(("7", f"Riak's imbalance at {nodes} nodes"), value)
        self.assertEqual(set(imbalance("stead")), {"1.00"})
        best = ("7", "imbalance of the best strategy, at each step")
        self.ours(best, "1.00 (stead)")
        moved = {name: percent(fraction(systems[name])) for name in systems}
        self.ours(("7", "moved by the best strategy"), f"{moved['stead']} (stead)")
        self.ours(("7", "moved by the naive strategy"), moved["contiguous"])
        self.ours(("7", "moved by Riak"), moved["riak"])
        at_13 = described("figure-7").split("13 nodes")[1].split("16 nodes")[0]
        self.assertEqual(at_13.count("12.5 %"), 3, "three nodes have two partitions")

    def test_3_distributed_rrd(self):
        """The article on round-robin databases."""
        hashes = [djb2(key) for key in KEYS]
        listed = lambda numbers: " ".join(map(str, numbers))
        self.ours(("djb2 of the seven keys, low 8 bits",), listed(hashes))
        self.ours(("their nodes, mod 3",), listed(h % 3 for h in hashes))
        self.ours(("their nodes, mod 4",), listed(h % 4 for h in hashes))
        moved = sum(h % 3 != h % 4 for h in hashes) / 7
        self.ours(("keys that move from 3 to 4, mod n",), percent(moved))
        said = described("djb2")
        self.assertIn(f"To 4 buckets: moves {percent(moved)}.", said)
        for key, number in zip(KEYS, hashes):
            line = f"{key} = {number}; mod 3 = {number % 3}, mod 4 = {number % 4}"
            self.assertIn(line, said)
        three, four = names(3), names(4)
        self.ours(("ring, 3 servers: keys of each",), counts(three))
        self.ours(("ring, a fourth server: keys of each",), counts(four))
        before, after = ring(three), ring(four)
        lose = [name for name in three if after[name][0] < before[name][0]]
        self.assertEqual(len(lose), 1)
        self.ours(("ring, a fourth server: servers that lose",), "one")
        self.ours(("ring, 4 virtual nodes: keys of each",), counts(names(3, 4)))
        double = names(3, 4, 8)
        self.ours(("ring, double weight: keys of each",), counts(double))
        shares = ", ".join(percent(share) for share, _ in ring(double).values())
        self.ours(("ring, double weight: shares",), shares)
        # the pictures say the same
        for picture, servers in {
            "ring-3": three,
            "ring-4": four,
            "ring-virtual": names(3, 4),
            "ring-double": double,
        }.items():
            for name, (share, keys) in ring(servers).items():
                with_keys = f" with keys {listed(keys)}" if keys else ""
                line = f"{name} {percent(share)}{with_keys}"
                self.assertIn(line, described(picture), picture)

    def test_4_every_row_was_checked(self):
        """No number of the page stands there unchecked. (Tests run by their names.)"""
        self.assertEqual(set(self.rows) - self.checked, set())


class Pictures(unittest.TestCase):
    """docs/figures."""

    def test_the_pictures_are_current_and_small(self):
        """They are what the commands of the page draw."""
        drawn = PICTURES.draw(PROGRAM)
        differ, left = PICTURES.stale(drawn)
        self.assertEqual((differ, left), ([], []), "run `make pictures`")
        self.assertLess(max(map(len, drawn.values())), 100_000)
        # a picture that has changed is seen
        name = min(drawn)
        changed = {**drawn, name: drawn[name] + b" "}
        self.assertEqual(PICTURES.stale(changed)[0], [name])

    def test_the_page_shows_each_picture(self):
        """And no other page shows one that is not there."""
        there = set(os.listdir(PICTURES.FIGURES))
        shown = set(re.findall(r"\(figures/([\w-]+\.svg)\)", page()))
        # the README shows this one
        self.assertEqual(there - shown, {"growth.svg"})


if __name__ == "__main__":
    unittest.main()

"""Tests of the reference itself: published values, all maps and all damaged maps. The
judge's tests are in test_judge.py.

Run: python3 -m unittest discover -s tests/reference
"""

import ast
import copy
import functools
import inspect
import json
import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import comparison
import damage
import make_vectors
import stead_reference as reference
from hashes import point_of, siphash, xxh3, xxh64

MAPS = {p.stem: p.read_bytes() for p in (HERE.parent / "maps").glob("*.map")}


def vectors(name):
    """The vectors of a checked-in file."""
    return json.loads((HERE.parent / "vectors" / f"{name}.json").read_text())["vectors"]


@functools.cache
def map_of(name):
    """A map of tests/maps, read once for all tests that only look at it."""
    return reference.read_map(MAPS[name])


class Hashes(unittest.TestCase):
    def test_md5_has_the_point_of_the_page(self):
        self.assertEqual(point_of("md5", b"frank"), 0x26253C50741FAA9C)
        self.assertEqual(point_of("md5", b"frank\n"), 0xD268C8FE7F154537)

    def test_sha1_of_rfc_3174(self):
        self.assertEqual(point_of("sha1", b"abc"), 0xA9993E364706816A)

    def test_siphash_of_the_paper_and_its_reference_program(self):
        key = bytes(range(16))
        self.assertEqual(siphash(bytes(range(15)), key), 0xA129CA6149BE45E5)
        self.assertEqual(
            siphash(b"", key).to_bytes(8, "little").hex(), "310e0edd47db6f72"
        )
        self.assertEqual(
            siphash(b"\0", key).to_bytes(8, "little").hex(), "fd67dc93c539f874"
        )

    def test_xxh3_of_the_published_program_at_the_lengths_where_its_method_changes(
        self,
    ):
        # From xxHash 0.8.2 or later: xxh3_64 of n bytes i % 251, seed 0; checked
        # against the C program for 0 to 1400 bytes.
        self.assertEqual(xxh3(b""), 0x2D06800538D394C2)
        self.assertEqual(xxh3(b"a"), 0xE6C632B61E964E1F)
        self.assertEqual(xxh3(b"abc"), 0x78AF5F94892F3950)
        for n, value in XXH3.items():
            self.assertEqual(xxh3(bytes(i % 251 for i in range(n))), value, n)

    def test_xxh64_of_the_published_program(self):
        # xxhash 3.6.0 of PyPI, which has the C program in it: of n bytes i % 251, seeds 0
        # and 1
        for n, values in XXH64.items():
            key = bytes(i % 251 for i in range(n))
            self.assertEqual((xxh64(key), xxh64(key, 1)), values, n)


XXH3 = {
    2: 0xD6645FC3051A9457,
    3: 0x5F4299FC161C9CBB,
    4: 0x60DAB036A58211F2,
    8: 0x3A1C2D7C85AF88F8,
    9: 0xE9612598145BB9DC,
    16: 0x8355E3A6F61770DB,
    17: 0x9EF341A99DE37328,
    32: 0x3523581FE96E4C05,
    33: 0xE68C56BA88991E58,
    64: 0x6187EB9089B0ED55,
    65: 0x6928C76CE90422D0,
    96: 0x278A3E12EA046DFB,
    97: 0xE7220282DC4E14F4,
    128: 0x85C6174C7FF4C46B,
    129: 0xEC7642B431BA3E5A,
    143: 0x8222E885F060341D,
    144: 0x028E1E35FF4C0A01,
    240: 0x375A384D957FE865,
    241: 0x02E8CD95421C6D02,
    256: 0x44F5D90DACDE463A,
    1024: 0xE5D78BAFA45B2AA5,
    1025: 0xE95C42288F28186E,
    1088: 0x1A848D807034C403,
    4096: 0x7135FFA504F1BC71,
}

# of seeds 0 and 1
XXH64 = {
    0: (0xEF46DB3751D8E999, 0xD5AFBA1336A3BE4B),
    1: (0xE934A84ADB052768, 0x771917C7F6EE2451),
    3: (0xE5C7BB4533BC65DD, 0xA2168D89C582B451),
    4: (0xFFCED8604453CC1E, 0x94506F8C7E5870A9),
    7: (0x14CC643F630C72D2, 0xAF4C5311C47C77B7),
    8: (0x884A173614B81B8D, 0x9D2B7C7354FE4E23),
    11: (0x652A564A95365ACA, 0x693ECB9E603D77B9),
    12: (0x424AF23F1F08DCA5, 0x797CF4FAC65D4C13),
    31: (0xC346D2B59B4D8EE1, 0xF031031D65977DFC),
    32: (0xCBF59C5116FF32B4, 0xD74E6766CE9DBA94),
    33: (0x0C535D1ACAFB8EAD, 0xA371825F4210FE99),
    63: (0xE26AA9E2A95F8E4F, 0x5264EC0719E10595),
    64: (0xF7C67301DB6713F0, 0x3CE5BDF7575926C0),
    100: (0x6AC1E58032166597, 0x3D19A3A2098A7023),
    1000: (0xF306F04AA88B54D3, 0x3DD8A345CC37DE33),
}


class Pages(unittest.TestCase):
    def test_paths_of_the_page(self):
        for key, fold, path in (
            (b"frank", False, "38/37/60/frank"),
            (b"frank\n", False, "18/40/72/frank=0a"),
            (b"Frank", False, "57/28/119/=46rank"),
            (b"Frank", True, "38/37/60/frank"),
            (b"", False, "20/29/12/="),
        ):
            self.assertEqual(reference.path(key, fold=fold), path)

    def test_a_file_name_of_256_bytes_is_an_error(self):
        self.assertEqual(len(reference.path(b"_" * 255).split("/")[3]), 255)
        self.assertRaises(ValueError, reference.path, b"_" * 256)
        self.assertRaises(ValueError, reference.path, b"A" * 86)

    def test_mix_is_the_output_step_of_splitmix64(self):
        # The first numbers of SplitMix64 with seed 0 and 1234567, as published with it
        # and in the tests of its ports.
        self.assertEqual(
            [reference.mix(0, j) for j in (1, 2)],
            [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4],
        )
        self.assertEqual(reference.mix(1234567, 1), 6457827717110365317)

    def test_every_cell_starts_where_the_one_before_it_ends(self):
        for cells in (1, 2, 7, 1000, 16384, 2**64):
            for value in (0, 1, cells // 2, cells - 1):
                first = reference.cell_bound(value, cells)
                if value < cells:
                    last = reference.cell_bound(value + 1, cells) - 1
                    self.assertEqual(reference.cell(first, cells), (first, last))
                    self.assertEqual(reference.cell(last, cells), (first, last))
                    self.assertTrue(reference.is_bound(first, cells))
                    self.assertEqual(reference.is_bound(last, cells), first == last)


class Format(unittest.TestCase):
    def test_every_map_is_accepted(self):
        self.assertGreaterEqual(len(MAPS), 14)
        for data in MAPS.values():
            reference.read_map(data)

    def test_the_lookup_through_the_index_finds_the_same_owner(self):
        for v in vectors("locate"):
            m, p = map_of(v["map"]), int(v["point"], 16)
            firsts = [first for first, _ in m.final]
            b = p >> (64 - m.bits)
            low = sum(f < b << (64 - m.bits) for f in firsts)
            high = sum(f < (b + 1) << (64 - m.bits) for f in firsts)
            at = low + sum(f <= p for f in firsts[low:high]) - 1
            self.assertEqual(m.final[at][1], reference.owner(m.final, p))

    def test_every_damaged_map_is_refused_for_its_rule(self):
        damaged = vectors("damaged")
        self.assertGreaterEqual(len(damaged), 200)
        for v in damaged:
            with self.assertRaises(reference.Refused, msg=v["comment"]) as refused:
                reference.read_map(damage.rebuild(MAPS[v["map"]], v))
            self.assertEqual(refused.exception.status, v["status"], v["comment"])
            self.assertTrue(
                refused.exception.rule.startswith(v["rule"]),
                (v["comment"], refused.exception.rule),
            )

    def test_every_rule_of_the_reader_is_broken_by_a_damaged_map(self):
        broken = [v["rule"] for v in vectors("damaged")]
        reader = ast.parse((HERE / "stead_reference.py").read_text())
        rules = [
            ast.unparse(node.args[1]).lstrip("f")[1:-1]
            for node in ast.walk(reader)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "need"
        ]
        self.assertGreater(len(rules), 60)
        for rule in rules:
            pattern = re.compile(re.sub(r"\\{\w+\\}", ".*", re.escape(rule)))
            self.assertTrue(
                any(pattern.match(b) or rule.startswith(b) for b in broken), rule
            )

    def test_every_rule_of_base_slices_is_broken_for_target_slices_too(self):
        broken = {v["rule"] for v in vectors("damaged")}
        rules = {rule for rule in broken if rule.startswith("base: ")}
        self.assertGreater(len(rules), 6)
        self.assertEqual(
            {rule.replace("base", "target") for rule in rules} - broken, set()
        )

    def test_every_byte_of_a_map_counts(self):
        for name in ("pin-added", "gradual", "gradual-copies"):
            data = MAPS[name]
            for at in range(len(data)):
                spoiled = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
                self.assertRaises(reference.Refused, reference.read_map, spoiled)

    def test_a_gradual_change_is_read_and_does_not_touch_the_lookup(self):
        changing = {name: reference.read_map(data) for name, data in MAPS.items()}
        changing = {name: m for name, m in changing.items() if m.target}
        self.assertIsNotNone(changing.pop("firsts-gradual"))
        self.assertEqual(set(changing), {"gradual", "gradual-copies", "gradual-left"})
        leaving = {
            name: [m.nodes[i].name for i in m.leaving] for name, m in changing.items()
        }
        self.assertEqual(
            leaving, {"gradual": ["n1"], "gradual-copies": [], "gradual-left": ["b1"]}
        )
        self.assertEqual(len(changing["gradual-copies"].target), 7)
        end = reference.read_map(MAPS["gradual-end"])
        self.assertEqual(
            [first for first, _ in end.base],
            [first for first, _ in changing["gradual"].target],
        )
        for m in changing.values():
            self.assertEqual(m.final, reference.lay_pins(m.base, m.pins))


class Vectors(unittest.TestCase):
    def test_the_checked_in_files_are_those_that_make_vectors_makes(self):
        self.assertEqual(make_vectors.main(check=True), 0)

    def test_there_are_enough_vectors(self):
        names = (
            "points",
            "paths",
            "names",
            "locate",
            "prefer",
            "plans",
            "damaged",
            "fleet_errors",
        )
        self.assertGreaterEqual(sum(len(vectors(name)) for name in names), 5000)
        self.assertGreaterEqual(len(vectors("fleet_errors")), 80)

    def test_prefer_lists_distinct_nodes_and_the_holders_first(self):
        for v in vectors("prefer"):
            m = map_of(v["map"])
            self.assertEqual(len(set(v["prefer"])), min(v["n"], len(m.nodes)))
            holders = list(
                dict.fromkeys(reference.locate_all(m, m.point(bytes.fromhex(v["key"]))))
            )
            self.assertEqual(v["prefer"][: len(holders)], holders[: v["n"]])

    def test_the_rule_of_the_domains_decides_some_vectors_of_prefer(self):
        changed = set()
        for v in vectors("prefer"):
            m = copy.copy(map_of(v["map"]))
            m.spread = []
            if (
                reference.prefer(m, m.point(bytes.fromhex(v["key"])), v["n"])
                != v["prefer"]
            ):
                changed.add(v["map"])
        self.assertEqual(
            changed, {"domains-1", "domains-2", "held", "pins-short", "seldom"}
        )

    def test_every_mistake_in_prefer_makes_vectors_fail(self):
        asked = [v for v in vectors("prefer") if v["map"] in ("held", "seldom")]
        for mistake in PREFER:
            prefer = mistaken(reference, "prefer", *mistake)

            def differs(v, prefer=prefer):
                m = map_of(v["map"])
                point = m.point(bytes.fromhex(v["key"]))
                return prefer(m, point, v["n"]) != v["prefer"]

            self.assertTrue(any(map(differs, asked)), mistake)

    def test_every_mistake_in_the_names_of_nodes_makes_vectors_fail(self):
        for mistake in SAME_NODES:
            same_nodes = mistaken(comparison, "same_nodes", *mistake)
            differ = {
                (v["old"], v["new"])
                for v in vectors("pairs")
                if same_nodes(map_of(v["old"]), map_of(v["new"]))
                != comparison.same_nodes(map_of(v["old"]), map_of(v["new"]))
            }
            self.assertTrue(differ, mistake)


def mistaken(module, name, right, wrong):
    """A function of the reference with a mistake in it."""
    source = inspect.getsource(getattr(module, name))
    assert source.count(right) == 1, right
    names = dict(vars(module))
    exec(source.replace(right, wrong), names)  # noqa: S102  our own source
    return names[name]


# what each mistake replaces, and by what
PREFER = [
    # one draw too few, one too many
    ("range(1, 65)", "range(1, 64)"),
    ("range(1, 65)", "range(1, 66)"),
    # nodes without the label are in a domain of their own
    ("used - {None}", "used"),
    # domains hold points of the final slices, or of unnamed policies alone
    ("policy in m.base for i", "policy in m.final for i"),
    (
        "for i in m.policies[policy].members\n",
        "for i in m.policies[policy].members if not m.policies[policy].named\n",
    ),
    # the last step prefers new domains, too
    (
        "    listed += [i for",
        """    zones = {domain(i) for i in listed}
    listed += [i for i in range(len(m.nodes)) if domain(i) not in zones]
    listed += [i for""",
    ),
]
SAME_NODES = [
    # the first of two nodes with one former name
    ("old_names - new_names:", "old_names - new_names - set(same):"),
    # a former name that another node of the new map has
    ("old_names - new_names:", "old_names:"),
    # a step back is no other than a step forward
    ("new.epoch < old.epoch", "False"),
]


if __name__ == "__main__":
    unittest.main()

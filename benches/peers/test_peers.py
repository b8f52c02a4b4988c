"""The tables, the picture and the checks of `make bench` say what the figures say."""

import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

import candidates
import chart
import checks
import clusters
import tables
import workers

BASE = candidates.base("Rust")


def results():
    """Results of three rounds, the second of which was twice as slow for everybody."""
    slow = (1, 2, 1)
    times = {
        BASE: {str(size): [100 * by for by in slow] for size in clusters.SIZES},
        "Rust ketama": {"10": [200 * by for by in slow], "100": [150, 330, 160]},
        "Rust maglev": {str(size): [50 * by for by in slow] for size in clusters.SIZES},
        "C stead locate xxh3": {"1000": [10, 20, 10]},
        "Rust hashring": {"1000": [80 * by for by in slow]},
    }
    return {
        "date": "2026-01-02",
        "machine": {
            "processor": "a processor",
            "vectors": "avx2",
            "cores": 2,
            "system": "Linux 6.1",
            "rustc": "rustc 1.95.0",
            "cc": "12.2.0",
        },
        "keys": 1_000_000,
        "check_keys": 400_000,
        "rounds": 3,
        "times": times,
        "missing": {"Rust ketama": {"1000": "ends the process (SIGABRT)"}},
        "lacking": {"PHP": "PHP is not installed"},
        "versions": {key: "1.2.3" for key in times},
        "checks": {
            BASE: {
                "weights": 0.004,
                "joins": [1 / 11, 0.0],
                "leaves": [0.1, 0.0],
                "copies": "yes",
            },
            "Rust maglev": {
                "weights": "no weights",
                "joins": [0.0935, 0.0022],
                "leaves": [0.11, 0.000001],
                "copies": "no call for it",
            },
            "Rust hashring": {
                "weights": 0.12,
                "joins": [0.09, 0.0],
                "leaves": [0.1, 0.0],
                "copies": "no call for it",
            },
        },
    }


def cells(lines, start):
    """The cells of the row that starts with a text."""
    for line in lines:
        if line.startswith(f"| {start}"):
            return [cell.strip() for cell in line.strip("|").split("|")]
    raise AssertionError(f"no row starts with {start!r}")


class Numbers(unittest.TestCase):
    def test_three_digits_count(self):
        shown = [
            tables.number(value)
            for value in (0.01234, 0.9999, 1.234, 9.996, 12.34, 99.96, 123.4, 12345.6)
        ]
        self.assertEqual(
            shown, ["0.012", "1.00", "1.23", "10.0", "12.3", "100", "123", "12,346"]
        )

    def test_what_is_not_zero_is_not_shown_as_zero(self):
        self.assertEqual(tables.percent(0), "0 %")
        self.assertEqual(tables.percent(0.000001), "0.01 %")
        self.assertEqual(tables.percent(0.1), "10.00 %")


class Speed(unittest.TestCase):
    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        row = cells(tables.speed(results(), "Rust"), "ketama")
        # the rounds' ratios of 100 nodes are 1.5, 1.65 and 1.6
        self.assertEqual(row[3:5], ["160 ns", "1.60 (1.55 to 1.62)"])

    def test_a_slow_round_does_not_change_a_ratio(self):
        row = cells(tables.speed(results(), "Rust"), "ketama")
        self.assertEqual(row[1:3], ["200 ns", "2.00 (2.00 to 2.00)"])

    def test_a_missing_figure_is_a_dash_and_has_its_reason(self):
        row = cells(tables.speed(results(), "Rust"), "ketama")
        self.assertEqual(row[5:7], ["-", "-"])
        said = "\n".join(tables.missing(results()))
        self.assertIn("no figure for 1,000 nodes: ends the process (SIGABRT).", said)
        self.assertIn("PHP was not measured: PHP is not installed.", said)

    def test_versions_of_others_are_named(self):
        row = cells(tables.speed(results(), "Rust"), "maglev")
        self.assertEqual(row[0], "maglev 1.2.3, table of 65,537")

    def test_the_cells_of_a_column_are_equally_wide(self):
        self.assertEqual(
            len({len(line) for line in tables.speed(results(), "Rust")}), 1
        )


class Abilities(unittest.TestCase):
    def test_figures_and_reasons(self):
        lines = list(tables.abilities(results()))
        self.assertEqual(
            cells(lines, "Rust: maglev")[1:],
            [
                "no weights",
                "9.35 %, needless 0.22 %",
                "11.00 %, needless 0.01 %",
                "no call for it",
            ],
        )
        self.assertEqual(cells(lines, "Rust: stead")[1], "0.40 %")


class Goals(unittest.TestCase):
    def test_the_quickest_with_weights_is_chosen(self):
        # maglev is quicker than hashring, but has no weights
        (line,) = tables.goals(results())
        self.assertIn("hashring", line)
        self.assertIn("0.125 (0.125 to 0.125; goal 0.5)", line)


class Page(unittest.TestCase):
    def test_the_tables_go_between_the_marks_and_can_be_written_again(self):
        text = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
        once = tables.into(text, results())
        self.assertEqual(tables.into(once, results()), once)
        self.assertTrue(once.startswith("before\n") and once.endswith("\nafter\n"))
        self.assertNotIn("\nold\n", once)

    def test_a_page_without_marks_is_refused(self):
        with self.assertRaises(ValueError):
            tables.into("no marks", results())

    def test_the_page_of_the_tree_has_its_marks(self):
        page = workers.ROOT / "docs" / "measuring.md"
        tables.into(page.read_text(encoding="utf-8"), results())


class Picture(unittest.TestCase):
    def bars(self):
        drawn = xml.fromstring("\n".join(chart.svg(results())))
        found = {}
        for rect in drawn.iter("{http://www.w3.org/2000/svg}rect"):
            title = rect.find("{http://www.w3.org/2000/svg}title")
            if title is not None:
                found[title.text] = float(rect.get("width"))
        return found

    def test_there_is_a_bar_for_each_figure(self):
        figures = sum(len(sizes) for sizes in results()["times"].values())
        self.assertEqual(len(self.bars()), figures)

    def test_a_longer_time_is_a_longer_bar(self):
        bars = self.bars()
        widths = [
            bars["maglev, table of 65,537, 10 nodes: 50.0 ns"],
            bars["Map::locate, md5, 10 nodes: 100 ns"],
            bars["ketama, 10 nodes: 200 ns"],
        ]
        self.assertEqual(widths, sorted(widths))
        # logarithmic: each is twice the one before
        self.assertAlmostEqual(widths[1] - widths[0], widths[2] - widths[1], delta=0.2)


class Checks(unittest.TestCase):
    def test_needless_is_a_move_between_nodes_that_stay(self):
        before, after = ["a", "a", "b", "b"], ["a", "new", "a", "b"]
        found = checks.movement(before, after, lambda _, to: to == "new")
        self.assertEqual(found, (0.5, 0.25))

    def test_the_worst_error_is_relative_to_the_nodes_share(self):
        owners = ["a"] * 30 + ["b"] * 70
        self.assertAlmostEqual(checks.worst_error(owners, {"a": 1, "b": 3}), 0.2)

    def test_a_node_without_keys_is_wholly_off(self):
        self.assertEqual(checks.worst_error(["b"], {"a": 1, "b": 1}), 1)


# answers as a worker does, and dies when it is asked to build `abort`
FAKE = """
import os, sys
for line in sys.stdin:
    words = line.rstrip().split("\\t")
    if words[:2] == ["build", "abort"]:
        os.abort()
    print("ok\\t7" if words[0] == "build" else "no\\tnot built", flush=True)
"""


class Workers(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(FAKE)
        self.addCleanup(Path(file.name).unlink)
        self.worker = workers.Worker([sys.executable, file.name], "keys")
        self.addCleanup(self.worker.stop)

    def test_answers_are_split_into_success_and_words(self):
        self.assertEqual(self.worker.ask("build", "one", "states"), (True, "7"))
        self.assertEqual(self.worker.ask("time", "one", 0, 1), (False, "not built"))

    def test_a_death_is_an_answer_and_the_next_question_starts_a_new_process(self):
        found = self.worker.ask("build", "abort", "states")
        self.assertEqual(found, (False, "ends the process (SIGABRT)"))
        self.assertFalse(self.worker.alive)
        self.assertTrue(self.worker.ask("build", "one", "states")[0])


def dependencies_of_stead(lock):
    """The crates that a Cargo.lock lists for the crate stead, without their versions."""
    (block,) = re.findall(
        r'^name = "stead"\n(?:.+\n)*?dependencies = \[([^]]*)\]', lock, re.MULTILINE
    )
    return {word.split()[0] for word in re.findall(r'"([^"]*)"', block)}


class Lock(unittest.TestCase):
    """`make bench` builds the Rust worker with --locked. Its Cargo.lock is not that of
    the tree, and has to follow when stead gets another dependency.
    """

    def test_the_lock_of_the_rust_worker_has_steads_dependencies(self):
        lock = workers.HERE / "rust" / "Cargo.lock"
        listed = dependencies_of_stead(lock.read_text(encoding="utf-8"))
        manifest = workers.ROOT / "crates" / "stead" / "Cargo.toml"
        wanted, used = set(), False
        for line in manifest.read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                used = line in ("[dependencies]", "[build-dependencies]")
            elif used and (name := re.match(r"([\w-]+) =", line)):
                wanted.add(name[1])
        self.assertEqual(
            listed,
            wanted,
            "run `cargo update -w --manifest-path benches/peers/rust/Cargo.toml`",
        )


class Clusters(unittest.TestCase):
    def test_sizes_grow_in_ten_steps(self):
        states = clusters.TIMED[1000].states
        self.assertEqual([len(state) for state in states], list(range(100, 1001, 100)))

    def test_one_node_joins_and_one_leaves(self):
        before, joined = map(set, clusters.JOINED.states)
        self.assertEqual(joined - before, {("n0011", 1)})
        before, left = map(set, clusters.LEAVING.states)
        self.assertEqual(before - left, {(clusters.LEFT, 1)})


if __name__ == "__main__":
    unittest.main()

"""The tables of `make bench-rrd` say what the rounds measured.

python3 -m unittest discover -s benches/rrd
"""

import stat
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "rrd")]

import figures
import systems


def said(updates, seconds, delivered=None, lacked=0):
    """What the client says about a run."""
    return {
        "updates": updates,
        "requests": updates,
        "seconds": seconds,
        "delivered_seconds": delivered or seconds,
        "lacked": lacked,
        "client_cpu": updates * 5e-6,
        "p50_us": 40.0,
        "p99_us": 900.0,
        "max_us": 1000.0,
    }


def run(updates, seconds=1.0, **more):
    return figures.figures(
        said(updates, seconds, **more),
        copies=2,
        cpu={"router": updates * 20e-6, "servers": updates * 0.3e-6},
        sleeps=updates * 3,
        others=0.2,
    )


class Figures(unittest.TestCase):
    def test_delivered_counts_until_the_last_server_has_all(self):
        found = run(1000, 1.0, delivered=4.0, lacked=300)
        self.assertEqual((found["answered"], found["delivered"]), (1000, 250))
        # 300 in two copies
        self.assertEqual((found["backlog"], found["drain_ms"]), (150, 3000))

    def test_cpu_and_sleeps_are_those_of_one_update(self):
        found = run(2000)
        self.assertAlmostEqual(found["cpu_us"]["router"], 20)
        self.assertAlmostEqual(found["cpu_us"]["servers"], 0.3)
        self.assertAlmostEqual(found["cpu_us"]["client"], 5)
        self.assertEqual(found["router_sleeps"], 3)

    def test_a_ratio_is_the_median_of_the_rounds_and_not_of_the_rates(self):
        # the machine was slow in the first round; the ratio of the medians is 1
        one = [run(100), run(1000), run(1000)]
        own = [run(80), run(1000), run(700)]
        self.assertEqual(figures.summary(own, one)["answered_to_one"], 0.8)
        self.assertIsNone(figures.summary(own, one)["answered_to_two"])

    def test_a_comparison_has_the_ratios_of_the_rates_and_of_the_cpu(self):
        new, old = [run(200), run(400)], [run(100), run(200)]
        new[0]["cpu_us"]["router"] = new[1]["cpu_us"]["router"] = 15
        self.assertEqual(
            figures.comparison(new, old),
            "answered 2.00, delivered 2.00, p50 1.00, p99 1.00, CPU 0.75, servers 1.00",
        )

    def test_rounds_that_do_not_belong_together_have_no_ratio(self):
        with self.assertRaises(ValueError):
            figures.summary([run(1), run(1)], [run(1)])

    def test_a_wide_table_fits_100_columns_and_its_columns_stand_in_line(self):
        rows = []
        for rate in (1_234, 12_345_678):
            found = figures.summary([run(rate)], [run(rate * 3)], [run(rate // 3)])
            found["p50_us"], found["p99_us"] = 12_345.6, 123_456.7
            found["cpu_us"] = {"router": 1234.5, "servers": 123.4, "client": 12.34}
            rows.append(figures.row("served+power", found))
        found = figures.summary([run(5)])
        del found["cpu_us"]["router"]
        rows.append(figures.row("two rrdcached", found))
        lines = figures.table("64 clients", rows)
        self.assertLessEqual(max(map(len, lines)), 100, "\n".join(lines))
        self.assertEqual(len(set(map(len, lines[1:]))), 1)
        self.assertTrue(lines[1].endswith("CPU, us an update"))

    def test_what_is_not_there_is_a_dash(self):
        found = figures.summary([run(5)])
        del found["cpu_us"]["router"]
        cells = figures.row("one rrdcached", found)
        self.assertEqual(cells[1:4] + cells[9:10], ["5", "-", "-", "-"])

    def test_small_times_keep_two_digits(self):
        shown = [figures.microseconds(value) for value in (0.123, 12.34, 1234.5)]
        self.assertEqual(shown, ["0.12", "12.3", "1,234"])
        shown = [figures.time(value) for value in (0.25, 25.4, 12_345)]
        self.assertEqual(shown, ["0.2 ms", "25 ms", "12.3 s"])


class Variants(unittest.TestCase):
    def router(self, help):
        """A router that has this help."""
        directory = tempfile.TemporaryDirectory(prefix="stead-bench-")
        self.addCleanup(directory.cleanup)
        path = Path(directory.name) / "stead-rrd"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{help}\nEND\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_a_router_is_measured_with_the_options_that_it_knows(self):
        old = self.router("      --no-log\n          Keep the log in memory only")
        self.assertEqual(systems.known(old), {"router": ""})
        new = self.router("      --answer <WHEN>\n      --durability <KIND>\n")
        self.assertEqual(systems.known(new), systems.VARIANTS)
        self.assertEqual(systems.pairs(new), {})
        two = "      --standby <A>\n      --pair <A>\n      --role <ROLE>\n"
        two = self.router(f"{two}      --answer <WHEN>\n      --durability <KIND>\n")
        self.assertEqual(
            systems.pairs(two),
            {f"pair:{name}": text for name, text in systems.VARIANTS.items()},
        )
        half = self.router("      --durability <KIND>\n")
        self.assertEqual(systems.known(half), {"router": ""})

    def test_an_option_with_its_value_in_one_word_is_known(self):
        router = self.router("      --log-size <MIB>\n")
        self.assertTrue(systems.understands(router, "--log-size=12"))
        self.assertFalse(systems.understands(router, "--log"))


if __name__ == "__main__":
    unittest.main()

"""The comparison of instruction counts sees what it must see, and nothing else."""

import unittest

import check

PROFILE = """\
version: 1
events: Ir
fl=(1) main.rs
fn=(1) main
10 5
cfn=(2) case_single_md5
calls=1 20
11 1000
cfn=(3) case_batch_md5
calls=1 30
12 400

fn=(2)
20 100
cfn=(4) stead::locate
calls=10 40
21 900

fn=(5) another
5 1
cfn=(2)
calls=2 20
6 2000
"""


class Profiles(unittest.TestCase):
    def test_calls_are_added_up_and_other_functions_left_out(self):
        self.assertEqual(
            check.inclusive(PROFILE), {"case_single_md5": 3000, "case_batch_md5": 400}
        )


RECORDED = {"scalar single md5": 100_000, "sse2 batch md5": 40_000}


class Comparison(unittest.TestCase):
    def grown(self, **changed):
        counted = dict(RECORDED)
        counted.update({name.replace("_", " "): n for name, n in changed.items()})
        return check.grown(RECORDED, counted)

    def test_equal_and_smaller_counts_are_well(self):
        self.assertEqual(self.grown(), [])
        self.assertEqual(self.grown(sse2_batch_md5=20_000), [])

    def test_a_growth_of_exactly_five_percent_is_well(self):
        self.assertEqual(self.grown(sse2_batch_md5=42_000), [])

    def test_a_planted_growth_of_six_percent_is_named(self):
        (line,) = self.grown(sse2_batch_md5=42_400)
        self.assertEqual(
            line, "sse2 batch md5: 42,400 instructions, 6.0 % above 40,000"
        )

    def test_a_case_that_is_not_counted_any_more_is_named(self):
        (line,) = check.grown(RECORDED, {"scalar single md5": 100_000})
        self.assertIn("sse2 batch md5: recorded, but not counted", line)

    def test_a_case_that_is_not_recorded_is_named(self):
        (line,) = self.grown(avx2_batch_md5=1)
        self.assertIn("avx2 batch md5: counted, but not recorded", line)


class Toolchains(unittest.TestCase):
    def test_the_same_one_differs_in_nothing(self):
        now = check.toolchain()
        self.assertEqual(check.differences(now, dict(now)), [])

    def test_another_compiler_is_named_with_the_recorded_one(self):
        before = {"rustc": "rustc 1.85.0", "host": "x"}
        now = {"rustc": "rustc 1.95.0", "host": "x"}
        self.assertEqual(
            check.differences(before, now), ["rustc 1.95.0 (recorded: rustc 1.85.0)"]
        )


if __name__ == "__main__":
    unittest.main()

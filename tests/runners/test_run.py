"""Tests of tests/run, with made-up runners: it must pass the right ones and no others."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import unittest

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run")
loader = importlib.machinery.SourceFileLoader("run", RUN)
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)

SIZES = {"a.json": 3, "b.json": 2}
RIGHT = [("a.json", 3), ("b.json", 2)]


def runner(counts, name="made-up", then=""):
    """A command that reports these counts, and then runs a line of Python."""
    lines = "".join(
        f"vectors: {name} {file} {passed} passed\n" for file, passed in counts
    )
    return [sys.executable, "-c", f"print({lines!r}, flush=True)\n{then}"]


def judged(
    command, sizes=None, least=1, arguments=(), needs=None, parts=None, **others
):
    """The exit code and what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run.main(
            list(arguments),
            {"made-up": command, **others},
            SIZES if sizes is None else sizes,
            least,
            needs or {},
            parts,
        )
    return code, printed.getvalue()


class Judged(unittest.TestCase):
    """One test for each way to be wrong, and one for the way to be right."""

    def fails(self, why, *arguments, **named):
        """It fails, says why, and counts at least one failure in its last line."""
        code, printed = judged(*arguments, **named)
        self.assertEqual(code, 1, printed)
        self.assertIn(why, printed)
        self.assertRegex(
            printed.splitlines()[-1], r"^\d+ passed, [1-9]\d* failed, 0 skipped$"
        )
        return printed

    def test_a_runner_that_passes_every_vector_once_passes(self):
        code, printed = judged(runner(RIGHT))
        self.assertEqual(
            (code, printed.splitlines()[-1]), (0, "5 passed, 0 failed, 0 skipped")
        )

    def test_one_too_few_fails(self):
        printed = self.fails(
            "FAILED: made-up: a.json: 2 of 3 passed",
            runner([("a.json", 2), ("b.json", 2)]),
        )
        self.assertIn("4 passed, 1 failed", printed)
        self.assertRegex(printed, r"(?m)^made-up +2! +2 +4 +\d")

    def test_one_too_many_fails(self):
        self.fails(
            "FAILED: made-up: a.json: 4 of 3 passed",
            runner([("a.json", 4), ("b.json", 2)]),
        )

    def test_one_too_many_does_not_make_up_for_one_too_few(self):
        self.fails(
            "FAILED: made-up: a.json: 4 of 3 passed",
            runner([("a.json", 4), ("b.json", 1)]),
        )

    def test_a_file_that_is_reported_twice_fails(self):
        self.fails("made-up: b.json: 4 of 2 passed", runner(RIGHT + [("b.json", 2)]))

    def test_a_skipped_vector_fails(self):
        self.fails(
            "made-up: b.json: 1 of 2 passed",
            runner(
                RIGHT[:1], then="print('vectors: made-up b.json 1 passed, 1 skipped')"
            ),
        )

    def test_a_file_left_out_fails(self):
        self.fails("made-up: b.json: 0 of 2 passed", runner(RIGHT[:1]))

    def test_a_file_that_nobody_has_fails(self):
        self.fails(
            "made-up: c.json: there is no such file", runner(RIGHT + [("c.json", 1)])
        )

    def test_no_report_at_all_fails(self):
        self.fails("made-up: a.json: 0 of 3 passed", runner([]))

    def test_the_report_of_another_runner_does_not_count(self):
        self.fails("made-up: a.json: 0 of 3 passed", runner(RIGHT, name="other"))

    def test_a_runner_that_raises_fails_although_all_its_numbers_are_right(self):
        printed = self.fails(
            "FAILED: made-up: ended with 1",
            runner(RIGHT, then="raise ValueError('as it should')"),
        )
        self.assertIn("ValueError: as it should", printed)

    def test_a_runner_that_is_killed_fails_and_the_others_still_run(self):
        command = runner(RIGHT, then="import os; os.kill(os.getpid(), 9)")
        printed = self.fails(
            "FAILED: made-up: ended with -9", command, after=runner(RIGHT, name="after")
        )
        self.assertRegex(printed, r"(?m)^after +3 +2 +5 +\d")
        self.assertNotIn("FAILED: after", printed)

    def test_a_runner_that_is_not_installed_fails(self):
        self.fails("FAILED: made-up: ended with 127", ["/no/such/program"])

    def test_an_empty_vector_file_fails(self):
        self.fails(
            "FAILED: c.json: no vectors",
            runner(RIGHT + [("c.json", 0)]),
            sizes={**SIZES, "c.json": 0},
        )

    def test_too_few_vectors_in_all_fail(self):
        self.fails(
            "FAILED: 5 vectors in all, and at least 6 are wanted",
            runner(RIGHT),
            least=6,
        )
        self.assertEqual(judged(runner(RIGHT), least=5)[0], 0)
        self.fails("at least 5000 are wanted", runner(RIGHT), least=run.LEAST)

    def test_no_runner_and_no_vector_fail(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(run.judge(SIZES, {}, 1), 1)
        self.fails("0 vectors in all", runner([]), sizes={})

    def test_only_the_runners_that_are_asked_for_run(self):
        code, printed = judged(
            runner([]),
            arguments=["--runner", "other"],
            other=runner(RIGHT, name="other"),
        )
        self.assertEqual((code, "made-up" in printed), (0, False), printed)
        with self.assertRaises(SystemExit):
            judged(runner(RIGHT), arguments=["--runner", "unheard-of"])

    def test_what_is_missing_on_this_machine_is_skipped_and_said(self):
        needs = {
            "other": ([sys.executable, "-c", "raise SystemExit(1)"], "it is not there"),
            "made-up": ([sys.executable, "-c", ""], "never"),
        }
        for need in (needs, {"other": (["/no/such/program"], "it is not there")}):
            code, printed = judged(runner(RIGHT), other=runner([]), needs=need)
            self.assertEqual(
                (code, printed.splitlines()[0]),
                (0, "skipped: other: it is not there"),
                printed,
            )
            self.assertEqual(printed.splitlines()[-1], "5 passed, 0 failed, 5 skipped")
        code, printed = judged(
            runner([]), needs={"made-up": (["/no/such/program"], "it is not there")}
        )
        self.assertEqual(
            (code, printed.splitlines()[-1]),
            (1, "0 passed, 0 failed, 5 skipped"),
            printed,
        )

    def test_a_runner_of_a_part_passes_with_exactly_its_part(self):
        part = {"made-up": {"a.json": 2}}
        code, printed = judged(
            runner([("a.json", 2)]), parts=part, whole=runner(RIGHT, name="whole")
        )
        self.assertEqual(
            (code, printed.splitlines()[-1]),
            (0, "7 passed, 0 failed, 0 skipped"),
            printed,
        )
        self.assertRegex(printed, r"(?m)^made-up +2 +- +2 +\d")
        self.assertRegex(printed, r"(?m)^whole +3 +2 +5 +\d")

    def test_a_vector_of_a_part_that_is_skipped_or_run_twice_fails(self):
        part = {"made-up": {"a.json": 2}}
        for passed in (1, 3):
            printed = self.fails(
                f"FAILED: made-up: a.json: {passed} of 2 passed",
                runner([("a.json", passed)]),
                parts=part,
            )
            self.assertRegex(printed, rf"(?m)^made-up +{passed}! +- +{passed} +\d")
        self.fails("made-up: a.json: 0 of 2 passed", runner([]), parts=part)

    def test_a_runner_of_a_part_may_report_no_other_file(self):
        self.fails(
            "FAILED: made-up: b.json: there is no such file, or it is not in the",
            runner([("a.json", 2), ("b.json", 2)]),
            parts={"made-up": {"a.json": 2}},
        )

    def test_the_part_of_one_runner_excuses_no_other(self):
        self.fails(
            "FAILED: made-up: b.json: 0 of 2 passed",
            runner(RIGHT[:1]),
            parts={"other": {"a.json": 3}},
            other=runner(RIGHT[:1], name="other"),
        )

    def test_a_part_without_vectors_fails(self):
        self.fails(
            "FAILED: made-up: b.json: no vectors in the part",
            runner([("a.json", 3)]),
            parts={"made-up": {"a.json": 3, "b.json": 0}},
        )

    def test_a_part_that_cannot_run_here_counts_its_own_vectors_as_skipped(self):
        code, printed = judged(
            runner(RIGHT),
            other=runner([]),
            parts={"other": {"a.json": 1}},
            needs={"other": (["/no/such/program"], "it is not there")},
        )
        self.assertEqual(
            (code, printed.splitlines()[-1]), (0, "5 passed, 0 failed, 1 skipped")
        )

    def test_the_vectors_of_a_part_are_counted_from_the_files(self):
        files = {"a.json": [{"n": 1}, {"n": 2}, {"n": 3}], "b.json": [{"n": 1}]}
        parts = {"made-up": {"a.json": lambda v: v["n"] > 1}}
        self.assertEqual(run.part_sizes(parts, files), {"made-up": {"a.json": 2}})

    def test_the_part_of_ruby_has_vectors_that_belong_and_others_that_do_not(self):
        files = run.vector_files()
        part = run.part_sizes(run.PARTS, files)["ruby"]
        self.assertEqual(part["points.json"], len(files["points.json"]))
        for file in ("damaged.json", "locate.json"):
            self.assertTrue(200 < part[file] < len(files[file]), (file, part[file]))
        rules = {v["rule"] for v in files["damaged.json"]}
        self.assertLessEqual(run.RULES_OF_A_READER, rules)
        self.assertTrue(run.has_own_hash("three"))
        self.assertFalse(run.has_own_hash("hash-crc32"))

    def test_the_list_names_all_and_runs_none(self):
        self.assertEqual(
            judged(runner([]), arguments=["--list"], other=runner([])),
            (0, "made-up\nother\n"),
        )


if __name__ == "__main__":
    unittest.main()

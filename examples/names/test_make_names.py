#!/usr/bin/env python3
"""Tests make_names.py: the count, that names are distinct, their alphabet, and that the
list is always and everywhere the same.
"""

import contextlib
import hashlib
import io
import itertools
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_names

# frozen: a change of make_names.py must change these, and also every figure that was
# measured with the list
SHA256_OF_10000 = "6404457bb1686952a76d701a5a9d84de8cf4ce046a0ee9ad8caf3253399d868c"
SHA256_OF_ALL = "cb970c8d7575a154d05b742249b1b22322fd8dee1a1a9e1bd278d2a96f9db54b"


def run(directory, *options):
    """Runs the program and returns the bytes of its list."""
    path = os.path.join(directory, "names.txt")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = make_names.main([path] + list(options))
    assert code == 0 and said.getvalue().count("\n") == 1, said.getvalue()
    assert os.listdir(directory) == ["names.txt"], "a temporary file stayed behind"
    with open(path, "rb") as file:
        return file.read()


class MakeNames(unittest.TestCase):
    def check(self, text, count, sha256):
        self.assertTrue(text.endswith(b"\n"))
        names = text.decode("ascii").split("\n")[:-1]
        self.assertEqual(len(names), count)
        self.assertEqual(len(set(names)), count)
        shape = re.compile("[a-z0-9_]{3,20}")
        self.assertEqual([name for name in names if not shape.fullmatch(name)], [])
        self.assertTrue(
            any(name[0].isdigit() for name in names)
            and any(name[0] == "_" for name in names)
        )
        self.assertEqual(hashlib.sha256(text).hexdigest(), sha256)

    def test_ten_thousand_names_are_the_frozen_ones_twice(self):
        with tempfile.TemporaryDirectory() as directory:
            first = run(directory, "--count", "10000")
            self.assertEqual(run(directory, "--count", "10000"), first)
            self.check(first, 10000, SHA256_OF_10000)

    def test_the_whole_list_is_the_frozen_one(self):
        with tempfile.TemporaryDirectory() as directory:
            self.check(run(directory), make_names.COUNT, SHA256_OF_ALL)

    def test_a_short_list_is_the_start_of_a_longer_one(self):
        self.assertEqual(list(make_names.make(500)), list(make_names.make(2000))[:500])

    def test_a_taken_name_gets_another_ending_and_stays_within_20_characters(self):
        draws = make_names.splitmix64(1)
        for name in ("al", "frank", "x" * 20):
            taken = {name: None}
            for _ in range(3000):
                other = make_names.free_name(name, taken, draws)
                self.assertNotIn(other, taken)
                self.assertRegex(other, "^[a-z0-9_]{3,20}$")
                taken[other] = None

    def test_splitmix64_gives_its_published_numbers(self):
        # seed 1234567; many ports of the reference program give this sequence, for
        # instance on Rosetta Code
        self.assertEqual(
            list(itertools.islice(make_names.splitmix64(1234567), 3)),
            [6457827717110365317, 3203168211198807973, 9817491932198370423],
        )

    def test_the_data_is_complete_and_has_no_name_twice(self):
        for file, count in (
            ("last.txt", 88799),
            ("first-female.txt", 4275),
            ("first-male.txt", 1219),
        ):
            names, weights = make_names.read_names(file)
            self.assertEqual(
                (len(names), len(set(names)), len(weights)), (count, count, count)
            )
            self.assertTrue(all(name.isalpha() and name.islower() for name in names))
        self.assertEqual(make_names.weight("1.006"), 6036)
        self.assertEqual(make_names.weight("0.000"), 1)

    def test_the_patterns_share_out_1024_members(self):
        self.assertEqual(sum(share for share, _ in make_names.PATTERNS), 1024)

    def test_a_count_outside_the_limits_or_a_bad_path_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for count in ("0", "-1", "x", "100000001"):
                with self.assertRaises(SystemExit):
                    make_names.main(["unused", "--count", count])
            self.assertEqual(
                make_names.main(["/nonexistent/names.txt", "--count", "1"]), 1
            )
        self.assertIn("/nonexistent/names.txt", said.getvalue())


if __name__ == "__main__":
    unittest.main()

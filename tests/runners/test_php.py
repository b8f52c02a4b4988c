"""The PHP runner must notice a locale that has no effect, and a package that is wrong in
one place.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import answers
import built
from locales import locales, why_not
from report import TESTS, vector_files

import php

ANSWER = os.path.join(TESTS, "runners", "answer.php")
HAS_PHP = (
    shutil.which(php.PHP)
    and subprocess.run(
        [php.PHP, "-r", "exit((int) !extension_loaded('FFI'));"], check=False
    ).returncode
    == 0
)
# the right text in Map.php, the wrong text, and the vector file that must show it
WRONG = [
    (
        "stead_map_node_of($this->map, $key, \\strlen($key)",
        'stead_map_node_of($this->map, $key, \\strcspn($key, "\\0")',
        "locate.json",
    ),
    (
        "return $this->ffi->point[0];",
        "return (int) (float) $this->ffi->point[0];",
        "points.json",
    ),
    ("$n = \\min($n, ", "$n = \\min($n, 3, ", "prefer.json"),
]


@unittest.skipUnless(HAS_PHP, "there is no php with the extension FFI")
class TestPhp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = os.path.join(built.libraries(), "libstead.so")

    def started(self, **environment):
        return subprocess.run(
            [php.PHP, ANSWER],
            env=dict(os.environ, STEAD_LIBRARY=self.library, **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )

    @unittest.skipIf(why_not(), why_not())
    def test_a_locale_that_is_not_there_stops_the_runner(self):
        with tempfile.TemporaryDirectory() as scratch:
            for name, environment in locales(scratch).items():
                self.assertEqual(
                    self.started(ANSWER_LOCALE=name, **environment).returncode, 0
                )
                missing = self.started(
                    ANSWER_LOCALE=name, LOCPATH="/nowhere", LC_ALL=name
                )
                self.assertEqual(
                    (missing.returncode, b"does not take" in missing.stderr), (3, True)
                )

    def test_a_package_that_is_wrong_fails_vectors(self):
        files = vector_files()
        with tempfile.TemporaryDirectory() as scratch:
            for i, (right, wrong, file) in enumerate([("", "", None), *WRONG]):
                tree = os.path.join(scratch, str(i))
                shutil.copytree(
                    os.path.join(os.path.dirname(TESTS), "php"),
                    os.path.join(tree, "php"),
                    ignore=shutil.ignore_patterns("vendor"),
                )
                os.makedirs(os.path.join(tree, "tests", "runners"))
                shutil.copy(ANSWER, os.path.join(tree, "tests", "runners"))
                source = os.path.join(tree, "php", "src", "Map.php")
                text = answers.read(source).decode()
                self.assertIn(right, text)
                answers.write(source, text.replace(right, wrong).encode())
                command = [
                    php.PHP,
                    os.path.join(tree, "tests", "runners", "answer.php"),
                ]
                asked = {
                    name: files[name] for name in ("locate.json", file or "points.json")
                }
                with (
                    mock.patch.dict(os.environ, STEAD_LIBRARY=self.library),
                    mock.patch("builtins.print"),
                ):
                    counts = answers.passed("PHP", command, asked, tree)
                sizes = {name: len(vectors) for name, vectors in asked.items()}
                self.assertEqual(counts == sizes, file is None, wrong)


if __name__ == "__main__":
    unittest.main()

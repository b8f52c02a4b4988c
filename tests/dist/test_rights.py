"""debian/copyright has a text for the licence of every crate. Without this test, a new crate would
stop `make dist` after half an hour, when it comes to the packages for Debian.
"""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "packaging", "dist"))

import rights

KNOWN = {*rights.PREFERRED, *rights.TEXTS, *rights.COMMON}


def crates():
    """Returns {name: (licences, directory)} of the crates that a Linux needs."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version=1"]
    command += ["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {
        each["name"]: (
            rights.licence(each["license"] or "MIT").split(" and "),
            os.path.dirname(each["manifest_path"]),
        )
        for each in json.loads(done.stdout)["packages"]
    }


class Rights(unittest.TestCase):
    def test_every_licence_has_a_text(self):
        found = crates()
        self.assertGreater(len(found), 100)
        lacking = {name for name, (all_of, _) in found.items() if set(all_of) - KNOWN}
        self.assertEqual(lacking, set())
        for licence, (crate, file) in rights.TEXTS.items():
            with self.subTest(licence):
                _, folder = found[crate]
                self.assertTrue(os.path.isfile(os.path.join(folder, file)))

    def test_a_licence_without_a_text_is_named(self):
        with self.assertRaisesRegex(SystemExit, "no text of the licence Beerware"):
            rights.text_of("Beerware", "vendor")


if __name__ == "__main__":
    unittest.main()

"""The archive of the sources is made again when a file of the tree is another one, so that no
package is made of older sources.
"""

import os
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "packaging", "dist"))

import source


def write(text, *path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Source(unittest.TestCase):
    def test_an_archive_is_current_until_a_file_changes(self):
        with tempfile.TemporaryDirectory() as place:
            root = os.path.join(place, "tree")
            write("[build]\n", root, ".cargo", "config.toml")
            write("one", root, "src", "one")
            write("two", root, "two")
            os.symlink("src/one", os.path.join(root, "link"))
            names = [".cargo/config.toml", "link", "src/one", "two"]
            out = os.path.join(place, "out")
            os.mkdir(out)
            tree = mock.Mock(
                ROOT=root,
                OUT=out,
                WORK=os.path.join(place, "work"),
                files=lambda: names,
                version=lambda: "1",
            )
            vendor = lambda folder: write("a crate", folder, "a-1", "lib.rs")
            with mock.patch.multiple(source, tree=tree, vendor=vendor):
                path = os.path.join(out, "stead-1.tar.xz")
                self.assertFalse(source.is_current(path))
                self.assertEqual(source.make(), path)
                self.assertTrue(source.is_current(path))
                write("another", root, "two")
                self.assertFalse(source.is_current(path))
                write("two", root, "two")
                self.assertTrue(source.is_current(path))
                names.remove("two")
                self.assertFalse(source.is_current(path))
                names.append("two")
                write("three", root, "three")
                names.append("three")
                self.assertFalse(source.is_current(path))


if __name__ == "__main__":
    unittest.main()

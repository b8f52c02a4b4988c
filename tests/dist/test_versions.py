"""Every package says the version of Cargo.toml, and lists what it must list. (The version
of the wheel, and of every crate and program, is that of the workspace.)
"""

import json
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def found(pattern, *path):
    """Returns all that a pattern finds in a file; it must find something."""
    values = re.findall(pattern, read(*path), re.MULTILINE)
    assert values, f"{'/'.join(path)} has nothing like {pattern}"
    return values


(VERSION,) = found(r'^version = "([^"]+)"', "Cargo.toml")
MAJOR, MINOR, PATCH = map(int, VERSION.split("."))
# the way of Perl: 0.1.0 is 0.001000
PERL = f"{MAJOR}.{MINOR:03}{PATCH:03}"


def versions():
    """Yields a place, and the versions that it says and must say."""
    yield "[workspace.dependencies]", found(r'^stead = .*"(\d[^"]*)"', "Cargo.toml")
    header = found(r'^#define STEAD_VERSION_STRING "(.*)"$', "include", "stead.h")
    yield "include/stead.h", header
    source = found(r'PHP_STEAD_VERSION "(.*)"', "php", "ext", "php_stead.h")
    yield "php/ext/php_stead.h", source
    package = found(r"<(?:release|api)>(\d.*)</", "php", "ext", "package.xml")
    yield "php/ext/package.xml", package
    changelog = found(r"^stead \((.*?)-\d", "packaging", "debian", "changelog")
    yield "packaging/debian/changelog", changelog[:1]
    symbols = found(r"@Base (\S+)$", "packaging", "debian", "libstead1.symbols")
    yield "packaging/debian/libstead1.symbols", sorted(set(symbols))[-1:]


class Versions(unittest.TestCase):
    def test_every_package_says_the_version_of_the_workspace(self):
        for place, said in versions():
            with self.subTest(place):
                self.assertEqual(set(said), {VERSION})

    def test_every_member_takes_the_version_of_the_workspace(self):
        (members,) = found(r"^members = (\[.*\])", "Cargo.toml")
        for member in json.loads(members):
            with self.subTest(member):
                self.assertIn("version.workspace = true", read(member, "Cargo.toml"))
        self.assertIn('dynamic = ["version"]', read("python", "pyproject.toml"))

    def test_every_module_of_perl_says_it_as_perl_does(self):
        folder = os.path.join(ROOT, "bindings", "perl", "lib")
        for where, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(where, name)
                with self.subTest(name):
                    self.assertEqual(set(found(r"VERSION = '(.*)'", path)), {PERL})
        self.assertEqual(found(r"^(\d\.\d+) ", "bindings", "perl", "Changes")[0], PERL)

    def test_changelog_has_the_version_or_says_that_it_is_not_released(self):
        first = found(r"^## (.*)$", "CHANGELOG.md")[0]
        self.assertRegex(first, rf"^(Unreleased|{re.escape(VERSION)}( - |,? ))")

    def test_debian_lists_the_functions_that_the_archive_of_the_abi_lists(self):
        folder = os.path.join(ROOT, "tests", "abi")
        newest = max((n for n in os.listdir(folder) if n.isdigit()), key=int)
        listed = found(r"^ (\w+)@Base ", "packaging", "debian", "libstead1.symbols")
        self.assertEqual(listed, read(folder, newest, "symbols.txt").split())


if __name__ == "__main__":
    unittest.main()

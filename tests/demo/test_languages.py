"""The demo's last table (examples/languages.py): it says that all agree, names the
languages that are missing, and detects a language with another answer.
"""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

import built

# a stand-in for php: it answers the first questions of languages.py, and then prints
# what the program prints, with one change
PHP = """#!{python}
import subprocess, sys
if sys.argv[1] == "-r":
    print("1" if "FFI" in sys.argv[2] else "8.2", end="")
else:
    for line in subprocess.run([{program!r}, "locate", *sys.argv[2:]], stdout=subprocess.PIPE, check=True).stdout.splitlines():
        key, node = line.split(b"\\t")
        address = b"10.0.0.%d" % int(node[1:])
        sys.stdout.buffer.write(b"\\t".join([{fields}]) + b"\\n")
"""


class Agree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.program = built.program()
        fleet = os.path.join(cls.scratch.name, "fleet.toml")
        with open(fleet, "w", encoding="ascii") as file:
            file.write(
                'name = "members"\n'
                + "".join(
                    f'[[node]]\nname = "n{i}"\nattributes = {{ address = "10.0.0.{i}" }}\n'
                    for i in range(9)
                )
            )
        cls.map = os.path.join(cls.scratch.name, "members.map")
        subprocess.run(
            [cls.program, "apply", fleet, cls.map],
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def table(self, **env):
        """Returns the table, and whether all agree. Python and Perl are left out: their
        own suites build them.
        """
        env = {
            **os.environ,
            "STEAD_BUILT": os.path.dirname(self.program),
            "PERL": "/nowhere/perl",
            **env,
        }
        code = (
            "import sys, languages; languages.LANGUAGES['Python'] = languages.perl; "
            "sys.exit(not languages.agree(sys.argv[1], languages.prepare()))"
        )
        done = subprocess.run(
            [sys.executable, "-X", "utf8", "-c", code, self.map],
            cwd=os.path.join(ROOT, "examples"),
            env=env,
            stdout=subprocess.PIPE,
            check=False,
        )
        return done.stdout.decode(), done.returncode == 0

    def php(self, fields):
        """Writes a php that prints these fields of the program's records."""
        path = os.path.join(self.scratch.name, "php")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                PHP.format(python=sys.executable, program=self.program, fields=fields)
            )
        os.chmod(path, 0o755)
        return path

    def test_all_that_are_here_agree(self):
        text, good = self.table(PHP=self.php("key, node, address"))
        self.assertTrue(good, text)
        self.assertIn("3 of 5 asked, one answer", text)

    def test_who_is_not_here_says_why(self):
        text, good = self.table(PHP="/nowhere/php")
        self.assertTrue(good, text)
        self.assertIn("not here: /nowhere/php: No such file or directory", text)
        self.assertIn("2 of 5 asked, one answer", text)

    def test_another_answer_is_caught(self):
        for fields in (
            "key, b'n0', address",
            "key, node, b'10.0.0.99'",
            "key.lower(), node, address",
            "key",
            "key, node",
        ):
            text, good = self.table(PHP=self.php(fields))
            self.assertFalse(good, f"{fields}\n{text}")
            self.assertNotIn("one answer", text)
        self.assertFalse(self.table(PHP=self.php("key, node, address[:0]"))[1])


if __name__ == "__main__":
    unittest.main()

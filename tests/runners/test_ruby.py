"""The reader of examples/ruby: docs/implementing.md shows it as it is, and the vectors
notice each of the mistakes that the page warns of.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLE = os.path.join(ROOT, "examples", "ruby")
PAGE = os.path.join(ROOT, "docs", "implementing.md")
RUBY = os.environ.get("RUBY", "ruby")
FIELDS = ((128, 132), (136, 144))  # hash and cells in a map's header

# what the mistake is -> (file, the right text, the wrong text)
MISTAKES = {
    "points compared as signed numbers": ("lookup.rb", '"Q<" :', '"q<" :'),
    "the lower bound instead of the upper": ("lookup.rb", ") > point", ") >= point"),
    "the index taken for the answer": (
        "lookup.rb",
        "record(13, bucket + 1)",
        "record(13, bucket)",
    ),
    "a point of md5 read little-endian": (
        "hashes.rb",
        "Digest::MD5.hexdigest(bytes).hex",
        'Digest::MD5.digest(bytes).reverse.unpack1("H*").hex',
    ),
    "a secret read big-endian": ("hashes.rb", '"Q<2"', '"Q>2"'),
    "the hash's number used without its cell": (
        "lookup.rb",
        "((cell << 64) + @cells - 1) / @cells",
        "number >> (bits - 64)",
    ),
    "a cell's first point rounded down": (
        "lookup.rb",
        "((cell << 64) + @cells - 1) / @cells",
        "(cell << 64) / @cells",
    ),
    "modulo of 64 bits instead of the whole digest": (
        "lookup.rb",
        "number % @cells",
        "(number >> (bits - 64)) % @cells",
    ),
    "white space at the ends of a key dropped": (
        "lookup.rb",
        "key = key.b\n",
        "key = key.b.strip\n",
    ),
    "a key that ends at its first NUL": (
        "lookup.rb",
        "key = key.b\n",
        'key = key.b.split("\\0", 2).first.to_s\n',
    ),
    "a key read as text": (
        "lookup.rb",
        "key = key.b\n",
        'key = key.dup.force_encoding("UTF-8").scrub.b\n',
    ),
    "fold beyond ASCII": (
        "lookup.rb",
        'key.tr("A-Z", "a-z")',
        'key.force_encoding("UTF-8").scrub.downcase.b',
    ),
    "one slash at the start skipped instead of all": (
        "lookup.rb",
        r"%r{\A/+}",
        r"%r{\A/}",
    ),
    "empty segments at the end dropped": ("lookup.rb", 'split("/", -1)', 'split("/")'),
    "a node that a policy lists twice given once": (
        "lookup.rb",
        "record(7, member) }",
        "record(7, member) }.uniq",
    ),
    "pins ignored": ("lookup.rb", "@count[11].zero? ? 8 : 11", "8"),
    "unknown feature bits ignored": (
        "lookup.rb",
        " || features & 0xffffffff > 0b11111",
        "",
    ),
    "the feature bits of judges not ignored": (
        "lookup.rb",
        "features & 0xffffffff > 0b11111",
        "features > 0b11111",
    ),
    "later sections in any order": ("lookup.rb", "if section <= last", "if false"),
    "a newer algorithm refused": ("lookup.rb", "algorithm.zero?", "algorithm != 1"),
    "the digest not checked": ("lookup.rb", 'refuse "digest" if', "nil if"),
}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def counted(folder):
    """{file: how many vectors passed} by the runner below this folder, and its exit code."""
    done = subprocess.run(
        [RUBY, "-w", os.path.join(folder, "tests", "runners", "ruby.rb")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    counts = re.findall(r"vectors: ruby (\S+) (\d+) passed", done.stdout.decode())
    return dict(counts), done.returncode, done.stderr.decode("utf-8", "replace")


def with_mistake(mistake):
    """What the runner counts with a reader that makes the mistake."""
    name, right, wrong = mistake
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(EXAMPLE, os.path.join(folder, "examples", "ruby"))
        os.makedirs(os.path.join(folder, "tests", "runners"))
        shutil.copy(
            os.path.join(HERE, "ruby.rb"), os.path.join(folder, "tests", "runners")
        )
        for shared in ("maps", "vectors"):
            os.symlink(
                os.path.join(ROOT, "tests", shared),
                os.path.join(folder, "tests", shared),
            )
        file = os.path.join(folder, "examples", "ruby", name)
        text = read(file)
        assert text.count(right) == 1, right
        with open(file, "w", encoding="utf-8") as changed:
            changed.write(text.replace(right, wrong))
        return counted(folder)[0]


class Page(unittest.TestCase):
    """docs/implementing.md against the files and bytes that it shows."""

    @classmethod
    def setUpClass(cls):
        cls.page = read(PAGE)
        cls.words = " ".join(cls.page.split())  # wrapped or not
        with open(os.path.join(ROOT, "tests", "maps", "three.map"), "rb") as file:
            cls.map = file.read()

    def u32(self, at):
        return int.from_bytes(self.map[at : at + 4], "little")

    def u64(self, at):
        return int.from_bytes(self.map[at : at + 8], "little")

    def test_the_page_shows_the_reader_as_it_is(self):
        reader = read(EXAMPLE, "lookup.rb")
        self.assertIn(f"```ruby\n{reader}```\n", self.page)
        code = [
            line for line in reader.splitlines() if not re.match(r" *(#.*)?$", line)
        ]
        self.assertIn(f"the program below has {len(code)} lines", self.words)

    def test_the_bytes_of_the_worked_example_are_those_of_the_file(self):
        rows = re.findall(r"(?m)^([0-9a-f]{4})  ((?:[0-9a-f]{2}  ?)+)", self.page)
        self.assertEqual(len(rows), 28)
        for offset, shown in rows:
            at, expected = int(offset, 16), bytes.fromhex(shown)
            self.assertEqual(self.map[at : at + len(expected)], expected, offset)

    def test_the_keys_of_the_worked_example_are_where_it_says(self):
        points = [self.u64(0x2F8 + 8 * i) for i in range(3)]
        table = re.findall(
            r"(?m)^\| `(\w+)` +\| `([0-9a-f]{16})` +\| (\d+) +\| (\d), (\d) +"
            r"\| .*upper bound (\d) +\| slice (\d) \| `(\w+)` +\|$",
            self.page,
        )
        self.assertEqual([row[0] for row in table], ["justin", "frank", "Frank"])
        erin = re.search(
            r'MD5\("erin"\) = (\w+)\npoint +=( \w+)\nb +=\2 >> 60 = 5\n', self.page
        )
        self.assertEqual(erin[1], hashlib.md5(b"erin").hexdigest())
        table.append(("erin", erin[2].strip(), "5", "1", "2", "2", "1", "n1"))
        for key, point, b, low, high, bound, owner, node in table:
            number = int(hashlib.md5(key.encode()).hexdigest()[:16], 16)
            self.assertEqual(f"{number:016x}", point)
            self.assertEqual(number >> 60, int(b))
            index = [self.u32(0x320 + 4 * (int(b) + i)) for i in (0, 1)]
            self.assertEqual(index, [int(low), int(high)])
            self.assertEqual(sum(first <= number for first in points), int(bound))
            self.assertEqual(int(bound) - 1, int(owner))
            self.assertEqual(node, f"n{owner}")

    def test_the_points_of_frank_are_those_of_the_vectors(self):
        rows = re.findall(
            r"(?m)^\| `([\w-]+)` +\| ([0-9a-f]+) +\| (\d+) +\|.*\| `([0-9a-f]{16})` +\|$",
            self.page,
        )
        self.assertEqual(len(rows), 9)
        with open(os.path.join(ROOT, "tests", "vectors", "locate.json")) as file:
            points = {
                v["map"]: v["point"]
                for v in json.load(file)["vectors"]
                if v.get("key") == b"frank".hex() and not v.get("fold")
            }
        for name, field, cells, point in rows:
            self.assertEqual(points[name], point, name)
            with open(os.path.join(ROOT, "tests", "maps", name + ".map"), "rb") as file:
                header = file.read(176)
            found = [int.from_bytes(header[i:j], "little") for i, j in FIELDS]
            self.assertEqual(found, [int(field, 16), int(cells)], name)
        number = int(hashlib.md5(b"frank").hexdigest(), 16)
        self.assertIn(f"0x26253c...e6 mod 1000 is {number % 1000}", self.words)


@unittest.skipUnless(shutil.which(RUBY), "there is no ruby")
class Reader(unittest.TestCase):
    """The reader itself."""

    @classmethod
    def setUpClass(cls):
        cls.right, cls.code, cls.complaints = counted(ROOT)
        if "libxxhash" in cls.complaints:
            raise unittest.SkipTest("there is no libxxhash.so.0")

    def test_the_reader_passes_its_vectors_without_a_warning(self):
        self.assertEqual((self.code, self.complaints), (0, ""))
        self.assertEqual(
            sorted(self.right), ["damaged.json", "locate.json", "points.json"]
        )

    def test_the_vectors_notice_every_mistake(self):
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as side_by_side:
            found = side_by_side.map(with_mistake, MISTAKES.values())
            for what, counts in zip(MISTAKES, found):
                with self.subTest(what):
                    self.assertNotEqual(counts, self.right)

    def test_the_program_prints_the_nodes_of_each_key(self):
        program = os.path.join(EXAMPLE, "locate.rb")
        found = {
            name: subprocess.run(
                [RUBY, "-w", program, os.path.join(ROOT, "tests", "maps", name)]
                + ["frank", "Frank"],
                capture_output=True,
                check=False,
            )
            for name in ("three.map", "hash-crc32.map")
        }
        three, crc32 = found.values()
        self.assertEqual(
            (three.returncode, three.stdout, three.stderr),
            (0, b"frank\tn0\nFrank\tn2\n", b""),
        )
        self.assertEqual((crc32.returncode, crc32.stdout), (1, b""))
        self.assertIn(b"hash 7 is none of this reader's", crc32.stderr)


if __name__ == "__main__":
    unittest.main()

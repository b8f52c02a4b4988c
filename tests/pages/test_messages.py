"""docs/messages.md has every kind of failure that the sources know: each status with its
number, the words of each error of the core, each exit code of each program, each word of
a guard, and the exceptions of the languages.
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "messages.md"
ERROR = ROOT / "crates" / "stead" / "src" / "error.rs"
# the section of the page, and the file with the exit codes of its program
PROGRAMS = {
    "Other exit codes of stead": "crates/stead-cli/src/exit.rs",
    "stead-sync": "crates/stead-sync/src/exit.rs",
    "stead-rrd": "crates/stead-rrd/src/exit.rs",
}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def statuses(source):
    """The (number, name) of each status, as error.rs declares them."""
    body = re.search(r"pub enum Status \{(.*?)^\}", source, re.MULTILINE | re.DOTALL)[1]
    return {
        (int(n), name)
        for name, n in re.findall(r"^    (\w+) = (\d+),", body, re.MULTILINE)
    }


def words(source):
    """The longest fixed text of each message of the core."""
    body = source.split("impl fmt::Display for Error")[1].split("\n/// ")[0]
    found = set()
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', body, re.DOTALL):
        text = re.sub(r"\\\n\s*", "", literal)
        longest = max(re.split(r"\{[^}]*\}", text), key=len).strip(" ;:,()")
        if len(longest) > 8:
            found.add(longest)
    return found


def codes(source):
    """The exit codes of a program, but 0."""
    return set(re.findall(r"^pub const \w+: u8 = ([1-9]\d*);", source, re.MULTILINE))


def sections(page):
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def wrong_with(page):
    """What the page lacks, a line for each."""
    source, flat = ERROR.read_text(encoding="utf-8"), " ".join(page.split())
    found = sections(page)
    numbered = {
        (int(match[1]), match[2].title().replace(" ", ""))
        for match in (re.match(r"(\d+) (.*)", heading) for heading in found)
        if match
    }
    wrong = [f"status {s}" for s in sorted(statuses(source) ^ numbered)]
    wrong += [f"message: {text}" for text in sorted(words(source)) if text not in flat]
    for heading, file in PROGRAMS.items():
        rows = set(re.findall(r"^\| (\d+) ", found.get(heading, ""), re.MULTILINE))
        wrong += [f"{heading}: exit code {c}" for c in sorted(codes(read(file)) - rows)]
    advice = re.search(r'advice: "; ([^"]+)"', read("crates/stead/src/store/whole.rs"))
    wrong += [f"advice: {text}" for text in advice.groups() if text not in flat]
    guards = re.findall(r'=> "([a-z-]+)"', read("crates/stead/src/guard/allow.rs"))
    wrong += [f"guard {word}" for word in guards if f"| `{word}`" not in page]
    # the fourth cell of a row is the variant of the enum in Rust
    row = re.compile(r"^\| \[(\d+)\]\S+ +\|[^|]*\|[^|]*\| `(\w+)` ", re.MULTILINE)
    rust = {(int(n), name) for n, name in row.findall(page)}
    wrong += [f"Rust {s}" for s in sorted(statuses(source) ^ rust)]
    classes = [file.stem for file in (ROOT / "php/src/Exception").glob("*.php")]
    classes += re.findall(r"`(\w+Error)` +\| \d", read("docs/python.md"))
    wrong += [f"class {name}" for name in sorted(classes) if f"`{name}`" not in page]
    perl = re.search(
        r"for qw\((.*?)\)", read("bindings/perl/lib/Stead/Error.pm"), re.DOTALL
    )
    return wrong + [
        f"Perl {name}" for name in perl[1].split() if f"`{name}`" not in page
    ]


class Messages(unittest.TestCase):
    def test_every_kind_of_failure_is_on_the_page(self):
        source = ERROR.read_text(encoding="utf-8")
        self.assertGreater(len(statuses(source)), 15)
        self.assertGreater(len(words(source)), 12)
        for file in PROGRAMS.values():
            self.assertGreater(len(codes(read(file))), 9)
        self.assertEqual(wrong_with(PAGE.read_text(encoding="utf-8")), [])

    def test_control_a_page_that_lacks_something(self):
        page = PAGE.read_text(encoding="utf-8")
        for text, finding in (
            ("## 7 Identity", "status (7, 'Identity')"),
            (
                "the digest does not match the bytes",
                "message: the digest does not match",
            ),
            ("make room there; nothing was changed", "advice: make room"),
            ("| 68 ", "stead-sync: exit code 68"),
            ("| `lose-domain`", "guard lose-domain"),
            ("`GuardedException`", "class GuardedException"),
            ("| `NotFound`   ", "Rust (8, 'NotFound')"),
        ):
            with self.subTest(text=text):
                self.assertIn(text, page)
                wrong = wrong_with(page.replace(text, "-"))
                self.assertTrue(any(w.startswith(finding) for w in wrong), wrong)


if __name__ == "__main__":
    unittest.main()

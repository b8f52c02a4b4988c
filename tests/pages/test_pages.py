"""Every page of the tree: its links lead somewhere, its code says what it is, and no merge
has left anything in it.

Sessions of the pages are run elsewhere: those of README.md, docs/tour.md and docs/cli.md
by crates/stead-cli/tests/all/manual.rs, the others by the tests of their language.
"""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# what a merge leaves of two versions, also when it was formatted afterwards
MERGE = re.compile(r"(?:[#> ]*)(?:\\?<{2,}|(?:> ?){7}|={7}$)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    """The pages of Markdown in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines()]


def prose_and_fences(text):
    """The lines outside code blocks, and the (line number, language) of each block."""
    prose, fences, inside = [], [], False
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```+(.*)", line)
        if not fence:
            prose += [] if inside else [line]
            continue
        if not inside:
            fences.append((number, fence[1].strip()))
        inside = not inside
    return prose, fences


def anchors(page):
    """The anchors that the headings of a page get: lower case, punctuation dropped."""
    prose, _ = prose_and_fences(page.read_text(encoding="utf-8"))
    titles = [line.lstrip("#").strip() for line in prose if re.match(r"#+ ", line)]
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
    }


def wrong_with(page):
    """What is wrong with a page, a line for each fault."""
    prose, fences = prose_and_fences(page.read_text(encoding="utf-8"))
    wrong = [
        f"line {number}: a code block does not say its language"
        for number, language in fences
        if not language
    ]
    titles = sum(line.startswith("# ") for line in prose)
    if titles > 1 and page.name != "SUMMARY.md":  # there they are the parts of the book
        wrong.append(f"it has {titles} titles")
    wrong += [
        f"{line[:20]}: a merge has left this" for line in prose if MERGE.match(line)
    ]
    # code in backquotes has brackets of its own
    for target in LINK.findall(re.sub(r"`[^`]*`", "``", "\n".join(prose))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        if not path.exists():
            wrong.append(f"{target}: there is no such file")
        elif anchor and anchor not in anchors(path):
            wrong.append(f"{target}: the page has no such heading")
    return wrong


class Pages(unittest.TestCase):
    def test_links_lead_somewhere_and_code_says_its_language(self):
        found = pages()
        self.assertGreater(len(found), 30)
        for page in found:
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(wrong_with(page), [])

    def test_the_check_sees_a_page_that_lies(self):
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "page.md"
            page.write_text(
                "# A title, here\n[a](#a-title-here) [b](#gone) [c](none.md)\n"
                "[d](page.md#a-title-here) `[x](y.md)`\n```\n[e](e.md)\n```\n"
            )
            self.assertEqual(
                wrong_with(page),
                [
                    "line 4: a code block does not say its language",
                    "#gone: the page has no such heading",
                    "none.md: there is no such file",
                ],
            )

    def test_the_check_sees_what_a_merge_has_left(self):
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "page.md"
            for left in (
                "<<<<<<< HEAD\n\na\n\n=======\n\nb\n\n>>>>>>> other\n",
                "# \\<<\\<<\\<<< HEAD a\n\nb\n\n> > > > > > > other\n",
            ):
                page.write_text(
                    f"# A title\n\n{left}\n> a quotation\n\n> > of another\n"
                )
                wrong = wrong_with(page)
                self.assertEqual(len(wrong), 3, wrong)


if __name__ == "__main__":
    unittest.main()

"""The book: its table of contents has every page of docs/ once, and every link and anchor
of the built book leads somewhere. Without mdbook only the table is checked; the links of
the pages are checked by test_pages.py.
"""

import html.parser
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def listed(text):
    """The pages that a table of contents names, in its order."""
    return re.findall(r"\]\(([^)]+\.md)\)", text)


def wrong_with(contents, pages):
    """What is wrong with a table of contents of these pages."""
    found = listed(contents)
    wrong = [
        f"{page} is not in docs/SUMMARY.md" for page in sorted(set(pages) - set(found))
    ]
    wrong += [f"{page}: there is no such page" for page in found if page not in pages]
    return wrong + [
        f"{page} is there {found.count(page)} times"
        for page in sorted(set(found))
        if found.count(page) > 1
    ]


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page of HTML."""

    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "base":
            raise ValueError("a page with a base is not checked")
        self.anchors |= {
            attributes[key] for key in ("id", "name") if attributes.get(key)
        }
        for key in ("href", "src"):
            if attributes.get(key):
                self.links.append(attributes[key])


def dead_links(book):
    """The number of links of a built book within itself, and those that lead nowhere."""
    # mdbook makes 404.html and toc.html for web servers and old browsers
    files = [f for f in book.rglob("*.html") if f.name not in ("404.html", "toc.html")]
    pages = {file.resolve(): Page(file) for file in files}
    count, dead = 0, []
    for file, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            path, _, anchor = link.partition("#")
            to = (file.parent / unquote(path)).resolve() if path else file
            if to not in pages and not to.is_file():
                dead.append(f"{file.relative_to(book)}: {link}: there is no such file")
            elif to in pages and unquote(anchor) not in pages[to].anchors:
                dead.append(
                    f"{file.relative_to(book)}: {link}: there is no such anchor"
                )
    return count, sorted(set(dead))


class Contents(unittest.TestCase):
    def test_every_page_is_in_the_table_of_contents_once(self):
        pages = {file.name for file in DOCS.glob("*.md")} - {"SUMMARY.md"}
        self.assertGreater(len(pages), 35)
        contents = (DOCS / "SUMMARY.md").read_text(encoding="utf-8")
        self.assertEqual(wrong_with(contents, pages), [])

    def test_every_page_is_in_the_list_of_all_pages(self):
        pages = {file.name for file in DOCS.glob("*.md")} - {"SUMMARY.md", "README.md"}
        text = (DOCS / "README.md").read_text(encoding="utf-8")
        self.assertEqual(pages - set(listed(text)), set())

    def test_control_a_table_that_lacks_repeats_and_invents(self):
        contents = "- [a](a.md)\n- [a again](a.md)\n- [none](none.md)\n"
        self.assertEqual(
            wrong_with(contents, {"a.md", "b.md"}),
            [
                "b.md is not in docs/SUMMARY.md",
                "none.md: there is no such page",
                "a.md is there 2 times",
            ],
        )


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ready = subprocess.run([ROOT / "scripts" / "book", "--ready"], check=False)
        if ready.returncode:
            why = "mdbook is not there, so the book was not built; make book brings it"
            print(f"skipped: {why}")
            raise unittest.SkipTest(why)
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.book = Path(cls.directory).resolve() / "book"
        command = [ROOT / "scripts" / "book", "--into", cls.book]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or "WARN" in done.stderr:
            raise AssertionError(f"scripts/book: {done.stdout}{done.stderr}")

    def test_every_link_and_anchor_leads_somewhere(self):
        count, dead = dead_links(self.book)
        print(f"{count} links of the book")
        self.assertGreater(count, 2000)
        self.assertEqual(dead, [])

    def test_every_page_became_a_page_of_the_book(self):
        for file in DOCS.glob("*.md"):
            if file.name != "SUMMARY.md":
                page = self.book / f"{file.stem}.html"
                self.assertTrue(page.is_file(), file.name)

    def test_the_search_knows_the_words(self):
        index = next(self.book.glob("searchindex*.js")).read_text(encoding="utf-8")
        for word in ("rendezvous", "drop-copies", "quick-start.html"):
            self.assertIn(word, index)

    def test_control_a_book_with_dead_links(self):
        with tempfile.TemporaryDirectory() as directory:
            book = Path(directory).resolve()
            (book / "a.html").write_text(
                '<h1 id="x"><a href="#x">a</a><a href="#y">b</a><a href="b.html">c</a>'
                '<a href="https://example.org/">d</a></h1>'
            )
            self.assertEqual(
                dead_links(book),
                (
                    3,
                    [
                        "a.html: #y: there is no such anchor",
                        "a.html: b.html: there is no such file",
                    ],
                ),
            )


if __name__ == "__main__":
    unittest.main()

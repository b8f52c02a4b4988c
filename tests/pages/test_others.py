"""The figures of docs/others.md are those of the pages that it names."""

import re
import unittest
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURE = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?: %| ns)?(?![\w-])")


def rows(text):
    """The (cells, page) of the rows that end with a link to the page of their figures."""
    for line in text.splitlines():
        match = re.match(r"\|(.*)\| \[\w+\.md\]\(([\w-]+\.md)\) *\|$", line)
        if match:
            yield match[1].split("|")[1:], match[2]


def wrong_with(text):
    """Each figure that its page does not have; and the number of figures."""
    count, wrong = 0, []
    for cells, page in rows(text):
        there = (DOCS / page).read_text(encoding="utf-8")
        for figure in FIGURE.findall(" ".join(cells)):
            # what a figure counts (`10 nodes`) is no result
            if not re.search(r"%|ns|\.|,", figure):
                continue
            count += 1
            if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", there):
                wrong.append(f"{figure}: {page} has no such figure")
    return count, wrong


class Others(unittest.TestCase):
    def test_every_figure_is_on_the_page_that_measured_it(self):
        count, wrong = wrong_with((DOCS / "others.md").read_text(encoding="utf-8"))
        self.assertGreater(count, 20)
        self.assertEqual(wrong, [])

    def test_control_a_figure_that_nobody_measured(self):
        row = "| movement | 25.44 % | 25.45 % | [balance.md](balance.md) |"
        self.assertEqual(
            wrong_with(row), (2, ["25.45 %: balance.md has no such figure"])
        )


if __name__ == "__main__":
    unittest.main()

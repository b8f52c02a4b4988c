"""docs/languages.md against the real surfaces: nothing is missing on either side, and an
act has the same noun and verb in every language.
"""

import re
import subprocess
import unittest

import surfaces
from surfaces import PHP, ROOT

PAGE = ROOT / "docs" / "languages.md"
LANGUAGES = ["Rust", "C", "Python", "PHP", "Perl", "program"]


def tables(text):
    """{title of the section: its rows, each a list of cells without the header}"""
    found, title = {}, None
    for line in text.splitlines():
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not set(line) <= set("|-: "):
                found.setdefault(title, []).append(cells)
    return {title: rows[1:] for title, rows in found.items()}


def names(cell):
    """The names in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def snake(name):
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def common(language, name):
    """The words that a name is made of: `map_locate_all`. C's nodes and policies belong
    to their map, and C counts a list where the others return it, so a name in C has
    further forms.
    """
    if language != "C":
        parts = re.split(r"::|->|\.", name.replace("$", ""))
        return {"_".join(snake(part).strip("_") for part in parts)}
    name = name.removeprefix("stead_")
    of_map = re.sub(r"^map_(?=(node|policy)_)", "", name)
    forms = {name, of_map}
    for form in (name, of_map):
        one = form.removesuffix("_count")
        forms.add(one[:-1] + "ies" if one.endswith("y") else one + "s")
    return forms


def wrong_with(rows, found):
    """What is wrong with the acts of the page, given {language: its names}; a line for
    each fault.
    """
    wrong = []
    for row in rows:
        if len(row) != 1 + len(LANGUAGES):
            wrong.append(f"{row[0]}: has {len(row)} cells")
            continue
        for language, cell in zip(LANGUAGES, row[1:]):
            if not names(cell) and len(cell) < 15:
                wrong.append(f"{row[0]}, {language}: neither a name nor a reason")
            for name in names(cell):
                if name not in found[language]:
                    wrong.append(f"{row[0]}, {language}: there is no `{name}`")
    for language, surface in found.items():
        column = 1 + LANGUAGES.index(language)
        said = {
            name for row in rows if len(row) > column for name in names(row[column])
        }
        wrong += [f"{language}: `{name}` is not in any row" for name in surface - said]
    return sorted(wrong)


def differing(rows, excused):
    """Acts that have another noun or verb in one of four languages, a line for each."""
    wrong = []
    for row in rows:
        spelled = {}
        for language, cell in zip(LANGUAGES, row[1:]):
            if language in ("C", "Python", "PHP", "Perl") and names(cell):
                spelled[language] = set().union(
                    *(common(language, name) for name in names(cell))
                )
        shared = set.intersection(*spelled.values()) if spelled else {None}
        if not shared and row[0] not in excused:
            wrong.append(f"{row[0]}: {spelled}")
    return wrong


class TheTable(unittest.TestCase):
    """The page, and what each language really has."""

    @classmethod
    def setUpClass(cls):
        cls.tables = tables(PAGE.read_text(encoding="utf-8"))
        cls.acts = [
            row for rows in cls.tables.values() for row in rows if len(row) == 7
        ]
        cls.acts = [row for row in cls.acts if not row[0].isdigit()]
        cls.php, cls.php_defaults, cls.php_errors = surfaces.php_reflection()
        cls.perl, cls.perl_statuses = surfaces.perl()
        cls.found = {
            "Rust": surfaces.rust(),
            "C": surfaces.c(),
            "Python": surfaces.python(),
            "PHP": cls.php,
            "Perl": cls.perl,
            "program": surfaces.program(),
        }
        alone = cls.tables["Only in one language"]
        for language, said, reason in alone:
            assert len(reason) > 15, f"{said}: no reason"
            for name in names(said):
                assert name in cls.found[language], f"{language} has no {name}"
                cls.found[language].discard(name)

    def test_every_name_stands_in_the_page_and_every_name_there_exists(self):
        wrong = wrong_with(self.acts, self.found)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_an_act_has_the_same_noun_and_verb_in_every_language(self):
        excused = {row[0] for row in self.tables["Other words"]}
        self.assertLessEqual(excused, {row[0] for row in self.acts})
        wrong = differing(self.acts, excused)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        needless = excused - {
            line.split(":")[0] for line in differing(self.acts, set())
        }
        self.assertEqual(needless, set(), "these acts have the same words everywhere")

    def test_a_planted_difference_is_seen(self):
        row = ["open", "`Map::open`", "`stead_map_open`", "`Map.opened`", "-", "", ""]
        found = {language: set() for language in LANGUAGES}
        found["C"] = {"stead_map_open", "stead_map_close"}
        self.assertEqual(
            wrong_with([row], found),
            [
                "C: `stead_map_close` is not in any row",
                "open, PHP: neither a name nor a reason",
                "open, Perl: neither a name nor a reason",
                "open, Python: there is no `Map.opened`",
                "open, Rust: there is no `Map::open`",
                "open, program: neither a name nor a reason",
            ],
        )
        self.assertEqual(len(differing([row], set())), 1)
        self.assertEqual(differing([row], {"open"}), [])

    def test_a_status_has_the_same_number_everywhere(self):
        rows = self.tables["Errors"]
        said = [
            {names(row[column])[0]: int(row[0]) for row in rows}
            for column in range(1, 6)
        ]
        c = surfaces.c_statuses()
        self.assertEqual(c.pop("STEAD_OK"), 0)
        self.assertEqual(said[0], surfaces.rust_statuses())
        self.assertEqual(said[1], c)
        self.assertEqual(said[2], surfaces.python_errors())
        self.assertEqual(said[3], self.php_errors)
        self.assertEqual(said[4], self.perl_statuses)

    def test_what_is_left_out_means_the_same(self):
        python = surfaces.python_defaults()
        said = {row[0]: (row[1], row[2]) for row in self.tables[DEFAULTS]}
        seen = set()
        for (place, argument), default in python.items():
            name = argument.strip("`")
            if (f"`{name}`") not in said:
                continue
            seen.add(f"`{name}`")
            self.assertIn(default, (None, False, "none"), f"{place}({argument})")
        for (place, argument), default in self.php_defaults.items():
            if f"`{snake(argument)}`" in said:
                self.assertIn(
                    default, ("null", "false", "none"), f"{place}(${argument})"
                )
        self.assertEqual(seen, set(said))


DEFAULTS = "Arguments that may be left out"

if __name__ == "__main__":
    subprocess.run([PHP, "--version"], check=True, stdout=subprocess.DEVNULL)
    unittest.main()

"""Hostile fleets: texts of any size that are one mistake, repeated. Each has the status that
docs/fleet.md gives it, and no reader may need more memory than a few times the text.
"""

from dataclasses import dataclass

OK, FLEET = 0, 2
START = 'name = "m"\n'
NODE = '[[node]]\nname = "a"\n'

# name -> (start, what is repeated, end); {i} counts, and an end in brackets is repeated, too
VALUES = {
    "an array of numbers": ("[", "0,", "]"),
    "an array of empty arrays": ("[", "[],", "]"),
    "an array of empty tables": ("[", "{},", "]"),
    "an array of equal strings": ("[", '"a",', "]"),
    "an array without an end": ("[", '"a",\n', ""),
    "arrays in arrays": ("", "[", ""),
    "arrays in arrays, closed": ("", "[", ["]"]),
    "tables in tables": ("", "{a=", ""),
    "a table of numbers": ("{", "k{i} = 0, ", "z = 0}"),
    "a long string": ('"', "a", '"'),
    "a string of escapes": ('"', "\\u0041", '"'),
    "a string without an end": ('"', "a", ""),
    "a string of many lines": ('"""', "a\n", '"""'),
    "a long number": ("", "9", ""),
    "a long fraction": ("0.", "1", ""),
    "a number of underscores": ("1", "_1", ""),
}
PLACES = {
    "an unknown key": (f"{START}x = ", f"\n{NODE}"),
    "replicas": (f"{START}replicas = ", f"\n{NODE}"),
    "spread": (f"{START}spread = ", f"\n{NODE}"),
    "a weight": (f"{START}{NODE}weight = ", "\n"),
    "labels": (f"{START}{NODE}labels = ", "\n"),
    "nodes of a policy": (f'{START}{NODE}[[policy]]\nname = "p"\nnodes = ', "\n"),
}
# name -> (start, what is repeated, end, status)
TEXTS = {
    "comments": (START + NODE, "# a comment\n", "", OK),
    "empty lines": (START + NODE, "\n", "", OK),
    "lines of CR and LF": (START + NODE, "\r\n", "", OK),
    "spaces": (START + NODE, " ", "\n", OK),
    "unknown keys": (START, "k{i} = 1\n", NODE, FLEET),
    "the name again": ("", START, NODE, FLEET),
    "unknown tables": (START + NODE, "[k{i}.x]\n", "", FLEET),
    "unknown arrays of tables": (START + NODE, "[[k{i}]]\n", "", FLEET),
    "a deep key": (START, "a.", "a = 1\n" + NODE, FLEET),
    "a deep table": (START + "[", "a.", "a]\n", FLEET),
    "nodes without names": (START, "[[node]]\n", "", FLEET),
    "equal nodes": (START, NODE, "", FLEET),
    "policies without names": (START + NODE, "[[policy]]\n", "", FLEET),
    "equal policies": (START + NODE, '[[policy]]\nname="p"\nnodes=["a"]\n', "", FLEET),
    "pins without a key": (START + NODE, "[[pin]]\n", "", FLEET),
    "equal pins": (START + NODE, '[[pin]]\nkey="k"\nnodes=["a"]\n', "", FLEET),
    "equal firsts": (START + NODE, '[[first]]\nkey="k"\nnode="a"\n', "", FLEET),
    "equal labels": (START + NODE, 'labels.l = "x"\n', "", FLEET),
    "quotes": ("", '"', "", FLEET),
    "apostrophes": ("", "'''\n", "'", FLEET),
    "brackets": ("", "[", "", FLEET),
    "lines without a value": (START, "name = \n", "", FLEET),
    "bytes that are zero": (START, "\0", "", FLEET),
    "bytes that are not UTF-8": (START, "\udcff", "", FLEET),
    "byte order marks": ("", "\ufeff", START + NODE, FLEET),
    "JSON: spaces": ('{"name": "m",', " ", '"node": [{"name": "a"}]}', OK),
    "JSON: arrays": ('{"name": ', "[", "", FLEET),
    "JSON: arrays, closed": ('{"name": ', "[", ["]"], FLEET),
    "JSON: objects": ("", '{"a":', "", FLEET),
    "JSON: numbers": ('{"name": [', "0,", "0]}", FLEET),
    "JSON: empty objects": ('{"name": "m", "node": [', "{},", "{}]}", FLEET),
    "JSON: a long string": ('{"name": "', "a", '"}', FLEET),
    "JSON: escapes": ('{"name": "', "\\u0041", '"}', FLEET),
    "JSON: a string without an end": ('{"name": "', "\\", "", FLEET),
    "JSON: a long number": ('{"name": "m", "replicas": ', "9", "}", FLEET),
    "JSON: unknown keys": ('{"name": "m"', ',"k{i}": 1', "}", FLEET),
    "JSON: the name again": ('{"name": "m"', ',"name": "m"', "}", FLEET),
    "JSON: text after the end": (
        '{"name": "m", "node": [{"name": "a"}]}',
        "{}",
        "",
        FLEET,
    ),
}


@dataclass(frozen=True)
class Hostile:
    """A hostile fleet."""

    rule: str
    start: str
    unit: str
    end: object
    after: str
    status: int

    def bytes(self, size):
        """Returns the text, of about this many bytes."""
        end = self.end[0] if isinstance(self.end, list) else ""
        count = size // (len(self.unit.encode("utf-8", "surrogateescape")) + len(end))
        if "{i}" in self.unit:
            middle = "".join(self.unit.replace("{i}", str(i)) for i in range(count))
        else:
            middle = self.unit * count
        end = end * count if end else self.end
        text = self.start + middle + end + self.after
        return text.encode("utf-8", "surrogateescape")


def hostile():
    """Yields all hostile fleets."""
    for place, (before, after) in PLACES.items():
        for value, (start, unit, end) in VALUES.items():
            rule = f"{place} is {value}"
            yield Hostile(rule, before + start, unit, end, after, FLEET)
    for rule, (start, unit, end, status) in TEXTS.items():
        yield Hostile(rule, start, unit, end, "", status)

"""The rings of the vectors: the examples in tests/reference/rings. Each module there
has the rule of one kind of ring in plain Python.

A module has `EXAMPLES`, a list of (name, list of servers, choices); `parse(list of
servers)`, which returns the servers as `place` expects them; and `place(key, servers,
choices)`, which returns the servers of a key, primary first, by walking over the ring
as the original does. A module may have `takes(key)`, whether the original has a rule
for the key. The maps, tests/maps/ring-NAME.map, are drawn by the program
(tests/rings/draw_maps.py), so the vectors compare two implementations that share no
code.
"""

import importlib
import sys
from collections import namedtuple
from pathlib import Path

RULES = Path(__file__).resolve().parent / "rings"

Example = namedtuple("Example", "kind name servers choices place takes")


def examples():
    """Yields all examples, by module and in the module's order. `place` of an example
    takes only a key.
    """
    sys.path[:0] = [str(RULES)] * (str(RULES) not in sys.path)
    for file in sorted(RULES.glob("*.py")):
        module = importlib.import_module(file.stem)
        for name, servers, choices in getattr(module, "EXAMPLES", []):
            parsed = module.parse(servers)
            yield Example(
                file.stem.replace("_", "-"),
                name,
                servers,
                choices,
                lambda key, module=module, parsed=parsed, choices=choices: module.place(
                    key, parsed, choices
                ),
                getattr(module, "takes", lambda key: True),
            )

"""Draws docs/report.png: the top of the page of a cluster of twelve nodes in three zones.

.venv/bin/python tests/report/picture.py docs/report.png
"""

import os
import sys
import tempfile
from pathlib import Path

from conftest import Stead, fleet

# isort: split
import browser  # conftest says where they are
import built

SIZE = (1160, 1040)


def draw(file):
    stead = os.environ.get("STEAD") or built.program()
    with (
        tempfile.TemporaryDirectory() as place,
        browser.Browser(*SIZE) as page,
    ):
        program = Stead(stead, Path(place))
        for nodes in (6, 9, 12):
            program.map("shop", fleet(nodes, replicas=2))
        page.load(program.page("shop.map").as_uri())
        page.value("document.getElementById('key').focus({preventScroll: true})")
        page.type("frank")
        page.picture(Path(file), whole=False)


if __name__ == "__main__":
    draw(sys.argv[1])

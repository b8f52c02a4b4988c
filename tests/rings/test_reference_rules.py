"""The program's maps of the examples of tests/reference/rings answer as the rules in
plain Python do.
"""

import pytest
import rings
from ring_examples import examples

KEYS = (
    rings.odd_keys(longest=300)[::7] + rings.accented_keys(40) + rings.plain_keys(150)
)


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_a_map_answers_as_the_rule(example, draw):
    ring = draw(example.kind, example.servers, **example.choices)
    keys = [key for key in KEYS if example.takes(key)]
    assert ring.locate_all(keys) == [example.place(key) for key in keys]

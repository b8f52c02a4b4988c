"""The class Cache of examples/adopt in PHP, Perl, Python and C while a carry is open: it writes where
the state says, and reads where everything is. No state has second looks.
"""

import pytest
from rings import stead
from test_adopt_examples import KEYS, servers, site  # noqa: F401  fixtures
from test_cache_copies import ask, empty, example, has, put  # noqa: F401  a fixture
from test_cache_in_c import compiled  # noqa: F401  a fixture

STATES = ("old", "both_old_first", "both_new_first", "new")


def next_state(site):  # noqa: F811
    """Takes the next step, as the only host."""
    import stead as module

    epoch = module.Map.open(site.map).epoch
    stead("carry", site.map, "next", "--confirmed", epoch)


@pytest.mark.parametrize("back", [(), ("--back", "1")])
def test_each_state_of_a_carry_is_followed(ask, site, back):  # noqa: F811
    site.draw(2)
    before = site.grow("--carry")
    key = next(key for key in KEYS if before.locate(key) != site.where(key))
    places = {"old": before.locate(key), "new": site.where(key)}
    for state in STATES:
        decides = "old" if state in STATES[:2] else "new"
        other = places["new" if decides == "old" else "old"]
        writes = set(places.values()) if "both" in state else {places[decides]}
        lines = [f"set {key} {state}", f"get {key}"]
        assert ask(lines, *back) == ["set", f"hit {state}"]
        assert has(site, key) == writes, state
        put(other, key, "x")
        assert ask([f"get {key}"], *back) == [f"hit {state}"]
        assert ask([f"delete {key}"], *back) == ["deleted"]
        assert has(site, key) == {places["old"], places["new"]} - writes, state
        # what the other place has is of no account, and is not copied either
        if "both" in state:
            put(other, key, "x")
        assert ask([f"get {key}", "copied"], *back) == ["miss", "0"]
        assert has(site, key) == {other}
        empty(other, key)
        if state != "new":
            next_state(site)


def test_when_the_carry_is_closed_the_map_decides(ask, site):  # noqa: F811
    site.draw(2)
    before = site.grow("--carry")
    key = next(key for key in KEYS if before.locate(key) != site.where(key))
    for _ in range(3):
        next_state(site)
    stead("carry", site.map, "close", "--confirmed", 5)
    assert ask([f"set {key} y", f"get {key}"]) == ["set", "hit y"]
    assert has(site, key) == {site.where(key)}

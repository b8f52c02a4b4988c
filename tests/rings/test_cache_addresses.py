"""The class Cache of examples/adopt in PHP, Perl, Python and C, with nodes whose addresses change:
a second look asks each node at its address of today.
"""

import re
import socket

import pytest
from rings import stead
from test_adopt_examples import KEYS, servers, site  # noqa: F401  fixtures
from test_cache_copies import ask, example, has, put  # noqa: F401  ask is a fixture
from test_cache_in_c import compiled  # noqa: F401  a fixture


@pytest.fixture
def silent():
    """A place that takes connections and never answers. The test must not ask it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(BlockingIOError):
            listener.accept()


def named(site, addresses):  # noqa: F811
    """Draws a map of these addresses and gives its nodes names: cache0, cache1 ..."""
    own, site.addresses = site.addresses, addresses
    site.draw(len(addresses))
    site.addresses = own
    text = site.fleet.read_text()
    for number, address in enumerate(addresses):
        new = f'name = "cache{number}"\nformerly = "{address}"\n'
        new += f'attributes = {{ address = "{address}" }}'
        text = text.replace(f'name = "{address}"', new)
    site.fleet.write_text(text)


def apply(site, *command):  # noqa: F811
    """Changes the fleet by `stead fleet`, if it is to change, and applies it."""
    if command:
        stead("fleet", command[0], site.fleet, *command[1:])
    stead("apply", site.fleet, site.map)


def moved(site, old, new):  # noqa: F811
    """Returns a key that the newest epoch moved from one node to another."""
    import stead as module

    now = module.Map.open(site.map)
    before = module.Map.open_epoch(site.map, now.epoch - 1)
    return next(
        key for key in KEYS if (before.locate(key), now.locate(key)) == (old, new)
    )


def at(site, node):  # noqa: F811
    """Returns a key whose node is this one."""
    return next(key for key in KEYS if site.where(key) == node)


def test_a_node_is_asked_at_the_address_of_today_alone(site, ask, silent):  # noqa: F811
    a, b, c, d = site.addresses
    named(site, [a, b, silent])
    apply(site)
    apply(site, "add-node", "cache3", "--weight", "33", "--attribute", f"address={c}")
    key = moved(site, "cache2", "cache3")
    apply(site, "set-attribute", "cache2", f"address={d}")
    put(d, key, "value")
    back = ("--back", "2")
    assert ask([f"get {key}", "copied"], *back) == ["hit value", "1"]
    assert has(site, key) == {c, d}
    assert ask([f"set {key} newer"], *back) == ["set"]
    assert ask([f"delete {key}", f"get {key}"], *back) == ["deleted", "miss"]
    assert has(site, key) == set()
    # a key that has not moved has no old place
    stays = at(site, "cache2")
    lines = [f"get {stays}", f"set {stays} value", f"get {stays}", f"delete {stays}"]
    assert ask(lines, *back) == ["miss", "set", "hit value", "deleted"]


def test_so_is_a_node_that_got_its_name_and_its_address_at_once(site, ask, silent):  # noqa: F811
    a, b, _, d = site.addresses
    named(site, [a, b, silent])
    text = site.fleet.read_text().replace(f'address = "{silent}"', f'address = "{d}"')
    site.fleet.write_text(text)
    apply(site)
    key = at(site, "cache2")
    put(d, key, "value")
    assert ask([f"get {key}", "copied"], "--back", "1") == ["hit value", "0"]
    assert ask([f"delete {key}", f"get {key}"], "--back", "1") == ["deleted", "miss"]


def test_a_node_of_before_whose_address_was_added_later_has_one(site, ask):  # noqa: F811
    a, b, c, _ = site.addresses
    named(site, [a, b])
    apply(site)
    apply(site, "add-node", "cache2", "--weight", "50", "--attribute", f"adress={c}")
    key = moved(site, "cache0", "cache2")
    put(a, key, "value")
    # the newest map has the mistake
    with pytest.raises(
        AssertionError, match="node cache2 needs an attribute `address`"
    ):
        ask([f"get {key}"], "--back", "1")
    apply(site, "set-attribute", "cache2", f"address={c}")
    assert ask([f"get {key}"], "--back", "1") == ["miss"]
    assert ask([f"get {key}", "copied"], "--back", "2") == ["hit value", "1"]
    assert ask([f"delete {key}"], "--back", "2") == ["deleted"]
    assert has(site, key) == set()


def test_a_node_without_an_address_that_has_gone_again_is_passed_over(site, ask):  # noqa: F811
    a, b, _, _ = site.addresses
    named(site, [a, b])
    apply(site)
    apply(site, "add-node", "cache2", "--weight", "50")
    key = moved(site, "cache0", "cache2")
    stead("rollback", site.map, 2)
    put(a, key, "value")
    back = ("--back", "2")
    assert ask([f"get {key}", "copied"], *back) == ["hit value", "0"]
    assert ask([f"delete {key}", f"get {key}"], *back) == ["deleted", "miss"]


def test_sweep_knows_the_items_of_before_at_the_address_of_today(site):  # noqa: F811
    a, b, c, _ = site.addresses
    named(site, [a, "127.0.0.1:1"])
    apply(site)
    apply(site, "add-node", "cache2", "--weight", "50", "--attribute", f"address={c}")
    key = moved(site, "cache1", "cache2")
    apply(site, "set-attribute", "cache1", f"address={b}")
    put(b, key, "value")
    said = site.run("sweep.py", "--at-most", 100, site.map)
    # keys, copies, unread, unknown
    assert re.search(r"^cache1 +1 +0 +1 +0$", said, re.MULTILINE), said


def test_a_map_behind_a_link_has_the_history_beside_what_it_leads_to(site, ask):  # noqa: F811
    site.draw(3)
    before = site.grow()
    key = next(key for key in KEYS if before.locate(key) != site.where(key))
    put(before.locate(key), key, "value")
    site.map = site.directory / "link.map"
    site.map.symlink_to("shop.map")
    assert ask([f"get {key}", "copied"], "--back", "1") == ["hit value", "1"]

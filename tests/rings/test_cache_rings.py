"""The class Cache of examples/adopt in PHP, Perl, Python and C, with keys that several languages set
and delete while one of them still looks at the places of its old client.
"""

import subprocess

import pytest
from rings import PATIENCE, stead
from test_adopt_examples import KEYS, servers, site, started  # noqa: F401  fixtures
from test_cache_copies import ask, example, has, put  # noqa: F401  ask is a fixture
from test_cache_in_c import compiled  # noqa: F401  a fixture

RULES = {
    "perl.map": ("cache-memcached-fast", "--set", "ketama_points=150"),
    "python.map": ("uhashring",),
}


@pytest.fixture
def rings(site):  # noqa: F811
    """{name: its map} of the rings of Perl and Python, beside the map that has PHP's."""
    import stead as module

    site.draw(4)
    listed = site.directory / "servers.txt"
    drawn = {}
    for name, rule in RULES.items():
        file = site.directory / name
        stead("ring", *rule, listed, "-o", file, "--fleet", file.with_suffix(".toml"))
        drawn[name] = module.Map.open(file)
    return drawn


def test_what_is_set_or_deleted_is_so_at_the_places_of_all_rings(site, rings, ask):  # noqa: F811
    option = ("--rings", ",".join(str(site.directory / name) for name in rings))
    keys = KEYS[:60]
    places = {
        key: {site.where(key), *(ring.locate(key) for ring in rings.values())}
        for key in keys
    }
    assert sum(map(len, places.values())) > 2 * len(keys)
    for ring in rings.values():
        for key in keys:
            put(ring.locate(key), key, "1")
    # a read does not look there: that would cost a query for each miss, and each ring
    apart = [key for key in keys if len(places[key]) == 3]
    assert ask([f"get {key}" for key in apart], *option) == ["miss"] * len(apart)
    assert ask([f"set {key} 2" for key in keys], *option) == ["set"] * len(keys)
    assert {(at, key) for key in keys for at in places[key]} == set(site.items())
    assert ask([f"delete {key}" for key in keys], *option) == ["deleted"] * len(keys)
    assert site.items() == {}
    # the control: without the rings, only the map's place is written
    assert ask([f"set {key} 2" for key in keys]) == ["set"] * len(keys)
    assert {(site.where(key), key) for key in keys} == set(site.items())


def test_a_host_that_does_not_look_back_can_write_where_others_look(site, ask):  # noqa: F811
    site.draw(3)
    before = site.grow()
    keys = [key for key in KEYS if before.locate(key) != site.where(key)][:30]
    sets, gets, deletes = (
        [f"{verb} {key}{value}" for key in keys]
        for verb, value in (("set", " 1"), ("get", ""), ("delete", ""))
    )
    look, write = ("--back", "1"), ("--rings", f"{site.map}.history/1")
    assert ask(sets, *look) == ["set"] * len(keys)
    assert ask(deletes, *write) == ["deleted"] * len(keys)
    assert ask(gets, *look) == ["miss"] * len(keys)
    # the control: what a host deletes without the earlier epoch comes back at another one
    assert ask(sets, *look) == ["set"] * len(keys)
    assert ask(deletes) == ["deleted"] * len(keys)
    assert ask(gets, *look) == ["hit 1"] * len(keys)


@pytest.mark.parametrize("named", [True, False])
def test_an_item_that_another_language_has_deleted_does_not_come_back(
    site,  # noqa: F811
    rings,
    started,  # noqa: F811
    named,
):
    commands, env = started
    php, perl, python = (
        (", rings: ['perl.map', 'python.map']", ", rings => ['perl.map', 'python.map']")
        + (", rings=['perl.map', 'python.map']",)
        if named
        else ("", "", "")
    )
    listed = ",".join(site.addresses)

    def run(language, text):
        *command, before = commands[language]
        done = subprocess.run(
            [*command, before + text],
            cwd=site.directory,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    old = f"from cache import Today; old = Today('{listed}'.split(','));"
    keys = "[f'item/{i}' for i in range(400)]"
    run("python", f"{old} [old.set(key, '1', 0) for key in {keys}]")
    run(
        "php",
        f"$c = new Cache('shop.map'{php}); "
        'for ($i = 0; $i < 400; $i++) $c->set("item/$i", "2");',
    )
    run(
        "perl",
        f"my $c = Cache->new(map => 'shop.map', old => Cache::today(split /,/, '{listed}')"
        f'{perl}); $c->delete("item/$_") for 0 .. 399;',
    )
    found = run(
        "python",
        f"{old} c = Cache('shop.map', old=old{python}); "
        f"print(sum(c.get(key) is not None for key in {keys}), end='')",
    )
    if named:
        assert found == "0" and site.items() == {}
    else:  # the control
        assert int(found) > 200

"""Copies at servers where no map places them: whether one may be removed is known only
when it has been compared with the right ones.
"""

import re
import shutil

from rrd_servers import Client, wait_for
from test_check import (  # noqa: F401  a fixture
    check,
    dumps,
    filled,
    flush,
    names,
    stead_rrd,
    update,
)
from test_repairs import page, status


def strayed(cluster, name):
    """Copies a file to a server where the map does not place it. Returns the server's name and
    the right ones.
    """
    right = cluster.located([name])[name]
    other = next(node for node in cluster.backends if node not in right)
    flush(cluster.unix, name)
    target = cluster.backends[other].base / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(cluster.backends[right[0]].base / name, target)
    return other, right


def lines(result, name):
    """Returns what a check has found of a file."""
    every = result["check"]["lines"]
    return [line.removeprefix(f"{name}: ") for line in every if line.startswith(name)]


def test_a_stray_with_values_of_its_own_is_not_said_to_be_spare(filled):  # noqa: F811
    spare, needed, torn = names()[1:4]
    spare_at, _ = strayed(filled, spare)
    other, right = strayed(filled, needed)
    torn_at, _ = strayed(filled, torn)
    path = filled.backends[torn_at].base / torn
    path.write_bytes(path.read_bytes()[:-100])
    # two columns, and the first of ten seconds has the gap before it
    with Client(filled.backends[other].address) as direct:
        update(direct, needed, range(700, 710))
    code, result = check(filled)
    assert code == 1, result
    found = result["check"]
    assert (found["strays"], found["needed"], found["differing"]) == (3, 2, 0), result
    assert lines(result, spare) == [
        f"also on {spare_at}, where the map does not place it"
    ]
    (said,) = lines(result, needed)
    count = re.fullmatch(
        f"also on {other}, where the map does not place it, "
        r"with (\d+) values that the right copies lack",
        said,
    )
    assert count and int(count[1]) >= 18, said
    (said,) = lines(result, torn)
    assert said.startswith(
        f"also on {torn_at}, where the map does not place it, and"
    ), said
    assert said.endswith("could not be compared: it is no whole RRD"), said
    removable = filled.router_said(r"a copy of (\S+) where .* it may be removed")
    assert removable == [spare]
    assert "2 copies where the map places none may have values" in page(filled)
    # nothing is said of the places by a move that has nothing to do
    code, out, _ = stead_rrd(filled, "move", filled.state)
    assert code == 0 and "all are where" not in out, out
    # as the manual says: the stray takes the place of a right copy, and the two are merged
    path.unlink()
    server = filled.backends[right[1]]
    with Client(filled.backends[other].address) as direct:
        assert direct.ask(f"FLUSH {needed}").startswith(b"0 ")
    server.stop()
    shutil.copy(filled.backends[other].base / needed, server.base / needed)
    server.start()
    wait_for(
        lambda: all(each["state"] == "up" for each in status(filled)[0]["backends"]),
        "it to be up again",
    )
    code, out, said = stead_rrd(filled, "repair", filled.state, right[1])
    assert code == 0, (out, said)
    copies = dumps(filled, needed)
    assert copies[right[0]] == copies[right[1]]
    code, result = check(filled, "--restart")
    assert (code, result["check"]["strays"], result["check"]["needed"]) == (0, 2, 0)
    assert status(filled)[1], page(filled)

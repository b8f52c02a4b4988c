"""Two routers: whatever happens to one of them, no acknowledged update is lost, all
copies are equal, and there is one primary.
"""

import pytest
from rrd_pair import Load, Pair, create, files_of, judged
from rrd_servers import Client, wait_for


@pytest.fixture
def pair(programs, place):
    with Pair(programs, place) as made:
        yield made


@pytest.fixture
def pair_that(programs, place):
    """Makes a pair with another mode."""
    made = []

    def make(lost):
        made.append(Pair(programs, place, lost))
        return made[0].__enter__()

    yield make
    for one in made:
        one.__exit__()


def test_the_primary_dies_with_its_disk_and_the_standby_goes_on(pair, record_property):
    create(pair.a, files_of("a"))
    with Load(pair.a, files_of("a")) as load:
        load.more(300, "updates")
        pair.a.kill()
    pair.a.wipe()
    code, said = pair.b.promote()
    assert code == 0 and "promoted" in said, said
    pair.ready(pair.b)
    create(pair.b, files_of("b"))
    with Load(pair.b, files_of("b")) as later:
        later.more(300, "updates of the new primary")
    assert judged(
        pair, [load, later], record_property, "A killed, its disk wiped"
    ) == (0, 0)
    # it comes back with an empty disk, and becomes the standby
    pair.a.start()
    pair.a.is_so("in sync", role="standby", in_sync=True, connected=True)
    pair.b.is_so("in sync", role="primary", in_sync=True, alone=None)

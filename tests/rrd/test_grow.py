"""From one rrdcached to many without stopping a client: the router serves the one server
first, and then the files move, with a second copy of each.
"""

import signal
import subprocess

import pytest
from rrd_feed import Feed, create, lost, names
from rrd_servers import Cluster, wait_for
from test_repairs import status


def move(cluster):
    """Runs `stead-rrd move`, and returns what it prints."""
    done = subprocess.run(
        [cluster.programs["stead-rrd"], "move", cluster.state],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def serving(cluster, epoch):
    """Waits until the router knows no other epoch than this one."""

    def only():
        found = status(cluster)[0]
        return (found["epoch"], found["next_epoch"]) == (epoch, None)

    wait_for(only, f"epoch {epoch} to be the only one")


@pytest.fixture
def growing(programs, place):
    """Returns a cluster of one server that keeps one copy, and three others that run."""
    made = Cluster(programs, place)
    made.every = made.backends
    made.copies, made.backends = 1, {"a1": made.every["a1"]}
    try:
        for name in ("a2", "b1", "b2"):
            made.every[name].start()
        with made:
            yield made
    finally:
        for server in made.every.values():
            server.stop(signal.SIGKILL)


def test_one_server_becomes_four_with_two_copies_and_one_is_drained(
    growing, record_property
):
    cluster = growing
    create(cluster)
    with Feed(cluster) as feed:
        feed.more(200, "updates of the one server")
        cluster.copies, cluster.backends = 2, cluster.every
        cluster.publish()
        wait_for(lambda: status(cluster)[0]["next_epoch"] == 2, "the map to be known")
        move(cluster)
        serving(cluster, 2)
        feed.more(200, "updates of four servers")
        # a server without weight keeps its place in the fleet, and no file
        a2 = cluster.backends["a2"]
        cluster.node = lambda name: (
            type(cluster).node(cluster, name) + ("weight = 0\n" if name == "a2" else "")
        )
        cluster.publish()
        wait_for(lambda: status(cluster)[0]["next_epoch"] == 3, "the map to be known")
        move(cluster)
        serving(cluster, 3)
        feed.more(200, "updates of three servers")
        assert not [path for path in a2.base.rglob("*") if path.is_file()]
    assert not feed.refused, feed.refused
    wait_for(lambda: status(cluster)[1], "all to be well")
    missing, copies = lost(cluster, feed.acknowledged)
    record_property(
        "grown",
        f"one server to four with two copies, one drained: {feed.count()} updates, "
        f"{len(missing)} lost",
    )
    assert copies == 2 * len(names()) and not missing

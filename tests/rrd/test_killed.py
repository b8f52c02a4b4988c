"""kill -9 of the router, of the backends, and of all at once, under updates. Every copy
has all acknowledged updates afterwards.
"""

import random
import signal

import pytest
from rrd_feed import FILES, Feed, create, lost
from rrd_servers import wait_for

KILLS = 6
# what an answer means: on the disk and at a server, or only written to the log
POLICIES = [[], ["--answer", "logged", "--durability", "crash"]]


def killed(cluster, what, kills=KILLS):
    """Feeds while the named processes are killed and restarted `kills` times. Returns
    the feed's acknowledged values.
    """
    choice = random.Random(what)
    create(cluster)
    with Feed(cluster) as feed:
        for kill in range(1, kills + 1):
            feed.more(choice.randrange(50, 400), "updates")
            if what in ("router", "all"):
                cluster.stop_router(signal.SIGKILL)
            hit = (
                list(cluster.backends.values())
                if what == "all"
                else [choice.choice(list(cluster.backends.values()))]
                * (what == "backend")
            )
            for backend in hit:
                backend.stop(signal.SIGKILL)
            for backend in hit:
                backend.start()
            if what in ("router", "all"):
                cluster.start_router()
            else:
                wait_for(
                    lambda kill=kill: (
                        len(cluster.router_said(r"is up"))
                        >= len(cluster.backends) + kill
                    ),
                    "the backend to be up again",
                )
    return feed.acknowledged


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: "+".join(policy[1::2]))
@pytest.mark.parametrize("what", ["backend", "router", "all"])
def test_what_was_acknowledged_is_on_every_copy(cluster, what, policy, record_property):
    if policy:
        cluster.stop_router()
        cluster.policy = policy
        cluster.start_router()
    acknowledged = killed(cluster, what)
    missing, copies = lost(cluster, acknowledged)
    count = sum(map(len, acknowledged.values()))
    record_property(
        "updates",
        f"{what} {' '.join(policy)}: {count} acknowledged, {KILLS} times kill -9, {len(missing)} lost",
    )
    assert copies == 2 * FILES and not missing, missing[:10]


def test_without_the_log_updates_are_lost(cluster, record_property):
    cluster.stop_router()
    cluster.options = ["--no-log"]
    cluster.start_router()
    missing, _ = lost(cluster, killed(cluster, "all", 2))
    record_property("updates", f"{len(missing)} lost without the log")
    assert missing

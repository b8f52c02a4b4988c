"""The file system calls of a request: one stat, and one open when the epoch has
changed.
"""

import pytest
from web_load import Client
from web_publisher import Publisher
from web_server import Server
from web_strace import calls_of, why_not

REQUESTS = 100
EPOCHS = 5


@pytest.mark.skipif(bool(why_not()), reason=str(why_not()))
@pytest.mark.parametrize(
    ("application", "kind", "stats"),
    # the control opens the map twice in a request, and the counts must show it
    [("where", "where", 1), ("django", "members", 1), ("controls", "twice", 2)],
)
def test_a_request_costs_one_stat_of_the_map(
    application, kind, stats, databases, record_property
):
    publisher = Publisher(databases)
    publisher.publish(3)
    trace = databases / "trace"
    with Server(
        application,
        databases,
        workers=1,
        before=["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(trace)],
    ) as server:
        client = Client(server.address, keep=False)
        # an existing member is read with one look; its database does not change, since
        # only addresses change
        assert client.ask(kind, "frank", "POST").said
        for number in range(REQUESTS):
            if number % (REQUESTS // EPOCHS) == 1:
                publisher.publish(3)
            assert client.ask(kind, "frank").said["epoch"] == len(publisher.epochs)
    asked, opened = calls_of(publisher.map, trace)
    record_property(
        "calls",
        f"{asked} stats and {opened} opens in {REQUESTS + 1} requests "
        f"over {EPOCHS + 1} epochs",
    )
    assert opened == EPOCHS + 1
    # the first member is created after a miss, and the second look of a miss reads
    # another file
    assert asked == stats * (REQUESTS + 1)

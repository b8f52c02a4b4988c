"""Members are read and written all the time while `manage.py stead_plan --move` moves
them to other databases. No member and no visit may be lost.
"""

import re
import sqlite3
import threading
import time

import pytest
import stead_reference
from test_epochs import warm_up
from web_load import Client
from web_manage import manage
from web_publisher import Publisher
from web_server import Server

MEMBERS = 160
CLIENTS = 4
GRACE = 0.4
GTHREAD = ["--worker-class", "gthread", "--threads", "4"]


class Visitors:
    """Clients that each have their own members, visit them, read them again, and know
    the right counts.
    """

    def __init__(self, address):
        self.visits = {f"member{i}": 0 for i in range(MEMBERS)}
        self.faults, self.answers, self.from_the_old_place = [], 0, 0
        self.stop = threading.Event()
        self.threads = [
            threading.Thread(target=self.run, args=(Client(address, keep=True), i))
            for i in range(CLIENTS)
        ]

    def run(self, client, mine):
        names = [f"member{i}" for i in range(mine, MEMBERS, CLIENTS)]
        while not self.stop.is_set():
            for name in names:
                for method in (
                    ("GET", "POST", "GET") if self.visits[name] else ("POST",)
                ):
                    answer = client.ask("members", name, method)
                    self.visits[name] += method == "POST"
                    self.answers += 1
                    if (
                        answer.said is None
                        or answer.said["visits"] != self.visits[name]
                    ):
                        self.faults.append((name, self.visits[name], answer))
                        self.visits[name] = (
                            answer.said["visits"] if answer.said else self.visits[name]
                        )
                    elif answer.said["database"] != answer.said["shard"]:
                        self.from_the_old_place += 1
        client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        deadline = time.monotonic() + 20
        while not all(self.visits.values()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def rows(scratch):
    """Returns {name: [(database, visits), ...]}, read without Django."""
    found = {}
    for number in range(1, 7):
        connection = sqlite3.connect(scratch / f"db{number}.sqlite3")
        for name, visits in connection.execute(
            "SELECT name, visits FROM members_member"
        ):
            found.setdefault(name, []).append((f"db{number}", visits))
        connection.close()
    return found


def moved(said):
    """Returns the number of rows that the command says it moved."""
    return int(re.search(r"is in use, (\d+) rows moved", said)[1])


def change(publisher, size):
    """Changes the fleet and moves its members; returns their number."""
    publisher.write_fleet(size)
    return moved(
        manage(
            publisher.scratch,
            "stead_plan",
            publisher.scratch / "fleet.toml",
            "--move",
            "--grace",
            GRACE,
        )
    )


def test_members_are_always_found_while_they_move(databases, record_property):
    publisher = Publisher(databases)
    publisher.publish(3)
    with Server("django", databases, *GTHREAD) as server:
        warm_up(server, [("POST", "members")])
        with Visitors(server.address) as visitors:
            # interrupted after the map was published: readers look in the old place,
            # and the next call continues
            new, before = publisher.next_map(6), databases / "members.map.before"
            interrupted = manage(
                databases, "stead_plan", new, "--move", "--grace", 60, wait=False
            )
            deadline = time.monotonic() + 20
            while (
                publisher.map.read_bytes() != new.read_bytes()
                and time.monotonic() < deadline
            ):
                time.sleep(0.01)
            interrupted.kill()
            interrupted.wait()
            assert before.exists()
            time.sleep(GRACE)
            counts = [
                moved(manage(databases, "stead_plan", new, "--move", "--grace", GRACE)),
                change(publisher, 4),
            ]
            assert not before.exists()
        log = server.log()
    record_property(
        "answers",
        f"{visitors.answers}, {visitors.from_the_old_place} of them from the old "
        f"place, rows moved {counts}",
    )
    assert not visitors.faults, (visitors.faults[:5], log)

    there = rows(databases)
    last = stead_reference.read_map(publisher.map.read_bytes())
    places = {
        name: stead_reference.locate(last, last.point(name.encode()))
        for name in visitors.visits
    }
    assert {name: there[name] for name in places} == {
        name: [(places[name], visitors.visits[name])] for name in places
    }
    # something could have been lost
    assert min(counts) >= MEMBERS // 5 and visitors.from_the_old_place >= 10


def test_readers_that_do_not_look_back_lose_members(databases):
    publisher = Publisher(databases)
    publisher.publish(3)
    with Server("django", databases, *GTHREAD, CONTROL="no look back") as server:
        warm_up(server, [("POST", "members")])
        with Visitors(server.address) as visitors:
            change(publisher, 6)
    assert len(visitors.faults) >= 10


def test_the_command_refuses_before_it_changes_anything(databases):
    publisher = Publisher(databases)
    publisher.publish(3)
    manage(
        databases,
        "shell",
        "-c",
        "from members.models import Member\n"
        "for i in range(40): Member.objects.for_key(f'm{i}').create(name=f'm{i}')",
    )
    (databases / "members.map.before").write_bytes(publisher.next_map(4).read_bytes())
    before = publisher.map.read_bytes(), rows(databases)
    for size, most, complaint in (
        (6, 3, "rows are more than --most 3; nothing was changed"),
        (6, 1000, "rows of epoch 1 are still to be moved"),
        (7, 1000, "not in DATABASES: db7;"),
    ):
        with pytest.raises(AssertionError, match=complaint):
            manage(
                databases,
                "stead_plan",
                publisher.next_map(size),
                "--move",
                "--grace",
                0,
                "--most",
                most,
            )
        assert (publisher.map.read_bytes(), rows(databases)) == before

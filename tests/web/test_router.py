"""The router of the Django example, in its project."""

import sqlite3

from web_manage import manage
from web_publisher import Publisher

CHECKS = """
from django.db import router
from django.contrib.contenttypes.models import ContentType
from members.models import Member
from members.router import NoKey
from stead.django import shard

frank = Member.objects.for_key("frank").create(name="frank")
assert frank._state.db == shard("frank") == router.db_for_write(Member, instance=frank)
frank.visits = 7
frank.save()
frank.refresh_from_db()
assert Member.objects.find("frank").visits == 7

places = {name: shard(name) for name in map(str, range(50))}
assert set(places.values()) == {"db1", "db2", "db3"}
for name, place in places.items():
    member = Member(name=name)
    member.save()
    assert member._state.db == place

for query in (Member.objects.all, Member.objects.count, lambda: Member.objects.create(name="x"), lambda: Member.objects.get(name="frank")):
    try:
        list(query())
    except NoKey as refused:
        assert "Member.objects.for_key(key)" in str(refused)
    else:
        raise AssertionError("a query without a key was answered")

assert router.db_for_read(ContentType) == "default"
ContentType.objects.count()
same = [Member.objects.find(name) for name in places if places[name] == places["0"]]
other = next(Member.objects.find(name) for name in places if places[name] != places["0"])
assert router.allow_relation(same[0], same[1]) and not router.allow_relation(same[0], other)

Member.objects.remove("frank")
assert not any(Member.objects.using(place).filter(name="frank").exists() for place in ("db1", "db2", "db3"))
print("all checked")
"""


def tables(path):
    connection = sqlite3.connect(path)
    names = {
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )
    }
    connection.close()
    return names


def test_rows_live_where_their_key_says_and_a_query_without_a_key_is_refused(databases):
    Publisher(databases).publish(3)
    assert "all checked" in manage(databases, "shell", "-c", CHECKS)


def test_shards_have_the_sharded_tables_and_nobody_else(databases):
    assert "members_member" not in tables(
        databases / "default.sqlite3"
    ) and "django_content_type" in tables(databases / "default.sqlite3")
    for number in range(1, 7):
        assert "members_member" in tables(databases / f"db{number}.sqlite3")
        assert "django_content_type" not in tables(databases / f"db{number}.sqlite3")

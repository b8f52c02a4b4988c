"""Rows that a carry must not lose, in real PostgreSQL and MariaDB: those that foreign keys
delete with others, columns that are added and tables that are listed while it is under way.
"""

import contextlib

import pytest
from carry_sql import ALL, begun

MEMBERS = ("members", "member")


@pytest.fixture(params=["postgresql", "mariadb"])
def carry(programs, request):
    with begun(programs, request.param) as made:
        yield made


def rows(carry, node, what):
    """The lines of a SELECT at a node."""
    with contextlib.closing(carry.connect(node)) as client:
        return client.run(f"SELECT {what}")


def every(carry, what):
    """The lines of a SELECT at all nodes, sorted."""
    return sorted(line for node in ALL for line in rows(carry, node, what))


def keys_of(carry):
    """A key that moves, with its two nodes, and a key of the same node that stays there."""
    moving, (old, new) = next(iter(carry.both_homes().items()))
    stays = [
        key
        for key, nodes in carry.copies().items()
        if set(nodes) == {old} and carry.home(key) == old
    ]
    return moving, stays[0], old, new


def table(carry, name, columns, key="member"):
    """Makes a table on all nodes, with an index and the privileges of a carry."""
    carry.at(*ALL)(
        f"CREATE TABLE {name} ({columns})",
        f"CREATE INDEX {name}_{key} ON {name} ({key})",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {carry.to()}",
    )


def orders(carry, action="ON DELETE CASCADE"):
    table(carry, "orders", "id int PRIMARY KEY, member varchar(100)")
    refers = f"order_id int REFERENCES orders (id) {action}"
    table(carry, "items", f"id int PRIMARY KEY, {refers}, member varchar(100)")
    carry.file_with([MEMBERS, ("orders", "member"), ("items", "member")])


@pytest.mark.parametrize("action", ["ON DELETE CASCADE", "ON DELETE SET NULL", ""])
def test_a_row_of_another_key_that_refers_to_a_row_that_moves_is_refused(carry, action):
    orders(carry, action)
    moving, stays, old, _ = keys_of(carry)
    carry.at(old)(
        f"INSERT INTO orders VALUES (1, '{moving}'), (2, '{stays}')",
        # a row without a key may refer to one that stays
        "INSERT INTO items VALUES (7, 2, NULL)",
    )
    said = carry.goes()
    assert "note: 1 row of " in said and f"(node {old}: 1)" in said, said
    carry.at(old)("INSERT INTO items VALUES (8, 1, NULL)")
    where = f"another key at node {old}: 1, such as"
    carry.tied(where, "items", "order_id", "id 8", "NULL")
    carry.at(old)(f"UPDATE items SET member = '{stays}' WHERE id = 8")
    carry.tied(where, "id 8", f'"{stays}" and not "{moving}"')
    # the other way: the row that refers moves, and the one to which it refers stays
    carry.at(old)(f"UPDATE items SET order_id = 2, member = '{moving}' WHERE id = 8")
    carry.tied(where, f'"{moving}" and not "{stays}"')
    carry.at(old)("UPDATE items SET order_id = 1 WHERE id = 8")
    carry.goes()
    done = carry.run("--until", "both_new_first")
    assert done.returncode == 0, done.stderr
    # a row that came later is seen before anything is removed
    carry.at(old)("INSERT INTO items VALUES (9, 1, NULL)")
    done = carry.run()
    assert done.returncode == 66 and "id 9" in done.stderr, done.stderr
    assert "no old copy was removed" in done.stderr
    carry.at(old)("DELETE FROM items WHERE id = 9")
    done = carry.run()
    assert done.returncode == 0, done.stderr
    assert every(carry, "id FROM items") == ["7", "8"]


def test_rows_that_refer_to_rows_of_their_own_table_are_carried_in_order(carry):
    refers = "up int REFERENCES notes (id)"
    table(carry, "notes", f"id int PRIMARY KEY, member varchar(100), {refers}")
    moving, stays, old, new = keys_of(carry)
    # each refers to one with a greater number, which is read after it
    carry.at(old)(
        f"INSERT INTO notes VALUES (9, '{moving}', NULL)",
        *(f"INSERT INTO notes VALUES ({n}, '{moving}', {n + 1})" for n in (8, 7, 6)),
        f"INSERT INTO notes VALUES (5, '{stays}', 9)",
    )
    carry.file_with([MEMBERS, ("notes", "member")])
    carry.tied("notes", "by up", "id 5")
    carry.at(old)("UPDATE notes SET up = NULL WHERE id = 5")
    # the new place has an older copy, whose rows refer to each other differently
    carry.at(new)(
        f"INSERT INTO notes VALUES (6, '{moving}', NULL), (4, '{moving}', 6)",
    )
    done = carry.run()
    assert done.returncode == 0, done.stderr
    assert rows(carry, new, "id FROM notes ORDER BY 1") == ["6", "7", "8", "9"]
    assert rows(carry, old, "id FROM notes ORDER BY 1") == ["5"]


def test_tables_are_put_in_order_and_a_circle_is_told(carry):
    orders(carry, "")
    moving, _, old, new = keys_of(carry)
    carry.at(old)(
        f"INSERT INTO orders VALUES (1, '{moving}')",
        f"INSERT INTO items VALUES (7, 1, '{moving}')",
    )
    carry.file_with([("items", "member"), ("orders", "member"), MEMBERS])
    carry.goes()
    carry.at(*ALL)(
        "ALTER TABLE orders ADD item int",
        "ALTER TABLE orders ADD CONSTRAINT circle FOREIGN KEY (item) "
        "REFERENCES items (id)",
    )
    carry.refused("in a circle", "items", "orders")
    if carry.is_postgresql:
        carry.at(*ALL)("ALTER TABLE orders ALTER CONSTRAINT circle DEFERRABLE")
        carry.at(old)("UPDATE orders SET item = 7")
    else:
        carry.at(*ALL)("ALTER TABLE orders DROP FOREIGN KEY circle")
    done = carry.run()
    assert done.returncode == 0, done.stderr
    assert rows(carry, new, "id FROM items") == ["7"]
    assert rows(carry, old, "id FROM items") == []


def test_a_column_that_is_added_during_a_carry_is_carried(carry):
    done = carry.run("--until", "both_old_first")
    assert done.returncode == 0, done.stderr
    carry.at(*ALL)("ALTER TABLE members ADD COLUMN born varchar(9)")
    carry.at("a", "b")("UPDATE members SET born = '1999'")
    before = every(carry, "member FROM members WHERE born IS NOT NULL")
    done = carry.run()
    assert done.returncode == 0, done.stderr
    assert "its passes begin again" in done.stderr
    assert every(carry, "member FROM members WHERE born IS NOT NULL") == before


def test_a_table_that_is_emptied_at_a_new_place_is_filled_again(carry):
    done = carry.run("--until", "both_old_first")
    assert done.returncode == 0, done.stderr
    before = rows(carry, "c", "member FROM members ORDER BY 1")
    assert len(before) > 2
    carry.at("c")("TRUNCATE TABLE members")
    other = next(key for key in carry.ledger.values if carry.home(key) != "c")
    if carry.is_postgresql:
        # rows that come at once do not hide it
        carry.at("c")(f"INSERT INTO members VALUES ('{other}', 'x')")
    done = carry.run("--until", "both_old_first")
    assert done.returncode == 0, done.stderr
    told = "emptied or replaced after copies were there: node c: the table "
    assert told in done.stderr, done.stderr
    if carry.is_postgresql:
        carry.at("c")(f"DELETE FROM members WHERE member = '{other}'")
    assert rows(carry, "c", "member FROM members ORDER BY 1") == before
    # rows that change are no reason
    carry.at("c")("UPDATE members SET member = member")
    done = carry.run()
    assert done.returncode == 0 and "emptied" not in done.stderr, done.stderr


def test_a_table_that_is_listed_later_is_copied_or_refused(carry):
    table(carry, "photos", "id int PRIMARY KEY, member varchar(100)")
    table(carry, "films", "id int PRIMARY KEY, member varchar(100)")
    for number, (key, (old, _)) in enumerate(carry.both_homes().items()):
        carry.at(old)(f"INSERT INTO photos VALUES ({number}, '{key}')")
    before, moved = every(carry, "id FROM photos"), rows(carry, "c", "id FROM photos")
    assert before and not moved
    done = carry.run("--until", "both_old_first")
    assert done.returncode == 0, done.stderr
    carry.file_with([MEMBERS, ("photos", "member")])
    done = carry.run("--until", "both_new_first")
    assert done.returncode == 0, done.stderr
    assert "its passes begin again" in done.stderr
    assert sorted(rows(carry, "c", "id FROM photos")) == before
    for tables, name in [
        ([MEMBERS], "photos"),
        ([MEMBERS, ("photos", "member"), ("films", "member")], "films"),
    ]:
        carry.file_with(tables)
        for options in [(), ("--dry-run",)]:
            done = carry.run(*options)
            assert done.returncode == 64, done.stderr
            assert name in done.stderr and "stead-sync carry reverse" in done.stderr
            assert len(done.stderr.splitlines()) == 1, done.stderr
    carry.file_with([("photos", "member"), MEMBERS])
    done = carry.run()
    assert done.returncode == 0, done.stderr
    assert every(carry, "id FROM photos") == before


def test_a_trigger_that_changes_what_is_written_is_named(carry):
    if carry.is_postgresql:
        carry.at("c")(
            "CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql "
            "AS $$BEGIN NEW.value := clock_timestamp(); RETURN NEW; END$$",
            "CREATE TRIGGER stamp BEFORE INSERT ON members FOR EACH ROW "
            "EXECUTE FUNCTION stamp()",
        )
        assert "note: node c: carried tables have triggers" in carry.goes()
    else:
        carry.at("c")(
            "CREATE TRIGGER stamp BEFORE INSERT ON members FOR EACH ROW "
            "SET NEW.value = NOW(6)",
        )
        assert "note: node c: carried tables have triggers" in carry.goes()
    done = carry.run()
    assert done.returncode == 1, done.stderr
    said = done.stdout + done.stderr
    assert "the column value" in said and "probably by a trigger" in said, said
    assert said.count("failed: node") <= 2 and "--json lists all" in said
    carry.at("c")("DROP TRIGGER stamp" + " ON members" * carry.is_postgresql)
    done = carry.run()
    assert done.returncode == 0, done.stderr
    carry.judge()


def test_a_table_that_is_listed_twice_is_refused(carry):
    carry.file_with([MEMBERS, MEMBERS])
    carry.refused("members", "in `tables` twice")
    carry.file_with([MEMBERS], everywhere="['members']")
    carry.refused("members", "in `tables` and in `everywhere`")


def test_what_is_no_plain_table_is_said(carry):
    carry.at(*ALL)("CREATE VIEW seen AS SELECT * FROM members")
    carry.file_with([("seen", "member")])
    carry.refused('the table "seen" is a view')
    if not carry.is_postgresql:
        carry.at(*ALL)(
            "CREATE TABLE kept (member varchar(100) PRIMARY KEY) WITH SYSTEM VERSIONING",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON kept TO carry@localhost",
        )
        carry.file_with([("kept", "member")])
        carry.refused('the table "kept" has system versioning')


def test_what_differs_between_nodes_is_said(carry):
    carry.at("c")("ALTER TABLE members ADD COLUMN born date")
    carry.refused(
        "members",
        "differs between nodes",
        'the column "born"',
        "at node c",
        "not at node a",
    )
    change = "ALTER COLUMN value TYPE varchar(7)"
    if not carry.is_postgresql:
        change = "MODIFY value varchar(7)"
    carry.at("c")("ALTER TABLE members DROP COLUMN born")
    carry.at("c")(f"ALTER TABLE members {change}")
    carry.refused('the column "value" has the type', "(7)", "at node c", "at node a")


@pytest.mark.parametrize("carry", ["mariadb"], indirect=True)
def test_a_row_that_is_too_large_for_a_server_is_told_with_its_node(carry):
    moving, _, old, new = keys_of(carry)
    carry.at(old)(
        f"UPDATE members SET value = REPEAT('x', 60000) WHERE member = '{moving}'"
    )
    carry.at(new)("SET GLOBAL max_allowed_packet = 20480")
    done = carry.run()
    assert done.returncode == 1, done.stderr
    said = done.stdout + done.stderr
    assert f"node {new}: MariaDB: a row is larger than max_allowed_packet" in said, said
    carry.at(new)("SET GLOBAL max_allowed_packet = 16777216")
    done = carry.run()
    assert done.returncode == 0, done.stderr


def test_a_password_file_that_is_missing_is_a_missing_file(carry):
    carry.file_with([MEMBERS], password_file="'/nowhere/password'")
    done = carry.run("--dry-run")
    assert done.returncode == 66 and "/nowhere/password" in done.stderr, done.stderr

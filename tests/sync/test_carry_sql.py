"""What `stead-sync carry` says about databases before it moves anything: to a user who has
the privileges of docs/carry-servers.md and no others, in real PostgreSQL and MariaDB.
"""

import contextlib
import os
import re
import shutil
import subprocess

import pytest
from carry_servers import KINDS
from carry_site import Carry
from carry_sql import ALL, KEYS, begun, needed
from ports import free_port
from sync_servers import Process, wait_for
from sync_site import Site


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def carry(programs, request):
    with begun(programs, request.param) as made:
        yield made


only_postgresql = pytest.mark.parametrize("carry", ["postgresql"], indirect=True)
only_mariadb = pytest.mark.parametrize("carry", ["mariadb"], indirect=True)


def test_the_privileges_of_the_docs_are_enough_to_begin(carry):
    assert re.search(r"count: \d\d items", carry.goes())


@only_postgresql  # MariaDB tells it in a variable
def test_nobody_needs_the_number_of_the_data_directory(carry):
    what = "EXECUTE ON FUNCTION pg_control_system()"
    with carry.changed(
        ALL, [f"REVOKE {what} FROM PUBLIC"], [f"GRANT {what} TO PUBLIC"]
    ):
        carry.goes()


@pytest.mark.parametrize("privilege", ["SELECT", "INSERT", "UPDATE", "DELETE"])
def test_a_missing_privilege_is_told_before_anything_moves(carry, privilege):
    to = carry.to()
    revoke = f"REVOKE {privilege} ON members FROM {to}"
    with carry.changed(["c"], [revoke], [f"GRANT {privilege} ON members TO {to}"]):
        said = carry.refused("node c:", "the user ", "members", f"GRANT {privilege} ON")
        others = {"SELECT", "INSERT", "UPDATE", "DELETE"} - {privilege}
        assert not any(other in said for other in others), said
        # the line names the way out
        carry.at("c")(re.search(r"run (GRANT [^;\n]*)", said)[1])
        carry.goes()


def test_privileges_on_all_columns_are_enough_and_on_some_are_not(carry):
    to = carry.to()
    every = "member, value"
    before = [f"REVOKE INSERT, UPDATE ON members FROM {to}"]
    after = [
        f"REVOKE INSERT ({every}), UPDATE ({every}) ON members FROM {to}",
        f"GRANT INSERT, UPDATE ON members TO {to}",
    ]
    some = f"GRANT INSERT ({every}), UPDATE (member) ON members TO {to}"
    with carry.changed(["b"], [*before, some], after):
        carry.refused("node b:", "GRANT UPDATE ON")
        carry.at("b")(f"GRANT UPDATE ({every}) ON members TO {to}")
        carry.goes()


def test_privileges_of_a_role_count(carry):
    to = carry.to()
    before = [
        f"REVOKE SELECT, INSERT, UPDATE, DELETE ON members FROM {to}",
        "CREATE ROLE carriers",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON members TO carriers",
        f"GRANT carriers TO {to}",
    ]
    if not carry.is_postgresql:
        before.append(f"SET DEFAULT ROLE carriers FOR {to}")
    after = [
        "REVOKE SELECT, INSERT, UPDATE, DELETE ON members FROM carriers",
        "DROP ROLE carriers",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON members TO {to}",
    ]
    with carry.changed(["a"], before, after):
        carry.goes()


def test_no_trigger_fires_when_privileges_are_checked(carry):
    make, undo = ["CREATE TABLE fired (n int)"], ["DROP TABLE fired"]
    if carry.is_postgresql:
        function = (
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
        )
        body = "BEGIN INSERT INTO fired VALUES (1); RETURN NULL; END"
        when = "BEFORE INSERT OR UPDATE OR DELETE ON members FOR EACH STATEMENT"
        make += [
            f"{function} AS $${body}$$",
            f"CREATE TRIGGER t {when} EXECUTE FUNCTION note()",
        ]
        undo = ["DROP TRIGGER t ON members", "DROP FUNCTION note()", *undo]
    else:
        for what in ("INSERT", "UPDATE", "DELETE"):
            make.append(
                f"CREATE TRIGGER t{what} BEFORE {what} ON members FOR EACH ROW "
                "INSERT INTO fired VALUES (1)"
            )
            undo.insert(0, f"DROP TRIGGER t{what}")
    with carry.changed(ALL, make, undo):
        carry.goes()
        for node in ALL:
            with contextlib.closing(carry.connect(node)) as client:
                assert client.run("SELECT count(*) FROM fired") == ["0"]


@only_postgresql  # MariaDB has no row security
def test_row_security_is_told_before_anything_moves(carry):
    before = ["ALTER TABLE members ENABLE ROW LEVEL SECURITY"]
    after = ["ALTER TABLE members DISABLE ROW LEVEL SECURITY"]
    with carry.changed(["c"], before, after):
        carry.refused("node c:", "row security", "BYPASSRLS")


@only_mariadb  # PostgreSQL shows them to everybody
def test_mariadb_shows_the_foreign_keys_of_all_tables(carry):
    see = "REFERENCES ON test.*"
    before, after = (
        f"REVOKE {see} FROM carry@localhost",
        f"GRANT {see} TO carry@localhost",
    )
    with carry.changed(["b"], [before], [after]):
        said = carry.refused("node b:", "foreign key", "GRANT REFERENCES ON `test`.*")
        carry.at("b")(re.search(r"run (GRANT [^;\n]*)", said)[1])
        carry.goes()


def test_a_computed_key_is_told(carry):
    add = "ALTER TABLE members ADD k varchar(100) GENERATED ALWAYS AS (member) STORED"
    with carry.changed(ALL, [add], ["ALTER TABLE members DROP COLUMN k"]):
        carry.file_with([("members", "k")])
        said = carry.refused('the table "members"', 'the column "k"', "computes it")
        assert "no column" not in said


@only_postgresql  # MariaDB has no computed primary keys
def test_a_computed_primary_key_is_told(carry):
    make = (
        "CREATE TABLE made (k varchar(9), p varchar(9) GENERATED ALWAYS AS (k) STORED, "
        "PRIMARY KEY (p))"
    )
    grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON made TO {carry.to()}"
    with carry.changed(ALL, [make, grant], ["DROP TABLE made"]):
        carry.file_with([("made", "k")])
        carry.refused('the column "p" in its primary key', "computes it")


def test_names_are_read_as_the_database_reads_them(carry):
    carry.file_with([("members", "Member")])
    carry.goes()
    carry.file_with([("members ", " member ")])
    carry.goes()
    if carry.is_postgresql:
        for table, key in [
            ("Members", "MEMBER"),
            ("Public.Members", '"member"'),
            ('public."members"', "member"),
        ]:
            carry.file_with([(table, key)])
            carry.goes()
    carry.file_with([("members", "member_")])
    carry.refused('the table "members" has no column "member_"', 'mean "member"?')
    # a blank that belongs to the name is seen
    carry.file_with([("members", "member _")])
    carry.refused('no column "member _"')
    carry.file_with([("members", "name")])
    carry.refused('no column "name"', '; the columns are "member", "value"')
    carry.file_with([("mem-bers", "member")])
    carry.refused('the table "mem-bers" does not exist', 'did you mean "members"?')
    carry.file_with([("people", "member")])
    carry.refused('the table "people" does not exist', '; the tables are "members"')
    if carry.is_postgresql:
        carry.file_with([("members", '"Member"')])
        carry.refused("no column '\"Member\"'", 'did you mean "member"?')
        carry.file_with([('"Members"', "member")])
        carry.refused("does not exist", 'did you mean "members"?')
    carry.file_with([("members", "member")])


@only_postgresql  # in MariaDB a schema is a database
def test_a_schema_that_the_user_may_not_use_is_told(carry):
    make = [
        "CREATE SCHEMA app",
        "CREATE TABLE app.people (member varchar(100) PRIMARY KEY)",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON app.people TO carry",
    ]
    with carry.changed(ALL, make, ["DROP SCHEMA app CASCADE"]):
        carry.file_with([("app.people", "member")])
        said = carry.refused('the schema of the table "app.people"')
        carry.at(*ALL)(re.search(r"run (GRANT [^;\n]*)", said)[1])
        carry.goes()


@only_postgresql  # MariaDB reads names of columns in either case
def test_names_with_capitals_are_found_and_two_of_them_are_refused(carry):
    make = [
        'CREATE TABLE "Photos" (id text PRIMARY KEY, "Owner" text)',
        'CREATE INDEX ON "Photos" ("Owner")',
        'GRANT SELECT, INSERT, UPDATE, DELETE ON "Photos" TO carry',
    ]
    undo = ['DROP TABLE "Photos"', "DROP TABLE IF EXISTS photos"]
    with carry.changed(ALL, make, undo):
        for table, key in [("Photos", "Owner"), ('"Photos"', '"Owner"')]:
            carry.file_with([(table, key)])
            carry.goes()
        carry.file_with([('"Photos"', "owner")])
        carry.refused('did you mean "Owner"?')
        carry.at(*ALL)("CREATE TABLE photos (id text PRIMARY KEY)")
        carry.file_with([("Photos", "Owner")])
        carry.refused('may be public."Photos" or public.photos')
        carry.at(*ALL)('ALTER TABLE "Photos" ADD owner text')
        carry.file_with([('"Photos"', "Owner")])
        carry.refused('may mean "Owner" or "owner"')


def test_the_address_that_was_tried_is_told_and_the_password_is_not(carry):
    port = free_port()
    connection = f"'mysql://carry:geheim@127.0.0.1:{port}/test'"
    if carry.is_postgresql:
        connection = (
            f"'host=127.0.0.1 port={port} user=carry password=geheim dbname=app'"
        )
    carry.file_with([("members", "member")], connection=connection)
    done = carry.run("--dry-run")
    assert done.returncode == 66
    assert f"at 127.0.0.1:{port}: " in done.stderr and "geheim" not in done.stderr
    assert "node a:" in done.stderr and "refused" in done.stderr
    carry.file_with([("members", "member")])
    carry.kill_server("b")
    try:
        done = carry.run("--dry-run")
        place = carry.roots / "b" / (".s.PGSQL.5432" if carry.is_postgresql else "s")
        assert done.returncode == 66 and f"at {place}: " in done.stderr, done.stderr
    finally:
        carry.start_server("b")


def test_a_word_of_the_connection_that_is_not_accepted_is_named(carry):
    connection = (
        "'host=db1 port=1 dbname=app client_encoding=LATIN1'"
        if carry.is_postgresql
        else "'mysql://carry@db1/app?client_encoding=LATIN1'"
    )
    carry.file_with([("members", "member")], connection=connection)
    carry.refused("node a:", "the word client_encoding, which is not accepted")
    carry.file_with([("members", "member")])


def test_a_table_that_is_referred_to_and_left_out_is_refused(carry):
    refers = "member varchar(100) REFERENCES members (member) ON DELETE CASCADE"
    kinds = "kind varchar(100) REFERENCES kinds (kind)"
    make = [
        "CREATE TABLE kinds (kind varchar(100) PRIMARY KEY)",
        f"CREATE TABLE photos (id varchar(100) PRIMARY KEY, {refers}, {kinds})",
        "CREATE INDEX photos_member ON photos (member)",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON photos TO {carry.to()}",
    ]
    with carry.changed(ALL, make, ["DROP TABLE photos", "DROP TABLE kinds"]):
        members, photos = ("members", "member"), ("photos", "member")
        # from the one side, and from the other. The user has no privilege on kinds
        carry.file_with([members])
        carry.refused("photos", "refers to", "members", "not carried")
        carry.file_with([photos])
        carry.refused("photos", "refers to", "kinds", "not carried", "`everywhere`")
        carry.file_with([photos], everywhere="['kinds']")
        carry.refused("photos", "refers to", "members", "not carried", "`everywhere`")
        carry.file_with([members, photos], everywhere="['kinds']")
        assert "note:" not in carry.goes()
        carry.file_with([members, photos], everywhere="['kinks']")
        carry.refused('the table "kinks" does not exist')


def test_a_table_with_the_same_column_that_is_left_out_is_noted(carry):
    make = ["CREATE TABLE orders (id int PRIMARY KEY, member varchar(100))"]
    with carry.changed(ALL, make, ["DROP TABLE orders"]):
        said = carry.goes()
        assert re.search(r"note: .*column.*: member \(.*orders.*\)", said), said
        carry.file_with([("members", "member")], everywhere="['orders']")
        assert "note:" not in carry.goes()


@only_postgresql  # MariaDB has no foreign keys of partitioned tables
def test_partitions_are_no_tables_of_their_own(carry):
    refers = "member varchar(100) REFERENCES members (member)"
    make = [
        f"CREATE TABLE photos (id int PRIMARY KEY, {refers}) PARTITION BY RANGE (id)",
        "CREATE TABLE photos_1 PARTITION OF photos FOR VALUES FROM (0) TO (9)",
        "CREATE INDEX ON photos (member)",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON photos TO carry",
    ]
    with carry.changed(ALL, make, ["DROP TABLE photos"]):
        carry.refused("public.photos refers to public.members")
        carry.file_with([("members", "member"), ("photos", "member")])
        assert "note:" not in carry.goes()


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_one_server_by_two_ways_is_told(programs, place, kind):
    """By a socket and by TCP: removing at one node would remove at the other."""
    needed(kind)
    place.chmod(0o711)
    made, directory, port = KINDS[kind](place), place / "server", free_port()
    directory.mkdir()
    made.make(directory)
    if kind == "postgresql":
        more = ("-c", f"port={port}", "-c", "listen_addresses=127.0.0.1")
        ways = (f"host={directory}", "host=127.0.0.1")
        connection = f"{{way}} port={port} user=owner dbname=postgres"
    else:
        more = ("--skip-networking=0", f"--port={port}", "--bind-address=127.0.0.1")
        socket = str(directory / "s").replace("/", "%2F")
        ways = (f"localhost/test?prefer_socket=false&socket={socket}",)
        ways += (f"127.0.0.1:{port}/test?prefer_socket=false",)
        connection = "mysql://root@{way}"
    command = [str(word) for word in (*made.command(directory), *more)]
    if os.geteuid() == 0:
        shutil.chown(directory, made.user)
        command = ["setpriv", f"--reuid={made.user}", "--clear-groups", *command]
    (place / "shared").mkdir()
    site = Site(programs, place, f"file://{place}/shared/members.map")
    server = Process(command, place / "log")
    client = (
        ["psql", "-XqAt", "-h", directory, "-p", str(port), "-U", "owner", "postgres"]
        if kind == "postgresql"
        else ["mariadb", "--no-defaults", "-u", "root", "-S", directory / "s", "test"]
    )
    table = b"CREATE TABLE members (member varchar(100) PRIMARY KEY)"

    def ready():
        done = subprocess.run(client, input=table, capture_output=True, check=False)
        return not done.stderr

    try:
        server.start()
        wait_for(ready, kind)
        with site:
            way = dict(zip(("a", "b"), ways))
            carry = Carry(
                site,
                KEYS,
                ("a",),
                attributes=lambda node: f"attributes = {{ way = '{way[node]}' }}\n",
            )
            carry.begin("a", "b")
            carry.write_file(
                kind=f"[{kind}]\nconnection = '{connection}'\n"
                "tables = [{ table = 'members', key = 'member' }]\n"
            )
            done = carry.run("--dry-run")
            assert done.returncode == 66, done.stderr
            assert "node b: another node, a, has the same database" in done.stderr
    finally:
        server.end(made.kill)


def numbered(carry):
    """Statements for a table whose keys are the texts of numbers: a trigger writes them."""
    table = "CREATE TABLE orders (id int PRIMARY KEY, place varchar(100))"
    index = "CREATE INDEX orders_place ON orders (place)"
    grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO {carry.to()}"
    trigger = (
        "CREATE TRIGGER place BEFORE INSERT ON orders FOR EACH ROW "
        "SET NEW.place = CAST(NEW.id AS CHAR)"
    )
    if carry.is_postgresql:
        function = "CREATE FUNCTION place() RETURNS trigger LANGUAGE plpgsql"
        execute = "FOR EACH ROW EXECUTE FUNCTION"
        return [
            table,
            index,
            grant,
            f"{function} AS $$BEGIN NEW.place := NEW.id; RETURN NEW; END$$",
            f"CREATE TRIGGER place BEFORE INSERT OR UPDATE ON orders {execute} place()",
        ]
    return [table, index, grant, trigger]


def test_the_privileges_of_the_docs_are_enough_for_a_whole_carry(carry):
    """Also for tables with sequences, foreign keys and triggers, and for a table to which
    the user has privileges on columns. It is the last test, since it ends the carry.
    """
    to, every = carry.to(), "member, value"
    computed = "twice varchar(200) GENERATED ALWAYS AS (value) STORED"
    refers = "member varchar(100) REFERENCES members (member)"
    counted = (
        "id bigserial PRIMARY KEY, other int GENERATED ALWAYS AS IDENTITY"
        if carry.is_postgresql
        else "id bigint AUTO_INCREMENT PRIMARY KEY"
    )
    carry.at(*ALL)(
        f"CREATE TABLE photos ({counted}, {refers}, value varchar(100), {computed})",
        "CREATE INDEX photos_member ON photos (member)",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON photos TO {to}",
        *numbered(carry),
    )
    carry.at("c")(
        f"REVOKE INSERT, UPDATE ON members FROM {to}",
        f"GRANT INSERT ({every}), UPDATE ({every}) ON members TO {to}",
    )
    for place, node in enumerate(("a", "b")):
        carry.at(node)(
            "INSERT INTO photos (id, member, value) "
            f"SELECT {place}000 + row_number() OVER (ORDER BY member), member, value "
            "FROM members"
        )
    app = carry.app(carry, carry.anna.map, carry.ledger, 0)
    for number in range(40):
        carry.at(*app.lists(str(number)))(f"INSERT INTO orders (id) VALUES ({number})")
    app.close()
    # the new place has an older row of a key: it is made equal
    key = next(key for key in KEYS if carry.home(key) == "c")
    carry.at("c")(f"INSERT INTO members VALUES ('{key}', 'older')")
    carry.file_with([("members", "member"), ("photos", "member"), ("orders", "place")])
    done = carry.run()
    assert done.returncode == 0, done.stderr
    keys, *_ = carry.judge()
    photos, orders = {}, {}
    for node in ALL:
        with contextlib.closing(carry.connect(node)) as client:
            rows = client.run(
                "SELECT concat(member, '|', value, '|', twice) FROM photos"
            )
            numbers = client.run("SELECT id FROM orders")
        for row in rows:
            key, value, twice = row.split("|")
            assert value == twice and key not in photos and node in carry.homes(key)
            photos[key] = node
        for number in numbers:
            assert number not in orders and node in carry.homes(number)
            orders[number] = node
    assert len(photos) == keys and set(photos.values()) == set(ALL)
    assert len(orders) == 40 and set(orders.values()) == set(ALL)

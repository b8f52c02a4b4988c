//! The kind sql: values of every type travel exactly, and keys of every sort are found.

use std::sync::atomic::AtomicBool;

use stead_sync::carry::kind::{Item, Kind, Node};
use stead_sync::carry::sql::database::{Database as Kinds, Login, Named};
use stead_sync::carry::sql::{mariadb::MariaDb, postgres::Postgres, Sql};

use crate::carrier::{copy, items, node};
use crate::servers;
use crate::sql::Database;

fn sql<D: Kinds>(table: &str) -> Sql<D> {
    let named = Named {
        table: table.into(),
        key: "k".into(),
    };
    Sql::new("{server}".into(), Login::default(), vec![named])
}

/// Carries a table, and compares what the two servers say about it.
fn carried<D: Kinds>(table: &str, from: &Node, to: &Node, digest: &str) -> Vec<Item> {
    let kind = sql::<D>(table);
    kind.ready(&[from, to]).unwrap();
    let listed = items(&kind, from).unwrap();
    copy(&kind, from, to, &listed.iter().collect::<Vec<_>>()).unwrap();
    for item in &listed {
        assert!(kind.compare(from, to, item).unwrap().equal, "{item:?}");
    }
    let say = |node: &Node| {
        Database::open(&node.attributes[0].1)
            .unwrap()
            .run(digest)
            .unwrap()
    };
    assert_eq!(say(from), say(to), "{table}");
    listed
}

/// Lists with a new beginning after each key: no key is missing, and none comes twice.
fn walks_in_steps(kind: &dyn Kind, node: &Node, expected: usize) {
    let (mut after, mut seen) = (None::<Vec<u8>>, Vec::new());
    loop {
        let mut next = None;
        let mut first = |item: Item| {
            next = Some(item.name);
            false
        };
        kind.keys(node, after.as_deref(), &AtomicBool::new(false), &mut first)
            .unwrap();
        let Some(name) = next else { break };
        seen.push(name.clone());
        after = Some(name);
    }
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!((sorted.len(), seen.len()), (expected, expected));
}

#[test]
fn postgresql_values_and_keys_travel_exactly() {
    let Some(list) = servers::postgres(2) else {
        return;
    };
    let (from, to) = (node(0, &list[0].address), node(1, &list[1].address));
    for server in &list {
        let mut database = Database::open(&server.address).unwrap();
        // the numbers that the two servers give to their types differ
        if server.address == list[1].address {
            database.run("CREATE TYPE another AS ENUM ('x')").unwrap();
        }
        for statement in [
            "CREATE TYPE mood AS ENUM ('sad', 'ok')",
            "CREATE TYPE pair AS (a mood, b numeric)",
            "CREATE TABLE typed (k bytea PRIMARY KEY, f4 real, f8 double precision, n numeric, \
             m money, c char(5), v varchar(9), t text, b boolean, d date, ts timestamp, \
             tz timestamptz, tm time, ttz timetz, i interval, u uuid, j json, jb jsonb, x xml, \
             ip inet, net cidr, mac macaddr, bits bit varying(70), p point, mo mood, mos mood[], \
             pa pair, ints int[][], r int4range, tsv tsvector, one \"char\", big bigint, \
             always bigint GENERATED ALWAYS AS IDENTITY, twice bigint GENERATED ALWAYS AS (big * 2) STORED)",
            "CREATE TABLE texts (k text PRIMARY KEY)",
            "CREATE TABLE numbers (k bigint PRIMARY KEY)",
            "CREATE TABLE \"Odd \"\"name\" (k uuid PRIMARY KEY, \"select\" text)",
        ] {
            database.run(statement).unwrap();
        }
    }
    let mut old = Database::open(&list[0].address).unwrap();
    for statement in [
        "INSERT INTO typed VALUES ('\\x00ff5c27', 0.1, 0.1, 12345678901234567890.12345678901234567890, \
         12.34, 'a', ' v ', E'\\\\N \\t\\n \\'' || chr(228) || chr(128512), true, '0044-03-15 BC', 'infinity', \
         '2024-02-29 23:59:59.999999+05:30', '24:00', '12:00:00.000001-15:59', \
         '1 year -2 mons 3 days -04:05:06.789', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', \
         '{\"a\" :  1, \"a\": 2}', '{\"a\":1.10}', '<a>&amp;</a>', '::1', '10.0.0.0/8', \
         '08:00:2b:01:02:03', B'10101', '(0.1,-0)', 'sad', '{sad,NULL,ok}', '(ok,1.50)', \
         '{{1,2},{3,NULL}}', '[1,9)', 'a:1 b:2', 'x', -9223372036854775808 / 2)",
        "INSERT INTO typed (k, f4, f8) VALUES ('', 'NaN', '-0'), ('\\x01', 3.4028235e38, 5e-324), \
         ('\\x02', '-Infinity', 1.7976931348623157e308)",
        "INSERT INTO texts SELECT 'k' || n || chr((65 + n % 20)::int) FROM generate_series(1, 3500) n",
        "INSERT INTO texts VALUES (''), (' '), ('a'), ('A'), ('a '), ('ä'), ('''\\')",
        "INSERT INTO numbers VALUES (-9223372036854775808), (-1), (0), (9223372036854775807)",
        "INSERT INTO \"Odd \"\"name\" VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL)",
    ] {
        old.run(statement).unwrap();
    }
    let digest = |table: &str| format!("SELECT t::text, k::text FROM {table} t ORDER BY k");
    let typed = carried::<Postgres>("typed", &from, &to, &digest("typed"));
    assert_eq!(typed.len(), 4);
    assert!(typed.contains(&Item::of_key(*b"\0\xff\\'")));
    let texts = carried::<Postgres>("public.texts", &from, &to, &digest("texts"));
    assert_eq!(texts.len(), 3507);
    let numbers = carried::<Postgres>("numbers", &from, &to, &digest("numbers"));
    assert!(numbers.contains(&Item::of_key(*b"-9223372036854775808")));
    carried::<Postgres>("\"Odd \"\"name\"", &from, &to, &digest("\"Odd \"\"name\""));
    old.run("DELETE FROM texts WHERE k LIKE 'k%'").unwrap();
    let kind = sql::<Postgres>("texts");
    kind.ready(&[&from]).unwrap();
    walks_in_steps(&kind, &from, 7);
}

#[test]
fn mariadb_values_and_keys_travel_exactly() {
    let Some(list) = servers::mariadb(2) else {
        return;
    };
    let (from, to) = (node(0, &list[0].address), node(1, &list[1].address));
    for server in &list {
        let mut database = Database::open(&server.address).unwrap();
        for statement in [
            "CREATE TABLE typed (k varbinary(20) PRIMARY KEY, f float, d double, n decimal(40,20), \
             c char(5), v varchar(9) CHARACTER SET latin1, t text, b blob, bits bit(33), da date, \
             dt datetime(6), ts timestamp(6) NULL, tm time(6), y year, e enum('b','ü'), s set('x','y'), \
             j json, g geometry, u uuid, i inet6, big bigint unsigned, tiny tinyint, \
             twice bigint unsigned GENERATED ALWAYS AS (big * 2) STORED, hidden int INVISIBLE DEFAULT 5)",
            "CREATE TABLE texts (k varchar(50) PRIMARY KEY) COLLATE utf8mb4_bin",
            "CREATE TABLE alike (k varchar(50), n int PRIMARY KEY AUTO_INCREMENT, KEY (k)) COLLATE utf8mb4_general_ci",
            "CREATE TABLE numbers (k bigint unsigned PRIMARY KEY)",
            "CREATE TABLE `od``d name` (k uuid PRIMARY KEY, `select` text)",
        ] {
            database.run(statement).unwrap();
        }
    }
    let mut old = Database::open(&list[0].address).unwrap();
    old.run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'").unwrap();
    old.run("SET NAMES utf8mb4").unwrap();
    for statement in [
        "INSERT INTO typed (k, f, d, n, c, v, t, b, bits, da, dt, ts, tm, y, e, s, j, g, u, i, big, tiny) \
         VALUES (x'00ff5c27', 0.1, 0.1, 12345678901234567890.12345678901234567890, 'a', 'ä ', \
         '\\n\\t\\\\ 😀', x'00ff80', b'100000000000000000000000000000001', '0000-00-00', \
         '2024-02-29 23:59:59.999999', '2024-03-31 02:30:00.000001', '-838:59:59.999999', 1901, 'ü', 'x,y', \
         '{\"a\" :  1}', ST_GeomFromText('POINT(0.1 -1)', 4326), \
         'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '::1', 9223372036854775807, -128)",
        "INSERT INTO typed (k, f, d, da) VALUES ('', 3.402823466e38, 5e-324, '2023-02-30'), \
         (x'01', 16777217, -1.7976931348623157e308, '9999-12-31')",
        "INSERT INTO texts SELECT CONCAT('k', seq) FROM seq_1_to_3500",
        "INSERT INTO texts VALUES (''), ('a'), ('A'), ('ä'), ('''\\\\')",
        "INSERT INTO alike (k) VALUES ('a'), ('A'), ('a '), ('á'), ('b'), ('a')",
        "INSERT INTO alike (k, n) VALUES ('zero', 0)",
        "INSERT INTO numbers VALUES (0), (9007199254740993), (9007199254740992), (18446744073709551615)",
        "INSERT INTO `od``d name` VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL)",
    ] {
        old.run(statement).unwrap();
    }
    let digest = |table: &str| format!("CHECKSUM TABLE {table} EXTENDED");
    let typed = carried::<MariaDb>("typed", &from, &to, &digest("typed"));
    assert_eq!(typed.len(), 3);
    assert!(typed.contains(&Item::of_key(*b"\0\xff\\'")));
    assert_eq!(
        carried::<MariaDb>("texts", &from, &to, &digest("texts")).len(),
        3505
    );
    let alike = carried::<MariaDb>("alike", &from, &to, &digest("alike"));
    assert_eq!(alike.len(), 6, "{alike:?}");
    let numbers = carried::<MariaDb>("numbers", &from, &to, &digest("numbers"));
    assert!(numbers.contains(&Item::of_key(*b"18446744073709551615")));
    assert_eq!(numbers.len(), 4);
    carried::<MariaDb>("od`d name", &from, &to, &digest("`od``d name`"));
    let kind = sql::<MariaDb>("alike");
    kind.ready(&[&from]).unwrap();
    walks_in_steps(&kind, &from, 6);
}

//! The kind sql, with real PostgreSQL and MariaDB: members with photos, in two tables.

use std::time::Duration;

use ::mysql::prelude::Queryable;
use ::postgres::SimpleQueryMessage;

use stead_sync::carry::kind::{Item, Kind};
use stead_sync::carry::sql::database::{Login, Named};
use stead_sync::carry::sql::{mariadb::MariaDb, postgres::Postgres, Sql};

use crate::carrier::{copy, items, kind, node};
use crate::servers::{self, Server};
use crate::trial::{self, Client};

/// A database, as applications use it: statements as text.
pub enum Database {
    Postgres(Box<::postgres::Client>),
    MariaDb(::mysql::Conn),
}

impl Database {
    pub fn open(address: &str) -> Result<Database, String> {
        Ok(match address.contains("dbname=") {
            true => {
                let client = ::postgres::Client::connect(address, ::postgres::NoTls);
                Database::Postgres(Box::new(client.map_err(|e| e.to_string())?))
            }
            false => Database::MariaDb(::mysql::Conn::new(address).map_err(|e| e.to_string())?),
        })
    }

    /// Runs a statement, and returns its rows as texts.
    pub fn run(&mut self, statement: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        match self {
            Database::Postgres(client) => {
                let messages = client
                    .simple_query(statement)
                    .map_err(|e| format!("{e:?}"))?;
                let rows = messages.into_iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => {
                        let cell = |place| row.get(place).map(str::to_owned);
                        Some((0..row.len()).map(cell).collect())
                    }
                    _ => None,
                });
                Ok(rows.collect())
            }
            Database::MariaDb(connection) => {
                let rows: Vec<::mysql::Row> =
                    connection.query(statement).map_err(|e| e.to_string())?;
                let cell = |value| ::mysql::from_value::<Option<String>>(value);
                let row = |row: ::mysql::Row| row.unwrap().into_iter().map(cell).collect();
                Ok(rows.into_iter().map(row).collect())
            }
        }
    }
}

/// An application with a member table, and photos that refer to it.
struct Members {
    address: String,
    database: Option<Database>,
}

impl Members {
    /// Runs a transaction until it succeeds: the server may be killed, or find a deadlock.
    fn all(&mut self, statements: &[String]) -> Vec<Vec<Option<String>>> {
        loop {
            let mut work = || {
                if self.database.is_none() {
                    self.database = Some(Database::open(&self.address)?);
                }
                let database = self.database.as_mut().unwrap();
                database.run("BEGIN")?;
                let mut last = Vec::new();
                for statement in statements {
                    last = database.run(statement)?;
                }
                database.run("COMMIT").map(|_| last)
            };
            match work() {
                Ok(rows) => return rows,
                Err(text) => {
                    assert!(!text.contains("syntax"), "{text}");
                    self.database = None;
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    }
}

impl Client for Members {
    fn put(&mut self, key: &str, value: u64) {
        let update = match self.address.contains("dbname=") {
            true => |id: &str| format!("ON CONFLICT ({id}) DO UPDATE SET value = EXCLUDED.value"),
            false => |_: &str| "ON DUPLICATE KEY UPDATE value = VALUES(value)".to_owned(),
        };
        self.all(&[
            format!("INSERT INTO members VALUES ('{key}', {value}) {}", update("member")),
            format!(
                "INSERT INTO photos VALUES ('{key}/1', '{key}', {value}), ('{key}/2', '{key}', {value}) {}",
                update("id")
            ),
        ]);
    }

    fn delete(&mut self, key: &str) {
        self.all(&[format!("DELETE FROM members WHERE member = '{key}'")]);
    }

    fn get(&mut self, key: &str) -> Vec<u64> {
        let select = |table| format!("SELECT value FROM {table} WHERE member = '{key}'");
        let value = |row: &Vec<Option<String>>| row[0].as_ref().unwrap().parse().unwrap();
        let members: Vec<u64> = self.all(&[select("members")]).iter().map(value).collect();
        let photos: Vec<u64> = self.all(&[select("photos")]).iter().map(value).collect();
        match (&members[..], &photos[..]) {
            ([], []) => vec![],
            ([one], [two, three]) if one == two && two == three => vec![*one],
            _ => [members, photos].concat(),
        }
    }
}

fn client(address: &str) -> Box<dyn Client> {
    Box::new(Members {
        address: address.into(),
        database: None,
    })
}

/// Makes the tables. The collation is one that takes texts for equal which differ in their case.
fn make_tables(server: &Server) {
    let mut database = Database::open(&server.address).unwrap();
    let refer = "REFERENCES members (member) ON DELETE CASCADE";
    database
        .run("CREATE TABLE members (member varchar(100) PRIMARY KEY, value bigint)")
        .unwrap();
    database
        .run(&format!(
            "CREATE TABLE photos (id varchar(100) PRIMARY KEY, member varchar(100) {refer}, value bigint)"
        ))
        .unwrap();
    database
        .run("CREATE INDEX photos_member ON photos (member)")
        .unwrap();
}

fn two(list: Vec<Server>) -> (Server, Server) {
    list.iter().for_each(make_tables);
    let mut list = list.into_iter();
    (list.next().unwrap(), list.next().unwrap())
}

fn whole_trial(name: &str, servers: Option<Vec<Server>>) {
    let Some(servers) = servers else { return };
    let (mut from, to) = two(servers);
    let control = trial::control(&client, &from.address, &to.address);
    assert!(
        control.came_back > 0 && control.overtaken > 0,
        "{control:?}"
    );
    for server in [&from, &to] {
        Database::open(&server.address)
            .unwrap()
            .run("DELETE FROM members")
            .unwrap();
    }
    let count = trial::run(name, &client, &mut from, &to, 15, true);
    assert_eq!(count.kills, 15);
    assert!(count.deletes > 100 && count.writes > 100);
    assert_eq!(count.wrong(), 0, "{count:?}");
    assert!(trial::remove_all(name, &from.address, &to.address) > 0);
    a_key_whose_rows_differ_is_made_alike(name, &from, &to);
    rows_of_other_keys_hold_a_key(name, &from, &to);
    a_table_that_changes_ends_the_run(name, &from, &to);
    if name == "mariadb" {
        a_number_has_no_zeros_before_it(&from);
    }
    what_cannot_be_carried_is_refused(name, &from, &to);
}

#[test]
fn nothing_is_lost_or_comes_back_in_postgresql() {
    whole_trial("postgres", servers::postgres(2));
}

#[test]
fn nothing_is_lost_or_comes_back_in_mariadb() {
    whole_trial("mariadb", servers::mariadb(2));
}

#[test]
fn rows_of_which_none_has_a_key_are_not_overlooked() {
    for (name, servers) in [
        ("postgres", servers::postgres(2)),
        ("mariadb", servers::mariadb(2)),
    ] {
        let Some(servers) = servers else { continue };
        let (from, to) = two(servers);
        let (source, target) = (node(0, &from.address), node(1, &to.address));
        let kind = kind(name);
        let nodes = [&source, &target];
        kind.ready(&nodes).unwrap();
        assert_eq!(
            kind.overlooked(&nodes),
            Ok(None),
            "{name}: nothing is there"
        );
        let mut database = Database::open(&from.address).unwrap();
        database
            .run("INSERT INTO photos VALUES ('1', NULL, 7)")
            .unwrap();
        let line = kind.overlooked(&nodes).unwrap().unwrap();
        assert!(line.contains("n0 has rows whose member is NULL"), "{line}");
        client(&to.address).put("a", 1);
        assert_eq!(kind.overlooked(&nodes), Ok(None), "{name}: a row has a key");
    }
}

fn a_key_whose_rows_differ_is_made_alike(name: &str, from: &Server, to: &Server) {
    let (mut old, mut new) = (client(&from.address), client(&to.address));
    old.put("half", 7);
    new.put("half", 6);
    let mut database = Database::open(&to.address).unwrap();
    database
        .run("DELETE FROM photos WHERE id = 'half/1'")
        .unwrap();
    database
        .run("INSERT INTO photos VALUES ('half/3', 'half', 7)")
        .unwrap();
    let kind = kind(name);
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    kind.ready(&[&source, &target]).unwrap();
    let item = Item::of_key(*b"half");
    assert!(!kind.compare(&source, &target, &item).unwrap().equal);
    copy(&*kind, &source, &target, &[&item]).unwrap();
    assert!(kind.compare(&source, &target, &item).unwrap().equal);
    assert_eq!(new.get("half"), [7]);
    // a writer that holds a row is waited for, and not for ever
    let mut writer = Database::open(&from.address).unwrap();
    writer.run("BEGIN").unwrap();
    writer
        .run("UPDATE members SET value = 8 WHERE member = 'half'")
        .unwrap();
    let fault = copy(&*kind, &source, &target, &[&item]).unwrap_err();
    assert!(
        fault.passes && fault.line.to_lowercase().contains("lock"),
        "{fault:?}"
    );
    // the same value of a primary key, in the row of another member
    writer.run("ROLLBACK").unwrap();
    database
        .run("DELETE FROM members WHERE member = 'half'")
        .unwrap();
    new.put("other", 1);
    database
        .run("INSERT INTO photos VALUES ('half/1', 'other', 7)")
        .unwrap();
    let fault = copy(&*kind, &source, &target, &[&item]).unwrap_err();
    assert!(
        !fault.passes && fault.line.contains("another key"),
        "{fault:?}"
    );
    assert_eq!(new.get("half"), [] as [u64; 0]);
}

/// Members and their links: a link refers to a member, of another key or not.
fn linked(name: &str) -> Box<dyn Kind> {
    let named = |table: &str| Named {
        table: table.into(),
        key: "member".into(),
    };
    let tables = ["photos", "links", "members"].map(named).to_vec();
    match name {
        "postgres" => Box::new(Sql::<Postgres>::new(
            "{server}".into(),
            Login::default(),
            tables,
        )),
        _ => Box::new(Sql::<MariaDb>::new(
            "{server}".into(),
            Login::default(),
            tables,
        )),
    }
}

fn rows_of_other_keys_hold_a_key(name: &str, from: &Server, to: &Server) {
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    let run = |server: &Server, statement: &str| {
        let mut database = Database::open(&server.address).unwrap();
        database.run(statement).unwrap()
    };
    for action in ["CASCADE", "SET NULL", "NO ACTION"] {
        let refers = format!("varchar(100) REFERENCES members (member) ON DELETE {action}");
        for server in [from, to] {
            run(server, "DELETE FROM members");
            let columns = format!("id int PRIMARY KEY, other {refers}, member varchar(100)");
            run(server, &format!("CREATE TABLE links ({columns})"));
            run(server, "CREATE INDEX links_member ON links (member)");
        }
        client(&from.address).put("anna", 1);
        client(&from.address).put("bob", 1);
        run(
            from,
            "INSERT INTO links VALUES (1, 'anna', 'anna'), (2, 'anna', NULL), (3, 'anna', 'bob')",
        );
        let links = || run(from, "SELECT * FROM links ORDER BY id");
        let (anna, bob) = (Item::of_key(*b"anna"), Item::of_key(*b"bob"));
        let kind = linked(name);
        kind.ready(&[&source, &target]).unwrap();
        let mut ties = kind.ties(&source, &[&anna]).unwrap();
        ties.sort_by(|a, b| a.example.cmp(&b.example));
        assert_eq!(ties.len(), 2, "{ties:?}");
        assert!(
            ties[0].example.contains("id 2, whose member is NULL"),
            "{ties:?}"
        );
        assert!(
            ties[1].example.contains("id 3, whose member is \"bob\""),
            "{ties:?}"
        );
        assert_eq!(kind.ties(&source, &[&bob]).unwrap().len(), 1);
        let version = kind.version(&source, &anna).unwrap().unwrap();
        let before = links();
        for statement in [
            "DELETE FROM links WHERE id = 2",
            "UPDATE links SET member = 'anna' WHERE id = 3",
        ] {
            let fault = kind.remove(&source, &anna, &version).unwrap_err();
            assert!(
                fault.line.contains("nothing of this key was deleted"),
                "{fault:?}"
            );
            assert_eq!(kind.version(&source, &anna).unwrap().unwrap(), version);
            run(from, statement);
        }
        assert_eq!(before.len(), 3);
        // at the new place a row of bob refers to a member that the old place does not have
        client(&to.address).put("anna", 1);
        client(&to.address).put("gone", 1);
        run(to, "INSERT INTO links VALUES (7, 'gone', 'bob')");
        let gone = Item::of_key(*b"gone");
        let fault = copy(&*kind, &source, &target, &[&gone]).unwrap_err();
        assert!(
            fault.line.contains("id 7") && fault.line.contains("node n1"),
            "{fault:?}"
        );
        run(to, "DELETE FROM links");
        copy(&*kind, &source, &target, &[&gone, &anna]).unwrap();
        let version = kind.version(&source, &anna).unwrap().unwrap();
        assert!(kind.remove(&source, &anna, &version).unwrap());
        assert_eq!(links().len(), 0);
        assert_eq!(run(to, "SELECT * FROM links").len(), 2);
        [from, to].iter().for_each(|server| {
            run(server, "DROP TABLE links");
        });
    }
}

/// What a key is does not depend on how a column is shown.
fn a_number_has_no_zeros_before_it(from: &Server) {
    let mut database = Database::open(&from.address).unwrap();
    let make = "CREATE TABLE numbers (member int(10) unsigned zerofill PRIMARY KEY)";
    database.run(make).unwrap();
    database
        .run("INSERT INTO numbers VALUES (6), (41)")
        .unwrap();
    let named = Named {
        table: "numbers".into(),
        key: "member".into(),
    };
    let kind = Sql::<MariaDb>::new("{server}".into(), Login::default(), vec![named]);
    let node = node(0, &from.address);
    kind.ready(&[&node]).unwrap();
    let found = items(&kind, &node).unwrap();
    let keys: Vec<&[u8]> = found.iter().map(|item| &item.key[..]).collect();
    assert_eq!(keys, [&b"6"[..], b"41"]);
    assert!(kind.version(&node, &found[0]).unwrap().is_some());
    database.run("DROP TABLE numbers").unwrap();
}

fn a_table_that_changes_ends_the_run(name: &str, from: &Server, to: &Server) {
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    let run = |statement: &str| {
        for server in [from, to] {
            let mut database = Database::open(&server.address).unwrap();
            database.run(statement).unwrap();
        }
    };
    run("DELETE FROM members");
    client(&from.address).put("late", 1);
    let late = Item::of_key(*b"late");
    let looked = || {
        let kind = kind(name);
        kind.ready(&[&source, &target]).unwrap();
        kind
    };
    let kind = looked();
    assert_eq!(kind.halted(), None);
    let version = kind.version(&source, &late).unwrap().unwrap();
    let (copying, removing, before) = (looked(), looked(), kind.about());
    run("ALTER TABLE members ADD COLUMN born varchar(9)");
    run("UPDATE members SET born = '1999'");
    assert!(copy(&*copying, &source, &target, &[&late]).is_err());
    assert!(removing.remove(&source, &late, &version).is_err());
    assert!(kind.compare(&source, &target, &late).is_err());
    for kind in [&kind, &copying, &removing] {
        let line = kind.halted().unwrap();
        assert!(
            line.contains("\"born\" is there now and not before"),
            "{line}"
        );
    }
    // what it is about is another form of the same tables
    let kind = looked();
    assert!(before.parts.len() == 2 && kind.about().parts == before.parts);
    assert_ne!(kind.about().form, before.form);
    assert_eq!(kind.version(&target, &late), Ok(None));
    copy(&*kind, &source, &target, &[&late]).unwrap();
    assert!(kind.compare(&source, &target, &late).unwrap().equal);
    run("ALTER TABLE members DROP COLUMN born");
}

fn what_cannot_be_carried_is_refused(name: &str, from: &Server, to: &Server) {
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    let mut database = Database::open(&to.address).unwrap();
    let mut refused = |statement: &str, part: &str, undo: &str| {
        database.run(statement).unwrap();
        let fault = kind(name).ready(&[&source, &target]).unwrap_err();
        assert!(!fault.passes && fault.line.contains(part), "{fault:?}");
        database.run(undo).unwrap();
        kind(name).ready(&[&source, &target]).unwrap();
    };
    refused(
        "ALTER TABLE members ADD COLUMN born date",
        "the column \"born\" is there at node n1 and not at node n0",
        "ALTER TABLE members DROP COLUMN born",
    );
    refused(
        "CREATE TABLE friends (member varchar(100) PRIMARY KEY REFERENCES members (member))",
        "friends",
        "DROP TABLE friends",
    );
    refused(
        "ALTER TABLE photos RENAME TO pictures",
        "the table \"photos\" does not exist",
        "ALTER TABLE pictures RENAME TO photos",
    );
    let same = kind(name)
        .ready(&[&source, &node(1, &from.address)])
        .unwrap_err();
    assert!(same.line.contains("same database"), "{same:?}");
    assert!(items(&*kind(name), &source).is_err());
}

//! MariaDB. Cells travel as the values of the binary protocol, which are exact; as text, a FLOAT
//! would lose digits.

use std::time::Duration;

use ::mysql::prelude::Queryable;
use ::mysql::{Conn, DriverError, Error, OptsBuilder, Params, Value};

use crate::carry::kind::{told, Done, Fault};
use crate::carry::sql::address::{mariadb, mariadb_address};
use crate::carry::sql::database::{
    Column, Database, End, KeyType, Login, Named, Reference, Row, Stranger, Table, IDLE, KEYLESS,
    LOCK, PAGE, STRANGERS,
};
use crate::carry::sql::names::{hint, shown};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The errors of a user without a privilege on a table, or on a column.
const DENIED: [u16; 2] = [1142, 1143];

/// The error of a table that does not exist.
const NO_TABLE: u16 = 1146;

/// A connection.
pub struct MariaDb {
    connection: Conn,
    /// the database in which the tables are
    database: String,
}

impl MariaDb {
    fn run(&mut self, statement: &str) -> Done {
        self.connection.query_drop(statement).map_err(fault)
    }

    fn query(&mut self, text: &str, values: Vec<Value>) -> Done<Vec<Vec<Value>>> {
        let params = match values.is_empty() {
            true => Params::Empty,
            false => Params::Positional(values),
        };
        let rows: Vec<::mysql::Row> = self.connection.exec(text, params).map_err(fault)?;
        Ok(rows.into_iter().map(::mysql::Row::unwrap).collect())
    }

    /// Returns an answer that is all text.
    fn texts(&mut self, text: &str, values: Vec<Value>) -> Done<Vec<Vec<String>>> {
        let rows = self.query(text, values)?;
        let text = |value: Value| match value {
            Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::NULL => String::new(),
            Value::Int(number) => number.to_string(),
            Value::UInt(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        let rows = rows
            .into_iter()
            .map(|row| row.into_iter().map(text).collect());
        Ok(rows.collect())
    }

    /// Whether the user may run a statement. It is only prepared: that checks privileges, and
    /// touches no row.
    fn may(&mut self, statement: &str) -> Done<bool> {
        match self.connection.prep(statement) {
            Ok(statement) => self.connection.close(statement).map_err(fault)?,
            Err(Error::MySqlError(error)) if DENIED.contains(&error.code) => return Ok(false),
            Err(error) => return Err(fault(error)),
        }
        Ok(true)
    }

    /// Finds a table by the operator's name of it: returns its name, and its engine.
    fn found(&mut self, given: &str) -> Done<(String, String)> {
        let found = self.texts(
            "SELECT TABLE_NAME, ENGINE, TABLE_TYPE FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
            vec![Value::from(given.trim())],
        )?;
        if let Some([name, engine, kind]) = found.first().map(Vec::as_slice) {
            let what = match &kind[..] {
                "BASE TABLE" => return Ok((name.clone(), engine.clone())),
                "SYSTEM VERSIONED" => {
                    "has system versioning, and the history of its rows cannot be carried; use \
                     ALTER TABLE ... DROP SYSTEM VERSIONING, which deletes the history"
                }
                "VIEW" => "is a view; give the table whose rows it shows",
                _ => "is no table with rows; give such a table",
            };
            return Err(Fault::final_one(format_args!(
                "the table {} {what}",
                shown(given)
            )));
        }
        let names = self.texts(
            "SELECT TABLE_NAME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1",
            vec![],
        )?;
        let names = names.concat();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Err(Fault::final_one(format_args!(
            "the table {} does not exist{}",
            shown(given),
            hint(given, &names, "tables")
        )))
    }

    /// Returns the columns of a table, given its name without quotes.
    fn columns_of(&mut self, name: &str) -> Done<Vec<Column>> {
        let columns = self.texts(
            "SELECT COLUMN_NAME, COLUMN_TYPE, COALESCE(COLLATION_NAME, ''), \
             CONCAT_WS(' ', IS_NULLABLE, CHARACTER_SET_NAME, EXTRA, GENERATION_EXPRESSION), \
             COALESCE(GENERATION_EXPRESSION, '') \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
            vec![Value::from(name)],
        )?;
        let columns = columns.into_iter().map(|row| {
            let mut row = row.into_iter();
            let mut next = || row.next().unwrap_or_default();
            Column {
                name: next(),
                kind: next(),
                collation: next(),
                rest: next(),
                computed: !next().is_empty(),
            }
        });
        let mut columns: Vec<Column> = columns.collect();
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(columns)
    }

    /// Returns the name of a table of some database, quoted.
    fn name_in(&self, database: &str, table: &str) -> String {
        match database == self.database {
            true => quoted(table),
            false => format!("{}.{}", quoted(database), quoted(table)),
        }
    }
}

impl Database for MariaDb {
    type Cell = Value;

    const WORD: &'static str = "mariadb";

    fn open(connection: &str, login: &Login) -> Done<MariaDb> {
        let opts = mariadb(connection)?;
        let address = mariadb_address(&opts);
        let database = opts.get_db_name().unwrap_or_default().to_owned();
        let mut builder = OptsBuilder::from_opts(opts)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(Duration::from_secs(5)))
            .read_timeout(Some(PATIENCE))
            .write_timeout(Some(PATIENCE));
        if let Some(user) = &login.user {
            builder = builder.user(Some(user));
        }
        if let Some(password) = &login.password {
            builder = builder.pass(Some(password.reveal()));
        }
        let connection = Conn::new(builder)
            .map_err(|error| fault_of(&format!("MariaDB at {address}"), error))?;
        let mut mariadb = MariaDb {
            connection,
            database,
        };
        for statement in [
            "SET NAMES utf8mb4",
            // an id of 0 stays 0, dates that do not exist stay as they are, and nothing is cut off
            "SET SESSION sql_mode = \
             'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'",
            "SET SESSION time_zone = '+00:00'",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            &format!("SET SESSION innodb_lock_wait_timeout = {LOCK}"),
            // MySQL has no such setting, and takes this for a comment
            &format!("/*M! SET SESSION idle_transaction_timeout = {IDLE} */"),
        ] {
            mariadb.run(statement)?;
        }
        Ok(mariadb)
    }

    fn identity(&mut self) -> Done<String> {
        // no address is in it, since one server may be reached by a socket, by several addresses
        // and through a proxy. Not every server has all of these
        let found = self.texts(
            "SHOW VARIABLES WHERE Variable_name IN ('hostname', 'port', 'socket', 'datadir', \
             'server_uid', 'server_uuid', 'read_only')",
            vec![],
        )?;
        let (read_only, mut found): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|row| row[0] == "read_only");
        if read_only.iter().any(|row| row[1] != "OFF") {
            return Err(Fault::final_one(
                "this server is read-only; give the primary",
            ));
        }
        found.sort_unstable();
        Ok(format!("{}/{}", found.concat().join("/"), self.database))
    }

    fn user(&mut self) -> Done<String> {
        let user = self
            .texts("SELECT CURRENT_USER()", vec![])?
            .concat()
            .concat();
        let (name, host) = user.rsplit_once('@').unwrap_or((&user, "%"));
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        Ok(format!("{}@{}", text(name), text(host)))
    }

    fn sees_all(&mut self) -> Done {
        // A user without a privilege on the whole database gets another error for a table that does
        // not exist. Any privilege is enough; REFERENCES allows nothing but to see definitions
        let text = "SHOW CREATE TABLE `stead-sync: no table has this name`";
        match self.connection.query_drop(text) {
            Err(Error::MySqlError(error)) if DENIED.contains(&error.code) => {
                let user = self.user()?;
                Err(Fault::final_one(format_args!(
                    "the user {user} sees only the tables on which it has a privilege, so a table \
                     that refers to these by a foreign key could be overlooked; run GRANT \
                     REFERENCES ON {}.* TO {user}",
                    quoted(&self.database)
                )))
            }
            Err(Error::MySqlError(error)) if error.code == NO_TABLE => Ok(()),
            end => end.map_err(fault),
        }
    }

    fn table(&mut self, given: &str) -> Done<String> {
        self.found(given).map(|(name, _)| quoted(&name))
    }

    fn describe(&mut self, named: &Named) -> Done<Table> {
        let wrong = |what: &str| {
            let table = shown(&named.table);
            Err(Fault::final_one(format_args!("the table {table} {what}")))
        };
        let (name, engine) = self.found(&named.table)?;
        if engine != "InnoDB" {
            return wrong(
                "is not in InnoDB, so its rows cannot be locked; use ALTER TABLE ... ENGINE=InnoDB",
            );
        }
        let table = || Value::from(name.as_str());
        let columns = self.columns_of(&name)?;
        let indexes = self.texts(
            "SELECT INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX",
            vec![table()],
        )?;
        let id = indexes.iter().filter(|row| row[0] == "PRIMARY");
        let id: Vec<String> = id.map(|row| row[2].clone()).collect();
        let given = named.key.trim().to_lowercase();
        let reads = |name: &str| name.to_lowercase() == given;
        let name = quoted(&name);
        let table = Table::new("MariaDB", named, name, columns, &id, reads, key_type)?;
        let key = &table.columns[table.key].name;
        let first = |row: &Vec<String>| row[1] == "1" && row[2].eq_ignore_ascii_case(key);
        match indexes.iter().any(first) {
            true => Ok(table),
            false => wrong(&format!(
                "has no index that begins with {key:?}, so each key would cost a pass over the \
                 table; create one"
            )),
        }
    }

    fn lacking(&mut self, table: &Table) -> Done<Vec<&'static str>> {
        let name = &table.name;
        let names = table.columns.iter().map(|column| quoted(&column.name));
        let names: Vec<String> = names.collect();
        let marks = vec!["?"; names.len()].join(", ");
        let all = names.join(", ");
        let mut lacking = Vec::new();
        for (privilege, statement) in [
            ("SELECT", format!("SELECT {all} FROM {name} WHERE FALSE")),
            (
                "INSERT",
                format!("INSERT INTO {name} ({all}) VALUES ({marks})"),
            ),
            (
                "UPDATE",
                format!("UPDATE {name} SET {} = ? WHERE FALSE", names.join(" = ?, ")),
            ),
            ("DELETE", format!("DELETE FROM {name} WHERE FALSE")),
        ] {
            if !self.may(&statement)? {
                lacking.push(privilege);
            }
        }
        Ok(lacking)
    }

    fn name_to_grant(&self, table: &Table) -> String {
        format!("{}.{}", quoted(&self.database), table.name)
    }

    fn columns(&mut self, table: &Table) -> Done<Vec<Column>> {
        let name = table.name.trim_matches('`').replace("``", "`");
        self.columns_of(&name)
    }

    fn references(&mut self) -> Done<Vec<Reference>> {
        let rows = self.texts(
            "SELECT TABLE_SCHEMA, TABLE_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, \
             CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_COLUMN_NAME \
             FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL \
             AND (TABLE_SCHEMA = DATABASE() OR REFERENCED_TABLE_SCHEMA = DATABASE()) \
             ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
            vec![],
        )?;
        let mut references: Vec<Reference> = Vec::new();
        let mut last = None;
        for row in &rows {
            let of = (&row[0], &row[1], &row[4]);
            if last != Some(of) {
                references.push(Reference {
                    child: self.name_in(&row[0], &row[1]),
                    parent: self.name_in(&row[2], &row[3]),
                    columns: Vec::new(),
                    deferrable: false,
                });
            }
            last = Some(of);
            if let Some(reference) = references.last_mut() {
                reference.columns.push((row[5].clone(), row[6].clone()));
            }
        }
        references.sort_by(|a, b| (&a.child, &a.parent).cmp(&(&b.child, &b.parent)));
        Ok(references)
    }

    fn triggers(&mut self, table: &Table) -> Done<Vec<String>> {
        let name = table.name.trim_matches('`').replace("``", "`");
        let names = self.texts(
            "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS \
             WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = ? ORDER BY 1",
            vec![Value::from(name)],
        )?;
        Ok(names.concat())
    }

    fn strangers(
        &mut self,
        reference: &Reference,
        (child, parent): (&Table, &Table),
        from: End,
        keys: &[&[u8]],
    ) -> Done<Vec<Stranger>> {
        let (mine, its) = (exact_in("c.", child), exact_in("p.", parent));
        let (start, alias, exact, other) = match from {
            End::Parent => (
                parent,
                "p.",
                &its,
                format!("{} IS NULL", key_in("c.", child)),
            ),
            End::Child => (child, "c.", &mine, "FALSE".to_owned()),
        };
        let keys = keys.iter().map(|key| bound(start, key));
        let keys: Vec<Value> = keys.collect::<Done<_>>()?;
        let marks = vec!["?"; keys.len()].join(", ");
        let joined = reference
            .columns
            .iter()
            .map(|(column, to)| format!("c.{} = p.{}", quoted(column), quoted(to)));
        let id = child
            .id
            .iter()
            .map(|&place| format!("CAST(c.{} AS CHAR)", quoted(&child.columns[place].name)));
        let text = format!(
            "SELECT CONCAT_WS(', ', {}), {mine}, {its} FROM {} c JOIN {} p ON {} \
             WHERE {} IN ({marks}) AND {exact} IN ({marks}) AND ({other} OR {mine} <> {its}) \
             LIMIT {STRANGERS}",
            id.collect::<Vec<_>>().join(", "),
            child.name,
            parent.name,
            joined.collect::<Vec<_>>().join(" AND "),
            key_in(alias, start),
        );
        let rows = self.query(&text, [keys.clone(), keys].concat())?;
        let bytes = |value: &Value| match value {
            Value::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        let stranger = |row: Vec<Value>| Stranger {
            id: told(&bytes(&row[0]).unwrap_or_default()),
            key: bytes(&row[1]),
            other: bytes(&row[2]).unwrap_or_default(),
        };
        Ok(rows.into_iter().map(stranger).collect())
    }

    fn with_column(&mut self, column: &str) -> Done<Vec<String>> {
        let names = self.texts(
            "SELECT DISTINCT c.TABLE_NAME FROM information_schema.COLUMNS c \
             JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME) \
             WHERE TABLE_SCHEMA = DATABASE() AND c.COLUMN_NAME = ? AND t.TABLE_TYPE = 'BASE TABLE'",
            vec![Value::from(column)],
        )?;
        Ok(names.concat().iter().map(|name| quoted(name)).collect())
    }

    fn page(&mut self, tables: &[Table], after: Option<&[u8]>) -> Done<Vec<Vec<u8>>> {
        let after = after.map(|key| bound(&tables[0], key)).transpose()?;
        let key = |table: &Table| quoted(&table.columns[table.key].name);
        let begin = |table: &Table, values: &mut Vec<Value>| match &after {
            None => format!("{} IS NOT NULL", key(table)),
            Some(after) => {
                values.extend([after.clone(), after.clone(), after.clone()]);
                let (key, exact) = (key(table), exact(table));
                format!("{key} >= ? AND ({key} > ? OR {exact} > ?)")
            }
        };
        let mut values = Vec::new();
        let bounds = tables.iter().map(|table| {
            let begin = begin(table, &mut values);
            let (key, name) = (key(table), &table.name);
            format!("(SELECT {key} AS k FROM {name} WHERE {begin} ORDER BY {key} LIMIT 1 OFFSET {PAGE})")
        });
        let bounds = bounds.collect::<Vec<_>>().join(" UNION ALL ");
        let end = self.query(
            &format!("SELECT k FROM ({bounds}) u ORDER BY k LIMIT 1"),
            values,
        )?;
        let end = end.concat().pop();
        // keys that the collation takes for equal are told from each other by their bytes
        let mut values = Vec::new();
        let pages = tables.iter().map(|table| {
            let mut condition = begin(table, &mut values);
            if let Some(end) = &end {
                values.push(end.clone());
                condition += &format!(" AND {} <= ?", key(table));
            }
            let (key, exact, name) = (key(table), exact(table), &table.name);
            format!("SELECT DISTINCT {exact} AS t, {key} AS k FROM {name} WHERE {condition}")
        });
        let pages = pages.collect::<Vec<_>>().join(" UNION ALL ");
        let text = format!("SELECT t, k FROM ({pages}) u ORDER BY k, t");
        let rows = self.query(&text, values)?;
        let mut keys = Vec::new();
        for row in rows {
            let key = key_of(&tables[0], &row[0])?;
            if keys.last() != Some(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    fn keyless(&mut self, table: &Table) -> Done<u64> {
        let (name, key) = (&table.name, quoted(&table.columns[table.key].name));
        let rows = format!("SELECT 1 FROM {name} WHERE {key} IS NULL LIMIT {KEYLESS}");
        let text = format!("SELECT COUNT(*) FROM ({rows}) u");
        let count = self.texts(&text, vec![])?.concat().concat();
        Ok(count.parse().unwrap_or_default())
    }

    fn mark(&mut self, table: &Table) -> Done<Option<String>> {
        let text = format!("SELECT 1 FROM {} LIMIT 1", table.name);
        let is_empty = self.texts(&text, vec![])?.is_empty();
        Ok((!is_empty).then(String::new))
    }

    fn begin(&mut self) -> Done {
        self.run("START TRANSACTION")
    }

    fn rows(&mut self, table: &Table, keys: &[&[u8]], lock: bool) -> Done<Vec<Row<Value>>> {
        let keys = keys.iter().map(|key| bound(table, key));
        let keys: Vec<Value> = keys.collect::<Done<_>>()?;
        let marks = vec!["?"; keys.len()].join(", ");
        let names = table.columns.iter().map(|column| quoted(&column.name));
        let text = format!(
            "SELECT {} FROM {} WHERE {} IN ({marks}) AND {} IN ({marks}){}",
            names.collect::<Vec<_>>().join(", "),
            table.name,
            quoted(&table.columns[table.key].name),
            exact(table),
            if lock { " FOR UPDATE" } else { "" }
        );
        let found = self.query(&text, [keys.clone(), keys].concat())?;
        let rows = found.into_iter().map(|cells| {
            let key = key_of(table, &cells[table.key])?;
            Ok(Row::new(table, key, cells, write))
        });
        rows.collect()
    }

    fn delete(&mut self, table: &Table, rows: &[&Row<Value>]) -> Done {
        let names = table
            .id
            .iter()
            .map(|&place| format!("{} = ?", quoted(&table.columns[place].name)));
        let names: Vec<String> = names.collect();
        let text = format!("DELETE FROM {} WHERE {}", table.name, names.join(" AND "));
        for row in rows {
            let id = table.id.iter().map(|&place| row.cells[place].clone());
            self.query(&text, id.collect())?;
        }
        Ok(())
    }

    fn insert(&mut self, table: &Table, rows: &[&Row<Value>], replace: bool) -> Done {
        let name = |place: usize| quoted(&table.columns[place].name);
        let places = 0..table.columns.len();
        let names: Vec<String> = places.clone().map(name).collect();
        let others = places.filter(|place| replace && !table.id.contains(place));
        let mut others: Vec<String> = others
            .map(|p| format!("{0} = VALUES({0})", name(p)))
            .collect();
        if others.is_empty() {
            // changes nothing. INSERT IGNORE would also hide values that do not fit
            others.push(format!("{0} = {0}", name(table.id[0])));
        }
        let text = format!(
            "INSERT INTO {} ({}) VALUES ({}) ON DUPLICATE KEY UPDATE {}",
            table.name,
            names.join(", "),
            vec!["?"; names.len()].join(", "),
            others.join(", ")
        );
        for row in rows {
            self.query(&text, row.cells.clone())?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Done {
        self.run("COMMIT")
    }

    fn holds(&mut self) -> Done {
        self.run("SELECT 1")
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn key_type(column: &Column) -> Option<KeyType> {
    match column.kind.split(['(', ' ']).next()? {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Some(KeyType::Integer),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "uuid" => {
            Some(KeyType::Text)
        }
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            Some(KeyType::Bytes)
        }
        _ => None,
    }
}

/// Returns the SQL for the bytes of a key: most collations take different texts for equal.
fn exact(table: &Table) -> String {
    exact_in("", table)
}

/// The same, of a table with an alias.
fn exact_in(alias: &str, table: &Table) -> String {
    let key = key_in(alias, table);
    match table.key_type {
        // the sum of a ZEROFILL column has no zeros before it
        KeyType::Integer => format!("CAST({key} + 0 AS CHAR)"),
        KeyType::Text => format!("CAST(CONVERT({key} USING utf8mb4) AS BINARY)"),
        KeyType::Bytes => format!("CAST({key} AS BINARY)"),
    }
}

/// Returns the key column of a table with an alias.
fn key_in(alias: &str, table: &Table) -> String {
    format!("{alias}{}", quoted(&table.columns[table.key].name))
}

/// Returns a key as a value: as a text, an integer would be compared in floating point.
fn bound(table: &Table, key: &[u8]) -> Done<Value> {
    if table.key_type != KeyType::Integer {
        return Ok(Value::Bytes(key.to_vec()));
    }
    let text = std::str::from_utf8(key).unwrap_or_default();
    let signed = text.parse().map(Value::Int).ok();
    let value = signed.or_else(|| text.parse().map(Value::UInt).ok());
    value.ok_or_else(|| {
        let name = &table.name;
        Fault::final_one(format_args!("{name}: the key {} is no integer", told(key)))
    })
}

fn key_of(table: &Table, value: &Value) -> Done<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Ok(bytes.clone()),
        Value::Int(number) => Ok(number.to_string().into_bytes()),
        Value::UInt(number) => Ok(number.to_string().into_bytes()),
        _ => Err(Fault::final_one(format_args!(
            "{}: a key is NULL",
            table.name
        ))),
    }
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::NULL => bytes.push(0),
        Value::Bytes(found) => {
            bytes.push(1);
            bytes.extend_from_slice(found);
        }
        Value::Int(number) => {
            bytes.push(2);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Value::UInt(number) => {
            bytes.push(3);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Value::Float(number) => {
            bytes.push(4);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Value::Double(number) => {
            bytes.push(5);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        moment => {
            bytes.push(6);
            bytes.extend_from_slice(format!("{moment:?}").as_bytes());
        }
    }
}

fn fault(error: Error) -> Fault {
    fault_of("MariaDB", error)
}

/// Says what is wrong, and where: `place` begins the line.
fn fault_of(place: &str, error: Error) -> Fault {
    if error.to_string().contains("max_allowed_packet") {
        return Fault::final_one(format_args!(
            "{place}: a row is larger than max_allowed_packet of this server; raise it there: SET \
             GLOBAL max_allowed_packet = BYTES, and in its configuration"
        ));
    }
    let passes = match &error {
        Error::IoError(_) | Error::CodecError(_) => true,
        // a lock, a deadlock, too many connections, shutting down, an ended session
        Error::MySqlError(error) => matches!(
            error.code,
            1205 | 1213 | 1020 | 1040 | 1053 | 1129 | 1317 | 1927 | 1969 | 4031
        ),
        Error::DriverError(error) => {
            let text = error.to_string();
            text.contains("connect") || text.contains("timeout")
        }
        _ => false,
    };
    let why = match &error {
        Error::MySqlError(error) => format!("{} ({})", error.message, error.code),
        // the address is in `place`
        Error::DriverError(DriverError::CouldNotConnect(Some((_, why, _)))) => why.clone(),
        Error::IoError(error) => error.to_string(),
        Error::DriverError(error) => error.to_string(),
        error => error.to_string(),
    };
    Fault::new(format_args!("{place}: {why}"), passes)
}

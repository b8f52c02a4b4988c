//! MariaDB. Cells travel as the values of the binary protocol, which are exact; as text, a FLOAT
//! would lose digits.

use std::time::Duration;

use ::mysql::prelude::Queryable;
use ::mysql::{Conn, Error, Opts, OptsBuilder, Params, Value};

use crate::carry::kind::{told, Done, Fault};
use crate::carry::sql::database::{
    Column, Database, KeyType, Login, Named, Row, Table, IDLE, LOCK, PAGE,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection.
pub struct MariaDb {
    connection: Conn,
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
}

impl Database for MariaDb {
    type Cell = Value;

    fn open(connection: &str, login: &Login) -> Done<MariaDb> {
        let opts = Opts::from_url(connection).map_err(|_| {
            Fault::final_one(
                "the connection string is none; write mysql://HOST:PORT/DATABASE, or \
                 mysql://localhost/DATABASE?socket=PATH",
            )
        })?;
        if opts.get_db_name().is_none_or(str::is_empty) {
            return Err(Fault::final_one(
                "the connection string names no database; write mysql://HOST:PORT/DATABASE",
            ));
        }
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
        let connection = Conn::new(builder).map_err(fault)?;
        let mut mariadb = MariaDb { connection };
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
        let found = self.texts(
            "SELECT @@hostname, @@port, @@socket, @@datadir, DATABASE(), @@read_only",
            vec![],
        )?;
        let mut found = found.concat();
        if found.pop().is_some_and(|read_only| read_only != "0") {
            return Err(Fault::final_one(
                "this server is read-only; give the primary",
            ));
        }
        Ok(found.join("/"))
    }

    fn describe(&mut self, named: &Named) -> Done<Table> {
        let wrong = |what: &str| {
            let table = &named.table;
            Err(Fault::final_one(format_args!("the table {table} {what}")))
        };
        let table = || Value::from(named.table.as_str());
        let found = self.texts(
            "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
             AND TABLE_NAME = ? AND TABLE_TYPE = 'BASE TABLE'",
            vec![table()],
        )?;
        match found.concat().first().map(String::as_str) {
            Some("InnoDB") => (),
            Some(_) => return wrong(
                "is not in InnoDB, so its rows cannot be locked; use ALTER TABLE ... ENGINE=InnoDB",
            ),
            None => return wrong("does not exist, or the user may not see it; create it"),
        }
        let columns = self.texts(
            "SELECT COLUMN_NAME, COLUMN_TYPE, COALESCE(COLLATION_NAME, ''), \
             CONCAT_WS(' ', IS_NULLABLE, CHARACTER_SET_NAME, EXTRA, GENERATION_EXPRESSION), COALESCE(GENERATION_EXPRESSION, '') \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
            vec![table()],
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
        let indexes = self.texts(
            "SELECT INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX",
            vec![table()],
        )?;
        let id = indexes.iter().filter(|row| row[0] == "PRIMARY");
        let id: Vec<String> = id.map(|row| row[2].clone()).collect();
        let name = quoted(&named.table);
        let columns = columns.collect();
        let table = Table::new("MariaDB", named, name, columns, &id, key_type)?;
        let first = |row: &Vec<String>| row[1] == "1" && row[2].eq_ignore_ascii_case(&named.key);
        match indexes.iter().any(first) {
            true => Ok(table),
            false => wrong(&format!(
                "has no index that begins with {}, so each key would cost a pass over the table; \
                 create one",
                named.key
            )),
        }
    }

    fn referring(&mut self, table: &Table) -> Done<Vec<String>> {
        let names = self.texts(
            "SELECT DISTINCT TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE \
             WHERE REFERENCED_TABLE_SCHEMA = DATABASE() \
             AND CONCAT('`', REPLACE(REFERENCED_TABLE_NAME, '`', '``'), '`') = ?",
            vec![Value::from(table.name.as_str())],
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

    fn has_keyless(&mut self, table: &Table) -> Done<bool> {
        let (name, key) = (&table.name, quoted(&table.columns[table.key].name));
        let text = format!("SELECT 'yes' FROM {name} WHERE {key} IS NULL LIMIT 1");
        Ok(!self.query(&text, vec![])?.is_empty())
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
    let key = quoted(&table.columns[table.key].name);
    match table.key_type {
        KeyType::Integer => format!("CAST({key} AS CHAR)"),
        KeyType::Text => format!("CAST(CONVERT({key} USING utf8mb4) AS BINARY)"),
        KeyType::Bytes => format!("CAST({key} AS BINARY)"),
    }
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
        error => error.to_string(),
    };
    Fault {
        line: format!("MariaDB: {why}"),
        passes,
    }
}

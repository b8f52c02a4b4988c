//! PostgreSQL. Cells travel as text, in the form in which pg_dump writes them: this form is exact,
//! and does not depend on the numbers that each server gives to its own types.

use std::collections::HashMap;

use ::postgres::error::SqlState;
use ::postgres::types::ToSql;
use ::postgres::{Client, Config, Error, NoTls, Statement};

use crate::carry::kind::{Done, Fault};
use crate::carry::sql::database::{
    Column, Database, KeyType, Login, Named, Row, Table, IDLE, LOCK, PAGE,
};

/// A connection.
pub struct Postgres {
    client: Client,
    statements: HashMap<String, Statement>,
}

type Cell = Option<String>;

impl Postgres {
    fn run(&mut self, statement: &str) -> Done {
        self.client.batch_execute(statement).map_err(fault)
    }

    fn query(&mut self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Done<Vec<::postgres::Row>> {
        let statement = match self.statements.get(text) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.client.prepare(text).map_err(fault)?;
                self.statements.insert(text.to_owned(), statement.clone());
                statement
            }
        };
        self.client.query(&statement, values).map_err(fault)
    }

    /// Returns the first column of an answer, as texts.
    fn texts(&mut self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Done<Vec<String>> {
        let rows = self.query(text, values)?;
        rows.iter()
            .map(|row| row.try_get(0).map_err(fault))
            .collect()
    }
}

impl Database for Postgres {
    type Cell = Cell;

    fn open(connection: &str, login: &Login) -> Done<Postgres> {
        let mut config: Config = connection.parse().map_err(|_| {
            Fault::final_one(
                "the connection string is none; write host=... port=... dbname=..., or \
                 postgresql://HOST:PORT/DATABASE",
            )
        })?;
        if let Some(user) = &login.user {
            config.user(user);
        }
        if let Some(password) = &login.password {
            config.password(password.reveal());
        }
        config.application_name("stead-sync");
        config.connect_timeout(std::time::Duration::from_secs(5));
        let client = config.connect(NoTls).map_err(fault)?;
        let mut postgres = Postgres {
            client,
            statements: HashMap::new(),
        };
        // with row security, rows would be left out in silence; so it is an error
        postgres.run(&format!(
            "SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET timezone = 'UTC';
             SET extra_float_digits = 3; SET bytea_output = 'hex'; SET lc_monetary = 'C';
             SET xmloption = 'content'; SET row_security = off;
             SET standard_conforming_strings = on; SET synchronous_commit = on;
             SET default_transaction_isolation = 'read committed';
             SET lock_timeout = '{LOCK}s'; SET idle_in_transaction_session_timeout = '{IDLE}s'"
        ))?;
        Ok(postgres)
    }

    fn identity(&mut self) -> Done<String> {
        // a standby has the identifier of its primary, and is refused for another reason
        let found = self.texts(
            "SELECT concat_ws('/', coalesce(inet_server_addr()::text, ''), \
             current_setting('port'), current_setting('unix_socket_directories'), \
             pg_postmaster_start_time(), current_database())",
            &[],
        )?;
        if self.texts("SELECT pg_is_in_recovery()::text", &[])? == ["true"] {
            return Err(Fault::final_one(
                "this is a standby, to which nothing can be written; give the primary",
            ));
        }
        Ok(found.concat())
    }

    fn describe(&mut self, named: &Named) -> Done<Table> {
        let wrong = |what: &str| {
            Err(Fault::final_one(format_args!(
                "the table {} {what}",
                named.table
            )))
        };
        let table: &(dyn ToSql + Sync) = &named.table;
        let found = self.query(
            "SELECT format('%I.%I', n.nspname, c.relname), c.relkind::text \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.oid = to_regclass($1::text)",
            &[table],
        )?;
        let Some(found) = found.first() else {
            return wrong("does not exist, or the user may not see it; create it");
        };
        let (name, kind): (String, String) = (found.get(0), found.get(1));
        if !matches!(kind.as_str(), "r" | "p") {
            return wrong("is no table, but a view or the like; give the table");
        }
        let name_of: &(dyn ToSql + Sync) = &name;
        let columns = self.query(
            "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), \
               coalesce(co.collname::text, ''), \
               concat_ws(' ', a.attnotnull::text, a.attgenerated::text, a.attidentity::text, \
                 CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END), \
               a.attgenerated::text <> '' \
             FROM pg_attribute a LEFT JOIN pg_collation co ON co.oid = a.attcollation \
             LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped",
            &[name_of],
        )?;
        let columns = columns.iter().map(|row| Column {
            name: row.get(0),
            kind: row.get(1),
            collation: row.get(2),
            rest: row.get(3),
            computed: row.get(4),
        });
        let columns = columns.collect();
        let id = self.texts(
            "SELECT a.attname::text FROM pg_index i \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
             WHERE i.indrelid = $1::text::regclass AND i.indisprimary \
             ORDER BY array_position(i.indkey::int2[], a.attnum)",
            &[name_of],
        )?;
        let key: &(dyn ToSql + Sync) = &named.key;
        let indexed = self.texts(
            "SELECT 'yes' FROM pg_index i \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
             WHERE i.indrelid = $1::text::regclass AND i.indpred IS NULL AND a.attname = $2::text",
            &[name_of, key],
        )?;
        let table = Table::new("PostgreSQL", named, name.clone(), columns, &id, key_type)?;
        match indexed.is_empty() {
            false => Ok(table),
            true => wrong(&format!(
                "has no index that begins with {}, so each key would cost a pass over the table; \
                 create one",
                named.key
            )),
        }
    }

    fn referring(&mut self, table: &Table) -> Done<Vec<String>> {
        self.texts(
            "SELECT DISTINCT format('%I.%I', n.nspname, c.relname) FROM pg_constraint f \
             JOIN pg_class c ON c.oid = f.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE f.contype = 'f' AND f.confrelid = $1::text::regclass",
            &[&table.name],
        )
    }

    fn page(&mut self, tables: &[Table], after: Option<&[u8]>) -> Done<Vec<Vec<u8>>> {
        let after = after.map(|key| written(&tables[0], key)).transpose()?;
        // keys that the collation takes for equal are told from each other by their bytes
        let parts = |make: &dyn Fn(&str, &str, &str) -> String, glue: &str| {
            let parts = tables.iter().map(|table| {
                let key = quoted(&table.columns[table.key].name);
                make(&table.name, &key, &table.columns[table.key].kind)
            });
            parts.collect::<Vec<_>>().join(glue)
        };
        let begin = |key: &str, kind: &str| {
            match &after {
            Some(_) => format!("{key} >= $1::text::{kind} AND ({key} > $1::text::{kind} OR {key}::text COLLATE \"C\" > $1::text)"),
            None => format!("{key} IS NOT NULL AND $1::text IS NULL"),
        }
        };
        let bound = parts(
            &|name, key, kind| {
                format!(
                    "(SELECT {key} AS k FROM {name} WHERE {} ORDER BY {key} OFFSET {PAGE} LIMIT 1)",
                    begin(key, kind)
                )
            },
            " UNION ALL ",
        );
        let bound = format!("SELECT k::text FROM ({bound}) u ORDER BY k LIMIT 1");
        let bound = self.texts(&bound, &[&after])?.pop();
        let page = parts(
            &|name, key, kind| {
                let end = match &bound {
                    Some(_) => format!("{key} <= $2::text::{kind}"),
                    None => "$2::text IS NULL".to_owned(),
                };
                format!(
                    "SELECT {key} AS k, {key}::text COLLATE \"C\" AS t FROM {name} WHERE {} AND {end}",
                    begin(key, kind)
                )
            },
            " UNION ",
        );
        let page = format!("SELECT t FROM (SELECT DISTINCT k, t FROM ({page}) u ORDER BY k, t) v");
        let texts = self.texts(&page, &[&after, &bound])?;
        texts
            .into_iter()
            .map(|text| key_of(&tables[0], &text))
            .collect()
    }

    fn has_keyless(&mut self, table: &Table) -> Done<bool> {
        let (name, key) = (&table.name, quoted(&table.columns[table.key].name));
        let text = format!("SELECT 'yes' FROM {name} WHERE {key} IS NULL LIMIT 1");
        Ok(!self.texts(&text, &[])?.is_empty())
    }

    fn begin(&mut self) -> Done {
        self.run("BEGIN")
    }

    fn rows(&mut self, table: &Table, keys: &[&[u8]], lock: bool) -> Done<Vec<Row<Cell>>> {
        let keys = keys.iter().map(|key| written(table, key));
        let keys: Vec<String> = keys.collect::<Done<_>>()?;
        let cells = table
            .columns
            .iter()
            .map(|c| format!("{}::text", quoted(&c.name)));
        let cells: Vec<String> = cells.collect();
        let column = &table.columns[table.key];
        let key = quoted(&column.name);
        let text = format!(
            "SELECT {} FROM {} WHERE {key} = ANY($1::text[]::{}[]) \
             AND {key}::text COLLATE \"C\" = ANY($1::text[]){}",
            cells.join(", "),
            table.name,
            column.kind,
            if lock { " FOR UPDATE" } else { "" }
        );
        let found = self.query(&text, &[&keys])?;
        let rows = found.iter().map(|row| {
            let cell = |place| row.try_get::<_, Cell>(place).map_err(fault);
            let cells: Vec<Cell> = (0..table.columns.len()).map(cell).collect::<Done<_>>()?;
            let key = key_of(table, cells[table.key].as_deref().unwrap_or_default())?;
            Ok(Row::new(table, key, cells, |cell, bytes| match cell {
                None => bytes.push(0),
                Some(text) => {
                    bytes.push(1);
                    bytes.extend_from_slice(text.as_bytes());
                }
            }))
        });
        rows.collect()
    }

    fn delete(&mut self, table: &Table, rows: &[&Row<Cell>]) -> Done {
        let (lists, casts) = lists(table, &table.id, rows);
        let names: Vec<_> = table
            .id
            .iter()
            .map(|&place| quoted(&table.columns[place].name))
            .collect();
        let text = format!(
            "DELETE FROM {} WHERE ({}) IN (SELECT {casts})",
            table.name,
            names.join(", ")
        );
        let values: Vec<&(dyn ToSql + Sync)> = lists.iter().map(|list| list as _).collect();
        self.query(&text, &values).map(|_| ())
    }

    fn insert(&mut self, table: &Table, rows: &[&Row<Cell>], replace: bool) -> Done {
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let (lists, casts) = lists(table, &all, rows);
        let name = |place: usize| quoted(&table.columns[place].name);
        let names: Vec<String> = all.iter().map(|&place| name(place)).collect();
        let id: Vec<String> = table.id.iter().map(|&place| name(place)).collect();
        let others = all.iter().filter(|place| !table.id.contains(place));
        let others = others.map(|&place| format!("{0} = EXCLUDED.{0}", name(place)));
        let others: Vec<String> = others.collect();
        let conflict = match replace && !others.is_empty() {
            true => format!("UPDATE SET {}", others.join(", ")),
            false => "NOTHING".to_owned(),
        };
        let text = format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {casts} ON CONFLICT ({}) DO {conflict}",
            table.name,
            names.join(", "),
            id.join(", ")
        );
        let values: Vec<&(dyn ToSql + Sync)> = lists.iter().map(|list| list as _).collect();
        self.query(&text, &values).map(|_| ())
    }

    fn commit(&mut self) -> Done {
        self.run("COMMIT")
    }

    fn holds(&mut self) -> Done {
        // COMMIT of a transaction that was broken off is no error, but this is
        self.run("SELECT 1")
    }
}

/// Returns some columns of rows as lists of texts, and the SQL that makes rows of these lists.
fn lists(table: &Table, places: &[usize], rows: &[&Row<Cell>]) -> (Vec<Vec<Cell>>, String) {
    let list = |&place: &usize| rows.iter().map(|row| row.cells[place].clone()).collect();
    let names: Vec<String> = (0..places.len()).map(|n| format!("c{n}")).collect();
    let casts = places.iter().zip(&names).map(|(&place, name)| {
        let kind = &table.columns[place].kind;
        format!("u.{name}::{kind}")
    });
    let arrays: Vec<String> = (1..=places.len())
        .map(|n| format!("${n}::text[]"))
        .collect();
    let casts = format!(
        "{} FROM unnest({}) AS u({})",
        casts.collect::<Vec<_>>().join(", "),
        arrays.join(", "),
        names.join(", ")
    );
    (places.iter().map(list).collect(), casts)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn key_type(column: &Column) -> Option<KeyType> {
    match column.kind.split('(').next()? {
        "smallint" | "integer" | "bigint" => Some(KeyType::Integer),
        "text" | "character varying" | "character" | "uuid" | "name" | "citext" => {
            Some(KeyType::Text)
        }
        "bytea" => Some(KeyType::Bytes),
        _ => None,
    }
}

/// Returns a key as PostgreSQL writes it.
fn written(table: &Table, key: &[u8]) -> Done<String> {
    if table.key_type == KeyType::Bytes {
        let digits = key.iter().map(|byte| format!("{byte:02x}"));
        return Ok(format!("\\x{}", digits.collect::<String>()));
    }
    let text = std::str::from_utf8(key);
    text.map(str::to_owned).map_err(|_| {
        let name = &table.name;
        Fault::final_one(format_args!(
            "{name}: a key is no UTF-8, but its column holds text"
        ))
    })
}

/// Returns the key that PostgreSQL writes so.
fn key_of(table: &Table, text: &str) -> Done<Vec<u8>> {
    if table.key_type != KeyType::Bytes {
        return Ok(text.as_bytes().to_vec());
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let digits = text.as_bytes().strip_prefix(b"\\x").unwrap_or_default();
    let bytes = digits
        .chunks(2)
        .map(|pair| Some(digit(pair[0])? * 16 + digit(*pair.get(1)?)?));
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.ok_or_else(|| Fault::final_one(format_args!("{}: {text:?} are no bytes", table.name)))
}

fn fault(error: Error) -> Fault {
    let passing = [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::QUERY_CANCELED,
    ];
    match error.as_db_error() {
        Some(found) => {
            let about = [found.table(), found.column(), found.constraint()];
            let about: Vec<&str> = about.into_iter().flatten().collect();
            let about = match about.is_empty() {
                true => String::new(),
                false => format!(" ({})", about.join(", ")),
            };
            Fault {
                line: format!("PostgreSQL: {}{about}", found.message()),
                passes: passing.contains(found.code()),
            }
        }
        None => {
            let why = std::error::Error::source(&error);
            let why = why.map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
            // an answer that is not understood stays so; a connection that is lost comes back
            let passes = !why.contains("serializ")
                && !why.contains("invalid configuration")
                && !why.contains("TLS");
            Fault {
                line: format!("PostgreSQL: {why}"),
                passes,
            }
        }
    }
}

//! PostgreSQL. Cells travel as text, in the form in which pg_dump writes them: this form is exact,
//! and does not depend on the numbers that each server gives to its own types.

use std::collections::HashMap;

use ::postgres::error::SqlState;
use ::postgres::types::ToSql;
use ::postgres::{Client, Error, NoTls, Statement};

use crate::carry::kind::{told, Done, Fault};
use crate::carry::sql::address::{postgresql, postgresql_address};
use crate::carry::sql::database::{
    Column, Database, End, KeyType, Login, Named, Reference, Row, Stranger, Table, IDLE, KEYLESS,
    LOCK, PAGE, STRANGERS,
};
use crate::carry::sql::names::{hint, parts, shown};

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

    /// Returns the columns of a table, in the order of their names.
    fn columns_of(&mut self, name: &str) -> Done<Vec<Column>> {
        let columns = self.query(
            "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), \
               coalesce(co.collname::text, ''), \
               concat_ws(' ', CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END, \
                 a.attgenerated::text, a.attidentity::text, \
                 CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END), \
               a.attgenerated::text <> '' \
             FROM pg_attribute a LEFT JOIN pg_collation co ON co.oid = a.attcollation \
             LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped",
            &[&name],
        )?;
        let columns = columns.iter().map(|row| Column {
            name: row.get(0),
            kind: row.get(1),
            collation: row.get(2),
            rest: row.get(3),
            computed: row.get(4),
        });
        let mut columns: Vec<Column> = columns.collect();
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(columns)
    }

    /// Finds a table by the operator's name of it: returns its name, quoted, and what it is.
    fn found(&mut self, given: &str) -> Done<(String, String)> {
        let qualified = |parts: &[String]| {
            let parts: Vec<String> = parts.iter().map(|part| quoted(part)).collect();
            parts.join(".")
        };
        let read = parts(given);
        if let Some([schema, _]) = read.as_deref() {
            let closed = self.texts(
                "SELECT format('run GRANT USAGE ON SCHEMA %I TO %I', nspname, current_user) \
                 FROM pg_namespace \
                 WHERE nspname = $1::text AND NOT has_schema_privilege(oid, 'USAGE')",
                &[schema],
            )?;
            if let [what] = &closed[..] {
                return Err(Fault::final_one(format_args!(
                    "the user may not use the schema of the table {}; {what}",
                    shown(given)
                )));
            }
        }
        let read = read.map(|parts| qualified(&parts));
        let exact = (!given.contains(['.', '"'])).then(|| quoted(given));
        let mut found: Vec<(String, String)> = Vec::new();
        for name in [exact, read].into_iter().flatten() {
            let rows = self.query(
                "SELECT format('%I.%I', n.nspname, c.relname), c.relkind::text \
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.oid = to_regclass($1::text)",
                &[&name],
            )?;
            found.extend(rows.iter().map(|row| (row.get(0), row.get(1))));
        }
        found.dedup();
        let Some(first) = found.pop() else {
            let names = self.texts(
                "SELECT c.relname::text FROM pg_class c \
                 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition \
                 AND pg_table_is_visible(c.oid) AND c.relnamespace <> 'pg_catalog'::regnamespace \
                 ORDER BY 1",
                &[],
            )?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(Fault::final_one(format_args!(
                "the table {} does not exist, or the user has no USAGE on its schema{}",
                shown(given),
                hint(given, &names, "tables")
            )));
        };
        match found.pop() {
            None => Ok(first),
            Some((other, _)) => Err(Fault::final_one(format_args!(
                "the table {} may be {other} or {}; write one of these names",
                shown(given),
                first.0
            ))),
        }
    }
}

impl Database for Postgres {
    type Cell = Cell;

    const WORD: &'static str = "postgresql";

    fn open(connection: &str, login: &Login) -> Done<Postgres> {
        let mut config = postgresql(connection)?;
        if let Some(user) = &login.user {
            config.user(user);
        }
        if let Some(password) = &login.password {
            config.password(password.reveal());
        }
        config.application_name("stead-sync");
        config.connect_timeout(std::time::Duration::from_secs(5));
        let client = config.connect(NoTls).map_err(|error| {
            let address = postgresql_address(&config);
            fault_of(&format!("PostgreSQL at {address}"), error)
        })?;
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
        if self.texts("SELECT pg_is_in_recovery()::text", &[])? == ["true"] {
            return Err(Fault::final_one(
                "this is a standby, to which nothing can be written; give the primary",
            ));
        }
        // No address is in it, since one server may be reached by a socket, by several addresses
        // and through a proxy. Everybody may read these, but for the number of the data directory
        // where somebody has taken that right away. A copy of a data directory has the same number,
        // and started at another microsecond.
        let directory = self.texts(
            "SELECT 'yes' FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace \
             AND proname = 'pg_control_system' AND has_function_privilege(oid, 'EXECUTE')",
            &[],
        )?;
        let directory = match directory.is_empty() {
            true => vec![],
            false => self.texts(
                "SELECT system_identifier::text FROM pg_control_system()",
                &[],
            )?,
        };
        let start = self.texts(
            "SELECT concat_ws('/', current_setting('port'), pg_postmaster_start_time(), \
             current_database())",
            &[],
        )?;
        Ok(format!("{}/{}", directory.concat(), start.concat()))
    }

    fn user(&mut self) -> Done<String> {
        let user = self.texts("SELECT quote_ident(current_user)", &[])?;
        Ok(user.concat())
    }

    fn sees_all(&mut self) -> Done {
        // everybody may read the catalogue
        Ok(())
    }

    fn table(&mut self, given: &str) -> Done<String> {
        self.found(given).map(|(name, _)| name)
    }

    fn describe(&mut self, named: &Named) -> Done<Table> {
        let wrong = |what: &str| {
            Err(Fault::final_one(format_args!(
                "the table {} {what}",
                shown(&named.table)
            )))
        };
        let (name, kind) = self.found(&named.table)?;
        if !matches!(kind.as_str(), "r" | "p") {
            return wrong(match kind.as_str() {
                "v" | "m" => "is a view; give the table whose rows it shows",
                "f" => "is a foreign table; give the table at its own server",
                _ => "is no table with rows; give such a table",
            });
        }
        let name_of: &(dyn ToSql + Sync) = &name;
        let columns = self.columns_of(&name)?;
        let id = self.texts(
            "SELECT a.attname::text FROM pg_index i \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
             WHERE i.indrelid = $1::text::regclass AND i.indisprimary \
             ORDER BY array_position(i.indkey::int2[], a.attnum)",
            &[name_of],
        )?;
        let read = parts(&named.key);
        let reads = |name: &str| read.as_deref().is_some_and(|read| read == [name]);
        let table = Table::new("PostgreSQL", named, name, columns, &id, reads, key_type)?;
        let key = &table.columns[table.key].name;
        let indexed = self.texts(
            "SELECT 'yes' FROM pg_index i \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
             WHERE i.indrelid = $1::text::regclass AND i.indpred IS NULL AND a.attname = $2::text",
            &[&table.name, key],
        )?;
        if indexed.is_empty() {
            return wrong(&format!(
                "has no index that begins with {key:?}, so each key would cost a pass over the \
                 table; create one"
            ));
        }
        let secured = self.texts(
            "SELECT 'yes' WHERE row_security_active($1::text::regclass)",
            &[&table.name],
        )?;
        match secured.is_empty() {
            true => Ok(table),
            false => wrong(
                "has row security, which hides rows from the user; let the carry have a user with \
                 BYPASSRLS",
            ),
        }
    }

    fn lacking(&mut self, table: &Table) -> Done<Vec<&'static str>> {
        let names = |wanted: &dyn Fn(usize) -> bool| -> Vec<&str> {
            let places = (0..table.columns.len()).filter(|place| wanted(*place));
            places.map(|place| &table.columns[place].name[..]).collect()
        };
        let all = names(&|_| true);
        // a lock needs UPDATE on any column; a row is made equal in all but the primary key
        let changed = match names(&|place| !table.id.contains(&place)) {
            none if none.is_empty() => all.clone(),
            others => others,
        };
        let mut lacking = Vec::new();
        for (privilege, columns) in [("SELECT", &all), ("INSERT", &all), ("UPDATE", &changed)] {
            let missing = self.texts(
                "SELECT c FROM unnest($2::text[]) AS u(c) \
                 WHERE NOT has_column_privilege($1::text::regclass, c, $3::text) LIMIT 1",
                &[&table.name, columns, &privilege],
            )?;
            if !missing.is_empty() {
                lacking.push(privilege);
            }
        }
        let missing = self.texts(
            "SELECT 'yes' WHERE NOT has_table_privilege($1::text::regclass, 'DELETE')",
            &[&table.name],
        )?;
        if !missing.is_empty() {
            lacking.push("DELETE");
        }
        Ok(lacking)
    }

    fn columns(&mut self, table: &Table) -> Done<Vec<Column>> {
        self.columns_of(&table.name)
    }

    fn references(&mut self) -> Done<Vec<Reference>> {
        // a foreign key of a partitioned table is there once more for each partition
        let columns = |numbers: &str, table: &str| {
            format!(
                "(SELECT array_agg(a.attname::text ORDER BY k.n) \
                 FROM unnest(f.{numbers}) WITH ORDINALITY k (number, n) \
                 JOIN pg_attribute a ON a.attrelid = f.{table} AND a.attnum = k.number)"
            )
        };
        let text = format!(
            "SELECT format('%I.%I', cn.nspname, c.relname), format('%I.%I', pn.nspname, p.relname), \
             f.condeferrable, {}, {} FROM pg_constraint f \
             JOIN pg_class c ON c.oid = coalesce(pg_partition_root(f.conrelid), f.conrelid) \
             JOIN pg_namespace cn ON cn.oid = c.relnamespace \
             JOIN pg_class p ON p.oid = coalesce(pg_partition_root(f.confrelid), f.confrelid) \
             JOIN pg_namespace pn ON pn.oid = p.relnamespace \
             WHERE f.contype = 'f' AND f.conparentid = 0 ORDER BY 1, 2, f.conname",
            columns("conkey", "conrelid"),
            columns("confkey", "confrelid")
        );
        let rows = self.query(&text, &[])?;
        let reference = |row: &::postgres::Row| {
            let (from, to): (Vec<String>, Vec<String>) = (row.get(3), row.get(4));
            Reference {
                child: row.get(0),
                parent: row.get(1),
                columns: from.into_iter().zip(to).collect(),
                deferrable: row.get(2),
            }
        };
        Ok(rows.iter().map(reference).collect())
    }

    fn triggers(&mut self, table: &Table) -> Done<Vec<String>> {
        self.texts(
            "SELECT tgname::text FROM pg_trigger \
             WHERE tgrelid = $1::text::regclass AND NOT tgisinternal AND tgenabled <> 'D' \
             ORDER BY 1",
            &[&table.name],
        )
    }

    fn strangers(
        &mut self,
        reference: &Reference,
        (child, parent): (&Table, &Table),
        from: End,
        keys: &[&[u8]],
    ) -> Done<Vec<Stranger>> {
        let (start, alias) = match from {
            End::Parent => (parent, "p"),
            End::Child => (child, "c"),
        };
        let keys = keys.iter().map(|key| written(start, key));
        let keys: Vec<String> = keys.collect::<Done<_>>()?;
        let key_of_table = |alias: &str, table: &Table| {
            format!("{alias}.{}", quoted(&table.columns[table.key].name))
        };
        let exact = |key: &str| format!("{key}::text COLLATE \"C\"");
        let (mine, its) = (key_of_table("c", child), key_of_table("p", parent));
        let other = match from {
            End::Parent => format!("{mine} IS NULL"),
            End::Child => "FALSE".to_owned(),
        };
        let key = key_of_table(alias, start);
        let joined = reference
            .columns
            .iter()
            .map(|(column, to)| format!("c.{} = p.{}", quoted(column), quoted(to)));
        let id = child
            .id
            .iter()
            .map(|&place| format!("c.{}::text", quoted(&child.columns[place].name)));
        let text = format!(
            "SELECT concat_ws(', ', {}), {mine}::text, {its}::text FROM {} c JOIN {} p ON {} \
             WHERE {key} = ANY($1::text[]::{}[]) AND {} = ANY($1::text[]) \
             AND ({other} OR {} <> {}) LIMIT {STRANGERS}",
            id.collect::<Vec<_>>().join(", "),
            child.name,
            parent.name,
            joined.collect::<Vec<_>>().join(" AND "),
            start.columns[start.key].kind,
            exact(&key),
            exact(&mine),
            exact(&its)
        );
        let rows = self.query(&text, &[&keys])?;
        let stranger = |row: &::postgres::Row| {
            let (id, key, other): (String, Option<String>, String) =
                (row.get(0), row.get(1), row.get(2));
            Ok(Stranger {
                id: told(id.as_bytes()),
                key: key.map(|key| key_of(child, &key)).transpose()?,
                other: key_of(parent, &other)?,
            })
        };
        rows.iter().map(stranger).collect()
    }

    fn with_column(&mut self, column: &str) -> Done<Vec<String>> {
        self.texts(
            "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_attribute a ON a.attrelid = c.oid \
             WHERE a.attname = $1::text AND NOT a.attisdropped AND c.relkind IN ('r', 'p') \
             AND NOT c.relispartition AND c.relpersistence <> 't' \
             AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
            &[&column],
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

    fn keyless(&mut self, table: &Table) -> Done<u64> {
        let (name, key) = (&table.name, quoted(&table.columns[table.key].name));
        let rows = format!("SELECT 1 FROM {name} WHERE {key} IS NULL LIMIT {KEYLESS}");
        let text = format!("SELECT count(*) FROM ({rows}) u");
        let rows = self.query(&text, &[])?;
        let count = rows.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(count.unsigned_abs())
    }

    fn mark(&mut self, table: &Table) -> Done<Option<String>> {
        let name = &table.name;
        // TRUNCATE gives a table another file
        let files = "SELECT string_agg(oid::text || ' ' || relfilenode::text, ' ' ORDER BY oid) FROM pg_class \
                     WHERE oid = $1::text::regclass \
                     OR oid IN (SELECT relid FROM pg_partition_tree($1::text::regclass))";
        let text = format!("SELECT ({files}) WHERE EXISTS (SELECT 1 FROM {name})");
        Ok(self.texts(&text, &[name])?.pop())
    }

    fn begin(&mut self) -> Done {
        // tables that refer to each other can be written in no order
        self.run("BEGIN; SET CONSTRAINTS ALL DEFERRED")
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
    fault_of("PostgreSQL", error)
}

/// Says what is wrong, and where: `place` begins the line.
fn fault_of(place: &str, error: Error) -> Fault {
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
            let line = format!("{place}: {}{about}", found.message());
            Fault::new(line, passing.contains(found.code()))
        }
        None => {
            let why = std::error::Error::source(&error);
            let why = why.map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
            // an answer that is not understood stays so; a connection that is lost comes back
            let passes = !why.contains("serializ")
                && !why.contains("invalid configuration")
                && !why.contains("TLS");
            Fault::new(format_args!("{place}: {why}"), passes)
        }
    }
}

//! The kind `sql`: the rows of a key, in one table or in several, in PostgreSQL or MariaDB.
//!
//! An item is a key with all its rows. It is copied under row locks: `alike.rs` says how, and why
//! nothing is lost. Its version is a digest of its rows.

mod address;
pub mod alike;
pub mod database;
#[cfg(feature = "mysql")]
pub mod mariadb;
mod names;
#[cfg(feature = "postgres")]
pub mod postgres;
mod schema;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::carry::kind::{
    each_or_all, only, Added, Compared, Done, Fault, Item, Kind, Node, Version,
};
use crate::carry::pool::Pool;

use database::{version, Database, Login, Named, Row, Table};

/// How many keys are copied in one transaction: their writers wait as long as it takes.
const BATCH: usize = 100;

/// The kind.
pub struct Sql<D> {
    /// the connection string of a node, with attributes in braces
    connection: String,
    login: Login,
    named: Vec<Named>,
    /// the tables that each node has whole
    everywhere: Vec<String>,
    tables: OnceLock<Vec<Table>>,
    /// what the operator may have forgotten
    note: OnceLock<String>,
    pool: Pool<D>,
}

impl<D: Database> Sql<D> {
    /// Returns the kind, given the template of the connection strings and the tables. A table whose
    /// rows refer to rows of another one comes after it.
    pub fn new(connection: String, login: Login, named: Vec<Named>) -> Sql<D> {
        Sql {
            connection,
            login,
            named,
            everywhere: Vec::new(),
            tables: OnceLock::new(),
            note: OnceLock::new(),
            pool: Pool::default(),
        }
    }

    /// Names the tables that each node has whole: rows may refer to theirs, and they are not
    /// carried.
    pub fn with_everywhere(self, everywhere: Vec<String>) -> Sql<D> {
        Sql { everywhere, ..self }
    }

    fn open(&self, node: &Node) -> Done<D> {
        let open = || D::open(&node.fill(&self.connection)?, &self.login);
        open().map_err(|fault| self.at(node, fault))
    }

    /// Says at which node a fault is: a connection string is not shown, a password may be in it.
    fn at(&self, node: &Node, fault: Fault) -> Fault {
        Fault {
            line: format!("node {}: {}", node.name, fault.line),
            ..fault
        }
    }

    fn with<T>(&self, node: &Node, work: impl FnOnce(&mut D) -> Done<T>) -> Done<T> {
        let work = |database: &mut D| work(database).map_err(|fault| self.at(node, fault));
        self.pool.with(node, || self.open(node), work)
    }

    fn tables(&self) -> Done<&[Table]> {
        let tables = self.tables.get().map(Vec::as_slice);
        tables.ok_or_else(|| Fault::final_one("the tables were not looked at yet"))
    }

    fn rows(&self, node: &Node, keys: &[&[u8]]) -> Done<Vec<Vec<Row<D::Cell>>>> {
        let tables = self.tables()?;
        self.with(node, |database| {
            let rows = |table| database.rows(table, keys, false);
            tables.iter().map(rows).collect()
        })
    }

    fn copy(&self, from: &Node, to: &Node, keys: &[&[u8]]) -> Done<Vec<Option<u64>>> {
        let tables = self.tables()?;
        let mut source = self.pool.take(from, || self.open(from))?;
        let mut target = self.pool.take(to, || self.open(to))?;
        let end = alike::make_alike(&mut source, &mut target, tables, keys);
        match end {
            Ok(done) => {
                self.pool.keep(from, source);
                self.pool.keep(to, target);
                Ok(done)
            }
            Err(fault) => {
                // the target first: it must not commit after the source has released its locks
                drop(target);
                drop(source);
                self.pool.close(from);
                self.pool.close(to);
                let pair = format!("{} -> {}", from.name, to.name);
                Err(Fault {
                    line: format!("{pair}: {}", fault.line),
                    ..fault
                })
            }
        }
    }
}

fn keys<'a>(items: &[&'a Item]) -> Vec<&'a [u8]> {
    items.iter().map(|item| &item.key[..]).collect()
}

impl<D: Database> Kind for Sql<D> {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen = BTreeSet::new();
        let mut first: Option<(&Node, Vec<Table>)> = None;
        for node in nodes {
            let look = |database: &mut D| schema::look(database, &self.named, &self.everywhere);
            let found = self.with(node, look)?;
            let (identity, tables) = (found.identity, found.tables);
            if let Some(note) = found.note {
                self.note
                    .get_or_init(|| format!("node {}: {note}", node.name));
            }
            if !seen.insert(identity) {
                return Err(Fault::final_one(format_args!(
                    "node {}: another node has the same database; let `connection` name an \
                     attribute that differs, such as {{port}}",
                    node.name
                )));
            }
            let Some((other, expected)) = &first else {
                let key = |table: &Table| {
                    let column = &table.columns[table.key];
                    (column.kind.clone(), column.collation.clone())
                };
                if let Some(odd) = tables.iter().find(|table| key(table) != key(&tables[0])) {
                    return Err(Fault::final_one(format_args!(
                        "node {}: the key column of {} has another type or collation than that of \
                         {}; make them alike",
                        node.name, odd.name, tables[0].name
                    )));
                }
                first = Some((node, tables));
                continue;
            };
            for (table, expected) in tables.iter().zip(expected) {
                if let Some(what) = table.difference(expected) {
                    return Err(Fault::final_one(format_args!(
                        "{} differs at node {} and node {}: {what}; bring both to the same schema",
                        table.name, other.name, node.name
                    )));
                }
            }
        }
        if let Some((_, tables)) = first {
            self.tables.get_or_init(|| tables);
        }
        Ok(())
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let tables = self.tables()?;
        let mut after = after.map(<[u8]>::to_vec);
        loop {
            let page = self.with(node, |database| database.page(tables, after.as_deref()))?;
            after = page.last().cloned();
            if after.is_none() {
                return Ok(());
            }
            for key in page {
                if stop.load(Ordering::Relaxed) || !each(Item::of_key(key)) {
                    return Ok(());
                }
            }
        }
    }

    fn overlooked(&self, nodes: &[&Node]) -> Done<Option<String>> {
        let tables = self.tables()?;
        let mut found = None;
        for node in nodes {
            if !self
                .with(node, |database| database.page(tables, None))?
                .is_empty()
            {
                return Ok(None);
            }
            for table in tables {
                if found.is_none() && self.with(node, |database| database.has_keyless(table))? {
                    found = Some((*node, table));
                }
            }
        }
        Ok(found.map(|(node, table)| {
            format!(
                "no row has a key, but {} of node {} has rows whose {} is NULL; name the column \
                 with the key in `tables`",
                table.name, node.name, table.columns[table.key].name
            )
        }))
    }

    fn notes(&self) -> Vec<String> {
        self.note.get().cloned().into_iter().collect()
    }

    fn at_once(&self, _item: &Item) -> usize {
        BATCH
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        only(self.version_all(node, &[item]))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        only(self.add_all(from, to, &[item]))
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        only(self.compare_all(first, second, &[item]))
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        only(self.remove_all(node, &[(item, version)]))
    }

    fn add_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Added>> {
        each_or_all(items.len(), |range| {
            let copied = self.copy(from, to, &keys(&items[range]))?;
            let added = copied.into_iter().map(|bytes| match bytes {
                Some(bytes) => Added::Held { bytes },
                None => Added::Gone,
            });
            Ok(added.collect())
        })
    }

    fn version_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        each_or_all(items.len(), |range| {
            let keys = keys(&items[range]);
            let rows = self.rows(node, &keys)?;
            Ok(keys.iter().map(|key| version(&rows, key)).collect())
        })
    }

    fn compare_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Compared>> {
        each_or_all(items.len(), |range| {
            let keys = keys(&items[range]);
            let (one, two) = (self.rows(first, &keys)?, self.rows(second, &keys)?);
            let compared = keys.iter().map(|key| {
                let (first, second) = (version(&one, key), version(&two, key));
                Compared {
                    equal: first == second,
                    first,
                    second,
                }
            });
            Ok(compared.collect())
        })
    }

    fn remove_all(&self, node: &Node, items: &[(&Item, &Version)]) -> Vec<Done<bool>> {
        each_or_all(items.len(), |range| {
            let items = &items[range];
            let keys: Vec<&[u8]> = items.iter().map(|(item, _)| &item.key[..]).collect();
            let tables = self.tables()?;
            self.with(node, |database| {
                database.begin()?;
                let rows = alike::read(database, tables, &keys)?;
                let mut gone = Vec::new();
                for (item, wanted) in items {
                    let found = version(&rows, &item.key);
                    gone.push((found.is_none(), found.as_ref() == Some(wanted)));
                }
                for (table, rows) in tables.iter().zip(&rows).rev() {
                    let mine = |row: &&Row<D::Cell>| {
                        let place = keys.iter().position(|key| row.key == *key);
                        place.is_some_and(|place| gone[place].1)
                    };
                    let mine: Vec<_> = rows.iter().filter(mine).collect();
                    if !mine.is_empty() {
                        database.delete(table, &mine)?;
                    }
                }
                database.commit()?;
                Ok(gone
                    .into_iter()
                    .map(|(absent, mine)| absent || mine)
                    .collect())
            })
        })
    }
}

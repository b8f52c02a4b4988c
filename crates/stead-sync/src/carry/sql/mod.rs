//! The kind `sql`: the rows of a key, in one table or in several, in PostgreSQL or MariaDB.
//!
//! An item is a key with all its rows. It is copied under row locks: `alike.rs` says how, and why
//! nothing is lost. Its version is a digest of its rows.

mod address;
pub mod alike;
pub mod database;
pub mod foreign_keys;
#[cfg(feature = "mysql")]
pub mod mariadb;
mod names;
#[cfg(feature = "postgres")]
pub mod postgres;
mod schema;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use sha2::{Digest, Sha256};

use crate::carry::kind::{
    each_or_all, only, About, Added, Compared, Done, Fault, Holding, Item, Kind, Node, Tie, Version,
};
use crate::carry::pool::Pool;

use database::{unlike, version, Database, Login, Named, Row, Table, KEYLESS};
use foreign_keys::Known;

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
    /// what was found when the nodes were looked at last, and what is worth a note
    found: RwLock<Option<(Arc<Known>, Vec<String>)>>,
    /// how a table has changed since
    changed: OnceLock<String>,
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
            found: RwLock::default(),
            changed: OnceLock::new(),
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
        // a connection string is not shown, since a password may be in it
        open().map_err(|fault| fault.at(node))
    }

    fn with<T>(&self, node: &Node, work: impl FnOnce(&mut D) -> Done<T>) -> Done<T> {
        let work = |database: &mut D| work(database).map_err(|fault| fault.at(node));
        self.pool.with(node, || self.open(node), work)
    }

    fn known(&self) -> Done<Arc<Known>> {
        if let Some(line) = self.changed.get() {
            return Err(Fault::final_one(line));
        }
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let known = found.as_ref().map(|(known, _)| known.clone());
        known.ok_or_else(|| Fault::final_one("the tables were not looked at yet"))
    }

    /// Checks that the tables of a node are what they were when it was looked at. A column that was
    /// added since would not be copied, and its values would be removed with the old rows.
    fn check(&self, database: &mut D, node: &str, known: &Known) -> Done {
        for table in &known.tables {
            let now = database.columns(table)?;
            if now.is_empty() {
                return Err(Fault::passing(format_args!(
                    "the table {} is being changed, or was dropped",
                    table.name
                )));
            }
            let now: Vec<_> = now.iter().collect();
            if let Some(what) = unlike(&now, "now", &table.all(), "before") {
                let line = format!(
                    "node {node}: the table {} has changed while the carry worked: {what}; \
                     nothing was written or removed since; run the carry again when it is the \
                     same on all nodes, and it begins its comparisons again",
                    table.name
                );
                return Err(Fault::final_one(self.changed.get_or_init(|| line)));
            }
        }
        Ok(())
    }

    fn rows(&self, node: &Node, keys: &[&[u8]]) -> Done<Vec<Vec<Row<D::Cell>>>> {
        let known = self.known()?;
        self.with(node, |database| {
            let rows = |table| database.rows(table, keys, false);
            let rows = known.tables.iter().map(rows).collect::<Done<_>>()?;
            self.check(database, &node.name, &known)?;
            Ok(rows)
        })
    }

    fn copy(&self, from: &Node, to: &Node, keys: &[&[u8]]) -> Done<Vec<Option<alike::Made>>> {
        let known = self.known()?;
        let mut source = self.pool.take(from, || self.open(from))?;
        let mut target = self.pool.take(to, || self.open(to))?;
        let end = alike::make_alike(
            (&mut source, &from.name),
            (&mut target, &to.name),
            &known,
            keys,
            |database, node| self.check(database, node, &known),
        );
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

/// Says that rows have no key: they are no items.
fn keyless_noted((table, key): &(String, String), at: &[(&str, u64)]) -> String {
    let sum: u64 = at.iter().map(|(_, count)| count).sum();
    // more are not counted
    let many = match at.iter().any(|(_, count)| *count >= KEYLESS) {
        true => "at least ",
        false => "",
    };
    let at = at
        .iter()
        .map(|(node, count)| format!("node {node}: {count}"));
    let (rows, they) = match sum {
        1 => ("row", "it stays where it is"),
        _ => ("rows", "they stay where they are"),
    };
    let have = if sum == 1 { "has" } else { "have" };
    format!(
        "{many}{sum} {rows} of {table} {have} no {key} ({}): {they}",
        at.collect::<Vec<_>>().join(", ")
    )
}

fn triggers_noted(node: &str, tables: &[String]) -> String {
    format!(
        "node {node}: carried tables have triggers: {}; they fire for the rows that the carry \
         inserts at new places, and for those that it deletes at old ones",
        tables.join(", ")
    )
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn keys<'a>(items: &[&'a Item]) -> Vec<&'a [u8]> {
    items.iter().map(|item| &item.key[..]).collect()
}

impl<D: Database> Kind for Sql<D> {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        let mut first: Option<(&Node, Vec<Table>)> = None;
        let (mut references, mut forgotten) = (Vec::new(), None);
        let mut keyless: BTreeMap<(String, String), Vec<(&str, u64)>> = BTreeMap::new();
        let mut triggers = Vec::new();
        for node in nodes {
            let look = |database: &mut D| schema::look(database, &self.named, &self.everywhere);
            let found = self.with(node, look)?;
            let (identity, tables) = (found.identity, found.tables);
            references.extend(found.references);
            if let Some(note) = found.note {
                forgotten.get_or_insert_with(|| format!("node {}: {note}", node.name));
            }
            for (of, count) in found.keyless {
                keyless.entry(of).or_default().push((&node.name, count));
            }
            if !found.triggers.is_empty() && triggers.is_empty() {
                triggers.push(triggers_noted(&node.name, &found.triggers));
            }
            if let Some(other) = seen.insert(identity, &node.name) {
                return Err(Fault::of_one_that_is_there(format_args!(
                    "node {}: another node, {other}, has the same database; let `connection` name \
                     an attribute that differs, such as {{port}}",
                    node.name
                )));
            }
            let Some((other, expected)) = &first else {
                let key = |table: &Table| {
                    let column = &table.columns[table.key];
                    (column.kind.clone(), column.collation.clone())
                };
                if let Some(odd) = tables.iter().find(|table| key(table) != key(&tables[0])) {
                    return Err(Fault::of_one_that_is_there(format_args!(
                        "node {}: the key column of {} has another type or collation than that of \
                         {}; make them alike",
                        node.name, odd.name, tables[0].name
                    )));
                }
                first = Some((node, tables));
                continue;
            };
            for (table, expected) in tables.iter().zip(expected) {
                let (here, there) = (
                    format!("at node {}", node.name),
                    format!("at node {}", other.name),
                );
                if let Some(what) = table.difference(&here, expected, &there) {
                    return Err(Fault::of_one_that_is_there(format_args!(
                        "the table {} differs between nodes: {what}; bring all nodes to the same \
                         schema",
                        table.name
                    )));
                }
            }
        }
        if let Some((_, tables)) = first {
            let known = Arc::new(Known::new(tables, references)?);
            let keyless = keyless.iter().map(|(of, at)| keyless_noted(of, at));
            let notes = forgotten.into_iter().chain(keyless).chain(triggers);
            let found = (known, notes.collect());
            *self.found.write().unwrap_or_else(PoisonError::into_inner) = Some(found);
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
        let known = self.known()?;
        let mut after = after.map(<[u8]>::to_vec);
        loop {
            let page = self.with(node, |database| {
                database.page(&known.tables, after.as_deref())
            })?;
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

    fn holding(&self, node: &Node, doubts: bool) -> Done<Holding> {
        let known = self.known()?;
        self.with(node, |database| {
            let mut all = Holding::new();
            for table in &known.tables {
                let mark = database.mark(table)?;
                // a table may also get another mark by maintenance
                let mark = mark.map(|mark| if doubts { mark } else { String::new() });
                all.extend(mark.map(|mark| (format!("the table {}", table.name), mark)));
            }
            Ok(all)
        })
    }

    fn overlooked(&self, nodes: &[&Node]) -> Done<Option<String>> {
        if nodes.is_empty() {
            return Ok(None);
        }
        let known = self.known()?;
        let mut found = None;
        for node in nodes {
            if !self
                .with(node, |database| database.page(&known.tables, None))?
                .is_empty()
            {
                return Ok(None);
            }
            for table in &known.tables {
                if found.is_none() && self.with(node, |database| database.keyless(table))? > 0 {
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
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        found
            .as_ref()
            .map_or_else(Vec::new, |(_, notes)| notes.clone())
    }

    fn differs_also(&self) -> &'static str {
        ", or each database computed a value by itself, such as now() in an INSERT"
    }

    fn about(&self) -> About {
        let Ok(known) = self.known() else {
            return About::default();
        };
        let word = D::WORD;
        let part = |table: &Table| {
            let key = &table.columns[table.key].name;
            (
                format!("[{word}] table {} with the key {key}", table.name),
                String::new(),
            )
        };
        let columns = |table: &Table| format!("{} {:?} {:?}", table.name, table.all(), table.id);
        let mut form: Vec<String> = known.tables.iter().map(columns).collect();
        form.sort_unstable();
        About {
            parts: known.tables.iter().map(part).collect(),
            form: digest(&form.join("\n")),
        }
    }

    fn halted(&self) -> Option<String> {
        self.changed.get().cloned()
    }

    fn ties(&self, node: &Node, items: &[&Item]) -> Done<Vec<Tie>> {
        let known = self.known()?;
        let tied = self.with(node, |database| known.tied(database, &keys(items)))?;
        let tie = |(what, example)| Tie { what, example };
        Ok(tied.into_iter().map(tie).collect())
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
            let added = copied.into_iter().map(|made| match made {
                Some(alike::Made { bytes, replaced }) => Added::Held { bytes, replaced },
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
            let known = self.known()?;
            let tables = &known.tables;
            self.with(node, |database| {
                database.begin()?;
                let rows = alike::read(database, tables, &keys)?;
                self.check(database, &node.name, &known)?;
                let mut gone = Vec::new();
                for (item, wanted) in items {
                    let found = version(&rows, &item.key);
                    gone.push((found.is_none(), found.as_ref() == Some(wanted)));
                }
                let places = (0..keys.len()).filter(|place| gone[*place].1);
                let going: Vec<&[u8]> = places.map(|place| keys[place]).collect();
                if !going.is_empty() {
                    known.refuse_tied(database, &going)?;
                }
                for (table, rows) in tables.iter().zip(&rows).rev() {
                    let mine = |row: &&Row<D::Cell>| {
                        let place = keys.iter().position(|key| row.key == *key);
                        place.is_some_and(|place| gone[place].1)
                    };
                    let mine: Vec<_> = rows.iter().filter(mine).collect();
                    if !mine.is_empty() {
                        database.delete(table, &known.children_first(table, &mine))?;
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

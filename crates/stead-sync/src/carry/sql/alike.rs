//! Makes the rows of some keys at the target alike to those at the source, while applications
//! write.
//!
//! ```text
//! source  BEGIN  lock and read the rows                            still there?           release
//! target                BEGIN  lock and read  delete, insert                   COMMIT
//! ```
//!
//! The rows at the source are locked from before they are read until the target has committed.
//! Applications write the source first. So a writer that comes later waits at the source, and then
//! finds the copy at the target; and what a writer did earlier is in what was read. No older row
//! takes the place of a newer one, and no deleted row comes back.
//!
//! A row that the target has in another form, or that the source does not have, is older than the
//! source: an application wrote the source before, or a carrier was killed between the commit of
//! the target and its own end. The source's word is taken. For this the source is read once more
//! after the rows of the target are locked: a row that was inserted meanwhile at both is then seen.
//!
//! Locks are taken at the source first, as applications do, so they do not wait for each other in a
//! circle.

use std::collections::{BTreeSet, HashMap};

use crate::carry::kind::{told, Done, Fault};
use crate::carry::sql::database::{Database, Row, Table};
use crate::carry::sql::foreign_keys::Known;

/// A database, and the name of its node.
pub type At<'a, D> = (&'a mut D, &'a str);

/// What was done with a key.
pub struct Made {
    /// How many bytes the source has.
    pub bytes: u64,
    /// Whether the target had rows of it in another form, or rows that the source lacks.
    pub replaced: bool,
}

/// Makes the target alike. Returns what was done with each key; `None` when the source has no row.
/// `check` looks at a database whose tables nobody can change until the end.
///
/// Errors: nothing was changed, or all of it; the caller does it again.
pub fn make_alike<D: Database>(
    (source, old): At<D>,
    (target, new): At<D>,
    known: &Known,
    keys: &[&[u8]],
    check: impl Fn(&mut D, &str) -> Done,
) -> Done<Vec<Option<Made>>> {
    let at_old = |fault| at(old, fault);
    let tables = &known.tables;
    source.begin().map_err(at_old)?;
    let mut from = read(source, tables, keys).map_err(at_old)?;
    check(source, old)?;
    let mut replaced: BTreeSet<&[u8]> = BTreeSet::new();
    let write = |source: &mut D, target: &mut D| {
        target.begin()?;
        let to = read(target, tables, keys)?;
        check(target, new)?;
        if to.iter().any(|rows| !rows.is_empty()) {
            from = read(source, tables, keys).map_err(at_old)?;
        }
        let changes: Vec<_> = from.iter().zip(&to).map(differing).collect();
        for change in &changes {
            let rows = change.other.iter().chain(&change.gone);
            replaced.extend(rows.filter_map(|row| keys.iter().find(|key| row.key == **key)));
        }
        change(target, known, keys, &changes)?;
        match changes.iter().all(Change::is_empty) {
            true => Ok(()),
            false => arrived(target, tables, keys, &from),
        }
    };
    let mut write = write;
    write(source, target).map_err(|fault| at(new, fault))?;
    // a source that has gone away has released its locks
    source.holds().map_err(at_old)?;
    target.commit().map_err(|fault| at(new, fault))?;
    source.commit().map_err(at_old)?;
    let made = |key: &&[u8]| {
        let rows = from.iter().flatten().filter(|row| row.key == *key);
        let sizes = rows.map(|row| row.bytes.len() as u64);
        let bytes = sizes.reduce(|a, b| a + b)?;
        Some(Made {
            bytes,
            replaced: replaced.contains(key),
        })
    };
    Ok(keys.iter().map(made).collect())
}

/// Says at which node a fault is.
fn at(node: &str, fault: Fault) -> Fault {
    match fault.line.starts_with("node ") {
        true => fault,
        false => Fault {
            line: format!("node {node}: {}", fault.line),
            ..fault
        },
    }
}

/// Deletes and writes what differs.
fn change<D: Database>(
    target: &mut D,
    known: &Known,
    keys: &[&[u8]],
    changes: &[Change<D::Cell>],
) -> Done {
    let tables = &known.tables;
    if changes.iter().any(|change| !change.gone.is_empty()) {
        known.refuse_tied(target, keys)?;
    }
    // rows of later tables may refer to rows of earlier ones
    for (table, change) in tables.iter().zip(changes).rev() {
        if !change.gone.is_empty() {
            target.delete(table, &known.children_first(table, &change.gone))?;
        }
    }
    for (table, change) in tables.iter().zip(changes) {
        if known.refers_to_itself(table) {
            // rows that are there may come to refer to new ones, so neither are the first
            let all = [&change.other[..], &change.new[..]].concat();
            let is_other = |row: &&Row<D::Cell>| change.other.iter().any(|o| o.id == row.id);
            for row in known.parents_first(table, &all) {
                target.insert(table, &[row], is_other(&row))?;
            }
            continue;
        }
        if !change.other.is_empty() {
            target.insert(table, &change.other, true)?;
        }
        if !change.new.is_empty() {
            target.insert(table, &change.new, false)?;
        }
    }
    Ok(())
}

/// Reads the rows of some keys in all tables, and locks them.
pub fn read<D: Database>(
    database: &mut D,
    tables: &[Table],
    keys: &[&[u8]],
) -> Done<Vec<Vec<Row<D::Cell>>>> {
    let rows = |table| database.rows(table, keys, true);
    tables.iter().map(rows).collect()
}

/// What has to be done with a table of the target.
struct Change<'a, C> {
    /// rows that it lacks
    new: Vec<&'a Row<C>>,
    /// rows that it has in another form. They are not deleted first: the database could delete what
    /// refers to them
    other: Vec<&'a Row<C>>,
    /// rows that only it has
    gone: Vec<&'a Row<C>>,
}

impl<C> Change<'_, C> {
    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.other.is_empty() && self.gone.is_empty()
    }
}

fn differing<'a, C>((from, to): (&'a Vec<Row<C>>, &'a Vec<Row<C>>)) -> Change<'a, C> {
    let by_id = |rows: &'a Vec<Row<C>>| -> HashMap<&'a [u8], &'a [u8]> {
        rows.iter()
            .map(|row| (&row.id[..], &row.bytes[..]))
            .collect()
    };
    let (source, target) = (by_id(from), by_id(to));
    let (mut new, mut other) = (Vec::new(), Vec::new());
    for row in from {
        match target.get(&row.id[..]) {
            None => new.push(row),
            Some(bytes) if *bytes != row.bytes => other.push(row),
            Some(_) => (),
        }
    }
    let gone = to.iter().filter(|row| !source.contains_key(&row.id[..]));
    let gone = gone.collect();
    Change { new, other, gone }
}

/// Checks that all rows are there now as they are at the source. An insert leaves out a row whose
/// primary key another key has, and a trigger may change what is written.
fn arrived<D: Database>(
    target: &mut D,
    tables: &[Table],
    keys: &[&[u8]],
    from: &[Vec<Row<D::Cell>>],
) -> Done {
    for (table, rows) in tables.iter().zip(from) {
        let there = target.rows(table, keys, false)?;
        let by_id: HashMap<&[u8], &Row<D::Cell>> =
            there.iter().map(|row| (&row.id[..], row)).collect();
        for row in rows {
            let Some(now) = by_id.get(&row.id[..]) else {
                return Err(Fault::final_one(format_args!(
                    "{}: a row of the key {} was not inserted: the target has its primary key, or \
                     another unique value of it, in a row of another key; such values must differ \
                     on all nodes",
                    table.name,
                    told(&row.key)
                )));
            };
            let mut places = 0..table.columns.len();
            if let Some(place) = places.find(|&place| row.cell(place) != now.cell(place)) {
                return Err(Fault::final_one(format_args!(
                    "{}: the column {} of a row of the key {} has another value as soon as it is \
                     written: this node changes what is written, probably by a trigger; let \
                     triggers return early for the user of the carry",
                    table.name,
                    table.columns[place].name,
                    told(&row.key)
                )));
            }
        }
    }
    Ok(())
}

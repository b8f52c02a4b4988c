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

use std::collections::{HashMap, HashSet};

use crate::carry::kind::{told, Done, Fault};
use crate::carry::sql::database::{Database, Row, Table};

/// Makes the target alike. Returns, for each key, how many bytes the source has; `None` when it has
/// no row.
///
/// Errors: nothing was changed, or all of it; the caller does it again.
pub fn make_alike<D: Database>(
    source: &mut D,
    target: &mut D,
    tables: &[Table],
    keys: &[&[u8]],
) -> Done<Vec<Option<u64>>> {
    source.begin()?;
    let mut from = read(source, tables, keys)?;
    target.begin()?;
    let to = read(target, tables, keys)?;
    if to.iter().any(|rows| !rows.is_empty()) {
        from = read(source, tables, keys)?;
    }
    let changes: Vec<_> = from.iter().zip(&to).map(differing).collect();
    // rows of later tables may refer to rows of earlier ones
    for (table, change) in tables.iter().zip(&changes).rev() {
        if !change.gone.is_empty() {
            target.delete(table, &change.gone)?;
        }
    }
    for (table, change) in tables.iter().zip(&changes) {
        if !change.other.is_empty() {
            target.insert(table, &change.other, true)?;
        }
        if !change.new.is_empty() {
            target.insert(table, &change.new, false)?;
            arrived(target, table, keys, &change.new)?;
        }
    }
    // a source that has gone away has released its locks
    source.holds()?;
    target.commit()?;
    source.commit()?;
    let bytes = |key: &&[u8]| {
        let rows = from.iter().flatten().filter(|row| row.key == *key);
        let sizes = rows.map(|row| row.bytes.len() as u64);
        sizes.reduce(|a, b| a + b)
    };
    Ok(keys.iter().map(bytes).collect())
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

/// Checks that all rows are there now: an insert leaves out a row whose primary key another key
/// has.
fn arrived<D: Database>(
    target: &mut D,
    table: &Table,
    keys: &[&[u8]],
    rows: &[&Row<D::Cell>],
) -> Done {
    let there = target.rows(table, keys, false)?;
    let ids: HashSet<&[u8]> = there.iter().map(|row| &row.id[..]).collect();
    match rows.iter().find(|row| !ids.contains(&row.id[..])) {
        None => Ok(()),
        Some(row) => Err(Fault::final_one(format_args!(
            "{}: a row of the key {} was not inserted: the target has its primary key, or another \
             unique value of it, in a row of another key; such values must differ on all nodes",
            table.name,
            told(&row.key)
        ))),
    }
}

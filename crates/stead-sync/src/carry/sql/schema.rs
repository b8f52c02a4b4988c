//! What is checked at each node before anything is carried: that no other node has the same
//! database, that its tables can be carried, that the user has the privileges for that, and that
//! no table is left out to which a carried one refers, or which refers to a carried one.

use crate::carry::kind::{Done, Fault};
use crate::carry::sql::database::{Database, Named, Reference, Table};
use crate::carry::sql::names::{listed, shown};

/// A column of this name is in most tables, and means something else in each.
const ANYTHING: &str = "id";

/// What was found at a node.
pub struct Found {
    /// What tells its database from all others.
    pub identity: String,
    /// The tables to be carried.
    pub tables: Vec<Table>,
    /// All foreign keys.
    pub references: Vec<Reference>,
    /// What the operator may have forgotten.
    pub note: Option<String>,
    /// Tables with rows that have no key, the column of the key, and how many such rows there are.
    pub keyless: Vec<((String, String), u64)>,
    /// The tables with triggers, and what these are.
    pub triggers: Vec<String>,
}

/// Looks at a node. `everywhere` are the tables that each node has whole.
///
/// Errors: what makes a carry impossible.
pub fn look<D: Database>(database: &mut D, named: &[Named], everywhere: &[String]) -> Done<Found> {
    let identity = database.identity()?;
    // before the tables: what the user may not see, seems not to be there
    database.sees_all()?;
    let described = named.iter().map(|named| database.describe(named));
    let tables = described.collect::<Done<Vec<Table>>>()?;
    let everywhere = everywhere.iter().map(|given| database.table(given));
    let everywhere = everywhere.collect::<Done<Vec<String>>>()?;
    refuse_twice(&tables, &everywhere)?;
    refuse_lacking(database, &tables)?;
    let references = database.references()?;
    refuse_torn(&references, &tables, &everywhere)?;
    let note = forgotten(database, &tables, &everywhere)?;
    let (mut keyless, mut triggers) = (Vec::new(), Vec::new());
    for table in &tables {
        let count = database.keyless(table)?;
        if count > 0 {
            let key = &table.columns[table.key].name;
            keyless.push(((table.name.clone(), shown(key)), count));
        }
        let names = database.triggers(table)?;
        if !names.is_empty() {
            triggers.push(format!("{} ({})", table.name, listed(&names)));
        }
    }
    Ok(Found {
        identity,
        tables,
        references,
        note,
        keyless,
        triggers,
    })
}

/// Refuses a table that is named twice: its rows would be read and written twice.
fn refuse_twice(tables: &[Table], everywhere: &[String]) -> Done {
    for (place, table) in tables.iter().enumerate() {
        let name = &table.name;
        let line = if tables[..place].iter().any(|other| other.name == *name) {
            format!("the table {name} is in `tables` twice; leave one of them out")
        } else if everywhere.contains(name) {
            format!(
                "the table {name} is in `tables` and in `everywhere`; leave it in `tables` if its \
                 rows belong to keys, and in `everywhere` if each node has all of them"
            )
        } else {
            continue;
        };
        return Err(Fault::final_one(line));
    }
    Ok(())
}

/// Refuses a user without a privilege that the carry needs, now or at its end.
fn refuse_lacking<D: Database>(database: &mut D, tables: &[Table]) -> Done {
    let mut lacking = Vec::new();
    for table in tables {
        let privileges = database.lacking(table)?;
        if !privileges.is_empty() {
            lacking.push((privileges.join(", "), database.name_to_grant(table)));
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let user = database.user()?;
    let told = lacking
        .iter()
        .map(|(what, table)| format!("{what} on {table}"));
    let grants = lacking
        .iter()
        .map(|(what, table)| format!("GRANT {what} ON {table} TO {user}"));
    Err(Fault::final_one(format_args!(
        "the user {user} lacks privileges that a carry needs: {}; run {}",
        told.collect::<Vec<_>>().join("; "),
        grants.collect::<Vec<_>>().join("; ")
    )))
}

/// Refuses tables whose foreign keys lead to a table that is not carried, or come from one.
fn refuse_torn(references: &[Reference], tables: &[Table], everywhere: &[String]) -> Done {
    let is_carried = |name: &String| tables.iter().any(|table| table.name == *name);
    let is_there = |name: &String| is_carried(name) || everywhere.contains(name);
    for Reference { child, parent, .. } in references {
        if is_carried(parent) && !is_carried(child) {
            return Err(Fault::final_one(format_args!(
                "the table {child} refers to {parent} by a foreign key, but is not carried; list \
                 it in `tables`, with a column that holds the key of the row to which it refers"
            )));
        }
        if is_carried(child) && !is_there(parent) {
            return Err(Fault::final_one(format_args!(
                "the table {child} refers to {parent} by a foreign key, but that is not carried; \
                 list it in `tables`, or in `everywhere`, if each node has all its rows"
            )));
        }
    }
    Ok(())
}

/// Names the tables that have a column of the name of a key, but are not listed: that cannot be
/// refused, since a name says nothing for sure.
fn forgotten<D: Database>(
    database: &mut D,
    tables: &[Table],
    everywhere: &[String],
) -> Done<Option<String>> {
    let mut columns: Vec<&str> = tables.iter().map(|t| &t.columns[t.key].name[..]).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut notes = Vec::new();
    for column in columns.into_iter().filter(|column| *column != ANYTHING) {
        let mut others = database.with_column(column)?;
        others.retain(|name| {
            !everywhere.contains(name) && tables.iter().all(|table| table.name != *name)
        });
        if !others.is_empty() {
            others.sort_unstable();
            notes.push(format!("{column} ({})", listed(&others)));
        }
    }
    Ok((!notes.is_empty()).then(|| {
        format!(
            "tables that are not carried have a column with the name of a key: {}; their rows stay \
             where they are; if they belong to keys, list these tables in `tables`, and if each \
             node has all of them, in `everywhere`",
            notes.join(", ")
        )
    }))
}

//! What is checked at each node before anything is carried: that no other node has the same
//! database, that its tables can be carried, that the user has the privileges for that, and that
//! no table is left out to which a carried one refers, or which refers to a carried one.

use crate::carry::kind::{Done, Fault};
use crate::carry::sql::database::{Database, Named, Table};
use crate::carry::sql::names::listed;

/// A column of this name is in most tables, and means something else in each.
const ANYTHING: &str = "id";

/// What was found at a node.
pub struct Found {
    /// What tells its database from all others.
    pub identity: String,
    /// The tables to be carried.
    pub tables: Vec<Table>,
    /// What the operator may have forgotten.
    pub note: Option<String>,
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
    refuse_lacking(database, &tables)?;
    refuse_torn(database, &tables, &everywhere)?;
    let note = forgotten(database, &tables, &everywhere)?;
    Ok(Found {
        identity,
        tables,
        note,
    })
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
fn refuse_torn<D: Database>(database: &mut D, tables: &[Table], everywhere: &[String]) -> Done {
    let is_carried = |name: &String| tables.iter().any(|table| table.name == *name);
    for table in tables {
        let referring = database.referring(table)?;
        if let Some(other) = referring.iter().find(|name| !is_carried(name)) {
            return Err(Fault::final_one(format_args!(
                "the table {other} refers to {} by a foreign key, but is not carried; list it in \
                 `tables`, after the table it refers to",
                table.name
            )));
        }
        let referred = database.referred(table)?;
        let is_there = |name: &String| is_carried(name) || everywhere.contains(name);
        if let Some(other) = referred.iter().find(|name| !is_there(name)) {
            return Err(Fault::final_one(format_args!(
                "the table {} refers to {other} by a foreign key, but that is not carried; list it \
                 in `tables`, before the table that refers to it, or in `everywhere`, if each node \
                 has all its rows",
                table.name
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

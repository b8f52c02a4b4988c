//! What foreign keys of the carried tables mean for a carry: in which order tables and rows are
//! written, and which rows refer to rows of another key.
//!
//! The database deletes or changes the rows that refer to a deleted one, or refuses to delete it.
//! Rows of the same key go with it. Rows of another key, or of none, were not copied: they would
//! be lost. So they are looked for before anything moves, and again in each transaction that
//! deletes something.

use std::collections::HashMap;

use crate::carry::kind::{told, Done, Fault};
use crate::carry::sql::database::{Database, End, KeyType, Reference, Row, Stranger, Table};

/// The carried tables, in the order in which rows are inserted, and their foreign keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known {
    /// The tables. One whose rows refer to those of another one comes after it.
    pub tables: Vec<Table>,
    /// The foreign keys from one of them to one of them.
    pub references: Vec<Reference>,
}

impl Known {
    /// Puts the tables in order.
    ///
    /// Errors: tables that refer to each other in a circle.
    pub fn new(tables: Vec<Table>, references: Vec<Reference>) -> Done<Known> {
        let is_carried = |name: &String| tables.iter().any(|table| table.name == *name);
        let mut own: Vec<Reference> = Vec::new();
        for found in references {
            // each node names its own
            if is_carried(&found.child) && is_carried(&found.parent) && !own.contains(&found) {
                own.push(found);
            }
        }
        let references = own;
        let (mut left, mut ordered) = (tables, Vec::new());
        while !left.is_empty() {
            let waits = |table: &Table| {
                let of = |found: &&Reference| found.child == table.name && binds(found);
                let mut parents = references.iter().filter(of).map(|found| &found.parent);
                parents.any(|parent| left.iter().any(|table| table.name == *parent))
            };
            let Some(next) = left.iter().position(|table| !waits(table)) else {
                let names = left.iter().map(|table| &table.name[..]).collect::<Vec<_>>();
                return Err(Fault::final_one(format_args!(
                    "foreign keys lead in a circle through the tables {}, so none of them can be \
                     written first; drop one of these foreign keys until the carry is closed, or \
                     in PostgreSQL make it DEFERRABLE (ALTER TABLE ... ALTER CONSTRAINT ... \
                     DEFERRABLE)",
                    names.join(", ")
                )));
            };
            ordered.push(left.remove(next));
        }
        Ok(Known {
            tables: ordered,
            references,
        })
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Returns the foreign keys that do not prove themselves that their two rows have one key, with
    /// the child and the parent.
    fn doubtful<'a>(&'a self) -> impl Iterator<Item = (&'a Reference, (&'a Table, &'a Table))> {
        let with_ends = |found: &'a Reference| {
            let Reference { child, parent, .. } = found;
            Some((found, (self.table(child)?, self.table(parent)?)))
        };
        let found = self.references.iter().filter_map(with_ends);
        found.filter(|(found, (child, parent))| {
            let key = |table: &Table| table.columns[table.key].name.clone();
            let is_proof = found.columns.contains(&(key(child), key(parent)));
            // a collation may take texts for equal that are different keys
            !is_proof || child.key_type == KeyType::Text
        })
    }

    /// Returns rows that refer to rows of another key, where one of the two has one of the keys:
    /// what is wrong with them, and each with an example's words.
    pub fn tied<D: Database>(
        &self,
        database: &mut D,
        keys: &[&[u8]],
    ) -> Done<Vec<(String, String)>> {
        let mut tied = Vec::new();
        for (found, ends) in self.doubtful() {
            for from in [End::Parent, End::Child] {
                let strangers = database.strangers(found, ends, from, keys)?;
                let line = |row| (what(found), example(ends, &row));
                tied.extend(strangers.into_iter().map(line));
            }
        }
        Ok(tied)
    }

    /// Refuses to delete the rows of some keys while rows of others, or without a key, refer to
    /// them.
    pub fn refuse_tied<D: Database>(&self, database: &mut D, keys: &[&[u8]]) -> Done {
        for (found, ends) in self.doubtful() {
            let strangers = database.strangers(found, ends, End::Parent, keys)?;
            if let Some(row) = strangers.first() {
                return Err(Fault::final_one(format_args!(
                    "{}, such as {}: it would be deleted or changed with that row, so \
                     nothing of this key was deleted; give it the key of the row to which it \
                     refers, or drop this foreign key until the carry is closed, and run the carry \
                     again",
                    what(found),
                    example(ends, row)
                )));
            }
        }
        Ok(())
    }

    /// Puts rows of a table in an order in which a row comes after the one of them to which it
    /// refers.
    pub fn parents_first<'a, C>(&self, table: &Table, rows: &[&'a Row<C>]) -> Vec<&'a Row<C>> {
        let own: Vec<&Reference> = self.own(table).collect();
        if own.is_empty() {
            return rows.to_vec();
        }
        let mut order = Vec::new();
        let mut parents: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
        for found in own {
            let place = |name: &String| table.columns.iter().position(|c| c.name == *name);
            let from: Option<Vec<usize>> = found.columns.iter().map(|(c, _)| place(c)).collect();
            let to: Option<Vec<usize>> = found.columns.iter().map(|(_, c)| place(c)).collect();
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            let cells = |row: &Row<C>, places: &[usize]| -> Vec<Vec<u8>> {
                places
                    .iter()
                    .map(|&place| row.cell(place).to_vec())
                    .collect()
            };
            let by_cells: HashMap<Vec<Vec<u8>>, usize> =
                (0..rows.len()).map(|n| (cells(rows[n], &to), n)).collect();
            for (n, row) in rows.iter().enumerate() {
                parents[n].extend(by_cells.get(&cells(row, &from)).filter(|p| **p != n));
            }
        }
        // a row is done when all its parents are; a stack, since a chain may be long
        let mut seen = vec![false; rows.len()];
        for first in 0..rows.len() {
            let mut stack = vec![(first, false)];
            while let Some((n, is_left)) = stack.pop() {
                if is_left {
                    order.push(rows[n]);
                } else if !seen[n] {
                    seen[n] = true;
                    stack.push((n, true));
                    stack.extend(parents[n].iter().map(|&parent| (parent, false)));
                }
            }
        }
        order
    }

    /// The other way: for deletes.
    pub fn children_first<'a, C>(&self, table: &Table, rows: &[&'a Row<C>]) -> Vec<&'a Row<C>> {
        let mut rows = self.parents_first(table, rows);
        rows.reverse();
        rows
    }

    /// Whether rows of a table may refer to rows of the same one.
    pub fn refers_to_itself(&self, table: &Table) -> bool {
        self.own(table).next().is_some()
    }

    fn own<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Reference> {
        let is_own = |found: &&Reference| found.child == table.name && found.parent == table.name;
        self.references.iter().filter(is_own)
    }
}

/// Whether a foreign key says which of two tables is written first.
fn binds(found: &Reference) -> bool {
    found.child != found.parent && !found.deferrable
}

/// Names a foreign key, for messages.
fn what(found: &Reference) -> String {
    let columns = found.columns.iter().map(|(column, _)| &column[..]);
    format!(
        "rows of {} that refer by {} to rows of {} of another key",
        found.child,
        columns.collect::<Vec<_>>().join(", "),
        found.parent
    )
}

fn example((child, parent): (&Table, &Table), row: &Stranger) -> String {
    let id = child.id.iter().map(|&place| &child.columns[place].name[..]);
    let key = match &row.key {
        Some(key) => format!("\"{}\"", told(key)),
        None => "NULL".to_owned(),
    };
    format!(
        "that with {} {}, whose {} is {key} and not \"{}\", as the {} there",
        id.collect::<Vec<_>>().join(", "),
        row.id,
        child.columns[child.key].name,
        told(&row.other),
        parent.columns[parent.key].name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carry::sql::database::Column;

    fn table(name: &str) -> Table {
        let column = |name: &str| Column {
            name: name.to_owned(),
            kind: "integer".to_owned(),
            collation: String::new(),
            rest: String::new(),
            computed: false,
        };
        Table {
            name: name.to_owned(),
            columns: vec![column("id"), column("owner"), column("up")],
            computed: vec![],
            key: 1,
            key_type: KeyType::Integer,
            id: vec![0],
        }
    }

    fn refers(child: &str, column: &str, parent: &str, to: &str) -> Reference {
        Reference {
            child: child.to_owned(),
            parent: parent.to_owned(),
            columns: vec![(column.to_owned(), to.to_owned())],
            deferrable: false,
        }
    }

    #[test]
    fn tables_come_after_those_they_refer_to_and_a_circle_is_refused() {
        let tables = || ["a", "b", "c", "d"].map(table).to_vec();
        let mut found = vec![
            refers("a", "up", "c", "id"),
            refers("c", "up", "d", "id"),
            refers("b", "up", "b", "id"),
            refers("b", "up", "elsewhere", "id"),
        ];
        let known = Known::new(tables(), found.clone()).unwrap();
        let names: Vec<&str> = known.tables.iter().map(|t| &t.name[..]).collect();
        assert_eq!(names, ["b", "d", "c", "a"]);
        assert_eq!(known.references.len(), 3);
        found.push(refers("d", "up", "a", "id"));
        let fault = Known::new(tables(), found.clone()).unwrap_err();
        assert!(
            fault.line.contains("through the tables a, c, d"),
            "{fault:?}"
        );
        // one that is checked at the end of a transaction does not bind
        found[0].deferrable = true;
        assert!(Known::new(tables(), found).is_ok());
    }

    #[test]
    fn a_foreign_key_of_the_keys_themselves_is_a_proof_if_they_are_no_texts() {
        let mut tables = vec![table("a"), table("b")];
        let found = vec![
            refers("a", "owner", "b", "owner"),
            refers("a", "up", "b", "id"),
        ];
        let known = Known::new(tables.clone(), found.clone()).unwrap();
        assert_eq!(known.doubtful().count(), 1);
        tables.iter_mut().for_each(|t| t.key_type = KeyType::Text);
        let known = Known::new(tables, found).unwrap();
        assert_eq!(known.doubtful().count(), 2);
    }

    #[test]
    fn rows_come_after_those_they_refer_to() {
        let table = table("a");
        let known = Known::new(vec![table.clone()], vec![refers("a", "up", "a", "id")]).unwrap();
        let row = |id: u8, up: u8| {
            Row::new(&table, vec![1], vec![id, 1, up], |cell, bytes| {
                bytes.push(*cell)
            })
        };
        // 3 refers to itself, 4 and 5 to each other, 9 is not there
        let rows = [(1, 2), (2, 7), (3, 3), (4, 5), (5, 4), (6, 9), (7, 6)];
        let rows: Vec<Row<u8>> = rows.into_iter().map(|(id, up)| row(id, up)).collect();
        let order = known.parents_first(&table, &rows.iter().collect::<Vec<_>>());
        let ids: Vec<u8> = order.iter().map(|row| row.cells[0]).collect();
        assert_eq!(ids, [6, 7, 2, 1, 3, 5, 4]);
        let back = known.children_first(&table, &order);
        assert_eq!(back.last().map(|row| row.cells[0]), Some(6));
    }
}

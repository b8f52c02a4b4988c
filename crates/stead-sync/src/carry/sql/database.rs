//! What a connection to a database must be able to do, so that rows can be carried: [`Database`].

use sha2::{Digest, Sha256};

use crate::access::Secret;
use crate::carry::kind::{Done, Fault, Version};
use crate::carry::sql::names::{hint, meant, shown};

/// How many seconds a statement waits for a lock of an application, before it is tried again later.
pub const LOCK: u32 = 2;

/// How many seconds a server waits for a carrier that holds locks and does nothing: one that hangs
/// must not hold writers back for ever.
pub const IDLE: u32 = 30;

/// How many keys a page of a listing has, more or less.
pub const PAGE: usize = 1000;

/// Up to how many rows without a key are counted: it is done at every start.
pub const KEYLESS: u64 = 1_000_000;

/// How many rows that refer to rows of other keys are looked at, for each foreign key and batch.
pub const STRANGERS: usize = 1000;

/// Who logs in, beside what the connection string says.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
}

/// A table whose rows are carried, as the operator names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The table.
    pub table: String,
    /// The column with the key.
    pub key: String,
}

/// What the values of a key column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    /// Text, or a UUID, whose bytes are the key.
    Text,
    /// An integer, whose decimal digits are the key.
    Integer,
    /// Bytes, which are the key.
    Bytes,
}

/// A foreign key: rows of the child refer to rows of the parent, which may be the same table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The table whose rows refer, quoted.
    pub child: String,
    /// The table whose rows they refer to.
    pub parent: String,
    /// Which column of the child refers to which one of the parent.
    pub columns: Vec<(String, String)>,
    /// Whether the database can check it at the end of a transaction.
    pub deferrable: bool,
}

/// From which end of a foreign key rows are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// From rows that are referred to.
    Parent,
    /// From rows that refer.
    Child,
}

/// A row that refers to a row of another key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stranger {
    /// Its primary key, for messages.
    pub id: String,
    /// Its key; `None` when that is NULL.
    pub key: Option<Vec<u8>>,
    /// The key of the row to which it refers.
    pub other: Vec<u8>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as the database writes it.
    pub kind: String,
    /// How its texts are compared; empty where it has none.
    pub collation: String,
    /// What else must be alike at two servers.
    pub rest: String,
    /// Whether the database computes it from the others. Then it is not copied.
    pub computed: bool,
}

/// A table, as a database describes it. Columns are in the order of their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name, quoted.
    pub name: String,
    /// Its columns that are not computed.
    pub columns: Vec<Column>,
    /// Its columns that are.
    pub computed: Vec<Column>,
    /// Which column has the key.
    pub key: usize,
    /// What the key column holds.
    pub key_type: KeyType,
    /// Which columns are the primary key.
    pub id: Vec<usize>,
}

impl Table {
    /// Makes the description of a table from what a database says. `place` names the database, and
    /// `reads` says whether the database reads the operator's name of the key as that of a column.
    pub fn new(
        place: &str,
        named: &Named,
        name: String,
        mut columns: Vec<Column>,
        id: &[String],
        reads: impl Fn(&str) -> bool,
        key_type: impl FnOnce(&Column) -> Option<KeyType>,
    ) -> Done<Table> {
        let table = shown(&named.table);
        let wrong = |what: String| {
            Err(Fault::final_one(format_args!(
                "{place}: the table {table} {what}"
            )))
        };
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<&str> = columns.iter().map(|column| &column.name[..]).collect();
        let Some(key) = meant(&named.key, &names, reads)? else {
            return wrong(format!(
                "has no column {}, which should hold the key{}",
                shown(&named.key),
                hint(&named.key, &names, "columns")
            ));
        };
        let key = key.to_owned();
        let (computed, columns): (Vec<_>, Vec<_>) = columns.into_iter().partition(|c| c.computed);
        let is_computed = |name: &String| computed.iter().any(|column| column.name == *name);
        if is_computed(&key) {
            return wrong(format!(
                "has the column {key:?}, but the database computes it, so nothing can be written \
                 to it; add a plain column with the key, which the application or a trigger fills, \
                 and give that as `key`"
            ));
        }
        if let Some(column) = id.iter().find(|name| is_computed(name)) {
            return wrong(format!(
                "has the column {column:?} in its primary key, but the database computes it, so \
                 nothing can be written to it; give the table a primary key of plain columns"
            ));
        }
        let place_of = |name: &String| columns.iter().position(|column| column.name == *name);
        let id: Option<Vec<usize>> = id.iter().map(place_of).collect();
        let (Some(key), Some(id)) = (place_of(&key), id.filter(|id| !id.is_empty())) else {
            return wrong(
                "has no primary key, so a row that was copied cannot be told from another one; \
                 give it one"
                    .to_owned(),
            );
        };
        let Some(key_type) = key_type(&columns[key]) else {
            return wrong(format!(
                "has the column {:?} of the type {}; a key is an integer, a text, a UUID or bytes",
                columns[key].name, columns[key].kind
            ));
        };
        Ok(Table {
            name,
            columns,
            computed,
            key,
            key_type,
            id,
        })
    }

    /// Returns all columns, in the order of their names.
    pub fn all(&self) -> Vec<&Column> {
        let mut all: Vec<&Column> = self.columns.iter().chain(&self.computed).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Says in which way another description differs; `None` when it does not. `name` and `its` say
    /// in the text where each of the two tables is.
    pub fn difference(&self, name: &str, other: &Table, its: &str) -> Option<String> {
        if let Some(what) = unlike(&self.all(), name, &other.all(), its) {
            return Some(what);
        }
        let names = |table: &Table| -> String {
            let columns = table
                .id
                .iter()
                .map(|&place| shown(&table.columns[place].name));
            columns.collect::<Vec<_>>().join(", ")
        };
        let (mine, its_own) = (names(self), names(other));
        (mine != its_own)
            .then(|| format!("the primary key is ({mine}) {name} and ({its_own}) {its}"))
    }
}

/// Says how two lists of columns differ; `None` when they do not. The words say whose they are,
/// such as `at node a`.
pub fn unlike(first: &[&Column], one: &str, second: &[&Column], two: &str) -> Option<String> {
    for (these, those, here, there) in [(first, second, one, two), (second, first, two, one)] {
        for column in these {
            let name = shown(&column.name);
            let Some(other) = those.iter().find(|other| other.name == column.name) else {
                return Some(format!("the column {name} is there {here} and not {there}"));
            };
            let said = |value: &str| match value.is_empty() {
                true => "nothing".to_owned(),
                false => shown(value),
            };
            for (what, mine, its) in [
                ("type", &column.kind, &other.kind),
                ("collation", &column.collation, &other.collation),
                (
                    "description (NULL, character set, what is computed)",
                    &column.rest,
                    &other.rest,
                ),
            ] {
                if mine != its {
                    let (mine, its) = (said(mine), said(its));
                    return Some(format!(
                        "the column {name} has the {what} {mine} {here} and {its} {there}"
                    ));
                }
            }
        }
    }
    None
}

/// A row, and what it is told from others by.
#[derive(Clone, Debug)]
pub struct Row<C> {
    /// The key, in the manner of the map.
    pub key: Vec<u8>,
    /// The primary key, as bytes.
    pub id: Vec<u8>,
    /// All cells, as bytes.
    pub bytes: Vec<u8>,
    /// The cells, in the order of [`Table::columns`].
    pub cells: Vec<C>,
    /// Where the bytes of each cell begin and end.
    ranges: Vec<(usize, usize)>,
}

impl<C> Row<C> {
    /// Makes a row of its cells; `write` appends the bytes of one.
    pub fn new(
        table: &Table,
        key: Vec<u8>,
        cells: Vec<C>,
        write: impl Fn(&C, &mut Vec<u8>),
    ) -> Row<C> {
        let encoded = |places: &mut dyn Iterator<Item = usize>| {
            let (mut bytes, mut ranges) = (Vec::new(), Vec::new());
            for place in places {
                let start = bytes.len();
                write(&cells[place], &mut bytes);
                let size = (bytes.len() - start) as u64;
                ranges.push((start, bytes.len()));
                bytes.extend_from_slice(&size.to_le_bytes());
            }
            (bytes, ranges)
        };
        let (id, _) = encoded(&mut table.id.iter().copied());
        let (bytes, ranges) = encoded(&mut (0..cells.len()));
        Row {
            key,
            id,
            bytes,
            cells,
            ranges,
        }
    }

    /// Returns the bytes of a cell.
    pub fn cell(&self, place: usize) -> &[u8] {
        let (start, end) = self.ranges[place];
        &self.bytes[start..end]
    }
}

/// Returns the version of a key: a digest of its rows, table by table; `None` when it has none.
pub fn version<C>(tables: &[Vec<Row<C>>], key: &[u8]) -> Option<Version> {
    let mut digest = Sha256::new();
    let mut any = false;
    for rows in tables {
        let own = rows.iter().filter(|row| row.key == key);
        let mut own: Vec<&[u8]> = own.map(|row| &row.bytes[..]).collect();
        own.sort_unstable();
        any |= !own.is_empty();
        digest.update((own.len() as u64).to_le_bytes());
        for row in own {
            digest.update((row.len() as u64).to_le_bytes());
            digest.update(row);
        }
    }
    any.then(|| Version(digest.finalize().to_vec()))
}

/// A connection to one database. After a fault it is closed.
pub trait Database: Sized + Send + 'static {
    /// A cell, as it travels.
    type Cell: Clone + Send;

    /// The name of the table for this kind in the file of a carry, such as `mariadb`.
    const WORD: &'static str;

    /// Connects, and sets whatever the form of values depends on.
    fn open(connection: &str, login: &Login) -> Done<Self>;

    /// Returns what tells this database from all others, by whatever way it is reached: one that is
    /// named for two nodes would lose all that is removed at one of them.
    ///
    /// Errors: one to which nothing can be written.
    fn identity(&mut self) -> Done<String>;

    /// Returns the user, as GRANT writes it.
    fn user(&mut self) -> Done<String>;

    /// Checks that the user may see the foreign keys of all tables.
    fn sees_all(&mut self) -> Done;

    /// Returns the name of a table, quoted, given the operator's name of it.
    ///
    /// Errors: there is no such table.
    fn table(&mut self, given: &str) -> Done<String>;

    /// Describes a table. Errors: one that cannot be carried.
    fn describe(&mut self, named: &Named) -> Done<Table>;

    /// Returns which of the privileges SELECT, INSERT, UPDATE and DELETE the user lacks on a table.
    /// It changes nothing, and no trigger fires.
    fn lacking(&mut self, table: &Table) -> Done<Vec<&'static str>>;

    /// Returns the name of a table, as GRANT writes it.
    fn name_to_grant(&self, table: &Table) -> String {
        table.name.clone()
    }

    /// Returns the columns of a table as they are now, in the order of their names. In a
    /// transaction that has read the table, nobody changes them until its end.
    fn columns(&mut self, table: &Table) -> Done<Vec<Column>>;

    /// Returns all foreign keys at whose ends are tables that the user may know of.
    fn references(&mut self) -> Done<Vec<Reference>>;

    /// Returns the names of the triggers of a table, as far as the user may see them.
    fn triggers(&mut self, table: &Table) -> Done<Vec<String>>;

    /// Returns rows of the child that refer to rows of the parent of another key, [`STRANGERS`] at
    /// most. From the parent's end the rows that are referred to have one of the keys, and those
    /// that refer have another one or NULL. From the child's end it is the other way, but the rows
    /// that are referred to have a key.
    fn strangers(
        &mut self,
        reference: &Reference,
        ends: (&Table, &Table),
        from: End,
        keys: &[&[u8]],
    ) -> Done<Vec<Stranger>>;

    /// Returns the names of all tables that have a column of some name.
    fn with_column(&mut self, column: &str) -> Done<Vec<String>>;

    /// Returns the keys after `after`, in a stable order, [`PAGE`] or more; none at the end.
    fn page(&mut self, tables: &[Table], after: Option<&[u8]>) -> Done<Vec<Vec<u8>>>;

    /// Returns how many rows of a table have the key NULL, up to [`KEYLESS`]: they are no items.
    fn keyless(&mut self, table: &Table) -> Done<u64>;

    /// Returns a mark of a table that is not empty, which is another one when the table was emptied
    /// or made anew, where the database knows such a thing; `None` when it is empty.
    fn mark(&mut self, table: &Table) -> Done<Option<String>>;

    /// Begins a transaction, in which each statement sees what others have committed before it.
    fn begin(&mut self) -> Done;

    /// Returns the rows of some keys. With `lock`, nobody changes or deletes them until the end of
    /// the transaction.
    fn rows(&mut self, table: &Table, keys: &[&[u8]], lock: bool) -> Done<Vec<Row<Self::Cell>>>;

    /// Deletes rows by their primary keys.
    fn delete(&mut self, table: &Table, rows: &[&Row<Self::Cell>]) -> Done;

    /// Inserts rows. A row whose primary key is there already stays as it is, or is replaced.
    fn insert(&mut self, table: &Table, rows: &[&Row<Self::Cell>], replace: bool) -> Done;

    /// Ends the transaction.
    fn commit(&mut self) -> Done;

    /// Checks that the transaction still holds its locks.
    fn holds(&mut self) -> Done;
}

//! What a connection to a database must be able to do, so that rows can be carried: [`Database`].

use sha2::{Digest, Sha256};

use crate::access::Secret;
use crate::carry::kind::{Done, Fault, Version};

/// How many seconds a statement waits for a lock of an application, before it is tried again later.
pub const LOCK: u32 = 2;

/// How many seconds a server waits for a carrier that holds locks and does nothing: one that hangs
/// must not hold writers back for ever.
pub const IDLE: u32 = 30;

/// How many keys a page of a listing has, more or less.
pub const PAGE: usize = 1000;

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
    /// Makes the description of a table from what a database says. `place` names the database.
    pub fn new(
        place: &str,
        named: &Named,
        name: String,
        mut columns: Vec<Column>,
        id: &[String],
        key_type: impl FnOnce(&Column) -> Option<KeyType>,
    ) -> Done<Table> {
        let wrong = |what: String| Err(Fault::final_one(format_args!("{place}: {what}")));
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        let (computed, columns): (Vec<_>, Vec<_>) = columns.into_iter().partition(|c| c.computed);
        let place_of = |name: &str| columns.iter().position(|column| column.name == name);
        let table = &named.table;
        let Some(key) = place_of(&named.key) else {
            return wrong(format!(
                "the table {table} has no column {} that holds a key; give the right `key`",
                named.key
            ));
        };
        let Some(key_type) = key_type(&columns[key]) else {
            return wrong(format!(
                "the column {} of the table {table} has the type {}; a key is an integer, a text, a \
                 UUID or bytes",
                named.key, columns[key].kind
            ));
        };
        let id: Option<Vec<usize>> = id.iter().map(|name| place_of(name)).collect();
        match id.filter(|id| !id.is_empty()) {
            None => wrong(format!(
                "the table {table} has no primary key, so a row that was copied cannot be told from \
                 another one; give it one"
            )),
            Some(id) => Ok(Table {
                name,
                columns,
                computed,
                key,
                key_type,
                id,
            }),
        }
    }

    /// Says in which way another description differs; `None` when it does not.
    pub fn difference(&self, other: &Table) -> Option<String> {
        let mut pairs = [
            (&self.columns, &other.columns),
            (&other.columns, &self.columns),
            (&self.computed, &other.computed),
            (&other.computed, &self.computed),
        ]
        .into_iter();
        let unlike = pairs.find_map(|(from, to)| from.iter().find(|column| !to.contains(column)));
        if let Some(column) = unlike {
            return Some(format!("the column {}", column.name));
        }
        let names = |table: &Table| -> Vec<String> {
            let columns = table.id.iter().map(|&place| &table.columns[place].name);
            columns.cloned().collect()
        };
        (names(self) != names(other)).then(|| "the primary key".to_owned())
    }
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
            let mut bytes = Vec::new();
            for place in places {
                let start = bytes.len();
                write(&cells[place], &mut bytes);
                let size = (bytes.len() - start) as u64;
                bytes.extend_from_slice(&size.to_le_bytes());
            }
            bytes
        };
        Row {
            key,
            id: encoded(&mut table.id.iter().copied()),
            bytes: encoded(&mut (0..cells.len())),
            cells,
        }
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

    /// Connects, and sets whatever the form of values depends on.
    fn open(connection: &str, login: &Login) -> Done<Self>;

    /// Returns what tells this database from all others.
    fn identity(&mut self) -> Done<String>;

    /// Describes a table. Errors: one that cannot be carried.
    fn describe(&mut self, named: &Named) -> Done<Table>;

    /// Returns the names of the tables with foreign keys that refer to a table.
    fn referring(&mut self, table: &Table) -> Done<Vec<String>>;

    /// Returns the keys after `after`, in a stable order, [`PAGE`] or more; none at the end.
    fn page(&mut self, tables: &[Table], after: Option<&[u8]>) -> Done<Vec<Vec<u8>>>;

    /// Whether a table has a row whose key is NULL: it is no item.
    fn has_keyless(&mut self, table: &Table) -> Done<bool>;

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

//! Tables: one value for each holder, role, domain, set or piece, accessible only by the id of that
//! thing.
//!
//! No other file of `rebalance` indexes an array. An id of another kind does not compile. An id
//! that the table does not have panics; the front page of `rebalance` says why that is acceptable.

use std::any::type_name;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The position of a thing among all things of its kind, counted from 0.
pub trait Id: Copy {
    /// The id of a position.
    fn new(place: u32) -> Self;
    /// The position of an id.
    fn place(self) -> u32;
}

/// A table with one value for each id, from 0 on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table<I, T> {
    values: Vec<T>,
    ids: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    /// A table of `len` equal values.
    pub fn filled(len: usize, value: T) -> Table<I, T>
    where
        T: Clone,
    {
        vec![value; len].into()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the table has no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends a value and returns its id.
    pub fn push(&mut self, value: T) -> I {
        let id = id_at(self.values.len());
        self.values.push(value);
        id
    }

    /// The value of an id that comes from a file, or `None` when there is no such value.
    pub fn find(&self, id: I) -> Option<&T> {
        self.values.get(id.place() as usize)
    }

    /// The ids before and after this one.
    pub fn neighbours(&self, id: I) -> [Option<I>; 2] {
        let next = id.place() as usize + 1;
        let next = (next < self.values.len()).then(|| id_at(next));
        [id.place().checked_sub(1).map(I::new), next]
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone {
        (0..self.values.len()).map(id_at)
    }

    /// All values with their ids, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.ids().zip(&self.values)
    }

    /// All values, in order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns all values, in order.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

/// The id of a position.
fn id_at<I: Id>(place: usize) -> I {
    match u32::try_from(place) {
        Ok(place) => I::new(place),
        Err(_) => panic!("{place} is too many for a {}", type_name::<I>()),
    }
}

#[cold]
#[track_caller]
fn unknown<I: Id>(id: I, len: usize) -> ! {
    panic!(
        "{} {} was asked of a table of {len}",
        type_name::<I>(),
        id.place()
    )
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[track_caller]
    fn index(&self, id: I) -> &T {
        match self.values.get(id.place() as usize) {
            Some(value) => value,
            None => unknown(id, self.values.len()),
        }
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[track_caller]
    fn index_mut(&mut self, id: I) -> &mut T {
        let len = self.values.len();
        match self.values.get_mut(id.place() as usize) {
            Some(value) => value,
            None => unknown(id, len),
        }
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(values: Vec<T>) -> Table<I, T> {
        Table {
            values,
            ids: PhantomData,
        }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<V: IntoIterator<Item = T>>(values: V) -> Table<I, T> {
        Vec::from_iter(values).into()
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Table<I, T> {
        Vec::new().into()
    }
}

/// Methods of tables of numbers of cells.
impl<I: Id> Table<I, u128> {
    /// A table of `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Table::filled(len, 0)
    }

    /// Takes up to `cells` from the number of `id`. Returns how many it took.
    pub fn take(&mut self, id: I, cells: u128) -> u128 {
        let number = &mut self[id];
        let taken = cells.min(*number);
        *number -= taken;
        taken
    }

    /// For each id, the amount by which `self` is above `other`, or 0.
    pub fn above(&self, other: &Self) -> Self {
        let pairs = self.values.iter().zip(&other.values);
        pairs.map(|(a, b)| a.saturating_sub(*b)).collect()
    }

    /// The ids with a number above 0, in order.
    pub fn above_zero(&self) -> impl Iterator<Item = I> + '_ {
        self.iter()
            .filter(|(_, cells)| **cells > 0)
            .map(|(id, _)| id)
    }

    /// The sum of all numbers.
    pub fn sum(&self) -> u128 {
        self.values.iter().sum()
    }
}

/// A list of values for each id. All lists share one array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lists<I, T> {
    /// Where each list ends; the next one starts there.
    ends: Table<I, usize>,
    values: Vec<T>,
}

impl<I: Id, T> Lists<I, T> {
    /// The number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        self.ends.ids()
    }

    /// Appends a list and returns its id.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) -> I {
        self.values.extend(list);
        self.ends.push(self.values.len())
    }
}

impl<I: Id, T> Index<I> for Lists<I, T> {
    type Output = [T];

    #[track_caller]
    fn index(&self, id: I) -> &[T] {
        let start = match id.place().checked_sub(1) {
            Some(before) => self.ends[I::new(before)],
            None => 0,
        };
        match self.values.get(start..self.ends[id]) {
            Some(list) => list,
            None => unknown(id, self.len()),
        }
    }
}

impl<I, T> Default for Lists<I, T> {
    fn default() -> Lists<I, T> {
        Lists {
            ends: Table::default(),
            values: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::holder::{ByHolder, HolderId};
    use super::*;

    #[test]
    fn a_table_knows_its_ids_and_their_neighbours() {
        let mut table: Table<HolderId, &str> = Table::default();
        let (a, b) = (table.push("a"), table.push("b"));
        assert_eq!((table[a], table[b], table.len()), ("a", "b", 2));
        assert_eq!(table.neighbours(a), [None, Some(b)]);
        assert_eq!(table.neighbours(b), [Some(a), None]);
        assert_eq!(table.find(HolderId(2)), None);
    }

    #[test]
    #[should_panic(expected = "HolderId 2 was asked of a table of 2")]
    fn a_wrong_id_is_never_read() {
        let _ = ByHolder::zeros(2)[HolderId(2)];
    }

    #[test]
    #[should_panic(expected = "HolderId 2 was asked of a table of 2")]
    fn a_wrong_id_is_never_written() {
        ByHolder::zeros(2)[HolderId(2)] += 1;
    }

    #[test]
    #[should_panic(expected = "HolderId 1 was asked of a table of 1")]
    fn a_wrong_id_has_no_list() {
        let mut lists: Lists<HolderId, u8> = Lists::default();
        let id = lists.push([1, 2]);
        assert_eq!(lists[id], [1, 2]);
        let _ = &lists[HolderId(1)];
    }
}

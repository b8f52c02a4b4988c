//! How amounts are written: as parts of all copies, or as numbers of rows or bytes.

use std::collections::BTreeMap;

use stead::ways::Way;

use crate::canvas::SIZE;
use crate::figures::{brief, grouped_large, percent};
use crate::letters;

/// What moves of the rows or bytes of keys.
#[derive(Clone, Debug)]
pub struct Counted {
    /// What is counted, such as `bytes`; empty if the numbers say enough.
    pub unit: String,
    /// Says in a sentence how much moves.
    pub line: String,
    /// All copies: the sum of all keys, times the larger number of copies of the two maps.
    pub all: u128,
    /// How much goes from which node to which.
    pub ways: BTreeMap<Way, u128>,
}

/// How the amounts of a picture are written.
pub(crate) enum Measure<'a> {
    /// as parts of this many copies of points
    Part(f64),
    /// as numbers of what a file counts
    Number(&'a Counted),
}

impl Measure<'_> {
    /// Returns an amount as a part of all copies.
    pub fn part(&self, amount: u128) -> f64 {
        let all = match self {
            Measure::Part(all) => *all,
            Measure::Number(counted) => counted.all as f64,
        };
        amount as f64 / all.max(1.0)
    }

    /// Writes an amount in full.
    pub fn whole(&self, amount: u128) -> String {
        match self {
            Measure::Part(_) => percent(self.part(amount)),
            Measure::Number(counted) => {
                let number = grouped_large(amount);
                match counted.unit.as_str() {
                    "" => number,
                    unit => format!("{number} {unit}"),
                }
            }
        }
    }

    /// Returns the word for what is counted; empty for parts, and if there is none.
    pub fn unit(&self) -> &str {
        match self {
            Measure::Part(_) => "",
            Measure::Number(counted) => &counted.unit,
        }
    }

    /// Writes amounts beside their bars, so that they leave room for names.
    pub fn beside(&self, amounts: &[u128], room: f64) -> Vec<String> {
        let Measure::Number(_) = self else {
            return amounts.iter().map(|amount| self.whole(*amount)).collect();
        };
        let numbers: Vec<String> = amounts.iter().map(|n| grouped_large(*n)).collect();
        let widths = numbers.iter().map(|number| letters::width(number, SIZE));
        match widths.fold(0.0, f64::max) <= room / 2.0 {
            true => numbers,
            false => amounts.iter().map(|amount| brief(*amount)).collect(),
        }
    }
}

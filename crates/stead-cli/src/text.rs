//! Text for people: shares, rounded exactly to six digits, and tables.

use stead::hash::Hash;
use stead::point::SPACE;
use stead::policy::PolicyId;
use stead::report::{part_to, Amount};
use stead::store::Progress;
use stead::verdict::{Holder, Violation};
use stead::Map;

use crate::exit::Result;
use crate::input::shown;
use crate::output::{Out, HEADING};
use crate::picture::Glyphs;

/// Formats points as a part of R * 2^64, such as `42.857143 %`: rounded half up, without floating
/// point.
pub fn percent(points: u128, replicas: u32) -> String {
    // points < 2^72 and 10^8 < 2^27: the product fits
    let whole = u128::from(replicas.max(1)) * SPACE;
    let millionths = (points * 100_000_000 + whole / 2) / whole;
    format!("{}.{:06} %", millionths / 1_000_000, millionths % 1_000_000)
}

/// How shares that stand below each other are written: as a part of what, and with how many
/// decimals.
#[derive(Clone, Copy)]
pub struct Scale {
    copies: u32,
    decimals: usize,
}

impl Scale {
    /// Two decimals, and more where even the largest share is small: thousands of nodes would all
    /// read `0.01 %`. Shares are parts of `copies` copies of the space.
    pub fn of(largest: u128, copies: u32) -> Scale {
        let percent = u128::from(copies) * SPACE / 100;
        let decimals = match largest {
            share if share >= percent => 2,
            share if share >= percent / 100 => 4,
            _ => 6,
        };
        Scale { copies, decimals }
    }

    /// Returns of how many copies of the space shares are parts.
    pub fn copies(self) -> u32 {
        self.copies
    }

    /// Returns the number of decimals.
    pub fn decimals(self) -> usize {
        self.decimals
    }

    /// Formats a share.
    pub fn part(self, points: u128) -> String {
        part_to(points, self.copies, self.decimals)
    }

    /// Formats a change of points: `+2.08 %`, `-4 points`, `0`.
    pub fn signed(self, change: i128) -> String {
        let size = self.part(change.unsigned_abs()).replace("< ", "<");
        match change {
            0 => "0".to_owned(),
            ..0 => format!("-{size}"),
            _ => format!("+{size}"),
        }
    }
}

/// Formats the points of which a holder is the primary as a part of all points. It equals the
/// holder's share if the holder is the primary of 1/R of its points.
pub fn primary(holder: &Holder) -> String {
    percent(holder.now.primary_points, 1)
}

/// Returns whether pins or named policies give points to any of the holders. Only then the column
/// `pinned` is shown.
pub fn any_pinned<'a>(mut holders: impl Iterator<Item = &'a Holder<'a>>) -> bool {
    holders.any(|holder| holder.pinned_points > 0)
}

/// Formats what a violation is about and what is wrong: `key "justin"  n1,n2: 2 nodes, fewer than
/// 3`.
pub fn told(map: &Map, violation: &Violation) -> String {
    let Some(slice) = violation.slice else {
        return violation.problem.to_string();
    };
    let range = format!("{}..{}", slice.first, slice.last);
    let pin = violation.pin.and_then(|number| map.pins().nth(number));
    let place = match pin {
        None => range,
        Some(pin) => pin.key.map_or(format!("range {range}"), |key| {
            format!("key {}", shown(key))
        }),
    };
    format!(
        "{place}  {}: {}",
        joined(map, slice.policy),
        violation.problem
    )
}

/// Draws how far a gradual change has come.
pub fn bar_of(progress: &Progress) -> String {
    let all = progress.moved.0 + progress.to_come.0;
    Glyphs::of_stdout().progress(progress.moved.0 as f64 / all as f64, 20)
}

/// Formats how far a gradual change has come: `step 2 of about 5`.
pub fn step_of(progress: &Progress) -> String {
    let about = if progress.to_come.0 == 0 {
        ""
    } else {
        "about "
    };
    match (progress.step, progress.steps) {
        (Some(step), Some(steps)) => format!("step {step} of {about}{steps}"),
        (Some(step), None) => format!("step {step}"),
        (None, _) => "a later step".to_owned(),
    }
}

/// Formats a load over what is deserved.
pub fn over(over_mean: Option<f64>) -> String {
    over_mean.map_or("-".to_owned(), |over| format!("{over:.2}"))
}

/// Formats a number of things: `1 slice`, `2 slices`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Says what moves by hand: points as a part of all copies, and pinned keys. Empty if nothing does.
pub fn by_hand(points: u128, keys: usize, copies: u32) -> String {
    // a key is one point: next to many of them, an amount without two decimals says little
    let is_large = points > 0 && Amount::of_copies(points, copies).fraction >= 0.000_05;
    let amount = is_large || (points > 0 && keys == 0);
    let amount = amount.then(|| part_to(points, copies, 2));
    let keys = (keys > 0).then(|| count(keys, "pinned key"));
    let both: Vec<String> = amount.into_iter().chain(keys).collect();
    both.join(", ")
}

/// The width of everything that a person reads.
pub const WIDTH: usize = 80;

/// Breaks a text between its words into lines of at most [`WIDTH`] columns. The first line begins
/// with `first`, the others with `rest`. A list of names that is longer than a line is broken after
/// its commas; another word that is longer than a line has one to itself.
pub fn wrapped(text: &str, first: &str, rest: &str) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let mut lines = vec![first.to_owned()];
    let mut is_empty = true;
    // a percentage stays on one line
    let text = text.replace(" %", "\u{a0}%");
    let room = WIDTH.saturating_sub(width(rest));
    let words = text.split(' ').flat_map(|word| {
        let parts: Vec<&str> = match width(word) > room {
            true => word.split_inclusive(',').collect(),
            false => vec![word],
        };
        (0..).zip(parts)
    });
    for (part, word) in words {
        let gap = usize::from(part == 0);
        let line = lines.last().map_or(0, |line| width(line));
        if !is_empty && line + gap + width(word) > WIDTH {
            lines.push(rest.to_owned());
            is_empty = true;
        }
        if let Some(line) = lines.last_mut() {
            if !is_empty && gap > 0 {
                line.push(' ');
            }
            line.push_str(&word.replace('\u{a0}', " "));
            is_empty = false;
        }
    }
    lines
}

/// Lists names in one piece: all of up to three, otherwise the first two and the last, as in `db9,
/// db10 ... db49`. Numbers in names are ordered by their value.
pub fn sample(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.sort_by(|one, other| natural(one).cmp(&natural(other)).then(one.cmp(other)));
    match names[..] {
        [first, second, .., last] if names.len() > 3 => format!("{first}, {second} ... {last}"),
        _ => names.join(", "),
    }
}

/// Sorts rows as a person would list them: `db2` before `db10`.
pub fn by_name<T>(rows: &mut [T], name: impl Fn(&T) -> &str) {
    rows.sort_by(|one, other| natural(name(one)).cmp(&natural(name(other))));
}

/// Splits a name into texts and numbers, for sorting: numbers by their length and digits, which is
/// the order of their values.
pub fn natural(name: &str) -> Vec<(&str, usize, &str)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let letters = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, more) = rest.split_at(letters);
        let digits = more
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(more.len());
        let (number, more) = more.split_at(digits);
        let number = number.trim_start_matches('0');
        parts.push((text, number.len(), number));
        rest = more;
    }
    parts
}

/// Returns the names of a policy's nodes, primary first, joined by commas. No node name contains a
/// comma.
pub fn joined(map: &Map, policy: PolicyId) -> String {
    let names: Vec<&str> = map
        .policy(policy)
        .members()
        .map(|node| map.node(node).name())
        .collect();
    names.join(",")
}

/// Describes the hash of a map: `md5`, or for an adopted ring also `crc32 modulo 12` or `md5 in
/// 65536 cells`.
pub fn hash(map: &Map) -> String {
    let (hash, cells) = (map.hash(), map.cells());
    let bits = match &hash {
        Hash::Adopted(adopted) => adopted.function.bits(),
        _ => 64,
    };
    let cells = match cells.count() == 1 << bits {
        _ if hash.is_modulo() => format!(" modulo {}", cells.stored()),
        true => String::new(),
        false => format!(" in {} cells", cells.stored()),
    };
    format!(
        "{}{cells}{}",
        hash.name(),
        if hash.affixes().is_some() {
            " with bytes around the key"
        } else {
            ""
        }
    )
}

/// Cuts a text in its middle, so that it has at most so many columns.
fn cut(text: &str, most: usize) -> String {
    const GAP: &str = "...";
    let all = text.chars().count();
    if all <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(GAP.len());
    let end = kept / 2;
    let begin = text.chars().take(kept - end);
    begin
        .chain(GAP.chars())
        .chain(text.chars().skip(all - end))
        .collect()
}

/// The least width to which a column is cut.
const LEAST: usize = 12;

/// A table: rows under a heading, with columns as wide as their widest cell. The columns whose
/// numbers are in `right` are aligned to the right.
pub struct Table {
    right: Vec<usize>,
    /// the columns that are left out where there is no room; `None` lets the table be wider
    dropped: Option<Vec<usize>>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns an empty table with a heading.
    pub fn new(heading: &[&str], right: &[usize]) -> Table {
        Table {
            right: right.to_vec(),
            dropped: None,
            rows: vec![heading.iter().map(|cell| (*cell).to_owned()).collect()],
        }
    }

    /// Returns an empty table of columns, each given by its heading and by whether it is aligned to
    /// the right.
    pub fn of_columns(columns: &[(&str, bool)]) -> Table {
        let heading: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let is_right = |(i, (_, right)): (usize, &(&str, bool))| right.then_some(i);
        let right: Vec<usize> = columns.iter().enumerate().filter_map(is_right).collect();
        Table::new(&heading, &right)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Makes the table fit into [`WIDTH`] columns. Where it would be wider, columns that are empty
    /// are left out, then these columns, in this order. Then texts are cut in their middle, those
    /// of the widest column first.
    pub fn fitted(mut self, dropped: &[usize]) -> Table {
        self.dropped = Some(dropped.to_vec());
        self
    }

    /// Leaves out and cuts what does not fit. Returns the columns that are shown, and the names of
    /// those that have something in them and are not.
    fn fit(&self, widths: &mut [usize]) -> (Vec<usize>, Vec<&str>) {
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        let mut left_out = Vec::new();
        let Some(dropped) = &self.dropped else {
            return (shown, left_out);
        };
        let all = |shown: &[usize], widths: &[usize]| -> usize {
            let columns = shown.iter().filter_map(|column| widths.get(*column));
            columns
                .map(|width| width + 2)
                .sum::<usize>()
                .saturating_sub(2)
        };
        let is_empty = |column: usize| {
            let mut cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
            cells.all(String::is_empty)
        };
        let empty: Vec<usize> = shown.iter().copied().filter(|c| is_empty(*c)).collect();
        for column in empty.iter().chain(dropped) {
            if all(&shown, widths) <= WIDTH {
                break;
            }
            shown.retain(|other| other != column);
            if let Some(name) = self.rows.first().and_then(|row| row.get(*column)) {
                left_out.extend((!empty.contains(column)).then_some(name.as_str()));
            }
        }
        // one column of the terminal at a time, so that two long ones are cut alike
        while all(&shown, widths) > WIDTH {
            let texts = shown.iter().filter(|column| !self.right.contains(column));
            let widest = texts.max_by_key(|column| widths.get(**column));
            match widest.and_then(|column| widths.get_mut(*column)) {
                Some(width) if *width > LEAST => *width -= 1,
                _ => break,
            }
        }
        (shown, left_out)
    }

    /// Writes the table; writes nothing if the table has no rows.
    pub fn write(&self, out: &mut Out) -> Result {
        if self.rows.len() < 2 {
            return Ok(());
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
        };
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| width(column).unwrap_or(0))
            .collect();
        let (shown, left_out) = self.fit(&mut widths);
        let cells = |row: &[String]| -> Vec<(usize, String, usize)> {
            let cells = shown.iter().filter_map(|column| {
                let (cell, width) = (row.get(*column)?, *widths.get(*column)?);
                Some((*column, cut(cell, width), width))
            });
            cells.collect()
        };
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (place, (column, cell, width)) in cells(row).into_iter().enumerate() {
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                let gap = if place == 0 { "" } else { "  " };
                let (before, after) = if self.right.contains(&column) {
                    (space, String::new())
                } else {
                    (String::new(), space)
                };
                line.extend([gap, &before, &cell, &after]);
            }
            let line = line.trim_end();
            out.line(if i == 0 {
                out.paint(HEADING, line)
            } else {
                line.to_owned()
            })?;
        }
        match left_out.is_empty() {
            true => Ok(()),
            false => out.line(format_args!(
                "not shown, for lack of room: {} (--json has all)",
                left_out.join(" and ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_six_digits_and_are_rounded_half_up() {
        assert_eq!(percent(SPACE * 3 / 7, 1), "42.857143 %");
        assert_eq!(percent(SPACE, 1), "100.000000 %");
        assert_eq!(percent(255 * SPACE, 255), "100.000000 %");
        assert_eq!(percent(SPACE, 3), "33.333333 %");
        assert_eq!(
            (percent(0, 1), percent(1, 1)),
            ("0.000000 %".into(), "0.000000 %".into())
        );
    }

    #[test]
    fn a_text_is_broken_between_words_and_never_before_a_percent_sign() {
        let text = format!("{} 33.33 % of the copies", "x".repeat(72));
        assert_eq!(
            wrapped(&text, "! ", "  "),
            [
                format!("! {}", "x".repeat(72)),
                "  33.33 % of the copies".to_owned()
            ]
        );
        assert_eq!(wrapped("short", "  ", "    "), ["  short"]);
        let long = "y".repeat(100);
        assert_eq!(wrapped(&format!("a {long} b"), "", "  ").len(), 3);
    }

    #[test]
    fn a_text_is_cut_in_its_middle() {
        assert_eq!(cut("db1.example.com", 15), "db1.example.com");
        assert_eq!(cut("db1.example.com", 12), "db1.e....com");
        assert_eq!(cut("\u{e4}".repeat(20).as_str(), 9).chars().count(), 9);
    }

    #[test]
    fn a_list_of_names_that_is_longer_than_a_line_is_broken_after_commas() {
        let names: Vec<String> = (0..20).map(|i| format!("node-{i:02}")).collect();
        let lines = wrapped(&format!("held by {}, too", names.join(",")), "  ", "    ");
        assert!(
            lines.len() > 2 && lines.iter().all(|l| l.len() <= WIDTH),
            "{lines:?}"
        );
        let text: String = lines.iter().map(|line| line.trim_start()).collect();
        assert!(text.contains(&names.join(",")), "{text}");
    }

    #[test]
    fn a_table_that_fits_leaves_out_columns_and_then_cuts_the_widest_texts() {
        let mut table = Table::new(&["node", "share", "none", "points", "labels"], &[1, 3]);
        let long = "n".repeat(60);
        table.row([long.as_str(), "1 %", "", "123456789", "zone=a"].map(str::to_owned));
        let table = table.fitted(&[3]);
        let mut widths = [60, 5, 4, 9, 40];
        let (shown, left_out) = table.fit(&mut widths);
        assert_eq!((shown, left_out), (vec![0, 1, 4], vec!["points"]));
        assert_eq!(widths[0] + widths[4], WIDTH - 5 - 4);
        assert!(widths[0].abs_diff(widths[4]) <= 1, "{widths:?}");
        // one that fits is as it was
        let mut widths = [20, 5, 4, 9, 30];
        assert_eq!(table.fit(&mut widths), (vec![0, 1, 2, 3, 4], vec![]));
    }

    #[test]
    fn many_names_are_the_first_two_and_the_last() {
        assert_eq!(sample(&["a", "b", "c"]), "a, b, c");
        assert_eq!(sample(&["a", "b", "c", "d", "e"]), "a, b ... e");
        assert_eq!(
            sample(&["db10", "db11", "db9", "db100"]),
            "db9, db10 ... db100"
        );
    }
}

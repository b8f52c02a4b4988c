//! Names that stand beside each other, shortened so that they fit and can still be told apart.
//!
//! Names of machines are often long and alike, as `store-a07-01.example.net`. The domain that all
//! of them have is left out first, then the middle of what all of them begin with. Only then does
//! a name lose letters of its own.

use std::collections::BTreeSet;

use crate::letters::{cut_inside, width};

/// The least number of letters at the beginning of all names that are left out: fewer are hardly
/// wider than the `…` in their place.
const WORTH: usize = 3;

/// Returns what all names end with, from a dot on, as `.example.net`; empty if they have no such
/// ending. Every name has something before it. An ending of numbers alone is none: it is a part of
/// an address. Of a single name it is all from the first dot on.
pub(crate) fn ending<'a>(names: &[&'a str]) -> &'a str {
    let [first, others @ ..] = names else {
        return "";
    };
    let dots = first.match_indices('.').filter(|(at, _)| *at > 0);
    let is_common = |end: &&str| {
        let has = |name: &&str| name.len() > end.len() && name.ends_with(*end);
        end.contains(char::is_alphabetic) && others.iter().all(has)
    };
    let mut endings = dots.map(|(at, _)| &first[at..]);
    endings.find(is_common).unwrap_or("")
}

/// Shortens names so that each fits into `room` pixels. They lose the middle where they can best be
/// told apart without it.
pub(crate) fn apart(names: &[&str], size: f64, room: f64) -> Vec<String> {
    if let Some(whole) = without_beginning(names, size, room) {
        return whole;
    }
    // the quarters of the letters that are kept at the start; names differ most at both ends
    let ways = [2, 1, 0, 3, 4].map(|quarters| -> Vec<String> {
        let cut = |name: &&str| cut_inside(name, size, room, quarters);
        names.iter().map(cut).collect()
    });
    let different = |way: &&Vec<String>| way.iter().collect::<BTreeSet<_>>().len();
    // of equal ways the first one, which `max_by_key` finds last
    let best = ways.iter().rev().max_by_key(different);
    best.cloned().unwrap_or_default()
}

/// Shortens names so that each fits into `room` pixels, without letters that tell them apart:
/// `…` stands for a part of what all of them begin with. Returns `None` if they do not fit.
pub(crate) fn without_beginning(names: &[&str], size: f64, room: f64) -> Option<Vec<String>> {
    let fit = |names: &[String]| names.iter().all(|name| width(name, size) <= room);
    let whole: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    if fit(&whole) {
        return Some(whole);
    }
    let common = beginning(names);
    let mut letters = common.char_indices();
    let separator = letters.rfind(|(_, c)| !c.is_alphanumeric());
    // a word that is common only in its beginning stays whole if it can
    let words = &common[..separator.map_or(0, |(at, c)| at + c.len_utf8())];
    [words, common].into_iter().find_map(|common| {
        let starts: Vec<usize> = common.char_indices().map(|(at, _)| at).collect();
        let most = starts.len().checked_sub(WORTH)?;
        let short = starts
            .get(..=most)?
            .iter()
            .rev()
            .map(|kept| -> Vec<String> {
                let short = |name: &&str| format!("{}…{}", &common[..*kept], &name[common.len()..]);
                names.iter().map(short).collect()
            });
        short.into_iter().find(|names| fit(names))
    })
}

/// Returns what all names begin with, up to a number: `n1` and `n12` have only `n` in common. Empty
/// for a single name.
fn beginning<'a>(names: &[&'a str]) -> &'a str {
    let [first, others @ ..] = names else {
        return "";
    };
    if others.is_empty() {
        return "";
    }
    let alike = |name: &&str| {
        let pairs = first.char_indices().zip(name.chars());
        let mut differ = pairs.skip_while(|((_, a), b)| a == b);
        // the shorter one may be the beginning of the other one
        let end = first.len().min(name.len());
        differ.next().map_or(end, |((at, _), _)| at)
    };
    let end = others.iter().map(alike).min().unwrap_or(0);
    first[..end].trim_end_matches(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_domain_is_the_longest_that_leaves_something() {
        let names = ["a.eu.example.net", "b.eu.example.net"];
        assert_eq!(ending(&names), ".eu.example.net");
        assert_eq!(
            ending(&["a.eu.example.net", "b.us.example.net"]),
            ".example.net"
        );
        assert_eq!(ending(&["a.example.net", ".example.net"]), ".net");
        assert_eq!(ending(&["a", "b.example.net"]), "");
        assert_eq!(ending(&["a.example.net"]), ".example.net");
        assert_eq!(ending(&["10.0.7.1", "10.1.7.1"]), "");
        assert_eq!(ending(&[]), "");
    }

    #[test]
    fn names_lose_what_they_share_and_keep_what_differs() {
        let names = ["storage-a9-01", "storage-a10-02"];
        assert_eq!(apart(&names, 10.0, 200.0), names);
        let room = width("st…a10-02", 10.0);
        assert_eq!(apart(&names, 10.0, room), ["st…a9-01", "st…a10-02"]);
        let room = width("…a10-02", 10.0);
        assert_eq!(apart(&names, 10.0, room), ["…a9-01", "…a10-02"]);
        // a number stays whole, and two letters are not worth it
        let numbers = ["storage-1", "storage-12", "storage-123"];
        let room = width("…123", 10.0);
        assert_eq!(apart(&numbers, 10.0, room), ["…1", "…12", "…123"]);
        assert_eq!(beginning(&["db1", "db12"]), "db");
        assert_eq!(without_beginning(&["db1", "db12"], 10.0, 1.0), None);
        assert_eq!(beginning(&["é1", "é2"]), "é");
        assert_eq!(beginning(&["n", "n"]), "n");
    }

    #[test]
    fn names_are_cut_where_they_can_be_told_apart() {
        // the middle would tell only by chance where the difference is
        let names = ["1-frankfurt-storage", "2-frankfurt-storage"];
        let room = width("1-fra…rage", 10.0);
        assert_eq!(
            apart(&names, 10.0, room)[0],
            cut_inside(names[0], 10.0, room, 2)
        );
        let names = [
            "eu-a-west-1-b-storage",
            "eu-a-west-2-b-storage",
            "us-a-west-1-b-storage",
        ];
        let short = apart(&names, 10.0, width("eu-a-west-1-b…", 10.0));
        let different: BTreeSet<&String> = short.iter().collect();
        assert_eq!(different.len(), 3, "{short:?}");
        assert!(apart(&[], 10.0, 10.0).is_empty());
    }
}

//! Labels that look alike: `A` and `a`, `rack-1` and `rack1`, `rack01` and `rack1`, `frankfurt` and
//! `frankfrut`. They make different domains, which is rarely what was meant.

use std::collections::{BTreeMap, HashMap};

/// The shortest value in which two swapped letters or a missing one are looked for. Shorter values
/// are often names that differ in one letter on purpose.
const LONG: usize = 5;
/// The longest such value: there are as many slips as letters. Longer values are not typed by hand.
const LONGEST: usize = 64;
/// The most pairs that are looked for among the values of one level. Nobody reads more, and a list
/// of them stays cheap to search.
const MOST: usize = 20;

/// Reduces a value to what it is likely to mean: letters in lower case, and numbers without leading
/// zeros; whatever else is in it only separates.
fn meaning(value: &str) -> String {
    let mut meaning = String::new();
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_digit() {
            let mut number = String::from(letter);
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                number.push(digit);
            }
            // two numbers in a row stay two: 1-2 is not 12
            if meaning.ends_with(|last: char| last.is_ascii_digit()) {
                meaning.push('-');
            }
            let short = number.trim_start_matches('0');
            meaning.push_str(if short.is_empty() { "0" } else { short });
        } else if letter.is_alphanumeric() {
            meaning.extend(letter.to_lowercase());
        }
    }
    meaning
}

/// Returns the values that a slip of the hand makes of this one: two neighbouring letters swapped,
/// or a letter inside missing.
fn slips(value: &str) -> Vec<String> {
    let letters: Vec<char> = value.chars().collect();
    let mut slips = Vec::new();
    if !(LONG..=LONGEST).contains(&letters.len()) {
        return slips;
    }
    for (i, pair) in letters.windows(2).enumerate() {
        let &[a, b] = pair else { continue };
        if a != b && a.is_alphabetic() && b.is_alphabetic() {
            let mut swapped = letters.clone();
            swapped.swap(i, i + 1);
            slips.push(swapped.into_iter().collect());
        }
    }
    for i in 1..letters.len().saturating_sub(1) {
        let mut shorter = letters.clone();
        let was = shorter.remove(i);
        // the values of a series, such as rack-a and rack-aa, are meant to differ
        if was.is_alphabetic() && !letters.starts_with(&shorter) && shorter.len() >= LONG {
            slips.push(shorter.into_iter().collect());
        }
    }
    slips
}

/// Returns the pairs of siblings that look alike, each with the value that more nodes have first.
/// `values` are the values of one level below one domain, with their numbers of nodes.
///
/// Cost: linear in the length of all values for those that differ in case, separators and zeros; a
/// value of one node is also looked up under each of its slips.
pub(super) fn alike<'a>(values: &BTreeMap<&'a str, usize>) -> Vec<(&'a str, &'a str)> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let more = |value: &str| values.get(value).copied().unwrap_or(0);
    let mut pair = |one: &'a str, other: &'a str| {
        let ordered = if more(one) >= more(other) {
            (one, other)
        } else {
            (other, one)
        };
        if pairs.len() < MOST && !pairs.contains(&ordered) {
            pairs.push(ordered);
        }
    };
    let mut known: HashMap<String, &str> = HashMap::new();
    for value in values.keys() {
        let meaning = meaning(value);
        if meaning.is_empty() {
            continue;
        }
        match known.get(meaning.as_str()) {
            Some(other) => pair(other, value),
            None => {
                known.insert(meaning, value);
            }
        }
    }
    let single = values.iter().filter(|(_, nodes)| **nodes == 1);
    for (value, _) in single {
        for slip in slips(&meaning(value)) {
            if let Some(other) = known.get(slip.as_str()) {
                pair(other, value);
            }
        }
    }
    // a letter too few: the shorter value is found among the slips of the longer
    let mut shorter: HashMap<String, &str> = HashMap::new();
    for (value, _) in values.iter().filter(|(_, nodes)| **nodes == 1) {
        shorter.insert(meaning(value), value);
    }
    for (value, _) in values.iter().filter(|(_, nodes)| **nodes > 1) {
        for slip in slips(&meaning(value)) {
            if let Some(other) = shorter.get(slip.as_str()) {
                pair(value, other);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_looked_for_in_values_that_are_typed_by_hand() {
        assert!(slips("rack").is_empty() && slips(&"ab".repeat(33)).is_empty());
        assert_eq!(slips(&"ab".repeat(32)).len(), 63 + 62);
    }

    fn pairs<'a>(values: &[(&'a str, usize)]) -> Vec<(&'a str, &'a str)> {
        alike(&values.iter().copied().collect())
    }

    #[test]
    fn values_that_differ_in_case_separators_or_zeros_look_alike() {
        assert_eq!(pairs(&[("A", 1), ("a", 3)]), [("a", "A")]);
        assert_eq!(pairs(&[("rack-1", 2), ("rack1", 1)]), [("rack-1", "rack1")]);
        assert_eq!(pairs(&[("r01", 1), ("r1", 4), ("r10", 4)]), [("r1", "r01")]);
        assert_eq!(pairs(&[("Süd", 1), ("süd", 2)]), [("süd", "Süd")]);
    }

    #[test]
    fn one_node_with_a_swapped_or_missing_letter_looks_like_the_others() {
        assert_eq!(
            pairs(&[("frankfrut", 1), ("frankfurt", 9)]),
            [("frankfurt", "frankfrut")]
        );
        assert_eq!(
            pairs(&[("frankfrt", 1), ("frankfurt", 9)]),
            [("frankfurt", "frankfrt")]
        );
        assert_eq!(
            pairs(&[("frankffurt", 1), ("frankfurt", 9)]),
            [("frankfurt", "frankffurt")]
        );
    }

    #[test]
    fn the_names_of_a_series_do_not_look_alike() {
        assert!(pairs(&[("a", 1), ("b", 1), ("c", 1)]).is_empty());
        assert!(pairs(&[("rack1", 1), ("rack2", 1), ("rack11", 1), ("rack12", 1)]).is_empty());
        assert!(pairs(&[("rack-a", 1), ("rack-aa", 1), ("rack-b", 1)]).is_empty());
        assert!(pairs(&[("1-2", 1), ("12", 1)]).is_empty());
        assert!(pairs(&[("east", 1), ("west", 1), ("north", 5), ("south", 5)]).is_empty());
    }
}

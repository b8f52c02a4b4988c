//! What a carry is about, and what to do when the file of the carry says something else later.
//!
//! What each state does rests on what the states before it have done for the same data. A table
//! that is listed when the old place does not answer first any more was never copied, and one that
//! is left out then stays at two places. So the journal says with which parts the carry has begun.
//!
//! ```text
//!                        a part     a part is another one     the columns
//! state                  is new     or missing, a kind is new  of a table differ
//! old                    -          -                          -
//! both_old_first         again      refused                    again
//! later, being reversed  refused    refused                    -
//! ```
//!
//! *Again* means that all passes begin again. Where a part is another one, such as a narrower
//! pattern, some of what was copied may not be carried any more, and nobody knows how much.

use std::collections::{BTreeMap, BTreeSet};

use stead::carry::{Carry, State};

use crate::exit::{Failure, Result, USAGE};

/// What a carry is about: what decides which items there are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// The parts, each with what the file says of it. The name of a part begins with the kind, as
    /// in `[files] pattern`.
    pub parts: BTreeMap<String, String>,
    /// What may change while a carry is open, and is compared anew then: the columns of tables.
    pub form: String,
}

impl About {
    /// Returns what has one part.
    pub fn of(part: &str, value: &str) -> About {
        About {
            parts: BTreeMap::from([(part.to_owned(), value.to_owned())]),
            form: String::new(),
        }
    }

    /// Joins what several kinds say.
    pub fn join(all: impl IntoIterator<Item = About>) -> About {
        let mut sum = About::default();
        for about in all {
            sum.parts.extend(about.parts);
            sum.form += &about.form;
        }
        sum
    }

    /// Returns the kinds: names of items in the journal depend on them.
    fn kinds(&self) -> BTreeSet<&str> {
        let word = |part: &'_ String| -> Option<usize> { part.find(']') };
        self.parts
            .keys()
            .map(|part| &part[..word(part).map_or(0, |end| end + 1)])
            .collect()
    }
}

/// Whether the passes of a carry begin again, given with what it has begun and what it is about
/// now.
///
/// Errors: what is another part, where that cannot be mended any more.
pub fn begins_again(then: &About, now: &About, carry: &Carry) -> Result<bool> {
    if then == now || (carry.state == State::Old && !carry.reverse) {
        return Ok(then != now);
    }
    let is_copying = carry.state == State::BothOldFirst && !carry.reverse;
    let lacks = |these: &About, those: &About| -> Vec<String> {
        let names = these
            .parts
            .keys()
            .filter(|name| !those.parts.contains_key(*name));
        names.cloned().collect()
    };
    let (added, missing) = (lacks(now, then), lacks(then, now));
    let is_other = |(name, value): &(&String, &String)| {
        let before = then.parts.get(*name);
        before.is_some_and(|before| before != *value)
    };
    let other: Vec<_> = now.parts.iter().filter(is_other).collect();
    let refused = |what: String, end: &str| {
        Err(Failure::new(
            USAGE,
            format_args!(
                "the file of the carry says something else than when the carry began: {what}; {end}"
            ),
        ))
    };
    let back = match carry.reverse || carry.state == State::New {
        true => "",
        false => {
            ", or first go back with the file as it was, with `stead-sync carry reverse` and `run`"
        }
    };
    if !missing.is_empty() {
        return refused(
            format!("{} is missing", missing.join(", ")),
            &format!(
                "what was copied of it would stay at two places: write it as before until the \
                 carry is closed{back}"
            ),
        );
    }
    if !added.is_empty() && (!is_copying || then.kinds() != now.kinds()) {
        return refused(
            format!("{} is new", added.join(", ")),
            &format!(
                "nothing of it was copied: leave it out until the carry is closed{back}, and name \
                 it before the next carry begins"
            ),
        );
    }
    if let Some((name, _)) = other.first() {
        let before = then.parts.get(*name).cloned().unwrap_or_default();
        return refused(
            format!("{name} was {before:?}"),
            &format!("write that again until the carry is closed{back}"),
        );
    }
    Ok(is_copying)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(parts: &[(&str, &str)], form: &str) -> About {
        let one = parts.iter().map(|(name, value)| About::of(name, value));
        About {
            form: form.to_owned(),
            ..About::join(one)
        }
    }

    fn carry(state: State, reverse: bool) -> Carry {
        Carry {
            state,
            reverse,
            from_epoch: 1,
            from_digest: [0; 32],
        }
    }

    #[test]
    fn more_is_carried_from_the_start_while_data_is_copied_and_other_settings_are_refused() {
        let before = about(&[("[sql] table a", ""), ("[files] pattern", "x")], "1");
        let more = about(
            &[
                ("[sql] table a", ""),
                ("[sql] table b", ""),
                ("[files] pattern", "x"),
            ],
            "2",
        );
        let other = about(&[("[sql] table a", ""), ("[files] pattern", "y")], "1");
        let formed = about(&[("[sql] table a", ""), ("[files] pattern", "x")], "2");
        let kind = about(
            &[
                ("[redis]", ""),
                ("[sql] table a", ""),
                ("[files] pattern", "x"),
            ],
            "1",
        );
        let ends = |then: &About, now: &About| {
            let states = [
                State::Old,
                State::BothOldFirst,
                State::BothNewFirst,
                State::New,
            ];
            let end = |state, reverse| match begins_again(then, now, &carry(state, reverse)) {
                Ok(true) => 'a',
                Ok(false) => '-',
                Err(_) => 'r',
            };
            let forward: String = states.map(|state| end(state, false)).iter().collect();
            forward + &end(State::Old, true).to_string()
        };
        assert_eq!(ends(&before, &before), "-----");
        assert_eq!(ends(&before, &more), "aarrr");
        assert_eq!(ends(&more, &before), "arrrr");
        assert_eq!(ends(&before, &other), "arrrr");
        assert_eq!(ends(&before, &formed), "aa---");
        assert_eq!(ends(&before, &kind), "arrrr");
        let late = begins_again(&before, &more, &carry(State::New, false)).unwrap_err();
        assert!(late.line.contains("[sql] table b is new"), "{late:?}");
    }
}

//! How warnings name many things: the first ones, and how many more there are.

/// How many names a sentence lists, and how many sentences about one thing each there are.
const NAMED: usize = 3;

/// Texts about one thing each. Only the first are made, so that a large map does not take much
/// memory; the others are counted.
#[derive(Default)]
pub(super) struct Texts {
    made: Vec<String>,
    more: usize,
}

impl Texts {
    pub(super) fn add(&mut self, text: impl FnOnce() -> String) {
        if self.made.len() < NAMED {
            self.made.push(text());
        } else {
            self.more += 1;
        }
    }

    /// Returns the texts, and one for the others: `2 more nodes like these`.
    pub(super) fn in_all(mut self, what: &str) -> Vec<String> {
        if self.more > 0 {
            self.made
                .push(format!("{} like these", count(self.more, what)));
        }
        self.made
    }
}

/// Lists names: `a, b and 3 more`.
pub(super) fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let said = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    match more {
        0 => said,
        more => format!("{said} and {more} more"),
    }
}

/// Formats a number of things: `1 pin`, `2 pins`.
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        for (number, end) in [
            (1, "n0"),
            (3, "n0, n1, n2"),
            (4, "n0, n1, n2 and 1 more"),
            (6, "n0, n1, n2 and 3 more"),
        ] {
            let names = (0..number).map(|number| format!("n{number}")).collect();
            assert_eq!(listed(names), end);
        }
        for (number, more) in [
            (3, None),
            (4, Some("1 more node like these")),
            (5, Some("2 more nodes like these")),
        ] {
            let mut texts = Texts::default();
            (0..number).for_each(|number| texts.add(|| format!("text {number}")));
            let all = texts.in_all("more node");
            assert_eq!(all.get(3).map(String::as_str), more, "{all:?}");
        }
    }
}

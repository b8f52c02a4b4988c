//! A finding of the guards: a sentence with figures, and the guard that refuses what it says.

use super::allow::Guard;

/// Fewer points than this are counted, since no percentage of 2^64 would show them.
pub(super) const FEW: u128 = 10_000_000;

/// A harm that a change does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The guard that refuses it; its word lifts it.
    pub guard: Guard,
    /// What the change does, in one sentence without a full stop that starts with a verb: "drops
    /// copies of ...".
    pub text: String,
}

/// Formats a part of a whole as a percentage with two decimal places. A part that would read as 0
/// is given in points.
pub(super) fn share(part: u128, whole: u128) -> String {
    // part is at most 2^80, so the product fits
    let hundredths = (part * 10_000 + whole / 2) / whole.max(1);
    match (hundredths, part) {
        (0, 1) => "1 point".to_owned(),
        (0, 1..FEW) => format!("{part} points"),
        (0, 1..) => "less than 0.01 %".to_owned(),
        _ => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::SPACE;

    #[test]
    fn a_share_has_two_places_and_is_never_shown_as_nothing() {
        for (part, text) in [
            (0, "0.00 %"),
            (1, "1 point"),
            (7, "7 points"),
            (SPACE / 1_000_000, "less than 0.01 %"),
            (SPACE / 10_000, "0.01 %"),
            (SPACE / 3, "33.33 %"),
            (SPACE, "100.00 %"),
        ] {
            assert_eq!(share(part, SPACE), text);
        }
    }
}

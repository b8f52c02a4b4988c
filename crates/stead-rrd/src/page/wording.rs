//! Numbers, times and foreign texts in words for people.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};

use crate::status::Progress;

pub(super) fn ago(now: u64, then: u64) -> String {
    HumanDuration(Duration::from_secs(now.saturating_sub(then))).to_string()
}

pub(super) fn many(count: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        HumanCount(count),
        if count == 1 { "" } else { "s" }
    )
}

/// Formats a fraction as a percentage with one decimal digit. Never rounds to 100 % or to 0 %.
pub(super) fn percent(part: f64) -> String {
    match part * 100.0 {
        all if all >= 100.0 => "100 %".to_owned(),
        much if much > 99.9 => "99.9 %".to_owned(),
        little if little > 0.0 && little < 0.1 => "less than 0.1 %".to_owned(),
        other => format!("{other:.1} %"),
    }
}

/// Makes foreign text safe for a terminal: one line without control characters.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

impl Progress {
    /// Returns a title like `move to epoch 8` or `repair of b1`.
    pub fn title(&self) -> String {
        match &self.repair {
            Some(name) => format!("repair of {}", printable(name)),
            None => format!("move to epoch {}", self.to_epoch),
        }
    }

    /// Returns figures like `12 of 2,000 files, 1 failed, 3.10 MiB, 1.20 MiB/s`.
    pub fn figures(&self) -> String {
        // While the work goes on, all known files are done in two cases: before the servers were
        // listed, and while they are listed again.
        let mut text = match !self.ended && self.done + self.failed >= self.files {
            true => format!("{}, looking for more", many(self.done, "file")),
            false => format!("{} of {}", HumanCount(self.done), many(self.files, "file")),
        };
        if self.failed > 0 {
            let _ = write!(text, ", {} failed", HumanCount(self.failed));
        }
        let _ = write!(text, ", {}", HumanBytes(self.bytes));
        if !self.ended && self.rate > 0 {
            let _ = write!(text, ", {}/s", HumanBytes(self.rate));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_never_rounded_to_all_or_nothing() {
        for (part, text) in [
            (0.0, "0.0 %"),
            (0.0001, "less than 0.1 %"),
            (0.5, "50.0 %"),
            (0.99999, "99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(part), text);
        }
    }
}

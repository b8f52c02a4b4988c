//! Numbers, times and foreign texts in words for people.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};

use crate::status::{Findings, Progress};

pub(super) fn ago(now: u64, then: u64) -> String {
    HumanDuration(Duration::from_secs(now.saturating_sub(then))).to_string()
}

/// Counts something: `1 file`, `1,204 files`.
pub fn many(count: u64, what: &str) -> String {
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
    /// Returns a title like `move to epoch 8`, `repair of b1` or `check`.
    pub fn title(&self) -> String {
        match &self.repair {
            None if self.check.is_some() => "check".to_owned(),
            Some(name) => format!("repair of {}", printable(name)),
            None => format!("move to epoch {}", self.to_epoch),
        }
    }

    /// Returns figures like `12 of 2,000 files, 1 failed, 3.10 MiB, 1.20 MiB/s`.
    ///
    /// Those of a check are like `12 of about 2,000 files compared, 1 differs, 3.10 MiB`.
    pub fn figures(&self) -> String {
        if let Some(check) = &self.check {
            return self.figures_of(check);
        }
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

    fn figures_of(&self, check: &Findings) -> String {
        let about = match self.files > self.done + self.failed {
            // as many as there were in the last pass
            true => format!(" of about {}", HumanCount(self.files)),
            false => String::new(),
        };
        let mut text = compared(self.done, &about, check.differing, self.ended);
        if self.failed > 0 {
            let _ = write!(text, ", {} not compared", HumanCount(self.failed));
        }
        if check.strays > 0 {
            let strays = many(check.strays, "copy").replace("copys", "copies");
            let _ = write!(text, ", {strays} where the map places none");
        }
        let _ = write!(text, ", {}", HumanBytes(self.bytes));
        if !self.ended && self.rate > 0 {
            let _ = write!(text, ", {}/s", HumanBytes(self.rate));
        }
        text
    }
}

/// Returns how many files were compared and how many of them differ, in words. `about` says of how
/// many, where that is known.
pub(super) fn compared(count: u64, about: &str, differing: u64, ended: bool) -> String {
    let files = match (count, about) {
        (0, "") => "no file".to_owned(),
        (0, about) => format!("none{about} files"),
        (1, "") => "1 file".to_owned(),
        (count, about) => format!("{}{about} files", HumanCount(count)),
    };
    match (count, differing, ended) {
        (0, 0, false) => format!("{files} compared yet"),
        (0, 0, true) => format!("{files} compared"),
        _ => format!("{files} compared, {}", differ(differing)),
    }
}

/// Returns how many differ, in words.
fn differ(count: u64) -> String {
    match count {
        0 => "none differs".to_owned(),
        1 => "1 differs".to_owned(),
        count => format!("{} differ", HumanCount(count)),
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

//! The choices of a ring, which users set with `--set NAME=VALUE`.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Error, Result};
use crate::hash::{Affixes, AFFIX_MAX};

/// A setting of a ring.
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// The values that it may have, and its default.
    pub values: Values,
    /// One line that describes it.
    pub about: &'static str,
}

/// The values of a choice.
pub enum Values {
    /// A whole number.
    Number {
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
        /// The default.
        default: u64,
    },
    /// One of some words; the first is the default.
    OneOf(&'static [&'static str]),
    /// Any text; the default is empty.
    Text,
}

impl fmt::Display for Values {
    /// Writes the possible values: `1..255`, `md5|ketama`, `TEXT`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Number { least, most, .. } => write!(f, "{least}..{most}"),
            Values::OneOf(words) => write!(f, "{}", words.join("|")),
            Values::Text => write!(f, "TEXT"),
        }
    }
}

impl Values {
    /// The default, as a user would write it.
    pub fn default_text(&self) -> String {
        match self {
            Values::Number { default, .. } => default.to_string(),
            Values::OneOf(words) => words.first().copied().unwrap_or("").to_owned(),
            Values::Text => String::new(),
        }
    }

    /// Why a text is not one of the values, in words that can follow the text; `None` if it is one.
    fn refuses(&self, text: &str) -> Option<String> {
        match self {
            Values::Number { least, most, .. } => {
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                let fits = digits
                    && text
                        .parse::<u64>()
                        .is_ok_and(|n| (*least..=*most).contains(&n));
                (!fits).then(|| format!("is not a whole number from {least} to {most}"))
            }
            Values::OneOf(words) => {
                (!words.contains(&text)).then(|| format!("is none of {}", words.join(", ")))
            }
            Values::Text => None,
        }
    }
}

/// The checked choices of a ring. A choice that was not set has its default.
pub struct Choices(BTreeMap<&'static str, String>);

impl Choices {
    /// Reads `NAME=VALUE` words. `ring` is the name of the kind, for messages.
    pub(crate) fn of(ring: &str, known: &[Choice], set: &[impl AsRef<str>]) -> Result<Choices> {
        let mut values: BTreeMap<&'static str, String> = known
            .iter()
            .map(|c| (c.name, c.values.default_text()))
            .collect();
        let refuse = |problem: String| Err(Error::Invalid { problem });
        for word in set {
            let word = word.as_ref();
            let Some((name, value)) = word.split_once('=') else {
                return refuse(format!("`{word}` is not NAME=VALUE"));
            };
            let Some(choice) = known.iter().find(|choice| choice.name == name) else {
                let names: Vec<&str> = known.iter().map(|choice| choice.name).collect();
                let known = if names.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has {}", names.join(", "))
                };
                return refuse(format!("the ring {ring} has no choice `{name}`; {known}"));
            };
            if let Some(why) = choice.values.refuses(value) {
                return refuse(format!("{name}={value}: `{value}` {why}"));
            }
            values.insert(choice.name, value.to_owned());
        }
        Ok(Choices(values))
    }

    /// The value of a choice as text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The value of a choice as a number, if its values are numbers.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }

    /// The choice `namespace`: the prefix that the original puts before every key that it hashes.
    pub(crate) fn namespace(&self) -> Result<Affixes> {
        let text = self.text("namespace");
        if text.len() > AFFIX_MAX {
            return Err(Error::Invalid {
                problem: format!("namespace={text}: it is longer than {AFFIX_MAX} bytes"),
            });
        }
        Ok(Affixes {
            prefix: text.as_bytes().to_vec(),
            suffix: Vec::new(),
        })
    }
}

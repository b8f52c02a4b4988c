//! What may be chosen about a ring: `--set NAME=VALUE`.

use std::collections::BTreeMap;
use std::fmt;

use super::Kind;
use crate::error::{Error, Result};

/// Something about a ring that its users can set.
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// What it may be, and what it is when nothing is said.
    pub value: Value,
    /// One line of words.
    pub about: &'static str,
}

/// The values of a choice.
pub enum Value {
    /// A whole number.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// The default.
        default: u64,
    },
    /// One of some words; the first is the default.
    OneOf(&'static [&'static str]),
    /// Any text; the default is empty.
    Text,
}

impl fmt::Display for Value {
    /// What it may be: `1..255`, `md5|ketama`, `TEXT`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number { least, most, .. } => write!(f, "{least}..{most}"),
            Value::OneOf(words) => write!(f, "{}", words.join("|")),
            Value::Text => write!(f, "TEXT"),
        }
    }
}

impl Value {
    /// The default, as it would be written.
    pub fn default_text(&self) -> String {
        match self {
            Value::Number { default, .. } => default.to_string(),
            Value::OneOf(words) => words.first().copied().unwrap_or("").to_owned(),
            Value::Text => String::new(),
        }
    }

    /// Why a text is none of the values, in words that can stand after it.
    fn refuses(&self, text: &str) -> Option<String> {
        match self {
            Value::Number { least, most, .. } => {
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                let fits = digits
                    && text
                        .parse::<u64>()
                        .is_ok_and(|n| (*least..=*most).contains(&n));
                (!fits).then(|| format!("is not a whole number from {least} to {most}"))
            }
            Value::OneOf(words) => {
                (!words.contains(&text)).then(|| format!("is none of {}", words.join(", ")))
            }
            Value::Text => None,
        }
    }
}

/// The choices of a ring, checked; what was not set has its default.
pub struct Choices(BTreeMap<&'static str, String>);

impl Choices {
    /// Reads `NAME=VALUE` words.
    pub(super) fn of(kind: &Kind, set: &[impl AsRef<str>]) -> Result<Choices> {
        let mut values: BTreeMap<&'static str, String> = kind
            .choices
            .iter()
            .map(|c| (c.name, c.value.default_text()))
            .collect();
        let refuse = |problem: String| Err(Error::Invalid { problem });
        for word in set {
            let word = word.as_ref();
            let Some((name, value)) = word.split_once('=') else {
                return refuse(format!("`{word}` is not NAME=VALUE"));
            };
            let Some(choice) = kind.choices.iter().find(|choice| choice.name == name) else {
                let names: Vec<&str> = kind.choices.iter().map(|choice| choice.name).collect();
                let known = if names.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has {}", names.join(", "))
                };
                return refuse(format!(
                    "the ring {} has no choice `{name}`; {known}",
                    kind.name
                ));
            };
            if let Some(why) = choice.value.refuses(value) {
                return refuse(format!("{name}={value}: `{value}` {why}"));
            }
            values.insert(choice.name, value.to_owned());
        }
        Ok(Choices(values))
    }

    /// The text of a choice.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The number of a choice that has one.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}

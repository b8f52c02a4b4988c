//! Items that only their new places have, and items that are newer there than at their old places.
//! Verifying would remove or replace them, so it stops before it does; here is the list of them.

use std::str;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde::Serialize;

use super::kind::{Item, Node};
use crate::exit::Result;

/// Takes the items one by one. An error ends the pass.
pub type Tell<'a> = dyn Fn(Ahead) -> Result + Sync + 'a;

/// Why an item is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Only its new place has it.
    OnlyNew,
    /// The new place has another value, which was written later.
    Newer,
    /// The new place has another value, and nobody knows which is the newer one.
    Different,
}

/// An item that only its new place has, or that is newer there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ahead {
    /// The name, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The name in base64, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_base64: Option<String>,
    /// The node with the old place.
    pub old: String,
    /// The node with the new place.
    pub new: String,
    /// Why it is listed.
    pub what: What,
    /// The name on a line of text.
    #[serde(skip)]
    pub told: String,
}

/// How many items were listed, for each reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Items that only the new place has.
    pub only_new: u64,
    /// Items that were written later at the new place.
    pub newer: u64,
    /// Items with two values, of which nobody knows which is the newer one.
    pub different: u64,
}

impl Ahead {
    /// Describes an item.
    pub fn of(item: &Item, from: &Node, to: &Node, what: What) -> Ahead {
        let text = str::from_utf8(&item.name).ok();
        let is_plain = |text: &&str| !text.chars().any(|c| c.is_control() || c == '\\');
        Ahead {
            item: text.map(str::to_owned),
            item_base64: text.is_none().then(|| STANDARD.encode(&item.name)),
            old: from.name.clone(),
            new: to.name.clone(),
            what,
            told: match text.filter(is_plain) {
                Some(text) => text.to_owned(),
                None => item.name.escape_ascii().to_string(),
            },
        }
    }

    /// Returns a line: the item, the old node, the new one, and the reason, with tabs between them.
    /// A name that is no plain text is escaped as in C.
    pub fn line(&self) -> String {
        let Ahead { told, old, new, .. } = self;
        let what = match self.what {
            What::OnlyNew => "only_new",
            What::Newer => "newer",
            What::Different => "different",
        };
        format!("{told}\t{old}\t{new}\t{what}\n")
    }
}

impl Counted {
    /// Returns how many items were listed.
    pub fn all(&self) -> u64 {
        self.only_new + self.newer + self.different
    }

    /// Returns a sentence.
    pub fn text(&self) -> String {
        let all = [
            (self.only_new, "only at the new place"),
            (self.newer, "newer there"),
            (self.different, "different, and nobody knows which is newer"),
        ];
        let found = all.iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = found
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match told.is_empty() {
            true => "no new place has what its old place lacks, or a newer value of it".to_owned(),
            false => format!("ahead of their old places: {}", told.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_fits_a_line_and_json() {
        let node = |name: &str| Node {
            number: 0,
            name: name.to_owned(),
            attributes: Vec::new(),
        };
        let ahead =
            |name: &[u8]| Ahead::of(&Item::of_key(name), &node("a"), &node("d"), What::Newer);
        for (name, told, json) in [
            ("käse 1".as_bytes(), "käse 1", r#"{"item":"käse 1","#),
            (b"a\tb\\", "a\\tb\\\\", r#"{"item":"a\tb\\","#),
            (b"\xff", "\\xff", r#"{"item_base64":"/w==","#),
        ] {
            let ahead = ahead(name);
            assert_eq!(ahead.line(), format!("{told}\ta\td\tnewer\n"));
            let rest = r#""old":"a","new":"d","what":"newer"}"#;
            assert_eq!(
                serde_json::to_string(&ahead).unwrap(),
                format!("{json}{rest}")
            );
        }
    }
}

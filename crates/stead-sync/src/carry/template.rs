//! Templates in the file of a carry: `{node}` stands for the name of a node, `{NAME}` for its
//! attribute NAME, and `{{` and `}}` for braces.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A piece of a template.
#[derive(PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// A text that stays as it is.
    Text(&'a str),
    /// The name of an attribute, or `node`.
    Name(&'a str),
}

/// Splits a template into its pieces.
///
/// Errors: a brace without its other one. Nothing of the template is shown, since a password may be
/// in it.
pub fn pieces(template: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        pieces.push(Piece::Text(&rest[..at]));
        let is_doubled = rest[at..].starts_with("{{") || rest[at..].starts_with("}}");
        if is_doubled {
            pieces.push(Piece::Text(&rest[at..=at]));
            rest = &rest[at + 2..];
            continue;
        }
        let Some(end) = rest[at..].find('}').filter(|end| *end > 0) else {
            return Err(format!(
                "the brace at character {} has no other one; write {{{{ or }}}} for a brace",
                template[..template.len() - rest.len() + at].chars().count() + 1
            ));
        };
        pieces.push(Piece::Name(&rest[at + 1..at + end]));
        rest = &rest[at + end + 1..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Reads a template, and refuses one with a mistake that no node can mend.
pub fn read<'d, D: Deserializer<'d>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    pieces(&text).map_err(D::Error::custom)?;
    Ok(text)
}

//! The rules for names, which fleets and map files share.

/// The longest name of a map, node, policy or kind, in bytes.
pub const NAME_MAX: usize = 255;
/// The longest label or attribute, name or value, in bytes.
pub const TEXT_MAX: usize = 4095;
/// The most label names of a spread. A report names each domain by its whole path, so with levels
/// without end it would be many times as large as the map.
pub const SPREAD_MAX: usize = 16;

/// Why a text is refused as a name. The message is worded to follow the text itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadName {
    /// The text is empty.
    Empty,
    /// The text is longer than this number of bytes.
    TooLong(usize),
    /// The text has a control character.
    Control,
    /// The text has a comma, which separates node names in the output of `locate`.
    Comma,
}

impl std::fmt::Display for BadName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BadName::Empty => write!(f, "is empty"),
            BadName::TooLong(most) => write!(f, "is longer than {most} bytes"),
            BadName::Control => write!(f, "has a control character"),
            BadName::Comma => write!(f, "has a comma, which separates node names"),
        }
    }
}

/// Checks a free text: at most `most` bytes and no control characters (U+0000-U+001F,
/// U+007F-U+009F). It may be empty.
pub fn check_text(text: &str, most: usize) -> Result<(), BadName> {
    if text.len() > most {
        return Err(BadName::TooLong(most));
    }
    if text.chars().any(char::is_control) {
        return Err(BadName::Control);
    }
    Ok(())
}

/// Checks the name of a map or a label: a text of at least one byte.
pub fn check_name(text: &str, most: usize) -> Result<(), BadName> {
    if text.is_empty() {
        return Err(BadName::Empty);
    }
    check_text(text, most)
}

/// Checks the name of a node or a policy: a name without commas, of at most 255 bytes.
pub fn check_node_name(text: &str) -> Result<(), BadName> {
    check_name(text, NAME_MAX)?;
    if text.contains(',') {
        return Err(BadName::Comma);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_refused_for_one_reason_each() {
        assert_eq!(check_node_name("db1.example.com:3306"), Ok(()));
        assert_eq!(check_node_name("späti 7"), Ok(()));
        assert_eq!(check_node_name(""), Err(BadName::Empty));
        assert_eq!(check_node_name("a,b"), Err(BadName::Comma));
        assert_eq!(check_node_name("a\nb"), Err(BadName::Control));
        assert_eq!(check_node_name("a\u{85}b"), Err(BadName::Control));
        assert_eq!(check_node_name(&"x".repeat(255)), Ok(()));
        assert_eq!(
            check_node_name(&"x".repeat(256)),
            Err(BadName::TooLong(255))
        );
        assert_eq!(check_text("", 0), Ok(()));
    }
}

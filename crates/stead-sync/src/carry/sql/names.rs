//! What an operator means by the name of a table or of a column.
//!
//! A name is read as the database reads it, and a name that is written exactly as the database has
//! it is taken as well. So PostgreSQL's `User_ID` may be the column `user_id` or the column
//! `"User_ID"`; where a table has both, the name is refused.

use crate::carry::kind::{Done, Fault};

/// The most names that a message lists.
const LISTED: usize = 8;

/// Returns the parts of a name as SQL reads it: what is not in double quotes becomes small letters,
/// and blanks around it are left out. `None` if it is no name.
#[cfg(any(feature = "postgres", test))]
pub fn parts(given: &str) -> Option<Vec<String>> {
    let (mut parts, mut rest) = (Vec::new(), given.trim());
    loop {
        let part = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (part, after) = until_quote(quoted)?;
                rest = after;
                part
            }
            None => {
                let (part, after) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                rest = after;
                part.trim_end().to_ascii_lowercase()
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?.trim_start();
    }
}

/// Reads the text in quotes to its end; two quotes stand for one.
#[cfg(any(feature = "postgres", test))]
fn until_quote(text: &str) -> Option<(String, &str)> {
    let (mut part, mut rest) = (String::new(), text);
    loop {
        let (before, after) = rest.split_once('"')?;
        part += before;
        let Some(more) = after.strip_prefix('"') else {
            return Some((part, after));
        };
        part.push('"');
        rest = more;
    }
}

/// Returns which of the known names is meant, if one is: the name itself, or the one that `reads`
/// says the database takes it for.
///
/// Errors: two of them may be meant.
pub fn meant<'a>(
    given: &str,
    known: &[&'a str],
    reads: impl Fn(&str) -> bool,
) -> Done<Option<&'a str>> {
    let exact = known.iter().copied().find(|name| *name == given);
    let read = known.iter().copied().find(|name| reads(name));
    match (exact, read) {
        (Some(exact), Some(read)) if exact != read => Err(Fault::final_one(format_args!(
            "the name {given:?} may mean {exact:?} or {read:?}; write the one that you mean in \
             double quotes: '\"{exact}\"' or '\"{read}\"'"
        ))),
        _ => Ok(exact.or(read)),
    }
}

/// Returns the end of a message about a name that does not exist: the known name that differs only
/// in the case of its letters, or in blanks and signs; otherwise the first of the known names.
/// `what` says what they are.
///
/// ```text
/// ; did you mean "user_id"?
/// ; the columns are "id", "name", "owner"
/// ```
pub fn hint(given: &str, known: &[&str], what: &str) -> String {
    let bare = |name: &str| -> String {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    if let Some(name) = known.iter().find(|name| bare(name) == bare(given)) {
        return format!("; did you mean {}?", shown(name));
    }
    if known.is_empty() {
        return String::new();
    }
    let named = known.iter().take(LISTED).map(|name| shown(name));
    format!("; the {what} are {}{}", joined(named), more(known.len()))
}

/// Writes a name for a message, in quotes, so that a blank at its end is seen.
pub fn shown(name: &str) -> String {
    match name.contains('"') {
        true => format!(
            "'{}'",
            name.escape_debug().to_string().replace("\\\"", "\"")
        ),
        false => format!("{name:?}"),
    }
}

/// Names things for a message: the first ones, and how many more there are.
pub fn listed(names: &[String]) -> String {
    joined(names.iter().take(LISTED).cloned()) + &more(names.len())
}

fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn more(count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_sql_reads_it() {
        for (given, expected) in [
            ("members", Some(vec!["members"])),
            (" User_ID ", Some(vec!["user_id"])),
            ("App . Members", Some(vec!["app", "members"])),
            ("App.\"Mem.bers\"", Some(vec!["app", "Mem.bers"])),
            ("\"a\"\"b\"", Some(vec!["a\"b"])),
            ("user-id", Some(vec!["user-id"])),
            ("", None),
            ("a.", None),
            ("\"a", None),
            ("\"a\"b", None),
        ] {
            let expected = expected.map(|list| list.into_iter().map(str::to_owned).collect());
            assert_eq!(parts(given), expected, "{given}");
        }
    }

    #[test]
    fn the_name_that_is_meant_is_found_and_two_are_refused() {
        let find = |given: &str, known: &[&'static str]| {
            meant(given, known, |name| {
                parts(given).is_some_and(|read| read == [name])
            })
        };
        assert_eq!(find("User_ID", &["id", "user_id"]), Ok(Some("user_id")));
        assert_eq!(find("User_ID", &["id", "User_ID"]), Ok(Some("User_ID")));
        assert_eq!(
            find("user_id", &["User_ID", "user_id"]),
            Ok(Some("user_id"))
        );
        assert_eq!(
            find("\"User_ID\"", &["User_ID", "user_id"]),
            Ok(Some("User_ID"))
        );
        assert_eq!(find("user", &["user_id"]), Ok(None));
        let line = find("User_ID", &["User_ID", "user_id"]).unwrap_err().line;
        assert!(
            line.contains("may mean \"User_ID\" or \"user_id\""),
            "{line}"
        );
    }

    #[test]
    fn a_wrong_name_gets_a_hint() {
        let hint = |given: &str, known: &[&str]| hint(given, known, "columns");
        assert_eq!(
            hint("UserId", &["id", "user_id"]),
            "; did you mean \"user_id\"?"
        );
        assert_eq!(hint("x", &["a", "b"]), "; the columns are \"a\", \"b\"");
        assert_eq!(hint("x", &[]), "");
        assert!(hint("x", &["a"; 9]).ends_with("\"a\" and 1 more"));
    }

    #[test]
    fn a_name_is_shown_in_quotes() {
        for (name, expected) in [
            ("user ", "\"user \""),
            ("\"User\"", "'\"User\"'"),
            ("a\n\"", "'a\\n\"'"),
        ] {
            assert_eq!(shown(name), expected);
        }
    }
}

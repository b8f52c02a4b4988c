//! What a wrong name may have meant, for messages.

/// The most names that a message lists.
const LISTED: usize = 8;

/// Returns the end of a message about a name that does not exist: the nearest of the known names,
/// or, if none is near, the first of them.
///
/// ```text
/// ; did you mean db7?
/// ; known are db1, db2, db3
/// ```
pub fn hint<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = known.collect();
    names.sort_unstable();
    names.dedup();
    match nearest(given, &names) {
        Some(name) => format!("; did you mean {name}?"),
        None if names.is_empty() => String::new(),
        None => {
            let more = names.len().saturating_sub(LISTED);
            names.truncate(LISTED);
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("; known are {}{more}", names.join(", "))
        }
    }
}

/// Returns the known name that is nearest to a wrong one, if one is near.
pub fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    // a third of the characters may be wrong; `db7` is near `db77`, and not `web1`
    let most = (given.chars().count() / 3).max(1);
    let distance =
        |name: &&str| strsim::damerau_levenshtein(&given.to_lowercase(), &name.to_lowercase());
    let nearest = names.iter().copied().min_by_key(distance);
    nearest.filter(|name| distance(name) <= most && distance(name) < given.chars().count())
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn the_nearest_name_is_suggested_and_otherwise_the_first_ones() {
        let hint = |given| hint(given, ["db1", "db2", "web-cache", "db1"].into_iter());
        assert_eq!(hint("web-cahce"), "; did you mean web-cache?");
        assert_eq!(hint("DB2"), "; did you mean db2?");
        assert_eq!(super::hint("x", ["a", "b"].into_iter()), "; known are a, b");
        assert_eq!(hint("xyz"), "; known are db1, db2, web-cache");
        assert_eq!(super::hint("a", [].into_iter()), "");
        let many: Vec<String> = (0..20).map(|i| format!("node-{i:02}")).collect();
        for (number, end) in [
            (8, "node-07"),
            (9, "node-07 and 1 more"),
            (20, "07 and 12 more"),
        ] {
            let hint = super::hint("x", many[..number].iter().map(String::as_str));
            assert!(hint.ends_with(end), "{hint}");
        }
    }
}

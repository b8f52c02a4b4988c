//! Recognises the words in which rrdcached refuses a request.

/// Returns whether rrdcached refuses an UPDATE or a FLUSH because it has no such file. It answers a
/// FORGET with other words when it only has nothing in memory.
pub fn has_no_file(text: &[u8]) -> bool {
    text.starts_with(b"No such file: ")
}

/// Returns whether rrdcached says that there is no such file.
pub fn is_missing(text: &[u8]) -> bool {
    text.ends_with(b"No such file or directory") || text.starts_with(b"No such file")
}

/// Returns whether a backend says that it already has this value or a later one.
pub fn is_repeated(text: &[u8]) -> bool {
    text.starts_with(b"illegal attempt to update using time ")
}

/// Returns the last time of the file, from a refusal of a value that the backend already has or
/// that is older.
pub fn last_time(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, rest) = text.split_once(" when last update time is ")?;
    rest.split(' ').next()?.parse().ok()
}

/// Returns whether rrdcached says that the file of a CREATE exists.
pub fn is_there(text: &[u8]) -> bool {
    text.ends_with(b"File exists")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_told_from_other_errors() {
        for text in [
            "No such file: /b/x.rrd",
            "RRD Error: opening '/b/x': No such file or directory",
            "No such file or directory",
        ] {
            assert!(is_missing(text.as_bytes()), "{text}");
        }
        assert!(!is_missing(b"unknown consolidation function"));
    }

    #[test]
    fn a_repetition_tells_the_last_time() {
        let text = b"illegal attempt to update using time 17.500000 when last update time is \
            18.250000 (minimum one second step)";
        assert!(is_repeated(text));
        assert_eq!(last_time(text), Some(18.25));
        assert_eq!(last_time(b"No such file: x"), None);
    }
}

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
}

//! Names to paths and back.

use stead::path::{path, path_name, Fold, Levels};

/// Levels, and behind a line end a name or a path.
pub fn paths(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n');
    let (levels, rest) = data.split_at(at.unwrap_or(0));
    let rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    let levels = std::str::from_utf8(levels).ok().map(Levels::parse);
    let levels = levels.and_then(Result::ok).unwrap_or_default();
    let again = Levels::parse(&levels.to_string()).expect("levels are read as they are written");
    assert_eq!(again, levels);
    if let Ok(found) = path(rest, &levels, Fold::None) {
        let name = path_name(found.as_bytes(), &levels);
        assert_eq!(name.expect("a path of a name has a name"), rest);
        let deeper = format!("/srv//x/{found}");
        assert_eq!(
            path_name(deeper.as_bytes(), &levels).ok().as_deref(),
            Some(rest)
        );
        let file = found.rsplit('/').next().unwrap_or_default();
        assert!(!file.is_empty() && file.len() <= 255 && file != "." && file != "..");
        assert!(found.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if let Ok(found) = path(rest, &levels, Fold::Ascii) {
        let name = path_name(found.as_bytes(), &levels).expect("so has a folded one");
        assert_eq!(name, rest.to_ascii_lowercase());
    }
    if let Ok(name) = path_name(rest, &levels) {
        let found = path(&name, &levels, Fold::None).expect("a name of a path has a path");
        assert!(rest.ends_with(found.as_bytes()), "and it is the same one");
    }
}

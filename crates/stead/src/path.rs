//! The path of a key: directories that its MD5 picks, then a file name. Normative: docs/paths.md.
//!
//! ```text
//! frank --md5--> 26 25 3c ...   0x26 mod 64 = 38, 0x25 mod 64 = 37, 0x3c mod 128 = 60   -->   38/37/60/frank
//! ```
//!
//! A file name has at least as many bytes as its key, so a key of more than 255 bytes has no path.
//! This is checked first. The folded key then fits into an array on the stack, and appending a path
//! to a buffer needs no other allocation.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::hash;

/// The longest file name, in bytes. This is the limit of ext4, XFS, NTFS, APFS and most others.
pub const LONGEST_NAME: usize = 255;

/// The number of directories on each level: 1 to 16 numbers, each from 1 to 256.
///
/// Level i picks its directory by byte i - 1 of the digest, hence the limits. The default is
/// `64,64,128`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Levels(Vec<u16>);

impl Levels {
    /// Creates levels with these numbers of directories, outermost first.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no level or more than 16, or when a number is not from 1 to
    /// 256.
    pub fn new(directories: &[u16]) -> Result<Levels> {
        if !(1..=16).contains(&directories.len()) {
            return Err(invalid(format!(
                "there are {} levels; MD5 has bytes for 1 to 16",
                directories.len()
            )));
        }
        match directories.iter().position(|n| !(1..=256).contains(n)) {
            Some(i) => Err(invalid(format!(
                "level {} has {} directories; a byte picks from 1 to 256",
                i + 1,
                directories[i]
            ))),
            None => Ok(Levels(directories.to_vec())),
        }
    }

    /// Reads levels that are written like `64,64,128`: decimal numbers separated by commas, nothing
    /// else.
    ///
    /// # Errors
    /// [`Error::Invalid`], with the number of the wrong level.
    pub fn parse(text: &str) -> Result<Levels> {
        let mut directories = Vec::new();
        for (i, number) in text.split(',').enumerate() {
            let decimal = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            // `new` refuses a number that is out of range; one that does not fit into u16 is
            // refused here
            match number.parse::<u16>() {
                Ok(n) if decimal => directories.push(n),
                _ => {
                    let (level, shown) = (i + 1, number.chars().take(20).collect::<String>());
                    return Err(invalid(format!(
                        "level {level} is {shown:?}, not a number from 1 to 256"
                    )));
                }
            }
        }
        Levels::new(&directories)
    }

    /// The number of directories on each level, outermost first.
    pub fn directories(&self) -> &[u16] {
        &self.0
    }

    /// Appends the path of `key` to `buffer`. Appends nothing when it fails.
    ///
    /// # Errors
    /// [`Error::Name`] when the file name would be longer than 255 bytes.
    pub fn append_path(&self, key: &[u8], fold: Fold, buffer: &mut String) -> Result<()> {
        let length = key
            .iter()
            .fold(0usize, |sum, byte| {
                sum.saturating_add(if stands(fold.byte(*byte)) { 1 } else { 3 })
            })
            .max(1);
        if length > LONGEST_NAME {
            return Err(Error::Name { length });
        }
        let mut folded = [0u8; LONGEST_NAME];
        let folded = &mut folded[..key.len()];
        for (to, from) in folded.iter_mut().zip(key) {
            *to = fold.byte(*from);
        }
        for (byte, directories) in hash::md5(folded).iter().zip(&self.0) {
            push_decimal(u16::from(*byte) % directories, buffer);
            buffer.push('/');
        }
        if folded.is_empty() {
            buffer.push('=');
        }
        for byte in folded.iter() {
            if stands(*byte) {
                buffer.push(char::from(*byte));
            } else {
                const HEX: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
                ];
                buffer.extend([
                    '=',
                    HEX[usize::from(byte >> 4)],
                    HEX[usize::from(byte & 15)],
                ]);
            }
        }
        Ok(())
    }
}

impl Default for Levels {
    fn default() -> Levels {
        Levels(vec![64, 64, 128])
    }
}

impl FromStr for Levels {
    type Err = Error;

    fn from_str(text: &str) -> Result<Levels> {
        Levels::parse(text)
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, directories) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{directories}")?;
        }
        Ok(())
    }
}

/// Whether names that differ only in upper and lower case are the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fold {
    /// The bytes of the key stay as they are.
    #[default]
    None,
    /// A-Z become a-z before anything else. No other byte changes.
    Ascii,
}

impl Fold {
    /// Returns the key as it is hashed. Allocates only if a byte changes.
    pub fn apply<'a>(&self, key: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            Fold::Ascii if key.iter().any(u8::is_ascii_uppercase) => {
                Cow::Owned(key.to_ascii_lowercase())
            }
            _ => Cow::Borrowed(key),
        }
    }

    fn byte(self, byte: u8) -> u8 {
        match self {
            Fold::None => byte,
            Fold::Ascii => byte.to_ascii_lowercase(),
        }
    }
}

impl FromStr for Fold {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fold> {
        match text {
            "none" => Ok(Fold::None),
            "ascii" => Ok(Fold::Ascii),
            _ => Err(Error::Invalid {
                problem: format!("fold is {text:?}; write none or ascii"),
            }),
        }
    }
}

/// Returns the path of a key, such as `38/37/60/frank`.
///
/// Different keys have different paths, even on a file system that ignores case. For many keys, use
/// [`Levels::append_path`], which reuses one buffer.
///
/// # Errors
/// [`Error::Name`] when the file name would be longer than 255 bytes.
pub fn path(key: &[u8], levels: &Levels, fold: Fold) -> Result<String> {
    let mut path = String::new();
    levels.append_path(key, fold, &mut path)?;
    Ok(path)
}

/// Returns the name that has this path: the inverse of [`path`] without folding.
///
/// The last parts of the path must be the directories of the name and its file name. What comes
/// before them is ignored, so an absolute path is fine.
///
/// # Errors
/// [`Error::NoName`] when no name has this path: it has too few parts, its file name is not one
/// that [`path`] makes, or the directories are not those of the name.
pub fn path_name(path: &[u8], levels: &Levels) -> Result<Vec<u8>> {
    let wrong = |problem: String| Error::NoName {
        path: path.to_vec(),
        problem,
    };
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let file = parts.next().unwrap_or_default();
    let name = name_of(file).map_err(wrong)?;
    let digest = hash::md5(&name);
    let expected = digest.iter().zip(&levels.0);
    for (i, (byte, directories)) in expected.enumerate().rev() {
        let Some(found) = parts.next() else {
            let (least, there) = (levels.0.len(), levels.0.len() - 1 - i);
            return Err(wrong(format!(
                "it has {there} of the {least} directories that levels {levels} need; give the \
                 whole path, or the levels of the tree"
            )));
        };
        let mut right = String::new();
        push_decimal(u16::from(*byte) % directories, &mut right);
        if found != right.as_bytes() {
            return Err(wrong(format!(
                "the directory of level {} is `{}`, and this name belongs into `{right}`; put the \
                 file there, or give the levels of the tree (they are {levels} now)",
                i + 1,
                shown(found)
            )));
        }
    }
    Ok(name)
}

/// Returns the name of a file name, or what is wrong with it.
fn name_of(file: &[u8]) -> std::result::Result<Vec<u8>, String> {
    if file.len() > LONGEST_NAME {
        return Err(format!(
            "the file name has {} bytes, and no path has more than {LONGEST_NAME}; is this a path \
             of stead?",
            file.len()
        ));
    }
    if file.is_empty() {
        return Err("it ends with `/`, so it has no file name; name a file".to_owned());
    }
    if file == b"=" {
        return Ok(Vec::new());
    }
    let mut name = Vec::with_capacity(file.len());
    let mut rest = file;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if stands(*byte) {
            name.push(*byte);
            continue;
        }
        if *byte != b'=' {
            return Err(format!(
                "a file name of stead has only a-z, 0-9, _ and =, and this one has `{}`; is this a \
                 path of stead?",
                shown(&[*byte])
            ));
        }
        let digit = |digit: &u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let escaped = match rest {
            [high, low, after @ ..] => {
                rest = after;
                digit(high)
                    .zip(digit(low))
                    .map(|(high, low)| high << 4 | low)
            }
            _ => None,
        };
        match escaped {
            None => {
                return Err(
                    "after `=` two lower-case hex digits must follow; is this a path of \
                            stead?"
                        .to_owned(),
                )
            }
            Some(byte) if stands(byte) => {
                return Err(format!(
                    "`={byte:02x}` stands for `{}`, which is never escaped; is this a path of \
                     stead?",
                    char::from(byte)
                ))
            }
            Some(byte) => name.push(byte),
        }
    }
    Ok(name)
}

/// Prepares a part of a path for a message: one line, and not long.
fn shown(part: &[u8]) -> String {
    let text = String::from_utf8_lossy(part);
    let mut out: String = text
        .chars()
        .take(40)
        .flat_map(char::escape_default)
        .collect();
    if text.chars().nth(40).is_some() {
        out.push_str("...");
    }
    out
}

/// Whether the byte is written as itself in a file name.
fn stands(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

/// Appends a number below 256 in decimal.
fn push_decimal(number: u16, buffer: &mut String) {
    for (divisor, least) in [(100, 100), (10, 10), (1, 0)] {
        if number >= least {
            buffer.push(char::from(b'0' + (number / divisor % 10) as u8));
        }
    }
}

fn invalid(problem: String) -> Error {
    Error::Invalid {
        problem: format!("levels: {problem}; write them like 64,64,128"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use std::collections::HashSet;

    #[test]
    fn the_examples_of_the_page_hold() {
        let levels = Levels::default();
        for (key, fold, expected) in [
            ("frank", Fold::None, "38/37/60/frank"),
            ("frank\n", Fold::None, "18/40/72/frank=0a"),
            ("Frank", Fold::None, "57/28/119/=46rank"),
            ("Frank", Fold::Ascii, "38/37/60/frank"),
            ("", Fold::None, "20/29/12/="),
        ] {
            assert_eq!(
                path(key.as_bytes(), &levels, fold).unwrap(),
                expected,
                "{key:?}"
            );
        }
    }

    #[test]
    fn directory_numbers_are_the_digest_bytes_in_decimal() {
        let levels = Levels::new(&[256; 16]).unwrap();
        // MD5(frank) = 26253c50741faa9c2e2b836773c69fe6
        let expected = "38/37/60/80/116/31/170/156/46/43/131/103/115/198/159/230/frank";
        assert_eq!(path(b"frank", &levels, Fold::None).unwrap(), expected);
        for number in 0..256 {
            let mut text = String::new();
            push_decimal(number, &mut text);
            assert_eq!(text, number.to_string());
        }
    }

    #[test]
    fn every_name_of_up_to_two_bytes_has_a_path_of_its_own_in_the_alphabet() {
        let levels = Levels::new(&[1]).unwrap(); // one directory: the file names alone must differ
        let mut keys = vec![vec![]];
        keys.extend((0..=255).map(|a| vec![a]));
        keys.extend((0..=65_535u16).map(|ab| ab.to_be_bytes().to_vec()));
        let mut seen = HashSet::new();
        for key in &keys {
            let path = path(key, &levels, Fold::None).unwrap();
            let name = path.strip_prefix("0/").unwrap();
            assert!(
                !name.is_empty() && name != "." && name != "..",
                "{key:?}: {name:?}"
            );
            assert!(
                name.bytes().all(|b| stands(b) || b == b'='),
                "{key:?}: {name:?}"
            );
            assert!(seen.insert(name.to_lowercase()), "{key:?}: {name:?} twice");
        }
        assert_eq!(seen.len(), 1 + 256 + 65_536);
    }

    #[test]
    fn a_file_name_has_at_most_255_bytes() {
        let levels = Levels::default();
        let length = |key: &[u8]| {
            path(key, &levels, Fold::None).map(|path| path.rsplit('/').next().unwrap().len())
        };
        assert_eq!(length(&[b'a'; 255]).unwrap(), 255);
        assert_eq!(length(&[b'.'; 85]).unwrap(), 255);
        for (key, expected) in [
            (vec![b'a'; 256], 256),
            (vec![b'.'; 86], 258),
            (vec![0xff; 1_000_000], 3_000_000),
        ] {
            let mut buffer = "kept".to_owned();
            let error = levels
                .append_path(&key, Fold::None, &mut buffer)
                .unwrap_err();
            assert!(
                matches!(error, Error::Name { length } if length == expected),
                "{error}"
            );
            assert_eq!((buffer.as_str(), error.status()), ("kept", Status::Name));
        }
        // 100 capital letters need 300 bytes; folded they need 100
        assert!(path(&[b'A'; 100], &levels, Fold::None).is_err());
        assert_eq!(
            path(&[b'A'; 100], &levels, Fold::Ascii).unwrap(),
            path(&[b'a'; 100], &levels, Fold::None).unwrap()
        );
    }

    #[test]
    fn a_path_leads_back_to_its_name() {
        let default = Levels::default();
        let uneven = Levels::parse("7,3,100,1").unwrap();
        let mut keys: Vec<Vec<u8>> = vec![vec![], vec![b'a'; 255], vec![b'.'; 85]];
        keys.extend((0..=255).map(|a| vec![a]));
        keys.extend((0..=65_535u16).map(|ab| ab.to_be_bytes().to_vec()));
        for key in keys {
            for levels in [&default, &uneven] {
                let found = path(&key, levels, Fold::None).unwrap();
                assert_eq!(path_name(found.as_bytes(), levels).unwrap(), key);
            }
        }
        let above: &[&[u8]] = &[
            b"/nas/38/37/60/frank",
            b"./38/37/60/frank",
            b"\xff/38/37/60/frank",
        ];
        for path in above {
            assert_eq!(path_name(path, &default).unwrap(), b"frank");
        }
        // a folded name comes back folded
        let folded = path(b"Frank", &default, Fold::Ascii).unwrap();
        assert_eq!(path_name(folded.as_bytes(), &default).unwrap(), b"frank");
    }

    #[test]
    fn a_path_that_no_name_has_is_refused() {
        let levels = Levels::default();
        let long = format!("1/2/3/{}", "a".repeat(256));
        for (path, part) in [
            ("", "no file name"),
            ("38/37/60/", "no file name"),
            (
                "frank",
                "it has 0 of the 3 directories that levels 64,64,128 need",
            ),
            ("37/60/frank", "it has 2 of the 3"),
            (
                "/37/60/frank",
                "level 1 is ``, and this name belongs into `38`",
            ),
            (
                "38/37/61/frank",
                "level 3 is `61`, and this name belongs into `60`",
            ),
            ("38/037/60/frank", "level 2 is `037`"),
            ("38/37//frank", "level 3 is ``"),
            ("38/37/60/Frank", "has `F`"),
            ("57/28/119/=46rank=2E", "two lower-case hex digits"),
            ("57/28/119/=46rank=", "two lower-case hex digits"),
            ("57/28/119/=46rank=2", "two lower-case hex digits"),
            ("57/28/119/==", "two lower-case hex digits"),
            ("38/37/60/fr=61nk", "`=61` stands for `a`"),
            ("38/37/60/frank.rrd", "has `.`"),
            ("38/37/60/fr\nnk", "has `\\n`"),
            (&long, "the file name has 256 bytes"),
        ] {
            let error = path_name(path.as_bytes(), &levels).unwrap_err();
            assert_eq!(error.status(), Status::Name);
            let text = error.to_string();
            assert!(
                text.contains(part) && !text.contains('\n'),
                "{path}: {text}"
            );
        }
        // the right name at the wrong levels says which levels were asked for
        let other = path_name(b"6/2/frank", &Levels::parse("10,4").unwrap()).unwrap_err();
        assert!(other.to_string().contains("they are 10,4 now"), "{other}");
    }

    #[test]
    fn folding_changes_capital_ascii_letters_and_nothing_else() {
        let all: Vec<u8> = (0..=255).collect();
        let folded = Fold::Ascii.apply(&all);
        for byte in 0..=255u8 {
            let expected = if byte.is_ascii_uppercase() {
                byte + 32
            } else {
                byte
            };
            assert_eq!(
                (folded[usize::from(byte)], Fold::Ascii.byte(byte)),
                (expected, expected)
            );
        }
        assert!(matches!(Fold::Ascii.apply(b"frank"), Cow::Borrowed(_)));
        assert!(matches!(
            Fold::None.apply(b"Frank"),
            Cow::Borrowed(b"Frank")
        ));
    }

    #[test]
    fn a_buffer_collects_paths() {
        let mut buffer = String::new();
        for key in ["frank", ""] {
            Levels::default()
                .append_path(key.as_bytes(), Fold::None, &mut buffer)
                .unwrap();
            buffer.push('\n');
        }
        assert_eq!(buffer, "38/37/60/frank\n20/29/12/=\n");
    }

    #[test]
    fn levels_are_1_to_16_numbers_from_1_to_256() {
        for good in ["64,64,128", "1", "256", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,256"] {
            assert_eq!(Levels::parse(good).unwrap().to_string(), good);
        }
        assert_eq!(Levels::parse("64,64,128").unwrap(), Levels::default());
        for (bad, part) in [
            ("", "level 1 is \"\""),
            ("64,", "level 2 is \"\""),
            ("64, 64", "level 2 is \" 64\""),
            ("+64", "level 1 is \"+64\""),
            ("0", "level 1 has 0 directories"),
            ("64,257", "level 2 has 257 directories"),
            ("99999", "level 1 is \"99999\""),
            ("64;64", "level 1 is \"64;64\""),
            ("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "17 levels"),
        ] {
            let error = bad.parse::<Levels>().unwrap_err();
            assert!(
                matches!(error, Error::Invalid { .. }) && error.to_string().contains(part),
                "{bad}: {error}"
            );
        }
        assert!(Levels::new(&[]).is_err());
    }

    #[test]
    fn fold_is_written_none_or_ascii() {
        assert_eq!("ascii".parse::<Fold>().unwrap(), Fold::Ascii);
        assert_eq!("none".parse::<Fold>().unwrap(), Fold::None);
        assert!("ASCII".parse::<Fold>().is_err());
    }
}

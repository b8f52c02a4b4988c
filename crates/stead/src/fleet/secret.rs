//! `hash`, `secret` and `secret_file`: which hash the fleet uses.
//!
//! No message shows a secret, or a text that may contain a secret by mistake.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::reader::{At, Reader};
use super::tree::shown;
use crate::hash::{Hash, Secret};

/// The three values, as far as the fleet has them.
#[derive(Default)]
pub(super) struct Secrets {
    pub hash: Option<At<String>>,
    pub secret: Option<At<String>>,
    pub secret_file: Option<At<String>>,
    /// One of the three is not a string. This mistake is already noted, so a value that is missing
    /// because of it is not reported.
    pub broken: bool,
}

/// A file with 32 hex digits and white space around them is far smaller. The limit stops reading
/// from an endless device.
const LARGEST: u64 = 4096;

/// The number of bytes of a path that a message shows in full.
const LONGEST_SHOWN: usize = 1024;

/// Returns the hash, or `None` when the fleet names none or a mistake was noted.
pub(super) fn hash(reader: &mut Reader, secrets: Secrets) -> Option<Hash> {
    let Secrets {
        hash,
        secret,
        secret_file,
        broken,
    } = secrets;
    if broken {
        return None;
    }
    if let (Some(secret), Some(secret_file)) = (&secret, &secret_file) {
        let at = secret.at.max(secret_file.at);
        reader.wrong::<()>(at, || {
            "secret and secret_file are both given; keep one of them".to_owned()
        });
    }
    let given = secret
        .as_ref()
        .map(|s| (s.at, "secret"))
        .or(secret_file.as_ref().map(|s| (s.at, "secret_file")));
    let Some(hash) = hash else {
        if let Some((at, key)) = given {
            reader.wrong::<()>(at, || {
                format!("{key} is given without a hash; write hash = \"siphash\", or remove it")
            });
        }
        return None;
    };
    let plain = match hash.it.as_str() {
        "md5" => Some(Hash::Md5),
        "sha1" => Some(Hash::Sha1),
        "xxh3" => Some(Hash::Xxh3),
        "siphash" => None,
        other => {
            // a long text is not shown: it may be a secret in the wrong line
            let name = if other.len() <= 16 {
                format!(" `{}`", shown(other))
            } else {
                String::new()
            };
            return reader.wrong(hash.at, || {
                format!(
                    "unknown hash{name}; known hashes: {}",
                    Hash::NAMES.join(", ")
                )
            });
        }
    };
    if let (Some(plain), Some((at, key))) = (&plain, given) {
        let name = plain.name();
        reader.wrong::<()>(at, || {
            format!(
                "{key} is for siphash only, and hash is {name}; remove it, \
                or write hash = \"siphash\""
            )
        });
    }
    if plain.is_some() {
        return plain;
    }
    let secret = match (secret, secret_file) {
        (Some(secret), _) => match Secret::from_hex(&secret.it) {
            Some(secret) => secret,
            None => {
                return reader.wrong(secret.at, || {
                    "secret is not 32 hex digits; write 32 of \
                0-9 and a-f"
                        .to_owned()
                })
            }
        },
        (None, Some(file)) => {
            if Secret::from_hex(&file.it).is_some() {
                // not shown, because it looks like a secret
                return reader.wrong(file.at, || {
                    "secret_file is a secret instead of a file name; \
                    write secret = ..."
                        .to_owned()
                });
            }
            let path = reader.source.directory.join(&file.it);
            match read(&path) {
                Ok(secret) => secret,
                Err(why) => {
                    return reader.wrong(file.at, || {
                        format!("secret_file {} {why}", shown_path(&path))
                    });
                }
            }
        }
        (None, None) => {
            return reader.wrong(hash.at, || {
                "siphash needs a secret; add secret = \"32 hex digits\" or secret_file = \"its \
                 file\""
                    .to_owned()
            })
        }
    };
    Some(Hash::SipHash(secret))
}

/// Shows a path in one line. It is shown in full, because the user has to find the file; only a
/// path that hardly anybody has is cut.
fn shown_path(path: &Path) -> String {
    let text = path.display().to_string();
    match text.len() {
        0..=LONGEST_SHOWN => text
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect(),
        _ => shown(&text),
    }
}

#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_fifo(_path: &Path) -> bool {
    false
}

/// Reads a secret. The error says why it could not, in words that follow the file's name.
fn read(path: &Path) -> Result<Secret, String> {
    let cannot = |error: io::Error| {
        format!("cannot be read ({error}); correct the path or the file's permissions")
    };
    let mut bytes = Vec::new();
    if is_fifo(path) {
        return Err(
            "is a FIFO, which may never answer; name a file that holds the secret".to_owned(),
        );
    }
    File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(cannot)?;
    let text = std::str::from_utf8(bytes.trim_ascii()).ok();
    text.and_then(Secret::from_hex).ok_or_else(|| {
        "does not hold 32 hex digits and nothing else; write 32 of 0-9 and a-f into it".to_owned()
    })
}

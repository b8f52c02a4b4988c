//! The highest term that an agent knows. It refuses to write and to remove for any router of an
//! older one, so that two routers never change the same files.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use super::wire::broken;
use crate::dirs::put;
use crate::term::Term;

/// The file in the base that keeps the term.
const NAME: &str = ".stead-rrd-term";

/// The term that an agent obeys.
pub(super) struct Fence {
    /// `None`: nothing may be written.
    base: Option<PathBuf>,
    highest: RwLock<Term>,
}

impl Fence {
    /// Reads the term that is kept in the base.
    pub(super) fn open(base: PathBuf, read_only: bool) -> io::Result<Fence> {
        let path = base.join(NAME);
        let highest = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let text = format!(
                    "{}: {error}; remove it, unless two routers run",
                    path.display()
                );
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Term::default(),
            Err(error) => {
                let text = format!("{}: {error}", path.display());
                return Err(io::Error::new(error.kind(), text));
            }
        };
        Ok(Fence {
            base: (!read_only).then_some(base),
            highest: RwLock::new(highest),
        })
    }

    /// Takes the term of a router, and returns the highest one. A higher one is on disk before
    /// this returns, and nothing that an older one has begun is put in its place later.
    pub(super) fn hear(&self, term: Term) -> io::Result<Term> {
        let mut highest = self.highest.write().unwrap_or_else(PoisonError::into_inner);
        if term > *highest {
            if let Some(base) = &self.base {
                let mut text = serde_json::to_vec(&term)?;
                text.push(b'\n');
                put(base, NAME, &text)?;
            }
            *highest = term;
        }
        Ok(*highest)
    }

    /// Does work of a router of this term, unless a higher one is known.
    pub(super) fn pass<T>(
        &self,
        term: Term,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let highest = self.highest.read().unwrap_or_else(PoisonError::into_inner);
        if term >= *highest {
            return work();
        }
        let what = match term.number {
            0 => format!(
                "this one runs without --standby; if there is one router only, stop this agent \
                and remove {NAME} in its base"
            ),
            _ => format!("this one is of {term}"),
        };
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("another router is the primary since {highest}; {what}"),
        ))
    }
}

/// Encodes a term for the wire.
pub(super) fn bytes_of(term: Term) -> [u8; 16] {
    let mut bytes = [0; 16];
    let (number, owner) = bytes.split_at_mut(8);
    number.copy_from_slice(&term.number.to_le_bytes());
    owner.copy_from_slice(&term.owner.to_le_bytes());
    bytes
}

/// Decodes a term from the wire.
pub(super) fn term_from(body: &[u8]) -> io::Result<Term> {
    let found = body.split_first_chunk().and_then(|(number, owner)| {
        Some(Term {
            number: u64::from_le_bytes(*number),
            owner: u64::from_le_bytes(owner.try_into().ok()?),
        })
    });
    found.ok_or_else(|| broken("a term that is cut off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_term_is_refused_after_a_restart_too() {
        let base = tempfile::tempdir().unwrap();
        let open = || Fence::open(base.path().to_owned(), false).unwrap();
        let term = |number, owner| Term { number, owner };
        let fence = open();
        // without a second router nothing is refused
        fence.pass(term(0, 0), || Ok(())).unwrap();
        assert_eq!(fence.hear(term(2, 5)).unwrap(), term(2, 5));
        assert_eq!(fence.hear(term(1, 9)).unwrap(), term(2, 5));
        drop(fence);
        let fence = open();
        fence.pass(term(2, 5), || Ok(())).unwrap();
        for old in [term(0, 0), term(1, 9), term(2, 4)] {
            let error = fence.pass(old, || Ok(())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(error.to_string().contains("since term 2"), "{error}");
        }
        assert_eq!(term_from(&bytes_of(term(2, 5))).unwrap(), term(2, 5));
        assert!(term_from(&[0; 15]).is_err() && term_from(&[0; 17]).is_err());
        fs::write(base.path().join(NAME), "{").unwrap();
        assert!(Fence::open(base.path().to_owned(), false).is_err());
    }
}

//! The work that a router takes up again when it starts: the repair queue, the move that goes on by
//! itself, and the checks.

use std::io;

use super::change::Change;
use super::directory::{StateDir, CHECKS, MOVING, REPAIRS};

/// An entry of the repair queue: the backend's name, the word of the need, and the file's name. If
/// the entry is about all files of the backend, there is no name, or their directory in its place.
pub type Repair = (Vec<u8>, Vec<u8>, Vec<u8>);

/// A move that goes on by itself until it is done or stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intended {
    /// The epoch of the target.
    pub epoch: u64,
    /// The most bytes to copy in a second; `None` means no limit.
    pub rate: Option<u64>,
}

impl StateDir {
    /// Returns the stored repair queue: backend, need and name of each entry.
    pub fn repairs(&self) -> io::Result<Vec<Repair>> {
        let bytes = self.read(REPAIRS)?.unwrap_or_default();
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let entry = |line: &[u8]| {
            let mut words = line.splitn(3, |b| *b == b'\t').map(<[u8]>::to_vec);
            Some((words.next()?, words.next()?, words.next()?))
        };
        lines
            .map(|line| {
                entry(line).ok_or_else(|| {
                    let line = String::from_utf8_lossy(line).into_owned();
                    let text = format!(
                        "{}: not an entry: {line:?}",
                        self.dir().join(REPAIRS).display()
                    );
                    io::Error::new(io::ErrorKind::InvalidData, text)
                })
            })
            .collect()
    }

    /// Stores the repair queue. It is durable when the call returns. Blocks.
    pub fn store_repairs(&self, entries: impl IntoIterator<Item = Repair>) -> io::Result<()> {
        let mut text = Vec::new();
        for (backend, need, name) in entries {
            text.extend([&backend[..], &need, &name].join(&b'\t'));
            text.push(b'\n');
        }
        self.make(&Change::Repairs(text))
    }

    /// Returns the move that goes on by itself.
    pub fn intended(&self) -> io::Result<Option<Intended>> {
        let Some(bytes) = self.read(MOVING)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let read = || {
            let (epoch, rate) = text.strip_suffix('\n')?.split_once(' ')?;
            let rate = match rate {
                "-" => None,
                bytes => Some(bytes.parse().ok()?),
            };
            let epoch = epoch.parse().ok()?;
            Some(Intended { epoch, rate })
        };
        read().map(Some).ok_or_else(|| {
            let text = format!(
                "{}: not an epoch and a rate: {text:?}; remove the file, and run stead-rrd move \
                again",
                self.dir().join(MOVING).display()
            );
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }

    /// Stores which move goes on by itself. It is durable when the call returns.
    pub async fn intend(&self, intended: Option<Intended>) -> io::Result<()> {
        let text = intended.map_or(String::new(), |Intended { epoch, rate }| {
            let rate = rate.map_or("-".to_owned(), |bytes| bytes.to_string());
            format!("{epoch} {rate}\n")
        });
        let change = Change::Moving(text.into_bytes());
        self.apart(move |dir| dir.make(&change)).await
    }

    /// Returns what was stored of the checks.
    pub fn checks(&self) -> io::Result<Option<Vec<u8>>> {
        self.read(CHECKS)
    }

    /// Stores how far the checks have come. It is durable when the call returns.
    pub async fn store_checks(&self, text: Vec<u8>) -> io::Result<()> {
        self.apart(move |dir| dir.keep_checks(&text)).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_repair_queue_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.repairs().unwrap(), []);
        let entry = |name: &[u8]| (b"a".to_vec(), b"missing".to_vec(), name.to_vec());
        let entries = vec![entry(b"c/a b"), entry(b"c/\xff")];
        state.store_repairs(entries.clone()).unwrap();
        assert_eq!(state.repairs().unwrap(), entries);
        state.store_repairs(Vec::new()).unwrap();
        assert_eq!(state.repairs().unwrap(), []);
        fs::write(dir.path().join(REPAIRS), "a\tmissing\n").unwrap();
        assert!(state.repairs().is_err());
    }

    #[tokio::test]
    async fn the_move_that_goes_on_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.intended().unwrap(), None);
        for rate in [None, Some(1 << 40)] {
            let intended = Some(Intended { epoch: 7, rate });
            state.intend(intended.clone()).await.unwrap();
            assert_eq!(state.intended().unwrap(), intended);
        }
        for _ in 0..2 {
            state.intend(None).await.unwrap();
            assert_eq!(state.intended().unwrap(), None);
        }
        for bad in ["", "7\n", "7 8", "7 x\n", "x -\n", "7 - \n", "7 -\n\n"] {
            fs::write(dir.path().join(MOVING), bad).unwrap();
            let error = state.intended().unwrap_err().to_string();
            assert!(error.contains("moving: not an epoch"), "{error}");
        }
    }

    #[tokio::test]
    async fn the_place_of_a_check_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.checks().unwrap(), None);
        state.store_checks(b"{}".to_vec()).await.unwrap();
        assert_eq!(state.checks().unwrap().as_deref(), Some(&b"{}"[..]));
    }
}

//! The maps by which the router serves, and the files that have moved from one to the other.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io;

use stead::{Map, Status};

use super::change::Change;
use super::directory::{StateDir, MOVED, SETTLED, TARGET};
use crate::dirs::failed;

impl StateDir {
    /// Returns the map that places the files that have not moved, or `None` at the very first
    /// start.
    pub fn settled(&self) -> io::Result<Option<Map>> {
        self.map(SETTLED)
    }

    /// Returns the map to whose places files move.
    pub fn target_map(&self) -> io::Result<Option<Map>> {
        self.map(TARGET)
    }

    /// Returns the map to whose places files move, and the names of the files that have moved.
    pub fn target(&self) -> io::Result<Option<(Map, HashSet<Vec<u8>>)>> {
        let Some(map) = self.map(TARGET)? else {
            return Ok(None);
        };
        let mut bytes = self.read(MOVED)?.unwrap_or_default();
        // a name that a crash has cut off counts as not moved; it is removed here
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        if whole < bytes.len() {
            bytes.truncate(whole);
            let path = self.dir().join(MOVED);
            let cut = OpenOptions::new()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_len(whole as u64));
            cut.map_err(|error| failed("cut", &path, error))?;
        }
        let names = bytes
            .split(|b| *b == b'\n')
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec);
        Ok(Some((map, names.collect())))
    }

    fn map(&self, name: &str) -> io::Result<Option<Map>> {
        match Map::open_uncached(self.dir().join(name)) {
            Ok(map) => Ok(Some(map)),
            Err(error) if error.status() == Status::NotFound => Ok(None),
            Err(error) => {
                let todo = "restore it; without it nobody knows where the files are";
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{error}; {todo}"),
                ))
            }
        }
    }

    /// Records that every file is where this map places it. Blocks.
    pub fn settle_on(&self, map: &Map) -> io::Result<()> {
        self.make(&Change::Settled(map.bytes().to_vec()))
    }

    /// Records that files begin to move to the places of this map. Blocks.
    pub fn move_to(&self, map: &Map) -> io::Result<()> {
        self.make(&Change::Target(map.bytes().to_vec()))
    }

    /// Records that a file has moved. This is durable when the call returns.
    pub async fn note_moved(&self, name: &[u8]) -> io::Result<()> {
        let change = Change::Moved([name, b"\n"].concat());
        self.apart(move |dir| dir.make(&change)).await
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    pub(in crate::state) fn map([a, b]: [u32; 2]) -> Map {
        let node = |name, weight| format!("[[node]]\nname = \"{name}\"\nweight = {weight}\n");
        let fleet = ["name = \"t\"\n".to_owned(), node("a", a), node("b", b)].concat();
        stead::build(&stead::Fleet::parse(&fleet, "t").unwrap(), None).unwrap()
    }

    #[tokio::test]
    async fn what_has_moved_is_known_after_a_crash_and_a_torn_name_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("new")).unwrap();
        assert!(state.settled().unwrap().is_none() && state.target().unwrap().is_none());
        state.settle_on(&map([1, 1])).unwrap();
        state.move_to(&map([1, 2])).unwrap();
        state.note_moved(b"c/a b").await.unwrap();
        state.note_moved(b"c/\xff").await.unwrap();
        let file = state.dir().join("moved");
        let mut bytes = fs::read(&file).unwrap();
        bytes.extend_from_slice(b"c/tor");
        fs::write(&file, bytes).unwrap();
        let dir = state.dir().to_owned();
        drop(state);
        let state = StateDir::open(&dir).unwrap();
        let (target, moved) = state.target().unwrap().unwrap();
        assert_eq!(target.digest(), map([1, 2]).digest());
        assert_eq!(
            moved,
            HashSet::from([b"c/a b".to_vec(), b"c/\xff".to_vec()])
        );
        state.note_moved(b"d").await.unwrap();
        assert_eq!(state.target().unwrap().unwrap().1.len(), 3);
        state.settle_on(&target).unwrap();
        assert!(state.target().unwrap().is_none());
        assert_eq!(state.settled().unwrap().unwrap().digest(), target.digest());
    }

    #[test]
    fn a_damaged_map_is_an_error_and_not_a_first_start() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.settle_on(&map([1, 1])).unwrap();
        let path = dir.path().join("settled.map");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(state
            .settled()
            .unwrap_err()
            .to_string()
            .contains("settled.map"));
    }
}

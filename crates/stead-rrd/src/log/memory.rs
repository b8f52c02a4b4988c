//! The log of `--no-log` and of unit tests: in memory, and lost with the process.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use super::promise::{Durability, Extent, Frontier, Log, Record};
use crate::lock::lock;

/// A log in memory, for tests. It is also the control that must lose updates.
#[derive(Default)]
pub struct Memory {
    kept: Mutex<Kept>,
    frontier: watch::Sender<Frontier>,
}

#[derive(Default)]
struct Kept {
    newest: u64,
    records: BTreeMap<u64, Vec<u8>>,
    bytes: u64,
    positions: HashMap<String, u64>,
}

impl Memory {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

impl Log for Memory {
    fn append(&self, record: &[u8], _: Durability) -> io::Result<u64> {
        let mut kept = self.kept();
        kept.newest += 1;
        let number = kept.newest;
        kept.records.insert(number, record.to_vec());
        kept.bytes += record.len() as u64;
        self.frontier.send_replace(Frontier {
            written: number,
            newest: number,
            broken: None,
            unsure: None,
        });
        Ok(number)
    }

    fn frontier(&self) -> watch::Receiver<Frontier> {
        self.frontier.subscribe()
    }

    fn extent(&self) -> Extent {
        let kept = self.kept();
        let oldest = kept
            .records
            .keys()
            .next()
            .copied()
            .unwrap_or(kept.newest + 1);
        Extent {
            bytes: kept.bytes,
            bound: 0,
            oldest,
            short: None,
            refuses: false,
            unsaved: None,
        }
    }

    fn follow(&self, backends: &[&str]) -> io::Result<()> {
        let mut kept = self.kept();
        let newest = kept.newest;
        let position = |name: &&str| {
            (
                (*name).to_owned(),
                kept.positions.get(*name).copied().unwrap_or(newest),
            )
        };
        kept.positions = backends.iter().map(position).collect();
        kept.forget();
        Ok(())
    }

    fn confirm(&self, backend: &str, through: u64) -> io::Result<()> {
        let mut kept = self.kept();
        if let Some(position) = kept.positions.get_mut(backend) {
            *position = through.max(*position);
        }
        kept.forget();
        Ok(())
    }

    fn confirmed(&self, backend: &str) -> u64 {
        self.kept().positions.get(backend).copied().unwrap_or(0)
    }

    fn newest(&self) -> u64 {
        self.kept().newest
    }

    fn reached(&self, _: Durability) -> u64 {
        self.newest()
    }

    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        let records: Vec<_> = self
            .kept()
            .records
            .range(after + 1..)
            .map(|(n, r)| Ok((*n, r.clone())))
            .collect();
        Box::new(records.into_iter())
    }
}

impl Kept {
    fn forget(&mut self) {
        if let Some(all) = self.positions.values().min() {
            self.records = self.records.split_off(&(all + 1));
            self.bytes = self
                .records
                .values()
                .map(|record| record.len() as u64)
                .sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_until_every_backend_has_confirmed_it() {
        let log = Memory::default();
        log.follow(&["a", "b"]).unwrap();
        for text in ["one", "two", "three"] {
            log.append(text.as_bytes(), Durability::Power).unwrap();
        }
        assert_eq!(
            *log.frontier().borrow(),
            Frontier {
                written: 3,
                newest: 3,
                broken: None,
                unsure: None,
            }
        );
        log.confirm("a", 2).unwrap();
        let numbers = |backend| {
            log.unconfirmed(backend)
                .map(|r| r.unwrap().0)
                .collect::<Vec<_>>()
        };
        assert_eq!((numbers("a"), numbers("b")), (vec![3], vec![1, 2, 3]));
        log.confirm("b", 3).unwrap();
        assert_eq!(numbers("a"), [3]);
        assert_eq!(log.read(0).count(), 1);
        log.follow(&["b"]).unwrap();
        assert_eq!(log.read(0).count(), 0);
    }

    #[test]
    fn it_knows_its_newest_and_oldest_record_and_its_bytes() {
        let log = Memory::default();
        log.follow(&["a"]).unwrap();
        assert_eq!((log.extent().bytes, log.extent().oldest), (0, 1));
        for text in ["one", "two", "three"] {
            log.append(text.as_bytes(), Durability::Power).unwrap();
        }
        assert_eq!((log.extent().bytes, log.extent().oldest), (11, 1));
        assert_eq!((log.newest(), log.reached(Durability::Crash)), (3, 3));
        log.confirm("a", 3).unwrap();
        assert_eq!((log.extent().bytes, log.extent().oldest), (0, 4));
    }

    #[tokio::test]
    async fn what_is_durable_when_a_log_breaks_is_no_error() {
        use super::super::promise::durable;
        let log = Memory::default();
        log.frontier.send_replace(Frontier {
            written: 6,
            newest: 5,
            broken: Some("no disk".into()),
            unsure: None,
        });
        durable(&log, 5).await.unwrap();
        let error = durable(&log, 6).await.unwrap_err();
        assert_eq!(error.to_string(), "no disk");
    }
}

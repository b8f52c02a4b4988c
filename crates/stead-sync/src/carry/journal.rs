//! The journal of a carry: what was under way, how far each node is done, what failed. This is the
//! file; `story.rs` has what its lines say.
//!
//! ```text
//! 3b1f0c2a begin MAP-ID FROM-DIGEST
//! 91d00be7 pass copy 7                  a pass, in epoch 7
//! 5e12aa90 flight 12 a NAME NAME,KEY    about to be copied: synced before the first one is
//! 0f9b6d11 landed 12                    all of them are done or failed, and durable
//! 77a1c3e2 mark a NAME                  node a is done up to this item
//! c0ffee00 failed a NAME WHY
//! 1ab2c3d4 end a                        node a is done
//! aa00bb11 passed copy 7
//! 4c3b2a19 file PATH                    the file of the carry, for those who have only the map
//! 4d5e6f70 about FORM PART VALUE        what the carry is about: any number of parts
//! 0a1b2c3d again                        the passes begin again; what is in flight stays so
//! 6c7d8e9f new b PART MARK        what a new place holds as a whole: any number of parts
//! 7d8e9fa0 old a PART MARK        the same of an old place
//! 9fa0b1c2 ground b MOUNT SYSTEM ID INODE ROOT    what the root of a node stood on
//! 8e9fa0b1 doubt b                it was emptied or replaced, and was not compared since
//! 5f6e7d8c hosts 7 MILLISECONDS NAME    all hosts that had confirmed epoch 7, and since when
//! 2b3c4d5e synced 456                   the 456 bytes at the start of the file are durable
//! ```
//!
//! It is a text file to which lines are appended, each with a checksum. What a crash leaves
//! unfinished is cut off. A power cut may lose any sector that was not synced, and keep those after
//! it: so a line that is not whole is damage only if a later line says that it was synced. What is
//! in memory is bounded by what is in flight and what failed: where a listing has an order, a mark
//! says how far it is done. The file is written anew when it has grown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{flock, FlockOperation};
use stead::carry::Carry;

use super::about::{begins_again, About};
use super::framed::{framed, read};
use super::kind::{Holding, Item, Moment, OF_PROCESS};
use super::owner::{closed, who};
use super::remembered::Remembered;
use super::story::{
    about_line, doubt_line, file_line, holding_line, hosts_line, written, Hosts, Lost, Mark, Side,
    Story, COMPARING,
};
use super::word::escaped;
use crate::exit::{Failure, Result, CONFLICT, USAGE};

/// From this size on the file is written anew.
const LARGE: u64 = 32 << 20;
/// How long [`Journal::open`] waits for the lock, which [`Journal::is_open`] takes for a moment.
const PATIENCE: Duration = Duration::from_millis(100);

/// What nodes hold as a whole, by their names.
pub type Holdings = BTreeMap<String, Holding>;

/// A journal that this process alone writes.
pub struct Journal {
    path: PathBuf,
    inner: Mutex<Inner>,
    /// what the check of this process has seen
    pub(super) remembered: Remembered,
}

struct Inner {
    file: File,
    size: u64,
    /// how many bytes are durable, and how many of them a line of this file says to be
    synced: u64,
    told: u64,
    story: Story,
}

impl Journal {
    /// Opens the journal of a carry, or begins one. A journal of another carry is begun anew.
    ///
    /// Errors: `CONFLICT` when another process has it open; `DATA` when it is damaged.
    pub fn open(path: &Path, carry: &str) -> Result<Journal> {
        let failed = |e: io::Error| Failure::io(format_args!("{}", path.display()), &e);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| closed("open", path, e))?;
        refuse_odd(&file, path)?;
        let end = Instant::now() + PATIENCE;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > end {
                return Err(Failure::new(
                    CONFLICT,
                    format_args!(
                        "{}: {} carries by this journal; wait for it, or end it",
                        path.display(),
                        who(path)
                    ),
                ));
            }
            std::thread::sleep(PATIENCE / 10);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let (mut story, good) = read(&bytes, path)?;
        let mut good = good as u64;
        if story.carry != carry {
            (story, good) = (Story::default(), 0);
        }
        file.set_len(good).map_err(failed)?;
        let journal = Journal {
            path: path.to_owned(),
            remembered: Remembered::default(),
            inner: Mutex::new(Inner {
                file,
                size: good,
                synced: 0,
                told: 0,
                story,
            }),
        };
        if good == 0 {
            journal.write(&[format!("begin {carry}")], true)?;
        }
        Ok(journal)
    }

    /// Reads a journal that another process may be writing; `None` when there is none.
    pub fn peek(path: &Path) -> Result<Option<Story>> {
        let failed = |e: io::Error| Failure::io(format_args!("{}", path.display()), &e);
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|e| closed("open", path, e))?,
        };
        refuse_odd(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        read(&bytes, path).map(|(story, _)| Some(story))
    }

    /// Whether a process carries by this journal now, on this machine.
    pub fn is_open(path: &Path) -> Result<bool> {
        match File::open(path) {
            // it is free again when the file is closed, at the end of this call
            Ok(file) => Ok(flock(&file, FlockOperation::NonBlockingLockShared).is_err()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(closed("open", path, error)),
        }
    }

    /// Removes the journal, at the end of a carry.
    pub fn remove(path: &Path) -> Result {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(closed("remove", path, error))
            }
            _ => Ok(()),
        }
    }

    /// Returns what it knows.
    pub fn story(&self) -> Story {
        self.lock().story.clone()
    }

    /// Notes which file the carry is run by.
    pub fn note_file(&self, file: &str) -> Result {
        let is_known = self.lock().story.file.as_deref() == Some(file);
        match is_known {
            true => Ok(()),
            false => self.write(&[file_line(file)], false),
        }
    }

    /// Returns what the carry is about.
    pub fn about(&self) -> Option<About> {
        self.lock().story.about.clone()
    }

    /// Compares what a carry is about with what is noted here, and notes it. Returns whether the
    /// passes begin again.
    pub fn note_about(&self, now: &About, carry: &Carry) -> Result<bool> {
        let Some(then) = self.about() else {
            // it has just begun, or an older stead-sync began it
            return self.note(now, false).map(|()| false);
        };
        let again = begins_again(&then, now, carry)?;
        if then != *now {
            self.note(now, again)?;
        }
        Ok(again)
    }

    /// Notes what the carry is about, and with `again` that all passes begin again.
    fn note(&self, about: &About, again: bool) -> Result {
        let mut lines = vec![about_line(about)];
        lines.extend(again.then(|| "again".to_owned()));
        self.write(&lines, true)
    }

    /// Returns what was emptied or replaced since [`Journal::note_holdings`].
    pub fn lost(&self, side: Side, now: &Holdings) -> Lost {
        let inner = self.lock();
        let mut lost = Lost::default();
        for (node, now) in now {
            let then = inner.story.holdings.get(&(side, node.clone()));
            let gone = then.into_iter().flatten();
            // an empty mark says only that there is something
            let is_gone = |then: &str, now: Option<&String>| {
                now.is_none_or(|now| !then.is_empty() && now != then)
            };
            let gone = gone.filter(|(part, mark)| is_gone(mark, now.get(*part)));
            for (part, _) in gone {
                lost.nodes.insert(node.clone());
                lost.parts.push(format!("node {node}: {part}"));
                lost.restarts |= part.ends_with(OF_PROCESS) && now.contains_key(part);
            }
        }
        lost
    }

    /// Notes what places hold as a whole, by the names of their nodes. If any is in doubt, all
    /// passes begin again.
    pub fn note_holdings(&self, side: Side, now: &Holdings, doubted: &BTreeSet<String>) -> Result {
        let then = self.lock().story.holdings.clone();
        let is_new =
            |(node, now): &(&String, &Holding)| then.get(&(side, (*node).clone())) != Some(*now);
        let changed = now.iter().filter(is_new);
        let mut lines: Vec<String> = changed
            .map(|(node, now)| holding_line(side, node, now))
            .collect();
        lines.extend((!doubted.is_empty()).then(|| "again".to_owned()));
        lines.extend(doubted.iter().map(|node| doubt_line(node)));
        match lines.is_empty() {
            true => Ok(()),
            false => self.write(&lines, true),
        }
    }

    /// Returns the hosts that had confirmed a state of the carry.
    pub fn hosts(&self) -> Option<Hosts> {
        self.lock().story.hosts.clone()
    }

    /// Returns since when all hosts had confirmed the newest state that was confirmed.
    pub fn since(&self) -> Option<Moment> {
        let hosts = self.lock().story.hosts.as_ref()?.since;
        let nanos = (hosts % 1000) as i64 * 1_000_000;
        Some(((hosts / 1000) as i64, nanos))
    }

    /// Notes which hosts have confirmed a state; durable when it returns.
    pub fn note_hosts(&self, hosts: &Hosts) -> Result {
        if self.lock().story.hosts.as_ref() == Some(hosts) {
            return Ok(());
        }
        self.write(&[hosts_line(hosts)], true)
    }

    /// Returns the nodes that were emptied or replaced, and not compared since.
    pub fn doubted(&self) -> BTreeSet<String> {
        self.lock().story.doubted.clone()
    }

    /// Returns how far a node is done in the present pass.
    pub fn mark(&self, node: &str) -> Option<Mark> {
        self.lock().story.marks.get(node).cloned()
    }

    /// Begins a pass in an epoch, or goes on with it.
    pub fn begin_pass(&self, pass: &str, epoch: u64) -> Result {
        let now = Some((pass.to_owned(), epoch));
        if self.lock().story.pass == now {
            return Ok(());
        }
        self.begin_pass_anew(pass, epoch)
    }

    /// Begins a pass from its start, even if an earlier run has begun it.
    pub fn begin_pass_anew(&self, pass: &str, epoch: u64) -> Result {
        self.write(&[format!("pass {pass} {epoch}")], true)
    }

    /// Notes that a pass is done.
    pub fn end_pass(&self, pass: &str, epoch: u64) -> Result {
        self.write(&[format!("passed {pass} {epoch}")], true)
    }

    /// Returns whether a pass is done in an epoch.
    pub fn is_passed(&self, pass: &str, epoch: u64) -> bool {
        let passed = (pass.to_owned(), epoch);
        self.lock().story.passed.contains(&passed)
    }

    /// Returns whether this carry has compared what it brings to the new places, at least once.
    /// It has not where the states were passed by hand, or by another carrier.
    pub fn has_compared(&self) -> bool {
        let passed = &self.lock().story.passed;
        passed.iter().any(|(pass, _)| COMPARING.contains(&&**pass))
    }

    /// Notes what is about to be copied; durable when it returns. Returns its number.
    pub fn take_off(&self, node: &str, items: &[&Item]) -> Result<u64> {
        let mut inner = self.lock();
        let number = inner.story.flights.keys().last().map_or(1, |last| last + 1);
        let names: Vec<String> = items.iter().map(|item| written(item)).collect();
        let line = format!(
            "flight {number} {} {}",
            escaped(node.as_bytes()),
            names.join(" ")
        );
        self.append(&mut inner, &[line], true)?;
        Ok(number)
    }

    /// Notes that what was in flight is done, and how far the node is. `done` items count.
    pub fn land(&self, number: Option<u64>, node: &str, mark: Option<&[u8]>, done: u64) -> Result {
        let node = escaped(node.as_bytes());
        let mut lines = Vec::new();
        lines.extend(mark.map(|name| format!("mark {node} {}", escaped(name))));
        lines.extend(number.map(|number| format!("landed {number}")));
        lines.extend((done > 0).then(|| format!("done {done}")));
        self.write(&lines, false)
    }

    /// Notes that a node is done in the present pass.
    pub fn end_node(&self, node: &str) -> Result {
        self.write(&[format!("end {}", escaped(node.as_bytes()))], false)
    }

    /// Notes an item that failed.
    pub fn fail(&self, node: &str, item: &Item, why: &str) -> Result {
        let (node, why) = (escaped(node.as_bytes()), escaped(why.as_bytes()));
        self.write(&[format!("failed {node} {} {why}", written(item))], false)
    }

    /// Notes an item that the new place lacks. Returns how many there are of this node.
    pub fn set_aside(&self, node: &str, item: &Item) -> Result<u64> {
        let line = format!("aside {} {}", escaped(node.as_bytes()), written(item));
        let mut inner = self.lock();
        self.append(&mut inner, &[line], false)?;
        let of_node = |(name, _): &&(String, Item)| name == node;
        Ok(inner.story.aside.iter().filter(of_node).count() as u64)
    }

    /// Notes an item that was written at the old place after the new one.
    pub fn set_newer(&self, node: &str, item: &Item) -> Result {
        let node = escaped(node.as_bytes());
        self.write(&[format!("newer {node} {}", written(item))], false)
    }

    /// Notes that an item that had failed, or that was set aside, is done.
    pub fn mend(&self, node: &str, item: &Item) -> Result {
        let node = escaped(node.as_bytes());
        self.write(&[format!("mended {node} {}", written(item))], false)
    }

    /// Notes how many items the passes have to do.
    pub fn count(&self, total: u64) -> Result {
        self.write(&[format!("total {total}")], false)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, lines: &[String], sync: bool) -> Result {
        self.append(&mut self.lock(), lines, sync)
    }

    fn append(&self, inner: &mut Inner, lines: &[String], sync: bool) -> Result {
        let failed = |e: io::Error| {
            let what = format!("cannot write the journal {}", self.path.display());
            let mut failure = Failure::io(what, &e);
            if e.kind() == io::ErrorKind::StorageFull {
                failure.line += "; make room, and run the carry again";
            }
            failure
        };
        let synced =
            (inner.synced > inner.told).then(|| framed(&format!("synced {}", inner.synced)));
        let framed_lines = lines.iter().map(|line| framed(line));
        let text: String = synced.into_iter().chain(framed_lines).collect();
        // after a torn end was cut off, and after a write that failed, the file is shorter
        let mut at_end = || {
            inner.file.seek(SeekFrom::Start(inner.size))?;
            inner.file.write_all(text.as_bytes())
        };
        if let Err(error) = at_end() {
            // what was written of it must not stand before later lines
            let _ = inner.file.set_len(inner.size);
            return Err(failed(error));
        }
        inner.size += text.len() as u64;
        inner.told = inner.synced;
        if sync {
            inner.file.sync_data().map_err(failed)?;
            inner.synced = inner.size;
        }
        for line in lines {
            inner.story.take(line);
        }
        if inner.size > LARGE {
            let text = inner
                .story
                .lines()
                .iter()
                .map(|l| framed(l))
                .collect::<String>();
            if (text.len() as u64) < inner.size / 2 {
                self.renew(inner, &text).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Writes the file anew, with what it knows.
    fn renew(&self, inner: &mut Inner, text: &str) -> io::Result<()> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".tmp");
        let fresh = PathBuf::from(name);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .open(&fresh)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, &self.path)?;
        (inner.file, inner.size) = (file, text.len() as u64);
        (inner.synced, inner.told) = (inner.size, 0);
        Ok(())
    }
}

/// Refuses what is no regular file: reading a device may have no end.
fn refuse_odd(file: &File, path: &Path) -> Result {
    let kind = file.metadata().map(|meta| meta.is_file());
    match kind.map_err(|e| Failure::io(format_args!("{}", path.display()), &e))? {
        true => Ok(()),
        false => Err(Failure::new(
            USAGE,
            format_args!(
                "{}: the journal must be a regular file; correct `journal` in the file of the carry",
                path.display()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::framed::unframed;
    use super::*;

    fn item(name: &str, key: &str) -> Item {
        Item {
            name: name.into(),
            key: key.into(),
        }
    }

    fn about() -> About {
        About {
            form: "12".to_owned(),
            ..About::join([
                About::of("[files] pattern", "{a} b"),
                About::of("[redis]", ""),
            ])
        }
    }

    fn hosts() -> Hosts {
        let names = ["web1", "web 2"].map(str::to_owned);
        Hosts {
            epoch: 7,
            since: 1_795_000_000_123,
            names: names.into(),
        }
    }

    fn holdings() -> Holdings {
        let table = ("the table a b".to_owned(), "17 %".to_owned());
        let root = ("its root".to_owned(), "1-2-3".to_owned());
        let unmarked = ("its items".to_owned(), String::new());
        BTreeMap::from([
            ("c".to_owned(), Holding::from([table, root, unmarked])),
            ("d 1".to_owned(), Holding::new()),
        ])
    }

    #[test]
    fn passes_begin_again_when_a_new_place_was_emptied_or_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let journal = Journal::open(&path, "id").unwrap();
        let mut now = holdings();
        let note = |now: &Holdings, lost: &[&str]| {
            journal.end_pass("copy", 7).unwrap();
            let Lost { nodes, parts, .. } = journal.lost(Side::New, now);
            assert_eq!(parts, lost);
            assert_eq!(nodes.is_empty(), lost.is_empty());
            journal.note_holdings(Side::New, now, &nodes).unwrap();
            assert_eq!(journal.is_passed("copy", 7), lost.is_empty());
            assert_eq!(journal.doubted(), nodes);
            let mut kept = Story::default();
            let lines = journal.story().lines();
            lines.iter().for_each(|line| kept.take(line).unwrap());
            assert_eq!(kept, journal.story());
            journal.end_pass("look", 7).unwrap();
            assert!(journal.doubted().is_empty());
            // the other side is noted apart
            assert!(journal.lost(Side::Old, &holdings()).parts.is_empty());
        };
        let put = |now: &mut Holdings, part: &str, mark: &str| {
            let parts = now.get_mut("c").unwrap();
            parts.insert(part.to_owned(), mark.to_owned());
        };
        // the first look, and the same again
        note(&now, &[]);
        note(&now, &[]);
        // what was empty is filled
        put(&mut now, "the table z", "1");
        note(&now, &[]);
        // what could not be marked before
        put(&mut now, "its items", "7");
        note(&now, &[]);
        // another mark, and nothing any more
        put(&mut now, "its root", "another");
        note(&now, &["node c: its root"]);
        note(&now, &[]);
        put(&mut now, "its root", "a third");
        now.get_mut("c").unwrap().remove("the table z");
        note(&now, &["node c: its root", "node c: the table z"]);
        // a node that is looked at for the first time later
        now.insert("e".to_owned(), now["c"].clone());
        note(&now, &[]);
    }

    #[test]
    fn a_server_that_may_only_have_been_started_again_is_told_so() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(&directory.path().join("j"), "id").unwrap();
        let of = |part: &str, mark: &str| -> Holdings {
            let holding = Holding::from([(part.to_owned(), mark.to_owned())]);
            BTreeMap::from([("c".to_owned(), holding)])
        };
        let told = |then: &Holdings, now: &Holdings| {
            let nodes = BTreeSet::new();
            journal.note_holdings(Side::New, then, &nodes).unwrap();
            journal.lost(Side::New, now).told("meanwhile")
        };
        for part in ["its keys", "redis: its keys"] {
            let (one, other) = (of(part, "1"), of(part, "2"));
            let said = format!("started again, emptied or replaced meanwhile: node c: {part}");
            assert_eq!(told(&one, &other), said);
            // no key is there any more
            let none = BTreeMap::from([("c".to_owned(), Holding::new())]);
            let said = format!("emptied or replaced meanwhile: node c: {part}");
            assert_eq!(told(&one, &none), said);
        }
        let said = "emptied or replaced meanwhile: node c: its root";
        assert_eq!(told(&of("its root", "1"), &of("its root", "2")), said);
    }

    #[test]
    fn passes_begin_again_and_what_is_in_flight_stays_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let journal = Journal::open(&path, "id").unwrap();
        assert_eq!(journal.about(), None);
        fill(&journal);
        journal.end_pass("copy", 7).unwrap();
        assert_eq!(journal.about(), Some(about()));
        let other = About::of("[redis]", "");
        journal.note(&other, true).unwrap();
        let flights = journal.story().flights;
        drop(journal);
        let again = Journal::open(&path, "id").unwrap();
        let story = again.story();
        assert!(!again.is_passed("copy", 7) && again.mark("c").is_none());
        assert_eq!((&story.flights, story.flights.len()), (&flights, 1));
        assert_eq!((story.pass, story.failed.len()), (None, 0));
        assert_eq!(story.about, Some(other));
        assert_eq!(story.hosts, Some(hosts()));
        assert_eq!(story.file.as_deref(), Some("/home/a b/carry.toml"));
        let noted = story.holdings.into_iter();
        let noted: Holdings = noted.map(|((_, node), held)| (node, held)).collect();
        assert_eq!(noted, holdings());
    }

    fn fill(journal: &Journal) {
        journal.note_file("/home/a b/carry.toml").unwrap();
        journal.note(&about(), false).unwrap();
        journal.note_hosts(&hosts()).unwrap();
        journal
            .note_holdings(Side::New, &holdings(), &BTreeSet::new())
            .unwrap();
        journal.begin_pass("copy", 7).unwrap();
        journal.count(900).unwrap();
        let (one, other) = (item("a b/,%\n", "k"), item("", ""));
        let first = journal.take_off("node 1", &[&one, &other]).unwrap();
        let second = journal.take_off("b", &[&one]).unwrap();
        assert_ne!(first, second);
        journal
            .land(Some(first), "node 1", Some(b"a b/,%\n"), 2)
            .unwrap();
        journal.fail("b", &other, "no room, 100% full").unwrap();
        journal.fail("b", &one, "x").unwrap();
        journal.mend("b", &one).unwrap();
        journal.set_aside("b", &one).unwrap();
        journal.set_newer("b", &other).unwrap();
        journal.end_node("c").unwrap();
    }

    #[test]
    fn a_device_is_no_journal() {
        let path = Path::new("/dev/full");
        let failures = [Journal::open(path, "1 2").err(), Journal::peek(path).err()];
        for failure in failures {
            let failure = failure.unwrap();
            assert_eq!(failure.code, USAGE);
            assert!(failure.line.contains("a regular file"), "{}", failure.line);
        }
    }

    #[test]
    fn a_line_of_a_newer_program_is_refused_and_not_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.carry");
        for newer in [
            "weigh a 7",
            "mark",
            "pass copy soon",
            "about 1 part",
            "hosts 7",
            "new a part",
        ] {
            let text = [framed("begin 1 2"), framed(newer)].concat();
            fs::write(&path, &text).unwrap();
            let failure = Journal::open(&path, "1 2").err().unwrap();
            let said = failure.line;
            assert!(said.contains("use the newer one that wrote it"), "{said}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // the control: a line that was cut is no line of another program
        let text = [framed("begin 1 2"), framed("weigh a 7")].concat();
        fs::write(&path, &text[..text.len() - 1]).unwrap();
        Journal::open(&path, "1 2").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), framed("begin 1 2"));
    }

    #[test]
    fn what_is_written_is_read_again_also_after_it_was_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let journal = Journal::open(&path, "id digest").unwrap();
        fill(&journal);
        let story = journal.story();
        assert!(story.flights.len() == 1 && story.failed.len() == 1);
        assert!(story.aside.len() == 1 && story.newer.len() == 1);
        assert_eq!((story.done, story.total), (2, Some(900)));
        let failure = Journal::open(&path, "id digest").err().unwrap();
        assert_eq!(failure.code, CONFLICT);
        let who = format!(": another process ({}) carries by this", std::process::id());
        assert!(failure.line.contains(&who), "{}", failure.line);
        assert_eq!(Journal::peek(&path).unwrap(), Some(story.clone()));
        assert!(Journal::is_open(&path).unwrap());
        let text = story.lines().iter().map(|l| framed(l)).collect::<String>();
        journal.renew(&mut journal.lock(), &text).unwrap();
        journal.end_pass("count", 7).unwrap();
        assert!(
            Journal::open(&path, "id digest").is_err(),
            "the lock is kept"
        );
        drop(journal);
        assert!(!Journal::is_open(&path).unwrap());
        let again = Journal::open(&path, "id digest").unwrap();
        assert!(again.is_passed("count", 7));
        assert_eq!(again.mark("node 1"), Some(Mark::Name(b"a b/,%\n".to_vec())));
        assert_eq!(again.mark("c"), Some(Mark::End));
        again.begin_pass("copy", 7).unwrap();
        let mut now = again.story();
        now.passed.clear();
        assert_eq!(now, story);
        again.begin_pass("verify", 7).unwrap();
        assert_eq!(again.mark("c"), None);
        drop(again);
        let other = Journal::open(&path, "another").unwrap();
        assert_eq!(other.story().flights.len(), 0);
    }

    /// How many bytes the last line `synced` says to be durable.
    fn last_synced(bytes: &[u8]) -> usize {
        let lines = bytes.split_inclusive(|b| *b == b'\n').filter_map(unframed);
        let mut synced = lines.filter_map(|line| line.strip_prefix("synced ")?.parse().ok());
        synced.next_back().unwrap()
    }

    #[test]
    fn a_torn_end_is_cut_off_and_damage_before_the_end_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        fill(&Journal::open(&path, "c").unwrap());
        let whole = fs::read(&path).unwrap();
        let mut seen = BTreeSet::new();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let journal = Journal::open(&path, "c").unwrap();
            journal.count(5).unwrap();
            drop(journal);
            assert_eq!(Journal::peek(&path).unwrap().unwrap().total, Some(5));
            seen.insert(fs::read(&path).unwrap().len());
        }
        assert!(seen.len() > 8, "{seen:?}");
        // a power cut loses a sector, and keeps those after it
        let last = last_synced(&whole);
        assert!(last > 300 && last + 100 < whole.len(), "{last}");
        for at in last..whole.len() {
            let mut torn = whole.clone();
            let end = torn.len().min(at + 40);
            torn[at..end].fill(0);
            fs::write(&path, &torn).unwrap();
            Journal::peek(&path).unwrap();
            let journal = Journal::open(&path, "c").unwrap();
            journal.count(5).unwrap();
            drop(journal);
            assert_eq!(Journal::peek(&path).unwrap().unwrap().total, Some(5));
        }
        // and never one that was synced; without its newline, the line that says so is torn, too
        for at in 0..last - 1 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            let failure = Journal::peek(&path).unwrap_err();
            assert!(failure.line.contains("damaged at byte"), "{failure:?}");
        }
    }
}

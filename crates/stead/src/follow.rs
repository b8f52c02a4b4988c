//! Following a map file: what a program keeps that runs for long and has many threads. It gives the
//! pair of the file, looks at the file from time to time, and keeps the last good pair where the
//! file is no longer the right map.
//!
//! ```text
//! age of the last look     get()
//! less than half           the pair that is there; no system call
//! from half on             the first thread looks, the others take the pair that is there
//! from the limit on        the first thread looks, the others wait for it
//! ```

use std::path::{Path, PathBuf};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::format::hex;
use crate::map::Map;
use crate::pair::Pair;

/// How old a look may be before `get` looks again: a map changes a few times a day, and people wait
/// a second for it.
const LIMIT: Duration = Duration::from_secs(1);

/// The pair of a map file, for all threads of a program: open it once, and ask [`Follower::get`]
/// for a [`Pair`] at the start of each request.
///
/// `get` notices a new epoch within a second ([`Follower::within`] sets another limit), and a
/// change of state of a carry, too. A pair that was taken does not change: use one from the start
/// of a request to its end.
///
/// A file can become wrong while the program runs. It may be gone, damaged, overwritten in place,
/// or lack its history while a carry is open; somebody may have copied the map of another cluster
/// there, or an older epoch. Then the last good pair stays, and [`Follower::problem`] says why,
/// until the file is right again. (A rollback makes a newer epoch, so it is taken.)
///
/// ```
/// use std::thread;
///
/// use stead::{build, Fleet, Follower, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = std::env::temp_dir().join(format!("stead-follow-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("members.map");
/// # let fleet = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}]", "fleet.toml")?;
/// # Store::new(&path, stead::store::KEEP).apply(&fleet, None)?;
/// let members = Follower::open(&path)?;
/// thread::scope(|scope| {
///     for key in ["frank", "bob"] {
///         let members = &members;
///         scope.spawn(move || {
///             let pair = members.get(); // once for each request
///             for node in pair.reads(key.as_bytes()) {
///                 println!("read {key} from {}", pair.name(node));
///             }
///         });
///     }
/// });
/// if let Some(problem) = members.problem() {
///     eprintln!("{problem}"); // and let the health check fail
/// }
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok(())
/// # }
/// ```
///
/// # While data is carried
///
/// `stead-sync carry` waits for the `grace` after the file has been replaced on all hosts: make it
/// at least the limit and the time of the longest request together. A program must not go on for
/// longer by an older pair: it would write where nobody reads any more. So let requests fail as
/// long as there is a problem, or take the pair from [`Follower::look`], which gives the error
/// instead of an older pair.
///
/// # Threads and processes
///
/// Any number of threads may use a `&Follower` at once; put it in an `Arc` or a `static` to share
/// it. It starts no thread. It has locks of the standard library, which do not survive a fork that
/// happens while another thread holds them: a program that forks opens it in the child.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    /// whether files are read into memory whatever their size
    copy: bool,
    limit: Duration,
    now: RwLock<Now>,
    /// held while a thread looks at the file
    looking: Mutex<()>,
}

/// What the last look found.
#[derive(Debug)]
struct Now {
    pair: Pair,
    /// why the pair is not that of the file
    problem: Option<Arc<Error>>,
    /// when the last look began
    looked: Instant,
}

impl Follower {
    /// Opens a map file as [`Pair::open`] does, and follows it from then on.
    ///
    /// Errors: those of [`Pair::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Follower> {
        Follower::start(path.as_ref(), false)
    }

    /// Opens a map file as [`Follower::open`] does, and reads maps into memory whatever their size,
    /// as [`Map::open_copy`].
    pub fn open_copy(path: impl AsRef<Path>) -> Result<Follower> {
        Follower::start(path.as_ref(), true)
    }

    fn start(path: &Path, copy: bool) -> Result<Follower> {
        let looked = Instant::now();
        let now = Now {
            pair: open(path, copy)?,
            problem: None,
            looked,
        };
        Ok(Follower {
            path: path.to_owned(),
            copy,
            limit: LIMIT,
            now: RwLock::new(now),
            looking: Mutex::new(()),
        })
    }

    /// Sets how old a look at the file may be when [`Follower::get`] relies on it: 1 second unless
    /// it is set. With zero, each `get` looks.
    #[must_use]
    pub fn within(self, limit: Duration) -> Follower {
        Follower { limit, ..self }
    }

    /// Returns the pair that the file had at the last look, which is not older than the limit, or
    /// the last good one ([`Follower::problem`] tells which).
    ///
    /// Cost: a lock that readers share and no system call, mostly. When half of the limit has
    /// passed, one thread looks at the file, for one `stat` as long as it has not changed, while
    /// the others go on. They wait for this thread only if the look takes longer than the other
    /// half, or if nobody has asked for that long.
    pub fn get(&self) -> Pair {
        let asked = Instant::now();
        let soon = self.limit / 2;
        let (pair, age) = {
            let now = self.now();
            let age = asked.saturating_duration_since(now.looked);
            (now.pair.clone(), age)
        };
        if age < soon {
            return pair;
        }
        let turn = match self.looking.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) if age < self.limit => return pair,
            Err(TryLockError::WouldBlock) => self.turn(),
        };
        // another thread may have looked meanwhile, since this one asked or shortly before
        let age = asked.checked_duration_since(self.now().looked);
        if age.is_some_and(|age| age >= soon) {
            self.look_in(&turn);
        }
        self.now().pair.clone()
    }

    /// Looks at the file now, whenever the last look was, and returns its pair.
    ///
    /// Errors: those of [`Pair::open`]; `Identity` when the file is a map of another cluster, or an
    /// older epoch. [`Follower::get`] goes on giving the last good pair then. Cost: that of
    /// [`Pair::open`].
    pub fn look(&self) -> std::result::Result<Pair, Arc<Error>> {
        let turn = self.turn();
        self.look_in(&turn);
        let now = self.now();
        match &now.problem {
            None => Ok(now.pair.clone()),
            Some(problem) => Err(Arc::clone(problem)),
        }
    }

    /// Returns why the last look found no map that could be taken; `None` when [`Follower::get`]
    /// gives what the file has. It does not look by itself.
    pub fn problem(&self) -> Option<Arc<Error>> {
        self.now().problem.clone()
    }

    /// Returns the path that is followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at the file, while no other thread does.
    fn look_in(&self, _turn: &MutexGuard<'_, ()>) {
        let looked = Instant::now();
        let opened = open(&self.path, self.copy);
        let before = self.now().pair.clone();
        let taken = opened.and_then(|pair| {
            check(&self.path, before.new_map(), pair.new_map())?;
            Ok(pair)
        });
        let mut now = self.now_to_change();
        now.looked = looked;
        match taken {
            Ok(pair) => {
                now.pair = pair;
                now.problem = None;
            }
            Err(problem) => now.problem = Some(Arc::new(problem)),
        }
    }

    /// Waits until no other thread looks.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic while a lock is held leaves whole values: nothing but assignments happens under it.
    fn now(&self) -> RwLockReadGuard<'_, Now> {
        self.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_to_change(&self) -> RwLockWriteGuard<'_, Now> {
        self.now.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path, copy: bool) -> Result<Pair> {
    match copy {
        false => Pair::open(path),
        true => Pair::open_copy(path),
    }
}

/// Refuses a map of another cluster than the one that is in use, and an older epoch of it.
fn check(path: &Path, used: &Map, found: &Map) -> Result<()> {
    let problem = if found.map_id() != used.map_id() {
        let called = |map: &Map| format!("`{}` (id {})", map.name(), hex(&map.map_id()[..4]));
        format!(
            "this is the map {}, and the program uses {}, another map",
            called(found),
            called(used)
        )
    } else if found.epoch() < used.epoch() {
        format!(
            "this is epoch {} of `{}`, and the program uses epoch {} already",
            found.epoch(),
            found.name(),
            used.epoch()
        )
    } else {
        return Ok(());
    };
    Err(Error::Identity {
        problem: format!(
            "{}: {problem}; put the right map there, or start the program again if this one is \
             meant",
            path.display()
        ),
    })
}

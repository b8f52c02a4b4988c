//! `stead apply FLEET MAP`: makes the first map, or its next epoch.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use stead::guard::{Guard, LastMove};
use stead::store::{Planned, SavedPlan, KEEP};
use stead::{Error, Map, Store};

use crate::back;
use crate::carrying::Begin;
use crate::change::{understood, Change, Pace, Show, NOT_CARRIED};
use crate::epochs::{note_untold, note_watched};
use crate::exit::{Failure, Result, USAGE};
use crate::guards::Permit;
use crate::output::Out;
use crate::text::wrapped;

/// Make the first map of a fleet, or update the map to the fleet
///
/// Publishes the next epoch of the map, moves as little as possible, and writes nothing when
/// nothing changes. With --max-move the change takes several epochs, one for each apply of the same
/// fleet. The old epoch stays in MAP.history. When two processes apply at once, one wins; the other
/// exits with 75 and has changed nothing.
///
/// With --carry, the data that moves is served from its old places until it has been brought to the
/// new ones: see `stead carry`.
///
/// A file that `stead plan -o` wrote takes the place of FLEET: then exactly that change is made, or
/// none.
///
/// Guards refuse a change that drops copies, loses a fault domain, moves data without --carry where
/// the last change was carried, moves more than the fleet's [guard] permits, or takes back what a
/// newer epoch brought. --allow lets it pass; `stead plan` shows it beforehand.
#[derive(Args)]
#[command(after_help = "\
Example: make the first map
  stead apply fleet.toml members.map
  members: first map, epoch 1, 3 nodes, 3 slices

Exit codes:
  0   done, or nothing to do
  64  wrong usage, or MAP is a symbolic link or a directory
  65  the map or the plan is damaged or of another cluster, or the map is not
      the newest of its history
  66  the fleet or the directory of MAP is missing, or there is no map yet, and
      --carry is given
  69  a guard refuses the change, or a carry is open; nothing was written
  74  writing failed; the old map is in place
  75  another process changed the map first; nothing was written, run it again
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied
  78  the fleet is wrong, or cannot be met")]
pub struct Apply {
    /// The fleet file, TOML or JSON, or a plan that `stead plan -o` saved
    fleet: PathBuf,
    /// The map to create or to update
    map: PathBuf,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    begin: Begin,
    #[command(flatten)]
    permit: Permit,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    show: Show,
    /// What `stead plan` is for
    #[arg(long, hide = true)]
    dry_run: bool,
}

/// The option that says why a change is made.
#[derive(Args)]
pub struct Why {
    /// Say why, in one line; `stead history` shows it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl Why {
    /// Returns the store, which publishes with the note if there is one.
    pub fn on(&self, store: Store) -> Result<Store> {
        match &self.note {
            Some(note) => Ok(store.with_note(note)?),
            None => Ok(store),
        }
    }
}

impl Apply {
    pub fn run(self, out: &mut Out) -> Result {
        if self.dry_run {
            let (fleet, map) = (self.fleet.display(), self.map.display());
            return Err(Failure::new(
                USAGE,
                format_args!(
                    "nothing was changed; `stead plan {fleet} {map}` shows what apply does"
                ),
            ));
        }
        let store = Store::new(&self.map, KEEP);
        // checked even when there is nothing to publish: otherwise a symbolic link would be found
        // only on the day of a change
        store.refuse_symlink()?;
        let is_plan = is_plan(&self.fleet, &self.map)?;
        let change = if is_plan {
            match self.planned(&store, out)? {
                Some(change) => change,
                None => return Ok(()),
            }
        } else {
            let newest = store.current()?;
            let map = self.map.display().to_string();
            self.permit.check_epoch(newest.as_ref(), &map)?;
            if let Some(newest) = &newest {
                understood(newest, &self.map)?;
            }
            let is_first = newest.is_none();
            let mut change = Change::of(&self.fleet, newest, &self.pace, &self.begin)
                .map_err(|failure| failure.of_map(&self.map))?;
            change.progress = store.progress(&change.new);
            change.look_around(&store);
            if !change.needed {
                // publishing would find it out; an old map that suits the fleet is old, too
                store.check_history(&change.new)?;
            }
            if is_first {
                self.begin
                    .refuse_first(&self.map, change.around.as_deref())?;
            }
            change
        };
        let store = self.why.on(store)?;
        let late = match self.begin.is_given() && !change.needed && !self.show.json() {
            true => self.too_late(&store, &change.new),
            false => Vec::new(),
        };
        let told = match is_plan {
            true => Told {
                to_carry: format!(
                    "plan again with a carry, `stead plan --carry FLEET {} -o {}`",
                    self.map.display(),
                    self.fleet.display()
                ),
                not_carried: NOT_CARRIED,
                of_a_fleet: true,
            },
            false => Told {
                of_a_fleet: true,
                ..Told::of(NOT_CARRIED)
            },
        };
        publish(&store, change, &self.permit, &self.show, &told, out)?;
        late.iter().try_for_each(|line| out.line(line))
    }

    /// Returns the change of a saved plan. When it was carried out already, says so and returns
    /// `None`.
    fn planned(&self, store: &Store, out: &mut Out) -> Result<Option<Change>> {
        if self.pace.is_limited() {
            return Err(Failure::new(
                USAGE,
                format!(
                    "{}: a saved plan has its change in it; leave --max-move out, or plan again",
                    self.fleet.display()
                ),
            ));
        }
        if self.begin.is_given() {
            return Err(Failure::new(
                USAGE,
                format!(
                    "{}: a saved plan is made as it is; leave --carry out, or plan again with \
                     --carry",
                    self.fleet.display()
                ),
            ));
        }
        let plan = SavedPlan::read(&self.fleet)?;
        let base = match store.planned(&plan)? {
            Planned::On(base) => base,
            Planned::Done(now) => {
                if !self.show.json() {
                    let epoch = plan.new.epoch();
                    out.line(format!(
                        "the plan was carried out already, as epoch {epoch}"
                    ))?;
                }
                let nothing = Change::none(*now);
                nothing.write(&nothing.report(&self.show)?, &self.show, out)?;
                return Ok(None);
            }
        };
        let base = base.map(|base| *base);
        let map = self.map.display().to_string();
        self.permit.check_epoch(base.as_ref(), &map)?;
        let mut change = Change::to(base, plan.new);
        change.progress = store.progress(&change.new);
        Ok(Some(change))
    }

    /// Says, if the last change moved data without a carry, that one which is asked for now comes
    /// too late, and how to begin again.
    fn too_late(&self, store: &Store, newest: &Map) -> Vec<String> {
        let last = uncarried(store, newest).filter(|last| last.epoch == newest.epoch());
        // what a rollback took back is where it was
        let last = last.filter(|last| last.undone.is_none());
        let Some(LastMove { epoch, before, .. }) = last else {
            return Vec::new();
        };
        // what apply will be asked for when the map is again as it was; this run has nothing to do
        // and does not fail for it
        let again = || {
            let old = store.open_epoch(before)?;
            let mut again = Change::of(&self.fleet, Some(old), &self.pace, &self.begin)?;
            again.judge(store)?;
            Ok::<_, Failure>(again.refused_by())
        };
        let mut refused = again().unwrap_or_default();
        if !refused.contains(&Guard::TakeBack) {
            // the rollback is the epoch that is taken back
            refused.insert(0, Guard::TakeBack);
        }
        let text = format!(
            "epoch {epoch} moved data without a carry. If the data is still where epoch {before} \
             had it, go back, and apply with a carry then"
        );
        let apply = format!(
            "stead apply {} {} --carry{}",
            self.fleet.display(),
            self.map.display(),
            back::allowing(&refused)
        );
        let commands = [back::rollback(store, newest, before, "", None), apply];
        let commands = commands.map(|command| format!("  {command}"));
        wrapped(&text, "", "").into_iter().chain(commands).collect()
    }
}

/// Returns the last change that moved data, if it was not carried.
pub fn uncarried(store: &Store, newest: &Map) -> Option<LastMove> {
    let last = store.last_move(newest).ok()?;
    last.filter(|last| !last.is_carried)
}

/// Whether a file is a saved plan rather than a fleet. A map in the place of either is refused
/// here, since its bytes would read as a text with an odd first character.
fn is_plan(path: &Path, map: &Path) -> Result<bool> {
    let mut start = Vec::new();
    // what cannot be read, such as a directory, is refused where it is read as a fleet
    let Ok(file) = File::open(path) else {
        return Ok(false);
    };
    let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
    if !is_file || file.take(8).read_to_end(&mut start).is_err() {
        return Ok(false);
    }
    if start.get(1..4) == Some(b"STD") {
        if map.exists() && Store::peek(map).is_err() {
            let (path, map) = (path.display(), map.display());
            return Err(Failure::new(
                USAGE,
                format_args!(
                    "{path} is a map, and {map} is none: the map comes last: `stead apply {map} \
                     {path}`"
                ),
            ));
        }
        return Err(Error::Invalid {
            problem: format!(
                "{}: this is a map; give a fleet file, or a plan that `stead plan -o` saved",
                path.display()
            ),
        }
        .into());
    }
    Ok(SavedPlan::is_one(&start))
}

/// What is said of a change in which data moves without a carry.
pub struct Told {
    /// How to begin one, where a guard refuses the change.
    to_carry: String,
    /// The last line of the change that was made.
    not_carried: &'static str,
    /// Whether a fleet asks for the change, in which a node may have lost its former name.
    of_a_fleet: bool,
}

impl Told {
    /// Returns what is said by a command that can begin a carry itself.
    pub fn of(not_carried: &'static str) -> Told {
        Told {
            to_carry: "begin a carry with --carry".to_owned(),
            not_carried,
            of_a_fleet: false,
        }
    }

    /// Returns how to begin a carry of this change, and before it what else it may be.
    fn to_carry(&self, change: &Change, show: &Show) -> String {
        let renamed = change.renamed(show).filter(|_| self.of_a_fleet);
        match renamed {
            Some(asked) => format!("{asked}; else {}", self.to_carry),
            None => self.to_carry.clone(),
        }
    }
}

/// Publishes a change if it is needed and permitted, and reports it.
pub fn publish(
    store: &Store,
    mut change: Change,
    permit: &Permit,
    show: &Show,
    told: &Told,
    out: &mut Out,
) -> Result {
    permit.check_readers(&change.new, &store.path().display().to_string())?;
    change.judge(store)?;
    let report = change.report(show)?;
    if change.needed {
        note_watched(store.path());
        let store = store.clone().allowing(store.allow().with(permit.allow()));
        store
            .publish(change.old.as_ref(), &change.new)
            .map_err(|error| Failure::refused(error, &told.to_carry(&change, show)))?;
        note_untold(&store, &change.new);
    }
    let to_be_carried = change.moves_data(&report) && !show.json();
    let written = change
        .write(&report, show, out)
        .and_then(|()| match to_be_carried {
            true => out.line(format_args!("\n{}", change.advice(told.not_carried))),
            false => Ok(()),
        })
        .and_then(|()| out.flush());
    // a script that reads only the exit code must learn that the map has changed
    written.map_err(|failure| {
        if change.needed {
            failure.in_place(report.epoch)
        } else {
            failure
        }
    })
}

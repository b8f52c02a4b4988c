//! A change from one map to another, which `plan`, `apply`, `diff` and `rollback` show in the same
//! way.
//!
//! The facts come from `stead::report`. The modules below draw them, in the order in which an
//! operator needs them: the `headline`, the warnings, the `summary` (fleet, copies, domains,
//! capacity, slices), the `rows` of the nodes that change, and the `copying` between nodes.

mod copying;
mod headline;
mod renamed;
mod rows;
mod summary;

pub use copying::{from, ADDED, DROPPED};

pub use summary::{copies as copies_lost, facts};

use std::fs;
use std::path::Path;

use clap::ValueEnum;
use stead::guard::{Finding, Guard};
use stead::report::{Ask, Report};
use stead::store::Progress;
use stead::verdict::Rule;
use stead::{build, build_max_move, Error, Fleet, Map, Share, Store};

use crate::caps::{self, Said};
use crate::carrying::{self, Begin, CarryJson};
use crate::down;
use crate::exit::{Failure, Result, FLEET};
use crate::guards::{self, FindingJson};
use crate::nodes_table::instead_of_fleet;
use crate::output::{Out, BAD};
use crate::text::{step_of, wrapped};

/// The most files of a directory that are opened in the search for another map of the cluster.
const LOOKED_AT: usize = 32;

/// Says to programmers where data is found, once a carry begins.
const BY_A_PAIR: &str = "programs open a Pair for this; one that opens a Map asks the new places";

/// What is said last, where copies move and no carry is asked for.
pub const TO_BE_CARRIED: &str =
    "a map moves no data: a cache refills itself; to carry the rest, apply --carry";

/// The same when the plan is saved.
pub const SAVED_NOT_CARRIED: &str =
    "a map moves no data: a cache refills itself; to carry the rest, plan --carry";

/// What is said last when such a change was applied.
pub const NOT_CARRIED: &str =
    "readers now look for moved data in its new places: copy it, or see apply --carry";

/// The same two for a rollback.
pub const TO_BE_CARRIED_BACK: &str =
    "a map moves no data: a cache refills itself; to carry back, rollback --carry";
pub const NOT_CARRIED_BACK: &str =
    "readers look in that epoch's places: for data elsewhere see wrong-places.md";

/// What is said in place of these where stead-rrd routes the data: before a change, and after it.
const RRD_TO_BE_MOVED: &str =
    "the router finds each RRD file where it is, until `stead-rrd move` moves it";
const RRD_NOT_MOVED: &str =
    "the router reads RRD files where they are: `stead-rrd move DIRECTORY` moves them";

/// The attribute of a node without which stead-rrd refuses a map.
const RRDCACHED: &str = "rrdcached";

/// The options that choose how a change is shown.
#[derive(clap::Args)]
pub struct Show {
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
    /// Also show what each node copies to which; `each` lists every move with its points
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "totals"
    )]
    moves: Option<Moves>,
    /// Show every row: the nodes that keep what they hold, all domains, all edits of the fleet
    #[arg(long)]
    all: bool,
    /// This node is dead, or these, such as zone=a: say what has no copy left, and copy from the
    /// others that have it. May be given more than once
    #[arg(long, value_name = "NODE")]
    lost: Vec<String>,
}

/// How moves are shown.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Moves {
    /// The sums of each pair of nodes
    Totals,
    /// Every move
    Each,
}

impl Show {
    /// Returns whether the output is JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Returns whether long lists are shown in full.
    pub fn all(&self) -> bool {
        self.all
    }
}

/// A report, and what the guards found.
#[derive(serde::Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    report: &'a Report<'a>,
    /// Left out when the guards found nothing.
    #[serde(rename = "guards", skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingJson<'a>>,
    /// Left out when the new map has no carry open.
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<CarryJson>,
    /// Left out when no data is to be carried, or when a carry begins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    to_be_carried: bool,
}

/// The option that limits how much one step moves.
#[derive(clap::Args)]
pub struct Pace {
    /// Move at most this part of all copies now, such as 5%; the next apply of the same fleet
    /// continues the change [default: no limit]
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    max_move: Option<Share>,
}

impl Pace {
    /// Returns whether the option was given.
    pub fn is_limited(&self) -> bool {
        self.max_move.is_some()
    }

    /// Returns how much one step may move, if it is limited.
    pub fn max_move(&self) -> Option<Share> {
        self.max_move
    }
}

/// Parses a percentage above 0.
fn part(text: &str) -> std::result::Result<Share, String> {
    match stead::fleet::part(text) {
        Ok(Share(0)) => Err("moves nothing; write more than 0%, like \"5%\"".to_owned()),
        Ok(part) => Ok(part),
        Err(why) => Err(why.to_owned()),
    }
}

/// Fails when a map has features that this program does not know: it may look such a map up, but
/// neither judge it nor compute the next one.
pub fn understood(map: &Map, path: &Path) -> Result {
    map.understood().map_err(|error| error.in_file(path).into())
}

/// A change: the map before it, if there is one, and the map after it.
pub struct Change {
    /// The map before; `None` before the first map.
    pub old: Option<Map>,
    /// The map after; the present map when nothing changes.
    pub new: Map,
    /// Whether `new` has to be published.
    pub needed: bool,
    /// How far the gradual change has come with this step, if it is one.
    pub progress: Option<Progress>,
    /// The fleet that asks for the change, if a fleet does.
    fleet: Option<Fleet>,
    /// What the change does that needs permission; empty before [`Change::judge`].
    findings: Vec<Finding>,
    /// What [`Change::look_around`] found in the files around the map, such as another map of its
    /// cluster. Of a rollback: which nodes get back old attributes.
    pub around: Option<String>,
}

impl Change {
    /// Returns the change from the present map to the one that the fleet file asks for.
    pub fn of(fleet: &Path, old: Option<Map>, pace: &Pace, begin: &Begin) -> Result<Change> {
        let read = Fleet::read(fleet).map_err(Failure::from);
        let fleet = read.map_err(|failure| instead_of_fleet(fleet, failure))?;
        let new = match pace.max_move {
            Some(part) => build_max_move(&fleet, old.as_ref(), part),
            None => build(&fleet, old.as_ref()),
        };
        let new = new.map_err(|error| match error {
            // a value that is out of range here comes from the fleet file
            Error::Invalid { problem } => Failure::new(FLEET, problem),
            _ => error.into(),
        })?;
        let new = begin.on(old.as_ref(), new)?;
        Ok(Change {
            fleet: Some(fleet),
            ..Change::to(old, new)
        })
    }

    /// Returns the comparison of two maps, whether they differ or not.
    pub fn between(old: Map, new: Map) -> Change {
        Change {
            old: Some(old),
            new,
            needed: true,
            progress: None,
            fleet: None,
            findings: Vec::new(),
            around: None,
        }
    }

    /// Returns the change of a saved plan, which moves what its fleet needs and no more.
    pub fn planned(old: Map, new: Map) -> Change {
        Change {
            fleet: Some(new.fleet()),
            ..Change::between(old, new)
        }
    }

    /// Returns the change that leaves a map as it is.
    pub fn none(map: Map) -> Change {
        Change {
            new: map,
            old: None,
            needed: false,
            progress: None,
            fleet: None,
            findings: Vec::new(),
            around: None,
        }
    }

    /// Returns the change from one map to another. It is not needed when only their epochs differ.
    pub fn to(old: Option<Map>, new: Map) -> Change {
        match old {
            Some(old) if old.same(&new) => Change::none(old),
            old => Change {
                old,
                new,
                needed: true,
                progress: None,
                fleet: None,
                findings: Vec::new(),
                around: None,
            },
        }
    }

    /// Finds what the change does that needs permission, beyond what the store allows.
    pub fn judge(&mut self, store: &Store) -> Result {
        if self.needed {
            self.findings = store.findings(self.old.as_ref(), &self.new)?;
            let allowed = store.allow();
            self.findings
                .retain(|finding| !allowed.lifts(finding.guard));
        }
        Ok(())
    }

    /// Returns the guards that found something, in the order in which they are shown.
    pub fn refused_by(&self) -> Vec<Guard> {
        let found = |guard: &Guard| self.findings.iter().any(|f| f.guard == *guard);
        Guard::ALL.into_iter().filter(found).collect()
    }

    /// Looks at the files around the map, and notes what its author should know. A first map beside
    /// another map of the same cluster may have a misspelt name. Without earlier epochs in the
    /// history, nothing says whether a fleet is old.
    pub fn look_around(&mut self, store: &Store) {
        self.around = match &self.old {
            _ if !self.needed => None,
            None => beside(store.path(), self.new.name()),
            Some(old) => {
                let kept = store.history().map_or(0, |epochs| epochs.len());
                let lacks = old.epoch() > 1 && kept < 2;
                lacks.then(|| {
                    "the history has no earlier epoch, so nothing says whether this fleet is an \
                     old one"
                        .to_owned()
                })
            }
        };
    }

    /// Returns the report that the options ask for. Callers make it before they publish anything,
    /// so that a comparison that fails is known first.
    pub fn report(&self, show: &Show) -> Result<Report<'_>> {
        Ok(self.report_of(Ask {
            moves: show.moves.is_some(),
            lost: &self.lost(&show.lost)?,
        })?)
    }

    /// Returns the names of the lost nodes. A word is the name of a node, or a label of nodes of
    /// the map before, such as `zone=a`.
    fn lost(&self, words: &[String]) -> Result<Vec<String>> {
        let map = self.old.as_ref().unwrap_or(&self.new);
        let mut names: Vec<String> = Vec::new();
        for word in words {
            let named = down::nodes(map, word)?;
            names.extend(named.iter().map(|id| map.node(*id).name().to_owned()));
        }
        Ok(names)
    }

    /// Returns the report with what is asked for.
    pub fn report_of(&self, ask: Ask) -> stead::Result<Report<'_>> {
        // when nothing changes, the present map is compared with itself
        let old = match self.needed {
            true => self.old.as_ref(),
            false => Some(&self.new),
        };
        match &self.fleet {
            Some(fleet) => Report::of_fleet(fleet, old, &self.new, ask),
            None => Report::of(old, &self.new, ask),
        }
    }

    /// Whether the change that a fleet asks for brings data to other nodes, and no carry does so.
    pub fn is_to_be_carried(&self, report: &Report) -> bool {
        self.fleet.is_some() && self.moves_data(report)
    }

    /// Whether stead-rrd routes the data: it takes no map in which a node lacks its attribute.
    fn is_rrd(&self) -> bool {
        let mut nodes = self.new.nodes();
        nodes.all(|node| node.attributes().any(|(name, _)| name == RRDCACHED))
    }

    /// Returns the last line about data that moves. stead-rrd moves its files itself and takes no
    /// map with a carry, so a fleet all of whose nodes have an rrdcached is told that.
    pub fn advice(&self, usual: &'static str) -> &'static str {
        match usual {
            usual if !self.is_rrd() => usual,
            NOT_CARRIED | NOT_CARRIED_BACK => RRD_NOT_MOVED,
            _ => RRD_TO_BE_MOVED,
        }
    }

    /// Returns whether data moves and no carry serves it from its old places meanwhile.
    pub fn moves_data(&self, report: &Report) -> bool {
        let copied = report.copies.as_ref();
        self.needed
            && self.new.carry().is_none()
            && copied.is_some_and(|copies| copies.copied.count() > 0 || copies.pinned.count() > 0)
    }

    /// Returns what a person has to know before anything else, the gravest first. This is the one
    /// place where sentences that come before all others are gathered. Where a guard refuses what a
    /// sentence says, the word that allows it stands behind it.
    fn warnings(&self, report: &Report) -> Vec<String> {
        let refused = |code: &str| self.findings.iter().any(|f| f.guard.word() == code);
        let told = |code: &str| report.warnings.iter().any(|warning| warning.code == code);
        let found = self.findings.iter().filter(|f| !told(f.guard.word()));
        let found = found.map(|finding| allowed_by(&finding.text, finding.guard.word()));
        let warnings = report.warnings.iter().map(|warning| match warning.code {
            code if refused(code) => allowed_by(&warning.text, code),
            _ => warning.text.clone(),
        });
        let around = self.around.clone().into_iter();
        let renamed = self.renamed_in_rrd();
        around.chain(found).chain(renamed).chain(warnings).collect()
    }

    /// Returns the headline in one sentence: which map, which epochs, and what moves.
    pub fn headline(&self, report: &Report) -> String {
        headline::sentence(report, self.needed, self.progress.as_ref().map(step_of))
    }

    /// Returns what is said of the carry that is open, and to whom the new map is closed. `places`
    /// says where programs find what moves, once a carry begins.
    fn notices(&self, places: &str) -> Vec<String> {
        let told = self.new.carry().map(|carry| {
            let [hosts, _] = carrying::meaning(&carry);
            let begins = self.old.as_ref().is_some_and(|old| old.carry().is_none());
            let what = if begins {
                "a carry begins"
            } else {
                "a carry is open"
            };
            let line = format!("{what} ({}): {hosts}", carrying::in_words(&carry));
            [Some(line), begins.then(|| places.to_owned())]
        });
        let shut_out = guards::shut_out(self.old.as_ref(), &self.new);
        let told = told.into_iter().flatten().flatten();
        told.chain(shut_out).collect()
    }

    /// Returns what the verdict finds in the new map.
    fn found(&self, report: &Report) -> Vec<Said> {
        let mut said = caps::broken(report, &self.new);
        said.extend(caps::peaks(report, self.old.as_ref(), &self.new));
        if report.max_share_error_points != "0" && report.verdict.violations.of(Rule::Balance) > 0 {
            let allowed = report
                .tolerance
                .as_ref()
                .map_or(String::new(), |tolerance| {
                    format!(", and the tolerance is {tolerance} of it")
                });
            said.push(Said::bad(format_args!(
                "a share is {} points off its target{allowed}",
                report.max_share_error_points
            )));
        }
        said
    }

    /// Returns everything that a person reads before the figures, in the order of a screen.
    /// `places` says where programs find what moves, once a carry begins.
    pub fn told(&self, report: &Report, places: &str) -> Vec<Said> {
        let notices = self.notices(places).into_iter().map(Said::plain);
        let warnings = self.warnings(report).into_iter().map(Said::bad);
        notices.chain(warnings).chain(self.found(report)).collect()
    }

    /// Writes the report to standard output, as text or as JSON.
    pub fn write(&self, report: &Report, show: &Show, out: &mut Out) -> Result {
        if show.json {
            let findings = self.findings.iter().map(FindingJson::of).collect();
            return out.json(&Judged {
                report,
                findings,
                carry: CarryJson::of(&self.new),
                to_be_carried: self.is_to_be_carried(report),
            });
        }
        for line in wrapped(&self.headline(report), "", "  ") {
            out.line(line)?;
        }
        for notice in self.notices(BY_A_PAIR) {
            for line in wrapped(&notice, "", "  ") {
                out.line(line)?;
            }
        }
        let warnings = self.warnings(report);
        if !warnings.is_empty() {
            out.line("")?;
        }
        for warning in warnings {
            for line in wrapped(&warning, "! ", "  ") {
                out.line(out.paint(BAD, line))?;
            }
        }
        Said::write(&self.found(report), out)?;
        if self.needed || show.all {
            summary::write(report, show.all, out)?;
        }
        rows::write(report, show.all, out)?;
        match show.moves {
            None => Ok(()),
            Some(Moves::Totals) => copying::write_totals(report, show.all, out),
            Some(Moves::Each) => copying::write_each(report, out),
        }
    }
}

/// Says which map of a cluster stands in the directory of a path, under another name that ends
/// alike.
fn beside(path: &Path, cluster: &str) -> Option<String> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let files = fs::read_dir(directory).ok()?.take(LOOKED_AT).flatten();
    let alike = files
        .map(|file| file.path())
        .filter(|file| file.extension() == path.extension() && file.file_name() != path.file_name())
        .filter(|file| file.is_file());
    let mut maps = alike.filter_map(|file| Some((Map::open_uncached(&file).ok()?, file)));
    let (map, file) = maps.find(|(map, _)| map.name() == cluster)?;
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    Some(format!(
        "{} beside it is a map of {cluster}, at epoch {}: is the name {} a slip?",
        name(&file),
        map.epoch(),
        name(path)
    ))
}

/// Says which word lets a change pass.
fn allowed_by(sentence: &str, word: &str) -> String {
    match word == Guard::LeaveData.word() {
        true => format!("{sentence} (--carry, or --allow {word})"),
        false => format!("{sentence} (--allow {word})"),
    }
}

//! `stead history MAP`: the epochs of a map that are kept.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::format::hex;
use stead::store::KEEP;
use stead::{Map, Store};

use crate::carrying::{in_words, CarryJson};
use crate::epochs::{epochs, not_newest, visible, Epoch};
use crate::exit::Result;
use crate::output::{Out, BAD, HEADING};
use crate::picture::columns;
use crate::text;

/// List the epochs of a map that are kept
///
/// The newest 32 are kept. Prints, for each epoch, when and by whom it was published, how much it
/// moved compared with the epoch before, what changed, and its note. Who and when come from the log
/// beside the map and can be missing; they tell a story and prove nothing.
#[derive(Args)]
#[command(after_help = "\
Example: which epochs can come back?
  stead history members.map

Exit codes:
  0   done
  64  wrong usage
  65  the map or an epoch of the history is damaged; the others are listed
  66  the map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct History {
    /// The map file
    map: PathBuf,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Epochs<'a> {
    name: &'a str,
    map_id: String,
    epoch: u64,
    /// the carry that is open
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<CarryJson>,
    /// why no change can follow this map
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    epochs: Vec<Epoch>,
}

impl History {
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        let current = Map::open_uncached(&self.map)?;
        let (epochs, failure) = epochs(&store, &current)?;
        if self.json {
            out.json(&Epochs {
                name: current.name(),
                map_id: hex(&current.map_id()),
                epoch: current.epoch(),
                carry: CarryJson::of(&current),
                problem: not_newest(&store, &current),
                epochs,
            })?;
        } else {
            out.line(out.paint(
                HEADING,
                format_args!(
                    "{}: epoch {} is current (*)",
                    current.name(),
                    current.epoch()
                ),
            ))?;
            if let Some(carry) = current.carry() {
                out.line(format_args!("a carry is open: {}", in_words(&carry)))?;
            }
            if let Some(problem) = not_newest(&store, &current) {
                let lines = text::wrapped(&problem, "", "");
                lines
                    .iter()
                    .try_for_each(|line| out.line(out.paint(BAD, line)))?;
            }
            write(&epochs, out)?;
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Writes the epochs as a table, each with its note in a line below. No line is wider than the
/// terminal, or than 80 columns where there is none, unless a name is long.
fn write(epochs: &[Epoch], out: &mut Out) -> Result {
    let who = |epoch: &Epoch| epoch.who.clone().unwrap_or("-".to_owned());
    let width =
        |texts: &mut dyn Iterator<Item = usize>, least: usize| texts.fold(least, usize::max);
    let of_epoch = width(&mut epochs.iter().map(|e| e.epoch.to_string().len() + 2), 5);
    let of_who = width(&mut epochs.iter().map(|e| who(e).chars().count()), 3);
    let row = |epoch: &str, time: &str, who: &str, moved: &str| {
        format!("{epoch:>of_epoch$}  {time:<16}  {who:<of_who$}  {moved:>8}  ")
    };
    let heading = row("epoch", "time (UTC)", "who", "moved") + "change";
    out.line(out.paint(HEADING, heading))?;
    for epoch in epochs {
        let mark = if epoch.current { "* " } else { "" };
        let start = row(
            &format!("{mark}{}", epoch.epoch),
            &epoch.time_in_words(),
            &who(epoch),
            &epoch.moved_in_words(),
        );
        let at = start.chars().count();
        // an error is written whole: it says what to do
        let rest = match (&epoch.error, epoch.change_in_words()) {
            (Some(error), _) => vec![error.clone()],
            (None, Some(change)) => within(&change, columns().saturating_sub(at)),
            (None, None) => vec!["-".to_owned()],
        };
        let indent = " ".repeat(at);
        let starts = std::iter::once(&start).chain(std::iter::repeat(&indent));
        for (start, line) in starts.zip(rest) {
            out.line(format_args!("{start}{line}"))?;
        }
        if let Some(note) = &epoch.note {
            let indent = " ".repeat(of_epoch + 2);
            for line in wrapped(&visible(note), columns().saturating_sub(of_epoch + 2)) {
                out.line(format_args!("{indent}{line}"))?;
            }
        }
    }
    Ok(())
}

/// Breaks a text into lines of at most `most` characters, but of 20 at least. A longer word is cut.
fn within(text: &str, most: usize) -> Vec<String> {
    let most = most.max(20);
    let cut = |line: String| match line.chars().count() <= most {
        true => line,
        false => line.chars().take(most - 3).chain("...".chars()).collect(),
    };
    wrapped(&visible(text), most).into_iter().map(cut).collect()
}

/// Breaks a text at spaces into lines of at most `most` characters, where its words allow it.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

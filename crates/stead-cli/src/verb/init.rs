//! `stead init`: writes a first fleet, from a table of nodes or from a few answers.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::draft::{Draft, Row};
use crate::exit::{Failure, Result, USAGE};
use crate::nodes_table;
use crate::output::Out;
use crate::rewrite;
use crate::text::count;

/// The name of a fleet that nobody names.
const NAME: &str = "cluster";
/// The largest table, in bytes: as much as a fleet may have.
const LARGEST: u64 = 64 << 20;

/// Write a first fleet, from a table of nodes or from a few answers
///
/// The table is CSV with a header, or JSON (an array of objects). The column `name` is required,
/// `weight` is optional, and any other column is a label. Without a table, the command asks on the
/// terminal. The fleet has comments for those who will edit it, and is read and built before it is
/// written.
#[derive(Args)]
#[command(after_help = "\
Examples: answer a few questions; or take a table (name, weight, zone, rack)
  stead init -o fleet.toml
  stead init --from nodes.csv --replicas 3 --spread zone,rack -o fleet.toml

Exit codes:
  0   done
  64  wrong usage, or the file already exists
  66  the table is missing
  74  reading or writing failed
  77  permission denied
  78  the table is wrong, or no map can be built from it")]
pub struct Init {
    /// The table of nodes; - is standard input
    #[arg(long, value_name = "TABLE")]
    from: Option<PathBuf>,
    /// Write the fleet to this file [default: standard output]
    #[arg(short, long, value_name = "FLEET")]
    output: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long, requires = "output")]
    force: bool,
    /// The name of the cluster [default: cluster]
    #[arg(long)]
    name: Option<String>,
    /// How many nodes hold each key [default: 1]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=255))]
    replicas: Option<u32>,
    /// The labels over which copies are kept apart, outermost first
    #[arg(long, value_name = "LABEL,LABEL", value_delimiter = ',')]
    spread: Vec<String>,
    /// A column that is an attribute, such as an address, and not a label; may be given more than
    /// once
    #[arg(long, value_name = "COLUMN", requires = "from")]
    attribute: Vec<String>,
}

impl Init {
    pub fn run(self, out: &mut Out) -> Result {
        let there = self
            .output
            .as_deref()
            .filter(|path| path.symlink_metadata().is_ok());
        if let Some(there) = there.filter(|_| !self.force) {
            return Err(Failure::new(
                USAGE,
                format!(
                    "{} already exists; name a new file, or add --force",
                    there.display()
                ),
            ));
        }
        let draft = match &self.from {
            Some(table) => self.read_table(table)?,
            None => {
                if !io::stdin().is_terminal() {
                    return Err(Failure::new(
                        USAGE,
                        "there is no terminal to ask on; name a table of nodes with --from",
                    ));
                }
                let mut ask = Ask {
                    input: io::stdin().lock(),
                    output: io::stderr(),
                };
                self.asked(&mut ask)?
            }
        };
        let text = draft.text()?;
        let Some(output) = &self.output else {
            return out.bytes(text.as_bytes());
        };
        match there {
            None => rewrite::create(output, &text)?,
            Some(there) => {
                let before = fs::read(there).map_err(|e| stead::Error::io("read", there, e))?;
                rewrite::replace(there, &before, &text)?;
            }
        }
        let copies = match draft.replicas {
            1 => String::new(),
            copies => format!(", {copies} replicas"),
        };
        let spread = match draft.spread.is_empty() {
            true => String::new(),
            false => format!(", spread over {}", draft.spread.join(", ")),
        };
        out.line(format_args!(
            "{}: {}{copies}{spread}",
            output.display(),
            count(draft.rows.len(), "node")
        ))?;
        let map = Path::new(&draft.name).with_extension("map");
        out.line(format_args!(
            "next: stead plan {} {}",
            output.display(),
            map.display()
        ))
    }

    fn read_table(&self, table: &Path) -> Result<Draft> {
        let mut bytes = Vec::new();
        let file = match table == Path::new("-") {
            true => "standard input".to_owned(),
            false => table.display().to_string(),
        };
        if table == Path::new("-") {
            let read = io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
            read.map_err(|e| Failure::io("cannot read standard input", &e))?;
        } else {
            let open = fs::File::open(table).map_err(|e| stead::Error::io("open", table, e))?;
            let read = open.take(LARGEST).read_to_end(&mut bytes);
            read.map_err(|e| stead::Error::io("read", table, e))?;
        }
        Ok(Draft {
            name: self.name.clone().unwrap_or_else(|| NAME.to_owned()),
            replicas: self.replicas.unwrap_or(1),
            spread: self.spread.clone(),
            rows: nodes_table::read(&bytes, &file, &self.attribute)?,
        })
    }

    /// Asks for what the options do not say.
    fn asked(&self, ask: &mut Ask<impl BufRead, impl Write>) -> Result<Draft> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => ask.text("Name of the cluster", NAME)?,
        };
        let replicas = match self.replicas {
            Some(replicas) => replicas,
            None => ask.until("How many nodes hold each key", "1", |text| {
                let number = text
                    .parse()
                    .ok()
                    .filter(|number| (1..=255).contains(number));
                number.ok_or("write a number from 1 to 255".to_owned())
            })?,
        };
        ask.say("Nodes, one in a line, such as: db1 weight=2 zone=a rack=1")?;
        ask.say("The weight is 1 if you leave it out. An empty line ends the list.")?;
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let place = format!("node {}", rows.len() + 1);
            let row = ask.until(&place, "", |text| row(&place, text, &rows))?;
            match row {
                Some(row) => rows.push(row),
                None if rows.len() >= replicas as usize => break,
                None => ask.say(&format!("{} are needed", count(replicas as usize, "node")))?,
            }
        }
        let mut spread = self.spread.clone();
        let has = |row: &Row, label: &str| row.labels.iter().any(|(name, _)| name == label);
        if self.spread.is_empty() && replicas > 1 && rows.iter().any(|row| !row.labels.is_empty()) {
            ask.say("Copies can be kept apart, for instance in different zones: zone,rack")?;
            spread = ask.until("Over which labels, outermost first", "none", |text| {
                let labels = text.split([',', ' ']).filter(|label| !label.is_empty());
                let labels: Vec<String> = match text {
                    "none" => Vec::new(),
                    _ => labels.map(str::to_owned).collect(),
                };
                for label in &labels {
                    if let Some(row) = rows.iter().find(|row| !has(row, label)) {
                        return Err(format!("{} has no label {label}", row.name));
                    }
                }
                Ok(labels)
            })?;
        }
        Ok(Draft {
            name,
            replicas,
            spread,
            rows,
        })
    }
}

/// Reads a line that describes a node; `None` if it is empty.
fn row(place: &str, text: &str, before: &[Row]) -> std::result::Result<Option<Row>, String> {
    let mut words = text.split_whitespace();
    let Some(name) = words.next() else {
        return Ok(None);
    };
    if before.iter().any(|row| row.name == name) {
        return Err(format!("{name} is there already"));
    }
    let mut row = Row {
        place: place.to_owned(),
        name: name.to_owned(),
        ..Row::default()
    };
    for word in words {
        match word.split_once('=') {
            Some(("weight", weight)) => {
                let known = stead::weight::Weight::parse(weight);
                known.map_err(|wrong| format!("weight {weight} {wrong}"))?;
                row.weight = weight.to_owned();
            }
            Some((label, value)) if !label.is_empty() && !value.is_empty() => {
                row.labels.push((label.to_owned(), value.to_owned()));
            }
            _ => return Err(format!("{word} is not LABEL=VALUE")),
        }
    }
    match name.contains(',') {
        true => Err("a name has no comma".to_owned()),
        false => Ok(Some(row)),
    }
}

/// Questions on a terminal. They go to standard error, since the fleet may go to standard output.
struct Ask<I, O> {
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Ask<I, O> {
    fn say(&mut self, text: &str) -> Result {
        let said = writeln!(self.output, "{text}");
        said.map_err(|e| Failure::io("cannot write to the terminal", &e))
    }

    /// Asks for a text; an empty answer gives the default.
    fn text(&mut self, question: &str, default: &str) -> Result<String> {
        self.until(question, default, |text| Ok(text.to_owned()))
    }

    /// Asks until the answer can be understood.
    fn until<T>(
        &mut self,
        question: &str,
        default: &str,
        mut understand: impl FnMut(&str) -> std::result::Result<T, String>,
    ) -> Result<T> {
        loop {
            let shown = match default {
                "" => String::new(),
                default => format!(" [{default}]"),
            };
            let asked = write!(self.output, "{question}{shown}: ");
            let asked = asked.and_then(|()| self.output.flush());
            asked.map_err(|e| Failure::io("cannot write to the terminal", &e))?;
            let mut line = String::new();
            let read = self.input.read_line(&mut line);
            if read.map_err(|e| Failure::io("cannot read the answer", &e))? == 0 {
                self.say("")?;
                return Err(Failure::new(
                    USAGE,
                    "the answers end here; nothing was written",
                ));
            }
            let answer = match line.trim() {
                "" => default,
                answer => answer,
            };
            match understand(answer) {
                Ok(value) => return Ok(value),
                Err(problem) => self.say(&format!("  {problem}"))?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(replicas: Option<u32>) -> Init {
        Init {
            from: None,
            output: None,
            force: false,
            name: None,
            replicas,
            spread: Vec::new(),
            attribute: Vec::new(),
        }
    }

    fn answered(init: &Init, answers: &str) -> (Result<Draft>, String) {
        let mut ask = Ask {
            input: answers.as_bytes(),
            output: Vec::new(),
        };
        let draft = init.asked(&mut ask);
        (draft, String::from_utf8(ask.output).unwrap())
    }

    #[test]
    fn answers_make_a_fleet() {
        let answers = "members\nmany\n2\ndb1 zone=a weight=x\ndb1 zone=a weight=2\n\ndb1\ndb2 zone=b\n\nrack\nzone\n";
        let (draft, asked) = answered(&init(None), answers);
        let draft = draft.unwrap();
        assert_eq!((draft.name.as_str(), draft.replicas), ("members", 2));
        assert_eq!(draft.spread, ["zone"]);
        assert_eq!(draft.rows.len(), 2);
        assert_eq!(draft.rows[0].weight, "2");
        for said in [
            "write a number from 1 to 255",
            "weight x is not a plain decimal",
            "2 nodes are needed",
            "db1 is there already",
            "db1 has no label rack",
        ] {
            assert!(asked.contains(said), "{said}: {asked}");
        }
        assert!(draft.text().unwrap().contains("spread = [\"zone\"]\n"));
    }

    #[test]
    fn empty_answers_take_the_defaults_and_the_end_of_the_answers_writes_nothing() {
        let (draft, asked) = answered(&init(None), "\n\na\n\n");
        let draft = draft.unwrap();
        assert_eq!(
            (draft.name.as_str(), draft.replicas, draft.rows.len()),
            (NAME, 1, 1)
        );
        assert!(!asked.contains("labels, outermost"), "{asked}");
        let (draft, _) = answered(&init(Some(1)), "m\na\n");
        let failure = draft.err().unwrap();
        assert!(format!("{failure:?}").contains("nothing was written"));
    }
}

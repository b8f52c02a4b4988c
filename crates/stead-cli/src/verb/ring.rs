//! `stead ring KIND SERVERS`: converts another program's ring to a map, and to the fleet that
//! continues it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use stead::report::Amount;
use stead::ring::{self, Kind, Servers, KINDS};
use stead::store::KEEP;
use stead::verdict::{Holder, Verdict};
use stead::{Error, Fleet, Map, Store};

use super::observed::EXPLICIT;
use crate::exit::{Failure, Result, USAGE};
use crate::output::{Out, HEADING};
use crate::text::{by_name, count, hash, percent, wrapped, Table};

/// The largest list of servers that is read, in bytes. 65,536 servers need a tenth of it.
const LONGEST: u64 = 64 << 20;

/// With so many cells for each node, the shares of a cluster that grows are exact to a percent.
const GROWS: u128 = 100;

/// Convert another program's ring to a map; every key stays where it is
///
/// SERVERS is the list of servers in the syntax of the other program. --list shows the rings, the
/// syntax of their lists, and the settings. With -o and --fleet it writes the map and a fleet, from
/// which `stead apply FLEET MAP` continues. Without them it only shows what it would write. Neither
/// file may exist yet.
#[derive(Args)]
#[command(after_help = "\
Example: adopt the ring of a PHP site, then see what an exact balance would move
  stead ring libmemcached servers.txt -o cache.map --fleet cache.toml
  stead plan cache.toml cache.map

Exit codes:
  0   done
  64  wrong usage, or MAP or FLEET already exists
  66  the list of servers is missing
  74  reading or writing failed
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied
  78  the list of servers is wrong, or no share can be computed from it")]
pub struct Ring {
    /// The kind of ring; --list shows them
    #[arg(required_unless_present = "list")]
    kind: Option<String>,
    /// The file with the list of servers, in the ring's own syntax; - is standard input
    #[arg(required_unless_present = "list")]
    servers: Option<PathBuf>,
    /// Write the map to this new file; needs --fleet
    #[arg(short, long, value_name = "MAP", requires = "fleet")]
    output: Option<PathBuf>,
    /// Write the fleet to this new file; needs -o
    #[arg(long, requires = "output")]
    fleet: Option<PathBuf>,
    /// The name of the cluster [default: the file name of MAP without its extension, or KIND]
    #[arg(long)]
    name: Option<String>,
    /// A setting of the ring, which --list shows; may be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The weights of the nodes in the fleet: `ring` (the default) takes the ring's own; `shares`
    /// takes what each node holds today, so that the first apply moves next to nothing
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Weights::Ring, hide_default_value = true, hide_possible_values = true)]
    weights: Weights,
    /// List the kinds of ring, with the syntax of their lists and their settings
    #[arg(long, conflicts_with_all = ["kind", "servers", "output", "fleet", "name", "set", "weights"])]
    list: bool,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Weights {
    Ring,
    Shares,
}

#[derive(Serialize)]
struct Listed {
    ring: &'static str,
    about: &'static str,
    servers: &'static str,
    choices: Vec<ListedChoice>,
}

#[derive(Serialize)]
struct ListedChoice {
    name: &'static str,
    values: String,
    default: String,
    about: &'static str,
}

#[derive(Serialize)]
struct Drawn<'a> {
    name: &'a str,
    ring: &'static str,
    hash: String,
    /// 0 means 2^64
    cells: String,
    replicas: u32,
    slices: usize,
    bytes: usize,
    /// the least that the first apply moves if the fleet is not changed
    to_balance: Amount,
    nodes: Vec<DrawnNode<'a>>,
}

#[derive(Serialize)]
struct DrawnNode<'a> {
    name: &'a str,
    weight: String,
    points: String,
}

impl Ring {
    pub fn run(self, out: &mut Out) -> Result {
        let (Some(kind), Some(servers)) = (&self.kind, &self.servers) else {
            return list(self.json, out);
        };
        let kind = Kind::named(kind)?;
        let new: Vec<&Path> = self
            .output
            .iter()
            .chain(&self.fleet)
            .map(PathBuf::as_path)
            .collect();
        if let Some(there) = new.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(Failure::new(
                USAGE,
                format_args!(
                    "{} already exists; name a new file, or remove what an earlier try made: map, \
                     history, lock and fleet",
                    there.display()
                ),
            ));
        }
        let (bytes, file) = read(servers)?;
        let weights = match self.weights {
            Weights::Ring => ring::Weights::Ring,
            Weights::Shares => ring::Weights::Shares,
        };
        let drawn = kind
            .draw(
                &Servers {
                    bytes: &bytes,
                    file: &file,
                },
                &self.set,
            )?
            .with(weights);
        let stem = self
            .output
            .as_deref()
            .and_then(Path::file_stem)
            .map(|stem| stem.to_string_lossy().into_owned());
        let name = self
            .name
            .clone()
            .or(stem)
            .unwrap_or_else(|| kind.name.to_owned());
        let (map, text) = (drawn.map(&name)?, drawn.fleet(&name));
        Fleet::parse(&text, "the fleet of the ring")?; // never write a fleet that cannot be read
        let verdict = Verdict::of(&map, 0);
        if !verdict.has_targets() {
            let problem = format!(
                "map `{}` has fewer nodes with a weight above 0 than replicas, \
                so no share can be computed; give more servers a weight",
                map.name()
            );
            return Err(Error::Impossible { problem }.into());
        }
        if let (Some(output), Some(fleet)) = (&self.output, &self.fleet) {
            write(output, &map, fleet, &text)?;
        }
        let written = self
            .report(kind, &map, &verdict, out)
            .and_then(|()| out.flush());
        // a script that reads only the exit code must learn that the files exist
        written.map_err(|failure| {
            if self.output.is_some() {
                failure.in_place(1)
            } else {
                failure
            }
        })
    }

    fn report(&self, kind: &Kind, map: &Map, verdict: &Verdict, out: &mut Out) -> Result {
        let to_balance = to_balance(verdict);
        if self.json {
            return out.json(&Drawn {
                name: map.name(),
                ring: kind.name,
                hash: hash(map),
                cells: map.cells().stored().to_string(),
                replicas: map.replicas(),
                slices: map.base_count(),
                bytes: map.bytes().len(),
                to_balance: Amount::of(to_balance, map),
                nodes: verdict
                    .nodes
                    .iter()
                    .map(|node| DrawnNode {
                        name: node.name,
                        weight: node.weight.to_string(),
                        points: node.now.points.to_string(),
                    })
                    .collect(),
            });
        }
        out.line(format_args!(
            "{}: the ring {}, {}, {}{}, {} bytes, hash {}",
            map.name(),
            kind.name,
            count(map.nodes().len(), "node"),
            match map.replicas() {
                1 => String::new(),
                copies => format!("{copies} replicas, "),
            },
            count(map.base_count(), "slice"),
            map.bytes().len(),
            hash(map)
        ))?;
        out.line("")?;
        let mut table = Table::new(&["node", "weight", "holds", "by its weight"], &[1, 2, 3]);
        let mut nodes: Vec<_> = verdict.nodes.iter().collect();
        by_name(&mut nodes, |node| node.name);
        for node in nodes {
            let target = verdict.in_points(node.target.unwrap_or(0));
            let [holds, due] = [node.now.points, target].map(|p| percent(p, map.replicas()));
            table.row([node.name.to_owned(), node.weight.to_string(), holds, due]);
        }
        table.write(out)?;
        out.line("")?;
        let (cells, nodes) = (map.cells().count(), map.nodes().len() as u128);
        if kind.name == EXPLICIT && map.hash().is_modulo() && cells < GROWS * nodes {
            let told = format!(
                "{} for {}: they are never divided, so a new node gets whole ones or none; if the \
                 cluster is to grow, draw a multiple, such as modulo={} (docs/rings.md)",
                count(cells as usize, "cell"),
                count(nodes as usize, "node"),
                cells * (GROWS * nodes).div_ceil(cells)
            );
            wrapped(&told, "", "")
                .iter()
                .try_for_each(|line| out.line(line))?;
        }
        let has_hash = self.set.iter().any(|set| set.starts_with("hash="));
        if kind.name == EXPLICIT && !has_hash {
            let map = self
                .output
                .as_deref()
                .map_or("MAP".into(), Path::to_string_lossy);
            let told = format!(
                "no hash= was set, so this is md5: `stead check {map} --observed FILE` compares it \
                 with where your program has its keys"
            );
            wrapped(&told, "", "")
                .iter()
                .try_for_each(|line| out.line(line))?;
        }
        let moves = percent(to_balance, map.replicas());
        out.line(match &self.output {
            Some(_) if to_balance == 0 => {
                "every node has what its weight asks for: nothing has to move".to_owned()
            }
            None if to_balance == 0 => "nothing is written without -o and --fleet; for an exact \
                balance nothing would have to move"
                .to_owned(),
            Some(_) => format!(
                "to bring every node to its weight, `stead apply` of the fleet has \
                to move {moves}"
            ),
            None => format!(
                "nothing is written without -o and --fleet; an exact balance would \
                have to move {moves}"
            ),
        })
    }
}

/// Returns the least number of points that any change to the targets must move. (With coarse cells
/// a target is known in points only to within one cell.)
fn to_balance(verdict: &Verdict) -> u128 {
    if verdict.max_share_error == 0 {
        return 0;
    }
    let lacking = |node: &Holder| {
        let target = verdict.in_points(node.target.unwrap_or(0));
        target.saturating_sub(node.now.points)
    };
    verdict.nodes.iter().map(lacking).sum()
}

fn list(json: bool, out: &mut Out) -> Result {
    let choice = |choice: &ring::Choice| ListedChoice {
        name: choice.name,
        values: choice.values.to_string(),
        default: choice.values.default_text(),
        about: choice.about,
    };
    let kinds = KINDS.iter().map(|kind| Listed {
        ring: kind.name,
        about: kind.about,
        servers: kind.servers,
        choices: kind.choices.iter().map(choice).collect(),
    });
    let kinds: Vec<Listed> = kinds.collect();
    if json {
        return out.json(&kinds);
    }
    for (i, kind) in kinds.iter().enumerate() {
        if i > 0 {
            out.line("")?;
        }
        let mut about = wrapped(&format!("{}  {}", kind.ring, kind.about), "", "      ");
        if let Some(first) = about.first_mut() {
            *first = first.replacen(kind.ring, &out.paint(HEADING, kind.ring), 1);
        }
        about.iter().try_for_each(|line| out.line(line))?;
        told(&format!("servers: {}", kind.servers), out)?;
        for choice in &kind.choices {
            let default = if choice.default.is_empty() {
                String::new()
            } else {
                format!(" [{}]", choice.default)
            };
            let set = format!("--set {}={}{default}", choice.name, choice.values);
            told(&format!("{set}  {}", choice.about), out)?;
        }
    }
    Ok(())
}

/// Writes a line of the list of rings, in as many lines as it needs.
fn told(text: &str, out: &mut Out) -> Result {
    let lines = wrapped(text, "  ", "      ");
    lines.iter().try_for_each(|line| out.line(line))
}

/// Reads a list of servers. Returns its bytes, and its name for messages.
pub fn read(path: &Path) -> Result<(Vec<u8>, String)> {
    let mut bytes = Vec::new();
    let name = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(LONGEST + 1)
            .read_to_end(&mut bytes)
    } else {
        let file = File::open(path).map_err(|e| stead::Error::io("open", path, e))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes)
    };
    read.map_err(|e| Failure::io(&format!("cannot read {name}"), &e))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::new(
            crate::exit::FLEET,
            format_args!(
                "{name}: longer than {LONGEST} bytes, too long for a list of servers; name \
                another file"
            ),
        ));
    }
    Ok((bytes, name))
}

/// Writes both files, or neither.
fn write(output: &Path, map: &Map, fleet: &Path, text: &str) -> Result {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(fleet)
        .and_then(|mut file| {
            let written = file
                .write_all(text.as_bytes())
                .and_then(|()| file.sync_all());
            written.inspect_err(|_| drop(fs::remove_file(fleet)))
        });
    written.map_err(|e| stead::Error::io("write", fleet, e))?;
    match Store::new(output, KEEP).publish(None, map) {
        Ok(()) => Ok(()),
        // the map is in place
        Err(error @ stead::Error::Uncertain { .. }) => Err(error.into()),
        Err(error) => {
            let _ = fs::remove_file(fleet);
            Err(error.into())
        }
    }
}

//! What the lines of a journal say: how a carry stands, and how that is written.

use std::collections::{BTreeMap, BTreeSet};

use super::about::About;
use super::kind::{Ground, Holding, Item};
use super::word::{escaped, unescaped};

/// How far a node is done in a pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Up to the item of this name.
    Name(Vec<u8>),
    /// All of it.
    End,
}

/// A side of a carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The old places, which items come from.
    Old,
    /// The new places.
    New,
}

/// The hosts that had confirmed an epoch of the carry, all that were registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    /// The epoch.
    pub epoch: u64,
    /// When they had, in milliseconds since 1970 by the clock of the carrier.
    pub since: u64,
    /// Their names.
    pub names: BTreeSet<String>,
}

/// The passes that compare all items at their places.
pub const COMPARING: [&str; 3] = ["verify", "check", "look"];

/// What a journal knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// Which carry it is: the id of the map and the digest of the map where the data was.
    pub carry: String,
    /// The file of the carry, for those who have only the map.
    pub file: Option<String>,
    /// What it is about. Older journals do not say it.
    pub about: Option<About>,
    /// The hosts that had confirmed the carry's newest state that was confirmed. Older journals do
    /// not say it.
    pub hosts: Option<Hosts>,
    /// What each place held when it was last looked at as a whole, by its side and its node.
    pub holdings: BTreeMap<(Side, String), Holding>,
    /// What the root of each node stood on when a state began.
    pub grounds: BTreeMap<String, Ground>,
    /// The nodes that were emptied or replaced, and not compared since.
    pub doubted: BTreeSet<String>,
    /// The pass under way and its epoch.
    pub pass: Option<(String, u64)>,
    /// The passes that are done, with their epochs.
    pub passed: BTreeSet<(String, u64)>,
    /// How far each node is done in the pass.
    pub marks: BTreeMap<String, Mark>,
    /// What was in flight, by number.
    pub flights: BTreeMap<u64, (String, Vec<Item>)>,
    /// What failed in the pass, by node, and why.
    pub failed: BTreeMap<(String, Item), String>,
    /// What the new place lacks in the pass, by node.
    pub aside: BTreeSet<(String, Item)>,
    /// What was written at the old place after the new one in the pass, by node.
    pub newer: BTreeSet<(String, Item)>,
    /// How many items a pass has to do, where that was counted.
    pub total: Option<u64>,
    /// How many of them are done.
    pub done: u64,
}

impl Story {
    /// Takes a line; `None` when it is none.
    pub fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let what = words.next()?;
        let rest: Vec<&str> = words.collect();
        let text =
            |at: usize| Some(String::from_utf8_lossy(&unescaped(rest.get(at)?)?).into_owned());
        let number = |at: usize| rest.get(at)?.parse::<u64>().ok();
        let item = |at: usize| self::read_item(rest.get(at)?);
        // pairs of words, from the second word on
        let pairs = || {
            let pairs = rest.get(1..)?.chunks(2).enumerate().map(|(n, pair)| {
                (pair.len() == 2).then_some(())?;
                Some((text(2 * n + 1)?, text(2 * n + 2)?))
            });
            pairs.collect::<Option<BTreeMap<String, String>>>()
        };
        match what {
            "begin" => self.carry = rest.join(" "),
            "file" => self.file = Some(text(0)?),
            "about" => {
                self.about = Some(About {
                    parts: pairs()?,
                    form: text(0)?,
                });
            }
            "hosts" => {
                let names = (2..rest.len()).map(text).collect::<Option<_>>()?;
                self.hosts = Some(Hosts {
                    epoch: number(0)?,
                    since: number(1)?,
                    names,
                });
            }
            "old" | "new" => {
                let side = if what == "old" { Side::Old } else { Side::New };
                self.holdings.insert((side, text(0)?), pairs()?);
            }
            "ground" => {
                let ground = Ground {
                    mount: text(1)?,
                    system: text(2)?,
                    id: text(3).filter(|id| !id.is_empty()),
                    inode: number(4)?,
                    root: text(5)?,
                };
                self.grounds.insert(text(0)?, ground);
            }
            "doubt" => {
                self.doubted.insert(text(0)?);
            }
            "again" => {
                self.passed.clear();
                self.begin_anew();
                self.pass = None;
            }
            "pass" => {
                self.pass = Some((text(0)?, number(1)?));
                self.begin_anew();
            }
            "passed" => {
                let pass = text(0)?;
                if COMPARING.contains(&&*pass) {
                    self.doubted.clear();
                }
                self.passed.insert((pass, number(1)?));
            }
            "flight" => {
                let items = (2..rest.len()).map(item).collect::<Option<_>>()?;
                self.flights.insert(number(0)?, (text(1)?, items));
            }
            "landed" => {
                self.flights.remove(&number(0)?);
            }
            "mark" => {
                self.marks
                    .insert(text(0)?, Mark::Name(unescaped(rest.get(1)?)?));
            }
            "end" => {
                self.marks.insert(text(0)?, Mark::End);
            }
            "failed" => {
                self.failed.insert((text(0)?, item(1)?), text(2)?);
            }
            "aside" => {
                self.aside.insert((text(0)?, item(1)?));
            }
            "newer" => {
                self.newer.insert((text(0)?, item(1)?));
            }
            "mended" => {
                let of = (text(0)?, item(1)?);
                self.failed.remove(&of);
                self.aside.remove(&of);
                self.newer.remove(&of);
            }
            "total" => self.total = Some(number(0)?),
            "done" => self.done = self.done.saturating_add(number(0)?),
            "synced" => {
                number(0)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Forgets how far a pass was done.
    fn begin_anew(&mut self) {
        self.marks.clear();
        self.failed.clear();
        self.aside.clear();
        self.newer.clear();
        self.done = 0;
    }

    /// Returns the lines that say all this.
    pub fn lines(&self) -> Vec<String> {
        let node = |name: &str| escaped(name.as_bytes());
        let mut lines = vec![format!("begin {}", self.carry)];
        lines.extend(self.file.iter().map(|file| file_line(file)));
        lines.extend(self.about.iter().map(about_line));
        lines.extend(self.hosts.iter().map(hosts_line));
        let holdings = self.holdings.iter();
        lines.extend(holdings.map(|((side, node), holding)| holding_line(*side, node, holding)));
        let grounds = self.grounds.iter();
        lines.extend(grounds.map(|(node, ground)| ground_line(node, ground)));
        lines.extend(
            self.passed
                .iter()
                .map(|(pass, epoch)| format!("passed {pass} {epoch}")),
        );
        lines.extend(
            self.pass
                .iter()
                .map(|(pass, epoch)| format!("pass {pass} {epoch}")),
        );
        lines.extend(self.total.map(|total| format!("total {total}")));
        lines.push(format!("done {}", self.done));
        lines.extend(self.doubted.iter().map(|node| doubt_line(node)));
        for (name, mark) in &self.marks {
            lines.push(match mark {
                Mark::Name(item) => format!("mark {} {}", node(name), escaped(item)),
                Mark::End => format!("end {}", node(name)),
            });
        }
        for (number, (name, items)) in &self.flights {
            let items: Vec<String> = items.iter().map(written).collect();
            lines.push(format!(
                "flight {number} {} {}",
                node(name),
                items.join(" ")
            ));
        }
        for ((name, item), why) in &self.failed {
            let why = escaped(why.as_bytes());
            lines.push(format!("failed {} {} {why}", node(name), written(item)));
        }
        for (name, item) in &self.aside {
            lines.push(format!("aside {} {}", node(name), written(item)));
        }
        for (name, item) in &self.newer {
            lines.push(format!("newer {} {}", node(name), written(item)));
        }
        lines
    }
}

/// Returns the line that says which file a carry is run by.
pub fn file_line(file: &str) -> String {
    format!("file {}", escaped(file.as_bytes()))
}

/// Returns the line that says what a carry is about.
pub fn about_line(about: &About) -> String {
    let line = format!("about {}", escaped(about.form.as_bytes()));
    with_pairs(line, &about.parts)
}

/// Returns the line that says what a node holds as a whole.
pub fn holding_line(side: Side, node: &str, holding: &Holding) -> String {
    let side = match side {
        Side::Old => "old",
        Side::New => "new",
    };
    with_pairs(format!("{side} {}", escaped(node.as_bytes())), holding)
}

/// Returns the line that says what the root of a node stands on.
pub fn ground_line(node: &str, ground: &Ground) -> String {
    let word = |text: &str| escaped(text.as_bytes());
    format!(
        "ground {} {} {} {} {} {}",
        word(node),
        word(&ground.mount),
        word(&ground.system),
        word(ground.id.as_deref().unwrap_or_default()),
        ground.inode,
        word(&ground.root)
    )
}

/// What was emptied or replaced since an earlier look.
#[derive(Default)]
pub struct Lost {
    /// The names of the nodes.
    pub nodes: BTreeSet<String>,
    /// What it was, such as `node a: its root`.
    pub parts: Vec<String>,
    /// Whether a server may only have been started again.
    pub restarts: bool,
}

impl Lost {
    /// Says what may have happened to what: `emptied or replaced WHEN: node a: its root`.
    pub fn told(&self, when: &str) -> String {
        let how = match self.restarts {
            true => "started again, emptied or replaced",
            false => "emptied or replaced",
        };
        format!("{how} {when}: {}", self.parts.join(", "))
    }
}

/// Returns the line that says that a node was emptied or replaced.
pub fn doubt_line(node: &str) -> String {
    format!("doubt {}", escaped(node.as_bytes()))
}

fn with_pairs(mut line: String, pairs: &BTreeMap<String, String>) -> String {
    for text in pairs.iter().flat_map(|(part, value)| [part, value]) {
        line += " ";
        line += &escaped(text.as_bytes());
    }
    line
}

/// Returns the line that says which hosts have confirmed an epoch.
pub fn hosts_line(hosts: &Hosts) -> String {
    let mut line = format!("hosts {} {}", hosts.epoch, hosts.since);
    for name in &hosts.names {
        line += " ";
        line += &escaped(name.as_bytes());
    }
    line
}

/// Writes an item as `NAME`, or `NAME,KEY` where the key is another text.
pub fn written(item: &Item) -> String {
    match item.name == item.key {
        true => escaped(&item.name),
        false => format!("{},{}", escaped(&item.name), escaped(&item.key)),
    }
}

fn read_item(text: &str) -> Option<Item> {
    let (name, key) = text.split_once(',').unwrap_or((text, text));
    Some(Item {
        name: unescaped(name)?,
        key: unescaped(key)?,
    })
}

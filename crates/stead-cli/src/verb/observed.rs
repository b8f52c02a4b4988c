//! `stead check MAP --observed KEYS`: does the map agree with production, and if not, which ring
//! does?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Serialize, Serializer};
use stead::hash::Function;
use stead::policy::NodeId;
use stead::ring::{Member, Ring, Servers, KINDS};
use stead::Map;

use crate::exit::{Failure, Result, DATA, VIOLATED};
use crate::input::{self, KeyJson};
use crate::output::Out;
use crate::text::{count, wrapped, Table};

/// The largest number of keys that are listed as elsewhere, for programs and for people.
const LISTED: usize = 1000;
const SHOWN: usize = 10;
/// The largest number of keys that are tried on each ring.
const TRIED: usize = 10_000;

/// Keys from all of a list, however long it is: every n-th one. A list is often written server by
/// server, so its first keys may all be of one server, and say nothing about the others.
struct Sample {
    kept: Vec<(Vec<u8>, NodeId)>,
    /// every which key is kept
    step: u64,
    seen: u64,
}

impl Sample {
    fn add(&mut self, key: &[u8], node: NodeId) {
        if self.seen % self.step == 0 {
            if self.kept.len() == TRIED {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.step *= 2;
            }
            if self.seen % self.step == 0 {
                self.kept.push((key.to_owned(), node));
            }
        }
        self.seen += 1;
    }
}
/// The kind of ring that lists the holders of each bucket.
pub const EXPLICIT: &str = "explicit";
/// The number of rings that are listed.
const NAMED: usize = 5;
/// The least part of the keys, in percent, on which a ring agrees that may be the right one.
const HALF: usize = 50;
/// The part of the keys, in percent, from which on what is left are some keys that have moved.
const NEARLY_ALL: usize = 99;
/// The most keys that are tried without their prefix, and the most prefixes that are tried.
const WITHOUT: usize = 1000;
const PREFIXES: usize = 3;

/// The comparison of a map with production.
#[derive(Serialize)]
pub struct Observed {
    #[serde(skip)]
    file: String,
    keys: u64,
    elsewhere: u64,
    /// node names in KEYS that no node of the map has or had, with their numbers of keys
    unknown_nodes: BTreeMap<String, u64>,
    listed: Vec<Elsewhere>,
    /// the rings that agree with the most keys, the best first
    rings: Vec<Agreement>,
    /// a prefix that all keys have, if no ring agrees with them
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<Without>,
}

/// A prefix that all keys have. A client may put it before each key, and not hash it.
#[derive(Serialize)]
struct Without {
    prefix: String,
    /// the ring that agrees with most keys without it
    #[serde(flatten)]
    best: Option<Agreement>,
}

#[derive(Serialize)]
struct Elsewhere {
    #[serde(serialize_with = "as_key")]
    key: Vec<u8>,
    observed: String,
    map: String,
}

fn as_key<S: Serializer>(key: &[u8], to: S) -> std::result::Result<S::Ok, S::Error> {
    KeyJson::of(key).serialize(to)
}

/// How many keys a ring of the map's nodes agrees with.
#[derive(Serialize)]
struct Agreement {
    ring: &'static str,
    set: Vec<String>,
    /// `map`: the weights of the map's nodes; `1`: equal weights
    weights: &'static str,
    /// the servers in the order with which it agrees, when the rule depends on the order
    #[serde(skip_serializing_if = "Vec::is_empty")]
    order: Vec<String>,
    keys: usize,
    agree: usize,
    /// on how many keys it would agree if it and production knew nothing of each other
    #[serde(skip)]
    chance: usize,
}

impl Agreement {
    /// The ring as it is written on the command line of `stead ring`.
    fn name(&self) -> String {
        let set: String = self.set.iter().map(|set| format!(" --set {set}")).collect();
        format!("{}{set}", self.ring)
    }

    /// Whether the weights of the servers count in it.
    fn has_weights(&self) -> bool {
        self.ring != EXPLICIT && !self.set.iter().any(|set| set == "mode=modula")
    }

    /// Whether it agrees with at least this many percent of the keys.
    fn reaches(&self, percent: usize) -> bool {
        self.agree * 100 >= self.keys * percent
    }

    /// Whether it may be the right one: it agrees with half of the keys, and has come a quarter of
    /// the way from chance to all of them. Of two servers, chance alone agrees with half.
    fn may_be_right(&self) -> bool {
        let more = self.agree.saturating_sub(self.chance);
        self.reaches(HALF) && more * 4 >= self.keys.saturating_sub(self.chance)
    }

    /// The part of the keys that it agrees with.
    fn part(&self) -> String {
        format!(
            "{:.3} %",
            self.agree as f64 * 100.0 / self.keys.max(1) as f64
        )
    }
}

impl Observed {
    /// Reads the pairs of a key and a node, and compares them with the map. Fails if a line is not
    /// a pair, or if there are no lines.
    pub fn of(map: &Map, pairs: &Path) -> Result<Observed> {
        let names = names(map);
        let file = pairs.display().to_string();
        let mut observed = Observed {
            file,
            keys: 0,
            elsewhere: 0,
            unknown_nodes: BTreeMap::new(),
            listed: Vec::new(),
            rings: Vec::new(),
            without: None,
        };
        let mut tried = Sample {
            kept: Vec::new(),
            step: 1,
            seen: 0,
        };
        let mut wrong = None;
        input::lines(pairs, |line| {
            observed.keys += 1;
            // a key may contain tabs and a node name may not, so the last tab separates them
            let pair = line
                .iter()
                .rposition(|byte| *byte == b'\t')
                .map(|tab| (&line[..tab], &line[tab + 1..]));
            let Some((key, node)) =
                pair.and_then(|(key, node)| Some((key, std::str::from_utf8(node).ok()?)))
            else {
                wrong.get_or_insert(observed.keys);
                return;
            };
            match names.get(node) {
                None => *observed.unknown_nodes.entry(node.to_owned()).or_default() += 1,
                Some(id) => tried.add(key, *id),
            }
            // each copy is where the map says
            let is_there = |id: &NodeId| map.locate_all(key).any(|one| one == *id);
            if !names.get(node).is_some_and(is_there) {
                observed.elsewhere += 1;
                if observed.listed.len() < LISTED {
                    observed.listed.push(Elsewhere {
                        key: key.to_owned(),
                        observed: node.to_owned(),
                        map: map.node(map.locate(key)).name().to_owned(),
                    });
                }
            }
        })?;
        if let Some(number) = wrong {
            return Err(Failure::new(
                DATA,
                format_args!(
                    "{}:{number}: write a key, a tab, and the name of the node that has it",
                    pairs.display()
                ),
            ));
        }
        if observed.keys == 0 {
            return Err(Failure::new(
                DATA,
                format_args!(
                    "{}: contains no keys; write lines of a key, a tab, and the name of the node \
                    that has it",
                    pairs.display()
                ),
            ));
        }
        if observed.elsewhere > 0 {
            observed.rings = agreements(map, &tried.kept);
            if observed
                .rings
                .first()
                .is_some_and(|best| !best.may_be_right())
            {
                observed.without = without_prefix(map, &tried.kept);
            }
        }
        Ok(observed)
    }

    /// Writes the comparison. Fails with exit code 1 if a key is elsewhere.
    pub fn report(&self, json: bool, out: &mut Out) -> Result {
        if json {
            out.json(self)?;
        } else {
            let part = |n: u64| format!("{:.3} %", n as f64 * 100.0 / self.keys as f64);
            let keys = count(self.keys as usize, "key");
            out.line(format_args!(
                "{keys}, of which {} ({}) {} elsewhere than the map says",
                self.elsewhere,
                part(self.elsewhere),
                is_or_are(self.elsewhere)
            ))?;
            // those with most keys first
            let mut unknown: Vec<(&String, &u64)> = self.unknown_nodes.iter().collect();
            unknown.sort_by_key(|(_, keys)| std::cmp::Reverse(**keys));
            for (node, keys) in unknown.iter().take(SHOWN) {
                out.line(format_args!(
                    "the map has no node {node:?}, where {} {} observed",
                    count(**keys as usize, "key"),
                    if **keys == 1 { "was" } else { "were" }
                ))?;
            }
            let more = unknown.len().saturating_sub(SHOWN);
            if more > 0 {
                out.line(format_args!(
                    "and {} more: is the name of the node behind the last tab of each line?",
                    count(more, "such name")
                ))?;
            }
            if !self.listed.is_empty() {
                out.line("")?;
                let mut table = Table::new(&["key", "observed", "map"], &[]);
                for one in self.listed.iter().take(SHOWN) {
                    table.row([
                        input::shown(&one.key),
                        one.observed.clone(),
                        one.map.clone(),
                    ]);
                }
                table.write(out)?;
                let more = self.elsewhere.saturating_sub(SHOWN as u64);
                if more > 0 {
                    out.line(format_args!("and {more} more; --json lists {LISTED}"))?;
                }
            }
            self.write_rings(out)?;
        }
        match self.elsewhere {
            0 => Ok(()),
            n => Err(Failure::new(
                VIOLATED,
                format_args!(
                    "{}: {} {} elsewhere than the map says",
                    self.file,
                    count(n as usize, "key"),
                    is_or_are(n)
                ),
            )),
        }
    }

    /// Writes which rings agree, if one of them may be the rule of production.
    fn write_rings(&self, out: &mut Out) -> Result {
        let Some(best) = self.rings.first() else {
            return Ok(());
        };
        out.line("")?;
        if !best.may_be_right() {
            let told = format!(
                "no rule that stead knows has put the keys there: the nearest, {}, agrees with {}",
                best.name(),
                best.part()
            );
            write_wrapped(&told, out)?;
            let Some(Without { prefix, best }) = &self.without else {
                return write_wrapped(
                    "docs/adopt.md has the usual causes, and docs/rings.md the ways for a hash of \
                     one's own",
                    out,
                );
            };
            let told = match best {
                Some(best) => format!(
                    "all keys begin with {prefix}; without that, {} agrees with {}: list the keys \
                     without it, as production hashes them",
                    best.name(),
                    best.part()
                ),
                None => format!(
                    "all keys begin with {prefix}: if the client puts that before each key and \
                     does not hash it, list the keys without it"
                ),
            };
            return write_wrapped(&told, out);
        }
        let mut table = Table::new(&["agree", "ring of these nodes", "weights"], &[0]);
        for ring in &self.rings {
            table.row([ring.part(), ring.name(), ring.weights.to_owned()]);
        }
        table.write(out)?;
        let mut told: Vec<&[String]> = vec![&[]];
        for ring in &self.rings {
            if told.contains(&ring.order.as_slice()) {
                continue;
            }
            told.push(&ring.order);
            let order = ring.order.join(", ");
            out.line(format_args!(
                "{} with the servers in this order: {order}",
                ring.name()
            ))?;
        }
        if !best.reaches(NEARLY_ALL) && best.has_weights() {
            let told = "most keys and not all: either the weights or the list of servers are not \
                        those of production, or keys are where they were before a change; \
                        docs/adopt.md lists the causes";
            write_wrapped(told, out)?;
        }
        if best.ring == EXPLICIT {
            let told = "draw the remainder with a multiple of that modulo, or the cluster cannot \
                        grow (docs/rings.md)";
            write_wrapped(told, out)?;
        }
        Ok(())
    }
}

/// Writes a sentence, broken into lines of at most 80 columns.
fn write_wrapped(told: &str, out: &mut Out) -> Result {
    wrapped(told, "", "")
        .iter()
        .try_for_each(|line| out.line(line))
}

fn is_or_are(keys: u64) -> &'static str {
    if keys == 1 {
        "is"
    } else {
        "are"
    }
}

/// Returns every name that production may use for a node: its name, its former name, and the values
/// of its attributes. If nodes share one of them, the node's own name takes precedence, then the
/// former name.
fn names(map: &Map) -> BTreeMap<String, NodeId> {
    let mut names = BTreeMap::new();
    for node in map.nodes() {
        names.extend(
            node.attributes()
                .map(|(_, value)| (value.to_owned(), node.id)),
        );
    }
    for node in map.nodes() {
        names.extend(node.formerly().map(|name| (name.to_owned(), node.id)));
    }
    for node in map.nodes() {
        names.insert(node.name().to_owned(), node.id);
    }
    names
}

/// Tries every ring that can be made of the map's nodes, and returns the best ones, best first.
fn agreements(map: &Map, tried: &[(Vec<u8>, NodeId)]) -> Vec<Agreement> {
    let members = |formerly: bool, weighted: bool| -> Vec<Member> {
        let nodes = map.nodes().map(|node| {
            let name = if formerly {
                node.formerly().unwrap_or(node.name())
            } else {
                node.name()
            };
            Member::new(
                name.to_owned(),
                if weighted {
                    node.weight()
                } else {
                    stead::weight::Weight::ONE
                },
            )
        });
        nodes.collect()
    };
    let renamed = map.nodes().any(|node| node.formerly().is_some());
    let unequal = map
        .nodes()
        .any(|node| Some(node.weight()) != map.nodes().next().map(|first| first.weight()));
    let mut rings = Vec::new();
    for formerly in [true, false]
        .into_iter()
        .filter(|formerly| !formerly || renamed)
    {
        for (weights, weighted) in [("map", true), ("1", false)]
            .into_iter()
            .filter(|(_, weighted)| !weighted || unequal)
        {
            let members = members(formerly, weighted);
            for kind in KINDS {
                let guesses = |members: &[Member]| {
                    let rings = kind.guesses(members).into_iter();
                    let owned = |set: Vec<&str>| set.into_iter().map(str::to_owned).collect();
                    rings.map(|(set, ring)| (owned(set), ring)).collect()
                };
                rings.extend(of_kind(kind.name, &guesses, &members, weights, tried));
            }
        }
    }
    // the names count for nothing here, and neither do the weights
    let members = members(false, false);
    rings.extend(of_kind(EXPLICIT, &remainders, &members, "1", tried));
    // of two that agree with as many keys, the order of the names comes first
    rings.sort_by_key(|ring| std::cmp::Reverse(ring.agree));
    rings.truncate(NAMED);
    rings
}

/// Returns a prefix that all keys have, the one without which a ring agrees with most of them if
/// there is one.
fn without_prefix(map: &Map, tried: &[(Vec<u8>, NodeId)]) -> Option<Without> {
    let (first, _) = tried.first().filter(|_| tried.len() > 1)?;
    let shared = tried.iter().fold(first.len(), |shared, (key, _)| {
        let same = first.iter().zip(key).take_while(|(a, b)| a == b);
        shared.min(same.count())
    });
    let ends = |byte: &u8| matches!(byte, b':' | b'.' | b'-' | b'/' | b'_' | b'|');
    let shared = first.get(..shared)?.iter().enumerate();
    let prefixes = shared.filter(|(_, byte)| ends(byte));
    let prefixes = prefixes.filter_map(|(end, _)| first.get(..=end));
    let step = tried.len().div_ceil(WITHOUT);
    let stripped = |prefix: &[u8]| {
        let rest =
            |(key, node): &(Vec<u8>, NodeId)| Some((key.strip_prefix(prefix)?.into(), *node));
        let rest: Vec<_> = tried.iter().step_by(step).filter_map(rest).collect();
        let best = agreements(map, &rest).into_iter().next();
        Without {
            prefix: input::shown(prefix),
            best: best.filter(Agreement::may_be_right),
        }
    };
    let mut found: Vec<Without> = Vec::new();
    for prefix in prefixes.take(PREFIXES) {
        found.push(stripped(prefix));
        if found.last().is_some_and(|last| last.best.is_some()) {
            return found.pop();
        }
    }
    found.into_iter().next()
}

/// A rule that production may use: its choices, and its ring.
type Guess = (Vec<String>, Ring);

/// Returns the rules `hash % n`, for each hash that stead knows.
fn remainders(members: &[Member]) -> Vec<Guess> {
    // a name may have blanks in it, which such a list cannot have
    let list: String = (0..members.len()).map(|i| format!("{i} {i}\n")).collect();
    let servers = Servers {
        bytes: list.as_bytes(),
        file: "servers",
    };
    let kind = KINDS.iter().find(|kind| kind.name == EXPLICIT);
    let drawn = |function: Function| {
        let set = [
            format!("modulo={}", members.len()),
            format!("hash={}", function.name()),
        ];
        let ring = kind?.draw(&servers, &set).ok()?;
        Some((set.to_vec(), ring))
    };
    Function::all().filter_map(drawn).collect()
}

/// Tries every ring of a kind, with the members in the order of the map's nodes. If the keys show
/// that the servers stand in another order, it tries that one, too: rules such as the remainder
/// depend on the order. Of one that does, the order is named.
fn of_kind(
    name: &'static str,
    guesses: &dyn Fn(&[Member]) -> Vec<Guess>,
    members: &[Member],
    weights: &'static str,
    tried: &[(Vec<u8>, NodeId)],
) -> Vec<Agreement> {
    let located = |members: &[Member]| {
        guesses(members).into_iter().map(|(set, ring)| {
            let found: Vec<_> = tried.iter().map(|(key, _)| ring.locate(key)).collect();
            (set, found)
        })
    };
    let agreement = |set, order, (agree, chance)| Agreement {
        ring: name,
        set,
        weights,
        order,
        keys: tried.len(),
        agree,
        chance,
    };
    let mut rings = Vec::new();
    let mut orders = BTreeSet::new();
    let mut by_name = BTreeMap::new();
    for (set, found) in located(members) {
        let agree = matching(tried, &found, |node| node);
        orders.extend(order(tried, &found, members.len(), agree.0));
        by_name.insert(set.clone(), agree);
        rings.push(agreement(set, Vec::new(), agree));
    }
    if rings.iter().any(|ring| ring.reaches(90)) {
        // a rule depends on the order if it agrees with far fewer keys in another one
        let back: Vec<Member> = members.iter().rev().cloned().collect();
        let last = (members.len() as u32).saturating_sub(1);
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        for (set, found) in located(&back) {
            let (agree, _) = matching(tried, &found, |server| last.saturating_sub(server));
            let known = rings.iter_mut().find(|ring| ring.set == set);
            if let Some(ring) = known.filter(|ring| ring.reaches(90)) {
                if agree * 10 < ring.agree * 9 {
                    ring.order.clone_from(&names);
                }
            }
        }
    }
    for order in orders {
        let ordered: Vec<Member> = order
            .iter()
            .filter_map(|node| members.get(*node as usize).cloned())
            .collect();
        let names: Vec<String> = ordered.iter().map(|member| member.name.clone()).collect();
        for (set, found) in located(&ordered) {
            let agree = matching(tried, &found, |server| {
                order.get(server as usize).copied().unwrap_or(server)
            });
            if by_name.get(&set).is_some_and(|before| before.0 < agree.0) {
                rings.push(agreement(set, names.clone(), agree));
            }
        }
    }
    rings
}

/// How many keys were observed where a ring locates them, and how many would be by chance. `node`
/// says which node a server of the ring is.
fn matching(
    tried: &[(Vec<u8>, NodeId)],
    found: &[Option<u32>],
    node: impl Fn(u32) -> u32,
) -> (usize, usize) {
    let mut agree = 0;
    // by node: the keys that were observed there, and those that the ring locates there
    let mut shares: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for ((_, observed), server) in tried.iter().zip(found) {
        let located = server.map(&node);
        agree += usize::from(located == Some(observed.0));
        shares.entry(observed.0).or_default().0 += 1;
        if let Some(located) = located {
            shares.entry(located).or_default().1 += 1;
        }
    }
    let chance = shares
        .values()
        .map(|(observed, located)| observed * located);
    (agree, chance.sum::<usize>() / tried.len().max(1))
}

/// Returns the nodes in the order of a ring's servers, if the keys say that it is another one than
/// that of the ring: each server's keys were nearly all observed on one node, which no other server
/// has.
fn order(
    tried: &[(Vec<u8>, NodeId)],
    found: &[Option<u32>],
    nodes: usize,
    agree: usize,
) -> Option<Vec<u32>> {
    let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for ((_, observed), server) in tried.iter().zip(found) {
        *counts.entry(((*server)?, observed.0)).or_default() += 1;
    }
    // of each server, the node with the most keys
    let mut best: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
    for ((server, node), keys) in counts {
        let most = best.entry(server).or_default();
        *most = (keys, node).max(*most);
    }
    let keys: usize = best.values().map(|(keys, _)| keys).sum();
    let order: Vec<u32> = best.values().map(|(_, node)| *node).collect();
    let distinct: BTreeSet<&u32> = order.iter().collect();
    (keys > agree && keys * 10 >= tried.len() * 9 && distinct.len() == nodes).then_some(order)
}

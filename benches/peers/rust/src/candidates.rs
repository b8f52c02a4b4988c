//! The candidates: stead, and what a user of Rust would pick instead.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::BuildHasherDefault;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Rc;

use maglev::ConsistentHasher;
use stead::policy::NodeId;
use stead::Span;

/// The number of points of a server of weight 1, for crates that take it as an argument: the
/// default of most rings.
const POINTS: usize = 160;
/// The size of Maglev's table. It must stay the same when servers come and go, so it must suit the
/// largest cluster; the prime of the paper's small table.
const TABLE: usize = 65_537;
/// The number of nodes that AnchorHash can ever have; it is fixed when the ring is made.
const CAPACITY: u16 = 2000;
/// The number of nodes that `copies` asks for.
const COPIES: usize = 3;

/// The keys of the run, in the forms that the candidates take.
pub struct Keys {
    bytes: &'static [u8],
    texts: Vec<&'static str>,
    slices: Vec<&'static [u8]>,
    spans: Vec<Span>,
}

/// Keys that follow each other in the list.
pub struct Part<'a> {
    bytes: &'static [u8],
    pub texts: &'a [&'static str],
    slices: &'a [&'static [u8]],
    spans: &'a [Span],
}

impl Keys {
    /// Takes the lines of a text.
    pub fn of(text: &'static str) -> Keys {
        let texts: Vec<&str> = text.lines().collect();
        Keys {
            bytes: text.as_bytes(),
            slices: texts.iter().map(|key| key.as_bytes()).collect(),
            spans: texts
                .iter()
                .map(|key| Span {
                    start: key.as_ptr() as usize - text.as_ptr() as usize,
                    length: key.len(),
                })
                .collect(),
            texts,
        }
    }

    pub fn part(&self, first: usize, count: usize) -> Result<Part<'_>, &'static str> {
        let range = first..first + count;
        Ok(Part {
            bytes: self.bytes,
            texts: self
                .texts
                .get(range.clone())
                .ok_or("there are fewer keys")?,
            slices: &self.slices[range.clone()],
            spans: &self.spans[range],
        })
    }
}

type Pass = Box<dyn Fn(&Part)>;
type Owner = Box<dyn Fn(&str) -> String>;
type Copies = Box<dyn Fn(&str) -> Vec<String>>;

/// A candidate with its nodes.
pub struct Built {
    /// looks every key up once
    pub pass: Pass,
    /// the name of a key's node
    pub owner: Owner,
    /// the names of several nodes of a key, where there is a call for it
    pub copies: Option<Copies>,
}

/// Returns a pass that calls a function for each key.
fn one_by_one<T>(call: impl Fn(&'static str) -> T + 'static) -> Pass {
    Box::new(move |part| {
        for key in part.texts {
            black_box(call(black_box(key)));
        }
    })
}

/// A node with its weight.
type Node = (String, u32);

/// Reads the states of a cluster: the nodes of each, in order. An empty line ends a state.
fn states(path: &str) -> Result<Vec<Vec<Node>>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let node = |line: &str| {
        let (name, weight) = line.split_once(' ')?;
        Some((name.to_owned(), weight.parse().ok()?))
    };
    text.trim_end()
        .split("\n\n")
        .map(|state| state.lines().map(node).collect())
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{path}: not a list of nodes"))
}

pub fn version(name: &str) -> Result<&'static str, String> {
    let krate = name.split(' ').next().unwrap_or(name);
    if krate.starts_with("stead") {
        return Ok("this tree");
    }
    let start = format!("{krate} = \"=");
    include_str!("../Cargo.toml")
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .map(|line| line.trim_end_matches('"'))
        .ok_or_else(|| format!("no crate {krate}"))
}

/// Builds a candidate for the last state of a cluster.
pub fn build(name: &str, path: &str) -> Result<Built, String> {
    if let Some((call, hash)) = name.strip_prefix("stead ").and_then(|n| n.split_once(' ')) {
        return stead(call, &format!("{path}.{hash}.map"));
    }
    let states = states(path)?;
    let nodes = states.last().ok_or("no state")?.clone();
    let weighted = nodes.iter().any(|(_, weight)| *weight != 1);
    let equal = || {
        if weighted {
            Err("no weights".to_owned())
        } else {
            Ok(nodes.iter().map(|(name, _)| name.clone()).collect())
        }
    };
    match name {
        "ketama" => Ok(ketama(nodes)),
        "hashring" => Ok(hashring(&nodes)),
        "conhash" => Ok(conhash(&nodes)),
        "consistent_hash" => Ok(consistent_hash(&nodes)),
        "jumphash" => Ok(jumphash(equal()?)),
        "maglev" => Ok(maglev(equal()?)),
        "anchorhash" => {
            equal()?;
            Ok(anchorhash(&states))
        }
        _ => Err(format!("no candidate {name}")),
    }
}

fn stead(call: &str, path: &str) -> Result<Built, String> {
    let map = stead::Map::open(Path::new(path)).map_err(|error| error.to_string())?;
    let (a, b, c) = (map.clone(), map.clone(), map);
    let name = |map: &stead::Map, node: NodeId| map.node(node).name().to_owned();
    Ok(Built {
        pass: match call {
            "locate" => one_by_one(move |key| a.locate(key.as_bytes())),
            "prefer" => one_by_one(move |key| {
                let mut two = [NodeId(0); 2];
                a.prefer_into(key.as_bytes(), &mut two);
                black_box(two)[0]
            }),
            "locate_keys(spans)" => Box::new(move |part| {
                let mut nodes = vec![NodeId(0); part.spans.len()];
                let keys = stead::Keys::spans(part.bytes, part.spans).expect("they are inside");
                a.locate_keys(keys, NonZeroUsize::MIN, &mut nodes, |node| node);
                black_box(nodes);
            }),
            "locate_keys(each)" => Box::new(move |part| {
                let mut nodes = vec![NodeId(0); part.slices.len()];
                let keys = stead::Keys::each(part.slices);
                a.locate_keys(keys, NonZeroUsize::MIN, &mut nodes, |node| node);
                black_box(nodes);
            }),
            _ => return Err(format!("no call {call}")),
        },
        owner: match call {
            "locate" => Box::new(move |key| name(&b, b.locate(key.as_bytes()))),
            "prefer" => Box::new(move |key| name(&b, b.prefer(key.as_bytes(), 2)[0])),
            _ => Box::new(move |key| {
                let mut node = [NodeId(0)];
                let keys = [key.as_bytes()];
                b.locate_keys(
                    stead::Keys::each(&keys),
                    NonZeroUsize::MIN,
                    &mut node,
                    |node| node,
                );
                name(&b, node[0])
            }),
        },
        copies: Some(Box::new(move |key| {
            c.prefer(key.as_bytes(), COPIES)
                .into_iter()
                .map(|node| name(&c, node))
                .collect()
        })),
    })
}

fn ketama(nodes: Vec<Node>) -> Built {
    let mut builder = ketama::RingBuilder::new();
    for (name, weight) in &nodes {
        builder = builder.node(name, *weight);
    }
    let ring = Rc::new(builder.build());
    let again = ring.clone();
    Built {
        pass: one_by_one(move |key| ring.route(key.as_bytes())),
        owner: Box::new(move |key| nodes[again.route(key.as_bytes())].0.clone()),
        copies: None,
    }
}

/// One of several points of a server, as in the manual of `hashring`.
#[derive(Clone, Debug, Hash)]
struct Virtual {
    id: usize,
    server: String,
}

fn hashring(nodes: &[Node]) -> Built {
    let mut ring = hashring::HashRing::new();
    for (name, weight) in nodes {
        ring.batch_add(
            (0..POINTS * *weight as usize)
                .map(|id| Virtual {
                    id,
                    server: name.clone(),
                })
                .collect(),
        );
    }
    let ring = Rc::new(ring);
    let (again, third) = (ring.clone(), ring.clone());
    Built {
        pass: Box::new(move |part| {
            for key in part.texts {
                black_box(ring.get(black_box(key)));
            }
        }),
        owner: Box::new(move |key| again.get(&key).expect("a node").server.clone()),
        copies: Some(Box::new(move |key| {
            third
                .get_with_replicas(&key, COPIES - 1)
                .expect("a node")
                .into_iter()
                .map(|node| node.server)
                .collect()
        })),
    }
}

#[derive(Clone)]
struct Server(String);

impl conhash::Node for Server {
    fn name(&self) -> String {
        self.0.clone()
    }
}

fn conhash(nodes: &[Node]) -> Built {
    let mut ring = conhash::ConsistentHash::new();
    for (name, weight) in nodes {
        ring.add(&Server(name.clone()), POINTS * *weight as usize);
    }
    let ring = Rc::new(ring);
    let again = ring.clone();
    Built {
        pass: Box::new(move |part| {
            for key in part.texts {
                black_box(ring.get_str(black_box(key)));
            }
        }),
        owner: Box::new(move |key| again.get_str(key).expect("a node").0.clone()),
        copies: None,
    }
}

fn consistent_hash(nodes: &[Node]) -> Built {
    let nodes = nodes.iter().map(|(name, weight)| {
        consistent_hash::Node::new(name.clone()).quantity(POINTS * *weight as usize)
    });
    let ring = Rc::new(consistent_hash::StaticHashRing::new(
        consistent_hash::DefaultHash,
        nodes.collect::<Vec<_>>().into_iter(),
    ));
    let (again, third) = (ring.clone(), ring.clone());
    let first = |ring: &consistent_hash::StaticHashRing<String, (), _>, key: &str| {
        ring.calc_candidates(&key)
            .next()
            .expect("a node")
            .key
            .clone()
    };
    Built {
        pass: Box::new(move |part| {
            for key in part.texts {
                black_box(ring.calc_candidates(black_box(key)).next());
            }
        }),
        owner: Box::new(move |key| first(&again, key)),
        copies: Some(Box::new(move |key| {
            third
                .calc_candidates(&key)
                .take(COPIES)
                .map(|node| node.key.clone())
                .collect()
        })),
    }
}

fn jumphash(names: Vec<String>) -> Built {
    // its default is another placement in every process
    let hasher = jumphash::JumpHasher::new_with_keys(0, 0);
    let count = names.len() as u32;
    Built {
        pass: one_by_one(move |key| hasher.slot(&key, count)),
        owner: Box::new(move |key| names[hasher.slot(&key, count) as usize].clone()),
        copies: None,
    }
}

fn maglev(names: Vec<String>) -> Built {
    let table = Rc::new(maglev::Maglev::with_capacity(names, TABLE));
    let again = table.clone();
    Built {
        pass: Box::new(move |part| {
            for key in part.texts {
                black_box(table.get(black_box(key)));
            }
        }),
        owner: Box::new(move |key| again.get(&key).expect("a node").clone()),
        copies: None,
    }
}

fn anchorhash(states: &[Vec<Node>]) -> Built {
    // its default hasher is another one in every process
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut ring = anchorhash::Builder::with_hasher(hasher).build::<&str>(CAPACITY);
    let mut names: Vec<&String> = Vec::new();
    for state in states {
        let wanted: Vec<&String> = state.iter().map(|(name, _)| name).collect();
        for gone in names.iter().filter(|name| !wanted.contains(name)) {
            ring.remove_resource(*gone).expect("it is there");
        }
        for new in wanted.iter().filter(|name| !names.contains(name)) {
            ring.add_resource((*new).clone()).expect("there is room");
        }
        names = wanted;
    }
    let ring = Rc::new(ring);
    let again = ring.clone();
    Built {
        pass: one_by_one(move |key| ring.get_resource(key).map(String::len)),
        owner: Box::new(move |key| {
            // the ring's lifetime of keys is that of the program
            let key: &'static str = key.to_owned().leak();
            again.get_resource(key).expect("a node").clone()
        }),
        copies: None,
    }
}

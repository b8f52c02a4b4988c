//! Asks Rust's hash rings where keys live: `rings MODE` or `rings MODE version`; clients.py
//! describes input and output.

#![forbid(unsafe_code)]

use std::io::{Read, Write};

/// A function that returns the server of a key in a ring.
type Where = Box<dyn Fn(&str) -> String>;

/// The number of points per server for crates that take it as an argument: the default of most
/// rings.
const POINTS: usize = 160;

#[derive(Clone)]
struct Server(String);

impl conhash::Node for Server {
    fn name(&self) -> String {
        self.0.clone()
    }
}

/// One of several points of a server, as in the manual of `hashring`.
#[derive(Clone, Hash)]
struct Virtual {
    id: usize,
    server: String,
}

fn hashring(servers: Vec<String>) -> Where {
    let mut ring = hashring::HashRing::new();
    for server in servers {
        ring.batch_add(
            (0..POINTS)
                .map(|id| Virtual {
                    id,
                    server: server.clone(),
                })
                .collect(),
        );
    }
    Box::new(move |key| ring.get(&key).expect("a node").server.clone())
}

fn conhash(servers: Vec<String>) -> Where {
    let mut ring = conhash::ConsistentHash::new();
    for server in servers {
        ring.add(&Server(server), POINTS);
    }
    Box::new(move |key| ring.get_str(key).expect("a node").0.clone())
}

fn consistent_hash(servers: Vec<String>) -> Where {
    let nodes = servers
        .into_iter()
        .map(|server| consistent_hash::Node::new(server).quantity(POINTS));
    let ring = consistent_hash::StaticHashRing::new(consistent_hash::DefaultHash, nodes);
    Box::new(move |key| {
        ring.calc_candidates(&key)
            .next()
            .expect("a node")
            .key
            .clone()
    })
}

fn flexihash(servers: Vec<String>) -> Where {
    let mut ring = flexihash::Flexihash::new();
    ring.add_targets(servers);
    Box::new(move |key| ring.lookup(key))
}

fn hash_ring(servers: Vec<String>) -> Where {
    let ring = hash_ring::HashRing::new(servers, POINTS as isize);
    Box::new(move |key| ring.get_node(key.to_owned()).expect("a node").clone())
}

fn ketama(servers: Vec<String>) -> Where {
    let names: Vec<&str> = servers.iter().map(String::as_str).collect();
    let ring = ketama::Ring::build(&names);
    Box::new(move |key| servers[ring.route(key.as_bytes())].clone())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    if arguments.next().is_some() {
        let start = format!("{mode} = \"=");
        let line = include_str!("../Cargo.toml")
            .lines()
            .find_map(|line| line.strip_prefix(&start))
            .expect("a dependency");
        println!("{}", line.trim_end_matches('"'));
        return;
    }
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .expect("standard input is text");
    let (servers, keys) = input
        .split_once("\n\n")
        .expect("servers, an empty line, keys");
    let servers = servers.lines().map(str::to_owned).collect();
    let locate = match mode.as_str() {
        "conhash" => conhash(servers),
        "consistent_hash" => consistent_hash(servers),
        "flexihash" => flexihash(servers),
        "hash_ring" => hash_ring(servers),
        "hashring" => hashring(servers),
        "ketama" => ketama(servers),
        _ => panic!("there is no mode {mode:?}"),
    };
    let answers: String = keys.lines().map(|key| locate(key) + "\n").collect();
    std::io::stdout()
        .write_all(answers.as_bytes())
        .expect("standard output takes it");
}

//! `stead-rrd` spreads round-robin databases over many rrdcached servers. Clients use them as if
//! they were one.
//!
//! ```text
//! client --line--> request --write----> the log --> queues --BATCH--> backends
//!                     \----question-----------------------line-----> backends
//! ```
//!
//! Each line of a client is parsed once, into a [`Request`](request::Request). The path in it
//! becomes the name of a file. The name is a key, and the map says which backends have the key. A
//! write is in the log, as safe as its listener demands, before any backend gets it and before the
//! client gets an answer. A question goes to a backend that has all writes.
//!
//! The project uses these words in one meaning each:
//!
//! | word | meaning |
//! |---|---|
//! | backend | an rrdcached that the router knows; a [`BackendId`](layout::BackendId) is its number |
//! | access | the addresses of a backend: where its rrdcached listens, and how its files can be reached |
//! | copies | the backends of one file, primary first |
//! | placement | a map with the backend of each of its nodes |
//! | layout | where each file is now: by one placement, or by two while files move |
//! | health | what a backend can do: up, behind, or down |
//! | log | the router's own; it keeps each acknowledged write until its backends have confirmed it |
//! | policy | that of a listener: when its clients get their answers, and what the log survives then |
//! | record | the writes of one request, or of a part of a BATCH, in the log |
//! | ticket | a record on its way to the backends, and their answers to it |
//! | position | the record up to which a backend has confirmed |
//! | shape | the columns of a file and their types, which decide what an UPDATE of it must look like |
//! | repair queue | copies that a backend lacks, or that may lack values, until they are whole |
//! | check | a comparison of the copies of every file |
//! | pass | a check from the first name to the last |
//! | stray | a copy at a backend where the map does not place it |
//! | journal | that of an rrdcached (`-j`), never the router's log; backends should have none |
//! | pair | two routers: the primary, which serves clients, and the standby, which has a copy of its log |
//! | term | the time of one primary; each promotion begins a new one |
//! | state | the directory that the router keeps between two runs |
//! | identity | the certificate and key of this process, and the CA that it trusts |
//! | status | what the router reports about itself, for people and for monitoring |
//!
//! In the list below, a module uses only modules of the lines above its own. So modules of one line
//! do not use each other, and no two files use each other:
//!
//! ```text
//! adopting clock dirs exit health image key layout lock mapfile passes path record refusals reply
//! role settling term verb
//! | batch create log repairs state suspended tally tls unflushed words
//! | connection fetch policy shape status values writes
//! | control known metrics page request socket ticket
//! | pair
//! | files say shared
//! | backend line
//! | operate router
//! | client epochs
//! | listener mover
//! | report
//! | run
//! ```

#![forbid(unsafe_code)]

pub mod adopting;
pub mod backend;
pub mod batch;
pub mod client;
pub mod clock;
pub mod connection;
pub mod control;
pub mod create;
pub mod dirs;
pub mod epochs;
pub mod exit;
pub mod fetch;
pub mod files;
pub mod health;
pub mod image;
pub mod key;
pub mod known;
pub mod layout;
pub mod line;
pub mod listener;
pub mod lock;
pub mod log;
pub mod mapfile;
pub mod metrics;
pub mod mover;
pub mod operate;
pub mod page;
pub mod pair;
pub mod passes;
pub mod path;
pub mod policy;
pub mod record;
pub mod refusals;
pub mod repairs;
pub mod reply;
pub mod report;
pub mod request;
pub mod role;
pub mod router;
pub mod run;
#[cfg(test)]
mod sample;
pub mod say;
pub mod settling;
pub mod shape;
pub mod shared;
pub mod socket;
pub mod state;
pub mod status;
pub mod suspended;
pub mod tally;
pub mod term;
pub mod ticket;
pub mod tls;
pub mod unflushed;
pub mod values;
pub mod verb;
pub mod words;
pub mod writes;

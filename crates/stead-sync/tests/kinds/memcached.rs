//! The kind memcached, with real servers.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use stead_sync::carry::kind::{Added, Item};

use crate::carrier::{copy, items, kind, node};
use crate::servers::{self, Server};
use crate::trial::{self, Client, Numbers, Stop};

/// A client of the plain text protocol, as applications use it.
struct Text(BufReader<TcpStream>);

impl Text {
    fn open(address: &str) -> Text {
        Text(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    fn ask(&mut self, request: &[u8]) -> String {
        self.0.get_mut().write_all(request).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn set(&mut self, key: &str, flags: u32, life: i64, value: &[u8]) {
        let head = format!("set {key} {flags} {life} {}\r\n", value.len());
        let request = [head.as_bytes(), value, b"\r\n"].concat();
        assert_eq!(self.ask(&request), "STORED");
    }

    /// Returns the flags, the time that is left, and the value.
    fn look(&mut self, key: &str) -> Option<(u32, i64, Vec<u8>)> {
        let line = self.ask(format!("mg {key} v f t\r\n").as_bytes());
        let fields: Vec<&str> = line.split(' ').collect();
        if fields[0] == "EN" {
            return None;
        }
        let mut value = vec![0; fields[1].parse::<usize>().unwrap() + 2];
        self.0.read_exact(&mut value).unwrap();
        value.truncate(value.len() - 2);
        Some((
            fields[2][1..].parse().unwrap(),
            fields[3][1..].parse().unwrap(),
            value,
        ))
    }
}

fn named(key: &str) -> String {
    key.replace(' ', "_")
}

impl Client for Text {
    fn put(&mut self, key: &str, value: u64) {
        self.set(&named(key), 3, 0, value.to_string().as_bytes());
    }

    fn delete(&mut self, key: &str) {
        let answer = self.ask(format!("delete {}\r\n", named(key)).as_bytes());
        assert!(
            matches!(answer.as_str(), "DELETED" | "NOT_FOUND"),
            "{answer}"
        );
    }

    fn get(&mut self, key: &str) -> Vec<u64> {
        let found = self.look(&named(key));
        let value = found.map(|(_, _, value)| String::from_utf8(value).unwrap());
        value
            .map(|value| value.parse().unwrap())
            .into_iter()
            .collect()
    }
}

fn pair() -> Option<(Server, Server)> {
    Some((servers::memcached(&[])?, servers::memcached(&[])?))
}

fn client(address: &str) -> Box<dyn Client> {
    Box::new(Text::open(address))
}

#[test]
fn nothing_is_lost_or_comes_back_while_the_carrier_is_killed() {
    let Some((mut from, to)) = pair() else { return };
    let count = trial::run("memcached", &client, &mut from, &to, 20, false);
    assert_eq!(count.kills, 20);
    assert!(count.deletes > 100 && count.writes > 100);
    assert_eq!(count.wrong(), 0, "{count:?}");
    assert!(trial::remove_all("memcached", &from.address, &to.address) > 0);
}

#[test]
fn a_carrier_without_the_rules_fails() {
    let Some((from, to)) = pair() else { return };
    let count = trial::control(&client, &from.address, &to.address);
    assert!(count.came_back > 0 && count.overtaken > 0, "{count:?}");
}

#[test]
fn flags_the_time_left_and_every_byte_travel() {
    let Some((from, to)) = pair() else { return };
    let (mut old, mut new) = (Text::open(&from.address), Text::open(&to.address));
    let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let long = "k".repeat(250);
    let year = 365 * 24 * 3600;
    for (key, flags, life, value) in [
        ("plain", 0, 0, &b"x"[..]),
        ("empty", 7, 0, b""),
        ("käse", u32::MAX, 100, &all),
        (&long, 1, year, b"\r\nEND\r\n"),
    ] {
        // a life of more than 30 days is an instant
        let now = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_secs() as i64;
        old.set(
            key,
            flags,
            if life == year { now + year } else { life },
            value,
        );
    }
    // the bytes 'a', ' ', 0, 255 as base64, since the text protocol has no other way to write them
    assert_eq!(old.ask(b"ms YSAA/w== 3 b\r\nbin\r\n"), "HD");
    let kind = kind("memcached");
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    kind.ready(&[&source, &target]).unwrap();
    let listed = items(&*kind, &source).unwrap();
    assert_eq!(listed.len(), 5);
    assert!(listed.contains(&Item::of_key(*b"a \0\xff")));
    copy(&*kind, &source, &target, &listed.iter().collect::<Vec<_>>()).unwrap();
    for item in &listed {
        let compared = kind.compare(&source, &target, item).unwrap();
        assert!(compared.equal && compared.second.is_some(), "{item:?}");
    }
    for (key, life) in [
        ("plain", -1),
        ("empty", -1),
        ("käse", 100),
        (&long[..], year),
    ] {
        let (there, here) = (old.look(key).unwrap(), new.look(key).unwrap());
        assert_eq!((there.0, &there.2), (here.0, &here.2), "{key}");
        // The clock of a memcached is a second late, and more where it waits for a processor. So an
        // instant can seem further away.
        assert!(
            here.1 <= life + 10 && (here.1 == life || here.1 > life - 60),
            "{key}: {}",
            here.1
        );
    }
    let binary = new.ask(b"mg YSAA/w== b v\r\n");
    assert_eq!(binary, "VA 3");
}

#[test]
fn no_key_is_left_out_while_keys_are_written_and_read() {
    const ALL: u64 = 20_000;
    let Some(server) = servers::memcached(&[]) else {
        return;
    };
    let mut first = Text::open(&server.address);
    for number in 0..ALL {
        first.set(&format!("k{number}"), 0, 0, b"x");
    }
    let (kind, node) = (kind("memcached"), node(0, &server.address));
    kind.ready(&[&node]).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 1..3 {
            let (stop, mut text) = (&stop, Text::open(&server.address));
            scope.spawn(move || {
                let mut numbers = Numbers(writer);
                while !stop.load(Ordering::SeqCst) {
                    let key = format!("k{}", numbers.below(ALL));
                    match numbers.below(2) {
                        0 => text.set(&key, 0, 0, b"y"),
                        _ => assert!(text.look(&key).is_some()),
                    }
                }
            });
        }
        let _stop = Stop(&stop);
        for _ in 0..4 {
            let listed: HashSet<Item> = items(&*kind, &node).unwrap().into_iter().collect();
            assert_eq!(listed.len() as u64, ALL);
        }
    });
}

#[test]
fn a_key_of_the_application_stays_at_a_busy_target() {
    let Some((from, to)) = pair() else { return };
    let (mut old, mut new) = (Text::open(&from.address), Text::open(&to.address));
    old.set("k", 0, 0, b"old");
    new.set("k", 0, 0, b"new");
    let kind = kind("memcached");
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    let item = Item::of_key(*b"k");
    assert_eq!(kind.add(&source, &target, &item), Ok(Added::Present));
    assert_eq!(new.look("k").unwrap().2, b"new");
    // what was written after a version was read is not removed
    let version = kind.version(&target, &item).unwrap().unwrap();
    new.set("k", 0, 0, b"new");
    assert_eq!(kind.remove(&target, &item, &version), Ok(false));
    assert!(new.look("k").is_some());
    assert_eq!(
        kind.add(&source, &target, &Item::of_key(*b"none")),
        Ok(Added::Gone)
    );
}

#[test]
fn a_server_that_cannot_be_used_is_named() {
    let Some(strict) = servers::memcached(&["-C"]) else {
        return;
    };
    let kind = kind("memcached");
    let fault = kind.ready(&[&node(0, &strict.address)]).unwrap_err();
    assert!(!fault.passes && fault.line.contains("-C"), "{fault:?}");
    let Some((mut from, to)) = pair() else { return };
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    let fault = kind.ready(&[&source, &node(2, &from.address)]).unwrap_err();
    assert!(fault.line.contains("two nodes"), "{fault:?}");
    kind.ready(&[&source, &target]).unwrap();
    from.kill();
    let item = Item::of_key(*b"k");
    for _ in 0..2 {
        let fault = kind.add(&source, &target, &item).unwrap_err();
        assert!(
            fault.passes && fault.line.contains(&from.address),
            "{fault:?}"
        );
    }
    from.up();
    assert_eq!(kind.add(&source, &target, &item), Ok(Added::Gone));
}

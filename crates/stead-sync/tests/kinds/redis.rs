//! The kind redis, with real servers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ::redis::{Cmd, Connection, FromRedisValue};

use stead_sync::carry::kind::{Added, Fault, Item, Kind, Node};
use stead_sync::carry::names::Names;
use stead_sync::carry::redis::Redis;

use crate::carrier::{copy, items, kind, node};
use crate::servers::{self, Server};
use crate::trial::{self, Client};

/// A client that tries again until the server answers.
struct Patient {
    url: String,
    connection: Option<Connection>,
}

impl Patient {
    fn open(url: &str) -> Patient {
        Patient {
            url: url.into(),
            connection: None,
        }
    }

    fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> T {
        loop {
            let connected = match &mut self.connection {
                Some(_) => Ok(()),
                None => ::redis::Client::open(self.url.as_str())
                    .and_then(|client| client.get_connection())
                    .map(|new| self.connection = Some(new)),
            };
            let answer = connected.and_then(|()| command.query(self.connection.as_mut().unwrap()));
            match answer {
                Ok(answer) => return answer,
                Err(error) if error.is_io_error() || error.is_connection_dropped() => {
                    self.connection = None;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) if error.code() == Some("LOADING") => (),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn command(words: &[&str]) -> Cmd {
    let mut command = ::redis::cmd(words[0]);
    command.arg(&words[1..]);
    command
}

impl Client for Patient {
    fn put(&mut self, key: &str, value: u64) {
        let () = self.ask(&command(&["SET", key, &value.to_string()]));
    }

    fn delete(&mut self, key: &str) {
        let _: u64 = self.ask(&command(&["DEL", key]));
    }

    fn get(&mut self, key: &str) -> Vec<u64> {
        let value: Option<u64> = self.ask(&command(&["GET", key]));
        value.into_iter().collect()
    }
}

fn pair() -> Option<(Server, Server)> {
    Some((servers::redis(&[])?, servers::redis(&[])?))
}

fn client(address: &str) -> Box<dyn Client> {
    Box::new(Patient::open(address))
}

#[test]
fn nothing_is_lost_or_comes_back_while_carrier_and_server_are_killed() {
    let Some((mut from, to)) = pair() else { return };
    let count = trial::run("redis", &client, &mut from, &to, 20, true);
    assert_eq!(count.kills, 20);
    assert!(count.deletes > 100 && count.writes > 100);
    assert_eq!(count.wrong(), 0, "{count:?}");
    assert!(trial::remove_all("redis", &from.address, &to.address) > 0);
}

#[test]
fn a_carrier_without_the_rules_fails() {
    let Some((from, to)) = pair() else { return };
    let count = trial::control(&client, &from.address, &to.address);
    assert!(count.came_back > 0 && count.overtaken > 0, "{count:?}");
}

#[test]
fn every_type_and_the_instant_of_expiry_travel() {
    let Some((from, to)) = pair() else { return };
    let (mut old, mut new) = (Patient::open(&from.address), Patient::open(&to.address));
    let mut run = |words: &[&str]| {
        let _: ::redis::Value = old.ask(&command(words));
    };
    run(&["SET", "integer", "12345"]);
    run(&["SET", "text", &"x".repeat(1_000_000)]);
    run(&["SETEX", "short", "100", "v"]);
    run(&["RPUSH", "list", "a", "b", "a"]);
    run(&["ZADD", "zset", "0.1", "a", "-inf", "b", "1e300", "c"]);
    run(&["XADD", "stream", "1-1", "field", "value"]);
    run(&["XGROUP", "CREATE", "stream", "group", "0"]);
    run(&[
        "XREADGROUP",
        "GROUP",
        "group",
        "me",
        "STREAMS",
        "stream",
        ">",
    ]);
    run(&["PFADD", "hyperloglog", "a", "b"]);
    run(&["SETBIT", "bits", "7", "1"]);
    for number in 0..5000 {
        let member = format!("member {number}");
        run(&["SADD", "set", &member]);
        run(&["HSET", "hash", &member, "v"]);
    }
    let () = old.ask(::redis::cmd("SET").arg(b"\0\xff \r\n").arg(b"\0\r\n"));
    let kind = kind("redis");
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    kind.ready(&[&source, &target]).unwrap();
    let mut listed = items(&*kind, &source).unwrap();
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 11);
    copy(&*kind, &source, &target, &listed.iter().collect::<Vec<_>>()).unwrap();
    let mut differently_ordered = 0;
    for item in &listed {
        let compared = kind.compare(&source, &target, item).unwrap();
        assert!(
            compared.equal && compared.first == compared.second,
            "{item:?}"
        );
        let mut ask = |words: &[&str]| -> (Vec<u8>, Vec<u8>) {
            let mut full = command(words);
            full.arg(&item.key);
            (old.ask(&full), new.ask(&full))
        };
        let (there, here) = ask(&["DUMP"]);
        differently_ordered += u32::from(there != here);
    }
    // so a comparison of DUMPs would call equal sets unequal
    assert!(differently_ordered > 0);
    let at = |client: &mut Patient| -> i64 { client.ask(&command(&["PEXPIRETIME", "short"])) };
    assert!(at(&mut old) > 0 && at(&mut old) == at(&mut new));
    let pending: ::redis::Value = new.ask(&command(&["XPENDING", "stream", "group"]));
    assert!(format!("{pending:?}").contains("int(1)"), "{pending:?}");
    // another value is seen, of each type
    for words in [
        &["APPEND", "text", "y"][..],
        &["RPUSH", "list", "c"],
        &["ZADD", "zset", "0.2", "a"],
        &["XADD", "stream", "2-1", "field", "value"],
        &["SADD", "set", "another"],
        &["HSET", "hash", "member 7", "w"],
        &["PERSIST", "short"],
    ] {
        let _: ::redis::Value = new.ask(&command(words));
        let item = Item::of_key(words[1]);
        assert!(
            !kind.compare(&source, &target, &item).unwrap().equal,
            "{words:?}"
        );
    }
}

#[test]
fn a_key_of_the_application_stays_at_a_busy_target() {
    let Some((from, to)) = pair() else { return };
    let (mut old, mut new) = (Patient::open(&from.address), Patient::open(&to.address));
    old.put("k", 1);
    new.put("k", 2);
    let kind = kind("redis");
    let (source, target) = (node(0, &from.address), node(1, &to.address));
    let item = Item::of_key(*b"k");
    assert_eq!(kind.add(&source, &target, &item), Ok(Added::Present));
    assert_eq!(new.get("k"), [2]);
    let version = kind.version(&target, &item).unwrap().unwrap();
    new.put("k", 3);
    assert_eq!(kind.remove(&target, &item, &version), Ok(false));
    assert_eq!(new.get("k"), [3]);
    assert_eq!(
        kind.add(&source, &target, &Item::of_key(*b"none")),
        Ok(Added::Gone)
    );
}

/// A writer writes "old" and then "new", and a carrier removes "old" all the while, alone and among
/// other keys: "new" must stay each time.
#[test]
fn only_the_version_that_was_seen_is_removed_while_it_is_overwritten() {
    let Some(server) = servers::redis(&["--appendonly", "no"]) else {
        return;
    };
    let (kind, source) = (kind("redis"), node(0, &server.address));
    kind.ready(&[&source]).unwrap();
    let names = ["k", "a", "b"].map(Item::of_key);
    let mut writer = Patient::open(&server.address);
    for item in &names {
        let () = writer.ask(::redis::cmd("SET").arg(&item.key).arg("old"));
    }
    let old = kind.version(&source, &names[0]).unwrap().unwrap();
    let (stop, removed) = (AtomicBool::new(false), AtomicU64::new(0));
    let lost = std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let pairs: Vec<_> = names.iter().map(|item| (item, &old)).collect();
                let gone = kind.remove_all(&source, &pairs[..1 + turn % 3]).remove(0);
                removed.fetch_add(u64::from(gone == Ok(true)), Ordering::SeqCst);
            }
        });
        let mut lost = 0;
        // on a busy machine the removal comes too seldom between the two writes
        for turn in 0..1_000_000 {
            if turn >= 20_000 && removed.load(Ordering::SeqCst) > 100 {
                break;
            }
            for value in ["old", "new"] {
                let () = writer.ask(&command(&["SET", "k", value]));
            }
            let found: Option<String> = writer.ask(&command(&["GET", "k"]));
            lost += u32::from(found.as_deref() != Some("new"));
        }
        stop.store(true, Ordering::SeqCst);
        lost
    });
    let removed = removed.into_inner();
    eprintln!("redis: {removed} times an old value was removed, {lost} new ones lost");
    assert!(removed > 100);
    assert_eq!(lost, 0);
}

/// Why servers are refused. A carry asks again after a fault that passes, such as a system call
/// that was interrupted because the whole process stood still; so does this.
fn refusal(kind: &Redis, nodes: &[&Node]) -> Fault {
    let mut fault = kind.ready(nodes).unwrap_err();
    for _ in 0..10 {
        if fault.passes {
            fault = kind.ready(nodes).unwrap_err();
        }
    }
    fault
}

#[test]
fn passwords_databases_and_wrong_servers() {
    let Some(server) = servers::redis(&["--requirepass", "geheim"]) else {
        return;
    };
    let secret = "geheim".to_owned().into();
    let with = |password| Redis::new("{server}".into(), None, password, false, Names::default());
    let (zero, one) = (&server.address, format!("{}?db=1", server.address));
    let (source, target) = (node(0, zero), node(1, &one));
    let fault = refusal(&with(None), &[&source]);
    assert!(!fault.passes, "{fault:?}");
    let kind = with(Some(secret));
    kind.ready(&[&source, &target]).unwrap();
    let fault = refusal(&kind, &[&source, &node(2, zero)]);
    assert!(fault.line.contains("same Redis"), "{fault:?}");
    let login = |url: &str| url.replace("?db", "?pass=geheim&db");
    let mut zero = Patient::open(&format!("{zero}?pass=geheim"));
    let mut one = Patient::open(&login(&one));
    zero.put("k", 7);
    // keys in another database than the one that is named
    let line = kind.overlooked(&[&target]).unwrap().unwrap();
    assert!(line.contains("keys in its database 0"), "{line}");
    assert_eq!(kind.overlooked(&[&target, &source]), Ok(None));
    let added = kind.add(&source, &target, &Item::of_key(*b"k")).unwrap();
    assert!(matches!(added, Added::Copied { .. }));
    assert_eq!(one.get("k"), [7]);
    let wrong = with(Some("falsch".to_owned().into()));
    let fault = refusal(&wrong, &[&source]);
    assert!(!fault.passes && !fault.line.contains("falsch"), "{fault:?}");
    let Some(cluster) = servers::redis_cluster() else {
        return;
    };
    let fault = refusal(&with(None), &[&node(0, &cluster.address)]);
    assert!(fault.line.contains("cluster"), "{fault:?}");
}

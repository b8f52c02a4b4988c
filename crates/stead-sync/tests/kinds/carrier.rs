//! Carries all items of a kind from one node to another by the steps that the head of
//! `carry/kind.rs` describes, in a process of its own that can be killed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use stead_sync::carry::kind::{Added, Done, Item, Kind, Node};
use stead_sync::carry::memcached::Memcached;
use stead_sync::carry::names::Names;
use stead_sync::carry::redis::Redis;
use stead_sync::carry::sql::database::{Login, Named};
use stead_sync::carry::sql::{mariadb::MariaDb, postgres::Postgres, Sql};

/// The task of the process: the kind, the two addresses, and the file of what is in flight.
const TASK: &str = "STEAD_TEST_CARRIER";

pub fn node(number: usize, address: &str) -> Node {
    Node {
        number,
        name: format!("n{number}"),
        attributes: vec![("server".into(), address.into())],
    }
}

pub fn kind(name: &str) -> Box<dyn Kind> {
    let server = "{server}".to_owned();
    let named = |table: &str| Named {
        table: table.into(),
        key: "member".into(),
    };
    let tables = || vec![named("members"), named("photos")];
    match name {
        "memcached" => Box::new(Memcached::new(server, Names::default())),
        "redis" => Box::new(Redis::new(server, None, None, false, Names::default())),
        "postgres" => Box::new(Sql::<Postgres>::new(server, Login::default(), tables())),
        "mariadb" => Box::new(Sql::<MariaDb>::new(server, Login::default(), tables())),
        _ => panic!("{name}"),
    }
}

/// Lists the items of a node.
pub fn items(kind: &dyn Kind, node: &Node) -> Done<Vec<Item>> {
    let mut items = Vec::new();
    kind.keys(node, None, &AtomicBool::new(false), &mut |item| {
        items.push(item);
        true
    })?;
    Ok(items)
}

/// Steps 2 and 3 for some items, until they are done.
pub fn copy(kind: &dyn Kind, from: &Node, to: &Node, items: &[&Item]) -> Done {
    let mut left = items.to_vec();
    while !left.is_empty() {
        let added = kind.add_all(from, to, &left);
        let mut again = Vec::new();
        for (item, added) in left.into_iter().zip(added) {
            match added? {
                Added::Held { .. } | Added::Present | Added::Gone => (),
                Added::Copied { read, wrote, .. } => {
                    if kind.version(from, item)? != Some(read) {
                        kind.remove(to, item, &wrote)?;
                        again.push(item);
                    }
                }
            }
        }
        left = again;
    }
    Ok(())
}

fn mend(kind: &dyn Kind, from: &Node, to: &Node, items: &[&Item]) -> Done {
    for (item, compared) in items.iter().zip(kind.compare_all(from, to, items)) {
        let compared = compared?;
        if !compared.equal {
            if let Some(version) = compared.second {
                kind.remove(to, item, &version)?;
            }
            copy(kind, from, to, &[item])?;
        }
    }
    Ok(())
}

/// The whole way, with what a process before this one had in flight.
fn carry(kind: &dyn Kind, from: &Node, to: &Node, file: &Path) -> Done {
    kind.ready(&[from, to])?;
    let written = fs::read(file).unwrap_or_default();
    let in_flight: Vec<Item> = serde_json::from_slice::<Vec<Vec<u8>>>(&written)
        .unwrap_or_default()
        .into_iter()
        .map(Item::of_key)
        .collect();
    mend(kind, from, to, &in_flight.iter().collect::<Vec<_>>())?;
    let all = items(kind, from)?;
    let most = all.first().map_or(1, |item| kind.at_once(item).min(10));
    for batch in all.chunks(most) {
        let names: Vec<&Vec<u8>> = batch.iter().map(|item| &item.name).collect();
        let next = file.with_extension("next");
        fs::write(&next, serde_json::to_vec(&names).unwrap()).unwrap();
        fs::rename(&next, file).unwrap();
        copy(kind, from, to, &batch.iter().collect::<Vec<_>>())?;
    }
    kind.flush(to)?;
    fs::write(file, b"[]").unwrap();
    Ok(())
}

/// Starts the process.
pub fn start(kind: &str, from: &str, to: &str, file: &Path) -> Child {
    let task = serde_json::to_string(&(kind, from, to, file.to_str().unwrap())).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture"]);
    command.arg("carrier::a_process_of_its_own");
    let said = fs::File::create(file.with_extension("said")).unwrap();
    command.env(TASK, task).stdout(Stdio::null()).stderr(said);
    command.spawn().unwrap()
}

#[test]
#[ignore = "the other tests run it as a process of its own"]
fn a_process_of_its_own() {
    let task = std::env::var(TASK).expect("a task");
    let (name, from, to, file): (String, String, String, String) =
        serde_json::from_str(&task).unwrap();
    let kind = kind(&name);
    let (from, to) = (node(0, &from), node(1, &to));
    // what passes by itself is tried again, as the engine does
    loop {
        match carry(&*kind, &from, &to, Path::new(&file)) {
            Ok(()) => return,
            Err(fault) if fault.passes => std::thread::sleep(Duration::from_millis(50)),
            Err(fault) => panic!("{fault:?}"),
        }
    }
}

//! Tests of how a write is planned.

use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::Router;
use crate::backend::{Access, Backend};
use crate::connection::Address;
use crate::create::Templates;
use crate::health::Health;
use crate::layout::BackendId;
use crate::log::{Durability, Log, Memory};
use crate::record;
use crate::repairs::Need;
use crate::reply::Reply;
use crate::request::{FileLine, Write, LINE_BYTES};
use crate::shared::Options;
use crate::verb::Verb;
use crate::words::{line_of, words};
use crate::writes::Writes;

/// Returns a router with one backend, which is down, and a template for every file.
fn router() -> Router {
    router_of("unix:/none", Arc::new(Memory::default()))
}

fn router_of(address: &str, log: Arc<Memory>) -> Router {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("create.toml");
    let rule = "[[create]]\nmatch = '**'\nstep = 60\nds = ['DS:v:GAUGE:9:U:U']\nrra = \
        ['RRA:LAST:0:1:5']\n";
    std::fs::write(&file, rule).unwrap();
    let attributes = format!("{{ rrdcached = '{address}' }}");
    let fleet = format!("name = 'rrd'\n[[node]]\nname = 'a'\nattributes = {attributes}\n");
    let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
    let options = Options {
        create: Some(Arc::new(Templates::load(&file).unwrap())),
        ..Options::patient()
    };
    let map = stead::build(&fleet, None).unwrap();
    Router::new(map, log, options).unwrap()
}

/// Runs an rrdcached that gives these answers, and none where the answer is empty.
fn server(path: &Path, answer: impl Fn(&str) -> &'static str + Send + Sync + 'static) {
    let listener = tokio::net::UnixListener::bind(path).unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let (reading, mut writing) = stream.into_split();
                let mut lines = BufReader::new(reading).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let text = match line.contains(".no-such-file") {
                        true => "-1 No such file: /b/.stead-rrd.no-such-file.\n",
                        false => answer(&line),
                    };
                    writing.write_all(text.as_bytes()).await.unwrap();
                }
            });
        }
    });
}

/// Runs an rrdcached that answers questions and never an update.
fn slow_server(path: &Path) {
    server(path, |line| match line.split(' ').next() {
        Some("LAST") => "0 1700000000\n",
        Some("INFO") => "1 Info\nfilename 2 /b/h/x\n",
        _ => "",
    });
}

#[tokio::test]
async fn while_every_copy_catches_up_one_answers_and_says_so() {
    let place = tempfile::tempdir().unwrap();
    let (socket, log) = (place.path().join("s"), Arc::new(Memory::default()));
    let router = router_of(&format!("unix:{}", socket.display()), Arc::clone(&log));
    let ask = |verb: Verb| {
        router.one_copy(FileLine {
            verb,
            name: b"h/x".to_vec(),
            line: line_of(verb, b"h/x"),
        })
    };
    router.backends.follow().unwrap();
    let mut record = Vec::new();
    record::push(&mut record, ["a"].into_iter(), b"UPDATE h/x 17:1\n");
    log.append(&record, Durability::Power).unwrap();
    router.start();
    let refused = ask(Verb::Last).await;
    assert!(refused.is_error(), "nobody is connected");
    slow_server(&socket);
    while router.backends.get(0).health() != Health::Behind {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(Verb::Last).await, Reply::ok("1700000000"));
    let text = ask(Verb::Info).await.text;
    assert_eq!(text, b"Info (behind: the server is catching up)");
    assert_eq!(router.shared().tally.read().behind, 2);
}

/// Returns a router with the backends `a`, 0, and `b`, 1, and a file that moves from `a` to `b` by
/// maps in which each file has one copy.
fn router_that_moves(place: &Path) -> (Arc<Router>, String) {
    let build = |names: &[&str], before: Option<&stead::Map>| {
        let node = |name: &&str| {
            let address = place.join(name).display().to_string();
            let attributes = format!("{{ rrdcached = 'unix:{address}' }}");
            format!("[[node]]\nname = '{name}'\nattributes = {attributes}\n")
        };
        let nodes: String = names.iter().map(node).collect();
        let fleet = stead::Fleet::parse(&format!("name = 'rrd'\n{nodes}"), "fleet.toml").unwrap();
        stead::build(&fleet, before).unwrap()
    };
    let old = build(&["a"], None);
    let new = build(&["a", "b"], Some(&old));
    let moves = |name: &String| new.locate(name.as_bytes()).index() == 1;
    let name = (0..)
        .map(|number| format!("f{number}"))
        .find(moves)
        .unwrap();
    let log = Arc::new(Memory::default());
    let router = Arc::new(Router::new(old, log, Options::patient()).unwrap());
    let target = router.backends.place(new).unwrap();
    let mut layout = router.shared().layout_mut();
    layout.move_to(target, Default::default());
    drop(layout);
    router.backends.follow().unwrap();
    router.start();
    (router, name)
}

async fn fetch(router: &Router, name: &str) -> String {
    let line = line_of(Verb::Fetch, name.as_bytes());
    let asked = FileLine {
        verb: Verb::Fetch,
        name: name.into(),
        line: [&line[..], b" LAST"].concat(),
    };
    String::from_utf8(router.fetch(asked, None).await.0.text).unwrap()
}

async fn until(router: &Router, id: BackendId, health: Health) {
    while router.backends.get(id).health() != health {
        tokio::task::yield_now().await;
    }
}

/// The new place of a file may have an unfinished copy, and its old place may have kept its copy.
#[tokio::test]
async fn only_the_copies_where_a_file_is_now_are_read() {
    let place = tempfile::tempdir().unwrap();
    let (router, name) = router_that_moves(place.path());
    server(&place.path().join("b"), |_| "0 from b\n");
    until(&router, 1, Health::Up).await;
    let said = fetch(&router, &name).await;
    let none = format!("/rrd/{name}: none of its servers is up (a); try again later");
    assert_eq!(said, none);

    let place = tempfile::tempdir().unwrap();
    let (router, name) = router_that_moves(place.path());
    server(&place.path().join("a"), |_| "0 from a\n");
    until(&router, 0, Health::Up).await;
    assert_eq!(fetch(&router, &name).await, "from a");
    router.shared().layout_mut().moved(name.as_bytes());
    let said = fetch(&router, &name).await;
    let none = format!("/rrd/{name}: none of its servers is up (b); try again later");
    assert_eq!(said, none);
}

/// A copy that waits in the repair queue, or is at a server whose address has changed, is read only
/// when no other one answers, and then the answer says so.
#[tokio::test]
async fn a_copy_that_may_lack_values_is_read_last_and_marked() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let node = |name: &str| {
        let address = path(name).display().to_string();
        format!("[[node]]\nname = '{name}'\nattributes = {{ rrdcached = 'unix:{address}' }}\n")
    };
    let fleet = format!("name = 'rrd'\nreplicas = 2\n{}{}", node("a"), node("b"));
    let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
    let map = stead::build(&fleet, None).unwrap();
    let log = Arc::new(Memory::default());
    let router = Arc::new(Router::new(map, log, Options::patient()).unwrap());
    router.backends.follow().unwrap();
    router.start();
    let hangs = Arc::new(AtomicU16::new(BackendId::MAX));
    for (id, name, answer) in [(0, "a", "0 from a\n"), (1, "b", "0 from b\n")] {
        let hangs = Arc::clone(&hangs);
        server(&path(name), move |_| match hangs.load(Relaxed) == id {
            true => "",
            false => answer,
        });
    }
    for id in [0, 1] {
        until(&router, id, Health::Up).await;
    }
    let first = router.shared().layout().now(b"f")[0];
    let (first, second) = (router.backends.get(first), router.backends.get(1 - first));
    let from = |backend: &Backend| format!("from {}", backend.name());
    assert_eq!(fetch(&router, "f").await, from(&first));
    let repairs = &router.shared().repairs;
    repairs.add(b"f", first.id(), Need::Doubtful);
    assert_eq!(fetch(&router, "f").await, from(&second));
    assert_eq!(fetch(&router, "g").await, from(&first));
    repairs.done(b"f", first.id());
    assert_eq!(fetch(&router, "f").await, from(&first));

    let address = Address::Unix(path("moved"));
    server(&path("moved"), |_| "0 from another disk\n");
    first.move_to(Access {
        address,
        files: None,
    });
    while first.health() == Health::Up {
        tokio::task::yield_now().await;
    }
    until(&router, first.id(), Health::Up).await;
    assert_eq!(fetch(&router, "f").await, from(&second));
    hangs.store(second.id(), Relaxed);
    let marked = "from another disk (perhaps behind: this copy was not compared yet)";
    assert_eq!(fetch(&router, "f").await, marked);
    assert_eq!(router.shared().tally.read().behind, 1);
    // all copies were compared
    router.shared().repairs.compared(1);
    assert_eq!(fetch(&router, "f").await, "from another disk");
}

/// The file leaves its old place between the choice of the place and the answer.
#[tokio::test]
async fn a_file_that_moves_during_a_question_is_asked_about_where_it_has_come_to() {
    for verb in [Verb::Fetch, Verb::Flush] {
        moves_during(verb).await;
    }
}

async fn moves_during(verb: Verb) {
    let place = tempfile::tempdir().unwrap();
    let (router, name) = router_that_moves(place.path());
    let (moving, moved) = (Arc::clone(&router), name.clone());
    server(&place.path().join("a"), move |_| {
        moving.shared().layout_mut().moved(moved.as_bytes());
        "-1 No such file: /b/f\n"
    });
    server(&place.path().join("b"), |_| "0 from b\n");
    until(&router, 0, Health::Up).await;
    until(&router, 1, Health::Up).await;
    match verb {
        Verb::Flush => {
            let asked = FileLine {
                verb,
                line: line_of(verb, name.as_bytes()),
                name: name.into(),
            };
            assert_eq!(router.all_copies(asked).await, Reply::ok("from b"));
        }
        _ => assert_eq!(fetch(&router, &name).await, "from b"),
    }
}

fn lines(router: &Router, values: &str) -> (usize, Vec<String>) {
    let mut writes = Writes::default();
    let update = Write::Update {
        name: b"h/x"[..].into(),
        values: values.as_bytes(),
        count: words(values.as_bytes()).count(),
    };
    let planned = router.plan(&mut writes, &update);
    let line = |at| String::from_utf8(writes.line(at).to_vec()).unwrap();
    (planned.own, (0..writes.len()).map(line).collect())
}

#[test]
fn while_no_server_is_up_an_update_makes_its_file_first() {
    let router = router();
    for values in ["17.6:1 19:2", " 17.6:1  19:2"] {
        let create = "CREATE h/x -b 17 -s 60 -O DS:v:GAUGE:9:U:U RRA:LAST:0:1:5\n";
        let (own, lines) = lines(&router, values);
        assert_eq!(own, 1);
        assert_eq!(lines, [create, "UPDATE h/x 17.6:1 19:2\n"], "{values:?}");
    }
}

#[test]
fn an_update_that_is_too_long_for_one_line_becomes_several() {
    let values: String = (0..2000).map(|time| format!("{time}:1 ")).collect();
    let (_, lines) = lines(&router(), &values);
    let updates = &lines[1..];
    assert!(updates.len() > 2 && updates.iter().all(|line| line.len() <= LINE_BYTES + 20));
    let sent: String = updates
        .iter()
        .map(|line| line.replace("UPDATE h/x ", "").replace('\n', " "))
        .collect();
    assert_eq!(sent, values);
}

//! Tests of a backend between its queue and the log.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinHandle;

use super::{Access, Backend, Lines, Work};
use crate::connection::{Address, Connection};
use crate::health::Health;
use crate::key::Key;
use crate::layout::{Layout, Placement};
use crate::log::{Durability, Log, Memory};
use crate::record;
use crate::reply::Reply;
use crate::shared::{Options, Shared};
use crate::ticket::Ticket;
use crate::verb::Verb;
use crate::words::Split;
use crate::writes::Writes;

/// Returns a layout in which a file moves from backend 0, `a`, to backend 1, `b`; and the file's
/// name.
fn a_file_that_moves() -> (Layout, String) {
    let build = |names: &[&str], before: Option<&stead::Map>| {
        let nodes: String = names
            .iter()
            .map(|name| format!("[[node]]\nname = \"{name}\"\n"))
            .collect();
        let fleet = stead::Fleet::parse(&format!("name = \"rrd\"\n{nodes}"), "fleet.toml").unwrap();
        stead::build(&fleet, before).unwrap()
    };
    let old = build(&["a"], None);
    let new = build(&["a", "b"], Some(&old));
    let moves = |name: &String| new.locate(name.as_bytes()).index() == 1;
    let name = (0..)
        .map(|number| format!("f{number}"))
        .find(moves)
        .unwrap();
    let mut layout = Layout::new(Placement::new(old, vec![0]));
    layout.move_to(Placement::new(new, vec![0, 1]), Default::default());
    (layout, name)
}

/// Runs an rrdcached that takes every update of one connection, and returns what it got.
fn server(path: &std::path::Path) -> JoinHandle<Vec<String>> {
    let listener = tokio::net::UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reading, mut writing) = stream.into_split();
        let mut lines = BufReader::new(reading).lines();
        let mut got = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            got.push(line);
            writing
                .write_all(b"0 errors, enqueued 1 value(s).\n")
                .await
                .unwrap();
        }
        got
    })
}

/// A server is slow, and has a long queue of writes. A read of a file waits for the writes to this
/// file, and not for those to other files that came later.
#[tokio::test]
async fn a_read_waits_for_the_writes_to_its_file_only() {
    let (layout, _) = a_file_that_moves();
    let shared = Shared::new(Options::patient(), Arc::new(Memory::default()), layout);
    let access = Access {
        address: Address::Unix("/none".into()),
        files: None,
    };
    let backend = Backend::new("b", 1, access, Arc::new(shared), Arc::default());
    backend.standing().become_(Health::Up);
    for (number, names) in [["a", "b"], ["c", "d"], ["b", "e"], ["f", "g"]]
        .iter()
        .enumerate()
    {
        let mut writes = Writes::default();
        for name in names {
            writes.push(Verb::Update, name.as_bytes(), b"1:2", b"");
        }
        let (ticket, _) = Ticket::new(number as u64 + 1, writes, true);
        let work = Work {
            ticket: Arc::new(ticket),
            // the first line of the last ticket is for another backend
            lines: match number {
                3 => Lines::These(vec![1]),
                _ => Lines::All,
            },
            since: Instant::now(),
        };
        backend.offer(work, false);
    }
    // for each number of works that are answered: the files that can be read
    for (answered, readable) in [
        (0, "fx"),
        (1, "afx"),
        (2, "acdfx"),
        (3, "abcdefx"),
        (4, "abcdefgx"),
    ] {
        backend.answered.send_replace(answered);
        for name in "abcdefgx".chars() {
            let name = name.to_string();
            let wait = backend.caught_up_with(Some(name.as_bytes()));
            let done = tokio::time::timeout(Duration::ZERO, wait).await;
            let done = done.map(|waited| waited.unwrap()).is_ok();
            assert_eq!(
                done,
                readable.contains(&name),
                "{name}, {answered} answered"
            );
        }
        let all = tokio::time::timeout(Duration::ZERO, backend.caught_up()).await;
        assert_eq!(all.is_ok(), answered == 4);
    }
}

/// A backend has read the log past a write, and only then the write's file comes to the backend.
#[tokio::test]
async fn a_write_that_was_held_reaches_a_backend_that_has_read_on() {
    let (layout, name) = a_file_that_moves();
    let place = tempfile::tempdir().unwrap();
    let address = Address::Unix(place.path().join("s"));
    let server = server(&place.path().join("s"));
    let log = Arc::new(Memory::default());
    let shared = Arc::new(Shared::new(Options::patient(), log.clone(), layout));
    let access = Access {
        address: address.clone(),
        files: None,
    };
    let backend = Backend::new("b", 1, access, shared.clone(), Arc::default());
    let mut writes = Writes::default();
    writes.push(Verb::Update, name.as_bytes(), b"1:2", b"");
    let mut bytes = Vec::new();
    record::push(&mut bytes, ["a", "b"].into_iter(), writes.line(0));
    let number = log.append(&bytes, Durability::Power).unwrap();

    let mut connection = Connection::open(&address).await.unwrap();
    let through = backend.replay(&mut connection, 0).await.unwrap();
    assert_eq!((through, backend.health()), (number, Health::Up));
    // the backend falls behind and continues from here; the file comes to it, with the held write
    backend.standing().become_(Health::Behind);
    shared.layout_mut().moved(name.as_bytes());
    let (ticket, mut answer) = Ticket::new(number, writes, false);
    ticket.expect(1);
    ticket.given();
    let work = Work {
        ticket: Arc::new(ticket),
        lines: Lines::All,
        since: Instant::now(),
    };
    backend.offer(work, true);
    assert_eq!(answer.try_recv().unwrap(), []);
    let through = backend.replay(&mut connection, through).await.unwrap();
    assert_eq!(through, number);
    drop(connection);
    assert_eq!(server.await.unwrap(), [format!("UPDATE {name} 1:2")]);
    assert_eq!(backend.standing().unflushed.first(), Some(number));
}

/// Runs an rrdcached that answers each line a while after it came. Returns the most lines that had
/// no answer at the same time.
fn late_server(path: &std::path::Path) -> Arc<AtomicUsize> {
    let listener = tokio::net::UnixListener::bind(path).unwrap();
    let most = Arc::new(AtomicUsize::new(0));
    let (now, most_seen) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&most));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most_seen));
            tokio::spawn(async move {
                let (reading, mut writing) = stream.into_split();
                let mut lines = BufReader::new(reading).lines();
                while let Ok(Some(_)) = lines.next_line().await {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    now.fetch_sub(1, SeqCst);
                    writing.write_all(b"0 Success\n").await.unwrap();
                }
            });
        }
    });
    most
}

/// While rrdcached writes the values of a file, it answers another FETCH or FLUSH of the file
/// without them.
#[tokio::test(start_paused = true)]
async fn what_makes_a_backend_write_a_file_comes_one_after_the_other() {
    let most_of = |questions: [&'static str; 4]| async move {
        let (layout, _) = a_file_that_moves();
        let place = tempfile::tempdir().unwrap();
        let most = late_server(&place.path().join("s"));
        let shared = Shared::new(Options::patient(), Arc::new(Memory::default()), layout);
        let access = Access {
            address: Address::Unix(place.path().join("s")),
            files: None,
        };
        let backend = Backend::new("b", 1, access, Arc::new(shared), Arc::default());
        backend.standing().become_(Health::Up);
        let ask = |question: &'static str| {
            let (backend, line) = (&backend, question.as_bytes());
            async move {
                let name = Split::of(line).path().unwrap().0;
                match question.ends_with("large") {
                    true => backend.ask_large(&name, line, false).await,
                    false => backend.ask_about(&name, line, false).await,
                }
            }
        };
        let [a, b, c, d] = questions.map(ask);
        let (a, b, c, d) = tokio::join!(a, b, c, d);
        for answer in [a, b, c, d] {
            assert_eq!(answer.unwrap(), Reply::ok("Success"));
        }
        most.load(SeqCst)
    };
    let same = [
        "FETCH a LAST",
        "FLUSH a",
        "fetchbin a LAST",
        "FETCH a large",
    ];
    assert_eq!(most_of(same).await, 1);
    let different = ["FETCH a LAST", "FETCH b LAST", "FLUSH c", "FETCH d large"];
    assert_eq!(most_of(different).await, 4);
    let no_write = ["LAST a", "INFO a", "FIRST a 0", "PENDING a"];
    assert_eq!(most_of(no_write).await, 4);
}

/// A backend hangs: those who wait for the request before theirs learn it together with that one.
#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_for_a_turn_than_for_an_answer() {
    let (layout, _) = a_file_that_moves();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s");
    let _listener = tokio::net::UnixListener::bind(&path).unwrap();
    let options = Options {
        patience: Duration::from_millis(300),
        ..Options::patient()
    };
    let shared = Shared::new(options, Arc::new(Memory::default()), layout);
    let access = Access {
        address: Address::Unix(path),
        files: None,
    };
    let backend = Backend::new("b", 1, access, Arc::new(shared), Arc::default());
    backend.standing().become_(Health::Up);
    let ask = || backend.ask_about(b"a", b"FETCH a LAST", false);
    let begin = tokio::time::Instant::now();
    let (a, b, c) = tokio::join!(ask(), ask(), ask());
    assert!(a.is_err() && b.is_err() && c.is_err());
    assert!(begin.elapsed() < Duration::from_millis(600));
}

/// A file moves away while its FLUSH is due. Its backend lacks nothing then.
#[tokio::test]
async fn a_file_that_has_moved_away_is_not_missed() {
    for (is_moved, missing) in [(true, 0), (false, 1)] {
        let (mut layout, name) = a_file_that_moves();
        if is_moved {
            layout.moved(name.as_bytes());
        }
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (reading, mut writing) = stream.into_split();
            let mut lines = BufReader::new(reading).lines();
            while let Ok(Some(_)) = lines.next_line().await {
                writing.write_all(b"-1 No such file: /x\n").await.unwrap();
            }
        });
        let shared = Shared::new(Options::patient(), Arc::new(Memory::default()), layout);
        let shared = Arc::new(shared);
        let access = Access {
            address: Address::Unix(path.clone()),
            files: None,
        };
        let backend = Backend::new("a", 0, access, Arc::clone(&shared), Arc::default());
        backend.standing().become_(Health::Up);
        let connection = Connection::open(&Address::Unix(path)).await.unwrap();
        *backend.flushing.lock().await = Some(connection);
        let now = Instant::now();
        backend
            .standing()
            .unflushed
            .wrote(Key::of(name.as_bytes()), 1, now);
        backend.flush(Duration::ZERO).await.unwrap();
        assert_eq!(backend.standing().unflushed.first(), None);
        let counts = shared.repairs.counts();
        let found: u64 = counts.values().map(|one| one.missing).sum();
        assert_eq!(found, missing, "{is_moved}");
    }
}

//! Tests of how a write is planned.

use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::Router;
use crate::create::Templates;
use crate::health::Health;
use crate::log::{Durability, Log, Memory};
use crate::record;
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

/// Runs an rrdcached that answers questions and never an update.
fn slow_server(path: &Path) {
    let listener = tokio::net::UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (reading, mut writing) = stream.into_split();
                let mut lines = BufReader::new(reading).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let answer = match line.split(' ').next() {
                        Some("FLUSH") => "-1 No such file: /b/.stead-rrd.no-such-file.\n",
                        Some("LAST") => "0 1700000000\n",
                        Some("INFO") => "1 Info\nfilename 2 /b/h/x\n",
                        _ => continue,
                    };
                    writing.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
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

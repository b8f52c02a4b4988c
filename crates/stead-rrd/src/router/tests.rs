//! Tests of how a write is planned.

use std::sync::Arc;
use std::time::Duration;

use super::Router;
use crate::create::Templates;
use crate::log::Memory;
use crate::path::Base;
use crate::request::{Write, LINE_BYTES};
use crate::shared::Options;
use crate::words::words;
use crate::writes::Writes;

/// Returns a router with one backend, which is down, and a template for every file.
fn router() -> Router {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("create.toml");
    let rule = "[[create]]\nmatch = '**'\nstep = 60\nds = ['DS:v:GAUGE:9:U:U']\nrra = \
        ['RRA:LAST:0:1:5']\n";
    std::fs::write(&file, rule).unwrap();
    let fleet = "name = 'rrd'\n[[node]]\nname = 'a'\nattributes = { rrdcached = 'unix:/none' }\n";
    let fleet = stead::Fleet::parse(fleet, "fleet.toml").unwrap();
    let options = Options {
        base: Base::new(b"/rrd"),
        flush_after: Duration::from_secs(60),
        patience: Duration::from_secs(60),
        idle: None,
        overwrite: false,
        create: Some(Arc::new(Templates::load(&file).unwrap())),
        pair: None,
    };
    let map = stead::build(&fleet, None).unwrap();
    Router::new(map, Arc::new(Memory::default()), options).unwrap()
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

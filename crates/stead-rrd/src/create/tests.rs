//! Tests of templates: what they make, and how their mistakes are reported.

use std::path::Path;

use proptest::prelude::*;

use super::{collectd, Templates};
use crate::path::escaped;

const OWN: &str = "[[create]]\nmatch = \"*/ping/*.rrd\"\nstep = 60\nds = \
    [\"DS:value:GAUGE:120:0:U\"]\nrra = [\"RRA:AVERAGE:0.5:1:1440\", \"RRA:MAX:0.5:5m:1d\"]\n";
const COLLECTD: &str = "[[create]]\nmatch = \"**\"\nstep = 10\ntypes-db = \"types.db\"\n";
const TYPES: &str = "# comment\n\nload  shortterm:GAUGE:0:5000, \
    midterm:gauge:-1.5:5000,\tlongterm:GAUGE:U:18446744073709551615\r\nif_octets \
    rx:DERIVE:0:U,tx\n";

/// Loads `text` from a directory that also holds types.db.
fn load(text: &str, types: &str) -> Result<Templates, String> {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("types.db"), types).unwrap();
    std::fs::write(place.path().join("create.toml"), text).unwrap();
    Templates::load(&place.path().join("create.toml"))
        .map_err(|error| error.replace(&format!("{}/", place.path().display()), ""))
}

fn created(templates: &Templates, name: &[u8], first_time: Option<i64>) -> Option<Vec<u8>> {
    Some(
        [
            &b"CREATE "[..],
            &escaped(name),
            &templates.rest(name, first_time)?,
        ]
        .concat(),
    )
}

fn line(templates: &Templates, name: &str) -> Option<String> {
    created(templates, name.as_bytes(), Some(1_700_000_000))
        .map(|line| String::from_utf8(line).unwrap())
}

#[test]
fn the_first_rule_that_fits_makes_the_file() {
    let types = "load v:GAUGE:0:U\nping v:GAUGE:0:U\n";
    let both = load(&format!("{OWN}{COLLECTD}"), types).unwrap();
    let own = "CREATE h/ping/ping-a\\ b.rrd -b 1699999999 -s 60 -O DS:value:GAUGE:120:0:U \
        RRA:AVERAGE:0.5:1:1440 RRA:MAX:0.5:5m:1d";
    assert_eq!(line(&both, "h/ping/ping-a b.rrd").as_deref(), Some(own));
    let other_way = load(&format!("{COLLECTD}{OWN}"), types).unwrap();
    assert!(line(&other_way, "h/ping/ping-a b.rrd")
        .unwrap()
        .contains("-s 10 -O DS:v:GAUGE:20:0.000000:U"));
    // the next rule gets a type that types.db does not know, and a star ends at a slash
    assert_eq!(
        line(&other_way, "h/ping/other.rrd"),
        line(&both, "h/ping/other.rrd")
    );
    assert!(line(&both, "h/ping/other.rrd").is_some());
    assert_eq!(line(&both, "x/h/ping/other.rrd"), None);
    assert_eq!(
        created(&Templates::default(), b"h/load/load.rrd", None),
        None
    );
}

#[test]
fn a_name_that_is_no_utf_8_fits_as_any_other() {
    let own = load(OWN, "").unwrap();
    assert!(created(&own, b"h/ping/\xff\xfe.rrd", None)
        .unwrap()
        .starts_with(b"CREATE h/ping/\xff\xfe.rrd -s 60 -O DS:"));
}

#[test]
fn files_of_collectd_are_as_collectd_makes_them() {
    let made = load(
        COLLECTD,
        TYPES.strip_suffix("if_octets rx:DERIVE:0:U,tx\n").unwrap(),
    )
    .unwrap();
    // the rows that collectd 5.12 makes for 10 seconds; tests/rrd/test_clients.py compares them
    // with files that collectd made
    let archives: String = [(1, 1200), (7, 1235), (50, 1210), (223, 1202), (2635, 1201)]
        .iter()
        .flat_map(|(steps, rows)| {
            ["AVERAGE", "MIN", "MAX"].map(|function| format!(" RRA:{function}:0.1:{steps}:{rows}"))
        })
        .collect();
    let sources = "DS:shortterm:GAUGE:20:0.000000:5000.000000 \
        DS:midterm:GAUGE:20:-1.500000:5000.000000 \
        DS:longterm:GAUGE:20:U:18446744073709551616.000000";
    for name in [
        "h/load/load.rrd",
        "h/load-a/load-b-c.rrd",
        "a/h/load/load.rrd",
    ] {
        assert_eq!(
            line(&made, name),
            Some(format!(
                "CREATE {name} -b 1699999999 -s 10 -O {sources}{archives}"
            ))
        );
    }
    for name in [
        "load/load.rrd",
        "h/load/load",
        "h/load/loads.rrd",
        "h/load/#.rrd",
        "h/load/.rrd",
        "h/load/rrd",
    ] {
        assert_eq!(line(&made, name), None, "{name}");
    }
    // five minutes: the first two spans have too few steps for 1,200 rows
    assert!(collectd::archives(300).starts_with(
        " RRA:AVERAGE:0.1:1:1200 RRA:MIN:0.1:1:1200 RRA:MAX:0.1:1:1200 RRA:AVERAGE:0.1:1:1200"
    ));
}

#[test]
fn other_archives_and_another_heartbeat_can_be_asked_for() {
    let made = load(
        &format!("{COLLECTD}heartbeat = 45\nrra = [\"RRA:LAST:0:1:5\"]\n"),
        "x v:COUNTER:0:U",
    )
    .unwrap();
    assert_eq!(
        line(&made, "h/p/x.rrd").unwrap(),
        "CREATE h/p/x.rrd -b 1699999999 -s 10 -O DS:v:COUNTER:45:0.000000:U RRA:LAST:0:1:5"
    );
}

#[test]
fn a_mistake_is_said_with_its_file_and_line() {
    for (change, to, said) in [
        ("step = 60", "step = 0", "create.toml:3: step = 0"),
        (
            "step = 60\n",
            "",
            "create.toml:1: missing field `step`; add a line such as step = 60",
        ),
        (
            "step = 60",
            "step = 60\nsteps = 1",
            "create.toml:4: unknown field `steps`",
        ),
        ("step = 60", "step = -1", "create.toml:3: invalid value"),
        ("step = 60", "step = ", "create.toml:3: "),
        (
            "step = 60",
            "step = 60\nheartbeat = 9",
            "create.toml:4: heartbeat is for types-db",
        ),
        (
            "step = 60",
            "step = 60\ntypes-db = 'types.db'",
            "create.toml:4: ds and types-db",
        ),
        (
            "*/ping/*.rrd",
            "[",
            "create.toml:2: match = \"[\" is not a pattern",
        ),
        ("ds =", "#", "create.toml:1: the rule has neither"),
        ("rra =", "#", "create.toml:1: the rule has no rra"),
        ("rra = [", "rra = [] #", "create.toml:5: an empty list"),
        (
            "DS:value",
            "DS:va lue",
            "create.toml:4: \"DS:va lue:GAUGE:120:0:U\" contains ' '",
        ),
        ("DS:value", "DS:a_name_of_twenty_char", "create.toml:4: "),
        ("GAUGE", "GAUGES", "GAUGES is not a type"),
        (":120:", ":x:", "\"x\" is neither"),
        (":0:U\"", ":0\"", "write DS:NAME"),
        (":0:U\"", ":0:V\"", "the limit \"V\""),
        (
            "RRA:AVERAGE",
            "RRA:AVG",
            "create.toml:5: \"RRA:AVG:0.5:1:1440\": write RRA:",
        ),
        ("AVERAGE:0.5", "AVERAGE:1", "\"1\" may be unknown"),
        (":1440", ":0", "\"0\" is neither"),
    ] {
        let text = OWN.replacen(change, to, 1);
        assert_ne!(text, OWN, "{change}");
        let error = load(&text, "").unwrap_err();
        assert!(
            error.contains(said) && error.starts_with("create.toml:") && !error.contains('\n'),
            "{error}, not {said}"
        );
    }
    let many = OWN.replace(
        "\"DS:value",
        &format!("{}\"DS:value", "\"DS:v:GAUGE:1:0:U\", ".repeat(125)),
    );
    assert!(load(&many, "")
        .unwrap_err()
        .starts_with("create.toml:1: 128 definitions in "));
    assert!(load(&many.replacen("\"DS:v:GAUGE:1:0:U\", ", "", 1), "").is_ok());
    let many = load(COLLECTD, &format!("big {}", "v:GAUGE:0:U ".repeat(113))).unwrap_err();
    assert!(
        many.starts_with("create.toml:4: type big of types.db: 128 definitions"),
        "{many}"
    );
    assert!(load("", "")
        .unwrap_err()
        .starts_with("create.toml:1: missing field `create`"));
    assert!(load("create = []", "")
        .unwrap_err()
        .contains("no [[create]]"));
    assert!(Templates::load(Path::new("/none/x.toml"))
        .unwrap_err()
        .starts_with("cannot read /none/x.toml: No such file"));
    let nowhere = COLLECTD.replace("types.db", "/none/types.db");
    assert!(load(&nowhere, "")
        .unwrap_err()
        .starts_with("create.toml:4: types-db: cannot read /none/types.db: No such file"));
}

#[test]
fn a_mistake_in_types_db_is_said_with_its_file_and_line() {
    for (types, said) in [
        (
            TYPES,
            "types.db:4: type if_octets: \"rx:DERIVE:0:U,tx\": the limit \"U,tx\" is not a number",
        ),
        ("a", "types.db:1: type a has no data sources"),
        (
            "\na v:GAUGE:0",
            "types.db:2: type a: \"v:GAUGE:0\": write NAME:TYPE",
        ),
        (
            "a v:DCOUNTER:0:U",
            "types.db:1: type a: \"v:DCOUNTER:0:U\": DCOUNTER is not a type",
        ),
        ("a v:GAUGE:inf:U", "the limit \"inf\""),
        ("a :GAUGE:0:U", "the name \"\""),
    ] {
        let error = load(COLLECTD, types).unwrap_err();
        assert!(
            error.contains(said) && error.starts_with("types.db:"),
            "{error}, not {said}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_of_types_ends_the_program(text in "[a-z#:,U0-9. \n\\t\r\u{e9}-]{0,200}") {
        let _ = collectd::types(&text, 20);
    }

    #[test]
    fn a_create_is_one_line(name in proptest::collection::vec(any::<u8>().prop_filter("no control characters come here", |b| !b.is_ascii_control()), 1..40)) {
        let all = load(&OWN.replace("*/ping/*.rrd", "**"), "").unwrap();
        let line = created(&all, &name, Some(5)).unwrap();
        prop_assert!(!line.contains(&b'\n'));
        let split = crate::words::Split::of(&line);
        prop_assert_eq!(split.path().map(|(path, _)| path.into_owned()), Some(name));
    }
}

//! The guards: which changes are refused, with which word, and which changes are harmless.

use std::fmt::Write;
use std::fs;

use stead::guard::{findings, Allow, Guard};
use stead::{build, build_max_move, Error, Fleet, Map, Plan, Share, Status, Store};
use tempfile::TempDir;

fn fleet(text: &str) -> Fleet {
    Fleet::parse(&format!("name = 'm'\n{text}"), "fleet").unwrap()
}

fn map(text: &str) -> Map {
    build(&fleet(text), None).unwrap()
}

fn next(text: &str, before: &Map) -> Map {
    build(&fleet(text), Some(before)).unwrap()
}

/// Returns the words and the texts of the findings.
fn found(before: &Map, text: &str) -> Vec<(&'static str, String)> {
    let found = findings(before, &next(text, before)).unwrap();
    found
        .into_iter()
        .map(|f| (f.guard.word(), f.text))
        .collect()
}

/// Lists nodes, each written `name` or `name:zone/rack` or `name:zone/rack*weight`.
fn nodes(list: &str) -> String {
    let mut out = String::new();
    for node in list.split(' ') {
        let (node, weight) = node.split_once('*').unwrap_or((node, "1"));
        let (name, place) = node.split_once(':').unwrap_or((node, "-/-"));
        let (zone, rack) = place.split_once('/').unwrap_or((place, "1"));
        writeln!(
            out,
            "[[node]]\nname = '{name}'\nweight = {weight}\nlabels = {{ zone = '{zone}', rack = '{rack}' }}"
        )
        .unwrap();
    }
    out
}

#[test]
fn fewer_replicas_drop_copies_and_the_figures_say_how_many() {
    let before = map(&format!("replicas = 3\n{}", nodes("a b c d e")));
    assert_eq!(
        found(&before, &format!("replicas = 1\n{}", nodes("a b c d e"))),
        [(
            "drop-copies",
            "drops copies of 100.00 % of the points, 66.67 % of all copies, because replicas goes \
             from 3 to 1"
                .to_owned()
        )]
    );
    let more = format!("replicas = 4\n{}", nodes("a b c d e"));
    assert_eq!(found(&before, &more), []);
    let moved = format!("replicas = 3\n{}", nodes("a b c x y z"));
    assert_eq!(found(&before, &moved), []);
}

#[test]
fn a_gradual_change_drops_copies_in_its_first_step_alone() {
    let before = map(&format!("replicas = 3\n{}", nodes("a b c d e")));
    let fewer = fleet(&format!("replicas = 2\n{}", nodes("a b c d e f g")));
    let mut words = Vec::new();
    let mut now = before;
    for _ in 0..50 {
        let then = build_max_move(&fewer, Some(&now), Share(1 << 60)).unwrap();
        words.push(findings(&now, &then).unwrap().len());
        now = then;
        if now.target_slices().is_none() {
            break;
        }
    }
    assert!(words.len() > 2, "{words:?}");
    assert_eq!((words[0], words[1..].iter().sum::<usize>()), (1, 0));
}

#[test]
fn a_pin_that_leaves_its_points_fewer_copies_than_promised_is_found() {
    let pin = |nodes: &str| format!("[[pin]]\nkey = 'k'\nshort = true\nnodes = [{nodes}]\n");
    let list = nodes("a b c d e f");
    let fleet = |pin: &str| format!("replicas = 3\n{list}{pin}");
    let plain = map(&fleet(""));
    // (pin before, pin after, what is found)
    for (before, after, text) in [
        ("", "'a'", "drops 2 copies of 1 point"),
        ("'a','b'", "'c'", "drops 1 copy of 1 point"),
        (
            "'a','b','c','d','e'",
            "'a','b'",
            "drops 3 copies of 1 point",
        ),
        ("'a','b','c','d','e'", "'a','b','c'", ""),
        ("'a','b','c','d','e'", "", ""),
        ("'a','b'", "'c','d'", ""),
        ("'a'", "", ""),
    ] {
        let written = |nodes: &str| {
            if nodes.is_empty() {
                String::new()
            } else {
                pin(nodes)
            }
        };
        let now = next(&fleet(&written(before)), &plain);
        let wanted: Vec<(&str, String)> = match text {
            "" => vec![],
            text => vec![("drop-copies", text.to_owned())],
        };
        assert_eq!(
            found(&now, &fleet(&written(after))),
            wanted,
            "{before} -> {after}"
        );
    }
}

#[test]
fn a_policy_that_is_left_with_one_node_is_found_and_rebalancing_is_not() {
    let policy = |nodes: &str| format!("[[policy]]\nname = 'p'\nweight = 1\nnodes = [{nodes}]\n");
    let before = map(&format!("{}{}", nodes("a b c d"), policy("'a','b'")));
    let shrunk = found(&before, &format!("{}{}", nodes("a b c d"), policy("'a'")));
    assert_eq!(
        shrunk,
        [(
            "drop-copies",
            "drops copies of 20.00 % of the points, 20.00 % of all copies".to_owned()
        )]
    );
    assert_eq!(found(&before, &nodes("a b c d"))[0].0, "drop-copies");
    // the policy keeps its nodes and gets a smaller share: points move to nodes with one copy each
    let grown = format!("{}{}", nodes("a b c d e f g"), policy("'a','b'"));
    assert_eq!(found(&before, &grown), []);
}

const ZONES: &str = "replicas = 2\nspread = ['zone', 'rack']\n";

#[test]
fn a_zone_and_a_rack_that_are_gone_are_lost() {
    let all = "a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:c/1 c2:c/1 c3:c/2 c4:c/2";
    let before = map(&format!("{ZONES}{}", nodes(all)));
    let found = |list: &str| found(&before, &format!("{ZONES}{}", nodes(list)));
    assert_eq!(
        found("a1:a/1 a2:a/2 b1:b/1 b2:b/1"),
        [(
            "lose-domain",
            "loses zone c with 50.00 % of all copies on 4 nodes, and leaves 2 others".to_owned()
        )]
    );
    assert_eq!(
        found("a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:c/1 c2:c/1"),
        [(
            "lose-domain",
            "loses rack c/2 with 25.00 % of all copies on 2 nodes, and leaves 4 others".to_owned()
        )]
    );
    for harmless in [
        // one node less, and a rack of one node less
        "a1:a/1 a2:a/2 b1:b/1 c1:c/1 c2:c/1 c3:c/2 c4:c/2",
        "a1:a/1 b1:b/1 b2:b/1 c1:c/1 c2:c/1 c3:c/2 c4:c/2",
        // the zone has another name, or other nodes, or weight 0
        "a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:d/1 c2:d/1 c3:d/2 c4:d/2",
        "a1:a/1 a2:a/2 b1:b/1 b2:b/1 x1:c/1 x2:c/1 x3:c/2",
        "a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:c/1*0 c2:c/1*0 c3:c/2*0 c4:c/2*0",
    ] {
        assert_eq!(found(harmless), [], "{harmless}");
    }
    // its nodes go into another zone, so that one zone less is left
    let merged = found("a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:b/1 c2:b/1 c3:b/2 c4:b/2");
    assert_eq!(merged[0].0, "lose-domain");
}

#[test]
fn a_label_that_is_taken_from_spread_is_a_level_that_is_lost() {
    let all = "a1:a/1 a2:a/2 b1:b/1 b2:b/2 c1:c/1 c2:c/2";
    let of = |head: &str, list: &str| format!("{head}{}", nodes(list));
    let before = map(&of(ZONES, all));
    let lost = |labels: &str| {
        let text =
            format!("keeps copies no longer apart by {labels}: spread had it and has it no more");
        vec![("lose-domain", text)]
    };
    let two = "replicas = 2\n";
    assert_eq!(found(&before, &of(two, all)), lost("zone and rack"));
    // also where the same change removes a whole zone
    assert_eq!(
        found(&before, &of(two, "a1:a/1 b1:b/1 b2:b/1")),
        lost("zone and rack")
    );
    let zone = "replicas = 2\nspread = ['zone']\n";
    assert_eq!(found(&before, &of(zone, all)), lost("rack"));
    // what was never apart is not lost, nor is what has another order or another name
    let together = map(&of(zone, "a1:a/1 a2:a/2"));
    assert_eq!(found(&together, &of(two, "a1:a/1 a2:a/2")), []);
    let turned = "replicas = 2\nspread = ['rack', 'zone']\n";
    assert_eq!(found(&before, &of(turned, all)), []);
    let row = |text: String| text.replace("zone", "row");
    let apart = map(&of(zone, all));
    assert_eq!(found(&apart, &row(of(zone, all))), []);
    // but another label with other groups is another thing
    let rack = "replicas = 2\nspread = ['rack']\n";
    assert_eq!(found(&apart, &of(rack, all)), lost("zone"));
    // one copy is never kept apart
    let single = "replicas = 1\nspread = ['zone']\n";
    assert_eq!(found(&map(&of(single, all)), &of("", all)), []);
}

#[test]
fn a_domain_of_one_node_is_lost_only_if_too_few_are_left() {
    let zones = |n: u32| {
        let list: Vec<String> = (1..=n).map(|i| format!("n{i}:z{i}/1")).collect();
        nodes(&list.join(" "))
    };
    let fleet = |n| format!("replicas = 3\nspread = ['zone']\n{}", zones(n));
    let five = map(&fleet(5));
    assert_eq!(found(&five, &fleet(4)), []);
    assert_eq!(found(&five, &fleet(3)), []);
    // three copies in two zones
    let two = format!(
        "replicas = 3\nspread = ['zone']\n{}",
        nodes("n1:z1/1 n2:z2/1 x:z2/1")
    );
    let three = map(&fleet(3));
    assert_eq!(
        found(&three, &two),
        [(
            "lose-domain",
            "loses zone z3 with 33.33 % of all copies on 1 node, and leaves 2 others".to_owned()
        )]
    );
}

#[test]
fn a_drained_domain_may_be_removed_and_a_gradual_loss_is_found_once() {
    let all = "a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:c/1 c2:c/1";
    let before = map(&format!("{ZONES}{}", nodes(all)));
    let drained = next(
        &format!(
            "{ZONES}{}",
            nodes("a1:a/1 a2:a/2 b1:b/1 b2:b/1 c1:c/1*0 c2:c/1*0")
        ),
        &before,
    );
    let without = format!("{ZONES}{}", nodes("a1:a/1 a2:a/2 b1:b/1 b2:b/1"));
    assert_eq!(found(&drained, &without), []);

    let mut counts = Vec::new();
    let mut now = before;
    while counts.is_empty() || now.target_slices().is_some() {
        let then = build_max_move(&fleet(&without), Some(&now), Share(1 << 61)).unwrap();
        counts.push(findings(&now, &then).unwrap().len());
        now = then;
    }
    assert!(counts.len() > 1, "{counts:?}");
    assert_eq!((counts[0], counts[1..].iter().sum::<usize>()), (1, 0));
}

#[test]
fn the_fleet_limits_what_moves_and_pins_count() {
    let before = map(&nodes("a b c d"));
    let limited = |limit: &str, rest: &str| format!("[guard]\nmove = '{limit}'\n{rest}");
    let five = nodes("a b c d e");
    assert_eq!(
        found(&before, &limited("19.5%", &five)),
        [(
            "move",
            "moves 20.00 % of all copies, and the fleet permits 19.5% in one step".to_owned()
        )]
    );
    for enough in ["20%", "100%"] {
        assert_eq!(found(&before, &limited(enough, &five)), []);
    }
    let pinned = format!(
        "{}[[pin]]\nrange = ['0%', '50%']\nnodes = ['d']\n",
        nodes("a b c d")
    );
    assert_eq!(found(&before, &limited("10%", &pinned))[0].0, "move");
    assert_eq!(found(&before, &pinned), []);
    // no part of the bytes, and written back by the fleet
    let with = fleet(&limited("20%", &five));
    assert_eq!(
        build(&with, Some(&before)).unwrap().bytes(),
        next(&five, &before).bytes()
    );
    assert!(with.to_toml().contains("[guard]\nmove = \"20%\"\n"));
}

#[test]
fn the_limit_is_of_the_copies_of_the_map_that_has_more_of_them() {
    // two copies become one, and a node joins with a quarter: an eighth of all copies moves
    let before = map(&format!("replicas = 2\n{}", nodes("a b c")));
    let after = |limit: &str| format!("[guard]\nmove = '{limit}'\n{}", nodes("a b c d"));
    let plan = Plan::between(&before, &next(&after("100%"), &before)).unwrap();
    assert_eq!(plan.amounts.moved, Share(1 << 62));
    let refused = |limit: &str| {
        let all = found(&before, &after(limit)).into_iter();
        let of_move = all.filter(|(word, _)| *word == "move");
        of_move.map(|(_, text)| text).collect::<Vec<String>>()
    };
    assert_eq!(refused("12.5%"), Vec::<String>::new());
    assert_eq!(
        refused("12.4%"),
        ["moves 12.50 % of all copies, and the fleet permits 12.4% in one step"]
    );
    // the other way round the new map has more
    let fewer = map(&nodes("a b c d"));
    let more = format!("replicas = 2\n[guard]\nmove = '50%'\n{}", nodes("a b c d"));
    assert_eq!(found(&fewer, &more), []);
}

#[test]
fn a_wrong_guard_in_a_fleet_is_refused_in_its_line() {
    for (text, words) in [
        (
            "[guard]\nmove = '20'\n",
            "fleet:3: percentage \"20\" does not end in %",
        ),
        (
            "[guard]\nmoves = '20%'\n",
            "fleet:3: unknown key `moves` in [guard]; known keys: move",
        ),
        (
            "[guard]\nmove = 20\n",
            "fleet:3: move must be a string, but is a number",
        ),
        (
            "guard = '20%'\n",
            "fleet:2: guard is not a table; write [guard] and below it",
        ),
    ] {
        let text = format!("name = 'm'\n{text}[[node]]\nname = 'a'\n");
        let error = Fleet::parse(&text, "fleet").unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
    let json = r#"{"name": "m", "guard": {"move": "5%"}, "node": [{"name": "a"}]}"#;
    assert!(Fleet::parse(json, "fleet").unwrap().move_limit.is_some());
}

/// A map file with the epochs of these fleets, and its store.
struct Epochs {
    _directory: TempDir,
    store: Store,
}

impl Epochs {
    fn of(fleets: &[&str]) -> Epochs {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("m.map"), 32);
        let all = Allow::parse("drop-copies,lose-domain,move,take-back").unwrap();
        for text in fleets {
            store
                .clone()
                .allowing(all)
                .apply(&fleet(text), None)
                .unwrap();
        }
        Epochs {
            _directory: directory,
            store,
        }
    }

    /// Returns what applying a fleet takes back.
    fn found(&self, text: &str) -> Vec<String> {
        let newest = self.store.current().unwrap().unwrap();
        let found = self
            .store
            .findings(Some(&newest), &next(text, &newest))
            .unwrap();
        let back = found.into_iter().filter(|f| f.guard == Guard::TakeBack);
        back.map(|finding| finding.text).collect()
    }
}

#[test]
fn a_stale_fleet_takes_back_what_newer_epochs_brought() {
    let epochs = Epochs::of(&[
        &nodes("a b c"),
        &nodes("a b c d"),
        &nodes("a:z/1 b c d"),
        &nodes("a:z/1 b*2 c d"),
    ]);
    // the file of epoch 1, with and without an own change
    let all = [
        "takes back epoch 2: node d, added there",
        "takes back epoch 3: labels of a, changed there",
        "takes back epoch 4: weight of b, 2 -> 1",
    ];
    assert_eq!(epochs.found(&nodes("a b c")), all);
    assert_eq!(epochs.found(&nodes("a b c*7 e")), all);
    // the files of epochs 2 and 3
    assert_eq!(epochs.found(&nodes("a b c d")), all[1..]);
    assert_eq!(epochs.found(&nodes("a:z/1 b c d x")), all[2..]);
    // what is new is not refused, whatever it replaces
    for new in [
        "a:z/1 b*2 c d",
        "a:z/1 b*3 c d",
        "a:y/1 b*2 c d",
        "a:z/1 b*2 c d*5 e",
        "a:z/1 b*2 d",
    ] {
        assert_eq!(epochs.found(&nodes(new)), [""; 0], "{new}");
    }
}

#[test]
fn an_epoch_is_taken_back_as_a_whole_or_not_at_all() {
    let epochs = Epochs::of(&[
        &nodes("a b"),
        &nodes("a b c d e f g"),
        &nodes("a b c d e f g h"),
    ]);
    assert_eq!(
        epochs.found(&nodes("a b h")),
        [
            "takes back epoch 2: node c, added there; node d, added there; node e, added there; \
          node f, added there; and 1 more"
        ]
    );
    // whoever keeps d knows epoch 2
    assert_eq!(epochs.found(&nodes("a b d e f g h")), [""; 0]);
    assert_eq!(
        epochs.found(&nodes("a b d e f g")),
        ["takes back epoch 3: node h, added there"]
    );
}

#[test]
fn a_node_that_was_removed_comes_back_only_as_something_new() {
    let epochs = Epochs::of(&[&nodes("a b c"), &nodes("a b")]);
    assert_eq!(
        epochs.found(&nodes("a b c")),
        ["takes back epoch 2: node c, removed there"]
    );
    assert_eq!(epochs.found(&nodes("a b c*2")), [""; 0]);
}

#[test]
fn a_renaming_takes_nothing_back_and_an_old_file_takes_it_back() {
    let renamed = |list: &str, name: &str, formerly: &str| {
        let was = format!("name = '{name}'");
        nodes(list).replace(&was, &format!("{was}\nformerly = '{formerly}'"))
    };
    let pin = |node: &str| format!("[[pin]]\nkey = 'k'\nnodes = ['{node}']\n");
    let recent = [
        nodes("a b"),
        nodes("a b c"),
        nodes("a b c*2"),
        nodes("a b c*2") + &pin("a"),
        nodes("a b c*2") + &pin("c"),
    ];
    let recent: Vec<&str> = recent.iter().map(String::as_str).collect();
    let epochs = Epochs::of(&recent);
    let next = renamed("a b d*2", "d", "c") + &pin("d");
    assert_eq!(epochs.found(&next), [""; 0]);
    // a fleet that renames can still be old in something else
    assert_eq!(
        epochs.found(&(renamed("a b d", "d", "c") + &pin("d"))),
        ["takes back epoch 3: weight of c, 2 -> 1"]
    );
    assert_eq!(
        epochs.found(&(renamed("a b d*2", "d", "c") + &pin("a"))),
        ["takes back epoch 5: pin of \"k\", changed there"]
    );
    let epochs = Epochs::of(&[&recent[..3], &[&renamed("a b d*2", "d", "c")]].concat());
    // whoever names it back knows its new name
    assert_eq!(epochs.found(&renamed("a b c*2", "c", "d")), [""; 0]);
    assert_eq!(epochs.found(&nodes("a b d*2")), [""; 0]);
    assert_eq!(
        epochs.found(&nodes("a b c*2")),
        ["takes back epoch 4: node d, renamed there from c"]
    );
}

#[test]
fn replicas_spread_policies_pins_and_firsts_are_taken_back_too() {
    let old = nodes("a:x/1 b:y/1 c:x/1");
    let pin = "[[pin]]\nkey = 'k'\nnodes = ['a', 'b']\n";
    let policy = "[[policy]]\nname = 'p'\nnodes = ['a', 'b']\n";
    let first =
        "[[first]]\nkey = 'l'\nnode = 'a'\n[[first]]\nrange = ['10%', '12.5%']\nnode = 'b'\n";
    let epochs = Epochs::of(&[
        &old,
        &format!("replicas = 2\n{old}"),
        &format!("replicas = 2\nspread = ['zone']\n{old}"),
        &format!("replicas = 2\nspread = ['zone']\nmax_slices = 900\ntolerance = '1%'\n{old}{policy}"),
        &format!("replicas = 2\nspread = ['zone']\nmax_slices = 900\ntolerance = '1%'\n{old}{policy}{pin}"),
        &format!("replicas = 2\nspread = ['zone']\nmax_slices = 900\ntolerance = '1%'\n{old}{policy}{pin}{first}"),
    ]);
    assert_eq!(
        epochs.found(&old),
        [
            "takes back epoch 2: replicas, 2 -> 1",
            "takes back epoch 3: spread, zone -> none",
            "takes back epoch 4: max_slices, 900 -> none; tolerance, 1% -> none; policy p, added there",
            "takes back epoch 5: pin of \"k\", added there",
            "takes back epoch 6: first at 1999999999999999, added there; first of \"l\", added there",
        ]
    );
}

#[test]
fn publish_refuses_what_is_not_allowed_and_changes_nothing() {
    let epochs = Epochs::of(&[&format!("replicas = 2\n{}", nodes("a b c"))]);
    let store = &epochs.store;
    let before = store.current().unwrap().unwrap();
    let new = fleet(&nodes("a b c d e"));
    let error = store.apply(&new, None).unwrap_err();
    assert_eq!(error.status(), Status::Guarded);
    assert!(matches!(&error, Error::Guarded { allow, .. } if allow == "drop-copies"));
    let text = error.to_string();
    assert!(
        text.contains("m.map: the change drops copies of 100.00 % of the points, 50.00 % of all")
            && text.ends_with("; nothing was changed; if you mean it, allow drop-copies"),
        "{text}"
    );
    assert_eq!(store.current().unwrap().unwrap().bytes(), before.bytes());
    assert_eq!(store.history().unwrap(), [1]);
    // another word does not lift it
    for wrong in ["", "lose-domain,move,take-back"] {
        let store = store.clone().allowing(Allow::parse(wrong).unwrap());
        assert_eq!(
            store.apply(&new, None).unwrap_err().status(),
            Status::Guarded
        );
    }
    let store = store.clone().allowing(Allow::parse("drop-copies").unwrap());
    assert_eq!(store.apply(&new, None).unwrap().epoch(), 2);
    // the same fleet again is no change
    assert_eq!(store.apply(&new, None).unwrap().epoch(), 2);
}

#[test]
fn a_stale_fleet_is_refused_and_a_rollback_is_not() {
    let epochs = Epochs::of(&[&nodes("a b"), &nodes("a b c")]);
    let store = &epochs.store;
    let error = store.apply(&fleet(&nodes("a b")), None).unwrap_err();
    assert!(
        matches!(&error, Error::Guarded { allow, .. } if allow == "take-back"),
        "{error}"
    );
    assert_eq!(store.rollback(1, None).unwrap().epoch(), 3);
    // now the file of epoch 2 would take back the rollback
    let error = store.apply(&fleet(&nodes("a b c")), None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("takes back epoch 3: node c, removed there"),
        "{error}"
    );
    // a rollback that drops copies is refused like any change
    let grown = format!("replicas = 2\n{}", nodes("a b x y"));
    assert_eq!(store.apply(&fleet(&grown), None).unwrap().epoch(), 4);
    assert_eq!(
        store.rollback(3, None).unwrap_err().status(),
        Status::Guarded
    );
}

#[test]
fn a_first_map_is_never_refused_and_a_damaged_history_is_left_out() {
    let epochs = Epochs::of(&[&format!("[guard]\nmove = '0%'\n{}", nodes("a b"))]);
    let store = &epochs.store;
    assert_eq!(store.history().unwrap(), [1]);
    assert!(store.findings(None, &map(&nodes("a"))).unwrap().is_empty());
    store.apply(&fleet(&nodes("a b c")), None).unwrap();
    store.apply(&fleet(&nodes("a b c d")), None).unwrap();
    let mut history = store.path().as_os_str().to_owned();
    history.push(".history");
    fs::write(std::path::Path::new(&history).join("2"), "damaged").unwrap();
    assert_eq!(
        epochs.found(&nodes("a b")),
        ["takes back epoch 3: node c, added there; node d, added there"]
    );
}

#[test]
fn what_a_change_does_is_told_in_the_order_of_the_guards() {
    let copies = |rest: String| format!("replicas = 2\n{rest}");
    let epochs = Epochs::of(&[&copies(nodes("a b c")), &copies(nodes("a b c d"))]);
    let stale = fleet(&format!(
        "[guard]\nmove = '1%'\ncarry = true\n{}",
        nodes("a b c e")
    ));
    let newest = epochs.store.current().unwrap().unwrap();
    let new = build(&stale, Some(&newest)).unwrap();
    let found = epochs.store.findings(Some(&newest), &new).unwrap();
    let words: Vec<&str> = found.iter().map(|finding| finding.guard.word()).collect();
    assert_eq!(words, ["take-back", "drop-copies", "leave-data", "move"]);
    let refused = epochs.store.apply(&stale, None).unwrap_err();
    assert!(
        matches!(&refused, Error::Guarded { allow, problem, .. }
            if allow == &words.join(",") && problem.starts_with("the change takes back epoch 2")),
        "{refused}"
    );
}

//! The contract of `show`, `check`, `history`, `rollback` and `survey`, and of the program itself.

mod common;

use std::fs;

use common::{fleet, has_fields, Place};
use serde_json::{json, Value};

const SHOWN: &str = "name epoch replicas hash digest parent map_id algorithm max_slices slices violations max_share_error_points nodes policies pins";
const HOLDER: &str = "name weight target_points points primary_points";

/// A fleet with everything that `show` has to show.
fn full() -> String {
    fleet(3).replacen("name = \"n1\"", "name = \"n1\"\nformerly = \"old\"\nlabels = { zone = \"a\" }\nattributes = { address = \"10.0.0.1\" }", 1)
        + "[[policy]]\nname = \"chain\"\nkind = \"cray\"\nnodes = [\"n2\", \"n1\"]\n\
           [[policy]]\nname = \"heavy\"\nweight = 2\nnodes = [\"n3\"]\n\
           [[pin]]\nkey = \"frank\"\npolicy = \"chain\"\n\
           [[pin]]\nrange = [\"50%\", \"50.5%\"]\nnodes = [\"n3\"]\n"
}

fn slices(place: &Place, map: &str) -> Vec<Value> {
    place.json(&["show", map, "--json", "--slices"])["slices"].as_array().unwrap().clone()
}

#[test]
fn show_has_every_field_of_the_manual() {
    let place = Place::new();
    place.write("fleet.toml", full());
    place.good(&["apply", "fleet.toml", "m.map"]);
    let map = place.json(&["show", "m.map", "--json"]);
    has_fields(&map, SHOWN);
    assert_eq!((&map["hash"], &map["algorithm"], &map["max_slices"]), (&json!("md5"), &json!(1), &Value::Null));
    assert_eq!(map["parent"], json!("0".repeat(64)));
    assert_eq!(map["map_id"].as_str().unwrap(), &map["digest"].as_str().unwrap()[..32]);
    assert!(map["slices"].is_u64());
    has_fields(&map["nodes"][0], &format!("{HOLDER} formerly labels attributes"));
    assert_eq!(map["nodes"][0]["attributes"], json!({"address": "10.0.0.1"}));
    has_fields(&map["nodes"][1], &format!("{HOLDER} labels attributes"));
    assert_eq!(map["policies"][0], json!({"name": "chain", "kind": "cray", "nodes": ["n2", "n1"]}));
    has_fields(&map["policies"][1], &format!("{HOLDER} kind nodes"));
    has_fields(&map["pins"][0], "key first last nodes policy");
    assert_eq!((&map["pins"][0]["key"], &map["pins"][0]["first"]), (&json!("frank"), &json!("26253c50741faa9c")));
    has_fields(&map["pins"][1], "first last nodes");

    let with_slices = place.json(&["show", "m.map", "--json", "--slices"]);
    has_fields(&with_slices, &format!("{SHOWN} slice_count"));
    assert_eq!(with_slices["slice_count"], map["slices"]);
}

#[test]
fn slices_cover_the_space_and_have_the_pins_in_them() {
    let place = Place::new();
    place.write("fleet.toml", full());
    place.good(&["apply", "fleet.toml", "m.map"]);
    let mut next = 0u128;
    let list = slices(&place, "m.map");
    for slice in &list {
        let point = |name: &str| u128::from_str_radix(slice[name].as_str().unwrap(), 16).unwrap();
        assert_eq!(point("first"), next);
        next = point("last") + 1;
        has_fields(slice, if slice.get("policy").is_some() { "first last nodes policy" } else { "first last nodes" });
    }
    assert_eq!(next, 1 << 64);
    let pin = list.iter().find(|slice| slice["first"] == "26253c50741faa9c").unwrap();
    assert_eq!((&pin["policy"], &pin["nodes"]), (&json!("chain"), &json!(["n2", "n1"])));
    let text = place.good(&["show", "m.map", "--slices"]);
    assert!(text.contains("26253c50741faa9c  26253c50741faa9c   0.000000 %  n2,n1  chain\n"), "{text}");
    assert!(text.starts_with("m: epoch 1, 1 replica, hash md5, 3 nodes, "), "{text}");
}

#[test]
fn a_secret_is_used_and_never_shown() {
    let place = Place::new();
    let secret = "00112233445566778899aabbccddeeff";
    place.write("fleet.toml", format!("hash = \"siphash\"\nsecret = \"{secret}\"\n{}", fleet(3)));
    let mut said = String::new();
    for arguments in [&["apply", "fleet.toml", "m.map"][..], &["show", "m.map", "--json", "--slices"], &["show", "m.map"], &["locate", "m.map", "--explain", "a"], &["check", "m.map"]] {
        said += &place.good(arguments);
    }
    assert!(said.contains("siphash") && !said.contains(secret) && !said.contains("0, 17, 34"));
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(place.file("m.map")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn check_has_a_verdict_for_each_rule() {
    let place = Place::new();
    place.write("fleet.toml", format!("max_slices = 100\n{}", fleet(3)));
    place.good(&["apply", "fleet.toml", "m.map"]);
    let verdict = place.json(&["check", "m.map", "--json"]);
    has_fields(&verdict, "name epoch digest ok violations max_share_error_points checks");
    let checks = verdict["checks"].as_array().unwrap();
    for check in checks {
        has_fields(check, "check ok found");
        assert_eq!(check["ok"], json!(true));
    }
    let names: Vec<_> = checks.iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(names, ["digest", "structure", "replicas", "balance", "max_slices"]);
    let text = place.good(&["check", "m.map"]);
    assert!(text.starts_with("m: epoch 1\nok      digest  ") && text.contains("ok      max_slices  3 slices of at most 100\n"), "{text}");
}

#[test]
fn check_ends_with_1_when_a_share_is_off() {
    // maps of the reference, some of them laid out by hand
    let place = Place::new();
    let found = ["naive-4", "pins-all-gone", "quarters", "lists", "many", "one"].map(|name| {
        let map = format!("{}/../../tests/maps/{name}.map", env!("CARGO_MANIFEST_DIR"));
        let answer = place.run(&["check", &map]);
        if answer.code == 1 {
            assert!(String::from_utf8_lossy(&answer.out).contains("BROKEN  balance"), "{answer:?}");
            answer.failed(1, &[&map, "a rule is broken"]);
        }
        answer.code
    });
    assert!(found.contains(&1) && found.contains(&0), "{found:?}");
}

#[test]
fn history_lists_every_epoch_with_its_parent() {
    let place = Place::with_map();
    for nodes in [4, 5, 3] {
        place.write("fleet.toml", fleet(nodes));
        place.good(&["apply", "fleet.toml", "m.map"]);
    }
    let history = place.json(&["history", "m.map", "--json"]);
    has_fields(&history, "name map_id epoch epochs");
    assert_eq!((&history["name"], &history["epoch"]), (&json!("m"), &json!(4)));
    let epochs = history["epochs"].as_array().unwrap();
    let mut parent = json!("0".repeat(64));
    for (number, epoch) in (1..).zip(epochs) {
        has_fields(epoch, "epoch current digest parent slices moved");
        has_fields(&epoch["moved"], "points fraction");
        assert_eq!((&epoch["epoch"], &epoch["current"], &epoch["parent"]), (&json!(number), &json!(number == 4), &parent));
        parent = epoch["digest"].clone();
    }
    assert_eq!((epochs.len(), &parent), (4, &place.json(&["show", "m.map", "--json"])["digest"]));
    let text = place.good(&["history", "m.map"]);
    assert!(text.starts_with("m: epoch 4 is current (*)\nepoch  slices        moved  digest\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("* ")).count(), 1);
}

#[test]
fn a_damaged_epoch_is_told_and_the_others_are_listed() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    place.write("m.map.history/1", b"damaged");
    let answer = place.run(&["history", "m.map", "--json"]);
    answer.failed(65, &["m.map.history/1: byte 0"]);
    let history: Value = serde_json::from_slice(&answer.out).unwrap();
    has_fields(&history["epochs"][0], "epoch current moved error");
    assert_eq!((&history["epochs"][1]["epoch"], &history["epochs"][1]["moved"]), (&json!(2), &Value::Null));
    place.run(&["rollback", "m.map", "1"]).bad(65, &["m.map.history/1"]);
}

#[test]
fn a_map_without_its_history_lists_itself() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    fs::copy(place.file("m.map"), place.file("shipped.map")).unwrap();
    let history = place.json(&["history", "shipped.map", "--json"]);
    assert_eq!((history["epochs"].as_array().unwrap().len(), &history["epochs"][0]["epoch"]), (1, &json!(2)));
}

#[test]
fn a_rollback_is_the_old_content_under_the_next_number() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    let before = place.contents();
    let dry = place.good(&["rollback", "m.map", "1", "--dry-run", "--json", "--moves"]);
    assert_eq!(place.contents(), before, "a dry run writes nothing");
    assert_eq!(dry, place.good(&["rollback", "m.map", "1", "--json", "--moves"]));

    let show = |map: &str| place.json(&["show", map, "--json", "--slices"]);
    let (mut old, mut new) = (show("m.map.history/1"), show("m.map"));
    assert_eq!((&new["epoch"], &new["parent"]), (&json!(3), &show("m.map.history/2")["digest"]));
    assert_ne!(old["digest"], new["digest"]);
    for map in [&mut old, &mut new] {
        for field in ["epoch", "parent", "digest"] {
            map.as_object_mut().unwrap().remove(field);
        }
    }
    assert_eq!(old, new);
    // and the fleet of epoch 1 has nothing left to do
    assert!(place.good(&["apply", "fleet.toml", "m.map"]).starts_with("m: nothing to do, epoch 3 stays"));
    assert!(place.good(&["rollback", "m.map", "1"]).starts_with("m: nothing to do, epoch 3 stays"));
}

#[test]
fn the_history_is_bounded_and_an_epoch_that_is_gone_is_a_mistake() {
    let place = Place::with_map();
    for epoch in 2..=40 {
        place.good(&["apply", if epoch % 2 == 0 { "next.toml" } else { "fleet.toml" }, "m.map"]);
    }
    let kept: Vec<u64> = place.json(&["history", "m.map", "--json"])["epochs"]
        .as_array().unwrap().iter().map(|epoch| epoch["epoch"].as_u64().unwrap()).collect();
    assert_eq!(kept, (9..=40).collect::<Vec<_>>());
    let before = place.contents();
    for gone in ["8", "0", "41", "18446744073709551615"] {
        place.run(&["rollback", "m.map", gone]).bad(64, &["m.map: epoch", gone, "stead history"]);
    }
    assert_eq!(place.contents(), before);
    assert!(place.good(&["rollback", "m.map", "9"]).starts_with("m: epoch 40 -> 41, "));
}

#[test]
fn the_survey_has_exactly_the_fields_of_the_contract() {
    let place = Place::new();
    place.write("names", "frank\nFrank\nbob\nx\nthe_longest\n");
    let survey = place.json(&["survey", "names", "--json"]);
    has_fields(&survey, "names schemes");
    assert_eq!(survey["names"], json!(5));
    let schemes = survey["schemes"].as_array().unwrap();
    for scheme in schemes {
        has_fields(scheme, "scheme buckets mean sd sd_over_mean fullest random_sd_over_mean skipped");
    }
    let pairs: Vec<_> = schemes.iter().map(|s| (s["scheme"].as_str().unwrap(), s["buckets"].as_u64().unwrap())).collect();
    let wanted = [("D1", 37), ("D2", 37 * 37), ("D3", 37 * 37 * 37), ("N1", 31), ("N2", 1023), ("M1", 64), ("M2", 4096), ("M3", 524_288)];
    assert_eq!(pairs, wanted);
    let skipped: Vec<_> = schemes.iter().map(|s| s["skipped"].as_u64().unwrap()).collect();
    assert_eq!(skipped[..3], [1, 2, 2], "`Frank` is outside the alphabet, `x` is too short for two letters");
    assert_eq!(skipped[3..], [0; 5]);
    assert_eq!(place.run_with(&["survey", "-", "--json"], b"frank\r\nFrank\nbob\nx\nthe_longest").good(), place.good(&["survey", "names", "--json"]));
    assert!(place.good(&["survey", "names"]).contains("paper"));
}

#[test]
fn a_survey_projects_members_when_asked() {
    let place = Place::new();
    place.write("names", "frank\n");
    let survey = place.json(&["survey", "names", "--members", "1000000000", "--json"]);
    has_fields(&survey, "names schemes projection");
    has_fields(&survey["projection"], "members levels");
    let levels = survey["projection"]["levels"].as_array().unwrap();
    assert_eq!(levels.iter().map(|l| l["directories"].as_u64().unwrap()).collect::<Vec<_>>(), [64, 4096, 524_288]);
    has_fields(&levels[0], "level directories entries members fullest");
    assert!(place.good(&["survey", "names", "--members", "10", "--levels", "16"]).contains("10 members"));
}

#[test]
fn help_and_version_go_to_standard_output() {
    let place = Place::new();
    assert!(place.good(&["--version"]).starts_with("stead 0."));
    assert!(place.good(&["--help"]).contains("Exit codes:\n  0 "));
    for verb in ["plan", "apply", "locate", "show", "diff", "check", "path", "survey", "history", "rollback"] {
        let help = place.good(&[verb, "--help"]);
        assert!(help.contains("Example") && help.contains("Exit codes: 0 ") && help.contains(&format!("stead {verb} ")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn output_that_is_no_terminal_has_no_colours() {
    let place = Place::with_map();
    for arguments in [&["show", "m.map"][..], &["check", "m.map"], &["history", "m.map"], &["--help"]] {
        assert!(!place.good(arguments).contains('\u{1b}'));
    }
}

//! Guards, saved plans, `--expect-epoch` and `--readers`, as a user of the program meets them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{fleet, Place};

/// What to do about a plan that cannot be read.
const ADVICE: &str = "make the plan again with `stead plan FLEET MAP -o FILE`";

/// Returns a fleet of two copies in three zones.
fn zones(list: &str) -> String {
    let nodes: String = list
        .split(' ')
        .map(|name| {
            let zone = &name[..1];
            format!("[[node]]\nname = \"{name}\"\nlabels = {{ zone = \"{zone}\" }}\n")
        })
        .collect();
    format!("name = \"m\"\nreplicas = 2\nspread = [\"zone\"]\n{nodes}")
}

/// Returns a directory with the map of nine nodes in three zones.
fn place() -> Place {
    let place = Place::new();
    place.write("now.toml", zones("a1 a2 a3 b1 b2 b3 c1 c2 c3"));
    place.good(&["apply", "now.toml", "m.map"]);
    place
}

#[test]
fn a_refused_change_says_the_word_exits_with_69_and_changes_nothing() {
    let place = place();
    let single = zones("a1 a2 a3 b1 b2 b3 c1 c2 c3").replace("replicas = 2\n", "");
    place.write("single.toml", &single);
    place.write("lost.toml", zones("a1 a2 a3 b1 b2 b3"));
    let limited = zones("a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 c3 c4");
    let limited = limited.replacen("[[node]]", "[guard]\nmove = \"10%\"\n[[node]]", 1);
    place.write("limited.toml", &limited);
    let before = place.contents();
    for (file, word, text) in [
        (
            "single.toml",
            "drop-copies",
            "drops copies of 100.00 % of the points, 50.00 % of all",
        ),
        (
            "lost.toml",
            "lose-domain",
            "loses zone c with 33.33 % of all copies on 3 nodes, and leaves 2 others",
        ),
        (
            "limited.toml",
            "move",
            "moves 25.00 % of all copies, and the fleet permits 10% in one step",
        ),
    ] {
        let allow = format!("if you mean it, add --allow {word}\n");
        place.run(&["apply", file, "m.map"]).bad(
            69,
            &["m.map: the change ", text, "nothing was changed; ", &allow],
        );
        // a plan shows it first, and names the word
        let plan = place.good(&["plan", file, "m.map"]);
        let shown = plan.split("\n\n").nth(1).unwrap().replace("\n ", "");
        assert!(shown.starts_with("! "), "{plan}");
        assert!(shown.contains(&format!(" (--allow {word})")), "{plan}");
        assert!(plan.lines().all(|line| line.len() <= 80), "{plan}");
        let json = place.json(&["plan", file, "m.map", "--json"]);
        assert_eq!(json["guards"][0]["guard"], word);
        assert!(json["guards"][0]["finding"]
            .as_str()
            .unwrap()
            .contains(text));
        assert_eq!(place.contents(), before, "{file}");
    }
    place
        .run(&["apply", "lost.toml", "m.map", "--allow", "drop-copies,move"])
        .bad(69, &["lose-domain"]);
    place.good(&["apply", "lost.toml", "m.map", "--allow", "move,lose-domain"]);
    assert!(place.json(&["plan", "lost.toml", "m.map", "--json"])["guards"].is_null());
}

#[test]
fn two_harms_want_two_words() {
    let place = place();
    let both = zones("a1 a2 a3 b1 b2 b3").replace("replicas = 2\n", "");
    place.write("both.toml", both);
    place.run(&["apply", "both.toml", "m.map"]).bad(
        69,
        &[
            "drops copies",
            "; it loses zone c",
            "--allow drop-copies,lose-domain\n",
        ],
    );
    for one in ["drop-copies", "lose-domain"] {
        place
            .run(&["apply", "both.toml", "m.map", "--allow", one])
            .bad(69, &[]);
    }
    place.good(&[
        "apply",
        "both.toml",
        "m.map",
        "--allow",
        "drop-copies,lose-domain",
    ]);
}

#[test]
fn a_new_node_is_renamed_and_named_back_without_leave() {
    let place = Place::new();
    let fleet = |last: &str| format!("name = 'm'\nnode = [{{name = 'a'}}, {{name = 'b'}}{last}]\n");
    for last in [
        "",
        ", {name = 'c'}",
        ", {name = 'd', formerly = 'c'}",
        ", {name = 'c', formerly = 'd'}",
    ] {
        place.write("fleet.toml", fleet(last));
        place.good(&["apply", "fleet.toml", "m.map"]);
    }
    let history = place.good(&["history", "m.map"]);
    assert!(
        history.contains("c is now d\n") && history.contains("d is now c\n"),
        "{history}"
    );
    // without its former name it is another node, and the file an old one
    place.write("fleet.toml", fleet(", {name = 'd'}"));
    place
        .run(&["apply", "fleet.toml", "m.map"])
        .bad(69, &["takes back epoch 4: node c, renamed there from d; "]);
}

#[test]
fn a_wrong_word_is_a_wrong_command_line() {
    let place = place();
    for word in ["drop", "drop-copies,", "everything"] {
        place
            .run(&["apply", "now.toml", "m.map", "--allow", word])
            .bad(64, &["not the word of a guard", "lose-domain"]);
    }
}

#[test]
fn a_stale_fleet_is_refused_said_first_and_allowed_by_name() {
    let place = Place::new();
    for (epoch, nodes) in [(1, 3), (2, 4)] {
        place.write(&format!("{epoch}.toml"), fleet(nodes));
        place.good(&["apply", &format!("{epoch}.toml"), "m.map"]);
    }
    let plan = place.good(&["plan", "1.toml", "m.map"]);
    assert_eq!(
        plan.lines().nth(2),
        Some("! takes back epoch 2: node n4, added there (--allow take-back)")
    );
    place.run(&["apply", "1.toml", "m.map"]).bad(
        69,
        &[
            "takes back epoch 2: node n4, added there; nothing was changed; if you did not know \
                 of that, take it into the fleet from `stead show m.map --fleet`; if you mean it, \
                 add --allow take-back",
        ],
    );
    // the same fleet twice exits with 0 and does nothing
    let before = place.contents();
    assert!(place
        .good(&["apply", "2.toml", "m.map"])
        .starts_with("m: nothing to do, epoch 2"));
    assert_eq!(place.contents(), before);
    // a rollback says what it does, and afterwards the newer file is the stale one
    place.good(&["rollback", "m.map", "1"]);
    place
        .run(&["apply", "2.toml", "m.map"])
        .bad(69, &["takes back epoch 3: node n4, removed there"]);
    place.good(&["apply", "2.toml", "m.map", "--allow", "take-back"]);
}

#[test]
fn a_rollback_that_drops_copies_is_refused_and_its_dry_run_says_so() {
    let place = Place::new();
    place.write("1.toml", fleet(4));
    place.write(
        "2.toml",
        fleet(4).replacen("[[node]]", "replicas = 2\n[[node]]", 1),
    );
    place.good(&["apply", "1.toml", "m.map"]);
    place.good(&["apply", "2.toml", "m.map"]);
    place
        .run(&["rollback", "m.map", "1"])
        .bad(69, &["drops copies", "--allow drop-copies"]);
    let dry = place.good(&["rollback", "m.map", "1", "--dry-run"]);
    assert!(
        dry.contains("(--allow drop-copies)") && !dry.contains("take-back"),
        "{dry}"
    );
    place.good(&["rollback", "m.map", "1", "--allow", "drop-copies"]);
}

#[test]
fn another_epoch_than_expected_is_a_conflict() {
    let place = Place::with_map();
    let before = place.contents();
    for (expected, words) in [
        ("0", "m.map: no map was expected, and epoch 1 is there"),
        ("2", "m.map: epoch 2 was expected, and epoch 1 is there"),
    ] {
        place
            .run(&["apply", "next.toml", "m.map", "--expect-epoch", expected])
            .bad(75, &[words, "nothing was changed, plan again"]);
        place
            .run(&["rollback", "m.map", "1", "--expect-epoch", expected])
            .bad(75, &[words]);
    }
    place
        .run(&["apply", "next.toml", "new.map", "--expect-epoch", "1"])
        .bad(75, &["epoch 1 was expected, and no map is there"]);
    assert_eq!(place.contents(), before);
    place.good(&["apply", "next.toml", "new.map", "--expect-epoch", "0"]);
    place.good(&["apply", "next.toml", "m.map", "--expect-epoch", "1"]);
}

#[test]
fn readers_that_are_too_old_are_refused_and_a_plan_says_who_they_are() {
    let place = Place::with_map();
    place
        .run(&["apply", "next.toml", "m.map", "--readers", "0.0.9"])
        .bad(
            69,
            &["stead 0.0.9 cannot read the new map, which needs stead 0.1.0 for map format 1"],
        );
    place
        .run(&["apply", "next.toml", "m.map", "--readers", "new"])
        .bad(64, &["like 0.1"]);
    // no release is older than the first, so nobody is shut out
    let plan = place.good(&["plan", "next.toml", "m.map", "--max-move", "10%"]);
    assert!(!plan.contains("cannot read this map"), "{plan}");
    place.good(&["apply", "next.toml", "m.map", "--readers", "0.1"]);
}

#[test]
fn a_saved_plan_makes_exactly_this_change_once() {
    let place = Place::with_map();
    let shown = place.good(&["plan", "next.toml", "m.map"]);
    assert_eq!(
        place.good(&["plan", "next.toml", "m.map", "-o", "c.plan"]),
        // apply cannot add a carry to it
        shown.replace("apply --carry\n", "plan --carry\n")
    );
    // whatever happens to the fleet file
    place.write("next.toml", fleet(7));
    let done = place.good(&["apply", "c.plan", "m.map"]);
    let map = fs::read(place.file("m.map")).unwrap();
    let plan = fs::read(place.file("c.plan")).unwrap();
    assert_eq!(&plan[32..plan.len() - 32], map);
    assert!(done.starts_with("m: epoch 1 -> 2, "), "{done}");
    // again, and after another epoch
    let before = place.contents();
    let again = place.good(&["apply", "c.plan", "m.map"]);
    assert!(
        again
            .starts_with("the plan was carried out already, as epoch 2\nm: nothing to do, epoch 2"),
        "{again}"
    );
    assert_eq!(place.contents(), before);
    place.good(&["apply", "next.toml", "m.map"]);
    let later = place.good(&["apply", "c.plan", "m.map", "--expect-epoch", "1"]);
    assert!(
        later.contains("as epoch 2\nm: nothing to do, epoch 3"),
        "{later}"
    );
    assert_eq!(
        place.json(&["apply", "c.plan", "m.map", "--json"])["epoch"],
        3
    );
}

#[test]
fn a_saved_first_map_and_a_plan_with_nothing_to_do() {
    let place = Place::new();
    place.write("f.toml", fleet(3));
    place.good(&["plan", "f.toml", "m.map", "-o", "first.plan"]);
    assert!(!place.file("m.map").exists());
    place.good(&["apply", "first.plan", "m.map"]);
    place.good(&["plan", "f.toml", "m.map", "-o", "none.plan"]);
    let again = place.good(&["apply", "none.plan", "m.map"]);
    assert!(again.contains("nothing to do, epoch 1"), "{again}");
    // a plan of a first map finds a map of somebody else
    place.write("f.toml", fleet(5));
    place.good(&["apply", "f.toml", "other.map"]);
    place.run(&["apply", "first.plan", "other.map"]).bad(
        75,
        &["the plan was made on no map, and epoch 1 is there now"],
    );
}

#[test]
fn a_plan_is_refused_when_the_map_is_another_or_has_changed() {
    let place = Place::with_map();
    place.good(&["plan", "next.toml", "m.map", "-o", "c.plan"]);
    place.write("colleague.toml", fleet(5));
    place.good(&["apply", "colleague.toml", "m.map"]);
    let before = place.contents();
    place.run(&["apply", "c.plan", "m.map"]).bad(
        75,
        &["m.map: the plan was made on epoch 1, and epoch 2 is there now; nothing was changed"],
    );
    place.run(&["apply", "c.plan", "none.map"]).bad(
        75,
        &["the plan is for the map that has epoch 1, and no map is there"],
    );
    place
        .run(&["apply", "c.plan", "m.map", "--max-move", "5%"])
        .bad(
            64,
            &["c.plan: a saved plan has its change in it; leave --max-move out"],
        );
    assert_eq!(place.contents(), before);
    for name in ["m", "x"] {
        let alien = fleet(6).replace("name = \"m\"", &format!("name = \"{name}\""));
        place.write("alien.toml", alien);
        place.good(&["apply", "alien.toml", &format!("alien-{name}.map")]);
        place
            .run(&["apply", "c.plan", &format!("alien-{name}.map")])
            .bad(65, &["the plan is for another map, of the cluster `m`"]);
    }
}

#[test]
fn guards_judge_a_saved_plan_and_it_keeps_the_limit_of_its_fleet() {
    let place = Place::with_map();
    let limited = fleet(4).replacen("[[node]]", "[guard]\nmove = \"10%\"\n[[node]]", 1);
    place.write("next.toml", limited);
    place.good(&["plan", "next.toml", "m.map", "-o", "c.plan"]);
    place.run(&["apply", "c.plan", "m.map"]).bad(
        69,
        &[
            "moves 25.00 % of all copies, and the fleet permits 10%",
            "--allow move",
        ],
    );
    place
        .run(&["apply", "c.plan", "m.map", "--expect-epoch", "7"])
        .bad(75, &["epoch 7 was expected"]);
    place.good(&[
        "apply",
        "c.plan",
        "m.map",
        "--allow",
        "move",
        "--expect-epoch",
        "1",
    ]);
}

#[test]
fn a_damaged_cut_newer_or_foreign_plan_is_refused_in_one_line() {
    let place = Place::with_map();
    place.good(&["plan", "next.toml", "m.map", "-o", "good.plan"]);
    let good = fs::read(place.file("good.plan")).unwrap();
    let before = fs::read(place.file("m.map")).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= byte;
        bytes
    };
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (changed(100, 1), &["the digest does not match", ADVICE]),
        (changed(16, 1), &["the digest does not match", ADVICE]),
        (
            changed(good.len() - 1, 1),
            &["the digest does not match", ADVICE],
        ),
        (changed(0, 0x80), &["this is not a saved plan", ADVICE]),
        (changed(5, 7), &["this is not a saved plan", ADVICE]),
        (
            changed(8, 3),
            &["the saved plan has format 2", "use a newer stead"],
        ),
        (
            changed(8, 1),
            &["there is no saved plan of format 0", ADVICE],
        ),
        (changed(12, 8), &["with flags 0x8", "use a newer stead"]),
        (
            changed(12, 4),
            &["there is no saved plan of format 1 with flags 0x4", ADVICE],
        ),
        (
            [&good[..], b"x"].concat(),
            &["the digest does not match", ADVICE],
        ),
        (
            good[..8].to_vec(),
            &["the plan is cut short: it ends after 8 bytes", ADVICE],
        ),
        (good[..31].to_vec(), &["it ends after 31 bytes", ADVICE]),
        (
            good[..good.len() - 1].to_vec(),
            &["the plan is cut short", ADVICE],
        ),
        (changed(31, 0x80), &["the plan is cut short", ADVICE]),
    ];
    for (bytes, words) in cases {
        place.write("c.plan", &bytes);
        let words = [&["c.plan: "][..], words].concat();
        place.run(&["apply", "c.plan", "m.map"]).bad(65, &words);
    }
    for length in (0..good.len()).step_by(61) {
        place.write("c.plan", &good[..length]);
        let answer = place.run(&["apply", "c.plan", "m.map"]);
        // what has no magic is read as a fleet
        answer.bad(if length < 4 { 78 } else { 65 }, &["c.plan"]);
    }
    place
        .run(&["apply", "m.map", "m.map"])
        .bad(64, &["m.map: this is a map; give a fleet file"]);
    assert_eq!(fs::read(place.file("m.map")).unwrap(), before);
}

#[test]
fn a_plan_replaces_only_a_plan_and_keeps_a_secret() {
    let place = Place::with_map();
    fs::create_dir(place.file("directory")).unwrap();
    std::os::unix::fs::symlink("next.toml", place.file("link")).unwrap();
    let before = place.contents();
    for (target, words) in [
        ("next.toml", "a file that is no saved plan is there already"),
        ("m.map", "a file that is no saved plan is there already"),
        ("directory", "a directory is there already"),
        ("link", "something that is no regular file is there already"),
    ] {
        place
            .run(&["plan", "next.toml", "m.map", "-o", target])
            .bad(64, &[words, "name another file for the plan"]);
    }
    place
        .run(&["plan", "next.toml", "m.map", "-o", "none/c.plan"])
        .bad(66, &["none"]);
    assert_eq!(place.contents(), before);

    let mode = |name: &str| fs::metadata(place.file(name)).unwrap().permissions().mode() & 0o777;
    place.good(&["plan", "next.toml", "m.map", "-o", "c.plan"]);
    assert_eq!(mode("c.plan") & 0o600, 0o600);
    fs::set_permissions(place.file("c.plan"), fs::Permissions::from_mode(0o644)).unwrap();
    let secret = "hash = 'siphash'\nsecret = '000102030405060708090a0b0c0d0e0f'\n[[node]]";
    place.write("secret.toml", fleet(2).replacen("[[node]]", secret, 1));
    place.good(&["plan", "secret.toml", "-o", "c.plan"]);
    assert_eq!(mode("c.plan"), 0o600);
    assert!(place.leftovers().is_empty());
}

#[test]
fn the_fleet_of_a_map_comes_with_a_note_that_it_lacks_the_guards() {
    let place = place();
    let shown = place.shell("\"$STEAD\" show m.map --fleet > again.toml");
    assert_eq!(
        (shown.code, shown.out.as_slice(), shown.error.as_str()),
        (
            0,
            &b""[..],
            "stead: m.map: a map does not keep the guards of its fleet file; if yours has [guard], \
             write that again: carry, move, and the first_map = false that `stead ring` writes\n"
        )
    );
    let written = fs::read_to_string(place.file("again.toml")).unwrap();
    assert!(written.starts_with("name = \"m\"\n") && !written.contains("guard"));
    place.good(&["apply", "again.toml", "m.map"]);
}

#[test]
fn a_node_that_may_only_have_a_new_name_is_asked_about_before_a_carry() {
    let place = Place::new();
    let fleet = |nodes: &str| format!("name = \"m\"\n[guard]\ncarry = true\n{nodes}");
    let node = |name: &str, more: &str| format!("[[node]]\nname = \"{name}\"\n{more}\n");
    let zone = "labels = { zone = \"z\" }";
    let rest = node("a", zone) + &node("c", zone);
    place.write("f.toml", fleet(&(rest.clone() + &node("b", zone))));
    place.good(&["apply", "f.toml", "m.map"]);
    let refused = |nodes: String, more: &[&str]| {
        place.write("g.toml", fleet(&(rest.clone() + &nodes)));
        let answer = place.run(&[&["apply", "g.toml", "m.map"], more].concat());
        answer.failed(69, &["without a carry"]);
        answer.error
    };
    let said = refused(node("bb", zone), &[]);
    assert!(
        said.contains(
            "nothing was changed; bb is new, and has the weight and the labels of b, which is \
             gone: if it is the same node, say formerly = \"b\", and nothing moves; else begin a \
             carry with --carry, or, if you mean it, add --allow leave-data"
        ),
        "{said}"
    );
    // of two, the one with the attributes of the other
    let has = |address: &str| format!("{zone}\nattributes = {{ address = \"{address}\" }}");
    place.write(
        "f.toml",
        fleet(&(rest.clone() + &node("b", &has("10.0.0.2")))),
    );
    place.good(&["apply", "f.toml", "m.map"]);
    let two = node("x", &has("10.0.0.1")) + &node("y", &has("10.0.0.2"));
    assert!(refused(two, &[]).contains("y is new, and has the weight and the labels of b"));
    // another weight, another label, a node that is lost, and one that says its former name
    for (nodes, more) in [
        (node("bb", "weight = 2\nlabels = { zone = \"z\" }"), &[][..]),
        (node("bb", "labels = { zone = \"y\" }"), &[]),
        (node("bb", zone), &["--lost", "b"]),
        (node("b", zone) + &node("d", zone), &[]),
    ] {
        let said = refused(nodes, more);
        assert!(!said.contains("formerly"), "{said}");
        assert!(said.contains("; begin a carry with --carry"), "{said}");
    }
    place.write(
        "g.toml",
        fleet(&(rest + &node("bb", &(has("10.0.0.2") + "\nformerly = \"b\"")))),
    );
    place.good(&["apply", "g.toml", "m.map"]);
}

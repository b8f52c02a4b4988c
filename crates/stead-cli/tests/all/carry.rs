//! A carry as a user of the program meets it: begun, taken on by hand, reversed, and refused.

use crate::common::Place;

const TWO: &str = "name = 'm'\nnode = [{name = 'a'}, {name = 'b'}]\n";
const THREE: &str = "name = 'm'\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]\n";

/// A directory whose map has a carry open, from two nodes to three.
fn opened() -> Place {
    let place = Place::new();
    place.write("two.toml", TWO);
    place.write("three.toml", THREE);
    place.good(&["apply", "two.toml", "m.map"]);
    place.good(&["apply", "three.toml", "m.map", "--carry"]);
    place
}

/// Takes a step that every host has confirmed.
fn step(place: &Place, step: &str) {
    let epoch = place.json(&["show", "m.map", "--json"])["epoch"].to_string();
    place.good(&["carry", "m.map", step, "--confirmed", &epoch]);
}

#[test]
fn every_screen_says_that_a_carry_is_open_and_its_state() {
    let place = opened();
    step(&place, "next");
    let words = "both_old_first, from epoch 1";
    for verb in [
        &["show", "m.map"][..],
        &["check", "m.map"],
        &["history", "m.map"],
        &["locate", "m.map", "frank", "--explain"],
        &["carry", "m.map"],
    ] {
        let screen = place.good(verb);
        assert!(screen.contains(words), "{verb:?}: {screen}");
    }
    for verb in ["show", "check", "history", "carry"] {
        let carry = &place.json(&[verb, "m.map", "--json"])["carry"];
        assert_eq!(carry["state"], "both_old_first", "{verb}");
        assert_eq!(carry["direction"], "forward");
        assert_eq!(carry["from_epoch"], 1);
        assert_eq!(carry["from_digest"].as_str().unwrap().len(), 64);
    }
    place.good(&["carry", "m.map", "reverse"]);
    let shown = place.json(&["show", "m.map", "--json"]);
    assert_eq!(
        (&shown["carry"]["state"], &shown["carry"]["direction"]),
        (&"old".into(), &"reverse".into())
    );
    assert!(place
        .good(&["show", "m.map"])
        .contains("carry   old, being reversed, from epoch 1"));
    step(&place, "close");
    assert!(place
        .json(&["show", "m.map", "--json"])
        .get("carry")
        .is_none());
    assert!(place
        .good(&["carry", "m.map"])
        .contains("epoch 5, no carry is open"));
}

#[test]
fn a_forgotten_carry_is_refused_after_one_that_was_carried() {
    let place = opened();
    for name in ["next", "next", "next", "close"] {
        step(&place, name);
    }
    place.write("four.toml", THREE.replace("]\n", ", {name = 'd'}]\n"));
    let before = place.contents();
    let why = "25.00 % of all copies without a carry, and the last change that moved any was \
               carried, up to epoch 6";
    let words = &[
        why,
        "; nothing was changed; begin a carry with --carry, or, if you mean it, add --allow leave-data",
    ];
    place.run(&["apply", "four.toml", "m.map"]).bad(69, words);
    place
        .run(&["rollback", "m.map", "1", "--exact"])
        .bad(69, &["33.33 % of all copies without a carry"]);
    assert!(place.contents() == before, "it was refused");
    let shown = place.good(&["plan", "four.toml", "m.map"]);
    let line = shown.replace("\n  ", " ");
    assert!(
        line.contains(&format!("! moves {why} (--carry, or --allow leave-data)\n")),
        "{shown}"
    );
    let found = place.json(&["plan", "four.toml", "m.map", "--json"]);
    assert_eq!(found["guards"][0]["guard"], "leave-data");
    let carried = place.good(&["plan", "four.toml", "m.map", "--carry"]);
    assert!(!carried.contains("leave-data"), "{carried}");
    place.good(&["apply", "four.toml", "m.map", "--allow", "leave-data"]);
}

#[test]
fn a_saved_plan_without_a_carry_is_told_to_be_planned_again() {
    let place = opened();
    for name in ["next", "next", "next", "close"] {
        step(&place, name);
    }
    place.write("four.toml", THREE.replace("]\n", ", {name = 'd'}]\n"));
    // a saved plan begins no carry when it is applied: both commands say that before and after
    let saved = place.good(&["plan", "four.toml", "m.map", "-o", "p.plan"]);
    let last = "\napply refuses p.plan without --allow leave-data; to carry the data, plan again\n\
                with --carry\n";
    assert!(saved.ends_with(last), "{saved}");
    place.run(&["apply", "p.plan", "m.map"]).bad(
        69,
        &[
            "25.00 % of all copies without a carry",
            "; nothing was changed; plan again with a carry, `stead plan --carry FLEET m.map -o \
             p.plan`, or, if you mean it, add --allow leave-data\n",
        ],
    );
    // as it says
    let again = ["plan", "--carry", "four.toml", "m.map", "-o", "p.plan"];
    let saved = place.good(&again);
    assert!(
        !saved.contains("leave-data") && !saved.contains("refuses"),
        "{saved}"
    );
    let done = place.good(&["apply", "p.plan", "m.map"]);
    assert!(
        done.contains("a carry begins (old, from epoch 6)"),
        "{done}"
    );
}

#[test]
fn a_carry_after_a_change_without_one_is_told_where_it_looks_for_data() {
    let place = Place::new();
    place.write("two.toml", TWO);
    place.write("three.toml", THREE);
    place.good(&["apply", "two.toml", "m.map"]);
    place.good(&["apply", "three.toml", "m.map"]);
    let line = "epoch 2 moved data without a carry. If the data is still where epoch 1 had it,\n\
                this carry looks for it at the wrong places: then reverse it, close it, and go\n\
                back by\n  stead rollback m.map 1 --exact --allow leave-data\n";
    for more in [&["--dry-run"][..], &[]] {
        let said = place.good(&[&["rollback", "m.map", "1", "--carry"], more].concat());
        assert!(said.contains(line), "{said}");
    }
    // as the line says
    place.good(&["carry", "m.map", "reverse"]);
    step(&place, "close");
    let back = ["rollback", "m.map", "1", "--exact", "--allow", "leave-data"];
    place.good(&back);
}

/// Runs the commands of these lines that are indented, and returns them.
fn run_commands(place: &Place, said: &str) -> Vec<String> {
    let commands = said
        .lines()
        .filter_map(|line| line.strip_prefix("  stead "));
    let run = |command: &str| {
        place.good(&command.split(' ').collect::<Vec<_>>());
        command.to_owned()
    };
    commands.map(run).collect()
}

/// Two fleets, of which the second has a zone more, in zones.toml and more.toml; zones.toml is
/// applied.
fn zoned() -> Place {
    let place = Place::new();
    let node = |name: &str| format!("{{name = '{name}1', labels = {{zone = '{name}'}}}}, ");
    let fleet = |zones: [&str; 3]| {
        let nodes = zones.map(|zone| node(zone) + &node(zone).replace('1', "2"));
        format!(
            "name = 'm'\nspread = ['zone']\nnode = [{}]\n",
            nodes.concat()
        )
    };
    let three = fleet(["a", "b", "c"]);
    place.write("more.toml", &three);
    place.write(
        "zones.toml",
        three.split("{name = 'c1'").next().unwrap().to_owned() + "]\n",
    );
    place.good(&["apply", "zones.toml", "m.map"]);
    place
}

#[test]
fn commands_to_go_back_have_the_words_that_the_guards_ask_for() {
    // a carry that is asked for too late
    let place = zoned();
    place.good(&["apply", "more.toml", "m.map"]);
    let said = place.good(&["apply", "more.toml", "m.map", "--carry"]);
    let ran = run_commands(&place, &said);
    let back = "rollback m.map 1 --exact --allow lose-domain";
    let again = "apply more.toml m.map --carry --allow take-back";
    assert_eq!(ran, [back, again], "{said}");
    assert!(place
        .good(&["carry", "m.map"])
        .contains("carry old, from epoch 3"));
    // a carry back that looks at the wrong places
    let place = zoned();
    place.good(&["apply", "more.toml", "m.map"]);
    let carried = [
        "rollback",
        "m.map",
        "1",
        "--carry",
        "--allow",
        "lose-domain",
    ];
    let said = place.good(&carried);
    place.good(&["carry", "m.map", "reverse"]);
    step(&place, "close");
    let back = "rollback m.map 1 --exact --allow lose-domain,leave-data";
    assert_eq!(run_commands(&place, &said), [back], "{said}");
}

#[test]
fn the_question_how_to_go_back_names_what_the_guards_will_ask_for() {
    let place = zoned();
    place.good(&["apply", "more.toml", "m.map", "--carry"]);
    for name in ["next", "next", "next", "close"] {
        step(&place, name);
    }
    let asked = |more: &[&str], end: &str| {
        let asking = [&["rollback", "m.map", "1"][..], more].concat();
        place
            .run(&asking)
            .bad(64, &[&format!("the least movement) moves 33.33 %{end}\n")]);
    };
    let carried = "; either needs --carry --allow lose-domain, or --allow lose-domain,leave-data";
    asked(&[], carried);
    asked(&["--carry"], "; either needs --allow lose-domain");
    let carried = "; either needs --carry, or --allow leave-data";
    asked(&["--allow", "lose-domain"], carried);
    asked(&["--carry", "--allow", "lose-domain"], "");
    // and what it names is enough
    let back = ["rollback", "m.map", "1", "--exact", "--carry"];
    place.good(&[&back[..], &["--allow", "lose-domain"]].concat());
}

#[test]
fn going_back_to_a_state_of_a_carry_names_the_epoch_with_the_old_places() {
    let place = zoned();
    place.good(&["apply", "more.toml", "m.map", "--carry"]);
    for name in ["next", "next", "next", "close"] {
        step(&place, name);
    }
    for (epoch, state) in [(2, "old"), (3, "both_old_first"), (5, "new")] {
        for more in [&["--exact"][..], &["--exact", "--dry-run"], &["--least"]] {
            let epoch = &epoch.to_string();
            let said = place.good(&[&["rollback", "m.map", epoch][..], more].concat());
            let told = format!(
                "epoch {epoch} is in the state {state} of the carry from epoch 1, and has the \
                 places to which that carry brought the data. Those from before the carry are in \
                 epoch 1: to go back to them\n"
            );
            assert!(said.contains("nothing to do, epoch 6"), "{said}");
            let one_line = said.replace('\n', " ");
            assert!(one_line.contains(told.trim_end()), "{said}");
        }
        let json = place.good(&["rollback", "m.map", &epoch.to_string(), "--exact", "--json"]);
        assert!(!json.contains("in the state"), "{json}");
    }
    // after another change, the state has the new places, too
    let more = std::fs::read_to_string(place.file("more.toml")).unwrap();
    place.write("four.toml", more.replace("'b2'", "'b3'"));
    place.good(&["apply", "four.toml", "m.map", "--allow", "leave-data"]);
    let said = place.good(&["rollback", "m.map", "3", "--exact", "--dry-run"]);
    let one_line = said.replace('\n', " ");
    assert!(
        one_line.contains("from before the carry are in epoch 1  "),
        "{said}"
    );
    assert!(!said.contains("stead rollback"), "{said}");
    let said = place.good(&["rollback", "m.map", "5", "--exact", "--dry-run"]);
    assert!(!said.contains("in the state"), "{said}");
    let back = ["rollback", "m.map", "6", "--exact", "--allow", "leave-data"];
    place.good(&back);
    let said = place.good(&["rollback", "m.map", "3", "--exact"]);
    let back = "rollback m.map 1 --exact --carry --allow lose-domain";
    assert_eq!(run_commands(&place, &said), [back]);
    // of a carry that is closed when it was reversed, the old places are the present ones
    place.good(&["carry", "m.map", "reverse"]);
    step(&place, "close");
    let said = place.good(&["rollback", "m.map", "9", "--exact", "--dry-run"]);
    assert!(
        said.contains("epoch 9 is in the state old of the carry from epoch 8"),
        "{said}"
    );
}

#[test]
fn a_step_by_hand_beside_a_run_of_stead_sync_is_told() {
    let place = opened();
    let told = "m.map.carry is the journal of `stead-sync carry`";
    assert!(!place.good(&["carry", "m.map"]).contains(told));
    place.write("m.map.carry", "");
    for words in [
        &["carry", "m.map"][..],
        &["carry", "m.map", "next", "--confirmed", "2"],
    ] {
        let said = place.good(words);
        assert!(said.contains(told), "{said}");
        assert!(!said.contains("the file of the carry"), "{said}");
    }
    // whoever has only the map learns where the file is
    let line = "00000000 file /home/o%20p/100%25%0acarry.toml\n";
    place.write("m.map.carry", line);
    let said = place.good(&["carry", "m.map"]).replace("\n  ", " ");
    let told = "the file of the carry is /home/o p/100%?carry.toml";
    assert!(said.contains(told), "{said}");
}

#[test]
fn who_and_what_if_say_that_a_carry_is_open() {
    let place = opened();
    for state in ["old", "both_old_first", "both_new_first", "new"] {
        for words in [
            &["who", "m.map", "c"][..],
            &["what-if", "m.map", "--down", "c"],
        ] {
            let said = place.run(words).error;
            let told = format!("in the state {state}: what lives at the new places may not be");
            assert_eq!(said.contains(&told), state != "new", "{said}");
        }
        if state != "new" {
            step(&place, "next");
        }
    }
}

#[test]
fn where_changes_are_carried_the_history_names_those_that_were_not() {
    let place = opened();
    for word in ["next", "next", "next", "close"] {
        step(&place, word);
    }
    let rows = |place: &Place| -> Vec<String> {
        let said = place.good(&["history", "m.map"]);
        said.lines().skip(2).map(str::to_owned).collect()
    };
    assert!(rows(&place).iter().all(|row| !row.contains("no carry")));
    let back = ["rollback", "m.map", "1", "--exact", "--allow", "leave-data"];
    place.good(&back);
    let all = rows(&place);
    let (last, others) = all.split_last().unwrap();
    assert!(
        last.ends_with("(no carry)") && !others.concat().contains("no carry"),
        "{all:?}"
    );
    let json = place.json(&["history", "m.map", "--json"]);
    let carried = |at: usize| json["epochs"][at]["carried"].clone();
    assert_eq!(
        [carried(1), carried(2), carried(6)],
        [true.into(), serde_json::Value::Null, false.into()]
    );
    // a carry that was reversed has moved nothing that is left
    place.good(&[
        "rollback",
        "m.map",
        "6",
        "--exact",
        "--carry",
        "--allow",
        "leave-data",
    ]);
    place.good(&["carry", "m.map", "reverse"]);
    step(&place, "close");
    assert_eq!(
        rows(&place)
            .iter()
            .filter(|row| row.contains("no carry"))
            .count(),
        1
    );
}

#[test]
fn a_step_by_hand_is_refused_while_a_run_has_not_done_the_work_of_the_state() {
    let place = opened();
    let map_id = place.json(&["history", "m.map", "--json"])["map_id"].clone();
    let from = place.json(&["carry", "m.map", "--json"])["carry"]["from_digest"].clone();
    let (map_id, from) = (map_id.as_str().unwrap(), from.as_str().unwrap());
    let mut journal = format!("00000000 begin {map_id} {from}\n");
    let refused = |place: &Place, step: &str, epoch: u64, state: &str, pass: &str| {
        let before = place.contents();
        let line = format!(
            "stead: m.map: m.map.carry is the journal of `stead-sync carry run`, which has not \
             done all work of the state {state} (the pass {pass}); nothing was changed; let the \
             run go on, or, if your own tools have done the work, remove the journal first\n"
        );
        place
            .run(&["carry", "m.map", step, "--confirmed", &epoch.to_string()])
            .bad(69, &[&line]);
        assert!(place.contents() == before);
    };
    // nothing is copied in the first state
    place.write("m.map.carry", &journal);
    step(&place, "next");
    for (epoch, name, state, pass) in [
        (3, "next", "both_old_first", "verify"),
        (4, "next", "both_new_first", "check"),
        (5, "close", "new", "remove"),
    ] {
        // the pass of an earlier epoch says nothing, and neither does one before the last
        journal += &format!("00000000 passed {pass} 2\n00000000 passed copy {epoch}\n");
        place.write("m.map.carry", &journal);
        refused(&place, name, epoch, state, pass);
        journal += &format!("00000000 passed {pass} {epoch}\n");
        place.write("m.map.carry", journal.clone() + "00000000 again\n");
        refused(&place, name, epoch, state, pass);
        place.write("m.map.carry", &journal);
        step(&place, name);
    }
    // the journal of another carry, or none
    let place = opened();
    place.write("m.map.carry", format!("00000000 begin {map_id} {map_id}\n"));
    step(&place, "next");
    step(&place, "next");
    place.write("m.map.carry", format!("00000000 begin {map_id} {from}\n"));
    refused(&place, "next", 4, "both_new_first", "check");
    // turning round is possible at any time; what was copied is removed before the end
    place.good(&["carry", "m.map", "reverse"]);
    refused(&place, "next", 5, "both_old_first", "look");
    let looked = format!("00000000 begin {map_id} {from}\n00000000 passed look 5\n");
    place.write("m.map.carry", looked);
    step(&place, "next");
    refused(&place, "close", 6, "old", "remove");
    std::fs::remove_file(place.file("m.map.carry")).unwrap();
    step(&place, "close");
    // a carry that was turned round at once has copied nothing
    let place = opened();
    place.write("m.map.carry", format!("00000000 begin {map_id} {from}\n"));
    place.good(&["carry", "m.map", "reverse"]);
    step(&place, "close");
}

#[test]
fn a_step_needs_the_word_that_all_hosts_have_the_present_state() {
    let place = opened();
    let before = place.contents();
    for step in ["next", "close"] {
        place
            .run(&["carry", "m.map", step])
            .bad(64, &["every host must have epoch 2", "add --confirmed 2"]);
        // the hosts were asked before somebody else took a step
        place
            .run(&["carry", "m.map", step, "--confirmed", "1"])
            .bad(64, &["this is epoch 2 now, and not 1", "add --confirmed 2"]);
    }
    // to reverse it needs no word, but no wrong one is taken
    place
        .run(&["carry", "m.map", "reverse", "--confirmed", "1"])
        .bad(
            64,
            &["this is epoch 2 now, and not 1: look", "--confirmed 2"],
        );
    assert!(place.contents() == before);
    place
        .run(&["carry", "m.map", "close", "--confirmed", "2"])
        .bad(69, &["in the state old", "can be closed"]);
    place.run(&["carry", "m.map", "back"]).bad(64, &["back"]);
    place.run(&["carry", "none.map"]).bad(66, &["none.map"]);
    assert!(
        place.contents() == before,
        "a step that is refused changes nothing"
    );
    // but turning round needs none
    let turned = place.good(&["carry", "m.map", "reverse", "--note", "the disk is full"]);
    assert!(
        turned.starts_with("m: epoch 2 -> 3, carry old -> old, being reversed\n"),
        "{turned}"
    );
    assert!(place
        .good(&["history", "m.map"])
        .contains("the disk is full"));
}

#[test]
fn while_a_carry_is_open_other_changes_exit_with_69() {
    let place = opened();
    let before = place.contents();
    let words = &[
        "m.map: epoch 2 has a carry open",
        "in the state old",
        "stead-sync carry",
    ];
    for verb in [
        &["apply", "two.toml", "m.map"][..],
        &["apply", "two.toml", "m.map", "--carry"],
        &["apply", "two.toml", "m.map", "--max-move", "1%"],
        &[
            "apply",
            "two.toml",
            "m.map",
            "--allow",
            "take-back,move,drop-copies,lose-domain",
        ],
        &["plan", "two.toml", "m.map"],
        &["rollback", "m.map", "1"],
        &["rollback", "m.map", "1", "--least"],
    ] {
        place.run(verb).bad(69, words);
    }
    assert!(place.contents() == before);
    // the same fleet changes nothing
    assert!(place
        .good(&["apply", "three.toml", "m.map"])
        .contains("nothing to do"));
    assert!(place.contents() == before);
}

#[test]
fn no_node_gets_leave_while_its_data_may_not_be_carried() {
    let place = Place::new();
    place.write("two.toml", TWO);
    place.write(
        "one.toml",
        "name = 'm'\nnode = [{name = 'a'}, {name = 'b', weight = 0}]\n",
    );
    place.write("gone.toml", "name = 'm'\nnode = [{name = 'a'}]\n");
    place.good(&["apply", "two.toml", "m.map"]);
    place.good(&["apply", "one.toml", "m.map", "--carry"]);
    place
        .run(&["check", "m.map", "--off", "b"])
        .failed(1, &["may not be switched off"]);
    for _ in 0..3 {
        step(&place, "next");
    }
    let answer = place.run(&["check", "m.map", "--off", "b", "--json"]);
    answer.failed(1, &["may not be switched off"]);
    step(&place, "close");
    let said = place.good(&["check", "m.map", "--off", "b"]);
    assert!(
        // what happened by hand in between is known to nobody here
        said.ends_with(
            "epoch 6 or a later one\nthe carry of its last keys began in epoch 2, and is closed\n"
        ),
        "{said}"
    );
    let json = place.good(&["check", "m.map", "--off", "b", "--json"]);
    assert!(
        json.contains("\"moved_by_epoch\": 2,\n  \"carried\": true"),
        "{json}"
    );
    // a node that only the old map has
    place.write(
        "two.toml",
        "name = 'm'\nnode = [{name = 'a'}, {name = 'c'}]\n",
    );
    place.good(&["apply", "two.toml", "m.map", "--allow", "leave-data"]);
    place.good(&["apply", "gone.toml", "m.map", "--carry"]);
    place
        .run(&["check", "m.map", "--off", "c"])
        .failed(1, &["no node \"c\"", "a carry is open"]);
    place
        .run(&["check", "m.map", "--off", "d"])
        .failed(1, &["a carry is open"]);
}

#[test]
fn a_node_that_was_emptied_without_a_carry_is_said_to_be() {
    let place = Place::new();
    place.write("two.toml", TWO);
    place.write(
        "one.toml",
        "name = 'm'\nnode = [{name = 'a'}, {name = 'b', weight = 0}]\n",
    );
    place.write(
        "more.toml",
        "name = 'm'\nnode = [{name = 'a'}, {name = 'b', weight = 0}, {name = 'c'}]\n",
    );
    place.good(&["apply", "two.toml", "m.map"]);
    place.good(&["apply", "one.toml", "m.map"]);
    place.good(&["apply", "more.toml", "m.map"]);
    let said = place.good(&["check", "m.map", "--off", "b"]);
    let lines = "epoch 3 or a later one, and its data is copied\n\
                 epoch 2 took its last keys, without a carry\n";
    assert!(said.ends_with(lines), "{said}");
    // the history may be gone
    std::fs::remove_dir_all(place.file("m.map.history")).unwrap();
    let said = place.good(&["check", "m.map", "--off", "b"]);
    assert!(said.ends_with("and its data is copied\n"), "{said}");
    // and then nobody knows whether a fleet is old
    let words = "! the history has no earlier epoch, so nothing says whether";
    let said = place.good(&["apply", "one.toml", "m.map"]);
    assert!(said.contains(words), "{said}");
    place.write(
        "more.toml",
        "name = 'm'\nnode = [{name = 'a'}, {name = 'b', weight = 0}, {name = 'd'}]\n",
    );
    let said = place.good(&["apply", "more.toml", "m.map"]);
    assert!(!said.contains("no earlier epoch"), "{said}");
}

#[test]
fn a_plan_says_that_data_is_to_be_carried_and_may_begin_the_carry() {
    let place = Place::new();
    place.write("two.toml", TWO);
    place.write("three.toml", THREE);
    place.good(&["apply", "two.toml", "m.map"]);
    let words = "a map moves no data: a cache refills itself; to carry the rest, apply --carry";
    assert!(place.good(&["plan", "three.toml", "m.map"]).contains(words));
    assert_eq!(
        place.json(&["plan", "three.toml", "m.map", "--json"])["to_be_carried"],
        true
    );
    for verb in [
        &["plan", "two.toml", "m.map"][..],
        &["plan", "three.toml"],
        &["plan", "three.toml", "m.map", "--carry"],
    ] {
        let screen = place.good(verb);
        assert!(!screen.contains(words), "{screen}");
    }
    let saved = place.json(&[
        "plan",
        "three.toml",
        "m.map",
        "--carry",
        "-o",
        "p.plan",
        "--json",
    ]);
    assert_eq!(saved["carry"]["state"], "old");
    assert!(saved.get("to_be_carried").is_none());
    place
        .run(&["apply", "p.plan", "m.map", "--carry"])
        .bad(64, &["leave --carry out"]);
    place.good(&["apply", "p.plan", "m.map"]);
    assert!(place
        .good(&["carry", "m.map"])
        .contains("carry old, from epoch 1"));
    // a rollback carries data back
    for step in ["next", "next", "next", "close"] {
        self::step(&place, step);
    }
    let back = place.good(&["rollback", "m.map", "1", "--exact", "--carry"]);
    assert!(
        back.contains("a carry begins (old, from epoch 6)"),
        "{back}"
    );
    // where no copy moves, there is nothing to carry
    let fresh = Place::new();
    fresh.write("two.toml", TWO);
    fresh.good(&["apply", "two.toml", "m.map"]);
    fresh.good(&["apply", "two.toml", "m.map", "--carry"]);
    assert!(fresh.good(&["carry", "m.map"]).contains("no carry is open"));
}

#[test]
fn a_carry_to_a_first_map_is_refused_as_a_slip_of_the_path() {
    let place = Place::new();
    place.write("two.toml", TWO);
    let before = place.contents();
    let line = "m.map: no map is here, so there is no data to carry; correct the path, or leave \
                --carry out to make a first map";
    let verbs = [
        &["apply", "two.toml", "m.map", "--carry"][..],
        &["apply", "two.toml", "m.map", "--carry", "--json"],
        &["plan", "two.toml", "m.map", "--carry"],
        &["plan", "two.toml", "m.map", "--carry", "-o", "p.plan"],
    ];
    for verb in verbs {
        place.run(verb).bad(66, &[&format!("{line}\n")]);
    }
    place.run(&["plan", "two.toml", "--carry"]).bad(
        64,
        &["--carry needs MAP, the map by which the data lives now"],
    );
    assert!(place.contents() == before, "they were refused");
    // the right map is named where it stands beside
    place.good(&["apply", "two.toml", "right.map"]);
    let beside = "; right.map beside it is a map of m, at epoch 1: is the name m.map a slip?\n";
    for verb in verbs {
        place.run(verb).bad(66, &[line, beside]);
    }
    assert!(!place.file("m.map").exists() && !place.file("p.plan").exists());
}

#[test]
fn reads_and_writes_are_printed_in_every_form() {
    let place = opened();
    step(&place, "next");
    assert_eq!(
        place.good(&["locate", "m.map", "--carry", "bob"]),
        "bob\tb\tb,c\n"
    );
    assert_eq!(
        place.good(&["locate", "m.map", "--carry", "-0", "bob"]),
        "b\tb,c\tbob\0"
    );
    assert_eq!(
        place.good(&["locate", "m.map", "--carry", "--hex", "626f62"]),
        "626f62\tb\tb,c\n"
    );
    let line = &place.json_lines(&["locate", "m.map", "--carry", "--json", "bob", "frank"]);
    assert_eq!(
        (&line[0]["state"], &line[0]["moved"]),
        (&"both_old_first".into(), &true.into())
    );
    assert_eq!(line[0]["reads"], serde_json::json!(["b"]));
    assert_eq!(line[0]["writes"], serde_json::json!(["b", "c"]));
    assert_eq!(line[1]["moved"], false);
    place
        .run(&["locate", "m.map", "--carry", "--count"])
        .bad(64, &["--carry"]);
    std::fs::remove_file(place.file("m.map.history/1")).unwrap();
    place.run(&["locate", "m.map", "--carry", "bob"]).bad(
        66,
        &[
            "m.map.history/1",
            "the map where its data was",
            "stead-sync",
        ],
    );
}

#[test]
fn who_locates_without_carry_while_one_is_open_is_told() {
    let place = opened();
    let said = |state: &str| {
        let ran = place.run(&["locate", "m.map", "bob"]);
        assert_eq!((ran.code, ran.out.as_slice()), (0, &b"bob\tc\n"[..]));
        let told =
            format!("stead: m.map: a carry is open, in the state {state}: what lives at the");
        assert_eq!(
            ran.error.starts_with(&told),
            !state.is_empty(),
            "{}",
            ran.error
        );
        assert_eq!(ran.error.lines().count(), usize::from(!state.is_empty()));
    };
    for state in ["old", "both_old_first", "both_new_first"] {
        said(state);
        step(&place, "next");
    }
    // the data is at the new places, and nowhere else
    said("");
    step(&place, "close");
    said("");
}

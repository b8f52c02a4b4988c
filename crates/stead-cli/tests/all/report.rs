//! `stead report`: the file that it writes, and what it refuses. What the page looks like and does
//! is tested in a browser, by tests/report.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{fleet, Place};
use sha2::{Digest, Sha256};
use stead::hash::Function;

const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/page/template/");
const MAPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/maps/");

fn template(name: &str) -> String {
    fs::read_to_string(format!("{TEMPLATE}{name}")).unwrap()
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn the_same_map_gives_the_same_bytes_at_any_time_and_place() {
    let place = Place::with_map();
    place.good(&["report", "m.map", "-o", "one.html"]);
    let other = place
        .command(&["report", "./m.map", "-o", "two.html"])
        .envs([
            ("TZ", "Asia/Tokyo"),
            ("LC_ALL", "tr_TR.UTF-8"),
            ("COLUMNS", "40"),
        ])
        .output()
        .unwrap();
    assert!(other.status.success() && other.stdout.is_empty());
    let [one, two] = ["one.html", "two.html"].map(|name| fs::read(place.file(name)).unwrap());
    assert_eq!(one, two);
    // without a file of its own it is written to standard output
    assert_eq!(place.run(&["report", "m.map", "-o", "-"]).out, one);
}

#[test]
fn the_page_of_a_map_is_what_it_was() {
    // without its style and its script, which change more often than what is said
    let said = |html: &str| {
        let style = html.replace(&template("page.css"), "");
        let scripts = ["hashes.js", "places.js", "page.js"].map(template);
        let bare = style.replace(&scripts.concat(), "");
        assert!(bare.len() + 10_000 < html.len(), "neither was found");
        let (before, policy) = bare.split_once("content=\"default-src").unwrap();
        let (_, after) = policy.split_once("\">").unwrap();
        // the pictures have tests of their own, in stead-plot
        let mut text = format!("{before}{after}");
        while let Some((before, rest)) = text.split_once("<figure>") {
            let (_, after) = rest.split_once("</figure>").unwrap();
            text = format!("{before}{after}");
        }
        text
    };
    let map = format!("{MAPS}pins.map");
    let html = Place::new().good(&["report", &map, "-o", "-"]);
    let said = said(&html);
    let digest = hex(Sha256::digest(&said));
    if digest != DIGEST {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.html");
        fs::write(&place, &said).unwrap();
        panic!(
            "the page has the digest {digest}; read it in {} and, if it is right, write the digest here",
            place.display()
        );
    }
}

/// Of the page of tests/maps/pins.map.
const DIGEST: &str = "0974da1e4d470fb4cec4c67612e4cf2e6d4c1c53d677d837ba872cf10cf58307";

#[test]
fn a_file_that_is_no_report_is_not_replaced() {
    let place = Place::with_map();
    let before = fs::read(place.file("m.map")).unwrap();
    for file in ["m.map", "fleet.toml"] {
        place.run(&["report", "m.map", "-o", file]).bad(
            64,
            &[file, "is there and is no report", "name another file"],
        );
    }
    assert_eq!(fs::read(place.file("m.map")).unwrap(), before);
    // an older report is
    place.good(&["report", "m.map", "-o", "r.html"]);
    let first = fs::read(place.file("r.html")).unwrap();
    place.good(&["apply", "next.toml", "m.map"]);
    place.good(&["report", "m.map", "-o", "r.html"]);
    assert_ne!(fs::read(place.file("r.html")).unwrap(), first);
    assert_eq!(place.leftovers(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn a_pipe_gets_the_page() {
    let place = Place::with_map();
    let pipe = place.file("pipe");
    assert!(Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap()
        .success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    place.good(&["report", "m.map", "-o", "pipe"]);
    let page = reader.join().unwrap();
    assert_eq!(page, place.good(&["report", "m.map", "-o", "-"]).as_bytes());
    assert!(!fs::metadata(pipe).unwrap().is_file());
    place.good(&["report", "m.map", "-o", "/dev/null"]);
}

#[test]
fn the_word_for_what_a_log_counts_can_be_chosen() {
    let place = Place::with_map();
    place.write("log", "x\t5\ny\t2\n");
    let page = |more: &[&str]| {
        let arguments = [&["report", "m.map", "--load", "log", "-o", "-"], more].concat();
        place.good(&arguments)
    };
    let (usual, bytes) = (page(&[]), page(&["--unit", "by<tes"]));
    for said in [
        "7 accesses of 2 keys",
        ">accesses</th>",
        ">7 accesses. The fullest",
    ] {
        assert!(usual.contains(said), "{said}");
        let other = said.replace("accesses", "by&lt;tes");
        assert!(bytes.contains(&other) && !bytes.contains(said), "{other}");
    }
    place
        .run(&["report", "m.map", "--unit", "bytes", "-o", "-"])
        .bad(64, &["--load"]);
}

#[test]
fn the_page_of_a_change_with_a_carry_needs_no_words_of_programmers() {
    let place = Place::with_map();
    place.write("next.toml", fleet(4));
    place.good(&["plan", "next.toml", "m.map", "--carry", "-o", "c.plan"]);
    let page = place.good(&["report", "m.map", "c.plan", "-o", "-"]);
    let said = "The moved 25.00 % is carried: until the data is at its new places, programs that \
                follow the carry use the old places, too.";
    assert!(page.contains(said) && page.contains("a carry begins (old, from epoch 1)"));
    assert!(!page.contains("open a Pair"));
    // operators read the other words
    let plan = place.good(&["plan", "next.toml", "m.map", "--carry"]);
    assert!(plan.contains("programs open a Pair for this") && !plan.contains("is carried"));
    // without a carry the page says what must be done
    place.good(&["plan", "next.toml", "m.map", "-o", "p.plan"]);
    let page = place.good(&["report", "m.map", "p.plan", "-o", "-"]);
    assert!(page.contains("other data must be copied") && !page.contains("is carried"));
}

#[test]
fn mistakes_are_one_line_and_leave_no_file() {
    let place = Place::with_map();
    place.write("other.toml", "name = \"other\"\n[[node]]\nname = \"a\"\n");
    place.good(&["apply", "other.toml", "other.map"]);
    place.write("empty", "");
    place.write(
        "damaged.map",
        &fs::read(place.file("m.map")).unwrap()[..300],
    );
    for (arguments, code, words) in [
        (&["report", "m.map"][..], 64, &["-o", "--output"][..]),
        (&["report", "no.map", "-o", "r"], 66, &["no.map"]),
        (&["report", "m.map", "no.map", "-o", "r"], 66, &["no.map"]),
        (&["report", "damaged.map", "-o", "r"], 65, &["damaged.map"]),
        (&["report", "fleet.toml", "-o", "r"], 65, &["fleet.toml"]),
        (
            &["report", "m.map", "other.map", "-o", "r"],
            65,
            &["other.map", "two clusters"],
        ),
        (
            &["report", "m.map", "--load", "empty", "-o", "r"],
            65,
            &["empty", "no accesses"],
        ),
        (
            &["report", "m.map", "--load", "no.log", "-o", "r"],
            66,
            &["no.log"],
        ),
        (
            &["report", "m.map", "m.map", "--load", "l", "-o", "r"],
            64,
            &["--load"],
        ),
        (
            &["report", "m.map", "-o", "no/where/r"],
            66,
            &["no/where/r"],
        ),
    ] {
        place.run(arguments).bad(code, words);
    }
    assert!(!place.file("r").exists());
}

#[test]
fn a_saved_plan_is_shown_like_the_map_that_it_makes() {
    let place = Place::with_map();
    place.good(&["plan", "next.toml", "m.map", "-o", "plan"]);
    place.write("old.map", fs::read(place.file("m.map")).unwrap());
    let planned = place.good(&["report", "m.map", "plan", "-o", "-"]);
    place.good(&["apply", "next.toml", "m.map"]);
    let applied = place.good(&["report", "old.map", "m.map", "-o", "-"]);
    // the one says what is still to be done
    let notice = "<ul class=\"notices\"><li>Programs will look for the moved 25.00 % at its new \
        places at once. A cache refills itself; other data must be copied, or carried (apply \
        --carry).</li></ul>";
    assert!(planned.contains(notice) && planned.contains("(the least possible)"));
    // a number of slices and a number of bytes are not one number
    let slices = "<dd class=\"note\">before: 3 slices; map file ";
    assert!(planned.contains(slices), "{planned}");
    // and they name the files that they were made of
    let planned = planned
        .replace(notice, "")
        .replace("m.map plan", "old.map m.map");
    assert_eq!(planned, applied);
}

#[test]
fn a_page_names_a_command_that_works_before_a_carry_begins() {
    let place = Place::with_map();
    place.good(&["plan", "next.toml", "m.map", "--carry", "-o", "plan"]);
    let planned = place.good(&["report", "m.map", "plan", "-o", "-"]);
    assert!(planned.contains("stead locate m.map KEY"), "{planned}");
    assert!(planned.contains("a carry begins (old, from epoch 1)"));
    place.good(&["locate", "m.map", "bob"]);
}

#[test]
fn a_damaged_epoch_of_the_history_is_told_in_the_page() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    place.write("m.map.history/1", "damaged");
    let html = place.good(&["report", "m.map", "-o", "-"]);
    assert!(
        html.contains("m.map.history/1"),
        "the history names what is damaged"
    );
}

#[test]
fn a_page_of_an_old_map_says_so_where_it_begins() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    let newest = place.run(&["report", "m.map", "-o", "-"]);
    assert_eq!(newest.error, "");
    let problem = "his map is epoch 1, and its history has epoch 2: an old map was put back, or \
                   the newer one was not brought here";
    let told = format!("</span>T{problem}; do not use this page</p>");
    assert!(!String::from_utf8_lossy(&newest.out).contains(problem));
    let old = fs::read(place.file("m.map.history/1")).unwrap();
    place.write("m.map", &old);
    // a map that is read without its history tells nothing
    place.write("alone.map", &old);
    let alone = place.run(&["report", "alone.map", "-o", "-"]);
    let green = "<p class=\"banner good\">";
    assert_eq!(alone.error, "");
    assert!(String::from_utf8_lossy(&alone.out).contains(green));

    let ran = place.run(&["report", "m.map", "-o", "-"]);
    let note = format!("stead: m.map: t{problem}; `stead check` says what to do\n");
    assert_eq!((ran.code, ran.error.as_str()), (0, note.as_str()));
    let html = String::from_utf8(ran.out).unwrap();
    let (head, main) = html.split_once("<main").unwrap();
    assert!(head.contains(&told) && !head.contains(green), "{head}");
    let line = format!(
        "BROKEN</span><span class=\"check\">history</span><span class=\"found\">t{problem}"
    );
    assert!(main.contains(&line));
    let checked = place.run(&["check", "m.map"]);
    assert!(
        String::from_utf8_lossy(&checked.out).contains("BROKEN  history     the map has epoch 1")
    );
    checked.failed(1, &["the check of its history failed"]);

    // a change from it, and a change to it
    place.write("two.map", fs::read(place.file("m.map.history/2")).unwrap());
    for maps in [["m.map", "two.map"], ["two.map", "m.map"]] {
        let ran = place.run(&["report", maps[0], maps[1], "-o", "-"]);
        assert_eq!((ran.code, ran.error.as_str()), (0, note.as_str()));
        assert!(String::from_utf8_lossy(&ran.out).contains(&told));
    }
}

#[test]
fn a_damaged_epoch_of_the_history_is_not_called_well() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    place.write("m.map.history/1", "damaged");
    let html = place.good(&["report", "m.map", "-o", "-"]);
    assert!(html.contains("an epoch of the history is damaged</p>"));
    assert!(!html.contains("<p class=\"banner good\">"));
    assert!(html.contains("BROKEN</span><span class=\"check\">history</span>"));
    place
        .run(&["check", "m.map"])
        .failed(1, &["the check of its history failed"]);
}

#[test]
fn the_script_of_the_page_has_every_hash() {
    let script = template("hashes.js");
    for function in Function::all() {
        let name = function.name();
        let row = [format!("\n    {name}: ["), format!("\n    \"{name}\": [")];
        assert!(
            row.iter().any(|row| script.contains(row)),
            "hashes.js lacks {name}"
        );
    }
    assert!(script.contains("\n    siphash: ["));
}

/// Runs the script of the page in node, with the vectors of the hashes and a damaged one.
#[test]
fn the_script_of_the_page_passes_the_vectors_in_node() {
    const RUN: &str = r#"
        const fs = require("fs");
        const vm = require("vm");
        const [vectors, ...scripts] = process.argv.slice(1);
        const text = scripts.map((file) => fs.readFileSync(file, "utf8")).join("");
        const { hashes, hex } = vm.runInThisContext(text + "; ({ hashes: Hashes, hex: hexOf })");
        const all = JSON.parse(fs.readFileSync(vectors)).vectors;
        const passes = (v) =>
          hex(hashes.point(v.hash, hashes.fromHex(v.key), hashes.fromHex(v.secret ?? ""))) === v.point;
        const wrong = { ...all[0], point: "0".repeat(16) };
        console.log(all.length, all.filter(passes).length, passes(wrong));
    "#;
    if Command::new("node").arg("--version").output().is_err() {
        println!("skipped: node is not installed (Debian's nodejs)");
        return;
    }
    let vectors = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/vectors/points.json"
    );
    let scripts = ["hashes.js", "places.js"].map(|name| format!("{TEMPLATE}{name}"));
    let done = Command::new("node")
        .args(["-e", RUN, vectors])
        .args(scripts)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let words: Vec<&str> = said.split_whitespace().collect();
    let all: usize = words.first().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(all > 1900, "{done:?}");
    assert_eq!(
        words,
        [all.to_string(), all.to_string(), "false".into()],
        "{said}"
    );
}

#[test]
fn a_plan_is_shown_on_the_epoch_that_it_was_made_on() {
    let place = Place::with_map();
    let fleet = fs::read_to_string(place.file("fleet.toml")).unwrap();
    let add = |name: &str| format!("{fleet}\n[[node]]\nname = \"{name}\"\n");
    place.write("more.toml", add("more"));
    place.good(&["plan", "more.toml", "m.map", "-o", "next.plan"]);
    let page = place.good(&["report", "m.map", "next.plan", "-o", "-"]);
    place.good(&["apply", "next.plan", "m.map"]);
    // it would be a page of a change that moves nothing, in the place of the page above
    let ran = place.run(&["report", "m.map", "next.plan", "-o", "page.html"]);
    ran.bad(
        65,
        &[
            "next.plan: m.map is the map of this plan already",
            "name the epoch before, m.map.history/1",
        ],
    );
    place.good(&["report", "m.map.history/1", "next.plan", "-o", "-"]);
    place.write("other.toml", add("more").replace("more", "other"));
    place.good(&["apply", "other.toml", "m.map", "--allow", "take-back"]);
    let ran = place.run(&["report", "m.map", "next.plan", "-o", "page.html"]);
    ran.bad(
        65,
        &["next.plan: the plan was made on epoch 1, and m.map is epoch 3: name that epoch, such as m.map.history/1"],
    );
    assert!(!place.file("page.html").exists());
    let again = place.good(&["report", "m.map.history/1", "next.plan", "-o", "-"]);
    let names = |page: &str| page.matches("more").count();
    assert_eq!(names(&again), names(&page));
}

//! `stead plot`: the real program.

use crate::program::Dir;

const THREE: &str = "name = \"m\"\nnode = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\n";

fn maps() -> Dir {
    let dir = Dir::new();
    dir.write(
        "fleet.toml",
        "name = \"m\"\nnode = [{ name = \"a\" }, { name = \"b\" }]\n",
    );
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    dir.write("fleet.toml", THREE);
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    dir.write("names", "frank\nbob\nanna\n");
    dir.write("log", "frank\t10\nbob\n");
    dir
}

/// For every kind of picture, a command line that draws one, without its `-o FILE`.
const KINDS: [&[&str]; 13] = [
    &["bands", "m.map"],
    &["bands", "m.map.history/1", "m.map"],
    &["bands", "m.map", "--history"],
    &["bands", "--scenario", "figure-5", "--system", "riak"],
    &["ring", "m.map", "--key", "frank"],
    &["shares", "m.map", "--before", "m.map.history/1"],
    &["distribution", "m.map", "names"],
    &["distribution", "--scheme", "d1", "names"],
    &["moves", "m.map"],
    &["moves", "m.map.history/1", "m.map"],
    &["domains", "m.map"],
    &["load", "m.map", "log", "--reads", "spread"],
    &["modulo", "--key", "frank"],
];

#[test]
fn every_kind_is_written_as_svg_and_png_and_twice_the_same() {
    let dir = maps();
    for kind in KINDS {
        let plot = |name: &str| {
            let arguments = [&["plot"], kind, &["-o", name]].concat();
            let run = dir.run(&arguments).ok();
            assert_eq!(run.text(), "", "{kind:?}");
            std::fs::read(dir.path(name)).unwrap()
        };
        let svg = plot("one.svg");
        assert!(
            svg.starts_with(b"<svg ") && svg.ends_with(b"</svg>\n"),
            "{kind:?}"
        );
        assert_eq!(plot("two.SVG"), svg, "{kind:?}");
        let png = plot("one.png");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{kind:?}");
        assert_eq!(plot("two.png"), png, "{kind:?}");
        // two pixels for each unit of the width
        assert_eq!(png[16..20], (2 * 960u32).to_be_bytes(), "{kind:?}");
        let arguments = [&["plot"], kind, &["-o", "-"]].concat();
        let printed = dir.run(&arguments).ok();
        assert_eq!(printed.text().as_bytes(), svg, "{kind:?}");
    }
}

#[test]
fn a_map_with_an_open_carry_is_drawn_with_a_note() {
    let dir = maps();
    dir.write(
        "fleet.toml",
        THREE.replace("\"c\" }", "\"c\" }, { name = \"d\" }"),
    );
    dir.run(&["apply", "fleet.toml", "m.map", "--carry"]).ok();
    dir.run(&["carry", "m.map", "next", "--confirmed", "3"])
        .ok();
    let said = "stead: m.map: a carry is open (both_old_first, from epoch 2): hosts write both \
                places, and read the old one; the picture shows the new places\n";
    for kind in KINDS.iter().filter(|kind| kind.contains(&"m.map")) {
        let run = dir.run(&[&["plot"], *kind, &["-o", "p.svg"]].concat());
        let more = match kind {
            ["moves", "m.map"] => MOVED_BY_3,
            _ => "",
        };
        let said = format!("{said}{more}");
        assert_eq!((run.code, run.err), (Some(0), said), "{kind:?}");
    }
}

const MOVED_BY_3: &str = "stead: m.map: the epochs after 3 move nothing: the picture shows what \
                          epoch 3 moved\n";

#[test]
fn what_a_carry_moves_is_drawn_while_it_is_open_and_after_it() {
    let dir = maps();
    dir.write(
        "fleet.toml",
        THREE.replace("\"c\" }", "\"c\" }, { name = \"d\" }"),
    );
    dir.run(&["apply", "fleet.toml", "m.map", "--carry"]).ok();
    for (epoch, step) in (3..).zip(["next", "next", "next", "close", "closed"]) {
        let run = dir.run(&["plot", "moves", "m.map", "-o", "-"]);
        let asked = ["plot", "moves", "m.map.history/2", "m.map", "-o", "-"];
        assert_eq!(run.out, dir.run(&asked).out, "epoch {epoch}");
        assert!(!run.text().contains("Nothing moves"), "epoch {epoch}");
        assert_eq!(run.err.ends_with(MOVED_BY_3), epoch > 3, "{}", run.err);
        let is_open = run.err.contains("a carry is open");
        assert_eq!(is_open, step != "closed", "{}", run.err);
        if is_open {
            let confirmed = epoch.to_string();
            dir.run(&["carry", "m.map", step, "--confirmed", &confirmed])
                .ok();
        }
    }
    // where nothing ever moved, the picture says so
    dir.run(&["apply", "fleet.toml", "n.map"]).ok();
    let fleet = std::fs::read_to_string(dir.path("fleet.toml")).unwrap();
    dir.write("fleet.toml", format!("tolerance = '1%'\n{fleet}"));
    dir.run(&["apply", "fleet.toml", "n.map"]).ok();
    let run = dir.run(&["plot", "moves", "n.map", "-o", "-"]).ok();
    assert!(run.text().contains("Nothing moves"));
    assert_eq!(run.err, "");
}

/// The names of the rows of a picture of bands, which stand at the left, with what they move.
fn rows_of(svg: &str) -> Vec<String> {
    let texts = svg.split("<text ").skip(1);
    let text = |part: &str| Some(part.split_once('>')?.1.split_once('<')?.0.to_owned());
    let is_row = |text: &String| {
        ["epoch", "moves", "drops"]
            .iter()
            .any(|word| text.starts_with(word))
    };
    texts.filter_map(text).filter(is_row).collect()
}

#[test]
fn the_epochs_of_one_carry_share_a_row_of_the_bands_and_of_the_page() {
    let dir = maps();
    let fleet =
        |node: &str| THREE.replace("\"c\" }", &format!("\"c\" }}, {{ name = \"{node}\" }}"));
    let bands = |history: &str| {
        let run = dir.run(&["plot", "bands", "m.map", history, "-o", "-"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        rows_of(run.text())
    };
    // the page of the map has the last five rows; and what moved from the row before, if anything
    let page = || {
        let run = dir.run(&["report", "m.map", "-o", "-"]).ok();
        let page = run.text().to_owned();
        let picture = page.split("id=\"bands-wide-title\"").nth(1).unwrap();
        let rows = rows_of(picture.split("</svg>").next().unwrap());
        let moves = page.split("<title id=\"moves-wide-title\">").nth(1);
        let title = moves.map(|moves| moves.split('<').next().unwrap().to_owned());
        (rows, title.unwrap_or_default())
    };
    let step = |epoch: u64, step: &str| {
        let confirmed = epoch.to_string();
        dir.run(&["carry", "m.map", step, "--confirmed", &confirmed])
            .ok();
    };
    dir.write("fleet.toml", fleet("d"));
    dir.run(&["apply", "fleet.toml", "m.map", "--carry"]).ok();
    let old = ["epoch 1", "epoch 2", "moves 33.3 %"];
    let with = |more: &[&str]| -> Vec<String> {
        let rows = old.iter().chain(more);
        rows.map(|row| (*row).to_owned()).collect()
    };
    assert_eq!(bands("--history"), with(&["epoch 3", "moves 25.0 %"]));
    for (epoch, word) in (3..).zip(["next", "next", "next", "close"]) {
        step(epoch, word);
        let row = format!("epochs 3 to {}", epoch + 1);
        assert_eq!(bands("--history"), with(&[&row, "moves 25.0 %"]));
        let title = format!("What moves from epoch 2 to {}", epoch + 1);
        assert_eq!(page(), (bands("--history=5"), title));
    }
    // a number counts rows
    assert_eq!(
        bands("--history=2"),
        ["epoch 2", "epochs 3 to 7", "moves 25.0 %"]
    );
    assert_eq!(bands("--history=1"), ["epochs 3 to 7"]);
    // an epoch without a carry has a row, also where it moves nothing
    dir.write("fleet.toml", format!("tolerance = '1%'\n{}", fleet("d")));
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    // to close a carry that was reversed brings the old places back
    let five = fleet("d\" }, { name = \"e");
    dir.write("fleet.toml", format!("tolerance = '1%'\n{five}"));
    dir.run(&["apply", "fleet.toml", "m.map", "--carry"]).ok();
    dir.run(&["carry", "m.map", "reverse"]).ok();
    step(10, "close");
    let rows = [
        "epochs 3 to 7",
        "moves 25.0 %",
        "epoch 8",
        "moves 0.0 %",
        "epochs 9 to 10",
        "moves 19.8 %",
        "epoch 11",
        "moves 19.8 %",
    ];
    assert_eq!(bands("--history"), with(&rows));
    let title = "What moves from epoch 9 to 11".to_owned();
    assert_eq!(page(), (bands("--history=5"), title));
    // what is beyond the rows is not looked at, though it is damaged
    dir.write("m.map.history/8", "no map");
    assert_eq!(
        bands("--history=2"),
        ["epochs 9 to 10", "epoch 11", "moves 19.8 %"]
    );
}

#[test]
fn epochs_of_a_map_that_is_not_the_newest_are_drawn_with_a_note() {
    let dir = maps();
    dir.write(
        "fleet.toml",
        THREE.replace("\"c\" }", "\"c\" }, { name = \"d\" }"),
    );
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    std::fs::copy(dir.path("m.map.history/2"), dir.path("m.map")).unwrap();
    for arguments in [
        &["plot", "bands", "m.map", "--history", "-o", "p.svg"][..],
        &["plot", "moves", "m.map", "-o", "p.svg"],
    ] {
        let run = dir.run(arguments);
        let note = "stead: m.map: this map is epoch 2, and its history has epoch 3: an old map was \
                    put back, or the newer one was not brought here; `stead check` says what to do\n";
        assert_eq!(
            (run.code, run.err.as_str()),
            (Some(0), note),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_saved_plan_is_drawn_as_the_map_that_it_makes() {
    let dir = maps();
    dir.write(
        "fleet.toml",
        THREE.replace("\"c\" }", "\"c\" }, { name = \"d\" }"),
    );
    dir.run(&["plan", "fleet.toml", "m.map", "-o", "next.plan"])
        .ok();
    let kinds: [&[&str]; 5] = [
        &["moves", "m.map", "NEW"],
        &["shares", "NEW", "--before", "m.map"],
        &["bands", "m.map", "NEW"],
        &["domains", "NEW"],
        &["ring", "NEW"],
    ];
    let plot = |kind: &[&str], new: &str| {
        let of = |word: &&str| if *word == "NEW" { new } else { word }.to_owned();
        let kind: Vec<String> = kind.iter().map(of).collect();
        let kind: Vec<&str> = kind.iter().map(String::as_str).collect();
        let run = dir.run(&[&["plot"], &kind[..], &["-o", "-"]].concat()).ok();
        run.text().to_owned()
    };
    let planned = kinds.map(|kind| plot(kind, "next.plan"));
    std::fs::copy(dir.path("m.map"), dir.path("old.map")).unwrap();
    dir.run(&["apply", "next.plan", "m.map"]).ok();
    std::fs::rename(dir.path("m.map"), dir.path("new.map")).unwrap();
    std::fs::rename(dir.path("old.map"), dir.path("m.map")).unwrap();
    assert_eq!(kinds.map(|kind| plot(kind, "new.map")), planned);
    for (code, arguments, said) in [
        (
            64,
            &["next.plan"][..],
            "next.plan: is a saved plan, which does not have the map before it; name both: `stead \
             plot moves MAP next.plan`\n",
        ),
        (
            65,
            &["m.map.history/1", "next.plan"],
            "next.plan: the plan was made on epoch 2, and m.map.history/1 is epoch 1",
        ),
    ] {
        let run = dir.run(&[&["plot", "moves"], arguments, &["-o", "p.svg"]].concat());
        assert_eq!(run.code, Some(code), "{}", run.err);
        assert!(run.err.contains(said), "{}", run.err);
    }
    dir.run(&["plot", "bands", "next.plan", "--history", "-o", "p.svg"])
        .fails(65, &["next.plan", "a saved plan"]);
}

#[test]
fn maps_in_the_wrong_order_are_drawn_with_a_note() {
    let dir = maps();
    let arguments = ["plot", "moves", "m.map", "m.map.history/1", "-o", "p.svg"];
    let run = dir.run(&arguments);
    let note = "stead: m.map is epoch 2, and m.map.history/1 is the older epoch 1: the picture \
                shows the way back; the old map comes first\n";
    assert_eq!((run.code, run.err.as_str()), (Some(0), note));
}

#[test]
fn the_word_for_what_a_log_counts_can_be_chosen() {
    let dir = maps();
    dir.write("log", "x\t5\ny\t2\n");
    let drawn = |more: &[&str]| {
        let arguments = [&["plot", "load", "m.map", "log", "-o", "-"], more].concat();
        dir.run(&arguments).ok().text().to_owned()
    };
    let (usual, bytes) = (drawn(&[]), drawn(&["--unit", "bytes"]));
    assert!(usual.contains(">7 accesses. The fullest"), "{usual}");
    assert!(bytes.contains(">7 bytes. The fullest"), "{bytes}");
    assert!(!bytes.contains("access"), "{bytes}");
    let arguments = ["plot", "load", "m.map", "log", "--unit", "", "-o", "-"];
    dir.run(&arguments).fails(64, &["it is no word"]);
}

#[test]
fn a_distribution_over_several_copies_says_which_it_counts() {
    let dir = maps();
    let said = "Only the first of the 2 nodes of a name is counted.";
    let drawn = |map: &str| {
        let arguments = [
            "plot",
            "distribution",
            map,
            "names",
            "-o",
            "-",
            "--width",
            "2000",
        ];
        dir.run(&arguments).ok().text().to_owned()
    };
    assert!(!drawn("m.map").contains("of a name is counted"));
    dir.write(
        "two.toml",
        format!("replicas = 2\n{}", THREE.replace("\"m\"", "\"two\"")),
    );
    dir.run(&["apply", "two.toml", "two.map"]).ok();
    assert!(drawn("two.map").contains(said));
}

#[test]
fn a_png_has_text_without_fonts_of_the_system() {
    let dir = maps();
    let plot = |title: &str| {
        let arguments = ["plot", "shares", "m.map", "--title", title, "-o", "p.png"];
        dir.run(&arguments).ok();
        std::fs::read(dir.path("p.png")).unwrap()
    };
    // the same picture with another letter has other pixels
    assert_ne!(plot("aaaa"), plot("bbbb"));
}

#[test]
fn the_looks_can_be_chosen() {
    let dir = maps();
    let plot = |more: &[&str]| {
        let arguments = [&["plot", "bands", "m.map", "-o", "-"], more].concat();
        dir.run(&arguments).ok().text().to_owned()
    };
    assert!(plot(&[]).contains("prefers-color-scheme:dark"));
    assert!(plot(&["--theme", "dark"]).contains("#0d1117"));
    assert!(!plot(&["--theme", "light"]).contains("prefers-color-scheme"));
    assert!(plot(&["--width", "500"]).contains("width=\"500\""));
    assert!(plot(&["--title", "A <title>"]).contains("A &lt;title&gt;</title>"));
}

#[test]
fn mistakes_are_one_line() {
    let dir = maps();
    dir.write("junk", "no map\n");
    dir.write("bad.log", "frank\tten\n");
    for (code, arguments, said) in [
        (
            64,
            &["shares", "m.map", "-o", "p.gif"][..],
            "p.gif: the name ends neither in .svg nor in .png",
        ),
        (64, &["shares", "m.map"], "--output <FILE>"),
        (64, &["bands", "-o", "p.svg"], "<MAPS>"),
        (
            64,
            &["bands", "m.map", "m.map", "--history", "-o", "p.svg"],
            "name one",
        ),
        (
            64,
            &[
                "bands",
                "--scenario",
                "figure-5",
                "--system",
                "raik",
                "-o",
                "p.svg",
            ],
            "there is no system raik; did you mean riak?",
        ),
        (
            64,
            &["distribution", "m.map", "-o", "p.svg"],
            "name a map and a file of names",
        ),
        (
            64,
            &[
                "distribution",
                "--scheme",
                "D1",
                "m.map",
                "names",
                "-o",
                "p.svg",
            ],
            "a scheme needs no map",
        ),
        (
            64,
            &["distribution", "--scheme", "D4", "names", "-o", "p.svg"],
            "there is no scheme D4",
        ),
        (64, &["modulo", "--from", "0", "-o", "p.svg"], "--from"),
        (
            64,
            &["bands", "m.map", "--width", "10", "-o", "p.svg"],
            "--width",
        ),
        (
            64,
            &[
                "bands", "m.map", "--width", "4000", "--scale", "9", "-o", "p.png",
            ],
            "--scale",
        ),
        (65, &["shares", "junk", "-o", "p.svg"], "junk"),
        (
            65,
            &["load", "m.map", "bad.log", "-o", "p.svg"],
            "bad.log:1: \"ten\" is not a count",
        ),
        (66, &["shares", "none.map", "-o", "p.svg"], "none.map"),
        (
            66,
            &["distribution", "m.map", "none", "-o", "p.svg"],
            "none",
        ),
        (
            66,
            &["moves", "m.map.history/1", "-o", "p.svg"],
            "has no epoch before it",
        ),
        (
            66,
            &["bands", "--scenario", "none.json", "-o", "p.svg"],
            "none.json",
        ),
        (
            66,
            &["shares", "m.map", "-o", "none/p.svg"],
            "there is no directory none",
        ),
    ] {
        let arguments = [&["plot"], arguments].concat();
        dir.run(&arguments).fails(code, &[said]);
    }
    assert!(!dir.path("p.svg").exists() && !dir.path("p.png").exists());
}

#[test]
fn a_picture_that_cannot_be_written_leaves_the_one_before() {
    let dir = maps();
    let draw = "\"$STEAD\" plot ring m.map -o ring.png";
    dir.shell(draw).ok();
    let before = std::fs::read(dir.path("ring.png")).unwrap();
    assert!(before.len() > 4096);
    let limited = format!("ulimit -f 2; {draw}");
    dir.shell(&limited).fails(74, &["File too large"]);
    assert_eq!(std::fs::read(dir.path("ring.png")).unwrap(), before);
    dir.assert_clean();
}

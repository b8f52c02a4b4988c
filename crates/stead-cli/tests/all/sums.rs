//! `diff --sum`: what moves in rows and bytes, against the nodes that `locate` gives for each key.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{json, Value};

use crate::program::Dir;

/// A fleet of these nodes, each in a zone of its own, with so many copies of each key.
fn copies(replicas: usize, nodes: &[&str]) -> String {
    let node = |node: &&str| {
        let (name, more) = node.split_once(' ').unwrap_or((node, ""));
        format!("[[node]]\nname = \"{name}\"\nlabels = {{ zone = \"{name}\" }}\n{more}\n")
    };
    format!("name = \"m\"\nreplicas = {replicas}\nspread = [\"zone\"]\n")
        + &nodes.iter().map(node).collect::<String>()
}

/// Keys with a count each; every seventh has none, which counts 1.
fn sizes() -> Vec<(String, Option<u64>)> {
    let size = |i: u64| (i % 7 > 0).then_some(i * i % 1009);
    (0..3000).map(|i| (format!("key {i}"), size(i))).collect()
}

fn nodes(dir: &Dir, map: &str, keys: &str) -> Vec<BTreeSet<String>> {
    let said = dir.feed(&["locate", map], keys.as_bytes()).ok();
    let nodes = |line: &str| line.rsplit_once('\t').unwrap().1.to_owned();
    let set = |line: &str| nodes(line).split(',').map(str::to_owned).collect();
    said.text().lines().map(set).collect()
}

/// Makes two maps of these fleets; checks what `--sum` adds up, and returns its text.
fn judged(before: &str, after: &str, former: &[(&str, &str)]) -> String {
    let dir = Dir::new();
    dir.write("f.toml", before);
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write("g.toml", after);
    dir.run(&["plan", "g.toml", "m.map", "-o", "next.plan"])
        .ok();
    dir.run(&["apply", "g.toml", "m.map", "--allow", "drop-copies"])
        .ok();
    let sizes = sizes();
    let lines = sizes.iter().map(|(key, size)| match size {
        Some(size) => format!("{key}\t{size}\n"),
        None => format!("{key}\n"),
    });
    dir.write("sizes.tsv", lines.collect::<String>());
    let keys: String = sizes.iter().map(|(key, _)| format!("{key}\n")).collect();
    let was = nodes(&dir, "m.map.history/1", &keys);
    let is = nodes(&dir, "m.map", &keys);

    let renamed = |name: &String| {
        let new = former.iter().find(|(old, _)| old == name);
        new.map_or(name.clone(), |(_, new)| (*new).to_owned())
    };
    let (mut all, mut lines) = (0, 0);
    // what each node gets, and gives or loses
    let mut gets: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut gives = gets.clone();
    for (((_, size), was), is) in sizes.iter().zip(&was).zip(&is) {
        let size = size.unwrap_or(1);
        all += size;
        let was: BTreeSet<String> = was.iter().map(renamed).collect();
        lines += u64::from(was != *is);
        for (nodes, other, sums) in [(is, &was, &mut gets), (&was, is, &mut gives)] {
            for node in nodes.difference(other) {
                let sum = sums.entry(node.clone()).or_default();
                *sum = (sum.0 + 1, sum.1 + size);
            }
        }
    }

    let of = |new: &str, more: &str| {
        let mut arguments = vec!["diff", "m.map.history/1", new, "--sum", "sizes.tsv"];
        arguments.extend((!more.is_empty()).then_some(more));
        dir.run(&arguments).ok().text().to_owned()
    };
    let said: Value = serde_json::from_str(&of("m.map", "--json")).unwrap();
    let figures = ["lines", "sum", "moved_lines"].map(|name| said[name].clone());
    assert_eq!(json!(figures), json!([3000, all.to_string(), lines]));
    // a copy is copied from where it was; what has no new place is dropped, and comes from nowhere
    let sum = |sums: &BTreeMap<String, (u64, u64)>| {
        sums.values().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    let (got, given) = (sum(&gets), sum(&gives));
    let pair = |sum: &Value| {
        let count = sum["sum"].as_str().unwrap().parse::<u64>().unwrap();
        (sum["copies"].as_u64().unwrap(), count)
    };
    assert_eq!(pair(&said["copied"]), got);
    let left = |given: u64, got: u64| given.saturating_sub(got);
    let dropped = (left(given.0, got.0), left(given.1, got.1));
    assert_eq!(pair(&said["dropped"]), dropped);
    for (name, wanted) in [("to", &gets), ("from", &gives)] {
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for flow in said["flows"].as_array().unwrap() {
            if let Some(node) = flow[name].as_str() {
                let node = if name == "from" {
                    renamed(&node.to_owned())
                } else {
                    node.to_owned()
                };
                let sum = sums.entry(node).or_default();
                sum.0 += flow["copies"].as_u64().unwrap();
                sum.1 += flow["sum"].as_str().unwrap().parse::<u64>().unwrap();
            }
        }
        assert_eq!(sums, *wanted, "{name}");
    }
    // the plan says the same beforehand, apart from its file
    assert_eq!(of("next.plan", "--json"), of("m.map", "--json"));
    let text = of("m.map", "");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // the first line may be broken
    text.replacen("\n  ", " ", 1)
}

#[test]
fn the_sums_are_those_of_the_keys() {
    let few = ["a", "b", "c", "d"];
    let text = judged(
        &copies(1, &few),
        &copies(1, &["a", "b", "c", "d", "e"]),
        &[],
    );
    assert!(text.starts_with("m: epoch 1 -> 2, "), "{text}");
    assert!(text.contains(" of 3,000 lines, "), "{text}");
    assert!(text.contains("from  to  copies"), "{text}");
    // copies are added, moved and dropped; a node that is renamed is the same node
    judged(&copies(2, &few), &copies(2, &["a", "b", "c", "e"]), &[]);
    let text = judged(&copies(1, &few), &copies(2, &few), &[]);
    assert!(text.contains("(added)"), "{text}");
    assert!(text.contains(", copies 3,000 of 6,000 copies, "), "{text}");
    let text = judged(&copies(3, &few), &copies(2, &few), &[]);
    assert!(text.contains("(dropped)"), "{text}");
    let all: u64 = sizes().iter().map(|(_, size)| size.unwrap_or(1)).sum();
    let drops = format!(
        " drops 3,000 of 9,000 copies, {all} of {} (33.33 %)",
        3 * all
    );
    assert!(
        text.replace(",", "").contains(&drops.replace(",", "")),
        "{text}"
    );
    let renamed = copies(1, &["a", "b", "c", "e formerly = \"d\""]);
    let text = judged(&copies(1, &few), &renamed, &[("d", "e")]);
    assert!(text.contains(", moves 0 of 3,000 lines"), "{text}");
}

#[test]
fn a_long_table_is_cut_and_its_rest_is_added_up() {
    let names: Vec<String> = (0..30).map(|i| format!("n{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (few, many) = (copies(1, &names[..25]), copies(1, &names));
    let text = judged(&few, &many, &[]);
    let last = text.lines().last().unwrap();
    let words: Vec<&str> = last.split(' ').collect();
    let ["and", more, "more", "like", "these,", sum, "together:", "--all"] = words[..] else {
        panic!("{text}")
    };
    let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
    let rows: Vec<&str> = text.lines().skip(3).filter(|line| *line != last).collect();
    assert_eq!(rows.len(), 20, "{text}");
    let shown = rows
        .iter()
        .map(|row| number(row.split_whitespace().last().unwrap()));
    let shown: u64 = shown.sum();
    // one copy of each key: the sums of the table are those of the first line
    let head = text.lines().next().unwrap();
    let moved = head.split(" lines, ").nth(1).unwrap();
    let moved = number(moved.split(' ').next().unwrap());
    assert_eq!(shown + number(sum), moved, "{text}");
    assert!(number(more) > 1, "{text}");
}

#[test]
fn a_file_that_cannot_be_added_up_is_refused() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    for (text, told) in [
        ("a\t1\nb\tmany\n", "sizes.tsv:2: \"many\" is not a count"),
        ("", "sizes.tsv: contains no lines"),
    ] {
        dir.write("sizes.tsv", text);
        dir.run(&["diff", "m.map", "m.map", "--sum", "sizes.tsv"])
            .fails(65, &[told]);
    }
    dir.run(&["diff", "m.map", "m.map", "--sum", "absent"])
        .fails(66, &["absent"]);
    for more in ["--keys", "--moves"] {
        dir.run(&["diff", "m.map", "m.map", "--sum", "sizes.tsv", more])
            .fails(64, &["--sum"]);
    }
    // without any count there is no column for it
    dir.write("sizes.tsv", "x\ny\n");
    let said = dir
        .run(&["diff", "m.map", "m.map", "--sum", "sizes.tsv"])
        .ok();
    let line = "members: epoch 1 -> 1, moves 0 of 2 lines (0.00 %)\n";
    assert_eq!(said.text(), line);
}

/// Returns the texts of the cells of a table of a page, row by row.
fn rows_of(page: &str, table: &str) -> Vec<Vec<String>> {
    let table = page
        .split(&format!("<table id=\"{table}\""))
        .nth(1)
        .unwrap();
    let body = table.split("<tbody>").nth(1).unwrap();
    let body = body.split("</tbody>").next().unwrap();
    let text = |cell: &str| {
        let parts = cell.split('<').map(|part| part.split_once('>'));
        let texts = parts.map(|part| part.map_or("", |(_, text)| text));
        texts.collect::<String>().trim().to_owned()
    };
    // each cell from the `<` of its tag on
    let cells = |row: &str| {
        let row = row.replace("<th", "<td");
        let cells = row.split("<td").skip(1);
        cells.map(|cell| text(&format!("<td{cell}"))).collect()
    };
    body.split("<tr").skip(1).map(cells).collect()
}

#[test]
fn the_picture_and_the_page_have_the_same_sums() {
    let few = ["a", "b", "c", "d"];
    let more = ["a", "b", "c", "d", "e"];
    let changes = [
        (copies(1, &few), copies(1, &more)),
        (copies(1, &few), copies(2, &few)),
        // copies are added and moved; and dropped
        (copies(2, &few), copies(3, &more[1..])),
        (copies(3, &few), copies(2, &more)),
    ];
    for (before, after) in changes {
        let dir = Dir::new();
        dir.write("f.toml", before);
        dir.run(&["apply", "f.toml", "m.map"]).ok();
        dir.write("f.toml", after);
        dir.run(&["plan", "f.toml", "m.map", "-o", "next.plan"])
            .ok();
        let lines = sizes().into_iter().map(|(key, size)| match size {
            Some(size) => format!("{key}\t{size}\n"),
            None => format!("{key}\n"),
        });
        dir.write("sizes.tsv", lines.collect::<String>());
        let asked = [
            "m.map",
            "next.plan",
            "--sum",
            "sizes.tsv",
            "--unit",
            "bytes",
        ];
        let ran = |verb: &[&str], more: &[&str]| {
            let run = dir.run(&[verb, &asked, more].concat()).ok();
            run.text().to_owned()
        };
        let text = ran(&["diff"], &["--all"]).replacen("\n  ", " ", 1);
        let said: Value = serde_json::from_str(&ran(&["diff"], &["--json"])).unwrap();
        let grouped = |sum: &Value| {
            let digits: Vec<char> = sum.as_str().unwrap().chars().collect();
            let parts: Vec<String> = digits
                .rchunks(3)
                .rev()
                .map(|c| c.iter().collect())
                .collect();
            parts.join(",")
        };
        let flows = said["flows"].as_array().unwrap().iter().map(|flow| {
            let name = |field: &str| flow[field].as_str().unwrap_or("").to_owned();
            let is_added = flow["from"].is_null();
            let from = if is_added {
                name("source")
            } else {
                name("from")
            };
            let to = match name("to").as_str() {
                "" => "dropped".to_owned(),
                to => to.to_owned(),
            };
            (from, to, is_added, grouped(&flow["sum"]))
        });
        let flows: BTreeSet<(String, String, bool, String)> = flows.collect();
        assert!(flows.len() > 2, "{flows:?}");

        // in the table of `diff`, and in that of the page
        let named = |(from, to, is_added, sum): &(String, String, bool, String)| {
            let from = from.clone() + if *is_added { " (added)" } else { "" };
            let to = if to == "dropped" { "(dropped)" } else { to };
            [from, to.to_owned(), sum.clone()]
        };
        let wanted: BTreeSet<[String; 3]> = flows.iter().map(named).collect();
        let table = text.lines().skip(3).map(|row| {
            let cells: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).collect();
            [cells[0], cells[1], cells[3]].map(|cell| cell.trim().to_owned())
        });
        assert_eq!(table.collect::<BTreeSet<_>>(), wanted, "{text}");
        let page = ran(&["report"], &["-o", "-"]);
        let rows = rows_of(&page, "moves-table").into_iter();
        let rows = rows.map(|cells| [cells[0].clone(), cells[1].clone(), cells[5].clone()]);
        assert_eq!(rows.collect::<BTreeSet<_>>(), wanted);

        // in the picture, by itself and in the page
        let picture = ran(&["plot", "moves"], &["-o", "-"]);
        for svg in [&picture, &page] {
            let titles = svg.split("fill-opacity=\"0.").skip(1).filter_map(|path| {
                let title = path.split_once("<title>")?.1;
                let (way, sum) = title.split_once("</title>")?.0.rsplit_once(": ")?;
                let (way, is_added) = match way.strip_suffix(" (added)") {
                    Some(way) => (way, true),
                    None => (way, false),
                };
                let (from, to) = way.split_once(" to ")?;
                let sum = sum.strip_suffix(" bytes")?;
                Some((from.to_owned(), to.to_owned(), is_added, sum.to_owned()))
            });
            assert_eq!(titles.collect::<BTreeSet<_>>(), flows);
        }
        // and the sentence of `diff` is that of both
        let headline = text.lines().next().unwrap();
        let sentence = headline.strip_prefix("m: epoch 1 -> 2, ").unwrap();
        let sentence = format!("The change {sentence}.");
        assert!(page.contains(&format!("<p class=\"headline\">{sentence}</p>")));
        let broken = picture.replace("</text>\n", " ").replace(' ', "");
        let broken: String = broken
            .split('<')
            .map(|part| part.split_once('>').map_or("", |(_, text)| text))
            .collect();
        assert!(broken.contains(&sentence.replace(' ', "")), "{sentence}");
        // a tile has the most important of it, in few digits if they are many
        let copied = said["copied"]["sum"].as_str().unwrap();
        let figure = match copied.parse::<f64>().unwrap() {
            few if few < 1e6 => grouped(&said["copied"]["sum"]),
            many => format!("{:.2} M", many / 1e6),
        };
        assert!(page.contains(&format!("<dd class=\"figure\">{figure} bytes</dd>")));
    }
}

#[test]
fn counts_belong_to_a_change() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.write("sizes.tsv", "x\t1\n");
    let page = ["report", "m.map", "-o", "-"];
    dir.run(&[&page[..], &["--sum", "sizes.tsv"]].concat())
        .fails(64, &["NEW"]);
    for more in [&["--unit", "bytes"][..], &["--fold", "ascii"]] {
        let both = [&["report", "m.map", "m.map", "-o", "-"], more].concat();
        dir.run(&both).fails(64, &["--sum"]);
        let picture = ["plot", "moves", "m.map", "m.map", "-o", "-"];
        dir.run(&[&picture, more].concat()).fails(64, &["--sum"]);
    }
    dir.run(&["plot", "moves", "m.map", "m.map", "-o", "-", "--sum", "no"])
        .fails(66, &["no"]);
}

#[test]
fn keys_without_counts_are_lines_in_the_picture_and_the_page() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.apply(&["a", "b", "c"]);
    let keys: String = (0..900).map(|i| format!("KEY-{i}\n")).collect();
    dir.write("keys", keys.clone());
    let asked = [
        "m.map.history/1",
        "m.map",
        "--sum",
        "keys",
        "--fold",
        "ascii",
    ];
    let said = dir.run(&[&["diff"], &asked[..]].concat()).ok();
    let moved = said.text().split(' ').nth(6).unwrap().to_owned();
    let page = dir
        .run(&[&["report"], &asked[..], &["-o", "-"]].concat())
        .ok();
    let tile = format!("<dd class=\"figure\">{moved} lines</dd><dd class=\"note\">of 900</dd>");
    assert!(page.text().contains(&tile), "{tile}");
    let picture = dir.run(&[&["plot", "moves"], &asked[..], &["-o", "-"]].concat());
    let label = format!(">c  {moved}</text>");
    assert!(picture.ok().text().contains(&label), "{label}");
    // another fold, other keys
    let plain = dir.run(&[&["diff"], &asked[..4]].concat()).ok();
    assert_ne!(plain.text(), said.text());
}

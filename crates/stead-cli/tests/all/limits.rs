//! Lists that are cut say how many things are left out: none at the limit, and the right number
//! beyond it.

use std::fmt::Write;

use crate::common::Place;

/// Returns the line that says how many more there are; empty if there is none.
fn more(screen: &str) -> String {
    let mut lines = screen
        .lines()
        .filter(|line| line.contains(" more ") || line.contains(" more;"));
    let line = lines.next().unwrap_or_default().trim_start();
    assert_eq!(lines.next(), None, "{screen}");
    line.to_owned()
}

/// Returns a fleet of nodes n0, n1, ... with these weights.
fn nodes(weights: impl IntoIterator<Item = usize>) -> String {
    (0..).zip(weights).fold(
        "name = 'm'\n".to_owned(),
        |mut text, (number, weight): (usize, usize)| {
            let _ = write!(text, "[[node]]\nname = 'n{number}'\nweight = {weight}\n");
            text
        },
    )
}

/// Returns the map of a fleet in a new directory.
fn map(fleet: &str) -> Place {
    let place = Place::new();
    place.write("f.toml", fleet);
    place.good(&["apply", "f.toml", "m.map"]);
    place
}

/// Returns a fleet of three nodes with this number of pins, firsts and policies for n0.
fn by_hand(pins: usize, firsts: usize, policies: usize) -> String {
    let mut text = nodes([1; 3]);
    for number in 0..pins {
        let _ = write!(text, "[[pin]]\nkey = 'p{number}'\nnodes = ['n0']\n");
    }
    for number in 0..firsts {
        let _ = write!(text, "[[first]]\nkey = 'f{number}'\nnode = 'n0'\n");
    }
    for number in 0..policies {
        let lists = "nodes = ['n0', 'n1']\nweight = 1";
        let _ = write!(text, "[[policy]]\nname = 'q{number}'\n{lists}\n");
    }
    text
}

#[test]
fn pins_of_a_node_that_is_to_go() {
    for (pins, said) in [(3, ""), (4, "and 1 more"), (5, "and 2 more")] {
        let place = map(&by_hand(pins, 0, 0));
        let ran = place.run(&["check", "m.map", "--off", "n0"]);
        let screen = String::from_utf8(ran.out).unwrap() + " ";
        assert_eq!(screen.matches("  pin, key").count(), 3, "{screen}");
        let last = screen.trim_end().lines().last().unwrap().trim_start();
        assert_eq!(last.starts_with("and "), !said.is_empty(), "{screen}");
        assert!(last.contains(said), "{screen}");
    }
}

#[test]
fn things_of_one_node() {
    for (number, pins, policies) in [
        (8, "", ""),
        (
            9,
            "and 1 more pin; --all lists it",
            "and 1 more policy; --all lists it",
        ),
        (
            10,
            "and 2 more pins; --all lists them",
            "and 2 more policies; --all lists them",
        ),
    ] {
        let place = map(&by_hand(number, 0, 0));
        assert_eq!(more(&place.good(&["who", "m.map", "n0"])), pins);
        let all = place.good(&["who", "m.map", "n0", "--all"]);
        assert_eq!(
            (more(&all), all.matches("key \"").count()),
            (String::new(), number)
        );
        let place = map(&by_hand(0, 0, number));
        assert_eq!(more(&place.good(&["who", "m.map", "n0"])), policies);
    }
    for (nodes_with_it, said) in [
        (8, ""),
        (9, "and 1 more partner; --all lists it"),
        (11, "and 3 more partners; --all lists them"),
    ] {
        let place = map(&format!(
            "replicas = 2\n{}",
            nodes(vec![1; nodes_with_it + 1])
        ));
        let screen = place.good(&["who", "m.map", "n0"]);
        let partners = screen.split("partner ").nth(1).unwrap();
        assert_eq!(more(partners), said, "{screen}");
    }
}

#[test]
fn firsts_of_a_map() {
    for (number, said) in [
        (20, ""),
        (21, "and 1 more; --json lists them all"),
        (23, "and 3 more; --json lists them all"),
    ] {
        let place = map(&format!("replicas = 2\n{}", by_hand(0, number, 0)));
        let screen = place.good(&["show", "m.map"]);
        assert_eq!(more(&screen), said, "{screen}");
        assert_eq!(screen.matches("key \"f").count(), 20);
    }
}

#[test]
fn nodes_that_take_over() {
    for (up, said) in [
        (24, ""),
        (
            25,
            "and 1 more node, whose reads grow less; --all lists them",
        ),
        (
            27,
            "and 3 more nodes, whose reads grow less; --all lists them",
        ),
    ] {
        let place = map(&nodes(vec![1; up + 1]));
        let screen = place.good(&["what-if", "m.map", "--down", "n0"]);
        assert_eq!(more(&screen), said, "{screen}");
    }
}

#[test]
fn domains_of_a_load() {
    for (number, said) in [
        (40, ""),
        (41, "and 1 more domain; --all shows them"),
        (43, "and 3 more domains; --all shows them"),
    ] {
        let mut fleet = "name = 'm'\nspread = ['zone']\n".to_owned();
        for zone in 0..number {
            let _ = write!(
                fleet,
                "[[node]]\nname = 'n{zone}'\nlabels = {{ zone = 'z{zone}' }}\n"
            );
        }
        let place = map(&fleet);
        place.write(
            "log",
            (0..500).map(|key| format!("k{key}\n")).collect::<String>(),
        );
        let screen = place.good(&["load", "m.map", "log"]);
        let domains = screen.split("\ndomain ").nth(1).unwrap();
        let domains = domains.split("\n\n").next().unwrap();
        assert_eq!(more(domains), said, "{screen}");
    }
}

#[test]
fn rows_of_nodes_that_change() {
    // weights that differ, so that no two rows are one; one row more is not worth a line
    for (number, said) in [(21, ""), (22, "and 2 more"), (25, "and 5 more")] {
        let place = map(&nodes(1..=number));
        place.write("f.toml", nodes((1..=number).map(|weight| weight * weight)));
        let screen = place.good(&["plan", "f.toml", "m.map"]);
        let said = match said {
            "" => String::new(),
            said => format!("{said} like these, that change by at most"),
        };
        let rows = screen.split("\nnode ").nth(1).unwrap();
        assert!(more(rows).starts_with(&said), "{screen}");
        assert_eq!(more(rows).is_empty(), said.is_empty(), "{screen}");
        // a list of edits has its own limit: 12 lines, and one for the rest
        assert!(!screen.contains("more line"), "{screen}");
    }
}

#[test]
fn edits_of_a_fleet() {
    for (kinds, said) in [(4, ""), (5, "and 1 more line like these: --all")] {
        // four kinds of new nodes, four of policies, and four or five edits of other things
        let mut fleet = nodes([1; 3]);
        let place = map(&fleet);
        for weight in 2..6 {
            let _ = write!(fleet, "[[node]]\nname = 'w{weight}'\nweight = {weight}\n");
            let list = ["'n0'", "'n1'", "'n2'", "'n0', 'n1'"][weight - 2];
            let _ = write!(fleet, "[[policy]]\nname = 'q{weight}'\nnodes = [{list}]\n");
            let _ = write!(fleet, "[[pin]]\nkey = 'p{weight}'\npolicy = 'q{weight}'\n");
        }
        if kinds == 5 {
            fleet = fleet.replace("'m'\n", "'m'\nmax_slices = 100\n");
        }
        place.write("f.toml", fleet);
        let screen = place.good(&["plan", "f.toml", "m.map"]);
        let edits = screen.split("\ncopies ").next().unwrap();
        assert_eq!(more(edits), said, "{screen}");
    }
}

#[test]
fn nodes_that_give_and_get_copies() {
    // 30 nodes of 5 sizes give, and one gets: rows stand for nodes that are alike
    let sizes = |times: usize| (0..times * 6).map(move |number| 1 + number % times);
    for (kinds, left) in [(12, 0), (13, 12), (15, 24)] {
        let place = map(&nodes(sizes(kinds)));
        let end = "[[node]]\nname = 'new'\nweight = 100\n";
        place.write("f.toml", nodes(sizes(kinds)) + end);
        let screen = place.good(&["plan", "f.toml", "m.map", "--moves"]);
        let sums = screen.split(" gives ").nth(1).unwrap();
        let sums = sums.split("\n\n").next().unwrap();
        let mut listed = 0;
        for line in sums
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with("and "))
        {
            let more = line
                .split(" more")
                .next()
                .filter(|_| line.contains(" more"));
            let more = more.and_then(|start| start.rsplit(' ').next()?.parse::<usize>().ok());
            listed += 1 + more.unwrap_or(0);
        }
        let said = match left {
            0 => String::new(),
            left => format!("and {left} more like these"),
        };
        let last = sums.lines().last().unwrap();
        assert_eq!(last.starts_with("and "), left > 0, "{screen}");
        assert!(last.starts_with(&said) || left == 0, "{screen}");
        assert_eq!(listed + left, kinds * 6 + 1, "{screen}");
    }
}

#[test]
fn violations_of_a_map() {
    let (mut at_the_limit, mut beyond) = (0, 0);
    for buckets in 8..26 {
        // one bucket has two nodes, so all others lack one
        let servers = (0..buckets).fold(String::new(), |mut text, bucket| {
            let second = if bucket == 0 { ",n1" } else { "" };
            let _ = writeln!(text, "{bucket} n{}{second}", bucket % 4);
            text
        });
        let place = Place::new();
        place.write("servers", servers);
        let modulo = format!("modulo={buckets}");
        let ring = ["ring", "explicit", "servers", "--set", &modulo];
        place.good(&[&ring[..], &["-o", "m.map", "--fleet", "f.toml"]].concat());
        let ran = place.run(&["check", "m.map", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
        let all = json["listed"].as_array().unwrap();
        let all = all.iter().filter(|one| one["check"] != "fleet").count();
        let screen = String::from_utf8(place.run(&["check", "m.map"]).out).unwrap();
        let said = match all {
            ..=20 => String::new(),
            _ => format!("and {} more; --json lists up to 10000", all - 20),
        };
        assert_eq!(more(&screen), said, "{screen}");
        at_the_limit += usize::from(all == 20);
        beyond += usize::from(all == 21);
    }
    assert_eq!((at_the_limit, beyond), (1, 1), "the limit was not met");
}

#[test]
fn epochs_and_nodes_that_are_taken_back() {
    for (epochs, said) in [
        (3, None),
        (4, Some("; and 1 more")),
        (6, Some("; and 3 more")),
    ] {
        let place = map(&nodes([1; 2]));
        for number in 3..epochs + 3 {
            place.write("f.toml", nodes(vec![1; number]));
            place.good(&["apply", "f.toml", "m.map"]);
        }
        place.write("f.toml", nodes([1; 2]));
        let error = place.run(&["apply", "f.toml", "m.map"]).error;
        assert_eq!(error.matches("takes back epoch").count(), 3, "{error}");
        assert!(said.is_none_or(|said| error.contains(said)), "{error}");
        assert_eq!(error.contains(" more"), said.is_some(), "{error}");
    }
    for (came, said) in [
        (4, None),
        (5, Some("; and 1 more")),
        (7, Some("; and 3 more")),
    ] {
        let place = map(&nodes([1; 2]));
        place.write("f.toml", nodes(vec![1; 2 + came]));
        place.good(&["apply", "f.toml", "m.map"]);
        place.write("f.toml", nodes([1; 2]));
        let error = place.run(&["apply", "f.toml", "m.map"]).error;
        assert_eq!(error.matches(", added there").count(), 4, "{error}");
        assert!(said.is_none_or(|said| error.contains(said)), "{error}");
        assert_eq!(error.contains(" more"), said.is_some(), "{error}");
    }
}

#[test]
fn pins_and_nodes_on_a_page() {
    let page = |fleet: &str| {
        let place = map(fleet);
        place.good(&["report", "m.map", "-o", "-"])
    };
    for (pins, said) in [
        (500, ""),
        (501, "and 1 more; <code>stead show"),
        (503, "and 3 more; <code>stead show"),
    ] {
        let page = page(&by_hand(pins, 0, 0));
        assert!(page.contains(said));
        assert_eq!(page.contains(" more; <code>stead show"), !said.is_empty());
    }
    for (all, said) in [
        (24, ""),
        (25, "and 1 smaller node:"),
        (27, "and 3 smaller nodes:"),
    ] {
        let page = page(&nodes(vec![1; all]));
        assert!(page.contains(said));
        assert_eq!(page.contains(" smaller node"), !said.is_empty());
    }
    // those who answer in the place of a node that fails: three are named
    for (all, said) in [(4, ""), (5, " and 1 more node"), (7, " and 3 more nodes")] {
        let page = page(&nodes(vec![1; all]));
        assert!(page.contains(said));
        assert_eq!(page.contains(" more node"), !said.is_empty());
    }
}

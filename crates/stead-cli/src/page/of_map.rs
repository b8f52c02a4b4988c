//! The page of a map: what it holds, whether it keeps its rules, what a loss costs, and how it came
//! to be.

use stead::format::hex;
use stead::load::{Loads, Tally};
use stead::report::{size, Report};
use stead::store::Progress;
use stead::verdict::{Problem, Verdict, Violations};
use stead::Map;
use stead_plot::{grouped, Row};

use super::domains::largest_error;
use super::html::{element, section, Html};
use super::pictures::Pictures;
use super::template::Page;
use super::tiles::{banner, command, not_to_be_used, notices, remark, tiles, Tile};
use super::{domains, epochs_kept, lists, lookup, nodes};
use crate::caps::{self, Said};
use crate::carrying;
use crate::checks::{checks, Checked};
use crate::epochs::Epoch;
use crate::text::{count, hash, over, percent, step_of, told};

/// What a page of a map is made of.
pub struct Facts<'a> {
    pub map: &'a Map,
    /// the name of the map's file, for the commands that the page names
    pub file: &'a str,
    pub report: &'a Report<'a>,
    pub progress: Option<Progress>,
    pub epochs: &'a [Epoch],
    /// that the map is not the newest of its history, if it is not
    pub outdated: Option<String>,
    /// which epoch of the history is damaged, if one is
    pub damaged: Option<String>,
    /// the last rows of the history that are drawn, the oldest first; the last is that of the map
    pub rows: &'a [carrying::Row],
    /// the map where the data was, if a carry is open and the history has it
    pub from: Option<&'a Map>,
    /// the load by a log, and what the counts of the log are, such as `accesses`
    pub load: Option<(&'a Tally<'a>, &'a Loads, &'a str)>,
}

/// Returns the page. Fails if the map and the one before belong to different clusters.
pub fn of_map(facts: &Facts) -> stead::Result<String> {
    let (map, report) = (facts.map, facts.report);
    let mut head = element("p", &[("class", "kind")], "Map of a cluster");
    head.add(element("h1", &[], Html::name(map.name())));
    head.add(health(facts));
    let mut said = caps::broken(report, map);
    said.extend(caps::drained(map));
    if let Some(carry) = map.carry() {
        let [hosts, _] = carrying::meaning(&carry);
        let sentence = format!("a carry is open ({}): {hosts}", carrying::in_words(&carry));
        said.insert(0, Said::plain(sentence));
    }
    head.add(notices(&said));
    head.add(figures(facts));

    let (form, data) = lookup::form(&[(map, facts.from)], map, facts.file)?;
    let mut locate = lookup::about(map);
    locate.add(form);
    let mut main = section("locate-a-key", "Where does a key live?", locate);
    let (drawn, styles) = pictures(facts)?.into_parts();
    main.add(section("pictures", "Pictures", drawn));
    let loads = facts.load.map(|(_, loads, _)| loads);
    main.add(section("nodes", "Nodes", nodes::of_map(map, report, loads)));
    main.add(load(facts));
    main.add(domains::table(map, report));
    main.add(domains::what_if(map, report));
    main.add(lists::by_hand(map));
    main.add(epochs_kept::table(facts.epochs));
    main.add(section("checks", "Checks", rules(facts)));

    Ok(Page {
        title: format!("{}, epoch {} - stead", map.name(), map.epoch()),
        head,
        main,
        foot: foot(map, facts.file),
        styles,
    }
    .html(data.as_ref()))
}

fn pictures(facts: &Facts) -> stead::Result<Pictures> {
    let map = facts.map;
    let mut pictures = Pictures::default();
    let rows = facts.rows.iter();
    let rows: Vec<Row> = rows.map(|(map, last)| Row::of_epochs(map, *last)).collect();
    pictures.bands(&rows);
    pictures.shares(map, None);
    pictures.domains(map);
    // the row before is that of the last epoch before a carry
    if let Some(before) = rows.iter().nth_back(1) {
        pictures.moves(before.map, map, None)?;
    }
    if let Some((tally, _, unit)) = facts.load {
        pictures.load(tally, unit);
    }
    Ok(pictures)
}

/// Says whether all is well, as `check` does: of the map, and of its history.
fn health(facts: &Facts) -> Html {
    let mut html = Html::default();
    if let Some(problem) = &facts.outdated {
        html.add(banner(false, &not_to_be_used(problem)));
    }
    let verdict = &facts.report.verdict;
    if facts.outdated.is_none() || !verdict.is_sound() {
        html.add(soundness(verdict, facts.damaged.is_some()));
    }
    html
}

fn soundness(verdict: &Verdict, is_damaged: bool) -> Html {
    let broken = verdict.violations.count();
    let pending = verdict.pending_violations;
    match (broken, pending) {
        (0, _) if is_damaged => banner(
            false,
            "Every rule is kept, and an epoch of the history is damaged",
        ),
        (0, 0) => banner(true, "Every rule is kept"),
        (0, pending) => banner(
            true,
            &format!(
                "Every rule is kept; {} until the change that is under way reaches them",
                match pending {
                    1 => "1 slice waits".to_owned(),
                    slices => format!("{slices} slices wait"),
                }
            ),
        ),
        (broken, _) => banner(false, &format!("{} of rules", count(broken, "violation"))),
    }
}

fn figures(facts: &Facts) -> Html {
    let (map, report) = (facts.map, facts.report);
    let empty = map
        .nodes()
        .filter(|node| node.weight().millionths() == 0)
        .count();
    let spread: Vec<&str> = map.spread().collect();
    let (error, meaning) = largest_error(map, report);
    let by_hand = [(map.firsts().len(), "first"), (map.pins().len(), "pin")];
    let by_hand: Vec<String> = by_hand
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, what))
        .collect();
    let mut list = vec![
        Tile::new(
            "Epoch",
            map.epoch().to_string(),
            match map.epoch() {
                1 => "the first",
                _ => "",
            },
        ),
        Tile::new(
            "Nodes",
            grouped(map.nodes().len() as u64),
            match empty {
                0 => String::new(),
                nodes => format!("{nodes} of weight 0"),
            },
        ),
        Tile::new(
            "Copies of each key",
            map.replicas().to_string(),
            match spread.is_empty() {
                true => String::new(),
                false => format!("apart over {}", spread.join(", ")),
            },
        ),
        Tile::new("Shares", error, meaning),
        Tile::new(
            "Slices",
            grouped(map.base_count() as u64),
            match by_hand.is_empty() {
                true => format!("map file {}", size(map.bytes().len())),
                false => format!("with {}", by_hand.join(" and ")),
            },
        ),
        Tile::new(
            "Hash",
            hash(map),
            match map.key_rule() {
                stead::hash::KeyRule::Whole => "of the whole key".to_owned(),
                rule => format!("of the {rule} of a key"),
            },
        ),
    ];
    if let Some(amount) = &report.to_come {
        let step = facts.progress.as_ref().map(step_of).unwrap_or_default();
        list.push(Tile::new(
            "Still to move",
            percent(amount.count(), map.replicas()),
            step,
        ));
    }
    if let Some((_, loads, _)) = facts.load {
        let fullest = loads.fullest();
        let name = fullest.map_or("", |load| map.node(load.node).name());
        list.push(Tile::new(
            "Fullest node",
            format!("{} ×", over(fullest.and_then(|load| load.over_mean))),
            format!(
                "{name}, over its fair part; the floor is {:.2}",
                loads.floor
            ),
        ));
    }
    tiles(list)
}

fn load(facts: &Facts) -> Html {
    let Some((tally, loads, unit)) = facts.load else {
        return Html::default();
    };
    let mut html = remark(format!(
        "{}; reads: {}.",
        lists::log_in_words(tally, unit),
        loads.reads.name()
    ));
    html.add(lists::hottest(tally, unit));
    section("load", "Load", html)
}

/// Returns what `check` says: a line for each rule, and then what breaks one.
fn rules(facts: &Facts) -> Html {
    let (map, verdict) = (facts.map, &facts.report.verdict);
    let mut rows = checks(map, verdict, facts.progress.as_ref());
    let history = facts.outdated.as_ref().or(facts.damaged.as_ref());
    rows.extend(history.map(|found| Checked {
        check: "history",
        ok: false,
        found: found.clone(),
    }));
    let items = rows.into_iter().map(|check| {
        let (class, word) = match check.ok {
            true => ("good", "ok"),
            false => ("bad", "BROKEN"),
        };
        let mut inside = element("span", &[("class", "sign")], word);
        inside.add(element("span", &[("class", "check")], check.check));
        inside.add(element("span", &[("class", "found")], check.found));
        element("li", &[("class", class)], inside)
    });
    let mut html = element("ul", &[("class", "checks")], items.collect::<Html>());
    html.add(listed(map, &verdict.violations, "What breaks a rule"));
    html.add(listed(
        map,
        &verdict.warnings,
        "What is allowed, and should be known",
    ));
    html
}

fn listed(map: &Map, violations: &Violations, title: &str) -> Html {
    if violations.count() == 0 {
        return Html::default();
    }
    let items = violations.listed.iter().map(|one| {
        let meant = match one.problem {
            Problem::Kept { .. } | Problem::Empty { .. } => "",
            _ if title.starts_with("What is") => "; its fleet says short = true",
            _ => "",
        };
        let sentence = format!("{}: {}{meant}", one.rule.name(), told(map, one));
        element("li", &[], sentence)
    });
    let mut html = element("h3", &[], title);
    html.add(element(
        "ul",
        &[("class", "plain")],
        items.collect::<Html>(),
    ));
    if violations.unlisted() > 0 {
        html.add(remark(format!(
            "and {} more; `stead check --json` lists them",
            violations.unlisted()
        )));
    }
    html
}

fn foot(map: &Map, file: &str) -> Html {
    let identity = [
        ("digest", hex(&map.digest())),
        (
            "parent",
            match map.epoch() {
                1 => "none, this is the first epoch".to_owned(),
                _ => hex(&map.parent()),
            },
        ),
        ("map id", hex(&map.map_id())),
    ];
    let mut inside = Html::default();
    for (label, text) in identity {
        inside.add(element("dt", &[], label));
        inside.add(element("dd", &[], command(&text)));
    }
    let mut html = element("dl", &[("class", "identity")], inside);
    let mut made = Html::text("Made by ");
    made.add(command(&format!("stead report {file}")));
    made.add(Html::text(". The same map gives the same page."));
    html.add(element("p", &[], made));
    html
}

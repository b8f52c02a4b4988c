//! The page of a change: what must be known first, what moves from where to where, and what each
//! node held before and holds after. The sentences are those of `plan`.

use stead::format::hex;
use stead::report::{part, size, Amount, Report};
use stead::Map;
use stead_plot::{brief, grouped, grouped_large, Row};

use super::html::{element, section, Html};
use super::pictures::Pictures;
use super::places::origin;
use super::template::Page;
use super::tiles::{banner, command, facts, not_to_be_used, notices, tiles, Tile};
use super::{domains, flows, lookup, nodes};
use crate::caps::Said;
use crate::change::{self, Change};
use crate::summed::{Sum, Summed};

/// Returns the page of a change. The files, with their digests, name the two maps for the commands
/// that the page names; the second may be that of a plan. `history` has maps where data was when a
/// carry began, `outdated` says which of the maps is not the newest, and `sums` what moves of the
/// rows or bytes of keys. Fails if the maps belong to different clusters.
pub fn of_change(
    change: &Change,
    report: &Report,
    files: [(&str, [u8; 32]); 2],
    is_planned: bool,
    history: &[Map],
    outdated: &[String],
    sums: Option<&Summed>,
) -> stead::Result<String> {
    let new = &change.new;
    let old = change.old.as_ref().unwrap_or(new);
    let mut head = element("p", &[("class", "kind")], "Change of a cluster");
    head.add(element("h1", &[], Html::name(new.name())));
    let headline = change.headline(report);
    // the heading above has the name already
    let headline = headline
        .strip_prefix(&format!("{}: ", new.name()))
        .unwrap_or(&headline);
    head.add(element("p", &[("class", "headline")], headline));
    if let Some(sums) = sums {
        head.add(element("p", &[("class", "headline")], sums.sentence()));
    }
    for problem in outdated {
        head.add(banner(false, &not_to_be_used(problem)));
    }
    let mut said = change.told(report, &carried(report));
    if change.is_to_be_carried(report) {
        said.push(Said::plain(to_be_copied(report)));
    }
    head.add(notices(&said));
    head.add(figures(report, sums));

    let facts_of = change::facts(report, false);
    let mut main = section("facts", "What changes", facts(&facts_of));
    let mut pictures = Pictures::default();
    pictures.bands(&[old, new].map(Row::of_epoch));
    pictures.moves(old, new, sums)?;
    pictures.shares(new, Some(old));
    let (drawn, styles) = pictures.into_parts();
    main.add(section("pictures", "Before and after", drawn));
    main.add(flows::table(report, sums));
    main.add(section(
        "nodes",
        "Nodes before and after",
        nodes::of_change(new, report),
    ));
    let from = |map| origin(map, history.iter().chain([old]));
    // a plan has no history, in which the program would find where the data was
    let (asked, file) = match is_planned {
        true => (old, files[0].0),
        false => (new, files[1].0),
    };
    let (form, data) = lookup::form(&[(old, from(old)), (new, from(new))], asked, file)?;
    let mut locate = lookup::about(new);
    locate.add(form);
    main.add(section(
        "locate-a-key",
        "Where was a key, and where will it be?",
        locate,
    ));
    main.add(domains::table(new, report));

    Ok(Page {
        title: format!(
            "{}, epoch {} to {} - stead",
            new.name(),
            old.epoch(),
            new.epoch()
        ),
        head,
        main,
        foot: foot(files),
        styles,
    }
    .html(data.as_ref()))
}

/// Says what becomes of the data that moves, for people who type no commands.
fn to_be_copied(report: &Report) -> String {
    format!(
        "Programs will look for the moved {} at its new places at once. A cache refills itself; \
         other data must be copied, or carried (apply --carry).",
        moved(report)
    )
}

/// Says the same where a carry begins.
fn carried(report: &Report) -> String {
    format!(
        "The moved {} is carried: until the data is at its new places, programs that follow the \
         carry use the old places, too. A program that does not follow it looks only at the new \
         places, and does not find what is not there yet.",
        moved(report)
    )
}

/// Formats how much data must come to new places.
fn moved(report: &Report) -> String {
    let copies = report.copies.as_ref();
    let of = copies.map_or(report.replicas, |copies| copies.of_replicas);
    let moved = copies.map_or(0, |copies| copies.copied.count() + copies.pinned.count());
    part(moved, of)
}

fn figures(report: &Report, sums: Option<&Summed>) -> Html {
    let copies = report.copies.as_ref();
    let of = copies.map_or(report.replicas, |copies| copies.of_replicas);
    let amount = |amount: Option<&Amount>| part(amount.map_or(0, Amount::count), of);
    let least = report.optimum.as_ref().unwrap_or(&report.lower_bound);
    let note = match report.moved.count() {
        0 => String::new(),
        _ if report.moved.points == least.points => "the least possible".to_owned(),
        _ => format!("at least {}", part(least.count(), of)),
    };
    let moves = Tile::new("Moves", part(report.moved.count(), of), note);
    let dropped = Tile::new(
        "Dropped",
        amount(copies.map(|copies| &copies.dropped)),
        "of all copies",
    );
    // what is lost is read first
    let (first, third) = match copies.is_some_and(|copies| copies.dropped.count() > 0) {
        true => (dropped, moves),
        false => (moves, dropped),
    };
    let before = |old: Option<usize>, new: usize| match old {
        Some(old) if old != new => format!("before: {}", grouped(old as u64)),
        _ => "as before".to_owned(),
    };
    let left = report
        .left
        .iter()
        .flatten()
        .filter(|left| left.what == "node")
        .count();
    let fresh = report
        .nodes
        .iter()
        .filter(|node| node.old_weight.is_none())
        .count();
    let nodes = report.nodes.len();
    let mut list = vec![
        first,
        Tile::new(
            "Copied",
            amount(copies.map(|copies| &copies.copied)),
            "of all copies",
        ),
        third,
        Tile::new(
            "Nodes",
            grouped(nodes as u64),
            before(Some(nodes + left - fresh), nodes),
        ),
        Tile::new(
            "Copies of each key",
            report.replicas.to_string(),
            before(
                report.old_replicas.map(|r| r as usize),
                report.replicas as usize,
            ),
        ),
        Tile::new(
            "Slices",
            grouped(report.slices as u64),
            match report.old_slices {
                Some(old) if old != report.slices => format!(
                    "before: {} {}; map file {}",
                    grouped(old as u64),
                    if old == 1 { "slice" } else { "slices" },
                    size(report.bytes)
                ),
                _ => format!("as before; map file {}", size(report.bytes)),
            },
        ),
    ];
    if let Some(sums) = sums {
        list.insert(1, moved_of(sums));
    }
    if let Some(to_come) = &report.to_come {
        list.push(Tile::new(
            "Still to move",
            part(to_come.count(), of),
            "after this step",
        ));
    }
    tiles(list)
}

/// Says what is copied of the rows or bytes of a file, in the unit of its reader. The sentence
/// above has the numbers in full, which may be wider than a tile.
fn moved_of(sums: &Summed) -> Tile {
    let amount = |sum: Sum| {
        let number = match sums.counted {
            true => sum.count,
            false => sum.lines.into(),
        };
        match number {
            0..1_000_000 => grouped_large(number),
            _ => brief(number),
        }
    };
    let figure = format!("{} {}", amount(sums.copied), sums.word());
    let mut note = format!("of {}", amount(sums.whole()));
    if sums.dropped.lines > 0 {
        note += &format!("; {} are dropped", amount(sums.dropped));
    }
    Tile::new("To be copied", figure.trim_end(), note)
}

fn foot(files: [(&str, [u8; 32]); 2]) -> Html {
    let mut inside = Html::default();
    let labels = ["old digest", "new digest"];
    for (label, (_, digest)) in labels.into_iter().zip(files) {
        inside.add(element("dt", &[], label));
        inside.add(element("dd", &[], command(&hex(&digest))));
    }
    let mut html = element("dl", &[("class", "identity")], inside);
    let mut made = Html::text("Made by ");
    made.add(command(&format!(
        "stead report {} {}",
        files[0].0, files[1].0
    )));
    made.add(Html::text(". The same maps give the same page."));
    html.add(element("p", &[], made));
    html
}

//! Named policies, pins, nodes that answer first, and the hottest keys of a log.

use stead::load::Tally;
use stead::policy::PolicyId;
use stead::Map;
use stead_plot::grouped;

use super::html::{section, Html};
use super::sheet::{number, text, word, Cell, Sheet};
use super::tiles::remark;
use crate::input::shown;
use crate::text::count;

/// How many pins, and how many firsts, are listed: a proposal of `load` may have hundreds.
const LISTED: usize = 500;
/// How many of the hottest keys are listed.
const HOTTEST: usize = 20;

/// Names the nodes of a policy, primary first.
fn members(map: &Map, policy: PolicyId) -> Html {
    let members = map.policy(policy).members().enumerate();
    members
        .flat_map(|(i, node)| {
            let name = map.node(node).name();
            [Html::text(if i > 0 { ", " } else { "" }), Html::name(name)]
        })
        .collect()
}

/// Names what a pin or a first covers.
fn covered(key: Option<&[u8]>) -> Html {
    key.map_or(Html::text("range"), |key| {
        let mut html = Html::text("key ");
        html.add(Html::name(&shown(key)));
        html
    })
}

fn more(all: usize) -> Html {
    match all.saturating_sub(LISTED) {
        0 => Html::default(),
        left => remark(format!(
            "and {left} more; `stead show --json` lists them all"
        )),
    }
}

/// Returns the tables of what lies over the shares; nothing for a map without such things.
pub fn by_hand(map: &Map) -> Html {
    let mut html = Html::default();
    let mut policies = Sheet::new(
        "policies-table",
        "Named policies",
        &[text("policy"), text("kind"), text("nodes, primary first")],
    );
    for policy in map.policies() {
        if let Some(name) = policy.name() {
            policies.row([
                Cell::from(Html::name(name)),
                Cell::from(Html::name(policy.kind())),
                Cell::from(members(map, policy.id)),
            ]);
        }
    }
    html.add(policies.html());
    let mut pins = Sheet::new(
        "pins-table",
        "Pins, which lie over the shares",
        &[
            text("pinned"),
            word("first point"),
            word("last point"),
            text("nodes, primary first"),
            text("policy"),
        ],
    );
    for pin in map.pins().take(LISTED) {
        let mut what = covered(pin.key);
        what.add(Html::text(if pin.short { " (short)" } else { "" }));
        pins.row([
            Cell::from(what),
            Cell::from(pin.slice.first.to_string()),
            Cell::from(pin.slice.last.to_string()),
            Cell::from(members(map, pin.slice.policy)),
            Cell::from(
                map.policy(pin.slice.policy)
                    .name()
                    .map_or(Html::default(), Html::name),
            ),
        ]);
    }
    html.add(pins.html()).add(more(map.pins().len()));
    let mut firsts = Sheet::new(
        "firsts-table",
        "Nodes that answer first where they hold a copy",
        &[
            text("answers first"),
            word("first point"),
            word("last point"),
            text("node"),
        ],
    );
    for first in map.firsts().take(LISTED) {
        firsts.row([
            Cell::from(covered(first.key)),
            Cell::from(first.first.to_string()),
            Cell::from(first.last.to_string()),
            Cell::from(Html::name(map.node(first.node).name())),
        ]);
    }
    html.add(firsts.html()).add(more(map.firsts().len()));
    let is_empty = map.pins().len() + map.firsts().len() == 0
        && map.policies().all(|policy| policy.name().is_none());
    match is_empty {
        true => Html::default(),
        false => section("by-hand", "Policies and pins", html),
    }
}

/// Returns the hottest keys of a log, with their nodes. `unit` says what the counts of the log are.
pub fn hottest(tally: &Tally, unit: &str) -> Html {
    let map = tally.map();
    let columns = [
        text("hottest keys"),
        number(unit.to_owned()),
        number("part"),
        text("nodes, primary first"),
    ];
    let mut sheet = Sheet::new("hottest-table", "The hottest keys of the log", &columns);
    for hot in tally.hottest(HOTTEST) {
        let key = hot
            .key
            .map_or_else(|| format!("point {}", hot.point), shown);
        let fraction = hot.accesses as f64 / tally.accesses().max(1) as f64;
        sheet.row([
            Cell::from(Html::name(&key)),
            Cell::of(
                match hot.missed {
                    0 => grouped(hot.accesses),
                    missed => format!(
                        "{} to {}",
                        grouped(hot.accesses),
                        grouped(hot.accesses + missed)
                    ),
                },
                hot.accesses,
            ),
            Cell::of(crate::picture::part(fraction), fraction),
            Cell::from(members(map, map.policy_of(hot.point))),
        ]);
    }
    sheet.html()
}

/// Says how many accesses a log has, in words. `unit` says what its counts are, such as `accesses`.
pub fn log_in_words(tally: &Tally, unit: &str) -> String {
    let (keys, exact) = tally.keys();
    let about = if exact { "" } else { "about " };
    format!(
        "{} of {about}{}",
        match (tally.accesses(), unit) {
            (1, "accesses") => "1 access".to_owned(),
            (sum, unit) => format!("{} {unit}", grouped(sum)),
        },
        count(usize::try_from(keys).unwrap_or(usize::MAX), "key")
    )
}

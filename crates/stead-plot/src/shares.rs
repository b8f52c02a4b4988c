//! Shares: how much of the hash space each node has, against what its weight asks for.

use stead::point::SPACE;
use stead::verdict::{Holder, Verdict};
use stead::Map;

use crate::bars::{falling, rows, Bar, ROWS};
use crate::canvas::Canvas;
use crate::colours::amount;
use crate::figures::{count, percent};
use crate::groups::natural;
use crate::options::Options;

/// The number of cells from which on a cell has hardly more than one key.
pub const MANY_CELLS: u128 = 1 << 32;

/// A node or a policy with a weight, and what it has.
struct Share {
    name: String,
    now: f64,
    target: f64,
    /// what it had in the map before, if there is such a map
    before: Option<f64>,
    /// whether the map before did not have it
    is_new: bool,
}

impl Share {
    /// Returns by how much the share is larger or smaller than before.
    fn change(&self) -> f64 {
        self.now - self.before.unwrap_or(self.now)
    }
}

/// Draws the share of each node against its target: what its weight asks for, as far as the caps of
/// the fault domains allow it. With a map before it also draws what each node had there. Up to 40
/// nodes are bars; of more, those that change most are, and without a map before all are one
/// falling line of their shares over their targets. If each of so many shares is its target, a
/// sentence says so.
pub fn shares(map: &Map, before: Option<&Map>, options: &Options) -> String {
    let mut shares = of(map, before);
    let title = format!("{}: shares of {}", map.name(), count(shares.len(), "node"));
    let over = |share: &Share| {
        if share.target > 0.0 {
            share.now / share.target
        } else {
            0.0
        }
    };
    let known = || shares.iter().filter(|share| share.target > 0.0);
    let fullest = known().map(over).fold(0.0, f64::max);
    let emptiest = known().map(over).fold(f64::INFINITY, f64::min);
    let exact = shares
        .iter()
        .all(|share| (share.now - share.target).abs() <= 1e-9);
    let balance = match exact {
        true if map.cells().count() < MANY_CELLS => {
            "Every node is as near to its target as whole cells allow.".to_owned()
        }
        true => "Every node has exactly its target.".to_owned(),
        false => format!(
            "The fullest node has {fullest:.2} times its target, the emptiest {:.2} times.",
            if emptiest.is_finite() { emptiest } else { 0.0 }
        ),
    };
    let asks = asks(map);
    let all = shares.len();
    let few = all <= ROWS;
    let what = match (few, before) {
        (true, Some(before)) => format!(
            "The line marks the node's target: {asks}. The grey bar is the share in epoch {}.",
            before.epoch()
        ),
        (true, None) => format!("The line marks the node's target: {asks}."),
        (false, Some(before)) => format!(
            "Of {all} nodes, these {ROWS} change most. The line marks the node's target: {asks}. \
             The grey bar is the share in epoch {}.",
            before.epoch()
        ),
        (false, None) if exact => format!("A node's target is {asks}. {}", ends(&shares)),
        (false, None) => format!("Each node's share over its target: {asks}."),
    };
    let mut canvas = Canvas::new(options, title, &[format!("{balance} {what}")]);
    let said: Vec<String> = shares
        .iter()
        .map(|share| format!("{} {}", share.name, percent(share.now)))
        .collect();
    let said = format!("{balance} {}.", said.join(", "));
    match (few, before) {
        (true, _) => rows(&mut canvas, &shares.iter().map(bar).collect::<Vec<_>>()),
        (false, Some(_)) => {
            // of equal changes, those that come first by name are shown
            shares.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
            shares.truncate(ROWS);
            shares.sort_by(|a, b| natural(&a.name, &b.name));
            rows(&mut canvas, &shares.iter().map(bar).collect::<Vec<_>>());
        }
        (false, None) if exact => canvas.y -= 20.0,
        (false, None) => {
            let values: Vec<(String, f64)> = known()
                .map(|share| (share.name.clone(), over(share)))
                .collect();
            falling(&mut canvas, &values, &[(1.0, "target")], |value| {
                format!("{value:.2}")
            });
        }
    }
    canvas.finish(&said)
}

/// Says what the target of a node is.
fn asks(map: &Map) -> String {
    let mut spread = map.spread();
    let limit = match (map.replicas(), spread.next(), spread.next()) {
        (1, ..) => String::new(),
        (_, None, _) => ", up to one copy of each key".to_owned(),
        (_, Some(label), None) => format!(", as far as the cap of its {label} allows"),
        _ => ", as far as the caps of its fault domains allow".to_owned(),
    };
    format!("what its weight asks for{limit}")
}

/// Says between which ends the shares are.
fn ends(shares: &[Share]) -> String {
    let now = |share: &&Share| share.now;
    let by_share = |a: &&Share, b: &&Share| a.now.total_cmp(&b.now);
    let least = shares.iter().min_by(by_share);
    let most = shares.iter().max_by(by_share);
    match (least, most) {
        (Some(least), Some(most)) if now(&most) - now(&least) > 1e-9 => format!(
            "The shares are from {} ({}) to {} ({}).",
            percent(least.now),
            least.name,
            percent(most.now),
            most.name
        ),
        (_, Some(most)) => format!("Each has {}.", percent(most.now)),
        _ => String::new(),
    }
}

fn of(map: &Map, before: Option<&Map>) -> Vec<Share> {
    let verdict = Verdict::of(map, 0);
    let old = before.map(|map| (map, Verdict::of(map, 0)));
    let part = |points: u128, map: &Map| points as f64 / (f64::from(map.replicas()) * SPACE as f64);
    let share = |holder: &Holder, policy: bool| {
        let target = verdict.in_points(holder.target.unwrap_or(holder.wanted));
        let had = old.as_ref().map(|(map, verdict)| {
            let list = if policy {
                &verdict.policies
            } else {
                &verdict.nodes
            };
            let found = list.iter().find(|old| old.name == holder.name);
            found.map(|old| part(old.now.points, map))
        });
        Share {
            name: if policy {
                format!("policy {}", holder.name)
            } else {
                holder.name.to_owned()
            },
            now: part(holder.now.points, map),
            target: part(target, map),
            before: had.map(|had| had.unwrap_or(0.0)),
            is_new: had.is_some_and(|had| had.is_none()),
        }
    };
    let nodes = verdict.nodes.iter().map(|node| share(node, false));
    let mut shares: Vec<Share> = nodes
        .chain(verdict.policies.iter().map(|policy| share(policy, true)))
        .collect();
    shares.sort_by(|a, b| natural(&a.name, &b.name));
    shares
}

fn bar(share: &Share) -> Bar {
    let change = match share.before {
        Some(_) if share.is_new => ", new".to_owned(),
        Some(before) => format!(", was {}", percent(before)),
        None => String::new(),
    };
    let note = format!("{}{change}", percent(share.now));
    Bar {
        label: share.name.clone(),
        // not the colour of a node, which it would have in the other pictures of a page
        parts: vec![(share.now, amount(0.6))],
        mark: Some(share.target),
        ghost: share.before,
        said: format!("{}: {note}, target {}", share.name, percent(share.target)),
        note,
    }
}

#[cfg(test)]
mod tests {
    use stead::{build, Fleet};

    use super::*;

    /// Two epochs of a cluster of so many nodes, the first without the last of them.
    fn epochs(nodes: usize, head: &str) -> [Map; 2] {
        let fleet = |nodes: usize| {
            let mut text = format!("name = 'c'\n{head}\n");
            for i in 1..=nodes {
                text += &format!(
                    "[[node]]\nname = 'n{i}'\nlabels = {{ zone = 'z{}' }}\n",
                    i % 3
                );
            }
            Fleet::parse(&text, "fleet.toml").unwrap()
        };
        let old = build(&fleet(nodes - 1), None).unwrap();
        let new = build(&fleet(nodes), Some(&old)).unwrap();
        [old, new]
    }

    #[test]
    fn a_new_node_is_called_new() {
        let [old, new] = epochs(4, "");
        let svg = shares(&new, Some(&old), &Options::default());
        assert_eq!(svg.matches("25.0 %, new</text>").count(), 1);
        assert_eq!(svg.matches("25.0 %, was 33.3 %</text>").count(), 3);
        assert!(!svg.contains("was 0.0 %"));
    }

    #[test]
    fn the_bars_have_the_colour_of_no_node() {
        let [old, new] = epochs(4, "");
        let svg = shares(&new, Some(&old), &Options::default());
        let drawn = svg.split("</style>").nth(1).unwrap();
        assert_eq!(drawn.matches("class=\"sp-r4\"").count(), 4);
        assert!((0..8).all(|i| !drawn.contains(&format!("class=\"sp-{i}\""))));
    }

    #[test]
    fn long_names_are_told_apart() {
        let names = [
            "eu-frankfurt-store-1",
            "eu-frankfurt-store-2",
            "eu-paris-store-1",
        ];
        let mut text = "name = 'c'\n".to_owned();
        for name in names {
            text += &format!("[[node]]\nname = '{name}.on-the-first-floor.example.net'\n");
        }
        let map = build(&Fleet::parse(&text, "fleet.toml").unwrap(), None).unwrap();
        let svg = shares(&map, None, &Options::default());
        for name in names {
            assert!(svg.contains(&format!(">{name}</text>")), "{svg}");
        }
        let without = "Names are written without .on-the-first-floor.example.net.</text>";
        assert!(svg.contains(without), "{svg}");
    }

    #[test]
    fn many_shares_that_are_their_targets_are_one_sentence() {
        let [old, new] = epochs(100, "");
        let options = Options {
            width: 4000,
            ..Options::default()
        };
        let svg = shares(&new, None, &options);
        assert!(svg.contains("Every node has exactly its target."), "{svg}");
        assert!(svg.contains("Each has 1.00 %.</text>"));
        assert!(!svg.contains("<path") && svg.matches("<rect").count() == 1);
        // of a change, what changes is shown: here the new node first of all
        let svg = shares(&new, Some(&old), &options);
        assert!(svg.contains("Of 100 nodes, these 40 change most."));
        assert!(svg.contains("1.00 %, new</text>"));
        assert_eq!(svg.matches("1.00 %, was 1.01 %</text>").count(), 39);
    }

    #[test]
    fn a_target_is_explained_with_what_limits_it() {
        let zones = "replicas = 3\nspread = ['zone']";
        for (head, limit) in [
            ("", "what its weight asks for."),
            ("replicas = 2", "asks for, up to one copy of each key."),
            (zones, "asks for, as far as the cap of its zone allows."),
        ] {
            let [map, _] = epochs(7, head);
            let svg = shares(&map, None, &Options::default());
            assert!(svg.contains(limit) && !svg.contains("ideal"), "{head}");
        }
    }
}

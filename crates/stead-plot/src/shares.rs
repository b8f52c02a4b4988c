//! Shares: how much of the hash space each node has, against what its weight asks for.

use stead::point::SPACE;
use stead::verdict::{Holder, Verdict};
use stead::Map;

use crate::bars::{falling, rows, Bar, ROWS};
use crate::canvas::Canvas;
use crate::figures::{count, percent};
use crate::groups::natural;
use crate::options::Options;

/// A node or a policy with a weight, and what it has.
struct Share {
    name: String,
    now: f64,
    ideal: f64,
    before: Option<f64>,
}

/// Draws the share of each node against its ideal share: what its weight asks for, as far as the
/// caps of the fault domains allow it. With a map before it also draws what each node had there. Up
/// to 40 nodes are bars; more are one falling line of their shares over the ideal ones.
pub fn shares(map: &Map, before: Option<&Map>, options: &Options) -> String {
    let shares = of(map, before);
    let title = format!("{}: shares of {}", map.name(), count(shares.len(), "node"));
    let over = |share: &Share| {
        if share.ideal > 0.0 {
            share.now / share.ideal
        } else {
            0.0
        }
    };
    let known = || shares.iter().filter(|share| share.ideal > 0.0);
    let fullest = known().map(over).fold(0.0, f64::max);
    let emptiest = known().map(over).fold(f64::INFINITY, f64::min);
    let exact = shares
        .iter()
        .all(|share| (share.now - share.ideal).abs() <= 1e-9);
    let balance = match exact {
        true => "Every node has exactly its ideal share.".to_owned(),
        false => format!(
            "The fullest node has {fullest:.2} times its ideal share, the emptiest {:.2} times.",
            if emptiest.is_finite() { emptiest } else { 0.0 }
        ),
    };
    let few = shares.len() <= ROWS;
    let what = match (few, before) {
        (true, Some(before)) => format!(
            "A line marks the ideal share; the grey bar is epoch {}.",
            before.epoch()
        ),
        (true, None) => "A line marks the ideal share, which follows from the weights.".to_owned(),
        (false, _) => {
            "Each node's share over its ideal share, which follows from the weights.".to_owned()
        }
    };
    let mut canvas = Canvas::new(options, title, &[format!("{balance} {what}")]);
    if few {
        rows(&mut canvas, &shares.iter().map(bar).collect::<Vec<_>>());
    } else {
        let values: Vec<(String, f64)> = known()
            .map(|share| (share.name.clone(), over(share)))
            .collect();
        falling(&mut canvas, &values, &[(1.0, "ideal")], |value| {
            format!("{value:.2}")
        });
    }
    let said: Vec<String> = shares
        .iter()
        .map(|share| format!("{} {}", share.name, percent(share.now)))
        .collect();
    canvas.finish(&format!("{balance} {}.", said.join(", ")))
}

fn of(map: &Map, before: Option<&Map>) -> Vec<Share> {
    let verdict = Verdict::of(map, 0);
    let old = before.map(|map| (map, Verdict::of(map, 0)));
    let part = |points: u128, map: &Map| points as f64 / (f64::from(map.replicas()) * SPACE as f64);
    let share = |holder: &Holder, policy: bool| {
        let ideal = verdict.in_points(holder.target.unwrap_or(holder.wanted));
        let had = old.as_ref().map(|(map, verdict)| {
            let list = if policy {
                &verdict.policies
            } else {
                &verdict.nodes
            };
            let found = list.iter().find(|old| old.name == holder.name);
            found.map_or(0.0, |old| part(old.now.points, map))
        });
        Share {
            name: if policy {
                format!("policy {}", holder.name)
            } else {
                holder.name.to_owned()
            },
            now: part(holder.now.points, map),
            ideal: part(ideal, map),
            before: had,
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
    let change = share
        .before
        .map(|before| format!(", was {}", percent(before)));
    let note = format!("{}{}", percent(share.now), change.unwrap_or_default());
    Bar {
        label: share.name.clone(),
        parts: vec![(share.now, 0)],
        mark: Some(share.ideal),
        ghost: share.before,
        said: format!("{}: {note}, ideal {}", share.name, percent(share.ideal)),
        note,
    }
}

//! The guarantees of docs/placement.md, over random fleets and histories of 200 steps. Code that
//! shares nothing with the core judges them, and for each there is a broken map that the judge must
//! reject.

use crate::judge::{read, Holder, Judged};
use proptest::prelude::*;
use stead::report::Report;
use stead::{build, Error, Fleet, Map, Plan};

/// A fleet in the form of the test, with everything that its text needs.
#[derive(Clone, Debug, Default)]
struct Wanted {
    nodes: Vec<(String, u64, Option<String>)>,
    policies: Vec<(String, u64)>,
    max_slices: Option<usize>,
    /// Where the range of each pin starts, in millionths of a percent.
    pins: Vec<u64>,
    next: usize,
}

#[derive(Clone, Debug)]
enum Change {
    Add(u64),
    AddMany(usize, u64),
    Remove(usize),
    Reweight(usize, u64),
    Rename(usize),
    AddPolicy(u64),
    ReweightPolicy(usize, u64),
    RemovePolicy(usize),
    Pin(u64),
    Unpin(usize),
}

/// Weights in millionths: usual ones, small ones, huge ones, zero.
fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(1_000_000u64),
        4 => 1u64..10_000_000,
        1 => 1u64..10,
        1 => 999_999_000_000u64..=1_000_000_000_000,
        1 => Just(0u64),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => weight().prop_map(Change::Add),
        1 => (2usize..8, weight()).prop_map(|(n, w)| Change::AddMany(n, w)),
        4 => any::<usize>().prop_map(Change::Remove),
        6 => (any::<usize>(), weight()).prop_map(|(i, w)| Change::Reweight(i, w)),
        1 => any::<usize>().prop_map(Change::Rename),
        1 => weight().prop_map(Change::AddPolicy),
        1 => (any::<usize>(), weight()).prop_map(|(i, w)| Change::ReweightPolicy(i, w)),
        1 => any::<usize>().prop_map(Change::RemovePolicy),
        1 => (0u64..99_000_000).prop_map(Change::Pin),
        1 => any::<usize>().prop_map(Change::Unpin),
    ]
}

impl Wanted {
    fn first() -> Wanted {
        let mut wanted = Wanted::default();
        wanted.add(1_000_000);
        wanted
    }

    fn add(&mut self, weight: u64) {
        // names whose order is not the order of age
        let name = format!("n{}-{}", (self.next * 7919) % 1000, self.next);
        self.next += 1;
        self.nodes.push((name, weight, None));
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Add(weight) => self.add(*weight),
            Change::AddMany(n, weight) => (0..*n).for_each(|_| self.add(*weight)),
            Change::Remove(i) if self.nodes.len() > 1 => {
                drop(self.nodes.remove(i % self.nodes.len()))
            }
            Change::Reweight(i, weight) => {
                let n = self.nodes.len();
                self.nodes[i % n].1 = *weight;
            }
            Change::Rename(i) => {
                let n = self.nodes.len();
                let node = &mut self.nodes[i % n];
                let name = format!("renamed-{}", self.next);
                node.2 = Some(std::mem::replace(&mut node.0, name));
                self.next += 1;
            }
            Change::AddPolicy(weight) => {
                self.policies.push((format!("p{}", self.next), *weight));
                self.next += 1;
            }
            Change::ReweightPolicy(i, weight) if !self.policies.is_empty() => {
                let n = self.policies.len();
                self.policies[i % n].1 = *weight;
            }
            Change::RemovePolicy(i) if !self.policies.is_empty() => {
                drop(self.policies.remove(i % self.policies.len()))
            }
            Change::Pin(at) if self.pins.iter().all(|p| p.abs_diff(*at) > 10) => {
                self.pins.push(*at)
            }
            Change::Unpin(i) if !self.pins.is_empty() => {
                self.pins.remove(i % self.pins.len());
            }
            _ => {}
        }
        if self
            .nodes
            .iter()
            .map(|n| n.1)
            .chain(self.policies.iter().map(|p| p.1))
            .all(|w| w == 0)
        {
            self.nodes[0].1 = 1_000_000;
        }
    }

    /// The text of the fleet. `scale` multiplies all weights; `turned` reverses the order of
    /// everything.
    fn text(&self, scale: u64, turned: bool) -> String {
        let weight = |w: u64| format!("{}.{:06}", w * scale / 1_000_000, w * scale % 1_000_000);
        let mut blocks = Vec::new();
        for (name, w, formerly) in &self.nodes {
            let formerly = formerly
                .as_ref()
                .map_or(String::new(), |f| format!("formerly = \"{f}\"\n"));
            blocks.push(format!(
                "[[node]]\nname = \"{name}\"\nweight = {}\n{formerly}",
                weight(*w)
            ));
        }
        let some_node = &self.nodes.iter().map(|n| &n.0).min().unwrap();
        for (name, w) in &self.policies {
            blocks.push(format!(
                "[[policy]]\nname = \"{name}\"\nweight = {}\nnodes = [\"{some_node}\"]\n",
                weight(*w)
            ));
        }
        for at in &self.pins {
            let percent = |x: u64| format!("{}.{:06}%", x / 1_000_000, x % 1_000_000);
            let range = format!("[\"{}\", \"{}\"]", percent(*at), percent(at + 5));
            blocks.push(format!(
                "[[pin]]\nrange = {range}\nnodes = [\"{some_node}\"]\n"
            ));
        }
        if turned {
            blocks.reverse();
        }
        let limit = self
            .max_slices
            .map_or(String::new(), |most| format!("max_slices = {most}\n"));
        format!("name = \"test\"\n{limit}{}", blocks.concat())
    }

    fn fleet(&self) -> Fleet {
        Fleet::parse(&self.text(1, false), "test.toml").unwrap()
    }

    /// The name in this fleet of a holder of the map before.
    fn renamed(&self, before: &Judged, holder: &Holder) -> Holder {
        let Holder::Node(name) = holder else {
            return holder.clone();
        };
        let known = |n: &str| before.weights.contains_key(&Holder::Node(n.to_owned()));
        for (new, _, formerly) in &self.nodes {
            if formerly.as_deref() == Some(name)
                && !known(new)
                && self.nodes.iter().all(|n| n.0 != *name)
            {
                return Holder::Node(new.clone());
            }
        }
        holder.clone()
    }
}

fn histories() -> ProptestConfig {
    // 64 histories of 200 steps: 12,800 maps, a few seconds
    ProptestConfig {
        cases: 64,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(histories())]

    #[test]
    fn balance_is_exact_and_movement_least_at_every_step(changes in prop::collection::vec(change(), 200)) {
        let mut wanted = Wanted::first();
        let mut map = build(&wanted.fleet(), None).unwrap();
        for change in &changes {
            wanted.change(change);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            let (before, after) = (read(map.bytes()), read(next.bytes()));
            let renamed = |holder: &Holder| wanted.renamed(&before, holder);
            prop_assert_eq!(after.check_balance(), Ok(()));
            prop_assert_eq!(before.check_movement(&after, &renamed), Ok(()));
            // the report must agree with the judge
            let plan = Plan::between(&map, &next).unwrap();
            prop_assert_eq!(plan.amounts.moved.0, before.moved(&after, &renamed));
            prop_assert_eq!(plan.amounts.lower_bound, plan.amounts.moved);
            map = next;
        }
    }

    #[test]
    fn the_same_fleet_gives_the_same_bytes_in_whatever_order_it_is_written(changes in prop::collection::vec(change(), 60)) {
        let mut wanted = Wanted::first();
        let mut map = build(&wanted.fleet(), None).unwrap();
        for change in &changes {
            wanted.change(change);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            let turned = Fleet::parse(&wanted.text(1, true), "test.toml").unwrap();
            let again = build(&turned, Some(&Map::from_bytes(map.bytes().to_vec()).unwrap())).unwrap();
            prop_assert_eq!(next.bytes(), again.bytes());
            map = next;
        }
    }

    #[test]
    fn nothing_moves_when_nothing_changed_or_all_weights_scale_alike(changes in prop::collection::vec(change(), 60), scale in 2u64..50) {
        let mut wanted = Wanted::first();
        let mut map = build(&wanted.fleet(), None).unwrap();
        for change in &changes {
            wanted.change(change);
            map = build(&wanted.fleet(), Some(&map)).unwrap();
            let same = build(&wanted.fleet(), Some(&map)).unwrap();
            prop_assert!(same.same(&map));
            let all_small = wanted.nodes.iter().map(|n| n.1).chain(wanted.policies.iter().map(|p| p.1)).max().unwrap();
            if all_small * scale <= 1_000_000_000_000 {
                let scaled = Fleet::parse(&wanted.text(scale, false), "test.toml").unwrap();
                let scaled = build(&scaled, Some(&map)).unwrap();
                prop_assert!(scaled.base_slices().eq(map.base_slices()));
                prop_assert_eq!(Plan::between(&map, &scaled).unwrap().amounts.moved.0, 0);
            }
        }
    }

    #[test]
    fn slices_stay_within_max_slices_and_shares_stay_exact(changes in prop::collection::vec(change(), 60), room in 0usize..20) {
        let mut wanted = Wanted::first();
        let mut map = build(&wanted.fleet(), None).unwrap();
        for change in &changes {
            wanted.change(change);
            let weights = wanted.nodes.iter().map(|n| n.1).chain(wanted.policies.iter().map(|p| p.1));
            let total: u128 = weights.clone().map(u128::from).sum();
            // holders whose share is below one point may get none, which allows fewer slices
            let least = weights.filter(|w| u128::from(*w) << 64 >= total).count();
            wanted.max_slices = Some(least + room);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            prop_assert!(next.base_count() <= least + room);
            prop_assert_eq!(read(next.bytes()).check_balance(), Ok(()));
            if least > 1 {
                let too_few = Wanted { max_slices: Some(least - 1), ..wanted.clone() };
                match build(&too_few.fleet(), Some(&next)) {
                    Err(Error::Impossible { problem }) => prop_assert!(problem.contains(&format!("set it to {least} or more")), "{}", problem),
                    other => prop_assert!(false, "accepted: {:?}", other.map(|m| m.base_count())),
                }
            }
            map = next;
        }
    }
}

#[test]
fn a_tight_limit_costs_no_more_than_a_contiguous_layout_in_place() {
    let maps = grown(&[10, 20, 30, 40, 50, 60]);
    let last = &maps[5];
    let nodes: String = (0..60)
        .map(|i| format!("[[node]]\nname = \"n{i:02}\"\n"))
        .collect();
    let within = |most: usize| {
        let fleet = Fleet::parse(
            &format!("name = \"test\"\nmax_slices = {most}\n{nodes}"),
            "test.toml",
        )
        .unwrap();
        let next = build(&fleet, Some(last)).unwrap();
        assert!(next.base_count() <= most);
        Plan::between(last, &next).unwrap().amounts.moved.0 as f64 / 2f64.powi(64)
    };
    let costs: Vec<f64> = [60, 70, 90, last.base_count()]
        .into_iter()
        .map(within)
        .collect();
    // the first row is the contiguous layout, which moves about half of the space; more room costs
    // less, and enough room costs nothing
    assert!(costs[0] < 0.55, "{costs:?}");
    assert!(
        costs[1] <= costs[0] && costs[2] < costs[1] && costs[3] == 0.0,
        "{costs:?}"
    );
}

#[test]
fn the_report_shows_the_cost_of_a_limit_beside_the_optimum() {
    let maps = grown(&[10, 20, 30, 40]);
    let nodes: String = (0..50)
        .map(|i| format!("[[node]]\nname = \"n{i:02}\"\n"))
        .collect();
    let optimum = |limit: &str| {
        let fleet = Fleet::parse(&format!("name = \"test\"\n{limit}{nodes}"), "test.toml").unwrap();
        let next = build(&fleet, maps.last()).unwrap();
        let report = Report::of_fleet(&fleet, maps.last(), &next, false).unwrap();
        (report.moved, report.optimum.unwrap(), report.lower_bound)
    };
    let (moved, least, bound) = optimum("");
    assert!(moved == least && least == bound);
    let (limited, still_least, _) = optimum("max_slices = 60\n");
    assert!(
        limited.fraction > least.fraction && still_least == least,
        "{limited:?} {least:?}"
    );
}

fn grown(sizes: &[usize]) -> Vec<Map> {
    let mut maps: Vec<Map> = Vec::new();
    for size in sizes {
        let nodes: String = (0..*size)
            .map(|i| format!("[[node]]\nname = \"n{i:02}\"\n"))
            .collect();
        let fleet = Fleet::parse(&format!("name = \"test\"\n{nodes}"), "test.toml").unwrap();
        maps.push(build(&fleet, maps.last()).unwrap());
    }
    maps
}

#[test]
fn the_judge_rejects_one_point_too_many() {
    let maps = grown(&[4, 7]);
    let mut judged = read(maps[1].bytes());
    assert_eq!(judged.check_balance(), Ok(()));
    judged.slices[1].0 += 1;
    assert!(judged.check_balance().is_err());
    // a left-over point at the wrong holder: 2^64 / 7 leaves 2, which the first two holders get
    let mut judged = read(maps[1].bytes());
    let points = judged.points();
    assert_eq!(
        points[&Holder::Node("n00".into())],
        points[&Holder::Node("n06".into())] + 1
    );
    judged.slices.iter_mut().for_each(|(_, h)| {
        let swap = |a: &str, b: &str, n: &str| {
            if n == a {
                b.to_owned()
            } else if n == b {
                a.to_owned()
            } else {
                n.to_owned()
            }
        };
        if let Holder::Node(name) = h {
            *name = swap("n00", "n06", name);
        }
    });
    assert!(judged.check_balance().unwrap_err().contains("left-over"));
}

#[test]
fn the_judge_rejects_one_point_beyond_the_tolerance() {
    let nodes = "[[node]]\nname = 'a'\n[[node]]\nname = 'b'\nweight = 3\n";
    let fleet = format!("name = 'test'\ntolerance = '1%'\n{nodes}");
    let map = build(&Fleet::parse(&fleet, "test.toml").unwrap(), None).unwrap();
    let judged = read(map.bytes());
    assert_eq!(judged.tolerance, 10_000);
    let target = judged.targets()[&Holder::Node("a".into())];
    assert_eq!(target, 1 << 62);
    let with_points_of_a = |points: u128| {
        let mut judged = judged.clone();
        judged.slices[1].0 = points as u64;
        judged.check_balance()
    };
    // 1% of 2^62 is not whole, so the band is rounded inwards
    let room = target / 100;
    for within in [target - room, target, target + room] {
        assert_eq!(with_points_of_a(within), Ok(()));
    }
    assert!(with_points_of_a(target - room - 1).is_err());
    assert!(with_points_of_a(target + room + 1).is_err());
    // without a tolerance, the first point beyond the target is too many
    let mut exact = judged.clone();
    exact.tolerance = 0;
    exact.slices[1].0 += 1;
    assert!(exact.check_balance().is_err());
}

#[test]
fn the_judge_rejects_unnecessary_movement() {
    let maps = grown(&[4, 7]);
    let (before, mut after) = (read(maps[0].bytes()), read(maps[1].bytes()));
    let same = |h: &Holder| h.clone();
    assert_eq!(before.check_movement(&after, &same), Ok(()));
    // two old nodes swap everything they have: the shares stay right, the movement does not
    after.slices.iter_mut().for_each(|(_, h)| {
        *h = match &*h {
            Holder::Node(n) if n == "n00" => Holder::Node("n01".into()),
            Holder::Node(n) if n == "n01" => Holder::Node("n00".into()),
            other => other.clone(),
        }
    });
    assert!(before.check_movement(&after, &same).is_err());
}

#[test]
fn another_fleet_gives_other_bytes() {
    let maps = grown(&[4]);
    let other = Fleet::parse("name = \"test\"\n[[node]]\nname = \"n00\"\n", "test.toml").unwrap();
    assert_ne!(build(&other, None).unwrap().bytes(), maps[0].bytes());
}

#[test]
fn without_a_limit_the_slices_pass_the_least_number() {
    // the control of the max_slices property: without a limit, these histories make more slices
    // than the limit would allow
    let maps = grown(&[4, 7, 10, 13, 16]);
    assert!(maps[4].base_count() > 16);
}

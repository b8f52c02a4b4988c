//! Histories: fleets that follow each other. Each map is sound, each plan moves the least, and
//! steps lead to the same place as one change.

use std::fmt::Write;

use stead::point::Share;
use stead::verdict::Verdict;
use stead::{build, build_max_move, Fleet, Map};

use crate::input::Input;
use crate::maps::{answers, successor};

/// A fleet that can change.
struct Draft {
    replicas: usize,
    zones: bool,
    tolerance: bool,
    max_slices: Option<usize>,
    /// name, weight in tenths, zone
    nodes: Vec<(usize, usize, usize)>,
    pins: Vec<(usize, usize)>,
    policy: Option<usize>,
}

impl Draft {
    fn text(&self) -> String {
        let mut text = format!("name = 'f'\nreplicas = {}\n", self.replicas);
        let mut add = |part: std::fmt::Arguments<'_>| text.write_fmt(part).expect("a string");
        if self.zones {
            add(format_args!("spread = ['zone']\n"));
        }
        if self.tolerance {
            add(format_args!("tolerance = '10%'\n"));
        }
        if let Some(most) = self.max_slices {
            add(format_args!("max_slices = {most}\n"));
        }
        for (name, tenths, zone) in &self.nodes {
            let (whole, tenth) = (tenths / 10, tenths % 10);
            add(format_args!(
                "[[node]]\nname = 'n{name}'\nweight = {whole}.{tenth}\nlabels = {{zone = '{zone}'}}\n"
            ));
        }
        for (key, node) in &self.pins {
            let one = |at: usize| self.nodes[(node + at) % self.nodes.len()].0;
            let names =
                (0..self.replicas.min(self.nodes.len())).map(|at| format!("'n{}'", one(at)));
            let names: Vec<String> = names.collect();
            add(format_args!(
                "[[pin]]\nkey = 'k{key}'\nnodes = [{}]\nshort = true\n",
                names.join(", ")
            ));
        }
        if let Some(node) = self.policy {
            let name = self.nodes[node % self.nodes.len()].0;
            let weight = if self.replicas == 1 {
                "weight = 1\n"
            } else {
                ""
            };
            add(format_args!(
                "[[policy]]\nname = 'p'\nnodes = ['n{name}']\n{weight}"
            ));
        }
        text
    }

    fn change(&mut self, input: &mut Input<'_>) {
        let at = input.below(self.nodes.len());
        match input.below(12) {
            0..=2 => {
                let name = input.below(64);
                if !self.nodes.iter().any(|node| node.0 == name) && self.nodes.len() < 24 {
                    self.nodes.push((name, 1 + input.below(40), input.below(4)));
                }
            }
            3 | 4 if self.nodes.len() > 1 => {
                self.nodes.remove(at);
            }
            5 | 6 => self.nodes[at].1 = input.below(60),
            7 => self.nodes[at].2 = input.below(4),
            8 => self.replicas = 1 + input.below(4),
            9 => self.pins.push((input.below(200), input.below(24))),
            10 => self.policy = (input.byte() % 2 == 0).then(|| input.below(24)),
            _ => match input.below(4) {
                0 => self.zones = !self.zones,
                1 => self.tolerance = !self.tolerance,
                2 => self.max_slices = Some(20 + input.below(500)),
                _ => self.max_slices = None,
            },
        }
        self.pins.sort_unstable();
        self.pins.dedup_by_key(|(key, _)| *key);
    }
}

/// A history of up to six changes.
pub fn histories(data: &[u8]) {
    let mut input = Input(data);
    let mut draft = Draft {
        replicas: 1 + input.below(3),
        zones: input.byte() % 2 == 0,
        tolerance: false,
        max_slices: None,
        nodes: Vec::new(),
        pins: Vec::new(),
        policy: None,
    };
    for name in 0..1 + input.below(8) {
        draft
            .nodes
            .push((name, 1 + input.below(30), input.below(3)));
    }
    let mut map: Option<Map> = None;
    for _ in 0..7 {
        let fleet = Fleet::parse(&draft.text(), "fleet.toml");
        let built = fleet.and_then(|fleet| Ok((build(&fleet, map.as_ref())?, fleet)));
        if let Ok((next, fleet)) = built {
            assert!(
                Verdict::of(&next, 3).is_sound(),
                "what is built keeps its rules"
            );
            match &map {
                Some(old) => {
                    successor(old, &next);
                    steps(&fleet, old, &next, &mut input);
                }
                None => answers(&next),
            }
            map = Some(next);
        }
        if input.is_over() {
            return;
        }
        for _ in 0..1 + input.below(3) {
            draft.change(&mut input);
        }
    }
}

/// Makes the change in steps: the last one is as balanced as the change at once.
fn steps(fleet: &Fleet, old: &Map, whole: &Map, input: &mut Input<'_>) {
    if input.byte() % 4 != 0 {
        return;
    }
    let part = Share(1 << (60 + input.below(3)));
    let mut at: Option<Map> = None;
    for _ in 0..16 {
        let Ok(next) = build_max_move(fleet, Some(at.as_ref().unwrap_or(old)), part) else {
            return;
        };
        successor(at.as_ref().unwrap_or(old), &next);
        let is_done = next.target_slices().is_none();
        at = Some(next);
        if is_done {
            break;
        }
    }
    if let Some(last) = at.filter(|last| last.target_slices().is_none()) {
        let sound = |map: &Map| Verdict::of(map, 3).is_sound();
        assert_eq!(
            sound(&last),
            sound(whole),
            "steps end where the change ends"
        );
    }
}

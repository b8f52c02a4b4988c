//! The fleet of a map: building it on the map changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use stead::{build, build_max_move, fleet, Allow, Fleet, Map, Store};

fn maps() -> Vec<(String, Map)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/maps");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let named = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, Map::open_uncached(path).unwrap())
    };
    // no next map is computed from a map of a newer stead, and none while a carry is open
    let known = |(_, map): &(String, Map)| map.understood().is_ok() && map.carry().is_none();
    // no fleet gives two nodes one former name
    paths.retain(|path| !path.ends_with("rename-odd.map"));
    paths.iter().map(named).filter(known).collect()
}

/// Builds the text of a map's fleet on the map.
fn again(map: &Map) -> Map {
    let text = map.fleet().to_toml();
    let fleet = Fleet::parse(&text, "fleet").unwrap_or_else(|e| panic!("{e}\n{text}"));
    build(&fleet, Some(map)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn building_the_fleet_of_a_map_on_the_map_changes_nothing() {
    let mut unchanged = 0;
    for (name, map) in maps() {
        let built = again(&map);
        assert_eq!(built.fleet().to_toml(), map.fleet().to_toml(), "{name}");
        assert_eq!(built.target_count(), 0, "{name}");
        // many of these maps are written by hand or are rings: their shares or primaries are not
        // exact, or they have a target. The random histories below have only maps that were built
        unchanged += usize::from(built.same(&map));
        // a target that nobody built is reached at once, and its shares are made exact then
        let built = again(&built);
        assert!(again(&built).same(&built), "{name}");
    }
    assert!(unchanged >= 60, "{unchanged}");
}

/// A random number below `end`.
fn below(state: &mut u64, end: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % end
}

/// A random fleet of up to eight nodes and everything else that a fleet has.
fn random_fleet(state: &mut u64, replicas: u64) -> String {
    let mut text = format!("name = 'random'\nreplicas = {replicas}\nspread = ['zone']\n");
    if below(state, 4) == 0 {
        text += "max_slices = 4000\n";
    }
    if below(state, 4) == 0 {
        text += &format!(
            "tolerance = '{}.{:04}%'\n",
            below(state, 10),
            1 + below(state, 9999)
        );
    }
    // the first three are always there, so that R nodes have a weight
    let mut nodes: Vec<String> = (0..3).map(|i| format!("n{i}")).collect();
    nodes.extend(
        (3..8)
            .filter(|_| below(state, 3) > 0)
            .map(|i| format!("n{i}")),
    );
    for (i, node) in nodes.iter().enumerate() {
        let weight = if i < 3 {
            1 + below(state, 9)
        } else {
            below(state, 9)
        };
        let zone = below(state, 3);
        text += &format!(
            "[[node]]\nname = '{node}'\nweight = {weight}.{:03}\nlabels = {{ zone = 'z{zone}', x = '\"{i}' }}\n",
            below(state, 1000)
        );
        if below(state, 3) == 0 {
            text += &format!("attributes = {{ address = '10.0.0.{i}', 'a b' = '' }}\n");
        }
        if below(state, 5) == 0 {
            text += &format!("formerly = 'was-{node}'\n");
        }
    }
    let some = |state: &mut u64| {
        let first = below(state, nodes.len() as u64) as usize;
        let second = (first + 1) % nodes.len();
        format!("['{}', '{}']", nodes[first], nodes[second])
    };
    for name in ["p", "q"] {
        text += &format!(
            "[[policy]]\nname = '{name}'\nkind = 'k{name}'\nnodes = {}\n",
            some(state)
        );
        if replicas == 1 && below(state, 2) == 0 {
            text += &format!("weight = {}\n", below(state, 5));
        }
    }
    for i in 0..below(state, 5) {
        let first = i * 10 + below(state, 9);
        text += "[[pin]]\n";
        text += &match below(state, 2) {
            0 => format!("key = 'key\\{i}'\n"),
            _ => format!(
                "range = ['{first}.{:05}%', '{first}.{}%']\n",
                below(state, 1000),
                1 + below(state, 8)
            ),
        };
        text += &match below(state, 3) {
            0 => "policy = 'q'\n".to_owned(),
            _ => format!("nodes = {}\n", some(state)),
        };
        if below(state, 2) == 0 {
            text += "short = true\n";
        }
    }
    text
}

#[test]
fn the_fleet_of_a_map_is_the_fleet_that_made_it_in_random_histories() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..12 {
        let mut state = seed;
        // a random history drops copies and takes back what it likes
        let all = Allow::parse("drop-copies,lose-domain,move,take-back").unwrap();
        let store = Store::new(directory.path().join(format!("{seed}.map")), 100).allowing(all);
        let replicas = 1 + below(&mut state, 3);
        let mut made = 0;
        for step in 0..20 {
            let text = random_fleet(&mut state, replicas);
            let fleet = Fleet::parse(&text, "random").unwrap_or_else(|e| panic!("{e}\n{text}"));
            let newest = store.current().unwrap();
            let next = match below(&mut state, 3) {
                0 => build_max_move(&fleet, newest.as_ref(), fleet::part("3%").unwrap()),
                _ => build(&fleet, newest.as_ref()),
            };
            // two pins of a random fleet may overlap, and a weighted policy cannot leave in steps
            let Ok(next) = next else { continue };
            made += 1;
            let same_as_made = |from: &Map| {
                let wanted = build(&fleet, Some(from)).unwrap();
                assert!(
                    again(from).same(&wanted),
                    "seed {seed}, step {step}\n{text}"
                );
            };
            same_as_made(&next);
            if next.target_count() == 0 {
                assert!(again(&next).same(&next), "seed {seed}, step {step}\n{text}");
            }
            store.publish(newest.as_ref(), &next).unwrap();
            // a rollback has a fleet, too
            if next.epoch() > 2 && below(&mut state, 6) == 0 {
                let back = store.rollback(next.epoch() - 1, None).unwrap();
                if back.target_count() == 0 {
                    assert!(again(&back).same(&back), "seed {seed}, step {step}");
                }
            }
        }
        assert!(made >= 8, "seed {seed}: {made} fleets were built");
    }
}

//! The fleet of a map: building it on the map changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use stead::{build, build_max_move, Fleet, Map, Store};

fn maps() -> Vec<(String, Map)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/maps");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, Map::open_uncached(path).unwrap())
        })
        .collect()
}

/// Builds the text of a map's fleet on the map.
fn again(map: &Map) -> stead::Result<Map> {
    build(&Fleet::parse(&map.fleet().to_toml(), "fleet")?, Some(map))
}

#[test]
fn the_fleet_of_every_map_is_accepted_and_changes_nothing() {
    for (name, map) in maps() {
        let text = map.fleet().to_toml();
        let built = again(&map).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        println!("{name} {}", built.same(&map));
    }
}

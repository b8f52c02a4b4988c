//! All vectors of tests/vectors. They come from the plain reference in tests/reference, never from
//! this code.
//!
//! Each test fails unless it ran every vector of its file.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use stead::carry::State;
use stead::hash::{Hash, Secret};
use stead::path::{path, path_name, Fold, Levels};
use stead::policy::NodeId;
use stead::{build, Error, Fleet, Map, Pair, Plan, Point, Status};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// Runs every vector of a file. Reports the vectors that failed, and fails when there are too few.
fn run(file: &str, at_least: usize, check: impl Fn(&Value) -> Result<(), String>) {
    let text = fs::read_to_string(tests().join("vectors").join(file)).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let vectors = json["vectors"].as_array().unwrap();
    let failed: Vec<String> = vectors
        .iter()
        .filter_map(|v| check(v).err().map(|why| format!("{v}\n    {why}")))
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} failed, the first ones:\n{}",
        failed.len(),
        vectors.len(),
        failed[..failed.len().min(8)].join("\n")
    );
    assert!(
        vectors.len() >= at_least,
        "only {} vectors in {file}",
        vectors.len()
    );
    println!("vectors: rust {file} {} passed", vectors.len());
}

fn same<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("found {found:?}, wanted {wanted:?}"))
    }
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {vector}"))
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn key(vector: &Value) -> Vec<u8> {
    let key = unhex(text(vector, "key"));
    let fold = if vector["fold"].as_bool().unwrap_or(false) {
        Fold::Ascii
    } else {
        Fold::None
    };
    fold.apply(&key).into_owned()
}

fn map(name: &str) -> Map {
    Map::open_uncached(tests().join("maps").join(format!("{name}.map")))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn names(map: &Map, nodes: impl Iterator<Item = NodeId>) -> Vec<String> {
    nodes.map(|node| map.node(node).name().to_owned()).collect()
}

fn list(value: &Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect()
}

fn status(name: &str) -> Status {
    match name {
        "fleet" => Status::Fleet,
        "impossible" => Status::Impossible,
        "format" => Status::Format,
        "digest" => Status::Digest,
        "version" => Status::Version,
        _ => panic!("unknown status {name}"),
    }
}

#[test]
fn points() {
    run("points.json", 1900, |v| {
        let hash = match text(v, "hash") {
            "md5" => Hash::Md5,
            "sha1" => Hash::Sha1,
            "xxh3" => Hash::Xxh3,
            "siphash" => Hash::SipHash(Secret::from_hex(text(v, "secret")).unwrap()),
            other => panic!("unknown hash {other}"),
        };
        same(hash.point(&key(v)).to_string(), text(v, "point").to_owned())
    });
}

#[test]
fn paths() {
    run("paths.json", 900, |v| {
        let levels: Vec<u16> = v["levels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap() as u16)
            .collect();
        let fold = if v["fold"].as_bool().unwrap() {
            Fold::Ascii
        } else {
            Fold::None
        };
        let found =
            Levels::new(&levels).and_then(|levels| path(&unhex(text(v, "key")), &levels, fold));
        match (&v["path"], found) {
            (Value::Null, Err(error)) => {
                let wanted = if text(v, "error") == "levels" {
                    Status::Invalid
                } else {
                    Status::Name
                };
                same(error.status(), wanted)
            }
            (wanted, found) => same(
                found.map_err(|e| e.to_string()),
                Ok(wanted.as_str().unwrap().to_owned()),
            ),
        }
    });
}

#[test]
fn names_of_paths() {
    run("names.json", 2000, |v| {
        let levels: Vec<u16> = v["levels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap() as u16)
            .collect();
        let found =
            Levels::new(&levels).and_then(|levels| path_name(&unhex(text(v, "path")), &levels));
        match (&v["name"], found) {
            (Value::Null, Err(error)) => {
                let wanted = match text(v, "error") {
                    "levels" => Status::Invalid,
                    _ => Status::Name,
                };
                same(error.status(), wanted)
            }
            (wanted, found) => same(
                found.map(|name| hex(&name)).map_err(|e| e.to_string()),
                Ok(wanted.as_str().unwrap_or_default().to_owned()),
            ),
        }
    });
}

#[test]
fn places() {
    run("locate.json", 3000, |v| {
        let map = map(text(v, "map"));
        let point = match v.get("key") {
            Some(_) => {
                let key = key(v);
                same(names(&map, map.locate_all(&key)), list(&v["all"]))?;
                same(
                    names(&map, std::iter::once(map.locate(&key))),
                    vec![text(v, "locate").to_owned()],
                )?;
                map.point(&key)
            }
            None => Point::from_hex(text(v, "point")).unwrap(),
        };
        same(point.to_string(), text(v, "point").to_owned())?;
        same(
            names(&map, map.policy(map.policy_of(point)).members()),
            list(&v["all"]),
        )?;
        same(map.node(map.locate_point(point)).name(), text(v, "locate"))?;
        let slice = map.slice_of(point);
        same(
            (slice.first <= point && point <= slice.last, slice.policy),
            (true, map.policy_of(point)),
        )
    });
}

#[test]
fn who_takes_over() {
    run("prefer.json", 1800, |v| {
        let map = map(text(v, "map"));
        let found = map.prefer(&key(v), v["n"].as_u64().unwrap() as usize);
        same(names(&map, found.into_iter()), list(&v["prefer"]))
    });
}

#[test]
fn golden() {
    run("golden.json", 14, |v| {
        let map = map(text(v, "map"));
        let (mut lines, mut points) = (Sha256::new(), Sha256::new());
        let mut line = String::new();
        for i in 0..v["keys"].as_u64().unwrap() {
            let key = i.to_string();
            line.clear();
            for node in map.locate_all(key.as_bytes()) {
                line.push_str(if line.is_empty() { "" } else { "," });
                line.push_str(map.node(node).name());
            }
            line.push('\n');
            lines.update(&line);
            points.update(map.point(key.as_bytes()).0.to_be_bytes());
        }
        same(hex(&lines.finalize()), text(v, "digest").to_owned())?;
        same(hex(&points.finalize()), text(v, "points").to_owned())
    });
}

#[test]
fn plans() {
    run("plans.json", 40, |v| {
        let (old, new) = (map(text(v, "old")), map(text(v, "new")));
        let plan = Plan::between(&old, &new).map_err(|e| e.to_string())?;
        same(plan.amounts.moved.to_string().as_str(), text(v, "moved"))?;
        same(
            plan.amounts.lower_bound.to_string().as_str(),
            text(v, "lower_bound"),
        )?;
        same(
            plan.amounts.by_hand.to_string().as_str(),
            text(v, "by_hand"),
        )?;
        same(
            plan.amounts.reordered.to_string().as_str(),
            text(v, "reordered"),
        )?;
        let moves = plan.moves.iter().map(|m| {
            let from = m.from.map(|n| old.node(n).name());
            let to = m.to.map(|n| new.node(n).name());
            serde_json::json!({"first": m.first.to_string(), "last": m.last.to_string(), "from": from, "to": to, "cause": m.cause.name()})
        });
        same(&Value::Array(moves.collect()), &v["moves"])?;
        // which moves affect a point: compare the search with a look at each move
        let bounds = plan.moves.iter().flat_map(|m| {
            [
                m.first.0,
                m.first.0.wrapping_sub(1),
                m.last.0,
                m.last.0.wrapping_add(1),
            ]
        });
        bounds.map(Point).try_for_each(|point| {
            let slow: Vec<usize> = (0..plan.moves.len())
                .filter(|i| plan.moves[*i].first <= point && plan.moves[*i].last >= point)
                .collect();
            same(plan.affects_point(point), slow)
        })
    });
}

/// Compares the message about each damaged map with the stored one. The message names a byte, and a
/// wrong one would lead nobody to the damage.
/// `STEAD_BLESS=1 cargo test -p stead --test all damaged` writes the file of the messages anew.
#[test]
fn damaged_maps() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/damaged.txt");
    let told = fs::read_to_string(&golden).unwrap_or_default();
    let mut told = told.lines();
    let is_blessed = std::env::var_os("STEAD_BLESS").is_some();
    let messages = RefCell::new(String::new());
    let told = RefCell::new(&mut told);
    // how many errors name the very byte that was changed
    let exact = Cell::new(0);
    run("damaged.json", 400, |v| {
        let mut bytes =
            fs::read(tests().join("maps").join(format!("{}.map", text(v, "map")))).unwrap();
        if let Some(size) = v["size"].as_u64() {
            bytes.resize(size as usize, 0);
        }
        for patch in v["patches"].as_array().unwrap() {
            let (at, patch) = (
                patch[0].as_u64().unwrap() as usize,
                unhex(patch[1].as_str().unwrap()),
            );
            bytes[at..at + patch.len()].copy_from_slice(&patch);
        }
        if v["reseal"].as_bool().unwrap() {
            bytes[96..128].fill(0);
            let digest = Sha256::digest(&bytes);
            bytes[96..128].copy_from_slice(&digest);
        }
        let error = match Map::from_bytes(bytes) {
            Ok(_) => return Err("accepted".into()),
            Err(error) => error,
        };
        if let (Error::Format { offset, .. }, [patch]) =
            (&error, &v["patches"].as_array().unwrap()[..])
        {
            exact.set(exact.get() + usize::from(patch[0] == *offset));
        }
        same(error.status(), status(text(v, "status"))).map_err(|why| format!("{why}: {error}"))?;
        let line = format!("{}, {}: {error}", text(v, "map"), text(v, "comment"));
        *messages.borrow_mut() += &format!("{line}\n");
        match told.borrow_mut().next() {
            _ if is_blessed => Ok(()),
            was => same(&*line, was.unwrap_or_default()),
        }
    });
    if is_blessed {
        fs::write(golden, messages.take()).unwrap();
    }
    // the other rules concern several fields, and name the first of them
    assert!(exact.get() >= 208, "{} errors", exact.get());
}

#[test]
fn fleets_with_mistakes() {
    let scratch = tempfile::tempdir().unwrap();
    run("fleet_errors.json", 200, |v| {
        let file = scratch.path().join(text(v, "file"));
        let bytes = v["text"]
            .as_str()
            .map_or_else(|| unhex(text(v, "hex")), |t| t.as_bytes().to_vec());
        fs::write(&file, bytes).unwrap();
        let error = match Fleet::read(&file).and_then(|fleet| build(&fleet, None)) {
            Ok(_) => return Err("accepted".into()),
            Err(error) => error,
        };
        let message = error.to_string();
        same(error.status(), status(text(v, "status")))
            .map_err(|why| format!("{why}: {message}"))?;
        let line = message
            .strip_prefix(&format!("{}:", file.display()))
            .and_then(|rest| rest.split(':').next());
        same(line, Some(v["line"].to_string().as_str()))
            .map_err(|why| format!("{why}: {message}"))?;
        same(message.lines().count(), 1)?;
        match list(&v["words"])
            .iter()
            .find(|word| !message.contains(word.as_str()))
        {
            Some(word) => Err(format!("no `{word}` in: {message}")),
            None => Ok(()),
        }
    });
}

#[test]
fn every_map_is_written_again_to_the_same_bytes() {
    let mut count = 0;
    for entry in fs::read_dir(tests().join("maps")).unwrap() {
        let path = entry.unwrap().path();
        let map = Map::open_uncached(&path).unwrap();
        if map.understood().is_err() {
            continue; // the parts have nothing of features that this stead does not know
        }
        assert!(
            stead::format::encode(&map.to_parts()) == map.bytes(),
            "{}",
            path.display()
        );
        count += 1;
    }
    assert!(count > 50, "only {count} maps");
}

#[test]
fn pairs() {
    let pair = |v: &Value| {
        let [old, new] = ["old", "new"].map(|which| Arc::new(map(text(v, which))));
        Pair::between(old, new, State::named(text(v, "state")).unwrap()).unwrap()
    };
    let open: RefCell<HashMap<String, Pair>> = RefCell::default();
    run("pairs.json", 1000, |v| {
        let name = format!("{} {} {}", v["old"], v["new"], v["state"]);
        let mut open = open.borrow_mut();
        let pair = open.entry(name).or_insert_with(|| pair(v));
        let point = match v.get("key") {
            Some(_) => pair.new_map().point(&key(v)),
            None => Point::from_hex(text(v, "point")).unwrap(),
        };
        let names = |nodes: stead::pair::Nodes| -> Vec<String> {
            nodes.map(|node| pair.name(node).to_owned()).collect()
        };
        if v.get("key").is_some() {
            same(names(pair.reads(&key(v))), list(&v["reads"]))?;
            same(names(pair.writes(&key(v))), list(&v["writes"]))?;
            same(pair.moved(&key(v)), v["moved"].as_bool().unwrap())?;
        }
        same(names(pair.reads_point(point)), list(&v["reads"]))?;
        same(names(pair.writes_point(point)), list(&v["writes"]))?;
        same(pair.moved_point(point), v["moved"].as_bool().unwrap())
    });
}

//! Sequences of calls of libstead, as a program in C may make them: the bytes choose which function
//! is called next, of which object, and with which arguments. Beside each object of libstead there
//! is one of the Rust library, and both must say the same.
//!
//! Every pointer is NULL at times, where it may be and where it may not. Otherwise the calls keep
//! the contract of stead.h: arrays are as long as the call says, and no handle is used after it was
//! freed. Handles are freed once each, in any order.
#![allow(unsafe_code)] // `call!`, whose one block of unsafe code is in foreign.rs

use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use stead::carry::State;
use stead::{build, build_max_move, Error, Fleet, Map, Pair, Plan, Share};
use stead_capi::types::{stead_map, stead_pair, stead_plan};

use crate::arguments::{status_of, Both, Nulls, Planned, Record};
use crate::foreign::{bytes_at, call};
use crate::input::Input;
use crate::{asked, described, mapless, maps, planned};

/// The most calls of a sequence, and the most objects of a kind.
const CALLS: usize = 60;

const MOST: usize = 6;

#[derive(Default)]
struct Objects {
    maps: Vec<Both<stead_map, Arc<Map>>>,
    plans: Vec<Both<stead_plan, Planned>>,
    pairs: Vec<Both<stead_pair, Pair>>,
}

/// The target.
pub fn sequences(data: &[u8]) {
    let mut input = Input(data);
    let mut objects = Objects::default();
    objects.read(&mut input);
    for _ in 0..CALLS {
        if input.is_over() {
            break;
        }
        objects.step(&mut input);
    }
    objects.free_all(data.len());
}

impl Objects {
    /// Makes a call.
    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(32) {
            0 | 1 => self.read(input),
            2 | 3 => self.build(input),
            4 => self.share(input),
            5 => self.free(input),
            6 | 7 => self.plan(input),
            8 | 9 => self.pair(input),
            10 => self.maps_of_a_pair(input),
            11 => mapless::no_file(input),
            12 => mapless::without_a_map(input),
            13 => mapless::paths(input),
            14 => {
                // 0 only asks
                assert!(call!(stead_memory_limit(0)) > 1 << 20);
            }
            15..=19 => {
                if let Some(plan) = some(&self.plans, input) {
                    planned::plan(plan, input);
                }
            }
            20..=23 => {
                if let Some(pair) = some(&self.pairs, input) {
                    asked::pair(pair, input);
                }
            }
            chosen => {
                if let Some(map) = some(&self.maps, input) {
                    match chosen {
                        24 => described::nodes(map, input),
                        25 => described::policies(map, input),
                        26 => described::texts(map, input),
                        27 => asked::many(map, input),
                        _ => asked::keys(map, input),
                    }
                }
            }
        }
    }

    /// Keeps a map that libstead gave, which must be the one of the Rust library.
    fn keep(&mut self, c: *mut stead_map, rust: Arc<Map>) {
        let (mut bytes, mut length) = (null(), 0);
        assert_eq!(
            call!(stead_map_bytes(c, &mut bytes, &mut length, null_mut())),
            0
        );
        assert!(bytes_at(bytes, length) == rust.bytes(), "the same map");
        self.maps.push(Both { c, rust });
        if self.maps.len() > MOST {
            free_map(self.maps.remove(0));
        }
    }

    fn read(&mut self, input: &mut Input<'_>) {
        let changes = input.below(4);
        let mut bytes = maps::made(input, changes);
        match input.below(8) {
            0 => bytes.truncate(input.below(bytes.len())),
            1 => {
                let at = input.below(bytes.len());
                bytes[at] ^= 1 << input.below(8);
            }
            2 => {
                let at = input.below(bytes.len());
                bytes[at] ^= 1 << input.below(8);
                maps::seal(&mut bytes);
            }
            _ => {}
        }
        let rust = Map::from_bytes(bytes.clone());
        let (nulls, mut record, mut made) = (Nulls::of(input), Record::new(), null_mut());
        let wanted = match bytes.is_empty() && nulls.0 == 1 {
            true => status_of(&rust), // NULL with length 0 is the empty string
            false => nulls.status(2, status_of(&rust)),
        };
        let status = call!(stead_map_from_bytes(
            nulls.or(1, bytes.as_ptr()).cast(),
            bytes.len(),
            nulls.or_mut(0, &mut made),
            record.place(input),
        ));
        record.check("stead_map_from_bytes", status, wanted);
        assert_eq!(made.is_null(), status != 0);
        if let (Ok(rust), 0) = (rust, status) {
            self.keep(made, Arc::new(rust));
        }
    }

    fn build(&mut self, input: &mut Input<'_>) {
        let text = maps::fleet(input);
        let name = *input.one_of(&[c"fleet.toml", c"f", c""]);
        let has_name = input.below(3) > 0;
        let limits = [c"5%", c"0.01%", c"100%", c"101%", c"-1%", c"much", c""];
        let limit = input.below(2 * limits.len());
        let limit = limits.get(limit).copied();
        let previous = some(&self.maps, input).filter(|map| map.rust.base_count() < 2000);
        let rust = || {
            let name = if has_name { name } else { c"fleet" };
            let fleet = Fleet::parse_bytes(&text, name.to_str().expect("ASCII"))?;
            let previous = previous.map(|map| &*map.rust);
            match limit {
                None => build(&fleet, previous),
                Some(limit) => {
                    let most = stead::fleet::part(limit.to_str().expect("ASCII"));
                    let most: Share = most.map_err(|why| Error::Invalid {
                        problem: why.to_owned(),
                    })?;
                    build_max_move(&fleet, previous, most)
                }
            }
        };
        let rust = rust();
        let (nulls, mut record, mut made) = (Nulls::of(input), Record::new(), null_mut());
        let wanted = match text.is_empty() && nulls.0 == 1 {
            true => status_of(&rust),
            false => nulls.status(2, status_of(&rust)),
        };
        let status = call!(stead_map_build(
            nulls.or(1, text.as_ptr()).cast(),
            text.len(),
            if has_name { name.as_ptr() } else { null() },
            previous.map_or(null(), |map| map.c.cast_const()),
            limit.map_or(null(), CStr::as_ptr),
            nulls.or_mut(0, &mut made),
            record.place(input),
        ));
        record.check("stead_map_build", status, wanted);
        assert_eq!(made.is_null(), status != 0);
        if let (Ok(rust), 0) = (rust, status) {
            self.keep(made, Arc::new(rust));
        }
    }

    fn share(&mut self, input: &mut Input<'_>) {
        assert!(call!(stead_map_share(null())).is_null());
        assert!(call!(stead_pair_share(null())).is_null());
        if let Some(map) = some(&self.maps, input) {
            let (c, rust) = (call!(stead_map_share(map.c)), Arc::clone(&map.rust));
            assert_eq!(c, map.c, "nothing is copied");
            self.keep(c, rust);
        }
        if let Some(pair) = some(&self.pairs, input) {
            let c = call!(stead_pair_share(pair.c));
            assert!(!c.is_null());
            let rust = pair.rust.clone();
            self.keep_pair(c, rust);
        }
    }

    fn free(&mut self, input: &mut Input<'_>) {
        call!(stead_map_free(null_mut()));
        call!(stead_plan_free(null_mut()));
        call!(stead_pair_free(null_mut()));
        call!(stead_text_free(null_mut()));
        match input.below(3) {
            0 if !self.plans.is_empty() => {
                free_plan(self.plans.remove(input.below(self.plans.len())));
            }
            1 if !self.pairs.is_empty() => {
                free_pair(self.pairs.remove(input.below(self.pairs.len())));
            }
            _ if !self.maps.is_empty() => {
                free_map(self.maps.remove(input.below(self.maps.len())));
            }
            _ => {}
        }
    }

    /// Frees everything; in one of two orders, since plans and pairs keep their maps alive.
    fn free_all(self, order: usize) {
        let Objects { maps, plans, pairs } = self;
        if order % 2 == 0 {
            maps.into_iter().for_each(free_map);
            if let Some(plan) = plans.first() {
                planned::plan(plan, &mut Input(b"\x01\x01\x01\x01"));
            }
            if let Some(pair) = pairs.first() {
                asked::pair(pair, &mut Input(b"\x01\x01\x01\x01"));
            }
            plans.into_iter().for_each(free_plan);
            pairs.into_iter().for_each(free_pair);
        } else {
            pairs.into_iter().for_each(free_pair);
            plans.into_iter().for_each(free_plan);
            maps.into_iter().for_each(free_map);
        }
    }

    fn plan(&mut self, input: &mut Input<'_>) {
        let Some((old, new)) = some(&self.maps, input).zip(some(&self.maps, input)) else {
            return;
        };
        let rust = Plan::between(&old.rust, &new.rust);
        let (nulls, mut record, mut made) = (Nulls::of(input), Record::new(), null_mut());
        let status = call!(stead_plan_between(
            nulls.or(0, old.c),
            nulls.or(1, new.c),
            nulls.or_mut(2, &mut made),
            record.place(input),
        ));
        let wanted = nulls.status(3, status_of(&rust));
        record.check("stead_plan_between", status, wanted);
        assert_eq!(made.is_null(), status != 0);
        if let (Ok(plan), 0) = (rust, status) {
            let rust = Planned {
                plan,
                old: Arc::clone(&old.rust),
                new: Arc::clone(&new.rust),
            };
            self.plans.push(Both { c: made, rust });
        }
        if self.plans.len() > MOST {
            free_plan(self.plans.remove(0));
        }
    }

    fn pair(&mut self, input: &mut Input<'_>) {
        let Some((old, new)) = some(&self.maps, input).zip(some(&self.maps, input)) else {
            return;
        };
        let state = *input.one_of(&[1, 2, 3, 4, 0, 5, -1, i32::MAX]);
        let numbered = u32::try_from(state).ok().and_then(State::numbered);
        let (a, b) = (Arc::clone(&old.rust), Arc::clone(&new.rust));
        let rust = numbered
            .ok_or_else(|| Error::Invalid {
                problem: "no state".to_owned(),
            })
            .and_then(|state| Pair::between(a, b, state));
        let (nulls, mut record, mut made) = (Nulls::of(input), Record::new(), null_mut());
        let status = call!(stead_pair_between(
            nulls.or(0, old.c),
            nulls.or(1, new.c),
            state,
            nulls.or_mut(2, &mut made),
            record.place(input),
        ));
        let wanted = nulls.status(3, status_of(&rust));
        record.check("stead_pair_between", status, wanted);
        assert_eq!(made.is_null(), status != 0);
        if let (Ok(rust), 0) = (rust, status) {
            self.keep_pair(made, rust);
        }
    }

    fn keep_pair(&mut self, c: *mut stead_pair, rust: Pair) {
        self.pairs.push(Both { c, rust });
        if self.pairs.len() > MOST {
            free_pair(self.pairs.remove(0));
        }
    }

    fn maps_of_a_pair(&mut self, input: &mut Input<'_>) {
        assert!(call!(stead_pair_new_map(null())).is_null());
        assert!(call!(stead_pair_old_map(null())).is_null());
        let Some(pair) = some(&self.pairs, input) else {
            return;
        };
        let (new, old) = (
            (call!(stead_pair_new_map(pair.c)), Some(pair.rust.new_map())),
            (call!(stead_pair_old_map(pair.c)), pair.rust.old_map()),
        );
        let found = [new, old].map(|(c, rust)| (c, rust.cloned()));
        for (c, rust) in found {
            assert_eq!(c.is_null(), rust.is_none());
            if let Some(rust) = rust {
                self.keep(c, rust);
            }
        }
    }
}

/// Returns one of the objects, if there is any.
fn some<'a, T>(objects: &'a [T], input: &mut Input<'_>) -> Option<&'a T> {
    objects.get(input.below(objects.len()))
}

fn free_map(map: Both<stead_map, Arc<Map>>) {
    call!(stead_map_free(map.c));
}

fn free_plan(plan: Both<stead_plan, Planned>) {
    call!(stead_plan_free(plan.c));
}

fn free_pair(pair: Both<stead_pair, Pair>) {
    call!(stead_pair_free(pair.c));
}

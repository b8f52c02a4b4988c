//! The tests of the crate from outside. They are one program, which builds faster than one program
//! for each file. A test that needs a process of its own is a file beside this directory.
//! `cargo test -p stead --test all golden::` runs the tests of one file.

mod histories;
mod judge;
mod zipf;

mod access;
mod back;
mod batches;
mod carry;
mod carry_model;
mod copies;
mod features;
mod firsts;
mod fleet_bad;
mod fleet_files;
mod fleet_rules;
mod fleet_scale;
mod follower;
mod golden;
mod golden_wide;
mod gradual;
mod gradual_maps;
mod gradual_peaks;
mod guarantees;
mod guards;
mod installing;
mod key_rule;
mod left_data;
mod limits;
mod load;
mod lookups;
mod map_fleet;
mod outage;
mod prefer;
mod rings;
mod seed_2;
mod seeds_1_and_3;
mod simulate;
mod store;
mod vectors;
mod verdicts;

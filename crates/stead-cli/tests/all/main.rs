//! The tests of the program `stead`. They are one program, which builds faster than one program for
//! each file. `cargo test -p stead-cli --test all manual::` runs the tests of one file.

mod common;
mod program;

mod bad_fleets;
mod bad_maps;
mod carry;
mod changes;
mod contract;
mod copies;
mod epochs;
mod failing_calls;
mod follow;
mod guards;
mod keys;
mod limits;
mod load;
mod locate_attribute;
mod looks;
mod manual;
mod many;
mod newer;
mod pins;
mod plot;
mod records;
mod renames;
mod report;
mod rings;
mod screens;
mod shared;
mod simulate;
mod streams;
mod sums;
mod together;
mod verbs;
mod verdicts;

//! Runs the target that the variable STEAD_FUZZ names.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use stead_fuzz::{Target, TARGETS};

fn target() -> &'static Target {
    static TARGET: OnceLock<&Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("STEAD_FUZZ").unwrap_or_default();
        TARGETS
            .iter()
            .find(|target| target.name == name)
            .unwrap_or_else(|| {
                let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                eprintln!("set STEAD_FUZZ to one of {}", names.join(", "));
                std::process::exit(64)
            })
    })
}

fuzz_target!(|data: &[u8]| (target().run)(data));

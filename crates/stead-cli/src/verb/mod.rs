//! The verbs of the program, one per file: the arguments of a verb, its help, and its code.

mod apply;
mod attribute;
mod carry;
mod check;
mod count;
mod diff;
mod fleet;
mod fleet_file;
mod history;
mod init;
mod load;
mod loaded;
mod locate;
mod moved;
mod observed;
mod off;
mod path;
mod plan;
mod plot;
mod plotted;
mod proposed;
mod report;
mod ring;
mod rollback;
mod show;
mod simulate;
mod survey;
mod what_if;
mod who;

use clap::Subcommand;

use crate::exit::Result;
use crate::output::Out;

/// The verbs. The first paragraph of each verb's own documentation is its line in `--help`.
#[derive(Subcommand)]
pub enum Verb {
    Init(init::Init),
    Fleet(fleet::Fleet),
    Plan(plan::Plan),
    Apply(apply::Apply),
    Carry(carry::Carry),
    Locate(locate::Locate),
    Show(show::Show),
    Diff(diff::Diff),
    Check(check::Check),
    Who(who::Who),
    WhatIf(what_if::WhatIf),
    Path(path::Path),
    Load(load::Load),
    Survey(survey::Survey),
    Simulate(simulate::Simulate),
    Plot(plot::Plot),
    Report(report::Report),
    Ring(ring::Ring),
    History(history::History),
    Rollback(rollback::Rollback),
}

impl Verb {
    pub fn run(self, out: &mut Out) -> Result {
        match self {
            Verb::Init(verb) => verb.run(out),
            Verb::Fleet(verb) => verb.run(out),
            Verb::Plan(verb) => verb.run(out),
            Verb::Apply(verb) => verb.run(out),
            Verb::Carry(verb) => verb.run(out),
            Verb::Locate(verb) => verb.run(out),
            Verb::Show(verb) => verb.run(out),
            Verb::Diff(verb) => verb.run(out),
            Verb::Check(verb) => verb.run(out),
            Verb::Who(verb) => verb.run(out),
            Verb::WhatIf(verb) => verb.run(out),
            Verb::Path(verb) => verb.run(out),
            Verb::Load(verb) => verb.run(out),
            Verb::Report(verb) => verb.run(out),
            Verb::Survey(verb) => verb.run(out),
            Verb::Simulate(verb) => verb.run(out),
            Verb::Plot(verb) => verb.run(out),
            Verb::Ring(verb) => verb.run(out),
            Verb::History(verb) => verb.run(out),
            Verb::Rollback(verb) => verb.run(out),
        }
    }
}

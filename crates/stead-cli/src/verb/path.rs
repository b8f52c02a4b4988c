//! `stead path [NAME...]`: the directory path of names, by docs/paths.md.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use stead::path::Levels;

use super::locate::FoldArg;
use crate::exit::{Failure, Result};
use crate::input::{self, KeyJson};
use crate::output::Out;

/// Give the directory path of names, by MD5
///
/// One path a record. No map is needed.
#[derive(Args)]
#[command(after_help = "\
Example: where frank's files are
  stead path frank
  38/37/60/frank

Exit codes: 0 done; 64 wrong usage; 65 a name is too long for a file (the paths before it are written); 74 writing failed")]
pub struct Path {
    /// The names (after -- when one starts with a dash); none = one a line from standard input
    #[arg(value_name = "NAME")]
    names: Vec<OsString>,
    /// How many directories each level has: 1 to 16 numbers from 1 to 256
    #[arg(long, default_value = "64,64,128")]
    levels: Levels,
    /// Names and paths end in NUL
    #[arg(short = '0')]
    zero: bool,
    #[command(flatten)]
    fold: FoldArg,
    /// A JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Placed<'a> {
    key: KeyJson<'a>,
    path: &'a str,
}

impl Path {
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        let Path {
            names,
            levels,
            zero,
            fold,
            json,
        } = self;
        let mut path = String::new();
        input::keys(names, zero, out, |out, number, key| {
            path.clear();
            levels
                .append_path(key, fold.fold, &mut path)
                .map_err(|e| Failure::from(e).at(&format!("record {number}")))?;
            if json {
                return out.json_line(&Placed {
                    key: KeyJson::of(key),
                    path: &path,
                });
            }
            path.push(if zero { '\0' } else { '\n' });
            out.bytes(path.as_bytes())
        })
    }
}

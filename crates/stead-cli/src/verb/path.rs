//! `stead path [NAME...]`: the directory path of names, as docs/paths.md defines it.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use stead::path::Levels;

use super::locate::FoldArg;
use crate::exit::{Failure, Result};
use crate::input::{self, KeyJson};
use crate::output::Out;

/// Print the directory path of names, computed with MD5
///
/// Prints one path for each name. No map is needed.
#[derive(Args)]
#[command(after_help = "\
Example: the directory of frank's files
  stead path frank
  38/37/60/frank

Exit codes:
  0   done
  64  wrong usage
  65  a name is too long for a file name; the paths before it are printed
  74  reading or writing failed")]
pub struct Path {
    /// The names; write -- before a name that starts with a dash [default: the lines of standard
    /// input]
    #[arg(value_name = "NAME")]
    names: Vec<OsString>,
    /// The number of directories at each level: 1 to 16 numbers from 1 to 256
    #[arg(long, default_value = "64,64,128")]
    levels: Levels,
    /// End names and paths with NUL instead of a newline
    #[arg(short = '0')]
    zero: bool,
    #[command(flatten)]
    fold: FoldArg,
    /// Print a JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Placed<'a> {
    key: KeyJson<'a>,
    path: &'a str,
}

impl Path {
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

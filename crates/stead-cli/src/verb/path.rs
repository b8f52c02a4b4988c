//! `stead path [NAME...]`: the directory path of names, as docs/paths.md defines it, or with
//! `--names` the names that have these paths.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use stead::path::{path_name, Levels};

use super::locate::FoldArg;
use crate::exit::{Failure, Result, DATA};
use crate::input::{self, KeyJson};
use crate::output::Out;

/// Print the directory path of names, computed with MD5
///
/// Prints one path for each name. With --names it does the opposite: it prints one name for each
/// path. No map is needed.
#[derive(Args)]
#[command(after_help = "\
Example: the directory of frank's files
  stead path frank
  38/37/60/frank

Example: the names of all files of a tree
  find /nas -type f -print0 | stead path --names -0

Exit codes:
  0   done
  64  wrong usage
  65  a name is too long for a file name, or no name has a path; what comes
      before it is printed
  74  reading or writing failed")]
pub struct Path {
    /// The names, or with --names the paths; write -- before one that starts with a dash [default:
    /// the lines of standard input]
    #[arg(value_name = "NAME")]
    records: Vec<OsString>,
    /// The number of directories at each level: 1 to 16 numbers from 1 to 256
    #[arg(long, default_value = "64,64,128")]
    levels: Levels,
    /// Take paths and print their names; directories above the levels are ignored
    #[arg(long, conflicts_with = "fold")]
    names: bool,
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

#[derive(Serialize)]
struct Named<'a> {
    path: KeyJson<'a>,
    key: KeyJson<'a>,
}

impl Path {
    pub fn run(self, out: &mut Out) -> Result {
        let Path {
            records,
            levels,
            names,
            zero,
            fold,
            json,
        } = self;
        if names {
            return print_names(records, &levels, zero, json, out);
        }
        let mut path = String::new();
        input::keys(records, zero, out, |out, number, key| {
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

/// Prints the name of each path.
fn print_names(
    paths: Vec<OsString>,
    levels: &Levels,
    zero: bool,
    json: bool,
    out: &mut Out,
) -> Result {
    input::keys(paths, zero, out, |out, number, path| {
        let name = path_name(path, levels)
            .map_err(|e| Failure::from(e).at(&format!("record {number}")))?;
        if json {
            return out.json_line(&Named {
                path: KeyJson::of(path),
                key: KeyJson::of(&name),
            });
        }
        if !zero && name.contains(&b'\n') {
            let problem = "the name has a newline; use -0, which ends names with NUL";
            return Err(Failure::new(DATA, problem).at(&format!("record {number}")));
        }
        out.bytes(&name)?;
        out.bytes(if zero { b"\0" } else { b"\n" })
    })
}

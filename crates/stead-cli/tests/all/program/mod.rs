//! A temporary directory for each test, in which it runs the real program.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// How a run of the program ended.
pub struct Ran {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl std::fmt::Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let out: String = String::from_utf8_lossy(&self.out)
            .chars()
            .take(2000)
            .collect();
        write!(
            f,
            "exit {:?}\n--- output:\n{out}\n--- errors:\n{}",
            self.code, self.err
        )
    }
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("UTF-8 output")
    }

    /// Asserts success with nothing on standard error.
    #[track_caller]
    pub fn ok(self) -> Ran {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// Asserts a failure with this code and with one line that contains all of these parts.
    #[track_caller]
    pub fn fails(self, code: i32, parts: &[&str]) -> Ran {
        assert_eq!(self.code, Some(code), "{self:?}");
        let one_line = self.err.ends_with('\n') && self.err.matches('\n').count() == 1;
        assert!(one_line && self.err.starts_with("stead: "), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in {self:?}");
        }
        self
    }

    #[track_caller]
    pub fn json(self) -> Value {
        let ran = self.ok();
        serde_json::from_slice(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
    }
}

/// A temporary directory in which the program runs.
pub struct Dir(TempDir);

impl Dir {
    pub fn new() -> Dir {
        Dir(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("write");
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("read")
    }

    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(STEAD);
        command
            .current_dir(self.0.path())
            .args(arguments)
            .stdin(Stdio::null())
            .env_remove("NO_COLOR");
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Ran {
        Ran::of(self.command(arguments).output().expect("run"))
    }

    /// Runs with these bytes as standard input.
    pub fn feed<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("spawn");
        let mut stdin = child.stdin.take().expect("stdin");
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("wait");
        feeder.join().expect("feeder");
        Ran::of(output)
    }

    pub fn shell(&self, script: &str) -> Ran {
        let mut command = Command::new("sh");
        command
            .current_dir(self.0.path())
            .args(["-c", script])
            .env("STEAD", STEAD)
            .stdin(Stdio::null());
        Ran::of(command.output().expect("sh"))
    }

    /// Writes a fleet of plain nodes and applies it to `m.map`, even if it takes nodes back.
    pub fn apply(&self, nodes: &[&str]) -> Ran {
        self.write("fleet.toml", fleet(nodes));
        self.run(&["apply", "fleet.toml", "m.map", "--allow", "take-back"])
            .ok()
    }

    /// Returns every file below except fleets and locks: its name, and the MD5 of its contents.
    pub fn everything(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(self.0.path(), "", &mut files);
        files.retain(|(name, _)| !name.ends_with(".toml") && !name.ends_with(".lock"));
        files.sort();
        files
    }

    /// Asserts that no temporary file is left.
    #[track_caller]
    pub fn assert_clean(&self) {
        let left = self.everything();
        assert!(
            !left.iter().any(|(name, _)| name.ends_with(".tmp")),
            "{left:?}"
        );
    }
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).expect("list") {
        let path = entry.expect("entry").path();
        let name = format!(
            "{prefix}{}",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => collect(&path, &format!("{name}/"), files),
            Ok(meta) if meta.is_file() => files.push((
                name,
                format!(
                    "{:02x?}",
                    stead::hash::md5(&std::fs::read(&path).expect("read"))
                ),
            )),
            Ok(_) => files.push((name, "not a regular file".to_owned())),
            Err(_) => {} // gone meanwhile
        }
    }
}

/// Returns a directory with m.map, a map of 60 buckets, and its fleet f.toml. Each of its three
/// nodes has every third bucket.
pub fn sixty_buckets() -> Dir {
    let dir = Dir::new();
    let list: String = (0..60)
        .map(|bucket| format!("{bucket} n{}\n", bucket % 3))
        .collect();
    dir.write("list", list);
    let ring = ["ring", "explicit", "list", "--set", "modulo=60"];
    let files = ["-o", "m.map", "--fleet", "f.toml"];
    dir.run(&[&ring[..], &files].concat()).ok();
    dir
}

/// Returns the fleet `members` with nodes of weight 1.
pub fn fleet(nodes: &[&str]) -> String {
    nodes
        .iter()
        .fold("name = \"members\"\n".to_owned(), |text, node| {
            text + &format!("[[node]]\nname = \"{node}\"\n")
        })
}

/// Returns the fleet `members` with the nodes `n000`, `n001`, ...
pub fn many(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("n{i:03}")).collect();
    fleet(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A fleet with three nodes, a policy without a weight, one with a weight, and both kinds of pin.
pub const RICH: &str = r#"
name = "members"
max_slices = 50
[[node]]
name = "a"
weight = 1.5
labels = { zone = "z1", rack = "r1" }
attributes = { address = "10.0.0.1:3306" }
[[node]]
name = "b"
[[node]]
name = "c"
weight = 0
[[policy]]
name = "hot"
kind = "chain"
nodes = ["c", "a"]
[[policy]]
name = "pair"
nodes = ["b", "a"]
weight = 2.5
[[pin]]
key = "justin"
policy = "hot"
[[pin]]
range = ["6.00000%", "6.00001%"]
nodes = ["c"]
"#;

/// Parses a number of points, which JSON carries as a decimal string.
#[track_caller]
pub fn points(value: &Value) -> u128 {
    value
        .as_str()
        .expect("a decimal string")
        .parse()
        .expect("a decimal string")
}

/// Returns the names of an object's fields, sorted.
#[track_caller]
pub fn fields(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

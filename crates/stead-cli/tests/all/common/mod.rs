//! What the tests of the program share: a temporary directory, fleets, and the program's answers.
//!
//! Every test runs the real program in its own directory and checks what a user would see.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program.
pub const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// A temporary directory in which the program runs.
pub struct Place {
    directory: TempDir,
}

impl Place {
    /// Returns an empty directory.
    pub fn new() -> Place {
        Place {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns a directory with `m.map`, made from [`fleet`]`(3)`, and with `next.toml`, a fleet
    /// that changes it.
    pub fn with_map() -> Place {
        let place = Place::new();
        place.write("fleet.toml", fleet(3));
        place.write("next.toml", fleet(4));
        place.good(&["apply", "fleet.toml", "m.map"]);
        place
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path of a file in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.file(name), bytes).unwrap();
    }

    /// Returns the command that runs the program with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(STEAD);
        command
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        answer(self.command(arguments).output().unwrap())
    }

    /// Runs the program with bytes on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // a thread, since the program answers before it has read all
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join().unwrap(); // the program may end before it has read all
        answer(output)
    }

    /// Runs a shell command, with the program as `$STEAD`.
    pub fn shell(&self, script: &str) -> Answer {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .env("STEAD", STEAD)
            .current_dir(self.path())
            .stdin(Stdio::null());
        answer(command.output().unwrap())
    }

    /// Runs the program, which must succeed and print nothing on standard error. Returns its
    /// standard output.
    pub fn good(&self, arguments: &[&str]) -> String {
        self.run(arguments).good()
    }

    /// Runs the program, which must succeed, and parses its JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.good(arguments)).unwrap()
    }

    /// Runs the program, which must succeed, and parses a JSON value from each line.
    pub fn json_lines(&self, arguments: &[&str]) -> Vec<Value> {
        self.good(arguments)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns every path below the directory, with the bytes of regular files. Anything else, such
    /// as a directory, is listed without bytes.
    pub fn contents(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut open = vec![self.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    open.push(entry.path());
                }
                found.push((
                    entry.path(),
                    kind.is_file().then(|| fs::read(entry.path()).unwrap()),
                ));
            }
        }
        found.sort();
        found
    }

    /// Returns the paths of temporary files below the directory.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let all = self.contents().into_iter().map(|(path, _)| path);
        all.filter(|path| path.extension().is_some_and(|extension| extension == "tmp"))
            .collect()
    }
}

/// What the program answered.
#[derive(Debug)]
pub struct Answer {
    /// The exit code; 128 + the signal if a signal ended the program.
    pub code: i32,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub error: String,
}

impl Answer {
    /// Asserts success with nothing on standard error, and returns standard output.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.code, self.error.as_str()), (0, ""), "{self:?}");
        String::from_utf8(self.out).unwrap()
    }

    /// Asserts this exit code, one line on standard error with these words, and no standard output.
    #[track_caller]
    pub fn bad(self, code: i32, words: &[&str]) {
        assert_eq!(String::from_utf8_lossy(&self.out), "", "{self:?}");
        self.failed(code, words);
    }

    /// Asserts this exit code and one line on standard error with these words, whatever standard
    /// output has.
    #[track_caller]
    pub fn failed(&self, code: i32, words: &[&str]) {
        let line = &self.error;
        assert!(
            line.starts_with("stead: ") && line.ends_with('\n') && line.matches('\n').count() == 1,
            "{self:?}"
        );
        for word in words {
            assert!(line.contains(word), "`{word}` is missing: {line}");
        }
        assert_eq!(self.code, code, "{line}");
    }
}

/// Converts the output of a program that has ended.
pub fn answer(output: Output) -> Answer {
    let code = output
        .status
        .code()
        .unwrap_or_else(|| 128 + output.status.signal().unwrap());
    Answer {
        code,
        out: output.stdout,
        error: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns a fleet of the cluster `m` with nodes of equal weight: n1, n2, ...
pub fn fleet(nodes: usize) -> String {
    let nodes: String = (1..=nodes)
        .map(|i| format!("[[node]]\nname = \"n{i}\"\n"))
        .collect();
    format!("name = \"m\"\n{nodes}")
}

/// Returns the names of a JSON object's fields, in their order.
pub fn fields(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// Asserts that an object has exactly these fields, in any order.
#[track_caller]
pub fn has_fields(value: &Value, wanted: &str) {
    let (mut found, mut wanted): (Vec<&str>, Vec<&str>) =
        (fields(value), wanted.split_whitespace().collect());
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

/// Returns the strings of a JSON array.
pub fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item.as_str().unwrap())
        .collect()
}

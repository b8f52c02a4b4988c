//! Any command: the kind of data whose items are keys, and which commands copy, compare and remove.
//!
//! | variable | what it is |
//! |---|---|
//! | `STEAD_KEY` | the key; also on standard input, followed by a newline |
//! | `STEAD_FROM` | the node that has it: its root, or its name |
//! | `STEAD_TO` | the other node, for `copy` and `verify` |
//! | `STEAD_FROM_name` | the attribute `name` of that node; `STEAD_TO_name` likewise |
//!
//! A command says by its exit code how it went: 0 done, 75 try again later, anything else failed.
//! `verify` also has 1: they differ, 2: `STEAD_TO` lacks it, 3: only `STEAD_TO` has it, 4: neither
//! has it. It is also asked about one node, with `STEAD_FROM` and `STEAD_TO` the same.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{kill_process_group, Pid, Signal};
use serde::Deserialize;

use super::kind::{Added, Compared, Done, Fault, Item, Kind, Node, Version};

/// `verify`: the two nodes have different values.
const DIFFERS: i32 = 1;
/// `verify`: the node to copy to lacks the key.
const LACKS: i32 = 2;
/// `verify`: only the node to copy to has the key.
const EXTRA: i32 = 3;
/// `verify`: neither node has the key.
const NEITHER: i32 = 4;
/// The command failed for a reason that may pass: EX_TEMPFAIL of sysexits.h.
const AGAIN: i32 = 75;

/// How much of what a command writes to standard error is kept for messages.
const SAID: u64 = 500;

/// The table `[command]` of the file of a carry. Each command runs in /bin/sh.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellOptions {
    /// Writes the keys of the node `STEAD_FROM` to standard output, each followed by a newline.
    pub list: String,
    /// Copies a key from `STEAD_FROM` to `STEAD_TO`.
    pub copy: String,
    /// Compares a key at two nodes.
    pub verify: String,
    /// Removes a key at `STEAD_FROM`.
    pub remove: String,
    /// Whether keys end with a zero byte instead of a newline, for `list` and on standard input.
    #[serde(default)]
    pub zero: bool,
    /// Whether `list` writes the keys in the order of their bytes.
    #[serde(default)]
    pub sorted: bool,
    /// How many seconds a command for one key may take.
    #[serde(default = "hour")]
    pub seconds: u64,
}

fn hour() -> u64 {
    3600
}

/// The kind.
pub struct Shell {
    options: ShellOptions,
}

/// How a command for one key ended.
struct Ended {
    code: Option<i32>,
    said: String,
}

impl Shell {
    /// Returns the kind.
    ///
    /// Errors: what is wrong with the options.
    pub fn new(options: ShellOptions) -> Result<Shell, String> {
        let commands = [
            ("list", &options.list),
            ("copy", &options.copy),
            ("verify", &options.verify),
            ("remove", &options.remove),
        ];
        match commands.iter().find(|(_, text)| text.trim().is_empty()) {
            Some((name, _)) => Err(format!("command.{name} is empty; write a command")),
            None => Ok(Shell { options }),
        }
    }

    fn command(&self, text: &str, nodes: &[(&str, &Node)]) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(text).process_group(0);
        for (name, node) in nodes {
            shell.env(name, &node.name);
            for (key, value) in &node.attributes {
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if key.chars().all(fits) {
                    shell.env(format!("{name}_{key}"), value);
                }
            }
        }
        shell
    }

    fn end(&self) -> u8 {
        if self.options.zero {
            0
        } else {
            b'\n'
        }
    }

    /// Runs a command for a key.
    fn run(&self, text: &str, nodes: &[(&str, &Node)], item: &Item) -> Done<Ended> {
        let mut command = self.command(text, nodes);
        if !item.key.contains(&0) {
            use std::os::unix::ffi::OsStrExt;
            command.env("STEAD_KEY", std::ffi::OsStr::from_bytes(&item.key));
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let started = |e| Fault::passing(format_args!("cannot start /bin/sh: {e}"));
        let mut child = command.spawn().map_err(started)?;
        if let Some(mut input) = child.stdin.take() {
            let mut line = item.key.clone();
            line.push(self.end());
            // a command need not read it
            let _ = input.write_all(&line);
        }
        let errors = child.stderr.take();
        let (send, said) = mpsc::channel();
        thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut errors) = errors {
                let _ = (&mut errors).take(SAID).read_to_end(&mut text);
                let _ = send.send(String::from_utf8_lossy(&text).trim().to_owned());
                // the command must not wait for a reader
                let _ = std::io::copy(&mut errors, &mut std::io::sink());
            }
        });
        let code = self.wait(&mut child)?;
        // what it started in the background may keep the pipe open
        let said = said
            .recv_timeout(Duration::from_secs(1))
            .unwrap_or_default();
        Ok(Ended { code, said })
    }

    fn wait(&self, child: &mut Child) -> Done<Option<i32>> {
        let limit = Duration::from_secs(self.options.seconds);
        let (began, mut nap) = (Instant::now(), Duration::from_millis(1));
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.code()),
                Ok(None) if began.elapsed() < limit => {
                    thread::sleep(nap);
                    nap = (nap * 2).min(Duration::from_millis(20));
                }
                Ok(None) => {
                    kill(child);
                    return Err(Fault::passing(format_args!(
                        "the command took longer than {} s and was killed; command.seconds is the \
                         limit",
                        self.options.seconds
                    )));
                }
                Err(error) => return Err(Fault::passing(format_args!("the command: {error}"))),
            }
        }
    }

    /// Runs a command that has to succeed.
    fn succeed(&self, name: &str, text: &str, nodes: &[(&str, &Node)], item: &Item) -> Done {
        let ended = self.run(text, nodes, item)?;
        match ended.code {
            Some(0) => Ok(()),
            _ => Err(failed(name, &ended, item)),
        }
    }
}

impl Kind for Shell {
    fn ready(&self, _nodes: &[&Node]) -> Done {
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        self.options.sorted
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let mut command = self.command(&self.options.list, &[("STEAD_FROM", node)]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|e| Fault::passing(format_args!("cannot start /bin/sh: {e}")))?;
        let Some(output) = child.stdout.take() else {
            return Err(Fault::passing("the command has no output"));
        };
        let mut lines = BufReader::new(output);
        let mut last: Option<Vec<u8>> = None;
        let ended = loop {
            let mut key = Vec::new();
            let n = lines.read_until(self.end(), &mut key);
            let n = n.map_err(|e| Fault::passing(format_args!("command.list: {e}")));
            match n {
                Err(fault) => break Err(fault),
                Ok(0) => break Ok(true),
                Ok(_) => {}
            }
            if key.pop() != Some(self.end()) {
                break Err(Fault::passing("command.list: its last line has no end"));
            }
            if self.options.sorted && last.as_ref().is_some_and(|last| *last >= key) {
                break Err(Fault::final_one(
                    "command.list: the keys are not in the order of their bytes, each once; sort \
                     them with LC_ALL=C sort -u, or set sorted = false",
                ));
            }
            last = Some(key.clone());
            let is_new = after.is_none_or(|after| !self.options.sorted || &key[..] > after);
            let goes_on = !is_new || each(Item::of_key(key));
            if !goes_on || stop.load(Ordering::Relaxed) {
                break Ok(false);
            }
        };
        let to_the_end = ended.clone().unwrap_or(false);
        if !to_the_end {
            kill(&mut child);
            return ended.map(|_| ());
        }
        let status = child
            .wait()
            .map_err(|e| Fault::passing(format_args!("command.list: {e}")))?;
        match status.success() {
            true => Ok(()),
            false => Err(Fault::passing(format_args!(
                "command.list failed for node {} ({status})",
                node.name
            ))),
        }
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        // a command that compares a node with itself says whether the key is there
        let both = self.compare(node, node, item)?;
        Ok(both.second.and(both.first))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let nodes = [("STEAD_FROM", from), ("STEAD_TO", to)];
        self.succeed("copy", &self.options.copy, &nodes, item)?;
        Ok(Added::Held { bytes: 0 })
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let nodes = [("STEAD_FROM", first), ("STEAD_TO", second)];
        let ended = self.run(&self.options.verify, &nodes, item)?;
        // commands tell no versions: a key that is there has this one
        let there = || Some(Version(Vec::new()));
        let (first, second) = match ended.code {
            Some(0 | DIFFERS) => (there(), there()),
            Some(LACKS) => (there(), None),
            Some(EXTRA) => (None, there()),
            Some(NEITHER) => (None, None),
            _ => return Err(failed("verify", &ended, item)),
        };
        Ok(Compared {
            first,
            second,
            equal: matches!(ended.code, Some(0 | NEITHER)),
        })
    }

    fn remove(&self, node: &Node, item: &Item, _version: &Version) -> Done<bool> {
        self.succeed(
            "remove",
            &self.options.remove,
            &[("STEAD_FROM", node)],
            item,
        )?;
        Ok(true)
    }
}

fn failed(name: &str, ended: &Ended, item: &Item) -> Fault {
    let code = match ended.code {
        Some(code) => format!("exits with {code}"),
        None => "was ended by a signal".to_owned(),
    };
    let said = match ended.said.is_empty() {
        true => String::new(),
        false => format!(": {}", ended.said.replace('\n', "; ")),
    };
    Fault {
        line: format!("{}: command.{name} {code}{said}", item.told()),
        passes: ended.code == Some(AGAIN),
    }
}

fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(list: &str, verify: &str, sorted: bool) -> Shell {
        let options = ShellOptions {
            list: list.to_owned(),
            copy: "test \"$(cat)\" = \"$STEAD_KEY\" && test $STEAD_FROM$STEAD_TO = ab".to_owned(),
            verify: verify.to_owned(),
            remove: "echo no; echo sorry >&2; exit 75".to_owned(),
            zero: false,
            sorted,
            seconds: 60,
        };
        Shell::new(options).unwrap()
    }

    fn node(name: &str) -> Node {
        Node {
            number: 0,
            name: name.to_owned(),
            attributes: vec![("port".into(), "7".into())],
        }
    }

    fn list(shell: &Shell, after: Option<&str>, most: usize) -> Done<Vec<String>> {
        let mut keys = Vec::new();
        let stop = AtomicBool::new(false);
        let mut each = |item: Item| {
            keys.push(String::from_utf8(item.key).unwrap());
            keys.len() < most
        };
        shell.keys(&node("a"), after.map(str::as_bytes), &stop, &mut each)?;
        Ok(keys)
    }

    #[test]
    fn commands_get_the_key_and_the_nodes_and_say_by_their_exit_how_it_went() {
        let item = Item::of_key("a key");
        let (a, b) = (node("a"), node("b"));
        let made = shell("true", "exit $STEAD_FROM_port", false);
        assert_eq!(made.add(&a, &b, &item), Ok(Added::Held { bytes: 0 }));
        assert!(!made.add(&b, &a, &item).unwrap_err().passes);
        let fault = made.remove(&a, &item, &Version(vec![])).unwrap_err();
        assert!(
            fault.passes && fault.line.ends_with("exits with 75: sorry"),
            "{fault:?}"
        );
        assert!(made
            .compare(&a, &b, &item)
            .unwrap_err()
            .line
            .contains("exits with 7"));
        for (code, first, second) in [
            (0, true, true),
            (1, true, true),
            (2, true, false),
            (3, false, true),
            (4, false, false),
        ] {
            let made = shell("true", &format!("exit {code}"), false);
            let both = made.compare(&a, &b, &item).unwrap();
            assert_eq!(
                (both.first.is_some(), both.second.is_some()),
                (first, second)
            );
            assert_eq!(both.equal, code % 4 == 0);
        }
    }

    #[test]
    fn keys_are_listed_from_any_place_and_a_failure_is_told() {
        let made = shell("printf 'a\\nb\\nc c\\n'", "true", true);
        assert_eq!(list(&made, None, 9).unwrap(), ["a", "b", "c c"]);
        assert_eq!(list(&made, Some("a"), 9).unwrap(), ["b", "c c"]);
        assert_eq!(list(&made, None, 1).unwrap(), ["a"]);
        // a command that never ends is killed when nobody wants more
        assert_eq!(
            list(&shell("yes", "true", false), None, 3).unwrap().len(),
            3
        );
        for (text, part) in [
            ("echo a; exit 3", "failed for node a"),
            ("printf 'b\\na\\n'", "not in the order"),
            ("printf a", "has no end"),
        ] {
            let fault = list(&shell(text, "true", true), None, 9).unwrap_err();
            assert!(fault.line.contains(part), "{text}: {fault:?}");
        }
    }
}

//! Any command: the kind of data whose items are keys, and which commands copy, compare and remove.
//!
//! | variable | what it is |
//! |---|---|
//! | `STEAD_KEY` | the key; also on standard input, followed by a newline |
//! | `STEAD_FROM` | the name of the node that has it |
//! | `STEAD_TO` | the other node, for `copy` and `verify` |
//! | `STEAD_FROM_name` | the attribute `name` of that node; `STEAD_TO_name` likewise |
//!
//! A command says by its exit code how it went: 0 done, 75 try again later, anything else failed.
//! `verify` also has 1: they differ, 2: `STEAD_TO` lacks it, 3: only `STEAD_TO` has it, 4: neither
//! has it. It is also asked about one node, with `STEAD_FROM` and `STEAD_TO` the same.
//!
//! With `batch`, a command gets many keys on standard input, and none in `STEAD_KEY`. It says on
//! standard output which of them have another code than 0: see `answers.rs`.

mod answers;
mod child;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;

use super::kind::{only, About, Added, Compared, Done, Fault, Item, Kind, Node, Version};

use answers::{codes, read_key, write_key};
use child::{kill, not_started, Ended};

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

/// The most keys that a command is given at once.
const MOST: usize = 10_000;

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
    /// How many keys a command is given at once; 1: one, in `STEAD_KEY`.
    #[serde(default = "one")]
    pub batch: usize,
    /// How many seconds a command may take, other than `list`.
    #[serde(default = "hour")]
    pub seconds: u64,
}

fn hour() -> u64 {
    3600
}

fn one() -> usize {
    1
}

/// The kind.
pub struct Shell {
    options: ShellOptions,
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
            None if !(1..=MOST).contains(&options.batch) => Err(format!(
                "command.batch is {}; write 1 to {MOST}",
                options.batch
            )),
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

    fn is_batch(&self) -> bool {
        self.options.batch > 1
    }

    fn run(&self, mut command: Command, keys: &[&[u8]]) -> Done<Ended> {
        let mut input = Vec::new();
        for key in keys {
            match self.is_batch() {
                true => write_key(key, self.end(), &mut input),
                false => {
                    input.extend_from_slice(key);
                    input.push(self.end());
                }
            }
        }
        let limit = Duration::from_secs(self.options.seconds);
        child::run(&mut command, input, limit, self.is_batch())
    }

    /// Runs the command `name` for some keys, and returns how it ended for each.
    fn each(&self, name: &str, nodes: &[(&str, &Node)], items: &[&Item]) -> Vec<Done<Ended>> {
        let text = match name {
            "copy" => &self.options.copy,
            "verify" => &self.options.verify,
            _ => &self.options.remove,
        };
        if self.is_batch() {
            return self.batch(name, self.command(text, nodes), items);
        }
        let alone = |item: &&Item| {
            let mut command = self.command(text, nodes);
            if !item.key.contains(&0) {
                command.env("STEAD_KEY", OsStr::from_bytes(&item.key));
            }
            self.run(command, &[&item.key])
        };
        items.iter().map(alone).collect()
    }

    /// Runs a command for all keys of a batch. A command that fails as a whole has done only what
    /// it says.
    fn batch(&self, name: &str, command: Command, items: &[&Item]) -> Vec<Done<Ended>> {
        let keys: Vec<&[u8]> = items.iter().map(|item| &item.key[..]).collect();
        let run = || {
            let ended = self.run(command, &keys)?;
            let codes = codes(&ended.answer, &keys, self.end());
            let wrong = |why| Fault::final_one(format_args!("command.{name}: {why}"));
            Ok((codes.map_err(wrong)?, ended))
        };
        let (codes, ended) = match run() {
            Ok(done) => done,
            Err(fault) => return vec![Err(fault); items.len()],
        };
        let of_key = |item: &&Item| match codes.get(&item.key) {
            Some(code) => Ok(Ended {
                code: Some(*code),
                said: ended.said.clone(),
                answer: Vec::new(),
            }),
            None if ended.code == Some(0) => Ok(Ended {
                code: Some(0),
                said: String::new(),
                answer: Vec::new(),
            }),
            None => Err(failed(name, &ended, item)),
        };
        items.iter().map(of_key).collect()
    }

    /// Runs a command that has to succeed.
    fn succeed(&self, name: &str, nodes: &[(&str, &Node)], items: &[&Item]) -> Vec<Done> {
        let ends = self.each(name, nodes, items).into_iter().zip(items);
        let each = ends.map(|(ended, item)| match ended? {
            ended if ended.code == Some(0) => Ok(()),
            ended => Err(failed(name, &ended, item)),
        });
        each.collect()
    }
}

impl Kind for Shell {
    fn ready(&self, _nodes: &[&Node]) -> Done {
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        self.options.sorted
    }

    fn about(&self) -> About {
        About::of("[command] list", &self.options.list)
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
        let mut child = command.spawn().map_err(not_started)?;
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
            if self.is_batch() {
                match read_key(&key, self.end()) {
                    Some(plain) => key = plain,
                    None => {
                        break Err(Fault::final_one(format_args!(
                            "command.list: {} has a backslash with neither a backslash nor an n \
                             after it; with `batch`, write a backslash as two, or set zero = true",
                            super::kind::told(&key)
                        )))
                    }
                }
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

    fn at_once(&self, _: &Item) -> usize {
        self.options.batch
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        only(self.version_all(node, &[item]))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        only(self.add_all(from, to, &[item]))
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        only(self.compare_all(first, second, &[item]))
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        only(self.remove_all(node, &[(item, version)]))
    }

    fn version_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        // a command that compares a node with itself says whether the key is there
        let compared = self.compare_all(node, node, items).into_iter();
        compared
            .map(|both| both.map(|both| both.second.and(both.first)))
            .collect()
    }

    fn add_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Added>> {
        let nodes = [("STEAD_FROM", from), ("STEAD_TO", to)];
        let copied = self.succeed("copy", &nodes, items).into_iter();
        copied
            .map(|done| {
                done.map(|()| Added::Held {
                    bytes: 0,
                    replaced: false,
                })
            })
            .collect()
    }

    fn compare_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Compared>> {
        let nodes = [("STEAD_FROM", first), ("STEAD_TO", second)];
        let ends = self.each("verify", &nodes, items).into_iter().zip(items);
        // commands tell no versions: a key that is there has this one
        let there = || Some(Version(Vec::new()));
        let each = ends.map(|(ended, item)| {
            let ended = ended?;
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
        });
        each.collect()
    }

    fn remove_all(&self, node: &Node, items: &[(&Item, &Version)]) -> Vec<Done<bool>> {
        let items: Vec<&Item> = items.iter().map(|(item, _)| *item).collect();
        let removed = self.succeed("remove", &[("STEAD_FROM", node)], &items);
        removed
            .into_iter()
            .map(|done| done.map(|()| true))
            .collect()
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
    let line = format!("{}: command.{name} {code}{said}", item.told());
    Fault::new(line, ended.code == Some(AGAIN))
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
            batch: 1,
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
        assert_eq!(
            made.add(&a, &b, &item),
            Ok(Added::Held {
                bytes: 0,
                replaced: false
            })
        );
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

    #[test]
    fn a_batch_says_which_keys_failed() {
        let mut made = shell("printf 'a\\\\nb\\n\\\\\\\\\\n'", "true", false);
        made.options.batch = 3;
        assert_eq!(list(&made, None, 9).unwrap(), ["a\nb", "\\"]);
        let (a, b) = (node("a"), node("b"));
        let items = ["x", "a\nb", "\\", "y"].map(Item::of_key);
        let items: Vec<&Item> = items.iter().collect();
        made.options.verify = "while read -r k; do case $k in \
             x) echo 2 x;; 'a\\nb') printf '%s\\n' \"75 $k\";; esac; done; echo busy >&2"
            .to_owned();
        let ends = made.compare_all(&a, &b, &items);
        assert!(ends[0].as_ref().unwrap().second.is_none());
        let fault = ends[1].as_ref().unwrap_err();
        assert!(fault.passes && fault.line.contains("busy"), "{fault:?}");
        assert!(ends[2].as_ref().unwrap().equal && ends[3].as_ref().unwrap().equal);
        // what a command did before it broke off is done, and the rest is not
        made.options.verify = "read -r k; echo 0 \"$k\"; exit 75".to_owned();
        let ends = made.compare_all(&a, &b, &items);
        assert!(ends[0].is_ok());
        assert!(ends[1..].iter().all(|end| end.as_ref().unwrap_err().passes));
        // the code 1 of a command that failed as a whole does not say that its keys differ
        made.options.verify = "exit 1".to_owned();
        let ends = made.compare_all(&a, &b, &items);
        assert!(ends.iter().all(|end| !end.as_ref().unwrap_err().passes));
        // an answer that is none is no success
        made.options.verify = "echo well done".to_owned();
        let ends = made.compare_all(&a, &b, &items);
        assert!(ends.iter().all(Result::is_err), "{ends:?}");
        made.options.list = "printf 'a\\\\tb\\n'".to_owned();
        assert!(list(&made, None, 9).unwrap_err().line.contains("backslash"));
        made.options.batch = 0;
        assert!(Shell::new(made.options).is_err());
    }
}

//! The options of files, as the file of a carry has them, and as agents get them.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::carry::pattern::Pattern;
use crate::carry::template;

/// The table `[files]` of the file of a carry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesOptions {
    /// The root of each node: a template with `{node}` and the names of attributes. It is a path,
    /// or `HOST:PATH` for one at another machine.
    #[serde(deserialize_with = "absolute")]
    pub root: String,
    /// Where the key is in a path below the root.
    #[serde(deserialize_with = "pattern")]
    pub pattern: String,
    /// A file in each root that has the name of the node in it.
    pub marker: Option<String>,
    /// Whether copies get the owner and the group of what is copied.
    #[serde(default = "yes")]
    pub owner: bool,
    /// Whether copies get the extended attributes and ACLs of what is copied.
    #[serde(default = "yes")]
    pub attributes: bool,
    /// The words that reach another machine, before its name.
    #[serde(default = "ssh")]
    pub ssh: Vec<String>,
    /// The program stead-sync at other machines.
    #[serde(default = "program")]
    pub agent: String,
}

/// Reads a root, and refuses one that is no absolute path whatever the attributes are.
fn absolute<'d, D: Deserializer<'d>>(deserializer: D) -> Result<String, D::Error> {
    let root = template::read(deserializer)?;
    match is_relative(&root) {
        true => Err(D::Error::custom(format_args!(
            "root is {root:?}, which is not an absolute path; write it from / on, or as HOST:/PATH"
        ))),
        false => Ok(root),
    }
}

/// Reads a pattern, and refuses one that is none.
fn pattern<'d, D: Deserializer<'d>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Pattern::parse(&text).map_err(D::Error::custom)?;
    Ok(text)
}

/// Whether a template is a relative path at every node. What begins with an attribute is not known
/// before it is filled.
fn is_relative(root: &str) -> bool {
    match root.find(['/', '{']) {
        None => true,
        Some(at) => {
            let is_path = root[at..].starts_with('/');
            is_path && at > 0 && !root[..at].ends_with(':')
        }
    }
}

fn yes() -> bool {
    true
}

/// Nobody is there to be asked for a password; and a line that is silent for 45 s is lost.
fn ssh() -> Vec<String> {
    let words = ["ssh", "-oBatchMode=yes", "-oServerAliveInterval=15"];
    words.map(str::to_owned).to_vec()
}

fn program() -> String {
    "stead-sync".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_that_is_relative_at_every_node_is_told_from_others() {
        for (root, relative) in [
            ("/srv/{node}", false),
            ("{mount}", false),
            ("{address}:/srv", false),
            ("nas1:/srv/{node}", false),
            ("nas-{node}:/srv", false),
            ("nas{rest}", false),
            ("photos/{node}", true),
            ("./{node}", true),
            ("photos", true),
            ("nas1:photos", true),
            ("nas1:photos/{node}", true),
            ("", true),
        ] {
            assert_eq!(is_relative(root), relative, "{root}");
        }
    }
}

//! The options of files, as the file of a carry has them, and as agents get them.

use serde::{Deserialize, Serialize};

/// The table `[files]` of the file of a carry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesOptions {
    /// The root of each node: a template with `{node}` and the names of attributes. It is a path,
    /// or `HOST:PATH` for one at another machine.
    pub root: String,
    /// Where the key is in a path below the root.
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

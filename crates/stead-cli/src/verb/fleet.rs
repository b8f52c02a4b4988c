//! `stead fleet EDIT FLEET ...`: edits a fleet file in place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use stead::weight::Weight;

use crate::exit::{Failure, Result, FLEET};
use crate::output::Out;
use crate::text::count;
use crate::verb::fleet_file::FleetFile;

/// Edit a fleet file in place; comments and order stay
///
/// The whole edited fleet is read before it is written: what a fleet must not be is refused, and
/// the file stays as it was. No map is changed; `stead plan` shows what the edit would move.
#[derive(Args)]
#[command(
    disable_help_subcommand = true,
    arg_required_else_help = false,
    after_help = "\
Examples: one more node; an empty one, which can then be removed
  stead fleet add-node fleet.toml db4 --weight 1.5 --label zone=b
  stead fleet drain fleet.toml db1
  stead plan fleet.toml members.map

Exit codes:
  0   done, or nothing to do
  64  wrong usage, or a node that is not in the fleet, or is there already
  66  the fleet is missing
  74  reading or writing failed
  75  somebody else changed the fleet meanwhile; nothing was written
  77  permission denied
  78  the fleet is wrong, or the edit would make it wrong"
)]
pub struct Fleet {
    #[command(subcommand)]
    edit: Edit,
}

/// The edits. The first paragraph of each is its line in `--help`.
#[derive(Subcommand)]
enum Edit {
    AddNode(AddNode),
    RemoveNode(Nodes),
    SetWeight(SetWeight),
    Drain(Drained),
    SetLabel(SetLabel),
    SetAttribute(SetAttribute),
}

/// Add nodes
///
/// They are written after the last node of the fleet.
#[derive(Args)]
struct AddNode {
    /// The fleet file, in TOML
    fleet: PathBuf,
    /// The names of the new nodes
    #[arg(required = true, value_name = "NODE", value_parser = name)]
    nodes: Vec<String>,
    /// The weight of each
    #[arg(long, value_parser = weight, allow_negative_numbers = true)]
    weight: Option<String>,
    /// A label of each; may be given more than once
    #[arg(long, value_name = "LABEL=VALUE", value_parser = pair)]
    label: Vec<(String, String)>,
    /// An attribute of each, such as address=10.0.0.4; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    attribute: Vec<(String, String)>,
    #[command(flatten)]
    print: Print,
}

/// Remove nodes; their points move to the others
///
/// A node that a policy or a pin names is not removed. To empty a node first, drain it.
#[derive(Args)]
struct Nodes {
    /// The fleet file, in TOML
    fleet: PathBuf,
    /// The names of the nodes
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<String>,
    #[command(flatten)]
    print: Print,
}

/// Set the weight of a node
#[derive(Args)]
struct SetWeight {
    /// The fleet file, in TOML
    fleet: PathBuf,
    /// The name of the node
    node: String,
    /// The weight: 0 to 1000000 with at most 6 places
    #[arg(value_parser = weight, allow_negative_numbers = true)]
    weight: String,
    #[command(flatten)]
    print: Print,
}

/// Set the weight of nodes to 0, so that their points move to the others
///
/// Policies and pins that name a drained node still do so, and the output says which.
#[derive(Args)]
struct Drained {
    #[command(flatten)]
    nodes: Nodes,
}

/// Set labels of a node, or with LABEL= remove them
#[derive(Args)]
struct SetLabel {
    /// The fleet file, in TOML
    fleet: PathBuf,
    /// The name of the node
    node: String,
    /// The labels
    #[arg(required = true, value_name = "LABEL=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    #[command(flatten)]
    print: Print,
}

/// Set attributes of a node, such as its address, or with NAME= remove them
#[derive(Args)]
struct SetAttribute {
    /// The fleet file, in TOML
    fleet: PathBuf,
    /// The name of the node
    node: String,
    /// The attributes
    #[arg(required = true, value_name = "NAME=VALUE", value_parser = pair)]
    attributes: Vec<(String, String)>,
    #[command(flatten)]
    print: Print,
}

#[derive(Args)]
struct Print {
    /// Print the edited fleet, and write nothing
    #[arg(long)]
    print: bool,
}

/// Refuses a name around which white space was left. A fleet may have such a name, and a map, too;
/// nobody who types one means it.
fn name(text: &str) -> std::result::Result<String, String> {
    if text.contains('=') {
        return Err(format!(
            "no name of a node; for a label write --label {text}, for an attribute --attribute \
             {text}; a node with = in its name is added by hand"
        ));
    }
    match text.trim() {
        same if same == text => Ok(text.to_owned()),
        short => Err(format!(
            "it begins or ends with white space; write {short:?}"
        )),
    }
}

fn weight(text: &str) -> std::result::Result<String, String> {
    let weight = Weight::parse(text);
    weight
        .map(|weight| weight.to_string())
        .map_err(|wrong| format!("it {wrong}"))
}

fn pair(text: &str) -> std::result::Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    match name {
        "" => Err("write a name before the ="),
        name => Ok((name.to_owned(), value.to_owned())),
    }
}

impl Fleet {
    pub fn run(self, out: &mut Out) -> Result {
        match self.edit {
            Edit::AddNode(edit) => edit.run(out),
            Edit::RemoveNode(edit) => edit.remove(out),
            Edit::SetWeight(edit) => edit.run(out),
            Edit::Drain(edit) => edit.nodes.drain(out),
            Edit::SetLabel(edit) => edit.run(out),
            Edit::SetAttribute(edit) => edit.run(out),
        }
    }
}

impl AddNode {
    fn run(self, out: &mut Out) -> Result {
        let mut file = FleetFile::read(&self.fleet)?;
        let borrowed = |pairs: &[(String, String)]| -> Vec<(String, String)> { pairs.to_vec() };
        let (labels, attributes) = (borrowed(&self.label), borrowed(&self.attribute));
        let [labels, attributes] = [&labels, &attributes].map(|pairs| {
            pairs
                .iter()
                .map(|(n, v)| (n.as_str(), v.as_str()))
                .collect::<Vec<_>>()
        });
        let weight = self.weight.as_deref();
        for name in &self.nodes {
            if let Some(node) = file.fleet.nodes.iter().find(|node| node.name == *name) {
                let problem = format!("node `{name}` is there already; choose another name");
                return Err(file.wrong(node.line, problem));
            }
            file.edited.add_node(name, weight, &labels, &attributes);
        }
        let mut said = format!(
            "added {}, weight {}",
            self.nodes.join(", "),
            weight.unwrap_or("1")
        );
        for (name, value) in labels.iter().chain(&attributes) {
            said += &format!(", {name}={value}");
        }
        file.write(&said, &self.print, out)
    }
}

impl Nodes {
    fn remove(self, out: &mut Out) -> Result {
        let mut file = FleetFile::read(&self.fleet)?;
        for name in &self.nodes {
            file.node(name)?;
            if let Some((line, what)) = file.naming(name).into_iter().next() {
                let problem = format!(
                    "{what} names node `{name}`; take it out there first, then remove the node"
                );
                return Err(Failure::new(
                    FLEET,
                    format!("{}:{line}: {problem}", file.name()),
                ));
            }
            file.edited.remove_node(name);
        }
        file.write(
            &format!("removed {}", self.nodes.join(", ")),
            &self.print,
            out,
        )
    }

    fn drain(self, out: &mut Out) -> Result {
        let mut file = FleetFile::read(&self.fleet)?;
        let mut still = Vec::new();
        let mut drained = Vec::new();
        for name in &self.nodes {
            if file.node(name)?.weight != Weight::ZERO {
                file.edited.set_weight(name, "0");
                drained.push(name.as_str());
            }
            for (line, what) in file.naming(name) {
                let place = format!("{}:{line}", file.name());
                still.push(format!("note: {place}: {what} still names {name}"));
            }
        }
        match drained.is_empty() {
            true => file.nothing("every one of them has weight 0", &self.print, out)?,
            false => {
                let said = format!("drained {}: weight 0", drained.join(", "));
                file.write(&said, &self.print, out)?;
            }
        }
        match self.print.print {
            true => Ok(()),
            false => still.iter().try_for_each(|line| out.line(line)),
        }
    }
}

impl SetWeight {
    fn run(self, out: &mut Out) -> Result {
        let mut file = FleetFile::read(&self.fleet)?;
        let before = file.node(&self.node)?.weight.to_string();
        if before == self.weight {
            return file.nothing(
                &format!("{} has weight {before}", self.node),
                &self.print,
                out,
            );
        }
        file.edited.set_weight(&self.node, &self.weight);
        let said = format!("weight of {}: {before} -> {}", self.node, self.weight);
        file.write(&said, &self.print, out)
    }
}

impl SetLabel {
    fn run(self, out: &mut Out) -> Result {
        let mut file = FleetFile::read(&self.fleet)?;
        let before = file.node(&self.node)?.labels.clone();
        file.set_texts(
            &self.node,
            "labels",
            &before,
            &self.labels,
            &self.print,
            out,
        )
    }
}

impl SetAttribute {
    fn run(self, out: &mut Out) -> Result {
        let mut file = FleetFile::read(&self.fleet)?;
        let before = file.node(&self.node)?.attributes.clone();
        let (node, print) = (&self.node, &self.print);
        file.set_texts(node, "attributes", &before, &self.attributes, print, out)
    }
}

impl FleetFile {
    /// Sets some labels or attributes of a node in the fleet file, and prints each change. An empty
    /// value removes the label or the attribute.
    fn set_texts(
        &mut self,
        node: &str,
        texts: &str,
        before: &BTreeMap<String, String>,
        pairs: &[(String, String)],
        print: &Print,
        out: &mut Out,
    ) -> Result {
        let mut said = Vec::new();
        for (key, value) in pairs {
            let value = Some(value.as_str()).filter(|value| !value.is_empty());
            let old = before.get(key).map(String::as_str);
            if old == value {
                continue;
            }
            self.edited.set_text(node, texts, key, value);
            let [old, new] = [old, value].map(|value| value.unwrap_or("none"));
            said.push(format!("{key} of {node}: {old} -> {new}"));
        }
        match said.is_empty() {
            true => self.nothing(&format!("{node} has these {texts}"), print, out),
            false => self.write(&said.join(", "), print, out),
        }
    }

    /// Writes the edited fleet if it breaks no rule, or only prints it.
    fn write(&self, said: &str, print: &Print, out: &mut Out) -> Result {
        let edited = self.read_again()?;
        if print.print {
            return out.bytes(self.edited.text().as_bytes());
        }
        self.save()?;
        let nodes = count(edited.nodes.len(), "node");
        out.line(format_args!("{}: {said}; now {nodes}", self.name()))
    }

    fn nothing(&self, why: &str, print: &Print, out: &mut Out) -> Result {
        match print.print {
            true => out.bytes(&self.bytes),
            false => out.line(format_args!("{}: nothing to do, {why}", self.name())),
        }
    }
}

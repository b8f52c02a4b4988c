//! Edits the text of a fleet in TOML: comments, order and everything else stay as they are.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// The text of a fleet while it is edited.
pub struct Edited {
    document: DocumentMut,
    /// whether the text began with a byte order mark, which the parser does not keep
    mark: bool,
    /// whether all lines end in `\r\n`
    crlf: bool,
}

/// Names and values, as `labels` has them.
pub type Pairs<'a> = [(&'a str, &'a str)];

impl Edited {
    /// Parses a text that is known to be a fleet in TOML. `None` if it is not TOML after all.
    pub fn parse(text: &str) -> Option<Edited> {
        let crlf =
            text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count();
        let bare = text.strip_prefix('\u{feff}');
        Some(Edited {
            document: bare.unwrap_or(text).parse().ok()?,
            mark: bare.is_some(),
            crlf,
        })
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        let mut text = self.document.to_string();
        if self.crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        match self.mark {
            true => format!("\u{feff}{text}"),
            false => text,
        }
    }

    /// Adds a node after the last one.
    pub fn add_node(
        &mut self,
        name: &str,
        weight: Option<&str>,
        labels: &Pairs,
        attributes: &Pairs,
    ) {
        let nodes = self
            .document
            .entry("node")
            .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let mut fields: Vec<(&str, Value)> = vec![("name", Value::from(name))];
        fields.extend(weight.map(|weight| ("weight", number(weight))));
        for (key, pairs) in [("labels", labels), ("attributes", attributes)] {
            if !pairs.is_empty() {
                fields.push((key, Value::InlineTable(inline(pairs))));
            }
        }
        match nodes {
            Item::ArrayOfTables(nodes) => {
                let mut node = Table::new();
                fields.into_iter().for_each(|(key, value)| {
                    node.insert(key, Item::Value(value));
                });
                node.decor_mut().set_prefix("\n");
                nodes.push(node);
            }
            Item::Value(Value::Array(nodes)) => {
                let mut node = InlineTable::new();
                fields.into_iter().for_each(|(key, value)| {
                    node.insert(key, value);
                });
                push(nodes, node);
            }
            _ => {}
        }
    }

    /// Removes a node, with the comment that stands directly above it. A comment above an empty
    /// line stays.
    pub fn remove_node(&mut self, name: &str) {
        let Some(at) = self.place(name) else { return };
        let mut kept = String::new();
        match self.document.get_mut("node") {
            Some(Item::ArrayOfTables(nodes)) => {
                if let Some(node) = nodes.get(at) {
                    kept = above(node);
                }
                nodes.remove(at);
                if let Some(next) = nodes.get_mut(at) {
                    put_above(next, &std::mem::take(&mut kept));
                }
            }
            Some(Item::Value(Value::Array(nodes))) => {
                nodes.remove(at);
            }
            _ => {}
        }
        for key in ["policy", "pin"] {
            let first = self
                .document
                .get_mut(key)
                .and_then(Item::as_array_of_tables_mut);
            if let Some(table) = first.and_then(|tables| tables.get_mut(0)) {
                put_above(table, &std::mem::take(&mut kept));
            }
        }
        if !kept.is_empty() {
            let end = self.document.trailing().as_str().unwrap_or("").to_owned();
            self.document.set_trailing(kept + &end);
        }
    }

    /// Replaces the list `what` by that of another fleet in TOML, or removes it if that has none.
    pub fn replace_list(&mut self, what: &str, other: &str) {
        self.document.remove(what);
        self.add_list(what, other);
    }

    /// Adds the entries of the list `what` of another fleet in TOML.
    pub fn add_list(&mut self, what: &str, other: &str) {
        let other = Edited::parse(other).and_then(|mut other| other.document.remove(what));
        let Some(Item::ArrayOfTables(more)) = other else {
            return;
        };
        let list = self
            .document
            .entry(what)
            .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        for mut entry in more {
            match list {
                Item::ArrayOfTables(list) => {
                    entry.set_position(None);
                    list.push(entry);
                }
                Item::Value(Value::Array(list)) => push(list, entry.into_inline_table()),
                _ => {}
            }
        }
    }

    /// Sets the weight of a node.
    pub fn set_weight(&mut self, name: &str, weight: &str) {
        self.with_node(name, |node| set(node, "weight", number(weight)));
    }

    /// Sets a label or an attribute of a node, or with `None` removes it. `texts` says which of the
    /// two: `labels` or `attributes`.
    pub fn set_text(&mut self, name: &str, texts: &str, key: &str, value: Option<&str>) {
        self.with_node(name, |node| {
            let before = node.get(texts).and_then(Item::as_table_like);
            let before = before.map_or(0, |before| before.len());
            match node.get_mut(texts).and_then(Item::as_table_like_mut) {
                Some(pairs) => match value {
                    Some(value) => set(pairs, key, Value::from(value)),
                    None => {
                        pairs.remove(key);
                    }
                },
                None => {
                    if let Some(value) = value {
                        set(node, texts, Value::InlineTable(inline(&[(key, value)])));
                    }
                }
            }
            let pairs = node.get_mut(texts);
            let some = pairs.as_ref().and_then(|pairs| pairs.as_table_like());
            if some.is_some_and(|pairs| pairs.is_empty()) {
                node.remove(texts);
            } else if let Some(Item::Value(Value::InlineTable(pairs))) = pairs {
                tidy(pairs, before);
            }
        });
    }

    /// The place of a node in the list.
    fn place(&self, name: &str) -> Option<usize> {
        let is = |node: &dyn TableLike| node.get("name").and_then(Item::as_str) == Some(name);
        match self.document.get("node")? {
            Item::ArrayOfTables(nodes) => nodes.iter().position(|node| is(node)),
            Item::Value(Value::Array(nodes)) => nodes
                .iter()
                .position(|node| node.as_inline_table().is_some_and(|node| is(node))),
            _ => None,
        }
    }

    fn with_node(&mut self, name: &str, change: impl FnOnce(&mut dyn TableLike)) {
        let Some(at) = self.place(name) else { return };
        match self.document.get_mut("node") {
            Some(Item::ArrayOfTables(nodes)) => {
                if let Some(node) = nodes.get_mut(at) {
                    change(node);
                }
            }
            Some(Item::Value(Value::Array(nodes))) => {
                let node = nodes.get_mut(at).and_then(Value::as_inline_table_mut);
                if let Some(node) = node {
                    let before = node.len();
                    change(node);
                    tidy(node, before);
                }
            }
            _ => {}
        }
    }
}

/// Sets a value, and keeps the spaces and the comment around the one that it replaces.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// Gives an inline table the usual spaces, if it has another number of keys than before: a key that
/// was added at its end leaves a space before its comma.
fn tidy(table: &mut InlineTable, before: usize) {
    if table.len() != before {
        let decor = table.decor().clone();
        table.fmt();
        *table.decor_mut() = decor;
    }
}

/// Returns a weight as it is written. It is known to be a plain decimal.
fn number(weight: &str) -> Value {
    weight.parse().unwrap_or_else(|_| Value::from(weight))
}

fn inline(pairs: &Pairs) -> InlineTable {
    pairs
        .iter()
        .map(|(name, value)| (*name, Value::from(*value)))
        .collect()
}

/// Adds a table to an array, on a line of its own if the others have one.
fn push(array: &mut Array, table: InlineTable) {
    let prefix = array
        .iter()
        .last()
        .and_then(|last| last.decor().prefix())
        .cloned();
    let mut value = Value::InlineTable(table);
    // a comment above the last one is not one of the new one
    let prefix = prefix
        .as_ref()
        .and_then(|prefix| prefix.as_str())
        .unwrap_or("");
    let space = prefix
        .rfind('\n')
        .and_then(|at| prefix.get(at..))
        .unwrap_or(if array.is_empty() { "" } else { " " });
    value.decor_mut().set_prefix(space);
    array.push_formatted(value);
}

/// Returns the comment above a table that is followed by an empty line, with this line.
fn above(table: &Table) -> String {
    let prefix = table
        .decor()
        .prefix()
        .and_then(|prefix| prefix.as_str())
        .unwrap_or("");
    let prefix = prefix.replace("\r\n", "\n");
    match prefix.rfind("\n\n").and_then(|at| prefix.get(..at + 1)) {
        Some(kept) if kept.contains('#') => kept.to_owned(),
        _ => String::new(),
    }
}

fn put_above(table: &mut Table, kept: &str) {
    if kept.is_empty() {
        return;
    }
    let prefix = table
        .decor()
        .prefix()
        .and_then(|prefix| prefix.as_str())
        .unwrap_or("")
        .to_owned();
    let gap = if prefix.starts_with('\n') { "" } else { "\n" };
    table.decor_mut().set_prefix(format!("{kept}{gap}{prefix}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLEET: &str = r#"# what it is for
name = "m"   # never changes

# all of rack 1

# the first one
[[node]]
name = "db1"   # the oldest
weight = 1.50  # a big one
labels = { zone = "a" }

[[node]]
weight = 2
name = "db2"
[node.labels]
zone = "b"   # the other

[[pin]]
key = "justin"
nodes = ["db1"]
# the end
"#;

    fn edited(text: &str, edit: impl FnOnce(&mut Edited)) -> String {
        let mut edited = Edited::parse(text).unwrap();
        edit(&mut edited);
        edited.text()
    }

    #[test]
    fn lists_of_another_fleet_are_taken_over() {
        let other = "\n[[pin]]\nkey = \"bob\"\nnodes = [\"db2\"]\n\n[[first]]\nkey = \"k\"\nnode = \"db1\"\n";
        let taken = |text: &str| {
            edited(text, |it| {
                it.replace_list("first", other);
                it.add_list("pin", other);
            })
        };
        let end = "# the end\n";
        let expected = FLEET.replace(end, &format!("{other}{end}"));
        assert_eq!(taken(FLEET), expected);
        // again: the firsts are replaced, and the pins are more
        let again = taken(&expected);
        assert_eq!(again.matches("[[first]]").count(), 1);
        assert_eq!(again.matches("[[pin]]").count(), 3);
        let inline = "name = \"m\"\nnode = [{ name = \"db1\" }, { name = \"db2\" }]\npin = [\n    { key = \"a\", nodes = [\"db1\"] },\n]\n";
        let taken = taken(inline);
        assert!(
            taken.contains("\n    { key = \"bob\", nodes = [\"db2\"] },\n]\n"),
            "{taken}"
        );
        assert_eq!(
            edited(FLEET, |it| it.replace_list("first", "name = 'x'")),
            FLEET
        );
    }

    #[test]
    fn an_edit_changes_what_it_says_and_nothing_else() {
        assert_eq!(edited(FLEET, |_| ()), FLEET);
        assert_eq!(
            edited(FLEET, |it| it.set_weight("db1", "3")),
            FLEET.replace("1.50  #", "3  #")
        );
        assert_eq!(
            edited(FLEET, |it| it.set_weight("db2", "0.000001")),
            FLEET.replace("weight = 2\n", "weight = 0.000001\n")
        );
        assert_eq!(
            edited(FLEET, |it| it.set_text("db1", "labels", "rack", Some("1"))),
            FLEET.replace("zone = \"a\" }", "zone = \"a\", rack = \"1\" }")
        );
        assert_eq!(
            edited(FLEET, |it| it.set_text("db2", "labels", "zone", Some("c"))),
            FLEET.replace("\"b\"   #", "\"c\"   #")
        );
        assert_eq!(
            edited(FLEET, |it| it.set_text("db1", "labels", "zone", None)),
            FLEET.replace("labels = { zone = \"a\" }\n", "")
        );
        assert_eq!(
            edited(FLEET, |it| it.add_node("db3", Some("2"), &[("zone", "c"), ("a b", "\"")], &[])),
            FLEET.replace(
                "\n[[pin]]",
                "\n[[node]]\nname = \"db3\"\nweight = 2\nlabels = { zone = \"c\", \"a b\" = '\"' }\n\n[[pin]]"
            )
        );
    }

    #[test]
    fn a_node_goes_with_its_own_comment_and_the_others_stay() {
        let without = edited(FLEET, |it| it.remove_node("db1"));
        assert_eq!(
            without,
            FLEET.replace(
                "# the first one\n[[node]]\nname = \"db1\"   # the oldest\nweight = 1.50  # a big one\nlabels = { zone = \"a\" }\n\n",
                ""
            )
        );
        let without = edited(FLEET, |it| it.remove_node("db2"));
        assert_eq!(
            without,
            FLEET.replace(
                "[[node]]\nweight = 2\nname = \"db2\"\n[node.labels]\nzone = \"b\"   # the other\n\n",
                ""
            )
        );
        // the comment of the group goes to what follows
        let only =
            "name = \"m\"\n\n# the nodes\n\n[[node]]\nname = \"a\"\n\n[[pin]]\nkey = \"k\"\n";
        assert_eq!(
            edited(only, |it| it.remove_node("a")),
            "name = \"m\"\n\n# the nodes\n\n[[pin]]\nkey = \"k\"\n"
        );
    }

    #[test]
    fn nodes_in_an_array_keep_its_lines() {
        let fleet = "name = \"m\"\nnode = [\n  # one\n  { name = \"a\", weight = 1 },\n  { name = \"b\" },\n]\n";
        assert_eq!(
            edited(fleet, |it| it.add_node("c", None, &[("z", "1")], &[])),
            fleet.replace(
                "\"b\" },\n",
                "\"b\" },\n  { name = \"c\", labels = { z = \"1\" } },\n"
            )
        );
        assert_eq!(
            edited(fleet, |it| it.set_weight("b", "2")),
            fleet.replace("\"b\" }", "\"b\", weight = 2 }")
        );
        assert_eq!(
            edited(fleet, |it| it.set_weight("a", "3")),
            fleet.replace("weight = 1", "weight = 3")
        );
        assert_eq!(
            edited(fleet, |it| it.remove_node("b")),
            fleet.replace("  { name = \"b\" },\n", "")
        );
        let short = "name = \"m\"\nnode = [{ name = \"a\" }]\n";
        assert_eq!(
            edited(short, |it| it.add_node("b", None, &[], &[])),
            "name = \"m\"\nnode = [{ name = \"a\" }, { name = \"b\" }]\n"
        );
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_stay() {
        let fleet = format!("\u{feff}{}", FLEET.replace('\n', "\r\n"));
        assert_eq!(edited(&fleet, |_| ()), fleet);
        let added = edited(&fleet, |it| it.add_node("x", None, &[], &[]));
        assert!(added.starts_with("\u{feff}# what") && !added.replace("\r\n", "").contains('\n'));
    }
}

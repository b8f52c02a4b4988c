//! The order of a crate's modules, as its front page draws it: a fenced block of text with groups
//! separated by bars. A module uses only modules of groups to the left of its own.

use std::collections::BTreeSet;

use crate::uses::Crate;

/// Returns a line for everything that contradicts the order on the front page. A crate with only
/// one module needs no order.
pub fn against_the_order(of: &Crate) -> Vec<String> {
    let modules = of.tops();
    let groups = match groups(&of.front_page) {
        Some(groups) => groups,
        None if modules.len() < 2 => return Vec::new(),
        None => return vec!["its front page draws no order: `a b | c`, fenced as text".to_owned()],
    };
    let place = |module: &String| groups.iter().position(|group| group.contains(module));
    let mut wrong = Vec::new();
    let mut drawn = BTreeSet::new();
    for module in groups.iter().flatten() {
        if !modules.contains(module) {
            wrong.push(format!("{module} stands in the order and is no module"));
        } else if !drawn.insert(module) {
            wrong.push(format!("{module} stands in the order more than once"));
        }
    }
    let missing = modules.iter().filter(|module| !drawn.contains(module));
    wrong.extend(missing.map(|module| format!("{module} is missing in the order")));
    for ((from, to), by) in &of.uses {
        let line = |why: &str| format!("{} -> {}: {by}: {why}", of.files[*from], of.files[*to]);
        match (of.top(*from), of.top(*to)) {
            (Some(_), None) => wrong.push(line("nothing uses the root")),
            (Some(user), Some(used)) if user != used => match (place(&user), place(&used)) {
                (Some(mine), Some(theirs)) if theirs == mine => wrong.push(line("one group")),
                (Some(mine), Some(theirs)) if theirs > mine => wrong.push(line("to the right")),
                _ => {}
            },
            _ => {}
        }
    }
    wrong
}

/// The groups in the first fenced block of text that has a bar with a space on both sides.
fn groups(front_page: &str) -> Option<Vec<Vec<String>>> {
    let blocks = front_page.split("```").skip(1).step_by(2);
    let drawn = blocks
        .filter_map(|block| block.strip_prefix("text\n"))
        .find(|block| block.split_whitespace().any(|word| word == "|"))?;
    let words = |group: &str| group.split_whitespace().map(str::to_owned).collect();
    Some(drawn.split('|').map(words).collect())
}

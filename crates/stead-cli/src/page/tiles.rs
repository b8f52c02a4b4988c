//! The facts at the top of the page: a few figures, and what must be read first.

use super::html::{element, Html};
use crate::caps::Said;

/// A figure with its label.
pub struct Tile {
    pub label: &'static str,
    pub figure: Html,
    /// a few words below the figure
    pub note: String,
}

impl Tile {
    /// Returns a tile.
    pub fn new(label: &'static str, figure: impl Into<Html>, note: impl Into<String>) -> Tile {
        Tile {
            label,
            figure: figure.into(),
            note: note.into(),
        }
    }
}

/// Returns the figures as a list of terms.
pub fn tiles(tiles: Vec<Tile>) -> Html {
    let list = tiles.into_iter().map(|tile| {
        let mut inside = element("dt", &[], tile.label);
        inside.add(element("dd", &[("class", "figure")], tile.figure));
        if !tile.note.is_empty() {
            inside.add(element("dd", &[("class", "note")], tile.note));
        }
        element("div", &[], inside)
    });
    element("dl", &[("class", "tiles")], list.collect::<Html>())
}

/// Returns the one sentence that says whether all is well.
pub fn banner(is_good: bool, sentence: &str) -> Html {
    let (class, sign) = match is_good {
        true => ("banner good", "✓"),
        false => ("banner bad", "!"),
    };
    let mut inside = element("span", &[("class", "sign"), ("aria-hidden", "true")], sign);
    inside.add(Html::text(sentence));
    element("p", &[("class", class)], inside)
}

/// Returns the sentence about a map that is not the newest: whoever reads the page is told so.
pub fn not_to_be_used(problem: &str) -> String {
    let mut letters = problem.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!(
        "{}{}; do not use this page",
        first.unwrap_or_default(),
        letters.as_str()
    )
}

/// Returns the sentences that a person reads first; nothing if there are none.
pub fn notices(said: &[Said]) -> Html {
    if said.is_empty() {
        return Html::default();
    }
    let items = said.iter().map(|said| match said.bad {
        true => {
            let mut inside = element("strong", &[], "Warning: ");
            inside.add(Html::text(&said.text));
            element("li", &[("class", "bad")], inside)
        }
        false => element("li", &[], said.text.as_str()),
    });
    element("ul", &[("class", "notices")], items.collect::<Html>())
}

/// Returns terms with their lines.
pub fn facts(facts: &[(impl AsRef<str>, Vec<String>)]) -> Html {
    let mut inside = Html::default();
    for (label, lines) in facts {
        inside.add(element("dt", &[], label.as_ref()));
        for line in lines {
            inside.add(element("dd", &[], line.as_str()));
        }
    }
    match facts.is_empty() {
        true => inside,
        false => element("dl", &[("class", "facts")], inside),
    }
}

/// Returns a command that somebody can type.
pub fn command(words: &str) -> Html {
    element("code", &[], words)
}

/// Returns a paragraph of small text. What stands in backquotes is a command.
pub fn remark(text: impl AsRef<str>) -> Html {
    let parts = text.as_ref().split('`').enumerate();
    let inside: Html = parts
        .map(|(i, part)| match i % 2 {
            0 => Html::text(part),
            _ => command(part),
        })
        .collect();
    element("p", &[("class", "remark")], inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_has_its_commands_as_code() {
        assert_eq!(
            remark("ask `stead show` <here>").into_string(),
            "<p class=\"remark\">ask <code>stead show</code> &lt;here&gt;</p>"
        );
    }
}

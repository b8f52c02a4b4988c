//! A table of the page: it scrolls by itself where the page is narrow, and the page's script lets
//! its columns be sorted.

use std::borrow::Cow;

use super::html::{element, Html};

/// A table of more rows than these scrolls downwards by itself, too, so that what follows is near.
const TALL: usize = 30;

/// A column of a table.
#[derive(Clone)]
pub struct Column {
    title: Cow<'static, str>,
    class: &'static str,
}

/// Returns a column that holds text.
pub fn text(title: &'static str) -> Column {
    Column {
        title: title.into(),
        class: "",
    }
}

/// Returns a column of names, which is as narrow as they allow and breaks long ones.
pub fn name(title: &'static str) -> Column {
    Column {
        title: title.into(),
        class: "name",
    }
}

/// Returns a column of words that are never broken into lines.
pub fn word(title: &'static str) -> Column {
    Column {
        title: title.into(),
        class: "word",
    }
}

/// Returns a column of bars, which repeat the numbers of the column before them.
pub fn bars() -> Column {
    Column {
        title: "".into(),
        class: "bars",
    }
}

/// Returns a column of numbers, which is aligned to the right.
pub fn number(title: impl Into<Cow<'static, str>>) -> Column {
    Column {
        title: title.into(),
        class: "number",
    }
}

/// A cell of a table.
pub struct Cell {
    inside: Html,
    /// what the column is sorted by, if that is not the text
    order: Option<String>,
    /// what is shown when the pointer rests on the cell
    hint: Option<String>,
}

impl<T: Into<Html>> From<T> for Cell {
    fn from(inside: T) -> Cell {
        Cell {
            inside: inside.into(),
            order: None,
            hint: None,
        }
    }
}

impl Cell {
    /// Returns a cell that is sorted by a number.
    pub fn of(inside: impl Into<Html>, order: impl ToString) -> Cell {
        Cell {
            inside: inside.into(),
            order: Some(order.to_string()),
            hint: None,
        }
    }

    /// Returns the same cell with a text for the pointer.
    pub fn with_hint(mut self, hint: String) -> Cell {
        self.hint = Some(hint);
        self
    }
}

/// A table.
pub struct Sheet {
    id: &'static str,
    caption: String,
    columns: Vec<Column>,
    rows: Html,
    length: usize,
    has_cards: bool,
}

impl Sheet {
    /// Returns a table without rows. `id` is unique in the page; the caption is read aloud.
    pub fn new(id: &'static str, caption: impl Into<String>, columns: &[Column]) -> Sheet {
        Sheet {
            id,
            caption: caption.into(),
            columns: columns.to_vec(),
            rows: Html::default(),
            length: 0,
            has_cards: false,
        }
    }

    /// Returns the table such that a narrow page shows each row as a card, in which each cell has
    /// the heading of its column beside it. The rows are to be few: each repeats the headings.
    pub fn with_cards(self) -> Sheet {
        Sheet {
            has_cards: true,
            ..self
        }
    }

    /// Adds a row. Its first cell names it.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.marked_row(&[], cells);
    }

    /// Adds a row with attributes of its own.
    pub fn marked_row(
        &mut self,
        attributes: &[(&'static str, &str)],
        cells: impl IntoIterator<Item = Cell>,
    ) {
        let cells = self.columns.iter().zip(cells).enumerate();
        let cells: Html = cells
            .map(|(i, (column, cell))| drawn(i, column, cell, self.has_cards))
            .collect();
        self.rows.add(element("tr", attributes, cells));
        self.rows.add(Html::fixed("\n"));
        self.length += 1;
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the table; nothing if it has no rows.
    pub fn html(self) -> Html {
        if self.is_empty() {
            return Html::default();
        }
        let headings = self.columns.iter().map(|column| {
            let mut attributes = vec![("scope", "col")];
            attributes.extend((!column.class.is_empty()).then_some(("class", column.class)));
            // an empty heading heads nothing
            match column.title.as_ref() {
                "" => element("td", &attributes[1..], ""),
                title => element("th", &attributes, title),
            }
        });
        let head = element("thead", &[], element("tr", &[], headings.collect::<Html>()));
        let mut inside = element("caption", &[], self.caption.as_str());
        inside.add(head).add(element("tbody", &[], self.rows));
        let mut attributes = vec![("id", self.id)];
        attributes.extend(self.has_cards.then_some(("class", "cards")));
        let table = element("table", &attributes, inside);
        let class = match self.length > TALL {
            true => "scroll tall",
            false => "scroll",
        };
        element(
            "div",
            &[
                ("class", class),
                ("role", "region"),
                ("tabindex", "0"),
                ("aria-label", &self.caption),
            ],
            table,
        )
    }
}

fn drawn(place: usize, column: &Column, cell: Cell, has_label: bool) -> Html {
    let mut attributes: Vec<(&'static str, &str)> = Vec::new();
    if !column.class.is_empty() {
        attributes.push(("class", column.class));
    }
    if has_label && place > 0 {
        attributes.push(("data-label", &column.title));
    }
    if let Some(order) = &cell.order {
        attributes.push(("data-order", order));
    }
    if let Some(hint) = &cell.hint {
        attributes.push(("title", hint));
    }
    if place == 0 {
        attributes.push(("scope", "row"));
        return element("th", &attributes, cell.inside);
    }
    element("td", &attributes, cell.inside)
}

/// Draws a bar that fills a part of its width, from 0 to 1. It repeats a number beside it, so it is
/// not read aloud: a picture without a name is not.
pub fn bar(part: f64) -> Html {
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    // what is not nothing is seen
    let width = if part > 0.0 {
        (100.0 * part).max(0.5)
    } else {
        0.0
    };
    Html::drawn(format!(
        "<svg class=\"bar\"><rect width=\"{width:.1}%\" height=\"100%\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_rows_and_what_they_are_sorted_by() {
        let mut sheet = Sheet::new("t", "Nodes", &[text("node"), number("share")]);
        assert!(sheet.is_empty());
        sheet.row([
            Cell::from("a<b"),
            Cell::of("50 %", 7).with_hint("7 \"points\"".into()),
        ]);
        let html = sheet.html().into_string();
        assert!(html.contains(
            "<tr><th scope=\"row\">a&lt;b</th><td class=\"number\" data-order=\"7\" \
             title=\"7 &quot;points&quot;\">50 %</td></tr>"
        ));
        assert!(html
            .contains("<th scope=\"col\">node</th><th scope=\"col\" class=\"number\">share</th>"));
        assert_eq!(Sheet::new("e", "", &[]).html().into_string(), "");
    }

    #[test]
    fn a_card_has_the_headings_beside_its_cells() {
        let mut sheet = Sheet::new("t", "Nodes", &[text("node"), number("share")]).with_cards();
        sheet.row([Cell::from("a"), Cell::from("50 %")]);
        let html = sheet.html().into_string();
        assert!(html.contains("<table id=\"t\" class=\"cards\">"), "{html}");
        let cell = "<td class=\"number\" data-label=\"share\">50 %</td>";
        assert!(html.contains(&format!("<th scope=\"row\">a</th>{cell}")));
    }

    #[test]
    fn a_bar_is_never_wider_than_its_cell_and_shows_what_is_little() {
        for (part, width) in [
            (0.0, "0.0"),
            (1e-9, "0.5"),
            (0.25, "25.0"),
            (7.0, "100.0"),
            (f64::NAN, "0.0"),
        ] {
            assert!(
                bar(part)
                    .into_string()
                    .contains(&format!("width=\"{width}%\"")),
                "{part}"
            );
        }
    }
}

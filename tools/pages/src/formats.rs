//! The pages of the file formats, `stead-fleet.5` and `stead-map.5`, made from docs/fleet.md and
//! docs/map-format.md.
//!
//! A crate parses the Markdown. We turn its events into roff ourselves, since no maintained crate
//! writes tables in a form that fits on a terminal: here, a row of a table is a term and its
//! explanation.

use std::path::Path;
use std::{fs, io};

use clap_mangen::roff::{bold, italic, roman, Inline, Roff};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::page::{new_page, see_also, verbatim};

/// The name of a page, its summary, its text and what it refers to.
const PAGES: [(&str, &str, &str, [&str; 3]); 2] = [
    (
        "stead-fleet",
        "the nodes, and how keys are spread over them",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md")),
        ["stead(1)", "stead-apply(1)", "stead-map(5)"],
    ),
    (
        "stead-map",
        "the map file, which says where each key lives",
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/map-format.md"
        )),
        ["stead(1)", "libstead(3)", "stead-fleet(5)"],
    ),
];

/// Writes the pages.
pub(crate) fn pages(directory: &Path) -> io::Result<()> {
    for (name, summary, markdown, others) in PAGES {
        let mut page = Page {
            roff: new_page(name, "5", summary),
            ..Page::default()
        };
        page.roff.control("SH", ["DESCRIPTION"]);
        page.headed = true;
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
            page.add(event);
        }
        see_also(&mut page.roff, others);
        fs::write(directory.join(format!("{name}.5")), page.roff.render())?;
    }
    Ok(())
}

/// A page in the making.
#[derive(Default)]
struct Page {
    roff: Roff,
    /// the text of the paragraph, heading or cell that is not finished
    text: Vec<Inline>,
    /// whether the text is strong, or emphasised
    strong: bool,
    emphasis: bool,
    /// whether a heading is the last that was written
    headed: bool,
    /// whether it is inside a code block
    code: bool,
    /// for each list that is open, the number of its next item; `None` for bullets
    lists: Vec<Option<u64>>,
    /// whether an item began whose first paragraph is still to come
    item: bool,
    /// the titles of a table's columns, and the cells of the row that is not finished
    titles: Vec<Vec<Inline>>,
    cells: Vec<Vec<Inline>>,
}

impl Page {
    fn add(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => {
                self.space();
                verbatim(&mut self.roff, text.lines());
            }
            Event::Text(text) if self.strong => self.text.push(bold(&*text)),
            Event::Text(text) if self.emphasis => self.text.push(italic(&*text)),
            Event::Text(text) => self.text.push(roman(&*text)),
            Event::Code(code) => self.text.push(bold(&*code)),
            Event::SoftBreak | Event::HardBreak => self.text.push(roman(" ")),
            // the pages have no other elements; a test of the result sees what is missing
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag) {
        match tag {
            Tag::Strong => self.strong = true,
            Tag::Emphasis => self.emphasis = true,
            Tag::CodeBlock(_) => self.code = true,
            Tag::List(first) => {
                self.paragraph(); // of an item, before a list inside it
                self.lists.push(*first);
            }
            Tag::Item => self.item = true,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.strong = false,
            TagEnd::Emphasis => self.emphasis = false,
            TagEnd::CodeBlock => self.code = false,
            TagEnd::Paragraph | TagEnd::Item => self.paragraph(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text);
                // the title of the page is its NAME
                let (macro_name, title) = match level as usize {
                    1 => return,
                    2 => ("SH", plain(&text).to_uppercase()),
                    _ => ("SS", plain(&text)),
                };
                self.roff.control(macro_name, [title.as_str()]);
                self.headed = true;
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.text)),
            TagEnd::TableHead => self.titles = std::mem::take(&mut self.cells),
            TagEnd::TableRow => self.row(),
            _ => {}
        }
    }

    /// Adds an empty line, but not below a heading.
    fn space(&mut self) {
        if !std::mem::take(&mut self.headed) {
            self.roff.control("PP", []);
        }
    }

    /// Adds the text as a paragraph, or as an item of a list.
    fn paragraph(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        match self.lists.last_mut() {
            Some(number) if std::mem::take(&mut self.item) => {
                let mark = match number {
                    Some(number) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    None => "-".to_owned(),
                };
                self.roff.control("IP", [mark.as_str(), "4"]);
            }
            Some(_) => {
                self.roff.control("IP", ["\"\"", "4"]);
            }
            None => self.space(),
        }
        self.roff.text(text);
    }

    /// Adds a row of a table: its first cell is a term, or its first two in a table of four columns
    /// and more, where the first says where; the other cells explain it.
    fn row(&mut self) {
        self.headed = false;
        let cells = std::mem::take(&mut self.cells);
        let terms = if cells.len() > 3 { 2 } else { 1 };
        self.roff.control("TP", []);
        let mut term = Vec::new();
        for cell in &cells[..terms] {
            term.push(roman(if term.is_empty() { "" } else { " " }));
            term.extend(cell.iter().map(|part| bold(words_of(part))));
        }
        self.roff.text(term);
        for (i, cell) in cells.into_iter().enumerate().skip(terms) {
            if cell.is_empty() {
                continue;
            }
            if i > terms {
                self.roff.control("br", []);
            }
            let mut text = vec![roman(format!("{}: ", plain(&self.titles[i])))];
            text.extend(cell);
            self.roff.text(text);
        }
    }
}

/// The words of a text, without its fonts.
fn plain(text: &[Inline]) -> String {
    text.iter().map(words_of).collect()
}

fn words_of(part: &Inline) -> String {
    match part {
        Inline::Roman(text) | Inline::Italic(text) | Inline::Bold(text) => text.clone(),
        Inline::LineBreak => " ".to_owned(),
    }
}

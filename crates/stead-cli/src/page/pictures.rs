//! The pictures of the page, as stead-plot draws them: each once for wide pages and once for
//! telephones, of which the style of the page shows one.

use stead::load::{Reads, Tally};
use stead::Map;
use stead_plot::{
    bands, domains, load, moves, moves_counted, nodes_of, shares, Options, Row, Theme,
};

use super::html::{element, Html};
use crate::summed::Summed;

/// The widths in pixels: of a wide page, and of a telephone's, where pictures shrink a little so
/// that their lines fit.
const WIDTHS: [(&str, u32); 2] = [("wide", 1168), ("narrow", 440)];

/// Pictures, and the styles in them, which the policy of the page must allow.
#[derive(Default)]
pub struct Pictures {
    html: Html,
    styles: Vec<String>,
    /// the nodes that are drawn, which have the same colour in each picture
    nodes: Vec<String>,
}

impl Pictures {
    /// Adds a picture, given what draws it. `id` is unique in the page. The page has the name of
    /// the cluster already, so the title is without it.
    fn draw(&mut self, id: &str, title: &str, draw: impl Fn(&Options) -> String) {
        let mut both = Html::default();
        for (name, width) in WIDTHS {
            let svg = draw(&Options {
                width,
                theme: Theme::Auto,
                title: Some(title.to_owned()),
                id: format!("{id}-{name}"),
                nodes: self.nodes.clone(),
            });
            for style in svg.split("<style>").skip(1) {
                let style = style.split("</style>").next().unwrap_or_default();
                if !self.styles.iter().any(|known| known == style) {
                    self.styles.push(style.to_owned());
                }
            }
            both.add(element("div", &[("class", name)], Html::drawn(svg)));
        }
        self.html.add(element("figure", &[], both));
    }

    /// Adds maps as bands, the oldest first.
    pub fn bands(&mut self, rows: &[Row]) {
        self.nodes = nodes_of(rows.iter().map(|row| row.map));
        self.draw("bands", "Who has which keys", |options| {
            bands(rows, options)
        });
    }

    /// Adds the shares of the nodes, beside those of a map before.
    pub fn shares(&mut self, map: &Map, before: Option<&Map>) {
        self.draw("shares", "Shares of the nodes", |options| {
            shares(map, before, options)
        });
    }

    /// Adds the fault domains, if there are any.
    pub fn domains(&mut self, map: &Map) {
        if map.spread().len() > 0 {
            self.draw("domains", "Fault domains", |options| domains(map, options));
        }
    }

    /// Adds what moves between two maps, if anything does: as parts of all copies, or of what a
    /// file counts.
    pub fn moves(&mut self, old: &Map, new: &Map, sums: Option<&Summed>) -> stead::Result<()> {
        let plan = stead::Plan::between(old, new)?;
        if !plan.moves.is_empty() {
            let title = format!("What moves from epoch {} to {}", old.epoch(), new.epoch());
            let counted = sums.map(Summed::drawn);
            self.draw("moves", &title, |options| match &counted {
                Some(counted) => moves_counted(old, new, counted, options),
                // maps that have a plan have a picture
                None => moves(old, new, options).unwrap_or_default(),
            });
        }
        Ok(())
    }

    /// Adds the load of the nodes. `unit` says what the counts of the log are.
    pub fn load(&mut self, tally: &Tally, unit: &str) {
        self.draw("load", "Load of the nodes", |options| {
            load(tally, Reads::Primary, unit, options)
        });
    }

    /// Returns the pictures, and then their styles.
    pub fn into_parts(self) -> (Html, Vec<String>) {
        (self.html, self.styles)
    }
}

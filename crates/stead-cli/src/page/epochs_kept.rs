//! The history: each epoch that is kept, with what it moved.

use super::html::{section, Html};
use super::sheet::{bar, bars, number, text, word, Cell, Sheet};
use super::tiles::remark;
use crate::epochs::Epoch;

/// Returns the table of epochs, the newest first.
pub fn table(epochs: &[Epoch]) -> Html {
    let has_note = epochs.iter().any(|epoch| epoch.note.is_some());
    let mut columns = vec![
        number("epoch"),
        word("time (UTC)"),
        word("who"),
        number("moved"),
        bars(),
        text("change"),
    ];
    columns.extend(has_note.then(|| text("note")));
    let fraction = |epoch: &Epoch| epoch.moved.as_ref().map_or(0.0, |moved| moved.fraction);
    let most = epochs.iter().map(fraction).fold(0.0, f64::max);
    let mut sheet = Sheet::new(
        "history-table",
        "Epochs that are kept, with what each moved",
        &columns,
    );
    for epoch in epochs.iter().rev() {
        let current = if epoch.current { " (current)" } else { "" };
        let change = match (&epoch.error, epoch.change_in_words()) {
            (Some(error), _) => error.clone(),
            (None, Some(change)) => change,
            (None, None) => "-".to_owned(),
        };
        let moved = fraction(epoch);
        let mut row = vec![
            Cell::of(format!("{}{current}", epoch.epoch), epoch.epoch),
            Cell::from(epoch.time_in_words()),
            Cell::from(Html::name(epoch.who.as_deref().unwrap_or("-"))),
            Cell::of(epoch.moved_in_words(), moved),
            Cell::from(bar(if most > 0.0 { moved / most } else { 0.0 })),
            Cell::from(Html::name(&change)),
        ];
        row.extend(has_note.then(|| Cell::from(Html::name(epoch.note.as_deref().unwrap_or("")))));
        sheet.row(row);
    }
    let mut html = remark(
        "Moved is the part of all copies that went to other nodes; what pins and changed policies \
         moved stands beside the change. Who and when come from the log beside the map; they tell \
         a story and prove nothing.",
    );
    html.add(sheet.html());
    section("history", "History", html)
}

//! The legend: what each colour stands for, in as many columns as fit.

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE};
use crate::groups::Groups;
use crate::letters;

/// The side of a sample of colour.
const SAMPLE: f64 = 13.0;
/// The height of a line.
const LINE: f64 = 21.0;

/// Draws the legend of groups below what is drawn already. `used` says which groups are in the
/// picture.
pub(crate) fn draw(canvas: &mut Canvas, groups: &Groups, used: impl Fn(usize) -> bool) {
    let shown = (0..groups.labels.len()).filter(|group| used(*group));
    let items: Vec<(usize, &str)> = shown
        .map(|group| (group, groups.labels[group].as_str()))
        .collect();
    let widest = items.iter().map(|(_, label)| letters::width(label, SIZE));
    let room = canvas.width() - 2.0 * MARGIN;
    let cell = (widest.fold(0.0, f64::max) + SAMPLE + 26.0).min(room);
    let columns = ((room / cell).floor() as usize).max(1);
    for (place, (group, label)) in items.iter().enumerate() {
        let (column, row) = (place % columns, place / columns);
        let (x, y) = (MARGIN + column as f64 * cell, canvas.y + row as f64 * LINE);
        canvas.group_rect(
            Box {
                x,
                y,
                width: SAMPLE,
                height: SAMPLE,
            },
            *group,
            "",
        );
        let label = letters::cut(label, SIZE, cell - SAMPLE - 8.0);
        canvas.text(x + SAMPLE + 7.0, y + 11.0, Anchor::Start, "sp-t", &label);
    }
    canvas.y += items.len().div_ceil(columns) as f64 * LINE;
    if !groups.said.is_empty() {
        canvas.y += 11.0;
        canvas.paragraph(MARGIN, &groups.said);
        canvas.y += LINE - 11.0;
    }
}

//! Modulo: what moves when the number of buckets changes and a key goes to `hash mod n`.

use std::num::NonZeroU64;

use stead::baseline::{djb2, modulo as bucket, moved, moved_share};

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE};
use crate::figures::{count, percent};
use crate::letters;
use crate::options::Options;

/// The most hashes or keys that are drawn, and the most numbers of buckets.
const MOST: usize = 64;

/// Draws the buckets of the hashes from 0 to `hashes - 1` (at most 64) for each number of buckets
/// between two (at most 64 of them), and says what each change moves.
pub fn modulo(from: NonZeroU64, to: NonZeroU64, hashes: u64, options: &Options) -> String {
    let (from, to) = (from.min(to), from.max(to));
    let hashes = hashes.clamp(1, MOST as u64);
    let title = format!(
        "hash mod n: buckets of the hashes 0 to {}, for {from} to {to} buckets",
        hashes - 1
    );
    let line = "The line above a cell marks a hash that has another bucket than with one bucket \
                less. What moves is counted over all hashes.";
    let mut canvas = Canvas::new(options, title, &[line.to_owned()]);
    let moves = |before: NonZeroU64, n: NonZeroU64| {
        let moved = moved_share(before, n);
        moved.moved as f64 / moved.keys as f64
    };
    let grid = Grid::of(&canvas, hashes as usize, "moves 100.0 %");
    let values: Vec<u64> = (0..hashes).collect();
    let said = rows(&mut canvas, grid, from, to, &values, moves);
    for hash in (0..hashes).step_by(if grid.wide < 20.0 { 4 } else { 1 }) {
        let at = grid.x + grid.wide * (hash as f64 + 0.5);
        let hash = hash.to_string();
        canvas.text(at, canvas.y + 9.0, Anchor::Middle, "sp-q sp-s", &hash);
    }
    canvas.text(
        grid.x - 10.0,
        canvas.y + 9.0,
        Anchor::End,
        "sp-q sp-s",
        "hash",
    );
    canvas.y += 10.0;
    canvas.finish(&said)
}

/// Draws the buckets of keys (at most 64) by the low 8 bits of their djb2 hash, for each number of
/// buckets between two: the tables of the article "Distributed RRD by consistent hashing".
pub fn modulo_keys(from: NonZeroU64, to: NonZeroU64, keys: &[&[u8]], options: &Options) -> String {
    let (from, to) = (from.min(to), from.max(to));
    let keys = &keys[..keys.len().min(MOST)];
    let title = format!(
        "djb2(key) mod n: buckets of {}, for {from} to {to} buckets",
        count(keys.len(), "key")
    );
    let line = "The line above a cell marks a key that has another bucket than with one bucket \
                less. Hashes are the low 8 bits of djb2.";
    let mut canvas = Canvas::new(options, title, &[line.to_owned()]);
    let values: Vec<u64> = keys.iter().map(|key| djb2(key) % 256).collect();
    let moves = |before: NonZeroU64, n: NonZeroU64| {
        let moved = moved(values.iter().copied(), before, n);
        moved.moved as f64 / moved.keys.max(1) as f64
    };
    let grid = Grid::of(&canvas, keys.len().max(8), "moves 100.0 %");
    let mut said = rows(&mut canvas, grid, from, to, &values, moves);
    canvas.text(
        grid.x - 10.0,
        canvas.y + 9.0,
        Anchor::End,
        "sp-q sp-s",
        "hash",
    );
    for (number, value) in values.iter().enumerate() {
        let at = grid.x + grid.wide * (number as f64 + 0.5);
        canvas.text(
            at,
            canvas.y + 9.0,
            Anchor::Middle,
            "sp-t",
            &value.to_string(),
        );
    }
    canvas.y += 22.0;
    for (number, (key, value)) in keys.iter().zip(&values).enumerate() {
        canvas.y += 19.0;
        let buckets = counts(from, to).map(|n| format!("mod {n} = {}", bucket(*value, n)));
        let buckets = buckets.collect::<Vec<_>>().join(", ");
        let line = format!(
            "{}: {} = {value}; {buckets}",
            number + 1,
            String::from_utf8_lossy(key)
        );
        let room = canvas.width() - 2.0 * MARGIN;
        canvas.text(
            MARGIN,
            canvas.y,
            Anchor::Start,
            "sp-q",
            &letters::cut(&line, SIZE, room),
        );
        said += &format!(" {line}.");
    }
    canvas.finish(&said)
}

fn counts(from: NonZeroU64, to: NonZeroU64) -> impl Iterator<Item = NonZeroU64> {
    (from.get()..=to.get())
        .take(MOST)
        .filter_map(NonZeroU64::new)
}

/// Where the cells are.
#[derive(Clone, Copy)]
struct Grid {
    x: f64,
    wide: f64,
    high: f64,
}

impl Grid {
    fn of(canvas: &Canvas, cells: usize, note: &str) -> Grid {
        let x = MARGIN + letters::width("100 buckets", SIZE) + 10.0;
        let right = letters::width(note, SIZE) + 12.0;
        let wide = (canvas.width() - MARGIN - right - x) / cells as f64;
        Grid {
            x,
            wide,
            high: wide.clamp(20.0, 30.0),
        }
    }
}

/// Draws a row of cells for each number of buckets. Returns what each moves, in words.
fn rows(
    canvas: &mut Canvas,
    grid: Grid,
    from: NonZeroU64,
    to: NonZeroU64,
    values: &[u64],
    moves: impl Fn(NonZeroU64, NonZeroU64) -> f64,
) -> String {
    let mut said = Vec::new();
    for n in counts(from, to) {
        let middle = canvas.y + grid.high / 2.0 + SIZE * 0.36;
        let label = count(n.get() as usize, "bucket");
        canvas.text(grid.x - 10.0, middle, Anchor::End, "sp-t", &label);
        let before = NonZeroU64::new(n.get() - 1).filter(|_| n > from);
        for (place, value) in values.iter().enumerate() {
            let now = bucket(*value, n);
            let of = Box {
                x: grid.x + grid.wide * place as f64,
                y: canvas.y,
                width: grid.wide - 1.0,
                height: grid.high,
            };
            canvas.group_rect(of, now as usize, &format!("hash {value} mod {n} = {now}"));
            canvas.name_in(of, now as usize, &now.to_string());
            if before.is_some_and(|before| bucket(*value, before) != now) {
                let mark = Box {
                    y: of.y - 4.0,
                    height: 3.0,
                    ..of
                };
                canvas.rect(mark, "sp-ink", "");
            }
        }
        if let Some(before) = before {
            let note = format!("moves {}", percent(moves(before, n)));
            let end = grid.x + grid.wide * values.len() as f64 + 12.0;
            canvas.text(end, middle, Anchor::Start, "sp-q", &note);
            said.push(format!("To {label}: {note}."));
        }
        canvas.y += grid.high + 7.0;
    }
    said.join(" ")
}

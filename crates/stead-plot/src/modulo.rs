//! Modulo: what moves when the number of buckets changes and a key goes to `hash mod n`.

use std::num::NonZeroU64;

use stead::baseline::{modulo as bucket, moved_share};

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE};
use crate::figures::percent;
use crate::letters;
use crate::options::Options;

/// The most hashes that are drawn.
const MOST: u64 = 64;

/// Draws the buckets of the hashes from 0 to `hashes - 1` (at most 64) for each number of buckets
/// between two (at most 64 of them), and says what each change moves.
pub fn modulo(from: NonZeroU64, to: NonZeroU64, hashes: u64, options: &Options) -> String {
    let (from, to) = (from.min(to), from.max(to));
    let hashes = hashes.clamp(1, MOST);
    let counts: Vec<NonZeroU64> = (from.get()..=to.get())
        .take(MOST as usize)
        .filter_map(NonZeroU64::new)
        .collect();
    let title = format!(
        "hash mod n: buckets of the hashes 0 to {}, for {from} to {to} buckets",
        hashes - 1
    );
    let lines = ["The line above a cell marks a hash that has another bucket than with one bucket less. What moves is counted over all hashes.".to_owned()];
    let mut canvas = Canvas::new(options, title, &lines);
    let note = |n: NonZeroU64| {
        let before = NonZeroU64::new(n.get() - 1).filter(|_| n > from)?;
        let moved = moved_share(before, n);
        Some(format!(
            "moves {}",
            percent(moved.moved as f64 / moved.keys as f64)
        ))
    };
    let left = letters::width("100 buckets", SIZE);
    let right = letters::width("moves 100.0 %", SIZE);
    let x = MARGIN + left + 10.0;
    let wide = (canvas.width() - MARGIN - right - 12.0 - x) / hashes as f64;
    let high = wide.clamp(20.0, 30.0);
    let mut said = Vec::new();
    for n in &counts {
        let middle = canvas.y + high / 2.0 + SIZE * 0.36;
        canvas.text(
            x - 10.0,
            middle,
            Anchor::End,
            "sp-t",
            &format!("{n} buckets"),
        );
        let before = NonZeroU64::new(n.get() - 1).filter(|_| *n > from);
        for hash in 0..hashes {
            let now = bucket(hash, *n);
            let of = Box {
                x: x + wide * hash as f64,
                y: canvas.y,
                width: wide - 1.0,
                height: high,
            };
            canvas.group_rect(of, now as usize, &format!("hash {hash} mod {n} = {now}"));
            canvas.name_in(of, now as usize, &now.to_string());
            if before.is_some_and(|before| bucket(hash, before) != now) {
                canvas.rect(
                    Box {
                        y: of.y - 4.0,
                        height: 3.0,
                        ..of
                    },
                    "sp-ink",
                    "",
                );
            }
        }
        if let Some(note) = note(*n) {
            canvas.text(
                x + wide * hashes as f64 + 12.0,
                middle,
                Anchor::Start,
                "sp-q",
                &note,
            );
            said.push(format!("to {n} buckets {note}"));
        }
        canvas.y += high + 7.0;
    }
    for hash in (0..hashes).step_by(if wide < 20.0 { 4 } else { 1 }) {
        let at = x + wide * (hash as f64 + 0.5);
        canvas.text(
            at,
            canvas.y + 9.0,
            Anchor::Middle,
            "sp-q sp-s",
            &hash.to_string(),
        );
    }
    canvas.text(x - 10.0, canvas.y + 9.0, Anchor::End, "sp-q sp-s", "hash");
    canvas.y += 10.0;
    canvas.finish(&format!("{}.", said.join(", ")))
}

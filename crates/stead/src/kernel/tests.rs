//! Every kernel gives the points that single calls give.

use std::sync::Arc;

use super::message::LONGEST_IN_LANES;
use super::*;
use crate::hash::{Adopted, Affixes, Function, Secret};

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// All functions, alone, modulo and with affixes, and the hash with a secret.
fn hashes() -> Vec<Hash> {
    let affixes = |prefix: usize, suffix: usize| Affixes {
        prefix: vec![b'p'; prefix],
        suffix: vec![b's'; suffix],
    };
    let mut hashes = vec![Hash::SipHash(Secret([7; 16]))];
    for function in Function::all() {
        for modulo in [false, true] {
            hashes.push(Hash::of(function, modulo, Affixes::default()));
            for (prefix, suffix) in [(3, 0), (0, 8), (20, 30), (100, 255)] {
                hashes.push(Hash::Adopted(Adopted {
                    function,
                    modulo,
                    affixes: Some(Arc::new(affixes(prefix, suffix))),
                }));
            }
        }
    }
    hashes
}

/// All of them; under Miri, which takes a thousand times as long, only one of every `nth`.
fn some<T>(all: impl IntoIterator<Item = T>, nth: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if cfg!(miri) { nth } else { 1 })
}

/// Compares what a kernel gives for keys in both forms with single calls.
fn check(kernel: Kernel, hash: &Hash, rule: KeyRule, cells: Cells, bytes: &[u8], spans: &[Span]) {
    let keys = Keys::spans(bytes, spans).unwrap();
    let wanted: Vec<Point> = keys
        .iter()
        .map(|key| hash.point_of(rule, cells, key))
        .collect();
    let mut found = vec![Point(1); spans.len()];
    points(kernel, hash, rule, cells, keys, &mut found);
    assert_eq!(found, wanted, "{kernel:?} {hash:?} {rule:?}, spans");
    let each: Vec<&[u8]> = keys.iter().collect();
    found.fill(Point(1));
    points(kernel, hash, rule, cells, Keys::each(&each), &mut found);
    assert_eq!(found, wanted, "{kernel:?} {hash:?} {rule:?}, each");
}

fn md5() -> (Hash, KeyRule, Cells) {
    (Hash::Md5, KeyRule::Whole, Cells::FINEST)
}

#[test]
fn every_length_at_every_alignment() {
    let mut random = Random(1);
    let bytes: Vec<u8> = (0..1000).map(|_| random.next() as u8).collect();
    for kernel in Kernel::here() {
        for hash in [Hash::Md5, Hash::Sha1] {
            for start in some(0..64, 63) {
                // each length beside all others, and the last key at the end of the buffer
                let lengths = some(0..=300, 20);
                let spans: Vec<Span> = lengths.map(|length| Span { start, length }).collect();
                let end = start + 300;
                check(
                    kernel,
                    &hash,
                    KeyRule::Whole,
                    Cells::FINEST,
                    &bytes[..end],
                    &spans,
                );
            }
            for length in some(0..=300, 150) {
                // registers with keys of one length only, and with one that differs
                let mut spans = [Span { start: 3, length }; 40];
                check(kernel, &hash, KeyRule::Whole, Cells::FINEST, &bytes, &spans);
                spans[random.below(40)].length = random.below(301);
                check(kernel, &hash, KeyRule::Whole, Cells::FINEST, &bytes, &spans);
            }
        }
    }
}

#[test]
fn every_number_of_keys() {
    let mut random = Random(2);
    let bytes: Vec<u8> = (0..5000).map(|_| random.next() as u8).collect();
    let (hash, rule, cells) = md5();
    for kernel in Kernel::here() {
        for count in some((0..200).chain([1023, 1024, 1025, 2049, 5000]), 66) {
            let spans: Vec<Span> = (0..count)
                .map(|_| Span {
                    start: random.below(4900),
                    length: random.below(if count % 2 == 0 { 12 } else { 90 }),
                })
                .collect();
            check(kernel, &hash, rule, cells, &bytes, &spans);
        }
    }
}

#[test]
fn every_hash_rule_and_number_of_cells() {
    let mut random = Random(3);
    let bytes: Vec<u8> = (0..3000)
        .map(|_| {
            if random.below(6) == 0 {
                b'/'
            } else {
                random.next() as u8
            }
        })
        .collect();
    let rules = ["whole", "first 1 segments", "first 3 segments"];
    for kernel in Kernel::here() {
        for hash in some(hashes(), 31) {
            for (rule, cells) in rules.iter().zip([0, 1000, 16_384]) {
                let spans: Vec<Span> = some(0..80, 16)
                    .map(|i| Span {
                        start: random.below(2800),
                        length: random.below([200, 40, 40, 40, 40][i % 5]),
                    })
                    .collect();
                let rule = KeyRule::parse(rule).unwrap();
                let cells = match hash.is_modulo() {
                    true => Cells::from_stored(cells.max(7)),
                    false => Cells::from_stored(cells),
                };
                check(kernel, &hash, rule, cells, &bytes, &spans);
            }
        }
    }
}

#[test]
fn keys_too_long_for_lanes_and_keys_at_the_end() {
    let mut random = Random(4);
    let bytes: Vec<u8> = (0..3 * LONGEST_IN_LANES)
        .map(|_| random.next() as u8)
        .collect();
    let mut spans: Vec<Span> = Vec::new();
    for length in [
        0,
        1,
        55,
        56,
        63,
        64,
        119,
        120,
        LONGEST_IN_LANES,
        LONGEST_IN_LANES + 1,
        9000,
    ] {
        for start in [0, 1, bytes.len() - length] {
            spans.push(Span { start, length });
        }
    }
    let spans: Vec<Span> = some(spans, 7).collect();
    let (hash, rule, cells) = md5();
    for kernel in Kernel::here() {
        check(kernel, &hash, rule, cells, &bytes, &spans);
        check(kernel, &Hash::Sha1, rule, cells, &bytes, &spans);
        check(kernel, &hash, rule, cells, &[], &[Span::default(); 33]);
        for short in some(1..70, 31) {
            let ends: Vec<Span> = (0..=short)
                .map(|start| Span {
                    start,
                    length: short - start,
                })
                .collect();
            check(kernel, &hash, rule, cells, &bytes[..short], &ends);
        }
    }
}

#[test]
fn spans_outside_of_the_bytes_are_refused() {
    let half = isize::MAX as usize;
    let numbers = [
        0,
        1,
        3,
        4,
        half - 3,
        half,
        half + 1,
        usize::MAX - 3,
        usize::MAX,
    ];
    for start in numbers {
        for length in numbers {
            let is_inside = start.checked_add(length).is_some_and(|end| end <= 3);
            let span = Span { start, length };
            let between = [Span::default(), span, Span::default()];
            assert_eq!(
                Keys::spans(b"abc", &between).is_some(),
                is_inside,
                "{span:?}"
            );
        }
    }
    let inside = [(0, 3), (3, 0), (1, 2)].map(|(start, length)| Span { start, length });
    let keys = Keys::spans(b"abc", &inside).unwrap();
    assert_eq!(keys.iter().collect::<Vec<_>>(), [&b"abc"[..], b"", b"bc"]);
    assert_eq!(keys.part(1..9).len(), 2);
    assert!(keys.part(3..4).is_empty() && keys.part(7..8).is_empty());
}

#[test]
fn a_kernel_is_found_by_its_name() {
    assert!(Kernel::here().any(|kernel| kernel == Kernel::chosen()));
    for kernel in Kernel::ALL {
        let here = Kernel::here().any(|other| other == kernel);
        assert_eq!(Kernel::named(kernel.name()), here.then_some(kernel));
    }
    assert_eq!(Kernel::named("sse3"), None);
    assert_eq!(Kernel::here().next(), Some(Kernel::Scalar));
    #[cfg(target_arch = "x86_64")]
    assert!(Kernel::here().any(|kernel| kernel == Kernel::Sse2));
    #[cfg(target_arch = "aarch64")]
    assert!(Kernel::here().any(|kernel| kernel == Kernel::Neon));
}

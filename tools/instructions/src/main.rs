//! The work whose instructions benches/instructions/check.py counts under callgrind: the same keys
//! in every run, one by one and many at once.
//!
//! ```text
//! instructions [PERCENT]     (PERCENT more keys than usual: a planted growth)
//! ```
//!
//! Each case is a function of its own, which callgrind finds by its name. The kernel is chosen by
//! STEAD_KERNEL.

use std::hint::black_box;
use std::num::NonZeroUsize;

use stead::kernel::Kernel;
use stead::policy::NodeId;
use stead::{build, Fleet, Keys, Map, Span};

const NODES: usize = 100;
/// Two whole blocks of the kernels and a part of a third.
const KEYS: usize = 2_500;

/// The keys, as they lie in one buffer.
struct Names {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Names {
    /// Makes names of 4 to 40 bytes, most of them short. One of a hundred has 100 bytes, which
    /// MD5 and SHA-1 hash in two blocks.
    fn of(count: usize) -> Names {
        let mut names = Names {
            bytes: Vec::new(),
            spans: Vec::new(),
        };
        for i in 0..count {
            let length = match i % 100 {
                50 => 100,
                j if j % 10 == 3 => 16 + j / 4,
                j => 4 + j % 12,
            };
            let name = format!("{:a>length$}", i * 7919 % 1_000_003);
            names.spans.push(Span {
                start: names.bytes.len(),
                length: name.len(),
            });
            names.bytes.extend_from_slice(name.as_bytes());
        }
        names
    }

    fn keys(&self) -> Keys<'_> {
        Keys::spans(&self.bytes, &self.spans).expect("they are inside")
    }
}

fn single(map: &Map, names: &Names) -> u64 {
    names
        .keys()
        .iter()
        .map(|key| u64::from(map.locate(black_box(key)).0))
        .sum()
}

fn batch(map: &Map, names: &Names, nodes: &mut [NodeId]) -> u64 {
    map.locate_keys(black_box(names.keys()), NonZeroUsize::MIN, nodes, |node| {
        node
    });
    nodes.iter().map(|node| u64::from(node.0)).sum()
}

/// Declares the two cases of a hash. They have names that the linker keeps, and are not inlined,
/// so that callgrind counts what each of them costs with all that it calls. Each one mentions its
/// name, since the compiler makes one function of those that have the same code.
macro_rules! cases {
    ($($single:ident $batch:ident)*) => {
        $(
            #[no_mangle]
            #[inline(never)]
            fn $single(map: &Map, names: &Names) -> u64 {
                single(map, black_box((names, stringify!($single))).0)
            }

            #[no_mangle]
            #[inline(never)]
            fn $batch(map: &Map, names: &Names, nodes: &mut [NodeId]) -> u64 {
                batch(map, black_box((names, stringify!($batch))).0, nodes)
            }
        )*
    };
}

cases! {
    case_single_md5 case_batch_md5
    case_single_sha1 case_batch_sha1
    case_single_xxh3 case_batch_xxh3
}

type Single = fn(&Map, &Names) -> u64;
type Batch = fn(&Map, &Names, &mut [NodeId]) -> u64;

fn main() {
    let more: usize = std::env::args()
        .nth(1)
        .map_or(0, |word| word.parse().expect("a number of percent"));
    println!("kernel {}", Kernel::chosen().name());
    let names = Names::of(KEYS + KEYS * more / 100);
    let mut nodes = vec![NodeId(0); names.spans.len()];
    let cases: [(&str, Single, Batch); 3] = [
        ("md5", case_single_md5, case_batch_md5),
        ("sha1", case_single_sha1, case_batch_sha1),
        ("xxh3", case_single_xxh3, case_batch_xxh3),
    ];
    for (hash, single, batch) in cases {
        let map = map(hash);
        // once outside of the cases, so that what is done only once is not counted
        let first = map.locate(b"frank").0;
        self::batch(&map, &names, &mut nodes);
        let (one, many) = (single(&map, &names), batch(&map, &names, &mut nodes));
        assert_eq!(one, many, "both give the same nodes");
        println!("{hash}: {one} ({first})");
    }
}

/// Builds a map in two steps of growth.
fn map(hash: &str) -> Map {
    let mut map: Option<Map> = None;
    for count in [NODES / 2, NODES] {
        let list: String = (0..count)
            .map(|i| format!("[[node]]\nname = \"n{i:04}\"\n"))
            .collect();
        let text = format!("name = \"bench\"\nhash = \"{hash}\"\n{list}");
        let fleet = Fleet::parse(&text, "bench").expect("a good fleet");
        map = Some(build(&fleet, map.as_ref()).expect("it can be built"));
    }
    map.expect("two steps")
}

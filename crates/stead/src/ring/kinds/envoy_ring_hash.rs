//! Envoy's ring hash load balancer
//! (`source/extensions/load_balancing_policies/ring_hash/ring_hash_lb.cc`).
//!
//! Point i of a host, i from 0, is XXH64 of `NAME_i`, a number of 64 bits. The hosts come in the
//! order of the list. Their weights are parts of their sum, and the ring has about `scale` points:
//! the smallest multiple of 1 / (smallest weight) that is minimum_ring_size or more, and at most
//! maximum_ring_size. Before a host's turn the target grows by scale * weight; the host gets
//! points while the points of all hosts so far are below the target. All this is in double
//! precision, as on x86-64; a compiler for ARM may fuse the product and the sum, which can move a
//! point from one host to the next where the target is not a whole number.
//!
//! A request of the hash h goes to the first point at h or after it. docs/rings.md says what h is
//! the hash of, and what is missing.
//!
//! `hash_function=murmur_hash_2` is for the points only: h is XXH64 even then. Envoy computes it
//! as `std::hash` of libstdc++ did: MurmurHash64A (Austin Appleby) with the seed c70f6907.

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie};
use crate::ring::draw::Ring;
use crate::ring::envoy::{hosts, LIST};
use crate::ring::kind::Kind;
use crate::ring::servers::{names_and_weights, Servers};

/// The most points of a ring that Envoy's configuration may say, and the default of the largest.
const SIZE_MAX: u64 = 8_388_608;

pub(super) const KIND: Kind = Kind {
    name: "envoy-ring-hash",
    about: "Envoy's ring hash load balancer",
    servers: LIST,
    choices: &[
        Choice {
            name: "minimum_ring_size",
            values: Values::Number {
                least: 1,
                most: SIZE_MAX,
                default: 1024,
            },
            about: "its option minimum_ring_size",
        },
        Choice {
            name: "maximum_ring_size",
            values: Values::Number {
                least: 1,
                most: SIZE_MAX,
                default: SIZE_MAX,
            },
            about: "its option maximum_ring_size",
        },
        Choice {
            name: "hash_function",
            values: Values::OneOf(&["xx_hash", "murmur_hash_2"]),
            about: "its option hash_function: the hash of the points",
        },
    ],
    draw,
    list: Some(names_and_weights),
    variants: &[&["hash_function=murmur_hash_2"]],
};

fn draw(file: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let (least, most) = (
        choices.number("minimum_ring_size"),
        choices.number("maximum_ring_size"),
    );
    if least > most {
        return Err(Error::Invalid {
            problem: format!("minimum_ring_size={least}: it is above maximum_ring_size={most}"),
        });
    }
    let murmur = choices.text("hash_function") == "murmur_hash_2";
    let (members, weights) = hosts(file)?;
    let lightest = weights.iter().copied().fold(1.0, f64::min);
    let scale = ((lightest * least as f64).ceil() / lightest).min(most as f64);
    let mut points: Vec<RingPoint> = Vec::new();
    let (mut current, mut target) = (0f64, 0f64);
    for ((member, weight), server) in members.iter().zip(weights).zip(0u32..) {
        target += scale * weight;
        for i in 0u64.. {
            if current >= target {
                break;
            }
            let label = format!("{}_{i}", member.name);
            let point = match murmur {
                true => murmur_hash_2(label.as_bytes()),
                false => Function::Xxh64.value(label.as_bytes()),
            };
            points.push((u128::from(point), server));
            current += 1.0;
        }
    }
    let cells = Cells::FINEST;
    let table = owners(
        &in_order(points, Tie::First),
        Owner::AtOrAfter,
        cells.count(),
    );
    Ok(Ring {
        hash: Hash::of(Function::Xxh64, false, Affixes::default()),
        cells,
        replicas: 1,
        members,
        table,
    })
}

/// MurmurHash64A: the bytes are read in words of 8, little-endian, the last of them shorter.
fn murmur_hash_2(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0xc70f_6907;
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mixed = |number: u64| number ^ number >> 47;
    let times = |number: u64| number.wrapping_mul(MULTIPLIER);
    let hash = bytes
        .chunks(8)
        .fold(SEED ^ times(bytes.len() as u64), |hash, word| {
            let number = word
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte));
            // a whole word is mixed before it is added, the rest is not
            let number = match word.len() {
                8 => times(mixed(times(number))),
                _ => number,
            };
            times(hash ^ number)
        });
    mixed(times(mixed(hash)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(list: &str, set: &[impl AsRef<str>]) -> Result<Ring> {
        KIND.draw_text("hosts", list, set)
    }

    /// The points of a ring, each with its host's place in the list; a run that follows one of the
    /// same host is none.
    fn runs(list: &str, set: &[&str]) -> Vec<(u64, u32)> {
        let ring = drawn(list, set).unwrap();
        let starts = ring.table.iter().skip(1).map(|run| (run.0 - 1) as u64);
        starts.zip(ring.table.iter().map(|run| run.1[0])).collect()
    }

    /// The host of the request of a hash.
    fn host(ring: &Ring, hash: u64) -> u32 {
        let at = u128::from(hash);
        let run = ring.table.partition_point(|(first, _)| *first <= at) - 1;
        ring.table[run].1[0]
    }

    fn sizes(least: u32, most: u32) -> [String; 2] {
        [
            format!("minimum_ring_size={least}"),
            format!("maximum_ring_size={most}"),
        ]
    }

    // The rings of test/extensions/load_balancing_policies/ring_hash/ring_hash_lb_test.cc.

    const SIX: &str = "127.0.0.1:90\n127.0.0.1:91\n127.0.0.1:92\n127.0.0.1:93\n127.0.0.1:94\n\
        127.0.0.1:95";

    #[test]
    fn the_rings_of_envoys_own_tests() {
        // Basic; port 91 has two points side by side
        assert_eq!(
            runs(SIX, &["minimum_ring_size=12"]),
            [
                (833_437_586_790_550_860, 4),
                (928_266_305_478_181_108, 2),
                (1_033_482_794_131_418_490, 0),
                (3_551_244_743_356_806_947, 5),
                (3_851_675_632_748_031_481, 3),
                (6_311_230_543_546_372_928, 1),
                (7_700_377_290_971_790_572, 3),
                (13_144_177_310_400_110_813, 5),
                (13_444_792_449_719_432_967, 2),
                (15_516_499_411_664_133_160, 4),
                (16_117_243_373_044_804_889, 0),
            ]
        );
        // BasicWithHostname; host 95 has two points side by side
        assert_eq!(
            runs("90\n91\n92\n93\n94\n95", &["minimum_ring_size=12"]),
            [
                (2_376_063_919_839_173_711, 5),
                (2_386_806_903_309_390_596, 3),
                (6_749_904_478_991_551_885, 4),
                (6_803_900_775_736_438_537, 3),
                (7_225_015_537_174_310_577, 2),
                (8_787_465_352_164_086_522, 0),
                (11_282_020_843_382_717_940, 2),
                (13_723_418_369_486_627_818, 1),
                (13_776_502_110_861_797_421, 0),
                (14_338_313_586_354_474_791, 1),
                (15_364_271_037_087_512_980, 4),
            ]
        );
        // BasicWithMurmur2
        let eighties = SIX.replace(":9", ":8");
        assert_eq!(
            runs(
                &eighties,
                &["minimum_ring_size=12", "hash_function=murmur_hash_2"]
            ),
            [
                (1_358_027_074_129_602_068, 5),
                (4_361_834_613_929_391_114, 3),
                (7_224_494_972_555_149_682, 4),
                (7_701_421_856_454_313_576, 1),
                (8_649_315_368_077_433_379, 2),
                (8_739_448_859_063_030_639, 4),
                (9_887_544_217_113_020_895, 1),
                (10_150_910_876_324_007_731, 2),
                (15_168_472_011_420_622_455, 3),
                (15_427_156_902_705_414_897, 0),
                (16_375_050_414_328_759_093, 5),
                (17_613_279_263_364_193_813, 0),
            ]
        );
        // UnevenHosts
        assert_eq!(
            runs("127.0.0.1:80\n127.0.0.1:81", &["minimum_ring_size=3"]),
            [
                (5_454_692_015_285_649_509, 0),
                (7_859_399_908_942_313_493, 1),
                (13_838_424_394_637_650_569, 0),
                (16_064_866_803_292_627_174, 1),
            ]
        );
    }

    #[test]
    fn the_answers_of_envoys_own_tests() {
        let basic = drawn(SIX, &["minimum_ring_size=12"]).unwrap();
        for (hash, expected) in [
            (0, 4),
            (u64::MAX, 4),
            (3_551_244_743_356_806_947, 5),
            (3_551_244_743_356_806_948, 3),
            (16_117_243_373_044_804_880, 0),
        ] {
            assert_eq!(host(&basic, hash), expected, "{hash}");
        }
        // HostWeightedTinyRing, and LocalityWeightedTinyRing: a host in each locality
        let three = "127.0.0.1:90 1\n127.0.0.1:91 2\n127.0.0.1:92 3";
        let ring = drawn(three, &sizes(6, 6)).unwrap();
        for (hash, expected) in [
            (928_266_305_478_181_108, 2),
            (4_443_673_547_860_492_590, 2),
            (5_583_722_120_771_150_861, 1),
            (6_311_230_543_546_372_928, 1),
            (13_444_792_449_719_432_967, 2),
            (16_117_243_373_044_804_889, 0),
        ] {
            assert_eq!(host(&ring, hash), expected, "{hash}");
        }
        // HostAndLocalityWeightedTinyRing: 1/3 * 1/3, 1/3 * 2/3, 2/3 * 1/3, 2/3 * 2/3
        let four = "127.0.0.1:90 1\n127.0.0.1:91 2\n127.0.0.1:92 2\n127.0.0.1:93 4";
        let ring = drawn(four, &sizes(9, 9)).unwrap();
        for (hash, expected) in [
            (928_266_305_478_181_108, 2),
            (3_851_675_632_748_031_481, 3),
            (5_583_722_120_771_150_861, 1),
            (6_311_230_543_546_372_928, 1),
            (7_700_377_290_971_790_572, 3),
            (12_559_126_875_973_811_811, 3),
            (13_444_792_449_719_432_967, 2),
            (13_784_988_426_630_141_778, 3),
            (16_117_243_373_044_804_889, 0),
        ] {
            assert_eq!(host(&ring, hash), expected, "{hash}");
        }
        // LopsidedWeightSmallScale: one host has 127 of 128 parts, 1,023 share the last
        let lopsided: String = (0..1024)
            .map(|i| format!("127.0.0.1:{i} {}\n", if i == 0 { 127 * 1023 } else { 1 }))
            .collect();
        let ring = drawn(&lopsided, &sizes(1024, 1024)).unwrap();
        for (hash, expected) in [
            (11_664_790_346_325_243_808, 1),
            (15_894_554_872_961_148_518, 128),
            (13_958_138_884_277_627_155, 256),
            (15_803_774_069_438_192_949, 384),
            (3_829_253_010_855_396_576, 512),
            (17_918_147_347_826_565_154, 640),
            (6_442_769_608_292_299_103, 768),
            (5_881_074_926_069_334_434, 896),
        ] {
            assert_eq!(host(&ring, hash), expected, "{hash}");
        }
    }

    #[test]
    fn the_counts_of_envoys_own_tests() {
        let three = "127.0.0.1:90 1\n127.0.0.1:91 2\n127.0.0.1:92 3";
        let four = "127.0.0.1:90 1\n127.0.0.1:91 2\n127.0.0.1:92 2\n127.0.0.1:93 4";
        let two = "127.0.0.1:90\n127.0.0.1:91";
        // HostWeightedLargeRing, HostAndLocalityWeightedLargeRing, LargeFractionalScale: how many
        // of so many hashes around the ring each host gets
        for (list, set, asked, counts) in [
            (three, sizes(6144, 8_388_608), 6000, &[987, 1932, 3081][..]),
            (four, sizes(9216, 8_388_608), 9000, &[924, 2009, 2053, 4014]),
            (two, sizes(1023, 1023), 1023, &[526, 497]),
        ] {
            let ring = drawn(list, &set).unwrap();
            let mut found = vec![0; counts.len()];
            for i in 0..asked {
                found[host(&ring, i * (u64::MAX / asked)) as usize] += 1;
            }
            assert_eq!(found, counts);
        }
        // SmallFractionalScale: half of the hosts have no point
        let ring = drawn("a\nb\nc\nd", &sizes(2, 2)).unwrap();
        assert_eq!(ring.held().iter().filter(|held| **held == 0).count(), 2);
    }

    #[test]
    fn murmur_gives_its_published_values() {
        // test/common/common/hash_test.cc
        for (text, hash) in [
            ("foo", 9_631_199_822_919_835_226),
            ("bar", 11_474_628_671_133_349_555),
            ("foo\nbar", 16_306_510_975_912_980_159),
            ("lyft", 12_847_078_931_730_529_320),
            ("", 6_142_509_188_972_423_790),
        ] {
            assert_eq!(murmur_hash_2(text.as_bytes()), hash, "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a 0\n",
                &[][..],
                "hosts:1: the weight is 0, which Envoy refuses",
            ),
            ("a,b\n", &[], "hosts:1: the name `a,b` has a comma"),
            (
                "a\na\n",
                &[],
                "hosts: server 1 and server 2 of the list are both named `a`",
            ),
            (
                "a\n",
                &["maximum_ring_size=10"],
                "minimum_ring_size=1024: it is above maximum_ring_size=10",
            ),
            (
                "a\n",
                &["maximum_ring_size=8388609"],
                "maximum_ring_size=8388609: `8388609` is not a whole number from 1 to 8388608",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}

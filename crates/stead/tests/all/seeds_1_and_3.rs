//! The figures of "Evenly distributing members by MD5" (seed 1) and of "Distributed RRD by
//! consistent hashing" (seed 3), reproduced with this project's code. Where a seed contradicts
//! itself, the test says which of its figures is right and which cannot be.

use std::num::NonZeroU64;

use stead::baseline::{
    ascii_sum, djb2, djb2_modulo, letter_path, moved, moved_share, Moved, Ranges,
};
use stead::hash;
use stead::path::{path, Fold, Levels};
use stead::stats::{Survey, SurveyReport};

fn some(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn bob_has_the_ascii_sum_307() {
    assert_eq!(ascii_sum(b"bob"), 307);
    assert_eq!(ascii_sum(b"ob"), 209);
}

#[test]
fn frankie_lies_six_directories_deep() {
    assert_eq!(
        letter_path(b"frankie").unwrap() + "/my_photos",
        "f/r/a/n/k/i/frankie/my_photos"
    );
}

/// The paper's `MD5(frank)` is that of `frank` and a newline. Besides, the extracted text of the
/// paper has lost every letter c.
#[test]
fn the_papers_md5_of_frank_has_a_newline_in_it() {
    assert_eq!(
        hex(&hash::md5(b"frank")),
        "26253c50741faa9c2e2b836773c69fe6"
    );
    let with_newline = hex(&hash::md5(b"frank\n"));
    assert_eq!(with_newline, "d268c8fe7f154537c2c9ed60a0b8f2fd");
    assert_eq!(
        with_newline.replace('c', ""),
        "d2688fe7f15453729ed60a0b8f2fd"
    );
    let levels = Levels::default();
    assert_eq!(
        path(b"frank", &levels, Fold::None).unwrap(),
        "38/37/60/frank"
    );
    assert_eq!(
        path(b"frank\n", &levels, Fold::None).unwrap(),
        "18/40/72/frank=0a"
    );
}

/// The number of members of each server, from the most to the fewest, as pairs (members, servers
/// with this number).
fn loads(ranges: Ranges, members: u64) -> Vec<(u64, usize)> {
    let mut loads: Vec<u64> = (0..ranges.servers.get())
        .map(|server| ranges.load(server, members))
        .collect();
    loads.sort_unstable_by(|a, b| b.cmp(a));
    loads
        .chunk_by(|a, b| a == b)
        .map(|equal| (equal[0], equal.len()))
        .collect()
}

#[test]
fn of_24_servers_with_buckets_of_50000_a_million_members_fill_20_and_leave_4_idle() {
    let ranges = Ranges {
        servers: some(24),
        bucket: some(50_000),
    };
    assert_eq!(loads(ranges, 1_000_000), [(50_000, 20), (0, 4)]);
    assert!((0..20).all(|server| ranges.load(server, 1_000_000) == 50_000));
}

#[test]
fn of_20_servers_with_buckets_of_50000_one_gets_99999_members_at_1049999() {
    let ranges = Ranges {
        servers: some(20),
        bucket: some(50_000),
    };
    assert_eq!(loads(ranges, 1_000_000), [(50_000, 20)]);
    // "where do we place member 1,000,001?": counted from 0 it is member 1,000,000, and the first
    // server gets it
    assert_eq!(ranges.server(1_000_000), 0);
    assert_eq!(loads(ranges, 1_049_999), [(99_999, 1), (50_000, 19)]);
}

/// "At some point a single server will only have 9,999 more members than the others. This will
/// happen when we have 1,049,999 members", with 20 servers, buckets of 10,000, five on each server.
///
/// The two sentences contradict each other, in whatever way whole buckets are dealt. After
/// 1,000,000 members all servers have the same number. A single server has 9,999 more than *all*
/// others only while the first new bucket is filled, at 1,009,999 members. At 1,049,999 members,
/// four new buckets are full and the fifth lacks one member. If they are dealt in turn, the server
/// of the fifth has 9,999 more than each of the 15 servers without a new bucket. In this reading
/// the number is right, but four other servers have 10,000 more. If all five are on one server, it
/// has 49,999 more. That makes the 99,999 members of the paper's previous example, which is where
/// the number comes from.
#[test]
fn of_20_servers_with_buckets_of_10000_one_gets_9999_more_than_the_others() {
    let ranges = Ranges {
        servers: some(20),
        bucket: some(10_000),
    };
    assert_eq!(1_000_000 / ranges.bucket.get(), 100);
    assert_eq!(loads(ranges, 1_000_000), [(50_000, 20)]);
    assert_eq!(loads(ranges, 1_009_999), [(59_999, 1), (50_000, 19)]);
    assert_eq!(
        loads(ranges, 1_049_999),
        [(60_000, 4), (59_999, 1), (50_000, 15)]
    );
    assert_eq!(ranges.load(4, 1_049_999) - ranges.load(5, 1_049_999), 9_999);
    // between one even state and the next, there is exactly one number of members at which a single
    // server has 9,999 more than all others
    let apart = |members: &u64| matches!(loads(ranges, *members)[..], [(most, 1), (rest, 19)] if most - rest == 9_999);
    assert_eq!(
        (1_000_000..1_200_000).filter(apart).collect::<Vec<_>>(),
        [1_009_999]
    );
}

const RRDS: [(&str, u64); 7] = [
    ("host01.example.com:cpu", 77),
    ("host01.example.com:memory", 62),
    ("host01.example.com:load", 229),
    ("host02.example.com:cpu", 78),
    ("host02.example.com:memory", 159),
    ("host02.example.com:load", 6),
    ("www.example.com:requests_per_second", 168),
];

#[test]
fn djb2_gives_the_rrd_names_the_articles_numbers() {
    for (name, low) in RRDS {
        assert_eq!(djb2(name.as_bytes()) & 0xff, low, "{name}");
    }
    let nodes = |n| RRDS.map(|(_, low)| low % n);
    assert_eq!(nodes(3), [2, 2, 1, 0, 0, 0, 0]);
    assert_eq!(nodes(4), [1, 2, 1, 2, 3, 2, 0]);
    // 4 divides 256, so dropping all but 8 bits changed nothing in the article; 3 does not divide
    // it
    assert_eq!(
        RRDS.map(|(name, _)| djb2_modulo(name.as_bytes(), some(4))),
        nodes(4)
    );
}

#[test]
fn from_3_to_4_nodes_a_little_over_half_of_the_seven_keys_move() {
    let counted = moved(RRDS.map(|(_, low)| low), some(3), some(4));
    assert_eq!(counted, Moved { moved: 4, keys: 7 });
    // seven keys are few: of many keys, three quarters move, although the new node needs only one
    // quarter
    assert_eq!(moved_share(some(3), some(4)), Moved { moved: 3, keys: 4 });
}

/// Surveys `count` user names. Most are made from a few first names, as on a real site; the whole
/// list is in examples/names.
fn surveyed(count: usize) -> SurveyReport {
    let firsts = [
        "maria", "john", "jose", "michael", "mary", "daniela", "marcelo", "david", "julia", "carla",
    ];
    let lasts = [
        "smith", "silva", "miller", "jones", "garcia", "martin", "diaz", "moore", "lopez", "brown",
        "costa", "souza",
    ];
    let mut survey = Survey::new();
    for i in 0..count {
        let (first, last) = (firsts[i % firsts.len()], lasts[i / 10 % lasts.len()]);
        survey.add(format!("{first}{last}{}", i / 120).as_bytes());
    }
    survey.finish()
}

#[test]
fn letters_crowd_and_md5_is_as_even_as_chance() {
    let report = surveyed(400_000);
    let order: Vec<_> = report.schemes.iter().map(|scheme| scheme.scheme).collect();
    assert_eq!(order, ["D1", "D2", "D3", "N1", "N2", "M1", "M2", "M3"]);
    let ratio = |i: usize| {
        report.schemes[i].sd_over_mean.unwrap() / report.schemes[i].random_sd_over_mean.unwrap()
    };
    for i in 0..3 {
        assert!(ratio(i) > 20.0, "{:?}", report.schemes[i]);
    }
    assert!(report.schemes[0].sd_over_mean.unwrap() > 0.8);
    // the measured deviation of B buckets has itself a relative deviation of 1/sqrt(2B): 9 % for
    // 64, 1.1 % for 4,096 and 0.1 % for 524,288; the limits are three of these
    for (i, off) in [(5, 0.27), (6, 0.033), (7, 0.003)] {
        assert!(
            (ratio(i) - 1.0).abs() < off,
            "{} {:?}",
            ratio(i),
            report.schemes[i]
        );
    }
    for scheme in &report.schemes {
        assert_eq!(scheme.skipped, 0);
        assert_eq!((scheme.mean * scheme.buckets as f64).round(), 400_000.0);
    }
}

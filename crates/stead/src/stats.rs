//! How evenly placement methods spread a list of names, and how full a tree of directories gets.
//!
//! [`Survey`] repeats the measurements of "Evenly distributing members by MD5" on any list: it counts the names in the buckets
//! of eight schemes at once. [`Projection`] says what a number of members does to the directories of [`crate::path`].
//! Counts, and the sums for the variance, are exact integers; floats appear in the last step only, and nothing is placed by them.
//!
//! Uses `baseline`, its neighbour: the schemes that are compared are defined there.

use std::fmt::Write;

use serde::Serialize;

use crate::baseline::{letter_bucket, n1, n2, LETTERS};
use crate::error::{Error, Result};
use crate::hash;
use crate::path::Levels;

/// The schemes of the paper, in the order of reports: name, number of buckets, what they are.
const SCHEMES: [(&str, usize, &str); 8] = [
    ("D1", LETTERS, "first letter"),
    ("D2", LETTERS * LETTERS, "first two letters"),
    ("D3", LETTERS * LETTERS * LETTERS, "first three letters"),
    ("N1", 31, "ASCII sum mod 31"),
    ("N2", 31 * 33, "ASCII sum mod 31, rest mod 33"),
    ("M1", 64, "MD5, 64"),
    ("M2", 64 * 64, "MD5, 64 x 64"),
    ("M3", 64 * 64 * 128, "MD5, 64 x 64 x 128"),
];

/// Counts names in the buckets of the paper's schemes.
///
/// Takes 2.3 MB, and per name one MD5 and eight additions.
pub struct Survey {
    names: u64,
    counts: [Count; 8],
}

/// The buckets of one scheme. A bucket holds up to 2^32 - 1 names; beyond that it stays there.
struct Count {
    buckets: Vec<u32>,
    skipped: u64,
}

impl Count {
    fn add(&mut self, bucket: Option<usize>) {
        match bucket.and_then(|bucket| self.buckets.get_mut(bucket)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.skipped += 1,
        }
    }
}

impl Survey {
    /// A survey without names.
    pub fn new() -> Survey {
        Survey { names: 0, counts: SCHEMES.map(|(_, buckets, _)| Count { buckets: vec![0; buckets], skipped: 0 }) }
    }

    /// Counts a name: its bytes as they are, so the caller has stripped the line end.
    pub fn add(&mut self, name: &[u8]) {
        let digest = hash::md5(name);
        let [x, y, z] = [digest[0] % 64, digest[1] % 64, digest[2] % 128].map(usize::from);
        let buckets = [
            letter_bucket(name, 1),
            letter_bucket(name, 2),
            letter_bucket(name, 3),
            Some(n1(name)),
            Some(n2(name)),
            Some(x),
            Some(x * 64 + y),
            Some((x * 64 + y) * 128 + z),
        ];
        self.names += 1;
        for (count, bucket) in self.counts.iter_mut().zip(buckets) {
            count.add(bucket);
        }
    }

    /// The figures of all schemes.
    pub fn finish(&self) -> SurveyReport {
        let schemes = SCHEMES.iter().zip(&self.counts);
        SurveyReport {
            names: self.names,
            schemes: schemes.map(|((name, ..), count)| SchemeReport::new(name, &count.buckets, count.skipped)).collect(),
        }
    }
}

impl Default for Survey {
    fn default() -> Survey {
        Survey::new()
    }
}

/// What a [`Survey`] found; as JSON it is the output of `stead survey --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SurveyReport {
    /// How many names were added.
    pub names: u64,
    /// One for each scheme, in the order D1, D2, D3, N1, N2, M1, M2, M3.
    pub schemes: Vec<SchemeReport>,
}

/// How one scheme spread the names that it could place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SchemeReport {
    /// The paper's name of the scheme.
    pub scheme: &'static str,
    /// The number of buckets, empty ones included.
    pub buckets: u64,
    /// The ideal mean: names, without the skipped ones, over buckets.
    pub mean: f64,
    /// The population standard deviation of all buckets about that mean.
    pub sd: f64,
    /// `sd / mean`; none when there is no name.
    pub sd_over_mean: Option<f64>,
    /// The number of names in the fullest bucket.
    pub fullest: u64,
    /// What uniform random placement of as many names would give: sqrt((1 - 1/buckets) / mean); none when there is no name.
    pub random_sd_over_mean: Option<f64>,
    /// How many names the scheme cannot place.
    pub skipped: u64,
}

impl SchemeReport {
    fn new(scheme: &'static str, buckets: &[u32], skipped: u64) -> SchemeReport {
        let names: u128 = buckets.iter().map(|n| u128::from(*n)).sum();
        let squares: u128 = buckets.iter().map(|n| u128::from(*n) * u128::from(*n)).sum();
        let b = buckets.len() as u128;
        // variance = squares/b - (names/b)^2 = (b * squares - names^2) / b^2; Cauchy-Schwarz: never negative.
        // With b < 2^20 buckets below 2^32 both products stay under 2^104
        let deviation = ((b * squares - names * names) as f64).sqrt();
        let (n, b) = (names as f64, b as f64);
        let mean = n / b;
        let some = names > 0;
        SchemeReport {
            scheme,
            buckets: buckets.len() as u64,
            mean,
            sd: deviation / b,
            sd_over_mean: some.then(|| deviation / n),
            fullest: buckets.iter().copied().max().unwrap_or(0).into(),
            random_sd_over_mean: some.then(|| ((1.0 - 1.0 / b) / mean).sqrt()),
            skipped,
        }
    }
}

/// What the paper prints of a scheme, in its words, for its 1,188,968 names; none where it says nothing. (D1's deviation over its
/// mean is the quotient of the two figures; the paper calls them "almost equivalent".)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaperFigures {
    /// The mean of the buckets.
    pub mean: Option<&'static str>,
    /// The standard deviation.
    pub sd: Option<&'static str>,
    /// The standard deviation over the mean.
    pub sd_over_mean: Option<&'static str>,
    /// The number of names in the fullest bucket.
    pub fullest: Option<&'static str>,
}

/// The number of names that the paper's figures are about.
pub const PAPER_NAMES: u64 = 1_188_968;

/// The paper's figures of a scheme; none for a name that is no scheme.
///
/// Two of them cannot follow from its own counts. D1: 1,188,968 names in 37 buckets have a mean of 32,134, not 35,651. M3:
/// the deviation of 2.27 names a bucket is 0.664 of the mean when placement is random, not "almost half"; that fits the
/// 64 x 64 x 64 buckets of its recipe (0.470).
pub fn paper(scheme: &str) -> Option<PaperFigures> {
    let (mean, sd, sd_over_mean, fullest) = match scheme {
        "D1" => (Some("35,651"), Some("30,504"), Some("0.856"), None),
        "D2" => (None, None, Some("almost 4"), None),
        "D3" => (None, None, Some("nearly 10"), Some("almost 25,000")),
        "N1" => (None, None, Some("about 0.006"), None),
        "N2" => (None, None, Some("about 0.09"), None),
        "M1" => (Some("about 18,000"), None, Some("about 0.007"), None),
        "M2" => (Some("about 300"), None, Some("about 0.06"), None),
        "M3" => (Some("2.27"), None, Some("almost half"), None),
        _ => return None,
    };
    Some(PaperFigures { mean, sd, sd_over_mean, fullest })
}

impl SurveyReport {
    /// The figures as a table for people, the paper's beside ours; ends with a newline.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |cells: [&str; 11]| {
            let [scheme, what, buckets, mean, sd, ratio, random, fullest, skipped, paper_mean, paper_ratio] = cells;
            // writing to a String cannot fail
            let _ = writeln!(
                text,
                "{scheme:<2}  {what:<29} {buckets:>7} {mean:>10} {sd:>10} {ratio:>8} {random:>8} {fullest:>8} {skipped:>8}  \
                 {paper_mean:>12}  {paper_ratio:>11}"
            );
        };
        row(["", "", "", "", "", "sd/mean", "", "", "", "paper:", "paper:"]);
        row(["", "scheme", "buckets", "mean", "sd", "", "random", "fullest", "skipped", "mean", "sd/mean"]);
        for (scheme, (_, _, what)) in self.schemes.iter().zip(SCHEMES) {
            let theirs = paper(scheme.scheme);
            row([
                scheme.scheme,
                what,
                &scheme.buckets.to_string(),
                &digits(Some(scheme.mean)),
                &digits(Some(scheme.sd)),
                &digits(scheme.sd_over_mean),
                &digits(scheme.random_sd_over_mean),
                &scheme.fullest.to_string(),
                &scheme.skipped.to_string(),
                theirs.and_then(|figures| figures.mean).unwrap_or("-"),
                theirs.and_then(|figures| figures.sd_over_mean).unwrap_or("-"),
            ]);
        }
        let _ = write!(
            text,
            "\n{} names; the paper has {PAPER_NAMES}. random: the sd/mean of uniform random placement.\n\
             The paper also says: D1 sd 30,504; D3 fullest almost 25,000. Its D1 mean cannot follow from its counts\n\
             (1,188,968 / 37 = 32,134), nor can M3's \"almost half\" (2.27 a bucket give 0.664; 64 x 64 x 64 buckets 0.470).\n",
            self.names
        );
        text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// A figure for people: a whole number from 1,000, one or two places down to 1, four below.
fn digits(figure: Option<f64>) -> String {
    match figure {
        None => "-".to_owned(),
        Some(x) if x >= 1000.0 || x == 0.0 => format!("{x:.0}"),
        Some(x) if x >= 1.0 => format!("{x:.*}", if x >= 100.0 { 1 } else { 2 }),
        Some(x) => format!("{x:.4}"),
    }
}

/// What a number of members does to a tree of directories.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Projection {
    /// How many members there are, each with one entry in a directory of the last level.
    pub members: u64,
    /// The levels, outermost first.
    pub levels: Vec<LevelProjection>,
}

/// One level of a [`Projection`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LevelProjection {
    /// The level, from 1.
    pub level: usize,
    /// How many directories the level has in the whole tree.
    pub directories: u64,
    /// How many entries each of them has: the directories of the next level, on the last level the mean number of members.
    pub entries: f64,
    /// The mean number of members at or below a directory.
    pub members: f64,
    /// At least as likely as not, no directory of the level has more members at or below it than this.
    ///
    /// A directory's members are binomial, Bin(members, p), as MD5 gives each name a directory at random. The figure is the
    /// smallest k with directories * P(Bin > k) <= 1/2, by the union bound: the chance that any of them has more is
    /// at most the sum of their chances. p is that of the likeliest directory: the product over the levels of the byte values
    /// that it gets, ceil(256 / directories), over 256.
    pub fullest: u64,
}

impl Projection {
    /// Projects so many members onto the levels.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the tree would have 2^64 directories or more.
    pub fn new(members: u64, levels: &Levels) -> Result<Projection> {
        let mut projected = Vec::new();
        let (mut directories, mut likeliest) = (1u64, 1f64);
        for (i, number) in levels.directories().iter().enumerate() {
            directories = directories.checked_mul(u64::from(*number)).ok_or_else(|| Error::Invalid {
                problem: format!("levels: {levels} make 2^64 directories or more; use fewer or smaller levels"),
            })?;
            likeliest *= f64::from(256u16.div_ceil(*number)) / 256.0;
            let mean = members as f64 / directories as f64;
            projected.push(LevelProjection {
                level: i + 1,
                directories,
                entries: levels.directories().get(i + 1).map_or(mean, |next| f64::from(*next)),
                members: mean,
                fullest: fullest(members, likeliest, 0.5 / directories as f64),
            });
        }
        Ok(Projection { members, levels: projected })
    }

    /// The projection as a table for people; ends with a newline.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |cells: [&str; 5]| {
            let [level, directories, entries, members, fullest] = cells;
            let _ = writeln!(text, "{level:>5} {directories:>20} {entries:>20} {members:>20} {fullest:>20}");
        };
        row(["level", "directories", "entries of each", "members below", "in the fullest"]);
        for level in &self.levels {
            row([
                &level.level.to_string(),
                &level.directories.to_string(),
                &digits(Some(level.entries)),
                &digits(Some(level.members)),
                &level.fullest.to_string(),
            ]);
        }
        let _ = writeln!(text, "\n{} members; in the fullest: at least as likely as not, no directory has more", self.members);
        text
    }
}

/// The smallest k with P(Bin(n, p) > k) <= chance.
fn fullest(n: u64, p: f64, chance: f64) -> u64 {
    // P(Bin > n) = 0 and the tail falls as k grows. No more than the chance at `high`; `low` is below the answer or 0
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if tail(n, p, middle) <= chance {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// P(Bin(n, p) > k) where it is small; 1 where k is below the mean, which is enough to search with.
///
/// The terms from k + 1 on, until they no longer count: some standard deviations. Where a standard deviation has many terms, the
/// middle one of each block stands for its block, 1/256 of a deviation wide: an error of 10^-6 of the sum.
fn tail(n: u64, p: f64, k: u64) -> f64 {
    if k >= n {
        return 0.0;
    }
    let mean = n as f64 * p;
    if p >= 1.0 || (k as f64) < mean {
        return 1.0;
    }
    let half = ((mean * (1.0 - p)).sqrt() / 512.0) as u64; // a block has 2 * half + 1 terms
    let width = 2 * half + 1;
    let (mut sum, mut middle) = (0.0, k.checked_add(half + 1));
    while let Some(j) = middle.filter(|j| *j <= n) {
        let block = width as f64 * binomial(n, p, j);
        if block <= sum * 1e-12 {
            break;
        }
        sum += block;
        middle = j.checked_add(width);
    }
    sum
}

/// P(Bin(n, p) = k), 0 < k <= n, by the saddle point of C. Loader, "Fast and accurate computation of binomial
/// probabilities" (2000): no large numbers are subtracted, so it is right for a billion members as for three.
fn binomial(n: u64, p: f64, k: u64) -> f64 {
    let (nf, kf) = (n as f64, k as f64);
    if k == n {
        return (nf * p.ln()).exp();
    }
    let rest = (n - k) as f64;
    let exponent =
        stirling_error(n) - stirling_error(k) - stirling_error(n - k) - deviance(kf, nf * p) - deviance(rest, nf * (1.0 - p));
    exponent.exp() * (nf / (std::f64::consts::TAU * kf * rest)).sqrt()
}

/// ln(n!) less Stirling's formula, n > 0: the series 1/12n - 1/360n^3 + ...; below 16, where that is coarse, ln(n!) itself.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (1..=n).map(|i| i as f64).product();
        return factorial.ln() - (0.5 * (std::f64::consts::TAU * x).ln() + x * x.ln() - x);
    }
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / x
}

/// x ln(x / mean) + mean - x, without loss where x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    if (x - mean).abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    // Loader's series in v = (x - mean) / (x + mean): (x - mean) v + 2x (v^3/3 + v^5/5 + ...)
    let v = (x - mean) / (x + mean);
    let (mut sum, mut power) = ((x - mean) * v, 2.0 * x * v);
    for odd in (3u8..).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey<'a>(names: impl IntoIterator<Item = &'a str>) -> SurveyReport {
        let mut survey = Survey::new();
        names.into_iter().for_each(|name| survey.add(name.as_bytes()));
        survey.finish()
    }

    fn near(a: f64, b: f64, share: f64) -> bool {
        (a - b).abs() <= share * b.abs()
    }

    #[test]
    fn a_survey_counts_by_hand_what_can_be_counted_by_hand() {
        let report = survey(["bob", "bo", "Bob", "bob.", "", "anna"]);
        assert_eq!(report.names, 6);
        let skipped: Vec<_> = report.schemes.iter().map(|s| (s.scheme, s.skipped)).collect();
        let expected = [("D1", 3), ("D2", 3), ("D3", 4), ("N1", 0), ("N2", 0), ("M1", 0), ("M2", 0), ("M3", 0)];
        assert_eq!(skipped, expected);
        let d1 = &report.schemes[0];
        // two names in b, one in a, 35 buckets empty
        let mean = 3.0 / 37.0;
        let variance = (2.0f64 - mean).powi(2) + (1.0 - mean).powi(2) + 35.0 * mean * mean;
        assert_eq!((d1.buckets, d1.fullest), (37, 2));
        assert!(near(d1.mean, mean, 1e-15) && near(d1.sd, (variance / 37.0).sqrt(), 1e-14));
        assert!(near(d1.sd_over_mean.unwrap(), d1.sd / d1.mean, 1e-14));
        assert!(near(d1.random_sd_over_mean.unwrap(), (36.0 / 37.0 / mean).sqrt(), 1e-14));
    }

    #[test]
    fn md5_buckets_are_the_directories_of_the_path() {
        let mut survey = Survey::new();
        survey.add(b"frank"); // 38/37/60/frank
        let full = survey.counts.iter().skip(5).map(|count| count.buckets.iter().position(|n| *n == 1).unwrap());
        assert_eq!(full.collect::<Vec<_>>(), [38, 38 * 64 + 37, (38 * 64 + 37) * 128 + 60]);
    }

    #[test]
    fn buckets_that_are_all_equal_have_no_deviation() {
        let report = SchemeReport::new("M1", &[u32::MAX; 64], 0);
        assert_eq!((report.sd, report.sd_over_mean, report.mean), (0.0, Some(0.0), f64::from(u32::MAX)));
    }

    #[test]
    fn the_json_has_the_fields_of_the_manual_and_null_where_there_is_no_figure() {
        let json = serde_json::to_string(&survey([])).unwrap();
        let first = r#"{"names":0,"schemes":[{"scheme":"D1","buckets":37,"mean":0.0,"sd":0.0,"sd_over_mean":null,"#;
        let second = r#""fullest":0,"random_sd_over_mean":null,"skipped":0},{"scheme":"D2","#;
        assert!(json.starts_with(&(first.to_owned() + second)), "{json}");
        assert!(survey([]).table().contains("D1  first letter"));
    }

    #[test]
    fn the_table_sets_the_papers_figures_beside_ours() {
        let table = survey(["bob", "anna"]).table();
        let row = |scheme: &str| table.lines().find(|line| line.starts_with(scheme)).unwrap().to_owned();
        assert!(row("D1").ends_with("35,651        0.856"), "{table}");
        assert!(row("M3").contains("524288") && row("M3").ends_with("2.27  almost half"), "{table}");
        assert!(table.lines().all(|line| line.len() <= 130 && line.trim_end() == line), "{table}");
        for (scheme, ..) in SCHEMES {
            assert!(paper(scheme).is_some());
        }
        assert_eq!(paper("X"), None);
    }

    #[test]
    fn the_papers_two_wrong_figures_are_wrong_by_its_own_counts() {
        let names = PAPER_NAMES as f64;
        assert_eq!((names / 37.0).round(), 32_134.0);
        let random = |buckets: f64| ((1.0 - 1.0 / buckets) / (names / buckets)).sqrt();
        assert_eq!((digits(Some(names / 524_288.0)), digits(Some(random(524_288.0)))), ("2.27".into(), "0.6640".into()));
        assert_eq!(digits(Some(random(262_144.0))), "0.4696");
    }

    #[test]
    fn a_billion_members_have_1907_files_in_a_directory() {
        let projection = Projection::new(1_000_000_000, &Levels::default()).unwrap();
        let figures = projection.levels.iter().map(|l| (l.level, l.directories, l.entries.round(), l.members.round()));
        let figures: Vec<_> = figures.collect();
        let expected = [(1, 64, 64.0, 15_625_000.0), (2, 4_096, 128.0, 244_141.0), (3, 524_288, 1907.0, 1907.0)];
        assert_eq!(figures, expected);
        // 1907.35 + 4.9 * 43.67: the normal quantile of 1 / (2 * 524,288) is 4.76, and counts lean to the right
        assert!((2115..2130).contains(&projection.levels[2].fullest), "{projection:?}");
        assert!(projection.table().contains("524288"));
    }

    #[test]
    fn small_probabilities_are_the_textbooks() {
        // C(4, k) / 16, and Bin(10, 0.3)
        for (n, p, k, expected) in [(4, 0.5, 1, 0.25), (4, 0.5, 3, 0.25), (4, 0.5, 4, 0.0625), (10, 0.3, 5, 0.1029193452)] {
            assert!(near(binomial(n, p, k), expected, 1e-13), "{n} {p} {k}: {}", binomial(n, p, k));
        }
        assert!(near(tail(10, 0.3, 4), 0.1502683326, 1e-9));
        // blocks: one of 5 terms against every term by itself
        let (n, p, k) = (1 << 24, 0.125, (1 << 21) + 4_000);
        let every: f64 = (k + 1..k + 20_000).map(|j| binomial(n, p, j)).sum();
        assert!(near(tail(n, p, k), every, 1e-5), "{} {every}", tail(n, p, k));
        assert_eq!((tail(10, 0.3, 10), tail(10, 0.3, 1), tail(10, 1.0, 9)), (0.0, 1.0, 1.0));
        // P(Bin(2n, 1/2) = n) = 1/sqrt(pi n) (1 - 1/8n + ...), far beyond the reach of factorials
        let n = 1u64 << 50;
        assert!(near(binomial(2 * n, 0.5, n), (std::f64::consts::PI * n as f64).sqrt().recip(), 1e-12));
        for n in [15, 16] {
            let series = 1.0 / (12.0 * n as f64) - 1.0 / (360.0 * (n as f64).powi(3));
            assert!(near(stirling_error(n), series, 1e-6));
        }
    }

    #[test]
    fn the_fullest_directory_is_no_more_often_exceeded_than_not() {
        // 3 members in 2 directories: one has more than 1 always, more than 2 with 1/4
        let fullest = |members, levels| {
            let projection = Projection::new(members, &Levels::new(levels).unwrap()).unwrap();
            projection.levels.last().unwrap().fullest
        };
        assert_eq!(fullest(3, &[2]), 2);
        assert_eq!((fullest(0, &[64]), fullest(1, &[64]), fullest(7, &[1])), (0, 1, 7));
        assert_eq!(fullest(u64::MAX, &[1, 1]), u64::MAX);
        // 255 directories, of which the first has 2 of 256 byte values
        assert!(fullest(256_000, &[255]) > 2000 && fullest(256_000, &[256]) < 1200);
        // keys counted: the names "0", "1", ... in 64 x 64
        let mut counted = Survey::new();
        (0..200_000).for_each(|i: u32| counted.add(i.to_string().as_bytes()));
        let (found, bound) = (counted.finish().schemes[6].fullest, fullest(200_000, &[64, 64]));
        assert!(found <= bound + 5 && found + 8 >= bound, "{found} {bound}");
    }

    #[test]
    fn too_many_directories_are_refused() {
        let error = Projection::new(1, &Levels::new(&[256; 16]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("2^64"), "{error}");
        assert!(Projection::new(u64::MAX, &Levels::new(&[256; 7]).unwrap()).is_ok());
    }
}

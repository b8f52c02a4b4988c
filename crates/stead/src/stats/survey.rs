//! The survey of the paper "Evenly distributing members by MD5", on any list of names. It counts
//! eight schemes at once.

use std::fmt::Write;

use serde::Serialize;

use crate::baseline::{self, LETTERS};
use crate::cell::Cells;
use crate::hash::{Hash, KeyRule};
use crate::kernel::{self, Kernel, Keys, BLOCK};
use crate::point::Point;

/// The schemes of the paper, in the order of the reports: name, number of buckets, description.
const SCHEMES: [(&str, usize, &str); 8] = [
    ("D1", LETTERS, "first letter"),
    ("D2", LETTERS * LETTERS, "first two letters"),
    ("D3", LETTERS * LETTERS * LETTERS, "first three letters"),
    ("N1", 31, "ASCII sum mod 31"),
    ("N2", 31 * 33, "sum mod 31, rest mod 33"),
    ("M1", 64, "MD5, 64"),
    ("M2", 64 * 64, "MD5, 64 x 64"),
    ("M3", 64 * 64 * 128, "MD5, 64 x 64 x 128"),
];

/// The schemes whose buckets are counted. A bucket of N1, M1 or M2 is the sum of buckets of N2 or
/// M3 that are next to each other.
const COUNTED: [usize; 5] = [0, 1, 2, 4, 7];

/// Counts names in the buckets of the paper's schemes.
///
/// Takes 2.3 MB of memory and, for each name, one MD5 and five additions.
pub struct Survey {
    names: u64,
    /// of D1, D2, D3, N2 and M3
    counts: [Count; COUNTED.len()],
}

/// The buckets of one scheme. A bucket counts up to 2^32 - 1 names and then stays at that number.
#[derive(Clone)]
struct Count {
    buckets: Vec<u32>,
    skipped: u64,
}

impl Count {
    fn add(&mut self, bucket: u32) {
        match self.buckets.get_mut(bucket as usize) {
            Some(count) => *count = count.saturating_add(1),
            None => self.skipped += 1,
        }
    }

    /// The count of a scheme of which each bucket is `size` buckets of this one.
    fn coarser(&self, size: usize) -> Count {
        let sum = |buckets: &[u32]| buckets.iter().fold(0u32, |sum, n| sum.saturating_add(*n));
        Count {
            buckets: self.buckets.chunks(size).map(sum).collect(),
            skipped: self.skipped,
        }
    }
}

impl Survey {
    /// How many bytes of memory a survey and its report take, at most.
    pub const BYTES: u64 = 8 << 20;

    /// A survey without names.
    pub fn new() -> Survey {
        Survey {
            names: 0,
            counts: COUNTED.map(|scheme| Count {
                buckets: vec![0; SCHEMES.get(scheme).map_or(0, |scheme| scheme.1)],
                skipped: 0,
            }),
        }
    }

    /// Counts a name. All bytes are used as they are, so the caller must have removed the line end.
    pub fn add(&mut self, name: &[u8]) {
        self.names += 1;
        let buckets = buckets(name, Hash::Md5.point(name));
        for (count, bucket) in self.counts.iter_mut().zip(buckets) {
            count.add(bucket);
        }
    }

    /// Counts many names, each like [`add`](Self::add) but in less time.
    pub fn add_keys(&mut self, names: Keys<'_>) {
        let mut points = [Point(0); BLOCK];
        let mut wanted = [[0; COUNTED.len()]; BLOCK];
        for names in names.parts(BLOCK) {
            kernel::points(
                Kernel::chosen(),
                &Hash::Md5,
                KeyRule::Whole,
                Cells::FINEST,
                names,
                &mut points,
            );
            for ((name, point), wanted) in names.iter().zip(points).zip(&mut wanted) {
                *wanted = buckets(name, point);
            }
            // scheme by scheme, so that the processor waits for many buckets of M3 at a time: they
            // are in memory that is larger than its near caches
            for (scheme, count) in self.counts.iter_mut().enumerate() {
                for wanted in wanted.iter().take(names.len()) {
                    count.add(wanted.get(scheme).copied().unwrap_or(NO_BUCKET));
                }
            }
            self.names += names.len() as u64;
        }
    }

    /// Adds the counts of another survey, such as that of another thread.
    pub fn merge(&mut self, other: &Survey) {
        self.names += other.names;
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            count.skipped += other.skipped;
            for (bucket, more) in count.buckets.iter_mut().zip(&other.buckets) {
                *bucket = bucket.saturating_add(*more);
            }
        }
    }

    /// Computes the figures of all schemes.
    pub fn finish(&self) -> SurveyReport {
        let counts = self.all();
        let schemes = SCHEMES.iter().zip(&counts);
        SurveyReport {
            names: self.names,
            schemes: schemes
                .map(|((name, ..), count)| SchemeReport::new(name, &count.buckets, count.skipped))
                .collect(),
        }
    }

    /// Returns how many names are in each bucket of a scheme, such as `D1`; `None` when there is no
    /// scheme of this name.
    pub fn buckets(&self, scheme: &str) -> Option<Vec<u32>> {
        let number = SCHEMES.iter().position(|(name, ..)| *name == scheme)?;
        let count = self.all().into_iter().nth(number)?;
        Some(count.buckets)
    }

    /// The counts of all schemes.
    fn all(&self) -> [Count; 8] {
        let [d1, d2, d3, n2, m3] = &self.counts;
        let (n1, m1, m2) = (n2.coarser(33), m3.coarser(64 * 128), m3.coarser(128));
        let (d1, d2, d3) = (d1.clone(), d2.clone(), d3.clone());
        [d1, d2, d3, n1, n2.clone(), m1, m2, m3.clone()]
    }
}

/// The bucket of a name that a scheme cannot place.
const NO_BUCKET: u32 = u32::MAX;

/// The buckets of a name by the schemes that are counted; its MD5 begins with the 8 bytes of a
/// point.
fn buckets(name: &[u8], md5: Point) -> [u32; COUNTED.len()] {
    let [x, y, z, ..] = md5.0.to_be_bytes();
    let [x, y, z] = [x % 64, y % 64, z % 128].map(u32::from);
    let ([d1, d2, d3], n2) = baseline::buckets(name);
    let [d1, d2, d3] = [d1, d2, d3].map(|bucket| bucket.unwrap_or(NO_BUCKET));
    [d1, d2, d3, n2, (x * 64 + y) * 128 + z]
}

impl Default for Survey {
    fn default() -> Survey {
        Survey::new()
    }
}

/// The result of a [`Survey`]. As JSON it is the output of `stead survey --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SurveyReport {
    /// The number of names that were added.
    pub names: u64,
    /// One for each scheme, in the order D1, D2, D3, N1, N2, M1, M2, M3.
    pub schemes: Vec<SchemeReport>,
}

/// How one scheme spread the names that it could place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SchemeReport {
    /// The paper's name of the scheme.
    pub scheme: &'static str,
    /// The number of buckets, including empty ones.
    pub buckets: u64,
    /// The ideal mean: the number of names that were not skipped, divided by the number of buckets.
    pub mean: f64,
    /// The population standard deviation of all buckets about that mean.
    pub sd: f64,
    /// `sd / mean`; `None` when there is no name.
    pub sd_over_mean: Option<f64>,
    /// The number of names in the fullest bucket.
    pub fullest: u64,
    /// The value of `sd_over_mean` that uniform random placement of as many names would give:
    /// sqrt((1 - 1/buckets) / mean); `None` when there is no name.
    pub random_sd_over_mean: Option<f64>,
    /// The number of names that the scheme cannot place.
    pub skipped: u64,
}

impl SchemeReport {
    fn new(scheme: &'static str, buckets: &[u32], skipped: u64) -> SchemeReport {
        let names: u128 = buckets.iter().map(|n| u128::from(*n)).sum();
        let squares: u128 = buckets
            .iter()
            .map(|n| u128::from(*n) * u128::from(*n))
            .sum();
        let b = buckets.len() as u128;
        // variance = squares/b - (names/b)^2 = (b * squares - names^2) / b^2, which is never
        // negative (Cauchy-Schwarz). With b < 2^20 buckets below 2^32, both products are below
        // 2^104
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

/// Returns the names of the schemes, in the order of the reports, each with what it does in words.
pub fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.iter().map(|(name, _, about)| (*name, *about))
}

/// The figures that the paper prints for a scheme, in its words, for its 1,188,968 names; `None`
/// where it gives no figure. (D1's deviation over its mean is the quotient of its two figures; the
/// paper calls them "almost equivalent".)
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

/// The number of names behind the paper's figures.
pub const PAPER_NAMES: u64 = 1_188_968;

/// Returns the paper's figures of a scheme, or `None` when there is no scheme of this name.
///
/// Two of the figures cannot follow from the paper's own counts. D1: 1,188,968 names in 37 buckets
/// have a mean of 32,134, not 35,651. M3: with 2.27 names a bucket and random placement, the
/// deviation is 0.664 of the mean, not "almost half". That would fit the 64 x 64 x 64 buckets of
/// the paper's recipe (0.470).
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
    Some(PaperFigures {
        mean,
        sd,
        sd_over_mean,
        fullest,
    })
}

impl SurveyReport {
    /// The figures as a table for people, the paper's figures as another below it, with a newline
    /// at the end. For as many names as the paper has, no line is longer than 80 letters.
    pub fn table(&self) -> String {
        let mut ours = vec![[
            "", "", "buckets", "mean", "sd", "sd/mean", "random", "fullest",
        ]
        .map(str::to_owned)];
        let mut theirs =
            vec![["", "in the paper", "mean", "sd", "sd/mean", "fullest"].map(str::to_owned)];
        let or_none = |figure: Option<&str>| figure.unwrap_or("-").to_owned();
        for (scheme, (name, _, what)) in self.schemes.iter().zip(SCHEMES) {
            ours.push([
                name.to_owned(),
                what.to_owned(),
                scheme.buckets.to_string(),
                digits(Some(scheme.mean)),
                digits(Some(scheme.sd)),
                digits(scheme.sd_over_mean),
                digits(scheme.random_sd_over_mean),
                scheme.fullest.to_string(),
            ]);
            if let Some(paper) = paper(name) {
                theirs.push([
                    name.to_owned(),
                    String::new(),
                    or_none(paper.mean),
                    or_none(paper.sd),
                    or_none(paper.sd_over_mean),
                    or_none(paper.fullest),
                ]);
            }
        }
        let mut text = aligned(&ours);
        // writing to a String cannot fail
        let _ = writeln!(
            text,
            "\n{} names; random: the sd/mean of uniform random placement",
            self.names
        );
        let skipped: Vec<String> = self
            .schemes
            .iter()
            .filter(|scheme| scheme.skipped > 0)
            .map(|scheme| format!("{} by {}", scheme.skipped, scheme.scheme))
            .collect();
        if !skipped.is_empty() {
            let _ = writeln!(text, "names that cannot be placed: {}", skipped.join(", "));
        }
        let _ = write!(text, "\n{}", aligned(&theirs));
        let _ = writeln!(
            text,
            "\nThe paper, \"Evenly distributing members by MD5\", has {PAPER_NAMES} names. Two\n\
             of its figures cannot follow from its own counts: D1's mean (1188968 / 37 =\n\
             32,134), and M3's \"almost half\" (2.27 a bucket give 0.664; 64 x 64 x 64\n\
             buckets would give 0.470)."
        );
        text
    }
}

/// Lays out the rows of a table: the first two columns to the left, the figures to the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (n, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = match n {
                0 | 1 => write!(line, "{cell:<width$} "),
                _ => write!(line, "{cell:>width$}  "),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Formats a figure for people: no decimal places from 1,000 on, one or two down to 1, four below
/// 1.
pub(super) fn digits(figure: Option<f64>) -> String {
    match figure {
        None => "-".to_owned(),
        Some(x) if x >= 1000.0 || x == 0.0 => format!("{x:.0}"),
        Some(x) if x >= 1.0 => format!("{x:.*}", if x >= 100.0 { 1 } else { 2 }),
        Some(x) => format!("{x:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey<'a>(names: impl IntoIterator<Item = &'a str>) -> SurveyReport {
        let mut survey = Survey::new();
        names
            .into_iter()
            .for_each(|name| survey.add(name.as_bytes()));
        survey.finish()
    }

    fn near(a: f64, b: f64, share: f64) -> bool {
        (a - b).abs() <= share * b.abs()
    }

    #[test]
    fn a_small_survey_agrees_with_counting_by_hand() {
        let report = survey(["bob", "bo", "Bob", "bob.", "", "anna"]);
        assert_eq!(report.names, 6);
        let skipped: Vec<_> = report
            .schemes
            .iter()
            .map(|s| (s.scheme, s.skipped))
            .collect();
        let expected = [
            ("D1", 3),
            ("D2", 3),
            ("D3", 4),
            ("N1", 0),
            ("N2", 0),
            ("M1", 0),
            ("M2", 0),
            ("M3", 0),
        ];
        assert_eq!(skipped, expected);
        let d1 = &report.schemes[0];
        // two names in b, one in a, 35 buckets empty
        let mean = 3.0 / 37.0;
        let variance = (2.0f64 - mean).powi(2) + (1.0 - mean).powi(2) + 35.0 * mean * mean;
        assert_eq!((d1.buckets, d1.fullest), (37, 2));
        assert!(near(d1.mean, mean, 1e-15) && near(d1.sd, (variance / 37.0).sqrt(), 1e-14));
        assert!(near(d1.sd_over_mean.unwrap(), d1.sd / d1.mean, 1e-14));
        assert!(near(
            d1.random_sd_over_mean.unwrap(),
            (36.0 / 37.0 / mean).sqrt(),
            1e-14
        ));
    }

    #[test]
    fn many_names_are_counted_as_one_by_one_in_the_buckets_of_the_paper() {
        // every length around a block of MD5, letters and other bytes, and more than a block
        let names: Vec<Vec<u8>> = (0..3000u32)
            .map(|i| {
                let length = i as usize % 70;
                let byte = |k: usize| match (i as usize + k) % 11 {
                    0 if i % 7 == 0 => (i % 256) as u8,
                    n => b"abcxyz_0189"[(n * (k + 3) + i as usize / 70) % 11],
                };
                (0..length).map(byte).collect()
            })
            .collect();
        let keys: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let mut expected: [Vec<u32>; 8] = SCHEMES.map(|(_, buckets, _)| vec![0; buckets]);
        let mut skipped = [0; 8];
        for name in &keys {
            let digest = crate::hash::md5(name);
            let [x, y, z] = [digest[0] % 64, digest[1] % 64, digest[2] % 128].map(usize::from);
            let buckets = [
                baseline::letter_bucket(name, 1),
                baseline::letter_bucket(name, 2),
                baseline::letter_bucket(name, 3),
                Some(baseline::n1(name)),
                Some(baseline::n2(name)),
                Some(x),
                Some(x * 64 + y),
                Some((x * 64 + y) * 128 + z),
            ];
            for (scheme, bucket) in buckets.into_iter().enumerate() {
                match bucket {
                    Some(bucket) => expected[scheme][bucket] += 1,
                    None => skipped[scheme] += 1,
                }
            }
        }
        assert!(skipped[0] > 100 && skipped[2] < 2900, "{skipped:?}");
        let (mut one_by_one, mut many) = (Survey::new(), Survey::new());
        keys.iter().for_each(|name| one_by_one.add(name));
        many.add_keys(Keys::each(&keys));
        for survey in [one_by_one, many] {
            assert_eq!(survey.names, 3000);
            for (scheme, count) in survey.all().iter().enumerate() {
                assert_eq!(count.skipped, skipped[scheme], "{scheme}");
                assert!(count.buckets == expected[scheme], "{scheme}");
            }
        }
    }

    #[test]
    fn surveys_of_parts_merge_to_the_survey_of_the_whole() {
        let names = ["bob", "bo", "Bob", "bob.", "", "anna", "_", "frank"];
        let mut merged = Survey::new();
        for part in names.chunks(3) {
            let mut survey = Survey::new();
            part.iter().for_each(|name| survey.add(name.as_bytes()));
            merged.merge(&survey);
        }
        assert_eq!(merged.finish(), survey(names));
    }

    #[test]
    fn the_buckets_of_a_scheme_are_found_by_its_name() {
        let mut survey = Survey::new();
        ["bob", "boris", "anna"]
            .iter()
            .for_each(|name| survey.add(name.as_bytes()));
        let d1 = survey.buckets("D1").unwrap();
        assert_eq!((d1.len(), d1[10], d1[11]), (37, 1, 2));
        for (scheme, about) in schemes() {
            let buckets = survey.buckets(scheme).unwrap();
            assert!(
                !about.is_empty() && buckets.iter().sum::<u32>() == 3,
                "{scheme}"
            );
        }
        assert_eq!(survey.buckets("D9"), None);
    }

    #[test]
    fn md5_buckets_are_the_directories_of_the_path() {
        let mut survey = Survey::new();
        survey.add(b"frank"); // 38/37/60/frank
        let full = survey
            .all()
            .into_iter()
            .skip(5)
            .map(|count| count.buckets.iter().position(|n| *n == 1).unwrap());
        assert_eq!(
            full.collect::<Vec<_>>(),
            [38, 38 * 64 + 37, (38 * 64 + 37) * 128 + 60]
        );
    }

    #[test]
    fn buckets_that_are_all_equal_have_no_deviation() {
        let report = SchemeReport::new("M1", &[u32::MAX; 64], 0);
        assert_eq!(
            (report.sd, report.sd_over_mean, report.mean),
            (0.0, Some(0.0), f64::from(u32::MAX))
        );
    }

    #[test]
    fn the_json_has_the_fields_of_the_manual_and_null_where_there_is_no_figure() {
        let json = serde_json::to_string(&survey([])).unwrap();
        let first = r#"{"names":0,"schemes":[{"scheme":"D1","buckets":37,"mean":0.0,"sd":0.0,"sd_over_mean":null,"#;
        let second = r#""fullest":0,"random_sd_over_mean":null,"skipped":0},{"scheme":"D2","#;
        assert!(json.starts_with(&(first.to_owned() + second)), "{json}");
        assert!(survey([]).table().contains("D1 first letter"));
    }

    #[test]
    fn the_table_sets_the_papers_figures_below_ours_in_80_columns() {
        let table = survey(["bob", "anna"]).table();
        let row = |scheme: &str| {
            let rows = table.lines().filter(|line| line.starts_with(scheme));
            rows.collect::<Vec<_>>()
        };
        let [ours, theirs] = row("D1")[..] else {
            panic!("{table}")
        };
        assert!(ours.contains("   37  ") && theirs.contains(" 35,651  30,504        0.856 "));
        assert!(
            row("M3")[0].contains("  524288  ")
                && row("M3")[1].ends_with("almost half              -")
        );
        assert!(table.contains("\n2 names; random: ") && !table.contains("placed"));
        let skipped = survey(["bob", "2", "b.b"]).table();
        assert!(
            skipped.contains("be placed: 1 by D1, 2 by D2, 2 by D3\n"),
            "{skipped}"
        );
        let mut many = survey(["bob", "anna"]);
        many.names = PAPER_NAMES;
        for scheme in &mut many.schemes {
            // more than a scheme has for as many names
            (scheme.mean, scheme.sd) = (99_999.0, 99_999.0);
            scheme.fullest = 999_999;
            let is_letters = scheme.scheme.starts_with('D');
            scheme.skipped = if is_letters { 999_999 } else { 0 };
        }
        for table in [table, many.table()] {
            assert!(
                table
                    .lines()
                    .all(|line| line.len() <= 80 && line.trim_end() == line),
                "{table}"
            );
        }
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
        assert_eq!(
            (
                digits(Some(names / 524_288.0)),
                digits(Some(random(524_288.0)))
            ),
            ("2.27".into(), "0.6640".into())
        );
        assert_eq!(digits(Some(random(262_144.0))), "0.4696");
    }
}

//! Projection: how full the directories of [`crate::path`] get with a given number of members.

use std::fmt::Write;

use serde::Serialize;

use super::binomial::fullest;
use super::survey::{digits, SurveyReport};
use crate::error::{Error, Result};
use crate::path::Levels;

/// How full a tree of directories gets with a given number of members.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Projection {
    /// The number of members. Each has one entry in a directory of the last level.
    pub members: u64,
    /// The levels, outermost first.
    pub levels: Vec<LevelProjection>,
}

/// One level of a [`Projection`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LevelProjection {
    /// The number of the level, counted from 1.
    pub level: usize,
    /// The number of directories that the level has in the whole tree.
    pub directories: u64,
    /// The number of entries in each of them: the directories of the next level or, on the last
    /// level, the mean number of members.
    pub entries: f64,
    /// The mean number of members at or below a directory.
    pub members: f64,
    /// An upper bound on the members at or below any directory of the level, which holds with a
    /// probability of at least 1/2.
    ///
    /// The number of members of a directory is binomially distributed, Bin(members, p), since MD5
    /// gives each name a random directory. The figure is the smallest k with directories * P(Bin >
    /// k) <= 1/2. This is the union bound: the chance that any directory has more than k members is
    /// at most the sum of the chances of all directories. p is the chance of the likeliest
    /// directory: the product, over the levels, of ceil(256 / directories) / 256, where ceil(256 /
    /// directories) is the number of byte values that lead to it.
    pub fullest: u64,
}

/// A survey, with the projection that was asked for: what `stead survey --json` prints.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Surveyed {
    #[serde(flatten)]
    report: SurveyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    projection: Option<Projection>,
}

impl Surveyed {
    /// Puts a report and a projection together.
    pub fn new(report: SurveyReport, projection: Option<Projection>) -> Surveyed {
        Surveyed { report, projection }
    }
}

impl Projection {
    /// Projects `members` members onto the levels.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the tree would have 2^64 directories or more.
    pub fn new(members: u64, levels: &Levels) -> Result<Projection> {
        let mut projected = Vec::new();
        let (mut directories, mut likeliest) = (1u64, 1f64);
        for (i, number) in levels.directories().iter().enumerate() {
            directories =
                directories
                    .checked_mul(u64::from(*number))
                    .ok_or_else(|| Error::Invalid {
                        problem: format!(
                            "levels: {levels} make 2^64 directories or more; use fewer or \
                    smaller levels"
                        ),
                    })?;
            likeliest *= f64::from(256u16.div_ceil(*number)) / 256.0;
            let mean = members as f64 / directories as f64;
            projected.push(LevelProjection {
                level: i + 1,
                directories,
                entries: levels
                    .directories()
                    .get(i + 1)
                    .map_or(mean, |next| f64::from(*next)),
                members: mean,
                fullest: fullest(members, likeliest, 0.5 / directories as f64),
            });
        }
        Ok(Projection {
            members,
            levels: projected,
        })
    }

    /// The projection as a table for people, with a newline at the end.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |cells: [&str; 5]| {
            let [level, directories, entries, members, fullest] = cells;
            let _ = writeln!(
                text,
                "{level:>5} {directories:>18} {entries:>17} {members:>17} {fullest:>18}"
            );
        };
        row([
            "level",
            "directories",
            "entries of each",
            "members below",
            "in the fullest",
        ]);
        for level in &self.levels {
            row([
                &level.level.to_string(),
                &level.directories.to_string(),
                &digits(Some(level.entries)),
                &digits(Some(level.members)),
                &level.fullest.to_string(),
            ]);
        }
        let _ = writeln!(
            text,
            "\n{} members; at least as likely as not, no directory is fuller",
            self.members
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::Survey;
    use super::*;

    #[test]
    fn a_billion_members_have_1907_files_in_a_directory() {
        let projection = Projection::new(1_000_000_000, &Levels::default()).unwrap();
        let figures = projection
            .levels
            .iter()
            .map(|l| (l.level, l.directories, l.entries.round(), l.members.round()));
        let figures: Vec<_> = figures.collect();
        let expected = [
            (1, 64, 64.0, 15_625_000.0),
            (2, 4_096, 128.0, 244_141.0),
            (3, 524_288, 1907.0, 1907.0),
        ];
        assert_eq!(figures, expected);
        // 1907.35 + 4.9 * 43.67: the normal quantile of 1 / (2 * 524,288) is 4.76, and the
        // distribution is skewed to the right
        assert!(
            (2115..2130).contains(&projection.levels[2].fullest),
            "{projection:?}"
        );
        assert!(projection.table().contains("524288"));
    }

    #[test]
    fn the_fullest_directory_is_exceeded_with_a_chance_of_at_most_half() {
        // 3 members in 2 directories: one directory always has more than 1; one has more than 2 in
        // 1 of 4 cases
        let fullest = |members, levels| {
            let projection = Projection::new(members, &Levels::new(levels).unwrap()).unwrap();
            projection.levels.last().unwrap().fullest
        };
        assert_eq!(fullest(3, &[2]), 2);
        assert_eq!(
            (fullest(0, &[64]), fullest(1, &[64]), fullest(7, &[1])),
            (0, 1, 7)
        );
        assert_eq!(fullest(u64::MAX, &[1, 1]), u64::MAX);
        // 255 directories, of which the first gets 2 of the 256 byte values
        assert!(fullest(256_000, &[255]) > 2000 && fullest(256_000, &[256]) < 1200);
        // compare with counted keys: the names "0", "1", ... in 64 x 64
        let mut counted = Survey::new();
        (0..200_000).for_each(|i: u32| counted.add(i.to_string().as_bytes()));
        let (found, bound) = (
            counted.finish().schemes[6].fullest,
            fullest(200_000, &[64, 64]),
        );
        assert!(found <= bound + 5 && found + 8 >= bound, "{found} {bound}");
    }

    #[test]
    fn too_many_directories_are_refused() {
        let error = Projection::new(1, &Levels::new(&[256; 16]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("2^64"), "{error}");
        assert!(Projection::new(u64::MAX, &Levels::new(&[256; 7]).unwrap()).is_ok());
    }
}

//! Judges the copies of one file: which of them are whole, and how the others become so.

use std::cmp::Reverse;

use crate::image::Image;

/// What a copy contains.
#[derive(Debug)]
pub(super) enum Content {
    /// The backend has no such file.
    Missing,
    /// It is no RRD, or only a part of one.
    Damaged,
    /// It comes from a machine of another architecture, so it cannot be read here.
    Foreign,
    /// It can be read.
    Read {
        bytes: Vec<u8>,
        mode: u32,
        image: Image,
    },
}

/// How the copies of a file become equal. Copies are named by their index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They are equal, or none exists.
    Equal,
    /// This one lacks nothing that another one has, and replaces those that differ.
    Take(usize),
    /// Each has something that another one lacks: they are joined, in this order of preference.
    Join(Vec<usize>),
    /// Nobody but the operator can tell.
    Stuck(&'static str),
}

impl Content {
    fn image(&self) -> Option<&Image> {
        match self {
            Content::Read { image, .. } => Some(image),
            _ => None,
        }
    }
}

/// Judges the copies. `doubted` says which of them are known to lack something, or are not
/// trusted. Where copies that are trusted alike know different values, one that repeats itself
/// there is taken last.
pub(super) fn judge(copies: &[Content], doubted: &[bool]) -> Verdict {
    if copies.iter().any(|copy| matches!(copy, Content::Foreign)) {
        return Verdict::Stuck(
            "a copy comes from a machine of another architecture, so they cannot be compared; \
            choose the copy to lose with stead-rrd repair --replace",
        );
    }
    let images: Vec<(usize, &Image)> = copies
        .iter()
        .enumerate()
        .filter_map(|(at, copy)| Some((at, copy.image()?)))
        .collect();
    let Some((_, first)) = images.first() else {
        return match copies.iter().all(|copy| matches!(copy, Content::Missing)) {
            true => Verdict::Equal,
            false => Verdict::Stuck("no copy is an RRD that can be read: restore one of them"),
        };
    };
    if images.iter().any(|(_, image)| image.lacks(first).is_none()) {
        return Verdict::Stuck(
            "the copies have different columns, types or archives; choose the copy to lose with \
            stead-rrd repair --replace",
        );
    }
    if images.len() == copies.len() && images.iter().all(|(_, image)| image == first) {
        return Verdict::Equal;
    }
    let whole = |(_, image): &&(usize, &Image)| {
        let mut others = images.iter();
        others.all(|(_, other)| image.lacks(other) == Some(0))
    };
    let repeats = |image: &Image| {
        let others = images.iter().map(|(_, other)| image.repeats(other));
        others.max().unwrap_or_default()
    };
    // The newest has come farthest, also within the rows to come.
    let best = images.iter().filter(whole).max_by_key(|(at, image)| {
        let last = image.last();
        (last, !doubted[*at], Reverse(repeats(image)), Reverse(*at))
    });
    if let Some((best, _)) = best {
        return Verdict::Take(*best);
    }
    let mut order = images.clone();
    order.sort_by_cached_key(|(at, image)| {
        let last = Reverse(image.last());
        (doubted[*at], last, repeats(image), *at)
    });
    Verdict::Join(order.into_iter().map(|(at, _)| at).collect())
}

/// Returns the copies that have to be replaced by this verdict. Those that are joined may all be.
pub(super) fn to_replace(copies: &[Content], verdict: &Verdict) -> Vec<usize> {
    let all = 0..copies.len();
    match verdict {
        Verdict::Equal => Vec::new(),
        Verdict::Take(source) => all
            .filter(|at| at != source && copies[*at].image() != copies[*source].image())
            .collect(),
        Verdict::Join(_) | Verdict::Stuck(_) => all.collect(),
    }
}

/// Returns how many values a copy has that each of the right ones lacks, or why that is not known.
pub(super) fn only_in(copy: &Content, right: &[Content]) -> Result<usize, &'static str> {
    let image = match copy {
        Content::Missing => return Ok(0),
        Content::Damaged => return Err("it is no whole RRD"),
        Content::Foreign => return Err("it comes from a machine of another architecture"),
        Content::Read { image, .. } => image,
    };
    let readable: Vec<&Image> = right.iter().filter_map(Content::image).collect();
    if readable.is_empty() {
        return Err("no right copy can be read");
    }
    let lacking = readable.iter().filter_map(|other| other.lacks(image));
    lacking
        .min()
        .ok_or("it has other columns, types or archives than the right copies")
}

/// Says what differs, in one line. `names` are the backends of the copies.
pub(super) fn described(copies: &[Content], names: &[String], verdict: &Verdict) -> String {
    let lacks = |at: usize| {
        let image = copies[at].image()?;
        let others = copies.iter().filter_map(Content::image);
        others.filter_map(|other| image.lacks(other)).max()
    };
    // where another copy lacks nothing either, nobody can be sure
    let rivals = |source: usize| {
        let taken = copies[source].image();
        let mut others = copies.iter().enumerate();
        others.any(|(at, copy)| copy.image() != taken && lacks(at) == Some(0))
    };
    let taken = match verdict {
        Verdict::Take(source) if rivals(*source) => "is taken",
        _ => "is whole",
    };
    let each = copies.iter().enumerate().map(|(at, copy)| {
        let name = &names[at];
        match copy {
            Content::Missing => format!("{name} has no such file"),
            Content::Damaged => format!("the file on {name} is no whole RRD"),
            Content::Foreign => format!("the file on {name} is of another architecture"),
            Content::Read { image, .. } => match (lacks(at), verdict) {
                (_, Verdict::Take(source)) if copies[*source].image() == Some(image) => {
                    format!("{name} {taken}")
                }
                (None | Some(0), _) => format!("{name} differs"),
                (Some(1), _) => format!("{name} lacks 1 value"),
                (Some(count), _) => format!("{name} lacks {count} values"),
            },
        }
    });
    let mut text = each.collect::<Vec<_>>().join(", ");
    match verdict {
        Verdict::Equal | Verdict::Take(_) => {}
        Verdict::Join(_) => text += ": they are merged",
        Verdict::Stuck(why) => {
            text += ": ";
            text += why;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::sample_file;

    const NAN: f64 = f64::NAN;

    fn read(last: u64, rows: [f64; 4]) -> Content {
        let bytes = sample_file(last, rows, 1);
        Content::Read {
            image: Image::read(&bytes).unwrap(),
            bytes,
            mode: 0o644,
        }
    }

    fn said(copies: &[Content], doubted: &[bool]) -> (Verdict, String) {
        let names: Vec<String> = (1..=copies.len()).map(|n| format!("b{n}")).collect();
        let verdict = judge(copies, doubted);
        let text = described(copies, &names, &verdict);
        (verdict, text)
    }

    #[test]
    fn a_copy_that_lacks_nothing_is_taken_and_the_newest_of_several() {
        let trusted = [false; 3];
        let all = [1.0, 2.0, 3.0, 4.0];
        let whole = || read(1000, all);
        assert_eq!(said(&[whole(), whole()], &trusted).0, Verdict::Equal);
        assert_eq!(
            said(&[read(1000, [1.0, NAN, NAN, 4.0]), whole()], &trusted),
            (
                Verdict::Take(1),
                "b1 lacks 2 values, b2 is whole".to_owned()
            )
        );
        // nothing is missing in the rows, but one has come farther
        assert_eq!(
            said(&[whole(), read(1009, all)], &[false, true]),
            (Verdict::Take(1), "b1 differs, b2 is taken".to_owned())
        );
        // other values: the one that is trusted
        let other = || read(1000, [1.0, 2.0, 3.0, 5.0]);
        let copies = [other(), whole(), whole()];
        assert_eq!(judge(&copies, &[true, false, false]), Verdict::Take(1));
        assert_eq!(to_replace(&copies, &Verdict::Take(1)), [0]);
        assert_eq!(
            said(&copies, &[true, false, false]).1,
            "b1 differs, b2 is taken, b3 is taken"
        );
        // rows that were filled across a gap, unless the other copy is not trusted
        let filled = || read(1000, [1.0, 4.0, 4.0, 4.0]);
        for (doubted, taken) in [([false; 2], 1), ([true, false], 1), ([false, true], 0)] {
            let verdict = judge(&[filled(), whole()], &doubted);
            assert_eq!(verdict, Verdict::Take(taken), "{doubted:?}");
        }
        assert_eq!(
            said(&[Content::Missing, whole(), Content::Damaged], &trusted),
            (
                Verdict::Take(1),
                "b1 has no such file, b2 is whole, the file on b3 is no whole RRD".to_owned()
            )
        );
    }

    #[test]
    fn copies_that_each_lack_something_are_joined() {
        let copies = [
            read(1000, [NAN, 2.0, NAN, 4.0]),
            read(1009, [1.0, 2.0, 3.0, NAN]),
        ];
        let text = "b1 lacks 2 values, b2 lacks 1 value: they are merged".to_owned();
        assert_eq!(
            said(&copies, &[false, false]),
            (Verdict::Join(vec![1, 0]), text)
        );
        assert_eq!(judge(&copies, &[false, true]), Verdict::Join(vec![0, 1]));
    }

    #[test]
    fn what_only_one_copy_has_is_counted_or_not_known() {
        let whole = || read(1000, [1.0, 2.0, 3.0, 4.0]);
        let holes = || read(1000, [1.0, NAN, NAN, 4.0]);
        let right = [holes(), Content::Missing];
        assert_eq!(only_in(&whole(), &right), Ok(2));
        assert_eq!(only_in(&whole(), &[holes(), whole()]), Ok(0));
        assert_eq!(only_in(&holes(), &[whole()]), Ok(0));
        assert_eq!(only_in(&Content::Missing, &right), Ok(0));
        for (copy, right, word) in [
            (Content::Damaged, vec![whole()], "no whole RRD"),
            (Content::Foreign, vec![whole()], "architecture"),
            (whole(), vec![Content::Damaged], "no right copy"),
        ] {
            let why = only_in(&copy, &right).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn what_cannot_be_judged_is_left_to_the_operator() {
        let whole = || read(1000, [1.0; 4]);
        for (copies, word) in [
            (vec![Content::Foreign, whole()], "architecture"),
            (vec![Content::Damaged, Content::Missing], "restore"),
            (
                vec![whole(), {
                    let mut bytes = sample_file(1000, [1.0; 4], 0);
                    bytes[150] = 1;
                    let image = Image::read(&bytes).unwrap();
                    Content::Read {
                        bytes,
                        mode: 0,
                        image,
                    }
                }],
                "columns",
            ),
        ] {
            let (verdict, text) = said(&copies, &[false, false]);
            assert!(
                matches!(verdict, Verdict::Stuck(why) if why.contains(word)),
                "{verdict:?}"
            );
            assert!(text.contains(word));
            assert_eq!(to_replace(&copies, &verdict), [0, 1]);
        }
        let none = [Content::Missing, Content::Missing];
        assert_eq!(judge(&none, &[false, false]), Verdict::Equal);
    }
}

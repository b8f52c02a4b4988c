//! Estimates how many values a FETCH asks for.
//!
//! rrdcached makes a row for each step of the requested time, even where the file has none: a FETCH
//! of nine years from a file with a step of one second makes it take all the memory there is. So
//! the router computes the size of the answer beforehand, by the rules of `rrd_fetch`.

use crate::reply::Reply;
use crate::words::words;

/// The most values in one answer: about 120 MiB as text.
pub const MOST_VALUES: i64 = 1 << 22;
/// An answer with more values than this is a large one.
pub const LARGE_VALUES: i64 = 100_000;
/// A FETCH over at most this many seconds needs no look at the file: with the most columns, 127,
/// the answer has about 20 MiB of text.
pub const SHORT_SECONDS: i64 = 10_000;

/// The arguments of a FETCH.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    function: Vec<u8>,
    start: i64,
    end: i64,
    /// 0 means all columns
    columns: i64,
}

impl Wanted {
    /// Parses what follows the path. Returns `None` if rrdcached refuses it anyway.
    pub fn parse(rest: &[u8], now: i64) -> Option<Wanted> {
        let mut words = words(rest);
        let function = words.next()?;
        // as in rrdcached, a time that is not above 0 counts from now
        let time = |word: &[u8]| {
            integer(word).map(|time| {
                if time > 0 {
                    time
                } else {
                    now.saturating_add(time)
                }
            })
        };
        let start = words.next().map(time);
        let end = words.next().map_or(Some(now), time)?;
        let start = start.unwrap_or(Some(end.saturating_sub(86_400)))?;
        Some(Wanted {
            function: function.to_vec(),
            start,
            end,
            columns: words.count() as i64,
        })
    }

    /// Returns the begin and the end, in seconds since 1970.
    pub fn times(&self) -> (i64, i64) {
        (self.start, self.end)
    }

    /// Returns the seconds from the begin to the end.
    pub fn seconds(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns how many values the answer has, from what INFO says about the file. Returns `None`
    /// if INFO does not tell.
    pub fn values(&self, info: &Reply) -> Option<i64> {
        let file = File::read(info)?;
        let (mut full, mut part): (Option<i64>, Option<(i64, i64)>) = (None, None);
        for archive in file
            .archives
            .iter()
            .filter(|archive| archive.has(&self.function))
        {
            let step = file
                .step
                .checked_mul(archive.per_row)
                .filter(|step| *step > 0)?;
            let end = file.last - file.last.rem_euclid(step);
            let begin = end.saturating_sub(step.saturating_mul(archive.rows));
            if begin <= self.start {
                // the finest of the archives that reach back far enough
                full = Some(full.map_or(step, |best| best.min(step)));
            } else {
                // otherwise the archive that reaches back farthest, and the finest of several
                let matched = self
                    .seconds()
                    .saturating_sub(begin.saturating_sub(self.start));
                if part
                    .is_none_or(|(best, finest)| best < matched || best == matched && step < finest)
                {
                    part = Some((matched, step));
                }
            }
        }
        // without a suitable archive rrdcached refuses the request, or should
        let step = full.or(part.map(|(_, step)| step)).unwrap_or(file.step);
        let columns = if self.columns > 0 {
            self.columns
        } else {
            file.columns
        };
        Some(
            (self.seconds().max(0) / step)
                .saturating_add(2)
                .saturating_mul(columns.max(1)),
        )
    }
}

/// The properties of a file that decide the size.
#[derive(Default)]
struct File {
    step: i64,
    last: i64,
    columns: i64,
    archives: Vec<Archive>,
}

#[derive(Default)]
struct Archive {
    function: Vec<u8>,
    rows: i64,
    per_row: i64,
}

impl File {
    fn read(info: &Reply) -> Option<File> {
        let mut file = File::default();
        for line in info.each() {
            // key, kind, value
            let mut words = line.splitn(3, |b| *b == b' ');
            let (key, value) = (words.next()?, words.nth(1).unwrap_or_default());
            match key {
                b"step" => file.step = integer(value)?,
                b"last_update" => file.last = integer(value)?,
                _ if key.starts_with(b"ds[") && key.ends_with(b"].index") => file.columns += 1,
                _ if key.starts_with(b"rra[") && key.ends_with(b"].cf") => {
                    file.archives.push(Archive {
                        function: value.to_vec(),
                        ..Archive::default()
                    })
                }
                _ if key.starts_with(b"rra[") && key.ends_with(b"].rows") => {
                    file.archives.last_mut()?.rows = integer(value)?
                }
                _ if key.starts_with(b"rra[") && key.ends_with(b"].pdp_per_row") => {
                    file.archives.last_mut()?.per_row = integer(value)?
                }
                _ => {}
            }
        }
        (file.step > 0).then_some(file)
    }
}

impl Archive {
    /// Returns whether the archive can answer `function`. Where each row is one step, AVERAGE, MIN,
    /// MAX and LAST are the same.
    fn has(&self, function: &[u8]) -> bool {
        let same = |function: &[u8]| matches!(function, b"AVERAGE" | b"MIN" | b"MAX" | b"LAST");
        match function {
            b"HWPREDICT" if self.function == b"MHWPREDICT" => true,
            _ => {
                self.function == function
                    || self.per_row == 1 && same(&self.function) && same(function)
            }
        }
    }
}

/// Parses a number as C's `strtol` does with base 0: what follows the number is ignored, and a
/// number that is too large becomes the largest one.
fn integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (base, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, rest)
        }
        [b'0', ..] => (8, digits),
        _ => (10, digits),
    };
    let mut value = None;
    for digit in digits
        .iter()
        .map_while(|digit| char::from(*digit).to_digit(base))
    {
        value = Some(
            value
                .unwrap_or(0i64)
                .saturating_mul(base.into())
                .saturating_add(digit.into()),
        );
    }
    value.map(|value| if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with two columns and three archives: averages of 1,000 seconds and of 1,000 minutes,
    /// and a maximum of 10 s.
    fn info() -> Reply {
        let lines = "filename 2 /b/a b.rrd\nstep 1 1\nlast_update 1 1700000000\nds[v].index 1 0\nds[v].type 2 GAUGE\nds[w].index 1 1\n\
            rra[0].cf 2 AVERAGE\nrra[0].rows 1 1000\nrra[0].pdp_per_row 1 1\nrra[1].cf 2 AVERAGE\nrra[1].rows 1 1000\nrra[1].pdp_per_row 1 60\n\
            rra[2].cf 2 MAX\nrra[2].rows 1 5\nrra[2].pdp_per_row 1 10";
        Reply::list("Info for /b/a b.rrd follows", lines.lines())
    }

    #[test]
    fn numbers_are_read_as_strtol_does() {
        for (text, number) in [
            ("17", Some(17)),
            ("-5", Some(-5)),
            ("+0x1F", Some(31)),
            ("010", Some(8)),
            ("08", Some(0)),
            ("0x", Some(0)),
            ("7x", Some(7)),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(integer(text.as_bytes()), number, "{text}");
        }
        assert_eq!(integer(b"99999999999999999999"), Some(i64::MAX));
    }

    #[test]
    fn times_that_are_not_told_are_those_of_rrdcached() {
        let wanted = |rest: &'static str| {
            Wanted::parse(rest.as_bytes(), 1_700_000_000)
                .map(|wanted| (wanted.start, wanted.end, wanted.columns))
        };
        assert_eq!(wanted("AVERAGE"), Some((1_699_913_600, 1_700_000_000, 0)));
        assert_eq!(
            wanted("AVERAGE -600"),
            Some((1_699_999_400, 1_700_000_000, 0))
        );
        assert_eq!(wanted("AVERAGE 5 0x10 v w"), Some((5, 16, 2)));
        assert_eq!(
            (wanted(""), wanted("AVERAGE x"), wanted("AVERAGE 5 x")),
            (None, None, None)
        );
    }

    #[test]
    fn the_archive_is_the_one_that_rrd_fetch_takes() {
        let values = |rest: &'static str| {
            Wanted::parse(rest.as_bytes(), 1_700_000_000)
                .unwrap()
                .values(&info())
        };
        // seconds for all of it, then minutes, then a time before any archive, which takes the
        // archive that reaches back farthest
        assert_eq!(values("AVERAGE 1699999500 1700000000"), Some(2 * 502));
        assert_eq!(
            values("AVERAGE 1699990000 1700000000"),
            Some(2 * (10_000 / 60 + 2))
        );
        assert_eq!(
            values("AVERAGE 1 1700000000 v"),
            Some(1_700_000_000 / 60 + 2)
        );
        // rows in the future are made, too
        assert_eq!(
            values("AVERAGE 1700000000 2000000000"),
            Some(2 * 300_000_002)
        );
        assert_eq!(values("MAX 1699999960 1700000000 w"), Some(42));
        assert_eq!(values("MAX 1699999950 1700000000 w"), Some(52));
        // where a row is one step all functions are the same, so there are seconds of MIN, too; a
        // function that no archive has counts as the finest
        assert_eq!(values("MIN 1 1700000000 w"), Some(1_700_000_001));
        assert_eq!(values("HWPREDICT 1 1700000000 w"), Some(1_700_000_001));
        assert_eq!(values("AVERAGE 5 4"), Some(4));
        assert_eq!(
            Wanted::parse(b"AVERAGE", 0)
                .unwrap()
                .values(&Reply::error("No such file")),
            None
        );
    }
}

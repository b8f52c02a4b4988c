//! The shape of a file: what an UPDATE of it must look like, so that rrdtool can write it.
//!
//! rrdcached looks at nothing of a value but its time. When it comes to write a value that the file
//! cannot take, it drops the value and everything that waits behind it. So the router looks first,
//! by the rules of `rrd_update` of rrdtool 1.7.2 and in its words. `tests/rrd/test_values.py` lets
//! rrdtool judge the same values.
//!
//! One rule is stricter than rrdtool's: after a gap that is longer than a column's heartbeat,
//! rrdtool takes anything for that column, as unknown. Whether there is such a gap depends on the
//! order in which updates of several clients arrive, so here the rule for numbers always holds.

use crate::reply::Reply;
use crate::words::words;

/// What an UPDATE of a file must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// the columns that take values, in the order of the file: those of COMPUTE take none
    columns: Box<[Kind]>,
    /// Whether the file keeps its last time in whole seconds, as it does before version 3.
    whole_seconds: bool,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Takes whole numbers from 0.
    Counter,
    /// Takes whole numbers.
    Derive,
    /// Takes numbers. The text is the name of the type in rrdtool's errors.
    Number(&'static str),
    /// A type that this program does not know: it takes what it is given.
    Unknown,
}

impl Shape {
    /// Reads the shape and the last time, in whole seconds, from the answers to INFO and LAST: INFO
    /// does not know of values that wait in memory, and LAST cuts times after the year 2106 to 32
    /// bits. Returns `None` if they do not tell them.
    pub fn read(info: &Reply, last: &Reply) -> Option<(Shape, f64)> {
        if info.is_error() || last.is_error() {
            return None;
        }
        let mut last = integer_of(&last.text)?;
        let (mut columns, mut whole_seconds) = (Vec::new(), false);
        for line in info.each() {
            // key, kind, value
            let mut words = line.splitn(3, |b| *b == b' ');
            let (key, value) = (words.next()?, words.nth(1).unwrap_or_default());
            match key {
                b"rrd_version" => whole_seconds = value < &b"0003"[..],
                b"last_update" => last = last.max(integer_of(value).unwrap_or(last)),
                _ if key.starts_with(b"ds[") && key.ends_with(b"].type") => {
                    columns.extend(Kind::of(value))
                }
                _ => {}
            }
        }
        let shape = Shape {
            columns: columns.into(),
            whole_seconds,
        };
        (!shape.columns.is_empty()).then_some((shape, last as f64))
    }

    /// Judges the values of an UPDATE of a file whose last time is `last`. Returns the new last
    /// time, or why rrdtool cannot write them.
    ///
    /// A time that is not after the last one, or that is no number, is left to rrdcached, which
    /// refuses it.
    pub fn judge(&self, values: &[u8], mut last: f64) -> Result<f64, String> {
        for value in words(values) {
            match self.judge_one(value, last)? {
                Some(time) => last = last.max(time),
                None => break, // rrdcached refuses it, and looks at none behind it
            }
        }
        Ok(last)
    }

    /// Judges one value. Returns its time, or `None` if it has none.
    fn judge_one(&self, value: &[u8], last: f64) -> Result<Option<f64>, String> {
        let Some(at) = value.iter().position(|byte| *byte == b':') else {
            return Ok(None);
        };
        let (stamp, readings) = (&value[..at], &value[at + 1..]);
        // no file has a last time that is so early: rrdcached refuses it, too
        let Some(time) = time_of(stamp).filter(|time| *time >= 1.0) else {
            return Ok(None);
        };
        self.judge_readings(stamp, readings)?;
        if time > last && time - last <= 1.0 && self.tick(time) == self.tick(last) {
            // rrdcached compares the numbers as they are written, and rrdtool what it keeps
            return Err(format!(
                "illegal attempt to update using time {time:.6} when last update time is \
                {last:.6} (minimum one second step)"
            ));
        }
        Ok(Some(time))
    }

    /// Returns the new last time of a file whose last time is `last` if rrdcached and rrdtool take
    /// all values of an UPDATE. Then each of them is after the one before it.
    pub fn takes(&self, values: &[u8], mut last: f64) -> Option<f64> {
        for value in words(values) {
            // what is not newer, or has no time, is left to rrdcached
            let time = self.judge_one(value, last).ok()??;
            if time <= last {
                return None;
            }
            last = time;
        }
        Some(last)
    }

    fn judge_readings(&self, stamp: &[u8], readings: &[u8]) -> Result<(), String> {
        let (mut given, mut at) = (0, 0);
        for reading in readings.split(|byte| *byte == b':') {
            if given == self.columns.len() {
                let rest = String::from_utf8_lossy(&readings[at..]);
                return Err(format!("found extra data on update argument: {rest}"));
            }
            (given, at) = (given + 1, at + reading.len() + 1);
        }
        if given < self.columns.len() {
            let (wanted, stamp) = (self.columns.len(), String::from_utf8_lossy(stamp));
            return Err(format!(
                "expected {wanted} data source readings (got {given}) from {stamp}"
            ));
        }
        readings
            .split(|byte| *byte == b':')
            .zip(&self.columns)
            .try_for_each(|(reading, kind)| kind.judge(reading))
    }

    /// Returns what the file keeps of a time.
    fn tick(&self, time: f64) -> (i64, i64) {
        let whole = time.floor();
        let micros = ((time - whole) * 1e6) as i64;
        (whole as i64, if self.whole_seconds { 0 } else { micros })
    }
}

impl Kind {
    /// Returns the type of this name, or `None` if its columns take no values.
    fn of(name: &[u8]) -> Option<Kind> {
        match name {
            b"COMPUTE" => None,
            b"COUNTER" => Some(Kind::Counter),
            b"DERIVE" => Some(Kind::Derive),
            b"GAUGE" => Some(Kind::Number("GAUGE")),
            b"ABSOLUTE" => Some(Kind::Number("ABSOLUTE")),
            b"DCOUNTER" => Some(Kind::Number("DCOUNTER")),
            b"DDERIVE" => Some(Kind::Number("DDERIVE")),
            _ => Some(Kind::Unknown),
        }
    }

    fn judge(self, reading: &[u8]) -> Result<(), String> {
        let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
        let good = match self {
            _ if reading.first() == Some(&b'U') => true,
            Kind::Counter => digits(reading),
            Kind::Derive => digits(reading.strip_prefix(b"-").unwrap_or(reading)),
            Kind::Number(_) => is_number(reading),
            Kind::Unknown => true,
        };
        if good {
            return Ok(());
        }
        let reading = String::from_utf8_lossy(reading);
        Err(match self {
            Kind::Counter => format!("not a simple unsigned integer: '{reading}'"),
            Kind::Derive => format!("not a simple signed integer: '{reading}'"),
            Kind::Number(name) => format!(
                "Function update_pdp_prep, case DST_{name} - Cannot convert '{reading}' to float"
            ),
            Kind::Unknown => reading.into_owned(),
        })
    }
}

/// Returns whether rrdtool's own parser takes the text for a number.
fn is_number(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    if [&b"nan"[..], b"inf", b"infinity"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return true;
    }
    let unsigned = text
        .strip_prefix(b"+")
        .or(text.strip_prefix(b"-"))
        .unwrap_or(text);
    let end = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (digits, power) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let point = digits.iter().position(|byte| *byte == b'.');
    let decimals = point.map_or(0, |point| digits.len() - point - 1);
    let known = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    if !digits.iter().all(known) || points > 1 || digits.len() == points {
        return false;
    }
    let power = match power {
        [] => 0,
        [_, power @ ..] => match integer_of(power) {
            Some(power) => power,
            None => return false,
        },
    };
    // DBL_MIN_EXP and DBL_MAX_EXP, between which rrdtool wants the power of the last digit
    (-1021..=1024).contains(&power.saturating_sub(decimals as i64))
}

/// Returns the time before the readings of a value.
fn time_of(stamp: &[u8]) -> Option<f64> {
    whole_seconds(stamp).or_else(|| std::str::from_utf8(stamp).ok()?.parse().ok())
}

/// Returns the time if it consists of a few digits, as nearly all do. The parser of all numbers
/// takes several times as long and says the same: every number below 2^53 is exact.
fn whole_seconds(stamp: &[u8]) -> Option<f64> {
    if stamp.is_empty() || stamp.len() > 15 {
        return None;
    }
    let mut number = 0;
    for byte in stamp {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(byte - b'0');
    }
    Some(number as f64)
}

/// Returns the number that consists of an optional sign and digits.
fn integer_of(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(kinds: &[&str], version: &str) -> Shape {
        let lines = kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| format!("ds[v{at}].type 2 {kind}"))
            .chain([format!("rrd_version 2 {version}")]);
        let info = Reply::list("Info for x follows", lines);
        let (shape, last) = Shape::read(&info, &Reply::ok("100")).unwrap();
        assert_eq!(last, 100.0);
        shape
    }

    #[test]
    fn what_rrdtool_cannot_write_is_refused_in_its_words() {
        for (kinds, values, said) in [
            (
                &["GAUGE"][..],
                "101:1 102:1:2",
                "found extra data on update argument: 2",
            ),
            (
                &["GAUGE"],
                "101:1:2:3",
                "found extra data on update argument: 2:3",
            ),
            (
                &["GAUGE", "COMPUTE", "GAUGE"],
                "101:1",
                "expected 2 data source readings (got 1) from 101",
            ),
            (
                &["COUNTER"],
                "101:1.5",
                "not a simple unsigned integer: '1.5'",
            ),
            (&["DERIVE"], "101:+5", "not a simple signed integer: '+5'"),
            (
                &["ABSOLUTE"],
                "101:+inf",
                "Function update_pdp_prep, case DST_ABSOLUTE - Cannot convert '+inf' to float",
            ),
            (
                &["GAUGE"],
                "101:1e1025",
                "Function update_pdp_prep, case DST_GAUGE - Cannot convert '1e1025' to float",
            ),
            (
                &["GAUGE"],
                "101.1234561:1 101.1234565:1",
                "illegal attempt to update using time 101.123457 when last update time is \
                101.123456 (minimum one second step)",
            ),
        ] {
            let judged = shape(kinds, "0003").judge(values.as_bytes(), 100.0);
            assert_eq!(judged, Err(said.to_owned()), "{values}");
        }
    }

    #[test]
    fn what_rrdtool_writes_passes_and_what_rrdcached_refuses_is_left_to_it() {
        for (kinds, values, last) in [
            (&["GAUGE"][..], "101:1 102.5:-1.5e3", 102.5),
            (&["GAUGE", "COMPUTE", "COUNTER"], "101:U:17", 101.0),
            (&["DERIVE"], "101:-17", 101.0),
            (&["NEW"], "101:whatever", 101.0),
            (&["GAUGE"], "99:1", 100.0),
            (&["GAUGE"], "-99:1:2", 100.0),
            (&["GAUGE"], "x", 100.0),
            (&["GAUGE"], "x:1", 100.0),
            (&["GAUGE"], "", 100.0),
        ] {
            let judged = shape(kinds, "0003").judge(values.as_bytes(), 100.0);
            assert_eq!(judged, Ok(last), "{values}");
        }
    }

    #[test]
    fn an_old_file_keeps_whole_seconds_only() {
        let values = b"101.1:1 101.5:1";
        assert_eq!(shape(&["GAUGE"], "0003").judge(values, 100.0), Ok(101.5));
        assert!(shape(&["GAUGE"], "0001").judge(values, 100.0).is_err());
    }

    #[test]
    fn whole_seconds_are_what_the_parser_of_all_numbers_says() {
        let texts =
            "0 1 17 007 1700000000 999999999999999 1000000000000000 9007199254740993 -1 +1 \
            1.5 1e3 nan inf U 1: x 1x";
        let mut whole = 0;
        for text in texts.split_whitespace().chain([""]) {
            let parsed = text.parse().ok().filter(|time: &f64| !time.is_nan());
            if let Some(time) = whole_seconds(text.as_bytes()) {
                assert_eq!(Some(time), parsed, "{text}");
                whole += 1;
            }
            let time = time_of(text.as_bytes()).filter(|time| !time.is_nan());
            assert_eq!(time, parsed, "{text}");
        }
        assert_eq!(whole, 6);
    }

    #[test]
    fn an_answer_without_columns_tells_no_shape() {
        let good = Reply::list("Info", ["ds[a].type 2 GAUGE"]);
        assert!(Shape::read(&good, &Reply::ok("5")).is_some());
        for (info, last) in [
            (Reply::error("No such file"), Reply::ok("5")),
            (Reply::list("Info", ["rrd_version 2 0003"]), Reply::ok("5")),
            (good.clone(), Reply::error("No such file")),
            (good, Reply::ok("soon")),
        ] {
            assert_eq!(Shape::read(&info, &last), None);
        }
    }

    #[test]
    fn the_last_time_is_that_of_memory_or_of_the_file() {
        for (file, told, last) in [
            ("100", "160", 160.0),
            // rrdcached prints 32 bits of it
            ("9700013360", "1110078768", 9_700_013_360.0),
        ] {
            let lines = [
                "ds[a].type 2 GAUGE".to_owned(),
                format!("last_update 1 {file}"),
            ];
            let info = Reply::list("Info", lines);
            assert_eq!(Shape::read(&info, &Reply::ok(told)).unwrap().1, last);
        }
    }

    #[test]
    fn an_update_is_taken_when_every_value_is_good_and_newer() {
        let shape = shape(&["GAUGE"], "0003");
        for (values, newest) in [
            (&b"101:1 102:2"[..], Some(102.0)),
            (b"100.000002:1", Some(100.000002)),
            (b"100:1", None),
            (b"101:1 101:2", None),
            (b"102:1 101:2", None),
            (b"101:1 102:x", None),
            (b"101:1 102:2:3", None),
            (b"N:1", None),
            (b"101", None),
            (b"nan:1", None),
            (b"", Some(100.0)),
        ] {
            assert_eq!(shape.takes(values, 100.0), newest, "{values:?}");
        }
    }
}

//! Files that an UPDATE names and that are not there: how the router makes them.
//!
//! Some clients never send CREATE: collectd makes files on its own disk, or leaves it to somebody
//! else. rrdcached refuses their updates then. A file of templates says what such files shall be:
//!
//! ```toml
//! [[create]]                              # the first rule that fits is taken
//! match = "*/ping/*.rrd"                  # the name relative to the base; * stays within one part, ** does not
//! step = 60
//! ds = ["DS:value:GAUGE:120:0:U"]
//! rra = ["RRA:AVERAGE:0.5:1:1440", "RRA:MAX:0.5:60:720"]
//!
//! [[create]]                              # files of collectd, as its own plugins make them
//! match = "**"
//! step = 10                               # collectd's Interval
//! types-db = "/usr/share/collectd/types.db"
//! ```
//!
//! A rule with `types-db` fits a name `HOST/PLUGIN/TYPE.rrd` or `HOST/PLUGIN/TYPE-INSTANCE.rrd`
//! whose type that file knows; so a second rule can name the types.db of one's own. `heartbeat` and
//! `rra` may stand there too, when collectd has been told other ones.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use toml::Spanned;

/// Seconds that collectd's archives reach back, when it is not told otherwise: an hour, a day, a
/// week, 31 days, 366 days.
const SPANS: [u64; 5] = [3600, 86400, 604_800, 2_678_400, 31_622_400];
/// Rows that each of them shall have at least: collectd's RRARows.
const ROWS: u64 = 1200;
/// The longest name of a data source that rrdtool takes.
const NAME_BYTES: usize = 19;
/// What a CREATE may hold: rrdcached has room for 128 words, and dies of more; its line with the
/// name has to fit into 8,191 bytes.
const MOST: (usize, usize) = (127, 5900);
/// Data sources that count, with what a value is to them.
const TYPES: [&str; 6] = [
    "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE",
];

/// The templates of a file, ready for use. Cheap to ask: one look at each rule's pattern.
#[derive(Debug, Default)]
pub struct Templates(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: GlobMatcher,
    kind: Kind,
}

/// What stands in a CREATE behind the name and -b.
#[derive(Debug)]
enum Kind {
    Given(Vec<u8>),
    /// by type of collectd
    Types(HashMap<Vec<u8>, Vec<u8>>),
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    create: Vec<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    #[serde(rename = "match")]
    pattern: Spanned<String>,
    step: Spanned<u32>,
    ds: Option<Words>,
    rra: Option<Words>,
    types_db: Option<Spanned<String>>,
    heartbeat: Option<Spanned<u32>>,
}

type Words = Spanned<Vec<Spanned<String>>>;

/// What is wrong, and where in the text.
type Mistake = (Range<usize>, String);

impl Templates {
    /// Reads a file of templates, and the types.db files that it names (relative to its own
    /// directory); the error is one line with the file and the line in it.
    pub fn load(path: &Path) -> Result<Templates, String> {
        let text = read(path)?;
        let placed = |(at, problem): Mistake| {
            format!(
                "{}:{}: {problem}",
                path.display(),
                line_number(&text, at.start)
            )
        };
        let document: Document = toml::from_str(&text).map_err(|error| {
            let message = error
                .message()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            placed((error.span().unwrap_or(0..0), message))
        })?;
        if document.create.is_empty() {
            return Err(format!(
                "{}: no [[create]] stands there; write one, as docs/rrd.md shows",
                path.display()
            ));
        }
        let mut rules = Vec::new();
        for written in document.create {
            let (span, written) = (written.span(), written.into_inner());
            rules.push(written.rule(span, path).map_err(|problem| match problem {
                Problem::Here(mistake) => placed(mistake),
                Problem::Elsewhere(line) => line,
            })?);
        }
        Ok(Templates(rules))
    }

    /// What stands behind the name in the CREATE for a file whose first value has this time, in
    /// seconds; `None` when no rule fits. Without a time it says no `-b`.
    ///
    /// It says -O: a file that is there stays as it is.
    pub fn rest(&self, name: &[u8], first_time: Option<i64>) -> Option<Vec<u8>> {
        let rest = self.0.iter().find_map(|rule| rule.rest(name))?;
        let mut line = Vec::new();
        if let Some(time) = first_time {
            // a file begins with the time of an update before the first
            line.extend_from_slice(format!(" -b {}", time.saturating_sub(1)).as_bytes());
        }
        line.extend_from_slice(rest);
        Some(line)
    }
}

/// The time of the first value of an UPDATE, of what stands behind the name: `1700000000.25:1:2
/// ...`; to the nearest second, since that is how collectd reckons when it makes a file.
pub fn first_time(values: &[u8]) -> Option<i64> {
    let digits = values
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (seconds, rest) = values.split_at(digits);
    let up = match rest {
        [b':', ..] => 0,
        [b'.', tenths, ..] => i64::from(matches!(tenths, b'5'..=b'9')),
        _ => return None,
    };
    std::str::from_utf8(seconds)
        .ok()?
        .parse::<i64>()
        .ok()?
        .checked_add(up)
}

impl Rule {
    fn rest(&self, name: &[u8]) -> Option<&[u8]> {
        if !self.pattern.is_match(std::ffi::OsStr::from_bytes(name)) {
            return None;
        }
        match &self.kind {
            Kind::Given(rest) => Some(rest),
            Kind::Types(types) => types.get(collectd_type(name)?).map(Vec::as_slice),
        }
    }
}

/// The type in a name of collectd's: HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE].rrd; only an instance
/// can hold a minus.
fn collectd_type(name: &[u8]) -> Option<&[u8]> {
    let mut parts = name.rsplit(|byte| *byte == b'/');
    let last = parts.next()?.strip_suffix(b".rrd")?;
    if parts.count() < 2 {
        return None;
    }
    last.split(|byte| *byte == b'-').next()
}

enum Problem {
    Here(Mistake),
    /// In another file: the whole line that says so.
    Elsewhere(String),
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Problem {
        Problem::Here(mistake)
    }
}

impl Written {
    fn rule(self, span: Range<usize>, path: &Path) -> Result<Rule, Problem> {
        let pattern = GlobBuilder::new(self.pattern.get_ref())
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let wrong = |error: globset::Error| {
            (
                self.pattern.span(),
                format!(
                    "match = {:?} is no pattern: {}",
                    self.pattern.get_ref(),
                    error.kind()
                ),
            )
        };
        let pattern = pattern.map_err(wrong)?.compile_matcher();
        let step = *self.step.get_ref();
        if step == 0 {
            return Err((
                self.step.span(),
                "step = 0: write the seconds from one value to the next".to_owned(),
            )
                .into());
        }
        let archives = match &self.rra {
            Some(list) => Some(words(list, archive)?),
            None => None,
        };
        let kind = match (&self.ds, &self.types_db, archives) {
            (Some(_), Some(types), _) => {
                return Err((
                    types.span(),
                    "ds and types-db in one rule: \
                keep one of them"
                        .to_owned(),
                )
                    .into())
            }
            (None, None, _) => {
                return Err((
                    span,
                    "the rule says neither ds nor types-db: add one \
                of them"
                        .to_owned(),
                )
                    .into())
            }
            (Some(_), None, None) => {
                return Err((
                    span,
                    "the rule has no rra: say what shall be \
                kept, as rra = [\"RRA:AVERAGE:0.5:1:1440\"]"
                        .to_owned(),
                )
                    .into())
            }
            (Some(list), None, Some(archives)) => {
                if let Some(heartbeat) = &self.heartbeat {
                    return Err((
                        heartbeat.span(),
                        "heartbeat is for types-db; here it stands in \
                        each DS"
                            .to_owned(),
                    )
                        .into());
                }
                Kind::Given(
                    rest(step, &words(list, source)?, &archives)
                        .map_err(|problem| (span, problem))?,
                )
            }
            (None, Some(types), archives) => {
                let archives = archives.unwrap_or_else(|| collectd_archives(step.into()));
                let heartbeat = self
                    .heartbeat
                    .as_ref()
                    .map_or(2 * u64::from(step), |given| u64::from(*given.get_ref()));
                let file = path.parent().unwrap_or(Path::new("")).join(types.get_ref());
                let text =
                    read(&file).map_err(|error| (types.span(), format!("types-db: {error}")))?;
                let sources = collectd_types(&text, heartbeat);
                let sources = sources.map_err(|(line, problem)| {
                    Problem::Elsewhere(format!("{}:{line}: {problem}", file.display()))
                })?;
                let each = sources.into_iter().map(|(name, sources)| {
                    match rest(step, &sources, &archives) {
                        Ok(rest) => Ok((name.into_bytes(), rest)),
                        Err(problem) => Err((
                            types.span(),
                            format!("type {name} of {}: {problem}", file.display()),
                        )),
                    }
                });
                Kind::Types(each.collect::<Result<_, _>>()?)
            }
        };
        Ok(Rule { pattern, kind })
    }
}

/// The list as words of a request, each of which `check` finds good.
fn words(list: &Words, check: fn(&str) -> Result<(), String>) -> Result<String, Mistake> {
    let mut line = String::new();
    for word in list.get_ref() {
        let text = word.get_ref();
        if let Some(bad) = text
            .chars()
            .find(|c| c.is_whitespace() || c.is_control() || *c == '\\')
        {
            return Err((
                word.span(),
                format!(
                    "{text:?} holds {bad:?}: blanks, backslashes and \
                control characters cannot be sent"
                ),
            ));
        }
        check(text).map_err(|problem| (word.span(), format!("{text:?}: {problem}")))?;
        let _ = write!(line, " {text}"); // a String takes everything
    }
    match list.get_ref().is_empty() {
        true => Err((list.span(), "an empty list: name one at least".to_owned())),
        false => Ok(line),
    }
}

/// As far as a typing error can be seen from here; rrdtool has the last word when it makes the
/// file.
fn source(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        ["DS", name, "COMPUTE", ..] if parts.len() > 3 => named(name),
        ["DS", name, kind, heartbeat, minimum, maximum] => {
            named(name)?;
            if !TYPES.contains(&kind) {
                return Err(format!(
                    "{kind} is no type of a data source; there are {} and COMPUTE",
                    TYPES.join(", ")
                ));
            }
            duration(heartbeat)?;
            for limit in [minimum, maximum] {
                if limit != "U" && limit.parse::<f64>().is_err() {
                    return Err(format!(
                        "the limit {limit:?} is no number; write U for none"
                    ));
                }
            }
            Ok(())
        }
        _ => Err("write DS:NAME:TYPE:HEARTBEAT:MINIMUM:MAXIMUM".to_owned()),
    }
}

fn archive(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        ["RRA", "AVERAGE" | "MIN" | "MAX" | "LAST", share, steps, rows] => {
            if !share
                .parse::<f64>()
                .is_ok_and(|share| (0.0..1.0).contains(&share))
            {
                return Err(format!(
                    "{share:?} may be unknown: a number from 0 up to, and not, 1 \
                    has to stand there"
                ));
            }
            duration(steps)?;
            duration(rows)
        }
        // their arguments are many, and of several kinds
        ["RRA", "HWPREDICT" | "MHWPREDICT" | "SEASONAL" | "DEVSEASONAL" | "DEVPREDICT" | "FAILURES", _, ..] => {
            Ok(())
        }
        _ => Err("write RRA:AVERAGE:0.5:STEPS:ROWS, or MIN, MAX or LAST".to_owned()),
    }
}

fn named(name: &str) -> Result<(), String> {
    if name.is_empty()
        || name.len() > NAME_BYTES
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    {
        return Err(format!(
            "the name {name:?} is none for a data source: 1 to {NAME_BYTES} \
            letters, digits, _ and -"
        ));
    }
    Ok(())
}

/// A count, or a time as rrdtool takes it since 1.6: 90, 5m, 1d.
fn duration(text: &str) -> Result<(), String> {
    let number = text
        .strip_suffix(['s', 'm', 'h', 'd', 'w', 'M', 'y'])
        .unwrap_or(text);
    match number.parse::<u32>() {
        Ok(number) if number > 0 => Ok(()),
        _ => Err(format!("{text:?} is neither a count nor a time such as 5m")),
    }
}

fn rest(step: u32, sources: &str, archives: &str) -> Result<Vec<u8>, String> {
    let line = format!(" -s {step} -O{sources}{archives}");
    let definitions = line
        .split(' ')
        .filter(|word| word.starts_with("DS:") || word.starts_with("RRA:"))
        .count();
    if definitions > MOST.0 || line.len() > MOST.1 {
        return Err(format!(
            "{definitions} definitions in {} bytes; rrdcached takes {} in {}",
            line.len(),
            MOST.0,
            MOST.1
        ));
    }
    Ok(line.into_bytes())
}

/// The archives that collectd gives to a file: for each span so many steps in a row that its rows
/// suffice, and as many rows as then reach back that far; for the first span, and where steps are
/// too few, every step is a row.
fn collectd_archives(step: u64) -> String {
    let mut line = String::new();
    for (at, span) in SPANS.into_iter().enumerate() {
        let span = if span / step < ROWS {
            step * ROWS
        } else {
            span
        };
        let steps = if at == 0 { 1 } else { span / (ROWS * step) };
        let rows = span.div_ceil(steps * step);
        for function in ["AVERAGE", "MIN", "MAX"] {
            let _ = write!(line, " RRA:{function}:0.1:{steps}:{rows}");
        }
    }
    line
}

/// The types of a types.db, each with its data sources; the error is a line's number and what is
/// wrong there.
fn collectd_types(text: &str, heartbeat: u64) -> Result<HashMap<String, String>, (usize, String)> {
    let mut types = HashMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut fields = line.split_ascii_whitespace();
        let Some(name) = fields.next().filter(|name| !name.starts_with('#')) else {
            continue;
        };
        let mut sources = String::new();
        for field in fields {
            let source = collectd_source(field.strip_suffix(',').unwrap_or(field), heartbeat);
            let _ = write!(
                sources,
                " {}",
                source.map_err(|problem| (number, format!("type {name}: {field:?}: {problem}")))?
            );
        }
        if sources.is_empty() {
            return Err((
                number,
                format!("type {name} has no data sources; write {name} value:GAUGE:0:U"),
            ));
        }
        types.insert(name.to_owned(), sources); // as in collectd, the last of one name counts
    }
    Ok(types)
}

fn collectd_source(text: &str, heartbeat: u64) -> Result<String, String> {
    let [name, kind, minimum, maximum] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err("write NAME:TYPE:MINIMUM:MAXIMUM".to_owned());
    };
    named(name)?;
    // collectd writes limits with six digits behind the point
    let limit = |text: &str| match text.parse::<f64>() {
        _ if text.eq_ignore_ascii_case("U") => Ok("U".to_owned()),
        Ok(number) if number.is_finite() => Ok(format!("{number:.6}")),
        _ => Err(format!("the limit {text:?} is no number; write U for none")),
    };
    let kind = kind.to_ascii_uppercase();
    if !TYPES[..4].contains(&&kind[..]) {
        return Err(format!(
            "{kind} is no type of a data source; there are {}",
            TYPES[..4].join(", ")
        ));
    }
    Ok(format!(
        "DS:{name}:{kind}:{heartbeat}:{}:{}",
        limit(minimum)?,
        limit(maximum)?
    ))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn line_number(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::escaped;
    use proptest::prelude::*;

    const OWN: &str = "[[create]]\nmatch = \"*/ping/*.rrd\"\nstep = 60\nds = \
        [\"DS:value:GAUGE:120:0:U\"]\nrra = [\"RRA:AVERAGE:0.5:1:1440\", \"RRA:MAX:0.5:5m:1d\"]\n";
    const COLLECTD: &str = "[[create]]\nmatch = \"**\"\nstep = 10\ntypes-db = \"types.db\"\n";
    const TYPES: &str = "# comment\n\nload  shortterm:GAUGE:0:5000, \
        midterm:gauge:-1.5:5000,\tlongterm:GAUGE:U:18446744073709551615\r\nif_octets \
        rx:DERIVE:0:U,tx\n";

    /// Loads `text` from a directory that also holds types.db.
    fn load(text: &str, types: &str) -> Result<Templates, String> {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("types.db"), types).unwrap();
        std::fs::write(place.path().join("create.toml"), text).unwrap();
        Templates::load(&place.path().join("create.toml"))
            .map_err(|error| error.replace(&format!("{}/", place.path().display()), ""))
    }

    fn created(templates: &Templates, name: &[u8], first_time: Option<i64>) -> Option<Vec<u8>> {
        Some(
            [
                &b"CREATE "[..],
                &escaped(name),
                &templates.rest(name, first_time)?,
            ]
            .concat(),
        )
    }

    fn line(templates: &Templates, name: &str) -> Option<String> {
        created(templates, name.as_bytes(), Some(1_700_000_000))
            .map(|line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn the_first_rule_that_fits_makes_the_file() {
        let types = "load v:GAUGE:0:U\nping v:GAUGE:0:U\n";
        let both = load(&format!("{OWN}{COLLECTD}"), types).unwrap();
        let own = "CREATE h/ping/ping-a\\ b.rrd -b 1699999999 -s 60 -O DS:value:GAUGE:120:0:U \
            RRA:AVERAGE:0.5:1:1440 RRA:MAX:0.5:5m:1d";
        assert_eq!(line(&both, "h/ping/ping-a b.rrd").as_deref(), Some(own));
        let other_way = load(&format!("{COLLECTD}{OWN}"), types).unwrap();
        assert!(line(&other_way, "h/ping/ping-a b.rrd")
            .unwrap()
            .contains("-s 10 -O DS:v:GAUGE:20:0.000000:U"));
        // a type that types.db does not know is left to the next rule, and a star ends at a slash
        assert_eq!(
            line(&other_way, "h/ping/other.rrd"),
            line(&both, "h/ping/other.rrd")
        );
        assert!(line(&both, "h/ping/other.rrd").is_some());
        assert_eq!(line(&both, "x/h/ping/other.rrd"), None);
        assert_eq!(
            created(&Templates::default(), b"h/load/load.rrd", None),
            None
        );
    }

    #[test]
    fn a_name_that_is_no_utf_8_fits_as_any_other() {
        let own = load(OWN, "").unwrap();
        assert!(created(&own, b"h/ping/\xff\xfe.rrd", None)
            .unwrap()
            .starts_with(b"CREATE h/ping/\xff\xfe.rrd -s 60 -O DS:"));
    }

    #[test]
    fn files_of_collectd_are_as_collectd_makes_them() {
        let collectd = load(
            COLLECTD,
            TYPES.strip_suffix("if_octets rx:DERIVE:0:U,tx\n").unwrap(),
        )
        .unwrap();
        // rows as collectd 5.12 makes them every 10 seconds; tests/rrd/test_clients.py compares
        // with files that it made
        let archives: String = [(1, 1200), (7, 1235), (50, 1210), (223, 1202), (2635, 1201)]
            .iter()
            .flat_map(|(steps, rows)| {
                ["AVERAGE", "MIN", "MAX"]
                    .map(|function| format!(" RRA:{function}:0.1:{steps}:{rows}"))
            })
            .collect();
        let sources = "DS:shortterm:GAUGE:20:0.000000:5000.000000 \
            DS:midterm:GAUGE:20:-1.500000:5000.000000 \
            DS:longterm:GAUGE:20:U:18446744073709551616.000000";
        for name in [
            "h/load/load.rrd",
            "h/load-a/load-b-c.rrd",
            "a/h/load/load.rrd",
        ] {
            assert_eq!(
                line(&collectd, name),
                Some(format!(
                    "CREATE {name} -b 1699999999 -s 10 -O {sources}{archives}"
                ))
            );
        }
        for name in [
            "load/load.rrd",
            "h/load/load",
            "h/load/loads.rrd",
            "h/load/#.rrd",
            "h/load/.rrd",
            "h/load/rrd",
        ] {
            assert_eq!(line(&collectd, name), None, "{name}");
        }
        // five minutes: the first two spans have too few steps for 1,200 rows
        assert!(collectd_archives(300).starts_with(
            " RRA:AVERAGE:0.1:1:1200 RRA:MIN:0.1:1:1200 RRA:MAX:0.1:1:1200 RRA:AVERAGE:0.1:1:1200"
        ));
    }

    #[test]
    fn other_archives_and_another_heartbeat_can_be_asked_for() {
        let collectd = load(
            &format!("{COLLECTD}heartbeat = 45\nrra = [\"RRA:LAST:0:1:5\"]\n"),
            "x v:COUNTER:0:U",
        )
        .unwrap();
        assert_eq!(
            line(&collectd, "h/p/x.rrd").unwrap(),
            "CREATE h/p/x.rrd -b 1699999999 -s 10 -O DS:v:COUNTER:45:0.000000:U RRA:LAST:0:1:5"
        );
    }

    #[test]
    fn a_mistake_is_said_with_its_file_and_line() {
        for (change, to, said) in [
            ("step = 60", "step = 0", "create.toml:3: step = 0"),
            ("step = 60\n", "", "create.toml:1: missing field `step`"),
            (
                "step = 60",
                "step = 60\nsteps = 1",
                "create.toml:4: unknown field `steps`",
            ),
            ("step = 60", "step = -1", "create.toml:3: invalid value"),
            ("step = 60", "step = ", "create.toml:3: "),
            (
                "step = 60",
                "step = 60\nheartbeat = 9",
                "create.toml:4: heartbeat is for types-db",
            ),
            (
                "step = 60",
                "step = 60\ntypes-db = 'types.db'",
                "create.toml:4: ds and types-db",
            ),
            (
                "*/ping/*.rrd",
                "[",
                "create.toml:2: match = \"[\" is no pattern",
            ),
            ("ds =", "#", "create.toml:1: the rule says neither"),
            ("rra =", "#", "create.toml:1: the rule has no rra"),
            ("rra = [", "rra = [] #", "create.toml:5: an empty list"),
            (
                "DS:value",
                "DS:va lue",
                "create.toml:4: \"DS:va lue:GAUGE:120:0:U\" holds ' '",
            ),
            ("DS:value", "DS:a_name_of_twenty_char", "create.toml:4: "),
            ("GAUGE", "GAUGES", "GAUGES is no type"),
            (":120:", ":x:", "\"x\" is neither"),
            (":0:U\"", ":0\"", "write DS:NAME"),
            (":0:U\"", ":0:V\"", "the limit \"V\""),
            (
                "RRA:AVERAGE",
                "RRA:AVG",
                "create.toml:5: \"RRA:AVG:0.5:1:1440\": write RRA:",
            ),
            ("AVERAGE:0.5", "AVERAGE:1", "\"1\" may be unknown"),
            (":1440", ":0", "\"0\" is neither"),
        ] {
            let text = OWN.replacen(change, to, 1);
            assert_ne!(text, OWN, "{change}");
            let error = load(&text, "").unwrap_err();
            assert!(
                error.contains(said) && error.starts_with("create.toml:") && !error.contains('\n'),
                "{error}, not {said}"
            );
        }
        let many = OWN.replace(
            "\"DS:value",
            &format!("{}\"DS:value", "\"DS:v:GAUGE:1:0:U\", ".repeat(125)),
        );
        assert!(load(&many, "")
            .unwrap_err()
            .starts_with("create.toml:1: 128 definitions in "));
        assert!(load(&many.replacen("\"DS:v:GAUGE:1:0:U\", ", "", 1), "").is_ok());
        let many = load(COLLECTD, &format!("big {}", "v:GAUGE:0:U ".repeat(113))).unwrap_err();
        assert!(
            many.starts_with("create.toml:4: type big of types.db: 128 definitions"),
            "{many}"
        );
        assert!(load("", "")
            .unwrap_err()
            .starts_with("create.toml:1: missing field `create`"));
        assert!(load("create = []", "")
            .unwrap_err()
            .contains("no [[create]]"));
        assert!(Templates::load(Path::new("/none/x.toml"))
            .unwrap_err()
            .starts_with("cannot read /none/x.toml: No such file"));
        let nowhere = COLLECTD.replace("types.db", "/none/types.db");
        assert!(load(&nowhere, "")
            .unwrap_err()
            .starts_with("create.toml:4: types-db: cannot read /none/types.db: No such file"));
    }

    #[test]
    fn a_mistake_in_types_db_is_said_with_its_file_and_line() {
        for (types, said) in [
            (
                TYPES,
                "types.db:4: type if_octets: \"rx:DERIVE:0:U,tx\": the limit \"U,tx\" is no number",
            ),
            ("a", "types.db:1: type a has no data sources"),
            (
                "\na v:GAUGE:0",
                "types.db:2: type a: \"v:GAUGE:0\": write NAME:TYPE",
            ),
            (
                "a v:DCOUNTER:0:U",
                "types.db:1: type a: \"v:DCOUNTER:0:U\": DCOUNTER is no type",
            ),
            ("a v:GAUGE:inf:U", "the limit \"inf\""),
            ("a :GAUGE:0:U", "the name \"\""),
        ] {
            let error = load(COLLECTD, types).unwrap_err();
            assert!(
                error.contains(said) && error.starts_with("types.db:"),
                "{error}, not {said}"
            );
        }
    }

    #[test]
    fn the_time_of_a_first_value_is_the_nearest_second() {
        for (values, time) in [
            ("17:1", 17),
            ("17.:1", 17),
            ("17.49:1 18:2", 17),
            ("17.5:1 19:2", 18),
            ("17.999999:1", 18),
        ] {
            assert_eq!(first_time(values.as_bytes()), Some(time), "{values}");
        }
        for values in [
            "",
            "N:1",
            "17",
            "17.",
            "17 1:1",
            ":1",
            "-5:1",
            "99999999999999999999:1",
            "9223372036854775807.5:1",
        ] {
            assert_eq!(first_time(values.as_bytes()), None, "{values}");
        }
    }

    proptest! {
        #[test]
        fn no_text_of_types_ends_the_program(text in "[a-z#:,U0-9. \n\\t\r\u{e9}-]{0,200}") {
            let _ = collectd_types(&text, 20);
        }

        #[test]
        fn a_create_is_one_line(name in proptest::collection::vec(any::<u8>().prop_filter("no control characters come here", |b| !b.is_ascii_control()), 1..40)) {
            let all = load(&OWN.replace("*/ping/*.rrd", "**"), "").unwrap();
            let line = created(&all, &name, Some(5)).unwrap();
            prop_assert!(!line.contains(&b'\n'));
            let request = crate::request::Request::parse(&line);
            prop_assert_eq!(request.path().map(|(path, _)| path.into_owned()), Some(name));
        }
    }
}

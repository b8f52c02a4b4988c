//! Files as collectd makes them, by the types of its types.db.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::definitions::{named, TYPES};

/// The seconds that collectd's archives reach back by default: an hour, a day, a week, 31 days, 366
/// days.
const SPANS: [u64; 5] = [3600, 86400, 604_800, 2_678_400, 31_622_400];

/// The least number of rows of each archive: collectd's RRARows.
const ROWS: u64 = 1200;

/// Returns the type in a name of collectd: HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE].rrd. Only an
/// instance can contain a minus.
pub(super) fn type_of(name: &[u8]) -> Option<&[u8]> {
    let mut parts = name.rsplit(|byte| *byte == b'/');
    let last = parts.next()?.strip_suffix(b".rrd")?;
    if parts.count() < 2 {
        return None;
    }
    last.split(|byte| *byte == b'-').next()
}

/// Returns the archives that collectd gives to a file. For each span, a row combines as many steps
/// as it can while the archive still has at least `ROWS` rows, and the archive has enough rows to
/// cover the span. In the archive of the first span every step is a row. A span with fewer than
/// `ROWS` steps becomes `ROWS` steps long.
pub(super) fn archives(step: u64) -> String {
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

/// Reads the types of a types.db, each with its data sources. The error has the number of a line
/// and what is wrong there.
pub(super) fn types(
    text: &str,
    heartbeat: u64,
) -> Result<HashMap<String, String>, (usize, String)> {
    let mut found = HashMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut fields = line.split_ascii_whitespace();
        let Some(name) = fields.next().filter(|name| !name.starts_with('#')) else {
            continue;
        };
        let mut sources = String::new();
        for field in fields {
            let source = source(field.strip_suffix(',').unwrap_or(field), heartbeat);
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
        found.insert(name.to_owned(), sources); // as in collectd, the last one of a name counts
    }
    Ok(found)
}

fn source(text: &str, heartbeat: u64) -> Result<String, String> {
    let [name, kind, minimum, maximum] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err("write NAME:TYPE:MINIMUM:MAXIMUM".to_owned());
    };
    named(name)?;
    // collectd writes limits with six digits after the point
    let limit = |text: &str| match text.parse::<f64>() {
        _ if text.eq_ignore_ascii_case("U") => Ok("U".to_owned()),
        Ok(number) if number.is_finite() => Ok(format!("{number:.6}")),
        _ => Err(format!(
            "the limit {text:?} is not a number; write U for none"
        )),
    };
    let kind = kind.to_ascii_uppercase();
    if !TYPES[..4].contains(&&kind[..]) {
        return Err(format!(
            "{kind} is not a type of a data source; the types are {}",
            TYPES[..4].join(", ")
        ));
    }
    Ok(format!(
        "DS:{name}:{kind}:{heartbeat}:{}:{}",
        limit(minimum)?,
        limit(maximum)?
    ))
}

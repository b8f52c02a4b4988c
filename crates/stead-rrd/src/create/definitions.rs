//! Checks the definitions of a CREATE for typing errors that can be seen here. rrdtool has the
//! final say when it makes the file.

/// The longest name of a data source that rrdtool accepts.
const NAME_BYTES: usize = 19;

/// The most words and bytes of a CREATE. rrdcached has room for 128 words and crashes on more; the
/// line, with the name, must fit into 8,191 bytes.
const MOST: (usize, usize) = (127, 5900);

/// The types of data sources that take a value from an update; COMPUTE is not among them.
pub(super) const TYPES: [&str; 6] = [
    "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE",
];

/// Checks the definition of a data source.
pub(super) fn source(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        ["DS", name, "COMPUTE", ..] if parts.len() > 3 => named(name),
        ["DS", name, kind, heartbeat, minimum, maximum] => {
            named(name)?;
            if !TYPES.contains(&kind) {
                return Err(format!(
                    "{kind} is not a type of a data source; the types are {} and COMPUTE",
                    TYPES.join(", ")
                ));
            }
            duration(heartbeat)?;
            for limit in [minimum, maximum] {
                if limit != "U" && limit.parse::<f64>().is_err() {
                    return Err(format!(
                        "the limit {limit:?} is not a number; write U for none"
                    ));
                }
            }
            Ok(())
        }
        _ => Err("write DS:NAME:TYPE:HEARTBEAT:MINIMUM:MAXIMUM".to_owned()),
    }
}

/// Checks the definition of an archive.
pub(super) fn archive(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        ["RRA", "AVERAGE" | "MIN" | "MAX" | "LAST", share, steps, rows] => {
            if !share
                .parse::<f64>()
                .is_ok_and(|share| (0.0..1.0).contains(&share))
            {
                return Err(format!(
                    "{share:?} may be unknown: write a number from 0 to less than 1"
                ));
            }
            duration(steps)?;
            duration(rows)
        }
        // these have many arguments of several kinds
        ["RRA", "HWPREDICT" | "MHWPREDICT" | "SEASONAL" | "DEVSEASONAL" | "DEVPREDICT" | "FAILURES", _, ..] => {
            Ok(())
        }
        _ => Err("write RRA:AVERAGE:0.5:STEPS:ROWS, or MIN, MAX or LAST".to_owned()),
    }
}

pub(super) fn named(name: &str) -> Result<(), String> {
    if name.is_empty()
        || name.len() > NAME_BYTES
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    {
        return Err(format!(
            "the name {name:?} is not valid for a data source: write 1 to {NAME_BYTES} \
            letters, digits, _ and -"
        ));
    }
    Ok(())
}

/// Checks a count, or a time as rrdtool accepts it since 1.6: 90, 5m, 1d.
fn duration(text: &str) -> Result<(), String> {
    let number = text
        .strip_suffix(['s', 'm', 'h', 'd', 'w', 'M', 'y'])
        .unwrap_or(text);
    match number.parse::<u32>() {
        Ok(number) if number > 0 => Ok(()),
        _ => Err(format!("{text:?} is neither a count nor a time such as 5m")),
    }
}

/// Returns what follows the name in a CREATE.
pub(super) fn rest(step: u32, sources: &str, archives: &str) -> Result<Vec<u8>, String> {
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

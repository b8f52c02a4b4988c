//! Joins the answers of several backends into one.

use std::collections::BTreeSet;

use crate::reply::Reply;

pub(super) fn no_backend() -> Reply {
    Reply::error("no server is up; try again later")
}

/// Joins the answers to a request that went to all backends. The result is the first error; without
/// an error, the sum of what the answers count; if they count nothing, the first answer.
pub(super) fn agreed(replies: &[Reply]) -> Reply {
    replies
        .iter()
        .find(|reply| reply.is_error())
        .cloned()
        .or_else(|| counted(replies))
        .or_else(|| replies.first().cloned())
        .unwrap_or_else(no_backend)
}

/// Joins the queues of several backends, one after the other.
pub(super) fn queues(replies: &[Reply]) -> Reply {
    match replies {
        [] => no_backend(),
        _ => Reply::list("in queue.", replies.iter().flat_map(Reply::each)),
    }
}

/// Returns the union of the backends' lists, in order.
pub(super) fn union(replies: &[Reply]) -> Reply {
    let listed = || replies.iter().filter(|reply| !reply.is_error());
    if listed().next().is_none() {
        return replies.first().cloned().unwrap_or_else(no_backend);
    }
    let names: BTreeSet<&[u8]> = listed().flat_map(Reply::each).collect();
    Reply::list("RRDs", names)
}

/// Adds up several answers like `12 rrds suspend`.
fn counted(replies: &[Reply]) -> Option<Reply> {
    let mut sum = 0u64;
    let mut unit = None;
    for reply in replies {
        let text = std::str::from_utf8(&reply.text).ok()?;
        let (number, rest) = text.split_once(' ')?;
        sum = sum.checked_add(number.parse().ok()?)?;
        unit = Some(rest);
    }
    Some(Reply::ok(format!("{sum} {}", unit?)))
}

/// Adds up counters, in the order of the first answer. For `TreeDepth` it takes the largest.
pub(super) fn summed(replies: &[Reply]) -> Reply {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for line in replies.iter().flat_map(Reply::each) {
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(": ") else {
            continue;
        };
        let Ok(value) = value.parse::<u64>() else {
            continue;
        };
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) if name == "TreeDepth" => *sum = value.max(*sum),
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => sums.push((name.to_owned(), value)),
        }
    }
    if replies.is_empty() {
        return no_backend();
    }
    Reply::list(
        "Statistics follow",
        sums.into_iter().map(|(name, sum)| format!("{name}: {sum}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_backends_are_added() {
        let replies = [
            Reply::list("Statistics follow", ["A: 1", "TreeDepth: 3"]),
            Reply::list("Statistics follow", ["A: 41", "TreeDepth: 2"]),
        ];
        assert_eq!(
            summed(&replies),
            Reply::list("Statistics follow", ["A: 42", "TreeDepth: 3"])
        );
        assert_eq!(
            counted(&[Reply::ok("2 rrds suspend"), Reply::ok("3 rrds suspend")]),
            Some(Reply::ok("5 rrds suspend"))
        );
        assert_eq!(counted(&[Reply::ok("Started flush.")]), None);
        assert_eq!(counted(&[]), None);
    }
}

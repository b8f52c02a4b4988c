//! Proves that the rrdcached and the agent of a backend have the same files. They are two
//! addresses, and if only one of them is changed when a server is replaced, the agent shows and
//! takes copies that no client can read.

use std::time::Duration;

use crate::backend::Backend;
use crate::files::Files;
use crate::image::Digest;
use crate::refusals::has_no_file;
use crate::verb::Verb;
use crate::words::line_of;

/// How often rrdcached and the agent are asked again before they are taken for two directories, and
/// the pause between: rrdcached or somebody else may be writing, making or removing the file.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// What rrdcached says of a file on its disk.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Missing,
    /// The last time of the file, in seconds.
    Last(i64),
    /// Nothing that could be compared.
    Nothing,
}

/// Returns the digest of a copy on disk after a FLUSH, or `None` if it does not exist. Fails if
/// rrdcached has no such file and the agent has one. With `held`, the writes of the file are held:
/// nothing may wait after the FLUSH, both must know the same last time, and the backend remembers
/// it if they do not.
pub(super) async fn agreed(
    backend: &Backend,
    name: &[u8],
    held: bool,
) -> Result<Option<Digest>, String> {
    let files = files_of(backend)?;
    let mut looks = 1;
    loop {
        let exists = flush(backend, name).await?;
        if held && exists {
            waiting(backend, name).await?;
        }
        let digest = files.digest(name).await;
        let digest = digest.map_err(|error| error.to_string())?;
        let said = match (exists, held) {
            (false, _) => Said::Missing,
            (true, true) => on_disk(backend, name).await?,
            // of a file that vanished under rrdcached, FLUSH says so, too
            (true, false) => Said::Nothing,
        };
        match differ(&said, digest.as_ref()) {
            false => return Ok(digest),
            // somebody may be making it: the next look holds its writes
            true if !held => return Err(backend.two_directories()),
            true if looks == LOOKS => {
                backend.proven(Some(name));
                return Err(backend.two_directories());
            }
            true => tokio::time::sleep(PAUSE).await,
        }
        looks += 1;
    }
}

/// Fails if rrdcached has not the file that its agent has just written.
pub(super) async fn arrived(backend: &Backend, name: &[u8]) -> Result<(), String> {
    let exists = flush(backend, name).await;
    match exists.map_err(|reason| format!("{}: {reason}", backend.name()))? {
        true => Ok(()),
        false => Err(backend.two_directories()),
    }
}

/// Fails if a file, whose writes are held, was not copied from one rrdcached to another one, but
/// from or to a directory that only the agents know.
pub(super) async fn copied(from: &Backend, to: &Backend, name: &[u8]) -> Result<(), String> {
    arrived(to, name).await?;
    match (on_disk(from, name).await?, on_disk(to, name).await?) {
        (Said::Last(old), Said::Last(new)) if old != new => Err(format!(
            "the last time of the copy at {} is {new}, and that of the file at {} is {old}. {}; or {}",
            to.name(),
            from.name(),
            from.two_directories(),
            to.two_directories()
        )),
        _ => Ok(()),
    }
}

/// Flushes a file. Returns whether it exists.
pub(super) async fn flush(backend: &Backend, name: &[u8]) -> Result<bool, String> {
    let reply = backend
        .ask(&line_of(Verb::Flush, name), false)
        .await
        .map_err(|error| error.to_string())?;
    match reply.is_error() {
        false => Ok(true),
        true if has_no_file(&reply.text) => Ok(false),
        true => Err(String::from_utf8_lossy(&reply.text).into_owned()),
    }
}

/// Checks that nothing waits for a file that was flushed.
pub(super) async fn waiting(backend: &Backend, name: &[u8]) -> Result<(), String> {
    let reply = backend
        .ask(&line_of(Verb::Pending, name), false)
        .await
        .map_err(|error| error.to_string())?;
    match reply.count {
        1.. => Err(format!(
            "{} values wait after a FLUSH: something else writes the file, or it is \
            suspended there",
            reply.count
        )),
        _ => Ok(()),
    }
}

pub(super) fn files_of(backend: &Backend) -> Result<Files, String> {
    let name = backend.name();
    backend.files().ok_or_else(|| {
        format!(
            "node {name} has no attribute \"files\", so its files \
        cannot be reached: give it one, /directory or host:port of its agent"
        )
    })
}

/// Asks rrdcached what is in a file on its disk.
async fn on_disk(backend: &Backend, name: &[u8]) -> Result<Said, String> {
    let info = backend.ask(&line_of(Verb::Info, name), false).await;
    let info = info.map_err(|error| error.to_string())?;
    if info.is_error() {
        return Ok(Said::Nothing); // it is no RRD, or rrdcached is too old
    }
    let last = info.each().find_map(|line| {
        let text = std::str::from_utf8(line.strip_prefix(b"last_update ")?).ok()?;
        // the kind, and the value
        text.split_once(' ')?.1.parse().ok()
    });
    Ok(last.map_or(Said::Nothing, Said::Last))
}

fn differ(said: &Said, digest: Option<&Digest>) -> bool {
    match (said, digest) {
        (Said::Nothing, _) | (Said::Missing, None) => false,
        (Said::Missing, Some(_)) | (Said::Last(_), None) => true,
        (Said::Last(last), Some(digest)) => digest.shape.is_some() && digest.last.0 != *last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::sample_file;

    #[test]
    fn another_last_time_or_a_file_that_only_one_has_are_two_directories() {
        let digest = Digest::of(&sample_file(1000, [1.0; 4], 0));
        assert_eq!(digest.last.0, 1000);
        let foreign = Digest::of(b"no RRD");
        let cases = [
            (Said::Missing, None, false),
            (Said::Missing, Some(&digest), true),
            (Said::Missing, Some(&foreign), true),
            (Said::Last(1000), Some(&digest), false),
            (Said::Last(1001), Some(&digest), true),
            (Said::Last(1000), None, true),
            (Said::Last(1001), Some(&foreign), false),
            (Said::Nothing, Some(&digest), false),
            (Said::Nothing, None, false),
        ];
        for (said, digest, differing) in cases {
            assert_eq!(differ(&said, digest), differing, "{said:?}");
        }
    }
}

//! The verbs: each asks a running router and prints what it answers.

use super::following::{work, PATIENCE};
use super::output::{print, print_json, unavailable, unexpected};
use crate::control::{Answer, Asked, Command};
use crate::exit::{Failure, NOT_WELL, USAGE, WELL};
use crate::line::{Check, Move, Promote, Repair, Status};
use crate::page::printable;

/// Prints the status of the router. The exit code says whether all is well.
pub async fn status(ask: &Status) -> Result<u8, Failure> {
    let asked = async {
        let mut asked = Asked::of(&ask.directory, &Command::Status).await?;
        asked.next().await
    };
    let silent = |_| {
        format!(
            "{}: the router has not answered for {} s; it hangs, or the machine does",
            ask.directory.display(),
            PATIENCE.as_secs()
        )
    };
    let answer = tokio::time::timeout(PATIENCE, asked)
        .await
        .map_err(silent)
        .and_then(|answer| answer)
        .map_err(unavailable)?;
    match answer {
        Answer::Status(status) => {
            let well = if status.problems().is_empty() {
                WELL
            } else {
                NOT_WELL
            };
            match ask.json {
                true => print_json(&status)?,
                false => print(&status.page())?,
            }
            Ok(well)
        }
        other => Err(unexpected(&other)),
    }
}

/// Lets the router move files, and shows the progress.
pub async fn move_files(told: &Move) -> Result<u8, Failure> {
    // at most 2^40 bytes a second: no overflow
    work(
        &told.directory,
        &Command::Move(told.rate.map(|mib| mib << 20)),
        false,
    )
    .await
}

/// Lets the router copy to a backend every file that it should have, and shows the progress.
pub async fn repair(told: &Repair) -> Result<u8, Failure> {
    if told.node.is_empty() || told.node.contains(char::is_control) {
        return Err(Failure(
            USAGE,
            format!("{:?} is not the name of a backend", told.node),
        ));
    }
    let node = told.node.clone();
    let request = match told.replace {
        true => Command::Replace(node),
        false => Command::Repair(node),
    };
    work(&told.directory, &request, false).await
}

/// Lets the router compare all copies, and shows what it finds. The exit code says whether all are
/// equal.
pub async fn check(told: &Check) -> Result<u8, Failure> {
    let request = Command::Check {
        rate: told.rate.map(|mib| mib << 20),
        restart: told.restart,
    };
    work(&told.directory, &request, told.json).await
}

/// Makes a standby the primary.
pub async fn promote(told: &Promote) -> Result<u8, Failure> {
    let request = Command::Promote(told.force);
    let mut asked = Asked::of(&told.directory, &request)
        .await
        .map_err(unavailable)?;
    match asked.next().await.map_err(unavailable)? {
        Answer::Promoted(text) => print(&format!("{}\n", printable(&text))).map(|()| WELL),
        other => Err(unexpected(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::UNAVAILABLE;

    #[tokio::test]
    async fn without_a_router_the_words_say_so() {
        let directory = tempfile::tempdir().unwrap();
        let ask = Status {
            directory: directory.path().to_owned(),
            json: false,
        };
        let Failure(code, line) = status(&ask).await.unwrap_err();
        assert!(
            code == UNAVAILABLE && line.contains("no router runs on this directory"),
            "{line}"
        );
        let told = Repair {
            directory: directory.path().to_owned(),
            node: "a\nstatus".to_owned(),
            replace: false,
        };
        assert_eq!(repair(&told).await.unwrap_err().0, 64);
    }
}

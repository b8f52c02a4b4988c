//! The verbs: each asks a running router and prints what it answers.

use std::path::Path;
use std::time::Duration;

use super::following::{work, PATIENCE};
use super::output::{print, print_json, unavailable, unexpected};
use crate::control::{Answer, Asked, Command};
use crate::exit::{Failure, NOT_WELL, USAGE, WELL};
use crate::line::{Check, Move, Promote, Repair, Status};
use crate::page::printable;

/// How often a router that starts again is asked whether it serves.
const OFTEN: Duration = Duration::from_millis(50);

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
        Answer::Promoted(text) => {
            print(&format!("{}\n", printable(&text)))?;
            // the router starts again, as what it is now
            while asked.next().await.is_ok() {}
            tokio::time::timeout(PATIENCE, serves(&told.directory))
                .await
                .map_err(|_| {
                    unavailable(format!(
                        "{}: the router is the primary, but has not served for {} s since; its \
                         messages and stead-rrd status say why",
                        told.directory.display(),
                        PATIENCE.as_secs()
                    ))
                })?;
            Ok(WELL)
        }
        other => Err(unexpected(&other)),
    }
}

/// Returns when the router with this state directory serves clients.
async fn serves(directory: &Path) {
    loop {
        // while it starts, nobody listens on its socket
        if let Ok(mut asked) = Asked::of(directory, &Command::Status).await {
            if matches!(asked.next().await, Ok(Answer::Status(status)) if status.is_serving()) {
                return;
            }
        }
        tokio::time::sleep(OFTEN).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::Arc;

    use super::*;
    use crate::control::{Control, Operable};
    use crate::exit::UNAVAILABLE;
    use crate::health::Health;
    use crate::sample::sample;
    use crate::status::Source;

    /// A router that ends when it is promoted, and as the next one serves when it has been asked
    /// three times.
    #[derive(Default)]
    struct Starting {
        ended: tokio::sync::Notify,
        asked: AtomicU32,
    }

    impl Source for Starting {
        async fn status(&self) -> crate::status::Status {
            let mut status = sample();
            if self.asked.fetch_add(1, Ordering::Relaxed) < 3 {
                status.backends[0].state = Health::Down;
            }
            status
        }
    }

    impl Operable for Starting {
        async fn promote(&self, _force: bool) -> Result<String, String> {
            Ok("promoted".to_owned())
        }

        fn start_again(&self) {
            self.ended.notify_one();
        }
    }

    #[tokio::test]
    async fn promote_returns_when_the_router_serves_again() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().to_owned();
        let first = Control::bind(&directory).unwrap();
        let router = Arc::new(Starting::default());
        let (life, again) = (Arc::clone(&router), directory.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = first.run(Arc::clone(&life)) => {}
                () = life.ended.notified() => {}
            }
            drop(first);
            tokio::time::sleep(OFTEN * 3).await;
            let control = Control::bind(&again).unwrap();
            control.run(life).await;
        });
        let told = Promote {
            directory,
            force: false,
        };
        assert_eq!(promote(&told).await.unwrap(), WELL);
        assert_eq!(router.asked.load(Ordering::Relaxed), 4);
    }

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
        let map = directory.path().join("members.map");
        std::fs::write(&map, "").unwrap();
        let ask = Status {
            directory: map,
            json: false,
        };
        let Failure(_, line) = status(&ask).await.unwrap_err();
        assert!(
            line.ends_with(
                "members.map is a file and no state directory; give the router's --state directory"
            ),
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

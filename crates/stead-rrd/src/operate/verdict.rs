//! The end of a router's work in words, and the exit code that goes with it.

use crate::exit::{NOT_WELL, WELL};
use crate::page::printable;
use crate::status::{Findings, Progress};

/// Returns what to print at the end, and the exit code.
pub(super) fn verdict(progress: &Progress) -> (String, u8) {
    match &progress.check {
        Some(check) => of_check(progress, check),
        None => of_copying(progress),
    }
}

/// Returns the verdict on a move or a repair.
fn of_copying(progress: &Progress) -> (String, u8) {
    if progress.repair.is_none() && progress.from_epoch == progress.to_epoch {
        let epoch = progress.to_epoch;
        let text = format!("no file has to move: the router knows no map after epoch {epoch}\n");
        return (text, WELL);
    }
    let mut text = String::new();
    for reason in &progress.reasons {
        text += &format!("failed: {}\n", printable(reason));
    }
    let more = progress
        .failed
        .saturating_sub(progress.reasons.len() as u64);
    if more > 0 {
        text += &format!("failed: {more} more\n");
    }
    let (verdict, code) = match progress {
        _ if progress.repair.is_none()
            && !progress.stopped
            && (progress.failed > 0 || !progress.reasons.is_empty()) =>
        {
            (
                "not done; the router tries again by itself until it is, or until you run this \
                again and stop it with Ctrl-C",
                NOT_WELL,
            )
        }
        _ if progress.failed > 0 => (
            "ended with failures; run the same command again to retry these files",
            NOT_WELL,
        ),
        _ if progress.done < progress.files || !progress.reasons.is_empty() => (
            "stopped before the end; run the same command again to continue",
            NOT_WELL,
        ),
        _ => match progress.later_epoch {
            Some(epoch) => {
                let verdict = format!(
                    "done; epoch {epoch} has come meanwhile: run this again to move its files"
                );
                return (text + &summary(progress, &verdict), NOT_WELL);
            }
            None => ("done", WELL),
        },
    };
    (text + &summary(progress, verdict), code)
}

fn of_check(progress: &Progress, check: &Findings) -> (String, u8) {
    let mut text = String::new();
    for line in &check.lines {
        text += &format!("found: {}\n", printable(line));
    }
    let found = check.differing + check.strays;
    if found > check.lines.len() as u64 && !check.lines.is_empty() {
        text += "found: more; the router's messages name all\n";
    }
    for reason in &progress.reasons {
        text += &format!("not compared: {}\n", printable(reason));
    }
    let (verdict, code) = match check {
        Findings { whole: false, .. } => (
            "stopped before the end; run the same command again to continue",
            NOT_WELL,
        ),
        Findings { differing: 1.., .. } => (
            "what differs is in the repair queue; stead-rrd status shows what is left of it",
            NOT_WELL,
        ),
        // a server whose files cannot be listed is a reason without a number
        _ if progress.failed > 0 || !progress.reasons.is_empty() => (
            "no difference was found, but not all files were compared",
            NOT_WELL,
        ),
        Findings { needed: 1.., .. } => (
            "all right copies are equal, but copies at other places may not be removed yet",
            NOT_WELL,
        ),
        _ if progress.done == 0 => ("there are no files", WELL),
        _ => ("all copies are equal", WELL),
    };
    (text + &summary(progress, verdict), code)
}

/// Returns the last line.
fn summary(progress: &Progress, verdict: &str) -> String {
    format!("{}: {}: {verdict}\n", progress.title(), progress.figures())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_move_is_success_only_when_all_files_are_there() {
        let progress = |done, failed| Progress {
            to_epoch: 1,
            files: 3,
            done,
            failed,
            ended: true,
            reasons: vec!["a.rrd: gone".to_owned(); (failed > 0).into()],
            ..Progress::default()
        };
        let code = |progress: Progress| verdict(&progress).1;
        assert_eq!(code(progress(3, 0)), WELL);
        assert_eq!(code(Progress::default()), WELL);
        assert_eq!(code(progress(1, 2)), NOT_WELL);
        assert_eq!(code(progress(2, 0)), NOT_WELL);
        let later = Progress {
            later_epoch: Some(2),
            ..progress(3, 0)
        };
        let told = "done; epoch 2 has come meanwhile: run this again to move its files\n";
        assert!(verdict(&later).0.ends_with(told));
        assert_eq!(code(later), NOT_WELL);
        let stopped = Progress {
            stopped: true,
            reasons: vec!["stopped".to_owned()],
            ..progress(2, 0)
        };
        assert_eq!(code(stopped), NOT_WELL);
        assert_eq!(
            code(Progress {
                reasons: vec!["none of a1 is up".to_owned()],
                ..progress(3, 0)
            }),
            NOT_WELL
        );
    }

    #[test]
    fn a_check_is_a_success_only_when_all_files_are_equal() {
        let said = |whole, differing, failed| {
            let check = Findings {
                whole,
                differing,
                lines: vec!["a.rrd: b1 lacks 1 value".to_owned(); differing as usize],
                ..Findings::default()
            };
            let progress = Progress {
                files: 3,
                done: 3 - failed,
                failed,
                ended: true,
                check: Some(check),
                ..Progress::default()
            };
            verdict(&progress).1
        };
        assert_eq!(said(true, 0, 0), WELL);
        assert_eq!(said(true, 1, 0), NOT_WELL);
        assert_eq!(said(true, 0, 1), NOT_WELL);
        assert_eq!(said(false, 0, 0), NOT_WELL);
        let with_strays = |needed| Progress {
            check: Some(Findings {
                whole: true,
                strays: 2,
                needed,
                ..Findings::default()
            }),
            ..Progress::default()
        };
        assert_eq!(verdict(&with_strays(0)).1, WELL);
        let (text, code) = verdict(&with_strays(1));
        assert!(
            code == NOT_WELL && text.contains("may not be removed"),
            "{text}"
        );
        let none = Progress {
            ended: true,
            check: Some(Findings {
                whole: true,
                ..Findings::default()
            }),
            ..Progress::default()
        };
        let text = "check: no file compared, 0 B: there are no files\n";
        assert_eq!(verdict(&none), (text.to_owned(), WELL));
        // no agent answered, so no file was seen
        let unlisted = Progress {
            reasons: vec!["a1: cannot connect".to_owned()],
            check: Some(Findings {
                whole: true,
                ..Findings::default()
            }),
            ..Progress::default()
        };
        let (text, code) = verdict(&unlisted);
        assert_eq!(code, NOT_WELL, "{text}");
        assert!(text.starts_with("not compared: a1: cannot connect\n") && !text.contains("equal"));
    }
}

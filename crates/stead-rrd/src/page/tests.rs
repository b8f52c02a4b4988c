//! Tests of the page of a router that is well, and of one that is not.

use std::time::Duration;

use super::drawing::LABEL;
use crate::health::Health;
use crate::passes::Pass;
use crate::role::{Lost, Role};
use crate::sample::sample;
use crate::status::{Findings, PairStatus, Progress, StateError, Status};
use crate::tally::Tally;
use crate::verb::VERBS;

fn state_error(full: bool, log: bool) -> Option<StateError> {
    let reason = "cannot write x".to_owned();
    Some(StateError { log, full, reason })
}

fn first_line(status: &Status) -> String {
    status.page().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_router_that_is_well_says_so_first() {
    let status = sample();
    assert_eq!(status.problems(), Vec::<String>::new());
    let page = status.page();
    assert!(
        page.starts_with(
            "all is well: 4 backends up\nrrd, epoch 7, stead-rrd 0.1.0, \
        started 24 hours ago\n\nbackend  address "
        ),
        "{page}"
    );
    for line in [
        "backend  address          state  for             waiting  unflushed  refused",
        "a1       10.0.0.51:42217  up     24 hours  12 (1.20 KiB)      1,204        3",
        "not shown, for lack of room: reconnects, answered, labels (--json has all)",
        "log         12.00 MiB of 1.00 GiB (1.2 %), 123 records wait for the disks",
        "            the newest record has number 20,123",
        "clients     1 connected, 1 accepted since the start, 0 refused",
        "update      1,203,231 requests, 3 errors; half within 1ms, 99 % within 1ms",
        "fetch       1 request; half within 5ms, 99 % within 5ms",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}\n{page}");
    }
}

#[test]
fn columns_that_say_nothing_are_left_out() {
    let mut status = sample();
    for backend in &mut status.backends {
        (backend.queued_lines, backend.queued_bytes) = (0, 0);
        (backend.behind, backend.errors, backend.reconnects) = (0, 0, 0);
    }
    let page = status.page();
    let heading = "backend  address          labels  state  for       unflushed  answered";
    assert!(page.lines().any(|line| line == heading), "{page}");
    let table = page.split("\n\n").nth(1).unwrap_or_default();
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    assert!(!page.contains("no room"), "{page}");
    // long names and addresses are cut
    let (name, address) = (
        "rrd-backend-01.example.com",
        "tls:rrd-backend-01.example.com:42217",
    );
    (status.backends[0].name, status.backends[0].address) = (name.to_owned(), address.to_owned());
    let long = status.page();
    let table = long.split("\n\n").nth(1).unwrap_or_default();
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    assert!(
        table.contains("rrd-backe") && table.contains(":42217"),
        "{table}"
    );
    // nothing is left of the labels either
    status.backends.iter_mut().for_each(|b| b.labels.clear());
    assert!(!status.page().contains("labels"));
}

#[test]
fn an_open_carry_is_named() {
    let mut status = sample();
    assert!(!status.page().contains("\ncarry"));
    (status.next_epoch, status.carry) = (Some(8), Some("old".to_owned()));
    status.waiting_epoch = Some(9);
    assert!(status.page().contains("rrd, epoch 7 -> 8, then 9, "));
    let line = "\ncarry       epoch 8 has one open in the state old, which stead-rrd";
    assert!(status.page().contains(line), "{}", status.page());
}

#[test]
fn every_verb_leaves_room_for_its_figures() {
    for (verb, ..) in VERBS {
        let tally = Tally::default();
        tally.observe(Some(verb), Duration::from_micros(1), false);
        let page = Status {
            clients: tally.read(),
            ..sample()
        }
        .page();
        let name = verb.name().to_lowercase();
        let line = page.lines().find(|line| line.starts_with(&name)).unwrap();
        let figures = line.find("1 request;");
        assert_eq!(figures, Some(LABEL), "{line}");
        let others = ["log", "clients"].map(|word| format!("{word:<LABEL$}"));
        assert!(others
            .iter()
            .all(|word| page.contains(&format!("\n{word}"))));
    }
}

type Change = fn(&mut Status);

#[test]
fn whatever_is_wrong_is_named_first_and_says_what_to_do() {
    let changes: [(Change, &str); 24] = [
        (|s| s.backends[3].state = Health::Down, "not well: backend b2 (10.0.0.52:42217) is \
            down for 24 hours"),
        (
            |s| {
                s.backends[3].state = Health::Down;
                s.backends[3].reason = Some("Connection refused\u{1b}[31m".to_owned());
            },
            "not well: backend b2 (10.0.0.52:42217) is down for 24 hours: Connection \
             refused\u{fffd}[31m",
        ),
        (
            |s| {
                s.backends[0].state = Health::Behind;
                s.backends[0].behind = 12_000;
            },
            "not well: backend a1 (10.0.0.51:42217) is catching up for 24 hours: 12,000 \
             records to go",
        ),
        (|s| s.backends[0].lacking = 1, "not well: backend a1 (10.0.0.51:42217) lacks 1 file, \
            which are being copied to it"),
        (
            |s| s.backends[1].uncompared = true,
            "not well: all copies of backend a2 (10.0.0.52:42217) may lack values, since its \
             address or its directory of files has changed: stead-rrd check compares them",
        ),
        (|s| s.backends[1].journal = true, "not well: rrdcached keeps a journal of its own on \
            a2, by which it can lose updates when it crashes: start it without -j"),
        (
            |s| s.exposed.unreachable = 0.25,
            "not well: 25.0 % of the files cannot be read, as none of their backends is up; \
             updates for them wait in the log",
        ),
        (
            |s| s.exposed.trailing = 0.5,
            "not well: 50.0 % of the files are served only by copies that are catching up, so \
             that reads may lack the newest values; updates for them wait in the log",
        ),
        (|s| s.exposed.single = 0.9999, "not well: 99.9 % of \
            the files have one copy only that is up"),
        (|s| s.log = None, "not well: the router runs without a log (--no-log): a crash loses \
            updates that clients believe safe"),
        (
            |s| {
                s.log.iter_mut().for_each(|log| log.bytes = 900 << 20);
                s.backends[2].confirmed = 7;
            },
            "not well: the log is 87.9 % full (900.00 MiB of 1.00 GiB); when it is full, writes are refused; \
             it waits for backend b1, which has confirmed 7 of 20,123 records",
        ),
        (
            |s| s.log.iter_mut().for_each(|log| log.failed = Some("no space".to_owned())),
            "not well: the log has failed and takes no writes: no space",
        ),
        (
            |s| s.log.iter_mut().for_each(|log| {
                log.short = Some("the log cannot grow: quota".to_owned());
                log.refuses = true;
            }),
            "not well: the log has no room and refuses writes: the log cannot grow: quota",
        ),
        (
            |s| s.state_error = state_error(true, false),
            "not well: the disk under --state is full: cannot write x; until there is room, moves \
             and repairs cannot be recorded",
        ),
        (
            |s| s.state_error = state_error(true, true),
            "not well: the disk of the log is full: cannot write x; until there is room, the log \
             forgets nothing",
        ),
        (
            |s| (s.backends[1].gone, s.backends[1].gone_example) = (2, Some("x/y.rrd".to_owned())),
            "not well: backend a2 (10.0.0.52:42217) has lost 2 files, such as x/y.rrd, with \
             updates that it had taken; the log keeps these for a day if it has room: mount the \
             disk or put the files back",
        ),
        (
            |s| s.backends[1].files_error = Some("h:1: cannot connect: refused".to_owned()),
            "not well: the files of backend a2 (10.0.0.52:42217) can be neither compared nor \
             repaired: h:1: cannot connect: refused",
        ),
        (
            |s| s.log.iter_mut().for_each(|log| log.short = Some("the log cannot grow: quota".to_owned())),
            "not well: the log has no room for much more, and then refuses writes: the log \
             cannot grow: quota",
        ),
        (|s| s.next_epoch = Some(8), "not well: files have to be moved from epoch 7 to 8, and \
            nothing moves them: run stead-rrd move"),
        (
            |s| (s.next_epoch, s.waiting_epoch) = (Some(8), Some(9)),
            "not well: files have to be moved from epoch 7 to 8 (epoch 9 waits until then), and \
             nothing moves them: run stead-rrd move",
        ),
        (|s| s.map_refused = Some("b4 has no attribute".to_owned()), "not well: the map at --map \
            is not taken up, and epoch 7 stays in use: b4 has no attribute"),
        (
            |s| s.moving = Some(Progress { to_epoch: 8, failed: 2, reasons: vec!["a.rrd: gone\n".to_owned()], ..Progress::default() }),
            "not well: move to epoch 8: 2 files failed; the first: a.rrd: gone\u{fffd}",
        ),
        (
            |s| {
                s.next_epoch = Some(8);
                s.move_goes_on = true;
                s.moving = Some(Progress { ended: true, reasons: vec!["none is up".to_owned()], ..Progress::default() });
            },
            "not well: files have to be moved from epoch 7 to 8; the move was interrupted and goes \
             on by itself: none is up",
        ),
        (|s| s.backends[1].name = "x\ny".to_owned(), "all is well: 4 backends up"),
    ];
    for (change, line) in changes {
        let mut status = sample();
        change(&mut status);
        assert_eq!(first_line(&status), line);
        assert_eq!(
            status.problems().is_empty(),
            line.starts_with("all is well")
        );
        assert!(!status.page().contains('\u{1b}'));
    }
    let mut status = sample();
    changes.iter().for_each(|(change, _)| change(&mut status));
    let page = status.page();
    assert!(
        page.starts_with("not well: ") && page.contains("without a log"),
        "{page}"
    );
    assert_eq!(
        page.lines()
            .filter(|line| line.starts_with("    also: "))
            .count()
            + 1,
        status.problems().len()
    );
}

#[test]
fn the_cause_of_a_full_log_is_named_before_it() {
    let problems = |change: Change| {
        let mut status = sample();
        (status.backends[1].state, status.backends[2].state) = (Health::Down, Health::Down);
        status.backends[2].confirmed = 7;
        change(&mut status);
        let begins = |problem: String| problem.split(" (").next().unwrap_or_default().to_owned();
        let mut begun: Vec<String> = status.problems().into_iter().map(begins).collect();
        begun.iter_mut().for_each(|text| text.truncate(14));
        begun
    };
    let full: Change = |s| {
        s.log.iter_mut().for_each(|log| {
            (log.bytes, log.refuses) = (log.bound, true);
            log.short = Some("the log is full: b1 has confirmed only up to 7".to_owned());
        });
    };
    assert_eq!(
        problems(full),
        ["backend b1", "the log has no", "backend a2"]
    );
    let almost: Change = |s| s.log.iter_mut().for_each(|log| log.bytes = 900 << 20);
    assert_eq!(
        problems(almost),
        ["backend b1", "the log is 87.", "backend a2"]
    );
    // no server is the cause of a full disk
    let disk: Change = |s| {
        s.log
            .iter_mut()
            .for_each(|log| log.short = Some("the log cannot grow: quota".to_owned()));
    };
    assert_eq!(
        problems(disk),
        ["the log has no", "backend a2", "backend b1"]
    );
    // that of a standby is the cause of a connection that is lost again and again
    let mut standby = sample();
    disk(&mut standby);
    standby.backends.clear();
    standby.pair = Some(PairStatus {
        role: Role::Standby,
        serving: false,
        connected: false,
        ..pair()
    });
    let found = standby.problems();
    assert!(found[0].starts_with("the log has no room"), "{found:?}");
    assert!(found[1].starts_with("the primary "), "{found:?}");
    standby.state_error = state_error(false, false);
    assert_eq!(
        standby.problems()[0],
        "nothing can be written under --state: cannot write x; until that is mended, this standby \
         could not be promoted"
    );
    assert!(standby.problems()[1].starts_with("the log has no room"));
}

#[test]
fn a_move_is_shown_and_is_no_trouble() {
    let mut status = sample();
    status.next_epoch = Some(8);
    let moving = Progress {
        from_epoch: 7,
        to_epoch: 8,
        files: 2000,
        done: 1201,
        bytes: 3 << 20,
        rate: 1 << 20,
        started: status.now - 60,
        ..Progress::default()
    };
    status.moving = Some(moving);
    assert_eq!(
        first_line(&status),
        "all is well: 4 backends up; move to epoch 8: 1,201 of \
        2,000 files, 3.00 MiB, 1.00 MiB/s"
    );
    assert!(status.page().contains("rrd, epoch 7 -> 8, "));
    let looking = Progress {
        files: 5,
        done: 5,
        ..Progress::default()
    };
    assert_eq!(looking.figures(), "5 files, looking for more, 0 B");
    assert_eq!(
        Progress {
            ended: true,
            ..looking
        }
        .figures(),
        "5 of 5 files, 0 B"
    );
    assert!(
        status
            .page()
            .contains("\nmove to epoch 8, for 60 seconds: 1,201 of"),
        "{}",
        status.page()
    );
    status
        .moving
        .iter_mut()
        .for_each(|moving| moving.ended = true);
    assert!(
        first_line(&status).ends_with("nothing moves them: run stead-rrd move"),
        "{}",
        status.page()
    );
    assert!(
        status.page().contains(
            "\nmove to epoch 8, ended, begun 60 seconds ago: 1,201 of 2,000 files, 3.00 MiB\n"
        ),
        "{}",
        status.page()
    );
}

#[test]
fn checks_are_shown_with_what_they_have_found() {
    let mut status = sample();
    let last_line = |status: &Status| {
        let page = status.page();
        page.lines()
            .rfind(|line| line.starts_with("check "))
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(last_line(&status), "check       never (--check-every 0)");
    status.check.every = 604_800;
    assert_eq!(last_line(&status), "check       none so far");
    status.check.slow = Some(Pass {
        began: status.now - 3600,
        files: 1201,
        differing: 1,
        ..Pass::default()
    });
    assert_eq!(
        last_line(&status),
        "check       in the background for 60 minutes: 1,201 files compared, 1 differs"
    );
    status.check.waits = Some("backend b1 is not up".to_owned());
    assert!(last_line(&status).ends_with("1 differs; waits: backend b1 is not up"));
    status.check.last = Some(Pass {
        ended: status.now - 60,
        files: 2000,
        differing: 3,
        skipped: 2,
        ..Pass::default()
    });
    assert_eq!(
        last_line(&status),
        "check       the last one ended 60 seconds ago: 1,998 files compared, 3 differ, 2 not compared"
    );
    let mut incomplete = Pass {
        ended: status.now - 60,
        files: 2000,
        skipped: 2,
        reason: Some("web1/cpu.rrd: b1 is not up".to_owned()),
        ..Pass::default()
    };
    status.check.incomplete = Some(incomplete.clone());
    assert_eq!(
        last_line(&status),
        "check       2 files not compared by the one that ended 60 seconds ago; the first: \
         web1/cpu.rrd: b1 is not up"
    );
    (incomplete.skipped, incomplete.unlisted) = (0, 1);
    incomplete.reason = Some("b1: no answer".to_owned());
    status.check.incomplete = Some(incomplete);
    assert_eq!(
        last_line(&status),
        "check       1 backend not listed by the one that ended 60 seconds ago; the first: b1: no \
         answer"
    );
    // what was found is in the repair queue, so it is no problem by itself
    assert!(first_line(&status).starts_with("all is well"));
    status
        .check
        .last
        .iter_mut()
        .for_each(|last| last.misplaced = 1);
    assert_eq!(
        first_line(&status),
        "not well: 1 file is only where the map does not place it, so that nobody can read it: \
        stead-rrd check names it"
    );
    status
        .check
        .last
        .iter_mut()
        .for_each(|last| last.misplaced = 4);
    assert!(first_line(&status).starts_with("not well: 4 files are only where"));
    let asked = Progress {
        files: 2000,
        done: 1201,
        failed: 2,
        bytes: 3 << 20,
        rate: 1 << 20,
        started: status.now - 60,
        check: Some(Findings {
            differing: 4,
            strays: 1,
            ..Findings::default()
        }),
        ..Progress::default()
    };
    assert_eq!(asked.title(), "check");
    status.check.asked = Some(asked);
    assert!(
        status.page().contains(
            "\ncheck       for 60 seconds: 1,201 of about 2,000 files compared, 4 differ, \
        2 not compared, 1 copy where the map places none, 3.00 MiB, 1.00 MiB/s\n"
        ),
        "{}",
        status.page()
    );
}

#[test]
fn copies_in_doubt_are_a_problem_until_they_were_compared() {
    let mut status = sample();
    status.backends[1].uncompared = true;
    status.check.every = 604_800;
    let ends = |status: &Status, end: &str| {
        let line = first_line(status);
        assert!(
            line.starts_with("not well: all copies of backend a2"),
            "{line}"
        );
        assert!(line.ends_with(end), "{line}");
    };
    let is_under_way = "they are being compared with the other copies in the background";
    ends(&status, is_under_way);
    status.check.slow = Some(Pass::default());
    ends(&status, is_under_way);
    status.check.waits = Some("files are being moved".to_owned());
    ends(
        &status,
        "changed: the check in the background waits: files are being moved",
    );
    status.check.waits = None;
    status.check.left_out = vec!["b1".to_owned()];
    ends(&status, is_under_way);
    assert!(status.page().contains("no file compared yet; without b1\n"));
    status.check.slow = None;
    ends(
        &status,
        "they were compared without b1, and are compared again when it is up",
    );
    status.check.asked = Some(Progress::default());
    ends(&status, "they are being compared with the other copies");
}

#[test]
fn where_no_file_was_compared_none_is_said_to_be_equal() {
    let mut status = sample();
    status.check.every = 604_800;
    status.check.slow = Some(Pass {
        began: status.now,
        ..Pass::default()
    });
    let line = "\ncheck       in the background for 0 seconds: no file compared yet\n";
    assert!(status.page().contains(line), "{}", status.page());
    let (slow, ended) = (status.check.slow.take(), status.now - 60);
    status.check.last = slow.map(|slow| Pass { ended, ..slow });
    let line = "\ncheck       the last one ended 60 seconds ago: no file compared\n";
    assert!(status.page().contains(line), "{}", status.page());
    let check = |files, failed, ended| Progress {
        files,
        failed,
        ended,
        check: Some(Findings::default()),
        ..Progress::default()
    };
    for (check, figures) in [
        (check(0, 0, false), "no file compared yet, 0 B"),
        (
            check(9, 0, false),
            "none of about 9 files compared yet, 0 B",
        ),
        (check(2, 2, true), "no file compared, 2 not compared, 0 B"),
    ] {
        assert_eq!(check.figures(), figures);
    }
}

/// Returns the pair of a primary whose standby has everything.
fn pair() -> PairStatus {
    PairStatus {
        role: Role::Primary,
        term: 3,
        peer: "10.0.0.12:42219".to_owned(),
        lost: Lost::Wait,
        agreed: true,
        connected: true,
        since: 1_700_000_000,
        reason: None,
        brief: false,
        renewed: false,
        serving: true,
        waits: None,
        alone: None,
        in_sync: true,
        behind: 0,
        discarded: 2,
    }
}

#[test]
fn a_pair_is_well_only_when_the_standby_has_everything() {
    let pair = pair();
    let with = |change: fn(&mut PairStatus)| {
        let mut pair = pair.clone();
        change(&mut pair);
        Status {
            pair: Some(pair),
            ..sample()
        }
    };
    let well = with(|_| {});
    assert_eq!(well.problems(), Vec::<String>::new());
    assert!(first_line(&well).ends_with("4 backends up, standby in sync"));
    assert!(well.page().contains(
        "pair        primary in term 3, --standby-lost wait, 0 records behind, 2 discarded\n"
    ));
    let mut waiting = with(|pair| (pair.connected, pair.serving) = (false, false));
    (waiting.fleet, waiting.epoch) = (String::new(), 0);
    waiting.backends.clear();
    if let Some(log) = &mut waiting.log {
        log.oldest = log.newest + 1;
    }
    let page = waiting.page();
    for (line, is_there) in [
        (
            "\nserves nobody yet, stead-rrd 0.1.0, started 24 hours ago\n",
            true,
        ),
        (
            "\nlog         12.00 MiB of 1.00 GiB (preallocated), every backend",
            true,
        ),
        ("epoch 0", false),
        ("check", false),
    ] {
        assert_eq!(page.contains(line), is_there, "{line}\n{page}");
    }
    let standby = with(|pair| (pair.role, pair.serving) = (Role::Standby, false));
    assert!(standby
        .page()
        .contains("\ncheck       on the primary only\n"));
    let line = first_line(&standby);
    assert_eq!(line, "all is well: a standby in sync with its primary");
    type Case = (fn(&mut PairStatus), &'static str);
    let cases: [Case; 8] = [
        (
            |pair| (pair.connected, pair.brief) = (false, true),
            "connected for moments only in the last 24 hours; clients wait for their answers",
        ),
        (
            |pair| {
                pair.connected = false;
                pair.reason = Some("Connection refused".to_owned());
            },
            "not connected for 24 hours: Connection refused; clients wait for their answers",
        ),
        (
            |pair| (pair.connected, pair.lost) = (false, Lost::Refuse),
            "writes are refused",
        ),
        (
            |pair| (pair.connected, pair.alone) = (false, Some(812)),
            "goes on alone: whatever it has taken after record 812 is on this machine only",
        ),
        (
            |pair| (pair.in_sync, pair.alone, pair.behind) = (false, Some(812), 3),
            "lacks 3 records, and this router goes on alone until it has them and the connection \
            lasts",
        ),
        (
            |pair| (pair.connected, pair.serving) = (false, false),
            "no client is served, since the other router may be the primary",
        ),
        (
            |pair| {
                (pair.connected, pair.serving) = (false, false);
                pair.waits = Some("an old primary may read".to_owned());
            },
            "not well: this router serves nobody yet: an old primary may read",
        ),
        (
            |pair| {
                (pair.role, pair.serving) = (Role::Standby, false);
                (pair.connected, pair.in_sync) = (true, false);
            },
            "cannot be promoted without --force",
        ),
    ];
    // a full disk of the primary is not blamed on the standby
    for connected in [false, true] {
        let mut full = with(|pair| (pair.in_sync, pair.renewed) = (false, true));
        full.pair
            .iter_mut()
            .for_each(|pair| pair.connected = connected);
        assert!(first_line(&full).starts_with("not well: the standby "));
        full.state_error = state_error(true, false);
        let found = full.problems();
        assert!(
            found.len() == 1 && found[0].contains("is full"),
            "{found:?}"
        );
    }
    for (change, words) in cases {
        let line = first_line(&with(change)).replace("has not been", "not");
        assert!(
            line.starts_with("not well: ") && line.contains(words),
            "{line}"
        );
    }
}

//! Tests of tickets.

use tokio::sync::oneshot;

use super::*;
use crate::verb::Verb;
use crate::writes::Writes;

fn updates(count: usize) -> Writes {
    let mut writes = Writes::default();
    for line in 0..count {
        writes.push(Verb::Update, format!("c/{line}").as_bytes(), b"1:2", b"");
    }
    writes
}

fn ticket(count: usize) -> (Ticket, oneshot::Receiver<Failures>) {
    Ticket::new(1, updates(count), false)
}

fn early(count: usize) -> (Ticket, oneshot::Receiver<Failures>) {
    Ticket::new(1, updates(count), true)
}

#[test]
fn the_first_that_knows_decides_and_the_others_are_not_waited_for() {
    let (ticket, mut answer) = ticket(3);
    ticket.expect(3);
    ticket.lost();
    assert!(answer.try_recv().is_err());
    ticket.given();
    assert!(answer.try_recv().is_err());
    ticket.answer(0, [0, 1, 2].into_iter(), [(1, b"illegal".to_vec())]);
    assert_eq!(answer.try_recv().unwrap(), [(1, b"illegal".to_vec())]);
    ticket.answer(0, [0, 1, 2].into_iter(), [(0, b"too late".to_vec())]);
}

#[test]
fn an_early_answer_waits_for_no_backend_and_what_none_takes_is_told_at_the_end() {
    let (ticket, mut answer) = early(2);
    ticket.expect(2);
    assert!(answer.try_recv().is_err());
    ticket.given();
    assert_eq!(answer.try_recv().unwrap(), []);
    let no = |at: usize| (at, b"no".to_vec());
    let first = ticket.answer(7, [0, 1].into_iter(), [no(0), no(1)]);
    assert_eq!(first, Unheard::default());
    let second = ticket.answer(8, [0, 1].into_iter(), [no(1)]);
    let who = |refusals: &[Refusal]| -> Vec<_> {
        refusals
            .iter()
            .map(|refusal| (refusal.line, refusal.place))
            .collect()
    };
    assert_eq!(who(&second.apart), [(0, 7)]);
    assert_eq!(who(&second.lost), [(1, 7), (1, 8)]);
}

#[test]
fn an_early_line_that_the_log_still_has_for_somebody_is_not_lost() {
    let (ticket, _answer) = early(1);
    ticket.expect(2);
    ticket.given();
    ticket.answer(7, [0].into_iter(), [(0, b"no".to_vec())]);
    ticket.lost();
    let (ticket, mut answer) = early(1);
    ticket.given();
    assert_eq!(answer.try_recv().unwrap(), []);
}

#[test]
fn in_a_crowd_an_early_ticket_waits_like_any_other() {
    let (ticket, mut answer) = early(1);
    ticket.expect(1);
    ticket.crowd();
    ticket.given();
    assert!(answer.try_recv().is_err());
    let unheard = ticket.answer(7, [0].into_iter(), [(0, b"no".to_vec())]);
    assert_eq!(answer.try_recv().unwrap().len(), 1);
    assert_eq!(unheard, Unheard::default());
}

#[test]
fn a_missing_file_is_the_answer_only_when_nobody_has_it() {
    let missing = || (0, b"No such file: /x".to_vec());
    let (first, mut answer) = ticket(2);
    first.expect(2);
    first.given();
    first.answer(0, [0, 1].into_iter(), [missing()]);
    assert!(answer.try_recv().is_err());
    first.answer(0, [0, 1].into_iter(), []);
    assert_eq!(answer.try_recv().unwrap(), []);
    let (second, mut answer) = ticket(1);
    second.expect(3);
    second.given();
    for _ in 0..2 {
        second.answer(0, [0].into_iter(), [missing()]);
    }
    assert!(answer.try_recv().is_err());
    second.lost();
    assert_eq!(answer.try_recv().unwrap(), [missing()]);
}

#[test]
fn nobody_hears_before_it_was_offered_to_all() {
    let (ticket, mut answer) = ticket(2);
    ticket.will_be_given(); // the second line is held
    ticket.expect(2);
    ticket.answer(0, [0].into_iter(), []);
    ticket.given();
    ticket.expect(2);
    ticket.answer(0, [1].into_iter(), []);
    assert!(answer.try_recv().is_err());
    ticket.given();
    assert_eq!(answer.try_recv().unwrap(), []);
}

#[test]
fn with_nobody_there_an_update_is_taken_and_nothing_else_is() {
    let (ticket, mut answer) = ticket(1);
    ticket.given();
    assert_eq!(answer.try_recv().unwrap(), []);
    let mut writes = Writes::default();
    writes.push(Verb::Create, b"a", b"", b"");
    let (ticket, mut answer) = Ticket::new(1, writes, false);
    ticket.expect(1);
    ticket.given();
    assert!(answer.try_recv().is_err());
    ticket.lost();
    assert_eq!(answer.try_recv().unwrap().len(), 1);
}

#[test]
fn what_the_log_did_not_take_has_failed() {
    let (ticket, mut answer) = ticket(2);
    ticket.fail(b"full");
    assert_eq!(
        answer.try_recv().unwrap(),
        [(0, b"full".to_vec()), (1, b"full".to_vec())]
    );
}

#[test]
fn a_refusal_of_what_another_took_is_returned_whoever_answers_first() {
    let (ticket, _answer) = ticket(2);
    ticket.expect(3);
    let refusal = |line, place| Refusal {
        line,
        place,
        text: b"no".to_vec(),
    };
    let no = |at: usize| (at, b"no".to_vec());
    assert_eq!(
        ticket.answer(7, [0, 1].into_iter(), [no(0), no(1)]).apart,
        []
    );
    assert_eq!(
        ticket.answer(8, [0, 1].into_iter(), [no(1)]).apart,
        [refusal(0, 7)]
    );
    assert_eq!(
        ticket.answer(9, [0, 1].into_iter(), [no(0), no(1)]).apart,
        [refusal(0, 9)]
    );
}

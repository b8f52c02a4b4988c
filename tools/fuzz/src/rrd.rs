//! What stead-rrd reads: lines of clients, answers of rrdcached, RRD files, templates.

use std::fs;

use stead_rrd::batch::failures;
use stead_rrd::control::Command;
use stead_rrd::create::Templates;
use stead_rrd::image::{is_foreign, joined, Digest, Image};
use stead_rrd::path::Base;
use stead_rrd::record;
use stead_rrd::reply::{rebase, Reply};
use stead_rrd::request::{Question, Request, Write, LINE_BYTES};
use stead_rrd::shape::Shape;
use stead_rrd::words::{unescaped, words, Split};
use stead_rrd::writes::Writes;

use crate::files::place;

/// Lines of a client.
pub fn lines(data: &[u8]) {
    let base = Base::new(b"/var/rrd");
    let mut writes = Writes::default();
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(text) = std::str::from_utf8(line) {
            let _ = Command::parse(text);
        }
        let split = Split::of(line);
        let Some(verb) = split.verb else { continue };
        if line.contains(&0) {
            continue; // a listener refuses it before it is understood
        }
        match Request::understand(verb, split.rest, &base) {
            Ok(Request::Write(write)) => {
                let name = match &write {
                    Write::Update {
                        name,
                        values,
                        count,
                    } => {
                        assert_eq!(words(values).count(), *count);
                        writes.push(verb, name, values, b"");
                        name
                    }
                    Write::Forget { name } => {
                        writes.push(verb, name, b"", b"");
                        name
                    }
                };
                inside(name);
                let at = writes.len() - 1;
                assert_eq!(writes.name(at), &**name);
                let line = writes.line(at);
                assert!(line.ends_with(b"\n") && !line[..line.len() - 1].contains(&b'\n'));
                let again = Split::of(&line[..line.len() - 1]);
                let (path, rest) = again.path().expect("a line that is sent has a path");
                assert_eq!((&*path, again.verb), (&**name, Some(verb)));
                // carriage returns at the end of a line belong to no word
                if !line.contains(&b'\r') {
                    assert_eq!(words(rest).count(), words(writes.words(at)).count());
                }
            }
            Ok(Request::Question(Question::Create(file))) => inside(&file.name),
            Ok(Request::Question(
                Question::OneCopy(file) | Question::AllCopies(file) | Question::Fetch(file, _),
            )) => {
                inside(&file.name);
                assert!(file.line.len() <= 5 * LINE_BYTES && !file.line.contains(&b'\n'));
            }
            Ok(Request::Question(_)) => {}
            Err(reply) => assert!(reply.is_error() && !reply.text.contains(&b'\n')),
        }
        let _ = unescaped(line);
    }
    if writes.is_empty() {
        return;
    }
    let mut entry = Vec::new();
    for at in 0..writes.len() {
        record::push(&mut entry, ["a", "b"].into_iter(), writes.line(at));
    }
    let back: Vec<_> = record::entries(&entry).collect();
    assert_eq!(back.len(), writes.len());
    for (at, entry) in back.iter().enumerate() {
        let entry = entry.as_ref().expect("what is recorded can be read");
        assert_eq!(
            entry.line,
            writes.line(at).strip_suffix(b"\n").unwrap_or_default()
        );
        assert_eq!(entry.names().collect::<Vec<_>>(), ["a", "b"]);
    }
    let same = writes.retained(|_| true);
    assert!((0..same.len()).all(|at| same.line(at) == writes.line(at)));
}

/// Fails if a name leads out of the directory of the files.
fn inside(name: &[u8]) {
    assert!(!name.is_empty() && !name.starts_with(b"/") && !name.contains(&b'\n'));
    assert!(name
        .split(|b| *b == b'/')
        .all(|part| !matches!(part, b"" | b"." | b"..")));
}

/// Answers of rrdcached about a file: INFO, and behind an empty line values of an UPDATE.
pub fn replies(data: &[u8]) {
    let at = data.windows(2).position(|two| two == b"\n\n");
    let (info, values) = data.split_at(at.unwrap_or(data.len()));
    let list = |bytes: &[u8]| {
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        Reply::list("Info for x.rrd follows", lines)
    };
    let reply = list(info);
    assert_eq!(reply.each().count() as i64, reply.count);
    let values: Vec<u8> = values
        .iter()
        .copied()
        .filter(|byte| *byte != b'\n')
        .collect();
    if let Some((shape, last)) = Shape::read(&reply, &Reply::ok("100")) {
        let judged = shape.judge(&values, last);
        if let Some(newest) = shape.takes(&values, last) {
            assert_eq!(
                judged.as_ref().ok(),
                Some(&newest),
                "what is taken is not refused"
            );
            assert!(newest >= last);
        }
        if let Err(why) = judged {
            assert!(!why.contains('\n'));
        }
    }
    if let Some(failed) = failures(&reply, 50) {
        assert!(failed.iter().all(|(at, _)| *at < 50));
    }
    let text = rebase(&values, b"/a/b", b"/var/rrd");
    assert_eq!(rebase(&values, b"/a/b", b"/a/b"), values);
    let _ = text;
}

/// One RRD file, or two with their parts one after the other.
pub fn files(data: &[u8]) {
    let _ = (Digest::of(data), is_foreign(data));
    let (one, two) = data.split_at(data.len() / 2);
    for bytes in [data, one] {
        if let Some(image) = Image::read(bytes) {
            assert_eq!(
                image.lacks(&image),
                Some(0),
                "a file lacks nothing of itself"
            );
            assert!(joined(&[bytes, bytes]).is_none_or(|both| both == bytes));
        }
    }
    if let (Some(a), Some(b)) = (Image::read(one), Image::read(two)) {
        let lacks = (a.lacks(&b), b.lacks(&a));
        assert_eq!(lacks.0.is_some(), lacks.1.is_some());
        if let Some(both) = joined(&[one, two]) {
            assert!(Image::read(&both).is_some(), "what is joined can be read");
            // (it may lack values of archives that predict, which are those of the newest copy)
            let again = joined(&[&both, one, two]);
            assert!(again == Some(both), "the copies give it nothing more");
        }
    }
}

/// A file of templates.
pub fn templates(data: &[u8]) {
    let path = place().join("create.toml");
    fs::write(&path, data).expect("the templates are written");
    match Templates::load(&path) {
        Ok(templates) => {
            for name in [&b"a/b.rrd"[..], b"cpu-0/cpu-idle.rrd", b"x"] {
                if let Some(rest) = templates.rest(name, Some(100)) {
                    assert!(!rest.contains(&b'\n') && rest.starts_with(b" "));
                }
            }
        }
        Err(why) => assert!(!why.contains('\n'), "{why}"),
    }
}

//! Names, files and bytes that are meant to do harm.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::symlink;

use rustix::process::Signal;
use stead_rrd::connection::Address;
use stead_rrd::files::{Files, Rate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::places::{contents, frame, put, rrd, Place, Process, Raw, HELLO};

const NAMES: [&[u8]; 19] = [
    b"",
    b"/",
    b".",
    b"..",
    b"../x",
    b"a/../x",
    b"a/..",
    b"/etc/passwd",
    b"a//b",
    b"a/",
    b"./a",
    b"a/./b",
    b"a\0b",
    b"\0",
    b"a\nb",
    b"a\x7f",
    b".stead-rrd-copy.1.2.3",
    b".stead-rrd-copy.d/a",
    b"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/33",
];

#[tokio::test]
async fn names_that_are_none_are_refused_before_anything_is_touched() {
    let (place, other) = (Place::new().await, Place::new().await);
    put(place.path(), "a/b", &rrd(10, 0));
    let long = "x/".repeat(3000) + "x";
    for name in NAMES.into_iter().chain([long.as_bytes()]) {
        for (_, files) in &place.ways {
            let mut errors = vec![
                files.sum(name).await.unwrap_err(),
                files.remove(name).await.unwrap_err(),
                files.digest(name).await.unwrap_err(),
                files.put(name, 0o644, &rrd(10, 0)).await.unwrap_err(),
                files.read(name, 100).await.unwrap_err(),
            ];
            errors.push(
                Files::copy(files, &other.ways[0].1, name, &Rate::default())
                    .await
                    .unwrap_err(),
            );
            for error in errors {
                assert_eq!(
                    error.kind(),
                    ErrorKind::InvalidInput,
                    "{}: {error}",
                    name.escape_ascii()
                );
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
            }
        }
    }
    assert!(contents(other.path()).is_empty());
    // the agent does not rely on its clients to check names
    let process = Process::start(place.path(), None, &[]).unwrap();
    for name in NAMES.into_iter().chain([long.as_bytes()]) {
        let mut raw = Raw::greeted(&process.address);
        for (kind, mode) in [
            (b's', &b""[..]),
            (b'i', b""),
            (b'g', b""),
            (b'r', b""),
            (b'p', b"\0\0\0\0"),
        ] {
            let (answer, body) = raw.ask(kind, &[mode, name].concat());
            assert_eq!(
                (answer, body[0]),
                (b'!', 4),
                "{} {}",
                kind as char,
                name.escape_ascii()
            );
        }
    }
    let parts_of_256 = "x".repeat(256);
    assert_eq!(
        Raw::greeted(&process.address)
            .ask(b'p', &[b"\0\0\0\0", parts_of_256.as_bytes()].concat())
            .0,
        b'!'
    );
    assert_eq!(contents(place.path()).len(), 2);
}

#[tokio::test]
async fn links_and_other_things_are_neither_read_nor_written_nor_removed() {
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "secret.rrd", &rrd(100, 1));
    let before = contents(outside.path());
    let (place, source) = (Place::new().await, Place::new().await);
    symlink(outside.path(), place.path().join("dir")).unwrap();
    symlink(outside.path().join("secret.rrd"), place.path().join("file")).unwrap();
    symlink("../../../../../../etc", place.path().join("etc")).unwrap();
    symlink("nowhere", place.path().join("dangling")).unwrap();
    put(place.path(), "inner/a", &rrd(10, 1));
    symlink("inner", place.path().join("link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    fs::create_dir(place.path().join("directory.rrd")).unwrap();
    put(place.path(), "text", b"a secret");
    put(place.path(), "empty", b"");
    let names = [
        "dir/secret.rrd",
        "dir/new",
        "file",
        "etc/passwd",
        "dangling",
        "link/a",
        "link/new",
        "pipe",
        "pipe/a",
        "directory.rrd",
        "text/a",
    ];
    let kept = contents(place.path());
    for (way, files) in &place.ways {
        for name in names {
            let errors = [
                files.sum(name.as_bytes()).await.map(drop),
                files.remove(name.as_bytes()).await.map(drop),
                Files::copy(files, &source.ways[0].1, name.as_bytes(), &Rate::default())
                    .await
                    .map(drop),
            ];
            for error in errors.into_iter().map(Result::unwrap_err) {
                assert_eq!(
                    error.kind(),
                    ErrorKind::InvalidInput,
                    "{way} {name}: {error}"
                );
            }
            put(source.path(), name, &rrd(50, 2));
            let error = Files::copy(&source.ways[0].1, files, name.as_bytes(), &Rate::default())
                .await
                .unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidInput,
                "{way} {name}: {error}"
            );
            assert!(
                error.to_string().starts_with(&format!("{files}: {name}: ")),
                "{error}"
            );
            fs::remove_dir_all(source.path().join(name.split('/').next().unwrap()))
                .or_else(|_| fs::remove_file(source.path().join(name)))
                .unwrap();
        }
        // files that are not RRDs are not sent and not removed; one that a crash left in the place
        // of an RRD is replaced
        for name in ["text", "empty"] {
            let errors = [
                files.sum(name.as_bytes()).await.map(drop),
                files.remove(name.as_bytes()).await.map(drop),
            ];
            assert!(
                errors
                    .into_iter()
                    .all(|error| error.unwrap_err().kind() == ErrorKind::InvalidData),
                "{way} {name}"
            );
        }
        put(source.path(), "empty", &rrd(50, 2));
        Files::copy(&source.ways[0].1, files, b"empty", &Rate::default())
            .await
            .unwrap();
        put(place.path(), "empty", b"");
        put(source.path(), "text2", b"no RRD");
        assert!(
            Files::copy(&source.ways[0].1, files, b"text2", &Rate::default())
                .await
                .is_err()
        );
        assert_eq!(contents(place.path()), kept, "{way}");
        assert_eq!(contents(outside.path()), before, "{way}");
    }
    // a file that is not an RRD cannot be written either
    let process = Process::start(place.path(), None, &[]).unwrap();
    let mut raw = Raw::greeted(&process.address);
    raw.ask(b'p', b"\0\0\0\0h/script");
    raw.send(b'd', b"#!/bin/sh");
    assert_eq!(raw.ask(b'v', b"").0, b'!');
    assert_eq!(contents(place.path()), kept);
}

#[tokio::test]
async fn an_agent_that_may_only_read_changes_nothing() {
    let (place, source) = (Place::new().await, Place::new().await);
    put(place.path(), "a", &rrd(10, 1));
    put(place.path(), ".stead-rrd-copy.1.2.3", &rrd(10, 1));
    put(source.path(), "b", &rrd(10, 1));
    let before = contents(place.path());
    let process = Process::start(place.path(), None, &["--read-only"]).unwrap();
    let files = process.files();
    assert_eq!(files.list(|_, _| ()).await.unwrap().files, 1);
    Files::copy(&files, &source.ways[0].1, b"a", &Rate::default())
        .await
        .unwrap();
    let errors = [
        files.remove(b"a").await.map(drop),
        Files::copy(&source.ways[0].1, &files, b"b", &Rate::default())
            .await
            .map(drop),
    ];
    for error in errors.into_iter().map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("--read-only"), "{error}");
    }
    assert_eq!(contents(place.path()), before);
}

/// Returns the peak of the agent's memory, in KiB.
fn peak(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    status
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        })
        .unwrap()
}

#[tokio::test]
async fn lengths_that_are_claimed_cost_nothing_and_garbage_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "a/b", &rrd(1000, 1));
    let before = contents(dir.path());
    let mut process = Process::start(dir.path(), None, &[]).unwrap();
    for length in [1 << 18, 1 << 30, u32::MAX] {
        let mut clients: Vec<Raw> = (0..30).map(|_| Raw::greeted(&process.address)).collect();
        for client in &mut clients {
            client
                .0
                .write_all(&[&length.to_le_bytes()[..], b"d"].concat())
                .unwrap();
        }
        for client in &mut clients {
            let (kind, body) = client.answer().unwrap();
            assert_eq!((kind, body[0]), (b'!', 5));
            assert!(String::from_utf8_lossy(&body).contains(&format!("a frame of {length} bytes")));
            assert_eq!(client.answer(), None);
        }
    }
    // a hello that is too long, or none
    for first in [
        &[b'x'; 100_000][..],
        b"\n",
        b"UPDATE a/b N:1\n",
        b"stead-rrd files 4\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"",
    ] {
        let mut raw = Raw::new(&process.address);
        let _ = raw.0.write_all(first);
        let _ = raw.0.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = raw.0.read_to_end(&mut answer);
        assert!(HELLO.starts_with(&answer), "{}", answer.escape_ascii());
    }
    // frames in any order, with any body, and cut off
    let mut luck = 7_u64;
    let mut draw = move |below: u64| {
        luck = luck
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (luck >> 33) % below
    };
    let bodies: [&[u8]; 8] = [
        b"",
        b"a/b",
        b"\0\0\0\0c/d",
        b"\0\0\x01\0",
        b"\0\0\x04\0",
        b"\xff\xff\xff\xff",
        b"RRD\0RRD\0",
        b"../../x",
    ];
    // every request except removing or writing the one file
    let allowed = |kind: u8, body: &[u8]| !(kind == b'r' && body == b"a/b");
    let mut answers = [0_u64; 2];
    for _ in 0..3000 {
        let mut raw = Raw::greeted(&process.address);
        let mut bytes = Vec::new();
        for _ in 0..=draw(8) {
            let kind = if draw(20) == 0 {
                draw(256) as u8
            } else {
                b"lsgmpdvcr"[draw(9) as usize]
            };
            let body = bodies[draw(8) as usize];
            if allowed(kind, body) {
                bytes.extend(frame(kind, body));
            }
        }
        if draw(4) == 0 {
            bytes.truncate(draw(1 + bytes.len() as u64) as usize);
        }
        let _ = raw.0.write_all(&bytes);
        let _ = raw.0.shutdown(std::net::Shutdown::Write);
        while let Some((kind, _)) = raw.answer() {
            answers[usize::from(kind == b'!')] += 1;
        }
    }
    println!(
        "3000 clients with garbage: {} answers, {} errors",
        answers[0], answers[1]
    );
    assert!(answers.into_iter().all(|count| count > 3000), "{answers:?}");
    // with the process's own descriptors, memory and files as before
    assert!(process.files().sum(b"a/b").await.unwrap().is_some());
    let after = contents(dir.path());
    let c = std::path::Path::new("c");
    assert_eq!(
        after
            .into_iter()
            .filter(|(path, _)| !path.starts_with(c))
            .collect::<Vec<_>>(),
        before.into_iter().collect::<Vec<_>>()
    );
    let kib = peak(&process);
    assert!(kib < 200 << 10, "{kib} KiB"); // a single claimed GiB would be more
    process.signal(Signal::TERM);
    assert!(process.child.wait().unwrap().success());
    assert_eq!(process.rest(), ""); // no panic
}

/// Starts a server that answers any request with these bytes and keeps the connection open.
async fn says(bytes: Vec<u8>, hello: bool) -> (Address, tempfile::TempDir) {
    let run = tempfile::tempdir().unwrap();
    let path = run.path().join("s");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let bytes = bytes.clone();
            tokio::spawn(async move {
                if hello {
                    let _ = client.write_all(HELLO).await;
                    let _ = client.read_exact(&mut [0; HELLO.len()]).await;
                }
                let mut read = vec![0; 1 << 16];
                while let Ok(1..) = client.read(&mut read).await {
                    let _ = client.write_all(&bytes).await;
                }
            });
        }
    });
    (Address::Unix(path), run)
}

#[tokio::test]
async fn what_is_no_agent_is_told_from_one() {
    let (address, _run) = says(b"-1 Unknown command: stead-rrd\n".to_vec(), false).await;
    let error = Files::agent(address).sum(b"a").await.unwrap_err();
    assert!(
        error.to_string().contains(
            "that is not `stead-rrd files` of this version: it says \"-1 Unknown command: \
            stead-rrd"
        ),
        "{error}"
    );
    let place = Place::new().await;
    let target = tempfile::tempdir().unwrap();
    put(place.path(), "a", &rrd(100, 1));
    put(target.path(), "a", &rrd(100, 2));
    let answers: [Vec<u8>; 13] = [
        frame(b'+', &[7; 15]),
        frame(b'+', &[0; 25]),
        frame(b'+', &[9]),
        frame(b'+', &[0, 0, 0, 0, 1]),
        frame(b'?', b""),
        frame(b'd', b"RRD\0"),
        frame(b'e', b"\x01"),
        frame(b'e', &[0xff; 30]),
        frame(b'!', b""),
        frame(b'!', b"\xff\xff\xfe\n\x1b[2J"),
        u32::MAX.to_le_bytes().to_vec(),
        [&(1_u32 << 30).to_le_bytes()[..], b"+"].concat(),
        vec![0xff; 200_000],
    ];
    for answer in answers {
        let (address, _run) = says(answer.clone(), true).await;
        // an answer that is too short makes the client wait; the others need no time limit
        let files = Files::agent_within(
            address,
            std::time::Duration::from_secs(if answer.len() == 4 { 1 } else { 120 }),
        );
        let case = format!("{}", answer[..answer.len().min(50)].escape_ascii());
        let mut errors = Vec::new();
        errors.extend(files.sum(b"a").await.err());
        errors.extend(files.remove(b"a").await.err());
        errors.push(files.list(|_, _| ()).await.expect_err(&case));
        errors.push(
            Files::copy(
                &files,
                &Files::directory(target.path()),
                b"a",
                &Rate::default(),
            )
            .await
            .expect_err(&case),
        );
        errors.push(
            Files::copy(&place.ways[0].1, &files, b"a", &Rate::default())
                .await
                .expect_err(&case),
        );
        for error in errors {
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
    assert_eq!(fs::read(target.path().join("a")).unwrap(), rrd(100, 2));
    assert_eq!(contents(target.path()).len(), 1);
}

#[tokio::test]
async fn a_page_shows_nothing_outside_the_base_whatever_it_begins_after() {
    let place = Place::new().await;
    put(place.path(), "a/b", &rrd(10, 0));
    symlink("/etc", place.path().join("0")).unwrap();
    let process = Process::start(place.path(), None, &[]).unwrap();
    let mut raw = Raw::greeted(&process.address);
    for name in NAMES {
        for (_, files) in &place.ways {
            let page = files.page(name, 10).await.unwrap();
            assert!(
                page.names.iter().all(|found| found == b"a/b"),
                "{}",
                name.escape_ascii()
            );
            assert_eq!(page.next, None);
        }
        let (mut answer, _) = raw.ask(b'n', &[&u32::MAX.to_le_bytes(), name].concat());
        while answer == b'e' {
            answer = raw.answer().unwrap().0;
        }
        assert_eq!(answer, b'+');
    }
    // a page without a number of names, and one of none
    assert_eq!(raw.ask(b'n', b"\0\0").0, b'!');
    assert_eq!(raw.ask(b'n', b"\0\0\0\0").0, b'e');
}

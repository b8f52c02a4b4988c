//! Whatever fails, the destination has the complete new file or the one it had before, and nothing
//! else.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use stead_rrd::connection::Address;
use stead_rrd::files::{Files, Rate};

use crate::places::{
    agent, contents, has_temporary, put, rrd, until, Between, Process, Raw, CHUNK,
};

/// The file at the destination.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    Old,
    New,
    Torn,
}

fn found(path: &Path, old: Option<&[u8]>, new: &[u8]) -> Found {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Found::Nothing,
        Err(error) => panic!("{error}"),
        Ok(bytes) if bytes == new => Found::New,
        Ok(bytes) if Some(&bytes[..]) == old => Found::Old,
        Ok(_) => Found::Torn,
    }
}

/// Starts an agent on a unix socket in a directory of its own.
async fn unix_agent(base: &Path, run: &Path, name: &str) -> Address {
    agent(base, &format!("unix:{}", run.join(name).display()), false).await
}

/// Copies over a connection that is cut at every `step`-th byte up to the end, on the source's side
/// or on the destination's. Returns how often the old file was there afterwards, how often the new
/// one after an error, and how often the copy succeeded in spite of the cut.
async fn cut_everywhere(size: usize, step: usize, old: Option<Vec<u8>>) -> [u64; 3] {
    let dirs: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [from, to, run] = [dirs[0].path(), dirs[1].path(), dirs[2].path()];
    let (source, target) = (
        unix_agent(from, run, "a").await,
        unix_agent(to, run, "b").await,
    );
    let new = rrd(size, 2);
    put(from, "h/p/a", &new);
    let mut counts = [0; 3];
    for side in [&source, &target] {
        let mut at = 0;
        loop {
            match &old {
                Some(old) => put(to, "h/p/a", old),
                None => assert!(
                    contents(to).is_empty(),
                    "at {at}: {:?}",
                    contents(to).keys()
                ),
            }
            let between = Between::new(side, at, || true);
            let [a, b] = [&source, &target].map(|address| {
                if std::ptr::eq(address, side) {
                    &between.address
                } else {
                    address
                }
            });
            let (a, b) = (Files::agent(a.clone()), Files::agent(b.clone()));
            let result = Files::copy(&a, &b, b"h/p/a", &Rate::default()).await;
            drop((a, b));
            // the agent notices it later
            until("the temporary file to go", || !has_temporary(to)).await;
            if old.is_none() {
                until("the directories to go", || {
                    !to.join("h").exists() || to.join("h/p/a").exists()
                })
                .await;
            }
            let state = found(&to.join("h/p/a"), old.as_deref(), &new);
            match (&state, &result) {
                (Found::New, Ok(_)) => {}
                (Found::New, Err(_)) => counts[1] += 1, // done, but the answer was lost
                (Found::Old, Err(_)) if old.is_some() => counts[0] += 1,
                (Found::Nothing, Err(_)) if old.is_none() => counts[0] += 1,
                wrong => panic!("cut at {at}: {wrong:?}"),
            }
            if old.is_none() {
                let _ = fs::remove_dir_all(to.join("h"));
            }
            if between.passed.load(Ordering::SeqCst) <= at {
                assert!(result.is_ok(), "not cut at {at}");
                break;
            }
            // a kept connection that fails is replaced by a new one
            counts[2] += u64::from(result.is_ok());
            at += step as u64;
        }
    }
    counts
}

#[tokio::test]
async fn a_connection_cut_at_any_byte_leaves_the_old_file_or_the_new_one() {
    let [kept, done, again] = cut_everywhere(40, 1, Some(rrd(50, 1))).await;
    println!(
        "cut at every byte: {kept} times the old file, {done} times the new one, {again} \
        times done in spite of it"
    );
    assert!(kept > 200 && done > 0 && again > 0, "{kept} {done} {again}");
    let [kept, done, again] = cut_everywhere(40, 3, None).await;
    println!(
        "without an old file: {kept} times nothing, {done} times the new one, {again} times \
        done in spite of it"
    );
    assert!(kept > 70 && done > 0 && again > 0, "{kept} {done} {again}");
    // through several chunks, with cuts in all of them
    let [kept, done, again] = cut_everywhere(3 * CHUNK + 5, 10007, Some(rrd(2 * CHUNK, 1))).await;
    assert!(kept > 70, "{kept} {done} {again}");
}

#[test]
fn a_copy_that_writes_in_place_would_be_caught() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (rrd(500, 1), rrd(500, 2));
    let path = dir.path().join("a");
    assert_eq!(found(&path, Some(&old), &new), Found::Nothing);
    for cut in [0, 1, 4, 499] {
        fs::write(&path, &new[..cut]).unwrap(); // as cp does when it is stopped
        assert_eq!(found(&path, Some(&old), &new), Found::Torn);
    }
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_copied_is_an_error_that_says_so() {
    let dirs: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [from, to, run] = [dirs[0].path(), dirs[1].path(), dirs[2].path()];
    let source = unix_agent(from, run, "a").await;
    let target = unix_agent(to, run, "b").await;
    let new = rrd(3 * CHUNK, 2);
    // change a part that was read, also one that was not, also the end, or remove the file
    for change in 0..4 {
        for to_agent in [false, true] {
            put(from, "a", &new);
            put(to, "a", &rrd(100, 1));
            let path = from.join("a");
            let between = Between::new(&source, 2 * CHUNK as u64, move || {
                let mut bytes = fs::read(&path).unwrap();
                bytes[5] ^= 1;
                match change {
                    0 => {}
                    1 => bytes[3 * CHUNK - 1] ^= 1,
                    2 => bytes.push(0),
                    _ => return fs::remove_file(&path).is_err(),
                }
                fs::write(&path, bytes).unwrap();
                false
            });
            let b = if to_agent {
                Files::agent(target.clone())
            } else {
                Files::directory(to)
            };
            let error = Files::copy(
                &Files::agent(between.address.clone()),
                &b,
                b"a",
                &Rate::default(),
            )
            .await
            .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{change}: {error}");
            assert!(
                error
                    .to_string()
                    .contains("a: somebody changed the file while it was copied"),
                "{error}"
            );
            assert_eq!(fs::read(to.join("a")).unwrap(), rrd(100, 1), "{change}");
            until("the temporary file to go", || !has_temporary(to)).await;
            // the control: the same without a change
            put(from, "a", &new);
            Files::copy(
                &Files::agent(between.address.clone()),
                &b,
                b"a",
                &Rate::default(),
            )
            .await
            .unwrap();
            assert_eq!(fs::read(to.join("a")).unwrap(), new);
        }
    }
}

#[tokio::test]
async fn bytes_that_are_changed_on_the_way_are_an_error() {
    let dirs: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [from, to, run] = [dirs[0].path(), dirs[1].path(), dirs[2].path()];
    let source = unix_agent(from, run, "a").await;
    put(from, "a", &rrd(3 * CHUNK, 2));
    put(to, "a", &rrd(100, 1));
    // a destination that stores other bytes than it was given
    let path = run.join("s");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let target = unix_agent(to, run, "b").await;
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (client, _) = listener.accept().await.unwrap();
        let Address::Unix(target) = target else {
            return;
        };
        let server = tokio::net::UnixStream::connect(target).await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let mut passed = 0;
        let to = async move {
            let mut bytes = vec![0; 1000];
            while let Ok(length @ 1..) = from_client.read(&mut bytes).await {
                if (passed..passed + length).contains(&100_000) {
                    bytes[100_000 - passed] ^= 0x10;
                }
                passed += length;
                to_server.write_all(&bytes[..length]).await.unwrap();
            }
        };
        tokio::join!(to, async {
            drop(tokio::io::copy(&mut from_server, &mut to_client).await)
        });
    });
    let error = Files::copy(
        &Files::agent(source),
        &Files::agent(Address::Unix(path)),
        b"a",
        &Rate::default(),
    )
    .await
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("a: arrived different from what was read"),
        "{error}"
    );
    assert_eq!(fs::read(to.join("a")).unwrap(), rrd(100, 1));
    until("the temporary file to go", || !has_temporary(to)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_the_agent_leave_whole_files() {
    const FILES: u64 = 6;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let size = |file: u64| 300_000 + file as usize * 70_000;
    // for each file, the version that is certainly there
    let acknowledged: Arc<Vec<AtomicU64>> =
        Arc::new((0..FILES).map(|_| AtomicU64::new(0)).collect());
    let (mut lost_connections, mut remains, mut copies) = (0, 0, 0);
    for kill in 0..12 {
        let mut process = Process::start(to.path(), None, &[]).unwrap();
        let done = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..FILES)
            .map(|file| {
                let (from, acknowledged, done) = (
                    from.path().to_path_buf(),
                    Arc::clone(&acknowledged),
                    Arc::clone(&done),
                );
                let target = process.files();
                tokio::spawn(async move {
                    let name = format!("h{}/{file}", file % 2);
                    loop {
                        let version = acknowledged[file as usize].load(Ordering::SeqCst) + 1;
                        put(&from, &name, &rrd(size(file), version));
                        if Files::copy(
                            &Files::directory(&from),
                            &target,
                            name.as_bytes(),
                            &Rate::default(),
                        )
                        .await
                        .is_err()
                        {
                            return;
                        }
                        acknowledged[file as usize].store(version, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        until("some copies", || done.load(Ordering::SeqCst) > kill).await;
        process.signal(Signal::KILL);
        process.child.wait().unwrap();
        for task in tasks {
            task.await.unwrap();
            lost_connections += 1;
        }
        copies += done.load(Ordering::SeqCst);
        remains += u64::from(has_temporary(to.path()));
        for file in 0..FILES {
            let version = &acknowledged[file as usize];
            let before = version.load(Ordering::SeqCst);
            let bytes = fs::read(to.path().join(format!("h{}/{file}", file % 2))).ok();
            if bytes == Some(rrd(size(file), before + 1)) {
                version.store(before + 1, Ordering::SeqCst); // done, but the answer was lost
            } else {
                assert!(
                    bytes == (before > 0).then(|| rrd(size(file), before)),
                    "kill {kill}, file {file}: torn or lost"
                );
            }
        }
    }
    println!(
        "12 kills: {copies} copies acknowledged, {lost_connections} in the middle, {remains} \
        kills left a temporary file; 0 torn, 0 lost"
    );
    assert!(remains > 0, "no kill hit a copy");
    let process = Process::start(to.path(), None, &[]).unwrap();
    process.files().list(|_, _| ()).await.unwrap();
    assert!(!has_temporary(to.path()));
}

#[tokio::test]
async fn an_agent_that_is_told_to_end_takes_what_is_half_written_with_it() {
    let to = tempfile::tempdir().unwrap();
    let mut process = Process::start(to.path(), None, &[]).unwrap();
    let mut clients: Vec<Raw> = (0..5).map(|_| Raw::greeted(&process.address)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(
            b'p',
            &[b"\0\0\0\0", format!("h{number}/p/a").as_bytes()].concat(),
        );
        assert_eq!(client.answer(), Some((b'+', vec![])));
        client.send(b'd', &rrd(1000, 0));
    }
    assert_eq!(contents(to.path()).len(), 15);
    process.signal(Signal::TERM);
    assert!(process.child.wait().unwrap().success());
    assert_eq!(process.rest(), "");
    assert!(
        contents(to.path()).is_empty(),
        "{:?}",
        contents(to.path()).keys()
    );
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_nothing() {
    let to = tempfile::tempdir().unwrap();
    let process = Process::start(to.path(), None, &[]).unwrap();
    for _ in 0..20 {
        let mut client = Raw::greeted(&process.address);
        client.send(b'p', b"\0\0\0\0h/p/a");
        assert_eq!(client.answer(), Some((b'+', vec![])));
        client.send(b'd', &rrd(1000, 0));
        drop(client);
        until("all to go", || contents(to.path()).is_empty()).await;
    }
    // and one that begins another request in the middle
    let mut client = Raw::greeted(&process.address);
    client.ask(b'p', b"\0\0\0\0h/p/a");
    client.send(b'd', &rrd(1000, 0));
    assert_eq!(client.ask(b's', b"h/p/a"), (b'+', vec![]));
    assert!(contents(to.path()).is_empty());
}

#[tokio::test]
async fn an_agent_that_is_stopped_is_an_error_and_works_when_it_goes_on() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(from.path(), "a", &rrd(9 * CHUNK, 2));
    put(to.path(), "a", &rrd(1000, 1));
    let process = Process::start(to.path(), None, &[]).unwrap();
    let impatient = Files::agent_within(process.address.clone(), Duration::from_millis(300));
    let source = Files::directory(from.path());
    process.signal(Signal::STOP);
    for _ in 0..2 {
        assert_eq!(
            impatient.sum(b"a").await.unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        assert_eq!(
            impatient.remove(b"a").await.unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        assert_eq!(
            impatient.list(|_, _| ()).await.unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        assert_eq!(
            Files::copy(&source, &impatient, b"a", &Rate::default())
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::TimedOut
        );
        assert_eq!(
            Files::copy(&impatient, &source, b"a", &Rate::default())
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::TimedOut
        );
    }
    process.signal(Signal::CONT);
    // requests sent while it was stopped may be done now, also the removal
    Files::copy(&source, &process.files(), b"a", &Rate::default())
        .await
        .unwrap();
    assert_eq!(fs::read(from.path().join("a")).unwrap(), rrd(9 * CHUNK, 2));
}

#[tokio::test]
async fn an_agent_that_was_started_anew_is_found_again() {
    let dirs: [_; 2] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [base, run] = [dirs[0].path(), dirs[1].path()];
    put(base, "a", &rrd(1000, 1));
    let path = run.join("s");
    let runtime = |base: std::path::PathBuf, path: std::path::PathBuf| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(agent(&base, &format!("unix:{}", path.display()), false));
            tell.send(()).unwrap();
            let _ = stopped.recv();
        });
        told.recv().unwrap();
        (stop, thread)
    };
    let files = Files::agent(Address::Unix(path.clone()));
    for _ in 0..3 {
        let (stop, thread) = runtime(base.to_path_buf(), path.clone());
        // keep more than one connection
        let (first, second) = tokio::join!(files.sum(b"a"), files.sum(b"a"));
        assert!(first.unwrap().is_some() && second.unwrap().is_some());
        drop(stop);
        thread.join().unwrap();
    }
    let error = files.sum(b"a").await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("{files}: cannot connect: ")),
        "{error}"
    );
}

/// Fills the destination, by the shell command `setup` of its agent.
async fn full(setup: &str) -> bool {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(mut process) = Process::start(to.path(), Some(setup), &[]) else {
        return false;
    };
    let (source, target) = (Files::directory(from.path()), process.files());
    put(from.path(), "h/small", &rrd(1000, 1));
    Files::copy(&source, &target, b"h/small", &Rate::default())
        .await
        .unwrap();
    let small = target.sum(b"h/small").await.unwrap();
    put(from.path(), "h/small", &rrd(3_000_000, 1));
    put(from.path(), "i/other", &rrd(3_000_000, 1));
    for name in [b"h/small", b"i/other"] {
        let error = Files::copy(&source, &target, name, &Rate::default())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert!(
            error
                .to_string()
                .starts_with(&format!("{target}: {}: ", String::from_utf8_lossy(name))),
            "{error}"
        );
        println!("{error}");
    }
    assert_eq!(target.sum(b"h/small").await.unwrap(), small);
    assert_eq!(target.list(|_, _| ()).await.unwrap().files, 1);
    // a file that is small enough still fits
    put(from.path(), "h/small", &rrd(2000, 1));
    Files::copy(&source, &target, b"h/small", &Rate::default())
        .await
        .unwrap();
    assert_eq!(
        target.sum(b"h/small").await.unwrap(),
        source.sum(b"h/small").await.unwrap()
    );
    assert!(target.remove(b"h/small").await.unwrap());
    process.signal(Signal::TERM);
    process.child.wait().unwrap();
    true
}

#[tokio::test]
async fn a_limit_on_file_sizes_is_a_full_disk_and_leaves_the_old_file() {
    assert!(full("ulimit -f 2000").await); // of 512 or 1024 bytes
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    if !full("mount -t tmpfs -o size=1m none \"$DIR\"").await {
        println!("skipped: may not mount a tmpfs here");
    }
}

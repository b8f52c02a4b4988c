//! Tests of copying, listing and removing when nothing fails. Every test runs for every way to the
//! files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use stead_rrd::files::{Copied, Files, Listed, Rate};
use twox_hash::XxHash3_128;

use crate::places::{contents, has_temporary, put, rrd, Place, Raw, CHUNK};

const SIZES: [usize; 8] = [
    4,
    5,
    4096,
    CHUNK - 1,
    CHUNK,
    CHUNK + 1,
    3 * CHUNK,
    3 * CHUNK + 17,
];

#[tokio::test]
async fn a_copy_has_the_bytes_and_the_mode_and_stands_in_its_directories() {
    let (from, to) = (Place::new().await, Place::new().await);
    let name = |index: usize| match index % 3 {
        0 => format!("{index}.rrd"),
        1 => format!("host {index}/a b/c\\d.rrd"),
        _ => format!("ü/{index}/x"),
    };
    for (index, size) in SIZES.into_iter().enumerate() {
        put(from.path(), &name(index), &rrd(size, index as u64));
        fs::set_permissions(
            from.path().join(name(index)),
            fs::Permissions::from_mode(0o4640 + index as u32),
        )
        .unwrap();
    }
    for (source, a) in &from.ways {
        for (target, b) in &to.ways {
            for (index, size) in SIZES.into_iter().enumerate() {
                let bytes = rrd(size, index as u64);
                let case = format!("{source} to {target}, {size} bytes");
                let expected = Copied {
                    bytes: size as u64,
                    sum: XxHash3_128::oneshot(&bytes),
                };
                for _ in 0..2 {
                    // to an empty place, then in place of another file; a reader keeps the old file
                    let old = fs::File::open(to.path().join(name(index))).ok();
                    assert_eq!(
                        Files::copy(a, b, name(index).as_bytes(), &Rate::default())
                            .await
                            .unwrap(),
                        expected,
                        "{case}"
                    );
                    assert_eq!(
                        b.sum(name(index).as_bytes()).await.unwrap(),
                        Some((expected.bytes, expected.sum)),
                        "{case}"
                    );
                    if let Some(old) = old {
                        assert_eq!(old.metadata().unwrap().len(), 9, "{case}");
                    }
                    let mode = fs::metadata(to.path().join(name(index)))
                        .unwrap()
                        .permissions()
                        .mode();
                    assert_eq!(mode & 0o7777, 0o640 + index as u32, "{case}");
                    assert_eq!(
                        fs::read(to.path().join(name(index))).unwrap(),
                        bytes,
                        "{case}"
                    );
                    fs::write(to.path().join(name(index)), "RRD\0older").unwrap();
                }
                fs::write(to.path().join(name(index)), bytes).unwrap();
            }
            assert_eq!(
                contents(from.path()),
                contents(to.path()),
                "{source} to {target}"
            );
            for entry in fs::read_dir(to.path()).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    fs::remove_dir_all(path)
                } else {
                    fs::remove_file(path)
                }
                .unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_list_has_every_rrd_and_nothing_else() {
    let place = Place::new().await;
    let elsewhere = tempfile::tempdir().unwrap();
    put(elsewhere.path(), "outside.rrd", &rrd(10, 0));
    let mut expected = BTreeSet::new();
    for index in 0..3000 {
        let name = format!(
            "a host with a long name {}/and a plugin {}/value {index}",
            index % 7,
            index % 50
        );
        put(place.path(), &name, &rrd(4 + index, 0));
        expected.insert((name.into_bytes(), 4 + index as u64));
    }
    put(place.path(), "top", &rrd(100, 0));
    expected.insert((b"top".to_vec(), 100));
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"odd \xff\\"));
    fs::write(place.path().join(odd), rrd(7, 0)).unwrap();
    expected.insert((b"odd \xff\\".to_vec(), 7));
    let deep = ["d"; 31].join("/");
    put(place.path(), &format!("{deep}/deep"), &rrd(8, 0));
    expected.insert((format!("{deep}/deep").into_bytes(), 8));

    // the list has none of these; the first three count as left out, as they may hide RRDs
    put(place.path(), &format!("{deep}/d/deeper"), &rrd(8, 0));
    symlink("top", place.path().join("link")).unwrap();
    symlink(elsewhere.path(), place.path().join("linked")).unwrap();
    symlink("short", place.path().join("link to no RRD")).unwrap();
    symlink("pipe", place.path().join("link to a pipe")).unwrap();
    symlink("nowhere", place.path().join("broken link")).unwrap();
    put(place.path(), "new\nline", &rrd(8, 0));
    put(place.path(), "new\ndirectory/v.rrd", &rrd(8, 0));
    put(place.path(), "new\nline, and no RRD", b"RRD");
    put(place.path(), "short", b"RRD");
    put(place.path(), "empty", b"");
    put(place.path(), "other", b"RRDtool");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).unwrap();

    for (way, files) in &place.ways {
        // left behind by a killed process
        put(place.path(), "top.d/.stead-rrd-copy.1.2.3", &rrd(100, 0));
        let mut found = Vec::new();
        let listed = files
            .list(|name, size| found.push((name, size)))
            .await
            .unwrap();
        assert_eq!(
            (listed.files, listed.left_out),
            (expected.len() as u64, 3),
            "{way}"
        );
        let example = String::from_utf8(listed.example.clone().unwrap()).unwrap();
        let hiding = [format!("{deep}/d"), "link".into(), "linked".into()];
        assert!(hiding.contains(&example), "{way}: {example}");
        assert_eq!(found.len(), expected.len(), "{way}: some twice");
        assert_eq!(
            found.into_iter().collect::<BTreeSet<_>>(),
            expected,
            "{way}"
        );
        assert!(!has_temporary(place.path()), "{way}");
        // list again, over the same connection
        assert_eq!(files.list(|_, _| ()).await.unwrap(), listed, "{way}");
    }
    fs::remove_dir_all(place.path().join("top.d")).unwrap();
}

#[tokio::test]
async fn a_file_in_the_making_is_not_stale_and_not_listed() {
    let place = Place::new().await;
    let run = tempfile::tempdir().unwrap();
    let address = crate::places::agent(
        place.path(),
        &format!("unix:{}", run.path().join("s").display()),
        false,
    )
    .await;
    let bytes = rrd(1000, 1);
    for (way, files) in &place.ways {
        // the reads block while the agent works on other threads
        let address = address.clone();
        let (first, second) = bytes.split_at(500);
        let (first, second) = (first.to_vec(), second.to_vec());
        let mut raw = tokio::task::spawn_blocking(move || {
            let mut raw = Raw::greeted(&address);
            assert_eq!(raw.ask(b'p', b"\xa4\x01\0\0h/new.rrd"), (b'+', vec![]));
            raw.send(b'd', &first);
            raw.send(b'd', &[]); // it only shows that the client is alive
            raw
        })
        .await
        .unwrap();
        crate::places::until("the temporary file", || has_temporary(place.path())).await;
        assert_eq!(
            files.list(|name, _| panic!("{name:?}")).await.unwrap(),
            Listed::default(),
            "{way}"
        );
        assert!(has_temporary(place.path()), "{way}");
        let raw = tokio::task::spawn_blocking(move || {
            raw.send(b'd', &second);
            assert_eq!(raw.ask(b'v', b"").0, b'+');
            assert_eq!(raw.ask(b'c', b""), (b'+', vec![]));
            raw
        });
        drop(raw.await.unwrap());
        assert_eq!(
            fs::read(place.path().join("h/new.rrd")).unwrap(),
            bytes,
            "{way}"
        );
        assert_eq!(
            fs::metadata(place.path().join("h/new.rrd"))
                .unwrap()
                .permissions()
                .mode()
                & 0o7777,
            0o644,
            "{way}"
        );
        assert!(files.remove(b"h/new.rrd").await.unwrap());
    }
}

#[tokio::test]
async fn a_removal_takes_the_empty_directories_with_it_and_never_the_base() {
    let place = Place::new().await;
    for (way, files) in &place.ways {
        put(place.path(), "h/p/q/a", &rrd(10, 0));
        put(place.path(), "h/p/q/b", &rrd(10, 0));
        put(place.path(), "h/c", &rrd(10, 0));
        assert!(files.remove(b"h/p/q/a").await.unwrap(), "{way}");
        assert!(!files.remove(b"h/p/q/a").await.unwrap(), "{way}");
        assert!(!files.remove(b"no/such/directory").await.unwrap(), "{way}");
        assert!(place.path().join("h/p/q/b").exists(), "{way}");
        assert!(files.remove(b"h/p/q/b").await.unwrap(), "{way}");
        assert!(
            !place.path().join("h/p").exists() && place.path().join("h/c").exists(),
            "{way}"
        );
        assert!(files.remove(b"h/c").await.unwrap(), "{way}");
        assert_eq!(contents(place.path()).len(), 0, "{way}");
        assert!(place.path().exists(), "{way}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_none_and_a_base_that_is_not_there_is_an_error() {
    let (place, empty) = (Place::new().await, Place::new().await);
    for (way, files) in &place.ways {
        assert_eq!(files.sum(b"a").await.unwrap(), None, "{way}");
        assert_eq!(files.sum(b"a/b/c").await.unwrap(), None, "{way}");
        for (_, to) in &empty.ways {
            let error = Files::copy(files, to, b"h/a", &Rate::default())
                .await
                .unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{way}");
            assert_eq!(error.to_string(), format!("{files}: h/a: no such file"));
        }
    }
    assert!(contents(empty.path()).is_empty());
    fs::remove_dir(place.path()).unwrap();
    for (way, files) in &place.ways {
        let text = format!(
            "{files}: a: {}: No such file or directory (os error 2)",
            place.path().display()
        );
        assert_eq!(
            files.sum(b"a").await.unwrap_err().to_string(),
            text,
            "{way}"
        );
        assert_eq!(
            files.remove(b"a").await.unwrap_err().to_string(),
            text,
            "{way}"
        );
        assert!(files.list(|_, _| ()).await.is_err(), "{way}");
        assert!(!place.path().exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn copies_and_removals_in_the_same_directories_do_not_hinder_each_other() {
    let (from, to) = (Place::new().await, Place::new().await);
    let rate = Rate::default();
    let mut tasks = Vec::new();
    for task in 0..12 {
        let name = format!("h/p/{task}");
        put(from.path(), &name, &rrd(5000 + task, task as u64));
        let (a, b) = (
            from.ways[task % 3].1.clone(),
            to.ways[task / 3 % 3].1.clone(),
        );
        let rate = rate.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                Files::copy(&a, &b, name.as_bytes(), &rate).await.unwrap();
                assert!(b.remove(name.as_bytes()).await.unwrap());
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert!(
        contents(to.path()).is_empty(),
        "{:?}",
        contents(to.path()).keys()
    );
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_kept() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(from.path(), "a", &rrd(10 * CHUNK, 0));
    let (a, b) = (Files::directory(from.path()), Files::directory(to.path()));
    let start = tokio::time::Instant::now();
    Files::copy(&a, &b, b"a", &Rate::default()).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1)); // by a clock that only waiting advances
    let rate = Rate::new(Some(CHUNK as u64 / 20));
    Files::copy(&a, &b, b"a", &rate).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 9 * 20); // no wait after the last chunk
    Files::copy(&a, &b, b"a", &rate).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 19 * 20);
}

#[test]
fn a_place_is_a_directory_or_an_address() {
    for text in [
        "/var/lib/rrdcached/db",
        "/",
        "unix:/run/files.sock",
        "127.0.0.1:1",
        "host.example:42",
        "[::1]:3",
    ] {
        assert_eq!(Files::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "var/lib", "unix:s", "host", "host:port", ":3", "./db"] {
        let error = Files::parse(text).unwrap_err();
        assert!(
            error.contains(&format!("{text:?}")) && error.contains("/directory"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_file_that_is_put_is_whole_and_says_the_same_each_way() {
    let place = Place::new().await;
    let large = rrd(400_000, 7);
    let (_, first) = &place.ways[0];
    let mut digests = Vec::new();
    for (number, (_, files)) in place.ways.iter().enumerate() {
        let name = format!("d/{number}.rrd");
        assert_eq!(files.digest(name.as_bytes()).await.unwrap(), None);
        files.put(name.as_bytes(), 0o640, &large).await.unwrap();
        let read = first.read(name.as_bytes(), 1 << 20).await.unwrap();
        assert_eq!(read, (large.clone(), 0o640));
        for (_, way) in &place.ways {
            digests.push(way.digest(name.as_bytes()).await.unwrap().unwrap());
        }
        // what is no RRD is not put, and the place keeps what it had
        assert!(files.put(name.as_bytes(), 0o640, b"text").await.is_err());
        assert_eq!(files.read(name.as_bytes(), 1 << 20).await.unwrap().0, large);
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    // a file that is no RRD any more has a digest without a shape
    std::fs::write(place.path().join("d/0.rrd"), b"").unwrap();
    for (_, files) in &place.ways {
        assert_eq!(files.digest(b"d/0.rrd").await.unwrap().unwrap().shape, None);
        let page = files.page(b"", 100).await.unwrap();
        assert_eq!(page.names.len(), place.ways.len() - 1);
    }
    assert!(!has_temporary(place.path()));
}

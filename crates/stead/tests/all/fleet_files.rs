//! Fleets that are read from files: files that the system refuses, files that are not text, and
//! secrets in files of their own.

use std::fs;
use std::path::Path;

use stead::error::{Error, Status};
use stead::fleet::Fleet;

const FLEET: &str = "name = 'm'\n[[node]]\nname = 'a'\n";

fn write(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_file_is_read_and_named_as_it_was_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "fleet.toml", FLEET);
    let fleet = Fleet::read(&path).unwrap();
    assert_eq!(fleet.file, path.display().to_string());
    let path = write(directory.path(), "bad.toml", "name = 'm'\nx = 1\n");
    let message = Fleet::read(&path).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("{}:2: unknown key `x`", path.display())),
        "{message}"
    );
}

#[test]
fn a_file_that_the_system_refuses_is_an_io_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = Fleet::read(directory.path().join("none")).unwrap_err();
    assert_eq!(missing.status(), Status::NotFound);
    assert!(missing.to_string().starts_with("cannot open "));
    let error = Fleet::read(directory.path()).unwrap_err();
    assert_eq!(error.status(), Status::Io);
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot read {}: ", directory.path().display())),
        "{error}"
    );
}

#[test]
fn a_text_that_is_not_utf_8_is_reported_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let utf16: Vec<u8> = "\u{feff}name = 'm'\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, line, words) in [
        (
            b"name = 'm'\r\n# caf\xe9\n".to_vec(),
            2,
            "byte 0xe9 is not UTF-8; save the file as UTF-8",
        ),
        (
            b"name = 'm'\n\xed\xa0\x80".to_vec(),
            2,
            "byte 0xed is not UTF-8; save the file as UTF-8",
        ),
        (
            b"name = 'm'\n\n\xc3".to_vec(),
            3,
            "byte 0xc3 is not UTF-8; save the file as UTF-8",
        ),
        (utf16, 1, "byte 0xff is not UTF-8; save the file as UTF-8"),
        (
            b"name = 'm'\n\0".to_vec(),
            2,
            "a byte is zero, so this is not a text file; is it a fleet?",
        ),
        (
            Vec::new(),
            1,
            "the file is empty; write name = \"...\" and a [[node]]",
        ),
    ] {
        let path = write(directory.path(), "fleet", bytes);
        match Fleet::read(&path).unwrap_err() {
            Error::Fleet {
                file,
                line: found,
                problem,
            } => {
                assert_eq!(
                    (file, found, problem.as_str()),
                    (path.display().to_string(), line, words)
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_file_above_64_mib_is_refused_and_one_of_64_mib_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = FLEET.to_owned();
    text.push_str(&format!("#{}\n", "x".repeat((64 << 20) - text.len() - 2)));
    let path = write(directory.path(), "fleet", &text);
    assert_eq!(Fleet::read(&path).unwrap().nodes.len(), 1);
    let path = write(directory.path(), "fleet", text + "\n");
    let message = Fleet::read(&path).unwrap_err().to_string();
    assert!(
        message.ends_with(
            ":1: the file has more than 64 MiB, the maximum for a fleet; is it a fleet?"
        ),
        "{message}"
    );
}

#[test]
fn the_name_of_a_secret_file_does_not_flood_the_message() {
    let said = |length: usize| {
        let file = "x".repeat(length);
        let text = format!("name = 'm'\nhash = 'siphash'\nsecret_file = '{file}'\nnode = []");
        Fleet::parse(&text, "m.toml").unwrap_err().to_string()
    };
    // what exists may have to be found, and so is shown in full
    assert!(said(200).contains(&"x".repeat(200)), "{}", said(200));
    let long = said(5_000);
    assert!(long.len() < 400, "{long}");
    assert!(
        long.contains("secret_file xxx") && long.contains("File name too long"),
        "{long}"
    );
}

#[test]
fn a_secret_file_stands_beside_the_fleet() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let digits = "00112233445566778899aabbccddeeff";
    let fleet = |secret_file: &str| {
        format!(
            "name = 'm'\nhash = 'siphash'\nsecret_file = '{secret_file}'\nnode = \
            [{{ name = 'a' }}]\n"
        )
    };
    fs::create_dir(at.join("keys")).unwrap();
    for content in [
        digits.to_owned(),
        format!("{digits}\n"),
        format!(" \t\r\n{}\r\n\n", digits.to_uppercase()),
    ] {
        write(&at.join("keys"), "s", content);
        for secret_file in ["keys/s".to_owned(), at.join("keys/s").display().to_string()] {
            let path = write(at, "fleet.toml", fleet(&secret_file));
            for read in [
                Fleet::read(&path),
                Fleet::parse(&fleet(&secret_file), &path.display().to_string()),
            ] {
                let secret = read.unwrap().hash.and_then(|hash| hash.secret()).unwrap();
                assert_eq!((secret.0[0], secret.0[1], secret.0[15]), (0, 0x11, 0xff));
            }
        }
    }
    for (content, file, words) in [
        (
            "",
            "empty",
            "does not hold 32 hex digits and nothing else; write 32 of 0-9 and a-f into it",
        ),
        (&digits[1..], "short", "does not hold 32 hex digits"),
        (&format!("{digits}0"), "long", "does not hold 32 hex digits"),
        (
            &format!("{digits} {digits}"),
            "two",
            "does not hold 32 hex digits",
        ),
        (
            &digits.replace('0', "x"),
            "other",
            "does not hold 32 hex digits",
        ),
        (
            &format!("\u{feff}{digits}"),
            "marked",
            "does not hold 32 hex digits",
        ),
        (
            &format!("{}{digits}", " ".repeat(5000)),
            "wide",
            "does not hold 32 hex digits",
        ),
    ] {
        let secret = write(at, file, content);
        let path = write(at, "fleet.toml", fleet(file));
        let message = Fleet::read(&path).unwrap_err().to_string();
        let start = format!(
            "{}:3: secret_file {} {words}",
            path.display(),
            secret.display()
        );
        assert!(
            message.starts_with(&start) && !message.contains("1122"),
            "{message}"
        );
    }
    for (file, words) in [
        ("none", "cannot be read (No such file"),
        ("keys", "cannot be read (Is a directory"),
        ("a\\u0000b", "cannot be read ("),
    ] {
        let path = write(
            at,
            "fleet.toml",
            fleet(file).replace(&format!("'{file}'"), &format!("\"{file}\"")),
        );
        let message = Fleet::read(&path).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!(
                "{}:3: secret_file {}/",
                path.display(),
                at.display()
            )),
            "{message}"
        );
        assert!(
            message.contains(words)
                && message.ends_with("; correct the path or the file's permissions"),
            "{message}"
        );
    }
    #[cfg(unix)]
    {
        // a file without an end is not read to its end
        let path = write(at, "fleet.toml", fleet("/dev/zero"));
        assert!(Fleet::read(&path)
            .unwrap_err()
            .to_string()
            .contains("does not hold 32 hex digits"));
    }
}

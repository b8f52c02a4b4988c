//! What the store makes of the file system: modes, owners and links, and the errors of places where
//! nothing can be written.

use std::fs::{self, Permissions};
use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use stead::store::{save, SavedPlan};
use stead::{build, Fleet, Map, Status, Store};
use tempfile::TempDir;

/// No machine has a user or a group of this number.
const STRANGER: u32 = 64_003;

fn fleet(nodes: usize) -> Fleet {
    let list: String = (0..nodes)
        .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
        .collect();
    Fleet::parse(&format!("name = 'm'\n{list}"), "fleet").unwrap()
}

fn first() -> Map {
    build(&fleet(1), None).unwrap()
}

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.map");
    (directory, path)
}

fn apply(path: &Path, nodes: usize) -> stead::Result<Map> {
    Store::new(path, 3).apply(&fleet(nodes), None)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn is_root(directory: &TempDir) -> bool {
    fs::metadata(directory.path()).unwrap().uid() == 0
}

/// Runs when another test starts this program again, as another user.
#[test]
#[ignore = "started by another test, as a process of its own"]
fn writes_as_another_user() {
    let [Some(verb), Some(path)] = ["STEAD_TEST_VERB", "STEAD_TEST_MAP"].map(std::env::var_os)
    else {
        return;
    };
    let done = match verb.to_str() {
        Some("save") => save(&build(&fleet(2), None).unwrap(), Path::new(&path)),
        _ => apply(Path::new(&path), 2).map(drop),
    };
    match done {
        Ok(()) => println!("answer: done"),
        Err(error) => println!("answer: {error}"),
    }
}

/// Starts this program again as another user, who saves or applies a map. This needs root and the
/// program setpriv: without one of them, `new` returns `None`.
struct Stranger {
    directory: TempDir,
}

impl Stranger {
    fn new() -> Option<Stranger> {
        let directory = tempfile::tempdir().unwrap();
        let setpriv = Command::new("setpriv").arg("--version").output();
        if !is_root(&directory) || setpriv.is_err() {
            println!("skipped: needs root and setpriv (Debian's util-linux)");
            return None;
        }
        let program = directory.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), program).unwrap();
        set_mode(directory.path(), 0o755);
        Some(Stranger { directory })
    }

    /// Makes a directory that the other user can reach.
    fn directory(&self, mode: u32) -> PathBuf {
        let directory = self.directory.path().join("place");
        fs::create_dir(&directory).unwrap();
        set_mode(&directory, mode);
        directory
    }

    /// Returns `done`, or the error.
    fn says(&self, verb: &str, map: &Path) -> String {
        let test = "access::writes_as_another_user";
        let done = Command::new("setpriv")
            .args([format!("--reuid={STRANGER}"), format!("--regid={STRANGER}")])
            .arg("--clear-groups")
            .arg(self.directory.path().join("program"))
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("STEAD_TEST_VERB", verb)
            .env("STEAD_TEST_MAP", map)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let answer = text
            .split("answer: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        answer.unwrap_or_else(|| panic!("{done:?}")).to_owned()
    }
}

/// Whoever could read a map must be able to read the one that replaces it.
#[test]
fn a_map_that_cannot_be_given_to_its_readers_is_replaced_only_if_everybody_may_read_it() {
    let Some(stranger) = Stranger::new() else {
        return;
    };
    let open = stranger.directory(0o777);
    let path = open.join("m.map");
    save(&first(), &path).unwrap();
    set_mode(&path, 0o640);
    let refused = stranger.says("save", &path);
    assert!(refused.contains("set the owner of"), "{refused}");
    let advice = "of the group root, and only root and members of root can give it to that group";
    assert!(refused.contains(advice), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), first().bytes());
    assert_eq!(
        (fs::metadata(&path).unwrap().uid(), names(&open)),
        (0, vec!["m.map".to_owned()])
    );
    set_mode(&path, 0o644);
    assert_eq!(stranger.says("save", &path), "done");
    let meta = fs::metadata(&path).unwrap();
    assert_eq!((meta.uid(), meta.mode() & 0o777), (STRANGER, 0o644));
}

#[test]
fn a_history_that_cannot_be_made_is_named_in_the_error() {
    let (directory, path) = place();
    // an earlier map left its lock here, so that only the history cannot be made
    let closed = |directory: &Path| {
        let lock = directory.join("m.map.lock");
        fs::write(&lock, "").unwrap();
        set_mode(&lock, 0o666);
        set_mode(directory, 0o555);
    };
    let refused = if is_root(&directory) {
        let Some(stranger) = Stranger::new() else {
            return;
        };
        let place = stranger.directory(0o777);
        closed(&place);
        stranger.says("apply", &place.join("m.map"))
    } else {
        closed(directory.path());
        let refused = apply(&path, 2).unwrap_err();
        set_mode(directory.path(), 0o755);
        assert_eq!(refused.status(), Status::Permission);
        refused.to_string()
    };
    assert!(
        refused.starts_with("cannot create ") && refused.contains("/m.map.history: "),
        "{refused}"
    );
}

#[test]
fn a_history_is_as_secret_as_its_map() {
    for (of_map, at_most) in [(0o600, 0o700), (0o640, 0o770), (0o604, 0o707)] {
        let (_directory, path) = place();
        save(&first(), &path).unwrap();
        set_mode(&path, of_map);
        apply(&path, 2).unwrap();
        let history = path.with_extension("map.history");
        // the umask takes away more
        let others = mode(&history) & !at_most;
        assert_eq!((mode(&history) & 0o700, others), (0o700, 0), "{of_map:o}");
    }
}

#[test]
fn a_history_of_somebody_who_may_write_beside_the_map_by_the_group_is_trusted() {
    let (directory, path) = place();
    if !is_root(&directory) {
        println!("skipped: only root can give files away");
        return;
    }
    apply(&path, 1).unwrap();
    let history = path.with_extension("map.history");
    let group = STRANGER + 1;
    chown(directory.path(), None, Some(group)).unwrap();
    for (of_history, of_directory, is_trusted) in [
        (group, 0o775, true),
        (group, 0o755, false),
        (STRANGER, 0o775, false),
        (0, 0o775, false),
    ] {
        chown(&history, Some(STRANGER), Some(of_history)).unwrap();
        set_mode(directory.path(), of_directory);
        let answer = Store::new(&path, 3).refuse_symlink();
        assert_eq!(answer.is_ok(), is_trusted, "{of_history} {of_directory:o}");
        if let Err(error) = answer {
            assert!(error.to_string().contains("belongs to user 64003"));
        }
    }
}

#[test]
fn a_new_log_is_for_those_who_may_read_the_map_and_a_log_that_is_there_keeps_its_mode() {
    let (_directory, path) = place();
    apply(&path, 1).unwrap();
    let log = path.with_extension("map.history").join("log");
    // a mode that no usual umask lets a new file have
    set_mode(&path, 0o666);
    fs::remove_file(&log).unwrap();
    apply(&path, 2).unwrap();
    assert_eq!((mode(&path), mode(&log)), (0o666, 0o666));
    set_mode(&log, 0o600);
    apply(&path, 3).unwrap();
    assert_eq!((mode(&path), mode(&log)), (0o666, 0o600));
    assert_eq!(Store::new(&path, 3).log().len(), 2);
}

#[test]
fn a_log_that_is_a_symbolic_link_is_not_written_through() {
    let (directory, path) = place();
    apply(&path, 1).unwrap();
    let log = path.with_extension("map.history").join("log");
    let away = directory.path().join("away");
    fs::write(&away, "mine\n").unwrap();
    fs::remove_file(&log).unwrap();
    symlink(&away, &log).unwrap();
    // the map is published without its story
    assert_eq!(apply(&path, 2).unwrap().epoch(), 2);
    assert_eq!(fs::read(&away).unwrap(), b"mine\n");
}

#[test]
fn an_error_names_the_file_that_was_given_and_not_a_temporary_one() {
    let (directory, _) = place();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let long = "m".repeat(300);
    for path in [file.join("m.map"), directory.path().join(long)] {
        let start = format!("cannot stat {}: ", path.display());
        for error in [
            save(&first(), &path).unwrap_err(),
            SavedPlan::write(&first(), &path).unwrap_err(),
        ] {
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_map_whose_history_would_have_too_long_a_name_is_refused_before_anything_is_written() {
    let (directory, _) = place();
    // with `.lock` it has 255 bytes, and with `.history` more
    let path = directory.path().join("m".repeat(250));
    let store = Store::new(&path, 3);
    for error in [
        store.refuse_symlink().unwrap_err(),
        store.publish(None, &first()).unwrap_err(),
    ] {
        let start = format!("cannot stat {}.history: ", path.display());
        assert!(error.to_string().starts_with(&start), "{error}");
    }
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn a_first_publish_that_cannot_write_the_map_removes_the_history_that_it_made() {
    let (directory, _) = place();
    // lock and history can be made; the names of temporary files are too long
    let path = directory.path().join("m".repeat(240));
    Store::new(&path, 3).publish(None, &first()).unwrap_err();
    assert_eq!(names(directory.path()), [""; 0]);
    // one that was there stays, even if it is empty
    let history = directory
        .path()
        .join(format!("{}.history", "m".repeat(240)));
    fs::create_dir(&history).unwrap();
    Store::new(&path, 3).publish(None, &first()).unwrap_err();
    assert!(history.is_dir());
}

#[test]
fn a_history_that_cannot_be_listed_is_an_error_and_not_an_empty_one() {
    let (_directory, path) = place();
    apply(&path, 1).unwrap();
    let history = path.with_extension("map.history");
    fs::remove_dir_all(&history).unwrap();
    assert_eq!(Store::new(&path, 3).history().unwrap(), [1]);
    fs::write(&history, "").unwrap();
    let error = Store::new(&path, 3).history().unwrap_err();
    assert_eq!(error.status(), Status::Io);
    let start = format!("cannot list {}: ", history.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

//! Whose a journal is, for messages: the user who owns it, and the process that has its lock, as
//! the kernel lists it. The lock itself decides who may go on.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use crate::exit::Failure;

/// Where the kernel lists the locks of all processes.
const LOCKS: &str = "/proc/locks";

/// Says who has the lock of a file: `another process (4711)`. The number is left out where the
/// kernel does not list it, such as for a process in another container.
pub fn who(path: &Path) -> String {
    let number = File::open(path).ok().and_then(|file| number(&file));
    number.map_or("another process".to_owned(), |number| {
        format!("another process ({number})")
    })
}

fn number(file: &File) -> Option<u32> {
    let meta = file.metadata().ok()?;
    let locks = fs::read_to_string(LOCKS).ok()?;
    // of a process that was killed, a command that it had started may still have the lock
    number_in(&locks, meta.dev(), meta.ino())
        .filter(|number| Path::new("/proc").join(number.to_string()).exists())
}

/// Finds the process in lines such as `7: FLOCK  ADVISORY  WRITE 4711 fe:00:1052 0 EOF`. One that
/// waits for a lock has an arrow before its kind.
fn number_in(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let place = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let number = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, _, number, at, ..] if at == place => number.parse().ok(),
            _ => None,
        }
    };
    locks.lines().find_map(number).filter(|number| *number > 0)
}

/// The failure of a journal that cannot be used, with whose it is where another user has it.
pub fn closed(action: &'static str, path: &Path, error: io::Error) -> Failure {
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    let mut failure = Failure::from(stead::Error::io(action, path, error));
    if denied {
        failure.line += ", or carry as the user who began; `journal` in the file of the carry \
                         names another place, which knows nothing of what was done";
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::PERMISSION;

    #[test]
    fn a_journal_of_another_user_says_whose_it_is_and_what_to_do() {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure = closed("open", Path::new("/etc/passwd"), error);
        assert_eq!(failure.code, PERMISSION);
        let line = &failure.line;
        assert!(line.starts_with("cannot open /etc/passwd: "), "{line}");
        assert!(line.contains("; it belongs to root:root"), "{line}");
        assert!(line.contains("carry as the user who began"), "{line}");
        let error = io::Error::from(io::ErrorKind::StorageFull);
        let failure = closed("open", Path::new("/etc/passwd"), error);
        assert!(!failure.line.contains("carry as"), "{}", failure.line);
    }

    #[test]
    fn the_holder_of_a_lock_is_found_and_not_who_waits_for_it() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fe:00:1052 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 12 fe:00:1053 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 fe:00:1052 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 14 fe:00:1052 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 0 fe:00:1054 0 EOF\n";
        let device = rustix::fs::makedev(0xfe, 0);
        let found = [1052, 1053, 1054, 1055].map(|inode| number_in(locks, device, inode));
        assert_eq!(found, [Some(13), Some(12), None, None]);
    }
}

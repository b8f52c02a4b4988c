//! Notices of the kernel that something in a directory was renamed or written.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::inotify;

/// The notices of one directory.
pub struct Notices {
    queue: OwnedFd,
}

impl Notices {
    /// Asks for the notices of a directory. `None` where the kernel gives none.
    pub fn of(directory: &Path) -> Option<Notices> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let queue = inotify::init(flags).ok()?;
        let wanted = inotify::WatchFlags::MOVED_TO
            | inotify::WatchFlags::CLOSE_WRITE
            | inotify::WatchFlags::DELETE;
        inotify::add_watch(&queue, directory, wanted).ok()?;
        Some(Notices { queue })
    }

    /// Waits for a notice, at most so long.
    pub fn wait(&mut self, most: Duration) {
        let most = Timespec::try_from(most).ok();
        let mut asked = [PollFd::new(&self.queue, PollFlags::IN)];
        // an interrupted wait is a short one
        if poll(&mut asked, most.as_ref()).is_ok_and(|ready| ready > 0) {
            // what happened does not matter: the map is looked at
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut notices = inotify::Reader::new(&self.queue, &mut buffer);
            while notices.next().is_ok() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_rename_wakes_and_is_taken_from_the_queue() {
        let directory = tempfile::tempdir().unwrap();
        let mut notices = Notices::of(directory.path()).unwrap();
        fs::write(directory.path().join("a"), b"x").unwrap();
        fs::rename(directory.path().join("a"), directory.path().join("b")).unwrap();
        // if nothing woke it, this would last for an hour
        notices.wait(Duration::from_secs(3600));
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut left = inotify::Reader::new(&notices.queue, &mut buffer);
        assert!(left.next().is_err());
        assert!(Notices::of(&directory.path().join("none")).is_none());
    }
}

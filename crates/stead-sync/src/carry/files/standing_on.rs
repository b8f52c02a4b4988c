//! What a root stands on: which mount, which file system, which directory there.
//!
//! Numbers of devices change when a machine is started again, and so do the names of disks. What
//! stays is the place of the mount, the sort of its file system, the id of that file system where
//! one is known, and the number of the root's inode there.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fstatfs, fstatvfs, statx, AtFlags, StatxAttributes, StatxFlags, CWD};

use crate::carry::kind::{told, Ground};

/// The file systems whose ids are made of what is written on the disk: ext2, ext3, ext4, and btrfs.
const WITH_ID: [u64; 2] = [0xEF53, 0x9123_683E];

/// Returns what a root stands on.
pub fn ground(root: &Path) -> io::Result<Ground> {
    // opening it mounts what is mounted when somebody needs it
    let open = File::open(root)?;
    let meta = open.metadata()?;
    let path = fs::canonicalize(root)?;
    let mount = mount_of(&path)?;
    let sort = fstatfs(&open)?.f_type as u64;
    let id = match WITH_ID.contains(&sort) {
        true => Some(fstatvfs(&open)?.f_fsid).filter(|id| *id != 0),
        false => None,
    };
    Ok(Ground {
        root: told(root.as_os_str().as_bytes()),
        mount: told(mount.as_os_str().as_bytes()),
        system: name(mount).unwrap_or_else(|| format!("{sort:x}")),
        id: id
            .map(|id| format!("{id:016x}"))
            .or_else(|| uuid(meta.dev())),
        inode: meta.ino(),
    })
}

/// Returns where the file system is mounted that a path without links is on.
fn mount_of(path: &Path) -> io::Result<&Path> {
    for above in path.ancestors() {
        let Some(parent) = above.parent() else {
            return Ok(above);
        };
        let found = statx(CWD, above, AtFlags::empty(), StatxFlags::empty())?;
        let flag = StatxAttributes::MOUNT_ROOT;
        // Linux before 5.8 does not know it, and then a mount of a part of the same file system
        // cannot be told
        let is_mount = match found.stx_attributes_mask.contains(flag) {
            true => found.stx_attributes.contains(flag),
            false => fs::metadata(above)?.dev() != fs::metadata(parent)?.dev(),
        };
        if is_mount {
            return Ok(above);
        }
    }
    Ok(path)
}

/// Returns what the system calls the sort of file system that is mounted at a place.
fn name(mount: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    // a mount that covers another one is further below
    mounts.lines().rev().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let place = before.split(' ').nth(4)?;
        let is_this = unescaped(place).as_deref() == Some(mount.as_os_str().as_bytes());
        let sort = after.split(' ').next().filter(|_| is_this)?;
        Some(sort.to_owned())
    })
}

/// Reads a path of the list of mounts, where blanks and the like are written `\040`.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        bytes.extend(plain.as_bytes());
        bytes.push(u8::from_str_radix(escaped.get(..3)?, 8).ok()?);
        rest = &escaped[3..];
    }
    bytes.extend(rest.as_bytes());
    Some(bytes)
}

/// Returns the UUID of the file system on a device, where the system lists it.
fn uuid(device: u64) -> Option<String> {
    let listed = fs::read_dir("/dev/disk/by-uuid").ok()?;
    let mut listed = listed.filter_map(Result::ok);
    let is_this = |path: PathBuf| fs::metadata(path).is_ok_and(|meta| meta.rdev() == device);
    let found = listed.find(|entry| is_this(entry.path()))?;
    Some(told(found.file_name().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_on_the_mount_above_it() {
        let proc = ground(Path::new("/proc/self")).unwrap();
        assert_eq!((&proc.mount[..], &proc.system[..]), ("/proc", "proc"));
        assert_eq!(mount_of(Path::new("/")).unwrap(), Path::new("/"));
        assert!(ground(Path::new("/no/such/directory")).is_err());
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let (outer, inner) = (ground(directory.path()).unwrap(), ground(&inside).unwrap());
        assert_eq!(
            (&outer.mount, &outer.system, &outer.id),
            (&inner.mount, &inner.system, &inner.id)
        );
        assert!(outer.inode != inner.inode);
    }

    #[test]
    fn places_of_mounts_are_read_with_their_blanks() {
        assert_eq!(
            unescaped(r"/srv/my\040disk\134x").unwrap(),
            b"/srv/my disk\\x"
        );
        assert_eq!(unescaped("/srv").unwrap(), b"/srv");
        assert_eq!(unescaped(r"/srv\9"), None);
    }
}

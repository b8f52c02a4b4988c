//! Copies the extended attributes of a file or directory, and with them its ACLs, which Linux keeps
//! in such attributes.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{fgetxattr, flistxattr, fremovexattr, fsetxattr, XattrFlags};
use rustix::io::Errno;

/// Linux's limit of a list of names, and of a value: XATTR_LIST_MAX and XATTR_SIZE_MAX.
const MOST: usize = 1 << 16;

/// The attributes that belong to the data: those of applications, ACLs, and capabilities. Others
/// are the system's own (the labels of SELinux, what an overlay notes), and differ by place.
fn is_kept(name: &str) -> bool {
    name.starts_with("user.")
        || matches!(
            name,
            "system.posix_acl_access" | "system.posix_acl_default" | "security.capability"
        )
}

/// Gives a new file or directory the attributes of another one, and takes away those that it got
/// from the directory it was made in.
pub fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    let (wanted, present) = (names(from)?, names(to)?);
    for name in &present {
        if !wanted.contains(name) {
            fremovexattr(to.as_fd(), name).map_err(|error| failed(name, error))?;
        }
    }
    for name in &wanted {
        let value = value(from, name).map_err(|error| failed(name, error))?;
        fsetxattr(to.as_fd(), name, &value, XattrFlags::empty())
            .map_err(|error| failed(name, error))?;
    }
    Ok(())
}

fn names(file: &File) -> io::Result<Vec<String>> {
    let list = match whole(|buffer| flistxattr(file.as_fd(), buffer)) {
        // the file system has none
        Err(Errno::OPNOTSUPP) => Vec::new(),
        list => list?,
    };
    let names = list.split(|byte| *byte == 0);
    let names = names.filter_map(|name| std::str::from_utf8(name).ok());
    Ok(names
        .filter(|name| is_kept(name))
        .map(str::to_owned)
        .collect())
}

fn value(file: &File, name: &str) -> Result<Vec<u8>, Errno> {
    whole(|buffer| fgetxattr(file.as_fd(), name, buffer))
}

/// Reads what has at most 64 KiB.
fn whole(read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; MOST];
    let size = read(&mut buffer)?;
    buffer.truncate(size);
    Ok(buffer)
}

fn failed(name: &str, error: Errno) -> io::Error {
    io::Error::other(format!(
        "its extended attribute {name}: {}; `attributes = false` leaves these out",
        io::Error::from(error)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACL in the form of the kernel: version 2, then tag, permissions and id of each entry.
    fn acl() -> Vec<u8> {
        let mut bytes = 2u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in [
            (0x01u16, 6u16, u32::MAX),
            (0x02, 4, 12_345),
            (0x04, 4, u32::MAX),
            (0x10, 4, u32::MAX),
            (0x20, 0, u32::MAX),
        ] {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn attributes_and_acls_are_copied_and_inherited_ones_are_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name| File::create_new(directory.path().join(name)).unwrap();
        let (from, to) = (file("from"), file("to"));
        let set = |file: &File, name: &str, value: &[u8]| {
            fsetxattr(file.as_fd(), name, value, XattrFlags::empty())
        };
        if set(&from, "user.note", b"a\0b").is_err() {
            eprintln!("skipped: the file system of temporary files has no extended attributes");
            return;
        }
        set(&from, "user.empty", b"").unwrap();
        set(&from, "system.posix_acl_access", &acl()).unwrap();
        set(&to, "user.inherited", b"x").unwrap();
        copy_attributes(&from, &to).unwrap();
        let mut found = names(&to).unwrap();
        found.sort();
        assert_eq!(
            found,
            ["system.posix_acl_access", "user.empty", "user.note"]
        );
        for name in found {
            assert_eq!(value(&to, &name), value(&from, &name), "{name}");
        }
        copy_attributes(&file("plain"), &to).unwrap();
        assert_eq!(names(&to).unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_directory_has_them_too() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name| {
            std::fs::create_dir(directory.path().join(name)).unwrap();
            File::open(directory.path().join(name)).unwrap()
        };
        let (from, to) = (open("from"), open("to"));
        let name = "system.posix_acl_default";
        match fsetxattr(from.as_fd(), name, &acl(), XattrFlags::empty()) {
            Ok(()) => {
                copy_attributes(&from, &to).unwrap();
                assert_eq!(value(&to, name).unwrap(), acl());
            }
            Err(_) => eprintln!("skipped: the file system of temporary files has no ACLs"),
        }
    }
}

//! The extended attributes of a file or directory, and with them its ACLs, which Linux keeps in
//! such attributes.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{fgetxattr, flistxattr, fremovexattr, fsetxattr, XattrFlags};
use rustix::io::Errno;

use super::base64_bytes::Bytes;

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

/// An attribute: its name and its value.
pub type Attribute = (String, Bytes);

/// Returns the attributes of a file or directory.
pub fn attributes(file: &File) -> io::Result<Vec<Attribute>> {
    let names = names(file)?.into_iter();
    let each = names.map(|name| {
        let value = whole(|buffer| fgetxattr(file.as_fd(), &name, buffer));
        let value = value.map_err(|error| failed(&name, error))?;
        Ok((name, Bytes(value)))
    });
    each.collect()
}

/// Gives a new file or directory these attributes, and takes away those that it got from the
/// directory it was made in.
pub fn set_attributes(file: &File, wanted: &[Attribute]) -> io::Result<()> {
    for name in names(file)? {
        if wanted.iter().all(|(other, _)| *other != name) {
            fremovexattr(file.as_fd(), &name).map_err(|error| failed(&name, error))?;
        }
    }
    for (name, value) in wanted {
        fsetxattr(file.as_fd(), name, &value.0, XattrFlags::empty())
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
        set_attributes(&to, &attributes(&from).unwrap()).unwrap();
        let sorted = |file: &File| {
            let mut found = attributes(file).unwrap();
            found.sort();
            found
        };
        let names: Vec<String> = sorted(&to).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["system.posix_acl_access", "user.empty", "user.note"]
        );
        assert_eq!(sorted(&to), sorted(&from));
        set_attributes(&to, &attributes(&file("plain")).unwrap()).unwrap();
        assert!(sorted(&to).is_empty());
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
                set_attributes(&to, &attributes(&from).unwrap()).unwrap();
                let found = attributes(&to).unwrap();
                assert_eq!(found, [(name.to_owned(), Bytes(acl()))]);
            }
            Err(_) => eprintln!("skipped: the file system of temporary files has no ACLs"),
        }
    }
}

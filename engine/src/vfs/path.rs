//! Names, components and limits of paths.
//!
//! Owns: what a name is, and how a path falls into components. Not here: what a component leads to ([`super::resolve`]).

use crate::errno::{Errno, SysResult};

/// Bytes in one name. Source: Linux `NAME_MAX`.
pub const NAME_MAX: usize = 255;
/// Bytes in one path. Source: Linux `PATH_MAX`, less its NUL.
pub const PATH_MAX: usize = 4095;
/// Symbolic links that one resolution follows before it is `Loop`. Source: `path_resolution(7)`.
pub(super) const LINKS_MAX: u32 = 40;
/// Directories between `/` and one that a path can reach. Linux has no such limit; a chain of parents is kept in memory here.
pub(super) const DEPTH_MAX: usize = 4096;

/// One path component: not empty, no `/`, no NUL, neither `.` nor `..`, at most [`NAME_MAX`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks a name.
    ///
    /// # Errors
    /// In this order: `NotFound` when it is empty, `NameTooLong`, `Invalid` for `.`, `..`, a slash or a NUL.
    pub fn new(bytes: &'a [u8]) -> SysResult<Self> {
        if bytes.is_empty() {
            return Err(Errno::NotFound);
        }
        if bytes.len() > NAME_MAX {
            return Err(Errno::NameTooLong);
        }
        if bytes == b"." || bytes == b".." || bytes.iter().any(|&byte| byte == b'/' || byte == 0) {
            return Err(Errno::Invalid);
        }
        Ok(Self(bytes))
    }

    /// The bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Checks what holds for every path argument.
///
/// # Errors
/// `NotFound` for an empty path, `NameTooLong` above [`PATH_MAX`], `Invalid` for an embedded NUL.
pub(super) fn check(path: &[u8]) -> SysResult<()> {
    if path.is_empty() {
        return Err(Errno::NotFound);
    }
    if path.len() > PATH_MAX {
        return Err(Errno::NameTooLong);
    }
    if path.contains(&0) {
        return Err(Errno::Invalid);
    }
    Ok(())
}

/// Cuts the first component off: it, and what is left behind it. Slashes before it are skipped; `None` when there is none.
pub(super) fn split_first(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = path.iter().position(|&byte| byte != b'/')?;
    let path = path.get(start..)?;
    let end = path
        .iter()
        .position(|&byte| byte == b'/')
        .unwrap_or(path.len());
    path.split_at_checked(end)
}

/// Whether no component is left: nothing, or only slashes.
pub(super) fn is_blank(rest: &[u8]) -> bool {
    rest.iter().all(|&byte| byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_plain_component() {
        assert_eq!(Name::new(b"a").map(Name::as_bytes), Ok(&b"a"[..]));
        assert_eq!(Name::new(b"...").map(Name::as_bytes), Ok(&b"..."[..]));
        assert_eq!(Name::new(b""), Err(Errno::NotFound));
        for bad in [&b"."[..], b"..", b"a/b", b"/", b"a\0"] {
            assert_eq!(Name::new(bad), Err(Errno::Invalid), "{bad:?}");
        }
        assert!(Name::new(&[b'x'; NAME_MAX]).is_ok());
        assert_eq!(Name::new(&[b'x'; NAME_MAX + 1]), Err(Errno::NameTooLong));
    }

    #[test]
    fn a_path_has_a_length_and_no_nul() {
        assert!(check(&[b'x'; PATH_MAX]).is_ok());
        assert_eq!(check(&[b'x'; PATH_MAX + 1]), Err(Errno::NameTooLong));
        assert_eq!(check(b"a\0b"), Err(Errno::Invalid));
        assert_eq!(check(b""), Err(Errno::NotFound));
    }

    #[test]
    fn components_are_split_at_any_number_of_slashes() {
        assert_eq!(split_first(b"//a//b/"), Some((&b"a"[..], &b"//b/"[..])));
        assert_eq!(split_first(b"b"), Some((&b"b"[..], &b""[..])));
        assert_eq!(split_first(b"//"), None);
        assert!(is_blank(b"") && is_blank(b"//") && !is_blank(b"/a"));
    }
}

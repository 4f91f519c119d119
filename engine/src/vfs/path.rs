//! Names and limits of paths.

/// Bytes in one name. Source: Linux `NAME_MAX`.
pub const NAME_MAX: usize = 255;
/// Bytes in one path. Source: Linux `PATH_MAX`, less its NUL.
pub const PATH_MAX: usize = 4095;

/// One path component: not empty, no `/`, no NUL, neither `.` nor `..`, at most [`NAME_MAX`] bytes.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Name([u8]);

impl Name {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

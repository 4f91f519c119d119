//! Reading a directory to its end.

use parking_lot::Mutex;

use super::resolve::DOT_ENTRIES;
use super::{DirEntry, Place};
use crate::errno::SysResult;

/// The reading position of one open directory: what a description of a directory keeps.
///
/// Cookies are those of [`Place::read_directory`] and stay good after every change. What this adds is speed: a back end that
/// has to read a whole directory to answer at all (a host's) is asked once an iteration, not once a call. Cookie 0 begins anew.
#[derive(Debug)]
pub struct DirectoryListing {
    place: Place,
    /// All entries behind `.` and `..`, of a back end whose listings are whole; ascending by cookie.
    whole: Mutex<Option<Vec<(u64, DirEntry)>>>,
}

impl DirectoryListing {
    /// A listing that stands at the beginning.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            whole: Mutex::new(None),
        }
    }

    /// The directory.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Lists entries after `cookie` (0 is the beginning), at most `max`; `.` and `..` first. Empty at the end.
    ///
    /// # Errors
    /// As [`Place::read_directory`].
    pub fn read(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        if !self.place.inode.lists_whole() {
            return self.place.read_directory(cookie, max);
        }
        let mut entries = self.place.dot_entries(cookie, max)?;
        let left = max.saturating_sub(entries.len());
        let mut whole = self.whole.lock();
        if cookie == 0 {
            *whole = None;
        }
        if left > 0 {
            let list = match &mut *whole {
                Some(list) => list,
                none => none.insert(self.place.inode.read_directory(0, usize::MAX)?),
            };
            let after = cookie.saturating_sub(DOT_ENTRIES);
            let start = list.partition_point(|&(cookie, _)| cookie <= after);
            let rest = list.get(start..).unwrap_or_default();
            entries.extend(
                rest.iter()
                    .take(left)
                    .map(|(cookie, entry)| (cookie + DOT_ENTRIES, entry.clone())),
            );
            if entries.is_empty() {
                // The end was told: the memory is not the guest's to keep.
                *whole = None;
            }
        }
        Ok(entries)
    }
}

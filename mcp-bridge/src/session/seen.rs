//! What a client has seen of a sandbox's files, so that it never overwrites what it does not know.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sandbar::Metadata;
use sha2::Digest;

use crate::limits;

/// A file's state when it was last read or written through a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    size: u64,
    modified: i64,
    /// SHA-256 of the contents, of files up to [`limits::EDIT_BYTES`].
    content: Option<[u8; 32]>,
}

impl Fingerprint {
    /// Of a file with these contents.
    pub(crate) fn of(metadata: &Metadata, content: Option<[u8; 32]>) -> Self {
        Self {
            size: metadata.size,
            modified: metadata.modified,
            content,
        }
    }

    /// Of contents alone.
    pub(crate) fn hash(bytes: &[u8]) -> [u8; 32] {
        sha2::Sha256::digest(bytes).into()
    }

    /// Whether both are of the same contents. A file that was only touched has not changed.
    fn same(&self, other: &Self) -> bool {
        self.size == other.size
            && match (self.content, other.content) {
                (Some(own), Some(other)) => own == other,
                _ => self.modified == other.modified,
            }
    }
}

/// How a file stands to what was last seen of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Staleness {
    /// It is as it was seen.
    Current,
    /// It was never seen.
    NeverSeen,
    /// It has changed since.
    Changed,
}

/// The files that were seen, by absolute path.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    files: Mutex<BTreeMap<Vec<u8>, Fingerprint>>,
}

impl SeenFiles {
    /// Remembers a file. At the limit everything is forgotten, and files have to be read again.
    pub(super) fn remember(&self, path: Vec<u8>, fingerprint: Fingerprint) {
        let mut files = self.files.lock();
        if files.len() >= limits::SEEN_FILES {
            files.clear();
        }
        files.insert(path, fingerprint);
    }

    /// Compares a file with what was seen of it.
    pub(super) fn compare(&self, path: &[u8], now: &Fingerprint) -> Staleness {
        match self.files.lock().get(path) {
            None => Staleness::NeverSeen,
            Some(seen) if seen.same(now) => Staleness::Current,
            Some(_) => Staleness::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(size: u64, modified: i64, content: Option<&[u8]>) -> Fingerprint {
        Fingerprint {
            size,
            modified,
            content: content.map(Fingerprint::hash),
        }
    }

    #[test]
    fn a_file_is_current_until_its_contents_change() {
        let seen = SeenFiles::default();
        assert_eq!(
            seen.compare(b"/f", &print(1, 1, Some(b"a"))),
            Staleness::NeverSeen
        );
        seen.remember(b"/f".to_vec(), print(1, 1, Some(b"a")));
        assert_eq!(
            seen.compare(b"/f", &print(1, 1, Some(b"a"))),
            Staleness::Current
        );
        assert_eq!(
            seen.compare(b"/f", &print(1, 9, Some(b"a"))),
            Staleness::Current
        );
        assert_eq!(
            seen.compare(b"/f", &print(1, 1, Some(b"b"))),
            Staleness::Changed
        );
        assert_eq!(
            seen.compare(b"/f", &print(2, 1, Some(b"ab"))),
            Staleness::Changed
        );
    }

    #[test]
    fn a_large_file_is_known_by_size_and_time() {
        let seen = SeenFiles::default();
        seen.remember(b"/f".to_vec(), print(9, 1, None));
        assert_eq!(seen.compare(b"/f", &print(9, 1, None)), Staleness::Current);
        assert_eq!(seen.compare(b"/f", &print(9, 2, None)), Staleness::Changed);
    }
}

//! Listing a host directory.

use std::hash::{DefaultHasher, Hasher as _};

use cap_std::fs::Dir;

use super::super::DirEntry;
use super::os;
use crate::errno::SysResult;

/// Entries of one directory that are listed: a bound for the host's memory.
const ENTRIES_MAX: usize = 1 << 20;

/// Entries with their cookies, ascending.
///
/// A cookie is a number made of the name, so that it means the same in every listing of the directory: whatever comes and goes
/// between two of them, an entry that stays is found behind the same ones.
pub(super) type Listing = Vec<(u64, DirEntry)>;

/// Reads all entries; `ino` makes a guest's inode number of the host's.
///
/// # Errors
/// `NoMemory` for more than [`ENTRIES_MAX`] entries, `Io`.
pub(super) fn read(dir: &Dir, ino: impl Fn(u64) -> u64) -> SysResult<Listing> {
    let mut entries: Vec<_> = os::read_directory(dir, ENTRIES_MAX)?
        .into_iter()
        .map(|(name, host_ino, file_type)| {
            let ino = ino(host_ino);
            let cookie = name_cookie(&name);
            (
                cookie,
                DirEntry {
                    name,
                    ino,
                    file_type,
                },
            )
        })
        .collect();
    entries.sort_unstable_by(|(one, a), (other, b)| (one, &a.name).cmp(&(other, &b.name)));
    let mut previous = 0;
    for (own, _) in &mut entries {
        // Two names of one number, which takes billions of files, get neighbouring ones.
        *own = (*own).max(previous + 1);
        previous = *own;
    }
    Ok(entries)
}

/// A number for a name, the same in every call: positive, and small enough to be counted on from.
fn name_cookie(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name);
    (hasher.finish() >> 2).max(1)
}

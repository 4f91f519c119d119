//! The directory of compiled code on disk.
#![expect(
    clippy::disallowed_methods,
    reason = "the cache is a directory of its own that no guest reaches"
)]

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::module_cache::ModuleKey;
use crate::error::{Error, ErrorKind, Result};

/// A cache directory: mode 0700, owned by this user.
#[derive(Debug)]
pub(super) struct CacheDir {
    path: PathBuf,
}

/// What is there for a key.
#[derive(Debug)]
pub(super) enum Entry {
    /// The file that was checked.
    Good(File),
    /// Nothing.
    Missing,
    /// Something that is not what the index says.
    Damaged,
}

/// An entry's line in the index: the file's identity when it was written, and its hash.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Index {
    sha256: String,
    ino: u64,
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    })
}

#[expect(
    clippy::unnecessary_cast,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    trivial_numeric_casts,
    reason = "the fields' types differ between systems"
)]
fn identity(stat: &Stat, sha256: String) -> Index {
    Index {
        sha256,
        ino: stat.st_ino as u64,
        size: stat.st_size as u64,
        mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

impl CacheDir {
    /// Opens or makes it.
    ///
    /// # Errors
    /// `HostIo` when it cannot be made; `Invalid` when somebody else can write to it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |what: &'static str| {
            move |source: std::io::Error| -> Error {
                ErrorKind::HostIo {
                    what,
                    path: path.to_owned(),
                    source,
                }
                .into()
            }
        };
        crate::host::create_private_dir(path).map_err(failed("create cache directory"))?;
        let dir = File::open(path).map_err(failed("open cache directory"))?;
        let stat = rustix::fs::fstat(&dir)
            .map_err(|error| failed("look at cache directory")(error.into()))?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(ErrorKind::Invalid {
                what: "cache directory",
                reason: format!("`{}` belongs to another user", path.display()),
            }
            .into());
        }
        if mode.intersects(Mode::RWXG | Mode::RWXO) {
            rustix::fs::fchmod(&dir, Mode::RWXU)
                .map_err(|error| failed("protect cache directory")(error.into()))?;
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    fn code(&self, key: &ModuleKey) -> PathBuf {
        self.path.join(format!("{}.cwasm", hex(key)))
    }

    fn index(&self, key: &ModuleKey) -> PathBuf {
        self.path.join(format!("{}.json", hex(key)))
    }

    /// A lock that other processes respect; `None` where the file system has none, which costs only double work.
    pub(super) fn lock(&self, key: &ModuleKey) -> Option<File> {
        let path = self.path.join(format!("{}.lock", hex(key)));
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(path)
            .ok()?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).ok()?;
        Some(file)
    }

    /// The checked entry.
    pub(super) fn get(&self, key: &ModuleKey) -> Entry {
        let Ok(mut file) = File::open(self.code(key)) else {
            return Entry::Missing;
        };
        let Some(index) = self.read_index(key) else {
            return Entry::Damaged;
        };
        let Ok(stat) = rustix::fs::fstat(&file) else {
            return Entry::Damaged;
        };
        if identity(&stat, index.sha256.clone()) == index {
            return Entry::Good(file);
        }
        // Copied or touched: the contents decide.
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => hasher.update(&buffer[..count]),
                Err(_) => return Entry::Damaged,
            }
        }
        if hex(&hasher.finalize()) != index.sha256 {
            return Entry::Damaged;
        }
        if let Err(error) = self.write_index(key, &identity(&stat, index.sha256)) {
            tracing::debug!(%error, "the index of a cache entry could not be renewed");
        }
        Entry::Good(file)
    }

    fn read_index(&self, key: &ModuleKey) -> Option<Index> {
        let text = std::fs::read(self.index(key)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write_index(&self, key: &ModuleKey, index: &Index) -> std::io::Result<()> {
        let text = serde_json::to_vec(index)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(&text)?;
        file.persist(self.index(key))?;
        Ok(())
    }

    /// Stores an entry and gives it back opened. Keeps the directory below `limit` bytes by removing the entries used least
    /// recently.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn put(&self, key: &ModuleKey, code: &[u8], limit: u64) -> std::io::Result<File> {
        self.make_room(limit.saturating_sub(code.len() as u64));
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(code)?;
        file.as_file().sync_all()?;
        let path = self.code(key);
        file.persist(&path)?;
        let file = File::open(path)?;
        let stat = rustix::fs::fstat(&file)?;
        self.write_index(key, &identity(&stat, hex(&Sha256::digest(code))))?;
        Ok(file)
    }

    /// Removes an entry.
    pub(super) fn remove(&self, key: &ModuleKey) {
        for path in [self.index(key), self.code(key)] {
            if let Err(error) = std::fs::remove_file(&path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::debug!(%error, path = %path.display(), "a cache entry could not be removed");
            }
        }
    }

    fn make_room(&self, room: u64) {
        if room == u64::MAX {
            return;
        }
        let Ok(list) = std::fs::read_dir(&self.path) else {
            return;
        };
        let mut entries: Vec<_> = list
            .flatten()
            .filter(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "cwasm")
            })
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                let used = meta.accessed().or_else(|_| meta.modified()).ok()?;
                Some((used, meta.len(), entry.path()))
            })
            .collect();
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, len, _)| len).sum();
        for (_, len, path) in entries {
            if total <= room {
                return;
            }
            total -= len;
            for path in [path.with_extension("json"), path] {
                if let Err(error) = std::fs::remove_file(&path) {
                    tracing::debug!(%error, "an old cache entry could not be removed");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ModuleKey = [7; 32];

    fn dir() -> (tempfile::TempDir, CacheDir) {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = CacheDir::open(&temp.path().join("cache")).expect("a cache");
        (temp, dir)
    }

    #[test]
    fn an_entry_comes_back_as_it_was_put() {
        let (_temp, dir) = dir();
        assert!(matches!(dir.get(&KEY), Entry::Missing));
        drop(dir.put(&KEY, b"code", u64::MAX).expect("put"));
        let Entry::Good(mut file) = dir.get(&KEY) else {
            panic!("the entry is not good")
        };
        let mut text = String::new();
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, "code");
    }

    #[test]
    fn a_flipped_byte_is_noticed_and_a_touched_file_is_hashed_again() {
        let (_temp, dir) = dir();
        drop(dir.put(&KEY, b"code", u64::MAX).expect("put"));
        std::fs::write(dir.code(&KEY), b"cade").expect("damage");
        assert!(matches!(dir.get(&KEY), Entry::Damaged));
        std::fs::write(dir.code(&KEY), b"code").expect("restore");
        assert!(matches!(dir.get(&KEY), Entry::Good(_)));
    }

    #[test]
    fn an_entry_without_an_index_is_not_trusted() {
        let (_temp, dir) = dir();
        drop(dir.put(&KEY, b"code", u64::MAX).expect("put"));
        std::fs::remove_file(dir.index(&KEY)).expect("remove");
        assert!(matches!(dir.get(&KEY), Entry::Damaged));
    }

    #[test]
    fn old_entries_make_room() {
        let (_temp, dir) = dir();
        drop(dir.put(&[1; 32], &[0; 100], 250).expect("put"));
        drop(dir.put(&[2; 32], &[0; 100], 250).expect("put"));
        drop(dir.put(&[3; 32], &[0; 100], 250).expect("put"));
        let left = (1..=3)
            .filter(|n| matches!(dir.get(&[*n; 32]), Entry::Good(_)))
            .count();
        assert_eq!(left, 2);
        assert!(matches!(dir.get(&[3; 32]), Entry::Good(_)));
    }
}

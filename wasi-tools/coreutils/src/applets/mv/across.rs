//! Moving between file systems: a copy with modes, times and links, then a removal.

use std::collections::HashMap;

use sandbar_guest::{
    Errno, Fd,
    file::{self, FileType, Follow, OpenFlags, SetTime, Stat},
};

use super::join;

/// Bytes copied at a time.
const CHUNK: usize = 128 * 1024;

/// What could not be done, and to which file.
pub(super) struct Failure {
    pub(super) path: Vec<u8>,
    pub(super) errno: Errno,
}

type Done = Result<(), Failure>;

fn at(path: &[u8]) -> impl FnOnce(Errno) -> Failure {
    let path = path.to_vec();
    |errno| Failure { path, errno }
}

/// Copies `source`, a whole tree when it is a directory, over `target`. What is at `target` is removed first: a file, or an
/// empty directory.
pub(super) fn copy(source: &[u8], stat: &Stat, target: &[u8]) -> Done {
    match file::stat(target, Follow::NoFollow) {
        Ok(existing) if existing.is_dir() => file::remove_dir(target).map_err(at(target))?,
        Ok(_) => file::unlink(target).map_err(at(target))?,
        Err(_) => {}
    }
    Copier::default().tree(source, stat, target)
}

/// Removes a tree.
pub(super) fn remove(path: &[u8], stat: &Stat) -> Done {
    if !stat.is_dir() {
        return file::unlink(path).map_err(at(path));
    }
    for entry in file::read_dir(path).map_err(at(path))? {
        let child = join(path, &entry.name);
        let stat = file::stat(&child, Follow::NoFollow).map_err(at(&child))?;
        remove(&child, &stat)?;
    }
    file::remove_dir(path).map_err(at(path))
}

#[derive(Default)]
struct Copier {
    /// Where files with several links have been copied to, by device and inode.
    copied: HashMap<(u64, u64), Vec<u8>>,
}

impl Copier {
    fn tree(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Done {
        if !stat.is_dir() && stat.nlink > 1 {
            if let Some(first) = self.copied.get(&(stat.dev, stat.ino)) {
                return file::link(first, target).map_err(at(target));
            }
            self.copied.insert((stat.dev, stat.ino), target.to_vec());
        }
        match stat.file_type() {
            FileType::Directory => self.directory(source, target)?,
            FileType::Symlink => {
                let to = file::read_link(source).map_err(at(source))?;
                file::symlink(&to, target).map_err(at(target))?;
            }
            FileType::Fifo => file::make_fifo(target, 0o600).map_err(at(target))?,
            FileType::Regular => contents(source, target)?,
            _ => return Err(at(source)(Errno::EPERM)),
        }
        if !stat.is_symlink() {
            file::set_mode(target, stat.permissions()).map_err(at(target))?;
        }
        let (accessed, modified) = (SetTime::At(stat.accessed_ns), SetTime::At(stat.modified_ns));
        file::set_times(target, accessed, modified, Follow::NoFollow).map_err(at(target))
    }

    fn directory(&mut self, source: &[u8], target: &[u8]) -> Done {
        // Ours alone until its own mode is set.
        file::make_dir(target, 0o700).map_err(at(target))?;
        for entry in file::read_dir(source).map_err(at(source))? {
            let from = join(source, &entry.name);
            let stat = file::stat(&from, Follow::NoFollow).map_err(at(&from))?;
            self.tree(&from, &stat, &join(target, &entry.name))?;
        }
        Ok(())
    }
}

fn contents(source: &[u8], target: &[u8]) -> Done {
    let from =
        file::open(source, OpenFlags::RDONLY | OpenFlags::NOFOLLOW, 0).map_err(at(source))?;
    let flags = OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::EXCL;
    let copied = match file::open(target, flags, 0o600) {
        Ok(to) => pump(from, source, to, target).and(to.close().map_err(at(target))),
        Err(errno) => Err(at(target)(errno)),
    };
    copied.and(from.close().map_err(at(source)))
}

fn pump(from: Fd, source: &[u8], to: Fd, target: &[u8]) -> Done {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = from.read(&mut buffer).map_err(at(source))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        to.write_all(bytes).map_err(at(target))?;
    }
}

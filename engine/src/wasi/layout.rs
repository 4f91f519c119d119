//! Numbers and structs of preview 1, as they lie in a guest's memory.
//!
//! Source: <https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md>.

use super::memory::Writer;
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::vfs::{FileStat, FileType, Follow, SetAttributes, Timestamp};

bitflags::bitflags! {
    /// Flags of a descriptor.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct FdFlags: u16 {
        const APPEND = 1;
        const DSYNC = 1 << 1;
        const NONBLOCK = 1 << 2;
        const RSYNC = 1 << 3;
        const SYNC = 1 << 4;
    }

    /// Flags of `path_open`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct OpenBits: u32 {
        const CREATE = 1;
        const DIRECTORY = 1 << 1;
        const EXCLUSIVE = 1 << 2;
        const TRUNCATE = 1 << 3;
    }

    /// Which times to set, and whether to now.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct TimeFlags: u32 {
        const ATIM = 1;
        const ATIM_NOW = 1 << 1;
        const MTIM = 1 << 2;
        const MTIM_NOW = 1 << 3;
    }
}

impl FdFlags {
    /// # Errors
    /// `Invalid` for a bit that means nothing.
    pub(super) fn parse(bits: u32) -> SysResult<Self> {
        u16::try_from(bits)
            .ok()
            .and_then(Self::from_bits)
            .ok_or(Errno::Invalid)
    }
}

/// `filetype`. There is none for a pipe: wasi-libc's `S_ISFIFO` is true for a stream socket, so that is what a pipe is.
pub(super) fn file_type(of: FileType) -> u8 {
    match of {
        FileType::BlockDevice => 1,
        FileType::CharDevice => 2,
        FileType::Directory => 3,
        FileType::Regular => 4,
        FileType::Fifo | FileType::Socket => 6,
        FileType::Symlink => 7,
    }
}

/// A `timestamp`, which cannot be before 1970.
fn timestamp(ns: Timestamp) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

/// `filestat`.
pub(super) fn filestat(stat: &FileStat) -> [u8; 64] {
    Writer::<64>::new()
        .u64(stat.dev)
        .u64(stat.ino)
        .u8(file_type(stat.file_type))
        .pad::<7>()
        .u64(stat.nlink)
        .u64(stat.size)
        .u64(timestamp(stat.atime))
        .u64(timestamp(stat.mtime))
        .u64(timestamp(stat.ctime))
        .bytes()
}

/// `fdstat`.
pub(super) fn fdstat(kind: FileType, flags: FdFlags, rights: (Rights, Rights)) -> [u8; 24] {
    Writer::<24>::new()
        .u8(file_type(kind))
        .pad::<1>()
        .u16(flags.bits())
        .pad::<4>()
        .u64(rights.0.bits())
        .u64(rights.1.bits())
        .bytes()
}

/// `lookupflags`.
///
/// # Errors
/// `Invalid` for a bit that means nothing.
pub(super) fn follow(flags: u32) -> SysResult<Follow> {
    match flags {
        0 => Ok(Follow::No),
        1 => Ok(Follow::Yes),
        _ => Err(Errno::Invalid),
    }
}

/// The change that a pair of times and `fstflags` asks for.
///
/// # Errors
/// `Invalid` when a time is both given and now, or for a bit that means nothing.
pub(super) fn set_times(atime: u64, mtime: u64, flags: u32) -> SysResult<SetAttributes> {
    let flags = TimeFlags::from_bits(flags).ok_or(Errno::Invalid)?;
    let one = |given: TimeFlags, now: TimeFlags, time: u64| match (
        flags.contains(given),
        flags.contains(now),
    ) {
        (true, true) => Err(Errno::Invalid),
        (true, false) => Ok(Some(Timestamp::try_from(time).map_err(|_| Errno::Invalid)?)),
        (false, true) => Ok(Some(crate::host::realtime_ns())),
        (false, false) => Ok(None),
    };
    Ok(SetAttributes {
        mode: None,
        atime: one(TimeFlags::ATIM, TimeFlags::ATIM_NOW, atime)?,
        mtime: one(TimeFlags::MTIM, TimeFlags::MTIM_NOW, mtime)?,
    })
}

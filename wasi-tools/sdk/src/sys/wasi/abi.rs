//! The interface of `wasi-tools/libc/include/sandbar.h` and of preview 1, in Rust.
//!
//! A function is `safe` when no value of its arguments can break memory: references are valid by their type, and the kernel
//! checks everything else. Functions that take a pointer with a length stay unsafe.

use std::ffi::c_void;

pub(super) const CWD_FD: i32 = 0x4000_0001;

pub(super) const SPAWN_SEARCH: u32 = 1;
pub(super) const SPAWN_PGROUP: u32 = 2;
pub(super) const SPAWN_SIGMASK: u32 = 4;
pub(super) const SPAWN_SIGIGN: u32 = 8;
pub(super) const SPAWN_UMASK: u32 = 16;
pub(super) const SPAWN_CWD: u32 = 32;
pub(super) const SPAWN_ENV: u32 = 64;
pub(super) const SPAWN_ALLFDS: u32 = 128;
pub(super) const SPAWN_SETSID: u32 = 256;

pub(super) const WNOHANG: u32 = 1;
pub(super) const WUNTRACED: u32 = 2;
pub(super) const WCONTINUED: u32 = 8;

pub(super) const FD_CLOEXEC: u32 = 1;
pub(super) const AT_SYMLINK_NOFOLLOW: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) ptr: *const u8,
    pub(super) len: u32,
}

impl Bytes {
    pub(super) const EMPTY: Self = Self {
        ptr: std::ptr::null(),
        len: 0,
    };
}

#[repr(C)]
pub(super) struct FdMap {
    pub(super) child: i32,
    pub(super) parent: i32,
}

#[repr(C)]
pub(super) struct SpawnRequest {
    pub(super) size: u32,
    pub(super) flags: u32,
    pub(super) path: Bytes,
    pub(super) argv: *const Bytes,
    pub(super) argc: u32,
    pub(super) env: *const Bytes,
    pub(super) envc: u32,
    pub(super) fds: *const FdMap,
    pub(super) nfds: u32,
    pub(super) cwd: Bytes,
    pub(super) pgid: i32,
    pub(super) umask: u32,
    pub(super) sigmask: u32,
    pub(super) sigignore: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct WaitResult {
    pub(super) size: u32,
    pub(super) pid: i32,
    pub(super) status: u32,
    pub(super) pad: u32,
    pub(super) cpu_ns: u64,
    pub(super) max_rss: u64,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct IdsResult {
    pub(super) size: u32,
    pub(super) pid: i32,
    pub(super) ppid: i32,
    pub(super) pgid: i32,
    pub(super) sid: i32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct UsageResult {
    pub(super) size: u32,
    pub(super) pad: u32,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) max_rss: u64,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct StatResult {
    pub(super) size: u32,
    pub(super) mode: u32,
    pub(super) dev: u64,
    pub(super) ino: u64,
    pub(super) nlink: u64,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) rdev: u64,
    pub(super) length: u64,
    pub(super) blocks: u64,
    pub(super) blksize: u32,
    pub(super) pad: u32,
    pub(super) atime_ns: i64,
    pub(super) mtime_ns: i64,
    pub(super) ctime_ns: i64,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct StatfsResult {
    pub(super) size: u32,
    pub(super) flags: u32,
    pub(super) block_size: u64,
    pub(super) blocks: u64,
    pub(super) blocks_free: u64,
    pub(super) files: u64,
    pub(super) files_free: u64,
    pub(super) name_max: u64,
    pub(super) fs_id: u64,
}

/// The size of an interface struct, for its first field.
#[expect(
    clippy::cast_possible_truncation,
    reason = "interface structs have less than 200 bytes"
)]
pub(super) const fn size_of<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

#[link(wasm_import_module = "sandbar_v1")]
unsafe extern "C" {
    pub(super) fn proc_spawn(request: &SpawnRequest, pid: &mut i32) -> i32;
    pub(super) fn proc_exec(request: &SpawnRequest) -> i32;
    pub(super) safe fn proc_wait(pid: i32, options: u32, result: &mut WaitResult) -> i32;
    pub(super) safe fn proc_kill(pid: i32, signal: u32) -> i32;
    pub(super) safe fn proc_ids(pid: i32, result: &mut IdsResult) -> i32;
    pub(super) safe fn proc_setpgid(pid: i32, pgid: i32) -> i32;
    pub(super) safe fn proc_setsid(sid: &mut i32) -> i32;
    pub(super) safe fn proc_umask(mask: u32, previous: &mut u32) -> i32;
    pub(super) fn proc_getcwd(buffer: *mut u8, len: u32, needed: &mut u32) -> i32;
    pub(super) fn proc_chdir(dirfd: i32, path: *const u8, len: u32) -> i32;
    pub(super) safe fn proc_usage(who: u32, result: &mut UsageResult) -> i32;
    pub(super) safe fn proc_getrlimit(resource: u32, soft: &mut u64, hard: &mut u64) -> i32;
    pub(super) safe fn proc_setrlimit(resource: u32, soft: u64, hard: u64) -> i32;

    pub(super) safe fn sig_action(signal: u32, disposition: u32, previous: &mut u32) -> i32;
    pub(super) safe fn sig_mask(how: u32, set: u32, previous: &mut u32) -> i32;
    pub(super) fn sig_word(word: *mut u32) -> i32;
    pub(super) safe fn sig_take(pending: &mut u32) -> i32;
    pub(super) safe fn sig_pause() -> i32;
    pub(super) safe fn sig_alarm(ns: u64, left: &mut u64) -> i32;

    pub(super) safe fn fd_dup(fd: i32, min: i32, flags: u32, result: &mut i32) -> i32;
    pub(super) safe fn fd_dup2(from: i32, to: i32, flags: u32) -> i32;
    pub(super) safe fn fd_pipe(flags: u32, read_end: &mut i32, write_end: &mut i32) -> i32;
    pub(super) safe fn fd_getfd(fd: i32, flags: &mut u32) -> i32;
    pub(super) safe fn fd_setfd(fd: i32, flags: u32) -> i32;
    pub(super) safe fn fd_getfl(fd: i32, flags: &mut u32) -> i32;
    pub(super) safe fn fd_isatty(fd: i32, result: &mut u32) -> i32;
    pub(super) safe fn fd_winsize(fd: i32, rows: &mut u32, columns: &mut u32) -> i32;
    pub(super) safe fn fd_flock(fd: i32, operation: u32) -> i32;

    pub(super) fn path_open(
        dirfd: i32,
        path: *const u8,
        len: u32,
        flags: u32,
        mode: u32,
        fd: &mut i32,
    ) -> i32;
    pub(super) fn path_stat(
        dirfd: i32,
        flags: u32,
        path: *const u8,
        len: u32,
        result: &mut StatResult,
    ) -> i32;
    pub(super) safe fn fd_stat(fd: i32, result: &mut StatResult) -> i32;
    pub(super) fn path_mkdir(dirfd: i32, path: *const u8, len: u32, mode: u32) -> i32;
    pub(super) fn path_mkfifo(dirfd: i32, path: *const u8, len: u32, mode: u32) -> i32;
    pub(super) fn path_chmod(dirfd: i32, flags: u32, path: *const u8, len: u32, mode: u32) -> i32;
    pub(super) safe fn fd_chmod(fd: i32, mode: u32) -> i32;
    pub(super) fn path_chown(
        dirfd: i32,
        flags: u32,
        path: *const u8,
        len: u32,
        uid: u32,
        gid: u32,
    ) -> i32;
    pub(super) fn path_access(dirfd: i32, flags: u32, path: *const u8, len: u32, mode: u32) -> i32;
    pub(super) fn path_rename(
        from_dirfd: i32,
        from: *const u8,
        from_len: u32,
        to_dirfd: i32,
        to: *const u8,
        to_len: u32,
        flags: u32,
    ) -> i32;
    pub(super) fn path_statfs(
        dirfd: i32,
        path: *const u8,
        len: u32,
        result: &mut StatfsResult,
    ) -> i32;
}

/// Preview 1 `ciovec` and `iovec`.
#[repr(C)]
pub(super) struct IoVec {
    pub(super) ptr: *const c_void,
    pub(super) len: u32,
}

/// Preview 1 `subscription`: its variants share the fields from `id` on, which is a clock or a descriptor.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Subscription {
    pub(super) userdata: u64,
    pub(super) tag: u64,
    pub(super) id: u64,
    pub(super) timeout: u64,
    pub(super) precision: u64,
    pub(super) flags: u64,
}

/// Preview 1 `event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Event {
    pub(super) userdata: u64,
    pub(super) error: u16,
    pub(super) kind: u8,
    pub(super) nbytes: u64,
    pub(super) flags: u16,
}

pub(super) const EVENT_CLOCK: u64 = 0;
pub(super) const EVENT_READ: u64 = 1;
pub(super) const EVENT_WRITE: u64 = 2;
pub(super) const EVENT_HANGUP: u16 = 1;

pub(super) const CLOCK_REALTIME: u32 = 0;
pub(super) const CLOCK_MONOTONIC: u32 = 1;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    pub(super) fn fd_read(fd: i32, iovs: &IoVec, count: u32, nread: &mut u32) -> i32;
    pub(super) fn fd_write(fd: i32, iovs: &IoVec, count: u32, nwritten: &mut u32) -> i32;
    pub(super) safe fn fd_close(fd: i32) -> i32;
    pub(super) safe fn fd_seek(fd: i32, offset: i64, whence: u32, position: &mut u64) -> i32;
    pub(super) safe fn fd_sync(fd: i32) -> i32;
    pub(super) safe fn fd_fdstat_set_flags(fd: i32, flags: u32) -> i32;
    pub(super) safe fn fd_filestat_set_size(fd: i32, size: u64) -> i32;
    pub(super) fn fd_readdir(
        fd: i32,
        buffer: *mut u8,
        len: u32,
        cookie: u64,
        used: &mut u32,
    ) -> i32;
    pub(super) fn path_symlink(
        target: *const u8,
        target_len: u32,
        dirfd: i32,
        path: *const u8,
        len: u32,
    ) -> i32;
    pub(super) fn path_link(
        from_dirfd: i32,
        flags: u32,
        from: *const u8,
        from_len: u32,
        to_dirfd: i32,
        to: *const u8,
        to_len: u32,
    ) -> i32;
    pub(super) fn path_readlink(
        dirfd: i32,
        path: *const u8,
        len: u32,
        buffer: *mut u8,
        size: u32,
        used: &mut u32,
    ) -> i32;
    pub(super) fn path_unlink_file(dirfd: i32, path: *const u8, len: u32) -> i32;
    pub(super) fn path_remove_directory(dirfd: i32, path: *const u8, len: u32) -> i32;
    pub(super) fn path_filestat_set_times(
        dirfd: i32,
        flags: u32,
        path: *const u8,
        len: u32,
        accessed: u64,
        modified: u64,
        which: u32,
    ) -> i32;
    pub(super) fn poll_oneoff(
        wanted: *const Subscription,
        events: *mut Event,
        count: u32,
        ready: &mut u32,
    ) -> i32;
    pub(super) safe fn clock_time_get(id: u32, precision: u64, time: &mut u64) -> i32;
}

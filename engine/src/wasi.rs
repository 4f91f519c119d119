//! The guest ABI: `wasi_snapshot_preview1` and `sandbar_v1`, over the kernel of [`crate::vfs`] and [`crate::process`].
//!
//! Owns: checked access to guest memory, the layout of structs, what each import means. Not here: rules of POSIX, which live
//! once in the kernel, and how a guest is run (`crate::runtime`).
//!
//! Every import is one line in [`add_to_linker`], which says whether it can wait, and one function in the file of its group.
//! Those of preview 1: [`environ`], [`clock`], [`fd`], [`io`], [`path`], [`poll`], [`misc`]; those of `sandbar_v1`: [`proc`],
//! [`signal`], [`descriptor`], [`file`]. docs/guest-abi.md is the reference, docs/design/003-abi-by-hand.md says why no
//! interface compiler is used.
//!
//! Invariants
//! - Guest memory is reached through [`memory`] only; nothing a guest chooses is allocated without a limit.
//! - A call that is dropped while it waits (a kill) has changed nothing, or has finished what it changed.
//! - No call returns into a killed process, and every call shows the guest its signals before it returns.
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod call;
mod clock;
mod context;
mod descriptor;
mod environ;
mod fd;
mod file;
mod io;
mod layout;
mod memory;
mod misc;
mod path;
mod poll;
mod proc;
mod rights;
mod signal;

use wasmtime::Linker;

pub use self::call::Unwind;
pub use self::context::{Context, HasContext, Personality, personality_of};

use self::call::{Call, Outcome, imports, leave};

/// The import module of WASI preview 1.
pub const PREVIEW_1: &str = "wasi_snapshot_preview1";
/// The import module of what preview 1 lacks.
pub const SANDBAR: &str = "sandbar_v1";

/// Registers both import modules.
///
/// # Errors
/// When a name is registered already.
pub fn add_to_linker<T: HasContext + Send + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    add_preview_1(linker)?;
    add_sandbar(linker)
}

fn add_preview_1<T: HasContext + Send + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    add_descriptors(linker)?;
    add_paths(linker)?;
    imports! { linker, PREVIEW_1:
        call args_get(list: u32, buffer: u32) => environ::args_get;
        call args_sizes_get(count: u32, size: u32) => environ::args_sizes_get;
        call environ_get(list: u32, buffer: u32) => environ::environ_get;
        call environ_sizes_get(count: u32, size: u32) => environ::environ_sizes_get;
        call clock_res_get(id: u32, result: u32) => clock::clock_res_get;
        call clock_time_get(id: u32, precision: u64, result: u32) => clock::clock_time_get;
        wait poll_oneoff(subscriptions: u32, events: u32, count: u32, result: u32) => poll::poll_oneoff;
        wait proc_raise(signal: u32) => misc::proc_raise;
        wait sched_yield() => misc::sched_yield;
        wait random_get(buffer: u32, len: u32) => misc::random_get;
        call sock_accept(fd: u32, flags: u32, result: u32) => misc::sock_accept;
        call sock_recv(
            fd: u32, buffers: u32, count: u32, flags: u32, size: u32, out_flags: u32
        ) => misc::sock_recv;
        call sock_send(fd: u32, buffers: u32, count: u32, flags: u32, size: u32) => misc::sock_send;
        call sock_shutdown(fd: u32, how: u32) => misc::sock_shutdown;
    }
    // The one call without a result. POSIX `_exit`: the low eight bits.
    linker.func_wrap(
        PREVIEW_1,
        "proc_exit",
        |code: u32| -> wasmtime::Result<()> {
            let [code, ..] = code.to_le_bytes();
            Err(Unwind::Exit(code).into())
        },
    )?;
    Ok(())
}

/// Preview 1's calls on a descriptor.
fn add_descriptors<T: HasContext + Send + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    imports! { linker, PREVIEW_1:
        call fd_advise(fd: u32, offset: u64, len: u64, advice: u32) => fd::fd_advise;
        call fd_allocate(fd: u32, offset: u64, len: u64) => fd::fd_allocate;
        call fd_close(fd: u32) => fd::fd_close;
        call fd_datasync(fd: u32) => fd::fd_datasync;
        call fd_fdstat_get(fd: u32, result: u32) => fd::fd_fdstat_get;
        call fd_fdstat_set_flags(fd: u32, flags: u32) => fd::fd_fdstat_set_flags;
        call fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64) => fd::fd_fdstat_set_rights;
        call fd_filestat_get(fd: u32, result: u32) => fd::fd_filestat_get;
        call fd_filestat_set_size(fd: u32, size: u64) => fd::fd_filestat_set_size;
        call fd_filestat_set_times(fd: u32, atime: u64, mtime: u64, flags: u32) => fd::fd_filestat_set_times;
        wait fd_pread(fd: u32, buffers: u32, count: u32, offset: u64, result: u32) => io::fd_pread;
        call fd_prestat_get(fd: u32, result: u32) => fd::fd_prestat_get;
        call fd_prestat_dir_name(fd: u32, path: u32, len: u32) => fd::fd_prestat_dir_name;
        wait fd_pwrite(fd: u32, buffers: u32, count: u32, offset: u64, result: u32) => io::fd_pwrite;
        wait fd_read(fd: u32, buffers: u32, count: u32, result: u32) => io::fd_read;
        call fd_readdir(fd: u32, buffer: u32, len: u32, cookie: u64, result: u32) => fd::fd_readdir;
        call fd_renumber(from: u32, to: u32) => fd::fd_renumber;
        call fd_seek(fd: u32, delta: i64, whence: u32, result: u32) => fd::fd_seek;
        call fd_sync(fd: u32) => fd::fd_sync;
        call fd_tell(fd: u32, result: u32) => fd::fd_tell;
        wait fd_write(fd: u32, buffers: u32, count: u32, result: u32) => io::fd_write;
    }
    Ok(())
}

/// Preview 1's calls on paths.
fn add_paths<T: HasContext + Send + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    imports! { linker, PREVIEW_1:
        call path_create_directory(fd: u32, path: u32, len: u32) => path::path_create_directory;
        call path_filestat_get(fd: u32, flags: u32, path: u32, len: u32, result: u32) => path::path_filestat_get;
        call path_filestat_set_times(
            fd: u32, flags: u32, path: u32, len: u32, atime: u64, mtime: u64, time_flags: u32
        ) => path::path_filestat_set_times;
        call path_link(
            from_fd: u32, flags: u32, from: u32, from_len: u32, to_fd: u32, to: u32, to_len: u32
        ) => path::path_link;
        wait path_open(
            fd: u32, lookup: u32, path: u32, len: u32, open_flags: u32,
            rights_base: u64, rights_inheriting: u64, fd_flags: u32, result: u32
        ) => path::path_open;
        call path_readlink(
            fd: u32, path: u32, len: u32, buffer: u32, buffer_len: u32, result: u32
        ) => path::path_readlink;
        call path_remove_directory(fd: u32, path: u32, len: u32) => path::path_remove_directory;
        call path_rename(
            from_fd: u32, from: u32, from_len: u32, to_fd: u32, to: u32, to_len: u32
        ) => path::path_rename;
        call path_symlink(
            target: u32, target_len: u32, fd: u32, path: u32, len: u32
        ) => path::path_symlink;
        call path_unlink_file(fd: u32, path: u32, len: u32) => path::path_unlink_file;
    }
    Ok(())
}

fn add_sandbar<T: HasContext + Send + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    imports! { linker, SANDBAR:
        call proc_spawn(request: u32, pid: u32) => proc::proc_spawn;
        call proc_exec(request: u32) => proc::proc_exec;
        wait proc_wait(pid: i32, options: u32, result: u32) => proc::proc_wait;
        wait proc_kill(pid: i32, signal: u32) => proc::proc_kill;
        call proc_ids(pid: i32, result: u32) => proc::proc_ids;
        call proc_setpgid(pid: i32, pgid: i32) => proc::proc_setpgid;
        call proc_setsid(sid: u32) => proc::proc_setsid;
        call proc_umask(mask: u32, previous: u32) => proc::proc_umask;
        call proc_getcwd(buffer: u32, len: u32, needed: u32) => proc::proc_getcwd;
        call proc_chdir(fd: i32, path: u32, len: u32) => proc::proc_chdir;
        call proc_usage(who: u32, result: u32) => proc::proc_usage;
        call proc_getrlimit(resource: u32, soft: u32, hard: u32) => proc::proc_getrlimit;
        call proc_setrlimit(resource: u32, soft: u64, hard: u64) => proc::proc_setrlimit;
        call sig_action(signal: u32, disposition: u32, previous: u32) => signal::sig_action;
        call sig_mask(how: u32, set: u32, previous: u32) => signal::sig_mask;
        call sig_word(word: u32) => signal::sig_word;
        call sig_take(pending: u32) => signal::sig_take;
        wait sig_pause() => signal::sig_pause;
        call sig_alarm(ns: u64, left: u32) => signal::sig_alarm;
        call fd_dup(fd: i32, min: i32, flags: u32, result: u32) => descriptor::fd_dup;
        call fd_dup2(from: i32, to: i32, flags: u32) => descriptor::fd_dup2;
        call fd_pipe(flags: u32, read_end: u32, write_end: u32) => descriptor::fd_pipe;
        call fd_getfd(fd: i32, flags: u32) => descriptor::fd_getfd;
        call fd_setfd(fd: i32, flags: u32) => descriptor::fd_setfd;
        call fd_getfl(fd: i32, flags: u32) => descriptor::fd_getfl;
        call fd_isatty(fd: i32, result: u32) => descriptor::fd_isatty;
        call fd_winsize(fd: i32, rows: u32, columns: u32) => descriptor::fd_winsize;
        wait fd_flock(fd: i32, operation: u32) => descriptor::fd_flock;
        wait fd_lock(fd: i32, command: u32, lock: u32) => descriptor::fd_lock;
        wait path_open(
            fd: i32, path: u32, len: u32, flags: u32, mode: u32, result: u32
        ) => file::path_open;
        call path_stat(fd: i32, flags: u32, path: u32, len: u32, result: u32) => file::path_stat;
        call fd_stat(fd: i32, result: u32) => file::fd_stat;
        call path_mkdir(fd: i32, path: u32, len: u32, mode: u32) => file::path_mkdir;
        call path_mkfifo(fd: i32, path: u32, len: u32, mode: u32) => file::path_mkfifo;
        call path_chmod(fd: i32, flags: u32, path: u32, len: u32, mode: u32) => file::path_chmod;
        call fd_chmod(fd: i32, mode: u32) => file::fd_chmod;
        call path_chown(
            fd: i32, flags: u32, path: u32, len: u32, uid: u32, gid: u32
        ) => file::path_chown;
        call fd_chown(fd: i32, uid: u32, gid: u32) => file::fd_chown;
        call path_access(fd: i32, flags: u32, path: u32, len: u32, mode: u32) => file::path_access;
        call path_rename(
            from_fd: i32, from: u32, from_len: u32, to_fd: i32, to: u32, to_len: u32, flags: u32
        ) => file::path_rename;
        call path_statfs(fd: i32, path: u32, len: u32, result: u32) => file::path_statfs;
        call fd_statfs(fd: i32, result: u32) => file::fd_statfs;
    }
    Ok(())
}

//! `sandbar_v1`: processes.

use std::sync::Arc;

use super::call::{Call, Fate, Unwind};
use super::context::Context;
use super::memory::{GuestMemory, Reader, Writer};
use super::misc::until_running;
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::{
    ARG_MAX, Description, Fd, FdPlan, GID, Process, Resource, Signal, SignalSet, SpawnRequest, UID,
    WaitFilter, WaitOptions,
};
use crate::vfs::{At, Confine, Place};

/// Descriptors in one map. No table has more: see `Resource::OpenFiles`.
const MAX_FD_MAP: u32 = 65_536;

/// A child's descriptors: its numbers, and what they mean.
type FdMap = Vec<(Fd, Arc<Description>)>;

bitflags::bitflags! {
    /// `SANDBAR_SPAWN_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct SpawnFlags: u32 {
        const SEARCH = 1;
        const PGROUP = 2;
        const SIGMASK = 4;
        const SIGIGN = 8;
        const UMASK = 16;
        const CWD = 32;
        const ENV = 64;
        const ALLFDS = 128;
        const SETSID = 256;
    }
}

/// The fixed part of a `sandbar_spawn`.
struct SpawnStruct {
    flags: SpawnFlags,
    path: (u32, u32),
    args: (u32, u32),
    env: (u32, u32),
    fds: (u32, u32),
    cwd: (u32, u32),
    pgid: i32,
    umask: u32,
    blocked: u32,
    ignored: u32,
}

impl SpawnStruct {
    fn read(memory: &GuestMemory<'_>, at: u32) -> SysResult<Self> {
        let mut reader = memory.sized::<64>(at)?;
        let flags = SpawnFlags::from_bits(reader.u32()?).ok_or(Errno::Invalid)?;
        let pair = |reader: &mut Reader<'_>| Ok::<_, Errno>((reader.u32()?, reader.u32()?));
        Ok(Self {
            flags,
            path: pair(&mut reader)?,
            args: pair(&mut reader)?,
            env: pair(&mut reader)?,
            fds: pair(&mut reader)?,
            cwd: pair(&mut reader)?,
            pgid: reader.i32()?,
            umask: reader.u32()?,
            blocked: reader.u32()?,
            ignored: reader.u32()?,
        })
    }

    fn with<T>(&self, flag: SpawnFlags, value: T) -> Option<T> {
        self.flags.contains(flag).then_some(value)
    }
}

/// Reads byte strings, counting them against [`ARG_MAX`] before anything is allocated for them.
fn strings(
    memory: &GuestMemory<'_>,
    (list, count): (u32, u32),
    budget: &mut usize,
) -> SysResult<Vec<Vec<u8>>> {
    let mut pairs = memory.pairs(list, count)?;
    let mut strings = Vec::new();
    while let Some((at, len)) = pairs.next(memory)? {
        // As Linux counts: the string, its NUL, and a pointer of 8 bytes to it.
        let cost = usize::try_from(len).map_err(|_| Errno::TooBig)?;
        *budget = cost
            .checked_add(9)
            .and_then(|cost| budget.checked_sub(cost))
            .ok_or(Errno::TooBig)?;
        let bytes = memory.bytes(at, len)?;
        if bytes.contains(&0) {
            return Err(Errno::Invalid);
        }
        strings.push(bytes.to_vec());
    }
    Ok(strings)
}

fn descriptors(call: &Call<'_>, (list, count): (u32, u32)) -> SysResult<FdMap> {
    if count > MAX_FD_MAP {
        return Err(Errno::Invalid);
    }
    let mut pairs = call.memory.pairs(list, count)?;
    let mut map = Vec::new();
    while let Some((child, parent)) = pairs.next(&call.memory)? {
        let number = |word: u32| Context::fd(word.cast_signed());
        let description = call.context.description(number(parent)?, Rights::empty())?;
        map.push((number(child)?, description));
    }
    Ok(map)
}

fn request(call: &Call<'_>, at: u32) -> SysResult<(SpawnRequest, FdMap)> {
    let memory = &call.memory;
    let spawn = SpawnStruct::read(memory, at)?;
    let path = memory.path(spawn.path.0, spawn.path.1)?;
    if path.contains(&0) {
        return Err(Errno::Invalid);
    }
    let mut budget = ARG_MAX;
    let args = strings(memory, spawn.args, &mut budget)?;
    let env = match spawn.with(SpawnFlags::ENV, spawn.env) {
        Some(env) => Some(strings(memory, env, &mut budget)?),
        None => None,
    };
    let map = descriptors(call, spawn.fds)?;
    let cwd = match spawn.with(SpawnFlags::CWD, spawn.cwd) {
        Some((at, len)) => {
            let here = call.context.process().cwd();
            Some(directory(call, &here, memory.path(at, len)?)?)
        }
        None => None,
    };
    let pgid = match spawn.with(SpawnFlags::PGROUP, spawn.pgid) {
        Some(pgid) => Some(u32::try_from(pgid).map_err(|_| Errno::Invalid)?),
        None => None,
    };
    let plan = if spawn.flags.contains(SpawnFlags::ALLFDS) {
        FdPlan::InheritAnd(map.clone())
    } else {
        FdPlan::Exactly(map.clone())
    };
    let request = SpawnRequest {
        path: path.to_vec(),
        search: spawn.flags.contains(SpawnFlags::SEARCH),
        args,
        env,
        fds: plan,
        cwd,
        pgid,
        new_session: spawn.flags.contains(SpawnFlags::SETSID),
        umask: spawn.with(SpawnFlags::UMASK, spawn.umask),
        blocked: spawn.with(SpawnFlags::SIGMASK, SignalSet(spawn.blocked)),
        ignored: spawn.with(SpawnFlags::SIGIGN, SignalSet(spawn.ignored)),
    };
    Ok((request, map))
}

fn directory(call: &Call<'_>, base: &Place, path: &[u8]) -> SysResult<Place> {
    call.context.namespace().directory(At {
        caller: call.context.process().caller(),
        base,
        path,
        confine: Confine::Namespace,
    })
}

/// POSIX `posix_spawn`, `posix_spawnp`.
pub(super) fn proc_spawn(call: &mut Call<'_>, at: u32, result: u32) -> SysResult<()> {
    call.memory.check(result, 4)?;
    let (request, _) = request(call, at)?;
    let process = call.context.process();
    let child = process.table()?.spawn(process, request)?;
    call.memory.write_u32(result, child.pid())
}

/// POSIX `execve`, `execvp`. Everything that can fail does so before anything has changed.
pub(super) fn proc_exec(call: &mut Call<'_>, at: u32) -> Result<(), Fate> {
    let (request, map) = request(call, at)?;
    let process = call.context.process();
    let plan = process.prepare_exec(&request)?;
    let limit = process.limit(Resource::OpenFiles).0;
    if map.iter().any(|(fd, _)| u64::from(*fd) >= limit) {
        return Err(Errno::BadFd.into());
    }
    if request.new_session {
        process.set_sid()?;
    } else if let Some(pgid) = request.pgid {
        process.set_pgid(0, pgid)?;
    }
    for (fd, description) in map {
        process.place_fd(fd, description, false)?;
    }
    if let Some(umask) = request.umask {
        process.set_umask(umask);
    }
    if let Some(ignored) = request.ignored {
        process.signals().set_ignored(ignored);
    }
    if let Some(blocked) = request.blocked {
        process.set_blocked(blocked);
    }
    Err(Fate::Unwind(Box::new(Unwind::Exec(plan))))
}

/// POSIX `waitpid`.
pub(super) async fn proc_wait(
    call: &mut Call<'_>,
    pid: i32,
    options: u32,
    result: u32,
) -> SysResult<()> {
    /// `WNOHANG`, `WUNTRACED`, `WCONTINUED`, as Linux numbers them.
    const KNOWN: u32 = 1 | 2 | 8;
    call.memory.check_sized::<32>(result)?;
    if options & !KNOWN != 0 {
        return Err(Errno::Invalid);
    }
    let process = call.context.process();
    let filter = match pid {
        -1 => WaitFilter::Any,
        0 => WaitFilter::Group(process.pgid()),
        pid if pid > 0 => WaitFilter::Pid(pid.unsigned_abs()),
        pid => WaitFilter::Group(pid.unsigned_abs()),
    };
    let options = WaitOptions {
        no_hang: options & 1 != 0,
        stopped: options & 2 != 0,
        continued: options & 8 != 0,
    };
    let waited = process.wait(filter, options).await?;
    let bytes = match waited {
        None => Writer::<32>::sized().bytes(),
        Some(child) => Writer::<32>::sized()
            .u32(child.pid)
            .u32(child.status)
            .pad::<4>()
            .u64(child.cpu_ns)
            .u64(child.peak_memory_bytes)
            .bytes(),
    };
    call.memory.write(result, &bytes)
}

/// POSIX `kill`.
pub(super) async fn proc_kill(call: &mut Call<'_>, pid: i32, signal: u32) -> SysResult<()> {
    let signal = match signal {
        0 => None,
        number => Some(Signal::from_number(number)?),
    };
    call.context.process().send_signal(pid, signal)?;
    until_running(call).await;
    Ok(())
}

/// POSIX `getpid`, `getppid`, `getpgid`, `getsid`, `getuid`, `getgid`.
pub(super) fn proc_ids(call: &mut Call<'_>, pid: i32, result: u32) -> SysResult<()> {
    call.memory.check_sized::<28>(result)?;
    let own = call.context.process();
    let process = match pid {
        0 => Arc::clone(own),
        pid => u32::try_from(pid)
            .ok()
            .and_then(|pid| own.table().ok()?.get(pid))
            .ok_or(Errno::NoProcess)?,
    };
    let bytes = Writer::<28>::sized()
        .u32(process.pid())
        .u32(process.ppid())
        .u32(process.pgid())
        .u32(process.sid())
        .u32(UID)
        .u32(GID)
        .bytes();
    call.memory.write(result, &bytes)
}

pub(super) fn proc_setpgid(call: &mut Call<'_>, pid: i32, pgid: i32) -> SysResult<()> {
    let pid = u32::try_from(pid).map_err(|_| Errno::NoProcess)?;
    let pgid = u32::try_from(pgid).map_err(|_| Errno::Invalid)?;
    call.context.process().set_pgid(pid, pgid)
}

pub(super) fn proc_setsid(call: &mut Call<'_>, result: u32) -> SysResult<()> {
    call.memory.check(result, 4)?;
    let sid = call.context.process().set_sid()?;
    call.memory.write_wanted_u32(result, sid)
}

pub(super) fn proc_umask(call: &mut Call<'_>, mask: u32, previous: u32) -> SysResult<()> {
    call.memory.check(previous, 4)?;
    let process = call.context.process();
    let before = if mask == u32::MAX {
        process.umask()
    } else {
        process.set_umask(mask)
    };
    call.memory.write_wanted_u32(previous, before)
}

/// POSIX `getcwd`, but that the length comes back too.
pub(super) fn proc_getcwd(
    call: &mut Call<'_>,
    buffer: u32,
    len: u32,
    needed: u32,
) -> SysResult<()> {
    let path = call.context.process().cwd().path()?;
    let path_len = u32::try_from(path.len()).map_err(|_| Errno::Overflow)?;
    call.memory.write_u32(needed, path_len)?;
    if path_len > len {
        return Err(Errno::Range);
    }
    call.memory.write(buffer, &path)
}

/// POSIX `chdir`, and `fchdir` with the path `.`.
pub(super) fn proc_chdir(call: &mut Call<'_>, fd: i32, path: u32, len: u32) -> SysResult<()> {
    let base = call.context.directory(Context::fd(fd)?, Rights::empty())?;
    let place = directory(call, &base, call.memory.path(path, len)?)?;
    call.context.process().set_cwd(place);
    Ok(())
}

/// POSIX `getrusage`. Nothing is counted as system time: host calls are part of the program's.
pub(super) fn proc_usage(call: &mut Call<'_>, who: u32, result: u32) -> SysResult<()> {
    call.memory.check_sized::<32>(result)?;
    let process = call.context.process();
    let (_, peak, children_peak) = process.memory_bytes();
    let (user_ns, max_rss) = match who {
        0 => (process.cpu_ns_now(), peak),
        1 => (process.cpu_ns().1, children_peak),
        _ => return Err(Errno::Invalid),
    };
    let bytes = Writer::<32>::sized()
        .pad::<4>()
        .u64(user_ns)
        .u64(0)
        .u64(max_rss)
        .bytes();
    call.memory.write(result, &bytes)
}

pub(super) fn proc_getrlimit(
    call: &mut Call<'_>,
    resource: u32,
    soft: u32,
    hard: u32,
) -> SysResult<()> {
    let process: &Process = call.context.process();
    let limit = process.limit(Resource::from_number(resource)?);
    call.memory.write_u64(soft, limit.0)?;
    call.memory.write_u64(hard, limit.1)
}

pub(super) fn proc_setrlimit(
    call: &mut Call<'_>,
    resource: u32,
    soft: u64,
    hard: u64,
) -> SysResult<()> {
    let resource = Resource::from_number(resource)?;
    call.context.process().set_limit(resource, soft, hard)
}

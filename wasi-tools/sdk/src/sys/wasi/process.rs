//! Processes.

use std::time::Duration;

use super::{abi, len};
use crate::{
    Errno, Pid, Result, Signal,
    process::{Ids, Limit, Resource, Spawn, Usage, Wait, WaitStatus, Waited, Who},
};

fn bytes(bytes: &[u8]) -> Result<abi::Bytes> {
    Ok(abi::Bytes {
        ptr: bytes.as_ptr(),
        len: len(bytes)?,
    })
}

fn count<T>(list: &[T]) -> Result<u32> {
    u32::try_from(list.len()).map_err(|_| Errno::E2BIG)
}

/// Calls `call` with the request in the interface's form, whose pointers live as long as the call.
fn with_request<T>(spawn: &Spawn, call: impl FnOnce(&abi::SpawnRequest) -> Result<T>) -> Result<T> {
    let list = |entries: &[Vec<u8>]| {
        entries
            .iter()
            .map(|entry| bytes(entry))
            .collect::<Result<Vec<_>>>()
    };
    let argv = list(&spawn.args)?;
    let env = list(spawn.env.as_deref().unwrap_or_default())?;
    let fds: Vec<_> = spawn
        .fds
        .iter()
        .map(|(child, parent)| abi::FdMap {
            child: child.0,
            parent: parent.0,
        })
        .collect();
    let flags = [
        (spawn.search, abi::SPAWN_SEARCH),
        (spawn.group.is_some(), abi::SPAWN_PGROUP),
        (spawn.blocked.is_some(), abi::SPAWN_SIGMASK),
        (spawn.ignored.is_some(), abi::SPAWN_SIGIGN),
        (spawn.umask.is_some(), abi::SPAWN_UMASK),
        (spawn.cwd.is_some(), abi::SPAWN_CWD),
        (spawn.env.is_some(), abi::SPAWN_ENV),
        (spawn.all_fds, abi::SPAWN_ALLFDS),
        (spawn.session, abi::SPAWN_SETSID),
    ];
    call(&abi::SpawnRequest {
        size: abi::size_of::<abi::SpawnRequest>(),
        flags: flags
            .iter()
            .filter(|(set, _)| *set)
            .fold(0, |all, (_, flag)| all | flag),
        path: bytes(&spawn.program)?,
        argv: argv.as_ptr(),
        argc: count(&argv)?,
        env: env.as_ptr(),
        envc: count(&env)?,
        fds: fds.as_ptr(),
        nfds: count(&fds)?,
        cwd: spawn.cwd.as_deref().map_or(Ok(abi::Bytes::EMPTY), bytes)?,
        pgid: spawn.group.unwrap_or(0),
        umask: spawn.umask.unwrap_or(0),
        sigmask: spawn.blocked.unwrap_or_default().bits(),
        sigignore: spawn.ignored.unwrap_or_default().bits(),
    })
}

pub(crate) fn spawn(request: &Spawn) -> Result<Pid> {
    with_request(request, |request| {
        let mut pid = 0;
        // SAFETY: `with_request` keeps everything that the request points at alive during the call.
        Errno::check(unsafe { abi::proc_spawn(request, &mut pid) })?;
        Ok(Pid(pid))
    })
}

pub(crate) fn exec(request: &Spawn) -> Errno {
    let failed = with_request(request, |request| {
        // SAFETY: as in `spawn`.
        Errno::check(unsafe { abi::proc_exec(request) })
    });
    failed.err().unwrap_or(Errno::EIO)
}

pub(crate) fn wait(pid: i32, options: Wait) -> Result<Option<Waited>> {
    let flags = [
        (options.no_hang, abi::WNOHANG),
        (options.stopped, abi::WUNTRACED),
        (options.continued, abi::WCONTINUED),
    ];
    let flags = flags
        .iter()
        .filter(|(set, _)| *set)
        .fold(0, |all, (_, flag)| all | flag);
    let mut result = abi::WaitResult {
        size: abi::size_of::<abi::WaitResult>(),
        ..Default::default()
    };
    Errno::check(abi::proc_wait(pid, flags, &mut result))?;
    if result.pid == 0 {
        return Ok(None);
    }
    Ok(Some(Waited {
        pid: Pid(result.pid),
        status: WaitStatus::from_linux(result.status).ok_or(Errno::EIO)?,
        cpu: Duration::from_nanos(result.cpu_ns),
        max_rss: result.max_rss,
    }))
}

pub(crate) fn kill(pid: i32, signal: Option<Signal>) -> Result<()> {
    Errno::check(abi::proc_kill(pid, signal.map_or(0, Signal::number)))
}

pub(crate) fn ids(pid: Option<Pid>) -> Result<Ids> {
    let mut result = abi::IdsResult {
        size: abi::size_of::<abi::IdsResult>(),
        ..Default::default()
    };
    Errno::check(abi::proc_ids(pid.map_or(0, |pid| pid.0), &mut result))?;
    Ok(Ids {
        pid: Pid(result.pid),
        ppid: Pid(result.ppid),
        pgid: Pid(result.pgid),
        sid: Pid(result.sid),
        uid: result.uid,
        gid: result.gid,
    })
}

pub(crate) fn set_group(pid: i32, group: i32) -> Result<()> {
    Errno::check(abi::proc_setpgid(pid, group))
}

pub(crate) fn set_session() -> Result<Pid> {
    let mut sid = 0;
    Errno::check(abi::proc_setsid(&mut sid))?;
    Ok(Pid(sid))
}

pub(crate) fn umask(mask: Option<u32>) -> Result<u32> {
    let mut previous = 0;
    Errno::check(abi::proc_umask(mask.unwrap_or(u32::MAX), &mut previous))?;
    Ok(previous)
}

pub(crate) fn chdir(path: &[u8]) -> Result<()> {
    // SAFETY: pointer and length are those of `path`.
    Errno::check(unsafe { abi::proc_chdir(abi::CWD_FD, path.as_ptr(), len(path)?) })
}

pub(crate) fn current_dir() -> Result<Vec<u8>> {
    let mut buffer = vec![0; 256];
    loop {
        let mut needed = 0;
        // SAFETY: pointer and length are those of `buffer`.
        let answer = unsafe { abi::proc_getcwd(buffer.as_mut_ptr(), len(&buffer)?, &mut needed) };
        let needed = needed as usize;
        match Errno::check(answer) {
            Err(Errno::ERANGE) if needed > buffer.len() => buffer.resize(needed, 0),
            Err(errno) => return Err(errno),
            Ok(()) => {
                buffer.truncate(needed);
                return Ok(buffer);
            }
        }
    }
}

pub(crate) fn usage(who: Who) -> Result<Usage> {
    let who = match who {
        Who::Caller => 0,
        Who::Children => 1,
    };
    let mut result = abi::UsageResult {
        size: abi::size_of::<abi::UsageResult>(),
        ..Default::default()
    };
    Errno::check(abi::proc_usage(who, &mut result))?;
    Ok(Usage {
        user: Duration::from_nanos(result.user_ns),
        system: Duration::from_nanos(result.system_ns),
        max_rss: result.max_rss,
    })
}

pub(crate) fn limit(resource: Resource) -> Result<Limit> {
    let (mut soft, mut hard) = (0, 0);
    Errno::check(abi::proc_getrlimit(resource as u32, &mut soft, &mut hard))?;
    Ok(Limit { soft, hard })
}

pub(crate) fn set_limit(resource: Resource, limit: Limit) -> Result<()> {
    Errno::check(abi::proc_setrlimit(resource as u32, limit.soft, limit.hard))
}

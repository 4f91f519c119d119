//! The native back end against the real system: what a shell and the applets rely on.

use std::time::Duration;

use sandbar_guest::{
    Errno, Fd, Pid, Result, Signal,
    fd::{self, OnExec, PollFd},
    file::{self, FileType, Follow, OpenFlags, SetTime},
    process::{self, Spawn, Wait, WaitStatus},
    signal::{self, Disposition, SignalSet},
};

fn status_of(pid: Pid) -> Result<Option<WaitStatus>> {
    Ok(process::wait(pid.0, Wait::BLOCK)?.map(|waited| waited.status))
}

/// Runs `sh -c script` as `configure` says and returns what it wrote to descriptor 1, and how it ended.
fn run(script: &str, configure: impl FnOnce(&mut Spawn)) -> Result<(String, Option<WaitStatus>)> {
    let (read_end, write_end) = fd::pipe(OnExec::Close)?;
    let mut spawn = Spawn::new("sh");
    spawn
        .search(true)
        .args(["sh", "-c", script])
        .fd(Fd::STDOUT, write_end)
        .fd(Fd::STDERR, Fd::STDERR);
    configure(&mut spawn);
    let pid = spawn.spawn();
    write_end.close()?;
    let output = read_end.read_to_end()?;
    read_end.close()?;
    Ok((
        String::from_utf8_lossy(&output).into_owned(),
        status_of(pid?)?,
    ))
}

#[test]
fn spawn_passes_arguments_environment_directory_and_umask() -> Result<()> {
    let (output, status) = run("echo \"$V,$(pwd),$(umask)\"; exit 7", |spawn| {
        spawn
            .env(["V=x y", "PATH=/usr/bin:/bin"])
            .cwd("/")
            .umask(0o027);
    })?;
    assert_eq!(
        (output.as_str(), status),
        ("x y,/,0027\n", Some(WaitStatus::Exited(7)))
    );
    Ok(())
}

#[test]
fn spawn_passes_only_the_mapped_descriptors() -> Result<()> {
    let (read_end, write_end) = fd::pipe(OnExec::Keep)?;
    let (output, _) = run(
        "for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$n ] && printf $n; done",
        |spawn| {
            spawn.fd(Fd(7), write_end).fd(Fd(8), read_end);
        },
    )?;
    assert_eq!(output, "1278");
    read_end.close()?;
    write_end.close()
}

#[test]
fn mapped_descriptors_can_change_places() -> Result<()> {
    let (read_a, write_a) = fd::pipe(OnExec::Close)?;
    let (read_b, write_b) = fd::pipe(OnExec::Close)?;
    run("", |spawn| {
        let script = format!("echo a >&{}; echo b >&{}", write_a.0, write_b.0);
        *spawn = Spawn::new("sh");
        spawn
            .search(true)
            .args(["sh", "-c", &script])
            .all_fds(true)
            .fd(write_a, write_b)
            .fd(write_b, write_a);
    })?;
    write_a.close()?;
    write_b.close()?;
    assert_eq!(
        (read_a.read_to_end()?, read_b.read_to_end()?),
        (b"b\n".to_vec(), b"a\n".to_vec())
    );
    read_a.close()?;
    read_b.close()
}

#[test]
fn spawn_failures_are_those_of_exec() -> Result<()> {
    let dir = temp_dir("exec")?;
    let text = [dir.as_slice(), b"/text"].concat();
    file::open(&text, OpenFlags::WRONLY | OpenFlags::CREAT, 0o755)?.close()?;
    let plain = [dir.as_slice(), b"/plain"].concat();
    file::open(&plain, OpenFlags::WRONLY | OpenFlags::CREAT, 0o644)?.close()?;
    let failure = |program: &[u8], search| Spawn::new(program).search(search).spawn().err();
    assert_eq!(failure(b"no-such-program", true), Some(Errno::ENOENT));
    assert_eq!(failure(b"/no/such/program", false), Some(Errno::ENOENT));
    assert_eq!(failure(b"", true), Some(Errno::ENOENT));
    assert_eq!(failure(&plain, false), Some(Errno::EACCES));
    assert_eq!(failure(&text, false), Some(Errno::ENOEXEC));
    assert_eq!(failure(b"a\0b", false), Some(Errno::EINVAL));
    let unopened = Spawn::new("true").search(true).fd(Fd(5), Fd(999)).spawn();
    assert_eq!(unopened.err(), Some(Errno::EBADF));
    remove(&dir)
}

#[test]
fn children_are_stopped_continued_and_killed() -> Result<()> {
    let pid = Spawn::new("sleep")
        .search(true)
        .args(["sleep", "100"])
        .group(0)
        .spawn()?;
    assert_eq!(process::ids(Some(pid))?.pgid, pid);
    let all = Wait {
        stopped: true,
        continued: true,
        ..Wait::BLOCK
    };
    let after = |signal| -> Result<_> {
        process::kill(-pid.0, Some(signal))?;
        Ok(process::wait(pid.0, all)?.map(|waited| waited.status))
    };
    assert_eq!(
        after(Signal::STOP)?,
        Some(WaitStatus::Stopped(Signal::STOP))
    );
    assert_eq!(after(Signal::CONT)?, Some(WaitStatus::Continued));
    assert_eq!(process::wait(pid.0, Wait::POLL)?, None);
    assert_eq!(
        after(Signal::TERM)?,
        Some(WaitStatus::Signaled(Signal::TERM))
    );
    assert_eq!(process::wait(pid.0, Wait::POLL), Err(Errno::ECHILD));
    assert_eq!(process::kill(pid.0, None), Err(Errno::ESRCH));
    Ok(())
}

#[test]
fn ignored_signals_are_ignored_by_the_child() -> Result<()> {
    let script = "kill -TERM $$; echo alive; kill -PIPE $$; echo still";
    let (output, status) = run(script, |spawn| {
        spawn
            .ignored(SignalSet::EMPTY.with(Signal::TERM))
            .blocked(SignalSet::EMPTY);
    })?;
    assert_eq!(
        (output.as_str(), status),
        ("alive\n", Some(WaitStatus::Signaled(Signal::PIPE)))
    );
    Ok(())
}

#[test]
fn a_handled_signal_is_collected_once() -> Result<()> {
    assert_eq!(
        signal::action(Signal::USR1, Disposition::Handle)?,
        Disposition::Default
    );
    process::kill(process::id().0, Some(Signal::USR1))?;
    signal::pause();
    assert!(signal::pending().contains(Signal::USR1));
    assert!(signal::take().contains(Signal::USR1));
    assert!(!signal::pending().contains(Signal::USR1));
    assert_eq!(
        signal::action(Signal::USR1, Disposition::Default)?,
        Disposition::Handle
    );
    assert_eq!(
        signal::action(Signal::KILL, Disposition::Ignore),
        Err(Errno::EINVAL)
    );
    Ok(())
}

#[test]
fn poll_tells_readable_from_hangup_and_timeout() -> Result<()> {
    let (read_end, write_end) = fd::pipe(OnExec::Close)?;
    let mut both = [PollFd::reading(read_end), PollFd::writing(write_end)];
    assert_eq!(fd::poll(&mut both, Some(Duration::ZERO))?, 1);
    assert_eq!((both[0].is_ready(), both[1].writable), (false, true));
    write_end.write_all(b"x")?;
    let mut reading = [PollFd::reading(read_end)];
    assert_eq!(fd::poll(&mut reading, None)?, 1);
    assert_eq!((reading[0].readable, reading[0].hangup), (true, false));
    write_end.close()?;
    assert_eq!(read_end.read(&mut [0; 8])?, 1);
    fd::poll(&mut reading, None)?;
    assert!(reading[0].hangup);
    assert_eq!(read_end.read(&mut [0; 8])?, 0);
    read_end.close()?;
    assert_eq!(fd::poll(&mut [], Some(Duration::from_millis(1)))?, 0);
    Ok(())
}

#[test]
fn descriptors_are_duplicated_with_and_without_close_on_exec() -> Result<()> {
    let (read_end, write_end) = fd::pipe(OnExec::Close)?;
    let high = write_end.dup(100, OnExec::Keep)?;
    assert!(high.0 >= 100);
    assert_eq!(
        (high.on_exec()?, write_end.on_exec()?),
        (OnExec::Keep, OnExec::Close)
    );
    high.set_flags(OpenFlags::NONBLOCK)?;
    assert_eq!(write_end.flags()?, OpenFlags::WRONLY | OpenFlags::NONBLOCK);
    high.dup2(read_end, OnExec::Close)?;
    assert_eq!(read_end.flags()? & OpenFlags::ACCMODE, OpenFlags::WRONLY);
    for fd in [high, read_end, write_end] {
        fd.close()?;
    }
    assert_eq!(high.close(), Err(Errno::EBADF));
    Ok(())
}

#[test]
fn files_have_modes_times_links_and_names_of_any_bytes() -> Result<()> {
    let dir = temp_dir("files")?;
    let at = |name: &[u8]| [dir.as_slice(), b"/", name].concat();
    let name = b"\xff\xfe name";
    file::open(
        &at(name),
        OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::EXCL,
        0o600,
    )?
    .close()?;
    file::set_mode(&at(name), 0o4751)?;
    file::set_times(&at(name), SetTime::Omit, SetTime::At(-1), Follow::Follow)?;
    let stat = file::stat(&at(name), Follow::Follow)?;
    assert_eq!(
        (stat.permissions(), stat.file_type(), stat.modified_ns),
        (0o4751, FileType::Regular, -1)
    );
    file::symlink(b"missing", &at(b"link"))?;
    assert_eq!(
        file::stat(&at(b"link"), Follow::Follow).err(),
        Some(Errno::ENOENT)
    );
    assert!(file::stat(&at(b"link"), Follow::NoFollow)?.is_symlink());
    assert_eq!(file::read_link(&at(b"link"))?, b"missing");
    file::make_fifo(&at(b"fifo"), 0o600)?;
    assert_eq!(
        file::stat(&at(b"fifo"), Follow::Follow)?.file_type(),
        FileType::Fifo
    );
    let mut names: Vec<_> = file::read_dir(&dir)?
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    names.sort();
    assert_eq!(names, [b"fifo".to_vec(), b"link".to_vec(), name.to_vec()]);
    assert_eq!(file::remove_dir(&dir), Err(Errno::ENOTEMPTY));
    remove(&dir)
}

/// A new directory under the system's temporary one.
fn temp_dir(name: &str) -> Result<Vec<u8>> {
    let path = std::env::temp_dir().join(format!("sandbar-guest-{name}-{}", process::id().0));
    let path = path.into_os_string().into_encoded_bytes();
    file::make_dir(&path, 0o700)?;
    Ok(path)
}

fn remove(dir: &[u8]) -> Result<()> {
    for entry in file::read_dir(dir)? {
        file::unlink(&[dir, b"/", &entry.name].concat())?;
    }
    file::remove_dir(dir)
}

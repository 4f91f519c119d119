//! `sandbar_v1`, call by call.

use sandbar::errno::Errno::{
    Access, BadFd, BrokenPipe, Child, Exists, Interrupted, Invalid, NoDeviceOrAddress, NoProcess,
    NotDirectory, NotFound, NotPermitted, NotTerminal, ProcessFiles, Range, TooBig,
};
use sandbar::process::{Description, ExitStatus, Readiness, Signal, Stream, WindowSize};
use sandbar::vfs::AccessMode;
use sandbar::wasi::Personality;
use tokio::sync::Notify;

use crate::harness::{CWD_FD, Guest, IDLE, Kernel, ROOT_FD, args, e, within};

const O_WRONLY: u32 = 1;
const O_RDWR: u32 = 2;
const O_CREAT: u32 = 0o100;
const O_NONBLOCK: u32 = 0o4000;
const O_CLOEXEC: u32 = 0o2_000_000;

fn aware() -> (Kernel, Guest) {
    let kernel = Kernel::new();
    let guest = kernel.guest(Personality::Aware);
    (kernel, guest)
}

/// A struct that begins with its size.
fn sized(guest: &mut Guest, size: u32) -> u32 {
    let at = guest.room(size as usize);
    guest.store_at(at, &size.to_le_bytes());
    at
}

/// What a spawn may say.
#[derive(Default)]
struct Spawn<'a> {
    flags: u32,
    path: &'a str,
    args: &'a [&'a str],
    env: &'a [&'a str],
    fds: &'a [(u32, u32)],
    cwd: &'a str,
    pgid: i32,
    umask: u32,
    sigmask: u32,
    sigignore: u32,
}

impl Spawn<'_> {
    fn put(&self, guest: &mut Guest) -> u32 {
        let text = |guest: &mut Guest, text: &str| {
            (
                guest.put(text.as_bytes()),
                u32::try_from(text.len()).unwrap(),
            )
        };
        let list = |guest: &mut Guest, texts: &[&str]| {
            let pairs: Vec<_> = texts.iter().map(|one| text(guest, one)).collect();
            (guest.iovecs(&pairs), u32::try_from(texts.len()).unwrap())
        };
        let path = text(guest, self.path);
        let args = list(guest, self.args);
        let env = list(guest, self.env);
        let fds = (
            guest.iovecs(self.fds),
            u32::try_from(self.fds.len()).unwrap(),
        );
        let cwd = text(guest, self.cwd);
        let words = [
            64,
            self.flags,
            path.0,
            path.1,
            args.0,
            args.1,
            env.0,
            env.1,
            fds.0,
            fds.1,
            cwd.0,
            cwd.1,
            self.pgid.cast_unsigned(),
            self.umask,
            self.sigmask,
            self.sigignore,
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        guest.put(&bytes)
    }

    async fn spawn(&self, guest: &mut Guest) -> Result<u32, i32> {
        let request = self.put(guest);
        let pid = guest.room(4);
        match guest.sb("proc_spawn", &args![request, pid]).await {
            0 => Ok(guest.u32(pid)),
            errno => Err(errno),
        }
    }
}

/// Waits and returns pid and status.
async fn wait(guest: &mut Guest, pid: i32, options: u32) -> Result<(u32, u32), i32> {
    let result = sized(guest, 32);
    match guest.sb("proc_wait", &args![pid, options, result]).await {
        0 => Ok((guest.u32(result + 4), guest.u32(result + 8))),
        errno => Err(errno),
    }
}

#[tokio::test]
async fn a_child_inherits_what_it_is_told_to() {
    let (kernel, mut guest) = aware();
    let out = guest.open("out", O_CREAT | O_RDWR).await.unwrap();
    let hidden = guest.open("hidden", O_CREAT | O_CLOEXEC).await.unwrap();
    let spawn = Spawn {
        path: IDLE,
        args: &["idle", "two words", ""],
        fds: &[(1, out), (5, ROOT_FD)],
        ..Spawn::default()
    };
    let pid = spawn.spawn(&mut guest).await.unwrap();
    let child = kernel.table.get(pid).unwrap();
    assert_eq!(
        &*child.args(),
        [b"idle".to_vec(), b"two words".to_vec(), Vec::new()]
    );
    assert_eq!(child.env(), guest.process.env());
    assert_eq!(child.ppid(), guest.process.pid());
    assert_eq!(child.pgid(), guest.process.pgid());
    let fds: Vec<u32> = child.open_fds().into_iter().map(|(fd, _)| fd).collect();
    assert_eq!(fds, [1, 5]);

    let spawn = Spawn {
        flags: 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128,
        path: "idle",
        args: &["idle"],
        env: &["PATH=/nowhere:/bin", "B=2"],
        fds: &[(9, out)],
        cwd: "workspace",
        umask: 0o077,
        sigmask: 1 << 9,
        sigignore: 1 << 1,
        ..Spawn::default()
    };
    let pid = spawn.spawn(&mut guest).await.unwrap();
    let child = kernel.table.get(pid).unwrap();
    assert_eq!(&*child.exe(), b"/bin/idle");
    assert_eq!(child.cwd().path().unwrap(), b"/data/workspace");
    assert_eq!((child.pgid(), child.umask()), (pid, 0o077));
    assert_eq!(
        (child.signals().blocked().0, child.signals().ignored().0),
        (1 << 9, 1 << 1)
    );
    assert_eq!(
        &*child.env(),
        [b"PATH=/nowhere:/bin".to_vec(), b"B=2".to_vec()]
    );
    let fds: Vec<u32> = child.open_fds().into_iter().map(|(fd, _)| fd).collect();
    assert_eq!(fds, [out, 9], "{hidden} is close-on-exec");

    let session = Spawn {
        flags: 256,
        path: IDLE,
        args: &["idle"],
        ..Spawn::default()
    };
    let pid = session.spawn(&mut guest).await.unwrap();
    let child = kernel.table.get(pid).unwrap();
    assert_eq!((child.sid(), child.pgid()), (pid, pid));
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn what_cannot_be_spawned_says_why() {
    let (kernel, mut guest) = aware();
    kernel.write("/bin/text", b"echo", 0o755);
    kernel.write("/bin/closed", b"\0asm", 0o644);
    let long = "x".repeat(3 << 20);
    for (spawn, errno) in [
        (
            Spawn {
                path: "/bin/none",
                ..Spawn::default()
            },
            NotFound,
        ),
        (
            Spawn {
                path: "idle",
                flags: 1 | 64,
                env: &["PATH=/tmp"],
                ..Spawn::default()
            },
            NotFound,
        ),
        (
            Spawn {
                path: "/bin/closed",
                ..Spawn::default()
            },
            Access,
        ),
        (
            Spawn {
                path: "/bin",
                ..Spawn::default()
            },
            Access,
        ),
        (
            Spawn {
                path: "/bin/text",
                ..Spawn::default()
            },
            sandbar::errno::Errno::NoExec,
        ),
        (
            Spawn {
                path: IDLE,
                fds: &[(1, 60)],
                ..Spawn::default()
            },
            BadFd,
        ),
        (
            Spawn {
                path: IDLE,
                fds: &[(u32::MAX, 0)],
                ..Spawn::default()
            },
            BadFd,
        ),
        (
            Spawn {
                path: IDLE,
                flags: 32,
                cwd: "none",
                ..Spawn::default()
            },
            NotFound,
        ),
        (
            Spawn {
                path: IDLE,
                flags: 1 << 20,
                ..Spawn::default()
            },
            Invalid,
        ),
        (
            Spawn {
                path: IDLE,
                args: &["nul\0"],
                ..Spawn::default()
            },
            Invalid,
        ),
        (
            Spawn {
                path: "/bin/\0",
                ..Spawn::default()
            },
            Invalid,
        ),
        (
            Spawn {
                path: IDLE,
                flags: 2,
                pgid: -1,
                ..Spawn::default()
            },
            Invalid,
        ),
        (
            Spawn {
                path: IDLE,
                flags: 2,
                pgid: 4000,
                ..Spawn::default()
            },
            NotPermitted,
        ),
        (
            Spawn {
                path: IDLE,
                args: &[&long],
                ..Spawn::default()
            },
            TooBig,
        ),
    ] {
        assert_eq!(
            spawn.spawn(&mut guest).await,
            Err(e(errno)),
            "{} {errno}",
            spawn.path
        );
    }
    let short = guest.put(&60_u32.to_le_bytes());
    assert_eq!(
        guest.sb("proc_spawn", &args![short, short]).await,
        e(Invalid),
        "an older struct"
    );
}

#[tokio::test]
async fn waiting_tells_exit_stop_and_continuation() {
    let (_kernel, mut guest) = aware();
    assert_eq!(wait(&mut guest, -1, 0).await, Err(e(Child)));
    let spawn = Spawn {
        path: IDLE,
        args: &["idle"],
        ..Spawn::default()
    };
    let pid = spawn.spawn(&mut guest).await.unwrap();
    let id = pid.cast_signed();
    assert_eq!(wait(&mut guest, id, 1).await, Ok((0, 0)), "nothing yet");
    assert_eq!(wait(&mut guest, id, 4).await, Err(e(Invalid)));
    assert_eq!(wait(&mut guest, 4000, 0).await, Err(e(Child)));
    assert_eq!(guest.sb("proc_kill", &args![id, 19]).await, 0);
    assert_eq!(wait(&mut guest, id, 2).await, Ok((pid, 19 << 8 | 0x7f)));
    assert_eq!(wait(&mut guest, id, 1 | 2).await, Ok((0, 0)), "told once");
    assert_eq!(guest.sb("proc_kill", &args![id, 18]).await, 0);
    assert_eq!(wait(&mut guest, id, 8).await, Ok((pid, 0xffff)));
    assert_eq!(guest.sb("proc_kill", &args![id, 15]).await, 0);
    assert_eq!(wait(&mut guest, 0, 0).await, Ok((pid, 15)));
    assert_eq!(wait(&mut guest, id, 0).await, Err(e(Child)));
    assert_eq!(guest.sb("proc_kill", &args![id, 0]).await, e(NoProcess));
    assert_eq!(guest.sb("proc_kill", &args![0, 32]).await, e(Invalid));
    assert_eq!(guest.sb("proc_kill", &args![0, 0]).await, 0);
    let short = guest.put(&[28, 0, 0, 0]);
    assert_eq!(
        guest.sb("proc_wait", &args![-1, 0, short]).await,
        e(Invalid)
    );
}

#[tokio::test]
async fn ids_groups_and_sessions() {
    let (kernel, mut guest) = aware();
    let ids = sized(&mut guest, 28);
    assert_eq!(guest.sb("proc_ids", &args![0, ids]).await, 0);
    let words: Vec<u32> = (1..7).map(|index| guest.u32(ids + 4 * index)).collect();
    let pid = guest.process.pid();
    assert_eq!(words, [pid, 1, pid, pid, 65532, 65532]);
    assert_eq!(guest.sb("proc_ids", &args![4000, ids]).await, e(NoProcess));
    assert_eq!(guest.sb("proc_ids", &args![-1, ids]).await, e(NoProcess));

    let spawn = Spawn {
        path: IDLE,
        args: &["idle"],
        ..Spawn::default()
    };
    let child = spawn.spawn(&mut guest).await.unwrap();
    assert_eq!(guest.sb("proc_setpgid", &args![child, 0]).await, 0);
    assert_eq!(kernel.table.get(child).unwrap().pgid(), child);
    assert_eq!(guest.sb("proc_setpgid", &args![child, pid]).await, 0);
    assert_eq!(
        guest.sb("proc_setpgid", &args![child, -2]).await,
        e(Invalid)
    );
    assert_eq!(
        guest.sb("proc_setpgid", &args![child, 4000]).await,
        e(NotPermitted)
    );
    assert_eq!(
        guest.sb("proc_setpgid", &args![4000, 0]).await,
        e(NoProcess)
    );
    assert_eq!(
        guest.sb("proc_setsid", &args![ids]).await,
        e(NotPermitted),
        "a group leader"
    );
}

#[tokio::test]
async fn umask_current_directory_and_limits() {
    let (kernel, mut guest) = aware();
    let at = guest.room(16);
    assert_eq!(guest.sb("proc_umask", &args![u32::MAX, at]).await, 0);
    assert_eq!(guest.u32(at), 0o022);
    assert_eq!(guest.sb("proc_umask", &args![0o7077, at]).await, 0);
    assert_eq!(guest.sb("proc_umask", &args![0o077, 0]).await, 0);
    assert_eq!(guest.process.umask(), 0o077);
    guest.open("private", O_CREAT).await.unwrap();
    let stat = sized(&mut guest, 96);
    let path = guest.put(b"private");
    assert_eq!(
        guest
            .sb("path_stat", &args![CWD_FD, 0, path, 7, stat])
            .await,
        0
    );
    assert_eq!(guest.u32(stat + 4), 0o100_600);

    let buffer = guest.room(64);
    assert_eq!(
        guest.sb("proc_getcwd", &args![buffer, 3, at]).await,
        e(Range)
    );
    assert_eq!(guest.u32(at), 5);
    assert_eq!(guest.sb("proc_getcwd", &args![buffer, 5, at]).await, 0);
    assert_eq!(guest.bytes(buffer, 5), b"/data");
    let path = guest.put(b"workspace");
    assert_eq!(guest.sb("proc_chdir", &args![CWD_FD, path, 9]).await, 0);
    assert_eq!(guest.process.cwd().path().unwrap(), b"/data/workspace");
    assert_eq!(
        guest.sb("proc_chdir", &args![CWD_FD, path, 9]).await,
        e(NotFound)
    );
    kernel.write("/data/workspace/workspace", b"", 0o644);
    assert_eq!(
        guest.sb("proc_chdir", &args![CWD_FD, path, 9]).await,
        e(NotDirectory)
    );

    let get = |resource: u32| args![resource, at, at + 8];
    assert_eq!(guest.sb("proc_getrlimit", &get(7)).await, 0);
    assert_eq!((guest.u64(at), guest.u64(at + 8)), (64, 64));
    assert_eq!(guest.sb("proc_getrlimit", &get(5)).await, e(Invalid));
    assert_eq!(
        guest.sb("proc_setrlimit", &args![7, 4_u64, 64_u64]).await,
        0
    );
    assert_eq!(
        guest.sb("proc_setrlimit", &args![7, 5_u64, 65_u64]).await,
        e(NotPermitted)
    );
    assert_eq!(
        guest.sb("proc_setrlimit", &args![7, 9_u64, 8_u64]).await,
        e(Invalid)
    );
    for _ in 1..4 {
        guest.open("/dev/null", 0).await.unwrap();
    }
    assert_eq!(guest.open("/dev/null", 0).await, Err(e(ProcessFiles)));
    assert_eq!(guest.sb("proc_setrlimit", &args![1, 3_u64, 3_u64]).await, 0);
    assert_eq!(
        guest.sb("sig_action", &args![25, 1, 0]).await,
        0,
        "SIGXFSZ is ignored"
    );
    let fd = 0;
    assert_eq!(guest.p1("fd_close", &args![fd]).await, 0);
    let fd = guest.open("limited", O_CREAT | O_RDWR).await.unwrap();
    assert_eq!(guest.write(fd, b"12345").await, Ok(3));
    assert_eq!(
        guest.write(fd, b"4").await,
        Err(e(sandbar::errno::Errno::FileTooBig))
    );
    let usage = sized(&mut guest, 32);
    assert_eq!(guest.sb("proc_usage", &args![0, usage]).await, 0);
    assert_eq!(guest.sb("proc_usage", &args![1, usage]).await, 0);
    assert_eq!(guest.sb("proc_usage", &args![2, usage]).await, e(Invalid));
}

#[tokio::test]
async fn signals_are_handled_ignored_blocked_and_taken() {
    let (_kernel, mut guest) = aware();
    let at = guest.room(8);
    assert_eq!(guest.sb("sig_action", &args![10, 2, at]).await, 0);
    assert_eq!(guest.u32(at), 0);
    assert_eq!(guest.sb("sig_action", &args![10, 2, at]).await, 0);
    assert_eq!(guest.u32(at), 2);
    for signal in [9, 19, 0, 32] {
        assert_eq!(
            guest.sb("sig_action", &args![signal, 2, 0]).await,
            e(Invalid)
        );
    }
    assert_eq!(guest.sb("sig_action", &args![10, 3, 0]).await, e(Invalid));

    let word = guest.room(4);
    assert_eq!(guest.sb("sig_word", &args![word + 1]).await, e(Invalid));
    assert_eq!(guest.sb("sig_word", &args![word]).await, 0);
    let pid = guest.process.pid();
    assert_eq!(guest.sb("proc_kill", &args![pid, 10]).await, 0);
    assert_eq!(guest.u32(word), 1 << 9, "shown when the call returns");
    // What would wait does not, until the signal is taken.
    assert_eq!(guest.sb("sig_pause", &[]).await, e(Interrupted));
    assert_eq!(guest.sb("sig_take", &args![at]).await, 0);
    assert_eq!((guest.u32(at), guest.u32(word)), (1 << 9, 0));
    assert_eq!(guest.sb("sig_take", &args![at]).await, 0);
    assert_eq!(guest.u32(at), 0);

    assert_eq!(
        guest.sb("sig_mask", &args![0, 1 << 9 | 1 << 8, at]).await,
        0
    );
    assert_eq!(guest.sb("sig_mask", &args![3, 0, at]).await, 0);
    assert_eq!(guest.u32(at), 1 << 9, "KILL cannot be blocked");
    assert_eq!(guest.sb("sig_mask", &args![4, 0, at]).await, e(Invalid));
    assert_eq!(guest.sb("proc_kill", &args![pid, 10]).await, 0);
    assert_eq!(guest.u32(word), 0, "blocked");
    assert_eq!(guest.sb("sig_mask", &args![1, 1 << 9, 0]).await, 0);
    assert_eq!(guest.u32(word), 1 << 9);
    assert_eq!(guest.sb("sig_word", &args![0]).await, 0);
}

#[tokio::test]
async fn an_alarm_ends_a_wait() {
    let (_kernel, mut guest) = aware();
    let at = guest.room(8);
    assert_eq!(guest.sb("sig_action", &args![14, 2, 0]).await, 0);
    assert_eq!(guest.sb("sig_alarm", &args![1_u64 << 60, at]).await, 0);
    assert_eq!(guest.u64(at), 0);
    assert_eq!(guest.sb("sig_alarm", &args![5_000_000_u64, at]).await, 0);
    assert!(guest.u64(at) > 1 << 59, "what was left of the former one");
    let ends = guest.room(8);
    assert_eq!(guest.sb("fd_pipe", &args![0, ends, ends + 4]).await, 0);
    let read = guest.u32(ends);
    assert_eq!(guest.read(read, 1).await, Err(e(Interrupted)));
    assert_eq!(guest.sb("sig_take", &args![at]).await, 0);
    assert_eq!(guest.u32(at), 1 << 13);
}

/// A loop of `alarm` must not fill the host with timers: each replaces, and so gives up, the former.
#[tokio::test]
async fn alarms_that_are_replaced_leave_nothing() {
    let (_kernel, mut guest) = aware();
    for ns in [1_u64 << 50, 1 << 51, 1 << 49, 0, 1 << 52] {
        assert_eq!(guest.sb("sig_alarm", &args![ns, 0]).await, 0);
    }
    tokio::task::yield_now().await;
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let with_one = tasks();
    assert_eq!(guest.sb("sig_alarm", &args![0_u64, 0]).await, 0);
    tokio::task::yield_now().await;
    assert_eq!(tasks(), with_one - 1);
}

#[tokio::test]
async fn descriptors_are_duplicated() {
    let (_kernel, mut guest) = aware();
    let fd = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    let at = guest.room(8);
    assert_eq!(guest.sb("fd_dup", &args![fd, 10, 1, at]).await, 0);
    assert_eq!(guest.u32(at), 10);
    assert_eq!(guest.sb("fd_getfd", &args![10, at]).await, 0);
    assert_eq!(guest.u32(at), 1);
    assert_eq!(guest.sb("fd_setfd", &args![10, 0]).await, 0);
    assert_eq!(guest.sb("fd_getfd", &args![10, at]).await, 0);
    assert_eq!(guest.u32(at), 0);
    assert_eq!(guest.sb("fd_setfd", &args![10, 2]).await, e(Invalid));
    guest.write(fd, b"abc").await.unwrap();
    assert_eq!(guest.p1("fd_tell", &args![10, at]).await, 0);
    assert_eq!(guest.u64(at), 3, "one offset");
    assert_eq!(guest.sb("fd_dup2", &args![fd, 12, 0]).await, 0);
    assert_eq!(guest.sb("fd_dup2", &args![fd, fd, 1]).await, 0);
    assert_eq!(guest.sb("fd_getfd", &args![fd, at]).await, 0);
    assert_eq!(guest.u32(at), 1);
    for (from, to) in [(60, 1), (-1, 1), (0, -1), (0, 64), (0, 1 << 30)] {
        assert_eq!(
            guest.sb("fd_dup2", &args![from, to, 0]).await,
            e(BadFd),
            "{from} {to}"
        );
    }
    assert_eq!(guest.sb("fd_dup", &args![fd, -1, 0, at]).await, e(Invalid));
    assert_eq!(guest.sb("fd_dup", &args![fd, 64, 0, at]).await, e(Invalid));
    assert_eq!(guest.sb("fd_dup", &args![fd, 0, 2, at]).await, e(Invalid));
    assert_eq!(
        guest.sb("fd_dup", &args![ROOT_FD, 0, 0, at]).await,
        0,
        "an open of `/`"
    );
    let flags = |guest: &Guest| guest.u32(at);
    assert_eq!(guest.sb("fd_getfl", &args![fd, at]).await, 0);
    assert_eq!(flags(&guest), O_RDWR);
    assert_eq!(guest.p1("fd_fdstat_set_flags", &args![fd, 1 | 4]).await, 0);
    assert_eq!(guest.sb("fd_getfl", &args![10, at]).await, 0);
    assert_eq!(
        flags(&guest),
        O_RDWR | 0o2000 | O_NONBLOCK,
        "shared by all of them"
    );
}

#[tokio::test]
async fn a_pipe_carries_bytes_and_breaks() {
    let (_kernel, mut guest) = aware();
    let ends = guest.room(8);
    assert_eq!(
        guest
            .sb("fd_pipe", &args![1 | O_NONBLOCK, ends, ends + 4])
            .await,
        0
    );
    let (read, write) = (guest.u32(ends), guest.u32(ends + 4));
    assert_eq!((read, write), (0, 1));
    assert_eq!(
        guest.read(read, 8).await,
        Err(e(sandbar::errno::Errno::Again))
    );
    assert_eq!(guest.write(write, b"through").await, Ok(7));
    assert_eq!(guest.read(read, 8).await.unwrap(), b"through");
    assert_eq!(
        guest.write(write, &vec![1; 70_000]).await,
        Ok(65536),
        "what fits"
    );
    assert_eq!(
        guest.write(write, b"x").await,
        Err(e(sandbar::errno::Errno::Again))
    );
    assert_eq!(guest.p1("fd_close", &args![read]).await, 0);
    assert_eq!(guest.sb("sig_action", &args![13, 1, 0]).await, 0);
    assert_eq!(guest.write(write, b"x").await, Err(e(BrokenPipe)));
    assert_eq!(
        guest.sb("fd_pipe", &args![2, ends, ends + 4]).await,
        e(Invalid)
    );
}

/// A terminal that nobody types at.
#[derive(Debug, Default)]
struct Terminal(Notify);

impl Stream for Terminal {
    fn readiness(&self) -> Readiness {
        Readiness::default()
    }

    fn changed(&self) -> &Notify {
        &self.0
    }

    fn id(&self) -> u64 {
        0
    }

    fn window(&self) -> Option<WindowSize> {
        Some(WindowSize {
            rows: 24,
            columns: 80,
        })
    }
}

#[tokio::test]
async fn terminals_have_a_window() {
    let (_kernel, mut guest) = aware();
    let terminal =
        Description::stream(std::sync::Arc::<Terminal>::default(), AccessMode::ReadWrite);
    let fd = guest.process.insert_fd(terminal, 0, false).unwrap();
    let at = guest.room(24);
    assert_eq!(guest.sb("fd_isatty", &args![fd, at]).await, 0);
    assert_eq!(guest.u32(at), 1);
    assert_eq!(guest.sb("fd_winsize", &args![fd, at, at + 4]).await, 0);
    assert_eq!((guest.u32(at), guest.u32(at + 4)), (24, 80));
    assert_eq!(guest.p1("fd_fdstat_get", &args![fd, at]).await, 0);
    assert_eq!(guest.bytes(at, 1)[0], 2);
    assert_eq!(
        guest.u64(at + 8) & (1 << 2 | 1 << 5),
        0,
        "isatty of wasi-libc"
    );
    let file = guest.open("file", O_CREAT).await.unwrap();
    assert_eq!(guest.sb("fd_isatty", &args![file, at]).await, 0);
    assert_eq!(guest.u32(at), 0);
    assert_eq!(
        guest.sb("fd_winsize", &args![file, at, at]).await,
        e(NotTerminal)
    );
}

#[tokio::test]
async fn modes_are_set_shown_and_enforced() {
    let (_kernel, mut guest) = aware();
    let dir = guest.put(b"dir");
    let file = guest.put(b"dir/file");
    assert_eq!(
        guest.sb("path_mkdir", &args![CWD_FD, dir, 3, 0o777]).await,
        0
    );
    let stat = sized(&mut guest, 96);
    assert_eq!(
        guest.sb("path_stat", &args![CWD_FD, 0, dir, 3, stat]).await,
        0
    );
    assert_eq!(guest.u32(stat + 4), 0o040_755);
    let fd = guest.open("dir/file", O_CREAT | O_RDWR).await.unwrap();
    guest.write(fd, b"12345").await.unwrap();
    assert_eq!(guest.sb("fd_stat", &args![fd, stat]).await, 0);
    assert_eq!(guest.u32(stat + 4), 0o100_644);
    assert_eq!((guest.u32(stat + 32), guest.u32(stat + 36)), (65532, 65532));
    assert_eq!((guest.u64(stat + 24), guest.u64(stat + 48)), (1, 5));
    assert_eq!(guest.u32(stat + 64), 4096);
    assert!(guest.u64(stat + 80) > 1_577_836_800_000_000_000);
    assert_eq!(guest.sb("fd_chmod", &args![fd, 0o400]).await, 0);
    assert_eq!(guest.open("dir/file", O_WRONLY).await, Err(e(Access)));
    let access = |mode: u32| args![CWD_FD, 0, file, 8, mode];
    assert_eq!(guest.sb("path_access", &access(4)).await, 0);
    assert_eq!(guest.sb("path_access", &access(0)).await, 0);
    assert_eq!(guest.sb("path_access", &access(2)).await, e(Access));
    assert_eq!(guest.sb("path_access", &access(1)).await, e(Access));
    assert_eq!(guest.sb("path_access", &access(8)).await, e(Invalid));
    assert_eq!(
        guest
            .sb("path_chmod", &args![CWD_FD, 0, file, 8, 0o755])
            .await,
        0
    );
    assert_eq!(guest.sb("path_access", &access(1 | 2 | 4)).await, 0);
    assert_eq!(
        guest
            .sb("path_chmod", &args![CWD_FD, 2, file, 8, 0o755])
            .await,
        e(Invalid)
    );
    let own = |uid: u32, gid: u32| args![CWD_FD, 0, file, 8, uid, gid];
    assert_eq!(guest.sb("path_chown", &own(65532, u32::MAX)).await, 0);
    assert_eq!(
        guest.sb("path_chown", &own(0, u32::MAX)).await,
        e(NotPermitted)
    );
    assert_eq!(
        guest.sb("fd_chown", &args![fd, u32::MAX, u32::MAX]).await,
        0
    );
    assert_eq!(
        guest.sb("fd_chown", &args![fd, u32::MAX, 1]).await,
        e(NotPermitted)
    );
    let none = args![CWD_FD, 0, dir, 2, u32::MAX, u32::MAX];
    assert_eq!(guest.sb("path_chown", &none).await, e(NotFound));
}

#[tokio::test]
async fn renaming_swaps_and_refuses_to_replace() {
    let (kernel, mut guest) = aware();
    kernel.write("/data/a", b"a", 0o644);
    kernel.write("/data/b", b"b", 0o644);
    let (a, b) = (guest.put(b"a"), guest.put(b"b"));
    let rename = |flags: u32| args![CWD_FD, a, 1, CWD_FD, b, 1, flags];
    assert_eq!(guest.sb("path_rename", &rename(1)).await, e(Exists));
    assert_eq!(guest.sb("path_rename", &rename(2)).await, 0);
    assert_eq!(
        (kernel.read("/data/a"), kernel.read("/data/b")),
        (b"b".to_vec(), b"a".to_vec())
    );
    assert_eq!(guest.sb("path_rename", &rename(3)).await, e(Invalid));
    assert_eq!(guest.sb("path_rename", &rename(4)).await, e(Invalid));
    assert_eq!(guest.sb("path_rename", &rename(0)).await, 0);
    assert_eq!(kernel.read("/data/b"), b"b");
}

#[tokio::test]
async fn file_systems_tell_their_size() {
    let (_kernel, mut guest) = aware();
    let at = sized(&mut guest, 64);
    let path = guest.put(b"/proc");
    assert_eq!(
        guest.sb("path_statfs", &args![CWD_FD, path, 5, at]).await,
        0
    );
    let proc_id = guest.u64(at + 56);
    assert_eq!(guest.sb("fd_statfs", &args![CWD_FD, at]).await, 0);
    assert!(guest.u64(at + 8) > 0, "a block has a size");
    assert_eq!(guest.u64(at + 48), 255);
    assert_ne!(guest.u64(at + 56), proc_id);
    let ends = guest.room(8);
    assert_eq!(guest.sb("fd_pipe", &args![0, ends, ends + 4]).await, 0);
    let read = guest.u32(ends);
    let none = guest.sb("fd_statfs", &args![read, at]).await;
    assert_eq!(none, e(sandbar::errno::Errno::NotImplemented));
}

#[tokio::test]
async fn a_named_pipe_joins_two_openers() {
    let kernel = Kernel::new();
    let mut one = kernel.guest(Personality::Aware);
    let mut two = kernel.guest(Personality::Aware);
    let path = one.put(b"fifo");
    assert_eq!(
        one.sb("path_mkfifo", &args![CWD_FD, path, 4, 0o666]).await,
        0
    );
    assert_eq!(
        one.sb("path_mkfifo", &args![CWD_FD, path, 4, 0o666]).await,
        e(Exists)
    );
    let alone = one.open("fifo", O_WRONLY | O_NONBLOCK).await;
    assert_eq!(alone, Err(e(NoDeviceOrAddress)));
    let (reader, writer) = tokio::join!(one.open("fifo", 0), two.open("fifo", O_WRONLY));
    let (reader, writer) = (reader.unwrap(), writer.unwrap());
    assert_eq!(two.write(writer, b"hello").await, Ok(5));
    assert_eq!(one.read(reader, 9).await.unwrap(), b"hello");
    let stat = sized(&mut one, 96);
    assert_eq!(one.sb("fd_stat", &args![reader, stat]).await, 0);
    assert_eq!(one.u32(stat + 4), 0o010_644);
    let inode = one.u64(stat + 16);
    assert_eq!(
        one.sb("path_stat", &args![CWD_FD, 0, path, 4, stat]).await,
        0
    );
    assert_eq!(one.u64(stat + 16), inode);
    assert_eq!(two.p1("fd_close", &args![writer]).await, 0);
    assert_eq!(one.read(reader, 9).await.unwrap(), b"", "the end");
    assert_eq!(one.p1("fd_close", &args![reader]).await, 0);
    let lone = one.open("fifo", O_NONBLOCK).await.unwrap();
    assert_eq!(one.p1("fd_close", &args![lone]).await, 0);
    let both = one.open("fifo", O_RDWR).await.unwrap();
    assert_eq!(one.write(both, b"self").await, Ok(4));
    assert_eq!(one.read(both, 9).await.unwrap(), b"self");
}

#[tokio::test]
async fn opening_a_named_pipe_is_interrupted_by_a_signal() {
    let (_kernel, mut guest) = aware();
    let path = guest.put(b"fifo");
    assert_eq!(
        guest
            .sb("path_mkfifo", &args![CWD_FD, path, 4, 0o666])
            .await,
        0
    );
    assert_eq!(guest.sb("sig_action", &args![14, 2, 0]).await, 0);
    assert_eq!(guest.sb("sig_alarm", &args![2_000_000_u64, 0]).await, 0);
    assert_eq!(guest.open("fifo", 0).await, Err(e(Interrupted)));
    let nobody = guest.open("fifo", O_WRONLY | O_NONBLOCK).await;
    assert_eq!(
        nobody,
        Err(e(NoDeviceOrAddress)),
        "the reader that gave up is gone"
    );
}

#[tokio::test]
async fn descriptor_links_open_what_they_mean() {
    let (_kernel, mut guest) = aware();
    let ends = guest.room(8);
    assert_eq!(guest.sb("fd_pipe", &args![0, ends, ends + 4]).await, 0);
    let (read, write) = (guest.u32(ends), guest.u32(ends + 4));
    let again = guest
        .open(&format!("/dev/fd/{write}"), O_WRONLY)
        .await
        .unwrap();
    guest.write(again, b"same pipe").await.unwrap();
    assert_eq!(guest.read(read, 99).await.unwrap(), b"same pipe");
    let wrong = guest.open(&format!("/dev/fd/{read}"), O_WRONLY).await;
    assert_eq!(wrong, Err(e(Access)));
    let file = guest.open("file", O_CREAT | O_RDWR).await.unwrap();
    guest.write(file, b"contents").await.unwrap();
    let anew = guest
        .open(&format!("/proc/self/fd/{file}"), 0)
        .await
        .unwrap();
    assert_eq!(
        guest.read(anew, 99).await.unwrap(),
        b"contents",
        "its own offset"
    );
    assert_eq!(guest.open("/dev/fd/60", 0).await, Err(e(NotFound)));
}

#[tokio::test]
async fn a_broken_pipe_ends_who_does_not_care() {
    let (_kernel, mut guest) = aware();
    let ends = guest.room(8);
    assert_eq!(guest.sb("fd_pipe", &args![0, ends, ends + 4]).await, 0);
    let (read, write) = (guest.u32(ends), guest.u32(ends + 4));
    assert_eq!(guest.p1("fd_close", &args![read]).await, 0);
    let process = guest.process.clone();
    let at = guest.put(b"x");
    let list = guest.iovecs(&[(at, 1)]);
    let broken =
        tokio::spawn(async move { guest.p1("fd_write", &args![write, list, 1, ends]).await });
    assert_eq!(
        within(process.exited()).await,
        ExitStatus::Signaled(Signal::PIPE)
    );
    assert!(
        broken.await.is_err(),
        "the call does not return into a killed guest"
    );
}

//! `flock` and record locks between processes.

use sandbar::errno::Errno::{Again, BadFd, Deadlock, Interrupted, Invalid};
use sandbar::process::Signal;
use sandbar::wasi::Personality;

use crate::harness::{Guest, Kernel, args, e};

const SHARED: u32 = 1;
const EXCLUSIVE: u32 = 2;
const NO_WAIT: u32 = 4;
const UNLOCK: u32 = 8;

async fn opened(kernel: &Kernel) -> (Guest, u32) {
    let mut guest = kernel.guest(Personality::Aware);
    let fd = guest.open("/data/file", 0o100 | 2).await.unwrap();
    (guest, fd)
}

/// A `sandbar_lock`: 0 to read, 1 to write, 2 to unlock.
fn lock(guest: &mut Guest, kind: u32, start: u64, len: u64) -> u32 {
    let at = guest.room(32);
    let mut bytes = Vec::new();
    bytes.extend(32_u32.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    guest.store_at(at, &bytes);
    at
}

async fn set(guest: &mut Guest, fd: u32, command: u32, kind: u32, start: u64, len: u64) -> i32 {
    let at = lock(guest, kind, start, len);
    guest.sb("fd_lock", &args![fd, command, at]).await
}

#[tokio::test]
async fn a_file_lock_belongs_to_the_description() {
    let kernel = Kernel::new();
    let (mut one, a) = opened(&kernel).await;
    let (mut two, b) = opened(&kernel).await;
    assert_eq!(one.sb("fd_flock", &args![a, SHARED]).await, 0);
    assert_eq!(two.sb("fd_flock", &args![b, SHARED | NO_WAIT]).await, 0);
    assert_eq!(
        two.sb("fd_flock", &args![b, EXCLUSIVE | NO_WAIT]).await,
        e(Again)
    );
    assert_eq!(one.sb("fd_flock", &args![a, UNLOCK]).await, 0);
    assert_eq!(two.sb("fd_flock", &args![b, EXCLUSIVE | NO_WAIT]).await, 0);
    let copy = two.room(4);
    assert_eq!(two.sb("fd_dup", &args![b, 0, 0, copy]).await, 0);
    assert_eq!(two.p1("fd_close", &args![b]).await, 0);
    assert_eq!(
        one.sb("fd_flock", &args![a, SHARED | NO_WAIT]).await,
        e(Again),
        "a copy has it"
    );
    let copy = two.u32(copy);
    assert_eq!(two.p1("fd_close", &args![copy]).await, 0);
    assert_eq!(one.sb("fd_flock", &args![a, SHARED | NO_WAIT]).await, 0);
    assert_eq!(one.sb("fd_flock", &args![a, 3]).await, e(Invalid));
    assert_eq!(one.sb("fd_flock", &args![60, SHARED]).await, e(BadFd));
}

#[tokio::test]
async fn a_waiting_lock_comes_when_the_holder_is_killed() {
    let kernel = Kernel::new();
    let (mut one, a) = opened(&kernel).await;
    let (mut two, b) = opened(&kernel).await;
    assert_eq!(one.sb("fd_flock", &args![a, EXCLUSIVE]).await, 0);
    assert_eq!(set(&mut one, a, 1, 1, 0, 0).await, 0);
    let holder = one.process.clone();
    let waiting = async { two.sb("fd_flock", &args![b, EXCLUSIVE]).await };
    let (flocked, ()) = tokio::join!(waiting, async {
        tokio::task::yield_now().await;
        holder.kill(Signal::KILL);
    });
    assert_eq!(flocked, 0);
    assert_eq!(
        set(&mut two, b, 1, 1, 0, 0).await,
        0,
        "its record locks are gone too"
    );
}

#[tokio::test]
async fn record_locks_belong_to_the_process() {
    let kernel = Kernel::new();
    let (mut one, a) = opened(&kernel).await;
    let (mut two, b) = opened(&kernel).await;
    assert_eq!(set(&mut one, a, 1, 1, 10, 10).await, 0);
    assert_eq!(
        set(&mut one, a, 1, 0, 15, 1).await,
        0,
        "its own lock is never in the way"
    );
    assert_eq!(
        set(&mut two, b, 1, 0, 15, 1).await,
        0,
        "that byte is shared now"
    );
    assert_eq!(set(&mut two, b, 1, 1, 0, 10).await, 0);
    assert_eq!(set(&mut two, b, 1, 0, 0, 0).await, e(Again));
    let question = lock(&mut two, 1, 0, 0);
    assert_eq!(two.sb("fd_lock", &args![b, 0, question]).await, 0);
    assert_eq!(two.u32(question + 4), 1);
    assert_eq!((two.u64(question + 8), two.u64(question + 16)), (10, 5));
    assert_eq!(two.u32(question + 24), one.process.pid());
    // POSIX: closing any descriptor of the file gives up all of the process's locks on it.
    let other = one.open("/data/file", 0).await.unwrap();
    assert_eq!(one.p1("fd_close", &args![other]).await, 0);
    let question = lock(&mut two, 1, 0, 0);
    assert_eq!(two.sb("fd_lock", &args![b, 0, question]).await, 0);
    assert_eq!(two.u32(question + 4), 2, "nothing is in the way");
}

#[tokio::test]
async fn record_locks_check_what_they_are_given() {
    let kernel = Kernel::new();
    let (mut guest, fd) = opened(&kernel).await;
    let read_only = guest.open("/data/file", 0).await.unwrap();
    assert_eq!(set(&mut guest, read_only, 1, 1, 0, 0).await, e(BadFd));
    assert_eq!(set(&mut guest, read_only, 1, 0, 0, 0).await, 0);
    assert_eq!(set(&mut guest, fd, 3, 0, 0, 0).await, e(Invalid));
    assert_eq!(set(&mut guest, fd, 1, 3, 0, 0).await, e(Invalid));
    let far = set(&mut guest, fd, 1, 0, u64::MAX, 2).await;
    assert_eq!(far, e(sandbar::errno::Errno::Overflow));
}

#[tokio::test]
async fn a_deadlock_is_refused_and_a_signal_ends_the_wait() {
    let kernel = Kernel::new();
    let (mut one, a) = opened(&kernel).await;
    let (mut two, b) = opened(&kernel).await;
    assert_eq!(set(&mut one, a, 1, 1, 0, 1).await, 0);
    assert_eq!(set(&mut two, b, 1, 1, 1, 1).await, 0);
    assert_eq!(one.sb("sig_action", &args![10, 2, 0]).await, 0);
    let first = one.process.clone();
    let (waited, refused) = tokio::join!(set(&mut one, a, 2, 1, 1, 1), async {
        tokio::task::yield_now().await;
        let refused = set(&mut two, b, 2, 1, 0, 1).await;
        first.signal(Signal::USR1);
        refused
    });
    assert_eq!(refused, e(Deadlock));
    assert_eq!(waited, e(Interrupted));
}

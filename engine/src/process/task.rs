//! The slot that a process's future lives in, and how it is ended from outside.
//!
//! Killing must not wait for the run queue: with hundreds of spinning guests a queue is tens of milliseconds long. So the
//! killer takes the future out of the slot and drops it itself. Only when the slot is locked, because some thread is polling the
//! future at this moment, does the killer leave it to that thread: guest code sees the flag at its next epoch tick, and the
//! poller looks again after it has unlocked the slot.
//!
//! SECURITY[SB-RT-004]: a guest cannot put off its end: no handler runs, no call is waited for but one that is under way.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use parking_lot::Mutex;

use super::{ExitStatus, Process, Signal};

/// What a program is while it runs.
pub type ProgramFuture = Pin<Box<dyn Future<Output = ExitStatus> + Send>>;

struct Slot {
    future: Option<ProgramFuture>,
    /// Wakes the driver of a stopped process.
    waker: Option<Waker>,
}

/// A process's future and the flags that steer it.
pub struct Task {
    slot: Mutex<Slot>,
    /// The signal that ends it, 0 for none.
    killed_by: AtomicU8,
    stopped: AtomicBool,
    /// Something for the guest's attention: a signal to put in its word.
    attention: AtomicBool,
    /// When the slice that is running began.
    slice: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("killed_by", &self.killed_by)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

impl Task {
    pub(super) fn new() -> Self {
        Self {
            slot: Mutex::new(Slot {
                future: None,
                waker: None,
            }),
            killed_by: AtomicU8::new(0),
            stopped: AtomicBool::new(false),
            attention: AtomicBool::new(false),
            slice: Mutex::new(None),
        }
    }

    pub(super) fn set_future(&self, future: ProgramFuture) {
        self.slot.lock().future = Some(future);
    }

    /// The signal that ends it, once one was sent.
    pub fn killed_by(&self) -> Option<Signal> {
        Signal::from_number(u32::from(self.killed_by.load(Ordering::SeqCst))).ok()
    }

    /// Whether it is stopped: guest code yields and is not polled again until it is continued.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Whether some thread is running it at this moment.
    pub fn is_polled(&self) -> bool {
        self.slot.is_locked()
    }

    /// Nanoseconds since the slice that is running began.
    pub(super) fn slice_ns(&self) -> u64 {
        let started = *self.slice.lock();
        started.map_or(0, |started| {
            u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
        })
    }

    pub(super) fn set_attention(&self) {
        self.attention.store(true, Ordering::SeqCst);
    }

    /// Takes the flag that says that signals wait for the guest's word.
    pub fn take_attention(&self) -> bool {
        self.attention.load(Ordering::Relaxed) && self.attention.swap(false, Ordering::SeqCst)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(super) fn resume(&self) {
        self.stopped.store(false, Ordering::SeqCst);
        let waker = self.slot.try_lock().and_then(|mut slot| slot.waker.take());
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Process {
    /// Ends the process now, whatever it is doing. Returns when it has ended or, if it is just being polled, will within a tick.
    pub fn kill(&self, signal: Signal) {
        let task = &self.task;
        if task
            .killed_by
            .compare_exchange(0, signal.number(), Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            return;
        }
        task.resume();
        self.reap_killed();
    }

    /// Drops the future of a killed process unless it is being polled.
    fn reap_killed(&self) -> bool {
        let Some(signal) = self.task.killed_by() else {
            return false;
        };
        let Some(mut slot) = self.task.slot.try_lock() else {
            return false;
        };
        let future = slot.future.take();
        drop(slot);
        drop(future);
        self.finish(ExitStatus::Signaled(signal));
        true
    }

    /// Drives the process once: what the executor polls.
    pub fn poll(self: &Arc<Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut slot = self.task.slot.lock();
        if self.task.is_stopped() && self.task.killed_by().is_none() {
            slot.waker = Some(context.waker().clone());
            drop(slot);
            // A continuation between the check and the waker's arrival must not be lost.
            if self.task.is_stopped() && self.task.killed_by().is_none() {
                return Poll::Pending;
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(future) = slot.future.as_mut() else {
            drop(slot);
            self.reap_killed();
            return Poll::Ready(());
        };
        if self.task.killed_by().is_some() {
            drop(slot);
            self.reap_killed();
            return Poll::Ready(());
        }
        let started = Instant::now();
        *self.task.slice.lock() = Some(started);
        let result = future.as_mut().poll(context);
        *self.task.slice.lock() = None;
        self.add_cpu_ns(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        match result {
            Poll::Ready(status) => {
                let future = slot.future.take();
                drop(slot);
                drop(future);
                let status = self.task.killed_by().map_or(status, ExitStatus::Signaled);
                self.finish(status);
                Poll::Ready(())
            }
            Poll::Pending => {
                drop(slot);
                if self.reap_killed() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }
        }
    }
}

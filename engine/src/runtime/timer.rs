//! Actions at a time: time limits and alarms, on a thread of their own, so that they come however busy the guests' threads are.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

type Action = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    actions: BTreeMap<(Instant, u64), Action>,
    next: u64,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The thread and what waits for it.
pub(super) struct Timer {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timer").finish_non_exhaustive()
    }
}

/// A pending action; dropping this cancels it.
pub(crate) struct TimerToken {
    shared: Weak<Shared>,
    key: (Instant, u64),
}

impl std::fmt::Debug for TimerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimerToken")
            .field("at", &self.key.0)
            .finish_non_exhaustive()
    }
}

impl Drop for TimerToken {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            let action = shared.state.lock().actions.remove(&self.key);
            drop(action);
        }
    }
}

impl Timer {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("sandbar-timer".into())
            .spawn(move || run(&thread))?;
        Ok(Self { shared })
    }

    /// Has `action` run at `at`, on the timer's thread: it must not wait.
    pub(super) fn at(&self, at: Instant, action: impl FnOnce() + Send + 'static) -> TimerToken {
        let mut state = self.shared.state.lock();
        let key = (at, state.next);
        state.next += 1;
        let first = state
            .actions
            .first_key_value()
            .is_none_or(|(first, _)| key < *first);
        state.actions.insert(key, Box::new(action));
        drop(state);
        if first {
            self.shared.changed.notify_one();
        }
        TimerToken {
            shared: Arc::downgrade(&self.shared),
            key,
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.state.lock().ended = true;
        self.shared.changed.notify_one();
    }
}

fn run(shared: &Shared) {
    let mut state = shared.state.lock();
    while !state.ended {
        let Some((&(at, _), _)) = state.actions.first_key_value() else {
            shared.changed.wait(&mut state);
            continue;
        };
        if at > Instant::now() {
            shared.changed.wait_until(&mut state, at);
            continue;
        }
        let due = state.actions.pop_first();
        parking_lot::MutexGuard::unlocked(&mut state, || {
            if let Some((_, action)) = due {
                action();
            }
        });
    }
}

//! Signals: Linux's numbers 1–31, dispositions, masks, default actions.
//!
//! Source: signal(7), <https://man7.org/linux/man-pages/man7/signal.7.html>.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

use crate::errno::{Errno, SysResult};

/// A signal's number, 1–31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signal(u8);

const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

#[expect(missing_docs, reason = "the names are Linux's")]
impl Signal {
    pub const HUP: Self = Self(1);
    pub const INT: Self = Self(2);
    pub const QUIT: Self = Self(3);
    pub const ILL: Self = Self(4);
    pub const TRAP: Self = Self(5);
    pub const ABRT: Self = Self(6);
    pub const BUS: Self = Self(7);
    pub const FPE: Self = Self(8);
    pub const KILL: Self = Self(9);
    pub const USR1: Self = Self(10);
    pub const SEGV: Self = Self(11);
    pub const PIPE: Self = Self(13);
    pub const ALRM: Self = Self(14);
    pub const TERM: Self = Self(15);
    pub const CHLD: Self = Self(17);
    pub const CONT: Self = Self(18);
    pub const STOP: Self = Self(19);
    pub const TSTP: Self = Self(20);
    pub const TTIN: Self = Self(21);
    pub const TTOU: Self = Self(22);
    pub const XCPU: Self = Self(24);
    pub const XFSZ: Self = Self(25);
    pub const SYS: Self = Self(31);
}

impl Signal {
    /// By number.
    ///
    /// # Errors
    /// `Invalid` outside 1–31.
    pub fn from_number(number: u32) -> SysResult<Self> {
        match u8::try_from(number) {
            Ok(number @ 1..=31) => Ok(Self(number)),
            _ => Err(Errno::Invalid),
        }
    }

    /// By name, with or without `SIG`, in any case, or by number as text.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Self::from_number(number).ok();
        }
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let index = NAMES.iter().position(|known| *known == name)?;
        u8::try_from(index + 1).ok().map(Self)
    }

    /// The number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The name without `SIG`.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0 - 1)]
    }

    fn bit(self) -> u32 {
        1 << (self.0 - 1)
    }

    /// What it does to a process that has not said otherwise.
    pub fn default_action(self) -> DefaultAction {
        match self {
            Self::CHLD | Self::CONT | Self(23 | 28) => DefaultAction::Ignore,
            Self::STOP | Self::TSTP | Self::TTIN | Self::TTOU => DefaultAction::Stop,
            _ => DefaultAction::Terminate,
        }
    }
}

impl std::fmt::Display for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SIG{}", self.name())
    }
}

/// A signal's default action. `CONT` continues besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultAction {
    /// The process ends by the signal.
    Terminate,
    /// Nothing.
    Ignore,
    /// The process stops.
    Stop,
}

/// A set of signals: bit n-1 is signal n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(pub u32);

impl SignalSet {
    /// All of 1–31 but `KILL` and `STOP`, which no set may hold.
    const BLOCKABLE: u32 = 0x7fff_ffff & !(1 << 8) & !(1 << 18);

    /// Whether a signal is in it.
    pub fn contains(self, signal: Signal) -> bool {
        self.0 & signal.bit() != 0
    }

    /// Only signals that can be blocked or ignored.
    #[must_use]
    pub fn blockable(self) -> Self {
        Self(self.0 & Self::BLOCKABLE)
    }
}

/// What a process does with a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The default action.
    Default,
    /// Nothing.
    Ignore,
    /// It is collected for the guest's own handler.
    Handle,
}

/// What has to be done about a signal that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Nothing, or it waits until it is unblocked or taken.
    Kept,
    /// End the process.
    Terminate(Signal),
    /// Stop it.
    Stop(Signal),
}

/// Signals of one process: atomics, because `kill` comes from other threads while the guest runs.
#[derive(Debug, Default)]
pub struct SignalState {
    pending: AtomicU32,
    blocked: AtomicU32,
    ignored: AtomicU32,
    handled: AtomicU32,
    /// Told when a handled signal arrives: waiting calls end with `Interrupted`.
    event: Notify,
}

impl SignalState {
    /// A new process's state: handlers never are inherited.
    pub fn inherit(blocked: SignalSet, ignored: SignalSet) -> Self {
        let state = Self::default();
        state
            .blocked
            .store(blocked.blockable().0, Ordering::Relaxed);
        state
            .ignored
            .store(ignored.blockable().0, Ordering::Relaxed);
        state
    }

    /// What `exec` does: handlers fall back to the default.
    pub(super) fn reset_handlers(&self) {
        self.handled.store(0, Ordering::SeqCst);
    }

    /// Blocked signals.
    pub fn blocked(&self) -> SignalSet {
        SignalSet(self.blocked.load(Ordering::SeqCst))
    }

    /// Ignored signals.
    pub fn ignored(&self) -> SignalSet {
        SignalSet(self.ignored.load(Ordering::SeqCst))
    }

    /// Signals with a handler.
    pub fn handled(&self) -> SignalSet {
        SignalSet(self.handled.load(Ordering::SeqCst))
    }

    /// Pending signals.
    pub fn pending(&self) -> SignalSet {
        SignalSet(self.pending.load(Ordering::SeqCst))
    }

    /// Told when a handled signal arrives.
    pub(super) fn event(&self) -> &Notify {
        &self.event
    }

    /// Whether a handled, unblocked signal is waiting to be taken.
    pub fn interrupts(&self) -> bool {
        self.deliverable().0 != 0
    }

    /// The handled, unblocked signals that are pending: they stay so until they are taken.
    pub fn deliverable(&self) -> SignalSet {
        SignalSet(self.pending().0 & self.handled().0 & !self.blocked().0)
    }

    /// Makes exactly these signals ignored, as a program that `exec` starts is told to; the others fall back to the default.
    pub fn set_ignored(&self, to: SignalSet) {
        let to = to.blockable().0;
        self.handled.store(0, Ordering::SeqCst);
        self.ignored.store(to, Ordering::SeqCst);
        self.pending.fetch_and(!to, Ordering::SeqCst);
    }

    /// Takes the handled, unblocked signals that are pending.
    pub fn take(&self) -> SignalSet {
        let taken = self.deliverable().0;
        self.pending.fetch_and(!taken, Ordering::SeqCst);
        SignalSet(taken)
    }

    /// What a signal does now.
    pub fn disposition(&self, signal: Signal) -> Disposition {
        if self.handled().contains(signal) {
            Disposition::Handle
        } else if self.ignored().contains(signal) {
            Disposition::Ignore
        } else {
            Disposition::Default
        }
    }

    /// Sets what a signal does, returning what it did; what is pending of an ignored one is dropped (POSIX `sigaction`).
    ///
    /// # Errors
    /// `Invalid` for `KILL` and `STOP`.
    pub fn set_disposition(&self, signal: Signal, to: Disposition) -> SysResult<Disposition> {
        if matches!(signal, Signal::KILL | Signal::STOP) {
            return Err(Errno::Invalid);
        }
        let before = self.disposition(signal);
        let set = |word: &AtomicU32, on: bool| {
            if on {
                word.fetch_or(signal.bit(), Ordering::SeqCst);
            } else {
                word.fetch_and(!signal.bit(), Ordering::SeqCst);
            }
        };
        set(&self.ignored, to == Disposition::Ignore);
        set(&self.handled, to == Disposition::Handle);
        let ignored = to == Disposition::Ignore
            || to == Disposition::Default && signal.default_action() == DefaultAction::Ignore;
        if ignored {
            self.pending.fetch_and(!signal.bit(), Ordering::SeqCst);
        }
        Ok(before)
    }

    /// Sets the blocked signals, returning the former set. The caller delivers what this unblocked
    /// ([`SignalState::next_unblocked`]).
    pub fn set_blocked(&self, to: SignalSet) -> SignalSet {
        let before = SignalSet(self.blocked.swap(to.blockable().0, Ordering::SeqCst));
        if self.interrupts() {
            self.event.notify_waiters();
        }
        before
    }

    /// Takes a pending, unblocked signal without a handler: its default action is due.
    pub(super) fn next_unblocked(&self) -> Option<Signal> {
        let due = self.pending().0 & !self.blocked().0 & !self.handled().0;
        if due == 0 {
            return None;
        }
        let signal = Signal::from_number(due.trailing_zeros() + 1).ok()?;
        self.pending.fetch_and(!signal.bit(), Ordering::SeqCst);
        Some(signal)
    }

    /// Receives a signal.
    pub(super) fn receive(&self, signal: Signal) -> Delivery {
        let blocked = self.blocked().contains(signal);
        match self.disposition(signal) {
            Disposition::Ignore => Delivery::Kept,
            Disposition::Handle => {
                self.pending.fetch_or(signal.bit(), Ordering::SeqCst);
                if !blocked {
                    self.event.notify_waiters();
                }
                Delivery::Kept
            }
            Disposition::Default => match signal.default_action() {
                DefaultAction::Ignore => Delivery::Kept,
                _ if blocked => {
                    self.pending.fetch_or(signal.bit(), Ordering::SeqCst);
                    Delivery::Kept
                }
                DefaultAction::Terminate => Delivery::Terminate(signal),
                DefaultAction::Stop => Delivery::Stop(signal),
            },
        }
    }
}

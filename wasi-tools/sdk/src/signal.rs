//! Signals with Linux's numbers. A handled signal is only collected: the program asks with [`take`] between two steps.
//!
//! There are no handlers that interrupt a computation. [`action`] with [`Disposition::Handle`] makes the kernel set a bit in
//! a word of the program ([`pending`] reads it without a system call), and a waiting call returns `EINTR`.

use std::{fmt, time::Duration};

use crate::{Errno, Result, sys};

/// A signal's number, 1 to 31, as Linux numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(u8);

/// Names without `SIG`, in order from 1.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR", "SYS",
];

/// What glibc's `strsignal` says, in order from 1.
const DESCRIPTIONS: [&str; 31] = [
    "Hangup",
    "Interrupt",
    "Quit",
    "Illegal instruction",
    "Trace/breakpoint trap",
    "Aborted",
    "Bus error",
    "Floating point exception",
    "Killed",
    "User defined signal 1",
    "Segmentation fault",
    "User defined signal 2",
    "Broken pipe",
    "Alarm clock",
    "Terminated",
    "Stack fault",
    "Child exited",
    "Continued",
    "Stopped (signal)",
    "Stopped",
    "Stopped (tty input)",
    "Stopped (tty output)",
    "Urgent I/O condition",
    "CPU time limit exceeded",
    "File size limit exceeded",
    "Virtual timer expired",
    "Profiling timer expired",
    "Window changed",
    "I/O possible",
    "Power failure",
    "Bad system call",
];

macro_rules! signals {
    ($($name:ident $number:literal $what:literal;)*) => {
        impl Signal {
            $(#[doc = $what] pub const $name: Self = Self($number);)*
        }
    };
}

signals! {
    HUP 1 "The terminal or its session is gone.";
    INT 2 "Interrupt from the terminal.";
    QUIT 3 "Quit from the terminal.";
    ILL 4 "Illegal instruction.";
    TRAP 5 "Breakpoint.";
    ABRT 6 "Abort.";
    BUS 7 "Bad memory access of the machine.";
    FPE 8 "Arithmetic fault.";
    KILL 9 "Ends the process, always.";
    USR1 10 "The program's own, first.";
    SEGV 11 "Access outside of memory.";
    USR2 12 "The program's own, second.";
    PIPE 13 "Write to a pipe that nobody reads.";
    ALRM 14 "The alarm's time is up.";
    TERM 15 "Request to end.";
    CHLD 17 "A child changed its state.";
    CONT 18 "Goes on after a stop.";
    STOP 19 "Stops the process, always.";
    TSTP 20 "Stop from the terminal.";
    TTIN 21 "Background read from the terminal.";
    TTOU 22 "Background write to the terminal.";
    WINCH 28 "The terminal's size changed.";
    SYS 31 "Bad system call.";
}

impl Signal {
    /// The signal with this number; `None` outside 1 to 31.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            #[expect(clippy::cast_possible_truncation, reason = "at most 31 in this arm")]
            1..=31 => Some(Self(number as u8)),
            _ => None,
        }
    }

    /// The number, 1 to 31.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// The name without `SIG`, such as `INT`.
    pub fn name(self) -> &'static str {
        NAMES
            .get(usize::from(self.0).wrapping_sub(1))
            .copied()
            .unwrap_or("")
    }

    /// What `strsignal` says, such as `Terminated`.
    pub fn description(self) -> &'static str {
        DESCRIPTIONS
            .get(usize::from(self.0).wrapping_sub(1))
            .copied()
            .unwrap_or("")
    }

    /// The signal named `INT`, `SIGINT` (in any case) or `2`; also the older names `IOT`, `CLD` and `IO`.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return Self::from_number(text.parse().ok()?);
        }
        let upper = text.to_ascii_uppercase();
        let name = match upper.strip_prefix("SIG").unwrap_or(&upper) {
            "IOT" => "ABRT",
            "CLD" => "CHLD",
            "IO" => "POLL",
            name => name,
        };
        Self::all().find(|signal| signal.name() == name)
    }

    /// All signals in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=31).filter_map(Self::from_number)
    }

    const fn bit(self) -> u32 {
        1 << (self.0 - 1)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIG{}", self.name())
    }
}

/// A set of signals; bit n-1 is signal n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(u32);

impl SignalSet {
    /// No signal.
    pub const EMPTY: Self = Self(0);
    /// All 31.
    pub const FULL: Self = Self(0x7fff_ffff);

    /// The set with these bits; bit 31 is dropped.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::FULL.0)
    }

    /// Its bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set and `signal`.
    #[must_use]
    pub const fn with(self, signal: Signal) -> Self {
        Self(self.0 | signal.bit())
    }

    /// The set without `signal`.
    #[must_use]
    pub const fn without(self, signal: Signal) -> Self {
        Self(self.0 & !signal.bit())
    }

    /// Whether `signal` is in it.
    pub const fn contains(self, signal: Signal) -> bool {
        self.0 & signal.bit() != 0
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its signals in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        Signal::all().filter(move |signal| self.contains(*signal))
    }
}

impl FromIterator<Signal> for SignalSet {
    fn from_iter<T: IntoIterator<Item = Signal>>(signals: T) -> Self {
        signals.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// What happens when a signal arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The system's default.
    Default,
    /// Nothing.
    Ignore,
    /// It is collected for [`take`], and a waiting call returns `EINTR`.
    Handle,
}

/// How [`mask`] changes the blocked signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskHow {
    /// Adds the set.
    Block,
    /// Takes the set away.
    Unblock,
    /// Replaces them by the set.
    Set,
    /// Changes nothing.
    Read,
}

/// Sets what `signal` does and returns what it did. Handled signals become [`Disposition::Default`] by `exec` and in children.
///
/// # Errors
/// `EINVAL` for `KILL` and `STOP`.
pub fn action(signal: Signal, disposition: Disposition) -> Result<Disposition> {
    sys::sig_action(signal, disposition)
}

/// Changes the blocked signals and returns those that were.
///
/// # Errors
/// None on a working system; the kernel's otherwise.
pub fn mask(how: MaskHow, set: SignalSet) -> Result<SignalSet> {
    sys::sig_mask(how, set)
}

/// Handled signals that wait to be taken, without a system call.
pub fn pending() -> SignalSet {
    sys::sig_pending()
}

/// Takes the handled signals that arrived; the next call starts from none.
pub fn take() -> SignalSet {
    sys::sig_take()
}

/// Waits until a handled signal has arrived; at once when one waits to be taken.
pub fn pause() {
    sys::sig_pause();
}

/// Sends `ALRM` after `after`, or never for `None`; returns what was left of the alarm before, if one was set.
///
/// # Errors
/// `EINVAL` for a time beyond the clock.
pub fn alarm(after: Option<Duration>) -> Result<Option<Duration>> {
    sys::sig_alarm(after)
}

/// Ends the calling process by `signal` with its default action, as a shell does after its clean-up.
///
/// # Errors
/// `EINVAL` for `STOP`, or when the signal's default action does not end a process.
pub fn raise_default(signal: Signal) -> Errno {
    if signal != Signal::KILL
        && let Err(errno) = action(signal, Disposition::Default)
    {
        return errno;
    }
    if let Err(errno) = mask(MaskHow::Unblock, SignalSet::EMPTY.with(signal)) {
        return errno;
    }
    match crate::process::kill(crate::process::id().0, Some(signal)) {
        Ok(()) => Errno::EINVAL,
        Err(errno) => errno,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_in_all_spellings() {
        for (text, number) in [
            ("INT", 2),
            ("SIGINT", 2),
            ("sigint", 2),
            ("2", 2),
            ("CHLD", 17),
            ("CLD", 17),
            ("IOT", 6),
            ("31", 31),
        ] {
            assert_eq!(
                Signal::parse(text.as_bytes()).map(Signal::number),
                Some(number),
                "{text}"
            );
        }
        for text in ["", "0", "32", "SIG", "NOPE", "-1", "99999999999"] {
            assert_eq!(Signal::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn sets_hold_what_they_were_given() {
        let set: SignalSet = [Signal::INT, Signal::TERM].into_iter().collect();
        assert_eq!(set.bits(), 0b100_0000_0000_0010);
        assert_eq!(
            set.without(Signal::INT).iter().collect::<Vec<_>>(),
            [Signal::TERM]
        );
    }
}

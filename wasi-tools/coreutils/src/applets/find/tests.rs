//! The tests of `find` that compare with numbers, times and modes.

use sandbar_guest::file::Stat;

use crate::applets::mode::Mode;

/// A number to compare with: `N`, `+N` or `-N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Exactly(u64),
    More(u64),
    Less(u64),
}

impl Number {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, digits): (fn(u64) -> Self, _) = match text.as_bytes().first()? {
            b'+' => (Self::More, text.get(1..)?),
            b'-' => (Self::Less, text.get(1..)?),
            _ => (Self::Exactly, text),
        };
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(())?;
        digits.parse().ok().map(kind)
    }

    pub(super) fn holds(self, value: u64) -> bool {
        match self {
            Self::Exactly(number) => value == number,
            Self::More(number) => value > number,
            Self::Less(number) => value < number,
        }
    }
}

/// What `-perm` asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Permissions {
    Exactly(u32),
    All(u32),
    Any(u32),
}

impl Permissions {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (kind, mode): (fn(u32) -> Self, _) = match text.first()? {
            b'-' => (Self::All, text.get(1..)?),
            b'/' => (Self::Any, text.get(1..)?),
            _ => (Self::Exactly, text),
        };
        Some(kind(Mode::parse(mode)?.apply(0, false, 0)))
    }

    pub(super) fn hold(self, mode: u32) -> bool {
        match self {
            Self::Exactly(wanted) => mode == wanted,
            Self::All(wanted) => mode & wanted == wanted,
            // NOTE: none of no bits is no condition.
            Self::Any(wanted) => wanted == 0 || mode & wanted != 0,
        }
    }
}

/// Which of a file's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Accessed,
    Changed,
    Modified,
}

impl Which {
    pub(super) const fn of(self, stat: &Stat) -> i64 {
        match self {
            Self::Accessed => stat.accessed_ns,
            Self::Changed => stat.changed_ns,
            Self::Modified => stat.modified_ns,
        }
    }
}

/// Nanoseconds of a day and of a minute.
pub(super) const DAY_NS: i64 = 86_400_000_000_000;
pub(super) const MINUTE_NS: i64 = 60_000_000_000;

/// How long ago something was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age {
    pub(super) which: Which,
    pub(super) number: Number,
    /// Days or minutes.
    pub(super) unit_ns: i64,
    pub(super) now_ns: i64,
}

impl Age {
    pub(super) fn holds(&self, stat: &Stat) -> bool {
        let age = i128::from(self.now_ns) - i128::from(self.which.of(stat));
        let unit = i128::from(self.unit_ns);
        let days = self.unit_ns == DAY_NS;
        // NOTE: days are whole days that have passed; minutes are those begun.
        match self.number {
            Number::Less(number) => age < i128::from(number) * unit,
            Number::More(number) if days => age >= (i128::from(number) + 1) * unit,
            Number::More(number) => age > i128::from(number) * unit,
            Number::Exactly(number) if days => age.div_euclid(unit) == i128::from(number),
            Number::Exactly(number) => {
                let end = i128::from(number) * unit;
                (end - unit..end).contains(&age)
            }
        }
    }
}

//! Modes of files as `chmod` writes them: octal, or `[ugoa]*([-+=]([rwxXst]*|[ugo]|OCTAL))+` with commas between.

use sandbar_guest::file::FileType;

/// The bits that can be set.
pub(super) const ALL: u32 = 0o7777;
const SET_IDS: u32 = 0o6000;
const READ: u32 = 0o444;
const WRITE: u32 = 0o222;
const EXECUTE: u32 = 0o111;

/// How a change gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// As written.
    Given,
    /// And `x`, if anybody has it or for a directory (`X`).
    ExecuteIfAny,
    /// What user, group or others have.
    Copy,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    operator: u8,
    source: Source,
    /// Whose bits; 0 when nobody is named, which leaves out what the umask hides.
    affected: u32,
    value: u32,
    /// The bits that were spoken of: a directory's set-id bits change only then.
    mentioned: u32,
}

/// A list of changes.
#[derive(Clone, Debug)]
pub(super) struct Mode(Vec<Change>);

impl Mode {
    /// Reads a mode; `None` when it is none.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if text
            .first()
            .is_some_and(|byte| (b'0'..=b'7').contains(byte))
        {
            let value = octal(text)?;
            // NOTE: fewer than five digits leave a directory's set-id bits as they are unless they set them.
            let mentioned = if text.len() < 5 {
                (value & SET_IDS) | 0o1777
            } else {
                ALL
            };
            return Some(Self(vec![Change {
                operator: b'=',
                source: Source::Given,
                affected: ALL,
                value,
                mentioned,
            }]));
        }
        let mut changes = Vec::new();
        for clause in text.split(|byte| *byte == b',') {
            parse_clause(clause, &mut changes)?;
        }
        Some(Self(changes))
    }

    /// Exactly these bits, as `--reference` wants it.
    pub(super) fn exactly(bits: u32) -> Self {
        Self(vec![Change {
            operator: b'=',
            source: Source::Given,
            affected: ALL,
            value: bits & ALL,
            mentioned: ALL,
        }])
    }

    /// The new mode for a file that has `old`.
    pub(super) fn apply(&self, old: u32, is_dir: bool, umask: u32) -> u32 {
        let mut mode = old & ALL;
        for change in &self.0 {
            let keep = if is_dir {
                SET_IDS & !change.mentioned
            } else {
                0
            };
            let mut value = change.value;
            match change.source {
                Source::ExecuteIfAny if mode & EXECUTE != 0 || is_dir => value |= EXECUTE,
                Source::Given | Source::ExecuteIfAny => {}
                Source::Copy => {
                    value &= mode;
                    for class in [READ, WRITE, EXECUTE] {
                        value |= if value & class != 0 { class } else { 0 };
                    }
                }
            }
            value &= if change.affected != 0 {
                change.affected
            } else {
                !umask
            };
            value &= !keep;
            match change.operator {
                b'+' => mode |= value,
                b'-' => mode &= !value,
                _ => {
                    let others = if change.affected != 0 {
                        !change.affected
                    } else {
                        0
                    };
                    mode = (mode & (others | keep)) | value;
                }
            }
        }
        mode & ALL
    }
}

fn octal(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|value| digits && *value <= ALL)
}

fn parse_clause(clause: &[u8], changes: &mut Vec<Change>) -> Option<()> {
    let who = clause.iter().position(|byte| !b"ugoa".contains(byte))?;
    let (who, mut rest) = clause.split_at_checked(who)?;
    let affected = who.iter().fold(0, |all, letter| {
        all | match letter {
            b'u' => 0o4700,
            b'g' => 0o2070,
            b'o' => 0o1007,
            _ => ALL,
        }
    });
    while let Some((operator, after)) = rest.split_first() {
        if !b"+-=".contains(operator) {
            return None;
        }
        let end = after
            .iter()
            .position(|byte| b"+-=".contains(byte))
            .unwrap_or(after.len());
        let (operand, next) = after.split_at_checked(end)?;
        rest = next;
        changes.push(parse_change(*operator, affected, operand)?);
    }
    Some(())
}

fn parse_change(operator: u8, affected: u32, operand: &[u8]) -> Option<Change> {
    if operand.first().is_some_and(u8::is_ascii_digit) {
        // NOTE: an octal number stands for everybody, so nobody may be named with it.
        let value = octal(operand).filter(|_| affected == 0)?;
        return Some(Change {
            operator,
            source: Source::Given,
            affected: ALL,
            value,
            mentioned: ALL,
        });
    }
    let copied = match operand {
        b"u" => Some(0o700),
        b"g" => Some(0o070),
        b"o" => Some(0o007),
        _ => None,
    };
    let mut source = if copied.is_some() {
        Source::Copy
    } else {
        Source::Given
    };
    let mut value = copied.unwrap_or(0);
    for letter in operand.iter().filter(|_| copied.is_none()) {
        value |= match letter {
            b'r' => READ,
            b'w' => WRITE,
            b'x' => EXECUTE,
            b's' => SET_IDS,
            b't' => 0o1000,
            b'X' => {
                source = Source::ExecuteIfAny;
                0
            }
            _ => return None,
        };
    }
    let mentioned = if affected != 0 {
        affected & value
    } else {
        value
    };
    Some(Change {
        operator,
        source,
        affected,
        value,
        mentioned,
    })
}

/// Permissions as `ls -l` shows them, without the letter of the type.
pub(super) fn permissions(mode: u32) -> String {
    let mut text = String::with_capacity(9);
    for (shift, special, set, alone) in [
        (6, 0o4000, 's', 'S'),
        (3, 0o2000, 's', 'S'),
        (0, 0o1000, 't', 'T'),
    ] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (true, true) => set,
            (false, true) => alone,
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// Type and permissions as `ls -l` shows them.
pub(super) fn long(mode: u32) -> String {
    format!(
        "{}{}",
        FileType::from_mode(mode).letter(),
        permissions(mode)
    )
}

/// The major number in Linux's 64-bit `dev_t`.
pub(super) const fn major(device: u64) -> u64 {
    (device >> 8) & 0xfff | (device >> 32) & 0xffff_f000
}

/// The minor number.
pub(super) const fn minor(device: u64) -> u64 {
    device & 0xff | (device >> 12) & 0xffff_ff00
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_change_as_posix_says() {
        for (text, old, new) in [
            ("755", 0o600, 0o755),
            ("u+x", 0o644, 0o744),
            ("+x", 0o644, 0o755),
            ("+w", 0o444, 0o644),
            ("a=rX", 0o700, 0o555),
            ("a=rX", 0o600, 0o444),
            ("go=u", 0o750, 0o777),
            ("u=g,g=", 0o640, 0o400),
            ("u+s,g+s,+t", 0o755, 0o7755),
            ("u=rw-w+x", 0o000, 0o500),
            ("=0700", 0o644, 0o700),
            ("+4000", 0o755, 0o4755),
        ] {
            let mode = Mode::parse(text.as_bytes()).map(|mode| mode.apply(old, false, 0o022));
            assert_eq!(mode, Some(new), "{text}");
        }
        for text in [
            "", "8", "u", "u+q", "+x,", "rwx", "99999", "u+0700", "u+ug", "77777",
        ] {
            assert!(Mode::parse(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn a_directory_keeps_its_set_id_bits() {
        let apply =
            |text: &str| Mode::parse(text.as_bytes()).map(|mode| mode.apply(0o2755, true, 0o022));
        assert_eq!(apply("700"), Some(0o2700));
        assert_eq!(apply("00700"), Some(0o700));
        assert_eq!(apply("g-s"), Some(0o755));
    }

    #[test]
    fn special_bits_show_in_the_place_of_x() {
        assert_eq!(long(0o107_654), "-rwSr-sr-T");
        assert_eq!(long(0o041_777), "drwxrwxrwt");
    }
}

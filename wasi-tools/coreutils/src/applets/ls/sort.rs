//! The order of a listing.

use std::cmp::Ordering;

use super::{entry::Entry, options::Options};

/// What entries are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    None,
    Name,
    Time,
    Size,
    Extension,
    Version,
    Width,
}

/// Which time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    Modified,
    Accessed,
    Changed,
}

impl Time {
    /// That time of an entry, in nanoseconds.
    pub(super) fn of(self, entry: &Entry) -> Option<i64> {
        let stat = entry.stat?;
        Some(match self {
            Self::Modified => stat.modified_ns,
            Self::Accessed => stat.accessed_ns,
            Self::Changed => stat.changed_ns,
        })
    }
}

pub(super) fn sort(entries: &mut [Entry], options: &Options) {
    if options.key == Key::None {
        if options.reverse {
            entries.reverse();
        }
        return;
    }
    entries.sort_by(|left, right| {
        let directories = if options.directories_first {
            right.leads_to_dir().cmp(&left.leads_to_dir())
        } else {
            Ordering::Equal
        };
        let order = compare(left, right, options).then_with(|| left.name.cmp(&right.name));
        directories.then(if options.reverse {
            order.reverse()
        } else {
            order
        })
    });
}

fn compare(left: &Entry, right: &Entry, options: &Options) -> Ordering {
    let size = |entry: &Entry| entry.stat.map(|stat| stat.len);
    match options.key {
        Key::None | Key::Name => Ordering::Equal,
        Key::Time => options.time.of(right).cmp(&options.time.of(left)),
        Key::Size => size(right).cmp(&size(left)),
        Key::Extension => extension(&left.name).cmp(extension(&right.name)),
        Key::Version => version(&left.name, &right.name),
        Key::Width => options
            .quoting
            .show(&left.name)
            .len()
            .cmp(&options.quoting.show(&right.name).len()),
    }
}

/// From the last dot on; empty without one.
fn extension(name: &[u8]) -> &[u8] {
    name.iter()
        .rposition(|byte| *byte == b'.')
        .and_then(|at| name.get(at..))
        .unwrap_or_default()
}

/// Names with numbers in them in the order of the numbers: GNU's version sort, which is Debian's with a rule for endings.
///
/// Source: coreutils manual, "Version sort ordering".
fn version(left: &[u8], right: &[u8]) -> Ordering {
    let rank = |name: &[u8]| match name {
        b"" => 0,
        b"." => 1,
        b".." => 2,
        [b'.', ..] => 3,
        _ => 4,
    };
    let order = rank(left).cmp(&rank(right));
    if order != Ordering::Equal || rank(left) < 3 {
        return order;
    }
    let (left_stem, right_stem) = (stem(left), stem(right));
    if left_stem == right_stem {
        debian(left, right)
    } else {
        debian(left_stem, right_stem)
    }
    .then_with(|| debian(left, right))
}

/// The name without endings such as `.tar.gz`: each a dot, a letter or `~`, then letters, digits and `~`.
fn stem(name: &[u8]) -> &[u8] {
    let mut end = name.len();
    loop {
        let Some(head) = name.get(..end) else {
            return name;
        };
        let Some(dot) = head
            .iter()
            .rposition(|byte| *byte == b'.')
            .filter(|dot| *dot > 0)
        else {
            break;
        };
        let valid = match head.get(dot + 1..) {
            Some([first, rest @ ..]) => {
                (first.is_ascii_alphabetic() || *first == b'~')
                    && rest
                        .iter()
                        .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'~')
            }
            _ => false,
        };
        if !valid {
            break;
        }
        end = dot;
    }
    name.get(..end).unwrap_or(name)
}

/// Parts without digits by letters before others and `~` before everything, parts of digits by their value.
fn debian(left: &[u8], right: &[u8]) -> Ordering {
    let (mut left, mut right) = (left, right);
    while !left.is_empty() || !right.is_empty() {
        let (left_text, left_rest) = split(left, |byte| !byte.is_ascii_digit());
        let (right_text, right_rest) = split(right, |byte| !byte.is_ascii_digit());
        let weight = |text: &[u8], at: usize| match text.get(at) {
            None => 0,
            Some(b'~') => -1,
            Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
            Some(byte) => i32::from(*byte) + 256,
        };
        for at in 0..left_text.len().max(right_text.len()) {
            let order = weight(left_text, at).cmp(&weight(right_text, at));
            if order != Ordering::Equal {
                return order;
            }
        }
        let (left_digits, left_rest) = split(left_rest, u8::is_ascii_digit);
        let (right_digits, right_rest) = split(right_rest, u8::is_ascii_digit);
        let (_, left_value) = split(left_digits, |byte| *byte == b'0');
        let (_, right_value) = split(right_digits, |byte| *byte == b'0');
        let order = left_value
            .len()
            .cmp(&right_value.len())
            .then_with(|| left_value.cmp(right_value));
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (left_rest, right_rest);
    }
    Ordering::Equal
}

fn split(text: &[u8], belongs: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|byte| !belongs(byte))
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, b""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_by_their_numbers() {
        let mut names = [
            "a10",
            "a2",
            "a1.tar.gz",
            "a1",
            "b",
            ".h",
            "a~",
            "a",
            "a1.10",
            "a1.9",
            "a01",
        ];
        names.sort_by(|left, right| {
            version(left.as_bytes(), right.as_bytes()).then_with(|| left.cmp(right))
        });
        assert_eq!(
            names,
            [
                ".h",
                "a~",
                "a",
                "a01",
                "a1",
                "a1.tar.gz",
                "a1.9",
                "a1.10",
                "a2",
                "a10",
                "b"
            ]
        );
    }
}

//! The formats of `find`.

use sandbar_guest::{
    file::{self, FileType, Follow, Stat},
    time::{self, DateTime, Zone},
};

use super::{Item, TOOL, tests::Which};
use crate::applets::{
    format::{Layout, escape},
    mode, users,
};

/// Letters that are known behind `%`, and behind a backslash.
const DIRECTIVES: &[u8] = b"%aAbcCdDfFgGhHiklmMnpPsStTuUyYBwW";
const ESCAPES: &[u8] = b"abfnrtv\\c01234567";

/// A format of `-printf`.
pub(super) struct Format {
    text: Vec<u8>,
    zone: Zone,
}

impl Format {
    /// Reads a format.
    ///
    /// # Errors
    /// A message when it ends within a directive; what else is wrong is only told.
    pub(super) fn new(text: Vec<u8>) -> Result<Self, &'static str> {
        let mut rest = text.as_slice();
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'%' => {
                    let (_, after) = Layout::parse(after);
                    let Some((letter, after)) = after.split_first() else {
                        return Err("error: % at end of format string");
                    };
                    rest = after;
                    if !DIRECTIVES.contains(letter) {
                        let shown = char::from(*letter);
                        TOOL.warn(format!("warning: unrecognized format directive '%{shown}'"));
                    }
                }
                b'\\' => {
                    let Some((letter, after)) = after.split_first() else {
                        break;
                    };
                    rest = after;
                    if !ESCAPES.contains(letter) {
                        let shown = char::from(*letter);
                        TOOL.warn(format!("warning: unrecognized escape '\\{shown}'"));
                    }
                }
                _ => {}
            }
        }
        Ok(Self {
            text,
            zone: Zone::local(),
        })
    }

    /// The format with what is known about an item.
    pub(super) fn show(&self, item: &Item) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut rest = self.text.as_slice();
        while let Some((byte, after)) = rest.split_first() {
            rest = match byte {
                b'%' => {
                    let (layout, after) = Layout::parse(after);
                    self.directive(layout, after, item, &mut shown)
                }
                b'\\' => match (after.first(), escape(after)) {
                    // Nothing more is shown.
                    (Some(b'c'), _) => return shown,
                    (Some(letter), Some((byte, after))) if ESCAPES.contains(letter) => {
                        shown.push(byte);
                        after
                    }
                    _ => {
                        shown.push(b'\\');
                        after
                    }
                },
                byte => {
                    shown.push(*byte);
                    after
                }
            };
        }
        shown
    }

    /// Shows a directive; what follows it.
    fn directive<'a>(
        &self,
        layout: Layout,
        text: &'a [u8],
        item: &Item,
        shown: &mut Vec<u8>,
    ) -> &'a [u8] {
        let Some((letter, rest)) = text.split_first() else {
            shown.push(b'%');
            return text;
        };
        let which = match letter {
            b'A' | b'a' => Some(Which::Accessed),
            b'C' | b'c' => Some(Which::Changed),
            b'T' | b't' => Some(Which::Modified),
            _ => None,
        };
        if let (Some(which), b'A' | b'C' | b'T') = (which, letter) {
            let Some((field, rest)) = rest.split_first() else {
                return rest;
            };
            if let Ok(stat) = item.stat() {
                let text = self.time_field(which.of(stat), *field);
                shown.extend(layout.text(text.as_bytes()));
            }
            return rest;
        }
        match (which, item.stat()) {
            (Some(which), Ok(stat)) => {
                let ns = which.of(stat);
                let text = self
                    .date(ns)
                    .format(&format!("%a %b %e %H:%M:%S.{:09}0 %Y", fraction(ns)), 0);
                shown.extend(layout.text(text.as_bytes()));
            }
            (Some(_), Err(_)) => {}
            (None, stat) => shown.extend(value(layout, *letter, item, stat.ok())),
        }
        rest
    }

    fn date(&self, ns: i64) -> DateTime {
        DateTime::new(&self.zone, ns.div_euclid(1_000_000_000))
    }

    /// One part of a time: `strftime`'s letters with the fraction where seconds are, `@` and `+`.
    fn time_field(&self, ns: i64, field: u8) -> String {
        let (date, fraction) = (self.date(ns), fraction(ns));
        match field {
            b'@' => format!("{}.{fraction:09}0", ns.div_euclid(1_000_000_000)),
            b'+' => date.format(&format!("%Y-%m-%d+%H:%M:%S.{fraction:09}0"), 0),
            b'S' => date.format(&format!("%S.{fraction:09}0"), 0),
            b'T' | b'X' => date.format(&format!("%H:%M:%S.{fraction:09}0"), 0),
            b'r' => date.format(&format!("%I:%M:%S.{fraction:09}0 %p"), 0),
            other => date.format(&format!("%{}", char::from(other)), 0),
        }
    }
}

fn fraction(ns: i64) -> i64 {
    ns.rem_euclid(1_000_000_000)
}

fn letter_of(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Regular => "f",
        FileType::Directory => "d",
        FileType::Symlink => "l",
        FileType::Fifo => "p",
        FileType::Socket => "s",
        FileType::BlockDevice => "b",
        FileType::CharDevice => "c",
        FileType::Unknown => "U",
    }
}

/// The directory of a path, `.` without one.
fn directory(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => b".",
        Some(0) => b"",
        Some(at) => path.get(..at).unwrap_or_default(),
    }
}

fn value(layout: Layout, letter: u8, item: &Item, stat: Option<&Stat>) -> Vec<u8> {
    let text = |text: &[u8]| layout.text(text);
    let number = |number: &dyn Fn(&Stat) -> u64| match stat {
        Some(stat) => layout.text(number(stat).to_string().as_bytes()),
        None => layout.text(b""),
    };
    match letter {
        b'%' => b"%".to_vec(),
        b'p' => text(&item.path),
        b'f' => text(item.name()),
        b'h' => text(directory(&item.path)),
        b'H' => text(item.path.get(..item.given).unwrap_or_default()),
        b'P' => {
            let below = item.path.get(item.given..).unwrap_or_default();
            text(below.strip_prefix(b"/").unwrap_or(below))
        }
        b'd' => text(item.depth.to_string().as_bytes()),
        b's' => number(&|stat| stat.len),
        b'k' => number(&|stat| stat.blocks.div_ceil(2)),
        b'b' => number(&|stat| stat.blocks),
        b'n' => number(&|stat| stat.nlink),
        b'i' => number(&|stat| stat.ino),
        b'D' => number(&|stat| stat.dev),
        b'U' => number(&|stat| stat.uid.into()),
        b'G' => number(&|stat| stat.gid.into()),
        b'u' => text(
            stat.map_or_else(String::new, |stat| user(stat.uid))
                .as_bytes(),
        ),
        b'g' => text(
            stat.map_or_else(String::new, |stat| group(stat.gid))
                .as_bytes(),
        ),
        b'm' => stat.map_or_else(Vec::new, |stat| layout.octal(stat.permissions().into())),
        b'M' => text(
            stat.map_or_else(String::new, |stat| mode::long(stat.mode))
                .as_bytes(),
        ),
        b'l' => text(&if item.file_type() == FileType::Symlink {
            file::read_link(&item.path).unwrap_or_default()
        } else {
            Vec::new()
        }),
        b'y' => text(letter_of(item.file_type()).as_bytes()),
        b'Y' => text(match file::stat(&item.path, Follow::Follow) {
            Ok(stat) => letter_of(stat.file_type()).as_bytes(),
            Err(sandbar_guest::Errno::ENOENT | sandbar_guest::Errno::ENOTDIR) => b"N",
            Err(sandbar_guest::Errno::ELOOP) => b"L",
            Err(_) => b"?",
        }),
        b'F' => text(crate::applets::stat::system_kind(&item.path).as_bytes()),
        b'S' => text(stat.map_or_else(String::new, sparseness).as_bytes()),
        other => vec![b'%', other],
    }
}

/// How much of the length takes space.
fn sparseness(stat: &Stat) -> String {
    if stat.len == 0 {
        return String::from("1");
    }
    let thousandths = u128::from(stat.blocks) * 512 * 1000 / u128::from(stat.len);
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

fn user(uid: u32) -> String {
    users::user_name(uid).unwrap_or_else(|| uid.to_string())
}

fn group(gid: u32) -> String {
    users::group_name(gid).unwrap_or_else(|| gid.to_string())
}

/// Half a year: older times are shown with the year.
const HALF_YEAR_NS: i64 = 31_556_952 / 2 * 1_000_000_000;

/// A line as `ls -dils` has it.
pub(super) fn long(item: &Item) -> Vec<u8> {
    let Ok(stat) = item.stat() else {
        return Vec::new();
    };
    let date = DateTime::new(&Zone::local(), stat.modified_ns.div_euclid(1_000_000_000));
    let now = time::realtime_ns();
    let recent = stat.modified_ns > now.saturating_sub(HALF_YEAR_NS) && stat.modified_ns <= now;
    let date = date.format(if recent { "%b %e %H:%M" } else { "%b %e  %Y" }, 0);
    let size = match stat.file_type() {
        FileType::CharDevice | FileType::BlockDevice => {
            format!(
                "{:>3}, {:>3}",
                mode::major(stat.rdev),
                mode::minor(stat.rdev)
            )
        }
        _ => format!("{:>8}", stat.len),
    };
    let mut line = format!(
        "{:>9} {:>6} {} {:>3} {:<8} {:<8} {size} {date} ",
        stat.ino,
        stat.blocks.div_ceil(2),
        mode::long(stat.mode),
        stat.nlink,
        user(stat.uid),
        group(stat.gid),
    )
    .into_bytes();
    line.extend_from_slice(&item.path);
    if stat.is_symlink() {
        line.extend_from_slice(b" -> ");
        line.extend(file::read_link(&item.path).unwrap_or_default());
    }
    line.push(b'\n');
    line
}

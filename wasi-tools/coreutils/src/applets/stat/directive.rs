//! The values of `stat`'s directives.

use std::path::PathBuf;

use sandbar_guest::{
    file::{self, FileSystem, FileType, Follow, Stat},
    time::{DateTime, Zone},
};

use super::{Names, Subject};
use crate::applets::{format::Layout, mode, quote::quote, users};

/// The text for a directive; `?` for a letter that is none, as GNU has it.
pub(super) fn value(layout: Layout, modifier: u8, letter: u8, subject: &Subject<'_>) -> Vec<u8> {
    let value = match subject {
        Subject::File {
            path,
            stat,
            zone,
            names,
        } => file_value(layout, modifier, letter, path, stat, (zone, *names)),
        Subject::System { path, system, kind } => system_value(layout, letter, path, system, kind),
    };
    value.unwrap_or_else(|| b"?".to_vec())
}

fn file_value(
    layout: Layout,
    modifier: u8,
    letter: u8,
    path: &[u8],
    stat: &Stat,
    (zone, names): (&Zone, Names),
) -> Option<Vec<u8>> {
    let text = |text: &str| layout.text(text.as_bytes());
    Some(match letter {
        b'n' => layout.text(path),
        b'N' => text(&quoted_name(path, stat, names)),
        b'd' | b'r' => {
            let device = if letter == b'd' { stat.dev } else { stat.rdev };
            match modifier {
                b'H' => layout.decimal(mode::major(device)),
                b'L' => layout.decimal(mode::minor(device)),
                _ => layout.decimal(device),
            }
        }
        b'D' => layout.hex(stat.dev),
        b'R' => layout.hex(stat.rdev),
        b't' => layout.hex(mode::major(stat.rdev)),
        b'T' => layout.hex(mode::minor(stat.rdev)),
        b'i' => layout.decimal(stat.ino),
        b'a' => layout.octal(stat.permissions().into()),
        b'A' => text(&mode::long(stat.mode)),
        b'f' => layout.hex(stat.mode.into()),
        b'F' => text(type_name(stat)),
        b'h' => layout.decimal(stat.nlink),
        b'u' => layout.decimal(stat.uid.into()),
        b'U' => text(&users::user_name(stat.uid).unwrap_or_else(|| String::from("UNKNOWN"))),
        b'g' => layout.decimal(stat.gid.into()),
        b'G' => text(&users::group_name(stat.gid).unwrap_or_else(|| String::from("UNKNOWN"))),
        b'm' => layout.text(&mount_point(path)),
        b's' => layout.signed(i64::try_from(stat.len).unwrap_or(i64::MAX)),
        b'B' => layout.decimal(512),
        b'b' => layout.decimal(stat.blocks),
        b'o' => layout.decimal(stat.block_size.into()),
        // Nothing records when a file was made.
        b'w' => text("-"),
        b'W' => layout.decimal(0),
        b'x' => text(&human_time(stat.accessed_ns, zone)),
        b'y' => text(&human_time(stat.modified_ns, zone)),
        b'z' => text(&human_time(stat.changed_ns, zone)),
        b'X' => seconds(layout, stat.accessed_ns),
        b'Y' => seconds(layout, stat.modified_ns),
        b'Z' => seconds(layout, stat.changed_ns),
        _ => return None,
    })
}

fn system_value(
    layout: Layout,
    letter: u8,
    path: &[u8],
    system: &FileSystem,
    kind: &str,
) -> Option<Vec<u8>> {
    Some(match letter {
        b'n' => layout.text(path),
        b'i' => layout.hex(system.id),
        b'l' => layout.decimal(system.name_max),
        b't' => layout.hex(kind_number(kind)),
        b'T' => layout.text(kind_name(kind).as_bytes()),
        b'b' => layout.decimal(system.blocks),
        b'f' | b'a' => layout.decimal(system.blocks_free),
        b's' | b'S' => layout.decimal(system.block_size),
        b'c' => layout.decimal(system.files),
        b'd' => layout.decimal(system.files_free),
        _ => return None,
    })
}

fn type_name(stat: &Stat) -> &'static str {
    match stat.file_type() {
        FileType::Regular if stat.len == 0 => "regular empty file",
        FileType::Regular => "regular file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "fifo",
        FileType::CharDevice => "character special file",
        FileType::BlockDevice => "block special file",
        FileType::Socket => "socket",
        FileType::Unknown => "weird file",
    }
}

/// The name, quoted for a shell or not, with the target of a link. `QUOTING_STYLE=literal` takes the quotes away.
fn quoted_name(path: &[u8], stat: &Stat, names: Names) -> String {
    let style = std::env::var_os("QUOTING_STYLE");
    let literal = style.as_ref().is_some_and(|style| style == "literal");
    let plain = literal || (style.is_none() && names == Names::Plain);
    let show = |name: &[u8]| {
        if plain {
            String::from_utf8_lossy(name).into_owned()
        } else {
            quote(name)
        }
    };
    match file::read_link(path) {
        Ok(target) if stat.is_symlink() => format!("{} -> {}", show(path), show(&target)),
        _ => show(path),
    }
}

/// `2026-01-31 23:59:59.123456789 +0100`.
fn human_time(ns: i64, zone: &Zone) -> String {
    let (seconds, fraction) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let time = DateTime::new(zone, seconds);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{fraction:09} {}",
        time.year,
        time.month,
        time.day,
        time.hour,
        time.minute,
        time.second,
        time.offset_text()
    )
}

/// Seconds since 1970, with as many digits of the fraction as the precision asks for; `%.X` has nine.
fn seconds(layout: Layout, ns: i64) -> Vec<u8> {
    let whole = ns.div_euclid(1_000_000_000);
    let Some(precision) = layout.precision else {
        return layout.signed(whole);
    };
    let digits = if precision == 0 { 9 } else { precision };
    let magnitude = ns.unsigned_abs();
    let (whole, fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    let mut fraction = format!("{fraction:09}");
    fraction.truncate(digits);
    let missing = digits - fraction.len();
    let sign = if ns < 0 { "-" } else { "" };
    let text = format!("{sign}{whole}.{fraction}{}", "0".repeat(missing));
    let zeros = if layout.zero && !layout.left {
        layout.width.saturating_sub(text.len())
    } else {
        0
    };
    let text = [
        sign,
        &"0".repeat(zeros),
        text.strip_prefix('-').unwrap_or(&text),
    ]
    .concat();
    Layout {
        precision: None,
        ..layout
    }
    .text(text.as_bytes())
}

/// The directory from which on everything is on the same device.
fn mount_point(path: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(path).into_owned();
    let Ok(mut place) = std::fs::canonicalize(&text) else {
        return b"?".to_vec();
    };
    let device = |path: &std::path::Path| {
        file::stat(path.as_os_str().as_encoded_bytes(), Follow::Follow)
            .ok()
            .map(|stat| stat.dev)
    };
    let own = device(&place);
    while let Some(parent) = place.parent()
        && device(parent) == own
    {
        place = PathBuf::from(parent);
    }
    place.into_os_string().into_encoded_bytes()
}

/// The type of the file system that a path is on, as `/proc/mounts` names it: the longest mount point that leads there.
pub(in crate::applets) fn system_kind(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path).into_owned();
    let Ok(place) = std::fs::canonicalize(text) else {
        return String::new();
    };
    let mounts = std::fs::read("/proc/mounts").unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts).into_owned();
    let mut best: (usize, &str) = (0, "");
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        if let (Some(point), Some(kind)) = (fields.next(), fields.next())
            && place.starts_with(point)
            && point.len() >= best.0
        {
            best = (point.len(), kind);
        }
    }
    best.1.to_owned()
}

/// Names that differ from those of `/proc/mounts`, and the magic numbers of Linux's `statfs`.
const KINDS: &[(&str, &str, u64)] = &[
    ("ext4", "ext2/ext3", 0xef53),
    ("overlay", "overlayfs", 0x794c_7630),
    ("tmpfs", "tmpfs", 0x0102_1994),
    ("devtmpfs", "tmpfs", 0x0102_1994),
    ("proc", "proc", 0x9fa0),
    ("xfs", "xfs", 0x5846_5342),
    ("btrfs", "btrfs", 0x9123_683e),
];

fn kind_name(kind: &str) -> String {
    let known = KINDS.iter().find(|(mounted, ..)| *mounted == kind);
    match known {
        Some((_, name, _)) => (*name).to_owned(),
        None if kind.is_empty() => String::from("UNKNOWN (0x0)"),
        None => kind.to_owned(),
    }
}

fn kind_number(kind: &str) -> u64 {
    KINDS
        .iter()
        .find(|(mounted, ..)| *mounted == kind)
        .map_or(0, |(.., number)| *number)
}

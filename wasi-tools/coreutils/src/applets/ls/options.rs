//! What `ls` was asked for.

use sandbar_guest::{file::DirEntry, time, time::Zone};

use super::{
    color::Colors,
    quoting::Quoting,
    sort::{Key, Time},
};
use crate::applets::{glob, size::BlockSize};

/// How entries are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Long,
    Single,
    Columns,
    Across,
    Commas,
}

/// Which type letters follow names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Indicators {
    None,
    Slash,
    FileType,
    Classify,
}

/// Which links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// Those given that lead to directories.
    GivenToDirectories,
    Given,
    All,
    Never,
}

/// How times are shown.
#[derive(Clone, Debug)]
pub(super) struct TimeStyle {
    pub(super) old: String,
    pub(super) recent: String,
}

pub(super) struct Options {
    pub(super) format: Format,
    pub(super) quoting: Quoting,
    pub(super) indicators: Indicators,
    pub(super) links: Links,
    pub(super) key: Key,
    pub(super) time: Time,
    pub(super) time_style: TimeStyle,
    pub(super) zone: Zone,
    pub(super) now_ns: i64,
    pub(super) reverse: bool,
    pub(super) directories_first: bool,
    pub(super) directories: bool,
    pub(super) recursive: bool,
    pub(super) inode: bool,
    pub(super) blocks: bool,
    pub(super) numeric: bool,
    pub(super) owner: bool,
    pub(super) group: bool,
    pub(super) author: bool,
    pub(super) block_size: BlockSize,
    pub(super) file_size: BlockSize,
    /// 0 is no limit.
    pub(super) width: usize,
    pub(super) tab: usize,
    pub(super) line_end: char,
    pub(super) colors: Option<Colors>,
    pub(super) hidden: Hidden,
}

/// Which names are left out.
#[derive(Default)]
pub(super) struct Hidden {
    pub(super) all: bool,
    pub(super) almost_all: bool,
    pub(super) backups: bool,
    pub(super) hide: Vec<Vec<u8>>,
    pub(super) ignore: Vec<Vec<u8>>,
}

impl Options {
    pub(super) fn new() -> Self {
        Self {
            format: Format::Single,
            quoting: Quoting::Literal,
            indicators: Indicators::None,
            links: Links::GivenToDirectories,
            key: Key::Name,
            time: Time::Modified,
            time_style: TimeStyle {
                old: String::from("%b %e  %Y"),
                recent: String::from("%b %e %H:%M"),
            },
            zone: Zone::local(),
            now_ns: time::realtime_ns(),
            reverse: false,
            directories_first: false,
            directories: false,
            recursive: false,
            inode: false,
            blocks: false,
            numeric: false,
            owner: true,
            group: true,
            author: false,
            block_size: BlockSize::KIBI,
            file_size: BlockSize::BYTES,
            width: 80,
            tab: 8,
            line_end: '\n',
            colors: None,
            hidden: Hidden::default(),
        }
    }

    /// Whether names alone are enough, so that nothing has to be asked about them.
    pub(super) fn names_only(&self) -> bool {
        let needs_stat =
            matches!(self.key, Key::Time | Key::Size) || self.format == Format::Long || self.blocks;
        let needs_type = self.recursive || self.colors.is_some() || self.directories_first;
        !needs_stat && !needs_type && !self.inode && self.indicators == Indicators::None
    }

    /// The names of a directory that are shown, with `.` and `..` if they are.
    pub(super) fn visible(&self, entries: Vec<DirEntry>) -> Vec<Vec<u8>> {
        let hidden = &self.hidden;
        let own: &[&[u8]] = if hidden.all { &[b".", b".."] } else { &[] };
        let mut names: Vec<_> = own.iter().map(|name| name.to_vec()).collect();
        names.extend(entries.into_iter().map(|entry| entry.name));
        let shown_dots = hidden.all || hidden.almost_all;
        let matches =
            |patterns: &[Vec<u8>], name: &[u8]| patterns.iter().any(|p| glob::matches(p, name));
        names.retain(|name| {
            let dot = name.starts_with(b".") && !shown_dots;
            let hide = !shown_dots && matches(&hidden.hide, name);
            let backup = hidden.backups && name.ends_with(b"~");
            !dot && !hide && !backup && !matches(&hidden.ignore, name)
        });
        names
    }
}

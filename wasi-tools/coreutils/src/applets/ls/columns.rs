//! Names side by side.

use super::{entry::Entry, options::Options};
use crate::applets::{cli::Output, text::display_width};

/// A name as it is shown, with what stands before and after it.
pub(super) struct Shown {
    /// With the codes of colours.
    pub(super) bytes: Vec<u8>,
    /// In characters, without them.
    pub(super) width: usize,
}

/// The widths of the columns before a name.
struct Frills {
    inode: usize,
    blocks: usize,
}

impl Frills {
    fn new(entries: &[Entry], options: &Options, aligned: bool) -> Self {
        let widest = |widths: &mut dyn Iterator<Item = usize>| {
            if aligned {
                widths.max().unwrap_or(0)
            } else {
                0
            }
        };
        Self {
            inode: widest(&mut entries.iter().map(|entry| inode(entry).len())),
            blocks: widest(&mut entries.iter().map(|entry| blocks(entry, options).len())),
        }
    }

    fn show(&self, entry: &Entry, options: &Options) -> String {
        let inode = if options.inode {
            format!("{:>1$} ", inode(entry), self.inode)
        } else {
            String::new()
        };
        let blocks = if options.blocks {
            format!("{:>1$} ", blocks(entry, options), self.blocks)
        } else {
            String::new()
        };
        inode + &blocks
    }
}

/// The inode's number, `?` when it is not known.
pub(super) fn inode(entry: &Entry) -> String {
    entry
        .stat
        .map_or_else(|| String::from("?"), |stat| stat.ino.to_string())
}

/// The blocks that it takes, `?` when that is not known.
pub(super) fn blocks(entry: &Entry, options: &Options) -> String {
    entry.stat.map_or_else(
        || String::from("?"),
        |stat| options.block_size.show(stat.blocks.saturating_mul(512)),
    )
}

/// A name with its colour, without the letter of its type.
pub(super) fn colored(name: &[u8], codes: Option<&str>, out: &mut Vec<u8>) {
    match codes {
        Some(codes) => {
            out.extend_from_slice(format!("\x1b[{codes}m").as_bytes());
            out.extend_from_slice(name);
            out.extend_from_slice(b"\x1b[0m");
        }
        None => out.extend_from_slice(name),
    }
}

/// All entries as they are shown; the first colour of a listing is led in by a reset.
fn shown(entries: &[Entry], options: &Options, aligned: bool) -> Vec<Shown> {
    let frills = Frills::new(entries, options, aligned);
    let mut first = true;
    let show = |entry: &Entry| {
        let before = frills.show(entry, options);
        let name = options.quoting.show(&entry.name);
        let indicator = entry.indicator(options);
        let width = before.chars().count() + display_width(&name) + indicator.len();
        let mut bytes = before.into_bytes();
        let codes = options.colors.as_ref().and_then(|colors| colors.of(entry));
        if codes.is_some() && first {
            first = false;
            bytes.extend_from_slice(b"\x1b[0m");
        }
        colored(&name, codes, &mut bytes);
        bytes.extend_from_slice(indicator.as_bytes());
        Shown { bytes, width }
    };
    entries.iter().map(show).collect()
}

pub(super) fn single(entries: &[Entry], options: &Options, out: &mut Output) {
    for entry in shown(entries, options, true) {
        out.bytes(&entry.bytes);
        out.text(options.line_end.encode_utf8(&mut [0; 4]));
    }
}

pub(super) fn commas(entries: &[Entry], options: &Options, out: &mut Output) {
    separated(&shown(entries, options, false), ",", options, out);
}

/// As many as fit in a line, with a separator and a blank between them.
fn separated(shown: &[Shown], separator: &str, options: &Options, out: &mut Output) {
    let mut position = 0;
    for (index, entry) in shown.iter().enumerate() {
        if index > 0 {
            out.text(separator);
            if options.width == 0 || position + entry.width + 2 < options.width {
                position += 2;
                out.text(" ");
            } else {
                position = 0;
                out.text("\n");
            }
        }
        out.bytes(&entry.bytes);
        position += entry.width;
    }
    if !shown.is_empty() {
        out.text("\n");
    }
}

/// The narrowest column: one character and two blanks.
const NARROWEST: usize = 3;

/// The widths of as many columns as fit; `place` says in which of how many columns an entry is.
fn widths(shown: &[Shown], options: &Options, place: impl Fn(usize, usize) -> usize) -> Vec<usize> {
    let most = (options.width / NARROWEST).max(1);
    for count in (2..=most.min(shown.len())).rev() {
        let mut widths = vec![NARROWEST; count];
        for (index, entry) in shown.iter().enumerate() {
            let column = place(index, count);
            let width = entry.width + if column + 1 == count { 0 } else { 2 };
            if let Some(widest) = widths.get_mut(column) {
                *widest = width.max(*widest);
            }
        }
        if widths.iter().sum::<usize>() < options.width {
            return widths;
        }
    }
    vec![shown.iter().map(|entry| entry.width).max().unwrap_or(0)]
}

/// Moves from one position to another, with tabs where they help.
fn indent(mut from: usize, to: usize, tab: usize, out: &mut Output) {
    while from < to {
        if tab != 0 && to / tab > (from + 1) / tab {
            out.text("\t");
            from += tab - from % tab;
        } else {
            out.text(" ");
            from += 1;
        }
    }
}

pub(super) fn down(entries: &[Entry], options: &Options, out: &mut Output) {
    let shown = shown(entries, options, true);
    if options.width == 0 {
        return separated(&shown, " ", options, out);
    }
    let rows_of = |columns: usize| shown.len().div_ceil(columns).max(1);
    let widths = widths(&shown, options, |index, columns| index / rows_of(columns));
    let rows = rows_of(widths.len());
    for row in 0..rows.min(shown.len()) {
        let mut position = 0;
        for (column, width) in widths.iter().enumerate() {
            let Some(entry) = shown.get(row + column * rows) else {
                break;
            };
            out.bytes(&entry.bytes);
            if row + (column + 1) * rows < shown.len() {
                indent(position + entry.width, position + width, options.tab, out);
            }
            position += width;
        }
        out.text("\n");
    }
}

pub(super) fn across(entries: &[Entry], options: &Options, out: &mut Output) {
    let shown = shown(entries, options, true);
    if options.width == 0 {
        return separated(&shown, " ", options, out);
    }
    let widths = widths(&shown, options, |index, columns| index % columns);
    let mut position = 0;
    let mut previous = 0;
    for (index, entry) in shown.iter().enumerate() {
        let column = index % widths.len();
        if index > 0 && column == 0 {
            out.text("\n");
            position = 0;
        } else if index > 0 {
            let width = widths.get(column - 1).copied().unwrap_or(0);
            indent(position + previous, position + width, options.tab, out);
            position += width;
        }
        out.bytes(&entry.bytes);
        previous = entry.width;
    }
    if !shown.is_empty() {
        out.text("\n");
    }
}

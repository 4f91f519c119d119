//! `ls`: lists directories, with modes, owners, links and times, which uutils' does not know on WASI.

mod arguments;
mod color;
mod columns;
mod entry;
mod long;
mod options;
mod quoting;
mod sort;

use std::ffi::OsString;

use sandbar_guest::{Errno, file};

use super::{
    cli::{self, Outcome, Output, Tool},
    quote::quote,
};
use entry::Entry;
use options::{Format, Options};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(&arguments::LS, args, None))
}

pub(super) fn dir(args: Vec<OsString>) -> i32 {
    cli::status(run(&arguments::DIR, args, Some(Format::Columns)))
}

pub(super) fn vdir(args: Vec<OsString>) -> i32 {
    cli::status(run(&arguments::VDIR, args, Some(Format::Long)))
}

/// A listing under way.
struct Listing {
    tool: &'static Tool,
    options: Options,
    out: Output,
    status: i32,
    /// Whether something stands before the next directory.
    started: bool,
    headings: bool,
}

/// A directory that is to be listed.
struct Pending {
    path: Vec<u8>,
    /// Directories that lead here, by device and number: a loop is not entered again.
    above: Vec<(u64, u64)>,
    from_command_line: bool,
}

fn run(tool: &'static Tool, args: Vec<OsString>, format: Option<Format>) -> Outcome {
    let (options, mut operands) = arguments::read(tool, args, format)?;
    let none = operands.is_empty();
    if none {
        operands.push(b".".to_vec());
    }
    let headings = operands.len() > 1 || options.recursive;
    let mut listing = Listing {
        tool,
        options,
        out: Output::new(),
        status: 0,
        started: false,
        headings,
    };
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    for operand in operands {
        match Entry::of_operand(&operand, &listing.options) {
            Ok(entry) if entry.is_dir() && !listing.options.directories => dirs.push(entry),
            Ok(entry) => files.push(entry),
            Err(errno) => listing.fail(2, &format!("cannot access {}: {errno}", quote(&operand))),
        }
    }
    sort::sort(&mut files, &listing.options);
    sort::sort(&mut dirs, &listing.options);
    if !files.is_empty() {
        listing.show(&files);
        listing.started = true;
    }
    let dirs = dirs.into_iter().rev();
    let mut pending: Vec<_> = dirs
        .map(|entry| Pending {
            path: entry.name,
            above: Vec::new(),
            from_command_line: true,
        })
        .collect();
    while let Some(next) = pending.pop() {
        listing.directory(next, &mut pending);
    }
    let status = listing.status;
    Ok(listing.out.finish(tool, status))
}

impl Listing {
    fn fail(&mut self, status: i32, text: &str) {
        self.out.flush();
        self.tool.warn(text);
        self.status = self.status.max(status);
    }

    /// Lists one directory, and with `-R` puts those in it on the stack.
    fn directory(&mut self, dir: Pending, pending: &mut Vec<Pending>) {
        let serious = if dir.from_command_line { 2 } else { 1 };
        let read = file::read_dir(&dir.path);
        let names = match read {
            Ok(entries) => entries,
            Err(errno) => {
                return self.fail(
                    serious,
                    &format!("cannot open directory {}: {errno}", quote(&dir.path)),
                );
            }
        };
        let mut above = dir.above;
        if self.options.recursive
            && let Ok(stat) = file::stat(&dir.path, file::Follow::Follow)
        {
            let id = (stat.dev, stat.ino);
            if above.contains(&id) {
                let name = quote(&dir.path);
                return self.fail(2, &format!("{name}: not listing already-listed directory"));
            }
            above.push(id);
        }
        let mut entries = Vec::new();
        for name in self.options.visible(names) {
            let (entry, failure) = Entry::of_name(&dir.path, name, &self.options);
            if let Some(errno) = failure {
                let path = entry::join(&dir.path, &entry.name);
                self.fail(1, &format!("cannot access {}: {errno}", quote(&path)));
                if errno == Errno::ENOENT && !entry.is_link_problem {
                    // Removed while it was listed.
                    continue;
                }
            }
            entries.push(entry);
        }
        sort::sort(&mut entries, &self.options);
        self.heading(&dir.path);
        self.total(&entries);
        self.show(&entries);
        if self.options.recursive {
            let below = entries
                .iter()
                .rev()
                .filter(|entry| entry.is_dir() && entry.name != b"." && entry.name != b"..");
            let slash: &[u8] = if dir.path.ends_with(b"/") { b"" } else { b"/" };
            pending.extend(below.map(|entry| Pending {
                path: [&dir.path, slash, &entry.name].concat(),
                above: above.clone(),
                from_command_line: false,
            }));
        }
    }

    fn heading(&mut self, path: &[u8]) {
        if self.headings {
            if self.started {
                self.out.text("\n");
            }
            let name = self.options.quoting.show(path);
            self.out.bytes(&name);
            self.out.text(":\n");
        }
        self.started = true;
    }

    fn total(&mut self, entries: &[Entry]) {
        if self.options.format == Format::Long || self.options.blocks {
            let blocks = entries.iter().map(Entry::blocks).sum::<u64>();
            let total = self.options.block_size.show(blocks.saturating_mul(512));
            let end = self.options.line_end;
            self.out.text(&format!("total {total}{end}"));
        }
    }

    fn show(&mut self, entries: &[Entry]) {
        match self.options.format {
            Format::Long => long::show(entries, &self.options, &mut self.out),
            Format::Single => columns::single(entries, &self.options, &mut self.out),
            Format::Columns => columns::down(entries, &self.options, &mut self.out),
            Format::Across => columns::across(entries, &self.options, &mut self.out),
            Format::Commas => columns::commas(entries, &self.options, &mut self.out),
        }
    }
}

//! `stat`: what the system knows about files and file systems.

mod directive;

pub(super) use directive::system_kind;

use std::ffi::OsString;

use sandbar_guest::{
    Fd,
    file::{self, FileType, Follow, Stat},
    time::Zone,
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Tool},
    format::{Layout, escape},
    quote::{quote, quote_word},
};

static TOOL: Tool = Tool {
    name: "stat",
    help: "\
Usage: stat [OPTION]... FILE...
Shows what is known about each FILE, or about its file system.

  -L, --dereference     follow links
  -f, --file-system     about the file system instead
      --cached=MODE     always, never or default; there is no cache
  -c, --format=FORMAT   this, and a newline, for each FILE
      --printf=FORMAT   this for each FILE, with \\ escapes and no newline
  -t, --terse           in one line
      --help            show this text
      --version         show the version

For files: %a %A permissions (octal, letters), %b %B blocks and their size, %d %D device (decimal, hex), %f mode (hex),
%F type, %g %G group, %h links, %i inode, %m mount point, %n %N name (as given, quoted), %o good I/O size, %s size,
%r %R %t %T device that it is (decimal, hex, major, minor), %u %U owner, %w %x %y %z times of birth, access, change and
status change, %W %X %Y %Z the same in seconds; %Hd %Ld %Hr %Lr major and minor in decimal.
For file systems: %a %b %f blocks (available, all, free), %c %d inodes (all, free), %i id, %l longest name, %n name,
%s %S block sizes, %t %T type (hex, name).
",
    options: &[
        Opt::flag(b'L', "dereference"),
        Opt::flag(b'f', "file-system"),
        Opt::value(b'c', "format"),
        Opt::value(0, "printf"),
        Opt::flag(b't', "terse"),
        Opt::value(0, "cached"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// What is shown for each file.
struct Format {
    text: Vec<u8>,
    /// `--printf`: escapes count, and no newline is added.
    escapes: bool,
}

/// How `%N` shows a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Quoted,
    /// As it is: in the default format.
    Plain,
}

/// What one format is filled with.
enum Subject<'a> {
    File {
        path: &'a [u8],
        stat: Stat,
        zone: &'a Zone,
        names: Names,
    },
    System {
        path: &'a [u8],
        system: file::FileSystem,
        kind: String,
    },
}

fn run(args: Vec<OsString>) -> Outcome {
    let (mut format, mut follow, mut system, mut terse) = (None, Follow::NoFollow, false, false);
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        let value = value.unwrap_or_default();
        match option {
            "dereference" => follow = Follow::Follow,
            "file-system" => system = true,
            "terse" => terse = true,
            "format" => {
                format = Some(Format {
                    text: value,
                    escapes: false,
                });
            }
            "printf" => {
                format = Some(Format {
                    text: value,
                    escapes: true,
                });
            }
            _ => check_cached(&value)?,
        }
    }
    let operands = parser.operands();
    if operands.is_empty() {
        return Err(TOOL.missing_operand(None));
    }
    let zone = Zone::local();
    let mut out = Output::new();
    let mut failed = false;
    for path in &operands {
        let names = if format.is_some() {
            Names::Quoted
        } else {
            Names::Plain
        };
        match subject(path, follow, system, (&zone, names)) {
            Ok(subject) => {
                let default = Format {
                    text: default_format(&subject, terse).into(),
                    escapes: true,
                };
                if let Err(text) = show(format.as_ref().unwrap_or(&default), &subject, &mut out) {
                    out.flush();
                    return Err(TOOL.fail(1, text));
                }
            }
            Err(text) => {
                failed = true;
                out.flush();
                TOOL.warn(text);
            }
        }
    }
    Ok(out.finish(&TOOL, i32::from(failed)))
}

fn check_cached(mode: &[u8]) -> Result<(), cli::Stop> {
    if [b"always".as_slice(), b"never", b"default"].contains(&mode) {
        return Ok(());
    }
    let text = format!(
        "invalid argument {} for '--cached'\nValid arguments are:\n  - 'default'\n  - 'never'\n  - 'always'",
        quote_word(mode)
    );
    Err(TOOL.usage(text))
}

fn subject<'a>(
    path: &'a [u8],
    follow: Follow,
    system: bool,
    (zone, names): (&'a Zone, Names),
) -> Result<Subject<'a>, String> {
    let input = path == b"-";
    if system {
        if input {
            return Err(String::from(
                "using '-' to denote standard input does not work in file system mode",
            ));
        }
        let failure = |errno| {
            format!(
                "cannot read file system information for {}: {errno}",
                quote(path)
            )
        };
        let system = file::file_system(path).map_err(failure)?;
        return Ok(Subject::System {
            path,
            system,
            kind: directive::system_kind(path),
        });
    }
    let stat = if input {
        file::stat_fd(Fd::STDIN)
    } else {
        file::stat(path, follow)
    };
    match stat {
        Ok(stat) => Ok(Subject::File {
            path,
            stat,
            zone,
            names,
        }),
        Err(errno) if input => Err(format!("cannot stat standard input: {errno}")),
        Err(errno) => Err(format!("cannot statx {}: {errno}", quote(path))),
    }
}

fn default_format(subject: &Subject<'_>, terse: bool) -> &'static str {
    match (subject, terse) {
        (Subject::System { .. }, true) => "%n %i %l %t %s %S %b %f %a %c %d\n",
        (Subject::System { .. }, false) => {
            "  File: \"%n\"\n    ID: %-8i Namelen: %-7l Type: %T\nBlock size: %-10s Fundamental block size: %S\n\
             Blocks: Total: %-10b Free: %-10f Available: %a\nInodes: Total: %-10c Free: %d\n"
        }
        (Subject::File { .. }, true) => "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n",
        (Subject::File { stat, .. }, false) => {
            if matches!(
                stat.file_type(),
                FileType::CharDevice | FileType::BlockDevice
            ) {
                "  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\n\
                 Device: %Hd,%Ld\tInode: %-11i Links: %-5h Device type: %Hr,%Lr\n\
                 Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n\
                 Access: %x\nModify: %y\nChange: %z\n Birth: %w\n"
            } else {
                "  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\n\
                 Device: %Hd,%Ld\tInode: %-11i Links: %h\n\
                 Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n\
                 Access: %x\nModify: %y\nChange: %z\n Birth: %w\n"
            }
        }
    }
}

/// Shows one subject in a format; an error when the format is wrong.
fn show(format: &Format, subject: &Subject<'_>, out: &mut Output) -> Result<(), String> {
    let mut rest = format.text.as_slice();
    while let Some((byte, after)) = rest.split_first() {
        rest = match byte {
            b'%' => show_directive(rest, after, subject, out)?,
            b'\\' if format.escapes => show_escape(after, out),
            byte => {
                out.bytes(&[*byte]);
                after
            }
        };
    }
    if !format.escapes {
        out.bytes(b"\n");
    }
    Ok(())
}

fn show_escape<'a>(after: &'a [u8], out: &mut Output) -> &'a [u8] {
    if let Some((byte, rest)) = escape(after) {
        out.bytes(&[byte]);
        return rest;
    }
    out.flush();
    match after.split_first() {
        None => {
            TOOL.warn("warning: backslash at end of format");
            out.bytes(b"\\");
            after
        }
        Some((letter, rest)) => {
            TOOL.warn(format!(
                "warning: unrecognized escape '\\{}'",
                char::from(*letter)
            ));
            out.bytes(&[*letter]);
            rest
        }
    }
}

/// Shows the directive at the start of `whole`, whose `%` is left out in `after`; returns what follows it.
fn show_directive<'a>(
    whole: &'a [u8],
    after: &'a [u8],
    subject: &Subject<'_>,
    out: &mut Output,
) -> Result<&'a [u8], String> {
    let (layout, rest) = Layout::parse(after);
    let (modifier, rest) = match rest {
        [modifier @ (b'H' | b'L'), b'd' | b'r', ..] => {
            (*modifier, rest.get(1..).unwrap_or_default())
        }
        _ => (0, rest),
    };
    let used = whole.len() - rest.len();
    let invalid = |len: usize| {
        let directive = String::from_utf8_lossy(whole.get(..len).unwrap_or(whole)).into_owned();
        format!("{}: invalid directive", quote_word(directive.as_bytes()))
    };
    match rest.split_first() {
        None if used > 1 => Err(invalid(used)),
        None => {
            out.bytes(b"%");
            Ok(rest)
        }
        Some((b'%', _)) if used > 1 => Err(invalid(used + 1)),
        Some((b'%', rest)) => {
            out.bytes(b"%");
            Ok(rest)
        }
        Some((letter, rest)) => {
            out.bytes(&directive::value(layout, modifier, *letter, subject));
            Ok(rest)
        }
    }
}

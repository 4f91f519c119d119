//! `cat`: concatenates files. Upstream's refuses everything that is neither a file nor a directory where std knows no more kinds:
//! `/dev/null`, `/dev/stdin`, pipes.

use std::ffi::OsString;

use sandbar_guest::{
    Errno, Fd,
    file::{self, OpenFlags},
};

use super::{
    cli::{self, Opt, Order, Outcome, Tool},
    contents::{self, BUFFER},
    quote::quote_for_shell,
};

static TOOL: Tool = Tool {
    name: "cat",
    help: "\
Usage: cat [OPTION]... [FILE]...
Concatenates each FILE, or standard input, to standard output.

  -A, --show-all          the same as -vET
  -b, --number-nonblank   number lines that are not empty
  -e                      the same as -vE
  -E, --show-ends         show $ at the end of each line
  -n, --number            number all lines
  -s, --squeeze-blank     show only one of several empty lines
  -t                      the same as -vT
  -T, --show-tabs         show tabs as ^I
  -u                      nothing: output is not kept back
  -v, --show-nonprinting  show other characters as ^X and M-X
      --help              show this text
      --version           show the version
",
    options: &[
        Opt::flag(b'A', "show-all"),
        Opt::flag(b'b', "number-nonblank"),
        Opt::flag(b'e', "e"),
        Opt::flag(b'E', "show-ends"),
        Opt::flag(b'n', "number"),
        Opt::flag(b's', "squeeze-blank"),
        Opt::flag(b't', "t"),
        Opt::flag(b'T', "show-tabs"),
        Opt::flag(b'u', "u"),
        Opt::flag(b'v', "show-nonprinting"),
    ],
    order: Order::Any,
    usage_status: 1,
};

/// Why a file is not read.
const OUTPUT: &str = "input file is output file";

/// Which lines are numbered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    No,
    All,
    NonBlank,
}

/// How lines are shown, and where in them the output is: several files are one text.
struct Format {
    number: Number,
    squeeze: bool,
    ends: bool,
    tabs: bool,
    nonprinting: bool,
    line: u64,
    at_start: bool,
    blank_before: bool,
}

impl Format {
    fn changes(&self) -> bool {
        self.number != Number::No || self.squeeze || self.ends || self.tabs || self.nonprinting
    }

    /// Adds a piece of text, as it is shown, to `out`.
    fn show(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for &byte in text {
            let blank = byte == b'\n' && self.at_start;
            if blank && self.squeeze && self.blank_before {
                continue;
            }
            let numbered = match self.number {
                Number::No => false,
                Number::All => true,
                Number::NonBlank => !blank,
            };
            if self.at_start && numbered {
                self.line += 1;
                out.extend_from_slice(format!("{:6}\t", self.line).as_bytes());
            }
            self.blank_before = blank;
            self.at_start = byte == b'\n';
            match byte {
                b'\n' => {
                    if self.ends {
                        out.push(b'$');
                    }
                    out.push(b'\n');
                }
                b'\t' if self.tabs => out.extend_from_slice(b"^I"),
                b'\t' => out.push(b'\t'),
                _ if self.nonprinting => visible(byte, out),
                _ => out.push(byte),
            }
        }
    }
}

/// A byte in `cat -v`'s notation.
fn visible(byte: u8, out: &mut Vec<u8>) {
    let low = byte & 0x7f;
    if byte >= 0x80 {
        out.extend_from_slice(b"M-");
    }
    match low {
        0..=0x1f => out.extend_from_slice(&[b'^', low + 0x40]),
        0x7f => out.extend_from_slice(b"^?"),
        _ => out.push(low),
    }
}

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut format = Format {
        number: Number::No,
        squeeze: false,
        ends: false,
        tabs: false,
        nonprinting: false,
        line: 0,
        at_start: true,
        blank_before: false,
    };
    let mut parser = TOOL.parse(args);
    while let Some((option, _)) = parser.next()? {
        match option {
            "number-nonblank" => format.number = Number::NonBlank,
            "number" if format.number == Number::No => format.number = Number::All,
            "squeeze-blank" => format.squeeze = true,
            _ => {}
        }
        format.nonprinting |= matches!(option, "show-all" | "e" | "t" | "show-nonprinting");
        format.ends |= matches!(option, "show-all" | "e" | "show-ends");
        format.tabs |= matches!(option, "show-all" | "t" | "show-tabs");
    }
    let mut operands = parser.operands();
    if operands.is_empty() {
        operands.push(b"-".to_vec());
    }
    let mut status = 0;
    for path in operands {
        let shown = if path == b"-" {
            copy(Fd::STDIN, &mut format)
        } else {
            file::open(&path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0)
                .map_err(|errno| ("", errno))
                .and_then(|fd| {
                    if is_output(fd) {
                        return Err((OUTPUT, Errno::EINVAL));
                    }
                    let shown = copy(fd, &mut format);
                    let _read_only = fd.close();
                    shown
                })
        };
        if let Err((what, errno)) = shown {
            if what == "error writing" {
                return Err(TOOL.fail(1, format!("write error: {errno}")));
            }
            status = 1;
            let name = quote_for_shell(&path);
            if what == OUTPUT {
                TOOL.warn(format!("{name}: {OUTPUT}"));
            } else {
                TOOL.warn(format!("{name}: {errno}"));
            }
        }
    }
    Ok(status)
}

/// Whether a file that has something in it is also where the output goes: reading it would not end.
fn is_output(fd: Fd) -> bool {
    match (file::stat_fd(fd), file::stat_fd(Fd::STDOUT)) {
        (Ok(input), Ok(output)) => input.is_file() && input.len > 0 && input.same_file(&output),
        _ => false,
    }
}

fn copy(from: Fd, format: &mut Format) -> Result<(), (&'static str, Errno)> {
    if !format.changes() {
        return contents::pump(from, Fd::STDOUT);
    }
    let mut buffer = vec![0; BUFFER];
    let mut out = Vec::new();
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(("error reading", errno)),
        };
        out.clear();
        format.show(buffer.get(..count).unwrap_or(&buffer), &mut out);
        Fd::STDOUT
            .write_all(&out)
            .map_err(|errno| ("error writing", errno))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_as_gnu_cat_shows_them() {
        let mut format = Format {
            number: Number::NonBlank,
            squeeze: true,
            ends: true,
            tabs: true,
            nonprinting: true,
            line: 0,
            at_start: true,
            blank_before: false,
        };
        let mut out = Vec::new();
        format.show(b"a\tb\n\n\n\n\x01\x7f\xe9", &mut out);
        assert_eq!(out, b"     1\ta^Ib$\n$\n     2\t^A^?M-i");
    }
}

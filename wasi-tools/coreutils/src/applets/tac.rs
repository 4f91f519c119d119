//! `tac`: shows files from the last line to the first.

use std::ffi::OsString;

use sandbar_guest::{
    Fd,
    file::{self, OpenFlags},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Tool},
    quote::{quote, quote_for_shell},
};

static TOOL: Tool = Tool {
    name: "tac",
    help: "\
Usage: tac [OPTION]... [FILE]...
Shows each FILE, or standard input, from the last line to the first.

  -b, --before        the separator stands before, not behind a line
  -s, --separator=S   lines are separated by S, not by newlines
      --help          show this text
      --version       show the version
",
    options: &[
        Opt::flag(b'b', "before"),
        Opt::flag(b'r', "regex"),
        Opt::value(b's', "separator"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let (mut before, mut separator) = (false, b"\n".to_vec());
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "before" => before = true,
            "separator" => {
                separator = value
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| b"\0".to_vec());
            }
            _ => {
                return Err(TOOL.fail(
                    1,
                    "--regex (-r) is not supported: the separator is taken as it is",
                ));
            }
        }
    }
    let mut operands = parser.operands();
    if operands.is_empty() {
        operands.push(b"-".to_vec());
    }
    let mut out = Output::new();
    let mut failed = false;
    for path in operands {
        let contents = if path == b"-" {
            Fd::STDIN
                .read_to_end()
                .map_err(|errno| format!("'standard input': read error: {errno}"))
        } else {
            read(&path)
        };
        match contents {
            Ok(contents) => show(&contents, &separator, before, &mut out),
            Err(text) => {
                failed = true;
                out.flush();
                TOOL.warn(text);
            }
        }
    }
    Ok(out.finish(&TOOL, i32::from(failed)))
}

fn read(path: &[u8]) -> Result<Vec<u8>, String> {
    let fd = file::open(path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0)
        .map_err(|errno| format!("failed to open {} for reading: {errno}", quote(path)))?;
    let contents = fd.read_to_end();
    let _read_only = fd.close();
    contents.map_err(|errno| format!("{}: read error: {errno}", quote_for_shell(path)))
}

/// Shows the parts of a text from the last to the first, each with its separator.
fn show(text: &[u8], separator: &[u8], before: bool, out: &mut Output) {
    // Where a part starts: behind a separator, or at it.
    let mut end = text.len();
    let mut search = text.len();
    while let Some(at) = find_last(text.get(..search).unwrap_or_default(), separator) {
        let start = if before { at } else { at + separator.len() };
        if start < end {
            out.bytes(text.get(start..end).unwrap_or_default());
            end = start;
        }
        search = at;
    }
    out.bytes(text.get(..end).unwrap_or_default());
}

fn find_last(text: &[u8], wanted: &[u8]) -> Option<usize> {
    if let [byte] = wanted {
        return text.iter().rposition(|found| found == byte);
    }
    text.windows(wanted.len())
        .rposition(|window| window == wanted)
}

//! `tail`: shows the end of files, and what is added to them.

mod follow;
mod last;

use std::{ffi::OsString, time::Duration};

use sandbar_guest::{
    Fd,
    file::{self, OpenFlags},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    duration,
    quote::{quote, quote_word},
    size::number,
};

static TOOL: Tool = Tool {
    name: "tail",
    help: "\
Usage: tail [OPTION]... [FILE]...
Shows the last 10 lines of each FILE, or of standard input, with a heading if there are several.

  -c, --bytes=[+]N         the last N bytes; from byte N on with a plus
  -f, --follow[={name|descriptor}]  go on with what is added
  -F                       --follow=name --retry
  -n, --lines=[+]N         the last N lines; from line N on with a plus
      --max-unchanged-stats=N  ignored: names are looked up each time
      --pid=PID            with -f, end when that process has ended
  -q, --quiet, --silent    no headings
      --retry              keep trying to open what can't be opened
  -s, --sleep-interval=N   with -f, look each N seconds (default 1)
  -v, --verbose            headings always
  -z, --zero-terminated    lines end with NUL
      --help               show this text
      --version            show the version
",
    options: &[
        Opt::value(b'c', "bytes"),
        Opt::letter(b'f', Takes::Nothing, "follow"),
        Opt::optional(0, "follow"),
        Opt::letter(b'F', Takes::Nothing, "-F"),
        Opt::value(b'n', "lines"),
        Opt::value(0, "max-unchanged-stats"),
        Opt::value(0, "pid"),
        Opt::flag(b'q', "quiet"),
        Opt::flag(0, "silent"),
        Opt::flag(0, "retry"),
        Opt::value(b's', "sleep-interval"),
        Opt::flag(b'v', "verbose"),
        Opt::flag(b'z', "zero-terminated"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Lines,
    Bytes,
}

/// How a file is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    No,
    Descriptor,
    Name,
}

/// What was asked for.
struct Request {
    unit: Unit,
    count: u64,
    from_start: bool,
    follow: Follow,
    retry: bool,
    pid: Option<i32>,
    interval: Duration,
    line_end: u8,
    headings: bool,
}

/// A file that was opened, or could not be.
struct Source {
    path: Vec<u8>,
    fd: Option<Fd>,
}

impl Source {
    fn is_stdin(&self) -> bool {
        self.path == b"-"
    }

    /// The name in headings.
    fn title(&self) -> Vec<u8> {
        if self.is_stdin() {
            b"standard input".to_vec()
        } else {
            self.path.clone()
        }
    }

    /// The name in messages.
    fn quoted(&self) -> String {
        if self.is_stdin() {
            String::from("'standard input'")
        } else {
            quote(&self.path)
        }
    }

    fn open(&mut self) -> Result<Fd, sandbar_guest::Errno> {
        let fd = if self.is_stdin() {
            Fd::STDIN
        } else {
            file::open(&self.path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0)?
        };
        self.fd = Some(fd);
        Ok(fd)
    }
}

fn run(args: Vec<OsString>) -> Outcome {
    let (request, mut sources) = read_arguments(args)?;
    let mut out = Output::new();
    let mut failed = false;
    let mut shown = None;
    for (index, source) in sources.iter_mut().enumerate() {
        let fd = match source.open() {
            Ok(fd) => fd,
            Err(errno) => {
                failed = true;
                out.flush();
                TOOL.warn(format!(
                    "cannot open {} for reading: {errno}",
                    source.quoted()
                ));
                continue;
            }
        };
        if request.headings {
            heading(&source.title(), shown.is_some(), &mut out);
        }
        shown = Some(index);
        if let Err(errno) = last::show(fd, &request, &mut out) {
            failed = true;
            out.flush();
            TOOL.warn(format!("error reading {}: {errno}", source.quoted()));
            source.fd = None;
        }
    }
    if request.follow != Follow::No {
        out.flush();
        failed |= follow::follow(&request, sources, shown, &mut out);
    }
    Ok(out.finish(&TOOL, i32::from(failed)))
}

fn heading(title: &[u8], after_another: bool, out: &mut Output) {
    out.text(if after_another { "\n==> " } else { "==> " });
    out.bytes(title);
    out.text(" <==\n");
}

fn read_arguments(args: Vec<OsString>) -> Result<(Request, Vec<Source>), Stop> {
    let mut request = Request {
        unit: Unit::Lines,
        count: 10,
        from_start: false,
        follow: Follow::No,
        retry: false,
        pid: None,
        interval: Duration::from_secs(1),
        line_end: b'\n',
        headings: false,
    };
    let (mut quiet, mut verbose) = (false, false);
    let mut parser = TOOL.parse(old_style(args));
    while let Some((option, value)) = parser.next()? {
        let given = value.as_deref().unwrap_or_default();
        match option {
            "bytes" => request.count(Unit::Bytes, given)?,
            "lines" => request.count(Unit::Lines, given)?,
            "follow" => request.follow = follow_mode(value.as_deref())?,
            "-F" => (request.follow, request.retry) = (Follow::Name, true),
            "retry" => request.retry = true,
            "pid" => {
                let pid = std::str::from_utf8(given)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let wrong = || TOOL.fail(1, format!("invalid PID: {}", quote_word(given)));
                request.pid = Some(pid.ok_or_else(wrong)?);
            }
            "sleep-interval" => {
                let wrong = || {
                    TOOL.fail(
                        1,
                        format!("invalid number of seconds: {}", quote_word(given)),
                    )
                };
                request.interval = duration::parse(given).ok_or_else(wrong)?;
            }
            "quiet" | "silent" => (quiet, verbose) = (true, false),
            "verbose" => (quiet, verbose) = (false, true),
            "zero-terminated" => request.line_end = 0,
            _ => {}
        }
    }
    if request.retry && request.follow == Follow::No {
        TOOL.warn("warning: --retry ignored; --retry is useful only when following");
    }
    if request.pid.is_some() && request.follow == Follow::No {
        TOOL.warn("warning: PID ignored; --pid=PID is useful only when following");
    }
    let mut operands = parser.operands();
    if operands.is_empty() {
        operands.push(b"-".to_vec());
    }
    request.headings = verbose || (operands.len() > 1 && !quiet);
    let sources = operands
        .into_iter()
        .map(|path| Source { path, fd: None })
        .collect();
    Ok((request, sources))
}

fn follow_mode(value: Option<&[u8]>) -> Result<Follow, Stop> {
    match value {
        None | Some(b"descriptor") => Ok(Follow::Descriptor),
        Some(b"name") => Ok(Follow::Name),
        Some(other) => {
            let other = quote_word(other);
            Err(TOOL.usage(format!(
                "invalid argument {other} for '--follow'\nValid arguments are:\n  - 'descriptor'\n  - 'name'"
            )))
        }
    }
}

/// Turns a first word such as `-5`, `+5`, `-5c` or `-5f` into options.
fn old_style(args: Vec<OsString>) -> Vec<OsString> {
    let parse = |word: &OsString| {
        let text = word.to_str()?;
        let (sign, rest) = text
            .split_at_checked(1)
            .filter(|(sign, _)| matches!(*sign, "-" | "+"))?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, letters) = rest.split_at_checked(digits)?;
        let (unit, follow) = match letters {
            "" | "l" => ("-n", false),
            "c" => ("-c", false),
            "f" | "lf" => ("-n", true),
            "cf" => ("-c", true),
            _ => return None,
        };
        let plus = if sign == "+" { "+" } else { "" };
        (digits > 0).then(|| (unit, format!("{plus}{number}"), follow))
    };
    let Some((unit, number, follow)) = args.get(1).and_then(parse) else {
        return args;
    };
    let mut new: Vec<OsString> = args.iter().take(1).cloned().collect();
    new.extend([unit.into(), number.into()]);
    new.extend(follow.then(|| "-f".into()));
    new.extend(args.into_iter().skip(2));
    new
}

impl Request {
    fn count(&mut self, unit: Unit, text: &[u8]) -> Result<(), Stop> {
        let digits = text
            .strip_prefix(b"+")
            .or_else(|| text.strip_prefix(b"-"))
            .unwrap_or(text);
        let count = std::str::from_utf8(digits).ok().and_then(number);
        let what = if unit == Unit::Lines {
            "lines"
        } else {
            "bytes"
        };
        let wrong = || TOOL.fail(1, format!("invalid number of {what}: {}", quote_word(text)));
        self.count = count.ok_or_else(wrong)?;
        self.from_start = text.starts_with(b"+");
        self.unit = unit;
        Ok(())
    }
}

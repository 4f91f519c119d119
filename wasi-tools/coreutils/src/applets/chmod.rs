//! `chmod`: changes permissions.

use std::ffi::OsString;

use sandbar_guest::{
    Errno,
    file::{self, FileType, Follow},
    process,
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    mode::{self, Mode},
    quote::{quote, quote_word},
};

static TOOL: Tool = Tool {
    name: "chmod",
    help: "\
Usage: chmod [OPTION]... MODE[,MODE]... FILE...
  or:  chmod [OPTION]... OCTAL-MODE FILE...
  or:  chmod [OPTION]... --reference=RFILE FILE...
Sets the mode of each FILE. MODE is octal, or [ugoa]*([-+=]([rwxXst]*|[ugo]))+.

  -c, --changes          report each change
  -f, --silent, --quiet  report few failures
  -v, --verbose          report every file
      --no-preserve-root  treat / like any directory (default)
      --preserve-root    refuse to work recursively on /
      --reference=RFILE  take the mode of RFILE
  -R, --recursive        also everything below a directory
      --help             show this text
      --version          show the version
",
    options: &[
        Opt::flag(b'c', "changes"),
        Opt::flag(b'f', "silent"),
        Opt::flag(0, "quiet"),
        Opt::flag(b'v', "verbose"),
        Opt::flag(0, "no-preserve-root"),
        Opt::flag(0, "preserve-root"),
        Opt::flag(b'R', "recursive"),
        Opt::value(0, "reference"),
        // A mode that takes away looks like options: `chmod -w FILE`.
        Opt::letter(b'r', Takes::Optional, "-r"),
        Opt::letter(b'w', Takes::Optional, "-w"),
        Opt::letter(b'x', Takes::Optional, "-x"),
        Opt::letter(b'X', Takes::Optional, "-X"),
        Opt::letter(b's', Takes::Optional, "-s"),
        Opt::letter(b't', Takes::Optional, "-t"),
        Opt::letter(b'u', Takes::Optional, "-u"),
        Opt::letter(b'g', Takes::Optional, "-g"),
        Opt::letter(b'o', Takes::Optional, "-o"),
        Opt::letter(b'a', Takes::Optional, "-a"),
        Opt::letter(b'+', Takes::Optional, "-+"),
        Opt::letter(b'=', Takes::Optional, "-="),
        Opt::letter(b',', Takes::Optional, "-,"),
        Opt::letter(b'0', Takes::Optional, "-0"),
        Opt::letter(b'1', Takes::Optional, "-1"),
        Opt::letter(b'2', Takes::Optional, "-2"),
        Opt::letter(b'3', Takes::Optional, "-3"),
        Opt::letter(b'4', Takes::Optional, "-4"),
        Opt::letter(b'5', Takes::Optional, "-5"),
        Opt::letter(b'6', Takes::Optional, "-6"),
        Opt::letter(b'7', Takes::Optional, "-7"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// What is reported about each file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    Nothing,
    Changes,
    Everything,
}

struct Chmod {
    mode: Mode,
    /// The mode was written like an option, so that a surprise through the umask is told.
    from_option: bool,
    umask: u32,
    report: Report,
    quiet: bool,
    recursive: bool,
    preserve_root: bool,
    out: Output,
    failed: bool,
}

fn run(args: Vec<OsString>) -> Outcome {
    let (mut report, mut quiet, mut recursive, mut preserve_root) =
        (Report::Nothing, false, false, false);
    let (mut reference, mut option_mode) = (None, Vec::new());
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "changes" => report = Report::Changes,
            "silent" | "quiet" => quiet = true,
            "verbose" => report = Report::Everything,
            "recursive" => recursive = true,
            "preserve-root" => preserve_root = true,
            "no-preserve-root" => preserve_root = false,
            "reference" => reference = value,
            letter => {
                if !option_mode.is_empty() {
                    option_mode.push(b',');
                }
                option_mode.extend_from_slice(letter.as_bytes());
                option_mode.extend(value.into_iter().flatten());
            }
        }
    }
    let mut operands = parser.operands();
    if operands.is_empty() && (reference.is_some() || !option_mode.is_empty()) {
        return Err(TOOL.missing_operand(None));
    }
    if reference.is_some() && !option_mode.is_empty() {
        return Err(TOOL.usage("cannot combine mode and --reference options"));
    }
    let from_option = !option_mode.is_empty();
    let mode = match reference {
        Some(reference) => reference_mode(&reference)?,
        None => mode_operand(from_option.then_some(option_mode), &mut operands)?,
    };
    let umask = process::umask().unwrap_or(0);
    let out = Output::new();
    let mut chmod = Chmod {
        mode,
        from_option,
        umask,
        report,
        quiet,
        recursive,
        preserve_root,
        out,
        failed: false,
    };
    for path in operands {
        chmod.operand(path);
    }
    let status = i32::from(chmod.failed);
    Ok(chmod.out.finish(&TOOL, status))
}

fn reference_mode(path: &[u8]) -> Result<Mode, Stop> {
    match file::stat(path, Follow::Follow) {
        Ok(stat) => Ok(Mode::exactly(stat.permissions())),
        Err(errno) => Err(TOOL.fail(
            1,
            format!("failed to get attributes of {}: {errno}", quote(path)),
        )),
    }
}

fn mode_operand(from_option: Option<Vec<u8>>, operands: &mut Vec<Vec<u8>>) -> Result<Mode, Stop> {
    let text = match from_option {
        Some(text) => text,
        None if operands.is_empty() => return Err(TOOL.missing_operand(None)),
        None => {
            let text = operands.remove(0);
            if operands.is_empty() {
                return Err(TOOL.missing_operand(Some(&text)));
            }
            text
        }
    };
    Mode::parse(&text).ok_or_else(|| TOOL.usage(format!("invalid mode: {}", quote_word(&text))))
}

impl Chmod {
    fn fail(&mut self, text: &str) {
        self.failed = true;
        if !self.quiet {
            self.out.flush();
            TOOL.warn(text);
        }
    }

    fn operand(&mut self, path: Vec<u8>) {
        if self.recursive && self.preserve_root && is_root(&path) {
            self.failed = true;
            TOOL.warn(format!(
                "it is dangerous to operate recursively on {}",
                quote(&path)
            ));
            TOOL.warn("use --no-preserve-root to override this failsafe");
            return;
        }
        // A stack instead of recursion: depth is the file system's to choose.
        let mut waiting = vec![(path, Follow::Follow)];
        while let Some((path, follow)) = waiting.pop() {
            if !self.change(&path, follow) || !self.recursive {
                continue;
            }
            match file::read_dir(&path) {
                Ok(entries) => {
                    let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
                    let below = entries
                        .iter()
                        .rev()
                        .map(|entry| [&path, slash, &entry.name].concat());
                    waiting.extend(below.map(|path| (path, Follow::NoFollow)));
                }
                Err(errno) => {
                    self.fail(&format!("cannot read directory {}: {errno}", quote(&path)));
                }
            }
        }
    }

    /// Changes one file; whether it is a directory to go into.
    fn change(&mut self, path: &[u8], follow: Follow) -> bool {
        let stat = match file::stat(path, follow) {
            Ok(stat) => stat,
            Err(errno) => {
                let dangling = errno == Errno::ENOENT && file::stat(path, Follow::NoFollow).is_ok();
                let name = quote(path);
                let text = if dangling {
                    format!("cannot operate on dangling symlink {name}")
                } else {
                    format!("cannot access {name}: {errno}")
                };
                self.fail(&text);
                if self.report == Report::Everything {
                    self.say(&format!("{name} could not be accessed\n"));
                }
                return false;
            }
        };
        if stat.file_type() == FileType::Symlink {
            if self.report == Report::Everything {
                self.say(&format!(
                    "neither symbolic link {} nor referent has been changed\n",
                    quote(path)
                ));
            }
            return false;
        }
        let (old, new) = (
            stat.permissions(),
            self.mode.apply(stat.mode, stat.is_dir(), self.umask),
        );
        let result = file::set_mode(path, new);
        if let Err(errno) = result {
            self.fail(&format!("changing permissions of {}: {errno}", quote(path)));
        }
        self.tell(path, old, new, result.is_ok());
        if self.from_option && result.is_ok() {
            let unmasked = self.mode.apply(stat.mode, stat.is_dir(), 0);
            if new & !unmasked != 0 {
                let (is, not) = (mode::permissions(new), mode::permissions(unmasked));
                self.out.flush();
                TOOL.warn(format!(
                    "{}: new permissions are {is}, not {not}",
                    String::from_utf8_lossy(path)
                ));
                self.failed = true;
            }
        }
        stat.is_dir()
    }

    fn tell(&mut self, path: &[u8], old: u32, new: u32, done: bool) {
        let wanted = match self.report {
            Report::Nothing => false,
            Report::Changes => done && old != new,
            Report::Everything => true,
        };
        if !wanted {
            return;
        }
        let name = quote(path);
        let (was, is) = (mode::permissions(old), mode::permissions(new));
        let text = match (done, old == new) {
            (false, _) => format!(
                "failed to change mode of {name} from {old:04o} ({was}) to {new:04o} ({is})\n"
            ),
            (true, true) => format!("mode of {name} retained as {old:04o} ({was})\n"),
            (true, false) => {
                format!("mode of {name} changed from {old:04o} ({was}) to {new:04o} ({is})\n")
            }
        };
        self.say(&text);
    }

    fn say(&mut self, text: &str) {
        self.out.text(text);
    }
}

fn is_root(path: &[u8]) -> bool {
    match (
        file::stat(path, Follow::Follow),
        file::stat(b"/", Follow::Follow),
    ) {
        (Ok(stat), Ok(root)) => stat.same_file(&root),
        _ => false,
    }
}

//! `mv`: renames files, and copies them where a rename can't reach (upstream's takes the wrong error number for that on WASI).

mod across;

use std::ffi::OsString;

use sandbar_guest::{
    Errno, Fd,
    file::{self, Follow, Stat},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    quote::quote,
};

static TOOL: Tool = Tool {
    name: "mv",
    help: "\
Usage: mv [OPTION]... [-T] SOURCE DEST
  or:  mv [OPTION]... SOURCE... DIRECTORY
  or:  mv [OPTION]... -t DIRECTORY SOURCE...
Renames SOURCE to DEST, or moves each SOURCE into DIRECTORY.

  -b                       keep what is replaced under its name with ~ behind it
      --backup[=CONTROL]   the same; CONTROL none turns it off
  -f, --force              do not ask before replacing
  -i, --interactive        ask before replacing
  -n, --no-clobber         do not replace
  -S, --suffix=SUFFIX      instead of ~
      --strip-trailing-slashes  remove slashes behind each SOURCE
  -t, --target-directory=DIRECTORY  move into DIRECTORY
  -T, --no-target-directory  DEST is no directory to move into
  -u, --update[=WHEN]      replace only what is older; WHEN: all, none, older
  -v, --verbose            tell of each move
      --help               show this text
      --version            show the version
",
    options: &[
        Opt::letter(b'b', Takes::Nothing, "-b"),
        Opt::optional(0, "backup"),
        Opt::flag(b'f', "force"),
        Opt::flag(b'i', "interactive"),
        Opt::flag(b'n', "no-clobber"),
        Opt::value(b'S', "suffix"),
        Opt::flag(0, "strip-trailing-slashes"),
        Opt::value(b't', "target-directory"),
        Opt::flag(b'T', "no-target-directory"),
        Opt::letter(b'u', Takes::Nothing, "-u"),
        Opt::optional(0, "update"),
        Opt::flag(b'v', "verbose"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// What happens when the target exists.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Existing {
    #[default]
    Replace,
    Ask,
    Keep,
    ReplaceOlder,
}

#[derive(Default)]
struct Request {
    existing: Existing,
    backup: bool,
    suffix: Option<Vec<u8>>,
    strip_slashes: bool,
    target: Option<Vec<u8>>,
    exact: bool,
    verbose: bool,
}

struct Mover {
    request: Request,
    out: Output,
}

/// A failure that has been reported.
struct Reported;

fn run(args: Vec<OsString>) -> Outcome {
    let mut request = Request::default();
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "-b" => request.backup = true,
            "backup" => {
                request.backup = !matches!(value.as_deref(), Some(b"none" | b"off"));
            }
            "force" => request.existing = Existing::Replace,
            "interactive" => request.existing = Existing::Ask,
            "no-clobber" => request.existing = Existing::Keep,
            "suffix" => {
                request.backup = true;
                request.suffix = value;
            }
            "strip-trailing-slashes" => request.strip_slashes = true,
            "target-directory" => request.target = value,
            "no-target-directory" => request.exact = true,
            "-u" | "update" => request.existing = update(value.as_deref())?,
            _ => request.verbose = true,
        }
    }
    let operands = parser.operands();
    request.check(&operands)?;
    let mut mover = Mover {
        request,
        out: Output::new(),
    };
    let failed = mover.all(operands)?;
    Ok(mover.out.finish(&TOOL, i32::from(failed)))
}

fn update(when: Option<&[u8]>) -> Result<Existing, Stop> {
    match when {
        None | Some(b"older") => Ok(Existing::ReplaceOlder),
        Some(b"all") => Ok(Existing::Replace),
        Some(b"none") => Ok(Existing::Keep),
        Some(other) => Err(TOOL.usage(format!("invalid argument {} for '--update'", quote(other)))),
    }
}

impl Request {
    fn check(&self, operands: &[Vec<u8>]) -> Result<(), Stop> {
        if self.exact && self.target.is_some() {
            return Err(TOOL.fail(
                1,
                "cannot combine --target-directory (-t) and --no-target-directory (-T)",
            ));
        }
        match operands {
            [] => Err(TOOL.usage("missing file operand")),
            [only] if self.target.is_none() => Err(TOOL.usage(format!(
                "missing destination file operand after {}",
                quote(only)
            ))),
            [_, _, extra, ..] if self.exact => {
                Err(TOOL.usage(format!("extra operand {}", quote(extra))))
            }
            _ => Ok(()),
        }
    }
}

impl Mover {
    /// Moves everything; whether something failed.
    fn all(&mut self, mut operands: Vec<Vec<u8>>) -> Result<bool, Stop> {
        if let Some(dir) = self.request.target.clone() {
            is_directory(&dir).map_err(|errno| {
                TOOL.fail(1, format!("target directory {}: {errno}", quote(&dir)))
            })?;
            return Ok(self.into(operands, &dir));
        }
        let last = operands.pop().unwrap_or_default();
        if !self.request.exact {
            match is_directory(&last) {
                Ok(()) => return Ok(self.into(operands, &last)),
                Err(errno) if operands.len() > 1 => {
                    return Err(TOOL.fail(1, format!("target {}: {errno}", quote(&last))));
                }
                Err(_) => {}
            }
        }
        let source = operands.pop().unwrap_or_default();
        Ok(self.one(&source, &last).is_err())
    }

    fn into(&mut self, sources: Vec<Vec<u8>>, dir: &[u8]) -> bool {
        let mut failed = false;
        for source in sources {
            let target = join(dir, last_name(&source));
            failed |= self.one(&source, &target).is_err();
        }
        failed
    }

    fn one(&mut self, source: &[u8], target: &[u8]) -> Result<(), Reported> {
        let source = if self.request.strip_slashes {
            without_slashes(source)
        } else {
            source
        };
        let stat = file::stat(source, Follow::NoFollow)
            .map_err(|errno| self.report(format!("cannot stat {}: {errno}", quote(source))))?;
        if let Ok(existing) = file::stat(target, Follow::NoFollow)
            && !self.make_way(source, &stat, target, &existing)?
        {
            return Ok(());
        }
        match file::rename(source, target) {
            Ok(()) => self.say("renamed", source, Some(target)),
            Err(Errno::EXDEV) => self.across(source, &stat, target)?,
            Err(Errno::EINVAL) if stat.is_dir() => {
                return Err(self.report(format!(
                    "cannot move {} to a subdirectory of itself, {}",
                    quote(source),
                    quote(target)
                )));
            }
            Err(errno) => {
                return Err(self.report(format!(
                    "cannot move {} to {}: {errno}",
                    quote(source),
                    quote(target)
                )));
            }
        }
        Ok(())
    }

    /// Deals with a target that exists; whether the move goes on.
    fn make_way(
        &mut self,
        source: &[u8],
        stat: &Stat,
        target: &[u8],
        existing: &Stat,
    ) -> Result<bool, Reported> {
        if stat.same_file(existing) {
            let text = format!("{} and {} are the same file", quote(source), quote(target));
            return Err(self.report(text));
        }
        let rule = self.request.existing;
        match rule {
            Existing::Keep => return Ok(false),
            Existing::ReplaceOlder if existing.modified_ns >= stat.modified_ns => return Ok(false),
            Existing::Ask if !self.confirmed(target) => return Ok(false),
            _ => {}
        }
        if self.request.backup {
            self.back_up(target)?;
            return Ok(true);
        }
        match (stat.is_dir(), existing.is_dir()) {
            (false, true) => Err(self.report(format!(
                "cannot overwrite directory {} with non-directory",
                quote(target)
            ))),
            (true, false) => Err(self.report(format!(
                "cannot overwrite non-directory {} with directory {}",
                quote(target),
                quote(source)
            ))),
            _ => Ok(true),
        }
    }

    fn back_up(&mut self, target: &[u8]) -> Result<(), Reported> {
        let suffix = self.request.suffix.clone().unwrap_or_else(|| b"~".to_vec());
        let kept = [target, &suffix].concat();
        file::rename(target, &kept)
            .map_err(|errno| self.report(format!("cannot backup {}: {errno}", quote(target))))
    }

    fn across(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<(), Reported> {
        across::copy(source, stat, target).map_err(|failure| {
            self.report(format!(
                "cannot move {} to {}: {}: {}",
                quote(source),
                quote(target),
                quote(&failure.path),
                failure.errno
            ))
        })?;
        self.say("copied", source, Some(target));
        across::remove(source, stat).map_err(|failure| {
            self.report(format!(
                "cannot remove {}: {}",
                quote(&failure.path),
                failure.errno
            ))
        })?;
        self.say("removed", source, None);
        Ok(())
    }

    fn confirmed(&mut self, target: &[u8]) -> bool {
        self.out.flush();
        let question = format!("mv: overwrite {}? ", quote(target));
        let _unwritable = Fd::STDERR.write_all(question.as_bytes());
        let mut answer = Vec::new();
        let mut byte = [0];
        while Fd::STDIN.read(&mut byte) == Ok(1) && byte != *b"\n" {
            answer.extend(byte);
        }
        matches!(answer.first(), Some(b'y' | b'Y'))
    }

    fn say(&mut self, what: &str, source: &[u8], target: Option<&[u8]>) {
        if self.request.verbose {
            let arrow = target.map_or_else(String::new, |target| format!(" -> {}", quote(target)));
            self.out.text(&format!("{what} {}{arrow}\n", quote(source)));
        }
    }

    fn report(&mut self, text: impl AsRef<str>) -> Reported {
        self.out.flush();
        TOOL.warn(text);
        Reported
    }
}

fn is_directory(path: &[u8]) -> Result<(), Errno> {
    let stat = file::stat(path, Follow::Follow)?;
    stat.is_dir().then_some(()).ok_or(Errno::ENOTDIR)
}

fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    path.get(..=end.unwrap_or(0)).unwrap_or(path)
}

fn last_name(path: &[u8]) -> &[u8] {
    let path = without_slashes(path);
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// `dir/name`.
fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
    [dir, slash, name].concat()
}

//! `install`: copies files and sets their modes.

use std::ffi::OsString;

use sandbar_guest::{
    Errno, Fd,
    file::{self, Follow, OpenFlags, SetTime, Stat},
    process::{self, Wait, WaitStatus},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    mkdir::Maker,
    mode::Mode,
    program,
    quote::{quote, quote_word},
    users,
};

static TOOL: Tool = Tool {
    name: "install",
    help: "\
Usage: install [OPTION]... [-T] SOURCE DEST
  or:  install [OPTION]... SOURCE... DIRECTORY
  or:  install [OPTION]... -t DIRECTORY SOURCE...
  or:  install [OPTION]... -d DIRECTORY...
Copies files, replacing what is there, and sets their modes; with -d makes directories.

  -c                       ignored
  -C, --compare            leave a target that is the same already
  -d, --directory          make each DIRECTORY and those above it
  -D                       make what is missing above DEST, or of -t
  -g, --group=GROUP        set the group
  -m, --mode=MODE          set this mode, as for chmod, instead of rwxr-xr-x
  -o, --owner=OWNER        set the owner
  -p, --preserve-timestamps  keep the times of SOURCE
  -s, --strip              run strip on each target
      --strip-program=P    instead of strip
  -t, --target-directory=DIRECTORY  copy into DIRECTORY
  -T, --no-target-directory  DEST is no directory to copy into
  -v, --verbose            tell of each file and directory
      --help               show this text
      --version            show the version
",
    options: &[
        Opt::letter(b'c', Takes::Nothing, "-c"),
        Opt::flag(b'C', "compare"),
        Opt::flag(b'd', "directory"),
        Opt::letter(b'D', Takes::Nothing, "-D"),
        Opt::value(b'g', "group"),
        Opt::value(b'm', "mode"),
        Opt::flag(b'T', "no-target-directory"),
        Opt::value(b'o', "owner"),
        Opt::flag(b'p', "preserve-timestamps"),
        Opt::flag(b's', "strip"),
        Opt::value(0, "strip-program"),
        Opt::value(b't', "target-directory"),
        Opt::flag(b'v', "verbose"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

#[derive(Default)]
struct Request {
    compare: bool,
    directories: bool,
    leading: bool,
    group: Option<Vec<u8>>,
    owner: Option<Vec<u8>>,
    mode: Option<Vec<u8>>,
    exact: bool,
    preserve_times: bool,
    strip: bool,
    strip_program: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    verbose: bool,
}

struct Install {
    request: Request,
    file_mode: u32,
    dir_mode: u32,
    owner: Option<u32>,
    group: Option<u32>,
    out: Output,
}

/// A failure that has been reported.
struct Reported;

fn run(args: Vec<OsString>) -> Outcome {
    let mut request = Request::default();
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "compare" => request.compare = true,
            "directory" => request.directories = true,
            "-D" => request.leading = true,
            "group" => request.group = value,
            "mode" => request.mode = value,
            "no-target-directory" => request.exact = true,
            "owner" => request.owner = value,
            "preserve-timestamps" => request.preserve_times = true,
            "strip" => request.strip = true,
            "strip-program" => request.strip_program = value,
            "target-directory" => request.target = value,
            "verbose" => request.verbose = true,
            _ => {}
        }
    }
    let operands = parser.operands();
    request.check(&operands)?;
    let mut install = Install::new(request)?;
    let failed = if install.request.directories {
        let failures: Vec<_> = operands
            .iter()
            .map(|path| install.make_directory(path).is_err())
            .collect();
        failures.contains(&true)
    } else {
        install.files(operands)?
    };
    Ok(install.out.finish(&TOOL, i32::from(failed)))
}

impl Request {
    fn check(&self, operands: &[Vec<u8>]) -> Result<(), Stop> {
        if self.directories && self.strip {
            return Err(TOOL.fail(
                1,
                "the strip option may not be used when installing a directory",
            ));
        }
        if self.directories && self.target.is_some() {
            return Err(TOOL.fail(
                1,
                "target directory not allowed when installing a directory",
            ));
        }
        if self.exact && self.target.is_some() {
            return Err(TOOL.fail(
                1,
                "cannot combine --target-directory (-t) and --no-target-directory (-T)",
            ));
        }
        let least = if self.directories || self.target.is_some() {
            1
        } else {
            2
        };
        match operands {
            [] => Err(TOOL.usage("missing file operand")),
            [only] if least == 2 => Err(TOOL.usage(format!(
                "missing destination file operand after {}",
                quote(only)
            ))),
            [_, _, extra, ..] if self.exact && !self.directories => {
                Err(TOOL.usage(format!("extra operand {}", quote(extra))))
            }
            _ => Ok(()),
        }
    }
}

impl Install {
    fn new(request: Request) -> Result<Self, Stop> {
        let umask = process::set_umask(0).unwrap_or(0);
        let text = request.mode.as_deref().unwrap_or(b"755");
        let mode = Mode::parse(text)
            .ok_or_else(|| TOOL.fail(1, format!("invalid mode {}", quote_word(text))))?;
        let id = |text: &Option<Vec<u8>>, find: fn(&str) -> Option<u32>, what: &str| match text {
            None => Ok(None),
            Some(text) => match find(&String::from_utf8_lossy(text)) {
                Some(id) => Ok(Some(id)),
                None => Err(TOOL.fail(1, format!("invalid {what} {}", quote_word(text)))),
            },
        };
        let owner = id(
            &request.owner,
            |name| users::user(name).map(|user| user.uid).or(name.parse().ok()),
            "user",
        )?;
        let group = id(&request.group, users::group, "group")?;
        let (file_mode, dir_mode) = (mode.apply(0, false, umask), mode.apply(0, true, umask));
        Ok(Self {
            request,
            file_mode,
            dir_mode,
            owner,
            group,
            out: Output::new(),
        })
    }

    fn report(&mut self, text: impl AsRef<str>) -> Reported {
        self.out.flush();
        TOOL.warn(text);
        Reported
    }

    fn say(&mut self, text: &str) {
        if self.request.verbose {
            self.out.text(text);
        }
    }

    /// Makes a directory with all above it, and sets its mode and owner.
    fn make_directory(&mut self, path: &[u8]) -> Result<(), Reported> {
        self.make_path(path)?;
        let set = file::set_mode(path, self.dir_mode);
        set.map_err(|errno| {
            self.report(format!(
                "cannot change permissions of {}: {errno}",
                quote(path)
            ))
        })?;
        self.set_owner(path)
    }

    /// Makes a directory with all above it, with the mode that such a directory has.
    fn make_path(&mut self, path: &[u8]) -> Result<(), Reported> {
        let maker = Maker {
            mode: None,
            parent_mode: 0o755,
            umask: 0o022,
        };
        let mut made = Vec::new();
        let result = maker.make_all(path, &mut |path| made.push(path.to_vec()));
        let _mask = process::set_umask(0);
        for path in made {
            self.say(&format!("install: creating directory {}\n", quote(&path)));
        }
        result.map_err(|failure| {
            let (path, errno) = failure.named(path);
            self.report(format!("cannot create directory {}: {errno}", quote(&path)))
        })
    }

    /// Copies all files; whether one failed.
    fn files(&mut self, mut operands: Vec<Vec<u8>>) -> Result<bool, Stop> {
        let is_dir = |path: &[u8]| file::stat(path, Follow::Follow).is_ok_and(|stat| stat.is_dir());
        if let Some(target) = self.request.target.clone() {
            if self.request.leading && !is_dir(&target) && self.make_path(&target).is_err() {
                return Ok(true);
            }
            return self.copy_into(operands, &target);
        }
        let last = operands.pop().unwrap_or_default();
        if !self.request.exact && (operands.len() > 1 || is_dir(&last)) {
            return self.copy_into(operands, &last);
        }
        if self.request.leading
            && let Some(end) = last
                .iter()
                .rposition(|byte| *byte == b'/')
                .filter(|end| *end > 0)
            && let Some(parent) = last.get(..end)
            && !is_dir(parent)
            && self.make_path(parent).is_err()
        {
            return Ok(true);
        }
        let source = operands.pop().unwrap_or_default();
        Ok(self.copy(&source, &last).is_err())
    }

    fn copy_into(&mut self, sources: Vec<Vec<u8>>, dir: &[u8]) -> Result<bool, Stop> {
        match file::stat(dir, Follow::Follow) {
            Ok(stat) if stat.is_dir() => {}
            found => {
                let errno = found.err().unwrap_or(Errno::ENOTDIR);
                self.out.flush();
                let text = if self.request.target.is_some() {
                    "failed to access"
                } else {
                    "target"
                };
                return Err(TOOL.fail(1, format!("{text} {}: {errno}", quote(dir))));
            }
        }
        let mut failed = false;
        for source in sources {
            let name = source.strip_suffix(b"/").unwrap_or(&source);
            let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
            failed |= self.copy(&source, &[dir, slash, name].concat()).is_err();
        }
        Ok(failed)
    }

    fn copy(&mut self, source: &[u8], target: &[u8]) -> Result<(), Reported> {
        let stat = file::stat(source, Follow::Follow);
        let stat =
            stat.map_err(|errno| self.report(format!("cannot stat {}: {errno}", quote(source))))?;
        if stat.is_dir() {
            return Err(self.report(format!("omitting directory {}", quote(source))));
        }
        let existing = file::stat(target, Follow::NoFollow).ok();
        if let Some(existing) = &existing {
            if existing.same_file(&stat) {
                let text = format!("{} and {} are the same file", quote(source), quote(target));
                return Err(self.report(text));
            }
            if existing.is_dir() {
                let text = format!(
                    "cannot overwrite directory {} with non-directory",
                    quote(target)
                );
                return Err(self.report(text));
            }
            if self.request.compare && self.is_same(source, target, existing) {
                return Ok(());
            }
            let removed = file::unlink(target);
            removed.map_err(|errno| {
                self.report(format!("cannot remove {}: {errno}", quote(target)))
            })?;
            self.say(&format!("removed {}\n", quote(target)));
        }
        self.say(&format!("{} -> {}\n", quote(source), quote(target)));
        self.copy_contents(source, target)?;
        if self.request.strip {
            self.strip(target)?;
        }
        self.set_owner(target)?;
        let set = file::set_mode(target, self.file_mode);
        set.map_err(|errno| {
            self.report(format!(
                "cannot change permissions of {}: {errno}",
                quote(target)
            ))
        })?;
        if self.request.preserve_times {
            let (accessed, modified) =
                (SetTime::At(stat.accessed_ns), SetTime::At(stat.modified_ns));
            let set = file::set_times(target, accessed, modified, Follow::Follow);
            set.map_err(|errno| {
                self.report(format!(
                    "cannot set timestamps for {}: {errno}",
                    quote(target)
                ))
            })?;
        }
        Ok(())
    }

    fn copy_contents(&mut self, source: &[u8], target: &[u8]) -> Result<(), Reported> {
        let from = file::open(source, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0);
        let from = from.map_err(|errno| {
            self.report(format!(
                "cannot open {} for reading: {errno}",
                quote(source)
            ))
        })?;
        let flags = OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::CLOEXEC;
        // Nobody else may read it before its mode is set.
        let to = file::open(target, flags, 0o600);
        let copied = match to {
            Ok(to) => {
                let copied = pump(from, to);
                let closed = to.close();
                let failure = copied
                    .err()
                    .or(closed.err().map(|errno| ("failed to close", errno)));
                failure.map_or(Ok(()), |(what, errno)| {
                    let path = if what == "error reading" {
                        source
                    } else {
                        target
                    };
                    Err(format!("{what} {}: {errno}", quote(path)))
                })
            }
            Err(errno) => Err(format!(
                "cannot create regular file {}: {errno}",
                quote(target)
            )),
        };
        let _read_only = from.close();
        copied.map_err(|text| self.report(text))
    }

    fn set_owner(&mut self, path: &[u8]) -> Result<(), Reported> {
        if self.owner.is_none() && self.group.is_none() {
            return Ok(());
        }
        let set = file::set_owner(path, self.owner, self.group, Follow::NoFollow);
        set.map_err(|errno| {
            self.report(format!(
                "cannot change ownership of {}: {errno}",
                quote(path)
            ))
        })
    }

    fn strip(&mut self, path: &[u8]) -> Result<(), Reported> {
        let strip = self
            .request
            .strip_program
            .clone()
            .unwrap_or_else(|| b"strip".to_vec());
        let words = [strip, path.to_vec()];
        let pid = program::command(&words).spawn();
        let pid = pid.map_err(|errno| {
            self.report(format!("cannot run {}: {errno}", quote(&words[0])));
            self.report("strip process terminated abnormally")
        })?;
        let waited = loop {
            match process::wait(pid.0, Wait::BLOCK) {
                Err(Errno::EINTR) => {}
                waited => break waited,
            }
        };
        match waited {
            Ok(Some(waited)) if waited.status == WaitStatus::Exited(0) => Ok(()),
            _ => Err(self.report("strip process terminated abnormally")),
        }
    }

    /// Whether the target has the contents, mode and owner already.
    fn is_same(&self, source: &[u8], target: &[u8], existing: &Stat) -> bool {
        let owned = self.owner.is_none_or(|uid| uid == existing.uid)
            && self.group.is_none_or(|gid| gid == existing.gid);
        if !existing.is_file() || existing.permissions() != self.file_mode || !owned {
            return false;
        }
        let open = |path| file::open(path, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0);
        let (Ok(one), Ok(other)) = (open(source), open(target)) else {
            return false;
        };
        let same = same_contents(one, other);
        let (_one, _other) = (one.close(), other.close());
        same
    }
}

const BUFFER: usize = 128 * 1024;

/// Reads until the buffer is full or the file ends.
fn fill(from: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

fn pump(from: Fd, to: Fd) -> Result<(), (&'static str, Errno)> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = fill(from, &mut buffer).map_err(|errno| ("error reading", errno))?;
        if count == 0 {
            return Ok(());
        }
        let bytes = buffer.get(..count).unwrap_or(&buffer);
        to.write_all(bytes)
            .map_err(|errno| ("error writing", errno))?;
    }
}

fn same_contents(one: Fd, other: Fd) -> bool {
    let (mut left, mut right) = (vec![0; BUFFER], vec![0; BUFFER]);
    loop {
        match (fill(one, &mut left), fill(other, &mut right)) {
            (Ok(0), Ok(0)) => return true,
            (Ok(a), Ok(b)) if a == b && left.get(..a) == right.get(..b) => {}
            _ => return false,
        }
    }
}

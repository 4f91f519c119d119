//! `cp`: copies files and directories, with modes, times and links.

mod arguments;
mod tree;

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
};

use sandbar_guest::{
    Errno, Fd,
    file::{self, Follow, OpenFlags, SetTime, Stat},
};

use super::{
    cli::{self, Outcome, Output},
    contents::pump,
    quote::{quote, quote_for_shell},
};
use arguments::{Links, Options, Overwrite, TOOL};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// A copy under way.
struct Copy {
    options: Options,
    umask: u32,
    out: Output,
    failed: bool,
    /// What was made in this run: it is not overwritten, and a directory is not copied into itself.
    made: HashSet<(u64, u64)>,
    /// What is copied at the moment, as it was given.
    top: (Vec<u8>, Vec<u8>),
    /// Where a file with several names went to.
    links: HashMap<(u64, u64), Vec<u8>>,
}

/// A failure that has been reported.
struct Reported;

fn run(args: Vec<OsString>) -> Outcome {
    let (options, operands) = arguments::read(args)?;
    let targets = arguments::targets(&options, operands)?;
    // The mode of everything is computed here; the mask would change it behind the back.
    let umask = sandbar_guest::process::set_umask(0).unwrap_or(0);
    let mut copy = Copy {
        options,
        umask,
        out: Output::new(),
        failed: false,
        made: HashSet::new(),
        top: (Vec::new(), Vec::new()),
        links: HashMap::new(),
    };
    for (source, target) in targets {
        copy.operand(source, target);
    }
    let status = i32::from(copy.failed);
    Ok(copy.out.finish(&TOOL, status))
}

impl Copy {
    fn fail(&mut self, text: impl AsRef<str>) -> Reported {
        self.failed = true;
        self.out.flush();
        TOOL.warn(text);
        Reported
    }

    fn say(&mut self, text: &str) {
        if self.options.verbose {
            self.out.text(text);
        }
    }

    fn say_copy(&mut self, source: &[u8], target: &[u8]) {
        self.say(&format!("{} -> {}\n", quote(source), quote(target)));
    }

    /// Removes what stands in the way.
    fn remove(&mut self, target: &[u8]) -> Result<(), Reported> {
        let removed = file::unlink(target);
        removed.map_err(|errno| self.fail(format!("cannot remove {}: {errno}", quote(target))))?;
        self.say(&format!("removed {}\n", quote(target)));
        Ok(())
    }

    /// Whether the target may be replaced; asks if that was wanted.
    fn may_overwrite(&mut self, source: &Stat, target: &[u8], existing: &Stat) -> bool {
        if self.options.update && source.modified_ns <= existing.modified_ns {
            return false;
        }
        match self.options.overwrite {
            Overwrite::Always => true,
            Overwrite::Never => false,
            Overwrite::Ask => {
                self.out.flush();
                let question = format!("{}: overwrite {}? ", TOOL.name, quote(target));
                let _unwritable = Fd::STDERR.write_all(question.as_bytes());
                arguments::answer_is_yes()
            }
        }
    }

    /// Makes way for a copy that is not a directory: `false` when there is nothing to do.
    fn prepare(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<bool, Reported> {
        let follows = !stat.is_symlink() && !self.options.replaces_links();
        let mut existing = match file::stat(target, Follow::NoFollow) {
            Ok(existing) => existing,
            Err(Errno::ENOENT) => return Ok(true),
            // What it is will show when it is opened: `nodir/` has a message of its own.
            Err(Errno::ENOTDIR) if target.ends_with(b"/") => return Ok(true),
            Err(errno) => {
                return Err(self.fail(format!("cannot stat {}: {errno}", quote(target))));
            }
        };
        if existing.is_symlink() && follows {
            match file::stat(target, Follow::Follow) {
                Ok(behind) => existing = behind,
                Err(_) if self.options.remove_first => {}
                Err(_) => {
                    return Err(self.fail(format!(
                        "not writing through dangling symlink {}",
                        quote(target)
                    )));
                }
            }
        }
        if existing.is_dir() {
            let target = quote(target);
            return Err(self.fail(format!(
                "cannot overwrite directory {target} with non-directory"
            )));
        }
        if existing.same_file(stat) {
            if self.options.hard_link || (self.options.force && self.options.backup.is_some()) {
                return Ok(false);
            }
            let text = format!("{} and {} are the same file", quote(source), quote(target));
            return Err(self.fail(text));
        }
        if !self.may_overwrite(stat, target, &existing) {
            return Ok(false);
        }
        if self.made.contains(&(existing.dev, existing.ino)) && self.options.backup.is_none() {
            let text = format!(
                "will not overwrite just-created {} with {}",
                quote(target),
                quote(source)
            );
            return Err(self.fail(text));
        }
        if let Some(suffix) = self.options.backup.clone() {
            let renamed = file::rename(target, &[target, &suffix].concat());
            renamed
                .map_err(|errno| self.fail(format!("cannot backup {}: {errno}", quote(target))))?;
        } else if self.options.remove_first || self.options.replaces_links() || !stat.is_file() {
            self.remove(target)?;
        }
        Ok(true)
    }

    /// Copies one thing that is no directory.
    fn copy_one(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<(), Reported> {
        if !self.prepare(source, stat, target)? {
            return Ok(());
        }
        if self.relink(source, stat, target)? {
            return Ok(());
        }
        self.say_copy(source, target);
        if self.options.hard_link {
            return self.made_by(file::link(source, target), || {
                format!(
                    "cannot create hard link {} to {}",
                    quote(target),
                    quote(source)
                )
            });
        }
        if self.options.symbolic_link {
            if !source.starts_with(b"/") && target.contains(&b'/') {
                let text = format!(
                    "{}: can make relative symbolic links only in current directory",
                    quote_for_shell(target)
                );
                return Err(self.fail(text));
            }
            return self.made_by(file::symlink(source, target), || {
                format!(
                    "cannot create symbolic link {} to {}",
                    quote(target),
                    quote(source)
                )
            });
        }
        match stat.file_type() {
            file::FileType::Symlink => self.copy_link(source, stat, target),
            file::FileType::Fifo if self.options.recursive && !self.options.copy_contents => {
                let mode = self.new_mode(stat.permissions());
                self.made_by(file::make_fifo(target, mode), || {
                    format!("cannot create fifo {}", quote(target))
                })?;
                self.set_attributes(stat, target)
            }
            file::FileType::CharDevice | file::FileType::BlockDevice | file::FileType::Socket
                if self.options.recursive && !self.options.copy_contents =>
            {
                let text = format!(
                    "cannot create special file {}: {}",
                    quote(target),
                    Errno::EPERM
                );
                Err(self.fail(text))
            }
            _ => self.copy_contents(source, stat, target),
        }
    }

    fn made_by(
        &mut self,
        result: Result<(), Errno>,
        what: impl FnOnce() -> String,
    ) -> Result<(), Reported> {
        result.map_err(|errno| self.fail(format!("{}: {errno}", what())))
    }

    /// Gives a file that was copied by another of its names that copy; whether it did.
    fn relink(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<bool, Reported> {
        if !self.options.preserve.links || stat.nlink < 2 {
            return Ok(false);
        }
        let id = (stat.dev, stat.ino);
        let Some(first) = self.links.get(&id).cloned() else {
            self.links.insert(id, target.to_vec());
            return Ok(false);
        };
        if file::stat(target, Follow::NoFollow).is_ok() {
            self.remove(target)?;
        }
        self.made_by(file::link(&first, target), || {
            format!(
                "cannot create hard link {} to {}",
                quote(target),
                quote(&first)
            )
        })?;
        self.say_copy(source, target);
        Ok(true)
    }

    fn copy_link(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<(), Reported> {
        let text = file::read_link(source);
        let text = text.map_err(|errno| {
            self.fail(format!(
                "cannot read symbolic link {}: {errno}",
                quote(source)
            ))
        })?;
        let shown = text.clone();
        self.made_by(file::symlink(&text, target), || {
            format!(
                "cannot create symbolic link {} to {}",
                quote(target),
                quote(&shown)
            )
        })?;
        if self.options.preserve.times {
            let (accessed, modified) =
                (SetTime::At(stat.accessed_ns), SetTime::At(stat.modified_ns));
            // A link's times are a nicety that not every file system has.
            let _kept = file::set_times(target, accessed, modified, Follow::NoFollow);
        }
        Ok(())
    }

    /// The mode that a new file gets besides what `--preserve=mode` sets later.
    fn new_mode(&self, source_mode: u32) -> u32 {
        let mode = if self.options.preserve.no_mode {
            0o666
        } else {
            source_mode & 0o777
        };
        mode & !self.umask
    }

    fn copy_contents(&mut self, source: &[u8], stat: &Stat, target: &[u8]) -> Result<(), Reported> {
        let from = file::open(source, OpenFlags::RDONLY | OpenFlags::CLOEXEC, 0);
        let from = from.map_err(|errno| {
            self.fail(format!(
                "cannot open {} for reading: {errno}",
                quote(source)
            ))
        })?;
        let opened = self.open_target(stat, target);
        let copied = opened.and_then(|to| {
            let pumped = if self.options.attributes_only {
                Ok(())
            } else {
                pump(from, to)
            };
            if let Ok(made) = file::stat_fd(to) {
                self.made.insert((made.dev, made.ino));
            }
            let closed = to.close();
            if let Err((what, errno)) =
                pumped.and(closed.map_err(|errno| ("failed to close", errno)))
            {
                let path = if what == "error reading" {
                    source
                } else {
                    target
                };
                return Err(self.fail(format!("{what} {}: {errno}", quote(path))));
            }
            Ok(())
        });
        let _read_only = from.close();
        copied?;
        self.set_attributes(stat, target)
    }

    /// Opens a target for writing, making it when there is none.
    fn open_target(&mut self, stat: &Stat, target: &[u8]) -> Result<Fd, Reported> {
        let base = OpenFlags::WRONLY | OpenFlags::CLOEXEC;
        let existing = if self.options.attributes_only {
            base
        } else {
            base | OpenFlags::TRUNC
        };
        match file::open(target, existing, 0) {
            Ok(fd) => return Ok(fd),
            Err(Errno::ENOENT) => {}
            Err(_) if self.options.force => self.remove(target)?,
            Err(errno) => {
                return Err(self.fail(format!(
                    "cannot create regular file {}: {errno}",
                    quote(target)
                )));
            }
        }
        // Until its owner and mode are set, nobody else may see what is private in the original.
        let mode = if self.options.preserve.mode {
            stat.permissions() & 0o700
        } else {
            self.new_mode(stat.permissions())
        };
        let made = file::open(target, base | OpenFlags::CREAT | OpenFlags::EXCL, mode);
        match made {
            Ok(fd) => Ok(fd),
            Err(errno) => {
                let errno = if target.ends_with(b"/") {
                    Errno::ENOTDIR
                } else {
                    errno
                };
                Err(self.fail(format!(
                    "cannot create regular file {}: {errno}",
                    quote(target)
                )))
            }
        }
    }

    /// Sets the times, owner and mode that are to be preserved.
    fn set_attributes(&mut self, stat: &Stat, target: &[u8]) -> Result<(), Reported> {
        let preserve = self.options.preserve;
        if preserve.times {
            let (accessed, modified) =
                (SetTime::At(stat.accessed_ns), SetTime::At(stat.modified_ns));
            let set = file::set_times(target, accessed, modified, Follow::Follow);
            set.map_err(|errno| {
                self.fail(format!("preserving times for {}: {errno}", quote(target)))
            })?;
        }
        let mut mode = stat.permissions();
        if preserve.owner
            && let Err(errno) =
                file::set_owner(target, Some(stat.uid), Some(stat.gid), Follow::Follow)
        {
            // Without the owner its special rights must not go along. That it is not allowed is to be expected.
            mode &= 0o1777;
            if errno != Errno::EPERM && errno != Errno::EINVAL {
                return Err(self.fail(format!(
                    "failed to preserve ownership for {}: {errno}",
                    quote(target)
                )));
            }
        }
        if preserve.mode {
            let set = file::set_mode(target, mode);
            set.map_err(|errno| {
                self.fail(format!(
                    "preserving permissions for {}: {errno}",
                    quote(target)
                ))
            })?;
        }
        Ok(())
    }
}

/// Which links are followed at a place of the walk.
fn follow_at(options: &Options, given: bool) -> Follow {
    match options.links {
        Links::All => Follow::Follow,
        Links::Given if given => Follow::Follow,
        _ => Follow::NoFollow,
    }
}

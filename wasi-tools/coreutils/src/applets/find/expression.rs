//! The expression of `find` and what it means for an item.

use sandbar_guest::{
    Errno, Fd,
    file::{self, Access, FileType, Follow, Stat},
};

use super::{Item, TOOL, Walk, exec::Command, printf::Format, tests};
use crate::applets::{cli::Stop, glob, quote::quote, regex::Regex, users};

/// A part of the expression.
pub(super) enum Expression {
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    List(Box<Self>, Box<Self>),
    Not(Box<Self>),
    True,
    False,
    Name(Vec<u8>, glob::Rules),
    Path(Vec<u8>, glob::Rules),
    LinkName(Vec<u8>, glob::Rules),
    Regex(Regex),
    Type(Vec<FileType>),
    /// The type at the other end of a link, or of the link when links are followed.
    OtherType(Vec<FileType>),
    Empty,
    Size {
        number: tests::Number,
        unit: u64,
    },
    Links(tests::Number),
    Inode(tests::Number),
    SameFile(u64, u64),
    FileSystem(String),
    Permissions(tests::Permissions),
    User(tests::Number),
    Group(tests::Number),
    NoUser,
    NoGroup,
    Access(Access),
    Age(tests::Age),
    Newer {
        which: tests::Which,
        than_ns: i64,
    },
    Used(tests::Number),
    Print(Target, &'static [u8]),
    Format(Target, Format),
    Long(Target),
    Delete,
    Prune,
    Quit,
    Exec(Command),
}

/// Where an action writes.
pub(super) enum Target {
    Output,
    /// A file that is open, and what was written to it but not yet passed on.
    File(Fd, Vec<u8>),
}

/// Bytes kept before they are written to a file.
const FILE_BUFFER: usize = 32 * 1024;

impl Target {
    fn write(&mut self, bytes: &[u8], walk: &mut Walk) {
        match self {
            Self::Output => walk.out.bytes(bytes),
            Self::File(fd, buffer) => {
                buffer.extend_from_slice(bytes);
                if buffer.len() >= FILE_BUFFER {
                    walk.failed |= fd.write_all(buffer).is_err();
                    buffer.clear();
                }
            }
        }
    }
}

impl Expression {
    /// Whether it holds. An action is done on the way.
    pub(super) fn evaluate(&mut self, item: &Item, walk: &mut Walk) -> Result<bool, Stop> {
        let value = match self {
            Self::And(left, right) => {
                left.evaluate(item, walk)? && !walk.quit && right.evaluate(item, walk)?
            }
            Self::Or(left, right) => {
                left.evaluate(item, walk)? || (!walk.quit && right.evaluate(item, walk)?)
            }
            Self::List(left, right) => {
                left.evaluate(item, walk)?;
                !walk.quit && right.evaluate(item, walk)?
            }
            Self::Not(inner) => !inner.evaluate(item, walk)?,
            Self::Print(target, end) => {
                let line = [&item.path, *end].concat();
                target.write(&line, walk);
                true
            }
            Self::Format(target, format) => {
                let text = format.show(item);
                target.write(&text, walk);
                true
            }
            Self::Long(target) => {
                let line = super::printf::long(item);
                target.write(&line, walk);
                true
            }
            Self::Delete => delete(item, walk),
            Self::Prune => {
                walk.prune = true;
                true
            }
            Self::Quit => {
                walk.quit = true;
                true
            }
            Self::Exec(command) => command.run(item, walk),
            test => test.holds(item),
        };
        Ok(value)
    }

    /// Whether a test holds. What can't be asked about has no test that holds, except those on names.
    fn holds(&self, item: &Item) -> bool {
        let stat = |test: &dyn Fn(&Stat) -> bool| item.stat().is_ok_and(test);
        match self {
            Self::True => true,
            Self::Name(pattern, rules) => glob::matches_by(pattern, item.name(), *rules),
            Self::Path(pattern, rules) => glob::matches_by(pattern, &item.path, *rules),
            Self::LinkName(pattern, rules) => {
                item.file_type() == FileType::Symlink
                    && file::read_link(&item.path)
                        .is_ok_and(|target| glob::matches_by(pattern, &target, *rules))
            }
            Self::Regex(regex) => regex.matches(&String::from_utf8_lossy(&item.path), true),
            Self::Type(types) => types.contains(&item.file_type()),
            Self::OtherType(types) => {
                let follow = if item.follow == Follow::Follow {
                    Follow::NoFollow
                } else {
                    Follow::Follow
                };
                let other = file::stat(&item.path, follow)
                    .or_else(|_| file::stat(&item.path, Follow::NoFollow));
                other.is_ok_and(|stat| types.contains(&stat.file_type()))
            }
            Self::Empty => match item.file_type() {
                FileType::Directory => {
                    file::read_dir(&item.path).is_ok_and(|entries| entries.is_empty())
                }
                FileType::Regular => stat(&|stat| stat.len == 0),
                _ => false,
            },
            Self::Size { number, unit } => stat(&|stat| number.holds(stat.len.div_ceil(*unit))),
            Self::Links(number) => stat(&|stat| number.holds(stat.nlink)),
            Self::Inode(number) => stat(&|stat| number.holds(stat.ino)),
            Self::SameFile(dev, ino) => stat(&|stat| (stat.dev, stat.ino) == (*dev, *ino)),
            Self::FileSystem(kind) => crate::applets::stat::system_kind(&item.path) == *kind,
            Self::Permissions(permissions) => stat(&|stat| permissions.hold(stat.permissions())),
            Self::User(number) => stat(&|stat| number.holds(stat.uid.into())),
            Self::Group(number) => stat(&|stat| number.holds(stat.gid.into())),
            Self::NoUser => stat(&|stat| users::user_name(stat.uid).is_none()),
            Self::NoGroup => stat(&|stat| users::group_name(stat.gid).is_none()),
            Self::Access(mode) => file::access(&item.path, *mode).is_ok(),
            Self::Age(age) => stat(&|stat| age.holds(stat)),
            Self::Newer { which, than_ns } => stat(&|stat| which.of(stat) > *than_ns),
            Self::Used(days) => stat(&|stat| {
                let used = stat.accessed_ns.saturating_sub(stat.changed_ns);
                used >= 0 && days.holds(u64::try_from(used / tests::DAY_NS).unwrap_or(0))
            }),
            _ => false,
        }
    }

    /// Whether it does something, so that nothing needs to be printed besides.
    pub(super) fn has_action(&self) -> bool {
        match self {
            Self::And(left, right) | Self::Or(left, right) | Self::List(left, right) => {
                left.has_action() || right.has_action()
            }
            Self::Not(inner) => inner.has_action(),
            Self::Print(..) | Self::Format(..) | Self::Long(_) | Self::Delete | Self::Exec(_) => {
                true
            }
            _ => false,
        }
    }

    /// Calls `what` for every part.
    pub(super) fn each(&mut self, what: &mut dyn FnMut(&mut Self)) {
        what(self);
        match self {
            Self::And(left, right) | Self::Or(left, right) | Self::List(left, right) => {
                left.each(what);
                right.each(what);
            }
            Self::Not(inner) => inner.each(what),
            _ => {}
        }
    }

    /// Writes what is kept for files; whether that failed.
    pub(super) fn close_files(&mut self) -> bool {
        let mut failed = false;
        self.each(&mut |part| {
            if let Self::Print(Target::File(fd, buffer), _)
            | Self::Format(Target::File(fd, buffer), _)
            | Self::Long(Target::File(fd, buffer)) = part
            {
                failed |= fd.write_all(buffer).is_err();
                buffer.clear();
            }
        });
        failed
    }
}

fn delete(item: &Item, walk: &mut Walk) -> bool {
    if item.path == b"." {
        return true;
    }
    let result = if item.file_type() == FileType::Directory && item.follow == Follow::NoFollow {
        file::remove_dir(&item.path)
    } else {
        match file::unlink(&item.path) {
            // Some systems say EPERM, and with -L a directory is one through a link.
            Err(Errno::EISDIR | Errno::EPERM) => file::remove_dir(&item.path),
            result => result,
        }
    };
    if let Err(errno) = result {
        walk.failed = true;
        walk.out.flush();
        TOOL.warn(format!("cannot delete {}: {errno}", quote(&item.path)));
    }
    result.is_ok()
}

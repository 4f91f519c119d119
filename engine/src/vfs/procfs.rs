//! `/proc`: the little of it that programs read.
//!
//! Owns: which files there are and their inode numbers. Their text is made in [`text`] when they are opened, from what
//! [`ProcessView`] tells: nothing of the host is shown.
//!
//! SECURITY[SB-FS-007]: what a guest reads here is made of the sandbox's own facts and limits.

mod text;

use std::any::Any;
use std::sync::Arc;

use super::clock::now;
use super::{
    AccessMode, DirEntry, FileStat, FileSystem, FileType, Inode, MagicLink, MemoryFs, Name,
    OpenFile, Quota, StatFs, Timestamp,
};
use crate::errno::{Errno, SysResult};

/// What `uname -s` and `/proc/sys/kernel/ostype` say: programs choose their Unix code by it.
pub const OS_TYPE: &str = "Linux";
/// What `uname -r` and `/proc/sys/kernel/osrelease` say.
pub const OS_RELEASE: &str = concat!("6.1.0-sandbar-", env!("CARGO_PKG_VERSION"));
/// The largest process id plus one.
pub const PID_MAX: u32 = 4_194_304;

/// `/proc` of one sandbox.
#[derive(Debug)]
pub struct ProcFs {
    shared: Arc<Shared>,
    quota: Arc<Quota>,
}

#[derive(Debug)]
struct Shared {
    view: Arc<dyn ProcessView>,
    hostname: Box<str>,
    boot_id: String,
    made: Timestamp,
}

impl ProcFs {
    /// Shows the processes of `view`, on a machine of this name.
    ///
    /// # Errors
    /// `Io` when the host has no randomness for the boot id.
    pub fn new(view: Arc<dyn ProcessView>, hostname: &str) -> SysResult<Arc<Self>> {
        let boot_id = text::uuid()?;
        let shared = Shared {
            view,
            hostname: hostname.into(),
            boot_id,
            made: now(),
        };
        Ok(Arc::new(Self {
            shared: Arc::new(shared),
            quota: Quota::new(0, 0),
        }))
    }
}

impl FileSystem for ProcFs {
    fn root(&self) -> Arc<dyn Inode> {
        Arc::new(Node {
            shared: Arc::clone(&self.shared),
            what: What::Static(0),
        })
    }

    fn statfs(&self) -> SysResult<StatFs> {
        Ok(MemoryFs::statfs_of(&self.quota))
    }

    fn kind(&self) -> &'static str {
        "proc"
    }

    fn quota(&self) -> &Arc<Quota> {
        &self.quota
    }
}

/// What `/proc/PID` shows of a process.
#[derive(Clone, Debug)]
pub struct ProcessSummary {
    /// Process id.
    pub pid: u32,
    /// Parent's id.
    pub ppid: u32,
    /// Group.
    pub pgid: u32,
    /// Session.
    pub sid: u32,
    /// `R`, `S`, `T` or `Z`.
    pub state: char,
    /// argv[0]'s last component, at most 15 bytes.
    pub comm: Vec<u8>,
    /// Arguments.
    pub args: Vec<Vec<u8>>,
    /// Environment at its start.
    pub env: Vec<Vec<u8>>,
    /// Linear memory in bytes.
    pub memory_bytes: u64,
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
    /// Start, in nanoseconds after the sandbox's.
    pub start_ns: u64,
    /// The program's path in the namespace.
    pub exe: Vec<u8>,
    /// Current directory.
    pub cwd: Vec<u8>,
    /// Signals pending, blocked, ignored and caught, bit n-1 for signal n.
    pub signals: [u32; 4],
    /// Permission bits that it withholds from new files.
    pub umask: u32,
}

/// One line of `/proc/PID/limits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimit {
    /// As Linux names it: `Max open files`.
    pub name: &'static str,
    /// Soft limit; `u64::MAX` is none.
    pub soft: u64,
    /// Hard limit; `u64::MAX` is none.
    pub hard: u64,
    /// As Linux names it: `files`, `bytes`, `seconds`, `processes`.
    pub unit: &'static str,
}

/// The questions that `/proc` asks of the process table. Implemented by `crate::process`.
pub trait ProcessView: Send + Sync + std::fmt::Debug {
    /// All live processes and zombies, ascending.
    fn pids(&self) -> Vec<u32>;
    /// One of them.
    fn summary(&self, pid: u32) -> Option<ProcessSummary>;
    /// Its open descriptors: number and what `readlink /proc/PID/fd/N` shows (`/path`, `pipe:[7]`).
    fn descriptors(&self, pid: u32) -> Option<Vec<(u32, Vec<u8>)>>;
    /// The sandbox's memory limit and what is used of it, in bytes.
    fn memory(&self) -> (u64, u64);
    /// CPUs that the sandbox may use at a time.
    fn cpus(&self) -> u32;
    /// Nanoseconds since the sandbox was made.
    fn uptime_ns(&self) -> u64;
    /// Text of `/proc/mounts`.
    fn mounts(&self) -> Vec<u8>;
    /// Its resource limits, for `/proc/PID/limits`.
    fn limits(&self, pid: u32) -> Vec<ProcessLimit> {
        let _ = pid;
        Vec::new()
    }
}

/// Entries that are always there: parent, name, and what it is. The index plus one is the inode number.
const STATIC: [(usize, &str, Static); 23] = [
    (usize::MAX, "", Static::Directory),
    (0, "self", Static::OwnProcess),
    (0, "cpuinfo", Static::Text(text::cpuinfo)),
    (0, "filesystems", Static::Text(text::filesystems)),
    (0, "loadavg", Static::Text(text::loadavg)),
    (0, "meminfo", Static::Text(text::meminfo)),
    (0, "mounts", Static::Link(b"self/mounts")),
    (0, "stat", Static::Text(text::stat)),
    (0, "sys", Static::Directory),
    (0, "uptime", Static::Text(text::uptime)),
    (0, "version", Static::Text(text::version)),
    (8, "kernel", Static::Directory),
    (11, "hostname", Static::Text(text::hostname)),
    (11, "osrelease", Static::Text(text::os_release)),
    (11, "ostype", Static::Text(text::os_type)),
    (11, "pid_max", Static::Text(text::pid_max)),
    (11, "random", Static::Directory),
    (16, "boot_id", Static::Text(text::boot_id)),
    (16, "uuid", Static::Text(text::fresh_uuid)),
    (11, "ngroups_max", Static::Text(text::ngroups_max)),
    (8, "vm", Static::Directory),
    (
        20,
        "overcommit_memory",
        Static::Text(text::overcommit_memory),
    ),
    (11, "version", Static::Text(text::kernel_version)),
];

#[derive(Clone, Copy)]
enum Static {
    Directory,
    OwnProcess,
    Link(&'static [u8]),
    Text(fn(&Shared) -> SysResult<Vec<u8>>),
}

/// Entries of every process's directory. The index is part of the inode number.
const PROCESS: [(&str, Process); 14] = [
    ("cmdline", Process::Text(text::cmdline)),
    ("comm", Process::Text(text::comm)),
    ("cwd", Process::WorkingDirectory),
    ("environ", Process::Text(text::environ)),
    ("exe", Process::Exe),
    ("fd", Process::Descriptors),
    ("limits", Process::Text(text::limits)),
    ("maps", Process::Text(text::maps)),
    ("mounts", Process::Text(text::mounts)),
    ("root", Process::Root),
    ("stat", Process::Text(text::process_stat)),
    ("statm", Process::Text(text::statm)),
    ("status", Process::Text(text::status)),
    ("cgroup", Process::Text(text::cgroup)),
];

#[derive(Clone, Copy)]
enum Process {
    Text(fn(&Shared, &ProcessSummary) -> Vec<u8>),
    Descriptors,
    WorkingDirectory,
    Exe,
    Root,
}

/// What an inode shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// An index of [`STATIC`].
    Static(usize),
    /// `/proc/PID`
    Process(u32),
    /// `/proc/PID/…`: an index of [`PROCESS`].
    Entry(u32, usize),
    /// `/proc/PID/fd/N`
    Descriptor(u32, u32),
}

/// An inode of `/proc`.
#[derive(Clone, Debug)]
struct Node {
    shared: Arc<Shared>,
    what: What,
}

/// Cookies of processes in the root begin here, those of the static entries are indices.
const PROCESS_COOKIES: u64 = 1 << 32;

impl What {
    fn ino(self) -> u64 {
        match self {
            Self::Static(index) => index as u64 + 1,
            Self::Process(pid) => u64::from(pid) << 32,
            Self::Entry(pid, index) => (u64::from(pid) << 32) + index as u64 + 1,
            Self::Descriptor(pid, fd) => (u64::from(pid) << 32) + (1 << 31) + u64::from(fd),
        }
    }

    fn file_type(self) -> FileType {
        match self {
            Self::Static(index) => match STATIC[index].2 {
                Static::Directory => FileType::Directory,
                Static::OwnProcess | Static::Link(_) => FileType::Symlink,
                Static::Text(_) => FileType::Regular,
            },
            Self::Process(_) => FileType::Directory,
            Self::Entry(_, index) => match PROCESS[index].1 {
                Process::Text(_) => FileType::Regular,
                Process::Descriptors => FileType::Directory,
                Process::WorkingDirectory | Process::Exe | Process::Root => FileType::Symlink,
            },
            Self::Descriptor(..) => FileType::Symlink,
        }
    }

    fn mode(self) -> u32 {
        match self {
            Self::Entry(_, index) => match (PROCESS[index].0, self.file_type()) {
                ("environ", _) => 0o400,
                (_, FileType::Directory) => 0o500,
                (_, FileType::Symlink) => 0o777,
                _ => 0o444,
            },
            _ => match self.file_type() {
                FileType::Directory => 0o555,
                FileType::Symlink => 0o777,
                _ => 0o444,
            },
        }
    }
}

impl Node {
    fn child(&self, what: What) -> Arc<dyn Inode> {
        Arc::new(Self {
            shared: Arc::clone(&self.shared),
            what,
        })
    }

    fn summary(&self, pid: u32) -> SysResult<ProcessSummary> {
        self.shared.view.summary(pid).ok_or(Errno::NotFound)
    }

    fn descriptors(&self, pid: u32) -> SysResult<Vec<(u32, Vec<u8>)>> {
        self.shared.view.descriptors(pid).ok_or(Errno::NotFound)
    }

    fn attributes(&self) -> FileStat {
        let what = self.what;
        let file_type = what.file_type();
        FileStat {
            dev: 0,
            ino: what.ino(),
            file_type,
            mode: what.mode(),
            nlink: if file_type == FileType::Directory {
                2
            } else {
                1
            },
            size: 0,
            blocks: 0,
            rdev: 0,
            atime: self.shared.made,
            mtime: self.shared.made,
            ctime: self.shared.made,
        }
    }
}

/// The process id that a name is, as Linux reads it: no sign, no leading zero.
fn number(name: &[u8]) -> Option<u32> {
    let plain = name.first().is_some_and(|&byte| byte != b'0') || name == b"0";
    let digits = name.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(name)
        .ok()
        .filter(|_| plain && digits)?
        .parse()
        .ok()
}

fn decimal(number: u32) -> Box<[u8]> {
    number.to_string().into_bytes().into()
}

fn entry(name: Box<[u8]>, what: What) -> DirEntry {
    DirEntry {
        name,
        ino: what.ino(),
        file_type: what.file_type(),
    }
}

impl Inode for Node {
    fn stat(&self) -> SysResult<FileStat> {
        Ok(self.attributes())
    }

    fn ino(&self) -> SysResult<u64> {
        Ok(self.what.ino())
    }

    fn file_type(&self) -> SysResult<FileType> {
        Ok(self.what.file_type())
    }

    fn open(&self, _: AccessMode) -> SysResult<Arc<dyn OpenFile>> {
        let text = match self.what {
            What::Static(index) => match STATIC[index].2 {
                Static::Text(text) => text(&self.shared)?,
                Static::Directory => return Err(Errno::IsDirectory),
                Static::OwnProcess | Static::Link(_) => return Err(Errno::NoDeviceOrAddress),
            },
            What::Entry(pid, index) => match PROCESS[index].1 {
                Process::Text(text) => text(&self.shared, &self.summary(pid)?),
                Process::Descriptors => return Err(Errno::IsDirectory),
                _ => return Err(Errno::NoDeviceOrAddress),
            },
            What::Process(_) => return Err(Errno::IsDirectory),
            What::Descriptor(..) => return Err(Errno::NoDeviceOrAddress),
        };
        Ok(Arc::new(TextFile {
            text,
            stat: self.attributes(),
        }))
    }

    fn lookup(&self, name: Name<'_>) -> SysResult<Arc<dyn Inode>> {
        let bytes = name.as_bytes();
        let what = match self.what {
            What::Static(parent) if matches!(STATIC[parent].2, Static::Directory) => {
                let found = STATIC.iter().position(|(own_parent, own, _)| {
                    *own_parent == parent && own.as_bytes() == bytes
                });
                match (found, number(bytes)) {
                    (Some(index), _) => What::Static(index),
                    (None, Some(pid)) if parent == 0 => {
                        self.summary(pid)?;
                        What::Process(pid)
                    }
                    _ => return Err(Errno::NotFound),
                }
            }
            What::Process(pid) => {
                self.summary(pid)?;
                let found = PROCESS.iter().position(|(own, _)| own.as_bytes() == bytes);
                What::Entry(pid, found.ok_or(Errno::NotFound)?)
            }
            What::Entry(pid, index) if matches!(PROCESS[index].1, Process::Descriptors) => {
                let wanted = number(bytes).ok_or(Errno::NotFound)?;
                let descriptors = self.descriptors(pid)?;
                if !descriptors.iter().any(|&(fd, _)| fd == wanted) {
                    return Err(Errno::NotFound);
                }
                What::Descriptor(pid, wanted)
            }
            _ => return Err(Errno::NotDirectory),
        };
        Ok(self.child(what))
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        match self.what {
            What::Static(index) => match STATIC[index].2 {
                Static::Link(text) => Ok(text.to_vec()),
                // What it says depends on who asks: the namespace answers it.
                _ => Err(Errno::Invalid),
            },
            What::Entry(pid, index) => match PROCESS[index].1 {
                Process::Exe => Ok(self.summary(pid)?.exe),
                Process::WorkingDirectory => Ok(self.summary(pid)?.cwd),
                Process::Root => Ok(b"/".to_vec()),
                Process::Text(_) | Process::Descriptors => Err(Errno::Invalid),
            },
            What::Descriptor(pid, fd) => {
                let descriptors = self.descriptors(pid)?;
                let found = descriptors.into_iter().find(|&(number, _)| number == fd);
                found.map(|(_, text)| text).ok_or(Errno::NotFound)
            }
            What::Process(_) => Err(Errno::Invalid),
        }
    }

    fn magic(&self) -> Option<MagicLink> {
        match self.what {
            What::Static(index) if matches!(STATIC[index].2, Static::OwnProcess) => {
                Some(MagicLink::OwnProcess)
            }
            What::Entry(pid, index) => match PROCESS[index].1 {
                Process::WorkingDirectory => Some(MagicLink::WorkingDirectory(pid)),
                Process::Root => Some(MagicLink::Root),
                _ => None,
            },
            What::Descriptor(pid, fd) => Some(MagicLink::Descriptor(Some(pid), fd)),
            _ => None,
        }
    }

    fn read_directory(&self, cookie: u64, max: usize) -> SysResult<Vec<(u64, DirEntry)>> {
        let mut listed = Vec::new();
        match self.what {
            What::Static(parent) if matches!(STATIC[parent].2, Static::Directory) => {
                let entries = STATIC
                    .iter()
                    .enumerate()
                    .filter(|(_, (own, ..))| *own == parent);
                listed.extend(entries.map(|(index, (_, name, _))| {
                    (
                        index as u64,
                        entry(name.as_bytes().into(), What::Static(index)),
                    )
                }));
                if parent == 0 {
                    listed.extend(self.shared.view.pids().into_iter().map(|pid| {
                        let cookie = PROCESS_COOKIES + u64::from(pid);
                        (cookie, entry(decimal(pid), What::Process(pid)))
                    }));
                }
            }
            What::Process(pid) => {
                self.summary(pid)?;
                listed.extend(PROCESS.iter().enumerate().zip(1..).map(
                    |((index, (name, _)), cookie)| {
                        (
                            cookie,
                            entry(name.as_bytes().into(), What::Entry(pid, index)),
                        )
                    },
                ));
            }
            What::Entry(pid, index) if matches!(PROCESS[index].1, Process::Descriptors) => {
                listed.extend(self.descriptors(pid)?.into_iter().map(|(fd, _)| {
                    (
                        u64::from(fd) + 1,
                        entry(decimal(fd), What::Descriptor(pid, fd)),
                    )
                }));
            }
            _ => return Err(Errno::NotDirectory),
        }
        Ok(listed
            .into_iter()
            .filter(|&(own, _)| own > cookie)
            .take(max)
            .collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A text that was made when it was opened.
#[derive(Debug)]
struct TextFile {
    text: Vec<u8>,
    stat: FileStat,
}

impl OpenFile for TextFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.text.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn stat(&self) -> SysResult<FileStat> {
        Ok(self.stat)
    }
}

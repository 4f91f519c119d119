//! The calls, and how they are made up.

use sandbar::errno::SysResult;
use sandbar::vfs::{AccessMode, FileType, OpenFlags, RenameFlags};

/// A small generator of numbers, the same everywhere (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

/// Open directories and files that calls can use.
pub(crate) const SLOTS: usize = 4;

/// A path and the open directory it starts in: 0 is the one that everything began in.
#[derive(Clone)]
pub(crate) struct Path {
    pub(crate) base: usize,
    pub(crate) bytes: Vec<u8>,
}

impl std::fmt::Debug for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.base, String::from_utf8_lossy(&self.bytes))
    }
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Open {
        path: Path,
        access: AccessMode,
        flags: OpenFlags,
        mode: u32,
        slot: usize,
    },
    OpenDirectory {
        path: Path,
        slot: usize,
    },
    Read {
        slot: usize,
        offset: u64,
        len: usize,
    },
    Write {
        slot: usize,
        offset: u64,
        len: usize,
        byte: u8,
    },
    Append {
        slot: usize,
        len: usize,
        byte: u8,
    },
    SetLen {
        slot: usize,
        len: u64,
    },
    Allocate {
        slot: usize,
        offset: u64,
        len: u64,
    },
    FileStat {
        slot: usize,
    },
    Stat {
        path: Path,
        follow: bool,
    },
    MakeDirectory {
        path: Path,
        mode: u32,
    },
    RemoveDirectory {
        path: Path,
    },
    Unlink {
        path: Path,
    },
    Rename {
        from: Path,
        to: Path,
        flags: RenameFlags,
    },
    Link {
        from: Path,
        to: Path,
        follow: bool,
    },
    Symlink {
        target: Vec<u8>,
        path: Path,
    },
    ReadLink {
        path: Path,
    },
    SetMode {
        path: Path,
        mode: u32,
    },
    SetTime {
        path: Path,
        follow: bool,
        seconds: i64,
    },
    List {
        slot: usize,
    },
    CurrentPath {
        slot: usize,
    },
}

/// What both sides tell of an inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) file_type: FileType,
    pub(crate) mode: u32,
    pub(crate) nlink: u64,
    /// Of files and links only.
    pub(crate) size: u64,
}

/// A call's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    /// The slot was empty, or open in another way.
    Nothing,
    Bytes(Vec<u8>),
    Count(usize),
    Seen(Seen),
    Names(Vec<(Vec<u8>, FileType)>),
}

/// One of the two file systems.
pub(crate) trait World {
    fn open(
        &mut self,
        path: &Path,
        access: AccessMode,
        flags: OpenFlags,
        mode: u32,
        slot: usize,
    ) -> SysResult<()>;
    fn open_directory(&mut self, path: &Path, slot: usize) -> SysResult<()>;
    /// How the file in a slot was opened.
    fn access(&self, slot: usize) -> Option<AccessMode>;
    fn read(&mut self, slot: usize, offset: u64, len: usize) -> SysResult<Vec<u8>>;
    fn write(&mut self, slot: usize, offset: u64, bytes: &[u8]) -> SysResult<usize>;
    fn append(&mut self, slot: usize, bytes: &[u8]) -> SysResult<usize>;
    fn set_len(&mut self, slot: usize, len: u64) -> SysResult<()>;
    fn allocate(&mut self, slot: usize, offset: u64, len: u64) -> SysResult<()>;
    fn file_stat(&mut self, slot: usize) -> SysResult<Seen>;
    fn stat(&mut self, path: &Path, follow: bool) -> SysResult<Seen>;
    fn make_directory(&mut self, path: &Path, mode: u32) -> SysResult<()>;
    fn remove_directory(&mut self, path: &Path) -> SysResult<()>;
    fn unlink(&mut self, path: &Path) -> SysResult<()>;
    fn rename(&mut self, from: &Path, to: &Path, flags: RenameFlags) -> SysResult<()>;
    fn link(&mut self, from: &Path, to: &Path, follow: bool) -> SysResult<()>;
    fn symlink(&mut self, target: &[u8], path: &Path) -> SysResult<()>;
    fn read_link(&mut self, path: &Path) -> SysResult<Vec<u8>>;
    fn set_mode(&mut self, path: &Path, mode: u32) -> SysResult<()>;
    fn set_time(&mut self, path: &Path, follow: bool, seconds: i64) -> SysResult<i64>;
    fn list(&mut self, slot: usize) -> SysResult<Vec<(Vec<u8>, FileType)>>;
    /// The path of an open directory, from the root of the tree.
    fn current_path(&mut self, slot: usize) -> SysResult<Vec<u8>>;
}

fn name(random: &mut Random, ups: &mut u32) -> &'static [u8] {
    const LONG: [u8; 256] = [b'x'; 256];
    match random.below(24) {
        0 => b".",
        1 | 2 if *ups > 0 => {
            *ups -= 1;
            b".."
        }
        3 if random.once_in(20) => &LONG,
        _ => random.pick(&[b"a", b"b", b"c"]),
    }
}

/// A path of up to three components, of which at most `ups` are `..`.
fn bytes(random: &mut Random, mut ups: u32) -> Vec<u8> {
    if random.once_in(300) {
        return Vec::new();
    }
    let mut path = Vec::new();
    for index in 0..=random.pick(&[0, 0, 0, 1, 1, 2]) {
        if index > 0 {
            path.extend(random.pick(&[&b"/"[..], b"/", b"/", b"//"]));
        }
        path.extend(name(random, &mut ups));
    }
    if random.once_in(8) {
        path.extend(random.pick(&[&b"/"[..], b"/", b"//", b"/."]));
    }
    path
}

fn path(random: &mut Random) -> Path {
    let base = if random.once_in(4) {
        usize::try_from(random.below(SLOTS as u64)).unwrap()
    } else {
        0
    };
    Path {
        base,
        bytes: bytes(random, 2),
    }
}

fn flags(random: &mut Random) -> OpenFlags {
    let mut flags = OpenFlags::empty();
    flags.set(OpenFlags::CREATE, random.once_in(2));
    flags.set(OpenFlags::EXCLUSIVE, random.once_in(5));
    flags.set(OpenFlags::TRUNCATE, random.once_in(5));
    flags.set(OpenFlags::DIRECTORY, random.once_in(8));
    flags.set(OpenFlags::NO_FOLLOW, random.once_in(6));
    flags
}

fn len(random: &mut Random) -> u64 {
    match random.below(12) {
        0 => 70_000 + random.below(100),
        1 | 2 => 16_300 + random.below(200),
        3 | 4 => 4_000 + random.below(200),
        _ => random.below(700),
    }
}

impl Call {
    /// Any call.
    #[expect(clippy::too_many_lines, reason = "a table of all calls")]
    pub(crate) fn any(random: &mut Random) -> Self {
        let slot = usize::try_from(random.below(SLOTS as u64)).unwrap();
        let small = |random: &mut Random| usize::try_from(len(random)).unwrap();
        match random.below(64) {
            0..=12 => Self::Open {
                path: path(random),
                access: random.pick(&[AccessMode::Read, AccessMode::Write, AccessMode::ReadWrite]),
                flags: flags(random),
                mode: random.pick(&[0o600, 0o644, 0o666, 0o755]),
                slot,
            },
            13..=14 => Self::OpenDirectory {
                path: path(random),
                slot: slot.max(1),
            },
            15..=17 => Self::Read {
                slot,
                offset: len(random),
                len: small(random),
            },
            18..=21 => {
                let byte = u8::try_from(random.below(255)).unwrap() + 1;
                Self::Write {
                    slot,
                    offset: len(random),
                    len: small(random),
                    byte,
                }
            }
            22..=23 => Self::Append {
                slot,
                len: small(random),
                byte: b'+',
            },
            24..=25 => Self::SetLen {
                slot,
                len: len(random),
            },
            26 => Self::Allocate {
                slot,
                offset: len(random),
                len: len(random),
            },
            27 => Self::FileStat { slot },
            28..=31 => Self::Stat {
                path: path(random),
                follow: random.once_in(2),
            },
            32..=37 => Self::MakeDirectory {
                path: path(random),
                mode: random.pick(&[0o700, 0o755, 0o777]),
            },
            38..=40 => Self::RemoveDirectory { path: path(random) },
            41..=44 => Self::Unlink { path: path(random) },
            45..=51 => Self::Rename {
                from: path(random),
                to: path(random),
                flags: match random.below(8) {
                    0 => RenameFlags::NO_REPLACE,
                    1 | 2 => RenameFlags::EXCHANGE,
                    3 if random.once_in(8) => RenameFlags::all(),
                    _ => RenameFlags::empty(),
                },
            },
            52..=54 => Self::Link {
                from: path(random),
                to: path(random),
                follow: random.once_in(3),
            },
            55..=57 => Self::Symlink {
                target: bytes(random, 1),
                path: path(random),
            },
            58 => Self::ReadLink { path: path(random) },
            59 => Self::SetMode {
                path: path(random),
                mode: random.pick(&[0o700, 0o755, 0o777, 0o750]),
            },
            60 => Self::SetTime {
                path: path(random),
                follow: random.once_in(2),
                seconds: i64::try_from(random.below(2_000_000_000)).unwrap(),
            },
            61..=62 => Self::List { slot },
            _ => Self::CurrentPath { slot },
        }
    }

    /// Makes the call.
    pub(crate) fn run(&self, world: &mut dyn World) -> SysResult<Answer> {
        let reads = |world: &dyn World, slot| world.access(slot).is_some_and(AccessMode::reads);
        let writes = |world: &dyn World, slot| world.access(slot).is_some_and(AccessMode::writes);
        let done = |result: SysResult<()>| result.map(|()| Answer::Done);
        match self {
            Self::Open {
                path,
                access,
                flags,
                mode,
                slot,
            } => done(world.open(path, *access, *flags, *mode, *slot)),
            Self::OpenDirectory { path, slot } => done(world.open_directory(path, *slot)),
            &Self::Read { slot, offset, len } if reads(world, slot) => {
                world.read(slot, offset, len).map(Answer::Bytes)
            }
            &Self::Write {
                slot,
                offset,
                len,
                byte,
            } if writes(world, slot) => world
                .write(slot, offset, &vec![byte; len])
                .map(Answer::Count),
            &Self::Append { slot, len, byte } if writes(world, slot) => {
                world.append(slot, &vec![byte; len]).map(Answer::Count)
            }
            &Self::SetLen { slot, len } if writes(world, slot) => done(world.set_len(slot, len)),
            &Self::Allocate { slot, offset, len } if writes(world, slot) => {
                done(world.allocate(slot, offset, len))
            }
            &Self::FileStat { slot } if world.access(slot).is_some() => {
                world.file_stat(slot).map(Answer::Seen)
            }
            Self::Stat { path, follow } => world.stat(path, *follow).map(Answer::Seen),
            Self::MakeDirectory { path, mode } => done(world.make_directory(path, *mode)),
            Self::RemoveDirectory { path } => done(world.remove_directory(path)),
            Self::Unlink { path } => done(world.unlink(path)),
            Self::Rename { from, to, flags } => done(world.rename(from, to, *flags)),
            Self::Link { from, to, follow } => done(world.link(from, to, *follow)),
            Self::Symlink { target, path } => done(world.symlink(target, path)),
            Self::ReadLink { path } => world.read_link(path).map(Answer::Bytes),
            Self::SetMode { path, mode } => done(world.set_mode(path, *mode)),
            Self::SetTime {
                path,
                follow,
                seconds,
            } => {
                let time = world.set_time(path, *follow, *seconds)?;
                Ok(Answer::Bytes(time.to_string().into_bytes()))
            }
            &Self::List { slot } => world.list(slot).map(Answer::Names),
            &Self::CurrentPath { slot } => world.current_path(slot).map(Answer::Bytes),
            _ => Ok(Answer::Nothing),
        }
    }
}

/// Everything below the first directory: paths with what is told of them, and contents.
pub(crate) fn tree(world: &mut dyn World) -> Vec<(Vec<u8>, Seen, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![b".".to_vec()];
    while let Some(directory) = pending.pop() {
        let at = |bytes: &[u8]| Path {
            base: 0,
            bytes: bytes.to_vec(),
        };
        if world.open_directory(&at(&directory), 1).is_err() {
            continue;
        }
        for (name, file_type) in world.list(1).expect("a directory that was just opened") {
            if name == b"." || name == b".." {
                continue;
            }
            let path = [&directory[..], b"/", &name].concat();
            let seen = world
                .stat(&at(&path), false)
                .expect("an entry that was just listed");
            assert_eq!(seen.file_type, file_type, "listed and told apart");
            let contents = match file_type {
                FileType::Symlink => world.read_link(&at(&path)).expect("a link"),
                FileType::Regular => {
                    let opened = world.open(&at(&path), AccessMode::Read, OpenFlags::empty(), 0, 2);
                    opened.expect("a file");
                    world
                        .read(2, 0, usize::try_from(seen.size).unwrap())
                        .expect("a file")
                }
                _ => Vec::new(),
            };
            if file_type == FileType::Directory {
                pending.push(path.clone());
            }
            found.push((path, seen, contents));
        }
    }
    found
}

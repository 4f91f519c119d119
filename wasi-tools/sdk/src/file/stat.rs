//! What the system knows about a file or a file system.

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileType {
    /// A file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, named or not.
    Fifo,
    /// A terminal or another device of characters.
    CharDevice,
    /// A device of blocks.
    BlockDevice,
    /// A socket.
    Socket,
    /// Anything else.
    Unknown,
}

/// `S_IFMT`: the bits of a mode that hold the type.
const TYPE_MASK: u32 = 0o170_000;

impl FileType {
    /// The type in a mode.
    pub const fn from_mode(mode: u32) -> Self {
        match mode & TYPE_MASK {
            0o010_000 => Self::Fifo,
            0o020_000 => Self::CharDevice,
            0o040_000 => Self::Directory,
            0o060_000 => Self::BlockDevice,
            0o100_000 => Self::Regular,
            0o120_000 => Self::Symlink,
            0o140_000 => Self::Socket,
            _ => Self::Unknown,
        }
    }

    /// The letter that `ls -l` starts a line with.
    pub const fn letter(self) -> char {
        match self {
            Self::Regular => '-',
            Self::Directory => 'd',
            Self::Symlink => 'l',
            Self::Fifo => 'p',
            Self::CharDevice => 'c',
            Self::BlockDevice => 'b',
            Self::Socket => 's',
            Self::Unknown => '?',
        }
    }
}

/// What `stat(2)` says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Type and permissions, Linux's values.
    pub mode: u32,
    /// The device that the file is on.
    pub dev: u64,
    /// Its number there.
    pub ino: u64,
    /// How many names it has.
    pub nlink: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// For a device: which.
    pub rdev: u64,
    /// Length in bytes.
    pub len: u64,
    /// Space in blocks of 512 bytes.
    pub blocks: u64,
    /// Good size for one read or write, in bytes.
    pub block_size: u32,
    /// Last access, in nanoseconds since 1970-01-01 00:00 UTC.
    pub accessed_ns: i64,
    /// Last change of the contents, likewise.
    pub modified_ns: i64,
    /// Last change of the contents or of what is said here, likewise.
    pub changed_ns: i64,
}

impl Stat {
    /// What kind of thing it is.
    pub const fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode)
    }

    /// The permissions, 07777 at most.
    pub const fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.file_type() == FileType::Directory
    }

    /// Whether it is an ordinary file.
    pub fn is_file(&self) -> bool {
        self.file_type() == FileType::Regular
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.file_type() == FileType::Symlink
    }

    /// Whether both are one and the same file.
    pub const fn same_file(&self, other: &Self) -> bool {
        self.dev == other.dev && self.ino == other.ino
    }
}

/// What `statfs(2)` says about a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Whether it can't be written.
    pub read_only: bool,
    /// Size of a block in bytes.
    pub block_size: u64,
    /// Blocks in all.
    pub blocks: u64,
    /// Free blocks.
    pub blocks_free: u64,
    /// Files in all.
    pub files: u64,
    /// Files that can still be made.
    pub files_free: u64,
    /// Longest name in bytes.
    pub name_max: u64,
    /// Number of the file system.
    pub id: u64,
}

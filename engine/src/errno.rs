//! POSIX error numbers as the kernel uses them inside.
//!
//! Owns: the one enum that file systems, processes and the WASI host return to a guest. Not here: errors that reach an
//! embedder ([`crate::Error`]). The discriminants are WASI preview 1's, so that crossing the ABI is a cast.

/// What a system call answers when it fails, by its POSIX name.
///
/// Source of the numbers: WASI preview 1 `errno`,
/// <https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md#-errno-variant>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[expect(
    missing_docs,
    reason = "the names are POSIX's and `message` says each in words"
)]
pub enum Errno {
    TooBig = 1,
    Access = 2,
    Again = 6,
    BadFd = 8,
    Busy = 10,
    Child = 12,
    Deadlock = 16,
    Domain = 18,
    Quota = 19,
    Exists = 20,
    Fault = 21,
    FileTooBig = 22,
    IllegalBytes = 25,
    Interrupted = 27,
    Invalid = 28,
    Io = 29,
    IsDirectory = 31,
    Loop = 32,
    ProcessFiles = 33,
    TooManyLinks = 34,
    NameTooLong = 37,
    SystemFiles = 41,
    NoDevice = 43,
    NotFound = 44,
    NoExec = 45,
    NoLocks = 46,
    NoMemory = 48,
    NoSpace = 51,
    NotImplemented = 52,
    NotConnected = 53,
    NotDirectory = 54,
    NotEmpty = 55,
    NotSocket = 57,
    NotSupported = 58,
    NotTerminal = 59,
    NoDeviceOrAddress = 60,
    Overflow = 61,
    NotPermitted = 63,
    BrokenPipe = 64,
    Range = 68,
    ReadOnly = 69,
    IllegalSeek = 70,
    NoProcess = 71,
    Stale = 72,
    TimedOut = 73,
    TextBusy = 74,
    CrossDevice = 75,
    NotCapable = 76,
}

impl Errno {
    /// The number that a guest sees.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The message that glibc's `strerror` gives, as users know it.
    pub const fn message(self) -> &'static str {
        match self {
            Self::TooBig => "Argument list too long",
            Self::Access => "Permission denied",
            Self::Again => "Resource temporarily unavailable",
            Self::BadFd => "Bad file descriptor",
            Self::Busy => "Device or resource busy",
            Self::Child => "No child processes",
            Self::Deadlock => "Resource deadlock avoided",
            Self::Domain => "Numerical argument out of domain",
            Self::Quota => "Disk quota exceeded",
            Self::Exists => "File exists",
            Self::Fault => "Bad address",
            Self::FileTooBig => "File too large",
            Self::IllegalBytes => "Invalid or incomplete multibyte or wide character",
            Self::Interrupted => "Interrupted system call",
            Self::Invalid => "Invalid argument",
            Self::Io => "Input/output error",
            Self::IsDirectory => "Is a directory",
            Self::Loop => "Too many levels of symbolic links",
            Self::ProcessFiles => "Too many open files",
            Self::TooManyLinks => "Too many links",
            Self::NameTooLong => "File name too long",
            Self::SystemFiles => "Too many open files in system",
            Self::NoDevice => "No such device",
            Self::NotFound => "No such file or directory",
            Self::NoExec => "Exec format error",
            Self::NoLocks => "No locks available",
            Self::NoMemory => "Cannot allocate memory",
            Self::NoSpace => "No space left on device",
            Self::NotImplemented => "Function not implemented",
            Self::NotConnected => "Transport endpoint is not connected",
            Self::NotDirectory => "Not a directory",
            Self::NotEmpty => "Directory not empty",
            Self::NotSocket => "Socket operation on non-socket",
            Self::NotSupported => "Operation not supported",
            Self::NotTerminal => "Inappropriate ioctl for device",
            Self::NoDeviceOrAddress => "No such device or address",
            Self::Overflow => "Value too large for defined data type",
            Self::NotPermitted => "Operation not permitted",
            Self::BrokenPipe => "Broken pipe",
            Self::Range => "Numerical result out of range",
            Self::ReadOnly => "Read-only file system",
            Self::IllegalSeek => "Illegal seek",
            Self::NoProcess => "No such process",
            Self::Stale => "Stale file handle",
            Self::TimedOut => "Connection timed out",
            Self::TextBusy => "Text file busy",
            Self::CrossDevice => "Invalid cross-device link",
            Self::NotCapable => "Capabilities insufficient",
        }
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Errno {}

/// A kernel call's result.
pub type SysResult<T> = std::result::Result<T, Errno>;

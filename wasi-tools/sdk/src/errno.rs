//! Error numbers with their C names and the texts that Linux programs print.

use std::{fmt, io};

/// An error number: WASI's on `wasm32-wasip1` (which is also wasi-libc's `errno`), the host's elsewhere.
///
/// `Display` is [`Errno::message`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

macro_rules! errnos {
    ($($name:ident $wasi:literal $text:literal;)*) => {
        impl Errno {
            $(
                #[doc = concat!($text, ".")]
                #[cfg(target_os = "wasi")]
                pub const $name: Self = Self($wasi);
                #[doc = concat!($text, ".")]
                #[cfg(not(target_os = "wasi"))]
                pub const $name: Self = Self(libc::$name);
            )*

            /// Every error number that has a name here.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        /// Name and text of each number.
        const TABLE: &[(Errno, &str, &str)] = &[$((Errno::$name, stringify!($name), $text)),*];
    };
}

// Numbers: WASI preview 1 `errno`. Texts: glibc's strerror in the C locale.
errnos! {
    E2BIG 1 "Argument list too long";
    EACCES 2 "Permission denied";
    EADDRINUSE 3 "Address already in use";
    EADDRNOTAVAIL 4 "Cannot assign requested address";
    EAFNOSUPPORT 5 "Address family not supported by protocol";
    EAGAIN 6 "Resource temporarily unavailable";
    EALREADY 7 "Operation already in progress";
    EBADF 8 "Bad file descriptor";
    EBADMSG 9 "Bad message";
    EBUSY 10 "Device or resource busy";
    ECANCELED 11 "Operation canceled";
    ECHILD 12 "No child processes";
    ECONNABORTED 13 "Software caused connection abort";
    ECONNREFUSED 14 "Connection refused";
    ECONNRESET 15 "Connection reset by peer";
    EDEADLK 16 "Resource deadlock avoided";
    EDESTADDRREQ 17 "Destination address required";
    EDOM 18 "Numerical argument out of domain";
    EDQUOT 19 "Disk quota exceeded";
    EEXIST 20 "File exists";
    EFAULT 21 "Bad address";
    EFBIG 22 "File too large";
    EHOSTUNREACH 23 "No route to host";
    EIDRM 24 "Identifier removed";
    EILSEQ 25 "Invalid or incomplete multibyte or wide character";
    EINPROGRESS 26 "Operation now in progress";
    EINTR 27 "Interrupted system call";
    EINVAL 28 "Invalid argument";
    EIO 29 "Input/output error";
    EISCONN 30 "Transport endpoint is already connected";
    EISDIR 31 "Is a directory";
    ELOOP 32 "Too many levels of symbolic links";
    EMFILE 33 "Too many open files";
    EMLINK 34 "Too many links";
    EMSGSIZE 35 "Message too long";
    EMULTIHOP 36 "Multihop attempted";
    ENAMETOOLONG 37 "File name too long";
    ENETDOWN 38 "Network is down";
    ENETRESET 39 "Network dropped connection on reset";
    ENETUNREACH 40 "Network is unreachable";
    ENFILE 41 "Too many open files in system";
    ENOBUFS 42 "No buffer space available";
    ENODEV 43 "No such device";
    ENOENT 44 "No such file or directory";
    ENOEXEC 45 "Exec format error";
    ENOLCK 46 "No locks available";
    ENOLINK 47 "Link has been severed";
    ENOMEM 48 "Cannot allocate memory";
    ENOMSG 49 "No message of desired type";
    ENOPROTOOPT 50 "Protocol not available";
    ENOSPC 51 "No space left on device";
    ENOSYS 52 "Function not implemented";
    ENOTCONN 53 "Transport endpoint is not connected";
    ENOTDIR 54 "Not a directory";
    ENOTEMPTY 55 "Directory not empty";
    ENOTRECOVERABLE 56 "State not recoverable";
    ENOTSOCK 57 "Socket operation on non-socket";
    ENOTSUP 58 "Operation not supported";
    ENOTTY 59 "Inappropriate ioctl for device";
    ENXIO 60 "No such device or address";
    EOVERFLOW 61 "Value too large for defined data type";
    EOWNERDEAD 62 "Owner died";
    EPERM 63 "Operation not permitted";
    EPIPE 64 "Broken pipe";
    EPROTO 65 "Protocol error";
    EPROTONOSUPPORT 66 "Protocol not supported";
    EPROTOTYPE 67 "Protocol wrong type for socket";
    ERANGE 68 "Numerical result out of range";
    EROFS 69 "Read-only file system";
    ESPIPE 70 "Illegal seek";
    ESRCH 71 "No such process";
    ESTALE 72 "Stale file handle";
    ETIMEDOUT 73 "Connection timed out";
    ETXTBSY 74 "Text file busy";
    EXDEV 75 "Invalid cross-device link";
}

/// WASI's "capabilities insufficient", which POSIX lacks; it reads as `EACCES`.
#[cfg(target_os = "wasi")]
const NOTCAPABLE: i32 = 76;

impl Errno {
    /// The error with this number in the target's own numbering.
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// The number in the target's own numbering.
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// The C name, such as `ENOENT`; `None` when the number is not in the table.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|entry| entry.1)
    }

    /// The text that glibc's `strerror` gives; `Unknown error N` for a number without one.
    pub fn message(self) -> String {
        self.entry().map_or_else(
            || format!("Unknown error {}", self.0),
            |entry| entry.2.to_owned(),
        )
    }

    fn entry(self) -> Option<&'static (Self, &'static str, &'static str)> {
        #[cfg(target_os = "wasi")]
        let number = if self.0 == NOTCAPABLE {
            Self::EACCES
        } else {
            self
        };
        #[cfg(not(target_os = "wasi"))]
        let number = self;
        TABLE.iter().find(|entry| entry.0 == number)
    }

    /// The C library's `errno` of this thread.
    #[cfg(not(target_os = "wasi"))]
    pub(crate) fn last() -> Self {
        Self(
            io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::EIO),
        )
    }

    /// `Ok` for 0, the error otherwise.
    #[cfg(target_os = "wasi")]
    pub(crate) fn check(number: i32) -> Result<(), Self> {
        if number == 0 {
            Ok(())
        } else {
            Err(Self(number))
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry() {
            Some(entry) => f.write_str(entry.2),
            None => write!(f, "Unknown error {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Errno({})", self.0),
        }
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}

impl From<&io::Error> for Errno {
    /// The error's number; `EIO` (or the nearest of `std`'s kinds) when it does not come from the system.
    fn from(error: &io::Error) -> Self {
        match (error.raw_os_error(), error.kind()) {
            (Some(number), _) => Self(number),
            (None, io::ErrorKind::InvalidInput) => Self::EINVAL,
            (None, io::ErrorKind::WriteZero) => Self::ENOSPC,
            (None, _) => Self::EIO,
        }
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `std` formats a system error as "strerror (os error N)".
    #[test]
    fn texts_are_the_c_librarys() {
        for errno in Errno::ALL {
            let expected = format!("{} (os error {})", errno.message(), errno.raw());
            assert_eq!(io::Error::from(*errno).to_string(), expected, "{errno:?}");
        }
    }

    #[test]
    fn an_unknown_number_keeps_its_number() {
        assert_eq!(Errno::from_raw(9999).message(), "Unknown error 9999");
        assert_eq!(Errno::from_raw(9999).name(), None);
    }
}

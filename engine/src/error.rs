//! Errors that reach an embedder.

use std::path::PathBuf;

use crate::errno::Errno;

/// What failed, as one pointer; see [`ErrorKind`].
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file call in a sandbox failed.
    #[error("{operation} `{path}`: {errno}")]
    File {
        /// What was done, as a verb: `read`, `write`, `create`.
        operation: &'static str,
        /// The path inside the sandbox.
        path: String,
        /// Why.
        errno: Errno,
    },
    /// A program could not be started.
    #[error("start `{program}`: {errno}")]
    Spawn {
        /// Its name as it was given.
        program: String,
        /// Why: `NotFound`, `Access`, `NoExec`, `Again` at the process limit.
        errno: Errno,
    },
    /// A host directory cannot be used.
    #[error("host directory `{}`: {reason}", path.display())]
    HostDirectory {
        /// The directory.
        path: PathBuf,
        /// The rule that it breaks.
        reason: String,
        /// What the system said.
        #[source]
        source: Option<std::io::Error>,
    },
    /// The tools image cannot be used.
    #[error("image {origin}: {reason}")]
    Image {
        /// Where it was looked for.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// An engine-wide ceiling was reached.
    #[error("{ceiling}: {limit} are in use, which is the engine's ceiling")]
    Ceiling {
        /// Its name in [`crate::Ceilings`].
        ceiling: &'static str,
        /// Its value.
        limit: u64,
    },
    /// A setting makes no sense.
    #[error("{what}: {reason}")]
    Invalid {
        /// The setting.
        what: &'static str,
        /// The rule and the value.
        reason: String,
    },
    /// WebAssembly could not be set up or compiled.
    #[error("{what}: {reason}")]
    Runtime {
        /// What was done.
        what: &'static str,
        /// What wasmtime said.
        reason: String,
    },
    /// The engine's own files.
    #[error("{what} `{}`", path.display())]
    HostIo {
        /// What was done.
        what: &'static str,
        /// On which host path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The kernel's error number where one caused it.
    pub fn errno(&self) -> Option<Errno> {
        match self.kind() {
            ErrorKind::File { errno, .. } | ErrorKind::Spawn { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self {
            kind: Box::new(kind),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.kind)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_is_one_pointer() {
        assert_eq!(size_of::<super::Error>(), size_of::<usize>());
    }
}

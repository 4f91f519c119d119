//! File arguments: which file a path means, and how a file stands to what the client has seen of it.

use sandbar::vfs::FileType;
use sandbar::{Errno, ErrorKind, Files, Metadata};

use crate::error::ToolError;
use crate::limits;
use crate::session::{Fingerprint, Instance, Session, Staleness};

/// A path argument in the terms of the sandbox.
pub(super) fn sandbox_path(session: &Session, given: &str) -> Result<String, ToolError> {
    if given.is_empty() {
        return Err(ToolError::new(
            "argument `file_path` is empty",
            "give a path; a relative one starts at /data/workspace",
        ));
    }
    Ok(session.sandbox_path(given))
}

/// What identifies a file among those that were seen: its directory with every link resolved, and its name.
pub(super) fn key(files: &Files, path: &str) -> sandbar::Result<Vec<u8>> {
    let (directory, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((directory, name)) => (directory, name),
        None => (".", path),
    };
    let mut key = files.canonicalize_dir(directory)?;
    if key.last() != Some(&b'/') {
        key.push(b'/');
    }
    key.extend_from_slice(name.as_bytes());
    Ok(key)
}

/// A file's attributes, `None` when there is none.
///
/// # Errors
/// When the path cannot be followed, or is a directory or a device.
pub(super) fn regular_file(files: &Files, path: &str) -> Result<Option<Metadata>, ToolError> {
    match files.metadata(path) {
        Ok(metadata) => match metadata.file_type {
            FileType::Regular => Ok(Some(metadata)),
            FileType::Directory => Err(failed(path, Errno::IsDirectory).into()),
            _ => Err(ToolError::new(
                format!("`{path}` is no regular file"),
                "use it in a Bash command",
            )),
        },
        Err(error) if error.errno() == Some(Errno::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn failed(path: &str, errno: Errno) -> sandbar::Error {
    ErrorKind::File {
        operation: "open",
        path: path.to_owned(),
        errno,
    }
    .into()
}

/// A file's contents with what identifies them.
pub(super) fn contents(
    files: &Files,
    path: &str,
    metadata: &Metadata,
) -> Result<(Vec<u8>, Fingerprint), ToolError> {
    if metadata.size > limits::EDIT_BYTES {
        return Err(ToolError::new(
            format!(
                "`{path}` has {} bytes, at most {} can be edited",
                metadata.size,
                limits::EDIT_BYTES
            ),
            "change it with sed in a Bash command",
        ));
    }
    let bytes = files.read_at_most(path, limits::EDIT_BYTES)?;
    let fingerprint = Fingerprint::of(metadata, Some(Fingerprint::hash(&bytes)));
    Ok((bytes, fingerprint))
}

/// A file's fingerprint without its contents where these are too large.
pub(super) fn fingerprint(
    files: &Files,
    path: &str,
    metadata: &Metadata,
) -> Result<Fingerprint, ToolError> {
    if metadata.size > limits::EDIT_BYTES {
        return Ok(Fingerprint::of(metadata, None));
    }
    Ok(contents(files, path, metadata)?.1)
}

/// Refuses a file that the client does not know as it is now.
pub(super) fn refuse_unknown(
    instance: &Instance,
    path: &str,
    key: &[u8],
    now: &Fingerprint,
) -> Result<(), ToolError> {
    match instance.compare(key, now) {
        Staleness::Current => Ok(()),
        Staleness::NeverSeen => Err(ToolError::new(
            format!("`{path}` exists and has not been read in this session"),
            "Read it first, so that nothing is overwritten by mistake",
        )),
        Staleness::Changed => Err(ToolError::new(
            format!("`{path}` has changed since it was last read or written here"),
            "Read it again, then repeat the change",
        )),
    }
}

/// Remembers a file as the client has just written it.
pub(super) fn remember_written(
    instance: &Instance,
    files: &Files,
    path: &str,
    bytes: &[u8],
) -> Result<(), ToolError> {
    let metadata = files.metadata(path)?;
    let content = (bytes.len() as u64 <= limits::EDIT_BYTES).then(|| Fingerprint::hash(bytes));
    instance.remember(key(files, path)?, Fingerprint::of(&metadata, content));
    Ok(())
}

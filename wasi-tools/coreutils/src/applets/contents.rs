//! Moving the contents of files.

use sandbar_guest::{Errno, Fd};

/// Bytes read and written at a time.
pub(super) const BUFFER: usize = 128 * 1024;

/// Reads until the buffer is full or the file ends.
pub(super) fn fill(from: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
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

/// Copies from one descriptor to another to the end; what failed otherwise.
pub(super) fn pump(from: Fd, to: Fd) -> Result<(), (&'static str, Errno)> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(("error reading", errno)),
        };
        let bytes = buffer.get(..count).unwrap_or(&buffer);
        to.write_all(bytes)
            .map_err(|errno| ("error writing", errno))?;
    }
}
